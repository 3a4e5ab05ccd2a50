"""What passes the proxy unchanged: bodies byte for byte, headers, errors; and what never passes it: keys that are ours."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from infold import Memory
from infold.service.keys import create_key
from tests.provider import Provider
from tests.proxied import CHAT, KEY, MESSAGES, RESPONSES, Proxied, named, start_proxied
from tests.servers import problem

ODD = [
    b'{"model": "echo",   "messages":[ {"content" :"a\\u00e9\\/b" ,"role":"user"} ] , "zz":1.50, "user":"\xc3\xa9"}',
    b'\n\t{"messages":[{"role":"user","content":"twice"}],"model":"error-500","model":"echo"}\r\n ',
    b'{"model":"echo","messages":[{"role":"user","content":"x","unknown":{"b":1,"a":[null,true]}}],"odd":{"z":1,"a":2}}',
    b'{"model":"echo","messages":[{"role":"user","content":"\\ud83d\\ude00 \\u0041"}],"seed":10000000000000000000000}',
    b'{"model":"echo","messages":[{"role":"user","content":"n"}],"temperature":1e-7,"top_p":0.10000000000000000001}',
    b'{"model":"echo","messages":[{"role":"user","content":"half \\ud83d"}]}',
    b'{"model":"echo","messages":[]}',
    b'{"model":"echo","messages":[{"role":"user","content":"n"}],"x":NaN}',
    b'\xef\xbb\xbf{"model":"echo","messages":[{"role":"user","content":"mark"}]}',
    b'{"model":"echo","messages":[{"role":"user","content":"\xff"}]}',
    b"",
    b"null",
    b"[1, 2",
]


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    with start_proxied(tmp_path_factory.mktemp("bytes"), context_window=2000, memory_timeout=30) as started:
        yield started
        started.sound()


@pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES])
def test_bodies_arrive_byte_for_byte(proxied: Proxied, path: str) -> None:
    for body in ODD:
        if path == RESPONSES:
            body = body.replace(b'"messages"', b'"input"')
        through = proxied.post(path, body)
        sent = proxied.last_sent()
        straight = proxied.direct.post(path, body)
        assert sent["raw"].encode("latin-1") == body
        assert (through.status_code, through.content) == (straight.status_code, straight.content)
        assert int(sent["headers"].get("content-length", 0)) == len(body)


@pytest.mark.parametrize("number", ["1e400", "NaN"])
def test_what_no_json_can_say_is_not_written_anew(proxied: Proxied, number: str) -> None:
    """Memory would be needed here; but only the client's own bytes say what it means."""
    messages = [{"role": ("user", "assistant")[n % 2], "content": f"{number} {n} " * 60} for n in range(31)]
    sane = {"model": "echo", "messages": messages}
    assert proxied.post(CHAT, sane).status_code == 200
    assert len(proxied.last_sent()["body"]["messages"]) < 31
    body = json.dumps({**sane, "seed": 0}).replace('"seed": 0', f'"seed": {number}').encode()
    proxied.post(CHAT, body)
    assert proxied.last_sent()["raw"].encode("latin-1") == body


def test_a_chat_that_goes_on_arrives_byte_for_byte(proxied: Proxied) -> None:
    """Several turns; odd writing; no memory needed yet."""
    first = proxied.post(CHAT, b'{"model":"echo", "messages" : [{"role":"user","content":"one"}]}').json()
    reply = first["choices"][0]["message"]
    asked = [{"role": "user", "content": "one"}, reply, {"content": [{"type": "text", "text": "two"}], "role": "user"}]
    body = json.dumps({"messages": asked, "model": "echo", "odd": "é"}, indent=3).encode()
    proxied.post(CHAT, body)
    assert proxied.last_sent()["raw"].encode("latin-1") == body


def test_half_a_character_where_memory_is_needed(proxied: Proxied) -> None:
    """A field that no text encoding can write reaches the upstream as it was escaped, and memory is there."""
    history: list[dict[str, str]] = []
    failed = proxied.metric("infold_memory_failures_total")
    for number in range(12):
        history.append({"role": "user", "content": f"Question {number}: " + "word " * 150})
        body = json.dumps({"model": "echo", "messages": history, "metadata": {"half": "\ud83d"}}).encode()
        answer = proxied.post(CHAT, body, X_Infold_Chat="half")
        assert answer.status_code == 200
        history.append(answer.json()["choices"][0]["message"])
    sent = proxied.last_sent()["body"]
    assert sent["metadata"] == {"half": "\ud83d"}
    assert len(sent["messages"]) < len(history) - 1
    assert proxied.metric("infold_memory_failures_total") == failed
    proxied.kept("half", 24)


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503, 529])
def test_errors_come_back_unchanged(proxied: Proxied, status: int) -> None:
    body = {"model": f"error-{status}", "messages": [{"role": "user", "content": f"try {status}"}]}
    for stream in (False, True):
        through = proxied.post(CHAT, {**body, "stream": stream})
        straight = proxied.direct.post(CHAT, {**body, "stream": stream})
        assert (through.status_code, through.content) == (status, straight.content)
        assert _headers(through) == _headers(straight)
        assert through.headers["retry-after"] == "7"
        assert through.headers["x-request-id"] == "req_1"


