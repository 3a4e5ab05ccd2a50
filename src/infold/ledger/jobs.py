"""Jobs that workers do, and which chats need one. A job is a wake-up: what is due is worked out from what is stored."""

from __future__ import annotations

from typing import Any

from sqlalchemy import String, and_, bindparam, cast, func, literal, or_, select

from infold.ledger import passages
from infold.ledger.derived import BLOCK
from infold.ledger.query import Connection, Query
from infold.ledger.schema import chats, folds, items, recall_blocks

SUMMARIZE, COMPACT = "memory.summarize", "memory.compact"
TOPICS = (SUMMARIZE, COMPACT)
NOBODY, OWN, ANYBODY = 0, 1, 2
"""Which chats have a model that writes their summaries: none, those that name one, all."""
EXTRACTIVE = "extractive"

_blocks = (
    select(func.count())
    .where(recall_blocks.c.chat == chats.c.key, recall_blocks.c.maker.like(bindparam("made")))
    .scalar_subquery()
)
_unread = or_(chats.c.read_to < chats.c.cursor, _blocks * BLOCK <= chats.c.cursor - BLOCK)
# The triggers have not looked at the newest message yet: `marks` is JSON whose last member is the one they saw last.
_undecided = chats.c.marks.not_like(literal('%"seen":') + cast(chats.c.last_seq, String) + literal("}"))
_lines = (
    select(items.c.key)
    .where(items.c.chat == chats.c.key, items.c.died.is_(None), items.c.layer != "fact")
    .correlate(chats)
    .exists()
)
_records = folds.alias("records")
_newest = (
    select(func.max(_records.c.n))
    .where(_records.c.chat == chats.c.key, _records.c.kind != "rollup", _records.c.superseded_by.is_(None))
    .correlate(chats)
    .scalar_subquery()
)
# Somebody may rewrite it: the models of the service, or the chat's own.
_written = or_(literal(ANYBODY) == bindparam("models"), chats.c.policy.not_like('%"models":[]%'))
_unwritten = and_(
    literal(NOBODY) < bindparam("models"),
    _written,
    chats.c.policy.like(f'%"fallback":"{EXTRACTIVE}"%'),
    select(folds.c.key)
    .where(folds.c.chat == chats.c.key, folds.c.n == _newest, folds.c.author == EXTRACTIVE)
    .where(or_(folds.c.kind == "base", _lines))
    .exists(),
)
_due = Query(
    select(chats.c.tenant, chats.c.id, chats.c.key)
    .where(chats.c.key > bindparam("after"), or_(_unread, _undecided, _unwritten))
    .order_by(chats.c.key)
    .limit(bindparam("most"))
)


def due(connection: Connection, *, models: int, after: int = 0, most: int = 500) -> list[tuple[str, str, int]]:
    """Tenant, id and key of chats where something is left to do, whoever's they are. `models` is NOBODY, OWN or ANYBODY."""
    made = passages.pattern(connection)
    rows: list[Any] = _due(connection, models=models, after=after, most=most, made=made).fetchall()
    return [(tenant, id, key) for tenant, id, key in rows]
