"""What is only said again: people repeat themselves, and assistants repeat people, without changing their minds. Pure."""

from __future__ import annotations

import functools
import re

from infold.folding.draft import Draft
from infold.folding.likeness import words
from infold.folding.telling import lead_stripped
from infold.items import Candidate, normal

# What changes with who speaks, or is left out when a sentence becomes a line.
_LEFT_OUT = frozenset(
    "am is are re m s ve has have the a an and so but really just very quite actually basically simply also though please".split()
)
_FIRST = frozenset("i we me us my our mine ours myself ourselves".split())
_SECOND = frozenset("you your yours yourself".split())
_OURS = frozenset(["user", "assistant"])
_SPELLED = {"ll": "will", "d": "would", "doesn": "don", "hasn": "haven", "isn": "aren", "does": "do"}
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|today|tomorrow|tonight"
)


@functools.lru_cache(maxsize=2048)
def _told(line: str) -> tuple[str, ...]:
    """The words of a line in their order, whose "we" is the user's."""
    said = ["user" if word in _FIRST else word for word in normal(lead_stripped(line)).split()]
    return tuple(_unbent(_SPELLED.get(word, word)) for word in said if word not in _LEFT_OUT)


@functools.lru_cache(maxsize=2048)
def _said(sentence: str, dated: bool) -> tuple[str, ...]:
    """The same, whoever says it of whom; any date for one, unless `dated`."""
    persons = _FIRST | _SECOND | _OURS
    said = [word for word in normal(lead_stripped(sentence)).split() if word not in persons and word not in _LEFT_OUT]
    bare = ["§" if not dated and _DATE.fullmatch(word) else _unbent(_SPELLED.get(word, word)) for word in said]
    return tuple(word for at, word in enumerate(bare) if word != "§" or "§" not in bare[:at])


def _unbent(word: str) -> str:
    """A verb without what the third person adds; "booked" stays another word than "book"."""
    word = word.removesuffix("s").removesuffix("e")
    return f"{word[:-1]}i" if word.endswith("y") else word


def same_sentence(said: str, line: str, dated: bool = False) -> bool:
    """Whether a line tells just this sentence; with its date if `dated`, else with any where that has one."""
    persons = set(normal(said).split())
    if not said or (persons & _FIRST and persons & _SECOND):  # who does what for whom?
        return False
    return _said(said, dated) == _said(line, dated)


@functools.lru_cache(maxsize=2048)
def _sides(line: str) -> frozenset[str]:
    """Which sides of a chat a line speaks of."""
    return _OURS.intersection(_told(line))


def of_others(one: str, other: str) -> bool:
    """Whether two lines speak of different sides of a chat: the user's home is not the assistant's."""
    mine, theirs = _sides(one), _sides(other)
    return bool(mine and theirs) and mine.isdisjoint(theirs)


def said_again(draft: Draft, candidate: Candidate) -> bool:
    """Whether memory has a line that says just this."""
    told, mine = _told(candidate.text), words(candidate.text)
    for id, item in draft.items.items():
        if _told(item.text) == told:
            return True
        # Of the same people: two may well say the same of themselves.
        if (
            mine <= draft.words[id]
            and _sides(candidate.text) <= _sides(item.text)
            and same_sentence(candidate.said, item.text, dated=True)
        ):
            return True
    return False
