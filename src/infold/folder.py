"""Making folds: the instant extractive one, the summarizer's, roll-ups; and committing them."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from infold.committing import EXTRACTIVE, SUMMARIZER, Clockwork, LostRaceError, commit, noted
from infold.context.parts import memory_tokens
from infold.knowledge.noting import candidates, catch_up, note_written
from infold.layers import difference, in_old_words, is_kept, nominal, own_summary, without_outdated
from infold.ledger import archive, derived, fold_rows, stated, store
from infold.ledger import calls as store_calls
from infold.ledger.erasure import last_forgetting
from infold.ledger.query import Connection
from infold.ledger.rows import Event
from infold.lines.line import LEAF, Line
from infold.lines.merging import Change, fold_quotations, fold_text, rebuild, roll_up
from infold.policy import Policy
from infold.quoting.reading import REACH
from infold.state import State
from infold.triggers import Marks, Plan, tighter
from infold.units import splits_unit
from infold.units import turns as turns_of
from infold.writing import Job, Log, Written

log = logging.getLogger("infold")

_LATEST = 300
MOST_AT_ONCE = 2000
"""Messages whose facts are noted while somebody waits."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a summarizer: memory as it last wrote it, and everything since."""

    job: Job
    first: int
    last: int
    replaced: int
    """Number of the first extractive fold that the answer replaces; 0 for none."""
    parent: str | None
    """Id of the record that they follow."""
    version: int
    """Of the chat's memory, when it was asked."""
    forgotten: int
    """The chat's last forgetting when it was asked: where there is a later one, the answer may tell what was forgotten."""


def fold_instantly(
    connection: Connection, state: State, plan: Plan, marks: Marks, clock: Clockwork
) -> tuple[State, list[Event]]:
    """Fold a plan's messages into quotations, in the caller's transaction."""
    started = clock.now()
    policy, n = state.policy, state.row.folds + 1
    read = candidates(connection, state.row.key, state.messages[: plan.cut])

    def propose(cut: int) -> Change:
        if cut > len(read):
            read[:] = candidates(connection, state.row.key, state.messages[:cut])
        return fold_quotations(state.lines, [one for found in read[:cut] for one in found], policy, n)

    change = propose(plan.cut)
    text = own_summary([one for found in read for one in found], policy)
    notes, begins = duplicate(connection, state, text)
    if notes:
        change = Change((), (), state.lines)
    while shrunk := tighter(
        policy, state.situation(), plan, memory_tokens(replace(state.view(), lines=change.lines, cache={}))
    ):
        plan, notes, begins = shrunk, {}, None
        change = propose(plan.cut)
        if plan.reason != "tokens":
            break  # a chain's tail shrinks once
    folded = state.messages[: plan.cut]
    last = folded[-1].seq if folded else 0
    state, events = commit(
        connection, state, change, plan.reason, marks, clock, last=last, author=EXTRACTIVE, started=started,
        turns=len(turns_of(folded)), notes=notes, begins=begins,
    )  # fmt: skip
    note_folded(connection, state)
    state, more = _roll_up(connection, state, clock)
    return state, [*events, *more]


def duplicate(connection: Connection, state: State, text: str) -> tuple[dict[str, Any], bytes | None]:
    """Whether a leaf would say just what an earlier one says: then it is skipped, and what it covers counts as covered by
    that one. Also how it begins, for later ones to be compared with."""
    policy = state.policy
    if not text:
        return {}, None
    begins = nominal(text)
    for n, first, last in fold_rows.folds_that_begin(connection, state.row.key, begins):
        read = candidates(connection, state.row.key, store.messages_between(connection, state.row.key, first, last))
        if is_kept(text, own_summary([one for found in read for one in found], policy), state.lines):
            return {"duplicate_of": n}, begins
    return {}, begins


