"""Statements for the proxy: chats found by what a client sends again, and copies of chats. Callers hold the transaction."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import Table, and_, bindparam, delete, insert, or_, select

from infold.ledger import passages
from infold.ledger.query import Connection, Query
from infold.ledger.schema import (
    Key,
    archives,
    chats,
    facts,
    folds,
    items,
    mentions,
    messages,
    pins,
    prefixes,
    recall_blocks,
)
from infold.ledger.store import inserting

P = bindparam

_FOLLOWS = b"follows its model"
_FORGOTTEN = b"forgotten"

_insert = inserting(prefixes)
_delete = Query(
    delete(prefixes).where(prefixes.c.chat == P("of"), prefixes.c.scope == P("scope"), prefixes.c.digest == P("digest"))
)
_found = Query(
    select(prefixes.c.chat, prefixes.c.seq, chats.c.id, chats.c.last_seq)
    .join(chats, chats.c.key == prefixes.c.chat)
    .where(
        prefixes.c.tenant == P("tenant"),
        chats.c.tenant == P("tenant"),
        prefixes.c.scope == P("scope"),
        prefixes.c.digest == P("digest"),
    )
    .order_by(prefixes.c.chat)
    .limit(P("most"))
)
_is_there = Query(
    select(prefixes.c.key).where(
        prefixes.c.chat == P("of"), prefixes.c.scope == P("scope"), prefixes.c.digest == P("digest")
    )
)
_latest = Query(
    select(chats.c.key, chats.c.last_seq, chats.c.id, chats.c.last_seq)
    .join(messages, and_(messages.c.chat == chats.c.key, messages.c.seq == chats.c.last_seq), isouter=True)
    .where(
        chats.c.tenant == P("tenant"),
        or_(
            chats.c.key == P("of"),
            chats.c.key.in_(
                select(prefixes.c.chat).where(
                    prefixes.c.tenant == P("tenant"), prefixes.c.scope == P("scope"), prefixes.c.digest == P("digest")
                )
            ),
        ),
    )
    .order_by(messages.c.key.desc().nulls_last())
    .limit(P("most"))
)
_scopes = Query(
    select(prefixes.c.scope)
    .where(prefixes.c.chat == P("of"), prefixes.c.scope != "")
    .distinct()
    .order_by(prefixes.c.scope)
)
_newest = Query(
    select(prefixes.c.seq, prefixes.c.digest)
    .where(prefixes.c.chat == P("of"), prefixes.c.scope == P("scope"), prefixes.c.seq.between(1, P("upto")))
    .order_by(prefixes.c.seq.desc(), prefixes.c.key)  # at one position, what was said comes before what it is called
    .limit(1)
)


class Found(NamedTuple):
    """A position of a chat."""

    key: int
    seq: int
    id: str
    last: int
    """The last position of the chat."""


def put(connection: Connection, key: int, scope: str, digest: bytes, seq: int) -> None:
    """Note that what a client sends with this digest ends at a position of a chat; 0 is for what is known of all of it."""
    _delete(connection, of=key, scope=scope, digest=digest)
    _insert(connection, chat=key, scope=scope, digest=digest, seq=seq)


def found(connection: Connection, scope: str, digest: bytes, most: int = 8) -> list[Found]:
    """The chats where a digest ends."""
    return [Found(*row) for row in _found(connection, scope=scope, digest=digest, most=most)]


def follow_model(connection: Connection, key: int, *, follows: bool) -> None:
    """Note whether a chat's window is that of the model it speaks with."""
    _delete(connection, of=key, scope="", digest=_FOLLOWS)
    if follows:
        _insert(connection, chat=key, scope="", digest=_FOLLOWS, seq=0)


def follows_model(connection: Connection, key: int) -> bool:
    """Whether it is."""
    return _is_there(connection, of=key, scope="", digest=_FOLLOWS).fetchone() is not None


def latest(connection: Connection, key: int, scope: str, digest: bytes, most: int) -> list[Found]:
    """A chat and those where a digest is known, by their last message, the newest first."""
    return [Found(*row) for row in _latest(connection, of=key, scope=scope, digest=digest, most=most)]


def note_forgotten(connection: Connection, key: int) -> None:
    """Note that a chat has messages that nothing is left of: clients that still have them are known by the others."""
    for (scope,) in _scopes(connection, of=key).fetchall():
        put(connection, key, scope, _FORGOTTEN, 0)


def forgotten(connection: Connection, scope: str, most: int) -> list[Found]:
    """The chats of a scope of which that is noted, by their last message, the newest first."""
    return latest(connection, 0, scope, _FORGOTTEN, most)


def newest(connection: Connection, key: int, scope: str, upto: int) -> tuple[int, bytes]:
    """The last position up to `upto` whose digest is known, and the digest; 0 and nothing where there is none."""
    row = _newest(connection, of=key, scope=scope, upto=upto).fetchone()
    return (row[0], bytes(row[1])) if row else (0, b"")


def _copying(table: Table) -> Query:
    names = [column.name for column in table.c if column.name not in ("key", "chat")]
    rows = select(P("to", type_=Key), *(table.c[name] for name in names)).where(table.c.chat == P("of"))
    return Query(insert(table).from_select(["chat", *names], rows.order_by(table.c.key)))


_copies = [
    _copying(table) for table in (messages, folds, items, pins, facts, mentions, recall_blocks, archives, prefixes)
]
_names = [column.name for column in chats.c if column.name not in ("key", "id", "epoch")]
_copy_chat = Query(
    insert(chats)
    .from_select(
        ["id", "epoch", *_names],
        select(
            P("id", type_=chats.c.id.type), P("epoch", type_=chats.c.epoch.type), *(chats.c[n] for n in _names)
        ).where(chats.c.tenant == P("tenant"), chats.c.key == P("of")),
    )
    .returning(chats.c.key)
)


def copy_chat(connection: Connection, key: int, id: str, epoch: int) -> int:
    """A chat with all it holds, under another id; events and calls stay with the first. Returns its key."""
    made: Any = _copy_chat(connection, of=key, id=id, epoch=epoch).fetchone()
    for query in _copies:
        query(connection, of=key, to=made[0])
    passages.copy(connection, key, int(made[0]))
    return int(made[0])
