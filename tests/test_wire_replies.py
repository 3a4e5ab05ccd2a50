"""Replies are read right: whole, streamed in any pieces, and cut anywhere."""

from __future__ import annotations

import itertools
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infold import Memory
from infold.service.wire import APIS, Reply, Streamed, silent
from infold.service.wire.naming import unnamed
from infold.service.wire.sse import LIMIT
from tests import wire_streams as w
from tests.wire_streams import Wire, chat_call, chunk, sse

JSON = "application/json; charset=utf-8"
TEXT = "Grüße, Wörld 🌍!\n\ndata: no event"


def streamed(api: str, *chunks: bytes) -> Streamed:
    stream = APIS[api].stream()
    for piece in chunks:
        stream.feed(piece)
    return stream


def reply_of(api: str, *events: Wire | str) -> Reply | None:
    return streamed(api, sse(events, named=api != "chat")).reply()


def said(reply: Reply | None) -> str:
    return "".join(message.text for message in reply.parsed if not silent(message)) if reply else ""


def assistant(content: Any, **more: Any) -> Wire:
    return {"role": "assistant", "content": content, **more}


def anthropic(*blocks: Wire) -> Wire:
    return {"type": "message", "role": "assistant", "content": list(blocks), "model": "claude-x"}


CALLS = [chat_call("call_a", "lookup", '{"city": "Köln"}'), chat_call("call_b", "now", "{}")]
STREAMS: dict[str, tuple[str, list[Any], list[Wire]]] = {
    "chat text": ("chat", w.CHAT_TEXT, [assistant(TEXT)]),
    "chat calls": ("chat", w.CHAT_CALLS, [assistant("Looking.", tool_calls=CALLS)]),
    "chat refusal": ("chat", w.CHAT_REFUSAL, [assistant(None, refusal="I won't.")]),
    "chat n=2": ("chat", w.CHAT_TWO, [assistant("one two")]),
    "responses": ("responses", w.RESPONSES, w.OUTPUT),
    "anthropic": ("anthropic", w.ANTHROPIC, [anthropic(*w.BLOCKS)]),
}
IDS = {"chat": ("chatcmpl-1", "gpt-x"), "responses": ("resp_1", "gpt-x"), "anthropic": ("msg_1", "claude-x")}
BYTES = {name: (api, sse(events, named=api != "chat")) for name, (api, events, _) in STREAMS.items()}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_gives_its_reply(name: str) -> None:
    api, _, expected = STREAMS[name]
    stream = streamed(*BYTES[name])
    id, model = IDS[api]
    assert stream.complete
    assert stream.reply() == Reply(tuple(expected), model, id, True)
    assert stream.reply() == stream.reply(), "asking changes nothing"


@pytest.mark.parametrize("name", STREAMS)
def test_a_chat_takes_the_reply(name: str) -> None:
    reply = streamed(*BYTES[name]).reply()
    assert reply
    with Memory("sqlite://") as memory:
        chat = memory.chat("a")
        chat.add({"role": "user", "content": "hello"})
        added = chat.add([*reply.parsed], model_variant=reply.model)
        assert [message.model_variant for message in added] == [reply.model] * len(added)
        assert not any(message.id.startswith(("msg_", "rs_", "fc_")) for message in added), "the ledger's own ids"
        chat.add([*reply.parsed])
        assert chat.verify().ok


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("name", STREAMS)
def test_line_ends_and_single_bytes_make_no_difference(name: str, end: bytes) -> None:
    api, stream = BYTES[name]
    other = stream.replace(b"\n", end)
    assert streamed(api, *(other[at : at + 1] for at in range(len(other)))).reply() == streamed(api, stream).reply()


