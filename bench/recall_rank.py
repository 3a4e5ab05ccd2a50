"""Evidence recall within a budget: python -m bench.recall_rank --data conversations.json [--misses]

For each question, which share of the messages that hold its answer is in a context of at most B tokens (a quarter of the
characters, rounded up)? Once with the weights as shipped, and once with each conversation ranked by weights that were
fitted on the others.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.recall_data import CATEGORIES, Question, Talk, load
from bench.recall_fit import LEFT_OUT, Sheet, fit, sheets
from infold.recall.pack import Shown, about, pack, render
from infold.recall.rank import MOST, Ranked, scores
from infold.recall.signals import best
from infold.recall.vectors import WordLlamaEmbedder
from infold.recall.weights import WEIGHTS

BUDGETS = (500, 1000, 2000, 3000)
AIMS = (63, 72, 82, 86)
LONG, ENOUGH = 150, 60
Weigh = Callable[[Sheet], dict[str, float]]


@dataclass(frozen=True, slots=True)
class Found:
    """How one question went, at each budget: which of its evidence was shown."""

    talk: Talk
    question: Question
    shown: tuple[frozenset[int], ...]


def measure(found: Sequence[Sheet], weigh: Weigh, budgets: Sequence[int] = BUDGETS) -> list[Found]:
    results: list[Found] = []
    for sheet in found:
        weights = weigh(sheet)
        texts = {message.seq: message.text for message in sheet.talk.messages}
        for question, table in zip(sheet.talk.questions, sheet.signals, strict=True):
            total = scores(dict(zip(sheet.names, table.T, strict=True)), weights)
            corpus = sheet.corpus
            pool = corpus.everything()
            ranked = [
                Ranked(0, int(pool.seq[at]), int(pool.start[at]), int(pool.end[at]), corpus.speakers[pool.speaker[at]],
                int(pool.at[at]), int(at), int(pool.session[at]), float(total[at]))
                for at in best(total, MOST)
            ]
            contexts = [pack(ranked, texts, budget) for budget in budgets]
            for context, budget in zip(contexts, budgets, strict=True):
                assert about(render(context)) <= budget
            results.append(
                Found(sheet.talk, question, tuple(_counted(context) & set(question.evidence) for context in contexts))
            )
    return results


def _counted(context: Sequence[Shown]) -> frozenset[int]:
    """Messages that are there in full, or, of long ones, with a passage that is long enough."""
    tokens: dict[int, int] = defaultdict(int)
    for item in context:
        tokens[item.seq] += about(item.text)
    return frozenset(item.seq for item in context if item.whole or tokens[item.seq] >= ENOUGH)


def line(name: str, results: Sequence[Found]) -> str:
    """Micro recall and, in brackets, questions with all of their evidence, at each budget."""
    total = sum(len(found.question.evidence) for found in results)
    cells = []
    for at in range(len(results[0].shown)):
        hits = sum(len(found.shown[at]) for found in results)
        full = sum(len(found.shown[at]) == len(found.question.evidence) for found in results)
        cells.append(f"{100 * hits / total:6.1f} ({100 * full / len(results):5.1f})")
    return f"{name:<34}" + "".join(cells) + f"   {len(results):4} questions"


def table(title: str, results: Sequence[Found]) -> str:
    lines = [f"{title}\n{'':<34}" + "".join(f"{budget:>6}        " for budget in BUDGETS), line("all", results)]
    lines += [
        line(f"  {name}", [one for one in results if one.question.category == number])
        for number, name in CATEGORIES.items()
    ]
    lines += [
        line(f"  {talk}", [one for one in results if one.talk.name == talk])
        for talk in dict.fromkeys(one.talk.name for one in results)
    ]
    return "\n".join(lines)


def misses(results: Sequence[Found]) -> str:
    """What is not shown even at the largest budget."""
    lines: list[str] = []
    for number, name in CATEGORIES.items():
        lines.append(f"\nMissed at {BUDGETS[-1]}: {name}")
        for one in results:
            missed = [seq for seq in one.question.evidence if seq not in one.shown[-1]]
            if one.question.category == number and missed:
                lines.append(f"  {one.talk.name}: {one.question.text}")
                for seq in missed:
                    said = one.talk.messages[seq - 1]
                    lines.append(f"      {seq} {said.speaker}: {said.text[:150]}")
    return "\n".join(lines)


def crossed(found: Sequence[Sheet], names: Sequence[str]) -> Weigh:
    """Weights for a conversation, fitted on all others."""
    return lambda sheet: fit([other for other in found if other is not sheet], names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--misses", action="store_true", help="list what was not found")
    parser.add_argument("--ablate", action="store_true", help="leave out groups of signals, one at a time")
    options = parser.parse_args()
    if options.data is None or not options.data.exists():
        print("skipped: no conversations (give their path with --data)")
        return
    found = sheets(load(options.data), WordLlamaEmbedder())
    names = [name for name in found[0].names if name not in LEFT_OUT]
    print(table("Weights as shipped (fitted on all: an upper bound)", measure(found, lambda _: WEIGHTS)))
    across = measure(found, crossed(found, names))
    print(table("\nWeights of the other conversations", across))
    print(f"{'aim':<34}" + "".join(f"{aim:6.1f}        " for aim in AIMS))
    if options.misses:
        print(misses(across))
    if options.ablate:
        print("\nWithout a group of signals (weights of the other conversations, fitted anew)")
        for group, members in GROUPS.items():
            print(line(f"  - {group}", measure(found, crossed(found, [name for name in names if name not in members]))))


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