def _headers(answer: httpx2.Response) -> list[tuple[str, str]]:
    """All headers, and each as often as it came; the clock goes on between two requests."""
    found = sorted(answer.headers.multi_items())
    assert [name for name, _ in found].count("date") == 1
    return [(name, value) for name, value in found if name != "date"]


def test_headers_of_an_answer_come_back_unchanged(proxied: Proxied) -> None:
    for model in ("echo", "html", "gzip"):
        body = {"model": model, "messages": [{"role": "user", "content": f"header {model}"}]}
        through, straight = proxied.direct.post(CHAT, body), proxied.post(CHAT, body)
        assert _headers(through) == _headers(straight)
        assert through.content == straight.content


def test_a_packed_answer_passes_as_it_is_and_is_kept(proxied: Proxied) -> None:
    body = {"model": "gzip", "messages": [{"role": "user", "content": "packed"}]}
    with httpx2.stream("POST", f"{proxied.server.url}{CHAT}", json=body, headers={"X-Infold-Chat": "gzip"}) as answer:
        packed = b"".join(answer.iter_raw())
    reply = json.loads(gzip.decompress(packed))["choices"][0]["message"]["content"]
    assert proxied.kept("gzip", 2) == [("user", "packed"), ("assistant", reply)]


def test_an_answer_that_is_no_reply_passes_and_is_not_kept(proxied: Proxied) -> None:
    body = {"model": "html", "messages": [{"role": "user", "content": "page"}]}
    answer = proxied.post(CHAT, body, X_Infold_Chat="html")
    assert answer.text == "<h1>It works</h1>"
    assert answer.headers["content-type"] == "text/html"
    assert proxied.kept("html", 1) == [("user", "page")]


def test_headers_of_a_request(proxied: Proxied) -> None:
    body = {"model": "echo", "messages": [{"role": "user", "content": "headers"}]}
    given = {
        "X_Infold_Chat": "headers", "X_Infold_User": "ann", "X_Infold_Odd": "1", "OpenAI_Organization": "org-1",
        "Idempotency_Key": "k", "User_Agent": "mine/1", "Accept": "application/json", "X_Stainless_Lang": "python",
    }  # fmt: skip
    proxied.post(f"{CHAT}?api-version=2024-10-21&x=%2F", body, **given)
    sent = proxied.last_sent()["headers"]
    assert not [name for name in sent if name.startswith("x-infold")]
    assert sent["authorization"] == f"Bearer {KEY}"
    assert sent["openai-organization"] == "org-1"
    assert sent["idempotency-key"] == "k"
    assert sent["user-agent"] == "mine/1"
    assert sent["x-stainless-lang"] == "python"
    assert sent["host"] == proxied.provider.root.removeprefix("http://")
    proxied.post(MESSAGES, body, x_api_key="sk-ant-blink_1", anthropic_version="2023-06-01")
    sent = proxied.last_sent()["headers"]
    assert (sent["x-api-key"], sent["anthropic-version"]) == ("sk-ant-blink_1", "2023-06-01")  # not one of ours


def test_nothing_is_added_to_the_headers_of_a_request(proxied: Proxied) -> None:
    """Not even where a client says hardly anything; and what is more than ASCII is not written anew."""
    content = json.dumps({"model": "echo", "messages": [{"role": "user", "content": "bare"}]}).encode()
    found = []
    for one in (proxied, proxied.direct):
        host, _, port = one.root.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=30) as raw:
            head = f"POST {CHAT} HTTP/1.1\r\nhost: {host}\r\nx-title: é\r\nx-two: 1\r\nx-two: 2\r\n"
            raw.sendall(f"{head}content-length: {len(content)}\r\nconnection: close\r\n\r\n".encode() + content)
            while raw.recv(65536):
                pass
        sent = proxied.last_sent()["headers"]
        found.append({name: sent[name] for name in sent if name not in ("host", "connection", "accept-encoding")})
    assert found[0] == found[1]
    assert found[0]["x-title"].encode("latin-1").decode() == "é"


