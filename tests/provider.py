"""A chat provider as a real process: the three APIs, streaming and not, quick enough to measure a proxy against.

Its replies depend on the request alone. The model's name chooses what happens: "echo" (say what was said last and how many
messages came), "tools" (call the first tool, until a result comes), "tools-3-2" (three rounds of two calls each), "error-503",
"cut-3" (break off after 3 events), "slow-0.2" (seconds between events), "wait-5" (seconds before all), "html", "gzip",
"long-500" (words). GET /requests lists what came in; DELETE forgets it.

    with Provider() as provider:
        ...  # provider.url

By hand: `python -m tests.provider --port 8000`.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import socket
import urllib.request
import zlib
from collections import deque
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Self

from tests.forks import start

Wire = dict[str, Any]
_requests: deque[Wire] = deque(maxlen=2000)


# Replies -----------------------------------------------------------------------------------------------


def said(content: Any) -> str:
    """The text of a message's content."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return " ".join(str(part.get("text") or part.get("content") or part.get("output") or "") for part in parts)


def _answer(model: str, messages: list[Wire]) -> list[str]:
    last = messages[-1] if messages else {}
    text = said(last.get("content")) or str(last.get("output", ""))
    words = f"Reply to: {text[:200]} ({len(messages)} messages)".split(" ")
    if model.startswith("long-"):
        words = [f"word{n}" for n in range(int(model[5:]))]
    return [word if at == 0 else f" {word}" for at, word in enumerate(words)]


def _results(message: Wire) -> int:
    """How many tool results a message holds."""
    if message.get("role") == "tool" or message.get("type") == "function_call_output":
        return 1
    content = message.get("content")
    return sum(part.get("type") == "tool_result" for part in content) if isinstance(content, list) else 0


def _calls(model: str, body: Wire, messages: list[Wire]) -> list[tuple[str, str, Wire]]:
    """Id, name and arguments of the calls to make: the first tool, in so many rounds, so many at a time."""
    if not model.startswith("tools") or not body.get("tools"):
        return []
    rounds, each = (int(n) for n in model.split("-")[1:]) if "-" in model else (1, 1)
    results, question = 0, ""
    for message in reversed(messages):
        found = _results(message)
        results += found
        if message.get("role") == "user" and not found:
            question = said(message.get("content"))
            break
    done = results // each
    if done >= rounds:
        return []
    tool = body["tools"][0]
    name = tool.get("name") or tool["function"]["name"]
    mark = f"{zlib.crc32(question.encode()):08x}_{done}"  # no two calls of a chat have the same
    return [(f"call_{mark}_{n}", name, {"query": f"{done}.{n}"}) for n in range(each)]


def chat_whole(body: Wire) -> Wire:
    calls, words = _calls(body["model"], body, body["messages"]), _answer(body["model"], body["messages"])
    message: Wire = {"role": "assistant", "content": "".join(words), "refusal": None, "annotations": []}
    if calls:
        wire = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for id, name, given in calls
        ]
        message |= {"content": None, "tool_calls": wire}
    choice = {"message": message, "finish_reason": "tool_calls" if calls else "stop", "logprobs": None}
    return {
        "id": f"chatcmpl-{len(body['messages'])}", "object": "chat.completion", "created": 1_767_225_600, "model": body["model"],
        "choices": [{"index": n, **choice} for n in range(body.get("n") or 1)],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }  # fmt: skip