@given(st.sampled_from(sorted(STREAMS)), st.lists(st.integers(0, 6000), max_size=12))
def test_chunks_make_no_difference(name: str, cuts: list[int]) -> None:
    api, stream = BYTES[name]
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    chunks = [stream[a:b] for a, b in itertools.pairwise(places)]
    assert streamed(api, *chunks).reply() == streamed(api, stream).reply()


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_cut_anywhere_gives_what_came(name: str) -> None:
    api, stream = BYTES[name]
    whole = streamed(api, stream).reply()
    seen = 0
    calls = {call["id"]: call for message in whole.parsed for call in message.tool_calls} if whole else {}
    growing = APIS[api].stream()
    for at in range(len(stream) + 1):
        growing.feed(stream[at - 1 : at])
        if at and stream[at - 1 : at] != b"\n":
            continue  # nothing new before an event ends
        reply = growing.reply()
        assert reply == streamed(api, stream[:at]).reply()
        text = said(reply)
        assert said(whole).startswith(text)
        assert len(text) >= seen, "nothing is taken back"
        seen = len(text)
        for call in (call for message in reply.parsed for call in message.tool_calls) if reply else ():
            assert call == calls[call["id"]], "a call is whole or not there"
        assert reply is None or reply.complete == growing.complete


@pytest.mark.parametrize("name", STREAMS)
def test_nothing_is_none(name: str) -> None:
    api, stream = BYTES[name]
    assert streamed(api).reply() is None
    assert streamed(api, stream[:40]).reply() is None
    assert streamed(api, b"data: [DONE]\n\n").reply() is None
    assert not streamed(api).complete


KEYS = st.sampled_from(
    "type index id model choices delta content text role tool_calls function name arguments finish_reason refusal audio "
    "function_call custom input error response output item output_index content_index status message content_block "
    "partial_json thinking signature citation stop_reason extra".split()
)
TYPES = st.sampled_from(
    sorted(
        {event["type"] for events in (w.RESPONSES, w.ANTHROPIC) for event in events}
        | {"text", "text_delta", "input_json_delta", "thinking_delta", "signature_delta", "citations_delta", "error"}
        | {"tool_use", "server_tool_use", "thinking", "message", "function_call", "reasoning", "output_text"}
    )
)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats() | st.text(max_size=5) | TYPES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)
ODD = st.one_of(
    st.binary(max_size=40),
    JSONS.map(lambda value: sse([json.dumps(value)])),
    st.dictionaries(KEYS, JSONS, max_size=6).map(lambda value: sse([value])),
    st.fixed_dictionaries({"choices": st.lists(st.dictionaries(KEYS, JSONS, max_size=4), max_size=2)}).map(
        lambda value: sse([value])
    ),
    st.fixed_dictionaries(
        {"type": TYPES, "index": st.integers(0, 2), "output_index": st.integers(0, 2), "content_index": st.just(0)},
        optional=dict.fromkeys(("delta", "content_block", "item", "response", "message", "error"), JSONS),
    ).map(lambda value: sse([value])),
    st.sampled_from([event for events in (w.CHAT_CALLS, w.RESPONSES, w.ANTHROPIC) for event in events]).map(
        lambda event: sse([event])
    ),
)


@pytest.mark.parametrize("api", APIS)
@settings(max_examples=60)
@given(chunks=st.lists(ODD, max_size=8))
def test_no_bytes_raise_and_a_chat_takes_what_comes_out(api: str, chunks: list[bytes]) -> None:
    stream = streamed(api, *chunks)
    reply = stream.reply()
    if reply:
        assert reply.complete == stream.complete
        json.dumps(reply.messages)
        assert reply.parsed or api == "responses"
        assert len(reply.messages) == 1 or api == "responses"


@pytest.mark.parametrize("api", APIS)
@settings(max_examples=50)
@given(value=JSONS | st.dictionaries(KEYS, JSONS), status=st.sampled_from([200, 201, 400, 500]))
def test_no_answer_raises(api: str, value: Any, status: int) -> None:
    reply = APIS[api].replies(json.dumps(value).encode(), status, JSON)
    assert reply is None or (reply.parsed is not None and status < 300)


# Chat Completions --------------------------------------------------------------------------------------


def chat_reply(*deltas: Wire, finish: str | None = "stop") -> Wire | None:
    last = [chunk({}, finish)] if finish else []
    reply = reply_of("chat", *map(chunk, deltas), *last)
    return reply.messages[0] if reply else None


