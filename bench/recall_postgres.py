"""What recall costs on PostgreSQL for a user who has said very much: python -m bench.recall_postgres [--small]

A user with 100,000 messages in 50 chats, made as in bench.recall_speed. Each way of searching has a process of its own: with
blocks that the database nominates, and with everything in memory, as in SQLite. Compared: the first search (the embedder
is loaded by then), later ones, the memory they take, and whether they find the same. Most of these messages are nearly
alike, so hits are close to each other. To compare with: how far a search in memory agrees with itself when it ranks every
passage, instead of those that its own first look chooses.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import psycopg

from bench.common import Figure, report
from bench.postgres import server
from bench.recall_data import OURS, load
from bench.recall_speed import fill
from infold import Memory
from infold.recall import rank

CHATS, MESSAGES = 50, 100_000
FOUND = 8
ASKED_AT = 1_800_000_000_000
MOST_MS, MOST_MEMORY = 500.0, 0.5
NOMINATED, EXACT, EVERY = "nominated", "exact", "every"


def questions(number: int) -> list[str]:
    asked = [question.text for talk in load(OURS) for question in talk.questions]
    random.Random(7).shuffle(asked)
    return asked[:number]


def resident() -> float:
    """Memory of this process, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def search(url: str, way: str, number: int) -> dict[str, Any]:
    """Search in this process."""
    with Memory(url) as memory:
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


def child(url: str, way: str, number: int) -> dict[str, Any]:
    """Search in a process of its own."""
    command = [sys.executable, "-m", "bench.recall_postgres", "--search", url, way, "--queries", str(number)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def missed(one: dict[str, Any], other: dict[str, Any], most: int = FOUND) -> float:
    """Of the first hits of one way, how many per cent another has not among its own."""
    pairs = [
        ({*map(tuple, a[:most])}, {*map(tuple, b[:most])}) for a, b in zip(one["found"], other["found"], strict=True)
    ]
    return 100 * (1 - sum(len(a & b) for a, b in pairs) / sum(len(b) for _, b in pairs))


def disk(url: str) -> tuple[float, float]:
    """Bytes a message of blocks and of passages."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT pg_total_relation_size('infold.recall_blocks'), pg_total_relation_size('infold.recall_passages'), "
            "(SELECT 128 * count(*) FROM infold.recall_blocks)"
        ).fetchone()
    assert row is not None
    return row[0] / row[2], row[1] / row[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a tenth of everything, for a quick look")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--search", nargs=2, metavar=("URL", "WAY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.search:
        print(json.dumps(search(options.search[0], options.search[1], options.queries)))
        return
    size = MESSAGES // (10 if options.small else 1)
    with server() as url:
        with Memory(url) as memory:
            for number in range(CHATS):
                fill(memory.chat(f"chat {number}", user="ann"), size // CHATS, number)
            memory.settle()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
        blocks, laid_out = disk(url)
        nominated, exact, every = (child(url, way, options.queries) for way in (NOMINATED, EXACT, EVERY))
    report(
        "recall_postgres",
        [
            Figure(f"nominated: a search over {size:,} messages of a user, p50", nominated["later"], "ms", MOST_MS),
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
            "bytes a message, passages": round(laid_out),
            "questions": options.queries,
        },
    )  # fmt: skip


if __name__ == "__main__":
    main()
