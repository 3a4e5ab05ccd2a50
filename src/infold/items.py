"""Items: the lines of memory, by section, each with its sources. Pure."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from infold.tokens import count, count_cached

# Section key -> heading, in the order they are shown.
SECTIONS = {
    "facts": "Facts / Constraints",
    "goals": "Goals / Preferences",
    "decisions": "Decisions Made",
    "open": "Open Items / Pending Commitments",
    "artifacts": "Key Artifacts / References",
}
PINNED = "pinned"
CLOSING = "done"  # of a candidate that is no item itself: it only closes others
HEADINGS = {PINNED: "Pinned", **SECTIONS}
_SECTION_OF = {heading.lower(): section for section, heading in HEADINGS.items()}

# Layers of memory: lasting facts, the long summary, and the summaries of single folds ("leaves").
FACT, LONG, LEAF = "fact", "long", "leaf"


@dataclass(frozen=True, slots=True)
class Item:
    """One line of memory."""

    id: str
    section: str
    text: str
    sources: tuple[int, ...]
    """Positions (seq) of the messages it comes from."""
    layer: str = LONG
    fold: int = 0
    """Number of the fold that wrote it."""
    tokens: int = 0
    confidence: float = 1.0
    """How sure its reader was that it is worth a place; the least sure give way first."""
    rewrites: int = 0
    """How many times a model rewrote it on its way from the messages: 0 for what was extracted."""

    @property
    def line(self) -> str:
        return f"- {self.text}\n"


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item before it is merged: what one message or one summary line says."""

    section: str
    text: str
    sources: tuple[int, ...] = ()
    fact: bool = False
    """Lasting enough for the fact layer, where a policy has one."""
    replaces: str = ""
    """Words of what this makes obsolete, where the text says so ("instead of X")."""
    closes: bool = False
    """Says that something was done or answered."""
    confidence: float = 1.0
    tentative: bool = False
    """Only worth a line where it closes nothing."""
    doubts: str = ""
    """Words that speak of something bygone; they overturn a decision where they name it."""
    rewrites: int = 0
    """As in an item."""
    kind: str = ""
    """What its reader took it for: preference, biography, fact, constraint, goal, commitment, question, decision, reversal,
    artifact; empty where nobody said."""
    said: str = ""
    """The sentence it was read from."""
    beside: str = ""
    """The sentence right before it."""
    unnamed: bool = False
    """Begins with a pronoun that nothing before it in the message explains."""


def line_tokens(text: str) -> int:
    """Tokens a line of memory costs when rendered."""
    return count_cached(f"- {text}\n")


@functools.lru_cache(maxsize=8192)
def normal(text: str) -> str:
    """A text with case, width, accents' spelling, punctuation at the edges and spacing evened out."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub(r"[^\w\s.@/:%$€£#+-]", " ", folded).split()).strip(" .:-")


def by_section(items: Iterable[Item]) -> list[tuple[str, list[Item]]]:
    """Items grouped under their headings, in the order of HEADINGS; empty sections left out."""
    groups: dict[str, list[Item]] = {section: [] for section in HEADINGS}
    for item in items:
        groups.get(item.section, groups["facts"]).append(item)  # a damaged row is still shown
    return [(section, group) for section, group in groups.items() if group]


def render(items: Iterable[Item], level: int = 2) -> str:
    """Headings and bullets, no blank lines; an empty text for no items."""
    lines: list[str] = []
    for section, group in by_section(items):
        lines.append(f"{'#' * level} {HEADINGS[section]}\n")
        lines.extend(item.line for item in group)
    return "".join(lines).rstrip("\n")


_BULLET = re.compile(r"^\s*(?:[-*•–]|\d{1,3}[.)])\s+")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s*(?P<hash>.+?)|\*\*(?P<bold>[^*]+)\*\*|(?P<plain>[^-*•].{0,58}):)\s*:?\s*$")


def parse(text: str) -> list[Candidate]:
    """Read headings and bullets back into candidates; lines under unknown headings count as facts."""
    section = "facts"
    found: list[Candidate] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        bullet = _BULLET.match(line)
        heading = None if bullet else _HEADING.match(line)
        if heading:
            title = (heading["hash"] or heading["bold"] or heading["plain"]).strip().strip(":").lower()
            section = _SECTION_OF.get(title) or _guess_section(title)
            continue
        words = " ".join((line[bullet.end() :] if bullet else line).split())
        if words:
            found.append(Candidate(section, words))
    return found


def _guess_section(title: str) -> str:
    for word, section in (
        ("pin", PINNED),
        ("goal", "goals"),
        ("prefer", "goals"),
        ("decision", "decisions"),
        ("open", "open"),
        ("pending", "open"),
        ("action", "open"),
        ("unresolved", "open"),
        ("artifact", "artifacts"),
        ("reference", "artifacts"),
    ):
        if word in title:
            return section
    return "facts"


def total_tokens(items: Sequence[Item]) -> int:
    """Tokens of the items' lines, headings left out."""
    return sum(item.tokens for item in items)


def block_tokens(items: Sequence[Item]) -> int:
    """Tokens of the items rendered with their headings."""
    return total_tokens(items) + sum(heading_tokens(section) for section, _ in by_section(items))


@functools.cache
def heading_tokens(section: str) -> int:
    """Tokens of a section's heading line."""
    return count(f"## {HEADINGS[section]}\n")
