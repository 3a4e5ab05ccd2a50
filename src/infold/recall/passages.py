"""Long messages as passages, each found and shown by itself. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

WHOLE = 600
"""A message of at most so many characters (about 150 tokens) is one passage."""
_SLACK = 50
_ENDS = (re.compile(r"\n\s*\n"), re.compile(r"\n|[.!?…。！？]['\"”’)]*(?:\s|(?<=[。！？]))"), re.compile(r"\s"))


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a message, by its characters."""

    start: int
    end: int


def passages(text: str) -> list[Passage]:
    """A text in parts of like length, 250 to 650 characters each, cut where a paragraph, sentence or word ends."""
    if len(text) <= WHOLE:
        return [Passage(0, len(text))]
    count = -(-len(text) // WHOLE)
    cuts = [0, *(_cut(text, len(text) * part // count) for part in range(1, count)), len(text)]
    return [Passage(start, end) for start, end in pairwise(cuts)]


def _cut(text: str, near: int) -> int:
    """The best place to cut within `_SLACK` characters of `near`."""
    start = near - _SLACK
    for ending in _ENDS:
        found = [start + match.end() for match in ending.finditer(text[start : near + _SLACK])]
        if found:
            return min(found, key=lambda at: (abs(at - near), at))
    return near
