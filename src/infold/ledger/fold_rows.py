"""Folds and the lines of memory they wrote. Callers hold the transaction."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import and_, bindparam, delete, func, or_, select, update

from infold.ledger import line_rows, store
from infold.ledger.query import Connection, Query
from infold.ledger.rows import FoldRow
from infold.ledger.schema import calls, folds, lines
from infold.ledger.store import inserting
from infold.lines.line import LEAF, Line

log = logging.getLogger("infold")

P = bindparam
_FOLD_COLUMNS = [column for column in folds.c if column.name != "key"]
_BESIDE = ("id", "section", "layer", "born", "tokens")
_LINE_COLUMNS = [*line_rows.columns(lines), *(lines.c[name] for name in _BESIDE), lines.c.seal]

_insert_fold = inserting(folds)
_insert_line = inserting(lines)
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
_end_line = Query(
    update(lines).where(lines.c.chat == P("of"), lines.c.id == P("id"), lines.c.died.is_(None)).values(died=P("at"))
)
_alive = Query(select(*_LINE_COLUMNS).where(lines.c.chat == P("of"), lines.c.died.is_(None)).order_by(lines.c.key))
_alive_at = Query(
    select(*_LINE_COLUMNS)
    .where(lines.c.chat == P("of"), lines.c.born <= P("at"), or_(lines.c.died.is_(None), lines.c.died > P("at")))
    .order_by(lines.c.key)
)
_all_lines = Query(select(*_LINE_COLUMNS, lines.c.died).where(lines.c.chat == P("of")).order_by(lines.c.key))
_leaves = Query(
    select(*_LINE_COLUMNS)
    .join(folds, and_(folds.c.chat == lines.c.chat, folds.c.n == lines.c.born))
    .where(lines.c.chat == P("of"), lines.c.layer == LEAF, folds.c.kind == "base", folds.c.superseded_by.is_(None))
    .order_by(lines.c.key)
)
_undo_folds = Query(delete(folds).where(folds.c.chat == P("of"), folds.c.n >= P("at")))
_undo_superseded = Query(
    update(folds).where(folds.c.chat == P("of"), folds.c.superseded_by >= P("at")).values(superseded_by=None)
)
_undo_born = Query(delete(lines).where(lines.c.chat == P("of"), lines.c.born >= P("at")))
_undo_died = Query(update(lines).where(lines.c.chat == P("of"), lines.c.died >= P("at")).values(died=None))
_undo_calls = Query(update(calls).where(calls.c.chat == P("of"), calls.c.fold >= P("at")).values(fold=None))
_first_fold_past = Query(select(func.min(folds.c.n)).where(folds.c.chat == P("of"), folds.c.head_seq > P("after")))


def insert_fold(connection: Connection, fold: FoldRow) -> None:
    _insert_fold(connection, **{column.name: getattr(fold, column.name) for column in _FOLD_COLUMNS})


def insert_lines(connection: Connection, key: int, added: Iterable[Line], n: int) -> None:
    rows: list[dict[str, Any]] = []
    for line in added:
        row = {
            **line_rows.values(line), "chat": key, "id": line.id, "born": n, "died": None, "layer": line.layer,
            "section": line.section, "tokens": line.tokens,
        }  # fmt: skip
        rows.append(line_rows.sealed(row, _BESIDE))
    _insert_line.each(connection, rows)


def end_lines(connection: Connection, key: int, ids: Iterable[str], n: int) -> None:
    for id in ids:
        _end_line(connection, of=key, id=id, at=n)


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


def memory_now(connection: Connection, key: int) -> tuple[tuple[Line, ...], bool]:
    """Memory now, and whether any of it is damaged: such a line is left out, with a warning."""
    rows = [*_alive(connection, of=key)]
    found = _sound(connection, key, rows)
    return found, len(found) < len(rows)


def alive_lines(connection: Connection, key: int) -> tuple[Line, ...]:
    """Memory now."""
    return memory_now(connection, key)[0]


def _sound(connection: Connection, key: int, rows: Iterable[Sequence[Any]]) -> tuple[Line, ...]:
    found: list[Line] = []
    for row in rows:
        line = _line(row)
        if line is None:
            name = store.name_of(connection, key)
            log.warning(
                "table lines, row %s of chat %s is damaged; it is left out (infold verify tells more)", row[_AT], name
            )
        else:
            found.append(line)
    return tuple(found)


_AT = len(line_rows.NAMES)


def _line(row: Sequence[Any]) -> Line | None:
    beside = row[_AT : _AT + len(_BESIDE)]
    found = line_rows.read(row[:_AT], beside, row[_AT + len(_BESIDE)])
    if found is None:
        return None
    id, section, layer, born, tokens = beside
    return replace(found, id=id, section=section, layer=layer, fold=born, tokens=tokens)


def lines_at(connection: Connection, key: int, n: int) -> tuple[Line, ...]:
    """Memory as it was right after fold n."""
    return _sound(connection, key, _alive_at(connection, of=key, at=n))


def stored_lines(connection: Connection, key: int) -> Iterator[tuple[Line | None, int, int | None]]:
    """Every line a chat ever had, None for one that cannot be read; with the folds that wrote it and that ended it."""
    for row in _all_lines(connection, of=key):
        yield _line(row[:-1]), row[_AT + _BESIDE.index("born")], row[-1]


def all_lines(connection: Connection, key: int) -> list[Line]:
    """Every line that a chat ever had, and that can be read."""
    return [line for line, _, _ in stored_lines(connection, key) if line is not None]


def leaves(connection: Connection, key: int) -> list[Line]:
    """The leaf that each fold in force wrote, as it wrote it."""
    return [line for row in _leaves(connection, of=key) if (line := _line(row)) is not None]


def first_fold_past(connection: Connection, key: int, seq: int) -> int | None:
    """The first fold made when the chat was longer than `seq`."""
    row = _first_fold_past(connection, of=key, after=seq).fetchone()
    return row[0] if row else None


def undo_folds(connection: Connection, key: int, n: int) -> None:
    """Take back fold n and every later one."""
    for query in (_undo_folds, _undo_superseded, _undo_born, _undo_died, _undo_calls):
        query(connection, of=key, at=n)
