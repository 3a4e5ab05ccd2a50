"""Passages in the order in which they answer a question. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infold.recall.corpus import COARSE, Corpus, Pool, distinct
from infold.recall.events import about, dated, when
from infold.recall.query import Asked, Query
from infold.recall.signals import best, named_times, signals, spread
from infold.recall.vectors import Embedder, Floats, unit
from infold.recall.weights import FIRST, WEIGHTS

MOST = 300
"""How many passages a ranking holds at most: more than any budget has room for."""
Allowed = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]
"""Which passages may be found, by their chats, positions and times."""
LOOKED_AT = 4096
"""Of a longer corpus, only the sessions that promise most at first sight are ranked: so many passages."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage and how much speaks for it."""

    chat: int
    seq: int
    start: int
    end: int
    speaker: str
    at: int
    place: int
    """Its number in the corpus; neighbours differ by one."""
    session: int
    score: float
    """In the units of a log-probability: one more is e times likelier to be what is asked for."""


def rank(
    corpus: Corpus,
    query: Query,
    embedder: Embedder,
    most: int = MOST,
    weights: Mapping[str, float] = WEIGHTS,
    allowed: Allowed | None = None,
    first: Mapping[str, float] = FIRST,
) -> list[Ranked]:
    """The best passages for a question, best first; of equals the newer one first. `allowed` picks those that may be."""
    if not corpus.size:
        return []
    if query.times.event:
        told = about(query.times.event, embedder)
        query = dated(query, when(_pool(corpus, told, allowed), told, first))
    asked = query.asked(embedder)
    pool = _pool(corpus, asked, allowed)
    total = scores(signals(pool, asked, first), weights)
    if allowed is not None:
        total = np.where(allowed(pool.chat, pool.seq, pool.at), total, -np.inf)
    chosen = [at for at in best(total, most) if total[at] > -np.inf]
    columns = (pool.chat, pool.seq, pool.start, pool.end, pool.speaker, pool.at, pool.places, pool.session, total)
    return [
        Ranked(chat, seq, start, end, corpus.speakers[who], at, place, session, score)
        for chat, seq, start, end, who, at, place, session, score in zip(
            *(column[chosen].tolist() for column in columns), strict=True
        )
    ]


def scores(found: Mapping[str, Floats], weights: Mapping[str, float]) -> NDArray[np.float64]:
    """The weighted sum of signals, to six decimals: what differs by less is equal on every machine."""
    total = sum(np.float32(weight) * found[name] for name, weight in weights.items())
    return np.asarray(np.round(np.asarray(total, np.float64), 6), np.float64)


def _pool(corpus: Corpus, asked: Asked, allowed: Allowed | None) -> Pool:
    return corpus.everything() if corpus.size <= LOOKED_AT else _promising(corpus, asked, allowed)


def _promising(corpus: Corpus, asked: Asked, allowed: Allowed | None) -> Pool:
    """The sessions of a long corpus that a cheap look finds best, in their order."""
    corpus.settle()
    firsts = corpus.firsts
    sizes = np.diff(np.append(firsts, corpus.size))
    session = np.repeat(np.arange(len(firsts)), sizes)
    held = corpus.holders(asked.terms)
    df = np.array([distinct(one) for one in held], np.float64)
    idf = np.log(1 + (corpus.size - df + 0.5) / (df + 0.5))
    share = idf / max(float(idf.sum()), 1e-9)
    near = np.zeros((len(held), corpus.size), np.float32)
    for (weight, at, _), places in zip(
        asked.others, corpus.holders([number for *_, number in asked.others]), strict=True
    ):
        if len(places):
            near[at, places] = weight / 2
    together = np.zeros(len(firsts))
    for at, places in enumerate(held):
        near[at, places] = 1
        together[session[places[np.append(True, places[1:] != places[:-1])]] if len(places) else []] += share[at]
    coarse: NDArray[Any] = corpus.coarse @ unit(asked.vector[:COARSE])
    time, told = named_times(asked.query.times, corpus["at"], firsts, session)
    chosen = np.array([name in asked.query.speakers for name in corpus.speakers], np.float32)[corpus["speaker"]]
    total = 6 * (share.astype(np.float32) @ near) + spread(coarse) + chosen + time + told / 4
    if allowed is not None:
        total = np.where(allowed(corpus["chat"], corpus["seq"], corpus["at"]), total, -np.inf)
    value = np.round(np.maximum.reduceat(total, firsts) + 2 * together, 5)
    order = np.lexsort((-np.arange(len(firsts)), -value))
    room = np.cumsum(sizes[order]) <= LOOKED_AT
    return corpus.some(np.sort(order[room]))
