"""What memory costs in time: reading a message, and an extractive fold."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench.common import Figure, tracked, url
from bench.retention_chats import Script
from bench.talk import Talk
from infold import Event, Memory, preset
from infold.folding.extractive import digest, extract
from infold.messages import parse

MOST_READING_US, MOST_FOLD_MS = 300.0, 5.0
MESSAGES, WARM_UP = 2000, 200


def reading() -> Figure:
    """The statements and the digest of a message of about 60 tokens."""
    messages = [parse(message) for message in Talk(5).messages(MESSAGES + WARM_UP)]
    times: list[float] = []
    for message in messages:
        started = time.perf_counter_ns()
        digest(message, extract(message))
        times.append((time.perf_counter_ns() - started) / 1e3)
    return Figure("statements and digest of a 60-token message, p50", median(times[WARM_UP:]), "µs", MOST_READING_US)


def folding(scripts: Sequence[Script], work: Path) -> tuple[Figure, int]:
    """Adding a message when that folds 10, and how many such folds were timed."""
    policy = preset("rolling", keep=6, buffer=9, safety_turns=100_000, token_ratio=1.0)
    times: list[float] = []
    for number in tracked(range(len(scripts)), "folds of 10 messages", len(scripts)):
        script = scripts[number]
        folded: list[Event] = []

        def noted(event: Event, folded: list[Event] = folded) -> None:
            folded.append(event)

        with Memory(url(work / f"speed-{number}.db"), on_event=noted) as memory:
            chat = memory.chat("c", config=policy)
            for message, created in zip(script.messages, script.times, strict=True):
                folded.clear()
                started = time.perf_counter_ns()
                chat.add(message, created_at=created)
                took = (time.perf_counter_ns() - started) / 1e6
                sizes = [e.data["last"] - e.data["first"] + 1 for e in folded if e.data.get("kind") == "base"]
                if sizes == [10]:
                    times.append(took)
    return Figure("add that folds 10 messages, p50", median(times), "ms", MOST_FOLD_MS), len(times)
