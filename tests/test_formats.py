"""Messages of each format go in and come out right, in their own format and in the others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from infold import Memory, preset
from infold.context.block import unmarked
from infold.formats.calls import RAW
from tests.conftest import counted_ids, ticking_clock
from tests.databases import file
from tests.formats_chats import BY_FORMAT, CHATS, MIXED, Chat
from tests.formats_rules import CALLS, FORMATS, blocks_of, check, sdk

Wire = dict[str, Any]
HUGE = 10_000_000
UNFOLDED = preset("default", enabled=False)
RELAXED = settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def shown(chat: Any, format: str, max_tokens: int = HUGE) -> Any:
    return chat.context(max_tokens=max_tokens).to(format)


@contextmanager
def opened() -> Iterator[Memory]:
    """A memory without chats."""
    with file() as url, Memory(url, clock=ticking_clock(), ids=counted_ids()) as memory:
        yield memory


def leaves(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from leaves(inner)


def without(value: Any, key: str) -> Any:
    """A JSON value without a field."""
    if isinstance(value, list):
        return [without(inner, key) for inner in value]
    return {k: without(v, key) for k, v in value.items() if k != key} if isinstance(value, dict) else value


def one_system(wire: list[Wire]) -> list[Wire]:
    """The same messages, what the operator said in their midst as one message before them."""
    said = [message["content"] for message in wire if message.get("role") in ("system", "developer")]
    rest = [message for message in wire if message.get("role") not in ("system", "developer")]
    return [*([{"role": "system", "content": "\n\n".join(said)}] if said else ()), *rest]


def meaning(text: str) -> Any:
    """Arguments as an object, or the text where they are none."""
    try:
        found = json.loads(text, parse_constant=lambda _: float("inf"))
        json.dumps(found, allow_nan=False)
    except ValueError:
        return text
    return found if isinstance(found, dict) else text


def calls_in(format: str, wire: Any) -> list[tuple[str, Any]]:
    """Names and arguments of all calls, in order."""
    if format == "chat":
        calls = [call for message in wire for call in message.get("tool_calls", ())]
        return [
            (c["function"]["name"], meaning(c["function"]["arguments"]))
            if "function" in c
            else (c["custom"]["name"], c["custom"]["input"])
            for c in calls
        ]
    if format == "responses":
        items = [item for item in wire if item.get("type") in CALLS]
        return [(i["name"], meaning(i["arguments"]) if "arguments" in i else i["input"]) for i in items]
    blocks = [block for message in wire["messages"] for block in blocks_of(message) if block["type"] == "tool_use"]
    return [(block["name"], block["input"]) for block in blocks]


def same_call(given: tuple[str, Any], found: tuple[str, Any]) -> bool:
    """Whether a call is the one that was made; Anthropic has objects only."""
    name, said = given
    return found[0] == name and found[1] in (said, {RAW: said}, {"input": said})


@pytest.mark.parametrize("format", FORMATS)
@RELAXED
@given(data=st.data())
def test_F2_what_goes_in_comes_out_equal_in_its_own_format(format: str, data: st.DataObject) -> None:
    made: Chat = data.draw(BY_FORMAT[format])
    check(format, {"messages": made.wire} if format == "anthropic" else made.wire)
    with opened() as memory:
        chat = memory.chat("a", config=UNFOLDED)
        chat.add(made.wire)
        found = shown(chat, format)
        assert (found["messages"] if format == "anthropic" else found) == one_system(made.wire)


@pytest.mark.parametrize("format", FORMATS)
@RELAXED
@given(made=CHATS)
def test_F2_no_text_call_or_result_is_lost_in_any_format(format: str, made: Chat) -> None:
    with opened() as memory:
        chat = memory.chat("a", config=UNFOLDED)
        chat.add(made.wire)
        found = shown(chat, format)
        # Text with a cache_control may also be a Chat message for a server that knows it: it comes out as it came.
        check(format, without(found, "cache_control") if format == "chat" else found)
        said = list(leaves(found))
        for text in made.texts:
            assert any(text in leaf for leaf in said), text
        calls = calls_in(format, found)
        assert len(calls) == len(made.calls)
        assert all(map(same_call, made.calls, calls)), (made.calls, calls)
        if made.format != format:
            assert not any("private" in leaf or "gAAAA" in leaf for leaf in said), "reasoning is its provider's"


@RELAXED
@given(made=CHATS)
def test_F2_one_list_and_single_adds_give_the_same_chat(made: Chat) -> None:
    with opened() as memory:
        one, many = memory.chat("one", context_window=900), memory.chat("many", context_window=900)
        one.add(made.wire)
        for message in made.wire:
            many.add(message)
        assert [m.wire for m in one.messages()] == [m.wire for m in many.messages()]
        assert [m.tokens for m in one.messages()] == [m.tokens for m in many.messages()]
        assert one.memory.cursor == many.memory.cursor
        assert one.context(max_tokens=HUGE).hash == many.context(max_tokens=HUGE).hash
        for format in FORMATS:
            assert unmarked(shown(one, format)) == unmarked(shown(many, format))


@RELAXED
@given(made=MIXED)
def test_F2_formats_may_be_mixed_in_one_chat(made: tuple[Chat, ...]) -> None:
    with opened() as memory:
        chat = memory.chat("a", config=UNFOLDED)
        chat.add([message for part in made for message in part.wire])
        for format in FORMATS:
            found = shown(chat, format)
            check(format, without(found, "cache_control") if format == "chat" else found)
            calls = calls_in(format, found)
            assert len(calls) == sum(len(part.calls) for part in made)
            said = list(leaves(found))
            assert all(any(text in leaf for leaf in said) for part in made for text in part.texts)


def test_F2_the_sdk_types_can_fail() -> None:
    good = {"role": "user", "content": [{"type": "text", "text": "Hi."}]}
    for format, bad in [
        ("chat", [{"role": "user", "content": [{"type": "input_text", "text": "Hi."}]}]),
        ("chat", [{"role": "tool", "content": "Hi."}]),
        ("chat", [{"role": "user", "content": "Hi.", "unknown": 1}]),
        ("responses", [good]),
        ("responses", [{"type": "function_call", "call_id": "x", "name": "f", "arguments": {}}]),
        ("responses", [{"type": "reasoning", "summary": []}]),
        ("anthropic", {"messages": [{"role": "tool", "content": "Hi."}]}),
        ("anthropic", {"messages": [{"role": "user", "content": [{"type": "input_text", "text": "Hi."}]}]}),
        ("anthropic", {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "x"}]}]}),
        ("anthropic", {"messages": [], "system": [{"type": "image"}]}),
    ]:
        with pytest.raises(ValidationError):
            sdk(format).validate_python(bad, strict=True)
    sdk("chat").validate_python([good], strict=True)
    sdk("anthropic").validate_python({"messages": [good]}, strict=True)