def request(connection: Connection, state: State, plan: Plan) -> Request:
    """What to ask a summarizer for a plan: everything since its own last word, up to the plan's end."""
    replaced, first, parent = unwritten(connection, state)
    base = fold_rows.lines_at(connection, state.row.key, replaced - 1) if replaced else state.lines
    last = state.messages[plan.cut - 1].seq if plan.cut else state.row.cursor
    messages = store.messages_between(connection, state.row.key, first - REACH, last)
    before, messages = [m for m in messages if m.seq < first], [m for m in messages if m.seq >= first]
    # As deep as the first fold it replaces: the same messages are the same request, however often they were folded since.
    depth = next((fold.depth for fold in state.records if fold.n == replaced), state.depth + 1)
    if not messages and _worn(state.policy, base):
        base = rebuild(base, fold_rows.leaves(connection, state.row.key), state.policy, state.row.folds + 1)
    job = Job(base, state.pins, tuple(messages), state.policy, state.row.folds + 1, depth, tuple(before))
    return Request(job, first, last, replaced, parent, state.row.version, last_forgetting(connection, state.row.key))


def _worn(policy: Policy, lines: Sequence[Line]) -> bool:
    """Whether another rewrite would take a line too far from its messages, and there are leaves to go back to."""
    return bool(policy.leaf_cap and policy.max_rewrites) and any(line.rewrites >= policy.max_rewrites for line in lines)


def unwritten(connection: Connection, state: State) -> tuple[int, int, str | None]:
    """The run of extractive folds at the end: number of its first one (0: none), where it begins, and what it follows.
    It goes no further back than the messages can still be read: what was removed lives on in memory alone."""
    replaced, first, parent = 0, state.row.cursor + 1, state.records[0].id if state.records else None
    run = list(itertools.takewhile(lambda fold: fold.author == EXTRACTIVE, state.records))  # newest first
    begins = min((fold.first_seq for fold in run if fold.first_seq), default=first)
    removed = archive.last_removed(connection, state.row.key, begins, state.row.cursor) if begins < first else 0
    for fold in run:
        if (fold.first_seq or first) <= removed:
            break
        replaced, first, parent = fold.n, fold.first_seq or first, fold.parent
    return replaced, first, parent


def _still_asked(connection: Connection, state: State, asked: Request, last: int) -> bool:
    """Whether an answer can still be committed: memory is what it was, or has only grown by more extractive folds."""
    # A late result may have joined a call in the range since: the cut would split them.
    if splits_unit(state.messages, last) or state.policy != asked.job.policy:
        return False
    if last_forgetting(connection, state.row.key) != asked.forgotten:
        return False
    if state.row.version == asked.version:
        return True
    read = [message.sha256 for message in asked.job.messages]
    return (
        asked.replaced > 0
        and last <= state.row.cursor
        and unwritten(connection, state) == (asked.replaced, asked.first, asked.parent)
        and store.message_hashes(connection, state.row.key, asked.first, asked.last) == read
    )


def fold_written(
    connection: Connection,
    state: State,
    asked: Request,
    written: Written,
    plan: Plan,
    marks: Marks,
    clock: Clockwork,
    started: int,
    log: Log,
) -> tuple[State, list[Event]]:
    """Commit what a summarizer wrote; extractive folds of the same messages are superseded."""
    last = written.last or asked.last
    if not _still_asked(connection, state, asked, last):
        raise LostRaceError
    key, cursor, n = state.row.key, state.row.cursor, state.row.folds + 1
    store_calls.insert_calls(connection, key, log.calls, n)
    events = [noted(connection, state, "gate", verdict, clock) for verdict in log.verdicts]
    change = _relative(_numbered(written.lines, asked.job.fold, n), state.lines)
    read = [message for message in asked.job.messages if message.seq <= last]
    state, told = commit(
        connection, state, change, plan.reason, marks, clock,
        first=asked.first, last=last if read else 0, author=SUMMARIZER, started=started, replaced=asked.replaced,
        turns=len(turns_of(read)), called=sum(call.duration for call in log.calls), written=written,
    )  # fmt: skip
    events += told
    if written.second:  # the answer was over its cap: its shorter rewrite is a record of its own
        again = fold_text(state.lines, written.second, [], state.policy, state.row.folds + 1, whole=True)
        state, told = commit(
            connection, state, again, plan.reason, state.marks, clock, author=SUMMARIZER, started=started,
            written=replace(written, narrative=None),
        )  # fmt: skip
        events += told
    if last < cursor:  # folded meanwhile, or beyond what could be read: stays folded, extractively
        rest = store.messages_between(connection, key, last + 1, cursor)
        found = [one for read in candidates(connection, key, rest) for one in read]
        change = fold_quotations(state.lines, found, state.policy, state.row.folds + 1)
        state, told = commit(
            connection, state, change, plan.reason, state.marks, clock,
            first=last + 1, last=cursor, author=EXTRACTIVE, turns=len(turns_of(rest)),
        )  # fmt: skip
        events += told
    covered = max((fold.last_seq for fold in state.folds if fold.last_seq), default=state.row.cursor)
    assert covered == state.row.cursor, "what was folded stays folded"
    note_folded(connection, state)
    note_written(connection, state.row, change.added)
    state, more = _roll_up(connection, state, clock)
    return state, [*events, *more]


