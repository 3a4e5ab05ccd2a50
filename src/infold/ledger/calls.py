"""Statements on the calls of models, and on who may make them. Callers hold the transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlalchemy import bindparam as P  # noqa: N812  as in `store`
from sqlalchemy import delete, insert, select, update

from infold.ledger.query import Connection, Query
from infold.ledger.rows import Call
from infold.ledger.schema import calls, leases

_insert_call = Query(insert(calls).values({c.name: P(c.name) for c in calls.c if c.name != "key"}))
_calls = Query(
    select(
        calls.c.model, calls.c.created_at, calls.c.duration, calls.c.tokens_in, calls.c.tokens_out, calls.c.cached,
        calls.c.cost, calls.c.outcome, calls.c.fold, calls.c.asked,
    )
    .where(calls.c.chat == P("of"))
    .order_by(calls.c.key)
)  # fmt: skip
_asked = Query(select(calls.c.key).where(calls.c.chat == P("of"), calls.c.asked == P("hash")).limit(1))
_lease = Query(select(leases.c.owner, leases.c.until).where(leases.c.chat == P("of")))
_insert_lease = Query(insert(leases).values(chat=P("of"), owner=P("by"), until=P("at")))
_set_lease = Query(update(leases).where(leases.c.chat == P("of")).values(owner=P("by"), until=P("at")))
_end_lease = Query(delete(leases).where(leases.c.chat == P("of"), leases.c.owner == P("by")))


def insert_calls(connection: Connection, key: int, made: Iterable[Call], fold: int | None) -> None:
    for call in made:
        _insert_call(
            connection, chat=key, fold=fold, model=call.model, created_at=call.created_at, duration=call.duration,
            tokens_in=call.tokens_in, tokens_out=call.tokens_out, cached=call.cached, cost=call.cost, outcome=call.outcome,
            asked=call.asked,
        )  # fmt: skip


def all_calls(connection: Connection, key: int) -> list[Call]:
    """Every call of a model made for a chat, oldest first."""
    return [Call(*row) for row in _calls(connection, of=key)]


def was_asked(connection: Connection, key: int, hash: bytes) -> bool:
    """Whether a model was sent this for the chat."""
    return _asked(connection, of=key, hash=hash).fetchone() is not None


def take_lease(connection: Connection, key: int, owner: str, now: int, until: int, gone: Callable[[str], bool]) -> bool:
    """Be the one who folds this chat with a summarizer, until a time; False while somebody else is, and not gone."""
    held = _lease(connection, of=key).fetchone()
    if held is None:
        _insert_lease(connection, of=key, by=owner, at=until)
        return True
    if held[0] != owner and held[1] > now and not gone(held[0]):
        return False
    _set_lease(connection, of=key, by=owner, at=until)
    return True


def end_lease(connection: Connection, key: int, owner: str) -> None:
    _end_lease(connection, of=key, by=owner)
