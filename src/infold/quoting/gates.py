"""Patterns that are tried only where one of their words stands. Pure."""

from __future__ import annotations

import re
from typing import ClassVar

from infold.quoting.telling import HAN

_SIGNS: dict[str, int] = {}
"""Words -> the patterns that may find something beside them, a bit each."""
_TOKEN = re.compile(r"\w+")
_EVERY = -1


class Gated:
    """A pattern that is tried only where one of some words stands, or Chinese."""

    __slots__ = ("bit", "search")

    def __init__(self, words: str, pattern: str) -> None:
        self.bit = 1 << Gated.made
        self.search = re.compile(pattern).search
        Gated.made += 1
        for word in words.split():
            _SIGNS[word] = _SIGNS.get(word, 0) | self.bit

    made: ClassVar[int] = 0

    def __call__(self, low: str, signs: int) -> bool:
        """Whether it finds something in text with these signs."""
        return signs & self.bit != 0 and self.search(low) is not None


def signs_of(low: str) -> int:
    """The patterns that may find something in lower-case text."""
    signs = 0
    for word in _TOKEN.findall(low):
        signs |= _SIGNS.get(word, 0)
    return signs if low.isascii() or not HAN.search(low) else _EVERY
