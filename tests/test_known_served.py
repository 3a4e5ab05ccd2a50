"""What is known of users, through the proxy and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import assistant, user
from tests.proxied import CHAT, Proxied, Wire, eventually, start_proxied
from tests.servers import problem


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    with start_proxied(tmp_path_factory.mktemp("known"), context_window=4000, memory_timeout=30) as started:
        yield started
        started.sound()


def ask(proxied: Proxied, messages: list[Wire], text: str, **headers: str) -> list[Wire]:
    """A client that sends its whole chat; the chat with the reply."""
    sent = [*messages, user(text)]
    answer = proxied.post(CHAT, {"model": "echo", "messages": sent}, **headers)
    assert answer.status_code == 200, answer.text
    return [*sent, answer.json()["choices"][0]["message"]]


def facts(proxied: Proxied, name: str) -> list[str]:
    found: list[Wire] = proxied.api.get(f"/v1/users/{name}/facts").json()["items"]
    return [fact["text"] for fact in found]


def test_F13_what_is_said_through_the_proxy_is_known_in_the_next_chat(proxied: Proxied) -> None:
    ask(proxied, [], "I'm allergic to peanuts.", X_Infold_Chat="first", X_Infold_User="ann")
    ask(proxied, [], "What shall I cook?", X_Infold_Chat="second", X_Infold_User="ann")
    assert "allergic to peanuts" in str(proxied.last_sent()["body"])
    ask(proxied, [], "What shall I cook?", X_Infold_Chat="third", X_Infold_User="bob")
    assert "peanuts" not in str(proxied.last_sent()["body"])


def test_F13_a_value_that_was_edited_is_not_known(proxied: Proxied) -> None:
    headers = {"X_Infold_Chat": "edited", "X_Infold_User": "cleo"}
    begun = ask(proxied, [], "Good morning.", **headers)
    ask(proxied, begun, "I live in Berlin.", **headers)
    eventually(lambda: facts(proxied, "cleo"), lambda found: found == ["I live in Berlin."])
    ask(proxied, begun, "I live in Oslo.", **headers)
    eventually(lambda: facts(proxied, "cleo"), lambda found: found == ["I live in Oslo."])
    ask(proxied, [], "Where do I live?", X_Infold_Chat="another", X_Infold_User="cleo")
    sent = str(proxied.last_sent()["body"])
    assert "Oslo" in sent
    assert "Berlin" not in sent


def test_F13_a_request_may_say_that_nothing_is_remembered(proxied: Proxied) -> None:
    headers = {"X_Infold_Chat": "secret", "X_Infold_User": "dora"}
    begun = ask(proxied, [], "I live in Berlin.", X_Infold_Remember="no", **headers)
    ask(proxied, begun, "I'm allergic to peanuts.", **headers)
    assert facts(proxied, "dora") == ["I'm allergic to peanuts."]
    refused = proxied.post(CHAT, {"model": "echo", "messages": [user("Hi")]}, X_Infold_Remember="maybe", **headers)
    assert refused.status_code == 400
    assert "x-infold-remember" in refused.text


# Over HTTP -----------------------------------------------------------------------------------------------


def got(answer: Any, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


def test_F14_a_persons_word_over_http(proxied: Proxied) -> None:
    api = proxied.api
    got(
        api.post(
            "/v1/chats/http/messages", params={"user": "emil"}, json=[user("I live in Berlin."), assistant("So.")]
        ),
        201,
    )
    (fact,) = got(api.get("/v1/users/emil/facts"))["items"]
    made = got(api.post(f"/v1/users/emil/lines/{fact['id']}/correct", json={"text": "I live in Bern."}))
    assert (made["text"], made["author"]) == ("I live in Bern.", "person")
    (fact,) = got(api.get("/v1/chats/http/facts"))["items"]
    assert fact["text"] == "I live in Bern."
    assert got(api.post(f"/v1/chats/http/lines/{fact['id']}/confirm"))["standing"] == 1000
    (fact,) = got(api.get("/v1/chats/http/facts"))["items"]
    got(api.post(f"/v1/chats/http/lines/{fact['id']}/retract"), 204)
    assert got(api.get("/v1/users/emil/facts"))["items"] == []
    types = [event["type"] for event in got(api.get("/v1/chats/http/events"))["items"]]
    assert [one for one in types if one in ("corrected", "confirmed", "retracted")] == [
        "corrected",
        "confirmed",
        "retracted",
    ]
    problem(api.post("/v1/chats/http/lines/nothing/retract"), 404, "not_found")
    problem(api.post("/v1/users/emil/lines/nothing/confirm"), 404, "not_found")
    problem(api.post(f"/v1/chats/http/lines/{fact['id']}/correct", json={"text": ""}), 422, "invalid_request")


def test_F13_remember_over_http(proxied: Proxied) -> None:
    api = proxied.api
    said = [user("I'm allergic to peanuts."), assistant("I see.")]
    got(api.post("/v1/chats", json={"id": "own", "user": "fay", "remember": False}), 201)
    got(api.post("/v1/chats/own/messages", json=said), 201)
    assert facts(proxied, "fay") == []
    assert got(api.patch("/v1/chats/own", json={"remember": True}))["remember"] is True
    assert facts(proxied, "fay") == ["I'm allergic to peanuts."]
    assert got(api.patch("/v1/users/fay", json={"remember": False})) == {"name": "fay", "remember": False}
    assert facts(proxied, "fay") == []
    assert got(api.get("/v1/users/fay"))["remember"] is False
    got(api.patch("/v1/users/fay", json={"remember": True}))
    more = [user("I live in Porto."), assistant("I see.")]
    got(api.post("/v1/chats/own/messages", json=more, headers={"X-Infold-Remember": "no"}), 201)
    assert facts(proxied, "fay") == ["I'm allergic to peanuts."]
