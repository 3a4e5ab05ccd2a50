"""Fits the weights of recall's signals on our own conversations: python -m bench.recall_fit [--write]

A softmax over the passages of a conversation should put its mass on the evidence; convex, solved by Newton's method, the
same on every run. Twice: a first ranking, and one that also has signals taken from the first. Weights are drawn towards PRIOR, so that what the conversations say little about stays as it is. `--write` puts the weights into src/infold/recall/weights.py.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.recall_data import OURS, Evidence, Talk, eased, load, merged
from infold.recall import weights as shipped
from infold.recall.corpus import Corpus
from infold.recall.query import read
from infold.recall.segment import segment
from infold.recall.signals import signals
from infold.recall.vectors import Embedder, Floats, WordLlamaEmbedder

Table = NDArray[np.float64]
POOL = 150
"""How many passages of a conversation each question is fitted on: the best by the plain sum, and the evidence."""
RIDGE = 200.0
PRIOR: dict[str, float] = {
    "message": 1.2,
    "window": 0.6,
    "session": 0.6,
    "meaning": 0.3,
    "window meaning": 0.15,
    "alike": 0.6,
    "speaker": 0.3,
    "time": 1.0,
    "told later": 0.5,
}
"""Where weights start, and are drawn to: the plain sum, and what our conversations have too few questions about."""
SECOND = ("two before", "two after", "best of session", "feedback")
"""Signals that are taken from a first ranking."""
PLAIN = {
    "message": 4.0,
    "window": 2.0,
    "session": 2.0,
    "meaning": 1.0,
    "window meaning": 0.5,
    "speaker": 1.0,
    "time": 1.0,
    "alike": 2.0,
}
"""A first ranking by hand, for choosing what to fit on."""
NEVER_BELOW_ZERO = frozenset(
    "message,window,session,covers,window covers,session covers,alike,window alike,session alike,meaning,plain meaning,"
    "window meaning,feedback,best of session,two before,two after,speaker,time,told later,says when,says how many,"
    "says a name".split(",")
)


@dataclass(frozen=True, slots=True)
class Sheet:
    """The signals of all questions of one conversation: (passages x signals) each."""

    talk: Talk
    corpus: Corpus
    names: list[str]
    signals: list[Floats]
    evidence: list[list[int]]
    """Of each question, the passages that hold its answer."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How signals add up to a first ranking, and to the last one."""

    first: dict[str, float]
    last: dict[str, float]


def train(talks: Sequence[Talk], embedder: Embedder) -> Weights:
    """Weights from conversations, one by one and merged to long ones."""
    every = [eased(talk) for talk in (*talks, *merged(talks))]
    plain = [sheet(talk, embedder, PLAIN) for talk in every]
    first = _rounded(fit(plain, [name for name in plain[0].names if name not in ("first", *SECOND)]))
    found = [sheet(talk, embedder, first) for talk in every]
    return Weights(first, _rounded(fit(found, [name for name in found[0].names if name != "first"])))


def _rounded(weights: dict[str, float]) -> dict[str, float]:
    return {name: round(weight, 3) for name, weight in weights.items() if round(weight, 3)}


def sheet(talk: Talk, embedder: Embedder, first: Mapping[str, float]) -> Sheet:
    """The signals of a conversation's questions, given the weights of a first ranking."""
    corpus = Corpus()
    corpus.extend(segment(talk.messages, embedder))
    pool = corpus.everything()
    every = [
        signals(pool, read(question.text, tuple(corpus.speakers), talk.asked_at, talk.asker).asked(embedder), first)
        for question in talk.questions
    ]
    evidence = [[at for one in question.evidence for at in _places(corpus, one)] for question in talk.questions]
    return Sheet(talk, corpus, list(every[0]), [np.stack(list(one.values()), axis=1) for one in every], evidence)


def _places(corpus: Corpus, evidence: Evidence) -> list[int]:
    inside = corpus["seq"] == evidence.seq
    if evidence.end:
        inside &= (corpus["start"] < evidence.end) & (corpus["end"] > evidence.start)
    return [int(at) for at in np.flatnonzero(inside)]


