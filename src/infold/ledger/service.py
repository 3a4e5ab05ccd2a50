"""Statements of the service: API keys, answers given before, and pages of chats and events. Callers hold the transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam as P  # noqa: N812  as in `store`
from sqlalchemy import delete, func, insert, select, update

from infold.ledger.journal import read_event
from infold.ledger.query import TENANT, Connection, Query
from infold.ledger.rows import ChatRow, Event
from infold.ledger.schema import GONE, api_keys, chats, events, idempotent, mentions

# Keys --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One API key, without the key."""

    id: str
    tenant: str
    role: str
    name: str
    hash: bytes
    created_at: int
    revoked_at: int | None = None


_KEY_COLUMNS = [column for column in api_keys.c if column.name != "key"]
_insert_key = Query(insert(api_keys).values({c.name: P(f"to_{c.name}") for c in _KEY_COLUMNS}))
_key_by_hash = Query(select(*_KEY_COLUMNS).where(api_keys.c.hash == P("hash"), api_keys.c.revoked_at.is_(None)))
_some_key = Query(select(api_keys.c.id).limit(1))
_all_keys = Query(select(*_KEY_COLUMNS).order_by(api_keys.c.key))
_revoke = Query(
    update(api_keys).where(api_keys.c.id == P("id"), api_keys.c.revoked_at.is_(None)).values(revoked_at=P("at"))
)


def insert_key(connection: Connection, row: KeyRow) -> None:
    _insert_key(connection, **{f"to_{c.name}": getattr(row, c.name) for c in _KEY_COLUMNS})


def key_by_hash(connection: Connection, hash: bytes) -> KeyRow | None:
    """The key with this hash, unless it was revoked."""
    row = _key_by_hash(connection, hash=hash).fetchone()
    return _key(row) if row else None


def any_key(connection: Connection) -> bool:
    """Whether there ever was a key: what keys have closed stays closed when the last one is revoked."""
    return _some_key(connection).fetchone() is not None


def all_keys(connection: Connection) -> list[KeyRow]:
    return [_key(row) for row in _all_keys(connection)]


def revoke_key(connection: Connection, id: str, now: int) -> bool:
    """Let a key open nothing any more; False where there is none, or it was revoked before."""
    return _revoke(connection, id=id, at=now).rowcount == 1


def _key(row: Sequence[Any]) -> KeyRow:
    id, tenant, role, name, hash, created_at, revoked_at = row
    return KeyRow(id, tenant, role, name, bytes(hash), created_at, revoked_at)


# Answers given before ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answered:
    """What was answered to a request that carried an Idempotency-Key; no status while it is being made."""

    fingerprint: bytes
    status: int | None
    headers: dict[str, str] | None
    """None where the answer is not kept any more: something was forgotten since."""
    body: bytes
    created_at: int


_HERE = (idempotent.c.tenant == P(TENANT), idempotent.c.owner == P("by"), idempotent.c.token == P("given"))
_answered = Query(
    select(
        idempotent.c.fingerprint,
        idempotent.c.status,
        idempotent.c.headers,
        idempotent.c.body,
        idempotent.c.created_at,
    ).where(*_HERE)
)
_reserve = Query(
    insert(idempotent).values(
        tenant=P(TENANT), owner=P("by"), token=P("given"), fingerprint=P("print"), status=None, headers="{}", body=b"",
        created_at=P("at"),
    )
)  # fmt: skip
_answer = Query(
    update(idempotent).where(*_HERE).values(status=P("to_status"), headers=P("to_headers"), body=P("to_body"))
)
_done = Query(update(idempotent).where(*_HERE, idempotent.c.headers == GONE).values(status=P("to_status")))
_renew = Query(update(idempotent).where(*_HERE, idempotent.c.status.is_(None)).values(created_at=P("at")))
_release = Query(delete(idempotent).where(*_HERE))
_expire = Query(delete(idempotent).where(idempotent.c.created_at < P("before")))


def answered(connection: Connection, owner: str, token: str) -> Answered | None:
    row = _answered(connection, by=owner, given=token).fetchone()
    return Answered(bytes(row[0]), row[1], json.loads(row[2]), bytes(row[3]), row[4]) if row else None


