"""What speaks for each passage, given a question. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infold.recall.corpus import Pool
from infold.recall.dates import Span, Times
from infold.recall.query import Asked, Query
from infold.recall.segment import ASKS, COUNTS, NAMES, TIMED
from infold.recall.vectors import Floats, unit
from infold.recall.weights import FIRST

_K, _B = 1.2, 0.75
_FEEDBACK = 8
_NEAREST = 512
_DAY = 24 * 3600 * 1000


def signals(pool: Pool, asked: Asked, weights: Mapping[str, float] = FIRST) -> dict[str, Floats]:
    """The signals by name, one number a passage; all on scales that do not depend on the size of the chat.

    `weights` say how the first ones add up to `first`, a ranking whose best passages speak for those near and like them.
    """
    found = {**_lexical(pool, asked), **_dense(pool, asked), **_plain(pool, asked.query)}
    first = np.asarray(sum(np.float32(weight) * found[name] for name, weight in weights.items()), np.float32)
    found["first"] = first
    found["two before"] = pool.before(pool.before(first))
    found["two after"] = pool.after(pool.after(first))
    found["best of session"] = np.maximum.reduceat(first, pool.first)[pool.session]
    found["feedback"] = _feedback(pool, first)
    return found


def _feedback(pool: Pool, first: Floats) -> Floats:
    """Nearness to what looks best so far; of a long chat only for what may still come up."""
    some = np.array(best(first, _NEAREST))
    top = some[:_FEEDBACK]
    vectors = pool.vectors(some)
    like = unit(np.exp(first[top] - first[top[0]]) @ (vectors[:_FEEDBACK] - pool.middle))
    near = vectors @ like - float(pool.middle @ like)
    wide = spread(near / pool.vector_lengths[some])
    whole = np.full(pool.size, wide.min(), np.float32)
    whole[some] = wide
    return whole


def best(total: NDArray[np.floating[Any]], most: int) -> list[int]:
    """The places of the largest numbers, largest first; of equals the later one first."""
    enough = np.partition(total, -most)[-most] if most < len(total) else -np.inf
    among = np.flatnonzero(total >= enough)
    order: list[int] = among[np.lexsort((-among, -total[among]))][:most].tolist()
    return order


def _lexical(pool: Pool, asked: Asked) -> dict[str, Floats]:
    """BM25 and coverage over the passage, its window and its session; words near in meaning count in part."""
    holds = np.zeros((len(asked.terms), pool.size), np.float32)
    near = np.zeros_like(holds)
    holders, held = pool.holders(asked.terms)
    for at, places in enumerate(holders):
        np.add.at(holds[at], places, 1)
    for other, places in pool.having([number for *_, number in asked.others]):
        weight, at, _ = asked.others[other]
        near[at, places] = weight
    has = np.minimum(holds, 1)
    df = np.array(held, np.float64)
    idf = np.log(1 + (pool.corpus.size - df + 0.5) / (df + 0.5))
    near = np.maximum(near, has)
    idf = np.where(np.array(asked.pieces, bool) & (df == 0), idf / 8, idf)  # half a word and half the next is none
    ideal = max(float(idf.sum()), 1e-9)
    share = (idf / ideal).astype(np.float32)
    in_session = pool.by_session(holds)
    around = _around(pool, holds)
    return {
        "message": share @ _saturated(holds, pool.count),
        "window": share @ _saturated(around, _around(pool, pool.count)),
        "session": (share @ _saturated(in_session, np.add.reduceat(pool.count, pool.first)))[pool.session],
        "covers": share @ has,
        "rare words": pool.rarity,
        "window covers": share @ np.minimum(around, 1),
        "session covers": (share @ np.minimum(in_session, 1))[pool.session],
        "alike": share @ near,
        "window alike": share @ np.maximum(near, np.maximum(pool.before(near), pool.after(near))),
        "session alike": (share @ np.maximum.reduceat(near, pool.first, axis=1))[pool.session],
    }


def _around(pool: Pool, values: Floats) -> Floats:
    return values + pool.before(values) + pool.after(values)


def _saturated(holds: Floats, count: Floats) -> Floats:
    length = np.maximum(count, 1) / max(float(count.mean()), 1)
    return np.asarray(holds * (_K + 1) / (holds + _K * (1 - _B + _B * length)), np.float32)


def _dense(pool: Pool, asked: Asked) -> dict[str, Floats]:
    """Nearness in meaning of the passage, its window and its session, around what all of the chat has in common."""
    plain = pool.towards(asked.vector)
    bare = _without_middle(pool, asked.vector, plain)
    wide = (bare + 0.5 * (pool.before(bare) + pool.after(bare))) / pool.window_lengths
    own = bare / pool.vector_lengths
    return {
        "meaning": spread(own),
        "plain meaning": spread(plain),
        "window meaning": spread(wide),
    }


def _without_middle(pool: Pool, asked: Floats, plain: Floats) -> Floats:
    """How far each passage lies from the chat's middle in the direction of a vector."""
    away = asked - pool.middle
    length = max(float(np.linalg.norm(away)), 1e-6)
    return np.asarray((plain - pool.common - float(pool.middle @ away)) / length, np.float32)


