"""What a proposal leaves out: whether lines still say what an earlier line said. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from infold.folding.evidence import Claims, Evidence, claims_of, evidence_of_text, stems_of
from infold.folding.likeness import alike, subject, telling, words
from infold.folding.merge import Change, fold_extractive
from infold.folding.polarity import opposed
from infold.folding.proper import known
from infold.folding.quantities import UNITS
from infold.folding.references import cites, has_digits
from infold.items import CLOSING, Candidate, Item, normal
from infold.policy import Policy

_TOGETHER = 0.6  # of the telling words: where several lines share in saying them
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


@dataclass(frozen=True, slots=True)
class Asked:
    """A text that lines should still say, with what tells whether they do."""

    evidence: Evidence
    sources: tuple[int, ...]
    rare: frozenset[str]
    """The words by which it is known; figures and units are claims, and compared as such."""
    claims: Claims
    exact: bool
    """Whether it has figures, dates or references: then the same from the same message is enough."""

    @classmethod
    def of(cls, text: str, sources: tuple[int, ...]) -> Asked:
        """A text with what it is known by."""
        stems, claims = stems_of(text), claims_of(text)
        plain = frozenset(word for word in stems if word not in UNITS and not any(map(str.isdigit, word)))
        exact = bool(claims.numbers or claims.references or claims.dates)
        return cls(evidence_of_text(text), sources, telling(plain) or plain or stems, claims, exact)


class Statements:
    """What the new messages state, in order, and which of it says other parts of it too."""

    def __init__(self, every: Sequence[Candidate], least: float, share: float) -> None:
        self.every, self.share = every, share
        self.asked = [Asked.of(one.text, one.sources) for one in every]
        self.stems = [stems_of(one.text) for one in every]
        self.confident = [at for at, one in enumerate(every) if one.confidence >= least]
        """Those that must not get lost."""
        self.speaking: dict[str, list[int]] = {}
        """Which of them have a stem."""
        before = Lines()
        self.enough: dict[int, list[int]] = {}
        """For each of the confident ones, those before it that say it alone."""
        for at in self.confident:
            near, same = _near(self.asked[at], before)
            saying = _saying(self.asked[at], before, near, same, share)
            self.enough[at] = [self.confident[one] for one in saying]
            before.add(every[at], True)
        for at, stems in enumerate(self.stems):
            for word in stems:
                self.speaking.setdefault(word, []).append(at)
        self.known_by: dict[str, list[int]] = {}
        """Which of the confident ones have a word among those that they are known by."""
        for at in self.confident:
            for word in self.asked[at].rare:
                self.known_by.setdefault(word, []).append(at)

    def missing(self, lines: Lines) -> list[int]:
        """The confident ones that neither some lines say nor those that were found missing before."""
        missing: dict[int, None] = {}
        said = set(lines.speaking)
        nearby: dict[int, dict[int, int]] = {}  # of each statement the lines that share such words, and how many
        for word, speaking in lines.speaking.items():
            for at in self.known_by.get(word, ()):
                near = nearby.setdefault(at, {})
                for line in speaking:
                    near[line] = near.get(line, 0) + 1
        for at in self.confident:
            asked = self.asked[at]
            if not asked.rare or (self.enough[at] and not missing.keys().isdisjoint(self.enough[at])):
                continue
            near = nearby.get(at, {})
            if (near or asked.exact) and _said(asked, lines, near, _same(asked, lines), self.share):
                continue
            together = asked.rare & said
            if together and len(together) >= max(self.share, _TOGETHER) * len(asked.rare):
                others = {one for word in together for one in self.speaking.get(word, ()) if one in missing}
                evidence = [lines.every[one].evidence for one in near]
                evidence += [self.asked[one].evidence for one in others]
                if _claims(asked.claims, evidence):
                    continue
            missing[at] = None
            said |= self.stems[at]
        return list(missing)


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


def covered(asked: Asked, lines: Lines, share: float) -> bool:
    """Whether some line, or several together, say what a text says: its claims, and enough of its telling words."""
    if not asked.rare:
        return True
    near, same = _near(asked, lines)
    if _said(asked, lines, near, same, share):
        return True
    together = sum([word in lines.speaking for word in asked.rare])
    return (
        together > 0
        and together >= max(share, _TOGETHER) * len(asked.rare)
        and _claims(asked.claims, [lines.every[at].evidence for at in near])
    )


def _near(asked: Asked, lines: Lines) -> tuple[dict[int, int], list[int]]:
    """The lines that share telling words with a text, and how many; those that rest on the same messages."""
    near: dict[int, int] = {}
    for word in asked.rare:
        for at in lines.speaking.get(word, ()):
            near[at] = near.get(at, 0) + 1
    return near, _same(asked, lines)


def _same(asked: Asked, lines: Lines) -> list[int]:
    """The lines that rest on the same messages."""
    return [at for seq in asked.sources for at in lines.resting.get(seq, ())]


def _said(asked: Asked, lines: Lines, near: dict[int, int], same: Iterable[int], share: float) -> bool:
    return next(_saying(asked, lines, near, same, share), None) is not None


def _saying(asked: Asked, lines: Lines, near: dict[int, int], same: Iterable[int], share: float) -> Iterator[int]:
    """The lines each of which says by itself what a text says."""
    least = share * len(asked.rare)
    weighed = [at for at, part in near.items() if part >= least]
    if asked.exact:
        weighed = list(dict.fromkeys([*weighed, *same]))
    for at in weighed:
        evidence = lines.every[at].evidence
        if _claims(asked.claims, (evidence,)) and not _contradicts(evidence, asked.evidence):
            yield at


def _claims(claims: Claims, evidence: Sequence[Evidence]) -> bool:
    """Whether texts have all that is claimed."""
    if claims.numbers:
        values = {value for one in evidence for value, _ in one.values}
        for number in claims.numbers:
            if (
                values.isdisjoint(number.values)
                and values.isdisjoint(number.bases)
                and not any(has_digits(number.text, one) for one in evidence)
            ):
                return False
    if claims.dates:
        days = {day[1:] for one in evidence for day in one.days}
        if not all(any(day[1:] in days for day in dated.days) for dated in claims.dates):
            return False
    return (
        all(any(cites(reference, one) for one in evidence) for reference in claims.references)
        and all(any(known(name, one.words, one.folded) for one in evidence) for name in claims.names)
        and all(any(minutes & one.minutes for one in evidence) for _, minutes in claims.times)
    )


def _contradicts(line: Evidence, asked: Evidence) -> bool:
    return opposed(asked.clauses, line.clauses) == "negation"


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
            and (_differs(item.text, line) or _contradicts(line.evidence, evidence_of_text(item.text)))
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
