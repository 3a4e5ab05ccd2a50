"""The texts that lines of memory may rest on, found by their words and values. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise

from infold.folding.clauses import answered
from infold.folding.evidence import Evidence, evidence_of, evidence_of_text
from infold.folding.likeness import GENERIC
from infold.folding.placing import Placed, Places
from infold.folding.quantities import Number
from infold.lines.line import Line
from infold.messages import Message


@dataclass(frozen=True, slots=True)
class Document:
    """A text that lines may rest on."""

    evidence: Evidence
    seqs: tuple[int, ...]
    new: bool
    """A message of this fold, not older memory."""


class Texts:
    """Everything that lines may rest on, by value."""

    def __init__(self, sources: Sequence[Message], older: Iterable[Line]) -> None:
        self.documents = [Document(evidence_of(message), (message.seq,), True) for message in sources]
        self.documents += [Document(evidence_of_text(item.text), item.sources, False) for item in older]
        self.clauses = [one.evidence.clauses for one in self.documents]
        """Of each text; questions that the next one answers are statements."""
        for at, (asking, telling) in enumerate(pairwise(self.documents)):
            if telling.new:
                self.clauses[at] = answered(asking.evidence.clauses, telling.evidence.clauses)
        last = sum(one.new for one in self.documents) - 1
        self.beside = [
            tuple(near for near in (at - 1, at + 1) if 0 <= near <= last) if one.new else ()
            for at, one in enumerate(self.documents)
        ]
        """The messages next to each."""
        self.runs = frozenset().union(*(one.evidence.runs for one in self.documents if one.new))
        self.by_seq: dict[int, list[int]] = {}
        self.numbers: dict[float, list[tuple[int, Number]]] = {}
        self.counted: set[str] = set()
        """Units and nouns that come with a number somewhere."""
        self.speaking: dict[str, list[int]] = {}
        """Which texts have a stem."""
        self.years: dict[int, list[int]] = {}
        self.naming: dict[str, list[int]] = {}
        """Which texts have a plain word."""
        self.folded = "\n".join(one.evidence.folded for one in self.documents)
        self.starts = list(accumulate((len(one.evidence.folded) + 1 for one in self.documents), initial=0))
        """Where each text begins in all of them."""
        self.all = evidence_of_text("")
        if self.documents:
            digits = "\n".join(one.evidence.digits for one in self.documents)
            self.all = replace(self.all, folded=self.folded, digits=digits)
        self.places: Places = {}
        self.days: dict[tuple[int, int], set[int]] = {}
        """Which texts name a day of a month, or with 0 the month."""
        self.nth: dict[float, set[int]] = {}
        """Which texts may name a day by its number alone: "on the 14th"."""
        self.timed = [at for at, one in enumerate(self.documents) if one.evidence.minutes or one.evidence.hours]
        for at, document in enumerate(self.documents):
            for word in document.evidence.words:
                self.naming.setdefault(word, []).append(at)
            for seq in document.seqs:
                self.by_seq.setdefault(seq, []).append(at)
            for word in document.evidence.stems:
                self.speaking.setdefault(word, []).append(at)
            for value, number in document.evidence.values:
                self.numbers.setdefault(value, []).append((at, number))
            self.counted |= document.evidence.kinds
            for year in document.evidence.years:
                self.years.setdefault(year, []).append(at)
            for one in document.evidence.placed:
                for key in one.keys:
                    self.places.setdefault(key, []).append((at, one))
            for _, month, day in document.evidence.days:
                self.days.setdefault((month, day), set()).add(at)
                self.days.setdefault((month, 0), set()).add(at)
            for nth in document.evidence.numbers:
                if nth.nth and not nth.words:
                    for value in nth.values:
                        self.nth.setdefault(value, set()).add(at)

    def sharing(self, words: frozenset[str]) -> dict[int, int]:
        """The texts that have some of these words: for each of them 2, for a pale one 1."""
        known = words & self.speaking.keys()
        every = [self.speaking[word] for word in known]
        return Counter(chain(*every, *(self.speaking[word] for word in known - GENERIC)))

    def placing(self, mine: Sequence[Placed]) -> Places:
        """Where values stand; a name that was not read as one in a text stands beside all of its words."""
        missing = {one.keys[0]: one for one in mine if one.kind == "name" and one.keys[0] not in self.places}
        if not missing:
            return self.places
        found: Places = {}
        for key, one in missing.items():
            for at in self.naming.get(str(key[1]), ()):
                stems = self.documents[at].evidence.stems
                found.setdefault(key, []).append((at, one._replace(beside=stems, close=stems)))
        return {**{key: self.places[key] for one in mine for key in one.keys if key in self.places}, **found}

    def repeated(self, runs: frozenset[int]) -> bool:
        """Whether a message has one of some runs of words."""
        return not self.runs.isdisjoint(runs)

    def around(self, documents: Iterable[int]) -> set[int]:
        """Messages next to some: a question and its answer."""
        return set().union(*[self.beside[at] for at in documents])

    def writing(self, *parts: str) -> set[int]:
        """The texts that have one of some parts, letter by letter."""
        found: set[int] = set()
        for part in parts:
            start = self.folded.find(part) if part else -1
            while start >= 0:
                at = bisect_right(self.starts, start) - 1
                found.add(at)
                start = self.folded.find(part, self.starts[at + 1]) if at + 1 < len(self.starts) else -1
        return found
