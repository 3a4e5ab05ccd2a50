"""What happens to a chat: as pages, and live as server-sent events."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Annotated, Any

from fastapi import Header
from starlette.datastructures import Headers
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from infold.chat import Chat
from infold.errors import DatabaseError, NotFoundError
from infold.ledger import service as statements
from infold.ledger.rows import ChatRow, Event
from infold.service.api import answers, shown
from infold.service.api.common import ChatId, Cursor, Limit, Reads, answer, cursor_of, page, position_of, router
from infold.service.core import Desk
from infold.service.gate import known
from infold.service.keys import given_key
from infold.service.problems import Problem

routes = router("events")
HEARTBEAT = 15.0
"""Seconds without an event after which a comment is sent, so that nobody takes the stream for dead."""
_BATCH = 500
_ID = re.compile(r"([0-9]{1,18})-([0-9]{1,18})|0")  # more digits fit no database


@routes.get("/v1/chats/{chat_id:id}/events", response_model=answers.Page[answers.Event])
async def list_events(chat_id: ChatId, desk: Reads, cursor: Cursor = None, limit: Limit = 100) -> Response:
    """What happened to a chat, oldest first."""

    def work(chat: Chat) -> dict[str, Any]:
        with chat.reading() as (connection, state):
            what = f"events {state.row.life} {chat_id}"
            found = statements.events_after(connection, state.row, position_of(what, cursor) or 0, limit + 1)
            more = cursor_of(what, found[limit - 1][0]) if len(found) > limit else None
            return page([_shown(state.row, *one) for one in found[:limit]], more)

    return answer(await desk.with_chat(chat_id, work))


@routes.get(
    "/v1/chats/{chat_id:id}/events/stream",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Server-sent events: `id`, `event` (its type) and `data` (the event as JSON).",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        }
    },
)
async def stream_events(
    chat_id: ChatId,
    desk: Reads,
    last_event_id: Annotated[
        str | None, Header(description="Begin after this event; 0 replays all. Without it, only what is new.")
    ] = None,
) -> Response:
    """What happens to a chat, as it happens. Ends when the chat is deleted, the key revoked, the
    database away or the service stopped: connect again."""
    last = None if last_event_id is None else _ID.fullmatch(last_event_id)
    if last is None and last_event_id is not None:
        raise Problem(400, "bad_event_id", "Last-Event-ID is the id of an event of this chat, or 0")
    life, newest = await desk.with_chat(chat_id, _newest)
    after = newest
    if last is not None:  # what was heard of an earlier chat of this name, or is in no backup, is not of this one
        heard, key = int(last[1] or 0), int(last[2] or 0)
        after = key if heard == life and key <= newest else 0
    return _Stream(desk, chat_id, life, after)


class _Stream(StreamingResponse):
    """Holds one of the key's streams, and listens to the feed, as long as it is sent."""

    def __init__(self, desk: Desk, chat_id: str, life: int, after: int) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__((), 200, headers, "text/event-stream")
        self._desk = desk
        self._chat_id = chat_id
        self._life = life
        self._after = after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service = self._desk.service
        with service.limits.stream(self._desk.principal.id), service.feed.listening() as changed:
            async with aclosing(self._events(changed, given_key(Headers(scope=scope)))) as events:
                self.body_iterator = events
                await super().__call__(scope, receive, send)

    async def _events(self, changed: asyncio.Event, key: str | None) -> AsyncGenerator[bytes]:
        service, after = self._desk.service, self._after
        yield b"retry: 1000\n\n"
        while not service.feed.closing:
            changed.clear()
            try:
                if await known(service, key) is None:  # it was revoked
                    return
                found = await self._desk.with_chat(self._chat_id, partial(self._next, after=after))
            except (Problem, NotFoundError, DatabaseError):  # it was deleted, or the database is away: connect again
                return
            for number, event in found:
                data = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
                yield f"id: {event['id']}\nevent: {event['type']}\ndata: {data}\n\n".encode()
                after = number
            if len(found) == _BATCH:
                continue
            try:
                await asyncio.wait_for(changed.wait(), HEARTBEAT)
            except TimeoutError:
                yield b": still here\n\n"

    def _next(self, chat: Chat, after: int) -> list[tuple[int, dict[str, Any]]]:
        with chat.reading() as (connection, state):
            if state.row.life != self._life:
                raise NotFoundError(f"chat {chat.id!r} was deleted, and made anew")
            found = statements.events_after(connection, state.row, after, _BATCH)
            return [(key, _shown(state.row, key, event)) for key, event in found]


def _newest(chat: Chat) -> tuple[int, int]:
    with chat.reading() as (connection, state):
        return state.row.life, statements.last_event(connection, state.row)


def _shown(row: ChatRow, key: int, event: Event) -> dict[str, Any]:
    # SQLite counts from where it was again when a chat is deleted.
    return shown.event(f"{row.life}-{key}", event)
