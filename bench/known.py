"""What users state in one chat: is it known in the next one at once, and is what must not be known elsewhere not known?

Five users of ten short chats, with twenty rules, preferences and facts of themselves each, half of them without outright words; forty
questions that share no word with what they need; two hundred rules in one chat; thirty things that are nobody's own lasting word. All
of it was written for this measure, before any of it was run. A statement counts as found where one line of a context says it.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.common import Figure, folder, report, tracked, url
from infold import Chat, Memory

DATA = Path(__file__).parent / "known"
START = datetime(2026, 5, 4, 9, tzinfo=UTC)
NEUTRAL = "ok, next topic"
Item = Mapping[str, Any]


def load(name: str) -> Any:
    return json.loads((DATA / f"{name}.json").read_text("utf-8"))


class Days:
    """A clock: messages are two minutes apart, chats ten hours."""

    def __init__(self) -> None:
        self.now = START

    def message(self) -> datetime:
        self.now += timedelta(minutes=2)
        return self.now

    def chat(self) -> None:
        self.now += timedelta(hours=10)


def say(chat: Chat, days: Days, messages: Sequence[Item]) -> list[str]:
    """Add messages one by one; their ids."""
    return [chat.add(message, created_at=days.message()).id for message in messages]


def asked(chat: Chat, question: str | None) -> list[str]:
    """The lines of a context, less the question."""
    context = chat.context(question, max_tokens=3000)
    said = "\n".join(str(message["content"]) for message in context.messages)
    return said.removesuffix(question or NEUTRAL).splitlines()


def holds(find: str, lines: Sequence[str]) -> bool:
    return any(re.search(find, line, re.IGNORECASE) for line in lines)


class Counts:
    """Found, of all, by what is measured."""

    def __init__(self) -> None:
        self.found: dict[str, list[int]] = {}

    def add(self, what: str, found: bool) -> None:
        count = self.found.setdefault(what, [0, 0])
        count[0] += found
        count[1] += 1

    def figure(self, what: str, least: float) -> Figure:
        found, of = self.found[what]
        return Figure(f"{what} (of {of})", 100 * found / of, "%", least=least)


@contextmanager
def fresh(place: Path, name: str) -> Iterator[tuple[Memory, Days]]:
    with Memory(url(place / f"{name}.db")) as memory:
        yield memory, Days()


def preferences(place: Path, counts: Counts, user: Item) -> None:
    """One user's ten chats, then an eleventh; and the same said in one chat."""
    name = user["user"]
    with fresh(place, f"next {name}") as (memory, days):
        for one in user["chats"]:
            say(memory.chat(one["id"], user=name), days, one["messages"])
            days.chat()
        following, neutral = memory.chat("next", user=name), memory.chat("neutral", user=name)
        neutral.add({"role": "user", "content": NEUTRAL}, created_at=days.message())
        unasked = asked(neutral, None)
        for item in user["items"]:
            kind = "outright" if item["outright"] else "not outright"
            counts.add(f"next chat, {kind}", holds(item["find"], asked(following, item["question"])))
            counts.add("next chat, without a question", holds(item["find"], unasked))
    with fresh(place, f"one {name}") as (memory, days):
        chat = memory.chat("one", user=name)
        for one in user["chats"]:
            say(chat, days, one["messages"])
        chat.fold()
        for item in user["items"]:
            kind = "outright" if item["outright"] else "not outright"
            counts.add(f"same chat, {kind}", holds(item["find"], asked(chat, item["question"])))


def rules(place: Path, counts: Counts) -> None:
    data = load("rules")
    with fresh(place, "rules") as (memory, days):
        chat = memory.chat("rules", user=data["user"])
        say(chat, days, data["chat"]["messages"])
        for item in data["items"]:
            if "question" in item:
                found = holds(item["find"], asked(chat, item["question"]))
                counts.add("of 200 rules, the one that is named", found)


def paraphrases(place: Path, counts: Counts) -> None:
    data = load("paraphrases")
    with fresh(place, "paraphrases") as (memory, days):
        for one in data["chats"]:
            say(memory.chat(one["id"], user=data["user"]), days, one["messages"])
            days.chat()
        chat = memory.chat("next", user=data["user"])
        for item in data["items"]:
            if item["asked"]:
                counts.add("no word shared, in a context", holds(item["find"], asked(chat, item["question"])))
                hits = memory.user(data["user"]).recall(item["question"], limit=8)
                lines = [line for hit in hits for line in hit.text.splitlines()]
                counts.add("no word shared, by recall", holds(item["find"], lines))


def unknown(place: Path) -> int:
    """How much is known elsewhere that must not be."""
    leaks = 0
    for number, case in enumerate(load("unknown")["cases"]):
        with fresh(place, f"unknown {number}") as (memory, days):
            chat = memory.chat(case["chat"]["id"], user=case["said_by"])
            ids = say(chat, days, case["chat"]["messages"])
            if case["action"]:
                say(chat, days, case["undone"])
                chat.rewind(ids[-1])
                say(chat, days, case.get("instead", []))
            say(chat, days, load("neutral")["messages"])
            chat.fold()
            following = memory.chat("next", user=case["user"])
            leaks += holds(case["find"], asked(following, case["question"]))
    return leaks


def first_context(place: Path, chats: int) -> float:
    """Milliseconds of the first context of a new chat of a user with so many, in a process that knows the user not yet."""
    texts = [item["text"] for user in load("preferences")["users"] for item in user["items"]]
    address = url(place / f"many {chats}.db")
    with Memory(address) as memory:
        for number in range(chats):
            said = [f"{texts[(3 * number + at) % len(texts)]} That was chat {number}." for at in range(3)]
            reply = {"role": "assistant", "content": "I see."}
            messages = [wire for text in said for wire in ({"role": "user", "content": text}, reply)]
            memory.chat(f"c{number}", user="ann").add(messages)
    best = 1e9
    for again in range(5):
        with Memory(address) as memory:
            memory.chat("warm", user="bob").context("Hello?")  # statements are compiled once a process
            chat = memory.chat(f"new {again}", user="ann")
            chat.add({"role": "user", "content": "Hello."})
            started = time.perf_counter()
            chat.context(max_tokens=3000)
            best = min(best, time.perf_counter() - started)
    return 1000 * best


def main() -> None:
    argparse.ArgumentParser(prog="python -m bench.known", description=__doc__).parse_args()
    counts = Counts()
    with folder() as place:
        users = load("preferences")["users"]
        for at in tracked(range(len(users)), "users", len(users)):
            preferences(place, counts, users[at])
        rules(place, counts)
        paraphrases(place, counts)
        leaks = unknown(place)
        few, many = first_context(place, 10), first_context(place, 1000)
    figures = [
        counts.figure("next chat, outright", 90),
        counts.figure("next chat, not outright", 70),
        counts.figure("next chat, without a question", 60),
        counts.figure("same chat, outright", 95),
        counts.figure("same chat, not outright", 85),
        counts.figure("of 200 rules, the one that is named", 100),
        counts.figure("no word shared, in a context", 60),
        counts.figure("no word shared, by recall", 60),
        Figure("known elsewhere that must not be (of 30)", leaks, "", target=1),
        Figure("first context of a user with 1,000 chats beside one with 10", many / few, "x", target=2),
    ]
    report("known", figures, {"first context, ms": {"10 chats": round(few, 2), "1,000 chats": round(many, 2)}})


if __name__ == "__main__":
    main()
