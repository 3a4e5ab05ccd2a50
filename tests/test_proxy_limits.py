"""Limits and keys on the proxy's routes, and an end that finishes what was begun."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from infold import Memory
from infold.service.keys import create_key
from tests.proxied import CHAT, KEY, MESSAGES, RESPONSES, Proxied, eventually, start_proxied
from tests.servers import problem

PATHS = [CHAT, RESPONSES, MESSAGES]


@dataclass(frozen=True, slots=True)
class Keys:
    admin: str
    write: str
    read: str
    other: str


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxied, Keys]]:
    folder = tmp_path_factory.mktemp("locked")
    with Memory(f"sqlite:///{folder / 'service.db'}") as memory:
        roles = {role: create_key(memory, "acme", role)[0] for role in ("admin", "write", "read")}
        keys = Keys(**roles, other=create_key(memory, "other", "write")[0])
    with start_proxied(folder, keys.admin, max_body=20_000, max_messages=5, streams=2, memory_timeout=30) as started:
        yield started, keys


def body(path: str, *texts: str, model: str = "echo", **more: object) -> dict[str, object]:
    messages = [{"role": "user", "content": text} for text in texts]
    return {"model": model, "input" if path == RESPONSES else "messages": messages, **more}


@pytest.mark.parametrize("path", PATHS)
def test_who_may_talk(locked: tuple[Proxied, Keys], path: str) -> None:
    proxied, keys = locked
    proxied.provider.forget()
    problem(proxied.post(path, body(path, "x")), 401, "unauthorized")
    problem(proxied.post(path, body(path, "x"), X_Infold_Key="ink_nobody"), 401, "unauthorized")
    problem(proxied.post(path, body(path, "x"), X_Infold_Key=keys.read), 403, "forbidden")
    assert proxied.provider.requests() == []
    assert proxied.post(path, body(path, "x"), X_Infold_Key=keys.write).status_code == 200
    assert len(proxied.provider.requests()) == 1


def test_models_may_be_read_by_whoever_may_read(locked: tuple[Proxied, Keys]) -> None:
    proxied, keys = locked
    for key in (keys.read, keys.write):
        answer = httpx2.get(f"{proxied.server.url}/v1/models", headers={"X-Infold-Key": key})
        assert answer.json() == httpx2.get(f"{proxied.provider.url}/models").json()
    problem(httpx2.get(f"{proxied.server.url}/v1/models"), 401, "unauthorized")


@pytest.mark.parametrize("path", PATHS)
def test_too_much(locked: tuple[Proxied, Keys], path: str) -> None:
    proxied, keys = locked
    proxied.provider.forget()
    chat = {"X_Infold_Key": keys.write, "X_Infold_Chat": f"much {path}"}
    problem(proxied.post(path, body(path, "x" * 20_000), **chat), 413, "too_large")
    problem(proxied.post(path, body(path, *"abcdef"), **chat), 413, "too_many_messages")
    assert proxied.provider.requests() == []
    assert f"much {path}" not in proxied.chats()
    assert proxied.post(path, body(path, *"abcde"), **chat).status_code == 200


def test_a_tenant_sees_nothing_of_anothers_chat(locked: tuple[Proxied, Keys]) -> None:
    proxied, keys = locked
    proxied.post(CHAT, body(CHAT, "my pin is 4711"), X_Infold_Key=keys.write, X_Infold_Chat="mine")
    proxied.kept("mine", 2)
    proxied.post(CHAT, body(CHAT, "hello"), X_Infold_Key=keys.other, X_Infold_Chat="mine")
    assert "4711" not in json.dumps(proxied.last_sent())
    assert proxied.kept("mine", 2)[0] == ("user", "my pin is 4711")


def test_too_many_streams(locked: tuple[Proxied, Keys]) -> None:
    proxied, keys = locked
    given = {"X-Infold-Key": keys.write, "Authorization": f"Bearer {KEY}"}
    with ExitStack() as held:
        for number in range(2):
            held.enter_context(
                httpx2.stream(
                    "POST", f"{proxied.server.url}{CHAT}", headers={**given, "X-Infold-Chat": f"stream {number}"},
                    json=body(CHAT, "slowly", model="slow-0.2", stream=True), timeout=30,
                )
            )  # fmt: skip
        refused = proxied.post(CHAT, body(CHAT, "more"), X_Infold_Key=keys.write, X_Infold_Chat="refused")
        problem(refused, 429, "too_many_streams")
        assert int(refused.headers["retry-after"]) > 0
        assert "refused" not in proxied.chats()  # what was refused was never said
        assert proxied.post(CHAT, body(CHAT, "else"), X_Infold_Key=keys.other).status_code == 200

    def again() -> int:
        return proxied.post(CHAT, body(CHAT, "more"), X_Infold_Key=keys.write, X_Infold_Chat="refused").status_code

    eventually(again, lambda status: status == 200)  # when the clients have hung up
    assert proxied.kept("refused", 2)[0] == ("user", "more")


def test_an_end_during_a_stream(tmp_path: Path) -> None:
    with start_proxied(tmp_path, grace=20, memory_timeout=30) as proxied:
        began = time.monotonic()
        with httpx2.stream(
            "POST", f"{proxied.server.url}{CHAT}", headers={"X-Infold-Chat": "last"}, timeout=30,
            json=body(CHAT, "to the end", model="slow-0.1", stream=True),
        ) as answer:  # fmt: skip
            lines = answer.iter_lines()
            next(lines)
            proxied.server.process.send_signal(signal.SIGTERM)
            rest = list(lines)
        assert "data: [DONE]" in rest
        assert proxied.server.process.wait(20) in (0, -signal.SIGTERM)  # uvicorn raises the signal again at its end
        assert time.monotonic() - began < 20
        with pytest.raises(httpx2.ConnectError):
            proxied.post(CHAT, body(CHAT, "too late"))
        with Memory(proxied.server.database, model=()) as memory:
            chat = memory.find("last")
            assert chat is not None
            kept = chat.messages()
            assert [(one.role, one.text) for one in kept] == [
                ("user", "to the end"), ("assistant", "Reply to: to the end (1 messages)"),
            ]  # fmt: skip
            assert "reply_cut" not in [event.type for event in chat.events()]
            assert memory.verify().ok
