"""Chats and messages over HTTP, against a real server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.conftest import assistant, call, result, turn, user
from tests.servers import problem, start_server

Client = httpx2.Client


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with start_server(tmp_path_factory.mktemp("api")) as running, running.client() as client:
        yield client


def contents(response: httpx2.Response) -> list[Any]:
    assert response.status_code in (200, 201), response.text
    return [item["message"]["content"] for item in response.json()["items"]]


def sent(api: Client, path: str, body: Any) -> httpx2.Response:
    """Posted as ASCII: the client itself refuses what is no Unicode."""
    return api.post(path, content=json.dumps(body).encode(), headers={"content-type": "application/json"})


def test_a_chat_is_created_once(api: Client) -> None:
    given = {"id": "once", "user": "ann", "preset": "rolling", "title": "Trip", "system": "Be brief."}
    first, second = api.post("/v1/chats", json=given), api.post("/v1/chats", json=given)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json() == api.get("/v1/chats/once").json()
    told = first.json()
    assert {name: told[name] for name in given} == given
    assert told["config"]["keep"] == 6
    problem(api.post("/v1/chats", json={"id": "once", "preset": "chain"}), 409, "policy_mismatch")


def test_one_of_many_who_create_a_chat_at_once_has_created_it(api: Client) -> None:
    everybody = threading.Barrier(8)

    def create(name: str) -> int:
        everybody.wait()
        return api.post("/v1/chats", json={"id": name}).status_code

    with ThreadPoolExecutor(8) as threads:
        for name in (f"race {n}" for n in range(40)):
            assert sorted(threads.map(create, [name] * 8)) == [200] * 7 + [201]


def test_a_chat_without_id_gets_one(api: Client) -> None:
    made = api.post("/v1/chats", json={}).json()
    assert made["preset"] == "default"
    assert api.get(f"/v1/chats/{made['id']}").json() == made


def test_a_chat_with_values_of_its_own(api: Client) -> None:
    made = api.post("/v1/chats", json={"preset": "rolling", "config": {"keep": 4}, "context_window": 4096}).json()
    assert (made["config"]["keep"], made["context_window"]) == (4, 4096)
    problem(api.post("/v1/chats", json={"config": {"kep": 4}}), 422, "bad_value")
    problem(api.post("/v1/chats", json={"config": {"name": "x"}}), 422, "bad_value")
    problem(api.post("/v1/chats", json={"config": {"trim": 7}}), 422, "bad_value")
    problem(api.post("/v1/chats", json={"config": {"order": [[]]}}), 422, "bad_value")


@pytest.mark.parametrize(
    "config", [{"models": [1]}, {"models": 5}, {"keep_range": "x"}, {"chunk_range": "x"}, {"trim": "x"}]
)
def test_B1_a_policy_that_does_not_fit_changes_nothing(api: Client, config: dict[str, Any]) -> None:
    problem(api.post("/v1/chats", json={"id": "never", "config": config}), 422, "bad_value")
    problem(api.get("/v1/chats/never"), 404, "chat_not_found")
    before = api.post("/v1/chats", json={"id": "fits"}).json()
    problem(api.patch("/v1/chats/fits", json={"config": config}), 422, "bad_value")
    assert api.get("/v1/chats/fits").json()["config"] == before["config"]
    assert api.post("/v1/chats/fits/messages", json=user("hello")).status_code == 201


@pytest.mark.parametrize(
    "given",
    [
        {"id": ""},
        {"id": "x" * 201},
        {"id": 7},
        {"id": "a\0b"},
        {"title": "\ud800"},
        {"context_window": 10},
        {"context_window": "8192"},
        {"preset": "none"},
        {"surprise": 1},
        [],
        "text",
    ],
)
def test_a_chat_that_cannot_be(api: Client, given: Any) -> None:
    told = problem(sent(api, "/v1/chats", given), 422, "invalid_request")
    assert told["errors"][0]["where"].startswith("body")


@pytest.mark.parametrize("id", ["a/b", "ü ber/100%2F", "?x=1#y", "..%2f", "日本", 'quo"te', " "])
def test_an_id_may_hold_any_character(api: Client, id: str) -> None:
    path = f"/v1/chats/{quote(id, safe='')}"
    assert api.post("/v1/chats", json={"id": id}).status_code in (200, 201)
    assert api.get(path).json()["id"] == id
    assert contents(api.post(f"{path}/messages", json=user("hello"))) == ["hello"]
    assert contents(api.get(f"{path}/messages")) == ["hello"]


@pytest.mark.parametrize("id", ["nobody", "a%00b", "x" * 300, "%ff%fe"])
def test_reading_an_unknown_chat_creates_none(api: Client, id: str) -> None:
    problem(api.get(f"/v1/chats/{id}"), 404, "chat_not_found")
    problem(api.get(f"/v1/chats/{id}/messages"), 404, "chat_not_found")
    assert id not in [item["id"] for item in api.get("/v1/chats?limit=1000").json()["items"]]


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ([result("c1")], "orphan_result"),
        ([user("one"), call("c1"), result("c2")], "orphan_result"),
        ([user("one", id="m"), user("two", id="m")], "duplicate_id"),
        ([user("one"), {"role": "nobody"}], "bad_message"),
    ],
)
@pytest.mark.parametrize("params", [{}, {"user": "ann", "preset": "rolling"}])
def test_a_first_message_that_is_refused_leaves_no_chat(
    api: Client, messages: list[Any], code: str, params: dict[str, str]
) -> None:
    path = "/v1/chats/refused/messages"
    for _ in range(2):
        assert api.post(path, json=messages, params=params).json()["code"] == code
        problem(api.get("/v1/chats/refused"), 404, "chat_not_found")
    # A chat that was there before stays, empty or not.
    api.post("/v1/chats", json={"id": "refused"})
    assert api.post(path, json=messages).json()["code"] == code
    assert api.get("/v1/chats/refused").json()["messages"] == 0
    assert contents(api.post(path, json=user("welcome"))) == ["welcome"]
    assert api.delete("/v1/chats/refused").status_code == 204


def test_a_chat_is_changed(api: Client) -> None:
    api.post("/v1/chats", json={"id": "changed", "user": "ann", "title": "One", "preset": "rolling"})
    told = api.patch("/v1/chats/changed", json={"title": "Two", "system": "Be kind.", "context_window": 999}).json()
    assert (told["title"], told["system"], told["context_window"], told["user"]) == ("Two", "Be kind.", 999, "ann")
    told = api.patch("/v1/chats/changed", json={"title": None, "user": None}).json()
    assert (told["title"], told["user"], told["system"]) == (None, None, "Be kind.")
    told = api.patch("/v1/chats/changed", json={"config": {"buffer": 2}}).json()
    assert (told["preset"], told["config"]["keep"], told["config"]["buffer"]) == ("rolling", 6, 2)
    assert api.patch("/v1/chats/changed", json={"preset": "chain"}).json()["preset"] == "chain"
    problem(api.patch("/v1/chats/changed", json={"preset": None}), 422, "invalid_request")
    problem(api.patch("/v1/chats/changed", json={"color": "red"}), 422, "invalid_request")
    problem(api.patch("/v1/chats/nobody", json={}), 404, "chat_not_found")


def test_a_chat_is_deleted_and_made_anew(api: Client) -> None:
    api.post("/v1/chats/gone/messages", json=user("old", id="m1"))
    assert contents(api.get("/v1/chats/gone/messages")) == ["old"]
    assert api.delete("/v1/chats/gone").status_code == 204
    problem(api.get("/v1/chats/gone/messages"), 404, "chat_not_found")
    problem(api.delete("/v1/chats/gone"), 404, "chat_not_found")
    api.post("/v1/chats/gone/messages", json=user("new", id="m1"))
    assert contents(api.get("/v1/chats/gone/messages")) == ["new"]


def test_chats_come_in_pages(api: Client) -> None:
    ids = [f"page-{n}" for n in range(7)]
    for id in ids:
        api.post("/v1/chats", json={"id": id, "user": "pager"})
    found: list[str] = []
    cursor = None
    for _ in range(4):
        told = api.get(
            "/v1/chats", params={"user": "pager", "limit": 2, **({"cursor": cursor} if cursor else {})}
        ).json()
        found += [item["id"] for item in told["items"]]
        cursor = told["next_cursor"]
    assert found == ids
    assert cursor is None
    assert api.get("/v1/chats", params={"user": "none"}).json() == {"items": [], "next_cursor": None}


@pytest.mark.parametrize("format", ["one", "list", "object"])
def test_messages_are_added_in_three_ways(api: Client, format: str) -> None:
    message = user("hello", id="m1", created_at=1000, model_variant="x")
    body: Any = {"one": message, "list": [message], "object": {"messages": [message]}}[format]
    for _ in range(2):  # an id makes it idempotent
        told = api.post(f"/v1/chats/three-{format}/messages", json=body)
        assert told.status_code == 201
        (stored,) = told.json()["items"]
        assert (stored["id"], stored["seq"], stored["created_at"], stored["model_variant"]) == ("m1", 1, 1000, "x")
        assert stored["message"] == user("hello")
    told = api.post(f"/v1/chats/three-{format}/messages", json=user("other", id="m1"))
    problem(told, 409, "duplicate_id")


def test_messages_of_every_wire_format(api: Client) -> None:
    messages = [
        user("What is the weather?"),
        call("c1"),
        result("c1"),
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And tomorrow?"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "Rain"}]},
    ]
    told = api.post("/v1/chats/formats/messages", json={"messages": messages})
    assert told.status_code == 201, told.text
    assert [item["message"]["role"] for item in told.json()["items"]] == [
        "user", "assistant", "tool", "user", "assistant", "tool",
    ]  # fmt: skip


def test_a_new_chat_takes_preset_and_user_from_the_query(api: Client) -> None:
    api.post("/v1/chats/fresh/messages", json=user("hi"), params={"preset": "chunked", "user": "bob"})
    told = api.get("/v1/chats/fresh").json()
    assert (told["preset"], told["user"], told["messages"]) == ("chunked", "bob", 1)
    problem(api.post("/v1/chats/fresh/messages", json=user("hi"), params={"preset": "chain"}), 409, "policy_mismatch")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"role": "king", "content": "x"}, "bad_message"),
        ({"role": "user"}, "bad_message"),
        ({"role": "user", "content": "a\0b"}, "bad_message"),
        ({"role": "user", "content": "\ud800"}, "bad_message"),
        ([user("fine"), 7], "bad_message"),
        ({"messages": [user("x")], "more": 1}, "invalid_request"),
        ({"messages": "x"}, "invalid_request"),
        ({"messages": []}, "invalid_request"),
        ([], "invalid_request"),
        ("text", "bad_message"),
        ({"role": "tool", "tool_call_id": "nope", "content": "x"}, "orphan_result"),
    ],
)
def test_messages_that_cannot_be_added(api: Client, body: Any, code: str) -> None:
    problem(sent(api, "/v1/chats/strict/messages", body), 422, code)
    listed = api.get("/v1/chats/strict/messages")
    assert listed.status_code == 404 or listed.json()["items"] == []


def test_a_result_without_its_call_can_be_kept(api: Client) -> None:
    told = api.post("/v1/chats/repair/messages", json=result("c9"), params={"repair": "true"})
    assert told.status_code == 201, told.text


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_messages_come_in_pages(api: Client, order: str) -> None:
    chat = f"/v1/chats/pages-{order}/messages"
    added = contents(api.post(chat, json=[m for n in range(5) for m in turn(n)]))
    found: list[str] = []
    params: dict[str, Any] = {"limit": 3, "order": order}
    for _ in range(4):
        told = api.get(chat, params=params)
        found += contents(told)
        params["cursor"] = told.json()["next_cursor"]
    assert params["cursor"] is None
    assert found == (added if order == "asc" else added[::-1])


@pytest.mark.parametrize("cursor", ["", "x", "!!!!", "AAAAAAAAAAAA", "ü"])
def test_a_cursor_that_is_none(api: Client, cursor: str) -> None:
    api.post("/v1/chats/pages-bad/messages", json=[user("a"), assistant("b")])
    for path in ("/v1/chats", "/v1/chats/pages-bad/messages", "/v1/chats/pages-bad/events"):
        problem(api.get(path, params={"cursor": cursor}), 400, "bad_cursor")


def test_a_cursor_of_another_list_is_refused(api: Client) -> None:
    for chat in ("mine", "yours"):
        api.post(f"/v1/chats/{chat}/messages", json=[user("a"), assistant("b")])
    cursor = api.get("/v1/chats/mine/messages?limit=1").json()["next_cursor"]
    problem(api.get("/v1/chats/yours/messages", params={"cursor": cursor}), 400, "bad_cursor")
    problem(api.get("/v1/chats/mine/messages", params={"cursor": cursor, "order": "desc"}), 400, "bad_cursor")


@pytest.mark.parametrize("limit", ["0", "1001", "x", "-1"])
def test_a_limit_that_is_none(api: Client, limit: str) -> None:
    problem(api.get("/v1/chats", params={"limit": limit}), 422, "invalid_request")


@pytest.mark.parametrize("body", [b"{", b"", b"\xff\xfe", b"[" * 100_000, b'{"id": NaN', b"9" * 5000])
def test_a_body_that_is_no_json(api: Client, body: bytes) -> None:
    answer = api.post("/v1/chats", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_body_of_another_type(api: Client) -> None:
    answer = api.post("/v1/chats", content=b"id=x", headers={"content-type": "application/x-www-form-urlencoded"})
    problem(answer, 415, "unsupported_type")
    problem(api.post("/v1/chats", content=b"{}"), 415, "unsupported_type")


def test_what_is_not_there(api: Client) -> None:
    problem(api.get("/v1/nothing"), 404, "no_route")
    problem(api.get("/v1/chats/"), 404, "no_route")


@pytest.mark.parametrize(
    ("method", "path", "methods"),
    [
        ("PUT", "/v1/chats", "GET, HEAD, POST"),
        ("PUT", "/v1/chats/a", "GET, HEAD, PATCH, DELETE"),
        ("PUT", "/v1/chats/a%2Fb", "GET, HEAD, PATCH, DELETE"),
        ("POST", "/v1/chats/a/entities", "GET, HEAD, PUT"),
        ("GET", "/v1/chats/a/fold", "POST"),
        ("HEAD", "/v1/chats/a/fold", "POST"),
        ("DELETE", "/v1/models/a", "GET, HEAD"),
        ("POST", "/healthz", "GET, HEAD"),
    ],
)
def test_a_method_that_is_none_there(api: Client, method: str, path: str, methods: str) -> None:
    answer = api.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, methods)
    if method != "HEAD":
        problem(answer, 405, "method_not_allowed")


@pytest.mark.parametrize(
    "path",
    ["/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/chats", "/v1/chats/head", "/v1/chats/head/summary",
     "/v1/chats/nobody", "/v1/chats?limit=x", "/v1/nothing", "/v1/models"],
)  # fmt: skip
def test_head_is_get_without_the_body(api: Client, path: str) -> None:
    api.post("/v1/chats", json={"id": "head"})
    got, head = api.get(path), api.head(path)
    assert (head.status_code, head.content) == (got.status_code, b"")
    left_out = ("date", "content-length") if path == "/metrics" else ("date",)  # it counts the requests
    both = [[one for one in answer.headers.items() if one[0] not in left_out] for answer in (got, head)]
    assert both[0] == both[1]
    assert (head.headers.get("etag") is not None) == path.endswith("summary")


def test_head_of_a_stream_ends(api: Client) -> None:
    api.post("/v1/chats", json={"id": "head"})
    for _ in range(70):  # more than a key may have at a time
        answer = api.head("/v1/chats/head/events/stream")
        assert (answer.status_code, answer.headers["content-type"][:17]) == (200, "text/event-stream")
    assert 'route="/v1/chats/{chat_id}/events/stream"' in api.get("/metrics").text
