"""Making folds: the instant extractive one, the summarizer's, roll-ups; and committing them."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from infold.failpoints import reach
from infold.folding.extractive import extract
from infold.folding.merge import Change, fold_extractive, fold_text, roll_up
from infold.folding.text import check_summary, read_summary
from infold.items import LEAF, Candidate, Item, render, total_tokens
from infold.ledger import store
from infold.ledger.rows import Event, FoldRow
from infold.ledger.store import Connection
from infold.messages import Message, canonical_json
from infold.policy import Policy
from infold.rendering import memory_tokens
from infold.state import State, load, marks_json, note_marks
from infold.tokens import count
from infold.triggers import Marks, Plan, tighter
from infold.units import splits_unit

log = logging.getLogger("infold")

EXTRACTIVE, SUMMARIZER = "extractive", "summarizer"
GENESIS = b"\0" * 32


class Summarizer(Protocol):
    """Anything with `summarize_memory`'s signature."""

    def __call__(self, current_memory_summary: str, messages_to_summarize: list[Message], /) -> str: ...


class LostRaceError(Exception):
    """Memory changed while a fold was being made; the fold is thrown away."""


@dataclass(frozen=True, slots=True)
class Clockwork:
    """The injected sources of time and ids."""

    now: Callable[[], int]
    new_id: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Request:
    """What a summarizer is asked: memory as it last wrote it, and the messages since."""

    summary: str
    messages: list[Message]
    base: tuple[Item, ...]
    first: int
    last: int
    replaced: int
    """Number of the first extractive fold that the answer replaces; 0 for none."""

    @property
    def key(self) -> str:
        """Equal requests, equal key: message ids and contents, their tokens, and the memory they are folded into."""
        tokens = sum(m.tokens for m in self.messages)
        said = [m.sha256.hex() for m in self.messages]
        return hashlib.sha256(canonical_json([said, tokens, self.summary]).encode()).hexdigest()


def fold_instantly(
    connection: Connection, state: State, plan: Plan, marks: Marks, clock: Clockwork
) -> tuple[State, list[Event]]:
    """Fold a plan's messages extractively, in the caller's transaction."""
    started = clock.now()
    policy = state.policy

    read: list[list[Candidate]] = []

    def propose(cut: int) -> Change:
        read.extend(extract(message) for message in state.messages[len(read) : cut])
        found = [candidate for candidates in read[:cut] for candidate in candidates]
        return fold_extractive(state.items, found, policy, state.row.folds + 1)

    change = propose(plan.cut)
    while shrunk := tighter(
        policy, state.situation(), plan, memory_tokens(replace(state.view(), items=change.items, cache={}))
    ):
        plan = shrunk
        change = propose(plan.cut)
        if plan.reason != "tokens":
            break  # a chain's tail shrinks once
    last = state.messages[plan.cut - 1].seq if plan.cut else 0
    state, event = commit(
        connection, state, change, plan.reason, marks, clock, last=last, author=EXTRACTIVE, started=started
    )
    state, more = _roll_up(connection, state, clock)
    return state, [event, *more]


def request(connection: Connection, state: State, plan: Plan) -> Request:
    """What to ask a summarizer for a plan: everything since its own last word, up to the plan's end."""
    first, replaced, base = state.row.cursor + 1, 0, state.items
    for fold in state.records:  # newest first: the run of extractive folds at the end
        if fold.author != EXTRACTIVE:
            break
        replaced, first = fold.n, fold.first_seq or first
    if replaced:
        base = store.items_at(connection, state.row.key, replaced - 1)
    last = state.messages[plan.cut - 1].seq if plan.cut else state.row.cursor
    messages = store.messages_between(connection, state.row.key, first, last)
    shown = [] if state.policy.leaf_cap else [*state.pins, *base]
    return Request(render(shown), messages, base, first, last, replaced)


