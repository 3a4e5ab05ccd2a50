"""Evidence recall within a budget: python -m bench.recall_rank [--data conversations.json]

For each question, which share of the messages that hold its answer is in a context of at most B tokens (a quarter of the
characters, rounded up)? Without --data our own conversations, each ranked by weights that were fitted on those of the other
kinds: one by one, and merged to long ones. With --data those of a file in
LoCoMo's layout, with the weights as shipped, which never saw it.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.recall_data import KINDS, OURS, Evidence, Question, Talk, load, merged
from bench.recall_fit import PLAIN, Weights, train
from infold.recall.corpus import Corpus
from infold.recall.pack import Shown, about, measured, pack
from infold.recall.query import read
from infold.recall.rank import rank
from infold.recall.segment import segment
from infold.recall.vectors import Embedder, WordLlamaEmbedder
from infold.recall.weights import FIRST, WEIGHTS

BUDGETS = (500, 1000, 2000, 3000)
SMALL = (125, 250, 500, 1000)
"""Budgets for our own conversations one by one: they have a quarter of the length."""
AIMS = (63, 72, 82, 86)
ENOUGH = 60


@dataclass(frozen=True, slots=True)
class Found:
    """How one question went, at each budget: which of its evidence was shown."""

    talk: Talk
    question: Question
    shown: tuple[frozenset[Evidence], ...]


def measure(talk: Talk, weights: Weights, embedder: Embedder, budgets: Sequence[int] = BUDGETS) -> list[Found]:
    """What is shown of the evidence of each question."""
    results: list[Found] = []
    corpus = Corpus()
    corpus.extend(segment(talk.messages, embedder))
    texts = {message.seq: message.text for message in talk.messages}
    for question in talk.questions:
        query = read(question.text, tuple(corpus.speakers), talk.asked_at, talk.asker)
        ranked = rank(corpus, query, embedder, weights=weights.last, first=weights.first)
        contexts = [pack(ranked, texts, budget) for budget in budgets]
        for context, budget in zip(contexts, budgets, strict=True):
            assert measured(context, about) <= budget
        results.append(Found(talk, question, tuple(_counted(one, question) for one in contexts)))
    return results


def _counted(context: Sequence[Shown], question: Question) -> frozenset[Evidence]:
    """Messages that are there in full, or, of long ones, with the characters that matter or a passage that is long enough."""
    tokens: dict[int, int] = defaultdict(int)
    for item in context:
        tokens[item.seq] += about(item.text)

    def counts(one: Evidence, item: Shown) -> bool:
        if one.end:
            return item.start <= one.start and one.end <= item.end
        return item.whole or tokens[item.seq] >= ENOUGH

    return frozenset(one for one in question.evidence for item in context if item.seq == one.seq and counts(one, item))


def line(name: str, results: Sequence[Found]) -> str:
    """Micro recall and, in brackets, questions with all of their evidence, at each budget."""
    total = sum(len(found.question.evidence) for found in results)
    cells = []
    for at in range(len(results[0].shown)):
        hits = sum(len(found.shown[at]) for found in results)
        full = sum(len(found.shown[at]) == len(found.question.evidence) for found in results)
        cells.append(f"{100 * hits / total:6.1f} ({100 * full / len(results):5.1f})")
    return f"{name:<34}" + "".join(cells) + f"   {len(results):4} questions"


def table(title: str, results: Sequence[Found], budgets: Sequence[int] = BUDGETS, names: bool = True) -> str:
    """Recall of all questions, by what they ask for and by conversation."""
    lines = [f"{title}\n{'':<34}" + "".join(f"{budget:>6}        " for budget in budgets), line("all", results)]
    lines += [line(f"  {kind}", [one for one in results if one.question.kind == kind]) for kind in KINDS]
    for talk in dict.fromkeys(one.talk.name for one in results) if names else ():
        lines.append(line(f"  {talk}", [one for one in results if one.talk.name == talk]))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    embedder = WordLlamaEmbedder()
    if options.data is not None:
        if not options.data.exists():
            print("skipped: no such file")
            return
        shipped = Weights(FIRST, WEIGHTS)
        results = [one for talk in load(options.data) for one in measure(talk, shipped, embedder)]
        print(table("Weights as shipped, fitted on other conversations", results))
        print(f"{'aim':<34}" + "".join(f"{aim:6.1f}        " for aim in AIMS))
        return
    talks = load(OURS)
    short: list[Found] = []
    long: list[Found] = []
    plain: list[Found] = []
    for kind in dict.fromkeys(talk.kind for talk in talks):
        weights = train([talk for talk in talks if talk.kind != kind], embedder)
        own = [talk for talk in talks if talk.kind == kind]
        short += [one for talk in own for one in measure(talk, weights, embedder, SMALL)]
        long += [one for talk in merged(own) for one in measure(talk, weights, embedder)]
        plain += [one for talk in merged(own) for one in measure(talk, Weights(PLAIN, {"first": 1.0}), embedder)]
    print(table("One by one, weights of the other kinds", short, SMALL))
    print(table("\nThree as one, weights of the other kinds", long))
    print(line("  all, by a plain sum", plain))


if __name__ == "__main__":
    main()
