"""Summaries as text: the documented function, checking what a summarizer returns, and finding its sources. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from infold.folding.across import extract_all
from infold.folding.likeness import words
from infold.folding.merge import fold_extractive
from infold.folding.telling import MAX_RUN
from infold.items import PINNED, Candidate, Item, block_tokens, line_tokens, normal, parse, render
from infold.messages import Message
from infold.messages import parse as parse_message
from infold.presets import ROLLING

_MOST_SOURCES = 3


def summarize_memory(current_memory_summary: str, messages_to_summarize: Sequence[Message]) -> str:
    """Rewrite a memory summary so that it covers some messages, without a model.

    The result is the whole new summary: headings and bullets, deduplicated, the latest explicit decision winning.
    """
    known = [
        Item(f"0.{at}", line.section, line.text, (), tokens=line_tokens(line.text))
        for at, line in enumerate(parse(current_memory_summary))
    ]
    messages = [m if isinstance(m, Message) else parse_message(m) for m in messages_to_summarize]
    found = extract_all(messages)
    pinned = [item for item in known if item.section == PINNED]  # not the fold's to touch
    rest = [item for item in known if item.section != PINNED]
    room = ROLLING.with_values({"summary_cap": max(16, ROLLING.summary_cap - block_tokens(pinned))})
    return render([*pinned, *fold_extractive(rest, found, room, 1).items])


def check_summary(answer: object, messages: Sequence[Message] = ()) -> str:
    """A summarizer's answer if it can be memory at all, less lines that copy messages; ValueError if nothing is left."""
    if not isinstance(answer, str):
        raise ValueError(f"the summarizer returned {type(answer).__name__}, not text")
    try:
        answer.encode()
    except UnicodeEncodeError:
        raise ValueError("the summary is not valid Unicode") from None
    if "\0" in answer:
        raise ValueError("the summary holds a NUL character")
    lines = [line for line in parse(answer) if line.section != PINNED]  # pins are not the summarizer's to write
    if not any(normal(line.text) for line in lines):
        raise ValueError("the summary is empty")
    said = {run for message in messages for run in _runs(message.text)}
    copied = [line for line in lines if not said.isdisjoint(_runs(line.text))]
    if len(copied) == len(lines):
        raise ValueError("the summary is a copy of the messages")
    if not copied:
        return answer
    kept = [line for line in lines if line not in copied]
    return render([Item(str(at), line.section, line.text, ()) for at, line in enumerate(kept)])


def _runs(text: str) -> list[tuple[str, ...]]:
    """Every run of MAX_RUN + 1 words, half of them different: what memory may not repeat."""
    said = [word.strip(".,;:!?\"'()*") for word in text.casefold().split()]
    runs = (tuple(said[at : at + MAX_RUN + 1]) for at in range(len(said) - MAX_RUN))
    return [run for run in runs if len(set(run)) > MAX_RUN // 2]


def read_summary(answer: str, messages: Sequence[Message], memory: Sequence[Item]) -> list[Candidate]:
    """The lines of a summary, each with its sources."""
    return cite(parse(answer), messages, memory)


def cite(found: Sequence[Candidate], messages: Sequence[Message], memory: Sequence[Item]) -> list[Candidate]:
    """Lines, each with the messages (or the earlier item's sources) it shares most words with."""
    said = [(message.seq, words(message.text)) for message in messages]
    lines: list[Candidate] = []
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
        lines.append(Candidate(line.section, line.text, sources))
    return lines
