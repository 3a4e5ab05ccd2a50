"""What a chat tells about itself: its memory, its records, how folding went."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from infold.context.view import Context
from infold.ledger import fold_rows, journal, store
from infold.ledger.query import Connection
from infold.ledger.rows import Call
from infold.lines.line import FACT, FURTHER, LEAF, LONG, Line
from infold.lines.rendering import render
from infold.messages import Message, participants
from infold.records import SummaryRecord, summary_record
from infold.state import State

log = logging.getLogger("infold")


@dataclass(frozen=True, slots=True)
class MemoryState:
    """Everything a chat remembers."""

    summary: str
    """All of memory, rendered as headings and bullets."""
    pins: tuple[Line, ...]
    facts: tuple[Line, ...]
    long: tuple[Line, ...]
    leaves: tuple[Line, ...]
    further: tuple[Line, ...]
    """Quotations that no summary holds; contexts show them where they have room."""
    cursor: int
    """Everything up to this position is folded."""
    last_summarized_message_id: str | None
    recent_messages: tuple[Message, ...]
    """The messages that are not folded, oldest first."""

    @property
    def items(self) -> tuple[Line, ...]:
        """Every line of the summary."""
        return (*self.pins, *self.facts, *self.long, *self.leaves)


@dataclass(frozen=True, slots=True)
class LastSummarization:
    """The chat right before its newest fold."""

    depth: int
    message_count: int
    token_ratio: float


@dataclass(frozen=True, slots=True)
class FoldStats:
    """How folding went so far."""

    folds: int
    failures: int
    success_rate: float
    mean_latency: float
    """Milliseconds."""


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What one model took."""

    model: str
    calls: int
    failed: int
    """Calls that gave no answer, or one that the gate rejected."""
    tokens_in: int
    tokens_out: int
    cached: int
    """Of tokens_in, what the provider had in its cache."""
    cost: float | None
    """US dollars; None where a price is not known."""
    duration: int
    """Milliseconds."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What folding with models took, by model, and call by call."""

    models: tuple[ModelUsage, ...]
    calls: tuple[Call, ...]

    @property
    def cost(self) -> float | None:
        """US dollars in all; None where a price is not known."""
        costs = [model.cost for model in self.models]
        return None if None in costs else sum(cost for cost in costs if cost is not None)


def usage(calls: Sequence[Call]) -> Usage:
    """Calls summed up by model, in the order they first appear."""
    by_model: dict[str, list[Call]] = {}
    for call in calls:
        by_model.setdefault(call.model, []).append(call)
    return Usage(tuple(_usage_of(model, made) for model, made in by_model.items()), tuple(calls))


def _usage_of(model: str, made: Sequence[Call]) -> ModelUsage:
    paid = [call.cost for call in made if call.outcome in ("ok", "rejected")]
    return ModelUsage(
        model,
        len(made),
        sum(call.outcome != "ok" for call in made),
        sum(call.tokens_in for call in made),
        sum(call.tokens_out for call in made),
        sum(call.cached for call in made),
        None if None in paid else sum(cost for cost in paid if cost is not None) / 1e9,
        sum(call.duration for call in made),
    )


def memory_state(connection: Connection, state: State) -> MemoryState:
    """The whole structured state of a chat."""
    cursor = state.row.cursor
    last = store.message_ids(connection, state.row.key, cursor, cursor)
    layers = (FACT, LONG, LEAF, FURTHER)
    facts, long, leaves, further = (tuple(line for line in state.lines if line.layer == name) for name in layers)
    return MemoryState(
        summary=render((*state.pins, *facts, *long, *leaves)),
        pins=state.pins,
        facts=facts,
        long=long,
        leaves=leaves,
        further=further,
        cursor=cursor,
        last_summarized_message_id=last[0] if last else None,
        recent_messages=tuple(state.messages),
    )


def records(connection: Connection, state: State) -> list[SummaryRecord]:
    """The active records of a chat, oldest first."""
    key, leaves = state.row.key, bool(state.policy.leaf_cap)
    found: list[SummaryRecord] = []
    for fold in fold_rows.all_folds(connection, key):
        if fold.superseded_by is not None or fold.kind == "rollup":
            continue
        lines = tuple(line for line in fold_rows.lines_at(connection, key, fold.n) if line.layer != FURTHER)
        if leaves:
            lines = tuple(line for line in lines if line.fold == fold.n)
        first, last = fold.first_seq or 1, fold.last_seq or 0
        messages = store.messages_between(connection, key, first, last)
        found.append(
            summary_record(
                id=fold.id,
                timestamp=fold.created_at,
                depth=fold.depth,
                parent_id=fold.parent,
                lines=lines,
                participants=participants(messages),
                message_ids=[message.id for message in messages],
                tokens=fold.tokens,
                narrative=fold.narrative,
            )
        )
    return found


def last_summarization(state: State) -> LastSummarization | None:
    """The chat right before its newest record."""
    if not state.records:
        return None
    newest = state.records[0]
    return LastSummarization(newest.depth, newest.active, newest.request_tokens / newest.context_window)


def fold_stats(connection: Connection, state: State) -> FoldStats:
    """Success rate and mean latency of a chat's folds."""
    folds = fold_rows.all_folds(connection, state.row.key)
    failures = sum(1 for event in journal.all_events(connection, state.row) if event.type == "summarization_failed")
    tried = len(folds) + failures
    mean = sum(fold.duration for fold in folds) / len(folds) if folds else 0.0
    return FoldStats(len(folds), failures, len(folds) / tried if tried else 1.0, mean)


def log_trimmed(chat: str, context: Context) -> None:
    """A debug line where a context had to leave something out: messages of the tail and lines of memory apart."""
    left_out = [piece for piece in context.explain().left_out if piece.reason.startswith("budget")]
    messages = sum(piece.layer == "recent" for piece in left_out)
    lines = sum(piece.layer in _MEMORY for piece in left_out)
    if left_out:
        fields = {
            "chat": chat,
            "budget": context.budget,
            "tokens": context.tokens,
            "left_out_messages": messages,
            "left_out_lines": lines,
            "left_out_others": len(left_out) - messages - lines,
            "left_out_tokens": sum(piece.tokens for piece in left_out),
            "bridged": context.sources["bridged"],
        }
        log.debug(
            "context chat=%(chat)s budget=%(budget)d tokens=%(tokens)d left_out_messages=%(left_out_messages)d "
            "left_out_lines=%(left_out_lines)d left_out_others=%(left_out_others)d left_out_tokens=%(left_out_tokens)d "
            "bridged=%(bridged)d",
            fields,
            extra={"event": "context_trimmed", **fields},
        )


_MEMORY = ("facts", "summary", "leaves", "further")
