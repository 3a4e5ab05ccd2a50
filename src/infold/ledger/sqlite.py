"""Opening a SQLite file: settings, migration, transactions, and errors that say what to do."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

from infold.errors import (
    ClosedError,
    ConfigError,
    DatabaseBusyError,
    DatabaseError,
    DatabaseFullError,
    ForeignDatabaseError,
    NotFoundError,
    ReadOnlyDatabaseError,
)
from infold.ledger import full_text
from infold.ledger.addresses import is_keywords
from infold.ledger.migrating import age, upgrade
from infold.ledger.query import Cursor, Query

APPLICATION_ID = 0x1F01D  # in the file's header: this is an infold database
BUSY_TIMEOUT = 30.0  # seconds to wait for another writer
MOST_LOGGED = 4000  # pages of the log that a change may find before it has to write them to the file itself
MOST_ROWS = 16  # that a statement inserts
SCRUB_TIMEOUT = 2000  # milliseconds to wait for readers when the log is emptied

# In WAL mode NORMAL loses nothing when a process dies at any instant; only a power cut or a crash of the operating
# system can take back the last commits, and never corrupts the file. FULL waits for the disk on every commit.
SYNCHRONOUS = ("NORMAL", "FULL", "EXTRA")


class SqliteConnection(sqlite3.Connection):
    """The connection of a file, as the tenant of its transaction sees it."""

    tenant = ""
    writing = False
    full_text = False
    """Whether `full_text` has a table here."""

    def run(self, query: Query, values: Mapping[str, Any]) -> Cursor:
        """Run a statement with the values of its binds."""
        return query(self, **values)

    def run_each(self, query: Query, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert rows, several with a statement: after each, other threads go first."""
        head, values, row = query.sql.partition(" VALUES ")
        start = 0
        while start < len(rows):
            # Of few lengths, as each makes a statement of its own, which is kept.
            length = min(MOST_ROWS, 1 << ((len(rows) - start).bit_length() - 1))
            bound = [value for one in rows[start : start + length] for value in query.bound(one).values()]
            self.execute(head + values + ", ".join([row] * length), bound)
            start += length

    def alone(self, name: str) -> None:
        """A file has one writer at a time anyway."""

    def enqueue(self, topic: str, payload: bytes, once: str) -> None:
        """A file has no workers: its jobs are done by the process that has it open."""
        raise AssertionError((topic, payload, once))