def test_without_done_a_finish_reason_is_the_end() -> None:
    reply = reply_of("chat", chunk({"content": "a"}), chunk({}, "stop"))
    assert reply == Reply((assistant("a"),), "gpt-x", "chatcmpl-1", True)
    assert reply_of("chat", chunk({"content": "a"}, "length")) == reply


def test_without_finish_reason_done_is_the_end() -> None:
    reply = reply_of("chat", chunk({"content": "a"}), "[DONE]")
    assert reply
    assert reply.complete


@pytest.mark.parametrize("error", [{"error": {"message": "overloaded"}}, {"error": {}, "type": "error"}])
def test_an_error_in_the_middle_makes_it_partial(error: Wire) -> None:
    reply = reply_of("chat", chunk({"content": "so far"}), error, "[DONE]")
    assert reply
    assert (said(reply), reply.complete) == ("so far", False)
    assert reply_of("chat", error, "[DONE]") is None


def test_an_empty_reply_is_one() -> None:
    assert chat_reply({"role": "assistant", "content": ""}) == assistant("")
    assert chat_reply({"role": "assistant", "content": ""}, finish=None) is None


def test_usage_and_filters_without_choices_are_passed_over() -> None:
    reply = reply_of("chat", chunk(prompt_filter_results=[]), chunk({"content": "a"}), chunk({}, "stop"), chunk())
    assert said(reply) == "a"


def test_a_call_cut_in_its_arguments_is_left_out() -> None:
    pieces = [w.call_delta(0, "a", "f", "{}"), w.call_delta(1, "b", "g", '{"x": [1, 2')]
    assert chat_reply(*pieces, finish=None) == assistant(None, tool_calls=[chat_call("a", "f", "{}")])
    whole = chat_reply(*pieces, finish="length")
    assert whole
    assert len(whole["tool_calls"]) == 2, "the client has it so too"
    assert chat_reply(w.call_delta(0, "a", "f", ""), finish=None) is None


@pytest.mark.parametrize(
    "deltas",
    [
        # all numbered 0
        [w.call_delta(0, "call_a", "lookup", '{"city": "Köln"}'), w.call_delta(0, "call_b", "now", "{}")],
        # id and name on each piece
        [
            w.call_delta(0, "call_a", "lookup", '{"city": '),
            w.call_delta(0, "call_a", "lookup", '"Köln"}'),
            w.call_delta(1, "call_b", "now", "{}"),
        ],
        # empty ids after the first
        [
            w.call_delta(0, "call_a", "lookup", '{"city": '),
            {"tool_calls": [{"index": 0, "id": "", "function": {"name": "", "arguments": '"Köln"}'}}]},
            w.call_delta(1, "call_b", "now", "{}"),
        ],
        # both in one piece
        [
            {
                "tool_calls": [
                    w.call_delta(0, "call_a", "lookup", '{"city": "Köln"}')["tool_calls"][0],
                    w.call_delta(1, "call_b", "now", "{}")["tool_calls"][0],
                ]
            }
        ],
    ],
)
def test_calls_as_various_servers_stream_them(deltas: list[Wire]) -> None:
    assert chat_reply(*deltas) == assistant(None, tool_calls=CALLS)


def test_calls_without_a_number() -> None:
    pieces = [chat_call("call_a", "lookup", '{"city": '), {"function": {"arguments": '"Köln"}'}}, CALLS[1]]
    events = [{"choices": [{"delta": {"tool_calls": [piece]}}]} for piece in pieces]
    reply = reply_of("chat", *events, "[DONE]")
    assert reply
    assert reply.messages == (assistant(None, tool_calls=CALLS),)


