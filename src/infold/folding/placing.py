"""What stands beside a value: whether a number, a date, a reference or a name was put where another one belongs. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from infold.folding.calendar import Dated
from infold.folding.likeness import GENERIC, stem, words
from infold.folding.proper import plain
from infold.folding.quantities import Number
from infold.folding.references import Reference, form_of, known_by

# Begins with a set of characters, so that most places are passed over at once.
_BREAK = re.compile(
    r"[.!?;,\s。！？；](?:(?<=[.!?;])(?=\s|$)(?<!\bdr.)(?<!\bmr.)(?<!\bms.)(?<!\bmrs.)|(?<=[\n。！？；])"
    r"|(?<=,)\s(?:but|while|whereas|aber|mais|pero|and|und|et|y)\s|(?<=\s)(?:but|while|whereas|aber|mais|pero)\s)",
    re.IGNORECASE,
)
_JOINING = ("-", "_", "/", "#", ".", "@")
_PART = re.compile(
    r"[.!?;:,\s()。！？；，](?:(?<=[.!?;:,])(?=\s|$)(?<!\bdr.)(?<!\bmr.)(?<!\bms.)(?<!\bmrs.)(?<!\bst.)|(?<=[\n()。！？；，])"
    r"|(?<=\s)(?:but|while|whereas|and|or|then|–|—|aber|und|oder|mais|et|ou|pero|y|o)\s)",
    re.IGNORECASE,
)
"""Where a part of a sentence ends that can have a value of its own."""
_LINE = 400  # characters of what may be a line of memory
_DIGITS = re.compile(r"\d")

_FEW = 2  # words beside a value
_CLEARLY = 3  # words more that another value must have where this one is said by itself
_ELSEWHERE = 1.5  # words more that another name must have beside it where it stands in another text
_SENTENCE_ENDS = frozenset(".!?;\n。！？；")
_MENDING = frozenset(map(stem, "actually make correction rather sorry meant instead".split()))

Timed = tuple[str, frozenset[int], int, int]
"""A time of day as written, the minutes it may mean, start and end."""
Key = tuple[str, object]
"""A kind of value, and the value."""


class Placed(NamedTuple):
    """A value where it stands: what it may be known by, and the words beside it."""

    keys: tuple[Key, ...]
    kind: str
    """Only values of one kind can be mistaken for each other."""
    beside: frozenset[str]
    """The words of its sentence, up to a "but" or a second "and"."""
    close: frozenset[str]
    """The words and figures of its own part of the sentence; of a line, those of the sentence."""
    text: str
    """As written."""


_Found = Sequence[tuple[int, Placed]]
Places = dict[Key, list[tuple[int, Placed]]]
"""The texts that have a value, and where."""


class _Parts:
    """A text in parts, with the words of each."""

    def __init__(self, text: str, pattern: re.Pattern[str]) -> None:
        self.text = text
        self.ends = [*(match.end() for match in pattern.finditer(text)), len(text)]
        self._known: dict[int, frozenset[str]] = {}
        self._wordy: dict[int, frozenset[str]] = {}

    def wordy(self, at: int) -> frozenset[str]:
        """The words of the part at a place, without those that have digits."""
        part = bisect_right(self.ends, at)
        if part not in self._wordy:
            self._wordy[part] = frozenset([word for word in self._words(part) if _wordy(word)])
        return self._wordy[part]

    def words(self, at: int) -> frozenset[str]:
        """The words of the part at a place."""
        return self._words(bisect_right(self.ends, at))

    def _words(self, part: int) -> frozenset[str]:
        if part >= len(self.ends):
            return frozenset()
        if part not in self._known:
            start, end = self.ends[part - 1] if part else 0, self.ends[part]
            whole = end - start == len(self.text) < _LINE
            self._known[part] = words(self.text) if whole else words.__wrapped__(self.text[start:end])
        return self._known[part]

    def close(self, at: int, own: frozenset[str]) -> frozenset[str]:
        """The words of the part at a place without some; with those before it where hardly any is left."""
        part = bisect_right(self.ends, at)
        found = self._words(part) - own
        while len(found) < _FEW and part > 0 and self.text[self.ends[part - 1] - 1] not in _SENTENCE_ENDS:
            part -= 1
            found |= self._words(part) - own
        return found


def placed(
    text: str,
    counted: Sequence[Number],
    dated: Sequence[Dated],
    timed: Sequence[Timed],
    referred: Sequence[Reference],
    named: Sequence[str],
    fine: bool = True,
) -> Iterator[Placed]:
    """The values of a text, each with the words beside it; `fine` tells parts of sentences apart."""
    if not (counted or dated or timed or referred or named):
        return
    coarse = _Parts(text, _BREAK)
    parts = _Parts(text, _PART) if fine else coarse

    def place(keys: tuple[Key, ...], kind: str, start: int, end: int) -> Placed:
        own = words.__wrapped__(text[start:end])
        near = parts.close(start, own) if fine else coarse.words(start) - own
        return Placed(keys, kind, coarse.wordy(start), near, text[start:end])

    clock = [(start, end) for _, _, start, end in timed]
    for one in counted:
        start = one.start + text[one.start : one.start + 1].isspace()
        before, after = text[max(0, start - 1) : start], text[one.end : one.end + 1]
        if before.isalnum() or before in _JOINING or after.isalnum():  # part of a code
            continue
        if any(begin <= start < end for begin, end in clock):  # of a time of day
            continue
        kind = one.unit or ("nth" if one.nth else "count")
        yield place(tuple([("number", value) for value in {*one.values, *one.bases}]), kind, start, one.end)
    for day in dated:
        keys = tuple(("date", (month, number)) for _, month, number in day.days if number)
        if keys:
            yield place(keys, "date", day.start, day.end)
    for _, minutes, start, end in timed:
        yield place(tuple(("date", minute) for minute in sorted(minutes)), "clock", start, end)
    for written, start, end in referred:
        yield place((("identifier", known_by(written)),), form_of(written), start, end)
    if named:
        called = words.__wrapped__(" ".join(named)).union(
            [plain(part) for name in named for part in (name, f"{name}s")]
        )
    for start, end, group in _together(text, named) if fine else _each(text, named):
        people: tuple[Key, ...] = tuple([("name", plain(name)) for name in group])
        if fine:
            found = place(people, "name", start, end)
            yield found._replace(beside=found.beside - called, close=found.close - called)
        else:  # its own words are among those of all names
            yield Placed(people, "name", coarse.wordy(start) - called, coarse.words(start) - called, text[start:end])


def _each(text: str, named: Sequence[str]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    for name in named:
        at = text.find(name)
        if not _DIGITS.search(name):
            yield at, at + len(name), (name,)


def _together(text: str, named: Sequence[str]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Names where they stand; those in a row are one: a first and a last name."""
    start, end, group = 0, -1, list[str]()
    for name in named:
        at = text.find(name, max(end, 0))
        if at < 0 or _DIGITS.search(name):
            continue
        if group and text[end:at] == " ":
            group.append(name)
        else:
            if group:
                yield start, end, tuple(group)
            start, group = at, [name]
        end = at + len(name)
    if group:
        yield start, end, tuple(group)


