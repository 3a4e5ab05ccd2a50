"""A chat provider as a real process: the three APIs, streaming and not, quick enough to measure a proxy against.

Its replies depend on the request alone. The model's name chooses what happens: "echo" (say what was said last and how many
messages came), "tools" (call the first tool, until a result comes), "error-503", "cut-3" (break off after 3 events), "slow-0.2"
(seconds between events), "html", "long-500" (words). GET /requests lists what came in; DELETE forgets it.

    with Provider() as provider:
        ...  # provider.url

By hand: `python -m tests.provider --port 8000`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import urllib.request
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

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


def _call(model: str, body: Wire, messages: list[Wire]) -> tuple[str, str] | None:
    last = messages[-1] if messages else {}
    answered = last.get("role") == "tool" or last.get("type") == "function_call_output" or "tool_result" in str(last)
    if model != "tools" or answered or not body.get("tools"):
        return None
    tool = body["tools"][0]
    return tool.get("name") or tool["function"]["name"], json.dumps({"query": "x"})


def chat_whole(body: Wire) -> Wire:
    call, words = _call(body["model"], body, body["messages"]), _answer(body["model"], body["messages"])
    message: Wire = {"role": "assistant", "content": "".join(words), "refusal": None, "annotations": []}
    if call:
        wire = {
            "id": f"call_{len(body['messages'])}",
            "type": "function",
            "function": {"name": call[0], "arguments": call[1]},
        }
        message |= {"content": None, "tool_calls": [wire]}
    choice = {"message": message, "finish_reason": "tool_calls" if call else "stop", "logprobs": None}
    return {
        "id": f"chatcmpl-{len(body['messages'])}", "object": "chat.completion", "created": 1_767_225_600, "model": body["model"],
        "choices": [{"index": n, **choice} for n in range(body.get("n") or 1)],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }  # fmt: skip


def chat_events(body: Wire) -> list[Wire]:
    whole = chat_whole(body)
    base = {"id": whole["id"], "object": "chat.completion.chunk", "created": whole["created"], "model": whole["model"]}

    def chunk(delta: Wire, finish: str | None = None) -> Wire:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]}

    message = whole["choices"][0]["message"]
    if calls := message.get("tool_calls"):
        call = calls[0]
        start = {
            "index": 0,
            "id": call["id"],
            "type": "function",
            "function": {"name": call["function"]["name"], "arguments": ""},
        }
        more = {"index": 0, "function": {"arguments": call["function"]["arguments"]}}
        return [
            chunk({"role": "assistant", "content": None, "tool_calls": [start]}), chunk({"tool_calls": [more]}),
            chunk({}, "tool_calls"),
        ]  # fmt: skip
    words = _answer(body["model"], body["messages"])
    return [
        chunk({"role": "assistant", "content": ""}),
        *(chunk({"content": word}) for word in words),
        chunk({}, "stop"),
    ]


def _input(body: Wire) -> list[Wire]:
    given = body.get("input")
    return given if isinstance(given, list) else [{"role": "user", "content": given}]


def responses_whole(body: Wire) -> Wire:
    items = _input(body)
    id = f"resp_{len(items)}_{abs(hash(json.dumps(items))) % 10**8}"
    if call := _call(body["model"], body, items):
        output: list[Wire] = [
            {"type": "function_call", "id": f"fc_{len(items)}", "call_id": f"call_{len(items)}", "name": call[0],
             "arguments": call[1], "status": "completed"}
        ]  # fmt: skip
    else:
        text = {"type": "output_text", "text": "".join(_answer(body["model"], items)), "annotations": []}
        output = [
            {
                "type": "message",
                "id": f"msg_{len(items)}",
                "role": "assistant",
                "status": "completed",
                "content": [text],
            }
        ]
    return {
        "id": id, "object": "response", "created_at": 1_767_225_600, "model": body["model"], "status": "completed",
        "output": output, "parallel_tool_calls": True, "tool_choice": "auto", "tools": body.get("tools", []),
    }  # fmt: skip


def responses_events(body: Wire) -> list[Wire]:
    whole = responses_whole(body)
    begun = {**whole, "status": "in_progress", "output": []}
    events: list[Wire] = [{"type": "response.created", "response": begun}]
    item = whole["output"][0]
    events.append({"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}})
    if item["type"] == "message":
        place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        text = item["content"][0]
        events.append({"type": "response.content_part.added", **place, "part": {**text, "text": ""}})
        events += [
            {"type": "response.output_text.delta", **place, "delta": word, "logprobs": []}
            for word in _answer(body["model"], _input(body))
        ]
        events.append({"type": "response.output_text.done", **place, "text": text["text"], "logprobs": []})
    events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return [{**event, "sequence_number": n} for n, event in enumerate(events)]


def anthropic_whole(body: Wire) -> Wire:
    messages = body["messages"]
    call = _call(body["model"], body, messages)
    content: list[Wire] = [{"type": "text", "text": "".join(_answer(body["model"], messages))}]
    if call:
        content = [{"type": "tool_use", "id": f"toolu_{len(messages)}", "name": call[0], "input": json.loads(call[1])}]
    return {
        "id": f"msg_{len(messages)}", "type": "message", "role": "assistant", "model": body["model"], "content": content,
        "stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def anthropic_events(body: Wire) -> list[Wire]:
    whole = anthropic_whole(body)
    block = whole["content"][0]
    events: list[Wire] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    if block["type"] == "text":
        events.append({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        deltas = [{"type": "text_delta", "text": word} for word in _answer(body["model"], body["messages"])]
    else:
        events.append({"type": "content_block_start", "index": 0, "content_block": {**block, "input": {}}})
        deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    events += [{"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas]
    events.append({"type": "content_block_stop", "index": 0})
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
        models = [{"id": "echo", "object": "model", "created": 1, "owned_by": "provider"}]
        await _json(send, 200, {"object": "list", "data": models})
    elif path in APIS:
        await _complete(path, body, scope, send)
    else:
        await _json(send, 404, {"error": {"message": f"no {path} here", "type": "not_found"}})


async def _complete(path: str, raw: bytes, scope: Any, send: Any) -> None:
    headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
    try:
        body = json.loads(raw)
    except ValueError:
        body = None
    _requests.append({"path": path, "headers": headers, "body": body, "raw": raw.decode("utf-8", "replace")})
    model = body.get("model") if isinstance(body, dict) else None
    if not isinstance(model, str):
        await _json(send, 400, {"error": {"message": "we could not parse the body", "type": "invalid_request_error"}})
        return
    if model.startswith("error-"):
        error = {"error": {"message": "as you wished", "type": "wished", "code": None, "param": None}}
        await _json(send, int(model[6:]), error, [(b"retry-after", b"7"), (b"x-request-id", b"req_1")])
        return
    if model == "html":
        await _start(send, 200, b"text/html")
        await send({"type": "http.response.body", "body": b"<h1>It works</h1>"})
        return
    whole, events = APIS[path]
    try:
        if not body.get("stream"):
            await _json(send, 200, whole(body), [(b"x-request-id", b"req_1")])
            return
        made = events(body)
    except (KeyError, TypeError, AttributeError, ValueError):
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
        number = self._listening.fileno()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.provider", "--fd", str(number)],
            pass_fds=[number], cwd=Path(__file__).parent.parent, stdout=subprocess.DEVNULL,
        )  # fmt: skip
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
