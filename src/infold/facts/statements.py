"""Statements of fact as they are stored, and facts as they are shown. Pure."""

from __future__ import annotations

import functools
import hashlib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace

KINDS = ("preference", "biography", "goal", "constraint", "commitment", "decision", "fact", "reference")
CURRENT, SUPERSEDED, CONFLICTING = "current", "superseded", "conflicting"
STATUSES = (CURRENT, SUPERSEDED, CONFLICTING)
ASSISTANT, TOOL = "assistant", "tool"

_UNSEEN = dict.fromkeys(map(ord, "\u200b\u200e\u200f\u2060\ufeff\u00ad"))
_APOSTROPHES = {ord("’"): "'", ord("‘"): "'"}
_TELLING_MARKS = "#%@&*"  # "C#" is not "C"


@dataclass(frozen=True, slots=True, order=True)
class Saying:
    """One message that states a fact."""

    at: int
    """Milliseconds since 1970."""
    chat: str
    seq: int
    """Position in the chat."""
    id: str
    """Of the message."""
    speaker: str = ""
    """Who said it; empty where it is the statement's speaker."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What is stored of a fact: what was said, by whom and when. Nothing of it changes but that it is said again."""

    text: str
    """Third person, compact: "User lives in Berlin"."""
    kind: str
    subject: str
    """Whom or what it is about; this, the attribute and the value are empty where they cannot be told."""
    attribute: str
    value: str
    """As it was said; "not X" where it ends a value."""
    quote: str
    """Verbatim from one of the messages."""
    confidence: float
    replaces: str
    """Words of what this makes obsolete; also what a word of correction stood in."""
    speaker: str
    """ "user", "assistant", "tool", or the name of a named user."""
    sayings: tuple[Saying, ...]
    """Sorted."""

    @property
    def digest(self) -> bytes:
        """The same for the same text, whoever says it and however it is written."""
        return _digest(self.text)

    @property
    def id(self) -> str:
        return _id(self.text)


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement, and what became of it as of all statements known."""

    id: str
    kind: str
    text: str
    subject: str
    attribute: str
    value: str
    quote: str
    confidence: float
    speaker: str
    sources: tuple[Saying, ...]
    valid_from: int
    """When it was first said of late, without another value in between."""
    valid_to: int | None
    """When something else took its place; None while nothing has."""
    status: str
    """One of STATUSES."""
    superseded_by: str | None
    """Id of the fact that took its place."""
    conflicts_with: tuple[str, ...]
    """Ids of the facts it contradicts, where nobody has settled which of them holds."""


def evened(text: str) -> str:
    """A text without what makes no difference: case, spacing, width, how accents are written, marks at the edges."""
    if text.isascii():
        folded = text.casefold()
    else:  # caseless matching of compatible characters, as Unicode defines it (D146)
        plain = unicodedata.normalize("NFD", text.translate(_APOSTROPHES)).casefold()
        folded = unicodedata.normalize("NFKD", plain).casefold()
        folded = unicodedata.normalize("NFKC", folded).translate(_UNSEEN)
    spaced = " ".join(folded.split())
    start, end = 0, len(spaced)
    while start < end and _is_edge(spaced[start]):
        start += 1
    while end > start and _is_edge(spaced[end - 1]):
        end -= 1
    return spaced[start:end] or spaced


@functools.lru_cache(maxsize=1024)
def _is_edge(mark: str) -> bool:
    return mark == " " or (unicodedata.category(mark)[0] == "P" and mark not in _TELLING_MARKS)


@functools.lru_cache(maxsize=32768)
def _digest(text: str) -> bytes:
    return hashlib.blake2b(evened(text).encode("utf-8", "surrogatepass"), digest_size=16).digest()


@functools.lru_cache(maxsize=32768)
def _id(text: str) -> str:
    return _digest(text)[:8].hex()


def merged(statements: Iterable[Statement]) -> list[Statement]:
    """Each text once, with all who said it; oldest first. The same in whatever order and portions it is done."""
    groups: dict[bytes, list[Statement]] = {}
    for statement in statements:
        groups.setdefault(statement.digest, []).append(statement)
    return sorted(map(_joined, groups.values()), key=_first)


def _first(one: Statement) -> tuple[int, str, int, str, bytes]:
    said = one.sayings[0] if one.sayings else Saying(0, "", 0, "")
    return said.at, said.chat, said.seq, said.id, one.digest


def _joined(group: list[Statement]) -> Statement:
    """One statement for many of the same text: the words of the most reliable, the sayings of all."""
    if len(group) == 1 and len(group[0].sayings) == 1 and group[0].sayings[0].speaker:
        return group[0]
    sayings = sorted(
        {saying if saying.speaker else replace(saying, speaker=one.speaker) for one in group for saying in one.sayings}
    )
    # By what does not change in joining, so that it makes no difference in which order they are joined.
    best = min(group, key=_reliable) if len(group) > 1 else group[0]
    return replace(
        best,
        sayings=tuple(sayings),
        confidence=max(one.confidence for one in group),
        replaces=min((one.replaces for one in group if one.replaces), key=lambda said: (len(said), said), default=""),
    )


def _reliable(one: Statement) -> tuple[object, ...]:
    rank = 2 if one.speaker == TOOL else 1 if one.speaker == ASSISTANT else 0
    slot = (not one.attribute, one.subject, one.attribute, one.value)
    return rank, one.speaker, slot, one.kind, -sum(map(str.istitle, one.text.split())), one.text, one.quote
