"""How a worker hears of jobs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pgqueuer.adapters.drivers.asyncpg import AsyncpgPoolDriver

if TYPE_CHECKING:
    from asyncpg.pool import Pool
    from pgqueuer.ports.driver import NotifyCallback


class ListeningDriver(AsyncpgPoolDriver):
    """A driver that sends nothing before it listens.

    The queue probes its own listener from the start, and may do so before there is one: it then waits ten seconds for a
    notice that nobody heard, and takes its connection for lost.
    """

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self._listening = asyncio.Event()

    async def add_listener(self, channel: str, callback: NotifyCallback) -> None:
        """Listen, and let what waits for that go on."""
        await super().add_listener(channel, callback)
        self._listening.set()

    async def notify(self, channel: str, payload: str) -> None:
        """Send a notice, once somebody can hear it."""
        await self._listening.wait()
        await super().notify(channel, payload)
