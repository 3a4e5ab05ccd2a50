"""The proof: every message is kept, bridged or folded exactly once, and nothing was changed afterwards."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from infold.committing import GENESIS, fold_hash, removed_by
from infold.ledger import archive, fold_rows, journal, store
from infold.ledger.database import Database
from infold.ledger.proof import gaps
from infold.ledger.query import Connection
from infold.ledger.rows import ChatRow, FoldRow
from infold.lines.line import Line, line_tokens
from infold.marks import UNREADABLE
from infold.tokens import message_tokens
from infold.unreadable import marks_from, policy_from


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong."""

    chat: str
    what: str


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of `verify`."""

    ok: bool
    problems: tuple[Problem, ...]
    chats: int
    messages: int
    folded: int
    """Messages covered by exactly one active fold."""
    unfolded: int
    """Messages still verbatim in the window, or bridged."""
    folds: int
    removed: int = 0
    """Messages whose words retention removed: their hashes are all there is to check."""

    def __str__(self) -> str:
        if self.ok:
            removed = f", {self.removed} removed since" if self.removed else ""
            return (
                f"ok: {_some(self.messages, 'message')} in {_some(self.chats, 'chat')}; {self.folded} folded once each by "
                f"{_some(self.folds, 'fold')}, {self.unfolded} verbatim or bridged, 0 missing{removed}"
            )
        return "\n".join(
            [f"{_some(len(self.problems), 'problem')}:"] + [f"  {p.chat}: {p.what}" for p in self.problems]
        )


def _some(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def verify_all(database: Database) -> Proof:
    """The proof for every tenant of a database."""
    with database.read() as connection:
        tenants = store.tenants(connection)
    found = Proof(True, (), 0, 0, 0, 0, 0)
    for tenant in tenants:
        with database.of(tenant).read() as connection:
            proof = verify(connection)
        named = [Problem(f"{tenant}/{one.chat}" if tenant else one.chat, one.what) for one in proof.problems]
        found = Proof(
            found.ok and proof.ok, (*found.problems, *named), found.chats + proof.chats, found.messages + proof.messages,
            found.folded + proof.folded, found.unfolded + proof.unfolded, found.folds + proof.folds,
            found.removed + proof.removed,
        )  # fmt: skip
    return found


def verify(connection: Connection, only: int | None = None) -> Proof:
    """Check every chat (or one): order, hashes, the partition of folds, the chain, sources and units."""
    problems: list[Problem] = []
    messages = folded = folds = removed = 0
    rows = [row for row in store.all_chats(connection) if only in (None, row.key)]
    names = {row.id for row in rows}
    for chat, n, first, last, ends in gaps(connection):
        if chat in names:
            problems.append(Problem(chat, f"fold {n} covers {first}–{last}, but the one before it ends at {ends}"))
    for row in rows:
        try:
            made = fold_rows.all_folds(connection, row.key)
            problems += [Problem(row.id, what) for what in _check_chat(connection, row, made)]
        except Exception as error:  # a damaged row may fail in any way, and is a finding
            problems.append(Problem(row.id, f"a row cannot be read ({type(error).__name__})"))
            made = []
        messages += row.last_seq
        folded += row.cursor
        removed += archive.count_removed(connection, row.key)
        folds += sum(1 for fold in made if fold.kind == "base" and fold.superseded_by is None)
    return Proof(not problems, tuple(problems), len(rows), messages, folded, messages - folded, folds, removed)


def _check_chat(connection: Connection, row: ChatRow, folds: list[FoldRow]) -> Iterator[str]:
    yield from _check_rows(connection, row)
    hashes: list[bytes] = []
    users = 0
    calls: dict[str, int] = {}
    answers: list[tuple[int, int]] = []
    for message, stored, removed in store.checked_messages(connection, row.key):
        if message.seq != len(hashes) + 1:
            yield f"message {len(hashes) + 1} is missing; the next one is {message.seq}"
            hashes += [b""] * (message.seq - len(hashes) - 1)
        if removed:
            pass
        elif message.sha256 != stored and message.content == UNREADABLE:
            yield f"message {message.seq} ({message.id}) was changed after it was added, and cannot be read"
        elif message.sha256 != stored:
            yield f"message {message.seq} ({message.id}) was changed after it was added"
        elif message.tokens != message_tokens(message):
            yield f"message {message.seq} ({message.id}) has a wrong token count"
        hashes.append(stored)
        users += message.role == "user"
        for call_id in message.call_ids:
            calls[call_id] = message.seq
        if message.role == "tool" and message.tool_call_id in calls:
            answers.append((calls.pop(message.tool_call_id), message.seq))
    if len(hashes) != row.last_seq:
        yield f"the chat says it has {row.last_seq} messages, but {len(hashes)} are there"
    if users != row.users:
        yield f"the chat says it has {row.users} user messages, but {users} are there"
    yield from _check_folds(row, folds, hashes, answers)
    yield from _check_lines(connection, row, folds)


def _check_rows(connection: Connection, row: ChatRow) -> Iterator[str]:
    """The rows that no chain of hashes covers."""
    if policy_from(row.policy) is None:
        yield f"its policy is damaged (table chats, row {row.key})"
    if marks_from(row.marks) is None:
        yield f"the marks of its triggers are damaged (table chats, row {row.key})"
    for key in journal.damaged_pins(connection, row.key):
        yield f"a pin is damaged (table pins, row {key})"
    for key in journal.damaged_events(connection, row.key):
        yield f"an event is damaged (table events, row {key})"


def _check_folds(
    row: ChatRow, folds: list[FoldRow], hashes: list[bytes], answers: list[tuple[int, int]]
) -> Iterator[str]:
    active = [fold for fold in folds if fold.kind == "base" and fold.superseded_by is None]
    covered = max((fold.last_seq or 0 for fold in active), default=0)
    if covered != row.cursor:
        yield f"the cursor is at {row.cursor}, but the folds end at {covered}"
    if len(folds) != row.folds or [fold.n for fold in folds] != list(range(1, len(folds) + 1)):
        yield f"the chat says it has {row.folds} folds, but {len(folds)} are there"
    ends = sorted((fold.last_seq, fold.head_seq, fold.first_seq or 0, fold.n) for fold in folds if fold.last_seq)
    for call, answer in answers:
        within = ends[bisect_left(ends, (call,)) : bisect_left(ends, (answer,))]
        # A call that was given up and folded before its result came stands alone; no later fold splits anything.
        if any(first <= call and head < answer for _, head, first, _ in within):
            continue
        for end, head, _, n in within:
            if head >= answer:
                yield f"fold {n} ends at {end}, between the call {call} and its result {answer}"
    for fold in folds:
        if fold.kind != "base" or fold.first_seq is None or fold.last_seq is None:
            continue
        if hashlib.sha256(b"".join(hashes[fold.first_seq - 1 : fold.last_seq])).digest() != fold.sources_sha256:
            yield f"the messages {fold.first_seq}–{fold.last_seq} are not the ones that fold {fold.n} read"


def _check_lines(connection: Connection, row: ChatRow, folds: list[FoldRow]) -> Iterator[str]:
    added: dict[int, list[Line]] = {}
    alive: dict[str, int] = {}  # line -> the fold that wrote it
    ended: dict[int, list[str]] = {}
    for line, born, died in fold_rows.stored_lines(connection, row.key):
        if line is None:
            yield f"a line that fold {born} wrote is damaged (table lines)"
            continue
        added.setdefault(line.fold, []).append(line)
        if died is not None:
            ended.setdefault(died, []).append(line.id)
        elif line.id in alive:
            yield f"memory holds the line {line.id} twice"
        else:
            alive[line.id] = line.fold
        if any(not 1 <= seq <= row.last_seq for seq in line.sources):
            yield f"the line {line.id} names a source that is not in the chat"
        if line.tokens != line_tokens(line.shown):
            yield f"the line {line.id} has a wrong token count"
    link = GENESIS
    for fold in folds:
        if sorted(ended.pop(fold.n, [])) != removed_by(fold):
            yield f"the lines that ended with fold {fold.n} are not the ones it ended"
        link = fold_hash(link, fold, added.pop(fold.n, []))
        if link != fold.hash:
            yield f"fold {fold.n} or one of its lines was changed after it was committed"
            return
    if ended or added:
        yield "memory holds lines of folds that are not there"
    if link != row.head_hash:
        yield "the chat's newest fold is not the one it says"
