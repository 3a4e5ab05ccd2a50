"""Folding with a slow, hungry or broken summarizer: does anybody wait, how much does it read, is anything lost?

The provider is a real server on loopback that answers from what it is asked, or fails as it is told to.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.upstream import Upstream

from bench.common import Figure, folder, percentile, report, tracked, url
from bench.talk import Talk
from infold import Chat, Memory, Message, Model, summarize_memory
from infold.tokens import count

TURNS, BLOCK = 200, 20
SLEEP = 2.0
BUDGET = 2000
MESSAGES = 10_000
FACTS = 400
OUTAGE = range(150, 180)
KILLS = (90, 230, 310)
TWO_WRITERS = 350
FAULTS = ["good", "good", "500", "good", "good", "empty", "good", "good", "malformed"] * 200
_FACT = re.compile(r"FACT-\d{4}")

MOST_TIMES_ALONE = 2.0
MOST_TIMES_READ = 1.3


def asleep(summary: str, messages: list[Message]) -> str:
    """A summarizer that takes its time."""
    time.sleep(SLEEP)
    return summarize_memory(summary, messages)


# Does anybody wait? ------------------------------------------------------------------------------------


def waiting() -> tuple[list[Figure], dict[str, object]]:
    """Turns with a summarizer that sleeps, and turns without any, in alternating blocks."""
    talk = Talk(7)
    with folder() as place, Memory(url(place / "a.db"), summarizer=asleep) as slow, Memory(url(place / "b.db")) as none:
        chats = {"asleep": slow.chat("bench"), "none": none.chat("bench")}
        taken: dict[str, list[float]] = {name: [] for name in chats}
        for chat in chats.values():
            _turns(chat, talk, 50)
        for _ in tracked(range(TURNS // BLOCK), "turns beside a sleeping summarizer", TURNS // BLOCK):
            for name, chat in chats.items():
                taken[name] += _turns(chat, talk, BLOCK)
        chats["asleep"].settle()
        rewritten = sum(event.data.get("author") == "summarizer" for event in chats["asleep"].events())
        assert rewritten, "the summarizer never finished, so nothing was compared"
    worst = {name: percentile(values, 0.99) for name, values in taken.items()}
    waited = sum(value >= 1000 * SLEEP / 2 for value in taken["asleep"])
    return [
        Figure(f"turns of {TURNS} that waited for a summarizer of {SLEEP:g} s", waited, "", 0),
        Figure(
            "p99 of a turn beside it, against p99 without any", worst["asleep"] / worst["none"], "x", MOST_TIMES_ALONE
        ),
    ], {"p99_ms": worst, "p50_ms": {name: percentile(values, 0.5) for name, values in taken.items()}}


def _turns(chat: Chat, talk: Talk, number: int) -> list[float]:
    taken = []
    for question, reply in talk.turns(number):
        started = time.perf_counter()
        chat.add(question)
        chat.context(max_tokens=BUDGET)
        chat.add(reply)
        taken.append((time.perf_counter() - started) * 1000)
    return taken


# How much does it read? --------------------------------------------------------------------------------


def reading(upstream: Upstream) -> tuple[list[Figure], dict[str, object]]:
    """What a model is sent over a long chat on preset `default`, against the tokens that were folded."""
    talk = Talk(11)
    upstream.reset()
    with folder() as place, Memory(url(place / "a.db"), model=Model("bench", base_url=upstream.url)) as memory:
        chat = memory.chat("bench")
        for _ in tracked(range(MESSAGES // 2), f"a chat of {MESSAGES:,} messages", MESSAGES // 2):
            for question, reply in talk.turns(1):
                chat.add(question)
                chat.add(reply)
            chat.settle()  # every instant fold is rewritten alone: the most a model could be asked
        cursor = chat.memory.cursor
        folded = sum(m.tokens for at in range(0, cursor, 1000) for m in chat.messages(after=at) if m.seq <= cursor)
        calls = chat.usage()
        events = [event.data for event in chat.events() if event.type == "gate"]
    sent = sum(count(part["content"]) for request in upstream.requests() for part in request["body"]["messages"])
    verdicts = {name: sum(event["verdict"] == name for event in events) for name in ("accepted", "mended", "rejected")}
    return [Figure(f"tokens read by the model per token folded, {MESSAGES:,} messages", sent / folded, "x", MOST_TIMES_READ)], {
        "tokens_sent": sent, "tokens_folded": folded, "calls": len(calls.calls), "verdicts": verdicts,
    }  # fmt: skip


# Is anything lost? -------------------------------------------------------------------------------------


def said(number: int) -> list[dict[str, Any]]:
    """Turn number so-and-so: a fact, and an answer."""
    return [
        {"role": "user", "content": f"FACT-{number:04} is stored in box {number * 7} at the depot.", "id": f"u{number}"},
        {"role": "assistant", "content": f"Thanks, the depot has it. {'All is well at the depot today. ' * 6}", "id": f"a{number}"},
    ]  # fmt: skip


def write(place: str, base: str, preset: str, first: int, last: int, step: int = 1) -> None:
    """A writer's process: adds turns, prints each number when it is stored."""
    with Memory(url(Path(place)), model=Model("bench", base_url=base, timeout=2.0)) as memory:
        chat = memory.chat("facts", preset=preset)
        for number in range(first, last + 1, step):
            for message in said(number):
                chat.add(message)
            print(number, flush=True)


