"""Fits the weights of recall's signals on our own conversations: python -m bench.recall_fit [--write]

A softmax over the passages of a conversation should put its mass on the evidence; convex, solved by Newton's method, the
same on every run. The weights are drawn towards the plain sum `first`, so that what the conversations say little about
stays as it is. `--write` puts the weights into src/infold/recall/weights.py.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.recall_data import OURS, Evidence, Talk, load, merged
from infold.recall import weights as shipped
from infold.recall.corpus import Corpus
from infold.recall.query import read
from infold.recall.segment import segment
from infold.recall.signals import signals
from infold.recall.vectors import Embedder, Floats, WordLlamaEmbedder

Table = NDArray[np.float64]
Block = tuple[Table, Table, Table]
POOL = 150
"""How many passages of a conversation each question is fitted on: the best by the plain sum, and the evidence."""
RIDGE = 10.0
GIVEN = 0.25
"""What `first`, the plain sum, weighs; the fit adds to it. Conversations of other kinds need the message's own words more
than these do."""
LEFT_OUT = frozenset({"first"})
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


def sheets(talks: Sequence[Talk], embedder: Embedder) -> list[Sheet]:
    """The signals of all questions."""
    return [sheet(talk, embedder) for talk in talks]


def sheet(talk: Talk, embedder: Embedder) -> Sheet:
    """The signals of a conversation's questions."""
    corpus = Corpus()
    corpus.extend(segment(talk.messages, embedder))
    pool = corpus.everything()
    every = [
        signals(pool, read(question.text, tuple(corpus.speakers), talk.asked_at, talk.asker), embedder)
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
    training: Sequence[Sheet], names: Sequence[str], ridge: float = RIDGE, given: float = GIVEN
) -> dict[str, float]:
    """The weights of some signals that fit conversations best, none below zero that speaks for a message."""
    while True:
        found = _fit(training, names, ridge, given)
        wrong = min(NEVER_BELOW_ZERO & found.keys(), key=lambda name: (found[name], name), default="")
        if not wrong or found[wrong] >= 0:
            return {"first": given, **found}
        names = [name for name in names if name != wrong]


def _fit(training: Sequence[Sheet], names: Sequence[str], ridge: float, given: float) -> dict[str, float]:
    columns = np.array([training[0].names.index(name) for name in names])
    first = training[0].names.index("first")
    kinds = Counter(one.talk.kind for one in training for _ in one.signals)
    even = sum(kinds.values()) / len(kinds)
    blocks: list[Block] = []
    for one in training:
        share = even / kinds[one.talk.kind]  # all kinds of conversations weigh alike
        for evidence, table in zip(one.evidence, one.signals, strict=True):
            pool = np.union1d(np.argsort(-table[:, first], kind="stable")[:POOL], evidence)
            target = np.isin(pool, evidence) * share * min(len(evidence), 3) ** 0.5 / len(evidence)
            blocks.append((table[np.ix_(pool, columns)].astype(np.float64), target, given * table[pool, first]))
    wide = np.maximum(np.concatenate([table for table, *_ in blocks]).std(axis=0), 1e-9)
    blocks = [(table / wide, target, base) for table, target, base in blocks]
    weights = np.zeros(len(columns))
    loss, slope, bend = _loss(blocks, weights, ridge)
    for _ in range(60):
        step = np.linalg.solve(bend, slope)
        size = 1.0
        while size > 1e-6:  # a full step may overshoot
            tried = _loss(blocks, weights - size * step, ridge)
            if tried[0] < loss:
                break
            size /= 2
        else:
            break
        weights = weights - size * step
        done = loss - tried[0] < 1e-7 * abs(loss)
        loss, slope, bend = tried
        if done:
            break
    return {name: float(weight) for name, weight in zip(names, weights / wide, strict=True)}


def _loss(blocks: list[Block], weights: Table, ridge: float) -> tuple[float, Table, Table]:
    """What is to be made small, with its first and second derivative."""
    loss, slope, bend = ridge * float(weights @ weights) / 2, ridge * weights, ridge * np.eye(len(weights))
    for table, target, base in blocks:
        scores = table @ weights + base
        scores -= scores.max()
        share = np.exp(scores)
        whole = share.sum()
        share /= whole
        mass = target.sum()
        mean = share @ table
        loss += float(mass * np.log(whole) - target @ scores)
        slope = slope + mass * mean - target @ table
        bend += mass * ((table * share[:, None]).T @ table - np.outer(mean, mean))
    return loss, slope, bend


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    talks = load(OURS)
    found = sheets([*talks, *merged(talks)], WordLlamaEmbedder())
    weights = fit(found, [name for name in found[0].names if name not in LEFT_OUT])
    lines = "".join(f'    "{name}": {weight:.3f},\n' for name, weight in weights.items())
    text = (
        '"""What each signal weighs. Written by `python -m bench.recall_fit --write` from our own conversations, '
        f'bench/talks."""\n\nWEIGHTS = {{\n{lines}}}\n'
    )
    if options.write:
        Path(shipped.__file__).write_text(text)
    print(text)


if __name__ == "__main__":
    main()
