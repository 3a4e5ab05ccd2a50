"""Evidence recall within a budget: python -m bench.recall_rank [--data conversations.json]

For each question, which share of the messages that hold its answer is in a context of at most B tokens (a quarter of the
characters, rounded up)? Without --data our own conversations, each ranked by weights that were fitted on the others: one by
one, and merged to long ones, for which all conversations of their kind are left out. With --data those of a file in
LoCoMo's layout, with the weights as shipped, which never saw it.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.recall_data import KINDS, OURS, Evidence, Question, Talk, load, merged
from bench.recall_fit import LEFT_OUT, Sheet, fit, sheets
from infold.recall.pack import Shown, about, pack, render
from infold.recall.rank import MOST, Ranked, scores
from infold.recall.signals import best
from infold.recall.vectors import Floats, WordLlamaEmbedder
from infold.recall.weights import WEIGHTS

BUDGETS = (500, 1000, 2000, 3000)
SMALL = (125, 250, 500, 1000)
"""Budgets for our own conversations one by one: they have a quarter of the length."""
AIMS = (63, 72, 82, 86)
ENOUGH = 60
Weigh = Callable[[Sheet], dict[str, float]]


@dataclass(frozen=True, slots=True)
class Found:
    """How one question went, at each budget: which of its evidence was shown."""

    talk: Talk
    question: Question
    shown: tuple[frozenset[Evidence], ...]


def measure(found: Sequence[Sheet], weigh: Weigh, budgets: Sequence[int] = BUDGETS) -> list[Found]:
    """What is shown of the evidence of each question."""
    results: list[Found] = []
    for sheet in found:
        weights = weigh(sheet)
        texts = {message.seq: message.text for message in sheet.talk.messages}
        for question, table in zip(sheet.talk.questions, sheet.signals, strict=True):
            ranked = _ranked(sheet, dict(zip(sheet.names, table.T, strict=True)), weights)
            contexts = [pack(ranked, texts, budget) for budget in budgets]
            for context, budget in zip(contexts, budgets, strict=True):
                assert about(render(context)) <= budget
            results.append(Found(sheet.talk, question, tuple(_counted(one, question) for one in contexts)))
    return results


def _ranked(sheet: Sheet, found: dict[str, Floats], weights: dict[str, float]) -> list[Ranked]:
    """As `rank` does, from signals that are known already."""
    total = scores(found, weights)
    pool, names = sheet.corpus.everything(), sheet.corpus.speakers
    return [
        Ranked(
            0, int(pool.seq[at]), int(pool.start[at]), int(pool.end[at]), names[pool.speaker[at]], int(pool.at[at]),
            at, int(pool.session[at]), float(total[at]),
        )
        for at in best(total, MOST)
    ]  # fmt: skip


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


def left_out(found: Sequence[Sheet], long: Sequence[Sheet], names: Sequence[str]) -> Weigh:
    """Weights for a conversation, fitted on all that share nothing with it."""

    def weigh(sheet: Sheet) -> dict[str, float]:
        of_kind = any(sheet is one for one in long)
        others = [one for one in found if (one.talk.kind != sheet.talk.kind if of_kind else one is not sheet)]
        return fit([*others, *(one for one in long if one.talk.kind != sheet.talk.kind)], names)

    return weigh


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--ablate", action="store_true", help="leave out groups of signals, one at a time")
    options = parser.parse_args()
    embedder = WordLlamaEmbedder()
    if options.data is not None:
        if not options.data.exists():
            print("skipped: no such file")
            return
        found = sheets(load(options.data), embedder)
        print(table("Weights as shipped, fitted on other conversations", measure(found, lambda _: WEIGHTS)))
        print(f"{'aim':<34}" + "".join(f"{aim:6.1f}        " for aim in AIMS))
        return
    talks = load(OURS)
    found, long = sheets(talks, embedder), sheets(merged(talks), embedder)
    names = [name for name in found[0].names if name not in LEFT_OUT]
    weigh = left_out(found, long, names)
    print(table("One by one, weights of the others", measure(found, weigh, SMALL), SMALL))
    print(table("\nThree as one, weights of the other kinds", measure(long, weigh)))
    print(line("  by the plain sum", measure(long, lambda _: {"first": 1.0})))
    if options.ablate:
        print("\nThree as one, without a group of signals (fitted anew)")
        for group, members in GROUPS.items():
            without = [name for name in names if name not in members]
            print(line(f"  - {group}", measure(long, left_out(found, long, without))))


GROUPS: dict[str, frozenset[str]] = {
    "BM25 of the message": frozenset({"message", "covers", "rare words"}),
    "window covers": frozenset({"window covers"}),
    "BM25 of the session": frozenset({"session", "session covers"}),
    "all of BM25": frozenset({"message", "covers", "window covers", "session", "session covers"}),
    "words near in meaning": frozenset({"alike", "window alike", "session alike"}),
    "vectors": frozenset({"meaning", "plain meaning", "window meaning", "feedback"}),
    "feedback": frozenset({"feedback"}),
    "neighbours and best of session": frozenset({"two before", "two after", "best of session"}),
    "speaker": frozenset({"speaker", "speaker at length"}),
    "times named": frozenset({"time", "told later"}),
    "what is asked for": frozenset({"says when", "says how many", "says a name"}),
    "length, questions, openings": frozenset({"length", "asks", "answers", "opens"}),
}

if __name__ == "__main__":
    main()