def fold_answer(
    connection: Connection,
    state: State,
    asked: Request,
    answer: str,
    plan: Plan,
    marks: Marks,
    clock: Clockwork,
    *,
    expected: int,
    started: int,
    second: str | None = None,
) -> tuple[State, list[Event]]:
    """Commit a summarizer's answer; extractive folds of the same messages are superseded."""
    # A late result may have joined a call in the range since: the cut would split them.
    if state.row.version != expected or splits_unit(state.messages, asked.last):
        raise LostRaceError
    policy = state.policy
    n = state.row.folds + 1
    found = [candidate for message in asked.messages for candidate in extract(message)] if policy.facts_cap else []
    change = fold_text(asked.base, read_summary(answer, asked.messages, asked.base), found, policy, n)
    change = _relative(change, state.items)
    state, event = commit(
        connection, state, change, plan.reason, marks, clock,
        first=asked.first, last=asked.last if asked.messages else 0, author=SUMMARIZER, started=started, replaced=asked.replaced,
    )  # fmt: skip
    events = [event]
    if second is not None:  # the answer was over its cap: its shorter rewrite is a record of its own
        lines = read_summary(second, asked.messages, state.items)
        again = fold_text(state.items, lines, [], policy, state.row.folds + 1)
        state, event = commit(
            connection, state, again, plan.reason, state.marks, clock, author=SUMMARIZER, started=started
        )
        events.append(event)
    state, more = _roll_up(connection, state, clock)
    return state, [*events, *more]


def ask(summarizer: Summarizer, asked: Request, policy: Policy, depth: int) -> tuple[str, str | None]:
    """The summarizer's checked answer, and its shorter rewrite where the first was over the cap."""
    cap = policy.leaf_cap or policy.summary_cap
    answer = check_summary(summarizer(asked.summary, list(asked.messages)), asked.messages)
    if count(answer) <= cap:
        return answer, None
    if policy.max_depth and depth + 1 < policy.max_depth:
        second = check_summary(summarizer(answer, []), asked.messages)
        if count(second) <= cap:
            return answer, second
        answer = second
    raise ValueError(f"the summary has {count(answer)} tokens, more than its cap of {cap}")


def _relative(change: Change, current: Sequence[Item]) -> Change:
    """A change seen from the memory that is in force, not from the one it was made from."""
    now, then = {item.id for item in current}, {item.id for item in change.items}
    return Change(
        tuple(item.id for item in current if item.id not in then),
        tuple(item for item in change.items if item.id not in now),
        change.items,
    )