def _writer(place: Path, base: str, preset: str, *numbers: int) -> subprocess.Popen[str]:
    arguments = [str(place), base, preset, *map(str, numbers)]
    return subprocess.Popen(
        [sys.executable, "-m", "bench.models", "write", *arguments], stdout=subprocess.PIPE, text=True
    )


def _until(process: subprocess.Popen[str], number: int) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= number:
            return


@dataclass(frozen=True, slots=True)
class Losses:
    """Planted facts that cannot be found again."""

    missing: int
    """Neither verbatim nor bridged nor folded exactly once."""
    astray: int
    """Folded, but not by a record that the newest memory descends from."""
    folds: int
    by_model: int


def losses(upstream: Upstream, preset: str) -> Losses:
    """Plant facts through faults, an outage, kills and two writers at once; then look for each of them."""
    upstream.reset()
    upstream.script(FAULTS)
    with folder() as place:
        path = place / "facts.db"
        at = 1
        for kill in (*KILLS, TWO_WRITERS):
            process = _writer(path, upstream.url, preset, at, TWO_WRITERS)
            if kill < TWO_WRITERS:
                _until(process, kill)
                process.send_signal(signal.SIGKILL)
            elif OUTAGE.start > at:
                _until(process, OUTAGE.start)
            process.communicate()
            if kill in KILLS and kill < OUTAGE.start:
                at = _through_outage(path, upstream, preset, _stored(path) + 1)
            else:
                at = _stored(path) + 1
        pair = [_writer(path, upstream.url, preset, TWO_WRITERS + 1 + odd, FACTS, 2) for odd in (0, 1)]
        for process in pair:
            process.communicate()
            assert process.returncode == 0
        with Memory(url(path), model=Model("bench", base_url=upstream.url)) as memory:
            chat = memory.chat("facts")
            chat.settle()
            return _missing(memory, chat)


def _through_outage(path: Path, upstream: Upstream, preset: str, at: int) -> int:
    """On to the end of the outage: while it lasts, the address answers nothing but errors."""
    for first, last, script in ((at, OUTAGE.start - 1, FAULTS), (OUTAGE.start, OUTAGE.stop - 1, ["503"] * 400)):
        upstream.script(script)
        process = _writer(path, upstream.url, preset, first, last)
        process.communicate()
        assert process.returncode == 0
    upstream.script(FAULTS)
    return OUTAGE.stop


def _stored(path: Path) -> int:
    """The last turn that is there whole; half of one is completed by adding it again."""
    with Memory(url(path)) as memory:
        ids = [message.id for message in _all(memory.chat("facts")) if message.id.startswith("a")]
    return int(ids[-1][1:]) if ids else 0


def _all(chat: Chat) -> Iterator[Message]:
    after = 0
    while found := chat.messages(after=after):
        yield from found
        after = found[-1].seq


def _missing(memory: Memory, chat: Chat) -> Losses:
    proof = memory.verify()
    assert proof.ok, str(proof)
    records = chat.records
    facts = {
        message.id: fact[0]
        for message in _all(chat)
        if (fact := _FACT.findall(message.text)) and message.role == "user"
    }
    assert sorted(facts.values()) == [f"FACT-{number:04}" for number in range(1, FACTS + 1)], (
        "a fact was not stored, or twice"
    )
    there = [message.id for message in chat.memory.recent_messages]
    covered = [id for record in records for id in record.original_message_ids]
    by_id = {record.id: record for record in records}
    line: list[str] = []
    newest = records[-1] if records else None
    while newest is not None:
        line += newest.original_message_ids
        newest = by_id.get(newest.parent_id or "")
    events = [event.data for event in chat.events() if event.type == "summarization"]
    return Losses(
        sum(([*there, *covered]).count(id) != 1 for id in facts),
        sum(id in covered and id not in line for id in facts),
        len(records),
        sum(event["author"] == "summarizer" for event in events),
    )


def main(arguments: Sequence[str]) -> None:
    if arguments[:1] == ["write"]:
        place, base, preset, *numbers = arguments[1:]
        write(place, base, preset, *map(int, numbers))
        return
    figures, details = waiting()
    with Upstream() as upstream:
        more, read = reading(upstream)
        figures += more
        details |= read
        for preset in ("default", "rolling"):
            lost = losses(upstream, preset)
            figures.append(
                Figure(
                    f"facts of {FACTS} lost through faults, an outage, kills, two writers: {preset}",
                    lost.missing,
                    "",
                    0,
                )
            )
            figures.append(
                Figure(f"facts of {FACTS} outside the line of the memory in the context: {preset}", lost.astray, "", 0)
            )
            details[preset] = {"records": lost.folds, "folds by the model": lost.by_model}
    report("models", figures, details)


if __name__ == "__main__":
    main(sys.argv[1:])
