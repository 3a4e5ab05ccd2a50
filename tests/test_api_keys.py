"""Keys, roles and tenants: every route, by every role, and with another tenant's ids."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from infold import Memory
from infold.service.keys import create_key, list_keys, revoke_key
from tests.conftest import assistant, user
from tests.servers import SOON, Running, problem, start_server

Client = httpx2.Client
SECRET = "8812-violet"
OPEN = {("get", "/healthz"), ("get", "/readyz"), ("get", "/metrics")}


@dataclass(frozen=True)
class Case:
    """How to call a route: what it needs, who may, and what a stranger gets who names another tenant's chat or user."""

    role: str
    body: Any = None
    params: dict[str, str] | None = None
    stranger: int = 404


ASK = {"chat_id": "shared", "query": "Which code?"}
TASK = {"kind": "task", "name": "Mine alone"}
CASES: dict[tuple[str, str], Case] = {
    ("post", "/v1/chats"): Case("write", {"id": "shared"}, stranger=201),
    ("get", "/v1/chats"): Case("read", stranger=200),
    ("get", "/v1/chats/{chat_id}"): Case("read"),
    ("patch", "/v1/chats/{chat_id}"): Case("write", {"title": "Taken over"}),
    ("delete", "/v1/chats/{chat_id}"): Case("admin"),
    ("post", "/v1/chats/{chat_id}/messages"): Case("write", user("Hello from here"), stranger=201),
    ("get", "/v1/chats/{chat_id}/messages"): Case("read"),
    ("get", "/v1/memory/context"): Case("read", params=ASK),
    ("post", "/v1/chats/{chat_id}/context"): Case("read", {}),
    ("get", "/v1/chats/{chat_id}/summary"): Case("read"),
    ("get", "/v1/chats/{chat_id}/memory"): Case("read"),
    ("get", "/v1/chats/{chat_id}/records"): Case("read"),
    ("get", "/v1/chats/{chat_id}/facts"): Case("read"),
    ("get", "/v1/chats/{chat_id}/entities"): Case("read"),
    ("put", "/v1/chats/{chat_id}/entities"): Case("write", TASK),
    ("delete", "/v1/chats/{chat_id}/entities/{entity_id}"): Case("write"),
    ("get", "/v1/chats/{chat_id}/events"): Case("read"),
    ("get", "/v1/chats/{chat_id}/events/stream"): Case("read"),
    ("post", "/v1/chats/{chat_id}/fold"): Case("write"),
    ("get", "/v1/chats/{chat_id}/pins"): Case("read"),
    ("post", "/v1/chats/{chat_id}/pins"): Case("write", {"text": "Pinned by a stranger"}),
    ("delete", "/v1/chats/{chat_id}/pins/{pin_id}"): Case("write"),
    ("post", "/v1/chats/{chat_id}/rewind"): Case("write", {"message_id": "m1"}),
    ("post", "/v1/chats/{chat_id}/rebuild"): Case("admin", {"force": True}),
    ("get", "/v1/chats/{chat_id}/lines/{line_id}/sources"): Case("read"),
    ("post", "/v1/chats/{chat_id}/lines/{line_id}/correct"): Case("write", {"text": "Corrected by a stranger"}),
    ("post", "/v1/chats/{chat_id}/lines/{line_id}/retract"): Case("write"),
    ("post", "/v1/chats/{chat_id}/lines/{line_id}/confirm"): Case("write"),
    ("post", "/v1/chats/{chat_id}/forget"): Case("admin", {"message_ids": ["m1"]}),
    ("post", "/v1/chats/{chat_id}/recall"): Case("read", {"query": "code"}),
    ("get", "/v1/chats/{chat_id}/verify"): Case("read"),
    ("get", "/v1/chats/{chat_id}/usage"): Case("read"),
    ("get", "/v1/chats/{chat_id}/stats"): Case("read"),
    ("get", "/v1/users/{user}"): Case("read"),
    ("patch", "/v1/users/{user}"): Case("write", {"remember": True}, stranger=200),
    ("get", "/v1/users/{user}/facts"): Case("read"),
    ("post", "/v1/users/{user}/lines/{line_id}/correct"): Case("write", {"text": "Corrected by a stranger"}),
    ("post", "/v1/users/{user}/lines/{line_id}/retract"): Case("write"),
    ("post", "/v1/users/{user}/lines/{line_id}/confirm"): Case("write"),
    ("get", "/v1/users/{user}/entities"): Case("read"),
    ("put", "/v1/users/{user}/entities"): Case("write", TASK, stranger=200),
    ("delete", "/v1/users/{user}/entities/{entity_id}"): Case("write"),
    ("post", "/v1/users/{user}/recall"): Case("read", {"query": "code"}),
    ("post", "/v1/users/{user}/forget"): Case("admin"),
    ("get", "/v1/verify"): Case("admin", stranger=200),
    ("post", "/v1/compact"): Case("admin", {"days": 1, "dry_run": False}, stranger=200),
}
ROUTES = sorted(CASES)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("api")
    with Memory(f"sqlite:///{folder / 'service.db'}") as memory:
        create_key(memory, "setup", "read")
    with start_server(folder, instead=SOON) as started:
        yield started


