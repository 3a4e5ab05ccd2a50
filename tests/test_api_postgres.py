"""The API on PostgreSQL: two processes, one database."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from infold import Memory
from infold.ledger.postgres import SCHEMA
from infold.service.keys import create_key
from tests.conftest import assistant, user
from tests.proxied import eventually
from tests.servers import problem, start_server
from tests.test_api_events import listening


def test_two_processes_on_one_database(tmp_path: Path, postgres_url: str) -> None:
    with Memory(postgres_url) as memory:
        own, other = (create_key(memory, tenant, "admin")[0] for tenant in ("acme", "globex"))
    with (
        start_server(tmp_path, database=postgres_url) as first,
        start_server(tmp_path, database=postgres_url) as second,
        first.client(own) as a,
        second.client(own) as b,
        second.client(other) as stranger,
    ):
        for n in range(8):
            turn = [user(f"We decided to use rope {n}; I live in Berlin.", id=f"u{n}"), assistant("Fine.", id=f"a{n}")]
            answer = (a, b)[n % 2].post("/v1/chats/x/messages", json=turn, params={"preset": "rolling", "user": "ann"})
            assert answer.status_code == 201, answer.text
        for path in ("", "/messages?limit=3", "/summary", "/memory", "/records", "/entities", "/events", "/verify"):
            answers = [client.get(f"/v1/chats/x{path}") for client in (a, b)]
            assert [answer.status_code for answer in answers] == [200, 200], path
            assert answers[0].json() == answers[1].json(), path
            problem(stranger.get(f"/v1/chats/x{path}"), 404, "chat_not_found")
        told = b.get("/v1/memory/context", params={"chat_id": "x", "query": "Which rope?"}).json()
        assert told["sources"]["summaries"] == 1
        assert "Berlin" in a.post("/v1/users/ann/recall", json={"query": "where do I live"}).text
        problem(stranger.get("/v1/users/ann/facts"), 404, "user_not_found")
        assert a.get("/v1/chats", params={"user": "ann", "limit": 1}).json()["items"][0]["id"] == "x"
        assert stranger.get("/v1/chats").json()["items"] == []
        with listening(a, "x") as events:
            b.post("/v1/chats/x/pins", json={"text": "From the other process."})
            assert next(events)["type"] == "pinned"
        for bad in ("a%00b", "%ff", "x" * 300):
            problem(a.get(f"/v1/chats/{bad}"), 404, "chat_not_found")
        assert a.delete("/v1/chats/x").status_code == 204
        problem(b.get("/v1/chats/x/messages"), 404, "chat_not_found")


def test_F9_one_request_sent_to_two_processes_at_once(tmp_path: Path, postgres_url: str) -> None:
    with (
        start_server(tmp_path, database=postgres_url) as first,
        start_server(tmp_path, database=postgres_url) as second,
    ):
        begin, codes = threading.Barrier(6), []

        def send(number: int) -> None:
            with (first, second)[number % 2].client() as client:
                begin.wait()
                sent = client.post("/v1/chats/y/messages", json=user("hello"), headers={"Idempotency-Key": "k"})
                codes.append(sent.status_code)

        threads = [threading.Thread(target=send, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(codes) <= {201, 409}
        assert 201 in codes
        with first.client() as client:
            assert client.get("/v1/chats/y").json()["messages"] == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "late", "status", "left"),
    [
        ("POST", "/v1/chats", {"title": "once"}, (503, "database_busy"), 201, [None, "once"]),
        ("DELETE", "/v1/chats/old", None, (504, "work_timeout"), 204, []),
    ],
)
def test_F9_what_comes_too_late_is_done_once_and_its_answer_kept(
    tmp_path: Path, postgres_url: str, method: str, path: str, body: object, late: tuple[int, str], status: int,
    left: list[str | None],
) -> None:  # fmt: skip
    """The client is told that it may still be done, and asks again: while it goes on, and after it."""
    patience: dict[str, Any] = {"api_timeout": 1.0, "work_timeout": 1.0}
    with start_server(tmp_path, database=postgres_url, **patience) as running, running.client() as api:
        assert api.post("/v1/chats/old/messages", json=user("hello")).status_code == 201

        def ask() -> httpx2.Response:
            return api.request(method, path, json=body, headers={"Idempotency-Key": "k"})

        with psycopg.connect(postgres_url) as other:
            other.execute(f"LOCK TABLE {SCHEMA}.chats IN SHARE MODE")
            problem(ask(), *late)
            problem(ask(), 409, "in_progress")
        answer = eventually(ask, lambda seen: seen.status_code != 409)
        assert (answer.status_code, answer.headers.get("idempotency-replayed")) == (status, "true"), answer.text
        assert [chat["title"] for chat in api.get("/v1/chats").json()["items"]] == left


def test_F9_what_comes_too_late_is_finished_before_the_server_ends(tmp_path: Path, postgres_url: str) -> None:
    asked = {"json": {"title": "once"}, "headers": {"Idempotency-Key": "k"}}
    with start_server(tmp_path, database=postgres_url, api_timeout=1.0) as running, running.client() as api:
        with psycopg.connect(postgres_url) as other:
            other.execute(f"LOCK TABLE {SCHEMA}.chats IN SHARE MODE")
            problem(api.post("/v1/chats", **asked), 503, "database_busy")  # type: ignore[arg-type]
            running.process.terminate()

            def refused() -> bool:
                try:
                    return httpx2.get(f"{running.url}/healthz").status_code != 200
                except httpx2.TransportError:
                    return True

            eventually(refused, bool)
        assert running.process.wait(20) == 0
    with start_server(tmp_path, database=postgres_url) as running, running.client() as api:
        answer = api.post("/v1/chats", **asked)  # type: ignore[arg-type]
        assert (answer.status_code, answer.headers.get("idempotency-replayed")) == (201, "true")
        assert [chat["title"] for chat in api.get("/v1/chats").json()["items"]] == ["once"]
