"""Making folds again over the same messages, without a model, where what they read has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from infold.committing import EXTRACTIVE, GENESIS, Clockwork, as_people_said, fold_hash, noted, sources_hash
from infold.folder import duplicate, rolled_up
from infold.knowledge.noting import candidates, settle
from infold.layers import own_summary
from infold.ledger import fold_rows, journal, stated, store
from infold.ledger.query import Connection
from infold.ledger.rows import FoldRow
from infold.lines.line import total_tokens
from infold.lines.merging import Change, fold_quotations
from infold.messages import Message, canonical_json
from infold.state import State


def first_that_read(folds: Sequence[FoldRow], seqs: Sequence[int]) -> int | None:
    """Number of the first fold that has to be made again if these messages changed; None where no fold read them."""
    read = [
        fold.n
        for fold in folds
        if fold.first_seq and fold.last_seq and any(fold.first_seq <= seq <= fold.last_seq for seq in seqs)
    ]
    if not read:
        return None
    return with_superseded(folds, min(read))


def with_superseded(folds: Sequence[FoldRow], n: int) -> int:
    """The first fold to take back if fold n is. What a later one superseded goes with it: otherwise both would be in force."""
    while (older := min(fold.n for fold in folds if fold.n >= n or (fold.superseded_by or 0) >= n)) < n:
        n = older
    return n


def refold(connection: Connection, state: State, folds: Sequence[FoldRow], n: int, clock: Clockwork) -> int:
    """Take back fold n and all later ones, and fold the same ranges again; returns how many. Memory rests on them anew,
    facts too; the cursor and the triggers' marks stay."""
    key, row = state.row.key, state.row
    undone = [fold for fold in folds if fold.n >= n and fold.kind == "base" and fold.first_seq and fold.last_seq]
    active = [fold for fold in undone if fold.superseded_by is None]
    start = min((fold.first_seq or 0 for fold in undone), default=row.cursor + 1)
    fold_rows.undo_folds(connection, key, n)
    unsettled = stated.forget_written(connection, key, start - 1)
    work = _Work(connection, state, [fold for fold in folds if fold.n < n], clock)
    for old in active:
        first, last = old.first_seq or 0, old.last_seq or 0
        messages = store.messages_between(connection, key, first, last)
        # As long as the chat was when these messages were first folded: rewinding goes by it.
        head = min(fold.head_seq for fold in undone if (fold.last_seq or 0) >= last)
        work.base(replace(old, head_seq=head), messages)
        work.roll_up()
    for owner in sorted(unsettled):
        settle(connection, owner)
    assert not active or active[-1].last_seq == row.cursor, "what was folded stays folded"
    done = store.advance(
        connection, key, expected=row.version, cursor=row.cursor, folds=work.state.row.folds, head_hash=work.link,
        marks=row.marks,
    )  # fmt: skip
    assert done, "the caller holds the transaction"
    return len(active)


class _Work:
    """Folds written one after the other, without loading the chat in between."""

    def __init__(self, connection: Connection, state: State, kept: Sequence[FoldRow], clock: Clockwork) -> None:
        self._connection = connection
        self._clock = clock
        self.link = kept[-1].hash if kept else GENESIS
        row = replace(state.row, folds=len(kept))
        in_force = [fold for fold in reversed(kept) if fold.superseded_by is None]
        self.state = replace(
            state, row=row, words=tuple(word for _, word in journal.words(connection, row)), lines=fold_rows.alive_lines(connection, row.key), folds=in_force, messages=[], rendered={},
            records=[fold for fold in in_force if fold.kind != "rollup"],
        )  # fmt: skip

    def base(self, old: FoldRow, messages: Sequence[Message]) -> None:
        """Fold the messages of a fold again."""
        state, policy = self.state, self.state.policy
        read = candidates(self._connection, state.row.key, messages)
        found = [one for some in read for one in some]
        notes, begins = duplicate(self._connection, state, own_summary(found, policy))
        number, lines = state.row.folds + 1, state.lines
        change = Change((), (), lines) if notes else fold_quotations(lines, found, policy, number)
        records = state.records
        depth = 0 if policy.leaf_cap or not records else records[0].depth + 1
        sources = sources_hash(self._connection, state.row.key, old.first_seq or 0, old.last_seq or 0)
        self._write(replace(old, depth=depth, sources_sha256=sources, nominal=begins), change, notes)

    def roll_up(self) -> None:
        """Merge leaves where that is due."""
        found = rolled_up(self._connection, self.state)
        if found is None:
            return
        change, notes, flagged = found
        fold = replace(
            self.state.folds[0], id=self._clock.new_id(), kind="rollup", first_seq=None, last_seq=None, depth=1,
            reason="rollup", duration=0, sources_sha256=GENESIS, nominal=None,
        )  # fmt: skip
        self._write(fold, change, notes)
        if flagged:
            data = {"fold": self.state.row.folds, "contradicted": flagged}
            noted(self._connection, self.state, "consistency", data, self._clock)

    def _write(self, fold: FoldRow, change: Change, notes: dict[str, Any]) -> None:
        connection, state = self._connection, self.state
        key, n = state.row.key, state.row.folds + 1
        change = as_people_said(state, change, n)
        fold = replace(
            fold, n=n, parent=state.records[0].id if state.records else None, superseded_by=None, author=EXTRACTIVE,
            tokens=total_tokens(change.lines), removed=canonical_json(change.removed), model=None, prompt=None,
            narrative=None, notes=canonical_json(notes) if notes else None,
        )  # fmt: skip
        self.link = fold_hash(self.link, fold, change.added)
        fold = replace(fold, hash=self.link)
        fold_rows.insert_fold(connection, fold)
        fold_rows.end_lines(connection, key, change.removed, n)
        fold_rows.insert_lines(connection, key, change.added, n)
        state.row.folds = n
        state.lines = fold_rows.alive_lines(connection, key)
        state.folds.insert(0, fold)
        if fold.kind != "rollup":
            state.records.insert(0, fold)