def test_custom_calls_signatures_and_the_call_of_old() -> None:
    custom = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "sql", "input": "select "}}
    more = {"index": 0, "custom": {"input": "1"}, "extra_content": {"google": {"thought_signature": "s"}}}
    events = [{"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]} for piece in (custom, more)]
    reply = reply_of("chat", *events, "[DONE]")
    assert reply
    (call,) = reply.messages[0]["tool_calls"]
    assert call["custom"] == {"name": "sql", "input": "select 1"}
    assert call["extra_content"] == more["extra_content"]
    assert reply_of("chat", *events) is None, "nobody knows whether all of the input came"
    old = chat_reply({"function_call": {"name": "f", "arguments": ""}}, {"function_call": {"arguments": "{}"}})
    assert old
    assert unnamed(old) == assistant(None, function_call={"name": "f", "arguments": "{}"})


def test_halves_of_a_character_in_two_pieces_are_joined() -> None:
    raw = b'data: {"choices":[{"delta":{"content":"\\ud83c"}}]}\n\ndata: {"choices":[{"delta":{"content":"\\udf0d"}}]}\n\n'
    assert said(streamed("chat", raw).reply()) == "🌍"
    assert said(streamed("chat", raw[: len(raw) // 2]).reply()) == "\ufffd"


def test_content_in_parts_is_read() -> None:
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "a"}]
    reply = reply_of("chat", {"choices": [{"delta": {"content": parts}}]}, "[DONE]")
    assert said(reply) == "a"


def chat_answer(*messages: Wire, **more: Any) -> bytes:
    choices = [{"index": at, "message": message, "finish_reason": "stop"} for at, message in enumerate(messages)]
    return json.dumps({"id": "chatcmpl-1", "model": "gpt-x", "choices": choices, **more}).encode()


def test_a_whole_chat_answer() -> None:
    nulls: Wire = {"refusal": None, "annotations": [], "audio": None, "function_call": None}
    full = assistant("Looking.", tool_calls=CALLS, reasoning_content="private", **nulls)
    reply = APIS["chat"].replies(chat_answer(full, assistant("other")), 200, JSON)
    assert reply == Reply((assistant("Looking.", tool_calls=CALLS),), "gpt-x", "chatcmpl-1", True)
    empty = APIS["chat"].replies(chat_answer(assistant(None, **nulls)), 200, JSON)
    assert empty
    assert empty.messages == (assistant(""),)
    sound = {"id": "audio_1", "data": "AAAA", "transcript": "hi", "expires_at": 1}
    spoken = APIS["chat"].replies(chat_answer(assistant(None, audio=sound)), 200, JSON)
    assert spoken
    assert spoken.messages == (assistant(None, audio={"id": "audio_1"}),)


GOOD = {
    "chat": chat_answer(assistant("a")),
    "responses": json.dumps(w.response("completed", w.OUTPUT)).encode(),
    "anthropic": json.dumps({**anthropic(*w.BLOCKS), "id": "msg_1", "stop_reason": "end_turn"}).encode(),
}


@pytest.mark.parametrize("api", APIS)
def test_errors_and_rubbish_are_no_reply(api: str) -> None:
    good = GOOD[api]
    assert APIS[api].replies(good, 200, JSON)
    assert APIS[api].replies(good, 200, "")
    assert APIS[api].replies(good, 500, JSON) is None
    assert APIS[api].replies(good, 200, "text/html") is None
    assert APIS[api].replies(good[:-1], 200, JSON) is None
    assert APIS[api].replies(good + b" " * LIMIT, 200, JSON) is None
    for rubbish in (b"", b"[]", b"null", b"{}", b'{"error": {"message": "no"}}', b"\xff", b"[" * 100_000):
        assert APIS[api].replies(rubbish, 200, JSON) is None


# Responses ---------------------------------------------------------------------------------------------


def test_a_whole_responses_answer() -> None:
    reply = APIS["responses"].replies(GOOD["responses"], 200, JSON)
    assert reply == Reply(tuple(w.OUTPUT), "gpt-x", "resp_1", True)


@pytest.mark.parametrize(
    ("status", "output", "expected", "complete"),
    [
        ("incomplete", [w.SAID], [w.SAID], True),
        ("incomplete", [w.REASONING], [], True),
        ("completed", [], [], True),
        ("failed", [w.SAID], [w.SAID], False),
        ("failed", [], None, False),
        ("queued", [], None, False),
    ],
)
def test_responses_that_end_otherwise(status: str, output: list[Wire], expected: Any, complete: bool) -> None:
    reply = APIS["responses"].replies(json.dumps(w.response(status, output)).encode(), 200, JSON)
    assert (None if reply is None else [*reply.messages]) == expected
    assert reply is None or reply.complete == complete


def cut_after(kind: str, number: int = 1) -> Reply | None:
    """The reply of a Responses stream that ends after an event."""
    places = [at for at, event in enumerate(w.RESPONSES) if event["type"] == kind]
    return reply_of("responses", *w.RESPONSES[: places[number - 1] + 1])


def test_a_cut_responses_stream_is_built_from_its_pieces() -> None:
    reply = cut_after("response.output_text.delta", 2)
    assert reply
    assert not reply.complete
    assert said(reply) == "Schön, 🌍 it"
    assert reply.messages[0] == w.REASONING
    with Memory("sqlite://") as memory:
        chat = memory.chat("a")
        chat.add([{"role": "user", "content": "q"}, *reply.parsed, {"role": "user", "content": "go on"}])
        # The API does not know the item that was cut, nor takes reasoning without its item.
        assert chat.context().to("responses") == [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "Schön, 🌍 it"},
            {"role": "user", "content": "go on"},
        ]


def test_reasoning_that_led_to_nothing_is_left_out() -> None:
    assert cut_after("response.output_item.done", 1) is None
    assert cut_after("response.output_item.added", 2) is None


def test_a_cut_call_is_left_out_unless_its_arguments_are_whole() -> None:
    half = cut_after("response.function_call_arguments.delta", 1)
    assert half
    assert [*half.messages] == [w.REASONING, w.SAID]
    whole = cut_after("response.function_call_arguments.delta", 2)
    assert whole
    assert whole.parsed[-1].tool_calls == (CALLS[0],)
    assert not whole.complete


@pytest.mark.parametrize(
    ("last", "complete"),
    [
        ({"type": "response.completed", "response": w.response("completed", [])}, True),  # some servers leave it out
        ({"type": "response.incomplete", "response": w.response("incomplete", w.OUTPUT)}, True),
        ({"type": "response.failed", "response": w.response("failed", [])}, False),
        ({"type": "error", "code": "x", "message": "no", "param": None}, False),
    ],
)
def test_ends_of_a_responses_stream(last: Wire, complete: bool) -> None:
    reply = reply_of("responses", *w.responses_events(last))
    assert reply == Reply(tuple(w.OUTPUT), "gpt-x", "resp_1", complete)


# Anthropic ---------------------------------------------------------------------------------------------


def test_a_whole_anthropic_answer() -> None:
    reply = APIS["anthropic"].replies(GOOD["anthropic"], 200, JSON)
    assert reply == Reply((anthropic(*w.BLOCKS),), "claude-x", "msg_1", True)
    assert reply.parsed[0].model_variant == "claude-x"


def test_empty_blocks_and_thinking_alone_say_nothing() -> None:
    for blocks in ([], [w.text_block(0)], [w.THINKING]):
        reply = reply_of("anthropic", *w.message_events(*blocks))
        assert reply
        assert reply.messages == (assistant(""),)
        assert reply.complete
    body = json.dumps({**anthropic(w.THOUGHT), "stop_reason": "max_tokens"}).encode()
    alone = APIS["anthropic"].replies(body, 200, JSON)
    assert alone
    assert alone.messages == (assistant(""),)


def test_thinking_without_its_signature_is_left_out() -> None:
    events = w.message_events(w.THINKING)
    start = [at for at, event in enumerate(events) if event["type"] == "content_block_delta"]
    assert reply_of("anthropic", *events[: start[-1]]) is None
    reply = reply_of(
        "anthropic", events[0], *w.text_block(0, "so far"), *w.block(1, {"type": "thinking", "thinking": "x"})
    )
    assert reply
    assert reply.messages == (anthropic({"type": "text", "text": "so far"}),)


def test_an_input_that_is_no_json_is_left_out() -> None:
    events = w.message_events(w.text_block(0, "a"), w.tool_block(1, "t", "f", '{"x": '), stop="max_tokens")
    reply = reply_of("anthropic", *events)
    assert reply
    assert (reply.messages, reply.complete) == ((anthropic({"type": "text", "text": "a"}),), True)


def test_searches_of_the_server_travel_with_their_results() -> None:
    search = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}
    asked = w.block(1, search, {"type": "input_json_delta", "partial_json": '{"query": "x"}'})
    cite = {"type": "web_search_result_location", "cited_text": "c", "encrypted_index": "e", "title": "t", "url": "u"}
    cited = w.block(
        3,
        {"type": "text", "text": "", "citations": []},
        {"type": "text_delta", "text": "As c."},
        {"type": "citations_delta", "citation": cite},
    )
    events = w.message_events(w.text_block(0, "a"), asked, w.block(2, found), cited)
    text = {"type": "text", "text": "a"}
    made = {**search, "input": {"query": "x"}}
    reply = reply_of("anthropic", *events)
    assert reply
    assert reply.messages == (anthropic(text, made, found, {"type": "text", "text": "As c.", "citations": [cite]}),)
    stop = next(at for at, event in enumerate(events) if event.get("content_block") == found)
    cut = reply_of("anthropic", *events[:stop])
    assert cut
    assert cut.messages == (anthropic(text),)


def test_an_anthropic_error_makes_it_partial() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    reply = reply_of("anthropic", *w.ANTHROPIC[:10], error)
    assert reply
    assert not reply.complete
    assert reply_of("anthropic", error) is None


# Size --------------------------------------------------------------------------------------------------

PIECE = "x" * 50_000


def endless(api: str) -> bytes:
    """The event that brings one more piece of text."""
    if api == "chat":
        return sse([chunk({"content": PIECE})])
    if api == "responses":
        event = {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": PIECE}
        return sse([event])
    return sse([{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": PIECE}}])


def beginning(api: str) -> bytes:
    events: dict[str, list[Any]] = {
        "chat": w.CHAT_TEXT[:1],
        "responses": w.RESPONSES[:4],
        "anthropic": [w.ANTHROPIC[0], *w.text_block(0)[:1]],
    }
    return sse(events[api])


def ending(api: str) -> bytes:
    events: dict[str, list[Any]] = {
        "chat": w.CHAT_TEXT[-3:],
        "responses": w.RESPONSES[-1:],
        "anthropic": w.ANTHROPIC[-1:],
    }
    return sse(events[api])


@pytest.mark.parametrize("api", APIS)
def test_of_an_endless_reply_only_the_beginning_is_kept(api: str) -> None:
    stream, more = streamed(api, beginning(api)), endless(api)
    tracemalloc.start()
    try:
        for _ in range(400):
            stream.feed(more)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 5 * LIMIT, "a text being built takes four bytes a character"
    reply = stream.reply()
    assert reply
    assert not reply.complete
    text = said(reply)
    assert LIMIT - 2 * len(PIECE) < len(text) <= LIMIT
    stream.feed(ending(api))
    # A Responses stream says at its end all that it said.
    assert stream.complete == (api == "responses")


@pytest.mark.parametrize("api", APIS)
def test_many_small_things_are_bounded_too(api: str) -> None:
    def event(at: int) -> Wire:
        if api == "chat":
            return {"choices": [{"delta": w.call_delta(at, f"c{at}", "f", "")}]}
        if api == "responses":
            return {"type": "response.output_item.added", "output_index": at, "item": {"type": "message"}}
        return {"type": "content_block_start", "index": at, "content_block": {"type": "text", "text": ""}}

    stream = streamed(api, beginning(api), *(sse([event(at)]) for at in range(LIMIT // 512)))
    if api == "responses":
        stream.feed(sse([{"type": "response.completed", "response": w.response("completed", [])}]))
    else:
        stream.feed(ending(api))
    assert not stream.complete, "there was no room for all"
