"""Limits: size of bodies, number of messages, rate of requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from infold.service.limits import Limits
from infold.service.problems import Problem
from tests.conftest import user
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
