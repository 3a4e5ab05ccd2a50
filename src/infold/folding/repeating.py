"""What is only said again: people repeat themselves, and assistants repeat people, without changing their minds. Pure."""

from __future__ import annotations

import functools
import re

from infold.folding.draft import Draft
from infold.folding.likeness import GENERIC, figures, segments, telling, words
from infold.folding.reversals import bearing, bygone
from infold.folding.telling import lead_stripped
from infold.items import Candidate, normal

# What changes with who speaks, or is left out when a sentence becomes a line.
_PERSONAL = frozenset(
    "i we you me us my our your mine ours yours myself yourself ourselves user assistant am is are re m s ve has have "
    "the a an and so but really just very quite actually basically simply also though please".split()
)
_SPELLED = {"ll": "will", "d": "would", "doesn": "don", "hasn": "haven", "isn": "aren", "does": "do"}
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|today|tomorrow|tonight"
)


@functools.lru_cache(maxsize=2048)
def _bare(text: str, dated: bool = True) -> frozenset[str]:
    """The words of a sentence, whoever says it; with any date for one, unless `dated`."""
    said = [_SPELLED.get(word, word) for word in normal(lead_stripped(text)).split() if word not in _PERSONAL]
    return frozenset("§" if not dated and _DATE.fullmatch(word) else _unbent(word) for word in said)


def _unbent(word: str) -> str:
    """A verb without what the third person adds; "booked" stays another word than "book"."""
    word = word.removesuffix("s").removesuffix("e")
    return f"{word[:-1]}i" if word.endswith("y") else word


def same_sentence(said: str, line: str) -> bool:
    """Whether a line tells just this sentence, with a date where that has one."""
    return bool(said) and _bare(said, dated=False) == _bare(line, dated=False)


def said_again(draft: Draft, candidate: Candidate) -> bool:
    """Whether memory says all of this already, and nothing of what the statement takes back."""
    mine = words(candidate.text)
    gone = words(f"{candidate.replaces} {candidate.doubts}") - mine - GENERIC
    for id, item in draft.items.items():
        if _bare(candidate.said) == _bare(item.text):
            return True
        known, filed_alike = draft.words[id], (item.section == "open") == (candidate.section == "open")
        nothing_new = mine <= known and gone.isdisjoint(known) and figures(known) <= mine
        most_of_it = bool(telling(mine)) and len(known - GENERIC) <= 2 * len(mine - GENERIC)
        if filed_alike and nothing_new and most_of_it and bearing(candidate.text) == bearing(item.text):
            return True
    return False


def says_too(draft: Draft, candidate: Candidate) -> bool:
    """Whether a statement says again, beside what it is remembered by, what memory holds: then it takes nothing back."""
    parts = [words(part) - GENERIC for part in segments(candidate.said) if not bygone(part.lower())]
    return any(telling(known) and known - GENERIC in parts for known in draft.words.values())
