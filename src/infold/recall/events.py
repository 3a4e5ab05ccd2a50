"""When something happened that a question tells a time by. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from infold.recall.corpus import Pool
from infold.recall.dates import Event, day
from infold.recall.query import Asked, Query, read
from infold.recall.signals import best, signals
from infold.recall.vectors import Embedder
from infold.recall.weights import FIRST
from infold.recall.words import words

_COVERED = 0.5
_AHEAD = 0.3
_WEEK = 7 * 24 * 3600 * 1000


def about(event: Event, embedder: Embedder) -> Asked:
    """A question for the event."""
    return read(event.text).asked(embedder)


def when(pool: Pool, asked: Asked, weights: Mapping[str, float] = FIRST) -> int:
    """When it was told of, in milliseconds; 0 where that does not stand out.

    The best passage must hold the words, by rarity at least half of them or words near in meaning, and be better than all
    that were said more than a week from it.
    """
    found = signals(pool, asked, weights)
    total = np.round(found["first"].astype(np.float64), 6)
    top = best(total, 1)[0]
    far = np.abs(pool.at - pool.at[top]) > _WEEK
    rival = float(total[far].max()) if far.any() else -np.inf
    stands_out = found["alike"][top] >= _COVERED and total[top] - rival >= _AHEAD
    return int(pool.at[top]) if stands_out else 0


def dated(query: Query, at: int) -> Query:
    """A question whose event happened at a time, as one that names days."""
    event, told = query.times.event, day(at)
    span = event.span(told, day(query.at)) if event and told else None
    if event is None or span is None:
        return query
    named = set(words(event.text))  # what is asked for is something else
    return replace(
        query,
        words=tuple(word for word in query.words if word not in named) or query.words,
        meaning=query.meaning.replace(event.text, " "),
        times=replace(query.times, spans=(span,), event=None),
    )
