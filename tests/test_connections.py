"""Connections on which no request begins, or one that has no end, or is none."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
import uvicorn

from infold.service.app import create_app
from infold.service.connection import Connection
from infold.service.server import Server
from infold.service.settings import ServiceSettings
from tests.proxied import eventually

HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server in a thread of this process, with little patience."""
    with pytest.MonkeyPatch.context() as patch, socket.socket() as listening:
        patch.setattr(Connection, "HEAD_TIMEOUT", 0.5)
        listening.bind(("127.0.0.1", 0))
        app = create_app(ServiceSettings(database=f"sqlite:///{tmp_path_factory.mktemp('connections') / 'a.db'}"))
        server = Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=5), app)
        running = threading.Thread(target=server.run, args=([listening],))
        running.start()
        try:
            eventually(lambda: server.started, bool)
            yield int(listening.getsockname()[1])
        finally:
            server.should_exit = True
            running.join(30)


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with closing(socket.create_connection(("127.0.0.1", port), timeout=20)) as connection:
        yield connection


def to_the_end(connection: socket.socket) -> bytes:
    """Everything until the server ends the connection."""
    found = b""
    while piece := connection.recv(65_536):
        found += piece
    return found


def refused(answer: bytes) -> tuple[str, Any]:
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *fields = head.decode().split("\r\n")
    assert "content-type: application/problem+json" in fields
    assert f"content-length: {len(body)}" in fields
    assert "connection: close" in fields
    return status, json.loads(body)["code"]


def answered(connection: socket.socket) -> bytes:
    found = connection.recv(65_536)
    while b'"status"' not in found:
        found += connection.recv(65_536)
    return found


def test_a_connection_that_says_nothing_is_ended(port: int) -> None:
    with connected(port) as connection:
        assert to_the_end(connection) == b""


@pytest.mark.parametrize("before", [0, 1])
def test_a_request_that_does_not_go_on_is_too_slow(port: int, before: int) -> None:
    with connected(port) as connection:
        for _ in range(before):
            connection.sendall(HEAD + b"\r\n")
            assert answered(connection).startswith(b"HTTP/1.1 200")
        connection.sendall(HEAD)
        assert refused(to_the_end(connection)) == ("HTTP/1.1 408 Request Timeout", "too_slow")


def test_a_head_that_comes_in_pieces_is_waited_for(port: int) -> None:
    with connected(port) as connection:
        for _ in range(3):
            for piece in (HEAD[:9], HEAD[9:], b"X-More: 1\r\n", b"\r\n"):
                connection.sendall(piece)
            assert answered(connection).startswith(b"HTTP/1.1 200")


def test_a_body_may_take_longer_than_a_head(port: int) -> None:
    body = b'{"role": "user", "content": "' + b"a" * 100_000 + b'"}'
    head = f"POST /v1/chats/slow/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    with connected(port) as waiting, connected(port) as connection:
        connection.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body[:70_000])
        assert to_the_end(waiting) == b""  # so long
        connection.sendall(body[70_000:])
        assert connection.recv(65_536).startswith(b"HTTP/1.1 201")


def test_a_head_without_end_is_too_large(port: int) -> None:
    head = HEAD + b"X-More: " + b"a" * (Connection.MOST_HEAD + 1)
    with connected(port) as connection:
        connection.sendall(head[: Connection.MOST_HEAD + 1])  # more would make the answer be lost with the connection
        assert refused(to_the_end(connection)) == ("HTTP/1.1 431 Request Header Fields Too Large", "too_large")


@pytest.mark.parametrize("said", [b"rubbish\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00"])
def test_what_is_no_http_is_refused(port: int, said: bytes) -> None:
    with connected(port) as connection:
        connection.sendall(said)
        assert refused(to_the_end(connection)) == ("HTTP/1.1 400 Bad Request", "bad_request")
