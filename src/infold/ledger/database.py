"""The database behind a memory: a SQLite file or a PostgreSQL server, seen by one tenant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from infold.errors import ConfigError
from infold.ledger.addresses import is_postgres
from infold.ledger.query import Connection


class Backend(Protocol):
    """What a kind of database can do."""

    name: str
    """For people: without a password."""
    closed: bool

    @property
    def nominates(self) -> bool:
        """Whether it can say which blocks of recall may answer a question."""
        ...

    @property
    def read_only(self) -> bool: ...

    def transaction(self, tenant: str, writing: bool) -> AbstractContextManager[Connection]:
        """One consistent view of the database; or one change: all of it is written, or nothing."""
        ...

    def scrub(self) -> bool:
        """Leave no trace of what was deleted; False where that could not be done."""
        ...

    def tidy(self) -> Iterator[None]:
        """Do, in steps, what is left to do after changes and would hold up a later one; nothing is lost without it."""
        ...

    def describe(self) -> str:
        """Its size and kind, for people."""
        ...

    def close(self) -> None: ...


class Database:
    """A database as one tenant sees it: whatever runs in its transactions is told apart from other tenants' here."""

    __slots__ = ("backend", "tenant")

    def __init__(self, backend: Backend, tenant: str = "") -> None:
        self.backend = backend
        self.tenant = tenant

    @classmethod
    def open(cls, url: str, *, create: bool = True, migrate: bool = True) -> Database:
        """Open or create the database that a URL names. Without `migrate`, that of an older infold is refused,
        and one that nothing was written to."""
        return cls(_open(url, create, migrate))

    def of(self, tenant: str) -> Database:
        """The same database as another tenant sees it."""
        return Database(self.backend, tenant)

    def read(self) -> AbstractContextManager[Connection]:
        """One consistent view of the database."""
        return self.backend.transaction(self.tenant, False)

    def write(self) -> AbstractContextManager[Connection]:
        """One transaction: all of it is written, or nothing."""
        return self.backend.transaction(self.tenant, True)

    @property
    def read_only(self) -> bool:
        return self.backend.read_only

    def scrub(self) -> bool:
        """Leave no trace of what was deleted; False where that could not be done."""
        return self.backend.scrub()

    def close(self) -> None:
        self.backend.close()


def _open(url: str, create: bool, migrate: bool) -> Backend:
    if is_postgres(url):
        try:
            from infold.ledger.postgres import Postgres
        except ModuleNotFoundError as error:
            raise ConfigError(f"PostgreSQL needs the package {error.name}: pip install 'infold[postgres]'") from error
        return Postgres(url, create=create, migrate=migrate)
    from infold.ledger.sqlite import Sqlite

    return Sqlite(url, create=create, migrate=migrate)
