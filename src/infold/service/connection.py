"""A client's connection: requests that never begin, begin without end, or are no HTTP end it."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from infold.service.problems import MEDIA_TYPE, Problem


class Connection(HttpToolsProtocol):
    """Uvicorn's, which would wait for the head of a request as long as somebody likes, and keep however much of it comes."""

    HEAD_TIMEOUT = 30.0
    """Seconds from a connection's beginning, or a request's first byte, to the end of its head."""
    MOST_HEAD = 65_536
    """Bytes of a head."""

    _waiting: asyncio.TimerHandle | None = None
    _heads = 0
    _size = 0
    """Bytes that have come since the last head that is complete, where no body is expected."""
    _in_body = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        heads, in_body = self._heads, self._in_body
        super().data_received(data)
        if self._in_body or heads != self._heads or in_body or self.transport.is_closing():
            self._size = 0
            return
        self._size += len(data)
        if self._size > self.MOST_HEAD:
            told = f"the head of the request is larger than {self.MOST_HEAD:,} bytes; send less"
            self._refuse(Problem(431, "too_large", told))
        elif self._waiting is None:
            self._wait()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        self._heads += 1
        self._in_body = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(Problem(400, "bad_request", "this is no HTTP request" if msg.startswith("Invalid") else msg))

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self.HEAD_TIMEOUT, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        if self._answers():  # it said what comes next before it has heard all
            self._wait()
        elif self._size:
            told = f"the head of the request did not come within {self.HEAD_TIMEOUT:g} s"
            self._refuse(Problem(408, "too_slow", told))
        else:
            self.transport.close()

    def _answers(self) -> bool:
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def _refuse(self, problem: Problem) -> None:
        """Answer what is no request, unless another is being answered, and end the connection."""
        if not self._answers():
            response = problem.response()
            head = [
                f"HTTP/1.1 {response.status_code} {HTTPStatus(response.status_code).phrase}",
                f"content-type: {MEDIA_TYPE}",
                f"content-length: {len(response.body)}",
                "connection: close",
            ]
            self.transport.write("\r\n".join([*head, "", ""]).encode() + bytes(response.body))
        self.transport.close()