def note_folded(connection: Connection, state: State) -> None:
    """Note all that was folded, unless an earlier version left too much: the background does that."""
    row = state.row
    while row.read_to < row.cursor <= row.read_to + MOST_AT_ONCE and catch_up(connection, row.key, row.cursor):
        row.read_to, _ = derived.read_to(connection, row.key)


def _numbered(lines: Sequence[Line], made: int, n: int) -> tuple[Line, ...]:
    """Lines that were written for fold `made`, which has become fold n."""
    if made == n:
        return tuple(lines)
    return tuple(
        replace(line, id=f"{n}.{line.id.split('.')[1]}", fold=n) if line.fold == made else line for line in lines
    )


def _relative(lines: Sequence[Line], current: Sequence[Line]) -> Change:
    """What turns the memory that is in force into other lines."""
    now, then = {line.id for line in current}, {line.id for line in lines}
    return Change(
        tuple(line.id for line in current if line.id not in then),
        tuple(line for line in lines if line.id not in now),
        tuple(lines),
    )


def rolled_up(connection: Connection, state: State) -> tuple[Change, dict[str, Any], list[dict[str, str]]] | None:
    """Leaves merged into the long summary where the policy says so: the change, its notes, and lines that facts contradict."""
    policy = state.policy
    if not policy.leaf_cap:
        return None
    leaves: list[int] = []
    for fold in state.folds:
        if fold.kind == "rollup":
            leaves += sorted(
                {line.fold for line in state.lines if line.layer == LEAF and line.fold < fold.n}, reverse=True
            )
            break
        if fold.kind == "base":
            leaves.append(fold.n)
    tokens = sum(line.tokens for line in state.lines if line.layer == LEAF)
    due = (policy.rollup_count and len(leaves) >= policy.rollup_count) or (
        policy.rollup_tokens and tokens > policy.rollup_tokens
    )
    merged = leaves[policy.rollup_keep :]
    if not due or not merged:
        return None
    change = roll_up(state.lines, merged, policy, state.row.folds + 1)
    # What was stated last contradicts what is older; the cost must not grow with the chat.
    found = difference(change, state.lines, stated.latest_of_chat(connection, state.row.key, _LATEST))
    if found.redundant:
        change = in_old_words(change, state.lines)
    change = without_outdated(change, found)
    return (
        change,
        {"redundant": True} if found.redundant else {},
        [{"item": line.id, "fact": fact.id} for line, fact in found.contradicted],
    )


def _roll_up(connection: Connection, state: State, clock: Clockwork) -> tuple[State, list[Event]]:
    """Commit the roll-up that is due, if any."""
    found = rolled_up(connection, state)
    if found is None:
        return state, []
    change, notes, flagged = found
    state, events = commit(
        connection, state, change, "rollup", state.marks, clock, author=EXTRACTIVE, kind="rollup", notes=notes
    )
    if flagged:
        events.append(
            noted(connection, state, "consistency", {"fold": state.row.folds, "contradicted": flagged}, clock)
        )
    return state, events
