"""What holds of memory after many folds without a model, in chats that were written for infold; and what folding costs.

Whether memory tells what matters is measured elsewhere; here is what must never fail.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from pathlib import Path
from statistics import median

from tests import own

from bench.common import Figure, folder, report, tracked, url
from bench.talk import Talk
from infold import Chat, Event, Memory, preset
from infold.lines.line import FACT, FURTHER, LEAF, LONG
from infold.lines.rendering import render
from infold.messages import parse
from infold.presets import PRESETS
from infold.quoting.dates import undated
from infold.quoting.reading import read
from infold.tokens import count

PINS = ("The gate code is 4711#.", "Never call “Ann” before 9:30.")
EVERY = 20  # messages between two folds
MOST_READING_US, MOST_FOLD_MS = 300.0, 5.0
MESSAGES, WARM_UP = 2000, 200
_WORD = re.compile(r"\w+")


def play(place: Path, name: str, kind: str) -> Counter[str]:
    """What is wrong after each fold of a chat."""
    wrong: Counter[str] = Counter()
    with Memory(url(place / f"{name}-{kind}.db")) as memory:
        chat = memory.chat(name, preset=kind, context_window=8192)
        for pin in PINS:
            chat.pin(pin)
        for at, message in enumerate(own.messages(name), 1):
            chat.add(message, repair=True)
            if at % EVERY == 0 and chat.fold():
                wrong += weigh(chat)
                wrong["folds"] += 1
        wrong["chats that do not add up"] += not memory.verify().ok
    return wrong


def weigh(chat: Chat) -> Counter[str]:
    """What is wrong with the memory of a chat."""
    wrong: Counter[str] = Counter()
    said = {message.seq: message.text for message in chat.messages(limit=10_000)}
    state, policy = chat.memory, chat.policy
    wrong["pins lost"] += tuple(pin.text for pin in state.pins) != PINS
    lines = [line for line in (*state.items, *state.further) if line.places]
    for line in lines:
        there = [word for place in line.places for word in _WORD.findall(said[place.seq][place.start : place.end])]
        wrong["lines that are not exact words"] += _WORD.findall(undated(line.text)) != there
    wrong["lines"] += len(lines)
    sizes = {FACT: policy.facts_cap, LONG: policy.summary_cap, FURTHER: policy.further_cap}
    for layer, cap in sizes.items():
        wrong["tokens beyond a cap"] += max(0, count(render(x for x in lines if x.layer == layer)) - (cap or 0))
    for fold in {line.fold for line in lines}:
        leaf = render(line for line in lines if line.layer == LEAF and line.fold == fold)
        wrong["tokens beyond a cap"] += max(0, count(leaf) - (policy.leaf_cap or 0))
    return wrong


def reading() -> Figure:
    """The candidates of a message of about 60 tokens."""
    times: list[float] = []
    for wire in Talk(5).messages(MESSAGES + WARM_UP):
        message = parse(wire)
        started = time.perf_counter_ns()
        read(message, ())
        times.append((time.perf_counter_ns() - started) / 1e3)
    return Figure("candidates of a 60-token message, p50", median(times[WARM_UP:]), "µs", MOST_READING_US)


def folding(place: Path) -> Figure:
    """Adding a message when that folds 10."""
    policy = preset("rolling", keep=6, buffer=9, safety_turns=100_000, token_ratio=1.0)
    times: list[float] = []
    folded: list[Event] = []
    with Memory(url(place / "speed.db"), on_event=folded.append) as memory:
        chat = memory.chat("c", config=policy, context_window=100_000)
        for wire in Talk(6).messages(MESSAGES):
            folded.clear()
            started = time.perf_counter_ns()
            chat.add(wire)
            took = (time.perf_counter_ns() - started) / 1e6
            if [e.data["last"] - e.data["first"] + 1 for e in folded if e.data.get("kind") == "base"] == [10]:
                times.append(took)
    return Figure("add that folds 10 messages, p50", median(times), "ms", MOST_FOLD_MS)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.retention", description=__doc__)
    parser.parse_args()
    wrong: Counter[str] = Counter()
    jobs = [(name, kind) for name in own.NAMES for kind in sorted(PRESETS)]
    with folder() as place:
        for at in tracked(range(len(jobs)), "chats", len(jobs)):
            wrong += play(place, *jobs[at])
        speed = [reading(), folding(place)]
    never = ("chats that do not add up", "pins lost", "lines that are not exact words", "tokens beyond a cap")
    report(
        "retention",
        [*(Figure(what, wrong[what], "", 0) for what in never), *speed],
        {"chats": len(jobs), "folds": wrong["folds"], "lines looked at": wrong["lines"]},
    )


if __name__ == "__main__":
    main()
