"""What a proposal leaves out: whether lines still say what an earlier line said. Pure."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from infold.folding.evidence import Evidence, claims_of, evidence_of_text, stems_of
from infold.folding.likeness import alike, subject, telling, words
from infold.folding.merge import Change, fold_extractive
from infold.folding.polarity import opposed
from infold.folding.proper import known
from infold.folding.quantities import UNITS
from infold.folding.references import cites, has_digits
from infold.items import CLOSING, Candidate, Item, normal
from infold.policy import Policy

_UNCAPPED = Policy("gate", (), summary_cap=10_000_000)


@dataclass(frozen=True, slots=True)
class Line:
    """A sound line, as it will be committed."""

    candidate: Candidate
    new: bool
    """Whether a message of this fold supports it."""
    stems: frozenset[str]

    @property
    def evidence(self) -> Evidence:
        """What it says."""
        return evidence_of_text(self.candidate.text)


class Lines:
    """Sound lines in their order, found by their words and by the messages they rest on."""

    def __init__(self) -> None:
        self.every: list[Line] = []
        self.speaking: dict[str, list[int]] = {}
        self.resting: dict[int, list[int]] = {}

    def add(self, candidate: Candidate, new: bool) -> None:
        """Put a line last."""
        at, stems = len(self.every), stems_of(candidate.text)
        self.every.append(Line(candidate, new, stems))
        for word in stems:
            self.speaking.setdefault(word, []).append(at)
        for seq in candidate.sources:
            self.resting.setdefault(seq, []).append(at)


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


def read(text: str) -> None:
    """Know what `covered` will want to know of a text."""
    _rare(text)
    claims_of(text)
    evidence_of_text(text)


def covered(text: str, sources: Sequence[int], lines: Lines, share: float) -> bool:
    """Whether some line, or several together, say what a text says: its claims, and enough of its telling words."""
    rare = _rare(text)
    same = {at for seq in sources for at in lines.resting.get(seq, ())}
    near: dict[int, int] = {}
    together = 0
    for word in rare:
        if having := lines.speaking.get(word):
            together += 1
            for at in having:
                near[at] = near.get(at, 0) + 1
    if not near and not same:
        return not rare
    claims = claims_of(text)
    exact = claims.numbers or claims.references or claims.dates  # then the same from the same message is enough
    if exact and any(_says(lines.every[at], text) for at in same):
        return True
    least = share * len(rare)
    if any(part >= least and _says(lines.every[at], text) for at, part in near.items()):
        return True
    if not near:
        return not rare
    return together >= max(share, 0.6) * len(rare) and _claims(text, [lines.every[at].evidence for at in near])


def _says(line: Line, text: str) -> bool:
    return _claims(text, [line.evidence]) and not _contradicts(line.evidence, text)


@functools.lru_cache(maxsize=2048)
def _rare(text: str) -> frozenset[str]:
    """The words by which a text is known; figures and units are claims, and compared as such."""
    stems = stems_of(text)
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


def restated(item: Item, lines: Iterable[Line]) -> bool:
    """Whether a line from the new messages says something else on the same attribute or topic."""
    mark = subject(item.text)
    plain = frozenset(word for word in stems_of(item.text) if not any(map(str.isdigit, word)))
    for line in lines:
        if not line.new:
            continue
        if mark and mark == subject(line.candidate.text):
            return True
        shared = plain & line.stems
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