def spread(values: NDArray[np.floating[Any]]) -> Floats:
    """Around the mean, in standard deviations; what hardly differs is equal."""
    wide = float(values.std())
    return np.asarray((values - values.mean()) / wide if wide > 1e-3 else values * 0, np.float32)


def _plain(pool: Pool, query: Query) -> dict[str, Floats]:
    """Who said it, when, and what it looks like."""
    chosen = np.array([name in query.speakers for name in pool.corpus.speakers], np.float32)[pool.speaker]
    length = np.asarray(np.log1p(pool.chars) - 4.7, np.float32)  # around the length of a chat message
    asks, timed, counts, names = ((pool.marks & mark > 0).astype(np.float32) for mark in (ASKS, TIMED, COUNTS, NAMES))
    place = np.arange(pool.size) - pool.first[pool.session]
    time, told = named_times(query.times, pool.at, pool.first, pool.session)
    return {
        "speaker": chosen,
        "speaker at length": chosen * length,
        "time": time,
        "told later": told,
        "says when": timed * query.when,
        "says how many": counts * query.many,
        "says a name": names * query.name,
        "length": length,
        "asks": asks,
        "answers": pool.before(asks),
        "opens": np.exp(-place / 2).astype(np.float32),
    }


def named_times(
    times: Times, at: NDArray[np.int64], first: NDArray[np.int64], session: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Said within a time the question names (more for a short one); said in the month after it."""
    inside, later = np.zeros(len(at), np.float32), np.zeros(len(at), np.float32)
    for span in times.spans:
        for start, end, said, told in span_weights(span):
            within = (at >= start) & (at < end)
            inside = np.maximum(inside, within * said)
            later = np.maximum(later, within * told)
    if times.months:
        month = np.array([_month(when) for when in at[first]])[session]
        inside = np.maximum(inside, np.isin(month, times.months))
        later = np.maximum(later, np.isin((month - 2) % 12 + 1, times.months))
    return inside.astype(np.float32), later.astype(np.float32)


def span_weights(span: Span) -> list[tuple[int, int, float, float]]:
    """Times with what it is worth to be said then: within a time that is named, and after it."""
    start, end = _edges(span)
    days = (end - start) // _DAY
    found = [(start, end, 1.5 if days < 8 else 1.0 if days < 100 else 0.5, 0.0), (end, end + 30 * _DAY, 0.0, 1.0)]
    if days < 8:  # told of within days, or in the same month
        found.append((end, end + 8 * _DAY, 0.0, 2.0))
    return found


def _edges(span: Span) -> tuple[int, int]:
    return _millis(span.first), _millis(span.last) + _DAY


def _millis(day: date) -> int:
    return (day.toordinal() - date(1970, 1, 1).toordinal()) * _DAY


def _month(at: int) -> int:
    try:
        return datetime.fromtimestamp(at / 1000, UTC).month if at else 0
    except (OverflowError, ValueError, OSError):
        return 0