def _wordy(word: str) -> bool:
    return word.isalpha() or not _DIGITS.search(word)


def misplaced(
    mine: Sequence[Placed],
    said: Container[Key],
    home: Iterable[tuple[int, Placed]],
    near: set[int],
    known: Places,
    sure: bool,
) -> Placed | None:
    """A value of a line beside words that its sources put another one to, and this one nowhere.

    `said` are all values that the line has in any form, `home` the values of the texts it rests on, `near` those texts
    and their neighbours; `sure` tells whether it rests on them beyond doubt.
    """
    heads = {str(value)[:4] for one in mine for kind, value in one.keys if kind == "name"}
    rivals = [(at, one) for at, one in home if not any(key in said or str(key[1])[:4] in heads for key in one.keys)]
    for one in mine if rivals else ():
        alike = [rival for rival in rivals if rival[1].kind == one.kind]
        places = [place for key in one.keys for place in known.get(key, ())]
        if alike and places and (_twice(one, mine, places, near) or _elsewhere(one, places, alike, near, sure)):
            return one
    return None


def _twice(one: Placed, mine: Sequence[Placed], places: _Found, near: set[int]) -> bool:
    """Whether a line has a value more often than its sources: it took the place of another one."""
    often = sum([not set(one.keys).isdisjoint(other.keys) for other in mine])
    # Two places with the same words beside them are two; one that is known by two keys is one.
    return often > 1 and 0 < len({id(place) for at, place in places if at in near}) < often


def _elsewhere(one: Placed, places: _Found, rivals: _Found, near: set[int], sure: bool) -> bool:
    """Whether another value stands clearly nearer to the words of a line."""
    here = [(at, place) for at, place in places if at in near]
    best, there = max((_shared(one.close, place.close), at) for at, place in places)
    apart = _ELSEWHERE if one.kind == "name" else 1
    lonely = [at for at, place in here if len(place.beside) < _FEW or not place.beside.isdisjoint(_MENDING)]
    if lonely:  # said by itself, or to mend another: then it is what holds, but not where the other was said later
        top, last = max((_shared(one.close, rival.close), at) for at, rival in rivals)
        return top >= best + _CLEARLY and last > max(lonely)
    if any(_shared(one.close, rival.close) >= best + (1 if at == there else apart) for at, rival in rivals):
        return True
    best, there = max((_shared(one.beside, place.beside), at) for at, place in places)
    least = apart if here else 0.5
    if any(
        _shared(one.beside, rival.beside) >= best + (min(1, least) if at == there else least) for at, rival in rivals
    ):
        return True
    return one.keys[0][0] in ("name", "identifier") and sure and not here and best < 1  # of another topic


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    return sum([0.5 if word in GENERIC else 1.0 for word in one & other])