class Sqlite:
    """One SQLite file, one connection, one writer at a time."""

    def __init__(self, url: str, *, create: bool = True, migrate: bool = True) -> None:
        self.path, self.options = parse_url(url)
        self.name = self.path
        self._target = "" if self.path == ":memory:" else f"file:{quote(str(Path(self.path).absolute()))}"
        self.lock = threading.RLock()
        self._tidying = threading.Lock()
        """Taken after the other one: who closes the file, or empties its log, does so alone."""
        self.closed = False
        try:
            self.connection = self._open(create)
            try:
                self._prepare(migrate)
            except BaseException:
                self.connection.close()
                raise
        except sqlite3.Error as error:
            raise clear_error(error, self.path) from error

    def _open(self, create: bool) -> SqliteConnection:
        read_only = self.options.get("mode") == "ro"
        if self.path == ":memory:":
            target = "file::memory:"
        else:
            path = Path(self.path)
            if path.is_dir():
                raise DatabaseError(f"{self.path} is a folder; give the path of a file")
            if not path.exists() and (read_only or not create):
                raise NotFoundError(
                    f"no database at {self.path}; check the path, or create it by adding a message first"
                )
            if not path.parent.is_dir():
                raise NotFoundError(f"the folder {path.parent} does not exist; create it first")
            target = self._target + ("?mode=ro" if read_only else "")
        connection = sqlite3.connect(
            target, uri=True, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False, cached_statements=256,
            factory=SqliteConnection,
        )  # fmt: skip
        connection.text_factory = _text
        return connection

    def _prepare(self, migrate: bool) -> None:
        connection = self.connection
        # Look before changing anything: a foreign file stays as it is.
        connection.execute("BEGIN")
        try:
            state = self._state(migrate)
        finally:
            connection.execute("ROLLBACK")
        if state == "new" and not migrate:
            raise NotFoundError(f"{self.path} is empty; the first message makes it a database")
        if state != "current":
            self._patiently("PRAGMA journal_mode = WAL")
            self._migrate()
        elif migrate and not self.read_only and self._journal() == "delete":  # a copy that VACUUM INTO has made
            with suppress(sqlite3.OperationalError):  # it is in use: whoever opens it next does this
                connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {self.options.get('synchronous', 'NORMAL')}")
        if "max_page_count" in self.options:
            connection.execute(f"PRAGMA max_page_count = {int(self.options['max_page_count'])}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {MOST_LOGGED}")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
        connection.full_text = full_text.is_there(connection)

    def _journal(self) -> str:
        return str(self.connection.execute("PRAGMA journal_mode").fetchone()[0])

    @property
    def nominates(self) -> bool:
        """Whether there is full text: a few builds of SQLite have no FTS5."""
        return self.connection.full_text

    def _state(self, migrate: bool = True) -> str:
        """ "current", "old" (an earlier infold's) or "new" (empty); other people's files raise."""
        connection = self.connection
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        if owner != APPLICATION_ID:
            if tables or owner:
                raise ForeignDatabaseError(f"{self.path} is a SQLite database of another program; choose another path")
            return "new"
        revision = connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]
        return age(self.path, revision, migrate)

    def _migrate(self) -> None:
        """Bring the file to HEAD in one transaction; a process that comes second finds it done."""
        self._patiently("BEGIN IMMEDIATE")
        try:
            if self._state() != "current":
                upgrade("sqlite://", self.connection)
                self.connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    def _patiently(self, sql: str) -> None:
        """Run a statement that SQLite may refuse at once, without its own waiting, while another process opens."""
        deadline = time.monotonic() + BUSY_TIMEOUT
        while True:
            try:
                self.connection.execute(sql)
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    @property
    def read_only(self) -> bool:
        return self.options.get("mode") == "ro"

    def transaction(self, tenant: str, writing: bool) -> Transaction:
        """One consistent view of the database; or one change: all of it is written, or nothing."""
        return Transaction(self, tenant, writing)

    def scrub(self) -> bool:
        """Write the file anew, and empty its log: neither keeps a trace of what was deleted.

        False where that could not be done, for another process reads or the disk is full.
        """
        with self.lock, self._tidying:
            if self.closed:
                return False
            connection = self.connection
            try:
                # What was deleted from full text is marked as such, and gone when its parts have been merged.
                if connection.full_text:
                    full_text.merge(connection)
                # Rows that moved may have left copies in the free space of pages; a file that is written anew has none.
                connection.execute("PRAGMA temp_store = FILE")  # it may be larger than what fits into memory
                connection.execute("VACUUM")
                connection.execute(f"PRAGMA busy_timeout = {SCRUB_TIMEOUT}")
                busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                return not busy
            except sqlite3.Error:
                return False
            finally:
                connection.execute(f"PRAGMA busy_timeout = {int(1000 * BUSY_TIMEOUT)}")
                connection.execute("PRAGMA temp_store = MEMORY")

    def tidy(self) -> Iterator[None]:
        """Write what is in the log to the file, through a connection of its own: nobody waits for the disk meanwhile."""
        with self._tidying:
            if self._target and not self.closed:
                with closing(sqlite3.connect(f"{self._target}?mode=rw", uri=True, timeout=0)) as connection:
                    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        yield

    def describe(self) -> str:
        """Size and journal, for people."""
        with self.transaction("", False) as connection:
            mode, pages, size = (
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("journal_mode", "page_count", "page_size")
            )
        lacking = (
            ""
            if self.nominates
            else ", without full text (no FTS5 in this build of SQLite or the one it was made with, or it is damaged)"
        )
        return f"{pages * size / 1e6:.1f} MB, journal {mode}{lacking}"

    def close(self) -> None:
        with self.lock, self._tidying:
            if not self.closed:
                self.closed = True
                # No statistics are made: of a file with one chat they say that all rows are of one, and plans follow them.
                self.connection.close()


