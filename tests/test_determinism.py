"""A9: the same run gives the same bytes, in one process or in two with different hash seeds."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infold import Memory, Message
from infold.presets import PRESETS

from . import rawsql
from .conftest import assistant, call, counted_ids, result, ticking_clock, user, words
from .databases import fresh

SEEDS = ("1", "4242")
TOOLS = [{"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}}]
QUESTIONS = ("What did we decide?", "Which flight?", None)


def flaky(summary: str, messages: list[Message]) -> str:
    """A model whose every third answer is useless, by what it reads and not by when."""
    digest = hashlib.sha256("".join(m.id for m in messages).encode()).digest()
    if digest[0] % 3 == 1:
        raise RuntimeError("the model is down")
    hotels = re.findall(r"\bH\d+7\b", "\n".join([summary, *(message.text for message in messages)]))
    lines = [f"- User prefers hotel {hotel}" for hotel in dict.fromkeys(hotels[-8:])]
    return "\n".join([*lines, "- User plans trips and rooms"])


def script() -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    for at in range(30):
        said.append(user(f"My budget for trip {at} is {at}50 euros. I prefer hotel H{at}7. {words(40, f'q{at}')}"))
        if at % 4 == 1:
            said += [
                call(f"a{at}", f"b{at}"),
                result(f"b{at}"),
                result(f"a{at}", f'{{"id": "BK-{at}9", "total": {at}}}'),
            ]
        if at % 7 == 3:
            said.append(user(f"Let's use plan {at} instead of plan {at - 1}.", name="bo"))
        said.append(assistant(f"I booked room R{at}1 for you. {words(700 if at % 3 == 0 else 40, f'a{at}')}"))
    return said


def run(url: str, preset: str, model: bool) -> dict[str, Any]:
    """One scripted run, and all that can be seen of it."""
    seen: dict[str, Any] = {"contexts": [], "summaries": []}
    emitted: list[Any] = []
    with Memory(
        url,
        clock=ticking_clock(),
        ids=counted_ids(),
        summarizer=flaky if model else None,
        on_event=lambda event: emitted.append([event.type, event.created_at, event.data]),
        mark_key=b"the key of a database is drawn once",
    ) as memory:
        chat = memory.chat("c", preset=preset, system="You are terse.", context_window=3000)
        for at, message in enumerate(script()):
            chat.add(message)
            chat.settle()  # so that the summarizer's work and the next add draw from the clock in a fixed order
            if at == 20:
                chat.pin("Never call before 9.")
            if at == 60:
                chat.rewind(chat.messages()[50].id)
            if at == 70:
                chat.fold()
                chat.settle()
            if at % 3 == 0:
                context = chat.context(
                    QUESTIONS[at % 9 // 3],
                    max_tokens=300 + 97 * (at % 11),
                    sources=[words(30, "source")] if at % 2 else None,
                    tools=TOOLS if at > 40 else None,
                )
                seen["contexts"].append([context.messages, context.tokens, context.hash, str(context.explain())])
                seen["contexts"].append(context.to("text"))
                seen["summaries"].append(chat.summary)
        other = "layered" if preset == "rolling" else "rolling"
        chat.set_policy(other)
        chat.add(user("And now?"))
        chat.settle()
        seen["records"] = [repr(record) for record in chat.records]
        seen["events"] = [[event.type, event.created_at, event.data] for event in chat.events()]
        seen["proof"] = str(memory.verify())
    seen["emitted"] = emitted
    return seen


def dump(url: str) -> dict[str, list[str]]:
    """Every row of every table, bytes and all; but for the key that each database draws for itself."""
    names = [name for name in rawsql.tables(url) if name != "installation"]
    return {name: [repr(row) for row in rawsql.rows(url, f'SELECT * FROM "{name}" ORDER BY 1')] for name in names}


def all_of(preset: str, model: bool) -> str:
    with fresh() as url:
        seen = run(url, preset, model)
        return json.dumps([seen, dump(url)], ensure_ascii=False, indent=1)


@pytest.mark.parametrize("model", [False, True])
@pytest.mark.parametrize("preset", PRESETS)
def test_A9_same_run_same_bytes(preset: str, model: bool) -> None:
    outputs = [all_of(preset, model).splitlines() for _ in range(2)]
    assert outputs[0] == outputs[1]
    seen, tables = json.loads("\n".join(outputs[0]))
    # The script is worth its name: it folds, trims and remembers, and the model both works and fails.
    assert len(tables["folds"]) > 2
    assert seen["summaries"][-1]
    assert any("left out" in explained for *_, explained in seen["contexts"][::2])
    assert seen["proof"].startswith("ok")
    kinds = {data.get("author") for kind, _, data in seen["events"] if kind == "summarization"}
    failures = [kind for kind, *_ in seen["events"] if kind == "summarization_failed"]
    assert ("summarizer" in kinds) == model == bool(failures)


def test_A9_same_bytes_in_processes_with_other_hash_seeds() -> None:
    digests = []
    for seed in SEEDS:
        done = subprocess.run(
            [sys.executable, "-m", "tests.test_determinism"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parent.parent,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        digests.append(done.stdout.splitlines())
    assert len(digests[0]) == 2 * len(PRESETS)
    assert digests[1:] == digests[:1] * (len(SEEDS) - 1)


def main() -> None:
    for preset in PRESETS:
        for model in (False, True):
            digest = hashlib.sha256(all_of(preset, model).encode()).hexdigest()
            sys.stdout.write(f"{preset} {model} {digest}\n")


if __name__ == "__main__":
    main()
