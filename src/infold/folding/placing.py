"""What stands beside a value: whether a number, a date or a name was put where another one belongs. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from infold.folding.calendar import Dated
from infold.folding.likeness import GENERIC, stem, words
from infold.folding.proper import plain
from infold.folding.quantities import Number

# Begins with a set of characters, so that most places are passed over at once.
_BREAK = re.compile(
    r"[.!?;,\s。！？；](?:(?<=[.!?;])(?=\s|$)(?<!\bdr.)(?<!\bmr.)(?<!\bms.)(?<!\bmrs.)|(?<=[\n。！？；])"
    r"|(?<=,)\s(?:but|while|whereas|aber|mais|pero|and|und|et|y)\s|(?<=\s)(?:but|while|whereas|aber|mais|pero)\s)",
    re.IGNORECASE,
)
_JOINING = ("-", "_", "/", "#", ".", "@")
_LINE = 400  # characters of what may be a line of memory
_DIGITS = re.compile(r"\d")

_MENDING = frozenset(map(stem, "actually make correction rather sorry meant instead".split()))

Key = tuple[str, object]
"""A kind of value, and the value."""


Places = dict[Key, list[tuple[int, frozenset[str]]]]
"""The texts that have a value, and the words beside it there."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A value where it stands: what it may be known by, and the words beside it."""

    keys: tuple[Key, ...]
    kind: str
    """Only values of one kind can be mistaken for each other."""
    beside: frozenset[str]


def placed(text: str, counted: Sequence[Number], dated: Sequence[Dated], named: Sequence[str]) -> Iterator[Placed]:
    """The values of a text, each with the words of its part of the sentence; names are not among them."""
    if not (counted or dated or named):
        return
    ends = [*(match.end() for match in _BREAK.finditer(text)), len(text)]
    known: dict[int, frozenset[str]] = {}
    called = frozenset(plain(part) for name in named for part in (name, f"{name}s"))

    def beside(at: int) -> frozenset[str]:
        part = bisect_right(ends, at)
        if part == len(ends):
            return frozenset()
        if part not in known:
            start, end = ends[part - 1] if part else 0, ends[part]
            found = words(text) if end - start == len(text) < _LINE else words.__wrapped__(text[start:end])
            known[part] = frozenset([word for word in found if word.isalpha() or not _DIGITS.search(word)])
        return known[part]

    for one in counted:
        start = one.start + text[one.start : one.start + 1].isspace()
        before = text[max(0, start - 1) : start]
        if before.isalnum() or before in _JOINING:  # part of a code
            continue
        kind = one.unit or ("nth" if one.nth else "count")
        yield Placed(tuple(("number", value) for value in {*one.values, *one.bases}), kind, beside(start))
    for day in dated:
        keys = tuple(("date", (month, number)) for _, month, number in day.days if number)
        if keys:
            yield Placed(keys, "date", beside(day.start))
    for name in named:
        yield Placed((("name", plain(name)),), "name", beside(text.find(name)) - called)


def misplaced(mine: Sequence[Placed], home: Iterable[Placed], near: set[int], known: Places) -> Placed | None:
    """A value of a line beside words that its sources put another one to, and this one nowhere.

    `home` are the values of the texts it rests on, `near` those texts and their neighbours.
    """
    said = {key for one in mine for key in one.keys}
    heads = {str(value)[:4] for kind, value in said if kind == "name"}
    rivals = [one for one in home if said.isdisjoint(one.keys) and str(one.keys[0][1])[:4] not in heads]
    for one in mine if rivals else ():
        places = [place for key in one.keys for place in known.get(key, ())]
        here = [beside for at, beside in places if at in near]
        if not places or any(len(beside) < 2 or not beside.isdisjoint(_MENDING) for beside in here):
            continue  # known by another form of it, said by itself, or said to mend another
        best = max(_shared(one.beside, beside) for _, beside in places)
        top = max((_shared(one.beside, rival.beside) for rival in rivals if rival.kind == one.kind), default=0.0)
        if top >= best + (1 if here else 0.5):
            return one
    return None


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    return sum([0.5 if word in GENERIC else 1.0 for word in one & other])
