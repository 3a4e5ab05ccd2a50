"""D7: a damaged row is named and left out; nothing else of its chat is."""

from __future__ import annotations

import logging

import pytest

from infold import Chat, Memory, preset
from infold.marks import UNREADABLE
from tests import rawsql
from tests.conftest import START, assistant, call, counted_ids, result, ticking_clock, user, words
from tests.databases import POSTGRES
from tests.formats_rules import check

TURNS = 30


def opened(url: str, ids: str = "new") -> Memory:
    return Memory(url, clock=ticking_clock(), ids=counted_ids(ids))


@pytest.fixture
def filled(url: str) -> str:
    """A chat `c` with folds, a pin and a call."""
    with opened(url, "old") as memory:
        chat = memory.chat("c", preset="rolling", context_window=1200, user="ada")
        for number in range(TURNS):
            chat.add(user(f"I prefer hotel Astor{number}.", id=f"u{number}"))
            chat.add(assistant(words(40, f"a{number}"), id=f"a{number}"))
        chat.add([user("Look it up."), {**call("k"), "id": "call"}, {**result("k", "Found."), "id": "result"}])
        chat.add(assistant([{"type": "text", "text": "It is there."}], id="parts"))
        chat.pin("Always answer in French.")
        assert chat.memory.cursor
    return url


def used(memory: Memory) -> Chat:
    """Everything that a damaged row might break."""
    chat = memory.chat("c")
    chat.context()
    chat.context("Which hotel do I prefer?")
    chat.context(max_tokens=1000)
    for form in ("chat", "responses", "anthropic"):
        check(form, chat.context().to(form))
    chat.events()
    chat.messages()
    chat.stats()
    chat.usage()
    str(chat.memory)
    str(chat.records)
    str(chat.facts(all=True))
    str(chat.entities)
    chat.recall("hotel")
    chat.repair()
    memory.chats()
    memory.verify()
    memory.settle()
    return chat


def key_of(url: str, table: str, where: str = "1 = 1") -> int:
    (found,) = rawsql.rows(url, f"SELECT key FROM {table} WHERE {where} ORDER BY key DESC LIMIT 1")
    return int(found[0])


def named(caplog: pytest.LogCaptureFixture, table: str, row: int) -> bool:
    return any(
        record.levelno == logging.WARNING and f"table {table}, row {row} of chat c" in record.getMessage()
        for record in caplog.records
    )


DAMAGED = ["", "{", "null", "[]", "3", '"x"', "\ufffd"]


@pytest.mark.parametrize("text", [*DAMAGED, "{}", '{"name":"rolling"}', '{"name":"rolling","triggers":3}'])
def test_D7_a_damaged_policy_is_named(filled: str, text: str, caplog: pytest.LogCaptureFixture) -> None:
    rawsql.change(filled, "UPDATE chats SET policy = ?", text)
    with opened(filled) as memory:
        before = memory.chat("c").memory.cursor
        chat = used(memory)
        assert named(caplog, "chats", key_of(filled, "chats"))
        assert "policy" in str(memory.verify())
        for number in range(TURNS):  # nothing is lost, and nothing is folded that may not be
            chat.add([user(words(40, f"more{number}")), assistant(words(40, f"reply{number}"))])
        assert len(chat.messages()) == 4 * TURNS + 4
        assert chat.memory.cursor == before
        assert "Astor29" in str(chat.context("Astor29?").messages)
        chat.set_policy("rolling")
        assert memory.verify().ok
        chat.add(user("And now?"))
        chat.settle()
        assert chat.memory.cursor > before
        assert memory.verify().ok


def test_D7_a_damaged_policy_is_what_its_caller_says(filled: str) -> None:
    rawsql.change(filled, "UPDATE chats SET policy = 'x'")
    with opened(filled) as memory:
        chat = memory.chat("c", preset="rolling")
        assert chat.policy == preset("rolling")
        assert memory.verify().ok
    with opened(filled) as memory:
        assert memory.chat("c").policy == preset("rolling")


