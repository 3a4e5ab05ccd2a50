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
STRETCH = 8
"""Passages that follow each other and are nominated together."""
_MARGIN = 2  # passages before and after a stretch that have a say in the ranking of its own
Stretch = tuple[int, int, int]
"""A chat, the first position of a block, and the number of a stretch in it."""
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Nominees:
    """What may answer a question."""

    stretches: list[Stretch]
    shares: dict[int, float]
    """Of the words of the question, by their numbers, in which part of all that was looked at they stand."""


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """What a database found, as columns: passages of a stretch that have the same."""

    chat: Integers
    first: Integers
    """Of their block."""
    number: Integers
    """Of their stretch."""
    bits: Integers
    """Which looks hold."""
    count: Integers
    near: NDArray[np.float64] | None = None
    """How near they are to the question: a row each of the largest, the sums and the sums of squares."""


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
    found = [Look("words", [number], "own", of=at) for at, number in enumerate(own)]
    found += [Look("words", numbers, "near", weight, at) for at, weight, numbers in near_words(asked)]
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


def best(found: Looked, looked: Sequence[Look], most: int) -> Nominees:
    """The stretches that promise most; of equals the newer ones."""
    rows = len(found.bits)
    if not rows:
        return Nominees([], {})
    words = 1 + max((look.of for look in looked if look.what == "own"), default=-1)
    own, near = np.zeros((words, rows)), np.zeros((words, rows))
    plain, time, told = (np.zeros(rows) for _ in range(3))
    for bit, look in enumerate(looked):
        holds = (found.bits >> bit & 1).astype(np.float64) * look.weight
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
    df, size = own @ found.count, int(found.count.sum())
    share = shares(df, size)
    total = 6 * (share @ np.maximum(own, near)) + _spread(found) + plain + time + told / 4
    stretches, of = _grouped(found)
    value = np.full(len(stretches), -np.inf)
    np.maximum.at(value, of, total)
    together = np.zeros((words, len(stretches)))
    for at in range(words):
        np.maximum.at(together[at], of, own[at])
    value = np.round(value + 2 * (share @ together), 5)
    order = np.lexsort((-np.arange(len(stretches)), -value))
    then = np.zeros(len(stretches))
    np.maximum.at(then, of, time)
    numbers = [look.value[0] for look in looked if look.what == "own"]
    return Nominees(
        [(int(key), int(start), int(part)) for key, start, part in stretches[chosen(order, then, most)]],
        {number: float(count) / size for number, count in zip(numbers, df, strict=True)},
    )


def near_words(asked: Asked) -> list[tuple[int, float, list[int]]]:
    """Words near in meaning to those of a question: which of these, what they weigh, and their numbers."""
    found: list[tuple[int, float, list[int]]] = []
    for at in range(len(asked.terms[:_MOST_WORDS])):
        near = [(weight, number) for weight, of, number in asked.others if of == at and weight >= _CLOSE][-_NEAREST:]
        if near:
            found.append((at, sum(weight for weight, _ in near) / len(near) / 2, [number for _, number in near]))
    return found


def shares(df: Floats, size: int) -> Floats:
    """What each word of a question counts, by how many of so many have it; together 1."""
    idf = np.log(1 + (np.maximum(size - df, 0) + 0.5) / (df + 0.5))
    return np.asarray(idf / max(float(idf.sum()), 1e-9), np.float64)


def chosen(order: Integers, then: NDArray[np.floating[Any]], most: int) -> Integers:
    """The first ones of an order. A time that is named says more than words: half is kept for what was said `then`."""
    timely = order[then[order] > 0][: most // 2]
    return np.concatenate((timely, order[~np.isin(order, timely)]))[:most]


def cut(found: Segment, numbers: Iterable[int], most: int) -> list[tuple[int, int]]:
    """Where stretches of a block begin and end, with some passages around them; what touches is one."""
    edges: list[tuple[int, int]] = []
    size = length(found, most)
    for number in sorted(numbers):
        start = max(0, number * size - _MARGIN)
        end = min(len(found.seq), (number + 1) * size + _MARGIN)
        if edges and start <= edges[-1][1]:
            edges[-1] = (edges[-1][0], end)
        elif start < end:
            edges.append((start, end))
    return edges


def _grouped(found: Looked) -> tuple[Integers, Integers]:
    """The stretches in order, and which of them each row is of."""
    columns = (found.chat, found.first, found.number)
    order = np.lexsort(columns[::-1])
    sorted_ = np.stack([column[order] for column in columns], axis=1)
    new = np.append(True, np.any(sorted_[1:] != sorted_[:-1], axis=1))
    of = np.empty(len(order), np.int64)
    of[order] = np.cumsum(new) - 1
    return sorted_[new], of


def _spread(found: Looked) -> Floats:
    """The largest nearness of each row, around the mean of all passages, in standard deviations."""
    if found.near is None:
        return np.zeros(len(found.bits))
    largest, sums, squares = found.near
    size = int(found.count.sum())
    mean = float(sums.sum()) / size
    wide = max(float(squares.sum()) / size - mean * mean, 0.0) ** 0.5
    return np.asarray((largest - mean) / wide if wide > 1e-3 else largest * 0, np.float64)


def length(found: Segment, most: int) -> int:
    """How long stretches are in a block: longer where long messages would make more than so many of them."""
    return max(STRETCH, -(-len(found.seq) // most))