def test_an_upstream_is_never_chosen_by_the_request(proxied: Proxied) -> None:
    body = {"model": "echo", "messages": [{"role": "user", "content": "x"}], "base_url": "http://127.0.0.1:9/v1"}
    for headers in ({"host": "127.0.0.1:9"}, {"X_Infold_Upstream": "http://127.0.0.1:9"}, {"Forwarded": "host=x"}):
        assert proxied.post(CHAT, body, **headers).status_code == 200


# Keys --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("keys")
    with Memory(f"sqlite:///{folder / 'service.db'}") as memory:
        return folder, create_key(memory, "acme", "admin")[0]


BODY = {"model": "echo", "max_tokens": 10, "messages": [{"role": "user", "content": "whose key?"}]}


def test_where_the_server_holds_the_key(key: tuple[Path, str]) -> None:
    folder, ours = key
    with start_proxied(folder, ours, upstream_key="sk-of-the-server") as proxied:
        with proxied.openai(key=ours) as client:
            client.chat.completions.create(model="echo", messages=[{"role": "user", "content": "bearer"}])
        sent = proxied.last_sent()
        assert sent["headers"]["authorization"] == "Bearer sk-of-the-server"
        assert ours not in str(sent)
        with proxied.anthropic(key=ours) as client:
            client.messages.create(model="echo", max_tokens=10, messages=[{"role": "user", "content": "x-api-key"}])
        sent = proxied.last_sent()
        assert sent["headers"]["x-api-key"] == "sk-of-the-server"
        assert "authorization" not in sent["headers"]
        assert ours not in str(sent)
        proxied.provider.forget()
        problem(proxied.post(CHAT, BODY), 401, "unauthorized")  # the client's own key opens nothing here
        problem(proxied.post(MESSAGES, BODY, authorization="", x_api_key="sk-ant-1"), 401, "unauthorized")
        problem(proxied.post(MESSAGES, BODY, authorization="", x_api_key="ink_wrong"), 401, "unauthorized")
        assert proxied.provider.requests() == []


def test_F9_a_key_goes_to_its_own_provider_only(tmp_path: Path) -> None:
    with Provider() as other:
        apart: dict[str, Any] = {"upstream_key": "sk-openai", "anthropic_upstream": other.url}
        for key in ("sk-anthropic", None):
            with start_proxied(tmp_path, anthropic_upstream_key=key, **apart) as proxied:
                given = {"anthropic_version": "2023-06-01", "authorization": "", "x_api_key": "sk-of-the-client"}
                assert proxied.post(MESSAGES, BODY, **given).status_code == 200
                models = proxied.api.get("/v1/models", headers=named(given))
                assert models.status_code == 200
                assert proxied.provider.requests() == []
                sent = other.requests()[-2:]
                assert [one["headers"]["x-api-key"] for one in sent] == [key or "sk-of-the-client"] * 2
                assert "sk-openai" not in str(sent)
                assert proxied.post(CHAT, BODY).status_code == 200
                assert proxied.api.get("/v1/models").status_code == 200
                sent = proxied.provider.requests()
                assert [one["headers"]["authorization"] for one in sent] == ["Bearer sk-openai"] * 2
                assert "sk-anthropic" not in str(sent)


def test_where_the_client_holds_the_key(key: tuple[Path, str]) -> None:
    folder, ours = key
    with start_proxied(folder, ours) as proxied:
        assert proxied.post(CHAT, BODY, X_Infold_Key=ours).status_code == 200
        sent = proxied.last_sent()
        assert sent["headers"]["authorization"] == f"Bearer {KEY}"
        assert ours not in str(sent)
        # Ours in the place of the provider's goes no further, and the provider says what it thinks of that.
        assert proxied.post(CHAT, BODY, authorization=f"Bearer {ours}").status_code == 200
        sent = proxied.last_sent()
        assert "authorization" not in sent["headers"]
        assert ours not in str(sent)
        assert proxied.post(MESSAGES, BODY, x_api_key=ours).status_code == 200
        sent = proxied.last_sent()
        assert sent["headers"]["authorization"] == f"Bearer {KEY}"
        assert "x-api-key" not in sent["headers"]
        problem(proxied.post(CHAT, BODY), 401, "unauthorized")
        problem(proxied.post(CHAT, BODY, X_Infold_Key="ink_wrong"), 401, "unauthorized")
