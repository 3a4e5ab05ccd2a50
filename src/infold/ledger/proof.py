"""The no-loss proof as one query: each active base fold must start right after the one before it."""

from __future__ import annotations

from sqlalchemy import bindparam, func, or_, select

from infold.ledger.query import Connection, Query
from infold.ledger.schema import chats, folds

_before = func.coalesce(func.lag(folds.c.last_seq).over(partition_by=folds.c.chat, order_by=folds.c.first_seq), 0)
_chained = (
    select(folds.c.chat, folds.c.n, folds.c.first_seq, folds.c.last_seq, _before.label("ends"))
    .where(folds.c.kind == "base", folds.c.superseded_by.is_(None))
    .subquery()
)
_gaps = Query(
    select(chats.c.id, _chained.c.n, _chained.c.first_seq, _chained.c.last_seq, _chained.c.ends)
    .join(chats, chats.c.key == _chained.c.chat)
    .where(
        chats.c.tenant == bindparam("tenant"),
        or_(_chained.c.first_seq != _chained.c.ends + 1, _chained.c.last_seq < _chained.c.first_seq),
    )
)


def gaps(connection: Connection) -> list[tuple[str, int, int, int, int]]:
    """Chat, fold, first and last position, and where the fold before ends, of every break in the partition."""
    return list(_gaps(connection))
