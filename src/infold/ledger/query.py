"""Statements: written once in SQLAlchemy Core, compiled once for each database, run on its own connection."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import ColumnElement, bindparam, cast, select
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ClauseElement, Select
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import Text

TENANT = "tenant"
"""The bind that every statement on chats by name or user has. It comes from the connection alone, never from a caller."""

_SQLITE = sqlite_dialect(paramstyle="qmark")


class Cursor(Protocol):
    """What came of a statement."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """An open transaction of one tenant."""

    tenant: str
    writing: bool

    def execute(self, sql: Any, /) -> Cursor: ...

    def run(self, query: Query, values: Mapping[str, Any]) -> Cursor:
        """Run a statement with the values of its binds."""
        ...

    def run_each(self, query: Query, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert rows, in as few turns as the database can."""
        ...

    def alone(self, name: str) -> None:
        """Let nobody else be here under the same name before this transaction ends."""
        ...

    def enqueue(self, topic: str, payload: bytes, once: str) -> None:
        """Wake a worker when this transaction is committed, unless it was woken for the same already."""
        ...


class Query:
    """A Core statement. With `lock`, a transaction that writes keeps the rows it finds for itself."""

    __slots__ = ("_constants", "_names", "_postgres", "_scoped", "_sql", "_statement", "lock")

    def __init__(self, statement: ClauseElement, *, lock: bool = False) -> None:
        self._statement = statement
        self._sql = ""
        self._names: Sequence[str] = ()
        self._constants: dict[str, Any] = {}
        self._scoped = False
        self._postgres: tuple[str, str] | None = None
        self.lock = lock

    def _compile(self) -> None:
        """At first use: a program uses few of all statements, and is not to wait for the others as it starts."""
        compiled = self._statement.compile(dialect=_SQLITE)
        self._names = tuple(getattr(compiled, "positiontup", None) or ())
        self._constants = {k: v for k, v in compiled.params.items() if v is not None}
        self._scoped = TENANT in self._names
        self._sql = str(compiled)  # last: another thread that sees it sees the rest

    def __call__(self, connection: Connection, **values: Any) -> Cursor:
        if not self._sql:
            self._compile()
        if self._scoped:
            assert TENANT not in values, "the tenant is the connection's"
            values[TENANT] = connection.tenant
        if isinstance(connection, sqlite3.Connection):  # as short as can be: it is done several times a turn
            known = self._constants
            return connection.execute(
                self._sql, [values[name] if name in values else known.get(name) for name in self._names]
            )
        return connection.run(self, values)

    def each(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        """Insert rows, in their order."""
        if self.scoped:
            rows = [{**row, TENANT: connection.tenant} for row in rows]
        if rows:
            connection.run_each(self, rows)

    @property
    def scoped(self) -> bool:
        """Whether it sees one tenant's rows alone."""
        return bool(self.sql) and self._scoped

    @property
    def sql(self) -> str:
        """For SQLite."""
        if not self._sql:
            self._compile()
        return self._sql

    def postgres(self, writing: bool) -> str:
        """For PostgreSQL, with named binds; compiled at first use."""
        if self._postgres is None:
            from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

            dialect: Any = PGDialect_psycopg
            locked = (
                self._statement.with_for_update()
                if self.lock and isinstance(self._statement, Select)
                else self._statement
            )
            self._postgres = (
                str(self._statement.compile(dialect=dialect())),
                str(locked.compile(dialect=dialect())),
            )
        return self._postgres[writing]

    def bound(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """All binds with their values, those that the statement itself gives among them."""
        return {name: values[name] if name in values else self._constants.get(name) for name in self._names}


def storable(text: str) -> bool:
    """Whether a database can hold a text. What it cannot hold it does not have: there is no need to ask."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


class _Each(FunctionElement[str]):
    """The values of a JSON list, one a row."""

    name = "each"
    inherit_cache = True
    type = Text()


@compiles(_Each, "sqlite")
def _each_sqlite(element: _Each, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **options)})"


@compiles(_Each, "postgresql")
def _each_postgres(element: _Each, compiler: SQLCompiler, **options: Any) -> str:
    return f"jsonb_array_elements_text(CAST({compiler.process(element.clauses, **options)} AS jsonb))"


def among(column: ColumnElement[Any], bind: str) -> ColumnElement[bool]:
    """Whether a column's value is in a JSON list that is bound."""
    listed = _Each(bindparam(bind, type_=Text)).table_valued("value")
    return column.in_(select(cast(listed.c.value, column.type)))
