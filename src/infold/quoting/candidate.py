"""A sentence that may become a line of memory: where it stands, and two scores. Pure."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from infold.lines.line import LIKELY, MOST, STANDING, SURE, Place
from infold.quoting import dates, kinds

__all__ = ["LIKELY", "MOST", "STANDING", "SURE", "Candidate", "Place"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Words of one message, or of a question and its answer, with what they are worth."""

    words: str
    """The words at its places, in order, white space folded; "…" where they were cut."""
    places: tuple[Place, ...]
    """In reading order; the last one is in the message that was read."""
    role: str
    """Of that message: user, assistant or tool."""
    said_by: str
    """The speaker's name, or the role where there is none."""
    said_at: int
    """Milliseconds since 1970; 0 where it is not known."""
    worth: int = 0
    """0 to MOST: how much a careful reader would want it known."""
    standing: int = 0
    """0 to MOST: how sure it is to hold until it is taken back."""
    borrowed: bool = False
    """Whether the words are pasted or quoted: somebody else's."""

    @property
    def text(self) -> str:
        """Its words, with the days that relative dates meant in parentheses."""
        return _dated(self.words, self.said_at)

    @property
    def kind(self) -> str:
        """As outright words name it, else "fact"."""
        return "fact" if self.borrowed else _kind_of(self.words, self.role)

    @property
    def seq(self) -> int:
        """Position of the message it was read from."""
        return self.places[-1].seq

    @property
    def sources(self) -> tuple[int, ...]:
        """Positions of the messages it cites."""
        return tuple(sorted({place.seq for place in self.places}))


_dated = functools.lru_cache(maxsize=4096)(dates.dated)
_kind_of = functools.lru_cache(maxsize=4096)(kinds.kind_of)