def chat_events(body: Wire) -> list[Wire]:
    whole = chat_whole(body)
    base = {"id": whole["id"], "object": "chat.completion.chunk", "created": whole["created"], "model": whole["model"]}
    every = range(len(whole["choices"]))

    def chunks(delta: Wire, finish: str | None = None) -> list[Wire]:
        choice = {"delta": delta, "finish_reason": finish, "logprobs": None}
        return [{**base, "choices": [{"index": n, **choice}]} for n in every]

    message = whole["choices"][0]["message"]
    if calls := message.get("tool_calls"):
        events = chunks({"role": "assistant", "content": None})
        for at, call in enumerate(calls):
            start = {**call, "index": at, "function": {**call["function"], "arguments": ""}}
            events += chunks({"tool_calls": [start]})
            written = call["function"]["arguments"]
            for piece in (written[:5], written[5:]):
                events += chunks({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
        return events + chunks({}, "tool_calls")
    events = chunks({"role": "assistant", "content": ""})
    for word in _answer(body["model"], body["messages"]):
        events += chunks({"content": word})
    return events + chunks({}, "stop")


def _input(body: Wire) -> list[Wire]:
    given = body.get("input")
    return given if isinstance(given, list) else [{"role": "user", "content": given}]


def responses_whole(body: Wire) -> Wire:
    items = _input(body)
    id = f"resp_{len(items)}_{zlib.crc32(json.dumps(items).encode()):08x}"
    output: list[Wire] = [
        {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": name, "arguments": json.dumps(given),
         "status": "completed"}
        for id, name, given in _calls(body["model"], body, items)
    ]  # fmt: skip
    if not output:
        text = {"type": "output_text", "text": "".join(_answer(body["model"], items)), "annotations": []}
        output = [{"type": "message", "id": f"msg_{id}", "role": "assistant", "status": "completed", "content": [text]}]
    return {
        "id": id, "object": "response", "created_at": 1_767_225_600, "model": body["model"], "status": "completed",
        "output": output, "parallel_tool_calls": True, "tool_choice": "auto", "tools": body.get("tools", []),
    }  # fmt: skip


def responses_events(body: Wire) -> list[Wire]:
    whole = responses_whole(body)
    begun = {**whole, "status": "in_progress", "output": []}
    events: list[Wire] = [{"type": "response.created", "response": begun}]
    for at, item in enumerate(whole["output"]):
        place = {"item_id": item["id"], "output_index": at}
        empty: Wire = {"content": []} if item["type"] == "message" else {"arguments": ""}
        added = {**item, **empty, "status": "in_progress"}
        events.append({"type": "response.output_item.added", "output_index": at, "item": added})
        if item["type"] == "message":
            place["content_index"] = 0
            text = item["content"][0]
            events.append({"type": "response.content_part.added", **place, "part": {**text, "text": ""}})
            events += [
                {"type": "response.output_text.delta", **place, "delta": word, "logprobs": []}
                for word in _answer(body["model"], _input(body))
            ]
            events.append({"type": "response.output_text.done", **place, "text": text["text"], "logprobs": []})
            events.append({"type": "response.content_part.done", **place, "part": text})
        else:
            given = item["arguments"]
            events.append({"type": "response.function_call_arguments.delta", **place, "delta": given})
            done = {"name": item["name"], "arguments": given}
            events.append({"type": "response.function_call_arguments.done", **place, **done})
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return [{**event, "sequence_number": n} for n, event in enumerate(events)]


def anthropic_whole(body: Wire) -> Wire:
    messages = body["messages"]
    calls = _calls(body["model"], body, messages)
    content: list[Wire] = [{"type": "tool_use", "id": id, "name": name, "input": given} for id, name, given in calls]
    if not calls:
        content = [{"type": "text", "text": "".join(_answer(body["model"], messages))}]
    return {
        "id": f"msg_{len(messages)}", "type": "message", "role": "assistant", "model": body["model"], "content": content,
        "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def anthropic_events(body: Wire) -> list[Wire]:
    whole = anthropic_whole(body)
    events: list[Wire] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for at, block in enumerate(whole["content"]):
        if block["type"] == "text":
            start: Wire = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": word} for word in _answer(body["model"], body["messages"])]
        else:
            start, written = {**block, "input": {}}, json.dumps(block["input"])
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in (written[:5], written[5:])]
        events.append({"type": "content_block_start", "index": at, "content_block": start})
        events += [{"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": at})
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}})
    return [*events, {"type": "message_stop"}]


APIS = {
    "/v1/chat/completions": (chat_whole, chat_events),
    "/v1/responses": (responses_whole, responses_events),
    "/v1/messages": (anthropic_whole, anthropic_events),
}


# The process that serves -------------------------------------------------------------------------------


async def app(scope: Any, receive: Any, send: Any) -> None:
    """The provider, as an ASGI app."""
    if scope["type"] != "http":
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    path, method = scope["path"], scope["method"]
    if path == "/requests":
        if method == "DELETE":
            _requests.clear()
        await _json(send, 200, list(_requests))
    elif path == "/v1/models":
        _requests.append({"path": path, "headers": _headers(scope), "body": None, "raw": ""})
        models = [{"id": "echo", "object": "model", "created": 1, "owned_by": "provider"}]
        await _json(send, 200, {"object": "list", "data": models})
    elif path in APIS:
        await _complete(path, body, scope, send)
    else:
        await _json(send, 404, {"error": {"message": f"no {path} here", "type": "not_found"}})


