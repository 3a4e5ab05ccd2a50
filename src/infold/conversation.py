"""Summarizing a slice of a conversation on its own, as the summary chain's document describes it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from infold import formats
from infold.authors import Author, ModelAuthor
from infold.ledger.rows import Call
from infold.lines.line import Line, line_tokens
from infold.memory import new_id
from infold.messages import Message, participants
from infold.models.caller import Caller
from infold.models.errors import TransportError
from infold.models.spec import Model, from_environment, models, preferred
from infold.presets import SummarizationConfig
from infold.records import SummaryRecord, action_item, summary_record
from infold.tokens import message_tokens
from infold.writing import Answers, Job, Log, NobodyLeftError, Writer


@dataclass(frozen=True, slots=True)
class SummarizationInput:
    """What to summarize, and with what."""

    messages: Sequence[Message | Mapping[str, Any]]
    """The slice to compress."""
    model: str | Model | Sequence[str | Model] | None = None
    """The models to ask; the config's preference comes first, the environment's last."""
    config: SummarizationConfig = field(default_factory=SummarizationConfig)
    depth: int = 0
    parent: SummaryRecord | None = None
    """The record before, whose summary is compressed along."""


@dataclass(frozen=True, slots=True)
class SummarizeResult:
    """Either a record, or why there is none and whether trying again may help."""

    record: SummaryRecord | None = None
    error: Exception | None = None
    retryable: bool = False
    calls: tuple[Call, ...] = ()
    """What was asked of models, and what it took."""

    @property
    def ok(self) -> bool:
        return self.record is not None


async def summarize_conversation(input: SummarizationInput) -> SummarizeResult:
    """Summarize messages into a record with a model. Never raises for what a model does."""
    return await asyncio.to_thread(_summarize, input)


def _summarize(input: SummarizationInput) -> SummarizeResult:
    chosen = models(input.model) or from_environment("chain")
    chosen = preferred(input.config.summarizer_model_preference, chosen)
    callers = [Caller(model, _now) for model in chosen]
    try:
        return _written(input, [ModelAuthor(caller) for caller in callers])
    finally:
        for caller in callers:
            caller.close()


def _written(input: SummarizationInput, authors: Sequence[Author]) -> SummarizeResult:
    messages = _numbered(input.messages)
    log = Log()
    if not authors:
        return SummarizeResult(error=NobodyLeftError("name a model: SummarizationInput(messages, model=…)"))
    policy = input.config.to_policy()
    job = Job(_known(input.parent), (), messages, policy, 1, input.depth)
    if not job.asks:
        return SummarizeResult(error=ValueError("there is nothing to summarize"))
    try:
        written = Writer("", authors, Answers(), lambda: None).write(job, log)
    except Exception as error:  # the result says what went wrong
        return SummarizeResult(error=error, retryable=isinstance(error, TransportError), calls=tuple(log.calls))
    if written.failure is not None:
        failed = written.failure
        return SummarizeResult(error=failed, retryable=isinstance(failed, TransportError), calls=tuple(log.calls))
    record = summary_record(
        id=new_id(),
        timestamp=_now(),
        depth=input.depth,
        parent_id=input.parent.id if input.parent else None,
        lines=written.lines,
        participants=participants(messages),
        message_ids=[message.id for message in messages],
        tokens=sum(line.tokens for line in written.lines),
        narrative=written.narrative,
    )
    return SummarizeResult(record, calls=tuple(log.calls))


def _numbered(given: Sequence[Message | Mapping[str, Any]]) -> tuple[Message, ...]:
    """Messages with positions, counts and ids of their own where they have none."""
    parsed = [one for value in given for one in ([value] if isinstance(value, Message) else formats.parse(value))]
    return tuple(
        replace(message, seq=at, id=message.id or str(at), tokens=message.tokens or message_tokens(message))
        for at, message in enumerate(parsed, 1)
    )


def _known(parent: SummaryRecord | None) -> tuple[Line, ...]:
    """The lines of the record before, as memory."""
    if parent is None:
        return ()
    context = parent.context
    tasks = {item.task for item in context.action_items}
    lines: dict[str, str] = {}
    for text in parent.key_points:
        open_ = text in context.unresolved or action_item(text).task in tasks
        decided, named = text in context.decisions, text in context.domain_entities
        lines[text] = "open" if open_ else "decisions" if decided else "artifacts" if named else "facts"
    for section, texts in (
        ("decisions", context.decisions),
        ("open", context.unresolved),
        ("artifacts", context.domain_entities),
    ):
        lines |= {text: section for text in texts if text not in lines}
    return tuple(
        Line(f"0.{at}", section, text, (), tokens=line_tokens(text))
        for at, (text, section) in enumerate(lines.items(), 1)
    )


def _now() -> int:
    return time.time_ns() // 1_000_000
