"""A PostgreSQL server: a pool of connections, migrations under a lock, transactions, and errors that say what to do."""

from __future__ import annotations

import functools
import hashlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from infold.errors import (
    ClosedError,
    ConfigError,
    DatabaseBusyError,
    DatabaseError,
    DatabaseFullError,
    ForeignDatabaseError,
    NotFoundError,
    ReadOnlyDatabaseError,
    masked,
)
from infold.ledger.migrating import age, upgrade
from infold.ledger.query import Cursor, Query

if TYPE_CHECKING:
    from pgqueuer.adapters.persistence.qb import QueryQueueBuilder

SCHEMA = "infold"
"""Where the tables are; the views that other programs read are where these look by default."""
CONNECTIONS = 10
CONNECT_TIMEOUT = 10
LOCK_TIMEOUT = 30.0  # seconds to wait for another writer of the same chat
_RETRY = 5.0  # seconds after which the pool begins anew with its ever longer pauses between two tries to connect
_MIGRATION = 0x1F01D  # of the advisory lock
# A refused connection has no code, only a text.
_REFUSALS = ("authentication failed", "no password supplied", "does not exist", "no pg_hba.conf entry")
_BEGIN = {True: "BEGIN", False: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}


class PostgresConnection(psycopg.Connection[Any]):
    """A connection of the pool, as the tenant of its transaction sees it."""

    tenant = ""
    writing = False

    def run(self, query: Query, values: Mapping[str, Any]) -> Cursor:
        """Run a statement with the values of its binds."""
        return self.execute(query.postgres(self.writing), query.bound(values))

    def run_each(self, query: Query, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert rows, in one go: the server is not waited for after each."""
        with self.cursor() as cursor:
            cursor.executemany(query.postgres(self.writing), [query.bound(row) for row in rows])

    def alone(self, name: str) -> None:
        """Let nobody else be here under the same name before this transaction ends."""
        digest = hashlib.sha256(f"{self.tenant}\0{name}".encode()).digest()
        self.execute("SELECT pg_advisory_xact_lock(%s)", [int.from_bytes(digest[:8], "big", signed=True)])

    def enqueue(self, topic: str, payload: bytes, once: str) -> None:
        """Wake a worker when this transaction is committed, unless it was woken for the same already."""
        from pgqueuer.adapters.drivers.psycopg import SyncPsycopgDriver
        from pgqueuer.queries import SyncQueries

        SyncQueries(SyncPsycopgDriver(self), _builder()).enqueue(topic, payload, dedupe_key=once, on_conflict="skip")


class Postgres:
    """One database of a server; every transaction has a connection of its own."""

    read_only = False
    nominates = True

    def __init__(self, url: str, *, create: bool = True, migrate: bool = True) -> None:
        self.name = masked(url).partition("?")[0]
        self.url = url
        self.closed = False
        self._closing = threading.Lock()
        try:
            _prepare(url, self.name, create, migrate)
        except psycopg.Error as error:
            raise clear_error(error, self.name) from error
        self._pool: ConnectionPool[PostgresConnection] = ConnectionPool(
            url,
            connection_class=PostgresConnection,
            min_size=1,
            max_size=CONNECTIONS,
            reconnect_timeout=_RETRY,
            kwargs=_settings(),
            name="infold",
            open=True,
        )

    def transaction(self, tenant: str, writing: bool) -> Transaction:
        """One consistent view of the database; or one change: all of it is written, or nothing."""
        return Transaction(self, tenant, writing)

    def connect(self) -> PostgresConnection:
        """A connection from the pool that answers; a restarted server has closed those that were open."""
        if self.closed:
            raise ClosedError("this memory is closed; open it again with Memory(…)")
        began = time.monotonic()
        while True:
            refused = self._refused()
            left = began + LOCK_TIMEOUT - time.monotonic()
            try:
                return self._pool.getconn(min(left, _RETRY))
            except (PoolTimeout, PoolClosed) as error:
                # Where all connections are busy it is worth waiting; where there are none to be had it is not.
                most = CONNECT_TIMEOUT if self._refused() > refused else LOCK_TIMEOUT
                if isinstance(error, PoolClosed) or time.monotonic() - began >= min(most, LOCK_TIMEOUT):
                    raise DatabaseBusyError(f"{self.name} does not answer; is it running? Try again") from error

    def _refused(self) -> int:
        """How many tries to connect have failed so far."""
        return self._pool.get_stats().get("connections_errors", 0)

    def put_back(self, connection: PostgresConnection) -> None:
        with suppress(PoolClosed):
            self._pool.putconn(connection)

    def install_queue(self) -> None:
        """Make the tables of the workers' queue, once."""
        from pgqueuer.adapters.persistence.qb import QueryBuilderEnvironment
        from pgqueuer.domain.settings import DBSettings

        with self.transaction("", True) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_MIGRATION])
            found = connection.execute("SELECT to_regclass(%s)", [f"{SCHEMA}.pgqueuer"]).fetchone()
            if found == (None,):
                connection.execute(QueryBuilderEnvironment(DBSettings(db_schema=SCHEMA)).build_install_query())

    def tidy(self) -> Iterator[None]:
        """The server does that itself."""
        return iter(())

    def describe(self) -> str:
        """Size and version, for people."""
        connection = self.connect()
        try:
            version = connection.info.server_version
            size = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        finally:
            self.put_back(connection)
        return f"{(size or [0])[0] / 1e6:.1f} MB, PostgreSQL {version // 10000}.{version % 10000}"

    def scrub(self) -> bool:
        """Deleted rows stay in the server's files, log and backups until it reuses or removes them: that is not ours."""
        return False

    def close(self) -> None:
        with self._closing:
            if not self.closed:
                self.closed = True
                self._pool.close()


