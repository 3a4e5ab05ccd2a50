"""What a memory holds of a generated chat: planted items kept, reversals, closed items, filler, inventions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.retention_chats import Planted, Script
from bench.retention_dates import dates_in, dates_meant
from bench.retention_phrasings import even, holds
from infold import MemoryState
from infold.items import PINNED, Item, block_tokens

_DIGITS = re.compile(r"\S*\d\S*")
_NAME = re.compile(r"(?<=[^\s.!?:;…•(\"“] )[A-Z][\w'’-]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})|(?<=\d) (?=%)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_EDGES = " .,;:!?()[]{}\"“”«»'’…–—-*`"
_POSSESSIVE = re.compile(r"(?:'s)+$")
_SPEAKERS = frozenset(["user", "assistant"])


@dataclass(slots=True)
class Measured:
    """Counts at one moment of one chat, and what went wrong in words."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    kept: set[Planted] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Line:
    item: Item
    text: str
    """Evened out."""


def lines_of(memory: MemoryState) -> list[Line]:
    return [Line(item, even(item.text)) for item in memory.items if item.section != PINNED]


def kept_in(lines: Sequence[Line], planted: Planted) -> bool:
    """Whether one line holds all the values of an item."""
    return any(all(holds(line.text, value) for value in planted.keep) for line in lines)


def measure(script: Script, memory: MemoryState, fates: dict[Planted, str] | None = None) -> Measured:
    """Judge a memory. `fates` says what became of each item before, and asks for the words of what is wrong."""
    found = Measured()
    lines = lines_of(memory)
    told = found.wrong if fates is not None else None
    folded = [p for p in script.planted if p.at <= memory.cursor]
    for p in folded:
        if not p.closing and not 0 < p.ends <= memory.cursor:
            found.counts[f"live {p.kind}"] += 1
            if kept_in(lines, p):
                found.counts[f"kept {p.kind}"] += 1
                found.kept.add(p)
            elif told is not None and fates is not None:
                told.append(
                    _row(f"MISS {p.kind}", p.say, ", ".join(p.keep), fates.get(p, "never kept"), _place(script, p))
                )
    _reversals(script, folded, lines, found, told)
    _closed(script, folded, lines, memory.cursor, found, told)
    _lines(script, lines, found, told)
    pins = {item.text for item in memory.pins}
    found.counts["pins"] += len(script.pins)
    found.counts["pinned"] += sum(pin in pins for pin in script.pins)
    found.counts["lines"] += len(lines)
    found.counts["tokens"] += block_tokens([line.item for line in lines])
    found.counts["chats"] += 1
    return found


def _reversals(
    script: Script,
    folded: Sequence[Planted],
    lines: Sequence[Line],
    found: Measured,
    told: list[str] | None,
) -> None:
    chains: dict[str, list[Planted]] = {}
    for p in folded:
        if p.kind == "decision":
            chains.setdefault(p.group, []).append(p)
    for group, chain in chains.items():
        *old, new = sorted(chain, key=lambda p: p.at)
        if not old:
            continue
        found.counts["overturned"] += 1
        stale = [line for line in lines if any(holds(line.text, value) for p in old for value in p.keep)]
        right = kept_in(lines, new)
        if right and not stale:
            found.counts["right"] += 1
        elif told is not None:
            was = " → ".join(", ".join(p.keep) for p in (*old, new))
            shown = "".join(f" [{line.item.section}: {line.item.text}]" for line in stale) or " –"
            state = "newest kept" if right else "newest missing"
            told.append(
                _row("REVERSAL", group, was, f"{state}, old in{shown}", f"said: {new.say}", _place(script, new))
            )


def _closed(
    script: Script,
    folded: Sequence[Planted],
    lines: Sequence[Line],
    cursor: int,
    found: Measured,
    told: list[str] | None,
) -> None:
    said = {p.at: p.say for p in script.planted}
    for p in folded:
        if p.kind not in ("commitment", "question") or not 0 < p.ends <= cursor:
            continue
        found.counts[f"closed {p.kind}"] += 1
        left = [line for line in lines if line.item.section == "open" and any(holds(line.text, v) for v in p.keep)]
        if not left:
            found.counts[f"gone {p.kind}"] += 1
        elif told is not None:
            shown = " / ".join(line.item.text for line in left)
            told.append(
                _row(f"UNCLOSED {p.kind}", shown, f"said: {p.say}", f"closed: {said[p.ends]}", _place(script, p))
            )


def _lines(script: Script, lines: Sequence[Line], found: Measured, told: list[str] | None) -> None:
    values = {value for p in script.planted for value in p.keep}
    closings = {p.say for p in script.planted if p.closing}
    for line in lines:
        sources = [str(script.messages[seq - 1]["content"] or "") for seq in line.item.sources]
        if not any(holds(line.text, value) for value in values):
            sentence = nearest(line.text, sources)
            # What closes an item need not repeat its key, and is no filler.
            if not any(sentence in say or say in sentence for say in closings if sentence):
                found.counts["leaked"] += 1
                found.counts["leaked_tokens"] += line.item.tokens
                if told is not None:
                    told.append(_row(f"FILLER {line.item.section}", line.item.text, f"from: {sentence}", script.name))
        times = [script.times[seq - 1] for seq in line.item.sources]
        for token in invented(line.item.text, sources, times):
            found.counts["invented"] += 1
            if told is not None:
                told.append(_row(f"INVENTED {token}", line.item.text, f"from: {' // '.join(sources)}", script.name))


def invented(text: str, sources: Sequence[str], times: Sequence[int]) -> list[str]:
    """Figures and names of a line that its sources do not have."""
    text, source = _plain(text), _plain("\n".join(sources))
    words = {token.strip(_EDGES) for token in source.casefold().split()}
    meant = {date for said, time in zip(sources, times, strict=True) for date in dates_meant(said, time)}
    right = " ".join(shown for shown, days in dates_in(text) if days & meant).casefold()
    low = source.casefold()
    found: list[str] = []
    for token in (_POSSESSIVE.sub("", match[0].strip(_EDGES)) for match in _DIGITS.finditer(text)):
        key = token.casefold()
        if key in words or re.search(rf"(?<![\w]){re.escape(key)}(?![\w])", low):
            continue
        if key not in right.split():
            found.append(token)
    for match in _NAME.finditer(text):
        name = _POSSESSIVE.sub("", match[0].casefold())
        if name not in _SPEAKERS and name not in low and name not in right.split():
            found.append(match[0])
    return found


def nearest(evened: str, sources: Sequence[str]) -> str:
    """The sentence of the sources that shares most words with a line."""
    mine = {word.strip(_EDGES) for word in evened.split()}
    sentences = [part.strip() for source in sources for part in _SENTENCE.split(source) if part.strip()]

    def shared(sentence: str) -> float:
        theirs = {word.strip(_EDGES) for word in even(sentence).split()}
        return len(mine & theirs) / (len(theirs) + 3)

    return max(sentences, key=shared, default="")


def _plain(text: str) -> str:
    return _THOUSANDS.sub("", text.replace("’", "'"))


def _row(*cells: str) -> str:
    return " | ".join(" ".join(cell.split()) for cell in cells)


def _place(script: Script, planted: Planted) -> str:
    return f"{script.name} #{planted.at}"