def fit(
    training: Sequence[Sheet], names: Sequence[str], ridge: float = RIDGE, prior: Mapping[str, float] = PRIOR
) -> dict[str, float]:
    """The weights of some signals that fit conversations best, none below zero that speaks for a message."""
    columns = np.array([training[0].names.index(name) for name in names])
    table, target = _cases(training, columns)
    real = table[:, :, 0] > -np.inf
    wide = np.maximum(table[real].std(axis=0), 1e-9)
    table = np.where(real[:, :, None], table / wide, 0)
    start = np.array([prior.get(name, 0.0) for name in names]) * wide
    bound = np.array([name in NEVER_BELOW_ZERO for name in names])
    weights = start.copy()
    loss, slope, bend = _loss(table, target, real, weights, start, ridge)
    for _ in range(100):
        held = bound & (weights <= 0) & (slope > 0)
        free = np.flatnonzero(~held)
        step = np.zeros_like(weights)
        step[free] = np.linalg.solve(bend[np.ix_(free, free)], slope[free])
        size = 1.0
        while size > 1e-6:  # a full step may overshoot
            new = weights - size * step
            new[bound] = np.maximum(new[bound], 0)
            tried = _loss(table, target, real, new, start, ridge)
            if tried[0] < loss:
                break
            size /= 2
        else:
            break
        done = loss - tried[0] < 1e-7 * abs(loss)
        weights, (loss, slope, bend) = new, tried
        if done:
            break
    found = {name: float(weight) for name, weight in zip(names, weights / wide, strict=True)}
    return {name: weight for name, weight in found.items() if weight}


def _cases(training: Sequence[Sheet], columns: NDArray[np.intp]) -> tuple[Table, Table]:
    """Of each question the signals of its best passages (-inf where there are fewer), and how much of it each should get."""
    first = training[0].names.index("first")
    kinds = Counter(one.talk.kind for one in training for _ in one.signals)
    even = sum(kinds.values()) / len(kinds)
    pools = [
        (one, table, evidence, np.union1d(np.argsort(-table[:, first], kind="stable")[:POOL], evidence))
        for one in training
        for evidence, table in zip(one.evidence, one.signals, strict=True)
    ]
    most = max(len(pool) for *_, pool in pools)
    tables = np.full((len(pools), most, len(columns)), -np.inf)
    targets = np.zeros((len(pools), most))
    for at, (one, table, evidence, pool) in enumerate(pools):
        share = even / kinds[one.talk.kind]  # all kinds of conversations weigh alike
        tables[at, : len(pool)] = table[np.ix_(pool, columns)]
        targets[at, : len(pool)] = np.isin(pool, evidence) * share * min(len(evidence), 3) ** 0.5 / len(evidence)
    return tables, targets


def _loss(
    table: Table, target: Table, real: NDArray[np.bool_], weights: Table, start: Table, ridge: float
) -> tuple[float, Table, Table]:
    """What is to be made small, with its first and second derivative."""
    away = weights - start
    scores = np.where(real, table @ weights, -np.inf)
    scores -= scores.max(axis=1, keepdims=True)
    share = np.exp(scores)
    whole = share.sum(axis=1, keepdims=True)
    share /= whole
    mass = target.sum(axis=1)
    mean = np.einsum("qp,qps->qs", share, table)
    loss = float(mass @ np.log(whole[:, 0]) - (target * np.where(real, scores, 0)).sum())
    flat = table.reshape(-1, table.shape[-1])
    slope = mass @ mean - target.ravel() @ flat
    bend = (flat * (share * mass[:, None]).reshape(-1, 1)).T @ flat - (mean * mass[:, None]).T @ mean
    return loss + ridge * float(away @ away) / 2, slope + ridge * away, bend + ridge * np.eye(len(weights))


def _written(weights: dict[str, float]) -> str:
    return "{\n" + "".join(f'    "{name}": {weight},\n' for name, weight in weights.items()) + "}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = train(load(OURS), WordLlamaEmbedder())
    text = (
        '"""What each signal weighs. Written by `python -m bench.recall_fit --write` from our own conversations, '
        f'bench/talks."""\n\nFIRST = {_written(found.first)}\n"""Of a first ranking."""\n\n'
        f'WEIGHTS = {_written(found.last)}\n"""Of the last one."""\n'
    )
    if options.write:
        Path(shipped.__file__).write_text(text)
    print(text)


if __name__ == "__main__":
    main()