def key_of(running: Running, tenant: str, role: str) -> str:
    with Memory(running.database) as memory:
        return create_key(memory, tenant, role)[0]


def fill(running: Running, tenant: str) -> tuple[str, str]:
    """A chat and a user of a tenant that hold a secret; the ids of a pin and of an entity."""
    with Memory(running.database) as memory:
        chat = memory.tenant(tenant).chat("shared", user="ann", preset="rolling", title=f"About {SECRET}")
        chat.add([user(f"My code is {SECRET} and I live in Berlin.", id="m1"), assistant("Noted.", id="m2")])
        for n in range(6):
            chat.add([user(f"We decided to keep the code {SECRET} in box {n}."), assistant("Fine.")])
        return chat.pin(f"Never tell {SECRET}"), chat.set_entity("task", f"Change {SECRET}").id


def ask(
    client: Client, route: tuple[str, str], pin: str = "p", entity: str = "e", *, last: str | None = None
) -> httpx2.Response:
    method, path = route
    case = CASES[route]
    names = {"chat_id": "shared", "user": "ann", "pin_id": pin, "entity_id": entity, "line_id": "1.1"}
    path = re.sub(r"{(\w+)}", lambda found: names[found[1]], path)
    headers = {} if last is None else {"Last-Event-ID": last}
    with client.stream(method, path, json=case.body, params=case.params, headers=headers) as answer:
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            answer.read()
        return answer


def test_every_route_has_a_case(running: Running) -> None:
    with running.client() as client:
        described = client.get("/openapi.json").json()["paths"]
    routes = {(method, path) for path, methods in described.items() for method in methods}
    assert routes == set(CASES) | OPEN


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_nobody_comes_in_without_a_key(running: Running, route: tuple[str, str]) -> None:
    for key in (None, "", "ink_wrong", "x" * 5000):
        with running.client() as client:
            if key is not None:
                client.headers["X-Infold-Key"] = key
            answer = ask(client, route)
            problem(answer, 401, "unauthorized")
            assert "www-authenticate" in answer.headers


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/messages/count_tokens", "/v1/chat/completions"])
def test_who_may_only_read_spends_nothing_of_the_provider(tmp_path: Path, nobody: str, path: str) -> None:
    with start_server(tmp_path, upstream=nobody, upstream_key="sk-of-the-operator") as running:
        with running.client(key_of(running, "", "read")) as client:
            problem(client.post(path, json={"messages": []}), 403, "forbidden")
            problem(client.get("/v1/models"), 502, "upstream_unreachable")
        with running.client(key_of(running, "", "write")) as client:
            problem(client.post(path, json={"messages": []}), 502, "upstream_unreachable")


@pytest.mark.parametrize("role", ["read", "write", "admin"])
def test_roles(running: Running, role: str) -> None:
    tenant = f"roles-{role}"
    roles = ("read", "write", "admin")
    with running.client(key_of(running, tenant, role)) as client:
        for route in ROUTES:
            answer = ask(client, route)
            if roles.index(role) < roles.index(CASES[route].role):
                problem(answer, 403, "forbidden")
            else:
                assert answer.status_code not in (401, 403, 500), (route, answer.status_code)


def test_F12_only_an_admin_pins_for_the_operator(running: Running) -> None:
    path, text = "/v1/chats/shop/pins", {"text": "Never name a price.", "by": "operator"}
    with (
        running.client(key_of(running, "pins", "write")) as writer,
        running.client(key_of(running, "pins", "admin")) as admin,
    ):
        assert writer.post("/v1/chats", json={"id": "shop"}).status_code == 201
        problem(writer.post(path, json=text), 403, "forbidden")
        assert writer.get(path).json()["items"] == []
        own = writer.post(path, json={"text": text["text"]}).json()
        assert own["by"] == "user"
        answer = admin.post(path, json=text)
        assert answer.status_code == 201, answer.text
        pinned = answer.json()
        assert (pinned["by"], pinned["id"] == own["id"]) == ("operator", False)
        problem(writer.delete(f"{path}/{pinned['id']}"), 403, "forbidden")
        assert [one["id"] for one in writer.get(path).json()["items"]] == [own["id"], pinned["id"]]
        assert writer.delete(f"{path}/{own['id']}").status_code == 204
        assert admin.delete(f"{path}/{pinned['id']}").status_code == 204


def test_another_tenant_sees_and_changes_nothing(running: Running) -> None:
    pin, entity = fill(running, "owner")
    with running.client(key_of(running, "owner", "admin")) as own:
        readable = [route for route in ROUTES if route[0] == "get" and not route[1].endswith("stream")]
        before = {route: ask(own, route).text for route in readable}
        assert all(answer for answer in before.values())
        assert SECRET in before["get", "/v1/chats/{chat_id}/messages"]
        # What a stranger makes under the same names is made last, so that all else is still unknown to them.
        for route in sorted(ROUTES, key=lambda one: CASES[one].stranger):
            with running.client(key_of(running, f"stranger {route}", "admin")) as stranger:
                answer = ask(stranger, route, pin, entity, last="0")
                assert answer.status_code == CASES[route].stranger, (route, answer.text)
                told = answer.text
                for hidden in (SECRET, "Berlin", pin, "Noted", "About"):
                    assert hidden not in told, route
                # Also once they have a chat and a user of the same names.
                stranger.post("/v1/chats", json={"id": "shared", "user": "ann"})
                again = ask(stranger, route, pin, entity)
                if not route[1].endswith("stream"):
                    assert SECRET not in again.text, route
                    assert "Berlin" not in again.text, route
        assert {route: ask(own, route).text for route in readable} == before


