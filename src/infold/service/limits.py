"""Limits per key: request rate, size of bodies, concurrent streams."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.types import Message, Receive, Scope

from infold.service.problems import Problem

_MOST_KEYS = 10_000
BODY_TIMEOUT = 30.0
"""Seconds to wait for the next piece of a body."""


class Limits:
    """What each key has used lately."""

    def __init__(self, rate: float, streams: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = max(1.0, 2 * rate)
        self._streams = streams
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._open: dict[str, int] = {}

    def take(self, owner: str) -> None:
        """Count a request; too many in a short time are refused. Bursts of two seconds' worth are not."""
        if not self._rate:
            return
        now = self._clock()
        left, at = self._buckets.pop(owner, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._rate)
        if left < 1:
            self._buckets[owner] = (left, now)
            wait = max(1, round((1 - left) / self._rate + 0.5))
            raise Problem(
                429,
                "rate_limited",
                f"more than {self._rate:g} requests a second; try again in {wait} s",
                headers={"Retry-After": str(wait)},
            )
        self._buckets[owner] = (left - 1, now)
        if len(self._buckets) > _MOST_KEYS:
            self._buckets.popitem(last=False)

    @contextmanager
    def stream(self, owner: str) -> Iterator[None]:
        """One of the streams that a key may hold open at once."""
        if self._open.get(owner, 0) >= self._streams:
            raise Problem(
                429,
                "too_many_streams",
                f"this key has {self._streams} streams open already; close one first",
                headers={"Retry-After": "5"},
            )
        self._open[owner] = self._open.get(owner, 0) + 1
        try:
            yield
        finally:
            self._open[owner] -= 1
            if not self._open[owner]:
                del self._open[owner]


def bounded(scope: Scope, receive: Receive, most: int) -> Receive:
    """A body that ends with a problem where it is larger than `most` bytes, whatever its header says."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value) > most:
            raise too_large(most)
    size, whole = 0, False

    async def counted() -> Message:
        nonlocal size, whole
        if whole:  # what comes now is that the client has gone, whenever that is
            return await receive()
        try:
            async with asyncio.timeout(BODY_TIMEOUT):
                message = await receive()
        except TimeoutError:
            raise Problem(408, "too_slow", f"no more of the body came for {BODY_TIMEOUT:g} s") from None
        size += len(message.get("body", b""))
        if size > most:
            raise too_large(most)
        whole = not message.get("more_body")
        return message

    return counted


def too_large(most: int) -> Problem:
    """The problem of a body that is too large."""
    return Problem(413, "too_large", f"the body is larger than {most:,} bytes; send less at once")
