"""Statements for the proxy: chats found by what a client sends again, and copies of chats. Callers hold the transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Table, and_, bindparam, delete, func, insert, not_, or_, select

from infold.ledger import journal, passages
from infold.ledger.query import Connection, Query
from infold.ledger.schema import (
    Key,
    archives,
    chats,
    folds,
    lines,
    mentions,
    messages,
    pins,
    prefixes,
    recall_blocks,
    stated,
)
from infold.ledger.store import inserting

P = bindparam

# What is noted of a chat beside digests.
_FOLLOWS = b"follows its model"
_FORGOTTEN = b"forgotten"
_CUT = b"cut"
_LED_TO = b"branch that is led to"
_CALLED, _CALLED_END = b"called ", b"called!"
"""Digests of what the upstream calls a response begin so: they tell nothing of what was said."""

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
    # However many begin alike, one that ends here, or nearly so, is among those that are looked at.
    .order_by(chats.c.last_seq - prefixes.c.seq, prefixes.c.chat)
    .limit(P("most"))
)
_is_there = Query(
    select(prefixes.c.key).where(
        prefixes.c.chat == P("of"), prefixes.c.scope == P("scope"), prefixes.c.digest == P("digest")
    )
)
_noted = (
    select(chats.c.key, chats.c.last_seq, chats.c.id, chats.c.last_seq)
    .select_from(prefixes)
    .join(chats, chats.c.key == prefixes.c.chat)
    .join(messages, and_(messages.c.chat == chats.c.key, messages.c.seq == chats.c.last_seq), isouter=True)
    .where(
        prefixes.c.tenant == P("tenant"),
        chats.c.tenant == P("tenant"),
        prefixes.c.scope == P("scope"),
        prefixes.c.digest == P("digest"),
    )
    .order_by(messages.c.key.desc().nulls_last())
    .limit(P("most"))
)
_latest = Query(_noted)
_latest_of = Query(_noted.where(or_(chats.c.key == P("root", type_=Key), chats.c.origin == P("root", type_=Key))))
_scopes = Query(
    select(prefixes.c.scope)
    .where(prefixes.c.chat == P("of"), prefixes.c.scope != "")
    .distinct()
    .order_by(prefixes.c.scope)
)
_forget = Query(
    delete(prefixes).where(
        prefixes.c.chat == P("of"),
        prefixes.c.scope != "",
        prefixes.c.seq > P("after"),
        not_(prefixes.c.digest.between(_CALLED, _CALLED_END)),
    )
)
_notes = Query(
    select(prefixes.c.seq, prefixes.c.digest).where(
        prefixes.c.chat == P("of"), prefixes.c.scope == "", prefixes.c.seq > 0
    )
)
_alone = Query(delete(prefixes).where(prefixes.c.chat == P("of"), prefixes.c.digest == _LED_TO))
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


def lead_to(connection: Connection, key: int, scope: str) -> None:
    """Note that a client of this scope may go on with a chat of a family without naming that one."""
    put(connection, key, scope, _LED_TO, 0)


def led_to(connection: Connection, scope: str, root: int, most: int) -> list[Found]:
    """Those of the family that began with a chat, by their last message, the newest first."""
    return [Found(*row) for row in _latest_of(connection, scope=scope, digest=_LED_TO, most=most, root=root)]


def forget(connection: Connection, key: int, traces: Mapping[int, int]) -> None:
    """Let go of the digests that cover these positions; of each a byte is kept, by which it is known when it comes again."""
    scopes = [scope for (scope,) in _scopes(connection, of=key)]
    _forget(connection, of=key, after=min(traces) - 1)
    for scope in scopes:
        put(connection, key, scope, _FORGOTTEN, 0)
    for seq, trace in sorted(traces.items()):
        put(connection, key, "", _FORGOTTEN + seq.to_bytes(8, "big") + bytes([trace]), seq)


def forgotten(connection: Connection, scope: str, most: int) -> list[Found]:
    """The chats of a scope that have forgotten something, by their last message, the newest first."""
    return [Found(*row) for row in _latest(connection, scope=scope, digest=_FORGOTTEN, most=most)]


class Notes(NamedTuple):
    """What is noted of single messages of a chat, by their positions."""

    traces: Mapping[int, int]
    """A byte of each that was forgotten."""
    cut: frozenset[int]
    """Replies that were cut short."""


def notes(connection: Connection, key: int) -> Notes:
    """What is noted of the messages of a chat."""
    found = [(seq, bytes(digest)) for seq, digest in _notes(connection, of=key)]
    return Notes(
        {seq: digest[-1] for seq, digest in found if digest.startswith(_FORGOTTEN)},
        frozenset(seq for seq, digest in found if digest.startswith(_CUT)),
    )


def note_cut(connection: Connection, key: int, seq: int) -> None:
    """Note that a reply was cut short: clients may have less of it."""
    put(connection, key, "", _CUT + seq.to_bytes(8, "big"), seq)


def called(id: str) -> bytes:
    """The digest that a response or conversation goes by, for clients that name it instead of sending the chat again."""
    return _CALLED + hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest()


def newest(connection: Connection, key: int, scope: str, upto: int) -> tuple[int, bytes]:
    """The last position up to `upto` whose digest is known, and the digest; 0 and nothing where there is none."""
    row = _newest(connection, of=key, scope=scope, upto=upto).fetchone()
    return (row[0], bytes(row[1])) if row else (0, b"")


def _copying(table: Table) -> Query:
    names = [column.name for column in table.c if column.name not in ("key", "chat")]
    rows = select(P("to", type_=Key), *(table.c[name] for name in names)).where(table.c.chat == P("of"))
    return Query(insert(table).from_select(["chat", *names], rows.order_by(table.c.key)))


_copies = [
    _copying(table) for table in (messages, folds, lines, pins, stated, mentions, recall_blocks, archives, prefixes)
]
_names = [column.name for column in chats.c if column.name not in ("key", "id", "epoch", "origin")]
_copy_chat = Query(
    insert(chats)
    .from_select(
        ["id", "epoch", "origin", *_names],
        select(
            P("id", type_=chats.c.id.type),
            P("epoch", type_=chats.c.epoch.type),
            func.coalesce(chats.c.origin, chats.c.key),
            *(chats.c[n] for n in _names),
        ).where(chats.c.tenant == P("tenant"), chats.c.key == P("of")),
    )
    .returning(chats.c.key)
)


def copy_chat(connection: Connection, key: int, id: str, epoch: int) -> int:
    """A chat with all it holds, under another id; events and calls stay with the first. Returns its key."""
    made: Any = _copy_chat(connection, of=key, id=id, epoch=epoch).fetchone()
    for query in _copies:
        query(connection, of=key, to=made[0])
    journal.copy_words(connection, key, int(made[0]))
    _alone(connection, of=made[0])
    passages.copy(connection, key, int(made[0]))
    return int(made[0])
