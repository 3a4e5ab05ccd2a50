"""Statements for mentions of entities: what messages say of them, and what was set by hand."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, bindparam, delete, func, insert, or_, select

from infold.knowledge.entity import Mention
from infold.ledger.archive import removed_seqs
from infold.ledger.query import Connection, Query
from infold.ledger.schema import chats, mentions, messages
from infold.ledger.sealing import seal, whole
from infold.messages import canonical_json

log = logging.getLogger("infold")
P = bindparam
_OURS = chats.c.tenant == P("tenant")
Damaged = tuple[str, int]
"""The chat, and the position of the message, of a row that cannot be read."""

_MENTION_COLUMNS = [
    mentions.c.kind, mentions.c.name, mentions.c.status, mentions.c.due, mentions.c.owner, mentions.c.links, mentions.c.at,
    mentions.c.seq, mentions.c.seal, chats.c.id, messages.c.id, mentions.c.key,
]  # fmt: skip
_of_message = and_(messages.c.chat == mentions.c.chat, messages.c.seq == mentions.c.seq)
_insert_mention = Query(insert(mentions).values({c.name: P(c.name) for c in mentions.c if c.name != "key"}))
_of_hand = or_(
    and_(mentions.c.tenant == P("tenant"), mentions.c.user == P("of_user")),
    and_(
        mentions.c.seq == 0,
        or_(
            mentions.c.chat == P("of"),
            mentions.c.chat.in_(
                select(chats.c.key).where(_OURS, chats.c.user == P("of_user"), chats.c.away == 0, chats.c.remember == 1)
            ),
        ),
    ),
)
_mentions_after = Query(
    select(*_MENTION_COLUMNS)
    .join(chats, chats.c.key == mentions.c.chat)
    .join(messages, _of_message, isouter=True)
    .where(mentions.c.chat == P("of"), mentions.c.seq > P("after"))
    .order_by(mentions.c.key)
)
_mentions_by_hand = Query(
    select(*_MENTION_COLUMNS)
    .join(chats, chats.c.key == mentions.c.chat, isouter=True)
    .join(messages, _of_message, isouter=True)
    .where(_of_hand)
    .order_by(mentions.c.key)
)
_by_hand = Query(select(func.count(), func.max(mentions.c.key), func.sum(mentions.c.at)).where(_of_hand))
_noted = Query(
    select(chats.c.key, chats.c.epoch, chats.c.read_to).where(
        _OURS, chats.c.user == P("of"), chats.c.away == 0, chats.c.remember == 1
    )
)
_delete_mentions = Query(
    delete(mentions).where(
        mentions.c.chat == P("of"), mentions.c.seq > P("after"), mentions.c.seq.not_in(removed_seqs)
    )  # what was removed cannot be read again: what is known of it stays
)


_mention_names = Query(
    select(mentions.c.key, mentions.c.kind, mentions.c.name)
    .join(chats, chats.c.key == mentions.c.chat, isouter=True)
    .where(
        or_(
            mentions.c.chat == P("of"),
            and_(mentions.c.tenant == P("tenant"), mentions.c.user == P("of_user")),
            and_(_OURS, chats.c.user == P("of_user")),
        )
    )
)
_delete_mention = Query(delete(mentions).where(mentions.c.key == P("of")))


def delete_mentions(connection: Connection, key: int, user: str | None, gone: Callable[[str, str], bool]) -> None:
    """Remove the mentions of a chat or of a user whose kind and name say so."""
    for one, kind, name in _mention_names(connection, of=key, of_user=user).fetchall():
        if gone(kind, name):
            _delete_mention(connection, of=one)


def note_mentions(connection: Connection, key: int | None, user: str | None, found: Iterable[Mention]) -> None:
    """Keep what was said of entities, in a chat or, set by hand, for a user."""
    rows: list[dict[str, Any]] = []
    for mention in found:
        said = (mention.kind, mention.name, mention.status, mention.due, mention.owner)
        links = canonical_json(mention.links)
        rows.append({
            "chat": key, "user": user, "seq": mention.seq, "at": mention.at, "kind": mention.kind, "name": mention.name,
            "status": mention.status, "due": mention.due, "owner": mention.owner, "links": links,
            "seal": seal((*said, links, mention.at, mention.seq)),
        })  # fmt: skip
    _insert_mention.each(connection, rows)


def _mention(row: Sequence[Any]) -> Mention | None:
    kind, name, status, due, owner, links, at, seq, sealed, chat, id, key = row
    try:
        if whole(row[:8], sealed):
            return Mention(
                kind, name, status, due, owner, tuple(json.loads(links)), at, chat or "", seq, id or "", seq == 0
            )
    except (ValueError, TypeError):
        pass
    log.warning(
        "table mentions, row %s of chat %s is damaged; it is left out until its message is read again",
        key,
        chat or "(none)",
    )
    return None


@dataclass(frozen=True, slots=True)
class Noted:
    """A chat, and up to which message it is noted what its messages say; what is noted changes only with the epoch."""

    chat: int
    epoch: int
    upto: int


def noted_of_user(connection: Connection, user: str) -> list[Noted]:
    """The chats of a user whose words are known in all of them."""
    return [Noted(*row) for row in _noted(connection, of=user)]


def mentions_after(connection: Connection, key: int, after: int) -> tuple[list[Mention], list[Damaged]]:
    """What the messages of a chat after a position say of entities; and what is damaged."""
    read = [(row, _mention(row)) for row in _mentions_after(connection, of=key, after=after)]
    damaged: list[Damaged] = [(row[9], row[7]) for row, mention in read if mention is None]
    return [mention for _, mention in read if mention is not None], damaged


def mentions_by_hand(connection: Connection, key: int, user: str | None) -> list[Mention]:
    """What was set by hand for a chat, and for a user."""
    rows = _mentions_by_hand(connection, of=key, of_user=user)
    return [mention for row in rows if (mention := _mention(row)) is not None]


def by_hand(connection: Connection, key: int, user: str | None) -> tuple[Any, ...]:
    """Changes whenever what was set by hand for a chat, or for a user, does."""
    found: tuple[Any, ...] = _by_hand(connection, of=key, of_user=user).fetchone()
    return found


def delete_mentions_after(connection: Connection, key: int, seq: int) -> None:
    """Take back what messages of a chat after a position say; of what was removed, what is known stays."""
    _delete_mentions(connection, of=key, after=seq)
