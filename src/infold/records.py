"""SummaryRecord: one fold as the summary chain's document describes it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from infold.lines.line import Line
from infold.lines.rendering import render

MOST = 30
"""Most key points, and most entries of each array."""

_DUE = re.compile(r"\b(?:by|due(?: on)?|before|until)\s+(.{2,40})$", re.IGNORECASE)
_TOLD = re.compile(r" \((?:owner (?P<owner>[^,()]+))?(?:, )?(?:due (?P<due>[^()]+))?\)$")  # as models' answers are kept
_MINE = re.compile(r"^I(?:['’]ll)?\b")
_OWNER = re.compile(r"^([A-Z][\w'-]*(?: [A-Z][\w'-]*)?) (?:will|shall|has to|needs to|owes|promised)\b")


@dataclass(frozen=True, slots=True)
class ActionItem:
    """Something somebody has to do."""

    task: str
    owner: str | None = None
    due: str | None = None


@dataclass(frozen=True, slots=True)
class SummaryContext:
    """The structured facets of a summary."""

    participants: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    action_items: tuple[ActionItem, ...] = ()
    unresolved: tuple[str, ...] = ()
    domain_entities: tuple[str, ...] = ()
    raw: object = None


@dataclass(frozen=True, slots=True)
class SummaryRecord:
    """One link of the chain."""

    id: str
    timestamp: int
    """Milliseconds since 1970."""
    depth: int
    parent_id: str | None
    summary: str
    key_points: tuple[str, ...]
    context: SummaryContext
    original_message_ids: tuple[str, ...]
    """The messages this record newly covers."""
    token_estimate: int


def action_item(text: str, said_by: str | None = None) -> ActionItem:
    """Owner, task and due date of a line, as far as it says them; of a quotation with who said it."""
    told = _TOLD.search(text)
    if told and (told["owner"] or told["due"]):
        return ActionItem(text[: told.start()], told["owner"], told["due"])
    due, owner = _DUE.search(text), _OWNER.match(text)
    mine = said_by if _MINE.match(text) else None  # who says "I will" has to do it
    return ActionItem(text, mine or (owner[1] if owner else None), due[1].rstrip(" .") if due else None)


def _is_action(text: str) -> bool:
    return any(pattern.search(text) for pattern in (_MINE, _OWNER, _DUE, _TOLD))


def summary_record(
    *,
    id: str,
    timestamp: int,
    depth: int,
    parent_id: str | None,
    lines: Sequence[Line],
    participants: Sequence[str],
    message_ids: Sequence[str],
    tokens: int,
    narrative: str | None = None,
) -> SummaryRecord:
    """The record of a fold, from the memory it left behind."""

    def under(section: str) -> tuple[Line, ...]:
        return tuple(line for line in lines if line.section == section)[:MOST]

    def texts(section: str) -> tuple[str, ...]:
        return tuple(line.text for line in under(section))

    number = len(message_ids)
    nothing = f"{number} message{'s' * (number != 1)} folded; nothing in them was durable."
    open_items = under("open")
    return SummaryRecord(
        id,
        timestamp,
        depth,
        parent_id,
        narrative or render(lines) or nothing,
        tuple(line.text for line in lines)[:MOST],
        SummaryContext(
            participants=tuple(participants)[:MOST],
            decisions=texts("decisions"),
            action_items=tuple(
                action_item(line.text, line.said_by if line.quoted else None)
                for line in open_items
                if _is_action(line.text)
            ),
            unresolved=tuple(line.text for line in open_items if not _is_action(line.text)),
            domain_entities=texts("artifacts"),
        ),
        tuple(message_ids),
        tokens,
    )
