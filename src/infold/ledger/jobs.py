"""Jobs that workers do, and which chats need one. A job is a wake-up: what is due is worked out from what is stored."""

from __future__ import annotations

from typing import Any

from sqlalchemy import String, and_, bindparam, cast, func, literal, or_, select

from infold.ledger.derived import BLOCK
from infold.ledger.query import Connection, Query
from infold.ledger.schema import chats, folds, recall_blocks

SUMMARIZE, COMPACT = "memory.summarize", "memory.compact"
TOPICS = (SUMMARIZE, COMPACT)

_blocks = select(func.count()).where(recall_blocks.c.chat == chats.c.key).scalar_subquery()
_unread = or_(chats.c.read_to < chats.c.cursor, _blocks * BLOCK <= chats.c.cursor - BLOCK)
# The triggers have not looked at the newest message yet: `marks` is JSON whose last member is the one they saw last.
_undecided = chats.c.marks.not_like(literal('%"seen":') + cast(chats.c.last_seq, String) + literal("}"))
_unwritten = and_(
    literal(1) == bindparam("models"),
    select(folds.c.key)
    .where(
        folds.c.chat == chats.c.key,
        folds.c.n == chats.c.folds,
        folds.c.author == "extractive",
        folds.c.kind != "rollup",
    )
    .exists(),
)
_due = Query(
    select(chats.c.tenant, chats.c.id, chats.c.key)
    .where(chats.c.key > bindparam("after"), or_(_unread, _undecided, _unwritten))
    .order_by(chats.c.key)
    .limit(bindparam("most"))
)


def due(connection: Connection, *, models: bool, after: int = 0, most: int = 500) -> list[tuple[str, str, int]]:
    """Tenant, id and key of chats where something is left to do, whoever's they are."""
    rows: list[Any] = _due(connection, models=int(models), after=after, most=most).fetchall()
    return [(tenant, id, key) for tenant, id, key in rows]
