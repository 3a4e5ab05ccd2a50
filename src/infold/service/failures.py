"""Requests that went without memory: an event in their chat, as soon as that can be written to, or is there."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from infold.errors import DatabaseBusyError, InfoldError
from infold.ledger.prefixes import called
from infold.service.breaker import PAUSE
from infold.service.matching import longest
from infold.service.wire import prefixes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from infold.memory import Memory
    from infold.messages import Message
    from infold.service.core import Service
    from infold.service.reconcile import Caller
    from infold.service.wire import Asked

log = logging.getLogger("infold")

_MOST = 256  # chats that are still to be told of a failure
_MOST_REPLIES = 1000  # by which one of them is found

_Key = tuple[str, str, bytes]


@dataclass(frozen=True, slots=True)
class _Failure:
    scope: str
    chat: str | None
    """The chat's name, where it is known."""
    replies: tuple[bytes, ...]
    """What else it can be found by."""
    why: str


class Failures:
    """What chats are still to be told. For one event loop."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._untold: dict[_Key, _Failure] = {}
        self._unborn: dict[_Key, _Failure] = {}
        """Those of chats that are not there: they begin with a later request, which brings along what is missing."""
        self._telling: asyncio.Task[None] | None = None

    def add(self, tenant: str, caller: Caller, asked: Asked | None, why: str) -> None:
        """Have an event written for a request that went without memory; `asked` is as much of it as could be read."""
        key = _key(tenant, caller, asked.messages if asked else ())
        if len(self._untold) < _MOST:
            self._untold.setdefault(key, _Failure(caller.scope, caller.chat, _known_by(asked) if asked else (), why))
        self._tell()

    def begun(self, tenant: str, caller: Caller, messages: Sequence[Message], chat: str) -> None:
        """A request has its chat: if it is one that was not there before, it is told now."""
        if self._unborn and (failure := self._unborn.pop(_key(tenant, caller, messages), None)):
            self._untold[_key(tenant, caller, messages)] = replace(failure, chat=chat)
            self._tell()

    def close(self) -> None:
        """Tell no more."""
        if self._telling is not None:
            self._telling.cancel()

    def _tell(self) -> None:
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._told())

    async def _told(self) -> None:
        """One after the other: they would only wait for each other."""
        while self._untold:
            key, failure = next(iter(self._untold.items()))
            memory = self._service.tenant(key[0])
            noted = True
            try:
                noted = await self._service.run(
                    _noted, memory, failure.scope, failure.chat, failure.replies, failure.why
                )
            except DatabaseBusyError:
                await asyncio.sleep(PAUSE)
                continue
            except InfoldError:  # the chat cannot be written to at all
                log.debug("a failure was not noted", exc_info=True)
            del self._untold[key]
            if not noted and len(self._unborn) < _MOST:
                self._unborn[key] = failure


def _known_by(asked: Asked) -> tuple[bytes, ...]:
    """The digests by which the chat of a request can be found, the best one last."""
    if asked.previous is not None:
        return (called(asked.previous),)
    pairs = zip(asked.messages, prefixes(asked.messages), strict=True)
    return tuple(digest for message, digest in pairs if message.role == "assistant")[-_MOST_REPLIES:]


def _noted(memory: Memory, scope: str, id: str | None, digests: Sequence[bytes], why: str) -> bool:
    """An event for a request that went without memory, in the chat that it goes on with. False where there is none yet."""
    with memory.database.read() as connection:
        _, found = longest(connection, scope, digests)
    id = max(found, key=lambda at: at.key).id if found else id
    chat = memory.find(id) if id is not None else None
    if chat is not None:
        with chat.writing() as (connection, _):
            event = chat.record(connection, "memory_failed", {"error": why})
        memory.emit([event])
    return chat is not None


def _key(tenant: str, caller: Caller, messages: Sequence[Message]) -> _Key:
    """What a chat is told by before it has a reply: whose it is, and how it begins."""
    if caller.chat is not None:
        return tenant, caller.scope, b""
    first = next((at for at, message in enumerate(messages) if message.role == "assistant"), len(messages))
    return tenant, caller.scope, prefixes(messages[:first])[-1] if first else b""
