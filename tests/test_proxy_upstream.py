"""The proxy's side towards the upstream: connections that are used again, routes that are passed through."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Self

import httpx2
import pytest

from infold.models import prices
from infold.models.spec import Model
from infold.tokens import count
from tests.proxied import CHAT, MESSAGES, Wire, start_proxied
from tests.servers import problem, start_server

ANSWER = json.dumps({"choices": [{"message": {"role": "assistant", "content": "Yes."}}]}).encode()
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
GOOD = HEAD % len(ANSWER) + ANSWER


class Upstream:
    """A server that answers byte for byte what it is told to, and closes the connection where it is told nothing."""

    def __init__(self) -> None:
        self.answers: list[bytes | None] = []
        """One for each request, in turn; None closes the connection."""
        self.seen: list[tuple[int, bytes, bytes]] = []
        """Number of the connection, head and body of what came."""
        self.port = 0
        self._connections = 0
        self._ready, self._stop = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=asyncio.run, args=(self._run(),), daemon=True)

    def script(self, *answers: bytes | None) -> None:
        self.answers, self.seen = list(answers), []

    @property
    def connections(self) -> list[int]:
        """On which connection each request came; the first of them is 0."""
        return [number - self.seen[0][0] for number, _, _ in self.seen]

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with await asyncio.start_server(self._serve, "127.0.0.1", 0) as listening:
            self.port = listening.sockets[0].getsockname()[1]
            self._ready.set()
            await self._stop.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        number = self._connections
        with closing(writer), suppress(asyncio.IncompleteReadError):  # also where the server is stopped meanwhile
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or 0)
                self.seen.append((number, head, await reader.readexactly(size)))
                answer = self.answers.pop(0)
                writer.write(answer or b"")
                await writer.drain()
                if answer is None or not answer.endswith(b"}"):
                    break

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Upstream, httpx2.Client]]:
    folder = tmp_path_factory.mktemp("upstream")
    with Upstream() as upstream:
        url = f"http://127.0.0.1:{upstream.port}"
        with start_server(folder, upstream=url, memory_timeout=30) as running, running.client() as client:
            yield upstream, client


Service = tuple[Upstream, httpx2.Client]


def asked(text: str) -> Wire:
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


@pytest.mark.parametrize(
    ("answers", "connections"),
    [
        ([None], [0]),  # a new connection
        ([GOOD, None, None], [0, 0, 1]),  # once, and no more
        ([GOOD, b"HTTP/1.1 2"], [0, 0]),  # the answer has begun
        ([GOOD, b"HTTP/1.1 200 OK\r\ncontent-type: text/pl"], [0, 0]),
    ],
)
def test_what_may_have_been_answered_is_not_sent_twice(
    service: Service, answers: list[bytes | None], connections: list[int]
) -> None:
    upstream, client = service
    upstream.script(*answers)
    if answers[0] is not None:
        assert client.post(CHAT, json=asked("first")).status_code == 200
    problem(client.post(CHAT, json=asked("second")), 502, "upstream_unreachable")
    assert upstream.connections == connections


@pytest.mark.parametrize("status", [101, 600, 999])
def test_F9_a_status_that_http_does_not_have_is_a_broken_answer(service: Service, status: int) -> None:
    upstream, client = service
    upstream.script(b"HTTP/1.1 %d Odd\r\ncontent-length: 2\r\n\r\n{}" % status)
    problem(client.post(CHAT, json=asked("odd")), 502, "upstream_broken")


def test_F9_long_headers_are_passed_on(service: Service) -> None:
    upstream, client = service
    long = "x" * 40_000
    upstream.script(GOOD.replace(b"\r\n", b"\r\nx-long: %s\r\n" % long.encode(), 1))
    answer = client.post(CHAT, json=asked("long"))
    assert (answer.status_code, answer.headers.get("x-long")) == (200, long)


def test_a_kept_connection_that_the_upstream_closes_is_replaced(service: Service) -> None:
    """It closes when the request is on its way: nothing is known to have arrived, and nothing was answered."""
    upstream, client = service
    upstream.script(GOOD, None, GOOD, GOOD)
    for number in range(3):
        answer = client.post(CHAT, json=asked(f"{number}"), headers={"X-Infold-Chat": "kept"})
        assert (answer.status_code, answer.content) == (200, ANSWER)
    assert upstream.connections == [0, 0, 1, 1]
    assert upstream.seen[1][1:] == upstream.seen[2][1:]
    kept = client.get("/v1/chats/kept/messages").json()["items"]
    assert [one["message"]["content"] for one in kept if one["message"]["role"] == "user"] == ["0", "1", "2"]


def test_counting_tokens_is_passed_through(service: Service) -> None:
    upstream, client = service
    told = b'{"input_tokens": 14}'
    upstream.script(HEAD % len(told) + told)
    sent = b'{"model":  "claude-haiku-4-5", "messages": [{"role": "user", "content": "How many?"}]}'
    path, headers = f"{MESSAGES}/count_tokens?beta=true", {"anthropic-version": "2023-06-01", "x-api-key": "k"}
    answer = client.post(path, content=sent, headers={**headers, "X-Infold-Chat": "counted"})
    assert (answer.status_code, answer.content) == (200, told)
    problem(client.get("/v1/chats/counted"), 404, "chat_not_found")
    for unknown in (f"{MESSAGES}/batches", f"{CHAT}/x", "/v1/audio/speech", f"{MESSAGES}/count_tokens/x"):
        problem(client.post(unknown, content=sent), 404, "no_route")
    ((_, head, body),) = upstream.seen
    assert body == sent
    assert head.startswith(b"POST /v1/messages/count_tokens?beta=true HTTP/1.1\r\n")
    assert b"anthropic-version: 2023-06-01" in head
    assert b"infold" not in head.lower()


# Models with smaller windows ---------------------------------------------------------------------------

LARGE, SMALL = "gpt-4.1", "gpt-4"


def test_a_request_for_a_smaller_model_gets_a_context_that_fits_it(tmp_path: Path) -> None:
    window = prices.window(Model(SMALL, "openai"))
    larger = prices.window(Model(LARGE, "openai"))
    assert window is not None
    assert larger is not None
    assert larger > 100_000 > 10_000 > window
    with start_proxied(tmp_path, memory_timeout=30) as proxied:
        history = [
            {"role": role, "content": f"Part {number} of the story. " + f"word{number} " * 200}
            for number in range(30)
            for role in ("user", "assistant")
        ]
        history.append({"role": "user", "content": "How does it end?"})

        def sent(model: str) -> list[Wire]:
            answer = proxied.post(CHAT, {"model": model, "messages": history}, X_Infold_Chat="story")
            assert answer.status_code == 200
            proxied.kept("story", len(history) + 1)
            found: list[Wire] = proxied.last_sent()["body"]["messages"]
            return found

        assert sent(LARGE) == history
        history += [proxied.messages("story")[-1], {"role": "user", "content": "And then?"}]
        seen = sent(SMALL)
        assert seen[-1] == history[-1]
        assert sum(count(str(one["content"])) for one in seen) < window
