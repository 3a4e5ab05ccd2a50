"""Jobs that workers do, and which chats need one. A job is a wake-up: what is due is worked out from what is stored."""

from __future__ import annotations

import json

from sqlalchemy import String, and_, bindparam, cast, func, literal, not_, or_, select

from infold.ledger import passages
from infold.ledger.derived import BLOCK
from infold.ledger.query import Connection, Query, among
from infold.ledger.schema import calls, chats, folds, lines, messages, recall_blocks

SUMMARIZE, COMPACT = "memory.summarize", "memory.compact"
TOPICS = (SUMMARIZE, COMPACT)
NOBODY, OWN, ANYBODY = 0, 1, 2
"""Which chats have a model that writes their summaries: none, those that name one, all."""
EXTRACTIVE = "extractive"
END = 2**62
"""Behind every chat and every time."""
MOST_REST = 24 * 3600 * 1000
"""Milliseconds that a chat which no model could write is left alone, at most."""
LATELY = 5000
"""Messages that count as new: a chat that has one may have lost its job just now."""

_blocks = (
    select(func.count())
    .where(recall_blocks.c.chat == chats.c.key, recall_blocks.c.maker.like(bindparam("made")))
    .scalar_subquery()
)
_unread = or_(chats.c.read_to < chats.c.cursor, _blocks * BLOCK <= chats.c.cursor - BLOCK)
# The triggers have not looked at the newest message yet: `marks` is JSON whose last member is the one they saw last.
_undecided = chats.c.marks.not_like(literal('%"seen":') + cast(chats.c.last_seq, String) + literal("}"))
_lines = (
    select(lines.c.key)
    .where(lines.c.chat == chats.c.key, lines.c.died.is_(None), lines.c.layer != "fact")
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
# Models have tried and failed: then it is left alone for as long again as that took. Without a network nobody has tried.
_rests = (
    select(calls.c.key)
    .where(calls.c.chat == chats.c.key, calls.c.fold.is_(None))
    .where(calls.c.outcome != "transport", calls.c.outcome != "denied")
    .where(calls.c.created_at * 2 > bindparam("now") + folds.c.created_at)
    .where(calls.c.created_at > bindparam("now") - MOST_REST)
    .correlate(chats, folds)
    .exists()
)
_unwritten = and_(
    literal(NOBODY) < bindparam("models"),
    _written,
    chats.c.policy.like(f'%"fallback":"{EXTRACTIVE}"%'),
    select(folds.c.key)
    .where(folds.c.chat == chats.c.key, folds.c.n == _newest, folds.c.author == EXTRACTIVE)
    .where(or_(folds.c.kind == "base", _lines), not_(_rests))
    .exists(),
)
_found = select(chats.c.tenant, chats.c.id, chats.c.key).where(or_(_unread, _undecided, _unwritten))
_due = Query(
    _found.where(chats.c.key > bindparam("after"), chats.c.key <= bindparam("upto"))
    .order_by(chats.c.key)
    .limit(bindparam("most"))
)
_newest_message = Query(select(func.max(messages.c.key)))
_lately = Query(select(messages.c.chat).where(messages.c.key > bindparam("since")).distinct().order_by(messages.c.chat))
_due_among = Query(_found.where(among(chats.c.key, "keys")).order_by(chats.c.key))
_beyond = Query(select(chats.c.key).where(chats.c.key > bindparam("after")).limit(1))

Due = tuple[str, str, int]
"""Tenant, id and key of a chat."""


def due(
    connection: Connection, *, models: int, now: int = END, after: int = 0, upto: int = END, most: int = 500
) -> list[Due]:
    """Chats where something is left to do, whoever's they are. `models` is NOBODY, OWN or ANYBODY. Those that no model could
    write are left alone for a while; without `now` they are among them."""
    found = _due(
        connection, models=models, now=now, after=after, upto=upto, most=most, made=passages.pattern(connection)
    )
    return [(tenant, id, key) for tenant, id, key in found]


def due_lately(connection: Connection, *, models: int, now: int) -> list[Due]:
    """The same among the chats with the newest messages, which takes no longer where there are many others."""
    since = int(_newest_message(connection).fetchone()[0] or 0) - LATELY
    keys = json.dumps([key for (key,) in _lately(connection, since=since)])
    found = _due_among(connection, models=models, now=now, keys=keys, made=passages.pattern(connection))
    return [(tenant, id, key) for tenant, id, key in found]


def any_beyond(connection: Connection, key: int) -> bool:
    """Whether there are chats after this one, whoever's they are."""
    return _beyond(connection, after=key).fetchone() is not None
