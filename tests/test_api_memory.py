"""What a chat remembers, over HTTP, against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from infold import Memory, assemble_context
from tests.conftest import assistant, user
from tests.servers import Running, problem, start_server

Client = httpx2.Client
CHAT = "/v1/chats/trip"
BLOCK = '<memory mark="'
TAGGED = ["summary", "memory", "records", "facts"]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with start_server(tmp_path_factory.mktemp("api")) as started:
        yield started


@pytest.fixture(scope="module")
def api(running: Running) -> Iterator[Client]:
    with running.client() as client:
        messages: list[dict[str, Any]] = []
        for n in range(8):
            messages += [user(f"We decided to book hotel {n} in Lisbon.", id=f"u{n}"), assistant("Noted.", id=f"a{n}")]
        messages[0]["content"] = "I live in Berlin."
        for chat in ("trip", "other"):
            for at in range(0, len(messages), 2):
                answer = client.post(
                    f"/v1/chats/{chat}/messages",
                    json=messages[at : at + 2],
                    params={"preset": "rolling", "user": "ann"} if chat == "trip" else {"preset": "rolling"},
                )
                assert answer.status_code == 201, answer.text
        yield client


def got(response: httpx2.Response, status: int = 200) -> Any:
    assert response.status_code == status, response.text
    return response.json() if response.content else None


def test_E5_context_of_the_engine(api: Client, running: Running) -> None:
    params: dict[str, Any] = {"chat_id": "trip", "query": "Which hotel?", "max_tokens": 500}
    before = got(api.get(f"{CHAT}/events"))
    told = got(api.get("/v1/memory/context", params=params))
    assert set(told) == {"budget", "sources", "context"}
    assert told["budget"]["requested"] == told["budget"]["applied"] == 500
    assert told["budget"]["estimated_used"] <= 500
    assert set(told["sources"]) == {"hot_turns", "summaries", "entities"}
    assert told["context"][-1] == {"role": "user", "content": "Which hotel?"}
    assert got(api.get(f"{CHAT}/events")) == before  # nothing was folded
    with Memory(running.database) as memory:
        assert assemble_context("ann", "trip", "Which hotel?", 500, memory=memory) == told


def test_E5_the_budget_has_a_cap(api: Client) -> None:
    for wanted in (None, 50_000):
        params: dict[str, Any] = {"chat_id": "trip", "query": "Which?", **({"max_tokens": wanted} if wanted else {})}
        budget = got(api.get("/v1/memory/context", params=params))["budget"]
        assert (budget["requested"], budget["applied"]) == (wanted, 3000)


def test_E5_bad_questions(api: Client) -> None:
    def ask(**params: Any) -> httpx2.Response:
        return api.get("/v1/memory/context", params=params)

    problem(ask(chat_id="nobody", query="x"), 404, "chat_not_found")
    problem(ask(chat_id="trip", query="x", user_id="bob"), 404, "chat_not_found")
    assert ask(chat_id="trip", query="x", user_id="ann").status_code == 200
    problem(ask(chat_id="trip"), 422, "invalid_request")
    problem(ask(query="x"), 422, "invalid_request")
    problem(ask(chat_id="trip", query="x", max_tokens=0), 422, "invalid_request")
    problem(ask(chat_id="trip", query="x", max_tokens=1), 422, "budget_too_small")
    problem(ask(chat_id="trip", query="a\0b"), 422, "bad_message")
    assert "nobody" not in [chat["id"] for chat in got(api.get("/v1/chats"))["items"]]


@pytest.mark.parametrize("format", ["chat", "responses", "anthropic", "text"])
def test_a_context_in_every_format(api: Client, format: str) -> None:
    told = got(api.post(f"{CHAT}/context", json={"query": "Which hotel?", "max_tokens": 800, "format": format}))
    assert told["format"] == format
    assert told["tokens"] <= told["budget"] == 800
    assert told["explanation"]["items"]
    assert bool(told["messages"]) == (format != "text")
    assert bool(told["text"]) == (format == "text")
    assert told["system"] is None
    assert "Which hotel?" in str(told["text"] or told["messages"])
    if format != "text":
        assert {message["role"] for message in told["messages"]} == {"user", "assistant"}
        assert BLOCK in str(told["messages"][0]["content"])


def test_F12_the_role_of_memory_in_a_context(api: Client) -> None:
    wanted = {"query": "Which hotel?", "max_tokens": 800, "memory_role": "system"}
    told = got(api.post(f"{CHAT}/context", json=wanted))
    assert (told["messages"][0]["role"], BLOCK in told["messages"][0]["content"]) == ("system", True)
    assert BLOCK not in str(told["messages"][1:])
    told = got(api.post(f"{CHAT}/context", json={**wanted, "format": "anthropic"}))
    assert BLOCK in told["system"][0]["text"]
    assert BLOCK not in str(told["messages"])
    problem(api.post(f"{CHAT}/context", json={"memory_role": "assistant"}), 422, "invalid_request")


def test_F12_a_chains_two_system_messages_may_be_one(api: Client) -> None:
    path = "/v1/chats/chain"
    got(api.post("/v1/chats", json={"id": "chain", "preset": "chain", "system": "Be brief."}), 201)
    for n in range(8):
        got(api.post(f"{path}/messages", json=[user(f"We booked hotel {n}."), assistant("Noted.")]), 201)
    got(api.post(f"{path}/fold"))
    two = got(api.post(f"{path}/context", json={}))["messages"]
    assert [message["role"] for message in two[:3]] == ["system", "system", "user"]
    assert two[1]["content"].startswith("[summary-depth:0]\n" + BLOCK)
    one = got(api.post(f"{path}/context", json={"merge": True}))["messages"]
    assert [message["role"] for message in one[:2]] == ["system", "user"]
    assert one[0]["content"] == "Be brief.\n\n" + two[1]["content"]
    problem(api.post(f"{path}/context", json={"merge": "maybe"}), 422, "invalid_request")


def test_a_context_without_a_budget_leaves_room_for_the_reply(api: Client) -> None:
    def budget(**more: Any) -> int:
        return int(got(api.post(f"{CHAT}/context", json=more))["budget"])

    assert budget() == 8192 - 1000
    assert budget(reserve_output=0) == 8192
    assert budget(reserve_output=3000) == 5192
    assert budget(max_tokens=2000) == 2000
    assert budget(max_tokens=2000, reserve_output=500) == 1500


def test_F7_a_context_with_breakpoints_for_a_cache(api: Client) -> None:
    wanted = {"query": "Which hotel?", "max_tokens": 800, "format": "anthropic"}
    assert "cache_control" not in str(got(api.post(f"{CHAT}/context", json=wanted)))
    told = got(api.post(f"{CHAT}/context", json={**wanted, "cache": True}))
    first, *_, last, question = told["messages"]
    assert BLOCK in first["content"][0]["text"]
    for block in (first["content"][0], last["content"][-1]):
        assert block["cache_control"] == {"type": "ephemeral"}
    assert str(told).count("cache_control") == 2
    assert "cache_control" not in str(question)


def test_a_context_that_cannot_be(api: Client) -> None:
    problem(api.post(f"{CHAT}/context", json={"max_tokens": 5}), 422, "budget_too_small")
    problem(api.post(f"{CHAT}/context", json={"query": {"role": "assistant", "content": "x"}}), 422, "bad_message")
    problem(api.post(f"{CHAT}/context", json={"format": "xml"}), 422, "invalid_request")
    problem(api.post(f"{CHAT}/context", json={"tools": "x"}), 422, "invalid_request")
    problem(api.post("/v1/chats/nobody/context", json={}), 404, "chat_not_found")


def test_summary_memory_and_records(api: Client) -> None:
    summary = got(api.get(f"{CHAT}/summary"))["summary"]
    assert "hotel" in summary
    state = got(api.get(f"{CHAT}/memory"))
    assert state["summary"] == summary
    assert state["cursor"] + len(state["recent_messages"]) == 16
    assert state["further"] == [], "only the preset default keeps quotations that no summary holds"
    records = got(api.get(f"{CHAT}/records"))["items"]
    assert [id for record in records for id in record["original_message_ids"]][:2] == ["u0", "a0"]
    first = got(api.get(f"{CHAT}/records?limit=1"))
    assert first["items"] == records[:1]
    if len(records) > 1:
        assert got(api.get(f"{CHAT}/records", params={"limit": 1, "cursor": first["next_cursor"]}))["items"]


@pytest.mark.parametrize("what", TAGGED)
def test_what_has_not_changed_is_not_sent_again(api: Client, what: str) -> None:
    first = api.get(f"/v1/chats/other/{what}")
    tag = first.headers["etag"]
    for given in (tag, f'"x", W/{tag}', "*"):
        again = api.get(f"/v1/chats/other/{what}", headers={"If-None-Match": given})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert api.get(f"/v1/chats/other/{what}", headers={"If-None-Match": '"x"'}).status_code == 200


def test_a_change_changes_the_tag(api: Client) -> None:
    path = "/v1/chats/tagged"
    api.post(f"{path}/messages", json=user("hello"))
    tag = api.get(f"{path}/memory").headers["etag"]
    api.post(f"{path}/messages", json=assistant("hi"))
    assert api.get(f"{path}/memory", headers={"If-None-Match": tag}).status_code == 200


def test_facts_and_entities(api: Client) -> None:
    facts = got(api.get(f"{CHAT}/facts"))["items"]
    assert any("Berlin" in fact["text"] for fact in facts)
    assert len(got(api.get(f"{CHAT}/facts?all=true"))["items"]) >= len(facts)
    assert any("Berlin" in fact["text"] for fact in got(api.get("/v1/users/ann/facts"))["items"])
    problem(api.get("/v1/users/nobody/facts"), 404, "user_not_found")
    problem(api.get("/v1/users/a%00b/facts"), 404, "user_not_found")


def test_pages_of_entities_skip_none_that_stays(api: Client) -> None:
    """Whoever removes what a page shows gets all others all the same."""
    path = "/v1/users/pager/entities"
    names = {f"Task number {number}" for number in range(7)}
    for name in sorted(names):
        got(api.put(path, json={"kind": "task", "name": name}))
    seen: list[str] = []
    cursor: dict[str, str] = {}
    for _ in range(4):
        told = got(api.get(path, params={"limit": "2", **cursor}))
        seen += [entity["name"] for entity in told["items"]]
        for entity in told["items"]:
            assert api.delete(f"{path}/{entity['id']}").status_code == 204
        cursor = {"cursor": told["next_cursor"]}
    assert cursor == {"cursor": None}
    assert (len(seen), set(seen)) == (7, names)


@pytest.mark.parametrize("path", ["/v1/chats/other", "/v1/users/carl"])
def test_entities_are_set_and_removed(api: Client, path: str) -> None:
    given = {"kind": "task", "name": "Call the bank", "due": "2026-12-01", "owner": "Ann", "links": ["Anna"]}
    made = got(api.put(f"{path}/entities", json=given))
    assert {name: made[name] for name in ("kind", "name", "due", "owner", "status")} == {
        "kind": "task", "name": "Call the bank", "due": "2026-12-01", "owner": "Ann", "status": "open",
    }  # fmt: skip
    done = got(api.put(f"{path}/entities", json={"kind": "task", "name": "Call the bank", "status": "done"}))
    assert (done["id"], done["status"], done["due"]) == (made["id"], "done", "2026-12-01")
    assert made["id"] in [entity["id"] for entity in got(api.get(f"{path}/entities"))["items"]]
    assert api.delete(f"{path}/entities/{made['id']}").status_code == 204
    answer = api.delete(f"{path}/entities/{made['id']}")
    assert answer.json()["code"] in ("not_found", "user_not_found")
    problem(api.put(f"{path}/entities", json={"kind": "ship", "name": "x"}), 422, "invalid_request")
    problem(api.put(f"{path}/entities", json={"kind": "task", "name": "x", "due": "2026-99-99"}), 422, "bad_value")
    problem(api.put(f"{path}/entities", json={"kind": "task", "name": "  "}), 422, "bad_value")


@pytest.mark.parametrize("path", [CHAT, "/v1/users/ann"])
def test_recall(api: Client, path: str) -> None:
    hits = got(api.post(f"{path}/recall", json={"query": "where do I live? Berlin", "limit": 3}))["items"]
    assert 0 < len(hits) <= 3
    assert "Berlin" in hits[0]["text"]
    only = got(api.post(f"{path}/recall", json={"query": "hotel", "kinds": ["message"], "since": "2020-01-01"}))
    assert {hit["kind"] for hit in only["items"]} == {"message"}
    assert got(api.post(f"{path}/recall", json={"query": "hotel", "until": 5}))["items"] == []
    problem(api.post(f"{path}/recall", json={"query": " "}), 422, "bad_message")
    problem(api.post(f"{path}/recall", json={"query": "x", "since": "soon"}), 422, "bad_value")
    problem(api.post(f"{path}/recall", json={"query": "x", "limit": 0}), 422, "invalid_request")
    problem(api.post(f"{path}/recall", json={}), 422, "invalid_request")


def test_pins(api: Client) -> None:
    made = got(api.post("/v1/chats/other/pins", json={"text": "Ann is allergic to nuts."}), 201)
    assert got(api.get("/v1/chats/other/pins")) == {"items": [made], "next_cursor": None}
    assert (made["text"], made["by"]) == ("Ann is allergic to nuts.", "user")
    assert "allergic" in got(api.get("/v1/chats/other/summary"))["summary"]
    assert api.delete(f"/v1/chats/other/pins/{made['id']}").status_code == 204
    problem(api.delete(f"/v1/chats/other/pins/{made['id']}"), 404, "not_found")
    problem(api.delete("/v1/chats/other/pins/a%00b"), 404, "not_found")
    problem(api.post("/v1/chats/other/pins", json={"text": " "}), 422, "bad_message")
    problem(api.post("/v1/chats/other/pins", json={"text": "word " * 5000}), 422, "budget_too_small")


def test_F12_what_the_operator_pins_belongs_to_the_system_prompt(api: Client) -> None:
    path = "/v1/chats/priced"
    got(api.post("/v1/chats", json={"id": "priced", "system": "Be brief."}), 201)
    got(api.post(f"{path}/messages", json=user("Hello")), 201)
    made = got(api.post(f"{path}/pins", json={"text": "Never name a price.", "by": "operator"}), 201)
    assert made["by"] == "operator"
    wish = got(api.post(f"{path}/pins", json={"text": "I want no prices."}), 201)
    system, memory = got(api.post(f"{path}/context", json={}))["messages"]
    assert system == {"role": "system", "content": "Be brief.\n\nNever name a price."}
    assert "\n> I want no prices.\n" in memory["content"]
    assert "Never name" not in memory["content"]
    assert {one["id"] for one in got(api.get(f"{path}/pins"))["items"]} == {made["id"], wish["id"]}
    assert api.delete(f"{path}/pins/{made['id']}").status_code == 204
    assert got(api.post(f"{path}/context", json={}))["messages"][0]["content"] == "Be brief."
    problem(api.post(f"{path}/pins", json={"text": "x", "by": "assistant"}), 422, "invalid_request")


def test_fold_rewind_and_events(api: Client) -> None:
    path = "/v1/chats/loop"
    for n in range(4):
        api.post(f"{path}/messages", json=[user(f"q{n}", id=f"u{n}"), assistant("a", id=f"a{n}")])
    assert got(api.post(f"{path}/fold")) == {"folded": True}
    assert got(api.get(path))["folded"] > 0
    assert got(api.post(f"{path}/rewind", json={"message_id": "a1"})) == {"removed": 4}
    assert got(api.get(path))["messages"] == 4
    problem(api.post(f"{path}/rewind", json={"message_id": "nope"}), 404, "not_found")
    events = got(api.get(f"{path}/events"))["items"]
    assert events[0]["type"] == "chat_created"
    assert {"summarization", "rewound"} <= {event["type"] for event in events}
    first = got(api.get(f"{path}/events?limit=1"))
    rest = got(api.get(f"{path}/events", params={"cursor": first["next_cursor"]}))
    assert first["items"] + rest["items"] == events


def test_F6_messages_and_users_are_forgotten(api: Client) -> None:
    path = "/v1/chats/secret"
    api.post(f"{path}/messages", json=[user("My locker is 8812-violet.", id="m1")], params={"user": "eve"})
    receipt = got(api.post(f"{path}/forget", json={"message_ids": ["m1"]}))
    assert receipt["messages"] == 1
    assert "violet" not in api.get(f"{path}/messages").text
    problem(api.post(f"{path}/forget", json={"message_ids": ["nope"]}), 404, "not_found")
    problem(api.post(f"{path}/forget", json={"message_ids": []}), 422, "invalid_request")
    assert got(api.post("/v1/users/eve/forget"))["chats"] == 1
    problem(api.get(path), 404, "chat_not_found")
    problem(api.post("/v1/users/eve/forget"), 404, "user_not_found")


def test_F1_verify_usage_and_stats(api: Client) -> None:
    proof = got(api.get(f"{CHAT}/verify"))
    assert (proof["ok"], proof["chats"], proof["messages"]) == (True, 1, 16)
    assert got(api.get("/v1/verify"))["ok"] is True
    assert got(api.get(f"{CHAT}/usage")) == {"models": [], "calls": 0, "cost": 0}
    assert got(api.get(f"{CHAT}/stats"))["folds"] > 0


def test_operations(api: Client) -> None:
    assert got(api.get("/healthz")) == got(api.get("/readyz")) == {"status": "ok"}
    metrics = api.get("/metrics")
    assert metrics.headers["content-type"].startswith("text/plain")
    assert "infold_" in metrics.text
