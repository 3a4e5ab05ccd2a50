"""How far summaries are from what would be written of their messages today: each fold keeps a reference to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from infold.folding.likeness import alike, words
from infold.ledger import fold_rows, store
from infold.lines.line import Line
from infold.lines.merging import fold_quotations
from infold.lines.rendering import render
from infold.marks import REMOVED
from infold.quoting.reading import REACH
from infold.writing import Answers, Job, Log, Writer

if TYPE_CHECKING:
    from infold.authors import Author
    from infold.ledger.query import Connection
    from infold.ledger.rows import FoldRow
    from infold.messages import Message
    from infold.policy import Policy
    from infold.state import State


@dataclass(frozen=True, slots=True)
class Drift:
    """One fold, written again from the same messages."""

    fold: str
    """Id of the fold."""
    first: int
    last: int
    """Positions of the messages it covers."""
    then: str
    """What the fold wrote."""
    now: str
    """What is written today, by another author perhaps."""
    drift: float
    """Share of the lines of then that have no like among those of now: 0 for none, 1 for all."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A fold with what it read and wrote."""

    fold: FoldRow
    before: tuple[Message, ...]
    """What was said right before its messages."""
    messages: tuple[Message, ...]
    written: tuple[Line, ...]


def slices(connection: Connection, state: State) -> list[Slice]:
    """The folds in force that cover messages, oldest first; none whose messages were removed."""
    key = state.row.key
    wrote: dict[int, list[Line]] = {}
    for line in fold_rows.all_lines(connection, key):
        wrote.setdefault(line.fold, []).append(line)

    def between(first: int, last: int) -> tuple[Message, ...]:
        return tuple(store.messages_between(connection, key, first, last))

    found = [
        Slice(
            fold,
            between((fold.first_seq or 1) - REACH, (fold.first_seq or 1) - 1),
            between(fold.first_seq or 1, fold.last_seq or 0),
            tuple(wrote.get(fold.n, ())),
        )
        for fold in fold_rows.all_folds(connection, key)
        if fold.kind == "base" and fold.superseded_by is None
    ]
    return [one for one in found if all(message.content != REMOVED for message in one.messages)]


def drift(chat: str, found: Slice, policy: Policy, authors: Sequence[Author]) -> Drift:
    """A fold written again, extractively or by other authors; nothing is stored."""
    now = _again(chat, found, policy, authors)
    told = [words(line.text) for line in now]
    gone = sum(not any(alike(words(line.text), other) for other in told) for line in found.written)
    share = gone / len(found.written) if found.written else 0.0
    fold = found.fold
    return Drift(fold.id, fold.first_seq or 0, fold.last_seq or 0, render(found.written), render(now), round(share, 4))


def _again(chat: str, found: Slice, policy: Policy, authors: Sequence[Author]) -> tuple[Line, ...]:
    job = Job((), (), found.messages, policy, found.fold.n, found.fold.depth, found.before)
    if not authors:
        return fold_quotations((), job.read(job.messages), policy, job.fold).lines
    return tuple(Writer(chat, authors, Answers(), lambda: None).write(job, Log()).lines)