def reserve_answer(connection: Connection, owner: str, token: str, fingerprint: bytes, now: int) -> None:
    """Note that an answer is being made; one that was noted before is void."""
    _release(connection, by=owner, given=token)
    _reserve(connection, by=owner, given=token, print=fingerprint, at=now)


def keep_answer(
    connection: Connection, owner: str, token: str, status: int, headers: dict[str, str], body: bytes, *, quotes: bool
) -> None:
    """Keep an answer; of one that may quote messages only that it was given, if any was forgotten while it was made."""
    if quotes and _done(connection, by=owner, given=token, to_status=status).rowcount:
        return
    _answer(connection, by=owner, given=token, to_status=status, to_headers=json.dumps(headers), to_body=body)


def renew_answer(connection: Connection, owner: str, token: str, now: int) -> None:
    """Note that the answer is still being made."""
    _renew(connection, by=owner, given=token, at=now)


def release_answer(connection: Connection, owner: str, token: str) -> None:
    """Nothing came of it: the same request may be made again."""
    _release(connection, by=owner, given=token)


def expire_answers(connection: Connection, before: int) -> None:
    """Drop what is too old to be asked for again."""
    _expire(connection, before=before)


# Pages -------------------------------------------------------------------------------------------------

_OURS = chats.c.tenant == P(TENANT)
_CHAT_COLUMNS = [column for column in chats.c if column.name != "tenant"]
_page_of_chats = Query(
    select(*_CHAT_COLUMNS).where(_OURS, chats.c.key > P("after")).order_by(chats.c.key).limit(P("most"))
)
_page_of_user = Query(
    select(*_CHAT_COLUMNS)
    .where(_OURS, chats.c.user == P("of"), chats.c.key > P("after"))
    .order_by(chats.c.key)
    .limit(P("most"))
)
_events_after = Query(
    select(events.c.key, events.c.type, events.c.created_at, events.c.data)
    .where(events.c.chat == P("of"), events.c.key > P("after"))
    .order_by(events.c.key)
    .limit(P("most"))
)
_last_event = Query(select(func.max(events.c.key)).where(events.c.chat == P("of")))
_newest_event = Query(select(func.max(events.c.key)))
_moving = Query(select(events.c.chat, func.max(events.c.key)).where(events.c.key > P("after")).group_by(events.c.chat))
_has_chats = Query(select(chats.c.key).where(_OURS, chats.c.user == P("of")).limit(1))
_has_mentions = Query(select(mentions.c.key).where(mentions.c.tenant == P(TENANT), mentions.c.user == P("of")).limit(1))

LOOK_BACK = 256
"""Events before the newest one that may still be committed after it, by another process."""


def page_of_chats(connection: Connection, after: int, most: int, user: str | None = None) -> list[ChatRow]:
    """Chats (of a user) in the order they were created, after one."""
    rows = (
        _page_of_chats(connection, after=after, most=most)
        if user is None
        else _page_of_user(connection, of=user, after=after, most=most)
    )
    return [ChatRow(*row) for row in rows]


def events_after(connection: Connection, row: ChatRow, after: int, most: int) -> list[tuple[int, Event]]:
    """What happened to a chat after an event, oldest first, each with its key; damaged ones are left out."""
    found: list[tuple[int, Event]] = []
    while len(found) < most:
        rows = _events_after(connection, of=row.key, after=after, most=most - len(found)).fetchall()
        if not rows:
            break
        after = rows[-1][0]
        found += [(key, event) for key, *one in rows if (event := read_event(row, key, *one)) is not None]
    return found


def last_event(connection: Connection, row: ChatRow) -> int:
    """Key of the newest event of a chat; 0 where nothing happened yet."""
    return int(_last_event(connection, of=row.key).fetchone()[0] or 0)


def moving(connection: Connection) -> dict[int, int]:
    """The newest event of each chat that something happened to lately, whoever's it is: keys only."""
    newest = _newest_event(connection).fetchone()[0] or 0
    return dict(_moving(connection, after=newest - LOOK_BACK).fetchall())


def is_user(connection: Connection, user: str) -> bool:
    """Whether anything is kept of a user."""
    return any(query(connection, of=user).fetchone() is not None for query in (_has_chats, _has_mentions))
