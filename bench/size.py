"""Bytes a message on disk, data and indexes apart, and the memory that a long chat takes beside a short one."""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import sqlite3
import subprocess
import sys
import tracemalloc
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from rich.table import Table

from bench.common import ROOT, Figure, console, fill, folder, report, tracked, url
from bench.talk import Talk
from infold import Memory

MESSAGES = 100_000
SHORT = 1_000
TURNS, RUNS = 200, 3
TABLES = ("messages", "folds", "lines", "events", "chats", "pins")

MOST_BYTES = 600
MOST_TIMES_SHORT = 1.1


@dataclass(frozen=True, slots=True)
class Bytes:
    """What a database takes on disk."""

    tables: dict[str, int]
    indexes: int


def prepare(path: Path, messages: int) -> None:
    with Memory(url(path)) as memory:
        fill(memory.chat("bench"), Talk(4), messages, f"chat of {messages:,} messages")


def measure(path: Path, work: Path) -> Bytes:
    connection = sqlite3.connect(path)
    try:
        return by_dbstat(connection)
    except sqlite3.OperationalError:  # this SQLite was built without it
        return by_copying(connection, path, work)
    finally:
        connection.close()


def by_dbstat(connection: sqlite3.Connection) -> Bytes:
    """Whole pages, as SQLite itself counts them."""
    pages = dict(connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name").fetchall())
    kinds = dict(connection.execute("SELECT name, type FROM sqlite_master").fetchall())
    return Bytes(
        {table: pages[table] for table in TABLES},
        sum(size for name, size in pages.items() if kinds.get(name) == "index"),
    )


def by_copying(connection: sqlite3.Connection, path: Path, work: Path) -> Bytes:
    """Each table alone in a file without indexes; what then is missing from the whole file are the indexes."""
    tables: dict[str, int] = {}
    for table in TABLES:
        alone = work / f"{table}.db"
        connection.execute("ATTACH ? AS alone", (str(alone),))
        connection.execute(f"CREATE TABLE alone.{table} AS SELECT * FROM main.{table}")
        connection.commit()
        connection.execute("DETACH alone")
        copy = sqlite3.connect(alone)
        copy.execute("VACUUM")
        copy.close()
        tables[table] = alone.stat().st_size
        alone.unlink()
    return Bytes(tables, path.stat().st_size - sum(tables.values()))


def columns(path: Path, most: int = 14) -> dict[str, float]:
    """Bytes a message of the costliest columns, without row headers and free room in pages."""
    connection = sqlite3.connect(path)
    found: dict[str, float] = {}
    for table in TABLES:
        for row in connection.execute(f"PRAGMA table_info({table})").fetchall():
            name = row[1]
            if row[5]:
                continue  # the row's own number is in its header
            (size,) = connection.execute(
                f"""SELECT coalesce(sum(CASE typeof("{name}")
                    WHEN 'integer' THEN CASE WHEN "{name}" IN (0, 1) THEN 0 WHEN abs("{name}") < 128 THEN 1
                        WHEN abs("{name}") < 32768 THEN 2 WHEN abs("{name}") < 8388608 THEN 3
                        WHEN abs("{name}") < 2147483648 THEN 4 WHEN abs("{name}") < 140737488355328 THEN 6 ELSE 8 END
                    ELSE length(CAST("{name}" AS BLOB)) END), 0) FROM {table}"""
            ).fetchone()
            found[f"{table}.{name}"] = round(size / MESSAGES, 1)
    connection.close()
    return dict(sorted(found.items(), key=lambda pair: -pair[1])[:most])


@dataclass(frozen=True, slots=True)
class Usage:
    """Memory of a process, in bytes."""

    peak: float
    """Of the whole process. Loading the tokenizer takes most of it, and could hide what a chat takes."""
    objects: float
    """Peak of the Python objects made for the chat alone."""


def peak_memory() -> int:
    # getrusage can report the parent's peak for a child, so Linux's own count goes first.
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def converse(path: Path, talk: Talk) -> None:
    with Memory(url(path), create=False) as memory:
        chat = memory.chat("bench")
        for question, reply in talk.turns(TURNS):
            chat.add(question)
            chat.context(max_tokens=2000)
            chat.add(reply)


def use(path: Path) -> None:
    """In a child process: open a chat, do some turns, print what it took."""
    talk = Talk(5)
    converse(path, talk)
    peak = peak_memory()
    tracemalloc.start()  # takes memory itself, so it gets turns of its own
    converse(path, talk)
    print(json.dumps({"peak": peak, "objects": tracemalloc.get_traced_memory()[1]}))


def usages(short: Path, long: Path, work: Path) -> tuple[Usage, Usage]:
    """Medians of some runs; every run gets a fresh copy, so that each sees the chat as it was prepared."""
    found: dict[Path, list[Usage]] = {short: [], long: []}
    for _ in tracked(range(RUNS), "peak memory", RUNS):
        for path in (short, long):
            copy = work / "copy.db"
            shutil.copyfile(path, copy)
            command = [sys.executable, "-m", "bench.size", "--use", str(copy)]
            done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
            found[path].append(Usage(**json.loads(done.stdout)))
            for left in work.glob("copy.db*"):
                left.unlink()
    middle = [Usage(median(u.peak for u in runs), median(u.objects for u in runs)) for runs in found.values()]
    return middle[0], middle[1]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.size", description=__doc__)
    parser.add_argument("--use", type=Path, help=argparse.SUPPRESS)
    path = parser.parse_args().use
    if path is not None:
        use(path)
        return
    with folder() as work:
        short, long = work / "short.db", work / "long.db"
        prepare(short, SHORT)
        prepare(long, MESSAGES)
        size = measure(long, work)
        by_column = columns(long)
        with Memory(url(long)) as memory:
            tokens = mean(message.tokens for message in memory.chat("bench").messages())
        on_disk = long.stat().st_size
        short_use, long_use = usages(short, long, work)
    table = Table(title="bytes a message by column", title_justify="left")
    table.add_column("column")
    table.add_column("bytes", justify="right")
    for name, value in by_column.items():
        table.add_row(name, f"{value:.1f}")
    console.print(table)
    data = sum(size.tables.values()) / MESSAGES
    figures = [
        Figure("data a message, originals and folds", data, "bytes", MOST_BYTES),
        *(Figure(f"– {name}", size.tables[name] / MESSAGES, "bytes") for name in TABLES[:4]),
        Figure("indexes a message", size.indexes / MESSAGES, "bytes"),
        Figure("whole file a message", on_disk / MESSAGES, "bytes"),
        Figure(f"peak memory, chat of {SHORT:,} messages", short_use.peak / 2**20, "MiB"),
        Figure(f"peak memory, chat of {MESSAGES:,} messages", long_use.peak / 2**20, "MiB"),
        Figure("peak memory, long against short", long_use.peak / short_use.peak, "×", MOST_TIMES_SHORT),
        Figure(f"Python objects, chat of {SHORT:,} messages", short_use.objects / 2**20, "MiB"),
        Figure(f"Python objects, chat of {MESSAGES:,} messages", long_use.objects / 2**20, "MiB"),
    ]
    details: dict[str, object] = {
        "messages": MESSAGES,
        "tokens a message, mean": round(tokens, 1),
        "bytes a message by column": by_column,
    }
    report("size", figures, details)


if __name__ == "__main__":
    main()
