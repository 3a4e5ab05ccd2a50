"""As much of a ranking as fits a budget of tokens, in the order it was said. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from infold.context.escaping import escape
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

    Never more than the budget, as `measured` counts. A text that repeats another is shown once. `size` tells what a line
    takes about, where that is known without counting.
    """
    fresh = _unlike(ranked[: max(_FEWEST, budget // _SHORTEST)], texts)
    if not fresh or budget <= 0:
        return []
    sizes = map(size, fresh) if size else (count(_alone(item, texts) + "\n") for item in fresh)
    choice = _Choice(fresh, np.fromiter(sizes, np.float64, len(fresh)), count("2000-01-01:\n"))
    shown: list[Shown] = []
    room = float(budget)
    for _ in range(_PASSES):  # what lines take is known about: fill what is left
        if not choice.fill(room):
            break
        shown = _joined(fresh, choice.chosen, texts)
        while (taken := measured(shown, count)) > budget:
            choice.chosen.pop()
            shown = _joined(fresh, choice.chosen, texts)
        room = float(budget - taken)
    return shown


def measured(shown: Sequence[Shown], count: Callable[[str], int]) -> int:
    """What `lines_of` writes as `count` counts it, line by line: tokens do not join across a line break."""
    return sum(count(f"{line}\n") for line in lines_of(shown))


def lines_of(shown: Sequence[Shown]) -> list[str]:
    """What is shown: a line a message, under the day it was said."""
    lines: list[str] = []
    today: int | None = None
    for item in shown:
        day = item.at // _DAY if item.at else None
        if day != today:
            name = _day(item.at)
            lines.append(f"{name}:" if name else "undated:")
            today = day
        lines.append(written(item.seq, item.speaker, item.text, item.whole))
    return lines


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


class _Choice:
    """Which of the ranked ones to show, most valuable first."""

    def __init__(self, ranked: list[Ranked], cost: Numbers, header: int) -> None:
        self._ranked, self._cost, self._header = ranked, cost, header
        self.chosen: list[int] = []
        self._value = np.array([item.score for item in ranked]) - THRIFT * np.log(cost + 1)
        self._value[:SURE] += _AHEAD
        self._places = {item.place: at for at, item in enumerate(ranked)}
        session = np.array([item.session for item in ranked])
        self._session = {int(number): np.flatnonzero(session == number) for number in np.unique(session)}

    def fill(self, room: float) -> bool:
        """Choose more, as far as there is room; whether anything was."""
        cost, ranked, chosen = self._cost, self._ranked, self.chosen
        value = self._left()
        value[cost > room] = -math.inf
        if not chosen and cost.sum() + self._header * len({item.at // _DAY for item in ranked}) <= room:
            chosen.extend(np.argsort(-value, kind="stable").tolist())  # all of it fits
            return True
        days = {ranked[at].at // _DAY for at in chosen}
        before = len(chosen)
        while True:
            at = int(value.argmax())  # the first of equals: the better ranked
            if value[at] == -math.inf:
                return len(chosen) > before
            day = ranked[at].at // _DAY
            price = cost[at] + (0 if day in days else self._header)
            if price > room:
                value[cost > room] = value[at] = -math.inf
                continue
            room -= price
            days.add(day)
            chosen.append(at)
            value[self._session[ranked[at].session]] -= SPREAD
            self._take(at, value)

    def _left(self) -> Numbers:
        """What the others are worth beside the chosen ones."""
        value = self._value.copy()
        for session, number in Counter(self._ranked[at].session for at in self.chosen).items():
            value[self._session[session]] -= number * SPREAD
        for at in self.chosen:
            self._take(at, value)
        return value

    def _take(self, at: int, value: Numbers) -> None:
        value[at] = -math.inf
        one = self._ranked[at]
        for place in (one.place - 1, one.place + 1):
            near = self._places.get(place)
            if near is not None and self._ranked[near].session == one.session:
                value[near] += TOGETHER


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
    return written(item.seq, item.speaker, part, len(part) == len(text))


def written(seq: int, speaker: str, text: str, whole: bool = True) -> str:
    """A line with its source: where in the chat it was said, and by whom."""
    text = escape(text if whole else f"… {text.strip()} …")
    return f"> #{seq} {escape(speaker)}: {text}" if speaker else f"> #{seq} {text}"


def _day(at: int) -> str:
    try:
        return datetime.fromtimestamp(at / 1000, UTC).date().isoformat() if at else ""
    except (OverflowError, ValueError, OSError):
        return ""
