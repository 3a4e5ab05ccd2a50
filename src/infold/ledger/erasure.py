"""Statements that take out what was forgotten. Callers hold the transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sqlalchemy import and_, delete, func, or_, select, update
from sqlalchemy import bindparam as P  # noqa: N812  as in `store`

from infold.ledger import archive
from infold.ledger.derived import BLOCK, drop_block
from infold.ledger.journal import event_data
from infold.ledger.query import Connection, Query
from infold.ledger.schema import (
    GONE,
    chats,
    events,
    folds,
    idempotent,
    lines,
    mentions,
    messages,
    pins,
    recall_blocks,
    stated,
)  # fmt: skip
from infold.messages import Message, canonical_json

_redact = Query(
    update(messages)
    .where(messages.c.chat == P("of"), messages.c.seq == P("at"))
    .values(
        content=P("to_content"), body=P("to_body"), tokens=P("to_tokens"), sha256=P("to_sha256"), archived=archive.HERE
    )
)
_events = Query(select(events.c.key, events.c.data).where(events.c.chat == P("of")))
_forgettings = Query(
    select(func.max(events.c.key)).where(
        events.c.chat == P("of"), or_(events.c.type == "forgotten", events.c.type == "repaired")
    )
)
_set_event = Query(update(events).where(events.c.key == P("of")).values(data=P("to_data")))
_mentions_at = Query(delete(mentions).where(mentions.c.chat == P("of"), mentions.c.seq == P("at")))
_mentions_by_hand = Query(delete(mentions).where(mentions.c.tenant == P("tenant"), mentions.c.user == P("of")))
_hand_made = Query(
    select(mentions.c.key, mentions.c.name, mentions.c.due, mentions.c.owner, mentions.c.links).where(
        mentions.c.seq == 0,
        or_(
            mentions.c.chat == P("of"),
            and_(mentions.c.tenant == P("tenant"), mentions.c.user == P("of_user")),
            mentions.c.chat.in_(select(chats.c.key).where(chats.c.tenant == P("tenant"), chats.c.user == P("of_user"))),
        ),
    )
)
_delete_mention = Query(delete(mentions).where(mentions.c.key == P("of")))
_untitle = Query(update(chats).where(chats.c.key == P("of")).values(title=None))
_born = Query(select(func.count()).where(lines.c.chat == P("of"), lines.c.born >= P("at")))
_blocks = Query(select(recall_blocks.c.first_seq).where(recall_blocks.c.chat == P("of")))
_counts = {
    table.name: Query(select(func.count()).where(table.c.chat == P("of")))
    for table in (messages, folds, lines, stated, mentions, recall_blocks, events, pins)
}


_answers = Query(
    update(idempotent)
    .where(
        idempotent.c.tenant == P("tenant"),
        or_(idempotent.c.status.is_(None), idempotent.c.body != P("nothing", type_=idempotent.c.body.type)),
    )
    .values(headers=GONE, body=P("nothing", type_=idempotent.c.body.type))
)


def empty_answers(connection: Connection) -> None:
    """Empty the answers that the service keeps for a tenant's requests sent twice, also those that are being made: they may
    quote messages. That the requests were made stays known."""
    _answers(connection, nothing=b"")


def redact(connection: Connection, key: int, message: Message) -> None:
    """Write a message in the place of what it was, in an archive too."""
    _redact(
        connection, of=key, at=message.seq, to_content=message.content if isinstance(message.content, str) else None,
        to_body=message.body, to_tokens=message.tokens, to_sha256=message.sha256,
    )  # fmt: skip
    archive.cut(connection, key, message.seq, message.seq)


def change_events(connection: Connection, key: int, change: Callable[[Mapping[str, Any]], dict[str, Any]]) -> int:
    """Rewrite what the events of a chat tell; how many were changed."""
    changed = 0
    for event, text in _events(connection, of=key).fetchall():
        told = canonical_json(change(event_data(text) or {}))  # nobody knows whose words a damaged one holds
        if told != text:
            _set_event(connection, of=event, to_data=told)
            changed += 1
    return changed


def last_forgetting(connection: Connection, key: int) -> int:
    """Which was the last time that messages of a chat were forgotten, or its folds made again; 0 for never."""
    return int(_forgettings(connection, of=key).fetchone()[0] or 0)


def delete_mentions_at(connection: Connection, key: int, seqs: Iterable[int]) -> int:
    """Remove what some messages say of entities."""
    return sum(_mentions_at(connection, of=key, at=seq).rowcount for seq in seqs)


def delete_mentions_by_hand(connection: Connection, user: str) -> int:
    """Remove the entities that were set by hand for a user."""
    return _mentions_by_hand(connection, of=user).rowcount


def made_by_hand(connection: Connection, key: int, user: str | None) -> dict[int, str]:
    """What was set by hand of entities, for a chat, its user and the user's other chats: the words of each row."""
    rows = _hand_made(connection, of=key, of_user=user).fetchall()
    return {row: "\n".join(map(str, words)) for row, *words in rows}


def delete_mention(connection: Connection, row: int) -> None:
    _delete_mention(connection, of=row)


def remove_title(connection: Connection, key: int) -> None:
    _untitle(connection, of=key)


def delete_blocks_of(connection: Connection, key: int, seqs: Iterable[int]) -> int:
    """Remove the blocks of recall that some messages are in."""
    made = {row[0] for row in _blocks(connection, of=key)}
    gone = made & {(seq - 1) // BLOCK * BLOCK + 1 for seq in seqs}
    for first in gone:
        drop_block(connection, key, first)
    return len(gone)


def lines_since(connection: Connection, key: int, n: int) -> int:
    """How many lines fold n and later ones wrote."""
    return int(_born(connection, of=key, at=n).fetchone()[0])


def counted(connection: Connection, key: int) -> dict[str, int]:
    """How many rows of each table a chat has."""
    return {name: int(query(connection, of=key).fetchone()[0]) for name, query in _counts.items()}
