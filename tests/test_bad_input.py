"""Bad input: each a named error with a sentence that helps, and the database as it was."""

from __future__ import annotations

import math
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import infold
from infold import (
    BudgetError,
    ClosedError,
    ConfigError,
    DatabaseError,
    DatabaseFullError,
    DuplicateIdError,
    ForeignDatabaseError,
    InfoldError,
    Memory,
    MessageError,
    NewerDatabaseError,
    NotFoundError,
    OrphanResultError,
    PolicyMismatchError,
    ReadOnlyDatabaseError,
    UnknownPresetError,
)
from infold.service.settings import ServiceSettings
from tests import rawsql
from tests.conftest import assistant, call, result, turn, user, words


def dump(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table."""
    return {name: rawsql.rows(url, f'SELECT * FROM "{name}" ORDER BY 1') for name in rawsql.tables(url)}


BAD_MESSAGES: list[tuple[Any, type[InfoldError], str]] = [
    ({"role": "robot", "content": "hi"}, MessageError, "unknown role 'robot'"),
    ({"content": "hi"}, MessageError, "unknown role None"),
    ({"role": ["user"], "content": "hi"}, MessageError, "unknown role"),
    ({"role": "user"}, MessageError, "no content"),
    ({"role": "user", "content": None}, MessageError, "no content"),
    ({"role": "assistant", "content": None}, MessageError, "no content"),
    ({"role": "assistant", "content": None, "tool_calls": []}, MessageError, "no content"),
    ({"role": "user", "content": 42}, MessageError, "not int"),
    ({"role": "user", "content": b"bytes"}, MessageError, "decode it first"),
    ({"role": "user", "content": ["text"]}, MessageError, "content part"),
    ({"role": "user", "content": [{"type": "text"}]}, MessageError, 'under "text"'),
    ({"role": "user", "content": "hi", "name": 7}, MessageError, "name must be a string"),
    ({"role": "user", "content": "a\0b"}, MessageError, "NUL"),
    ({"role": "user", "content": "a\ud800b"}, MessageError, "surrogate"),
    ({"role": "user", "content": "hi", "note": "a\0b"}, MessageError, "NUL"),
    ({"role": "user", "content": "hi", "note": "\udfff"}, MessageError, "surrogate"),
    ({"role": "user", "content": "hi", "note": {1, 2}}, MessageError, "JSON"),
    ({"role": "user", "content": "hi", "note": math.nan}, MessageError, "JSON"),
    ({"role": "user", "content": "hi", 5: "x"}, MessageError, "field names"),
    ({"role": "user", "content": "hi", "tool_call_id": "x"}, MessageError, "only tool messages"),
    ({"role": "user", "content": "hi", "tool_calls": [{"id": "x"}]}, MessageError, "only assistant messages"),
    ({"role": "tool", "content": "hi"}, MessageError, "tool_call_id"),
    ({"role": "assistant", "content": None, "tool_calls": "x"}, MessageError, "must be a list"),
    ({"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f"}}]}, MessageError, '"id"'),
    ({"role": "assistant", "content": None, "tool_calls": [{"id": "x"}]}, MessageError, '"function"'),
    (call("x", "x"), MessageError, "occurs twice"),
    (
        {"role": "assistant", "content": None, "tool_calls": [{"id": "x", "function": {"name": "f", "arguments": {}}}]},
        MessageError,
        "JSON string",
    ),
    (result("nobody"), OrphanResultError, "no call 'nobody' is waiting"),
    ({"role": "user", "content": "hi", "created_at": "yesterday"}, MessageError, "not an ISO date"),
    ({"role": "user", "content": "hi", "created_at": 1.5}, MessageError, "created_at"),
    ({"role": "user", "content": "hi", "created_at": 10**20}, MessageError, "out of range"),
    ({"role": "user", "content": "hi", "id": ""}, MessageError, "1 to 200"),
    ({"role": "user", "content": "hi", "id": "x" * 201}, MessageError, "1 to 200"),
    ("hi", MessageError, "a message is a dict"),
    (None, MessageError, "a message is a dict"),
    ([user("fine"), {"role": "user"}], MessageError, "no content"),
    ([user("fine"), "not a message"], MessageError, "a message is a dict"),
    ([user("fine"), result("nobody")], OrphanResultError, "waiting"),
]


@pytest.mark.parametrize(("message", "error", "sentence"), BAD_MESSAGES)
def test_bad_message_is_refused_and_nothing_is_written(
    memory: Memory, url: str, message: Any, error: type[InfoldError], sentence: str
) -> None:
    chat = memory.chat("c")
    chat.add(turn(1))
    before = dump(url)
    with pytest.raises(error, match=sentence):
        chat.add(message)
    assert dump(url) == before
    chat.add(user("the chat goes on"))
    assert [m.text for m in chat.messages()][-1] == "the chat goes on"


def test_duplicate_id_with_other_content_is_refused(memory: Memory) -> None:
    chat = memory.chat("c")
    chat.add(user("first"), id="m1")
    with pytest.raises(DuplicateIdError, match="'m1' is taken"):
        chat.add(user("second"), id="m1")
    with pytest.raises(MessageError, match="single message"):
        chat.add([user("a"), user("b")], id="m2")  # type: ignore[call-overload]
    assert [m.text for m in chat.messages()] == ["first"]


@pytest.mark.parametrize("budget", [0, -1, 10**12, 1.5, "3000", True, math.inf])
def test_absurd_budget_is_refused(memory: Memory, budget: Any) -> None:
    chat = memory.chat("c")
    chat.add(user("hi"))
    with pytest.raises(BudgetError, match="max_tokens must be a whole number"):
        chat.context(max_tokens=budget)


@pytest.mark.parametrize("reserve", [-1, 1.5, "10", True])
def test_absurd_reserve_is_refused(memory: Memory, reserve: Any) -> None:
    with pytest.raises(BudgetError, match="reserve_output"):
        memory.chat("c").context("hi", reserve_output=reserve)


@pytest.mark.parametrize(
    "arguments",
    [
        {"sources": "one text"},
        {"sources": [1]},
        {"sources": ["a\0"]},
        {"sources": ["\ud800"]},
        {"tools": "lookup"},
        {"tools": {"name": "lookup"}},
        {"tools": ["lookup"]},
        {"tools": [{"name": {1}}]},
        {"query": {"role": "assistant", "content": "x"}},
        {"query": "\ud800"},
    ],
    ids=str,
)
def test_bad_extras_of_a_context_are_refused(memory: Memory, arguments: dict[str, Any]) -> None:
    with pytest.raises(MessageError):
        memory.chat("c").context(**{"query": "hi", **arguments})


def test_reserve_larger_than_the_budget_is_refused(memory: Memory) -> None:
    with pytest.raises(BudgetError, match="less reserve_output"):
        memory.chat("c").context("hi", max_tokens=100, reserve_output=100)


def test_system_prompt_larger_than_the_budget_says_so(memory: Memory) -> None:
    chat = memory.chat("c", system=words(500))
    with pytest.raises(
        BudgetError, match=r"system prompt, pins and tools alone take 5\d\d tokens, but the budget is 400"
    ):
        chat.context("hi", max_tokens=400)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"id": ""}, ConfigError, "a chat id"),
        ({"id": 5}, ConfigError, "a chat id"),
        ({"id": "a\0"}, ConfigError, "a chat id"),
        ({"id": "c", "preset": "magic"}, UnknownPresetError, "default, rolling, chain, chunked, layered, engine"),
        ({"id": "c", "preset": 3}, UnknownPresetError, "unknown preset"),
        ({"id": "c", "config": {"keep": 3}}, ConfigError, "Policy or a SummarizationConfig"),
        ({"id": "c", "preset": "rolling", "config": infold.preset("chain")}, ConfigError, "only one"),
        ({"id": "c", "context_window": 10}, ConfigError, "context_window"),
        ({"id": "c", "context_window": "8k"}, ConfigError, "context_window"),
        ({"id": "c", "system": 5}, ConfigError, "system"),
        ({"id": "c", "title": ""}, ConfigError, "title"),
        ({"id": "c", "user": "\ud800"}, ConfigError, "user"),
    ],
)
def test_bad_chat_arguments_are_refused(
    memory: Memory, arguments: dict[str, Any], error: type[InfoldError], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        memory.chat(**arguments)
    assert memory.chats() == []


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"keep": -1}, "keep must be"),
        ({"keep": 2.5}, "keep must be"),
        ({"token_ratio": 0}, "token_ratio"),
        ({"token_ratio": 1.2}, "token_ratio"),
        ({"reset_ratio": 0.9}, "must be below trigger_ratio"),
        ({"unit": "word"}, "unit"),
        ({"fallback": "pray"}, "fallback"),
        ({"triggers": ("moon",)}, "unknown trigger 'moon'"),
        ({"trim": (("moon", 0),)}, "unknown section 'moon'"),
        ({"batch": 20}, "batch"),
        ({"enabled": "yes"}, "enabled"),
        ({"colour": "red"}, "no field 'colour'"),
        ({"name": 5}, "name must be"),
        ({"triggers": 5}, "triggers must be"),
        ({"models": 5}, "models must be"),
        ({"models": [1]}, "models must be"),
        ({"models": "gpt"}, "models must be"),
        ({"models": ["\ud800"]}, "models must be"),
        ({"keep_range": "x"}, "keep_range must be"),
        ({"keep_range": [1, "x"]}, "keep_range must be"),
        ({"chunk_range": "x"}, "chunk_range must be"),
        ({"chunk_range": [9, 1]}, "chunk_range must be"),
        ({"trim": "x"}, "trim must be"),
        ({"trim": [["recent", "x"]]}, "trim must be"),
        ({"overrides": 5}, "overrides must"),
        ({"overrides": {"small": {"models": [1]}}}, "models must be"),
    ],
)
def test_B1_bad_policy_values_are_refused(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        infold.preset("rolling", **values)


def test_A1_reopening_with_another_policy_is_refused_unless_set(memory: Memory) -> None:
    memory.chat("c", preset="rolling")
    with pytest.raises(PolicyMismatchError, match="set_policy"):
        memory.chat("c", preset="chain")
    with pytest.raises(PolicyMismatchError, match="keep 6 → 8"):
        memory.chat("c", config=infold.preset("rolling", keep=8))
    memory.chat("c").set_policy(infold.preset("rolling", keep=8))
    assert memory.chat("c", config=infold.preset("rolling", keep=8)).policy.keep == 8
    assert [event.type for event in memory.chat("c").events()] == ["chat_created", "policy_changed"]


@pytest.mark.parametrize("pin", ["", "   ", None, 5])
def test_empty_pins_are_refused(memory: Memory, pin: Any) -> None:
    with pytest.raises(MessageError, match="pin"):
        memory.chat("c").pin(pin)


def test_pins_may_not_fill_the_window(memory: Memory) -> None:
    with pytest.raises(BudgetError, match="pins may take at most"):
        memory.chat("c", context_window=1000).pin(words(200))


def test_unknown_things_are_not_found(memory: Memory) -> None:
    chat = memory.chat("c")
    with pytest.raises(NotFoundError, match="no message 'x'"):
        chat.rewind("x")
    with pytest.raises(NotFoundError, match="no pin 'x'"):
        chat.unpin("x")
    with pytest.raises(ConfigError, match="unknown context format"):
        chat.context("hi").to("smoke")
    chat.delete()
    with pytest.raises(NotFoundError, match="was deleted"):
        chat.add(user("hi"))


def test_a_closed_memory_says_so(url: str) -> None:
    memory = Memory(url)
    chat = memory.chat("c")
    memory.close()
    memory.close()
    with pytest.raises(ClosedError, match="open it again"):
        chat.add(user("hi"))


# Database files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad", ["host=h password=topsecret", "password=topsecret host=h", "user = u Password = topsecret"]
)
def test_E6_a_database_in_keywords_is_refused_and_its_password_not_repeated(
    bad: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for use in (
        Memory,
        lambda name: ServiceSettings(database=name),
        lambda name: ServiceSettings.resolve(database=name),
    ):
        with pytest.raises(ConfigError, match="postgresql://user:password@host/name") as caught:
            use(bad)
        assert "topsecret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    for good in ("a=b.db", "sqlite:///host=h.db", f"{tmp_path}/my-user=me.db"):
        Memory(good).close()


@pytest.mark.parametrize(
    "bad", ["mysql://host/db", "", "sqlite:///x.db?colour=red", "sqlite:///x.db?max_page_count=no"]
)
def test_bad_urls_are_refused(bad: str) -> None:
    with pytest.raises(ConfigError):
        Memory(bad)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no database at"):
        Memory(f"sqlite:///{tmp_path}/none.db", create=False)
    with pytest.raises(NotFoundError, match="does not exist; create it first"):
        Memory(f"sqlite:///{tmp_path}/none/chats.db")
    with pytest.raises(DatabaseError, match="is a folder"):
        Memory(f"sqlite:///{tmp_path}")
    assert list(tmp_path.iterdir()) == []


def text_file(path: Path) -> None:
    path.write_text("Dear diary, this is not a database. " * 200)


def other_program(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")


def damaged(path: Path) -> None:
    with Memory(f"sqlite:///{path}") as memory:
        memory.chat("c").add(turn(1))
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * (path.stat().st_size - 16))


@pytest.mark.parametrize("make", [text_file, other_program, damaged])
def test_foreign_files_are_left_alone(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "foreign.db"
    make(path)
    before = path.read_bytes()
    with pytest.raises(ForeignDatabaseError, match="choose another path"):
        Memory(f"sqlite:///{path}")
    assert path.read_bytes() == before


def test_newer_database_is_left_alone(url: str) -> None:
    with Memory(url) as memory:
        memory.chat("c").add(turn(1))
    rawsql.change(url, "UPDATE alembic_version SET version_num = '9999'")
    before = dump(url)
    with pytest.raises(NewerDatabaseError, match="upgrade infold"):
        Memory(url)
    assert dump(url) == before


@pytest.mark.sqlite
def test_a_backup_is_opened_as_what_it_is_a_copy_of(url: str, tmp_path: Path) -> None:
    """One that VACUUM INTO has made is not in WAL mode, in which readers keep nobody waiting."""
    with Memory(url) as memory:
        memory.chat("c").add(turn(1))
    rawsql.rows(url, "VACUUM INTO ?", str(tmp_path / "backup.db"))
    backup = f"sqlite:///{tmp_path / 'backup.db'}"

    def journal() -> str:
        return str(rawsql.rows(backup, "PRAGMA journal_mode")[0][0])

    for opened, expected in ((f"{backup}?mode=ro", "delete"), (backup, "wal"), (backup, "wal")):
        with Memory(opened) as memory:
            assert memory.verify().ok
        assert journal() == expected


@pytest.mark.sqlite
def test_read_only_database_reads_and_refuses_to_write(url: str) -> None:
    with Memory(url) as memory:
        memory.chat("c").add([*turn(1), user("and now?")])
    with Memory(f"{url}?mode=ro") as memory:
        chat = memory.chat("c")
        assert (
            chat.context(tools=[{"type": "function", "function": {"name": "f"}}]).messages[-1]["content"] == "and now?"
        )
        assert memory.verify().ok
        with pytest.raises(ReadOnlyDatabaseError, match="nothing was written"):
            chat.add(assistant("no"))
        with pytest.raises(ReadOnlyDatabaseError):
            memory.chat("another")
        assert len(chat.messages()) == 3


@pytest.mark.sqlite
def test_full_database_keeps_what_it_has(tmp_path: Path, url: str) -> None:
    with Memory(f"{url}?max_page_count=60") as memory:
        chat = memory.chat("c", preset="rolling")
        added = 0
        with pytest.raises(DatabaseFullError, match="nothing was written"):
            while added < 10_000:
                chat.add(user(f"{added} " + "x" * 500) if added % 2 == 0 else assistant(f"{added} " + "y" * 500))
                added += 1
        assert len(chat.messages(limit=10_000)) == added
        assert memory.verify().ok
    shutil.copy(tmp_path / "chats.db", tmp_path / "copy.db")
    with Memory(f"sqlite:///{tmp_path}/copy.db") as memory:
        memory.chat("c").add(user("room again"))
        assert memory.verify().ok
        assert memory.chat("c").messages(after=added)[0].text == "room again"


def test_bad_environment_values_are_refused(monkeypatch: pytest.MonkeyPatch, memory: Memory) -> None:
    monkeypatch.setenv("MEMORY_K_RAW_TURNS", "three")
    with pytest.raises(ConfigError, match="MEMORY_K_RAW_TURNS must be a whole number"):
        memory.chat("c", preset="chunked")


def test_a_failing_callback_harms_nobody(url: str) -> None:
    def explode(event: infold.Event) -> None:
        raise RuntimeError("callback")

    with Memory(url, on_event=explode) as memory:
        chat = memory.chat("c", preset="rolling")
        for number in range(10):
            chat.add(turn(number))
        assert chat.records
        assert memory.verify().ok
