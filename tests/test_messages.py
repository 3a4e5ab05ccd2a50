"""Messages go in and come out whole: through the ledger, and through contexts that have room for them."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infold import DuplicateIdError, Memory, Message, MessageError
from infold.messages import load, parse
from tests.conftest import START, assistant, call, result, ticking_clock, user

Wire = dict[str, Any]

CONVERSATIONS: dict[str, list[Wire]] = {
    "text": [user("Where is the depot?"), assistant("In the north hall.")],
    "empty content": [user(""), assistant("")],
    "whitespace": [user("  two  spaces\r\n\ttab \n"), assistant("\n\n")],
    "unicode": [user("Zoë 漢字 👩‍👩‍👧 e\u0301 \u202eابجد \u2028"), assistant("naïve – “quotes” \U0001f600")],
    "json in text": [user('{"role": "system", "content": "not a message"}'), assistant('"\\u0041\\n"')],
    "image": [
        user(
            [
                {"type": "text", "text": "What is on it?"},
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
            ]
        )
    ],
    "file": [user([{"type": "file", "file": {"file_id": "file-1", "filename": "plan.pdf"}}])],
    "audio": [user([{"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}])],
    "unknown part": [user([{"type": "hologram", "hologram": {"size": 3, "deep": [None, True, 1.5]}}])],
    "no parts": [user([])],
    "call and result": [
        user("Look it up."),
        call("c1", arguments='{"q": "depot ünïcode"}'),
        result("c1", '{"hall": "north"}'),
        assistant("North."),
    ],
    "parallel calls": [
        user("Both."),
        call("c1", "c2", content="Looking."),
        result("c1", ""),
        result("c2"),
        assistant("Done."),
    ],
    "two steps of an agent": [
        user("Fix it."),
        call("c1"),
        result("c1", "red"),
        call("c2"),
        result("c2", "green"),
        call("c3"),
        result("c3", "done"),
    ],
    "custom call": [
        user("Run it."),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}],
        },
        result("c1", "a.txt"),
    ],
    "result in parts": [
        user("Read."),
        call("c1"),
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "page 1"}]},
    ],
    "reasoning": [user("Why?"), assistant("Because.", reasoning_content="First, then second.")],
    "reasoning before a call": [user("Why?"), {**call("c1"), "reasoning_content": "I need the table."}, result("c1")],
    "refusal": [user("Do harm."), assistant(None, refusal="I cannot help with that.")],
    "names": [user("Hi.", name="Ann"), assistant("Hello.", name="bot"), user("Hi.", name="Bo")],
    "unknown fields": [user("Hi.", x_trace={"span": [1, 2.5, None], "ok": False}, zeta="", nothing=None)],
    "system": [{"role": "system", "content": "Be brief."}, user("Hi."), assistant("Hello.")],
}


@pytest.mark.parametrize("wires", CONVERSATIONS.values(), ids=CONVERSATIONS.keys())
def test_messages_come_out_as_they_went_in(memory: Memory, url: str, wires: list[Wire]) -> None:
    chat = memory.chat("a")
    chat.add(wires)
    assert [message.wire for message in chat.messages()] == wires
    assert chat.context(max_tokens=8000).messages == wires
    with Memory(url) as again:
        assert [message.wire for message in again.chat("a").messages()] == wires
        assert again.chat("a").context(max_tokens=8000).messages == wires


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
PARTS = st.builds(lambda kind, value: {"type": kind, kind: value}, st.sampled_from(["image_url", "file", "x"]), JSON)


@settings(deadline=None)
@given(content=TEXTS | st.lists(PARTS, max_size=3), name=st.none() | TEXTS, extra=JSON)
def test_stored_columns_give_the_message_back(content: Any, name: str | None, extra: Any) -> None:
    message = parse({"role": "user", "content": content, "name": name, "anything": extra})
    again = load(
        message.role,
        content if isinstance(content, str) else None,
        message.body,
        id="",
        seq=0,
        created_at=0,
        model_variant=None,
        tokens=0,
    )
    assert again == message
    assert again.sha256 == message.sha256


def test_message_objects_are_accepted_and_keep_what_is_known_about_them(memory: Memory) -> None:
    first, second = memory.chat("first"), memory.chat("second")
    first.add([user("Hi.", id="m1", name="Ann"), assistant("Hello.", model_variant="deep-dive")], created_at=77_000)
    first.add([call("c1"), result("c1")])
    second.add(first.messages())
    assert second.messages() == first.messages()


def test_message_changed_by_its_owner_after_the_add_stays_as_it_was(memory: Memory) -> None:
    chat = memory.chat("a")
    given = user([{"type": "text", "text": "as it was"}])
    chat.add(given)
    given["content"][0]["text"] = "changed later"
    assert chat.context().messages == [user([{"type": "text", "text": "as it was"}])]


@pytest.mark.parametrize("wires", [[user([{"type": "text", "text": "Hi."}])], [user("Hi."), call("c1"), result("c1")]])
def test_context_changed_by_its_owner_leaves_the_next_one_alone(memory: Memory, wires: list[Wire]) -> None:
    chat = memory.chat("a")
    chat.add(deepcopy(wires))
    first = chat.context()
    for message in first.messages:
        for part in message.get("tool_calls") or message["content"]:
            if isinstance(part, dict):
                part["cache_control"] = {"type": "ephemeral"}
        message["content"] = "changed"
    assert chat.context().messages == wires


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (1_700_000_000_123, 1_700_000_000_123),
        ("2026-05-01T12:00:00Z", 1_777_636_800_000),
        ("2026-05-01T12:00:00", 1_777_636_800_000),
        ("2026-05-01T14:00:00+02:00", 1_777_636_800_000),
        ("2026-05-01", 1_777_593_600_000),
        (datetime(2026, 5, 1, 12), 1_777_636_800_000),
        (datetime(2026, 5, 1, 12, tzinfo=UTC), 1_777_636_800_000),
        (datetime(2026, 5, 1, 7, tzinfo=timezone(timedelta(hours=-5))), 1_777_636_800_000),
        ("1969-12-31T23:59:59Z", -1000),
    ],
)
@pytest.mark.parametrize("as_key", [True, False])
def test_created_at_forms(memory: Memory, given: int | str | datetime, stored: int, as_key: bool) -> None:
    chat = memory.chat("a")
    if as_key:
        chat.add(user("Hi.", created_at=given))
    else:
        chat.add(user("Hi."), created_at=given)
    assert chat.messages()[0].created_at == stored
    assert chat.messages()[0].wire == user("Hi.")


def test_created_at_is_the_clock_where_none_is_given(url: str) -> None:
    with Memory(url, clock=ticking_clock(START, 0)) as memory:
        chat = memory.chat("a")
        chat.add(user("Hi."))
        assert chat.messages()[0].created_at == START


@pytest.mark.parametrize("bad", [True, 1.5, "yesterday", "", 1 << 60, b"2026-05-01", {}])
def test_created_at_that_is_no_time_is_refused(memory: Memory, bad: Any) -> None:
    with pytest.raises(MessageError, match="created_at"):
        memory.chat("a").add(user("Hi.", created_at=bad))
    assert memory.chat("a").messages() == []


def test_add_with_an_id_is_idempotent(memory: Memory) -> None:
    chat = memory.chat("a")
    wires = [user("Go.", id="m1"), {**call("c1"), "id": "m2"}, {**result("c1"), "id": "m3"}]
    first = chat.add(wires)
    once = chat.messages()
    assert first == once
    chat.add(wires)
    chat.add(user("Go."), id="m1")
    assert chat.messages() == once


def test_add_again_returns_the_message_as_it_is_stored(memory: Memory) -> None:
    chat = memory.chat("a")
    chat.add(assistant("Hi.", model_variant="mini"), id="m1")
    assert [chat.add(assistant("Hi."), id="m1")] == chat.messages()


def test_add_with_the_id_of_another_message_is_refused_whole(memory: Memory) -> None:
    chat = memory.chat("a")
    chat.add(user("Hi."), id="m1")
    with pytest.raises(DuplicateIdError, match="'m1'"):
        chat.add([user("New.", id="m2"), user("Hi!", id="m1")])
    assert [message.id for message in chat.messages()] == ["m1"]
    memory.chat("b").add(user("Other chat."), id="m1")


def test_messages_without_an_id_are_never_taken_for_one_another(memory: Memory) -> None:
    chat = memory.chat("a")
    chat.add([user("Yes."), assistant("Yes."), user("Yes."), user("Yes.")])
    stored = chat.messages()
    assert [message.seq for message in stored] == [1, 2, 3, 4]
    assert len({message.id for message in stored}) == 4


def test_model_variant_is_kept_beside_the_message(memory: Memory) -> None:
    chat = memory.chat("a")
    chat.add([user("Hi."), assistant("Hello.", model_variant="arco-pro")])
    chat.add(assistant("More."), model_variant="deep-dive")
    assert [message.model_variant for message in chat.messages()] == [None, "arco-pro", "deep-dive"]
    assert chat.context().messages == [user("Hi."), assistant("Hello.\n\nMore.")]


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("Hi.", "dict"),
        (7, "dict"),
        ({"content": "Hi."}, "role"),
        ({"role": "robot", "content": "Hi."}, "robot"),
        ({"role": "user"}, "no content"),
        ({"role": "assistant", "content": None}, "no content"),
        (user(b"bytes"), "decode"),
        (user(["text"]), "content part"),
        (user([{"type": "text"}]), "text"),
        ({"role": "tool", "content": "x"}, "tool_call_id"),
        (user("Hi.", tool_call_id="c1"), "tool_call_id"),
        (user("Hi.", tool_calls=call("c1")["tool_calls"]), "tool_calls"),
        (call("c1", "c1"), "twice"),
        (assistant(None, tool_calls=[{"id": "c1"}]), "function"),
        (assistant(None, tool_calls=[{"id": "c1", "function": {"name": "f", "arguments": {}}}]), "JSON string"),
        (user("half \ud800 pair"), "surrogate"),
        (user("nul \0"), "NUL"),
        (user("Hi.", extra=float("nan")), "JSON"),
        (user("Hi.", extra={1, 2}), "JSON"),
        (user("Hi.", id=""), "id"),
        (user("Hi.", id="x" * 201), "id"),
        (user("Hi.", name=3), "name"),
    ],
)
def test_what_is_no_message_is_refused_with_a_sentence(memory: Memory, bad: Any, says: str) -> None:
    chat = memory.chat("a")
    with pytest.raises(MessageError, match=says):
        chat.add(bad)
    with pytest.raises(MessageError):
        chat.add([user("A good one."), bad])
    assert chat.messages() == []


def test_equal_messages_have_equal_hashes_whatever_the_order_of_their_keys() -> None:
    one = parse({"role": "user", "content": "Hi.", "x": {"a": 1, "b": 2}})
    other = parse({"x": {"b": 2, "a": 1}, "content": "Hi.", "role": "user"})
    assert one.sha256 == other.sha256
    assert one.sha256 != parse(user("Hi!", x={"a": 1, "b": 2})).sha256


def test_messages_can_be_paged(memory: Memory) -> None:
    chat = memory.chat("a")
    chat.add([user(f"number {n}") for n in range(1, 8)])
    pages: list[Message] = [*chat.messages(limit=3), *chat.messages(after=3, limit=3), *chat.messages(after=6)]
    assert pages == chat.messages()


def test_a_reply_without_content_keeps_what_it_says_instead() -> None:
    assert parse({"role": "assistant", "refusal": "no"}).extra == {"refusal": "no"}
