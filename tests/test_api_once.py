"""Idempotency-Key: a write happens once."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator

import httpx2
import pytest

from infold import Memory
from infold.ledger import service as statements
from infold.service.once import STALE
from tests import rawsql
from tests.conftest import user
from tests.servers import Running, problem, start_server

Client = httpx2.Client


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with start_server(tmp_path_factory.mktemp("api")) as started:
        yield started


@pytest.fixture(scope="module")
def api(running: Running) -> Iterator[Client]:
    with running.client() as client:
        yield client


def once(token: str) -> dict[str, str]:
    return {"Idempotency-Key": token}


def count(api: Client, chat: str) -> int:
    return int(api.get(f"/v1/chats/{chat}").json()["messages"])


def test_the_same_request_happens_once(api: Client) -> None:
    answers = [api.post("/v1/chats/a/messages", json=user("hello"), headers=once("k1")) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [201] * 3
    assert len({answer.content for answer in answers}) == 1
    assert [answer.headers.get("idempotency-replayed") for answer in answers] == [None, "true", "true"]
    assert count(api, "a") == 1


def test_another_request_with_the_key_is_refused(api: Client) -> None:
    api.post("/v1/chats/b/messages", json=user("hello"), headers=once("k2"))
    problem(api.post("/v1/chats/b/messages", json=user("other"), headers=once("k2")), 422, "idempotency_conflict")
    problem(api.post("/v1/chats/bb/messages", json=user("hello"), headers=once("k2")), 422, "idempotency_conflict")
    answer = api.post("/v1/chats/b/messages?repair=true", json=user("hello"), headers=once("k2"))
    problem(answer, 422, "idempotency_conflict")
    assert count(api, "b") == 1


def test_every_kind_of_write(api: Client) -> None:
    made = [api.post("/v1/chats", json={"title": "x"}, headers=once("k3")) for _ in range(2)]
    assert made[0].json() == made[1].json()
    id = made[0].json()["id"]
    for _ in range(2):
        assert api.patch(f"/v1/chats/{id}", json={"title": "y"}, headers=once("k4")).json()["title"] == "y"
        assert (
            api.put(f"/v1/chats/{id}/entities", json={"kind": "task", "name": "n"}, headers=once("k5")).status_code
            == 200
        )
    for _ in range(2):
        assert api.delete(f"/v1/chats/{id}", headers=once("k6")).status_code == 204


def test_an_error_of_the_request_is_its_answer_too(api: Client) -> None:
    for replayed in (None, "true"):
        answer = api.post("/v1/chats/c/rewind", json={"message_id": "x"}, headers=once("k7"))
        problem(answer, 404, "chat_not_found")
        assert answer.headers.get("idempotency-replayed") == replayed


@pytest.mark.parametrize("token", ["", "x" * 201])
def test_a_key_that_is_none(api: Client, token: str) -> None:
    problem(api.post("/v1/chats/d/messages", json=user("x"), headers=once(token)), 400, "bad_idempotency_key")


def test_F9_at_the_same_time(api: Client, running: Running) -> None:
    begin, codes = threading.Barrier(6), []

    def send() -> None:
        with running.client() as client:
            begin.wait()
            codes.append(client.post("/v1/chats/e/messages", json=user("hello"), headers=once("k8")).status_code)

    threads = [threading.Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(codes) <= {201, 409}
    assert 201 in codes
    assert count(api, "e") == 1
    assert api.post("/v1/chats/e/messages", json=user("hello"), headers=once("k8")).status_code == 201
    assert count(api, "e") == 1


def test_F9_a_request_cut_short_after_it_was_stored(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The answer was lost with its process: made again, the request still adds its message once."""
    from infold import Memory
    from infold.ledger import service

    folder = tmp_path_factory.mktemp("cut")
    with start_server(folder) as first, first.client() as api:
        api.post("/v1/chats/f/messages", json=user("hello"), headers=once("k9"))
    with Memory(first.database) as memory, memory.database.write() as connection:
        service.release_answer(connection, "", "k9")
    with start_server(folder) as second, second.client() as api:
        answer = api.post("/v1/chats/f/messages", json=user("hello"), headers=once("k9"))
        assert (answer.status_code, answer.headers.get("idempotency-replayed")) == (201, None)
        assert count(api, "f") == 1


