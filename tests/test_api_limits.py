"""Limits: size of bodies, number of messages, rate of requests, time."""

from __future__ import annotations

import json
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from infold.service.limits import Limits
from infold.service.problems import Problem
from tests.conftest import user
from tests.proxied import CHAT, eventually, start_proxied
from tests.servers import problem, start_server

Client = httpx2.Client
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("api")
    with start_server(folder, max_body=3000, max_messages=3) as running, running.client() as client:
        yield client


def test_a_body_that_is_too_large(api: Client) -> None:
    large = user("x" * 3000)
    problem(api.post("/v1/chats/a/messages", json=large), 413, "too_large")

    def pieces() -> Iterator[bytes]:  # without a content-length
        yield b'{"role": "user", "content": "'
        for _ in range(40):
            yield b"x" * 100
        yield b'"}'

    problem(api.post("/v1/chats/a/messages", content=pieces(), headers=JSON), 413, "too_large")
    answer = api.post("/v1/chats/a/messages", content=pieces(), headers={**JSON, "Idempotency-Key": "k"})
    problem(answer, 413, "too_large")
    problem(api.get("/v1/chats/a"), 404, "chat_not_found")
    assert api.post("/v1/chats/a/messages", json=user("x" * 2000)).status_code == 201


def test_too_many_messages(api: Client) -> None:
    assert api.post("/v1/chats/b/messages", json=[user("x")] * 3).status_code == 201
    for body in ([user("x")] * 4, {"messages": [user("x")] * 4}):
        problem(api.post("/v1/chats/b/messages", json=body), 413, "too_many_messages")


def test_too_many_requests(tmp_path: Path) -> None:
    with start_server(tmp_path, rate=1) as running, running.client() as api:
        answers = [api.get("/v1/chats") for _ in range(20)]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert [answer.status_code for answer in answers[:2]] == [200, 200]
        assert refused
        problem(refused[0], 429, "rate_limited")
        assert int(refused[0].headers["retry-after"]) >= 1
        assert api.get("/healthz").status_code == 200


def test_tokens_come_back_with_time() -> None:
    now = 0.0
    limits = Limits(2.0, 1, lambda: now)
    for _ in range(4):
        limits.take("a")
    with pytest.raises(Problem):
        limits.take("a")
    limits.take("b")  # another key has its own
    now = 0.5
    limits.take("a")
    with pytest.raises(Problem):
        limits.take("a")
    now = 100.0
    for _ in range(4):
        limits.take("a")
    with pytest.raises(Problem):
        limits.take("a")


def test_no_rate_is_no_limit() -> None:
    limits = Limits(0, 1, lambda: 0.0)
    for _ in range(1000):
        limits.take("a")


def test_E5_what_takes_long_is_not_waited_for_without_end(tmp_path: Path) -> None:
    """Somebody else holds the file: nothing that is written can be done in time, and is done or not, but never by halves."""
    chat = "/v1/chats/a"
    with start_server(tmp_path, work_timeout=0.3, preset="rolling") as running, running.client() as api:
        assert api.post(f"{chat}/messages", json=[user(f"I like number {n}.") for n in range(8)]).status_code == 201
        with closing(sqlite3.connect(tmp_path / "service.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            problem(api.post(f"{chat}/fold"), 504, "work_timeout")
            problem(api.delete(chat), 504, "work_timeout")
            other.execute("ROLLBACK")
        # What has begun is done; and the database was not taken to be away.
        eventually(lambda: api.get(chat).status_code, lambda status: status != 200)
        problem(api.get(chat), 404, "chat_not_found")
        assert api.get("/v1/verify").json()["ok"]


def test_E5_a_client_that_takes_nothing_is_let_go(tmp_path: Path) -> None:
    with start_proxied(tmp_path, streams=1, upstream_timeout=1.0) as proxied:
        body = json.dumps({"model": "long-60000", "stream": True, "messages": [user("Go on")]}).encode()
        head = (
            f"POST {CHAT} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nX-Infold-Chat: stalled\r\n"
        )
        with socket.create_connection(("127.0.0.1", httpx2.URL(proxied.root).port or 0)) as client:
            client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            assert proxied.kept("stalled", 2)[1][1].startswith("word0 word1 ")
            assert "reply_cut" in proxied.events("stalled")
            again = proxied.post(CHAT, {"model": "echo", "messages": [user("Hello")]})  # the only stream is free again
            assert again.status_code == 200
        assert "Traceback" not in proxied.server.log.read_text()


def test_E5_a_client_that_hangs_up_before_the_answer_frees_its_stream(tmp_path: Path) -> None:
    with start_proxied(tmp_path, streams=1) as proxied:
        body = json.dumps({"model": "wait-600", "messages": [user("Are you there?")]}).encode()
        head = f"POST {CHAT} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", httpx2.URL(proxied.root).port or 0)) as client:
            client.sendall(head.encode() + body)
            eventually(proxied.provider.requests, bool)

        def ask() -> int:
            return proxied.post(CHAT, {"model": "echo", "messages": [user("Hello")]}).status_code

        eventually(ask, lambda status: status == 200)
