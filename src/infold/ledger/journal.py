"""Statements for pins and events. Callers hold the transaction."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, delete, insert, select, text

from infold.ledger.query import Connection, Query, storable
from infold.ledger.rows import ChatRow, Event
from infold.ledger.schema import Key, events, pins
from infold.ledger.sealing import seal, whole
from infold.ledger.store import inserting, stamps
from infold.lines.kinds import PINNED
from infold.lines.line import PERSON, Line
from infold.lines.words import Word
from infold.messages import canonical_json

log = logging.getLogger("infold")
P = bindparam

_insert_pin = inserting(pins)
_pins = Query(
    select(pins.c.id, pins.c.text, pins.c.tokens, pins.c.created_at, pins.c.by, pins.c.seal, pins.c.key)
    .where(pins.c.chat == P("of"))
    .order_by(pins.c.key)
)
_delete_pin = Query(delete(pins).where(pins.c.chat == P("of"), pins.c.id == P("id")))
_insert_event = inserting(events)
_OF_PEOPLE = text("type IN ('corrected', 'retracted', 'confirmed')")
_words = Query(
    select(events.c.key, events.c.type, events.c.created_at, events.c.data)
    .where(events.c.chat == P("of"), _OF_PEOPLE)
    .order_by(events.c.key)
)
_delete_event = Query(delete(events).where(events.c.key == P("of")))
_copy_words = Query(
    insert(events).from_select(
        ["chat", "type", "created_at", "data"],
        select(P("to", type_=Key), events.c.type, events.c.created_at, events.c.data)
        .where(events.c.chat == P("of"), _OF_PEOPLE)
        .order_by(events.c.key),
    )
)
_events = Query(
    select(events.c.key, events.c.type, events.c.created_at, events.c.data)
    .where(events.c.chat == P("of"))
    .order_by(events.c.key)
)


def insert_pin(connection: Connection, key: int, id: str, text: str, tokens: int, created_at: int, by: str) -> None:
    sealed = seal((id, text, tokens, created_at, by))
    _insert_pin(connection, chat=key, id=id, text=text, tokens=tokens, created_at=created_at, by=by, seal=sealed)


def all_pins(connection: Connection, key: int, chat: str) -> tuple[Line, ...]:
    """The pins of a chat; a damaged one is left out, with a warning."""
    found: list[Line] = []
    for row, pin in _read_pins(connection, key):
        if pin is None:
            log.warning("table pins, row %s of chat %s is damaged; it is left out until it is pinned again", row, chat)
        else:
            found.append(pin)
    return tuple(found)


def pin_texts(connection: Connection, key: int) -> dict[str, str]:
    """The texts of a chat's pins by their ids, those of damaged ones too."""
    return {row[0]: str(row[1]) for row in _pins(connection, of=key)}


def damaged_pins(connection: Connection, key: int) -> list[int]:
    """The rows of a chat's pins that are not what was written."""
    return [row for row, pin in _read_pins(connection, key) if pin is None]


def _read_pins(connection: Connection, key: int) -> list[tuple[int, Line | None]]:
    return [(key, _pin(row, sealed)) for *row, sealed, key in _pins(connection, of=key)]


def _pin(row: Sequence[Any], sealed: int | None) -> Line | None:
    id, text, tokens, at, by = row
    if not isinstance(text, str) or not isinstance(tokens, int) or not whole(row, sealed):
        return None
    role = "user" if by == "user" else "system"
    return Line(
        id, PINNED, text, (), PINNED, tokens=tokens, quote=text, role=role, said_by=by, said_at=at, author=PERSON
    )


def delete_pin(connection: Connection, key: int, id: str) -> bool:
    return storable(id) and _delete_pin(connection, of=key, id=id).rowcount == 1


def insert_event(connection: Connection, key: int, event: Event) -> None:
    _insert_event(connection, chat=key, type=event.type, created_at=event.created_at, data=canonical_json(event.data))


def all_events(connection: Connection, row: ChatRow) -> list[Event]:
    """What happened to a chat; a damaged event is left out, with a warning."""
    return [event for key, *one in _events(connection, of=row.key) if (event := read_event(row, key, *one)) is not None]


def read_event(row: ChatRow, key: int, type: str, at: int, data: str) -> Event | None:
    """The event of a row of a chat; None, with a warning, where it is damaged."""
    told = event_data(data)
    if told is None:
        log.warning("table events, row %s of chat %s is damaged; it is left out", key, row.id)
        return None
    return Event(type, at, told, row.id)


def event_data(text: str) -> dict[str, Any] | None:
    """What an event tells; None where it cannot be read."""
    try:
        found = json.loads(text)
    except (ValueError, TypeError):
        return None
    return found if isinstance(found, dict) else None


def words(connection: Connection, row: ChatRow) -> list[tuple[int, Word]]:
    """What people said of lines, oldest first, with the keys of the events; not of lines whose messages have left the chat."""
    found: list[tuple[int, Word]] = []
    for key, how, at, data in _words(connection, of=row.key).fetchall():
        told = event_data(data)
        word = Word.read(how, at, told) if told is not None else None
        if word is None:
            log.warning("table events, row %s of chat %s is damaged; it is left out", key, row.id)
        else:
            found.append((key, word))
    seqs = sorted({seq for _, word in found for seq in word.line.sources})
    there = {id for id, _ in stamps(connection, row.key, seqs).values()} if seqs else set()
    return [(key, word) for key, word in found if there.issuperset(word.messages)]


def delete_event(connection: Connection, key: int) -> None:
    _delete_event(connection, of=key)


def copy_words(connection: Connection, key: int, to: int) -> None:
    """What people said of the lines of a chat holds in a branch of it, too."""
    _copy_words(connection, of=key, to=to)


def damaged_events(connection: Connection, key: int) -> list[int]:
    """The rows of a chat's events that cannot be read."""
    return [row[0] for row in _events(connection, of=key) if event_data(row[3]) is None]
