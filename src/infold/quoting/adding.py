"""Adding up the weights of what sentences show. Pure.

The sums are those of `Model.sums(features(…))`, many times as quick: no feature is named, and two sentences that stand together
are worth what each of them is worth, less what they have in common, and more for what their seam adds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

from infold.quoting.cues import PAIRS
from infold.quoting.features import BEGIN, MOST_WORDS, Seen, Setting, counted, runs, seam, seen

_HIGH = 32
"""Two weights are packed into one number, the second this many bits higher, so that one sum adds up both."""
_NO_MARKS = frozenset(["r", "n", "k", "w", "b", "s", "h", "c", "<", ">", "<asks", ">asks", "re"])
"""What the names of other features than marks begin with."""
_NOUGHTS = repeat(0)

Packed = dict[str, int]


class Tables:
    """A model's weights, by what a sentence shows."""

    def __init__(self, weights: Mapping[str, tuple[int, int]], bias: tuple[int, int]) -> None:
        tables: defaultdict[str, Packed] = defaultdict(dict)
        for feature, (worth, standing) in weights.items():
            begin, _, name = feature.partition(":")
            tables[begin][name] = worth + (standing << _HIGH)
        self.bias = bias[0] + (bias[1] << _HIGH)
        self.roles, self.named, self.starts, self.signs = tables["r"], tables["n"], tables["s"], tables["c"]
        self.reply, self.before, self.after = tables["re"], tables["<"], tables[">"]
        self.asked_before, self.asks_after = tables["<asks"].get("", 0), tables[">asks"].get("", 0)
        self.terms, self.runs = {**tables["w"], **tables["b"]}, tables["h"]
        marks = {
            f"{begin}:{name}": w for begin in tables if begin not in _NO_MARKS for name, w in tables[begin].items()
        }
        self.own = {role: _with_role({**tables["k"], **marks}, role) for role in "uat"}
        """Marks, and classes of words."""


def _sum(weights: Packed, names: Iterable[str]) -> int:
    """Of the names that have a weight."""
    return sum(map(weights.get, names, _NOUGHTS))


def _with_role(weights: Packed, role: str) -> Packed:
    """The weight of each name, and of the same name with the role behind it."""
    found = dict(weights)
    for name, weight in weights.items():
        if name.endswith(role):
            found[name[:-1]] = found.get(name[:-1], 0) + weight
    return found


@dataclass(slots=True)
class _Own:
    """What one sentence adds up to by itself."""

    terms: frozenset[str]
    """Its words, and words beside each other."""
    runs: frozenset[str]
    """Its runs of characters."""
    shared: int
    """The sum of those and of its classes: of what another sentence may show, too."""
    rest: int


class Adder:
    """Adds up sentences of one message, each of them once."""

    def __init__(self, tables: Tables, place: Setting) -> None:
        self._tables, self._role = tables, place.role[0]
        self._marks = tables.own[self._role]
        self._known: dict[Seen, _Own] = {}
        # The same for every sentence.
        self._always = tables.bias + tables.roles.get(self._role, 0) + tables.named.get(str(place.named), 0)
        self._always += tables.reply.get(place.reply, 0)

    def sums(self, parts: Sequence[Seen], text: str, place: Setting) -> tuple[int, int]:
        """The two sums of a sentence, or of two that are a text together, where they stand."""
        tables, before, after = self._tables, place.before, place.after
        if len(parts) == 1:
            own = self._own(parts[0])
            total = own.shared + own.rest
        else:
            total = self._pair(parts[0], parts[1], text)
        total += self._always + _sum(self._marks, place.marks)
        total += _sum(tables.before, before.cues) + _sum(tables.after, after.cues)
        if before.asks:
            total += tables.asked_before
        if after.asks:
            total += tables.asks_after
        for cue in place.answers:
            total += tables.reply.get(cue + self._role, 0)
        standing = (total + (1 << (_HIGH - 1))) >> _HIGH
        return total - (standing << _HIGH), standing

    def _own(self, one: Seen) -> _Own:
        if (own := self._known.get(one)) is None:
            own = self._known[one] = self._added(one)
        return own

    def _added(self, one: Seen) -> _Own:
        tables = self._tables
        terms = frozenset(one.words[:MOST_WORDS] + one.doubles[: MOST_WORDS - 1])
        four = frozenset(runs(one.plain))
        shared = _sum(tables.terms, terms) + _sum(tables.runs, four) + _sum(self._marks, one.cues)
        rest = self._form(one.words, one.marks) + (_sum(tables.signs, {*one.signs}) if one.cjk else 0)
        return _Own(terms, four, shared, rest)

    def _form(self, words: list[str], marks: list[str]) -> int:
        start = self._tables.starts.get(self._role + " ".join(words[:2]), 0)
        return start + _sum(self._marks, marks)

    def _pair(self, one: Seen, two: Seen, text: str) -> int:
        between = seam(one, two, text)
        if between is None:
            own = self._added(seen(text))
            return own.shared + own.rest
        tables, marks = self._tables, self._marks
        a, b = self._own(one), self._own(two)
        total = a.shared + b.shared
        # Less what both show.
        total -= _sum(tables.terms, a.terms & b.terms) + _sum(tables.runs, a.runs & b.runs)
        total -= _sum(marks, {*one.cues}.intersection(two.cues))
        # What stands across the seam.
        double, across, capital = between
        if double not in a.terms and double not in b.terms:
            total += tables.terms.get(double, 0)
        total += _sum(tables.runs, {run for run in across if run not in a.runs and run not in b.runs})
        for name in PAIRS.get(double, ()):
            if f"{name}2" not in one.cues and f"{name}2" not in two.cues:
                total += marks.get(f"{name}2", 0)
        words = one.words if len(one.words) > 1 else one.words + two.words
        return total + self._form(
            words,
            [
                *counted(
                    len(one.words) + len(two.words),
                    one.digits + two.digits,
                    one.capitals + two.capitals + capital,
                    one.clauses + two.clauses,
                ),
                *{*one.inside, *two.inside},
                *two.ends,
                *BEGIN[one.lower],
            ],
        )