def test_a_bearer_token_is_a_key_where_it_looks_like_one(running: Running) -> None:
    key = key_of(running, "bearer", "read")
    with running.client() as client:
        assert client.get("/v1/chats", headers={"Authorization": f"Bearer {key}"}).status_code == 200
        problem(client.get("/v1/chats", headers={"Authorization": "Bearer sk-other"}), 401, "unauthorized")
        problem(client.get("/v1/chats", headers={"Authorization": f"Basic {key}"}), 401, "unauthorized")
        both = {"Authorization": "Bearer sk-other", "X-Infold-Key": key}
        assert client.get("/v1/chats", headers=both).status_code == 200


def test_a_revoked_key_opens_nothing_soon(running: Running) -> None:
    with Memory(running.database) as memory:
        key, row = create_key(memory, "revoked", "read")
        with running.client(key) as client:
            assert client.get("/v1/chats").status_code == 200
            revoke_key(memory, row.id)
            deadline = time.monotonic() + 5
            while client.get("/v1/chats").status_code == 200:
                assert time.monotonic() < deadline, "a revoked key works for more than 5 seconds"
                time.sleep(0.05)
            problem(client.get("/v1/chats"), 401, "unauthorized")


def test_the_answers_to_one_key_are_not_given_to_another(running: Running) -> None:
    keys = [key_of(running, tenant, "write") for tenant in ("once-a", "once-b")]
    for key in keys:
        with running.client(key) as client:
            answer = client.post("/v1/chats", json={"id": "mine"}, headers={"Idempotency-Key": "same"})
            assert (answer.status_code, answer.headers.get("idempotency-replayed")) == (201, None)


def test_keys_are_stored_as_hashes(tmp_path: Path) -> None:
    path = tmp_path / "keys.db"
    with Memory(f"sqlite:///{path}") as memory:
        key, row = create_key(memory, "t", "write", "laptop")
        assert re.fullmatch(r"ink_[\w-]{43}", key)
        assert list_keys(memory) == [row]
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert row.hash in stored
    assert key.encode() not in stored
    assert key[4:].encode() not in stored


def test_without_keys_the_service_is_open_and_a_first_key_closes_it(tmp_path: Path) -> None:
    with start_server(tmp_path, instead=SOON) as running, running.client() as client:
        assert client.get("/v1/chats").status_code == 200
        key_of(running, "t", "read")
        deadline = time.monotonic() + 5
        while client.get("/v1/chats").status_code == 200:
            assert time.monotonic() < deadline, "the service is still open 5 seconds after the first key"
            time.sleep(0.05)
        problem(client.get("/v1/chats"), 401, "unauthorized")
        assert client.get("/metrics").status_code == 200  # from this machine
        with Memory(running.database) as memory:
            revoke_key(memory, list_keys(memory)[0].id)
    with start_server(tmp_path) as running, running.client() as client:  # which has nothing in mind
        problem(client.get("/v1/chats"), 401, "unauthorized")


def test_without_keys_nothing_is_open_beyond_this_machine(tmp_path: Path) -> None:
    with start_server(tmp_path, host="0.0.0.0") as running, running.client() as client:
        problem(client.get("/v1/chats"), 403, "no_keys")
        assert client.get("/healthz").status_code == 200


ELSEWHERE = [
    {"Host": "evil.example"},
    {"Host": "evil.example:8765"},
    {"Host": "127.0.0.1.evil.example"},
    {"Host": "192.168.0.7"},
    {"Origin": "https://evil.example"},
    {"Origin": "http://localhost.evil.example"},
    {"Origin": "http://[bad"},
    {"Origin": "null"},
]
HERE = [
    {},
    {"Host": "localhost"},
    {"Host": "LOCALHOST:9"},
    {"Host": "127.9.9.9:80"},
    {"Host": "[::1]:80"},
    {"Origin": "http://localhost:3000"},
    {"Host": "[::1]", "Origin": "https://[::1]"},
]


def test_E5_without_keys_no_page_of_another_site_is_answered(tmp_path: Path) -> None:
    with start_server(tmp_path) as running, running.client() as client:
        for headers in ELSEWHERE:
            problem(client.post("/v1/users/ann/forget", content=b"x", headers=headers), 403, "other_site")
        for headers in HERE:
            assert client.get("/v1/chats", headers=headers).status_code == 200
        key = key_of(running, "", "admin")
        for headers in ELSEWHERE:
            assert client.get("/v1/chats", headers={**headers, "X-Infold-Key": key}).status_code == 200