@pytest.mark.parametrize(
    "text", [*DAMAGED, '{"armed":1,"head":0,"safety":0,"seen":0}', '{"armed":true,"head":"x"}', '{"other":1}']
)
def test_D7_damaged_marks_are_named_and_begin_anew(filled: str, text: str, caplog: pytest.LogCaptureFixture) -> None:
    rawsql.change(filled, "UPDATE chats SET marks = ?", text)
    with opened(filled) as memory:
        chat = used(memory)
        assert named(caplog, "chats", key_of(filled, "chats"))
        assert "marks" in str(memory.verify())
        chat.add(user("Go on."))
        assert memory.verify().ok


@pytest.mark.parametrize("which", ["call", "result", "parts", "u29", "u0"])
@pytest.mark.parametrize(
    "text", [*DAMAGED, '{"tool_calls":3}', '{"tool_calls":[{}]}', '{"content":[3]}', '{"name":{}}']
)
def test_D7_a_damaged_message_is_named_and_unreadable(
    filled: str, which: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    rawsql.change(filled, "UPDATE messages SET body = ? WHERE id = ?", text, which)
    with opened(filled) as memory:
        chat = used(memory)
        assert named(caplog, "messages", key_of(filled, "messages", f"id = '{which}'"))
        assert "Astor28" not in caplog.text
        found = {message.id: message.content for message in chat.messages()}
        assert found[which] == UNREADABLE
        assert [id for id, content in found.items() if content == UNREADABLE] == [which]
        assert f"({which}) was changed after it was added, and cannot be read" in str(memory.verify())
        for number in range(TURNS):
            chat.add([user(words(40, f"more{number}")), assistant(words(40, f"reply{number}"))])
        assert not any("cannot be read" in line.text for line in chat.memory.items)
        used(memory)
        chat.forget(which)
        assert memory.verify().ok


def test_D7_a_message_without_words_is_unreadable(filled: str) -> None:
    rawsql.change(filled, "UPDATE messages SET content = NULL WHERE id = 'u29'")
    with opened(filled) as memory:
        used(memory)
        assert memory.chat("c").messages()[58].content == UNREADABLE


CHANGED = ["text = 'Always answer in Greek.'", "tokens = tokens + 1", "\"by\" = 'operator'", "id = 'other'"]


@pytest.mark.parametrize("change", CHANGED)
def test_D7_a_changed_pin_is_named_and_left_out(filled: str, change: str, caplog: pytest.LogCaptureFixture) -> None:
    rawsql.change(filled, f"UPDATE pins SET {change}")
    with opened(filled) as memory:
        chat = used(memory)
        row = key_of(filled, "pins")
        assert named(caplog, "pins", row)
        assert "answer in" not in str(chat.context().messages)
        assert chat.memory.pins == ()
        assert [one.what for one in memory.verify().problems] == [f"a pin is damaged (table pins, row {row})"]
        chat.pin("Always answer in French.")
        assert "answer in French" in str(chat.context().messages)
        chat.unpin(rawsql.rows(filled, "SELECT id FROM pins ORDER BY key")[0][0])
        assert memory.verify().ok


def test_D7_a_pin_without_a_seal_is_believed(filled: str) -> None:
    rawsql.change(filled, "UPDATE pins SET seal = NULL")
    with opened(filled) as memory:
        assert [pin.text for pin in memory.chat("c").memory.pins] == ["Always answer in French."]
        assert memory.verify().ok


@pytest.mark.parametrize("text", DAMAGED)
def test_D7_a_damaged_event_is_named_and_left_out(filled: str, text: str, caplog: pytest.LogCaptureFixture) -> None:
    row = key_of(filled, "events", "type = 'summarization'")
    rawsql.change(filled, "UPDATE events SET data = ? WHERE key = ?", text, row)
    with opened(filled) as memory:
        chat = used(memory)
        assert named(caplog, "events", row)
        assert len(chat.events()) == len(rawsql.rows(filled, "SELECT key FROM events")) - 1
        assert [one.what for one in memory.verify().problems] == [f"an event is damaged (table events, row {row})"]
        chat.forget("u0")  # what it quotes nobody knows
        assert rawsql.rows(filled, "SELECT data FROM events WHERE key = ?", row) == [("{}",)]
        assert memory.verify().ok


def test_D7_a_damaged_line_is_named(filled: str, caplog: pytest.LogCaptureFixture) -> None:
    ((id,),) = rawsql.rows(filled, "SELECT id FROM lines WHERE died IS NULL ORDER BY key LIMIT 1")
    rawsql.change(filled, "UPDATE lines SET sources = '[' WHERE died IS NULL AND id = ?", id)
    with opened(filled) as memory:
        assert "damaged (table lines)" in str(memory.verify())
        used(memory)
        assert any(f"table lines, row {id} of chat c" in record.getMessage() for record in caplog.records)
        assert memory.verify().ok


@pytest.mark.parametrize("change", ["removed = '{'", "removed = '3'", "marks = 'x'", "notes = '{'"])
def test_D7_a_damaged_fold_is_made_again(filled: str, change: str) -> None:
    rawsql.change(filled, f"UPDATE folds SET {change} WHERE n = 2")
    with opened(filled) as memory:
        assert "fold" in str(memory.verify())
        used(memory)
        assert memory.verify().ok
        memory.chat("c").rewind("a20")
        assert memory.verify().ok


@pytest.mark.skipif(POSTGRES, reason="a server keeps no text that is none")
@pytest.mark.parametrize(
    ("table", "column"),
    [("messages", "content"), ("messages", "body"), ("chats", "policy"), ("chats", "marks"), ("chats", "title"),
     ("pins", "text"), ("events", "data"), ("lines", "text"), ("stated", "quote"), ("folds", "removed")],
)  # fmt: skip
def test_D7_bytes_that_are_no_text_damage_one_row(filled: str, table: str, column: str) -> None:
    row = key_of(filled, table)
    rawsql.change(filled, f"UPDATE {table} SET {column} = CAST(x'41ff42' AS TEXT) WHERE key = ?", row)
    with opened(filled) as memory:
        used(memory)
        assert len(memory.chat("c").messages()) == 2 * TURNS + 4


@pytest.mark.skipif(POSTGRES, reason="a server's columns have one type")
@pytest.mark.parametrize("column", ["content", "body", "role", "tokens", "created_at"])
def test_D7_a_message_that_is_no_text_is_unreadable(filled: str, column: str) -> None:
    rawsql.change(filled, f"UPDATE messages SET {column} = x'00ff' WHERE id = 'u29'")
    with opened(filled) as memory:
        used(memory)
        assert memory.chat("c").messages()[58].content == UNREADABLE


@pytest.mark.parametrize("mode", ["archive", "remove"])
def test_D7_retention_leaves_what_is_damaged(filled: str, mode: str) -> None:
    rawsql.change(filled, "UPDATE messages SET body = '{\"x' WHERE id = 'u3'")
    policy = rawsql.rows(filled, "SELECT policy FROM chats")[0][0]
    rawsql.change(filled, "UPDATE chats SET policy = 'x'")
    later = START + 100 * 86_400_000
    with Memory(filled, clock=ticking_clock(later), ids=counted_ids("late")) as memory:
        done = memory.compact(days=30, mode=mode)
        assert (done.messages, done.failed) == (0, 1)
    rawsql.change(filled, "UPDATE chats SET policy = ?", policy)
    with Memory(filled, clock=ticking_clock(later), ids=counted_ids("late")) as memory:
        done = memory.compact(days=30, mode=mode)
        assert done.messages > 10
        assert done.failed == 0
    kept = rawsql.rows(filled, "SELECT content, body, archived FROM messages WHERE id = 'u3'")
    assert kept == [("I prefer hotel Astor3.", '{"x', 0)]
