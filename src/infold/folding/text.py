"""Summaries as text: the documented function, checking what a summarizer returns, and finding its sources. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from infold.folding.likeness import words
from infold.lines.kinds import PINNED
from infold.lines.line import Line, line_tokens, normal
from infold.lines.merging import fold_quotations
from infold.lines.rendering import block_tokens, parse, render
from infold.messages import Message
from infold.messages import parse as parse_message
from infold.presets import ROLLING
from infold.quoting.history import read_all

_MOST_SOURCES = 3


def summarize_memory(current_memory_summary: str, messages_to_summarize: Sequence[Message | Mapping[str, Any]]) -> str:
    """Rewrite a memory summary so that it covers some messages, without a model.

    The result is the whole new summary: headings and bullets, deduplicated, the latest explicit decision winning. Prose is kept
    sentence by sentence.
    """
    known = [
        Line(f"0.{at}", section, text, (), tokens=line_tokens(text))
        for at, (section, text) in enumerate(parse(current_memory_summary))
    ]
    given = [m if isinstance(m, Message) else parse_message(m) for m in messages_to_summarize]
    messages = [replace(message, seq=at) for at, message in enumerate(given, 1)]
    found = [one for read in read_all(messages, ()) for one in read]
    pinned = [line for line in known if line.section == PINNED]  # not the fold's to touch
    rest = [line for line in known if line.section != PINNED]
    room = ROLLING.with_values({"summary_cap": max(16, ROLLING.summary_cap - block_tokens(pinned))})
    return render([*pinned, *fold_quotations(rest, found, room, 1).lines])


def check_summary(answer: object) -> str:
    """A summarizer's answer if it can be memory at all; else ValueError."""
    if not isinstance(answer, str):
        raise ValueError(f"the summarizer returned {type(answer).__name__}, not text")
    try:
        answer.encode()
    except UnicodeEncodeError:
        raise ValueError("the summary is not valid Unicode") from None
    if "\0" in answer:
        raise ValueError("the summary holds a NUL character")
    if not any(normal(line.text) for line in written(answer)):
        raise ValueError("the summary is empty")
    return answer


def written(answer: str) -> list[Line]:
    """The lines of a text that a summarizer wrote; pins are not its to write."""
    return [Line("", section, text, ()) for section, text in parse(answer) if section != PINNED]


def cite(found: Sequence[Line], messages: Sequence[Message], memory: Sequence[Line]) -> list[Line]:
    """Lines, each with the messages (or the earlier line's sources) it shares most words with."""
    said = [(message.seq, words(message.text)) for message in messages]
    lines: list[Line] = []
    for line in found:
        mine = words(line.text)
        scores = [(len(mine & theirs), seq) for seq, theirs in said]
        best = max((score for score, _ in scores), default=0)
        near = [seq for score, seq in sorted(scores, key=lambda s: (-s[0], s[1])) if score and score * 2 > best]
        sources = tuple(sorted(near[:_MOST_SOURCES]))
        older = max(memory, key=lambda item: (len(mine & words(item.text)), item.id), default=None)
        if older is not None and len(mine & words(older.text)) > best:
            sources = older.sources
        if not sources:  # nothing in common with anything: all that was read
            sources = tuple(seq for seq, _ in said)[:50]
        lines.append(replace(line, sources=sources))
    return lines
