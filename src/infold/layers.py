"""Layers of summaries: the same one written twice, and what a new long summary does to the old one. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from infold.folding.likeness import alike, words
from infold.lines.line import CURRENT, LONG, Line, newest, normal
from infold.lines.merging import Change, said_of, shortlist
from infold.policy import Policy
from infold.quoting.candidate import Candidate
from infold.quoting.replacing import Effect, Index, effects

NOMINATING = 120
"""Characters that two summaries must share to be looked at as duplicates."""


def nominal(text: str) -> bytes:
    """The hash of how a summary begins."""
    return hashlib.sha256(text[:NOMINATING].encode("utf-8", "surrogatepass")).digest()[:16]


def own_summary(candidates: Sequence[Candidate], policy: Policy) -> str:
    """What the leaf of a fold would say by itself, without memory; empty where the policy has no leaves."""
    return "\n".join(one.words for one in shortlist(candidates, policy.leaf_cap)) if policy.leaf_cap else ""


def is_kept(text: str, other: str, memory: Sequence[Line]) -> bool:
    """Whether a summary says just what another one says, and all of that is still in memory."""
    if not text or normal(text) != normal(other):
        return False
    known = {normal(line.words) for line in memory}
    return any(normal(row) in known for row in text.splitlines())


@dataclass(frozen=True, slots=True)
class Difference:
    """What a new long summary changes."""

    redundant: bool
    """It says nothing that the old one does not say."""
    contradicted: tuple[tuple[Line, Line], ...]
    """Lines that a later statement of the user's took the place of, each with that statement."""


def difference(change: Change, memory: Sequence[Line], stated: Iterable[Line]) -> Difference:
    """The difference between the long summary in force and a new one; `stated` is what the user said last that lasts."""
    known = [words(line.text) for line in memory if line.layer == LONG]
    added = [line for line in change.added if line.layer == LONG]
    new = [line for line in change.lines if line.layer == LONG]
    return Difference(
        redundant=all(any(alike(words(line.text), other) for other in known) for line in added),
        contradicted=tuple(_contradicted(new, stated)),
    )


def _contradicted(lines: Sequence[Line], stated: Iterable[Line]) -> Iterator[tuple[Line, Line]]:
    index, of = Index(), dict[int, Line]()
    for line in lines:
        of[index.add(said_of(line))] = line
    for fact in stated:
        for at, effect in effects(said_of(fact), index):
            if effect is Effect.REPLACES and newest([of[at]]) < newest([fact]) and fact.status == CURRENT:
                index.remove(at)
                yield of[at], fact


def in_old_words(change: Change, memory: Sequence[Line]) -> Change:
    """A redundant change in the words of the long summary in force: only sources grow, and its text stays as it is."""
    kept = {line.id for line in change.lines}
    free = {line.id: line for line in memory if line.layer == LONG and line.id not in kept}
    told: dict[str, Line] = {}
    for line in change.added:
        said = words(line.text)
        same = next((old for old in free.values() if alike(said, words(old.text))), None)
        if line.layer == LONG and same is not None:
            told[line.id] = replace(same, id=line.id, fold=line.fold, sources=line.sources)
            del free[same.id]  # for one line only: nothing is said twice
    return Change(
        change.removed,
        tuple(told.get(line.id, line) for line in change.added),
        tuple(told.get(line.id, line) for line in change.lines),
    )


def without_outdated(change: Change, found: Difference) -> Change:
    """A change less the lines that a later message contradicts."""
    gone = {line.id for line, _ in found.contradicted}
    if not gone:
        return change
    added = {line.id for line in change.added}
    return Change(
        (*change.removed, *(line.id for line in change.lines if line.id in gone - added)),
        tuple(line for line in change.added if line.id not in gone),
        tuple(line for line in change.lines if line.id not in gone),
    )
