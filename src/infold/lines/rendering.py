"""Lines as text: headings and bullets, and back. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

from infold.lines.kinds import HEADINGS, PINNED
from infold.lines.line import Line
from infold.tokens import count

QUOTED = " (quoted)"
"""Stands behind a heading whose lines are all quotations."""


def by_section(lines: Iterable[Line]) -> list[tuple[str, list[Line]]]:
    """Lines grouped under their headings, in the order of HEADINGS; empty sections left out."""
    groups: dict[str, list[Line]] = {section: [] for section in HEADINGS}
    for line in lines:
        groups.get(line.section, groups["facts"]).append(line)  # a damaged row is still shown
    return [(section, group) for section, group in groups.items() if group]


def heading(section: str, quoted: bool) -> str:
    """The heading of a section."""
    return HEADINGS[section] + (QUOTED if quoted else "")


def is_quoted(group: Sequence[Line]) -> bool:
    """Whether all lines of a section are quotations."""
    return all(line.quoted for line in group)


def render(lines: Iterable[Line], level: int = 2) -> str:
    """Headings and bullets, no blank lines; an empty text for no lines. Beside lines of other authors, quotations stand in
    quotation marks."""
    text: list[str] = []
    for section, group in by_section(lines):
        quoted = is_quoted(group)
        text.append(f"{'#' * level} {heading(section, quoted)}")
        text += [f"- {line.shown if quoted or not line.quoted else _marked(line)}" for line in group]
    return "\n".join(text)


def _marked(line: Line) -> str:
    return f"{line.shown[: len(line.shown) - len(line.text)]}“{line.text}”"


@functools.cache
def heading_tokens(section: str, quoted: bool) -> int:
    """Tokens of a section's heading line."""
    return count(f"## {heading(section, quoted)}\n")


def block_tokens(lines: Sequence[Line]) -> int:
    """Tokens of lines with their headings."""
    return sum(heading_tokens(section, is_quoted(group)) for section, group in by_section(lines)) + sum(
        line.tokens for line in lines
    )


_SECTION_OF = {title.lower(): section for section, title in HEADINGS.items()}
_BULLET = re.compile(r"^\s*(?:[-*•–]|\d{1,3}[.)])\s+")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s*(?P<hash>.+?)|\*\*(?P<bold>[^*]+)\*\*|(?P<plain>[^-*•].{0,58}):)\s*:?\s*$")
_NEARLY = (
    ("pin", PINNED), ("goal", "goals"), ("prefer", "goals"), ("decision", "decisions"), ("open", "open"), ("pending", "open"),
    ("action", "open"), ("unresolved", "open"), ("artifact", "artifacts"), ("reference", "artifacts"),
)  # fmt: skip
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!e\.g\.)(?<!i\.e\.)\s+(?=[\"“(]?[A-ZÀ-Þ0-9])|(?<=[。！？])")


def parse(text: str) -> list[tuple[str, str]]:
    """The lines of a summary with their sections: bullets one by one, prose sentence by sentence; what stands under an unknown
    heading counts as facts."""
    section = "facts"
    found: list[tuple[str, str]] = []
    for row in text.splitlines():
        if not row.strip():
            continue
        bullet = _BULLET.match(row)
        title = None if bullet else _HEADING.match(row)
        if title:
            name = (title["hash"] or title["bold"] or title["plain"]).strip().strip(":").lower().removesuffix(QUOTED)
            section = _SECTION_OF.get(name) or next((s for word, s in _NEARLY if word in name), "facts")
            continue
        words = row[bullet.end() :] if bullet else row
        parts = [words] if bullet else _SENTENCE.split(words)
        found += [(section, " ".join(part.split())) for part in parts if part.strip()]
    return found
