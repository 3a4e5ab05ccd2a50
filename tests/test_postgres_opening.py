"""Opening a PostgreSQL database that is not there, not ours, or not open to us: clear errors, and no password in any."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from urllib.parse import quote

import psycopg
import pytest

from infold import Memory
from infold.errors import (
    ConfigError,
    DatabaseBusyError,
    DatabaseError,
    ForeignDatabaseError,
    InfoldError,
    NewerDatabaseError,
    NotFoundError,
    ReadOnlyDatabaseError,
    masked,
)
from tests import rawsql
from tests.conftest import turn, user
from tests.postgres import GUARDED, PASSWORD, Server

SECRET = "hunter2 & söns"


@pytest.fixture
def nothing(postgres: Server) -> Iterator[str]:
    """A database in which infold never was."""
    with postgres.database("template1") as url:
        yield url


def refused(url: str, kind: type[InfoldError], *secrets: str, create: bool = True) -> str:
    """The error that opening raises; neither it nor what it came from tells a secret."""
    with pytest.raises(InfoldError) as caught:
        Memory(url, create=create)
    assert type(caught.value) is kind, repr(caught.value)
    whole = "".join(traceback.format_exception(caught.value, chain=True))
    told = "\n".join(line for line in whole.splitlines() if "Memory(url" not in line)
    for secret in secrets:
        assert secret not in told
        assert quote(secret) not in told
    return str(caught.value)


def test_a_wrong_password(postgres: Server) -> None:
    url = postgres.url_of("empty", GUARDED, SECRET)
    said = refused(url, DatabaseError, SECRET)
    assert "password authentication failed" in said
    assert "check the user, the password" in said
    assert f"{GUARDED}:***@" in said


def test_a_right_password_is_not_told_either(
    postgres: Server, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    name = postgres_url.partition("?")[0].rpartition("/")[2]
    url = postgres.url_of(name, GUARDED, PASSWORD)
    with caplog.at_level(logging.DEBUG), Memory(url) as memory:
        chat = memory.chat("c")
        chat.add(turn(1))
        shown = [repr(memory), repr(memory.database), repr(memory.database.backend), repr(chat)]
        shown += [memory.database.backend.name, memory.database.backend.describe()]
        postgres.terminate(url)
        with pytest.raises(DatabaseError) as caught, chat.writing() as (connection, _):
            connection.execute("SELECT no_such_column")
        shown += traceback.format_exception(caught.value)
    assert "PostgreSQL" in shown[5]
    for secret in (PASSWORD, quote(PASSWORD)):
        assert secret not in "\n".join([*shown, caplog.text])


def test_no_server(nobody: str) -> None:
    address = nobody.removeprefix("http://").removesuffix("/v1")
    said = refused(f"postgresql://ann:{quote(SECRET)}@{address}/chats", DatabaseBusyError, SECRET)
    assert f"postgresql://ann:***@{address}/chats does not answer" in said
    assert "check that it runs" in said


def test_a_wrong_name(postgres: Server) -> None:
    said = refused(postgres.url("nowhere"), DatabaseError)
    assert 'database "nowhere" does not exist' in said
    assert "check the user, the password and the database's name" in said
    assert 'role "nobody" does not exist' in refused(postgres.url_of("empty", "nobody", ""), DatabaseError)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:hun/ter2@localhost/chats",
        "postgresql://ann:hun?ter2@localhost/chats",
        "postgresql://ann:hun#ter2@localhost/chats",
        "postgresql://ann:hun@ter2@localhost/chats",
        "postgresql://ann:hun%ter2@localhost/chats",
        "postgresql://ann@localhost/chats?pasword=hunter2",
    ],
)
def test_an_address_that_is_none(address: str) -> None:
    said = refused(address, ConfigError, "hunter2", "ter2", "hun/", "hun")
    assert "is not a PostgreSQL address; write postgresql://user:password@host" in said


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:hunter2@host:5432/chats",
        "postgresql:///chats?user=ann&password=hunter2",
        "postgresql:///chats?password=hunter@2hunter2",
        "postgresql://ann:hun@ter2hunter2@host/chats",
        "postgresql://ann:hun/ter2?hunter2@host/chats",
    ],
)
def test_addresses_are_shown_without_passwords(url: str) -> None:
    shown = masked(url)
    assert "hun" not in shown
    assert "ter2" not in shown
    assert shown.startswith("postgresql://")
    assert "chats" in shown


def test_nothing_is_created_where_that_was_not_asked_for(nothing: str) -> None:
    assert "has no infold tables" in refused(nothing, NotFoundError, create=False)
    assert rawsql.rows(nothing, "SELECT nspname FROM pg_namespace WHERE nspname = 'infold'") == []
    Memory(nothing).close()
    Memory(nothing, create=False).close()


def test_a_schema_of_another_program_is_left_alone(nothing: str) -> None:
    rawsql.change(nothing, "CREATE SCHEMA infold")
    rawsql.change(nothing, "CREATE TABLE infold.recipes (name text)")
    assert "belongs to another program; use another database" in refused(nothing, ForeignDatabaseError)
    assert rawsql.tables(nothing) == ["recipes"]


def test_a_newer_database_is_left_alone(postgres_url: str) -> None:
    with Memory(postgres_url) as memory:
        memory.chat("c").add(turn(1))
    rawsql.change(postgres_url, "UPDATE alembic_version SET version_num = '9999'")
    assert "written by a newer infold (schema 9999); upgrade infold" in refused(postgres_url, NewerDatabaseError)
    assert rawsql.rows(postgres_url, "SELECT version_num FROM alembic_version") == [("9999",)]
    assert rawsql.rows(postgres_url, "SELECT count(*) FROM messages") == [(2,)]


def test_tables_of_other_programs_stay_beside_ours(nothing: str) -> None:
    rawsql.change(nothing, "CREATE TABLE public.chats (name text)")
    with Memory(nothing) as memory:
        memory.chat("c").add(turn(1))
        assert memory.verify().ok
    assert rawsql.rows(nothing, "SELECT count(*) FROM public.chats") == [(0,)]


def test_a_migration_that_fails_leaves_nothing(nothing: str) -> None:
    """An event trigger forbids the last of our tables."""
    with psycopg.connect(nothing, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION forbid() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN "
            "IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = 'infold.archives') "
            "THEN RAISE EXCEPTION 'no archives here'; END IF; END $$"
        )
        connection.execute("CREATE EVENT TRIGGER no_archives ON ddl_command_end EXECUTE FUNCTION forbid()")
        with pytest.raises(DatabaseError, match="no archives here"):
            Memory(nothing)
        assert rawsql.tables(nothing) == []
        connection.execute("DROP EVENT TRIGGER no_archives")
    with Memory(nothing) as memory:
        memory.chat("c").add(turn(1))


def test_a_user_without_rights_is_told_so(postgres_url: str) -> None:
    with Memory(postgres_url) as memory:
        memory.chat("c").add(turn(1))
    rawsql.change(postgres_url, "DROP ROLE IF EXISTS stranger")
    rawsql.change(postgres_url, "CREATE ROLE stranger LOGIN")
    said = refused(postgres_url.replace("postgres:@", "stranger@"), DatabaseError)
    assert "the role may not do this" in said
    assert "give it rights on the schema 'infold'" in said


def test_a_standby_reads_and_refuses_to_write(postgres_url: str) -> None:
    with Memory(postgres_url) as memory:
        memory.chat("c").add(turn(1))
    rawsql.change(postgres_url, "DROP ROLE IF EXISTS reader")
    rawsql.change(postgres_url, "CREATE ROLE reader SUPERUSER LOGIN")
    rawsql.change(postgres_url, "ALTER ROLE reader SET default_transaction_read_only = on")
    with Memory(postgres_url.replace("postgres:@", "reader@")) as memory:
        chat = memory.chat("c")
        assert len(chat.messages()) == 2
        assert chat.context("And?").tokens > 0
        assert memory.verify().ok
        with pytest.raises(ReadOnlyDatabaseError, match="nothing was written"):
            chat.add(user("no"))
        with pytest.raises(ReadOnlyDatabaseError):
            memory.chat("another")
