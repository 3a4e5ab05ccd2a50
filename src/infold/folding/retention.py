"""What a proposal leaves out: whether lines still say what an earlier line said. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from infold.folding.evidence import Evidence, cites, claims_of, evidence_of_text, has_digits
from infold.folding.likeness import alike, subject, telling, words
from infold.folding.merge import Change, fold_extractive
from infold.folding.polarity import opposed
from infold.folding.proper import known
from infold.folding.quantities import UNITS
from infold.items import CLOSING, Candidate, Item, normal
from infold.policy import Policy

_UNCAPPED = Policy("gate", (), summary_cap=10_000_000)


@dataclass(frozen=True, slots=True)
class Line:
    """A sound line, as it will be committed."""

    candidate: Candidate
    new: bool
    """Whether a message of this fold supports it."""

    @property
    def evidence(self) -> Evidence:
        """What it says."""
        return evidence_of_text(self.candidate.text)


def merged(memory: Sequence[Item], found: Sequence[Candidate]) -> Change:
    """What the extractive fold would make of it, without caps."""
    fold = 1 + max((item.fold for item in memory), default=0)
    return fold_extractive(memory, found, _UNCAPPED, fold)


def superseded(memory: Sequence[Item], change: Change) -> set[str]:
    """Ids of the items that the new messages overturn, answer or complete."""
    gone = set(change.removed)
    return {
        item.id
        for item in memory
        if item.id in gone and not any(alike(words(item.text), words(new.text)) for new in change.added)
    }


def statements(change: Change, found: Sequence[Candidate], least: float) -> list[Candidate]:
    """What the new messages state confidently and do not take back themselves."""
    known_as = {normal(one.text): one for one in found if one.section != CLOSING}
    kept = []
    for item in change.added:
        if item.confidence >= least:
            own = known_as.get(normal(item.text))
            fact = own.fact if own is not None else False
            kept.append(Candidate(item.section, item.text, item.sources, fact, confidence=item.confidence))
    return kept


def covered(text: str, sources: Sequence[int], lines: Sequence[Line], share: float) -> bool:
    """Whether some line, or several together, say what a text says: its claims, and enough of its telling words."""
    stems = evidence_of_text(text).stems
    rare = _rare(stems)
    claims = claims_of(text)
    if claims.numbers or claims.references or claims.dates:  # exact enough: the same figures from the same message
        same = [line.evidence for line in lines if not set(sources).isdisjoint(line.candidate.sources)]
        if any(_claims(text, [one]) and not _contradicts(one, text) for one in same):
            return True
    near: list[tuple[float, Line]] = []
    for line in lines:
        if common := rare & line.evidence.stems:
            near.append((len(common) / len(rare), line))
    if not near:
        return not rare
    claiming = [line.evidence for _, line in near]
    for part, line in near:
        if part >= share and _claims(text, [line.evidence]) and not _contradicts(line.evidence, text):
            return True
    together = rare & frozenset().union(*(evidence.stems for evidence in claiming))
    return len(together) >= max(share, 0.6) * len(rare) and _claims(text, claiming)


def _rare(stems: frozenset[str]) -> frozenset[str]:
    """The words by which a text is known; figures and units are claims, and compared as such."""
    plain = frozenset(word for word in stems if word not in UNITS and not any(map(str.isdigit, word)))
    return telling(plain) or plain or stems


def _claims(text: str, evidence: Sequence[Evidence]) -> bool:
    claims = claims_of(text)
    values = {value for one in evidence for number in one.numbers for value in (*number.values, *number.bases)}
    days = {day for one in evidence for day in one.days}
    return (
        all(
            not values.isdisjoint((*number.values, *number.bases))
            or any(has_digits(number.text, one) for one in evidence)
            for number in claims.numbers
        )
        and all(any(day[1:] == other[1:] for day in dated.days for other in days) for dated in claims.dates)
        and all(any(cites(reference, one) for one in evidence) for reference in claims.references)
        and all(any(known(name, one.words, one.folded) for one in evidence) for name in claims.names)
        and all(any(minutes & one.minutes for one in evidence) for _, minutes in claims.times)
    )


def _contradicts(evidence: Evidence, text: str) -> bool:
    return opposed(evidence_of_text(text).clauses, evidence.clauses) == "negation"


def restated(item: Item, lines: Sequence[Line]) -> bool:
    """Whether a line from the new messages says something else on the same attribute or topic."""
    mark = subject(item.text)
    mine = evidence_of_text(item.text)
    plain = frozenset(word for word in mine.stems if not any(ch.isdigit() for ch in word))
    for line in lines:
        if not line.new:
            continue
        if mark and mark == subject(line.candidate.text):
            return True
        shared = plain & line.evidence.stems
        if (
            len(shared) >= 2
            and len(shared) * 10 >= 6 * len(plain)
            and (_differs(item.text, line) or _contradicts(line.evidence, item.text))
        ):
            return True
    return False


def _differs(text: str, line: Line) -> bool:
    """Whether both give figures, dates or names of their own for the same words."""
    one, other = claims_of(text), claims_of(line.candidate.text)
    mine = (
        {value for number in one.numbers for value in number.values}
        | {day for dated in one.dates for day in dated.days}
        | set(one.references)
    )
    theirs = (
        {value for number in other.numbers for value in number.values}
        | {day for dated in other.dates for day in dated.days}
        | set(other.references)
    )
    return bool(mine and theirs and not mine & theirs) or bool(
        one.names and other.names and not set(one.names) & set(other.names)
    )
