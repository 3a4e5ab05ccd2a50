"""Replies of the three APIs as they stream, written by hand and checked against the types of their SDKs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from anthropic.types import RawMessageStreamEvent
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

Wire = dict[str, Any]

_ANTHROPIC: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
_RESPONSES: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


def sse(events: Iterable[Wire | str], named: bool = False) -> bytes:
    """Events as bytes; with names, as Anthropic and the Responses API have them."""
    lines = []
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
        name = f"event: {event['type']}\n" if named and not isinstance(event, str) else ""
        lines.append(f"{name}data: {data}\n\n")
    return "".join(lines).encode()


# Chat Completions --------------------------------------------------------------------------------------


def chunk(delta: Wire | None = None, finish: str | None = None, index: int = 0, **more: Any) -> Wire:
    choices = [] if delta is None else [{"index": index, "delta": delta, "finish_reason": finish, "logprobs": None}]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-x"}
    made = {**head, "choices": choices, **more}
    ChatCompletionChunk.model_validate(made)
    return made


def call_delta(index: int, id: str | None = None, name: str | None = None, arguments: str | None = None) -> Wire:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    piece: Wire = {"index": index, "function": function}
    return {"tool_calls": [{**piece, "id": id, "type": "function"} if id else piece]}


def chat_call(id: str, name: str, arguments: str) -> Wire:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


CHAT_TEXT: list[Wire | str] = [
    chunk({"role": "assistant", "content": "", "refusal": None}),
    chunk({"content": "Grüße, "}),
    chunk({"content": "Wörld 🌍"}),
    chunk({"content": "!\n\ndata: no event"}),
    chunk({}, "stop"),
    chunk(usage={"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}),
    "[DONE]",
]
CHAT_CALLS: list[Wire | str] = [
    chunk({"role": "assistant", "content": None}),
    chunk({"content": "Looking."}),
    chunk(call_delta(0, "call_a", "lookup", "")),
    chunk(call_delta(0, arguments='{"city": ')),
    chunk(call_delta(0, arguments='"Köln"}')),
    chunk(call_delta(1, "call_b", "now", "")),
    chunk(call_delta(1, arguments="{}")),
    chunk({}, "tool_calls"),
    "[DONE]",
]
CHAT_REFUSAL = [
    chunk({"role": "assistant", "refusal": "I "}),
    chunk({"refusal": "won't."}),
    chunk({}, "stop"),
    "[DONE]",
]
CHAT_TWO = [
    chunk({"role": "assistant", "content": "one"}),
    chunk({"role": "assistant", "content": "other"}, index=1),
    chunk({}, "stop", index=1),
    chunk({"content": " two"}),
    chunk({}, "stop"),
    "[DONE]",
]

# Responses ---------------------------------------------------------------------------------------------


def response(status: str, output: list[Wire], **more: Any) -> Wire:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-x",
        "status": status,
        "output": output,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        **more,
    }


def numbered(events: list[Wire]) -> list[Wire]:
    made = [{**event, "sequence_number": at} for at, event in enumerate(events)]
    for event in made:
        _RESPONSES.validate_python(event)
    return made


REASONING: Wire = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAA"}
SAID: Wire = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Schön, 🌍 it is.", "annotations": [], "logprobs": []}],
}
CALLED: Wire = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_a",
    "name": "lookup",
    "arguments": '{"city": "Köln"}',
}


def _text_delta(text: str) -> Wire:
    place = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
    return {"type": "response.output_text.delta", **place, "delta": text, "logprobs": []}


def _arguments_delta(text: str) -> Wire:
    return {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 2, "delta": text}


def responses_events(last: Wire) -> list[Wire]:
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    open_message = {**SAID, "status": "in_progress", "content": []}
    open_call = {**CALLED, "status": "in_progress", "arguments": ""}
    place = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
    return numbered(
        [
            {"type": "response.created", "response": response("in_progress", [])},
            {"type": "response.output_item.added", "output_index": 0, "item": {**REASONING, "encrypted_content": None}},
            {"type": "response.output_item.done", "output_index": 0, "item": REASONING},
            {"type": "response.output_item.added", "output_index": 1, "item": open_message},
            {"type": "response.content_part.added", **place, "part": part},
            _text_delta("Schön, "),
            _text_delta("🌍 it"),
            _text_delta(" is."),
            {"type": "response.output_text.done", **place, "text": "Schön, 🌍 it is.", "logprobs": []},
            {"type": "response.content_part.done", **place, "part": SAID["content"][0]},
            {"type": "response.output_item.done", "output_index": 1, "item": SAID},
            {"type": "response.output_item.added", "output_index": 2, "item": open_call},
            _arguments_delta('{"city": '),
            _arguments_delta('"Köln"}'),
            {
                "type": "response.function_call_arguments.done",
                "item_id": "fc_1",
                "name": "lookup",
                "output_index": 2,
                "arguments": CALLED["arguments"],
            },
            {"type": "response.output_item.done", "output_index": 2, "item": CALLED},
            last,
        ]
    )


OUTPUT = [REASONING, SAID, CALLED]
RESPONSES = responses_events({"type": "response.completed", "response": response("completed", OUTPUT)})

# Anthropic ---------------------------------------------------------------------------------------------


def block(index: int, start: Wire, *deltas: Wire) -> list[Wire]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def message_events(*blocks: list[Wire], stop: str = "end_turn") -> list[Wire]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": []}
    made: list[Wire] = [
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}},
        *(event for events in blocks for event in events),
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ]
    for event in made:
        _ANTHROPIC.validate_python(event)
    made.insert(2, {"type": "ping"})
    return made


def text_block(index: int, *pieces: str) -> list[Wire]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def tool_block(index: int, id: str, name: str, *pieces: str) -> list[Wire]:
    start = {"type": "tool_use", "id": id, "name": name, "input": {}}
    return block(index, start, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


THOUGHT: Wire = {"type": "thinking", "thinking": "private: Köln", "signature": "c2ln"}
THINKING = block(
    0,
    {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking_delta", "thinking": "private: "},
    {"type": "thinking_delta", "thinking": "Köln"},
    {"type": "signature_delta", "signature": "c2ln"},
)
ANTHROPIC = message_events(
    THINKING,
    text_block(1, "Grüße ", "aus 🌍", "."),
    tool_block(2, "toolu_a", "lookup", "", '{"city": ', '"Köln"}'),
    tool_block(3, "toolu_b", "now"),
    stop="tool_use",
)
BLOCKS: list[Wire] = [
    THOUGHT,
    {"type": "text", "text": "Grüße aus 🌍."},
    {"type": "tool_use", "id": "toolu_a", "name": "lookup", "input": {"city": "Köln"}},
    {"type": "tool_use", "id": "toolu_b", "name": "now", "input": {}},
]
