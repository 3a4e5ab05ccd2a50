"""Statements for what people stated that lasts: the facts of chats and users. Made of messages; can be made again."""

from __future__ import annotations

import functools
import hashlib
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import bindparam, delete, insert, select

from infold.ledger import line_rows
from infold.ledger.archive import removed_seqs
from infold.ledger.mentions import Damaged
from infold.ledger.query import Connection, Query
from infold.ledger.schema import chats, stated
from infold.lines.line import Line

log = logging.getLogger("infold")
P = bindparam
_OURS = chats.c.tenant == P("tenant")
_BESIDE = ("seq",)

_COLUMNS = [*line_rows.columns(stated), stated.c.seq, stated.c.seal, stated.c.key, chats.c.id]
_joined = select(*_COLUMNS).join(chats, chats.c.key == stated.c.chat)
_insert = Query(insert(stated).values({c.name: P(c.name) for c in stated.c if c.name != "key"}))
_of_chat = Query(_joined.where(stated.c.chat == P("of")).order_by(stated.c.seq, stated.c.key))
_of_user = Query(
    _joined.where(_OURS, chats.c.user == P("of")).order_by(stated.c.said_at, chats.c.key, stated.c.seq, stated.c.key)
)
_latest_of_chat = Query(
    _joined.where(stated.c.chat == P("of")).order_by(stated.c.seq.desc(), stated.c.key.desc()).limit(P("most"))
)
_latest_of_user = Query(
    _joined.where(_OURS, chats.c.user == P("of"))
    .order_by(stated.c.said_at.desc(), chats.c.key.desc(), stated.c.seq.desc(), stated.c.key.desc())
    .limit(P("most"))
)
# What a removed message stated cannot be read again: what is known of it stays.
_after = Query(
    delete(stated).where(stated.c.chat == P("of"), stated.c.seq > P("after"), stated.c.seq.not_in(removed_seqs))
)
_sources = Query(select(stated.c.key, stated.c.seq, stated.c.sources).where(stated.c.chat == P("of")))
_one = Query(delete(stated).where(stated.c.key == P("of")))


def note(connection: Connection, key: int, said: Iterable[Line]) -> None:
    """Keep what was stated."""
    rows = [{"chat": key, "seq": max(line.sources), **line_rows.values(line)} for line in said]
    _insert.each(connection, [line_rows.sealed(row, _BESIDE) for row in rows])


def of_chat(connection: Connection, key: int) -> tuple[list[Line], list[Damaged]]:
    """What was stated in a chat, in order; and what is damaged."""
    return _read(_of_chat(connection, of=key))


def of_user(connection: Connection, user: str) -> tuple[list[Line], list[Damaged]]:
    """What was stated in all chats of a user, in order; and what is damaged."""
    return _read(_of_user(connection, of=user))


def latest_of_chat(connection: Connection, key: int, most: int) -> list[Line]:
    """What was stated last in a chat, in order."""
    return _read(reversed(_latest_of_chat(connection, of=key, most=most).fetchall()))[0]


def latest_of_user(connection: Connection, user: str, most: int) -> list[Line]:
    """What was stated last in all chats of a user, in order."""
    return _read(reversed(_latest_of_user(connection, of=user, most=most).fetchall()))[0]


def _read(rows: Iterable[Sequence[Any]]) -> tuple[list[Line], list[Damaged]]:
    found: list[Line] = []
    damaged: list[Damaged] = []
    for row in rows:
        seq, key, chat = row[-4], row[-2], row[-1]
        line = _line(tuple(row))
        if line is None:
            damaged.append((chat, seq))
            log.warning(
                "table stated, row %s of chat %s is damaged; it is left out until its message is read again", key, chat
            )
        else:
            found.append(line)
    return found, damaged


@functools.lru_cache(maxsize=4096)
def _line(row: tuple[Any, ...]) -> Line | None:
    """A row as a line: contexts ask for the newest rows again after every fold."""
    *evidence, seq, seal, _, chat = row
    line = line_rows.read(evidence, (seq,), seal)
    return replace(line, id=_id(chat, line), chat=chat) if line is not None else None


def _id(chat: str, line: Line) -> str:
    """The same for the same words in the same place, on every database."""
    said = f"{chat}\0{line.places or line.text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=8).hexdigest()


def forget_after(connection: Connection, key: int, seq: int) -> None:
    """Take back what messages after a position state."""
    _after(connection, of=key, after=seq)


def forget_at(connection: Connection, key: int, seqs: Iterable[int]) -> int:
    """Remove what rests on some messages; how many lines."""
    gone = set(seqs)
    found = [row[0] for row in _sources(connection, of=key).fetchall() if row[1] in gone or gone & _seqs(row[2])]
    for one in found:
        _one(connection, of=one)
    return len(found)


def _seqs(text: str) -> set[int]:
    try:
        return set(json.loads(text))
    except (ValueError, TypeError):
        return set()
