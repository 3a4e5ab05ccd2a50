"""Statements for pins and events. Callers hold the transaction."""

from __future__ import annotations

import json

from sqlalchemy import and_, bindparam, delete, select

from infold.ledger.query import Connection, Query, storable
from infold.ledger.rows import ChatRow, Event
from infold.ledger.schema import events, pins
from infold.ledger.store import inserting
from infold.lines.kinds import PINNED
from infold.lines.line import PERSON, Line
from infold.messages import canonical_json

P = bindparam

_insert_pin = inserting(pins)
_pins = Query(
    select(pins.c.id, pins.c.text, pins.c.tokens, pins.c.created_at, pins.c.by)
    .where(pins.c.chat == P("of"))
    .order_by(pins.c.key)
)
_delete_pin = Query(delete(pins).where(pins.c.chat == P("of"), pins.c.id == P("id")))
_insert_event = inserting(events)
_events = Query(
    select(events.c.type, events.c.created_at, events.c.data)
    .where(and_(events.c.chat == P("of")))
    .order_by(events.c.key)
)


def insert_pin(connection: Connection, key: int, id: str, text: str, tokens: int, created_at: int, by: str) -> None:
    _insert_pin(connection, chat=key, id=id, text=text, tokens=tokens, created_at=created_at, by=by)


def all_pins(connection: Connection, key: int) -> tuple[Line, ...]:
    return tuple(
        Line(
            id,
            PINNED,
            text,
            (),
            PINNED,
            tokens=tokens,
            quote=text,
            role="user" if by == "user" else "system",
            said_by=by,
            said_at=at,
            author=PERSON,
        )
        for id, text, tokens, at, by in _pins(connection, of=key)
    )


def delete_pin(connection: Connection, key: int, id: str) -> bool:
    return storable(id) and _delete_pin(connection, of=key, id=id).rowcount == 1


def insert_event(connection: Connection, key: int, event: Event) -> None:
    _insert_event(connection, chat=key, type=event.type, created_at=event.created_at, data=canonical_json(event.data))


def all_events(connection: Connection, row: ChatRow) -> list[Event]:
    return [Event(type, at, json.loads(data), row.id) for type, at, data in _events(connection, of=row.key)]
