"""The rows of a database behind infold's back, whichever kind it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg

Row = tuple[Any, ...]


@contextmanager
def _opened(url: str) -> Iterator[sqlite3.Connection | psycopg.Connection[Row]]:
    """A connection whose changes are there for others when it is closed."""
    if url.startswith("postgresql://"):
        with psycopg.connect(url, options="-c search_path=infold") as server:
            yield server
    else:
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file, file:
            yield file


def _run(connection: Any, sql: str, values: tuple[Any, ...]) -> Any:
    if isinstance(connection, psycopg.Connection):
        return connection.execute(sql.replace("%", "%%").replace("?", "%s"), values)
    return connection.execute(sql, values)


def rows(url: str, sql: str, *values: Any) -> list[Row]:
    """What a query finds; each `?` stands for a value."""
    with _opened(url) as connection:
        return list(_run(connection, sql, values).fetchall())


def change(url: str, sql: str, *values: Any) -> int:
    """Run a statement that writes; how many rows it changed."""
    with _opened(url) as connection:
        return int(_run(connection, sql, values).rowcount)


def tables(url: str) -> list[str]:
    """The names of all tables; of a virtual one, those that hold what is in it."""
    if url.startswith("postgresql://"):
        found = rows(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'infold' ORDER BY 1")
    else:
        found = rows(url, "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY 1")
    return [name for (name,) in found]


class Observer:
    """Looks on from a connection of its own."""

    def __init__(self, url: str) -> None:
        self._postgres = url.startswith("postgresql://")
        self._connection: Any = (
            psycopg.connect(url, autocommit=True, options="-c search_path=infold")
            if self._postgres
            else sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, check_same_thread=False)
        )

    def rows(self, sql: str) -> list[Row]:
        return list(self._connection.execute(sql).fetchall())

    def version(self) -> Row:
        """Changes whenever somebody else has written."""
        if not self._postgres:
            return self.rows("PRAGMA data_version")[0]
        # Not the number of a transaction: whoever locks a row takes one, and may then write nothing.
        tables = ("messages", "folds", "lines", "pins", "events", "calls", "stated", "mentions", "recall_blocks")
        counts = ", ".join(f"(SELECT count(*) FROM {name}), (SELECT max(key) FROM {name})" for name in tables)
        return self.rows(f"SELECT (SELECT string_agg(c::text, ' ' ORDER BY key) FROM chats c), {counts}")[0]

    def __enter__(self) -> Observer:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()