def test_F9_a_chat_a_pin_and_an_entity_whose_answers_were_lost(running: Running, api: Client) -> None:
    def sent(path: str, body: dict[str, str], method: str = "POST") -> list[dict[str, object]]:
        found = []
        for _ in range(2):
            answer = api.request(method, path, json=body, headers=once(f"lost {path}"))
            assert (answer.is_success, answer.headers.get("idempotency-replayed")) == (True, None)
            found.append(answer.json())
            with Memory(running.database) as memory, memory.database.write() as connection:
                statements.release_answer(connection, "", f"lost {path}")
        return found

    chat, again = sent("/v1/chats", {"title": "made once", "user": "lost"})
    assert chat == again
    assert [one["id"] for one in api.get("/v1/chats?user=lost").json()["items"]] == [chat["id"]]
    path = f"/v1/chats/{chat['id']}"
    for first, second in (
        sent(f"{path}/pins", {"text": "Keep this."}),
        sent(f"{path}/entities", {"kind": "task", "name": "n"}, "PUT"),
    ):
        assert first["id"] == second["id"]
    assert [len(api.get(f"{path}/{kind}").json()["items"]) for kind in ("pins", "entities")] == [1, 1]


def test_another_chat_under_a_key_of_yesterday_is_another_one(running: Running, api: Client) -> None:
    made = []
    for title in ("today", "tomorrow"):
        made.append(api.post("/v1/chats", json={"title": title}, headers=once("daily")).json()["id"])
        with Memory(running.database) as memory, memory.database.write() as connection:
            statements.release_answer(connection, "", "daily")
    assert len(set(made)) == 2


@pytest.mark.parametrize(("age", "renewed", "status"), [(0, False, 409), (STALE, False, 201), (STALE, True, 409)])
def test_what_a_dead_process_began_can_be_done_again(
    running: Running, api: Client, age: int, renewed: bool, status: int
) -> None:
    token, path, body = (
        f"dead-{age}-{renewed}",
        f"/v1/chats/dead-{age}-{renewed}/messages",
        b'{"role":"user","content":"hi"}',
    )
    fingerprint = hashlib.sha256(f"POST {path}?\0".encode() + body).digest()
    with Memory(running.database, create=False) as memory, memory.database.write() as connection:
        now = memory.clockwork.now()
        statements.reserve_answer(connection, "", token, fingerprint, now - age)
        if renewed:
            statements.renew_answer(connection, "", token, now)
    headers = {**once(token), "Content-Type": "application/json"}
    assert api.post(path, content=body, headers=headers).status_code == status


def test_F6_a_deleted_chat_leaves_no_answer(running: Running, api: Client) -> None:
    """What was done is not done again, whatever became of it."""
    said = user("code 8812-violet")
    api.post("/v1/chats/stays/messages", json=said, headers=once("k11"))
    assert api.post("/v1/chats/gone/messages", json=said, headers=once("k10")).status_code == 201
    assert api.delete("/v1/chats/gone", headers=once("k12")).status_code == 204
    kept = rawsql.rows(running.database, "SELECT body FROM idempotent")
    assert not any(b"8812-violet" in bytes(body) for (body,) in kept)
    for chat, token in (("gone", "k10"), ("stays", "k11")):
        again = api.post(f"/v1/chats/{chat}/messages", json=said, headers=once(token))
        problem(again, 410, "answer_gone")
        assert again.headers["idempotency-replayed"] == "true"
        assert "201" in again.json()["detail"]
        problem(
            api.post(f"/v1/chats/{chat}/messages", json=user("x"), headers=once(token)), 422, "idempotency_conflict"
        )
    problem(api.get("/v1/chats/gone"), 404, "chat_not_found")
    assert count(api, "stays") == 1
    again = api.delete("/v1/chats/gone", headers=once("k12"))
    assert (again.status_code, again.headers["idempotency-replayed"]) == (204, "true")


def test_F6_a_receipt_is_given_again(api: Client) -> None:
    api.post("/v1/chats/receipt/messages", json={**user("code 8812-violet"), "id": "m1"})
    asked = {"json": {"message_ids": ["m1"]}, "headers": once("k13")}
    receipts = [api.post("/v1/chats/receipt/forget", **asked) for _ in range(2)]  # type: ignore[arg-type]
    assert receipts[0].json()["messages"] == 1
    assert receipts[0].content == receipts[1].content
    assert receipts[1].headers["idempotency-replayed"] == "true"


@pytest.mark.parametrize("quotes", [True, False])
def test_F6_an_answer_that_is_being_made_while_something_is_forgotten(running: Running, quotes: bool) -> None:
    token = f"meanwhile {quotes}"
    with Memory(running.database, create=False) as memory:
        with memory.database.write() as connection:
            statements.reserve_answer(connection, "", token, b"", memory.clockwork.now())
        chat = memory.chat(token)
        chat.forget(chat.add({**user("code 8812-violet"), "id": token}).id)
        with memory.database.write() as connection:
            statements.keep_answer(connection, "", token, 200, {"etag": "x"}, b"8812-violet", quotes=quotes)
        with memory.database.read() as connection:
            found = statements.answered(connection, "", token)
    assert found is not None
    expected = (200, None, b"") if quotes else (200, {"etag": "x"}, b"8812-violet")
    assert (found.status, found.headers, found.body) == expected
