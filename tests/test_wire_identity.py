"""A message that a client sends again is known again, whatever the client made of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import Message as AnthropicMessage
from anthropic.types import RawMessageStreamEvent
from hypothesis import given
from hypothesis import strategies as st
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response
from pydantic import TypeAdapter

from infold import Memory, formats
from infold.messages import Message
from infold.redaction import redacted
from infold.service.wire import APIS, identity, prefixes, silent
from tests import wire_streams as w
from tests.wire_streams import Wire, chat_call, sse

_EVENT: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)


def known(message: Message) -> bytes:
    """What tells that two messages are the same, also once one of them is forgotten."""
    return identity(message) + identity(redacted(message))


def ids(api: str, messages: list[Any]) -> list[bytes]:
    """Identities of what a client sends."""
    key = "input" if api == "responses" else "messages"
    return [known(m) for m in APIS[api].read({key: messages}).messages if not silent(m)]


def stored(api: str, events: list[Any]) -> list[bytes]:
    """Identities of a streamed reply, as they are once a ledger has had it."""
    stream = APIS[api].stream()
    stream.feed(sse(events, named=api != "chat"))
    reply = stream.reply()
    assert reply
    with Memory("sqlite://") as memory:
        chat = memory.chat("a")
        chat.add({"role": "user", "content": "hello"})
        chat.add([*reply.parsed], model_variant=reply.model)
        return [known(m) for m in chat.messages()[1:] if not silent(m)]


def dumps(model: Any) -> list[Wire]:
    """An SDK object as clients send it back."""
    return [model.model_dump(), model.model_dump(exclude_none=True), json.loads(model.model_dump_json())]


# What SDK clients send back ----------------------------------------------------------------------------


@pytest.mark.parametrize("events", [w.CHAT_TEXT, w.CHAT_CALLS, w.CHAT_REFUSAL])
def test_a_chat_reply_comes_back_from_the_sdk(events: list[Any]) -> None:
    state = ChatCompletionStreamState()
    for event in events[:-1]:
        state.handle_chunk(ChatCompletionChunk.model_validate(event))
    message = state.get_final_completion().choices[0].message
    expected = stored("chat", events)
    for sent in dumps(message):
        for call in sent.get("tool_calls") or ():
            call["function"].pop("parsed_arguments", None)
        sent.pop("parsed", None)
        assert ids("chat", [sent]) == expected


def test_a_chat_reply_comes_back_from_small_clients() -> None:
    text = "Grüße, Wörld 🌍!\n\ndata: no event"
    expected = stored("chat", w.CHAT_TEXT)
    assert ids("chat", [{"role": "assistant", "content": text}]) == expected
    assert ids("chat", [{"role": "assistant", "content": [{"type": "text", "text": text}]}]) == expected
    assert ids("chat", [{"role": "assistant", "content": text, "reasoning_content": "x", "id": 7}]) == expected
    calls = [chat_call("call_a", "lookup", '{"city":"K\\u00f6ln"}'), chat_call("call_b", "now", "")]
    assert ids("chat", [{"role": "assistant", "content": "Looking.", "tool_calls": calls}]) == stored(
        "chat", w.CHAT_CALLS
    )


def test_a_whole_chat_answer_is_the_same_as_the_streamed_one() -> None:
    calls = [chat_call("call_a", "lookup", '{"city": "Köln"}'), chat_call("call_b", "now", "{}")]
    message = {"role": "assistant", "content": "Looking.", "tool_calls": calls, "refusal": None, "annotations": []}
    answer = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls", "logprobs": None}],
    }
    reply = APIS["chat"].replies(json.dumps(answer).encode(), 200, "application/json")
    assert reply
    assert [*map(known, reply.parsed)] == stored("chat", w.CHAT_CALLS)
    for sent in dumps(ChatCompletion.model_validate(answer).choices[0].message):
        assert ids("chat", [sent]) == stored("chat", w.CHAT_CALLS)


def test_an_empty_reply_comes_back() -> None:
    expected = stored("chat", [w.chunk({"role": "assistant", "content": ""}), w.chunk({}, "stop")])
    empty: list[Wire] = [{"content": None}, {"content": ""}, {"content": []}, {}, {"content": None, "tool_calls": None}]
    for sent in empty:
        assert ids("chat", [{"role": "assistant", **sent}]) == expected


def test_a_responses_reply_comes_back_from_the_sdk() -> None:
    expected = stored("responses", w.RESPONSES)
    assert len(expected) == 2
    output = Response.model_validate(w.response("completed", w.OUTPUT)).output
    for sent in zip(*map(dumps, output), strict=True):
        assert ids("responses", [*sent]) == expected
        assert ids("responses", [item for item in sent if item["type"] != "reasoning"]) == expected
    small = [
        {"role": "assistant", "content": "Schön, 🌍 it is."},
        {"type": "function_call", "call_id": "call_a", "name": "lookup", "arguments": '{"city":"Köln"}'},
    ]
    assert ids("responses", small) == expected


def test_an_anthropic_reply_comes_back_from_the_sdk() -> None:
    expected = stored("anthropic", w.ANTHROPIC)
    snapshot: Any = None
    buffers: dict[int, bytes] = {}
    for event in w.ANTHROPIC:
        if event["type"] != "ping":
            made = _EVENT.validate_python(event)
            snapshot = accumulate_event(event=made, current_snapshot=snapshot, json_bufs=buffers)
    assert isinstance(snapshot, AnthropicMessage)
    for sent in zip(*map(dumps, snapshot.content), strict=True):
        blocks: list[Wire] = [{k: v for k, v in block.items() if k != "parsed_output"} for block in sent]
        assert ids("anthropic", [{"role": "assistant", "content": blocks}]) == expected
        bare = [block for block in blocks if block["type"] != "thinking"]
        bare[-1] = {**bare[-1], "cache_control": {"type": "ephemeral"}}
        assert ids("anthropic", [{"role": "assistant", "content": bare}]) == expected


# What makes another message, and what does not ---------------------------------------------------------


def of(value: Wire) -> list[bytes]:
    return [known(message) for message in formats.parse(value)]


IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "x"}


def user(*parts: Wire) -> Wire:
    return {"role": "user", "content": [*parts]}


def called(arguments: str, id: str = "c", name: str = "f") -> Wire:
    return {"role": "assistant", "content": None, "tool_calls": [chat_call(id, name, arguments)]}


def part(text: str, **more: Any) -> Wire:
    return {"type": "text", "text": text, **more}


SAME: list[tuple[Wire, Wire]] = [
    ({"role": "user", "content": "ab"}, user(part("ab"))),
    ({"role": "user", "content": "ab"}, user(part("a"), part("b"))),
    ({"role": "user", "content": "ab"}, user({"type": "input_text", "text": "ab"})),
    (user(part("a"), IMAGE), user(part("a", cache_control={"type": "ephemeral"}), {**IMAGE, "detail": None})),
    (called("{}"), called("")),
    (called('{"a": 1, "b": [2.0, "ü"]}'), called('{"b":[2,"\\u00fc"],"a":1}')),
    (called("not json"), {**called("not json"), "refusal": None, "audio": None, "content": ""}),
    (user(RESULT), user({**RESULT, "content": [part("x")], "is_error": False})),
    (user(RESULT), user({**RESULT, "cache_control": {"type": "ephemeral"}})),
    (
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "web_search_call", "id": None, "action": {"type": "search", "query": "q", "sources": None}},
    ),
]
OTHER: list[tuple[Wire, Wire]] = [
    ({"role": "user", "content": "a"}, {"role": "assistant", "content": "a"}),
    ({"role": "user", "content": "a"}, {"role": "user", "content": "a "}),
    ({"role": "user", "content": "a"}, {"role": "user", "content": "a", "name": "eve"}),
    (user(part("a"), IMAGE), user(IMAGE, part("a"))),
    (user(part("a"), IMAGE, part("b")), user(part("a"), part("b"), IMAGE)),
    (user(part("a"), IMAGE), user(part("a"), {"type": "image_url", "image_url": {"url": "https://example.org/b.png"}})),
    (called("{}"), called('{"a": 1}')),
    (called("{}"), called("{}", id="d")),
    (called("{}"), called("{}", name="g")),
    (called('{"a": "1"}'), called('{"a": 1}')),
    (called('"x"'), called("x")),
    (called("{"), called("{}")),
    (user(RESULT), user({**RESULT, "is_error": True})),
    (user(RESULT), user({**RESULT, "tool_use_id": "u"})),
    ({"role": "assistant", "content": ""}, {"role": "assistant", "content": None, "refusal": "no"}),
    ({"role": "assistant", "content": "no"}, {"role": "assistant", "content": None, "refusal": "no"}),
    (
        {"role": "assistant", "content": None, "audio": {"id": "a"}},
        {"role": "assistant", "content": None, "audio": {"id": "b"}},
    ),
    (
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}},
    ),
    ({"type": "item_reference", "id": "a"}, {"type": "item_reference", "id": "b"}),
]


@pytest.mark.parametrize(("one", "again"), SAME)
def test_the_same(one: Wire, again: Wire) -> None:
    again = {key: value for key, value in again.items() if value is not None or key == "content"}
    assert of(one) == of(again)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_another(one: Wire, other: Wire) -> None:
    assert of(one) != of(other)


def test_what_is_known_about_a_message_does_not_count() -> None:
    value = {"role": "user", "content": "a"}
    told = formats.parse(value, id="x", created_at=5, model_variant="m")
    assert [*map(known, told)] == of(value)
    assert known(told[0].stored("y", 7, 9, 3)) == of(value)[0]


def test_values_nested_deeply_have_an_identity() -> None:
    deep: Any = "x"
    for _ in range(400):
        deep = [deep]
    message = Message("user", [{"type": "odd", "deep": deep}])
    assert identity(message) == identity(message)
    assert len(identity(message)) == 32


TEXTS = st.lists(st.sampled_from(["a", "b", "ü"]), max_size=5)
SENT = st.sampled_from(
    [Message("user", "a"), Message("assistant", "a"), Message("user", "a", "Ann"), Message("assistant", "x" * 5000)]
)


@given(TEXTS, TEXTS)
def test_prefixes_are_equal_exactly_as_far_as_chats_are(one: list[str], two: list[str]) -> None:
    first, second = ([Message("user", text) for text in texts] for texts in (one, two))
    found = [a == b for a, b in zip(prefixes(first), prefixes(second), strict=False)]
    assert found == [one[: at + 1] == two[: at + 1] for at in range(len(found))]
    assert all(len(digest) == 32 for digest in prefixes(first))


@given(st.lists(st.lists(SENT, min_size=1, max_size=20), min_size=1, max_size=5), st.lists(SENT, max_size=10))
def test_prefixes_do_not_depend_on_what_was_sent_before(chats: list[list[Message]], more: list[Message]) -> None:
    for chat in (*chats, chats[0] + more, chats[0][:1] + more):
        first = prefixes(chat[:1])
        assert prefixes(chat) == [*first, *prefixes(chat[1:], first[0])]


def test_reasoning_does_not_change_prefixes() -> None:
    chat = [message for value in (user(part("q")), w.REASONING, w.SAID) for message in formats.parse(value)]
    with_it, without = prefixes(chat), prefixes([chat[0], chat[2]])
    assert with_it == [without[0], without[0], without[1]]
    assert prefixes([]) == []


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("The ferry leaves at nine.\n", "The ferry leaves at nine."),
        ("<think>\nWhich ferry?\n</think>\n\nThe ferry leaves at nine.", "The ferry leaves at nine."),
        ("Which ferry?\n</think>\n\nThe ferry leaves at nine.", "The ferry leaves at nine."),
        ("The ferry leaves at nine.", [{"type": "text", "text": "\nThe ferry leaves at nine. "}]),
    ],
)
def test_a_reply_is_the_same_without_blanks_and_thoughts(said: str, kept: Any) -> None:
    assert of({"role": "assistant", "content": said}) == of({"role": "assistant", "content": kept})
    calls = [chat_call("call_a", "lookup", "{}")]
    one, other = ({"role": "assistant", "content": content, "tool_calls": calls} for content in (said, kept))
    assert of(one) == of(other)


@pytest.mark.parametrize(
    "said", ["Write {} <think> first.", "Write {}:\n<think>\n</think>\nfirst.", "{} </think> ends it."]
)
def test_a_reply_about_thoughts_is_told_by_all_of_it(said: str) -> None:
    one, other = ({"role": "assistant", "content": said.format(word)} for word in ("this", "that"))
    assert of(one) != of(other)


def test_a_reply_that_says_nothing_may_be_left_out() -> None:
    empty: list[Any] = ["", " \n", None, [], "<think>What now?</think>"]
    for content in empty:
        (message,) = APIS["chat"].read({"messages": [{"role": "assistant", "content": content}]}).messages
        assert silent(message)
    said: list[Wire] = [{"refusal": "No."}, {"audio": {"id": "a1"}}, {"tool_calls": [chat_call("a", "b", "{}")]}]
    for more in said:
        (message,) = APIS["chat"].read({"messages": [{"role": "assistant", "content": None, **more}]}).messages
        assert not silent(message)
    assert not silent(Message("user", ""))
