"""The parts of memory, as lines of one block: wishes of the user first, then background. Pure."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from infold.context.block import block, closing, opening
from infold.context.escaping import escape
from infold.context.view import View
from infold.lines.kinds import HEADINGS, PINNED
from infold.lines.line import FACT, FURTHER, LEAF, LONG, Line
from infold.lines.rendering import by_section
from infold.marks import (
    BACKGROUND,
    BACKGROUND_HEADER,
    DEPTH_TAG,
    FACTS_LABEL,
    FURTHER_LABEL,
    LEAVES_LABEL,
    NOTHING,
    QUOTED_NOTE,
    SUMMARY_LABEL,
    WISHES_HEADER,
)
from infold.messages import Message
from infold.tokens import MESSAGE_OVERHEAD, count, count_cached

MEMORY, RECALLED = "memory", "recalled"
NO_LINES: list[Line] = []
_KEPT = 4
# The parts of background, in their order; and with shares of room, where headings would cost whole lines.
LABELS = {"facts": FACTS_LABEL, "summary": SUMMARY_LABEL, "leaves": LEAVES_LABEL, "further": FURTHER_LABEL}
_TOGETHER = (("facts summary leaves", ""), ("further", FURTHER_LABEL))
_OVERHEAD = MESSAGE_OVERHEAD + 1  # a block is joined to its neighbour by a blank line, or is a message of its own

_ROLE = re.compile(r"\W*(?:system|developer|operator|assistant|model|tool|user|human|bot|ai)\b\W{0,3}:", re.IGNORECASE)


def bullet(line: Line) -> str:
    """A line of memory as a block shows it: after ">" somebody's exact words, after "-" what was written of them."""
    sign = ">" if line.quoted or line.layer == PINNED else "-"
    # The user's own words have no speaker before them, unless they begin as if somebody else spoke.
    speaker = "User: " if sign == ">" and line.said_by in ("", "user") and _ROLE.match(line.shown) else ""
    return f"{sign} {speaker}{escape(line.shown)}"


def quoted(message: Message) -> str:
    """A whole message as a block shows it."""
    return f"> #{message.seq} {escape(message.name or message.role)}: {escape(message.text)}"


@dataclass(slots=True)
class _Drawn:
    """A block as it was drawn."""

    of: tuple[Sequence[Any], ...]
    """The very lists it was drawn from, which nobody changes."""
    bridge: str
    rows: list[str]
    tokens: int
    text: str = ""


