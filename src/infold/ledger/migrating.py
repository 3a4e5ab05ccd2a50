"""Bringing a database to the newest schema with Alembic, inside a transaction that the caller holds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from infold.errors import NewerDatabaseError, OlderDatabaseError
from infold.ledger.schema import HEAD

MIGRATIONS = Path(__file__).parent / "migrations"
_MIGRATING = threading.Lock()


def age(name: str, revision: str, migrate: bool) -> str:
    """ "current" or "old", of a database with this schema; one that cannot be opened, or not without `migrate`, raises."""
    if revision == HEAD:
        return "current"
    if not any(MIGRATIONS.glob(f"versions/{revision}_*.py")):
        raise NewerDatabaseError(f"{name} was written by a newer infold (schema {revision}); upgrade infold")
    if not migrate:
        raise OlderDatabaseError(
            f"{name} has schema {revision}; the next command that opens it brings it to {HEAD}: back it up first"
        )
    return "old"


def upgrade(dialect: str, connection: Any) -> None:
    """Run the migrations that are missing on a DBAPI connection; its transaction stays the caller's."""
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine, pool
    from sqlalchemy.exc import DBAPIError

    # SQLAlchemy gets our connection, with our transaction open, and must neither end nor close it.
    creator: Callable[[], Any] = lambda: _Guarded(connection)  # noqa: E731
    options = {"use_native_hstore": False} if dialect.startswith("postgresql") else {}
    engine = create_engine(dialect, creator=creator, poolclass=pool.StaticPool, isolation_level="AUTOCOMMIT", **options)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    # Alembic keeps its context in globals: one migration at a time in a process.
    with _MIGRATING, engine.connect() as wrapped:
        config.attributes["connection"] = wrapped
        try:
            command.upgrade(config, "head")
        except DBAPIError as error:  # the database's own error says it shorter
            raise (error.orig or error) from None


class _Guarded:
    """A connection whose transaction belongs to somebody else."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_connection":
            object.__setattr__(self, name, value)

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def close(self) -> None: ...
