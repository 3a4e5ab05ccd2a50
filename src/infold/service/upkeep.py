"""What a server on a SQLite file does by itself: it goes on where it was stopped, and lets old messages go."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from infold.ledger import jobs

if TYPE_CHECKING:
    from infold.memory import Memory
    from infold.service.core import Service
    from infold.service.settings import ServiceSettings

log = logging.getLogger("infold")


def compact(memory: Memory, settings: ServiceSettings) -> None:
    """`memory.compact`: let old messages go, as the settings say, of every tenant."""
    for tenant in memory.tenants():
        done = memory.tenant(tenant).compact(days=settings.retention_days, mode=settings.retention)
        counts = {"messages": done.messages, "failed": done.failed}
        log.info(
            "retention: %d messages; chats that failed: %d", *counts.values(), extra={"event": jobs.COMPACT, **counts}
        )


def resume(memory: Memory) -> int:
    """Open every chat where something was left to do: the background goes on with it. How many there are."""
    found, after = 0, 0
    while True:
        with memory.database.read() as connection:
            some = jobs.due(connection, models=memory.written, now=memory.clockwork.now(), after=after)
        for tenant, chat, _ in some:
            opened = memory.tenant(tenant).find(chat)
            if opened is not None:
                opened.resume()
        if not some:
            return found
        found, after = found + len(some), some[-1][2]


async def upkeep(service: Service) -> None:
    """Both, as long as the server runs."""
    settings = service.settings
    try:
        await service.run_slowly(resume, service.memory)
    except Exception as error:
        log.warning("chats that were left undone wait until they are used: %s", type(error).__name__)
    while settings.retention != "keep":
        try:
            await service.run_slowly(compact, service.memory, settings)
        except Exception as error:
            log.warning("retention failed (%s); it is tried again", type(error).__name__)
        await asyncio.sleep(settings.compact_every)
