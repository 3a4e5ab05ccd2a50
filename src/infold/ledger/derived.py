"""Statements for what is made of messages and can be made again: facts, mentions of entities, blocks of recall."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, delete, func, insert, select, update

from infold.ledger import passages, stated
from infold.ledger.mentions import delete_mentions_after
from infold.ledger.query import Connection, Query
from infold.ledger.schema import chats, recall_blocks, users

P = bindparam
_OURS = chats.c.tenant == P("tenant")
_set_read_to = Query(update(chats).where(chats.c.key == P("of")).values(read_to=P("to_seq")))
_read_to = Query(select(chats.c.read_to, chats.c.cursor).where(chats.c.key == P("of")))
_next_epoch = Query(update(chats).where(chats.c.key == P("of")).values(epoch=chats.c.epoch + 1))
_touch_user_of = Query(
    update(users)
    .where(
        users.c.tenant == P("tenant"),
        users.c.name == select(chats.c.user).where(chats.c.key == P("of")).scalar_subquery(),
    )
    .values(pulse=users.c.pulse + 1)
)
_user_pulse = Query(
    select(
        func.count(),
        func.max(chats.c.key),
        func.sum(chats.c.version),
        func.sum(chats.c.last_seq),
        func.sum(chats.c.epoch),
    ).where(_OURS, chats.c.user == P("of"))
)


def set_read_to(connection: Connection, key: int, seq: int) -> None:
    _set_read_to(connection, of=key, to_seq=seq)


def read_to(connection: Connection, key: int) -> tuple[int, int]:
    """Up to where facts and entities of a chat are noted, and its cursor."""
    row = _read_to(connection, of=key).fetchone()
    return (row[0], row[1]) if row else (0, 0)


def forget_after(connection: Connection, key: int, seq: int) -> set[int]:
    """Take back what was made of messages after a position; whose knowledge has to be settled anew."""
    unsettled = stated.forget_after(connection, key, seq)
    delete_mentions_after(connection, key, seq)
    passages.take(connection, key, seq - BLOCK + 2)
    _delete_blocks(connection, of=key, after=seq)
    next_epoch(connection, key)
    return unsettled


def next_epoch(connection: Connection, key: int) -> None:
    """Tell everybody who made something of the messages of a chat that it is void, also for its user."""
    _next_epoch(connection, of=key)
    _touch_user_of(connection, of=key)


def user_pulse(connection: Connection, user: str) -> tuple[Any, ...]:
    """Changes with every message of a user."""
    found: tuple[Any, ...] = _user_pulse(connection, of=user).fetchone()
    return found


# Blocks of recall --------------------------------------------------------------------------------------

BLOCK = 128
"""Messages in a block."""
_insert_block = Query(insert(recall_blocks).values({c.name: P(c.name) for c in recall_blocks.c if c.name != "key"}))
_block_at = Query(
    select(recall_blocks.c.maker).where(recall_blocks.c.chat == P("of"), recall_blocks.c.first_seq == P("first"))
)
_delete_block = Query(
    delete(recall_blocks).where(recall_blocks.c.chat == P("of"), recall_blocks.c.first_seq == P("first"))
)
_delete_blocks = Query(
    delete(recall_blocks).where(recall_blocks.c.chat == P("of"), recall_blocks.c.first_seq > P("after") - (BLOCK - 1))
)
_blocks = Query(
    select(recall_blocks.c.first_seq, recall_blocks.c.data)
    .where(
        recall_blocks.c.chat == P("of"), recall_blocks.c.maker == P("maker"), recall_blocks.c.first_seq >= P("from_seq")
    )
    .order_by(recall_blocks.c.first_seq)
)
_count_blocks = Query(select(func.count()).where(recall_blocks.c.chat == P("of"), recall_blocks.c.maker == P("maker")))
_made = Query(
    select(recall_blocks.c.first_seq)
    .where(recall_blocks.c.chat == P("of"), recall_blocks.c.maker == P("maker"))
    .order_by(recall_blocks.c.first_seq)
)
_place = Query(
    select(chats.c.epoch, chats.c.last_seq, chats.c.cursor, chats.c.id).where(chats.c.key == P("of")), lock=True
)
_SHARED = (chats.c.user == P("of"), chats.c.remember == 1, chats.c.away == 0)
"""A user's chats, without those that keep to themselves and branches that people have left."""
_chats_of_user = Query(select(chats.c.key).where(_OURS, chats.c.user == P("of")).order_by(chats.c.key))
_shared_chats = Query(select(chats.c.key).where(_OURS, *_SHARED).order_by(chats.c.key))
_places_of_user = Query(
    select(chats.c.key, chats.c.epoch, chats.c.last_seq).where(_OURS, *_SHARED).order_by(chats.c.key)
)
Place = tuple[int, int, int]
"""A chat, its epoch and its newest position."""


def put_block(connection: Connection, key: int, first: int, maker: str, data: bytes) -> bool:
    """Keep a block, in place of one that was made otherwise; False where it is there already."""
    known = _block_at(connection, of=key, first=first).fetchone()
    if known is not None:
        if known[0] == maker:
            return False
        drop_block(connection, key, first)
    _insert_block(connection, chat=key, first_seq=first, maker=maker, data=data)
    return True


def drop_block(connection: Connection, key: int, first: int) -> None:
    passages.take(connection, key, first, first)
    _delete_block(connection, of=key, first=first)


def blocks(connection: Connection, key: int, maker: str, first: int) -> list[tuple[int, bytes]]:
    """The blocks of a chat from a position on, in order."""
    return [(row[0], row[1]) for row in _blocks(connection, of=key, maker=maker, from_seq=first)]


def blocks_made(connection: Connection, key: int, maker: str) -> list[int]:
    """First positions of the blocks there are."""
    return [row[0] for row in _made(connection, of=key, maker=maker)]


def count_blocks(connection: Connection, key: int, maker: str) -> int:
    """How many blocks there are."""
    return int(_count_blocks(connection, of=key, maker=maker).fetchone()[0])


def place(connection: Connection, key: int) -> tuple[int, int, int, str] | None:
    """Epoch, newest position, cursor and id of a chat."""
    row: tuple[int, int, int, str] | None = _place(connection, of=key).fetchone()
    return row


def places_of_user(connection: Connection, user: str) -> list[Place]:
    """The chats of a user that may be searched together, the oldest first."""
    return [tuple(row) for row in _places_of_user(connection, of=user)]


def chats_of_user(connection: Connection, user: str) -> list[int]:
    return [row[0] for row in _chats_of_user(connection, of=user)]


def shared_chats(connection: Connection, user: str) -> list[int]:
    """The chats of a user that may be searched together."""
    return [row[0] for row in _shared_chats(connection, of=user)]