class Transaction:
    """Holds a connection from BEGIN to COMMIT, or to ROLLBACK if anything is raised."""

    __slots__ = ("_connection", "_database", "_tenant", "_writing")

    def __init__(self, database: Postgres, tenant: str, writing: bool) -> None:
        self._database = database
        self._tenant = tenant
        self._writing = writing

    def __enter__(self) -> PostgresConnection:
        # Connections that died while they were idle fail at once, and the pool forgets them.
        for attempt in range(CONNECTIONS + 1):
            connection = self._database.connect()
            try:
                connection.execute(_BEGIN[self._writing])
            except psycopg.OperationalError as error:
                self._database.put_back(connection)
                if attempt == CONNECTIONS or not connection.broken:
                    raise clear_error(error, self._database.name) from error
            except BaseException:
                self._database.put_back(connection)
                raise
            else:
                break
        connection.tenant, connection.writing = self._tenant, self._writing
        self._connection = connection
        return connection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        connection = self._connection
        try:
            connection.execute("COMMIT" if kind is None else "ROLLBACK")
        except psycopg.Error as failed:
            if kind is None:
                error = failed
            connection.close()
        finally:
            self._database.put_back(connection)
        if isinstance(error, psycopg.Error):
            raise clear_error(error, self._database.name) from error


@functools.cache
def _builder() -> QueryQueueBuilder:
    from pgqueuer.adapters.persistence.qb import QueryQueueBuilder
    from pgqueuer.domain.settings import DBSettings

    return QueryQueueBuilder(DBSettings(db_schema=SCHEMA))


def _settings() -> dict[str, Any]:
    return {
        "autocommit": True,  # transactions begin and end where we say
        "connect_timeout": CONNECT_TIMEOUT,
        "application_name": "infold",
        "options": f"-c search_path={SCHEMA},public -c lock_timeout={int(1000 * LOCK_TIMEOUT)}",
        # A server that is gone without a word is noticed within a minute.
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": 30_000,
    }


def _prepare(url: str, name: str, create: bool, migrate: bool) -> None:
    """Bring the schema to HEAD; of several processes that start at once, one does, and the others find it done."""
    if _is_ambiguous(url):
        raise _no_address(name)
    try:
        connection = PostgresConnection.connect(url, **_settings())
    except psycopg.ProgrammingError:  # it quotes parts of the address, maybe of the password
        raise _no_address(name) from None
    with connection:
        state = _state(connection, name, migrate)
        if state == "current":
            return
        if state == "new" and not create:
            raise NotFoundError(f"{name} has no infold tables; add a message first")
        connection.execute("BEGIN")
        # Ends with the transaction, so a process that dies here keeps nobody out.
        connection.execute("SET LOCAL lock_timeout = 0")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_MIGRATION])
        if _state(connection, name) != "current":
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            upgrade("postgresql+psycopg://", connection)
        connection.execute("COMMIT")


def _state(connection: PostgresConnection, name: str, migrate: bool = True) -> str:
    """ "current", "old" (an earlier infold's) or "new" (none yet); other people's tables raise."""
    tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [SCHEMA]).fetchall()
    if not tables:
        return "new"
    if ("alembic_version",) not in tables:
        raise ForeignDatabaseError(f"the schema {SCHEMA!r} of {name} belongs to another program; use another database")
    found = connection.execute(f"SELECT version_num FROM {SCHEMA}.alembic_version").fetchone()  # noqa: S608  our own name
    return age(name, found[0] if found else "", migrate)


def _is_ambiguous(url: str) -> bool:
    """Whether nobody can tell where the password ends: it has characters that must be quoted."""
    who = url.partition("://")[2].rpartition("@")[0]
    return any(character in who for character in "/?#@")


def _no_address(name: str) -> ConfigError:
    return ConfigError(
        f"{name} is not a PostgreSQL address; write postgresql://user:password@host:5432/database, with special "
        "characters of the password as %XX"
    )


def clear_error(error: psycopg.Error, name: str) -> DatabaseError:
    """The server's error as one of infold's, with a sentence that helps."""
    text = " ".join(str(error).split())
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return ReadOnlyDatabaseError(f"{name} is read-only (a standby?); nothing was written. Use the primary")
    if isinstance(error, errors.DiskFull):
        return DatabaseFullError(f"{name} is full; nothing was written. Make room")
    if isinstance(error, errors.LockNotAvailable | errors.DeadlockDetected | errors.SerializationFailure):
        return DatabaseBusyError(f"{name}: another writer held the chat for too long; try again")
    if isinstance(error, errors.InsufficientPrivilege):
        return DatabaseError(f"{name}: the role may not do this ({text}); give it rights on the schema {SCHEMA!r}")
    if error.sqlstate is None and any(sign in text for sign in _REFUSALS):
        return DatabaseError(f"cannot open {name} ({text}); check the user, the password and the database's name")
    if isinstance(error, psycopg.OperationalError):
        return DatabaseBusyError(f"{name} does not answer ({text}); check that it runs, then try again")
    return DatabaseError(f"{name}: {text}")
