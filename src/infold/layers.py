"""Layers of summaries: the same one written twice, and what a new long summary does to the old one. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from infold.facts import Fact, Statement
from infold.facts.consistency import contradictions
from infold.folding.likeness import alike, words
from infold.folding.merge import Change, fold_extractive
from infold.items import LONG, Candidate, Item, normal, render
from infold.policy import Policy

NOMINATING = 120
"""Characters that two summaries must share to be looked at as duplicates."""


def nominal(text: str) -> bytes:
    """The hash of how a summary begins."""
    return hashlib.sha256(text[:NOMINATING].encode("utf-8", "surrogatepass")).digest()[:16]


def own_summary(candidates: Sequence[Candidate], policy: Policy) -> str:
    """What a fold would write of its messages alone, without memory."""
    return render(fold_extractive((), candidates, policy, 1).items)


def is_kept(text: str, other: str, memory: Sequence[Item]) -> bool:
    """Whether a summary says just what another one says, and all of that is still in memory."""
    if not text or normal(text) != normal(other):
        return False
    known = {normal(item.text) for item in memory}
    return all(normal(line[2:]) in known for line in text.splitlines() if line.startswith("- "))


@dataclass(frozen=True, slots=True)
class Difference:
    """What a new long summary changes."""

    redundant: bool
    """It says nothing that the old one does not say."""
    lost: int
    """Lines of the old one that have no like in the new one: overturned, or given up for want of room."""
    contradicted: tuple[tuple[Item, Fact], ...]
    """Lines that state another value than a fact that holds."""


def difference(change: Change, memory: Sequence[Item], statements: Iterable[Statement]) -> Difference:
    """The difference between the long summary in force and a new one."""
    old = [item for item in memory if item.layer == LONG]
    new = [item for item in change.items if item.layer == LONG]
    known = [words(item.text) for item in old]
    added = [item for item in change.added if item.layer == LONG]
    kept = {item.id for item in new}
    told = [words(item.text) for item in new]
    wrong = contradictions([item.text for item in new], statements)
    return Difference(
        redundant=all(any(alike(words(item.text), other) for other in known) for item in added),
        lost=sum(item.id not in kept and not any(alike(words(item.text), other) for other in told) for item in old),
        contradicted=tuple((new[at], fact) for at, fact in wrong),
    )


def in_old_words(change: Change, memory: Sequence[Item]) -> Change:
    """A redundant change in the words of the long summary in force: only sources grow, and its text stays as it is."""
    kept = {item.id for item in change.items}
    free = {item.id: item for item in memory if item.layer == LONG and item.id not in kept}
    told: dict[str, Item] = {}
    for item in change.added:
        said = words(item.text)
        same = next((old for old in free.values() if alike(said, words(old.text))), None)
        if item.layer == LONG and same is not None:
            told[item.id] = replace(item, section=same.section, text=same.text, tokens=same.tokens)
            del free[same.id]  # for one line only: nothing is said twice
    return Change(
        change.removed,
        tuple(told.get(item.id, item) for item in change.added),
        tuple(told.get(item.id, item) for item in change.items),
    )


def without_outdated(change: Change, found: Difference, chat: str) -> Change:
    """A change less the lines that a later message of the chat, now a fact, contradicts."""
    gone = {
        item.id
        for item, fact in found.contradicted
        if any(saying.chat == chat and saying.seq > max(item.sources, default=0) for saying in fact.sources)
    }
    if not gone:
        return change
    added = {item.id for item in change.added}
    return Change(
        (*change.removed, *(item.id for item in change.items if item.id in gone - added)),
        tuple(item for item in change.added if item.id not in gone),
        tuple(item for item in change.items if item.id not in gone),
    )
