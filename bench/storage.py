"""Bytes on disk for each message and each fold, on SQLite and on PostgreSQL: what to buy disks by.

The same chats in both, of 100 messages each, with everything that is made of them: folds, facts, events, index of recall.
"""

from __future__ import annotations

import argparse
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import LiteralString

import psycopg

from bench.common import Figure, folder, report, tracked, url
from bench.postgres import server
from bench.talk import Talk
from infold import Memory

EACH = 100


def store(database: str, chats: int) -> None:
    talk = Talk(8)
    with Memory(database) as memory:
        for number in tracked(range(chats), f"{chats:,} chats", chats):
            memory.chat(f"chat-{number}", user=f"user-{number % 100}").add(talk.messages(EACH))


def in_sqlite(path: Path) -> dict[str, int]:
    """Bytes of each table with its indexes."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT coalesce(m.tbl_name, d.name), sum(d.pgsize) FROM dbstat d LEFT JOIN sqlite_master m "
            "ON m.name = d.name GROUP BY 1"
        ).fetchall()
    return dict(rows)


def in_postgres(database: str, vacuum: LiteralString) -> dict[str, int]:
    """The same, with what PostgreSQL keeps beside a table."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(vacuum)
        rows = connection.execute(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = 'infold'::regnamespace"
        ).fetchall()
    return dict(rows)


def count_folds(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM folds").fetchone()[0])


def figures(where: str, sizes: Mapping[str, int], messages: int, folds: int) -> list[Figure]:
    of_folds = sum(sizes.get(name, 0) for name in ("folds", "lines"))
    parts = sorted(sizes.items(), key=lambda pair: -pair[1])[:6]
    return [
        Figure(f"{where}: all, a message", sum(sizes.values()) / messages, "bytes"),
        *(Figure(f"– {name}", size / messages, "bytes") for name, size in parts),
        Figure(f"{where}: a fold with its lines", of_folds / folds, "bytes"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.storage", description=__doc__)
    parser.add_argument("--chats", type=int, default=200)
    chats = parser.parse_args().chats
    with folder() as work, server() as database:
        path = work / "storage.db"
        store(url(path), chats)
        store(database, chats)
        folds, messages = count_folds(path), chats * EACH
        found = figures("SQLite", in_sqlite(path), messages, folds)
        before = sum(in_postgres(database, "VACUUM").values())
        sizes = in_postgres(database, "VACUUM FULL")
        found += figures("PostgreSQL", sizes, messages, folds)
        old = (before - sum(sizes.values())) / messages
        found.append(Figure("PostgreSQL: room of old row versions, used again, a message", old, "bytes"))
    report("storage", found, {"messages": messages, "folds": folds})


if __name__ == "__main__":
    main()