def _headers(scope: Any) -> dict[str, str]:
    return {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}


async def _complete(path: str, raw: bytes, scope: Any, send: Any) -> None:
    headers = _headers(scope)
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        body = None
    _requests.append({"path": path, "headers": headers, "body": body, "raw": raw.decode("latin-1")})
    model = body.get("model") if isinstance(body, dict) else None
    if not isinstance(model, str):
        await _json(send, 400, {"error": {"message": "we could not parse the body", "type": "invalid_request_error"}})
        return
    if model.startswith("error-"):
        error = {"error": {"message": "as you wished", "type": "wished", "code": None, "param": None}}
        await _json(send, int(model[6:]), error, [(b"retry-after", b"7"), (b"x-request-id", b"req_1")])
        return
    if model.startswith("wait-"):
        await asyncio.sleep(float(model[5:]))
    if model == "html":
        await _start(send, 200, b"text/html")
        await send({"type": "http.response.body", "body": b"<h1>It works</h1>"})
        return
    whole, events = APIS[path]
    try:
        if model == "gzip":
            packed = gzip.compress(json.dumps(whole(body)).encode(), mtime=0)
            await _start(send, 200, b"application/json", [(b"content-encoding", b"gzip")])
            await send({"type": "http.response.body", "body": packed})
            return
        if not body.get("stream"):
            await _json(send, 200, whole(body), [(b"x-request-id", b"req_1")])
            return
        made = events(body)
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError):
        await _json(send, 400, {"error": {"message": "this is not a request", "type": "invalid_request_error"}})
        return
    await _start(send, 200, b"text/event-stream; charset=utf-8", [(b"x-request-id", b"req_1")])
    async for chunk in _events(path, model, made):
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    if not model.startswith("cut-"):
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _events(path: str, model: str, made: list[Wire]) -> AsyncIterator[bytes]:
    wait = float(model[5:]) if model.startswith("slow-") else 0
    for event in made[: int(model[4:]) if model.startswith("cut-") else None]:
        name = f"event: {event['type']}\n" if "type" in event else ""
        yield f"{name}data: {json.dumps(event)}\n\n".encode()
        if wait:
            await asyncio.sleep(wait)
    if path == "/v1/chat/completions" and not model.startswith("cut-"):
        yield b"data: [DONE]\n\n"


async def _start(send: Any, status: int, media: bytes, more: list[tuple[bytes, bytes]] | None = None) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", media), *(more or [])]})


async def _json(send: Any, status: int, value: Any, more: list[tuple[bytes, bytes]] | None = None) -> None:
    await _start(send, status, b"application/json", more)
    await send({"type": "http.response.body", "body": json.dumps(value).encode()})


# The process that is served ----------------------------------------------------------------------------


class Provider:
    """A running provider."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.root = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.url = f"{self.root}/v1"

    def __enter__(self) -> Self:
        self._process = start("tests.provider:main", "--fd", "3", environ=os.environ, keep=[self._listening.fileno()])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._listening.close()

    def requests(self) -> list[Wire]:
        """What came in, oldest first."""
        with urllib.request.urlopen(f"{self.root}/requests", timeout=10) as answer:  # it listens from the start
            found: list[Wire] = json.load(answer)
        return found

    def forget(self) -> None:
        """Forget what came in."""
        request = urllib.request.Request(f"{self.root}/requests", method="DELETE")
        urllib.request.urlopen(request, timeout=10).close()


def main() -> None:
    import uvicorn

    options = argparse.ArgumentParser()
    options.add_argument("--port", type=int, default=8000)
    options.add_argument("--fd", type=int)
    given = options.parse_args()
    server = uvicorn.Server(uvicorn.Config(app, port=given.port, log_level="error", lifespan="off", access_log=False))
    # Not uvicorn's own `fd`: it takes every socket for a UNIX one, and small pieces then wait for each other.
    server.run([socket.socket(fileno=given.fd)] if given.fd is not None else None)


if __name__ == "__main__":
    main()
