"""The feed: wakes whoever waits for events, in this process at once, of other processes within half a second."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from infold.errors import InfoldError
from infold.ledger import service as statements

if TYPE_CHECKING:
    from infold.service.core import Service

log = logging.getLogger("infold")

POLL = 0.5
"""Seconds between two looks into the database, while anybody waits."""


class Feed:
    """One look into the database for all who wait, however many they are."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._waiting: set[asyncio.Event] = set()
        self._wanted = asyncio.Event()
        self.closing = False

    def open(self, service: Service) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._watch(service))

    def end(self) -> None:
        """Let all streams come to their end: the service is about to stop."""
        self.closing = True
        self._wake()

    async def close(self) -> None:
        self.end()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def wake(self) -> None:
        """Something happened; may be called from any thread."""
        if self._loop is not None and self._waiting:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._wake)

    @contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """An event that is set whenever something may have happened; whoever listens clears it before looking."""
        event = asyncio.Event()
        self._waiting.add(event)
        self._wanted.set()
        try:
            yield event
        finally:
            self._waiting.discard(event)

    def _wake(self) -> None:
        for event in self._waiting:
            event.set()

    async def _watch(self, service: Service) -> None:
        def look() -> dict[int, int]:
            with service.memory.database.read() as connection:
                return statements.moving(connection)

        last: dict[int, int] = {}
        while True:
            if not self._waiting:
                self._wanted.clear()
                await self._wanted.wait()
            try:
                now = await service.run(look)
            except InfoldError:  # the database is away: it may come back
                log.warning("the feed of events cannot read the database; it tries again")
                now = last
            if now != last:
                last = now
                self._wake()
            await asyncio.sleep(POLL)