@dataclass(slots=True)
class Parts:
    """What a context shows of memory, part by part; and as text."""

    view: View
    shown: dict[str, list[Line]]
    """Lines by part: pins, facts, summary, leaves, further, bridge. The lists are never changed, only replaced."""
    bridge: str = ""
    """The range and count of messages that are only named; empty where there are none."""
    earlier: Sequence[Message] = ()
    """Folded messages that are shown word for word."""
    more: Sequence[str] = ()
    """Recalled words, where a second block would cost too much of the budget."""

    # What there is ---------------------------------------------------------------------------------------

    @classmethod
    def of(cls, view: View) -> Parts:
        """All of memory; what has no part of its own is part of the summary."""
        key = ("parts", view.variant)
        found: dict[str, list[Line]] | None = view.cache.get(key)
        if found is None:
            found = view.cache[key] = _by_part(view)
        return cls(view, dict(found))

    @property
    def lines(self) -> list[Line]:
        """Every line shown, pins first."""
        return [line for lines in self.shown.values() for line in lines]

    @property
    def wishes(self) -> list[Line]:
        """Pins, and what people surely want to hold, in their own words."""
        return [*self.shown["pins"], *(line for name in (*LABELS, "bridge") for line in self.shown[name] if line.wish)]

    # As text ---------------------------------------------------------------------------------------------

    @property
    def tokens(self) -> int:
        """Of the block, and in a chain of the tagged message."""
        return self._drawn().tokens

    @property
    def has_block(self) -> bool:
        """Whether there is a block; a chain's tagged message is none."""
        return bool(self._drawn().rows)

    @property
    def background_frame(self) -> int:
        """Tokens that more background takes beside its lines: those of what the block does not have yet."""
        rows = self._drawn().rows
        return (0 if rows else FRAME) + (0 if BACKGROUND_HEADER in rows else self.tokens_of((BACKGROUND_HEADER,)))

    @property
    def text(self) -> str:
        """The block; empty where there is nothing to show."""
        drawn = self._drawn()
        if drawn.rows and not drawn.text:
            drawn.text = block(MEMORY, drawn.rows, self.view.chat, self.view.key)
        return drawn.text

    def _drawn(self) -> _Drawn:
        """The block's lines and tokens; what was drawn last is at hand, as most contexts show what the one before did."""
        of = (*self.shown.values(), self.earlier, self.more)
        known: list[_Drawn] = self.view.cache.setdefault("drawn", [])
        for drawn in known:
            if drawn.bridge == self.bridge and all(map(operator.is_, drawn.of, of)):
                return drawn
        rows = self._rows()
        tokens = self._block_tokens(rows) + (self._tagged_tokens() if self._is_chain else 0)
        drawn = _Drawn(of, self.bridge, rows, tokens)
        known.append(drawn)
        del known[:-_KEPT]
        return drawn

    @property
    def plain(self) -> str:
        """The block in a plain prompt, where background has the heading of its document."""
        rows = self._rows()
        at = rows.index(BACKGROUND_HEADER) if BACKGROUND_HEADER in rows else len(rows)
        rows[at : at + 1] = [f"{BACKGROUND} {QUOTED_NOTE}"] if at < len(rows) else []
        return block(MEMORY, rows, self.view.chat, self.view.key) if rows else ""

    @property
    def tagged(self) -> str:
        """In a chain, the synthetic message that stands for what was folded; empty elsewhere."""
        rows = self._tagged_rows() if self._is_chain else []
        if not rows:
            return ""
        return f"{DEPTH_TAG.format(self.view.depth)}\n{block(MEMORY, rows, self.view.chat, self.view.key)}"

    def tokens_of(self, rows: Iterable[str]) -> int:
        """Tokens of lines of text: they do not join across a line break."""
        cache = self.view.cache
        total = 0
        for row in rows:
            tokens = cache.get(row)
            if tokens is None:
                tokens = cache[row] = count(f"{row}\n")
            total += tokens
        return total

    def _block_tokens(self, rows: Sequence[str]) -> int:
        return FRAME + self.tokens_of(rows) if rows else 0

    def _tagged_tokens(self) -> int:
        tag = count_cached(f"{DEPTH_TAG.format(self.view.depth)}\n")
        rows = self._tagged_rows()
        return FRAME + tag + self.tokens_of(rows) if rows else 0

    @property
    def _is_chain(self) -> bool:
        return self.view.policy.name == "chain" and self.view.depth >= 0

    def _tagged_rows(self) -> list[str]:
        summary = [line for line in self.shown["summary"] if not line.wish]
        return [BACKGROUND_HEADER, *(_under_headings(summary) or [NOTHING])]

    def _rows(self) -> list[str]:
        wishes = [*map(bullet, self.wishes)]
        parts: list[str] = []
        for names, label in _TOGETHER if self.view.policy.memory_share else LABELS.items():
            lines = [line for name in names.split() for line in self.shown[name] if not line.wish]
            if not lines or (names == "summary" and self._is_chain):
                continue
            parts += [label] if label and (names != "summary" or parts) else []
            parts += map(bullet, lines) if names == "further" else _under_headings(lines)
        if self.view.more and (parts or wishes):
            parts.append(AND_MORE.format(self.view.more))
        if self.earlier:
            parts += [EARLIER_LABEL, *map(quoted, self.earlier)]
        if self.bridge:
            parts += [self.bridge, *(bullet(line) for line in self.shown["bridge"] if not line.wish)]
        parts += self.more
        return [*([WISHES_HEADER, *wishes] if wishes else ()), *([BACKGROUND_HEADER, *parts] if parts else ())]


AND_MORE = "- and {} more that the user stated"
EARLIER_LABEL = "The messages before, word for word:"
FRAME = _OVERHEAD + count_cached(f"{opening(MEMORY)}\n") + count_cached(closing(MEMORY))
"""Tokens of a block around its lines."""
RECALL_FRAME = _OVERHEAD + count_cached(f"{opening(RECALLED)}\n") + count_cached(closing(RECALLED))


def _under_headings(lines: Sequence[Line]) -> list[str]:
    return [row for section, group in by_section(lines) for row in (f"## {HEADINGS[section]}", *map(bullet, group))]


def _by_part(view: View) -> dict[str, list[Line]]:
    layers: dict[str, list[Line]] = {FACT: [], LONG: [], LEAF: [], FURTHER: []}
    for line in (*view.lines, *view.known):
        if line.id not in view.outdated:
            layers.get(line.layer, layers[LONG]).append(line)  # a damaged row is still shown
    found = {
        "pins": list(view.pins), "facts": layers[FACT], "summary": layers[LONG], "leaves": layers[LEAF],
        "further": layers[FURTHER], "bridge": [],
    }  # fmt: skip
    for name, cap in (("leaves", view.policy.leaf_cap), ("facts", view.policy.facts_cap)):
        if not cap:
            found["summary"] = [*found[name], *found["summary"]]
            found[name] = []
    return found


def memory_tokens(view: View) -> int:
    """Tokens that memory adds to a request where nothing is trimmed and no budget is to be filled."""
    parts = Parts.of(view)
    parts.shown["further"] = NO_LINES
    return parts.tokens


def recalled_block(rows: Sequence[str], view: View) -> str:
    """The block before the question."""
    return block(RECALLED, rows, view.chat, view.key)


def row_tokens(rows: Iterable[str]) -> int:
    """Tokens of lines of text that are not asked for again."""
    return sum(count_cached(f"{row}\n") for row in rows)
