"""Databases that an earlier infold wrote: they open, become current, keep everything, and go on."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine

from infold import Memory, preset
from infold.ledger.migrating import MIGRATIONS
from infold.ledger.schema import HEAD
from infold.presets import PRESETS
from tests.conftest import assistant, counted_ids, ticking_clock, user
from tests.older import POLICIES

OLD = Path(__file__).parent / "ledger_0001.sql"
LATER = 1_767_312_000_000  # the day after
LINES = [
    ("User's budget is 400 euros", (1,)),
    ("Postgres for database", (3,)),
    ("User will send report on Friday", (5,)),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A chat `trip` in a database of revision 0001."""
    path = tmp_path / "chats.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(OLD.read_text(encoding="utf-8"))
    return path


def opened(path: Path) -> Memory:
    return Memory(f"sqlite:///{path}", clock=ticking_clock(LATER), ids=counted_ids("new"))


def read(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def columns(path: Path) -> dict[str, set[tuple[Any, ...]]]:
    """Name, whether it must be there, and whether it is the key, of the columns of each table."""
    tables = read(path, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return {name: {(row[1], row[3], row[5]) for row in read(path, f"PRAGMA table_info({name})")} for (name,) in tables}


def indexes(path: Path) -> set[tuple[Any, ...]]:
    return set(read(path, "SELECT tbl_name, name FROM sqlite_master WHERE type = 'index'"))


def test_E7_an_old_database_becomes_like_a_new_one(path: Path, tmp_path: Path) -> None:
    assert read(path, "SELECT version_num FROM alembic_version") == [("0001",)]
    assert "features" in {name for name, *_ in columns(path)["messages"]}
    opened(path).close()
    opened(tmp_path / "new.db").close()
    assert read(path, "SELECT version_num FROM alembic_version") == [(HEAD,)]
    assert columns(path) == columns(tmp_path / "new.db")
    assert indexes(path) == indexes(tmp_path / "new.db")


def test_E7_an_old_database_keeps_everything(path: Path) -> None:
    kept = "SELECT seq, id, role, content, tokens, sha256 FROM messages ORDER BY seq"
    before = read(path, kept)
    kept_of = {
        table: "SELECT "
        + ", ".join(f'"{name}"' for name, *_ in sorted(columns(path)[table]) if name != "policy")
        + f" FROM {table}"
        for table in ("chats", "folds", "pins", "events")
    }
    others = {table: read(path, query) for table, query in kept_of.items()}
    with opened(path) as memory:
        chat = memory.chat("trip")
        assert memory.verify().ok
        assert [message.text for message in chat.messages()] == [content for _, _, _, content, _, _ in before]
        assert [(line.text, line.sources) for line in chat.memory.items] == [("The gate code is 4711#.", ()), *LINES]
        assert {(line.author, line.kind, line.quote) for line in chat.memory.items[1:]} == {("extractive", "", "")}
        assert [pin.text for pin in chat.memory.pins] == ["The gate code is 4711#."]
        assert [record.original_message_ids for record in chat.records] == [tuple(f"old-{n}" for n in range(2, 8))]
        context = chat.context("And by train?")
    system, block, *recent, question = context.shown()
    assert (system.text, question.text) == ("Be brief.", "And by train?")
    assert [message.text for message in recent] == [row[3] for row in before[6:]]
    wishes, background = block.text.split("\nBackground, ")
    assert wishes.splitlines()[-1] == "> The gate code is 4711#."
    assert [line for line in background.splitlines() if line.startswith("- ")] == [f"- {text}" for text, _ in LINES]
    assert read(path, kept) == before
    assert {table: read(path, query) for table, query in kept_of.items()} == others


def test_E7_an_old_database_goes_on_folding(path: Path) -> None:
    """What was folded before and what is folded now are one memory: the latest word on the budget wins."""
    with opened(path) as memory:
        chat = memory.chat("trip")
        chat.add([user("My budget is 500 euros."), assistant("Noted.")])
        for _ in range(5):
            chat.add([user("Is it far?"), assistant("Not very.")])
        assert len(chat.records) >= 2
        assert chat.memory.cursor > 14
        lines = {line.text: line for line in chat.memory.items}
        assert lines["My budget is 500 euros."].quoted
        assert "User's budget is 400 euros" not in lines
        assert not lines["Postgres for database"].quoted
        assert memory.verify().ok
    with opened(path) as memory:
        assert {line.text: line for line in memory.chat("trip").memory.items} == lines
        assert len(memory.chat("trip").messages()) == 24
        assert memory.verify().ok
    assert read(path, "SELECT text FROM lines WHERE died IS NOT NULL") == [("User's budget is 400 euros",)]


def brought_to(path: Path, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()


FACT = (
    "INSERT INTO facts (chat, digest, kind, text, subject, attribute, value, quote, speaker, confidence, replaces, sayings) "
    "SELECT key, ?, ?, ?, 'User', '', '', ?, ?, ?, '', ? FROM chats WHERE id = 'trip'"
)
STATED: list[tuple[Any, ...]] = [
    (b"1", "constraint", "User's budget is 400 euros", "My budget is 400 euros.", "user", 1.0, '[[1767225603000,1,"old-2","user"]]'),
    (b"2", "biography", "Marta lives in Porto", "I live in Porto", "Marta", 0.8,
     '[[1767225603000,1,"old-2","user"],[1767225607000,5,"old-6","user"]]'),
    (b"3", "commitment", "User will send report", "I will send the report on Friday.", "user", 0.9, "[[1,"),
]  # fmt: skip


def test_E7_lines_and_facts_of_the_schema_before_stay_as_they_are(path: Path) -> None:
    brought_to(path, "0010")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(FACT, STATED)
        connection.execute("UPDATE chats SET read_to = cursor")
    with opened(path) as memory:
        chat = memory.chat("trip")
        assert [(line.text, line.sources) for line in chat.memory.items[1:]] == LINES
        assert {line.author for line in chat.memory.items[1:]} == {"extractive"}
        assert [(fact.kind, fact.text, fact.quote, fact.said_by, fact.sources) for fact in chat.facts] == [
            ("constraint", "User's budget is 400 euros", "My budget is 400 euros.", "user", (1,)),
            ("who", "Marta lives in Porto", "I live in Porto", "Marta", (1, 5)),
        ]  # what cannot be read is left out, as it was
        assert {(fact.author, fact.role) for fact in chat.facts} == {("extractive", "user")}
        assert [fact.said_at for fact in chat.facts] == [1767225603000, 1767225607000]
        assert memory.verify().ok
        for _ in range(6):
            chat.add([user("I am allergic to peanuts."), assistant("Noted.")])
        assert [line.author for line in chat.memory.items if "peanuts" in line.text] == ["quotation"]
        assert "I am allergic to peanuts." in [fact.text for fact in chat.facts]
        assert memory.verify().ok


def insert_chat(connection: sqlite3.Connection, id: str, policy: str) -> None:
    """A chat like `trip`, with another policy and without messages."""
    names = [row[1] for row in connection.execute("PRAGMA table_info(chats)") if row[1] not in ("key", "id", "policy")]
    listed = ", ".join(f'"{name}"' for name in names)
    values = ", ".join("0" if name in ("last_seq", "cursor", "folds", "read_to") else f'"{name}"' for name in names)
    connection.execute(
        f"INSERT INTO chats (id, policy, {listed}) SELECT ?, ?, {values} FROM chats WHERE id = 'trip'", (id, policy)
    )


def test_E7_policies_of_the_schema_before_say_what_they_said(path: Path) -> None:
    """Whoever opens a chat with the preset it was made with opens it still."""
    brought_to(path, "0011")
    small = {"budget": 2000, "budget_share": 0.5, "context_window": 1000, "order": ["policy", "query"], "keep": 2}
    own = {
        **POLICIES["chunked"],
        "budget": 4000,
        "trim": [["recalled", 0], ["recent", 1]],
        "overrides": {"small": small},
    }
    rolling = {**POLICIES["rolling"], "budget": 900, "keep": 4}
    stored = {**POLICIES, "own chunks": own, "own state": rolling}
    damaged = {"no json": "{", "no object": "[]", "no name": '{"trim": [], "overrides": {}}', "odd": '{"overrides": 3}'}
    with closing(sqlite3.connect(path)) as connection, connection:
        for id, policy in stored.items():
            insert_chat(connection, id, json.dumps(policy, sort_keys=True, separators=(",", ":")))
        for id, text in damaged.items():
            insert_chat(connection, id, text)
    with opened(path) as memory:
        for name, wanted in PRESETS.items():
            chat = memory.chat(name, config=preset(name, {}))  # with another policy that is an error
            assert chat.policy == wanted
            assert chat.context("Hello?").messages[-1]["content"] == "Hello?"
        chat = memory.chat("own chunks")
        assert (chat.policy.turns_budget, chat.policy.budget, chat.policy.trim) == (4000, 0, (("recent", 1),))
        assert chat.policy.for_model("small").turns_budget == 2000
        assert chat.policy.for_model("small").policy_text
        chat = memory.chat("own state")
        assert (chat.policy.budget, chat.policy.turns_budget, chat.policy.keep) == (900, 0, 4)
        assert chat.context().budget == 900
    assert dict(read(path, "SELECT id, policy FROM chats WHERE id LIKE 'no %' OR id = 'odd'")) == damaged


def test_F12_pins_of_the_schema_before_are_the_users(path: Path) -> None:
    brought_to(path, "0011")
    with opened(path) as memory:
        chat = memory.chat("trip")
        assert [pin.said_by for pin in chat.memory.pins] == ["user"]
        chat.pin("Never name a price.", by="operator")
        system, block, *_ = chat.context("And by train?").shown()
        assert system.text == "Be brief.\n\nNever name a price."
        assert "\n> The gate code is 4711#.\n" in block.text
    assert read(path, 'SELECT "by" FROM pins ORDER BY key') == [("user",), ("operator",)]


def test_D7_pins_of_the_schema_before_are_believed_and_new_ones_are_sealed(path: Path) -> None:
    brought_to(path, "0012")
    with opened(path) as memory:
        chat = memory.chat("trip")
        chat.pin("Never name a price.")
        assert [pin.text for pin in chat.memory.pins] == ["The gate code is 4711#.", "Never name a price."]
        assert memory.verify().ok
    (old,), (new,) = read(path, "SELECT seal FROM pins ORDER BY key")
    assert old is None
    assert isinstance(new, int)


def test_F12_every_database_has_a_key_of_its_own(path: Path, tmp_path: Path) -> None:
    opened(path).close()
    opened(tmp_path / "new.db").close()
    keys = [read(file, "SELECT value FROM installation WHERE name = 'mark'") for file in (path, tmp_path / "new.db")]
    assert [len(key) for ((key,),) in keys] == [32, 32]
    assert keys[0] != keys[1]
    opened(path).close()
    assert read(path, "SELECT value FROM installation WHERE name = 'mark'") == keys[0]


def test_E7_branches_of_an_old_database_know_what_they_branched_off(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        names = [name for name, *_ in sorted(columns(path)["chats"]) if name not in ("key", "id")]
        named = [("trip~mine", None), ("trip~1", "trip"), ("of any name", "trip~1"), ("other~1", "other")]
        for key, (id, source) in enumerate(named, 96):
            listed = ", ".join(f'"{name}"' for name in names)
            connection.execute(
                f"INSERT INTO chats (key, id, {listed}) SELECT ?, ?, {listed} FROM chats WHERE id = 'trip'",
                (key, id),
            )
            if source is not None:
                data = json.dumps({"from": source, "at": 1})
                branched = "INSERT INTO events (chat, type, created_at, data) VALUES (?, 'branched', 0, ?)"
                connection.execute(branched, (key, data))
                connection.execute(branched, (key, "{"))  # a damaged one says nothing
        connection.commit()
    with opened(path) as memory:
        memory.chat("trip").delete()
        assert {chat.id for chat in memory.chats()} == {"trip~mine", "other~1"}


def test_F9_a_migration_that_fails_leaves_the_old_database(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **more: Any) -> None:
        raise RuntimeError("power cut")

    with closing(sqlite3.connect(path)) as connection:
        before = list(connection.iterdump())
    with monkeypatch.context() as patched:
        patched.setattr("alembic.op.drop_column", broken)  # the last step: the others are done by then
        with pytest.raises(RuntimeError, match="power cut"):
            opened(path)
    with closing(sqlite3.connect(path)) as connection:
        assert list(connection.iterdump()) == before
    with opened(path) as memory:
        assert memory.verify().ok
