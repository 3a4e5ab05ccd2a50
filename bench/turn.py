"""One turn (add the question, build a 2,000-token context, add the reply) beside bare SQLite, and in a long chat.

The two sides of a comparison run in alternating blocks of one run. Other work on the machine still interrupts the longer
side more often than the shorter one, so each ratio is also given in processor time, where interruptions do not count.
"""

from __future__ import annotations

import argparse
import cProfile
import re
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from types import CodeType
from typing import Any

from rich.table import Table

from bench.common import Figure, console, fill, folder, percentile, report, tracked, url
from bench.talk import Talk, Wire
from infold import Chat, Event, Memory

BUDGET = 2000
BLOCKS, TURNS = 40, 25
WARM_UP = 200
SHORT, LONG = 100, 100_000

MOST_MS = 1.0
MOST_TIMES_FLOOR = 8.0
MOST_TIMES_SHORT = 1.3

_BUILT_IN = re.compile(r"<method '(\w+)' of '(?:\w+\.)?([\w.]+)' objects>")


class Stopwatch:
    """Milliseconds of each turn, by the clock and of the processor."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def __enter__(self) -> None:
        self._cpu = time.thread_time_ns()
        self._wall = time.perf_counter_ns()

    def __exit__(self, *error: object) -> None:
        self.wall.append((time.perf_counter_ns() - self._wall) / 1e6)
        self.cpu.append((time.thread_time_ns() - self._cpu) / 1e6)

    def forget(self) -> None:
        """Drop what was timed so far: it was the warm-up."""
        self.wall.clear()
        self.cpu.clear()


class Timed:
    """A chat whose turns are timed."""

    def __init__(self, path: Path) -> None:
        self._folds = 0
        self.path = path
        self.memory = Memory(url(path), on_event=self._noted)
        self.chat: Chat = self.memory.chat("bench")
        self.watch = Stopwatch()
        self.folded: list[bool] = []
        self.quoting: list[bool] = []
        """Whether earlier messages were asked for and found."""
        self.tokens: list[int] = []
        """Of each context."""
        self.shown: list[int] = []
        """Messages that each context showed word for word."""

    def _noted(self, event: Event) -> None:
        self._folds += event.type == "summarization"

    def run(self, turns: Sequence[tuple[Wire, Wire]]) -> None:
        for question, reply in turns:
            folds = self._folds
            with self.watch:
                self.chat.add(question)
                context = self.chat.context(max_tokens=BUDGET)
                self.chat.add(reply)
            self.folded.append(self._folds > folds)
            self.quoting.append(context.sources["recalled"] > 0)
            self.tokens.append(context.tokens)
            self.shown.append(context.sources["messages"])

    def forget(self) -> None:
        self.watch.forget()
        for figures in (self.folded, self.quoting, self.tokens, self.shown):
            figures.clear()


class Floor:
    """The least any keeper of messages does: the same transactions on the same rows with bare sqlite3."""

    def __init__(self, path: Path, source: Path) -> None:
        self._source = sqlite3.connect(source, isolation_level=None)
        self._connection = sqlite3.connect(path, isolation_level=None)
        run = self._connection.execute
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        run("ATTACH ? AS source", (str(source),))
        for (sql,) in run(
            "SELECT sql FROM source.sqlite_master WHERE tbl_name IN ('chats', 'messages') AND sql IS NOT NULL"
        ).fetchall():
            run(sql)
        for table in ("chats", "messages"):
            run(f"INSERT INTO main.{table} SELECT * FROM source.{table}")
        run("DETACH source")
        self._last = self._newest()
        width = len(run("SELECT * FROM messages LIMIT 1").fetchone())
        self._insert = f"INSERT INTO messages VALUES ({', '.join('?' * width)})"
        self._marks = run("SELECT marks FROM chats WHERE key = 1").fetchone()[0]
        self.watch = Stopwatch()

    def _newest(self) -> int:
        return int(self._connection.execute("SELECT max(seq) FROM messages WHERE chat = 1").fetchone()[0])

    def replay(self, shown: Sequence[int]) -> None:
        """Write the rows that the other side has written since, and read what its contexts showed."""
        rows = self._source.execute(
            "SELECT * FROM messages WHERE chat = 1 AND seq > ? ORDER BY seq", (self._last,)
        ).fetchall()
        for at, number in enumerate(shown):
            with self.watch:
                self._add(rows[2 * at])
                self._read(number)
                self._add(rows[2 * at + 1])

    def _add(self, row: tuple[Any, ...]) -> None:
        run = self._connection.execute
        self._last += 1
        run("BEGIN IMMEDIATE")
        run(self._insert, row)
        run(
            "UPDATE chats SET last_seq = ?, users = ?, marks = ? WHERE key = 1",
            (self._last, self._last // 2, self._marks),
        )
        run("COMMIT")

    def _read(self, number: int) -> None:
        run = self._connection.execute
        run("BEGIN")
        run("SELECT * FROM chats WHERE key = 1").fetchone()
        run(
            "SELECT role, content, body, id, seq, created_at, tokens FROM messages "
            "WHERE chat = 1 AND seq BETWEEN ? AND ? ORDER BY seq",
            (self._last - number + 1, self._last),
        ).fetchall()
        run("COMMIT")

    def close(self) -> None:
        self._source.close()
        self._connection.close()


def beside_floor(work: Path) -> tuple[list[Figure], dict[str, object]]:
    talk = Talk(1)
    timed = Timed(work / "chat.db")
    timed.run(talk.turns(WARM_UP))
    floor = Floor(work / "floor.db", timed.path)
    for block in tracked(range(-2, BLOCKS), "turns and floor", BLOCKS + 2):
        if block == 0:
            timed.forget()
            floor.watch.forget()
        timed.run(talk.turns(TURNS))
        floor.replay(timed.shown[-TURNS:])
    floor.close()
    timed.memory.close()
    times, least = timed.watch.wall, floor.watch.wall
    folds = [t for t, folded in zip(times, timed.folded, strict=True) if folded]
    asking = [t for t, quoting in zip(times, timed.quoting, strict=True) if quoting]
    figures = [
        Figure("turn, p50", median(times), "ms", MOST_MS),
        Figure("turn, p95", percentile(times, 0.95), "ms"),
        Figure("turn in which a fold is made, p50", median(folds), "ms"),
        Figure("turn that asks for something earlier, p50", median(asking), "ms"),
        Figure("turn, p50 of processor time", median(timed.watch.cpu), "ms"),
        Figure("bare sqlite3, p50", median(least), "ms"),
        Figure("bare sqlite3, p95", percentile(least, 0.95), "ms"),
        Figure("bare sqlite3, p50 of processor time", median(floor.watch.cpu), "ms"),
        Figure("turn against bare sqlite3, p50", median(times) / median(least), "×", MOST_TIMES_FLOOR),
        Figure("– of processor time", median(timed.watch.cpu) / median(floor.watch.cpu), "×"),
    ]
    details: dict[str, object] = {
        "turns": len(times),
        "turns with a fold": len(folds),
        "turns that ask for something earlier": len(asking),
        "tokens of a context, mean": round(mean(timed.tokens)),
        "messages shown word for word, mean": round(mean(timed.shown), 1),
    }
    return figures, details


def long_beside_short(work: Path) -> tuple[list[Figure], dict[str, object]]:
    short, long = Timed(work / "short.db"), Timed(work / "long.db")
    short_talk, long_talk = Talk(2), Talk(3)
    fill(short.chat, short_talk, SHORT, "short chat")
    started = time.perf_counter()
    fill(long.chat, long_talk, LONG, "long chat")
    seconds = time.perf_counter() - started
    end = short.chat.messages(after=SHORT - 1)[0].id
    for block in tracked(range(-2, BLOCKS), "short and long", BLOCKS + 2):
        if block == 0:
            short.forget()
            long.forget()
        # The short chat stays short: what the last block added is taken back.
        short.chat.rewind(end)
        short.run(short_talk.turns(TURNS))
        long.run(long_talk.turns(TURNS))
    short.memory.close()
    long.memory.close()
    short50, long50 = median(short.watch.wall), median(long.watch.wall)
    figures = [
        Figure(f"turn in a chat of {SHORT:,} messages, p50", short50, "ms"),
        Figure(f"turn in a chat of {LONG:,} messages, p50", long50, "ms"),
        Figure("long against short, p50", long50 / short50, "×", MOST_TIMES_SHORT),
        Figure("– of processor time", median(long.watch.cpu) / median(short.watch.cpu), "×"),
    ]
    return figures, {"messages a second, adding lists of 500": round(LONG / seconds)}


def profile(turns: int = 2000, rows: int = 25) -> None:
    """Where the time of a turn goes. The profiler makes small functions look dearer than they are."""
    talk = Talk(1)
    with folder() as work:
        timed = Timed(work / "chat.db")
        timed.run(talk.turns(WARM_UP))
        prepared = talk.turns(turns)
        profiler = cProfile.Profile()
        profiler.enable()
        timed.run(prepared)
        profiler.disable()
        timed.memory.close()
    # Added up here: pstats keeps only one of several functions with the same name and place, such as the
    # __init__ of dataclasses.
    found: dict[str, tuple[int, float, float]] = {}
    for entry in profiler.getstats():
        name = _named(entry.code)
        calls, own, whole = found.get(name, (0, 0.0, 0.0))
        found[name] = (calls + entry.callcount, own + entry.inlinetime, whole + entry.totaltime)
    total = sum(own for _, own, _ in found.values())
    table = Table(title=f"{rows} costliest functions of {turns:,} turns, {total / turns * 1e3:.2f} ms a turn profiled")
    table.add_column("function", no_wrap=True)
    for heading in ("calls a turn", "own µs", "share", "with callees"):
        table.add_column(heading, justify="right")
    for name, (calls, own, whole) in sorted(found.items(), key=lambda pair: -pair[1][1])[:rows]:
        per_turn = f"{calls / turns:.1f}", f"{own / turns * 1e6:.0f}"
        table.add_row(name, *per_turn, f"{own / total:.1%}", f"{whole / total:.1%}")
    console.print(table)


def _named(code: CodeType | str) -> str:
    if isinstance(code, str):
        return _BUILT_IN.sub(r"\2.\1", code)
    return f"{Path(code.co_filename).name}:{code.co_firstlineno} {code.co_name}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.turn", description=__doc__)
    parser.add_argument("--profile", action="store_true", help="print the costliest functions of 2,000 turns instead")
    if parser.parse_args().profile:
        profile()
        return
    with folder() as work:
        figures, details = beside_floor(work)
        more, also = long_beside_short(work)
    report("turn", [*figures, *more], {**details, **also})


if __name__ == "__main__":
    main()
