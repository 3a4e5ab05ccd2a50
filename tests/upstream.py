"""A scripted model provider as a real process: OpenAI's and Anthropic's APIs, with every way to fail.

    with Upstream() as upstream:
        upstream.script(["good", "503", step("429", retry_after=2), step("timeout", forever=True)])
        ...  # upstream.url is the base URL; Anthropic's client wants upstream.root
        upstream.requests()

Each request to a model takes one step of the script; when none is left, the answer is good. A step is a name, an
object with "step" and its options, or an object with "status", "body" and "headers". By hand:
`python -m tests.upstream --port 8000`.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections import deque
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from tests.upstream_answers import PLAIN, VARIANTS, Asked, asked, content

Step = dict[str, Any]
EMBEDDINGS = "/v1/embeddings"
APIS = ("/v1/chat/completions", "/v1/responses", "/v1/messages", EMBEDDINGS)
CONTENTS = {"good", "null", "malformed", "truncated", "huge", "fenced", *PLAIN, *VARIANTS}
STATUSES: dict[str, tuple[int, str, str]] = {
    "401": (401, "invalid_api_key", "Incorrect API key provided."),
    "403": (403, "permission_denied", "You are not allowed to use this model."),
    "404": (404, "model_not_found", "The model does not exist or you do not have access to it."),
    "429": (429, "rate_limit_exceeded", "Rate limit reached. Please try again later."),
    "500": (500, "server_error", "The server had an error while processing your request."),
    "503": (503, "overloaded", "The engine is currently overloaded."),
    "529": (529, "overloaded_error", "Overloaded"),
    "context_length": (
        400,
        "context_length_exceeded",
        "This model's maximum context length is 8192 tokens. Please reduce the length of the messages.",
    ),
}
FAULTS = {"good:slow", "timeout", "reset", "drip", "html", *STATUSES}
HTML = "<!DOCTYPE html><html><head><title>Welcome</title></head><body><h1>It works!</h1></body></html>"
SECRETS = {"authorization", "x-api-key", "api-key"}


def step(name: str, **options: Any) -> Step:
    """A step with options: seconds, retry_after, forever."""
    return {"step": name, **options}


# The process that serves -------------------------------------------------------------------------------


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.lock = threading.Lock()
        self.steps: deque[Step] = deque()
        self.received: list[dict[str, Any]] = []
        self.prompts: set[str] = set()

    def next_step(self) -> Step:
        with self.lock:
            if not self.steps:
                return step("good")
            if self.steps[0].get("forever") and len(self.steps) == 1:
                return self.steps[0]
            return self.steps.popleft()

    def cached(self, system: str) -> int:
        """Tokens of a prompt that was seen before, in blocks of 128."""
        with self.lock:
            seen = system in self.prompts
            self.prompts.add(system)
        return tokens(system) // 128 * 128 if seen else 0

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are what this is for."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            self.send({"object": "list", "data": [{"id": "scripted", "object": "model", "owned_by": "tests"}]})
        elif self.path == "/control/requests":
            with self.server.lock:
                received = list(self.server.received)
            self.send(received)
        else:
            self.fail(404, "not_found", f"no such path: {self.path}")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        try:
            body = json.loads(raw or b"null")
        except ValueError:
            return self.fail(400, "invalid_json", "The body is not JSON.")
        if path == "/control/script":
            return self.set_script(body)
        if path == "/control/reset":
            with self.server.lock:
                self.server.steps.clear()
                self.server.received.clear()
                self.server.prompts.clear()
            return self.send({"ok": True})
        if path not in APIS or not isinstance(body, dict):
            return self.fail(404, "not_found", f"no such path: {path}")
        now = self.server.next_step()
        headers = {name.lower(): value for name, value in self.headers.items()}
        entry = {
            "path": path,
            "body": body,
            "headers": {name: value for name, value in headers.items() if name not in SECRETS},
            "authorized": bool(SECRETS & set(headers)),
            "at": time.time(),
            "step": now.get("step", now.get("status")),
        }
        with self.server.lock:
            self.server.received.append(entry)
        return self.play(now, path, body)

    def set_script(self, body: Any) -> None:
        steps = [step(each) if isinstance(each, str) else each for each in body] if isinstance(body, list) else [{}]
        for each in steps:
            if not isinstance(each, dict) or ("status" not in each and each.get("step") not in CONTENTS | FAULTS):
                return self.fail(400, "unknown_step", f"no such step: {each!r}")
        with self.server.lock:
            self.server.steps = deque(steps)
        return self.send({"ok": True})

    def play(self, now: Step, path: str, body: dict[str, Any]) -> None:
        name = now.get("step", "")
        if "status" in now:
            return self.send(now.get("body", ""), now["status"], now.get("headers"))
        if name in STATUSES:
            wait = {"retry-after": str(now["retry_after"])} if "retry_after" in now else None
            return self.fail(*STATUSES[name], headers=wait)
        if name == "html":
            return self.send(HTML, headers={"Content-Type": "text/html; charset=utf-8"})
        if name == "timeout":
            self.close_connection = True
            return self.until_closed()
        if name == "drip":
            return self.drip()
        if name == "good:slow":
            self.until_closed(float(now.get("seconds", 1)))
        if path == EMBEDDINGS:
            answer = embedded(body)
        else:
            request = asked(path, body)
            answer = answered(path, body, request, name, self.server.cached(request.system))
        return self.reset(json.dumps(answer).encode()) if name == "reset" else self.send(answer)

    def send(self, body: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        raw = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        given = {"Content-Type": "application/json", "Content-Length": str(len(raw)), **(headers or {})}
        for name, value in given.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def fail(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        error = {"message": message, "type": code, "param": None, "code": code}
        self.send({"type": "error", "error": error}, status, headers)

    def until_closed(self, seconds: float | None = None) -> None:
        """Wait until the client hangs up, or for so many seconds."""
        select.select([self.connection], [], [], seconds)

    def begin(self, length: int) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def drip(self) -> None:
        self.begin(100_000_000)
        while True:
            self.wfile.write(b" ")
            time.sleep(0.2)

    def reset(self, raw: bytes) -> None:
        """Half of the answer, then a reset instead of the proper end of a connection."""
        self.begin(len(raw))
        self.wfile.write(raw[: len(raw) // 2])
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())


def embedded(body: dict[str, Any]) -> dict[str, Any]:
    """A vector a text: each word is a direction, so that texts that share words are near each other."""
    rows = []
    for at, text in enumerate(body["input"]):
        vector = [0.01] * 32
        for word in text.lower().split():
            vector[zlib.crc32(word.strip(".,?!").encode()) % 32] += 1.0
        rows.append({"object": "embedding", "index": at, "embedding": vector})
    return {
        "object": "list",
        "model": body["model"],
        "data": rows[::-1],
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }


def tokens(text: str) -> int:
    return -(-len(text) // 4)


def answered(path: str, body: dict[str, Any], request: Asked, name: str, cached: int) -> dict[str, Any]:
    """An answer in the shape of the API that was asked."""
    text = None if name == "null" else content(request, name)
    fresh, out = tokens(request.system + request.user), tokens(text or "")
    cut = name == "truncated"
    made = {"id": f"scripted-{time.monotonic_ns()}", "model": body.get("model") or "scripted"}
    if path.endswith("/chat/completions"):
        refused = name == "refusal"
        said = {"role": "assistant", "content": None if refused else text, "refusal": text if refused else None}
        usage = {"prompt_tokens": fresh, "completion_tokens": out, "total_tokens": fresh + out}
        return {
            **made,
            "object": "chat.completion",
            "created": int(time.time()),
            "choices": [{"index": 0, "message": said, "finish_reason": "length" if cut else "stop"}],
            "usage": {**usage, "prompt_tokens_details": {"cached_tokens": cached}},
        }
    if path.endswith("/responses"):
        kind = "refusal" if name == "refusal" else "output_text"
        part: dict[str, Any] = {"type": kind, "refusal" if name == "refusal" else "text": text, "annotations": []}
        message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
        usage = {"input_tokens": fresh, "output_tokens": out, "total_tokens": fresh + out}
        return {
            **made,
            "object": "response",
            "created_at": int(time.time()),
            "status": "incomplete" if cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "output": [] if text is None else [message],
            "usage": {**usage, "input_tokens_details": {"cached_tokens": cached}},
        }
    block: dict[str, Any] = {"type": "text", "text": text}
    stop = "max_tokens" if cut else "refusal" if name == "refusal" else "end_turn"
    with contextlib.suppress(ValueError):  # what is no JSON cannot be the input of a tool
        if request.tool and text:
            block = {"type": "tool_use", "id": "toolu_1", "name": request.tool, "input": json.loads(text)}
            stop = "tool_use"
    return {
        **made,
        "type": "message",
        "role": "assistant",
        "content": [] if text is None else [block],
        "stop_reason": stop,
        "usage": {"input_tokens": fresh - cached, "cache_read_input_tokens": cached, "output_tokens": out},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted model provider for tests.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--until-eof", action="store_true", help="end with the process that started it")
    arguments = parser.parse_args()
    server = Server(arguments.port)
    print(f"listening on http://127.0.0.1:{server.server_port}/v1", flush=True)  # noqa: T201
    if arguments.until_eof:
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()


# The tests' side ---------------------------------------------------------------------------------------


class Upstream:
    """The server as a process of its own."""

    def __init__(self, port: int = 0) -> None:
        command = [sys.executable, "-m", "tests.upstream", "--until-eof", "--port", str(port)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("listening on "), f"the server did not start: {line!r}"
        self.url = line.split()[-1]
        self.root = self.url.removesuffix("/v1")
        self.port = int(urlsplit(self.url).port or 0)

    def script(self, steps: Sequence[str | Step]) -> None:
        """What to do with the next requests, in place of what was left of the last script."""
        self._control("POST", "/control/script", list(steps))

    def requests(self) -> list[dict[str, Any]]:
        """The requests to models so far: path, body, headers, authorized, at, step."""
        received: list[dict[str, Any]] = self._control("GET", "/control/requests")
        return received

    def reset(self) -> None:
        """Forget the script and the requests."""
        self._control("POST", "/control/reset")

    def _control(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, json.dumps(body))
            response = connection.getresponse()
            data = json.loads(response.read())
        finally:
            connection.close()
        assert response.status == 200, data
        return data

    def close(self) -> None:
        """Kill the server: from now on connections are refused."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


if __name__ == "__main__":
    main()
