"""Passages: on PostgreSQL, what says which blocks of recall may answer a question. A SQLite file has none."""

import logging

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

log = logging.getLogger("infold")


def upgrade() -> None:
    database = op.get_bind()
    if database.dialect.name == "sqlite":
        return
    where = _halfvec(database)
    # They go with their block, whoever deletes it: also a process of an earlier version.
    database.exec_driver_sql(
        "CREATE TABLE recall_passages (block bigint NOT NULL REFERENCES recall_blocks (key) ON DELETE CASCADE, "
        "place integer NOT NULL, seq integer NOT NULL, at bigint NOT NULL, speaker text NOT NULL, words tsvector NOT NULL, "
        + (f"vector {where}.halfvec(64), " if where else "")
        + "PRIMARY KEY (block, place))"
    )


def _halfvec(database: sa.Connection) -> str | None:
    """The schema that has the type of vectors; None where it cannot be had."""
    found = "SELECT quote_ident(n.nspname) FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.typname = 'halfvec'"
    where: str | None = database.exec_driver_sql(found).scalar()
    if where is None:
        # In public, where other programs of the same database find it too.
        database.exec_driver_sql("SAVEPOINT extension")
        try:
            database.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        except sa.exc.DBAPIError as error:
            database.exec_driver_sql("ROLLBACK TO SAVEPOINT extension")
            log.warning(
                "long chats are searched by words alone, without the extension vector: %s",
                str(error.orig).splitlines()[0],
            )
        database.exec_driver_sql("RELEASE SAVEPOINT extension")
        where = database.exec_driver_sql(found).scalar()
    return where