class Transaction:
    """Holds the database for one thread, from BEGIN to COMMIT, or to ROLLBACK if anything is raised."""

    # A class rather than a generator: it is entered three times a turn.
    __slots__ = ("_database", "_tenant", "_writing")

    def __init__(self, database: Sqlite, tenant: str, writing: bool) -> None:
        self._database = database
        self._tenant = tenant
        self._writing = writing

    def __enter__(self) -> SqliteConnection:
        database = self._database
        database.lock.acquire()
        try:
            if database.closed:
                raise ClosedError("this memory is closed; open it again with Memory(…)")
            assert not database.connection.in_transaction, "transactions do not nest"
            database.connection.execute("BEGIN IMMEDIATE" if self._writing else "BEGIN")
        except BaseException as error:
            database.lock.release()
            if isinstance(error, sqlite3.Error):
                raise clear_error(error, database.path) from error
            raise
        connection = database.connection
        connection.tenant, connection.writing = self._tenant, self._writing
        return connection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        connection = self._database.connection
        try:
            if kind is None:
                connection.execute("COMMIT")
        except sqlite3.Error as failed:
            error = failed
        finally:
            try:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            finally:
                self._database.lock.release()
        if isinstance(error, sqlite3.Error):
            raise clear_error(error, self._database.path) from error


def _text(stored: bytes) -> str:
    """A text of the file. Damaged bytes become a mark, which checksums and hashes do not match: one row is damaged, not all."""
    return str(stored, "utf-8", "replace")


def parse_url(url: str) -> tuple[str, Mapping[str, str]]:
    """Path and options of `sqlite:///chats.db`, `sqlite:////abs/chats.db`, or a plain path."""
    if not isinstance(url, str) or not url:
        raise ConfigError('give a database such as "sqlite:///chats.db"')
    if is_keywords(url):  # with a password, perhaps: it is not repeated
        raise ConfigError("write a PostgreSQL database as postgresql://user:password@host/name, not as host=… user=…")
    scheme, mark, rest = url.partition("://")
    if mark and scheme != "sqlite":
        raise ConfigError(f"cannot open {scheme}:// databases; use sqlite:///path/to/file.db or postgresql://…")
    text, _, query = (rest if mark else url).partition("?")
    path = unquote(text[1:] if mark and text.startswith("/") else text)
    options = dict(parse_qsl(query))
    for key, value in options.items():
        allowed = {
            "mode": value in ("ro", "rwc"),
            "synchronous": value.upper() in SYNCHRONOUS,
            "max_page_count": value.isdecimal(),
        }
        if not allowed.get(key):
            raise ConfigError(
                f"unknown database option {key}={value}: there are mode=ro, synchronous={'|'.join(SYNCHRONOUS)} "
                "and max_page_count=N"
            )
    return path or ":memory:", options


def clear_error(error: sqlite3.Error, path: str) -> DatabaseError:
    """SQLite's error as one of infold's, with a sentence that helps."""
    text = str(error)
    if "not a database" in text or "malformed" in text or "encrypted" in text:
        return ForeignDatabaseError(f"{path} is not a readable SQLite database ({text}); choose another path")
    if "readonly" in text:
        return ReadOnlyDatabaseError(f"{path} is read-only; nothing was written. Check its permissions")
    if "full" in text:
        return DatabaseFullError(f"{path} is full (disk or max_page_count); nothing was written. Make room")
    if "locked" in text or "busy" in text:
        return DatabaseBusyError(f"{path} was locked by another process for {BUSY_TIMEOUT:.0f} s; try again")
    if "unable to open" in text:
        return DatabaseError(f"cannot open {path}; check that the folder and the file may be written")
    return DatabaseError(f"{path}: {text}")
