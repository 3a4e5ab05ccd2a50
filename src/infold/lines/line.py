"""The line: a statement of memory with its evidence. Pure."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from infold.lines.kinds import KINDS, PINNED
from infold.tokens import count_cached

# Layers of memory: the standing share, the long summary, the summaries of single folds ("leaves"); and further quotations,
# which no summary holds: contexts show them where there is room.
FACT, LONG, LEAF, FURTHER = "fact", "long", "leaf", "further"

# Authors of lines; a model's lines carry its name.
QUOTATION, PERSON, FUNCTION = "quotation", "person", "summarizer"

CURRENT, SUPERSEDED, CONFLICTING = "current", "superseded", "conflicting"
STATUSES = (CURRENT, SUPERSEDED, CONFLICTING)

MOST = 1000
"""The highest score."""
SURE, STANDING, LIKELY = 900, 800, 700
"""Tiers of the score for standing: of ten such sentences about nine, eight or seven hold until somebody takes them back."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where words stand: a message's position in its chat, and code points of its text."""

    seq: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Line:
    """One line of memory: a quotation, a model's line, a fact or a pin."""

    id: str
    section: str
    text: str
    sources: tuple[int, ...]
    """Positions of the messages it rests on."""
    layer: str = LONG
    fold: int = 0
    """Number of the fold that wrote it."""
    tokens: int = 0
    kind: str = ""
    """One of KINDS; empty where its author named none."""
    quote: str = ""
    """The exact words that it rests on."""
    places: tuple[Place, ...] = ()
    """Where those words stand."""
    role: str = ""
    """Role of the message they stand in: user, assistant or tool."""
    said_by: str = ""
    """Who said them: a name, or the role of who has none."""
    said_at: int = 0
    """When, in milliseconds since 1970; 0 where it is not known."""
    author: str = ""
    """Who wrote the line: "quotation", "person", "summarizer" or a model's name."""
    worth: int = MOST
    """Up to MOST: how much a careful reader would want it known."""
    standing: int = 0
    """Up to MOST: how sure it is to hold until somebody takes it back."""
    rewrites: int = 0
    """How many times a model rewrote it on its way from the messages: 0 for a quotation."""
    chat: str = ""
    """Of a fact: the chat it was said in."""
    status: str = CURRENT
    """Of a fact: one of STATUSES."""
    valid_to: int | None = None
    """Of a fact: when another one took its place."""
    superseded_by: str | None = None
    """Of a fact: id of the one that took its place."""
    conflicts_with: tuple[str, ...] = ()
    """Of a fact: ids of those it contradicts, where nobody has settled which of them holds."""

    @property
    def quoted(self) -> bool:
        """Whether its text is words of a message."""
        return self.author == QUOTATION

    @property
    def words(self) -> str:
        """What it says, without what stands beside somebody's words."""
        return self.quote or self.text

    @property
    def shown(self) -> str:
        """Its text as memory shows it: with the speaker, where that is not simply the user."""
        if not self.quoted or self.said_by in ("", "user"):
            return self.text
        return f"{self.said_by.title() if self.said_by == self.role else self.said_by}: {self.text}"

    @property
    def own(self) -> bool:
        """Whether it is a person's own words."""
        return self.quoted and self.role == "user"

    @property
    def sure(self) -> bool:
        """Whether it is sure enough to hold until somebody takes it back that it may stand as a wish or a rule."""
        return self.author == PERSON or (self.own and self.standing >= SURE)

    @property
    def wish(self) -> bool:
        """Whether it may stand as a wish of the user's: sure, and not beside somebody else's question; of what a person put
        right, what holds."""
        holds = self.author != PERSON or self.section == PINNED or is_standing(self.kind, self.standing)
        return self.sure and holds and _one_message(self.places)


def _one_message(places: Sequence[Place]) -> bool:
    return len({place.seq for place in places}) <= 1


def section_of(kind: str) -> str:
    """The heading that a kind stands under."""
    return KINDS[kind].section if kind in KINDS else "facts"


def is_standing(kind: str, standing: int) -> bool:
    """Whether a sentence holds until somebody takes it back, as far as its words or its score tell."""
    return standing >= LIKELY or (kind in KINDS and KINDS[kind].standing)


def line_tokens(shown: str) -> int:
    """Tokens that a line costs in memory."""
    return count_cached(f"- {shown}\n")


_MARKS = re.compile(r"[^\w\s.@/:%$€£#+-]")


@functools.lru_cache(maxsize=8192)
def normal(text: str) -> str:
    """A text with case, width, accents' spelling, punctuation at the edges and spacing evened out."""
    folded = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_MARKS.sub(" ", folded).split()).strip(" .:-")


def total_tokens(lines: Iterable[Line]) -> int:
    """Tokens of lines, headings left out."""
    return sum(line.tokens for line in lines)


def newest(lines: Sequence[Line]) -> int:
    """The newest message that some lines rest on."""
    return max((max(line.sources, default=0) for line in lines), default=0)
