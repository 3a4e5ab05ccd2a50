"""Which stretches of long chats may answer a question, from what a database says of them. Pure.

The same first look that a long corpus gets in memory (`rank`), by stretches instead of sessions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infold.recall.query import Asked
from infold.recall.segment import Segment
from infold.recall.signals import span_weights

_MOST_WORDS = 12  # of a question: each is looked for in every passage
_NEAREST, _CLOSE = 3, 0.7  # words near in meaning to one of them: so many, and how near
STRETCH = 32
"""Passages that follow each other and are nominated together."""
_MARGIN = 2  # passages before and after a stretch that have a say in the ranking of its own
Stretch = tuple[int, int, int]
"""A chat, the first position of a block, and the number of a stretch in it."""
Row = tuple[int, int, int, int, int, float | None, float | None, float | None]
"""A stretch; which looks hold (bits), and in how many passages of it they hold together; and of how near these are to the
question the largest, the sum and the sum of squares."""


@dataclass(frozen=True, slots=True)
class Look:
    """Something that a passage has or has not."""

    kind: Literal["words", "speakers", "time", "months"]
    value: Any
    what: Literal["own", "near", "speaker", "time", "told"]
    weight: float = 1.0
    of: int = 0
    """Which word of the question, where it is one or near to one."""


def looks(asked: Asked) -> list[Look]:
    """What to look for in passages."""
    query, own = asked.query, asked.terms[:_MOST_WORDS]
    found = [Look("words", _token(number), "own", of=at) for at, number in enumerate(own)]
    for at in range(len(own)):
        near = [(weight, number) for weight, of, number in asked.others if of == at and weight >= _CLOSE][-_NEAREST:]
        if near:
            text = " | ".join(_token(number) for _, number in near)
            found.append(Look("words", text, "near", sum(weight for weight, _ in near) / len(near) / 2, at))
    if query.speakers:
        found.append(Look("speakers", sorted(query.speakers), "speaker"))
    for span in query.times.spans[:4]:
        for start, end, inside, told in span_weights(span):
            what: Literal["time", "told"] = "time" if inside else "told"
            found.append(Look("time", [start, end], what, inside or told))
    if query.times.months:
        months = sorted(query.times.months)
        found.append(Look("months", months, "time"))
        found.append(Look("months", [month % 12 + 1 for month in months], "told"))
    return found


def best(rows: Iterable[Row], looked: Sequence[Look], most: int) -> list[Stretch]:
    """The stretches that promise most; of equals the newer ones."""
    every = list(rows)
    if not every:
        return []
    chat, first, number, bits, count = (np.array([row[at] for row in every], np.int64) for at in range(5))
    words = 1 + max((look.of for look in looked if look.what == "own"), default=-1)
    own, near = np.zeros((words, len(every))), np.zeros((words, len(every)))
    plain, time, told = (np.zeros(len(every)) for _ in range(3))
    for bit, look in enumerate(looked):
        holds = (bits >> bit & 1).astype(np.float64) * look.weight
        match look.what:
            case "own":
                own[look.of] = holds
            case "near":
                near[look.of] = holds
            case "speaker":
                plain += holds
            case "time":
                time = np.maximum(time, holds)
            case "told":
                told = np.maximum(told, holds)
    size = int(count.sum())
    df = own @ count
    idf = np.log(1 + (size - df + 0.5) / (df + 0.5))
    share = idf / max(float(idf.sum()), 1e-9)
    total = 6 * (share @ np.maximum(own, near)) + _spread(every, size) + plain + time + told / 4
    stretches, of = np.unique(np.stack((chat, first, number), axis=1), axis=0, return_inverse=True)
    of = of.reshape(-1)
    value = np.full(len(stretches), -np.inf)
    np.maximum.at(value, of, total)
    together = np.zeros((words, len(stretches)))
    for at in range(words):
        np.maximum.at(together[at], of, own[at])
    value = np.round(value + 2 * (share @ together), 5)
    order = np.lexsort((-np.arange(len(stretches)), -value))
    then = np.zeros(len(stretches))
    np.maximum.at(then, of, time)
    timely = order[then[order] > 0][: most // 2]  # a time that is named says more than words: half is kept for it
    order = np.concatenate((timely, order[~np.isin(order, timely)]))[:most]
    return [(int(key), int(start), int(part)) for key, start, part in stretches[order]]


def cut(found: Segment, numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Where stretches of a block begin and end, with some passages around them; what touches is one."""
    edges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        start = max(0, number * STRETCH - _MARGIN)
        end = min(len(found.seq), (number + 1) * STRETCH + _MARGIN)
        if edges and start <= edges[-1][1]:
            edges[-1] = (edges[-1][0], end)
        elif start < end:
            edges.append((start, end))
    return edges


def _spread(rows: Sequence[Row], size: int) -> NDArray[np.float64]:
    """The largest nearness of each row, around the mean of all passages, in standard deviations."""
    known = [(row[5] or 0.0, row[6] or 0.0, row[7] or 0.0) for row in rows]
    largest, sums, squares = np.array(known, np.float64).T
    mean = float(sums.sum()) / size
    wide = max(float(squares.sum()) / size - mean * mean, 0.0) ** 0.5
    return np.asarray((largest - mean) / wide if wide > 1e-3 else largest * 0, np.float64)


def _token(number: int) -> str:
    return f"{number:08x}"
