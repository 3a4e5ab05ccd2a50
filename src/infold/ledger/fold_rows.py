"""Folds and the lines of memory they wrote. Callers hold the transaction."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import and_, bindparam, delete, func, or_, select, update

from infold.items import LEAF, Item
from infold.ledger.query import Connection, Query
from infold.ledger.rows import FoldRow
from infold.ledger.schema import calls, folds, items
from infold.ledger.sealing import seal, whole
from infold.ledger.store import inserting
from infold.messages import canonical_json

log = logging.getLogger("infold")

P = bindparam
_FOLD_COLUMNS = [column for column in folds.c if column.name != "key"]
_ITEM_COLUMNS = [
    items.c.id,
    items.c.section,
    items.c.text,
    items.c.sources,
    items.c.layer,
    items.c.born,
    items.c.tokens,
    items.c.confidence,
    items.c.rewrites,
    items.c.seal,
]

_insert_fold = inserting(folds)
_insert_item = inserting(items)
_newest_folds = Query(
    select(*_FOLD_COLUMNS)
    .where(folds.c.chat == P("of"), folds.c.superseded_by.is_(None))
    .order_by(folds.c.n.desc())
    .limit(P("most"))
)
_begins = Query(
    select(folds.c.n, folds.c.first_seq, folds.c.last_seq)
    .where(
        folds.c.chat == P("of"), folds.c.nominal == P("begins"), folds.c.kind == "base", folds.c.superseded_by.is_(None)
    )
    .order_by(folds.c.n.desc())
    .limit(4)
)
_all_folds = Query(select(*_FOLD_COLUMNS).where(folds.c.chat == P("of")).order_by(folds.c.n))
_supersede = Query(
    update(folds)
    .where(folds.c.chat == P("of"), folds.c.n.between(P("first"), P("last")), folds.c.superseded_by.is_(None))
    .values(superseded_by=P("by"))
)
_end_item = Query(
    update(items).where(items.c.chat == P("of"), items.c.id == P("id"), items.c.died.is_(None)).values(died=P("at"))
)
_alive = Query(select(*_ITEM_COLUMNS).where(items.c.chat == P("of"), items.c.died.is_(None)).order_by(items.c.key))
_alive_at = Query(
    select(*_ITEM_COLUMNS)
    .where(items.c.chat == P("of"), items.c.born <= P("at"), or_(items.c.died.is_(None), items.c.died > P("at")))
    .order_by(items.c.key)
)
_all_items = Query(select(*_ITEM_COLUMNS, items.c.died).where(items.c.chat == P("of")).order_by(items.c.key))
_leaves = Query(
    select(*_ITEM_COLUMNS)
    .join(folds, and_(folds.c.chat == items.c.chat, folds.c.n == items.c.born))
    .where(items.c.chat == P("of"), items.c.layer == LEAF, folds.c.kind == "base", folds.c.superseded_by.is_(None))
    .order_by(items.c.key)
)
_undo_folds = Query(delete(folds).where(folds.c.chat == P("of"), folds.c.n >= P("at")))
_undo_superseded = Query(
    update(folds).where(folds.c.chat == P("of"), folds.c.superseded_by >= P("at")).values(superseded_by=None)
)
_undo_born = Query(delete(items).where(items.c.chat == P("of"), items.c.born >= P("at")))
_undo_died = Query(update(items).where(items.c.chat == P("of"), items.c.died >= P("at")).values(died=None))
_undo_calls = Query(update(calls).where(calls.c.chat == P("of"), calls.c.fold >= P("at")).values(fold=None))
_first_fold_past = Query(select(func.min(folds.c.n)).where(folds.c.chat == P("of"), folds.c.head_seq > P("after")))


def _item(row: Sequence[Any]) -> Item:
    id, section, text, sources, layer, born, tokens, confidence, rewrites, _ = row
    return Item(id, section, text, tuple(json.loads(sources)), layer, born, tokens, confidence, rewrites)


def insert_fold(connection: Connection, fold: FoldRow) -> None:
    _insert_fold(connection, **{column.name: getattr(fold, column.name) for column in _FOLD_COLUMNS})


def insert_items(connection: Connection, key: int, added: Iterable[Item], n: int) -> None:
    rows: list[dict[str, Any]] = []
    for item in added:
        sources, confidence = canonical_json(item.sources), float(item.confidence)
        sealed = (item.id, item.section, item.text, sources, item.layer, n, item.tokens, confidence, item.rewrites)
        rows.append({
            "chat": key, "id": item.id, "born": n, "died": None, "layer": item.layer, "section": item.section,
            "text": item.text, "sources": sources, "tokens": item.tokens, "confidence": confidence,
            "rewrites": item.rewrites, "seal": seal(sealed),
        })  # fmt: skip
    _insert_item.each(connection, rows)


def end_items(connection: Connection, key: int, ids: Iterable[str], n: int) -> None:
    for id in ids:
        _end_item(connection, of=key, id=id, at=n)


def supersede(connection: Connection, key: int, first: int, last: int, by: int) -> None:
    _supersede(connection, of=key, first=first, last=last, by=by)


def newest_folds(connection: Connection, key: int, most: int) -> list[FoldRow]:
    """The newest active folds, newest first."""
    return [FoldRow(*row) for row in _newest_folds(connection, of=key, most=most)]


def folds_that_begin(connection: Connection, key: int, begins: bytes) -> list[tuple[int, int, int]]:
    """Number and range of the newest folds in force whose leaf begins so."""
    return [(n, first, last) for n, first, last in _begins(connection, of=key, begins=begins)]


def all_folds(connection: Connection, key: int) -> list[FoldRow]:
    return [FoldRow(*row) for row in _all_folds(connection, of=key)]


def memory_now(connection: Connection, key: int) -> tuple[tuple[Item, ...], bool]:
    """Memory now, and whether any of it is damaged: such a line is left out, with a warning."""
    rows = [*_alive(connection, of=key)]
    found = _sound(rows)
    return found, len(found) < len(rows)


def alive_items(connection: Connection, key: int) -> tuple[Item, ...]:
    """Memory now."""
    return memory_now(connection, key)[0]


def _sound(rows: Iterable[Sequence[Any]]) -> tuple[Item, ...]:
    found: list[Item] = []
    for row in rows:
        item = _read_item(row)
        if item is None:
            log.warning("the item %s is damaged; it is left out (infold verify tells more)", row[0])
        else:
            found.append(item)
    return tuple(found)


def _read_item(row: Sequence[Any]) -> Item | None:
    try:
        return _item(row) if whole(row[:-1], row[-1]) else None
    except (ValueError, TypeError):
        return None


def items_at(connection: Connection, key: int, n: int) -> tuple[Item, ...]:
    """Memory as it was right after fold n."""
    return _sound(_alive_at(connection, of=key, at=n))


def all_items(connection: Connection, key: int) -> list[tuple[Item, int | None]]:
    """Every item a chat ever had, with the fold that ended it."""
    return [(_item(row[:-1]), row[-1]) for row in _all_items(connection, of=key)]


def stored_items(connection: Connection, key: int) -> Iterator[tuple[Item | None, int, int | None]]:
    """Every item a chat ever had, None for one that cannot be read; with the folds that wrote it and that ended it."""
    for row in _all_items(connection, of=key):
        yield _read_item(row[:-1]), row[5], row[-1]


def leaves(connection: Connection, key: int) -> list[Item]:
    """The leaf that each fold in force wrote, as it wrote it."""
    return [_item(row) for row in _leaves(connection, of=key)]


def first_fold_past(connection: Connection, key: int, seq: int) -> int | None:
    """The first fold made when the chat was longer than `seq`."""
    row = _first_fold_past(connection, of=key, after=seq).fetchone()
    return row[0] if row else None


def undo_folds(connection: Connection, key: int, n: int) -> None:
    """Take back fold n and every later one."""
    for query in (_undo_folds, _undo_superseded, _undo_born, _undo_died, _undo_calls):
        query(connection, of=key, at=n)
