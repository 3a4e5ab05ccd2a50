"""What recall costs for a user who has said very much: python -m bench.recall_large [--postgresql] [--small]

A user with 200,000 messages in 50 chats, made as in bench.recall_speed, in a SQLite file; or 100,000 on PostgreSQL. Each way of
searching has a process of its own: with stretches that the database nominates, and with everything in memory. Compared: the
first search (the embedder is loaded by then), later ones, the memory they take, and whether they find the same. Most of these
messages are nearly alike, so hits are close to each other. To compare with: how far a search in memory agrees with
itself when it ranks every passage, instead of those that its own first look chooses.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import psycopg

from bench.common import Figure, folder, report, url
from bench.postgres import server
from bench.recall_data import OURS, load
from bench.recall_speed import fill
from infold import Memory
from infold.recall import rank

CHATS, MESSAGES, MESSAGES_POSTGRESQL = 50, 200_000, 100_000
FOUND = 8
ASKED_AT = 1_800_000_000_000
MOST_MS, MOST_MS_POSTGRESQL, MOST_MEMORY = 100.0, 500.0, 0.7
NOMINATED, EXACT, EVERY = "nominated", "exact", "every"


def questions(number: int) -> list[str]:
    asked = [question.text for talk in load(OURS) for question in talk.questions]
    random.Random(7).shuffle(asked)
    return asked[:number]


def resident() -> float:
    """Memory of this process, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def search(address: str, way: str, number: int) -> dict[str, Any]:
    """Search in this process."""
    with Memory(address) as memory:
        recaller = memory.recaller
        recaller.nominator.large = 0 if way == NOMINATED else 1 << 40
        if way == EVERY:
            rank.LOOKED_AT = 1 << 40
        recaller.embedder.near(["warm"])
        before, spent, found = resident(), [], []
        for question in questions(number):
            start = perf_counter()
            hits = recaller.search(question, user="ann", at=ASKED_AT, asker="user", most=FOUND)
            spent.append(1e3 * (perf_counter() - start))
            found.append([(one.chat, one.seq) for one in hits.ranked])
        return {"first": spent[0], "later": median(spent[1:]), "memory": resident() - before, "found": found}


def child(address: str, way: str, number: int) -> dict[str, Any]:
    """Search in a process of its own."""
    command = [sys.executable, "-m", "bench.recall_large", "--search", address, way, "--queries", str(number)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def missed(one: dict[str, Any], other: dict[str, Any], most: int = FOUND) -> float:
    """Of the first hits of one way, how many per cent another has not among its own."""
    pairs = [
        ({*map(tuple, a[:most])}, {*map(tuple, b[:most])}) for a, b in zip(one["found"], other["found"], strict=True)
    ]
    return 100 * (1 - sum(len(a & b) for a, b in pairs) / sum(len(b) for _, b in pairs))


def disk(address: str) -> tuple[float, float]:
    """Bytes a message of blocks, and of what nominates them."""
    if address.startswith("sqlite"):
        with closing(sqlite3.connect(address.removeprefix("sqlite:///"))) as file:
            found = file.execute(
                "SELECT sum(length(data)), (SELECT sum(length(block)) FROM recall_words_data), 128 * count(*) "
                "FROM recall_blocks"
            ).fetchone()
    else:
        with psycopg.connect(address) as connection:
            found = connection.execute(
                "SELECT pg_total_relation_size('infold.recall_blocks'), pg_total_relation_size('infold.recall_passages'), "
                "(SELECT 128 * count(*) FROM infold.recall_blocks)"
            ).fetchone()
    assert found is not None
    return found[0] / found[2], found[1] / found[2]


@contextmanager
def database(postgresql: bool) -> Iterator[str]:
    if postgresql:
        with server() as found:
            yield found
    else:
        with folder() as path:
            yield url(path / "large.db")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgresql", action="store_true", help="on PostgreSQL instead of in a SQLite file")
    parser.add_argument("--small", action="store_true", help="a tenth of everything, for a quick look")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--search", nargs=2, metavar=("URL", "WAY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.search:
        print(json.dumps(search(options.search[0], options.search[1], options.queries)))
        return
    size = (MESSAGES_POSTGRESQL if options.postgresql else MESSAGES) // (10 if options.small else 1)
    with database(options.postgresql) as address:
        with Memory(address) as memory:
            for number in range(CHATS):
                fill(memory.chat(f"chat {number}", user="ann"), size // CHATS, number)
            memory.settle()
        if options.postgresql:
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute("VACUUM ANALYZE")
        blocks, beside = disk(address)
        nominated, exact, every = (child(address, way, options.queries) for way in (NOMINATED, EXACT, EVERY))
    most_ms = MOST_MS_POSTGRESQL if options.postgresql else MOST_MS
    report(
        "recall_large_postgresql" if options.postgresql else "recall_large",
        [
            Figure(f"nominated: a search over {size:,} messages of a user, p50", nominated["later"], "ms", most_ms),
            Figure("nominated: the first search of a process", nominated["first"], "ms"),
            Figure("everything in memory: p50", exact["later"], "ms"),
            Figure("everything in memory: the first search of a process", exact["first"], "ms"),
            Figure("memory taken, nominated against everything", nominated["memory"] / exact["memory"], "x", MOST_MEMORY),
            Figure("of the first 8 hits of everything, nominated has not", missed(nominated, exact), "%"),
            Figure("the same of a search of everything without a first look", missed(every, exact), "%"),
        ],
        {
            "memory taken, nominated, MB": round(nominated["memory"]),
            "memory taken, everything, MB": round(exact["memory"]),
            "another first hit, nominated, %": round(missed(nominated, exact, 1), 1),
            "another first hit, without a first look, %": round(missed(every, exact, 1), 1),
            "bytes a message, blocks": round(blocks),
            "bytes a message, what nominates them": round(beside),
            "questions": options.queries,
        },
    )  # fmt: skip


if __name__ == "__main__":
    main()
