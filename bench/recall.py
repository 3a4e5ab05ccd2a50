"""Evidence recall through the public API: python -m bench.recall [--data conversations.json] [--misses]

A whole conversation is added, message by message, with dates and speakers; then, for each question, a context of at most
B tokens (a quarter of its characters, rounded up; everything the model sees counts) is asked for. Which share of the
messages that hold the answer is in it? A message counts where its whole text is there or, of one longer than 150 tokens,
60 of them. Without --data, our own conversations in bench/talks.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from rich.progress import track

from bench.common import Figure, console, folder, report, url
from bench.recall_data import OURS, Evidence, Talk, load
from infold import Chat, Context, Memory

BUDGETS = (500, 1000, 2000, 3000)
FLOORS = (58, 67, 77, 82)
LONG, ENOUGH = 150, 60


@dataclass(frozen=True, slots=True)
class Found:
    """How one question went at each budget: which of its evidence was shown."""

    talk: Talk
    question: str
    kind: str
    evidence: tuple[Evidence, ...]
    shown: tuple[frozenset[Evidence], ...]


def about(text: str) -> int:
    """Tokens of a text: a quarter of its characters."""
    return -(-len(text) // 4)


def fill(chat: Chat, talk: Talk) -> None:
    """Add a conversation as a chat application would: people by their names, with the time of each message."""
    for said in talk.messages:
        role = said.speaker if said.speaker in ("user", "assistant") else "user"
        name = {} if said.speaker == role else {"name": said.speaker}
        chat.add({"role": role, "content": said.text, **name}, created_at=said.at)


def ask(chat: Chat, talk: Talk, question: str, budget: int) -> tuple[Context, str]:
    """The largest context for a question whose text is within a budget."""
    asked = {"role": "user", "content": question, "created_at": talk.asked_at}
    most = budget
    while True:
        context = chat.context(asked, max_tokens=most)
        text = context.to("text")
        if about(text) <= budget:
            return context, text
        most = min(most - 1, most * budget // about(text))


def shown(talk: Talk, text: str, evidence: Sequence[Evidence]) -> frozenset[Evidence]:
    return frozenset(one for one in evidence if _is_shown(one, talk.messages[one.seq - 1].text, text))


def _is_shown(one: Evidence, said: str, text: str) -> bool:
    if said in text:
        return True
    if about(said) <= LONG:
        return False
    if one.end:  # the passage that matters is known
        return said[one.start : one.end] in text
    # Passages of long messages stand between marks of omission.
    parts = [part.strip() for part in text.split("…")]
    return any(about(part) >= ENOUGH and part in said for part in parts)


def measure(talks: Sequence[Talk]) -> tuple[list[Found], list[float]]:
    results: list[Found] = []
    spent: list[float] = []
    for talk in track(talks, "conversations", console=console, transient=True):
        with folder() as path, Memory(url(path / "recall.db")) as memory:
            chat = memory.chat(talk.name)
            fill(chat, talk)
            memory.settle()
            for asked in talk.questions:
                seen: list[frozenset[Evidence]] = []
                for budget in BUDGETS:
                    start = time.perf_counter()
                    context, text = ask(chat, talk, asked.text, budget)
                    spent.append(1e3 * (time.perf_counter() - start))
                    assert context.tokens <= context.budget
                    seen.append(shown(talk, text, asked.evidence))
                results.append(Found(talk, asked.text, asked.kind, asked.evidence, tuple(seen)))
    return results, spent


def micro(results: Sequence[Found]) -> list[float]:
    total = sum(len(one.evidence) for one in results)
    return [round(100 * sum(len(one.shown[at]) for one in results) / total, 1) for at in range(len(BUDGETS))]


def table(results: Sequence[Found]) -> dict[str, list[float]]:
    groups: dict[str, list[Found]] = defaultdict(list)
    for one in results:
        groups["all"].append(one)
        groups[f"kind {one.kind}"].append(one)
        groups[one.talk.name].append(one)
    return {name: micro(found) for name, found in groups.items()}


def misses(results: Sequence[Found]) -> str:
    """What was not shown even in the largest context, by kind of question."""
    lines: list[str] = []
    for kind in sorted({one.kind for one in results}):
        lines.append(f"\n# Missed at {BUDGETS[-1]}: {kind}")
        for one in results:
            missed = [evidence.seq for evidence in one.evidence if evidence not in one.shown[-1]]
            if one.kind == kind and missed:
                lines.append(f"{one.talk.name}: {one.question}")
                for seq in missed:
                    said = one.talk.messages[seq - 1]
                    day = datetime.fromtimestamp(said.at / 1000, UTC).date()
                    lines.append(f"    {day} {said.speaker}: {said.text[:150]}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, help="conversations in the layout of LoCoMo")
    parser.add_argument("--misses", action="store_true", help="list what was not found")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.data is not None and not options.data.exists():
        print(f"skipped: there is nothing at {options.data}")
        return
    talks = load(options.data or OURS)
    results, spent = measure(talks)
    figures = table(results)
    if options.json:
        print(json.dumps({"budgets": BUDGETS, "recall": figures, "questions": len(results), "ms": median(spent)}))
        return
    missed = [100 - value for value in figures["all"]]
    targets = [100 - floor for floor in FLOORS] if options.data else [None] * len(FLOORS)
    report(
        "recall" if options.data else "recall_ours",
        [
            Figure(f"evidence that a context of {budget:,} tokens misses", value, "%", target)
            for budget, value, target in zip(BUDGETS, missed, targets, strict=True)
        ],
        {
            "conversations": options.data.name if options.data else "bench/talks",
            "questions": len(results),
            "evidence shown, %, at " + "/".join(map(str, BUDGETS)): figures,
        },
    )
    print(f"{len(results)} questions; evidence shown, in percent, within so many tokens of context")
    print(f"{'':<28}" + "".join(f"{budget:>8}" for budget in BUDGETS))
    for name, values in figures.items():
        print(f"{name:<28}" + "".join(f"{value:>8.1f}" for value in values))
    if options.data:
        print(f"{'at least':<28}" + "".join(f"{floor:>8.1f}" for floor in FLOORS))
    print(f"a question took {median(spent):.1f} ms in the middle, with fitting the context to the budget")
    if options.misses:
        print(misses(results))


if __name__ == "__main__":
    main()
