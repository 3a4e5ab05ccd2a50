"""As much of a ranking as fits a budget of tokens, in the order it was said. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from infold.recall.rank import Ranked

Numbers = NDArray[np.float64]
THRIFT = 0.5
"""How much a long passage must be better than a short one: 0 not at all, 1 in proportion to its tokens."""
TOGETHER = 0.2
"""What a passage gains when its neighbour is shown: an answer reads better after its question."""
SPREAD = 0.03
"""What it loses for each other one of its session that is shown: one long talk must not fill everything."""
SURE = 2
"""So many of the best are taken first, whatever they cost, if they fit."""
_AHEAD = 1e6
_PASSES = 3
_FEWEST, _SHORTEST = 40, 8  # what is looked at: no more lines than would fit if all were short
_DAY = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Shown:
    """A message, or the passages of it that matter."""

    seq: int
    speaker: str
    at: int
    start: int
    end: int
    text: str
    whole: bool
    score: float


def about(text: str) -> int:
    """Tokens of a text, roughly: a quarter of its characters."""
    return -(-len(text) // 4)


def pack(
    ranked: Sequence[Ranked],
    texts: Mapping[int, str],
    budget: int,
    count: Callable[[str], int] = about,
    size: Callable[[Ranked], int] | None = None,
) -> list[Shown]:
    """The messages to show within a budget, oldest first; `texts` holds the ranked messages by `seq`.

    Never more than the budget, as `count` counts what `render` writes. A text that repeats another is shown once. `size`
    tells what a line takes about, where that is known without counting.
    """
    fresh = _unlike(ranked[: max(_FEWEST, budget // _SHORTEST)], texts)
    if not fresh or budget <= 0:
        return []
    sizes = map(size, fresh) if size else (count(_alone(item, texts) + "\n") for item in fresh)
    cost = np.fromiter(sizes, np.float64, len(fresh))
    value = np.array([item.score for item in fresh]) - THRIFT * np.log(cost + 1)
    value[:SURE] += _AHEAD
    places = {item.place: at for at, item in enumerate(fresh)}
    header = count("2000-01-01:\n")
    chosen: list[int] = []
    room = float(budget)
    for _ in range(_PASSES):  # lines counted one by one take more than together: fill what is left
        added = _fill(fresh, cost, value, places, chosen, room, header)
        if not added:
            break
        chosen += added
        while chosen and (taken := count(render(_joined(fresh, chosen, texts)))) > budget:
            chosen.pop()
        room = float(budget - taken)
    return _joined(fresh, chosen, texts)


def render(shown: Sequence[Shown]) -> str:
    """What is shown as text: a line a message, under the day it was said."""
    lines: list[str] = []
    today = ""
    for item in shown:
        day = _day(item.at)
        if day != today:
            lines.append(f"{day}:" if day else "undated:")
            today = day
        lines.append(_line(item))
    return "\n".join(lines)


def _unlike(ranked: Sequence[Ranked], texts: Mapping[int, str]) -> list[Ranked]:
    seen: set[tuple[str, str]] = set()
    kept: list[Ranked] = []
    for item in ranked:
        text = texts.get(item.seq)
        if text is None:  # forgotten meanwhile
            continue
        key = (item.speaker, text[item.start : item.end].strip())
        if key[1] and key not in seen:
            seen.add(key)
            kept.append(item)
    return kept


def _fill(
    ranked: list[Ranked],
    cost: Numbers,
    value: Numbers,
    places: Mapping[int, int],
    chosen: list[int],
    room: float,
    header: int,
) -> list[int]:
    """What to add to the chosen ones, most valuable first."""
    value = np.where(cost > room, -math.inf, value)
    days = {ranked[at].at // _DAY for at in chosen}
    sessions = np.array([item.session for item in ranked])
    added: list[int] = []

    def take(at: int) -> None:
        value[at] = -math.inf
        value[sessions == ranked[at].session] -= SPREAD
        for place in (ranked[at].place - 1, ranked[at].place + 1):
            near = places.get(place)
            if near is not None and ranked[near].session == ranked[at].session:
                value[near] += TOGETHER

    for at in chosen:
        take(at)
    while True:
        at = int(np.argmax(value))  # the first of equals: the better ranked
        if value[at] == -math.inf:
            return added
        day = ranked[at].at // _DAY
        price = cost[at] + (0 if day in days else header)
        if price > room:
            value[at] = -math.inf
            continue
        room -= price
        days.add(day)
        added.append(at)
        take(at)
        value[cost > room] = -math.inf


def _joined(ranked: list[Ranked], chosen: Sequence[int], texts: Mapping[int, str]) -> list[Shown]:
    """The chosen ones in order, passages that follow each other as one."""
    groups: list[list[Ranked]] = []
    for item in sorted((ranked[at] for at in chosen), key=lambda item: item.place):
        last = groups[-1][-1] if groups else None
        if last and last.seq == item.seq and last.end == item.start:
            groups[-1].append(item)
        else:
            groups.append([item])
    return [_shown(group, texts) for group in groups]


def _shown(group: Sequence[Ranked], texts: Mapping[int, str]) -> Shown:
    first = group[0]
    text = texts[first.seq]
    start, end = first.start, group[-1].end
    return Shown(
        seq=first.seq,
        speaker=first.speaker,
        at=first.at,
        start=start,
        end=end,
        text=text[start:end],
        whole=start == 0 and end >= len(text),
        score=max(item.score for item in group),
    )


def _alone(item: Ranked, texts: Mapping[int, str]) -> str:
    text = texts[item.seq]
    part = text[item.start : item.end]
    return _written(item.seq, item.speaker, part, len(part) == len(text))


def _line(item: Shown) -> str:
    return _written(item.seq, item.speaker, item.text, item.whole)


def _written(seq: int, speaker: str, text: str, whole: bool) -> str:
    """A line with its source: where in the chat it was said, and by whom."""
    text = text if whole else f"… {text.strip()} …"
    return f"#{seq} {speaker}: {text}" if speaker else f"#{seq} {text}"


def _day(at: int) -> str:
    try:
        return datetime.fromtimestamp(at / 1000, UTC).date().isoformat() if at else ""
    except (OverflowError, ValueError, OSError):
        return ""
