"""When something breaks: clients that hang up, upstreams that fail, a server that is killed. The request goes through."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from tests.proxied import CHAT, KEY, MESSAGES, RESPONSES, Proxied, Wire, eventually, start_proxied
from tests.servers import free_port, problem, start_server


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    with start_proxied(tmp_path_factory.mktemp("faults"), upstream_timeout=1.5, memory_timeout=30) as started:
        yield started
        started.sound()


def body(path: str, *messages: Wire, model: str = "echo", **more: object) -> Wire:
    return {"model": model, "input" if path == RESPONSES else "messages": list(messages), **more}


def user(text: str) -> Wire:
    return {"role": "user", "content": text}


# Clients that hang up ----------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [1, 0.5], ids=["all of it", "less"])
@pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES])
def test_a_client_that_hangs_up(proxied: Proxied, path: str, share: float) -> None:
    chat = f"hang up {path} {share}"
    question = user("Speak slowly: one two three four five six seven eight nine ten")
    whole = f"Reply to: {question['content']} (1 messages)"
    with httpx2.stream(
        "POST", f"{proxied.server.url}{path}", json=body(path, question, model="slow-0.05", stream=True),
        headers={"X-Infold-Chat": chat, "Authorization": f"Bearer {KEY}"}, timeout=30,
    ) as answer:  # fmt: skip
        got = b""
        for chunk in answer.iter_raw():
            got += chunk
            if b" Speak" in got:
                break
    (_, partial) = proxied.kept(chat, 2)[1]
    assert whole.startswith(partial)
    assert partial.startswith("Reply to: Speak")
    assert partial != whole
    assert "reply_cut" in proxied.events(chat)
    # The chat goes on, with what there was of the reply, or what of it has reached the client.
    said = {"role": "assistant", "content": partial[: int(share * len(partial))]}
    assert proxied.post(path, body(path, question, said, user("Go on")), X_Infold_Chat=chat).status_code == 200
    found = proxied.kept(chat, 4)
    assert found[:3] == [("user", question["content"]), ("assistant", partial), ("user", "Go on")]
    more = [question, said, user("Go on"), {"role": "assistant", "content": found[3][1]}, user("And on")]
    assert proxied.post(path, body(path, *more), X_Infold_Chat=chat).status_code == 200
    assert proxied.kept(chat, 6)[:4] == found
    assert [id for id in proxied.chats() if id.startswith(chat)] == [chat]


def test_a_client_that_hangs_up_before_the_answer(proxied: Proxied) -> None:
    with socket.create_connection(("127.0.0.1", int(proxied.server.url.rsplit(":", 1)[1]))) as raw:
        sent = json.dumps(body(CHAT, user("Gone"), model="wait-0.5")).encode()
        head = f"POST {CHAT} HTTP/1.1\r\nhost: localhost\r\nx-infold-chat: gone\r\ncontent-length: {len(sent)}\r\n\r\n"
        raw.sendall(head.encode() + sent)
        proxied.kept("gone", 1)
    assert proxied.post(CHAT, body(CHAT, user("Gone")), X_Infold_Chat="gone").status_code == 200
    found = proxied.kept("gone", 2)
    assert found[1] == ("assistant", "Reply to: Gone (1 messages)")


def test_a_client_that_hangs_up_in_the_midst_of_its_request(proxied: Proxied) -> None:
    before = proxied.chats()
    proxied.provider.forget()
    with socket.create_connection(("127.0.0.1", int(proxied.server.url.rsplit(":", 1)[1]))) as raw:
        raw.sendall(f"POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 500\r\n\r\n{{".encode())
    assert proxied.post(CHAT, body(CHAT, user("Next")), X_Infold_Chat="next").status_code == 200
    proxied.kept("next", 2)
    assert [id for id in proxied.chats() if id not in before] == ["next"]
    assert len(proxied.provider.requests()) == 1


# Upstreams that fail -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES])
def test_an_upstream_that_breaks_off(proxied: Proxied, path: str) -> None:
    chat = f"cut {path}"
    question = user("Break off, please")
    before = proxied.metric("infold_upstream_errors_total{api")
    with pytest.raises(httpx2.RemoteProtocolError), httpx2.stream(
        "POST", f"{proxied.server.url}{path}", json=body(path, question, model="cut-6", stream=True),
        headers={"X-Infold-Chat": chat}, timeout=30,
    ) as answer:  # fmt: skip
        assert answer.status_code == 200
        for _ in answer.iter_raw():
            pass
    (_, partial) = proxied.kept(chat, 2)[1]
    assert partial.startswith("Reply to:")
    assert len(partial) < len("Reply to: Break off, please (1 messages)")
    assert "reply_cut" in proxied.events(chat)
    assert proxied.metric("infold_upstream_errors_total{api") > before
    # Told again, it is another reply to the same question.
    assert proxied.post(path, body(path, question), X_Infold_Chat=chat).status_code == 200
    (branch,) = eventually(
        lambda: [id for id in proxied.chats() if id.startswith(f"{chat}~")], lambda ids: len(ids) > 0
    )
    assert proxied.kept(branch, 2)[1] == ("assistant", "Reply to: Break off, please (1 messages)")


def test_an_upstream_that_takes_too_long(proxied: Proxied) -> None:
    began = time.monotonic()
    answer = proxied.post(CHAT, body(CHAT, user("Late"), model="wait-20"), X_Infold_Chat="late")
    problem(answer, 504, "upstream_timeout")
    assert time.monotonic() - began < 10
    # Too long between two words: the client sees it break, and has what came before.
    with pytest.raises(httpx2.RemoteProtocolError), httpx2.stream(
        "POST", f"{proxied.server.url}{CHAT}", json=body(CHAT, user("Late"), model="slow-20", stream=True),
        headers={"X-Infold-Chat": "late"}, timeout=30,
    ) as answer:  # fmt: skip
        list(answer.iter_raw())
    assert proxied.post(CHAT, body(CHAT, user("Late")), X_Infold_Chat="late").status_code == 200
    assert proxied.kept("late", 2) == [("user", "Late"), ("assistant", "Reply to: Late (1 messages)")]


def test_an_upstream_that_says_nothing_after_its_head_or_rubbish(tmp_path: Path) -> None:
    """A server that is none: it accepts, and answers with what it was told to."""
    answers = [
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n",  # and then nothing
        b"this is not HTTP\r\n\r\n",
        b"",
        b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"choices',
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n",
    ]

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        at = int(head.lower().partition(b"x-answer: ")[2].split(b"\r\n")[0])
        writer.write(answers[at])
        await writer.drain()
        if at == 0:
            await reader.read()  # until the other side has had enough
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    async def talk() -> None:
        rubbish = await asyncio.start_server(served, "127.0.0.1", 0)
        port = rubbish.sockets[0].getsockname()[1]
        async with rubbish, httpx2.AsyncClient(timeout=30) as client:
            with start_server(tmp_path, upstream=f"http://127.0.0.1:{port}", upstream_timeout=1) as running:

                async def ask(at: int) -> httpx2.Response:
                    return await client.post(
                        f"{running.url}{CHAT}", json=body(CHAT, user("Rubbish")),
                        headers={"X-Answer": str(at), "X-Infold-Chat": "rubbish"},
                    )  # fmt: skip

                problem(await ask(0), 504, "upstream_timeout")
                problem(await ask(1), 502, "upstream_broken")
                problem(await ask(2), 502, "upstream_unreachable")
                answer = await ask(3)
                assert (answer.status_code, answer.content) == (200, b'{"choices')
                assert (await ask(4)).status_code == 204
                answer = await ask(5)
                assert (answer.status_code, answer.headers["location"]) == (302, "http://127.0.0.1:9/")
                kept = await client.get(f"{running.url}/v1/chats/rubbish/messages")
                assert [row["message"]["content"] for row in kept.json()["items"]] == ["Rubbish"]

    asyncio.run(talk())


def test_an_upstream_that_is_down(tmp_path: Path) -> None:
    with start_server(tmp_path, upstream=f"http://127.0.0.1:{free_port()}/v1") as running, running.client() as api:
        for path in (CHAT, RESPONSES, MESSAGES):
            told = problem(api.post(path, json=body(path, user("Anybody?"))), 502, "upstream_unreachable")
            assert "127.0.0.1" not in told["detail"]
        problem(api.get("/v1/models"), 502, "upstream_unreachable")


def test_what_takes_long_to_load_is_loaded_before_the_service_is_ready(tmp_path: Path) -> None:
    """Or the first request would take too long, and go without memory."""
    asked = "from infold.service.app import create_app\nfrom infold.service.settings import ServiceSettings\n"
    asked += "from starlette.testclient import TestClient\nfrom infold import tokens\n"
    asked += "with TestClient(create_app(ServiceSettings(database='sqlite://'))):\n"
    asked += "    print(tokens._load_encoding.cache_info().currsize)"
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert told.stdout == "1\n"


def test_a_server_that_was_killed(tmp_path: Path) -> None:
    """The client sends everything again to the next one, and nothing is lost or there twice."""
    history = [user("Before the end")]
    with start_proxied(tmp_path, memory_timeout=30) as proxied:
        answer = proxied.post(CHAT, body(CHAT, *history), X_Infold_Chat="killed").json()
        proxied.server.process.send_signal(signal.SIGKILL)
        proxied.server.process.wait()
    history += [{"role": "assistant", "content": answer["choices"][0]["message"]["content"]}, user("After it")]
    with start_proxied(tmp_path, memory_timeout=30) as proxied:
        proxied.post(CHAT, body(CHAT, *history), X_Infold_Chat="killed")
        assert proxied.kept("killed", 4)[:3] == [(one["role"], one["content"]) for one in history]
        assert proxied.chats() == ["killed"]
        proxied.sound()
