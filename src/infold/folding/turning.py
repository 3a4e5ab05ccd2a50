"""Whether a line lost a "not" of its sources, or has one that they have not, where the wording differs. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from infold.folding.polarity import PALE, Clause, weight


def turned(line: Sequence[Clause], sources: Sequence[Sequence[Clause]]) -> bool:
    """Whether a line denies what its sources say without any shade of a "no", or says plainly what they deny.

    `sources` are the clauses of the texts it rests on, text by text.
    """
    every = [clause for text in sources for clause in text]
    denied = frozenset().union(*(clause.stems for clause in line if _shaded(clause)))
    return any(_invented(clause, sources) if clause.negative else _lost(clause, every, denied) for clause in line)


def _shaded(clause: Clause) -> bool:
    return clause.negative or clause.shaded or bool(clause.denied or clause.unclear) or clause.asks


def _invented(clause: Clause, sources: Sequence[Sequence[Clause]]) -> bool:
    """Whether a clause denies, and no text that speaks of the same denies or doubts anything near."""
    if clause.denied or not clause.unclear <= _CONCEDING or clause.mass < 1:
        return False
    head = clause.head if clause.head not in PALE else ""
    every = [other for text in sources for other in text]
    having = [other for other in every if head in other.stems and weight(clause.stems & other.stems) >= 1.5]
    if having:  # the very word that it denies
        return all(_plain(other) for other in every if head in other.stems) and not any(
            other.negative and other.mass < 1 for other in every
        )
    speaking = False
    for other in every:
        shared = weight(clause.stems & other.stems)
        if (other.shaded or not _plain(other)) and (shared or other.mass < 1):
            return False
        speaking = speaking or shared >= max(1.0, 0.5 * clause.mass)
    return speaking


def _plain(clause: Clause) -> bool:
    """Whether a clause simply says so."""
    return not (clause.negative or clause.denied or clause.asks or clause.hedged or clause.may) and (
        clause.unclear <= _CONCEDING
    )


def _lost(clause: Clause, every: Sequence[Clause], denied: frozenset[str]) -> bool:
    """Whether a clause plainly says what its sources only ever deny; `denied` is what its line denies elsewhere."""
    if _shaded(clause) or not clause.stems:
        return False
    for other in every:
        if not other.negative or other.denied or other.asks or other.unclear - _DANGLING or other.head in denied:
            continue
        if other.unclear and other.head not in clause.stems:
            continue
        shared = clause.stems & other.stems
        key = shared - PALE
        if not key or not (weight(key) >= 2 or other.head in shared):
            continue
        if not any(key <= one.stems for one in every if not one.negative and not one.asks):
            return True
    return False


_DANGLING = frozenset(["dangling"])
_CONCEDING = frozenset(["despite", "although", "though", "too"])
