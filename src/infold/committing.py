"""Committing a fold: one transaction, compare-and-swap, a link of the chain of hashes; and taking folds back."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from infold.failpoints import reach
from infold.knowledge.noting import rewound
from infold.ledger import fold_rows, journal, store
from infold.ledger.query import Connection
from infold.ledger.rows import Event, FoldRow
from infold.lines.line import FURTHER, MOST, Line, total_tokens
from infold.lines.merging import Change
from infold.lines.words import kept_to
from infold.messages import canonical_json
from infold.state import State, folded, load, marks_json, note_marks
from infold.triggers import Marks
from infold.unreadable import marks_from
from infold.writing import Written

log = logging.getLogger("infold")

EXTRACTIVE, SUMMARIZER = "extractive", "summarizer"
GENESIS = b"\0" * 32


class LostRaceError(Exception):
    """Memory changed while a fold was being made; the fold is thrown away."""


@dataclass(frozen=True, slots=True)
class Clockwork:
    """The injected sources of time and ids."""

    now: Callable[[], int]
    new_id: Callable[[], str]


def noted(connection: Connection, state: State, type: str, data: dict[str, Any], clock: Clockwork) -> Event:
    """Write an event; the caller emits it once it is committed."""
    event = Event(type, clock.now(), data, state.row.id)
    journal.insert_event(connection, state.row.key, event)
    return event


def commit(
    connection: Connection,
    state: State,
    change: Change,
    reason: str,
    marks: Marks,
    clock: Clockwork,
    *,
    author: str,
    first: int = 0,
    last: int = 0,
    kind: str = "",
    started: int | None = None,
    replaced: int = 0,
    turns: int = 0,
    called: int = 0,
    written: Written | None = None,
    notes: dict[str, Any] | None = None,
    begins: bytes | None = None,
) -> tuple[State, list[Event]]:
    """Write one fold and what is told of it. Messages first..last become covered by it; without a last, memory alone
    changes."""
    row = state.row
    notes = {**(written.notes if written else {}), **(notes or {})}
    covers = last > 0
    kind = kind or ("base" if covers else "rewrite")
    first = (first or row.cursor + 1) if covers else 0
    ends = max((fold.last_seq for fold in state.folds if fold.last_seq), default=row.cursor)
    assert not covers or replaced or first == ends + 1, "a fold starts right after the one before it"
    assert not covers or first <= last <= row.last_seq, "a fold covers messages that exist"
    n = row.folds + 1
    change = as_people_said(state, change, n)
    now = clock.now()
    before = state.situation()
    parent, depth = _place(state, kind, replaced)
    fold = FoldRow(
        chat=row.key, n=n, id=clock.new_id(), kind=kind,
        first_seq=first if covers else None, last_seq=last if covers else None, head_seq=row.last_seq,
        depth=depth, parent=parent, superseded_by=None, author=author, reason=reason, created_at=now,
        duration=max(0, now - started) if started is not None else 0, request_tokens=before.request_tokens,
        context_window=before.context_window, active=before.active, tokens=total_tokens(line for line in change.lines if line.layer != FURTHER), marks=marks_json(marks),
        removed=canonical_json(change.removed),
        sources_sha256=sources_hash(connection, row.key, first, last) if covers else GENESIS, hash=b"",
        model=written.model if written else None, prompt=written.prompt if written else None,
        narrative=written.narrative if written else None,
        notes=canonical_json(notes) if notes else None, nominal=begins,
    )  # fmt: skip
    fold = replace(fold, hash=fold_hash(row.head_hash, fold, change.added))
    reach("fold.proposed")
    if replaced:
        fold_rows.supersede(connection, row.key, replaced, n - 1, n)
    fold_rows.insert_fold(connection, fold)
    reach("fold.written")
    fold_rows.end_lines(connection, row.key, change.removed, n)
    fold_rows.insert_lines(connection, row.key, change.added, n)
    reach("fold.lines")
    cursor = max(row.cursor, last)
    if not store.advance(
        connection, row.key, expected=row.version, cursor=cursor, folds=n, head_hash=fold.hash, marks=fold.marks
    ):
        raise LostRaceError
    reach("fold.advanced")
    moved = replace(row, cursor=cursor, version=row.version + 1, folds=n, head_hash=fold.hash, marks=fold.marks)
    fresh = _reloaded(connection, row.key, None if replaced else folded(state, moved, fold, change))
    event = Event(
        "summarization",
        now,
        {
            "reason": reason, "depth": depth, "tokens_before": before.request_tokens, "ratio": round(before.ratio, 4),
            "fold": n, "kind": kind, "author": author, "first": first or None, "last": last or None,
            "tokens_after": fresh.situation().request_tokens, "duration": fold.duration, "turns": turns,
            "call": called, "write": max(0, clock.now() - now),
            **({"model": written.model, "prompt": written.prompt} if written else {}), **notes,
        },
        row.id,
    )  # fmt: skip
    events = [event]
    if covers:  # which messages a summary rests on can be looked up by its id
        data = {"summary": fold.id, "sources": last - first + 1}
        events.append(Event("memory_summary_created", now, data, row.id))
    for one in events:
        journal.insert_event(connection, row.key, one)
    reach("fold.recorded")
    fields = {
        "chat": row.id, "depth": depth, "compressed_messages": last - first + 1 if covers else 0, "turns": turns,
        "ratio_before": round(before.ratio, 3), "tokens_before": before.request_tokens,
        "tokens_after": event.data["tokens_after"], "author": written.model or author if written else author,
        "call_ms": called, "write_ms": event.data["write"],
    }  # fmt: skip
    log.debug(
        "fold chat=%(chat)s depth=%(depth)d compressed_messages=%(compressed_messages)d turns=%(turns)d "
        "ratio_before=%(ratio_before).3f tokens_before=%(tokens_before)d estimate_after=%(tokens_after)d "
        "author=%(author)s call_ms=%(call_ms)d write_ms=%(write_ms)d",
        fields,
        extra={"event": "fold", **fields},
    )
    return fresh, events


def as_people_said(state: State, change: Change, n: int) -> Change:
    """What fold n does to memory, with what people said of its lines."""
    lines = kept_to(change.lines, state.words, n)
    if lines == change.lines:
        return change
    before, after = {line.id for line in state.lines}, {line.id for line in lines}
    return Change(
        tuple(line.id for line in state.lines if line.id not in after),
        tuple(line for line in lines if line.id not in before),
        lines,
    )


def rewind(connection: Connection, state: State, seq: int) -> State:
    """Take back every message after a position, and every fold made since."""
    key = state.row.key
    store.delete_messages_after(connection, key, seq)
    n = fold_rows.first_fold_past(connection, key, seq)
    if n is not None:
        fold_rows.undo_folds(connection, key, n)
    folds = fold_rows.all_folds(connection, key)
    newest = folds[-1] if folds else None
    users = store.users_until(connection, key, seq)
    known = (marks_from(newest.marks) if newest else None) or Marks()
    # A fold may carry marks of messages that came after the ones it read, and that are gone now.
    marks = marks_json(
        replace(known, head=min(known.head, seq), safety=min(known.safety, users), seen=min(known.seen, seq))
    )
    store.touch(connection, key, last_seq=seq, users=users, marks=marks)
    cursor = max((fold.last_seq or 0 for fold in folds if fold.superseded_by is None), default=0)
    rewound(connection, key, seq)
    store.advance(
        connection,
        key,
        expected=state.row.version,
        cursor=cursor,
        folds=len(folds),
        head_hash=newest.hash if newest else GENESIS,
        marks=marks,
    )
    return _reloaded(connection, key)


def _reloaded(connection: Connection, key: int, fresh: State | None = None) -> State:
    """The chat after its memory changed, with the check that may arm its trigger again; read where it is not given."""
    fresh = fresh or load(connection, key, None)
    assert fresh is not None
    if not fresh.marks.armed and fresh.situation().ratio < fresh.policy.reset_ratio:
        note_marks(connection, fresh, replace(fresh.marks, armed=True))
    return fresh


def _place(state: State, kind: str, replaced: int) -> tuple[str | None, int]:
    """Parent and depth of a new fold in the chain of records."""
    if replaced:
        first = next(fold for fold in state.folds if fold.n == replaced)
        return first.parent, first.depth
    records = state.records
    parent = records[0].id if records else None
    if kind == "rollup":
        return parent, 1
    if state.policy.leaf_cap:
        return parent, 0
    return parent, records[0].depth + 1 if records else 0


def sources_hash(connection: Connection, key: int, first: int, last: int) -> bytes:
    """Hash over the messages that a fold covers."""
    return hashlib.sha256(b"".join(store.message_hashes(connection, key, first, last))).digest()


def fold_hash(previous: bytes, fold: FoldRow, added: Sequence[Line]) -> bytes:
    """The link of the chain: the fold's content and the link before it."""
    content: list[object] = [
        fold.n, fold.id, fold.kind, fold.first_seq, fold.last_seq, fold.head_seq, fold.depth, fold.parent, fold.author,
        fold.reason, fold.created_at, fold.request_tokens, fold.context_window, fold.active, fold.tokens, fold.duration,
        fold.marks, fold.removed, fold.sources_sha256.hex(),
        [*map(_hashed, added)],
    ]  # fmt: skip
    if any((fold.model, fold.prompt, fold.narrative, fold.notes)):
        content.append([fold.model, fold.prompt, fold.narrative, fold.notes])
    return hashlib.sha256(previous + canonical_json(content).encode()).digest()


def removed_by(fold: FoldRow) -> list[str] | None:
    """Ids of the lines that a fold ended, sorted; None where its row is damaged."""
    try:
        return sorted(map(str, json.loads(fold.removed)))
    except (ValueError, TypeError):
        return None


def _hashed(line: Line) -> list[object]:
    """What the chain holds of a line. One of an earlier version names neither kind nor speaker; its worth was a share of 1."""
    rewrites = [["rewrites", line.rewrites]] if line.rewrites else []
    if not line.kind and not line.role:
        share = [line.worth / MOST] if line.worth != MOST else []
        return [line.id, line.layer, line.section, line.text, line.sources, *share, *rewrites]
    places = [[place.seq, place.start, place.end] for place in line.places]
    return [
        line.id, line.layer, line.section, line.text, line.sources, line.kind, line.quote, places, line.role, line.said_by,
        line.said_at, line.author, line.worth, line.standing, *rewrites,
    ]  # fmt: skip