def _roll_up(connection: Connection, state: State, clock: Clockwork) -> tuple[State, list[Event]]:
    """Merge leaves into the long summary where the policy says so."""
    policy = state.policy
    if not policy.leaf_cap:
        return state, []
    leaves: list[int] = []
    for fold in state.folds:
        if fold.kind == "rollup":
            leaves += sorted(
                {item.fold for item in state.items if item.layer == LEAF and item.fold < fold.n}, reverse=True
            )
            break
        if fold.kind == "base":
            leaves.append(fold.n)
    tokens = sum(item.tokens for item in state.items if item.layer == LEAF)
    due = (policy.rollup_count and len(leaves) >= policy.rollup_count) or (
        policy.rollup_tokens and tokens > policy.rollup_tokens
    )
    merged = leaves[policy.rollup_keep :]
    if not due or not merged:
        return state, []
    change = roll_up(state.items, merged, policy, state.row.folds + 1)
    state, event = commit(connection, state, change, "rollup", state.marks, clock, author=EXTRACTIVE, kind="rollup")
    return state, [event]


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
) -> tuple[State, Event]:
    """Write one fold. Messages first..last become covered by it; without a last, memory alone changes."""
    row = state.row
    covers = last > 0
    kind = kind or ("base" if covers else "rewrite")
    first = (first or row.cursor + 1) if covers else 0
    assert not covers or replaced or first == row.cursor + 1, "a fold starts right after the one before it"
    assert not covers or first <= last <= row.last_seq, "a fold covers messages that exist"
    n = row.folds + 1
    now = clock.now()
    before = state.situation()
    parent, depth = _place(state, kind, replaced)
    fold = FoldRow(
        chat=row.key, n=n, id=clock.new_id(), kind=kind,
        first_seq=first if covers else None, last_seq=last if covers else None, head_seq=row.last_seq,
        depth=depth, parent=parent, superseded_by=None, author=author, reason=reason, created_at=now,
        duration=max(0, now - started) if started is not None else 0, request_tokens=before.request_tokens,
        context_window=before.context_window, active=before.active, tokens=total_tokens(change.items), marks=marks_json(marks),
        removed=canonical_json(change.removed),
        sources_sha256=_sources_hash(connection, row.key, first, last) if covers else GENESIS, hash=b"",
    )  # fmt: skip
    fold = replace(fold, hash=fold_hash(row.head_hash, fold, change.added))
    reach("fold.proposed")
    if replaced:
        store.supersede(connection, row.key, replaced, n - 1, n)
    store.insert_fold(connection, fold)
    reach("fold.written")
    store.end_items(connection, row.key, change.removed, n)
    store.insert_items(connection, row.key, change.added, n)
    reach("fold.items")
    cursor = max(row.cursor, last)
    if not store.advance(
        connection, row.key, expected=row.version, cursor=cursor, folds=n, head_hash=fold.hash, marks=fold.marks
    ):
        raise LostRaceError
    reach("fold.advanced")
    fresh = _reloaded(connection, row.key)
    event = Event(
        "summarization",
        now,
        {
            "reason": reason, "depth": depth, "tokens_before": before.request_tokens, "ratio": round(before.ratio, 4),
            "fold": n, "kind": kind, "author": author, "first": first or None, "last": last or None,
            "tokens_after": fresh.situation().request_tokens, "duration": fold.duration,
        },
        row.id,
    )  # fmt: skip
    store.insert_event(connection, row.key, event)
    reach("fold.recorded")
    log.debug(
        "fold chat=%s depth=%d compressed_messages=%d ratio_before=%.3f estimate_after=%d",
        row.id, depth, last - first + 1 if covers else 0, before.ratio, fresh.situation().request_tokens,
    )  # fmt: skip
    return fresh, event


def rewind(connection: Connection, state: State, seq: int) -> State:
    """Take back every message after a position, and every fold made since."""
    key = state.row.key
    store.delete_messages_after(connection, key, seq)
    n = store.first_fold_past(connection, key, seq)
    if n is not None:
        store.undo_folds(connection, key, n)
    folds = store.all_folds(connection, key)
    newest = folds[-1] if folds else None
    marks = newest.marks if newest else marks_json(Marks())
    store.touch(connection, key, last_seq=seq, users=store.users_until(connection, key, seq), marks=marks)
    store.advance(
        connection,
        key,
        expected=state.row.version,
        cursor=max((fold.last_seq or 0 for fold in folds if fold.superseded_by is None), default=0),
        folds=len(folds),
        head_hash=newest.hash if newest else GENESIS,
        marks=marks,
    )
    return _reloaded(connection, key)


def _reloaded(connection: Connection, key: int) -> State:
    """The chat after its memory changed, with the check that may arm its trigger again."""
    fresh = load(connection, key, None)
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


def _sources_hash(connection: Connection, key: int, first: int, last: int) -> bytes:
    return hashlib.sha256(b"".join(store.message_hashes(connection, key, first, last))).digest()


def fold_hash(previous: bytes, fold: FoldRow, added: Sequence[Item]) -> bytes:
    """The link of the chain: the fold's content and the link before it."""
    content = [
        fold.n, fold.id, fold.kind, fold.first_seq, fold.last_seq, fold.head_seq, fold.depth, fold.parent, fold.author,
        fold.reason, fold.created_at, fold.request_tokens, fold.context_window, fold.active, fold.tokens, fold.duration,
        fold.marks, fold.removed, fold.sources_sha256.hex(),
        [
            [item.id, item.layer, item.section, item.text, item.sources, *([item.confidence] if item.confidence != 1 else [])]
            for item in added
        ],
    ]  # fmt: skip
    return hashlib.sha256(previous + canonical_json(content).encode()).digest()
