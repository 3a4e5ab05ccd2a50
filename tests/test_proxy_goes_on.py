"""Clients that send what is odd, or much: their chats have memory all the same, and others do not wait for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infold.service.wire import APIS
from tests.conftest import assistant, call, result, user
from tests.proxied import CHAT, MESSAGES, RESPONSES, Proxied, Wire, eventually, start_proxied

ODD: dict[str, list[Wire]] = {
    "NUL": [user("bin \0 out")],
    "half a character": [user("a cut emoji \ud83d")],
    "NUL in a part": [user([{"type": "text", "text": "bin \0 out"}])],
    "no text in a part": [user([{"type": "text", "text": None}])],
    "no content": [user(None)],
    "a result without content": [call("c1"), {"role": "tool", "tool_call_id": "c1", "content": None}],
    "NUL in a result": [call("c1"), result("c1", "\0")],
    "arguments that are no text": [call("c1", arguments={"q": 1}), result("c1")],  # type: ignore[arg-type]
    "a number that is none": [user("x", odd=float("nan"))],
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_F9_what_a_ledger_cannot_hold_is_kept_as_far_as_it_can(odd: list[Wire]) -> None:
    read = [APIS["chat"].read({"model": "echo", "messages": [user("Hello"), *odd]}) for _ in range(2)]
    assert read[0].messages == read[1].messages  # a client sends it again each time
    assert [message.role for message in read[0].messages[1:]] == [one["role"] for one in odd]
    said = "".join(message.text for message in read[0].messages)
    json.dumps(said).encode()
    assert not {"\0", "\ud83d"} & set(said)


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    with start_proxied(tmp_path_factory.mktemp("odd"), memory_timeout=30) as started:
        yield started
        started.sound()


def asked(proxied: Proxied, history: list[Wire], chat: str | None, **more: Any) -> None:
    """A turn of somebody who keeps the chat himself."""
    sent = json.dumps({"model": "echo", "messages": history, **more}).encode()
    answer = proxied.post(CHAT, sent, **({"X_Infold_Chat": chat} if chat else {}))
    assert answer.status_code == 200, answer.text
    history.append(assistant(answer.json()["choices"][0]["message"]["content"]))


def test_F9_a_chat_with_an_odd_message_has_memory(proxied: Proxied) -> None:
    history: list[Wire] = []
    for number in range(4):
        history.append(user(f"bin \0 out {number}"))
        asked(proxied, history, "odd")
    assert proxied.kept("odd", 8)[0] == ("user", "bin \ufffd out 0")


@pytest.mark.parametrize("name", ["unread", None])
def test_F9_a_message_that_cannot_be_read_is_told_of(proxied: Proxied, name: str | None) -> None:
    before = proxied.chats()
    history = [user(f"Hello, {name}")]
    asked(proxied, history, name)
    chat = proxied.only_new(before, 2)
    failed = proxied.metric("infold_memory_failures_total")
    history += [user("Well?"), {"role": "critic", "content": "42"}, user("And now?")]
    asked(proxied, history, name)
    eventually(lambda: proxied.events(chat), lambda found: "memory_failed" in found)
    assert proxied.metric("infold_memory_failures_total") == failed + 1
    assert "MessageError" in proxied.server.log.read_text()


def test_F9_a_request_that_the_upstream_refuses_too_is_no_failure_of_memory(proxied: Proxied) -> None:
    failed = proxied.metric("infold_memory_failures_total")
    assert proxied.post(CHAT, {"model": 5, "messages": "none"}).status_code == 400
    assert proxied.metric("infold_memory_failures_total") == failed


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
@pytest.mark.parametrize("most", [4096, 8192, 200_000])
def test_F9_a_reply_may_be_larger_than_a_window_that_is_guessed(proxied: Proxied, path: str, most: int) -> None:
    body = {
        "model": "echo",
        "max_tokens": most,
        "messages": [user(f"Look at this {most}: " + "some words more " * 250)],
    }
    sent = json.dumps(body).encode()
    assert proxied.post(path, sent, X_Infold_Chat=f"large {path} {most}").status_code == 200
    assert proxied.last_sent()["raw"].encode("latin-1") == sent


def test_C6_nobody_waits_while_a_long_history_is_folded(tmp_path: Path) -> None:
    with start_proxied(tmp_path, context_window=4000, memory_timeout=30) as proxied:
        long: list[Wire] = []
        for number in range(1000):
            long.append(
                user(f"I prefer hotel {number}, and our budget is {number} euros. Anna moves to Porto {number}.")
            )
            long.append(assistant(f"The ferry of day {number} leaves at nine, and the station is quiet."))
        long.append(user("Where were we?"))
        asked(proxied, long, "long")
        other: list[Wire] = []
        for number in range(20):
            long.append(user(f"Go on {number}"))
            other.append(user(f"And here {number}?"))
            asked(proxied, long, "long")
            asked(proxied, other, "other")
        assert proxied.metric("infold_memory_failures_total") == 0
        assert len(proxied.last_sent()["body"]["messages"]) == len(other) - 1
        eventually(lambda: proxied.folded("long"), lambda folded: folded > len(long) - 256)
        proxied.kept("other", 40)
        proxied.sound()


@pytest.mark.parametrize("more", [{"max_completion_tokens": 16_384}, {"tools": "many"}])
def test_F9_a_model_with_a_larger_window_than_the_chats_leaves_it_room(proxied: Proxied, more: Wire) -> None:
    name, history = f"room {sorted(more)}", [user("My seat is 14C.")]
    for number in range(12):
        asked(proxied, history, name)
        history.append(user(f"And {number}? " + f"thing{number} " * 100))
    if "tools" in more:
        tool = {"name": "look_up", "description": "Looks things up. " * 40, "parameters": {"type": "object"}}
        more = {"tools": [{"type": "function", "function": {**tool, "name": f"look_up_{n}"}} for n in range(100)]}
    failed = proxied.metric("infold_memory_failures_total")
    sent = json.dumps({"model": "gpt-4o", "messages": history, **more}).encode()
    assert proxied.post(CHAT, sent, X_Infold_Chat=name).status_code == 200
    arrived = proxied.last_sent()["body"]["messages"]
    assert arrived[-1] == history[-1]
    assert len(arrived) > 4
    assert proxied.metric("infold_memory_failures_total") == failed


@pytest.mark.parametrize("way", ["conversation", "previous_response_id"])
def test_F9_a_response_that_is_asked_for_again_is_one(proxied: Proxied, way: str) -> None:
    name, before = f"again {way}", "conv_again"
    if way == "previous_response_id":
        first = {"model": "echo", "input": "Hello"}
        before = proxied.post(RESPONSES, first, X_Infold_Chat=name).json()["id"]
        proxied.kept(name, 2)
    for model in ("error-500", "error-500", "echo"):
        proxied.post(RESPONSES, {"model": model, "input": "How are you?", way: before}, X_Infold_Chat=name)
    proxied.kept(name, 4 if way == "previous_response_id" else 2)
    assert not [id for id in proxied.chats() if id.startswith(f"{name}~")]


def test_F9_no_path_goes_up(proxied: Proxied) -> None:
    proxied.provider.forget()
    for path in ("/v1/models/..%2f..%2fadmin", "/v1/models/a%5c..%5cb", "/v1/models/%2e%2e"):
        assert proxied.api.get(path).status_code in (400, 404)
    assert proxied.provider.requests() == []


def window(proxied: Proxied, chat: str) -> int:
    return int(proxied.api.get(f"/v1/chats/{chat}").json()["context_window"])


def test_F9_a_chat_that_moves_to_a_smaller_model_is_folded_for_it(proxied: Proxied) -> None:
    history: list[Wire] = [user("My seat is 14C.")]
    for number in range(40):
        asked(proxied, history, "moves", model="gpt-4o")
        history.append(user(f"And {number}? " + f"thing{number} " * 100))
    assert window(proxied, "moves") == 128_000
    assert proxied.folded("moves") == 0
    asked(proxied, history, "moves", model="gpt-4")
    assert window(proxied, "moves") == 8192
    eventually(lambda: proxied.folded("moves"), lambda folded: folded > 40)
    history.append(user("Where do I sit?"))
    asked(proxied, history, "moves", model="gpt-4")
    sent = str(proxied.last_sent()["body"]["messages"])
    assert '<memory mark="' in sent
    assert "14C" in sent
    history.append(user("And now?"))
    asked(proxied, history, "moves", model="gpt-4o")
    assert window(proxied, "moves") == 128_000


def test_F9_a_window_that_was_guessed_becomes_that_of_the_model(proxied: Proxied) -> None:
    history: list[Wire] = [user("Hello")]
    for model in ("echo", "gpt-4o", "echo"):  # nobody knows the window of the first one
        asked(proxied, history, "guessed", model=model)
        history.append(user(f"After {model}"))
        assert window(proxied, "guessed") == (8192 if len(history) == 3 else 128_000)


def test_F9_a_window_that_was_given_stays(proxied: Proxied) -> None:
    proxied.api.post("/v1/chats", json={"id": "given", "context_window": 8192}).raise_for_status()
    asked(proxied, [user("Hello")], "given", model="gpt-4o")
    assert window(proxied, "given") == 8192
    asked(proxied, [user("Hello")], "given later", model="gpt-4o")
    proxied.api.patch("/v1/chats/given later", json={"context_window": 9000}).raise_for_status()
    asked(proxied, [user("Hello")], "given later", model="gpt-4o")
    assert window(proxied, "given later") == 9000
    asked(proxied, [user("Hello")], "as it is", model="gpt-4o")
    proxied.api.patch("/v1/chats/as it is", json={"context_window": 128_000}).raise_for_status()
    asked(proxied, [user("Hello"), assistant("Hi"), user("Well?")], "as it is", model="gpt-4")
    assert window(proxied, "as it is") == 128_000


def test_F9_what_is_asked_for_now_is_not_cut_while_the_window_has_room(proxied: Proxied) -> None:
    history: list[Wire] = [user("My seat is 14C.")]
    asked(proxied, history, "large", model="gpt-4")
    history.append(user("Read this: " + "word " * 6500))
    asked(proxied, history, "large", model="gpt-4", max_tokens=500)
    assert proxied.last_sent()["body"]["messages"] == history[:-1]
    history.append(user("And this: " + "word " * 6800))  # together with what was said before it is too much
    asked(proxied, history, "large", model="gpt-4", max_tokens=500)
    sent = proxied.last_sent()["body"]["messages"]
    assert sent[-1] == history[-2]
    assert "are not shown in full" in str(sent)
    history.append(user("Too much: " + "word " * 9000))
    asked(proxied, history, "large", model="gpt-4", max_tokens=500)
    assert "left out" in proxied.last_sent()["body"]["messages"][-1]["content"]


@pytest.mark.parametrize(("path", "role"), [(CHAT, "system"), (CHAT, "developer"), (RESPONSES, "developer")])
def test_F9_what_a_client_tells_the_model_in_the_midst_of_a_chat_holds_on(tmp_path: Path, path: str, role: str) -> None:
    told = {"role": role, "content": "From now on answer in French, and never mention prices."}
    key = "messages" if path == CHAT else "input"
    with start_proxied(tmp_path, context_window=2500, memory_timeout=30) as proxied:
        history: list[Wire] = [{"role": role, "content": "You are brief."}]
        for number in range(16):
            history += [dict(told)] * (number in (3, 5))
            history.append(user(f"Question {number}: " + f"thing{number} " * 60))
            answer = proxied.post(path, {"model": "echo", key: history}, X_Infold_Chat="told").json()
            history += [answer["choices"][0]["message"]] if path == CHAT else answer["output"]
            sent = proxied.last_sent()["body"][key]
            if number >= 3 and len(sent) >= len(history) - 1:  # all of it fits, as it was sent
                assert told in sent
            elif number >= 3:  # one message, first; what was said twice is told once
                assert sent[0] == {"role": role, "content": f"You are brief.\n\n{told['content']}"}
                assert not [one for one in sent[1:] if one.get("role") in ("system", "developer")]
        assert proxied.folded("told") > 10
        assert len(sent) < len(history) - 1
        proxied.sound()
