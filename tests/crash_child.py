"""The process that test_crash kills: adds numbered messages and prints each id once its add has returned.

`python -m tests.crash_child` reads jobs, one JSON line each, and forks a new process for every one, so that a
hundred of them need not load the libraries a hundred times.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Any

from infold import Memory, Message, failpoints
from infold.messages import parse

from .conftest import START, assistant, call, result, user, words


def numbered(number: int) -> dict[str, Any]:
    """Message number n: questions, answers, and tool calls with two results."""
    step, place = divmod(number - 1, 7)
    message = (
        user(f"My budget for trip {step} is {step}50 euros. {words(12)}"),
        call(f"a{step}", f"b{step}"),
        result(f"b{step}", words(20)),
        result(f"a{step}", f'{{"id": "BK-{step}9"}}'),
        assistant(f"I booked room R{step}1 for you. {words(20)}"),
        user(f"I prefer flight LH{step}4."),
        assistant(words(25, f"a{step}")),
    )[place]
    return {**message, "id": f"n{number}"}


class Numbered:
    """Time and ids that depend on the message being added, and on nothing that happened before."""

    def __init__(self) -> None:
        self.number = self.drawn = 0

    def begin(self, number: int) -> None:
        self.number, self.drawn = number, 0

    def clock(self) -> int:
        return START + 1000 * self.number

    def ids(self) -> str:
        self.drawn += 1
        return f"id-{self.number}-{self.drawn}"


def model(summary: str, messages: list[Message]) -> str:
    """The newest flights, in words of its own."""
    flights = re.findall(r"LH\d+", "\n".join([summary, *(message.text for message in messages)]))
    lines = [f"- User prefers flight {flight}" for flight in dict.fromkeys(flights[-8:])]
    return "\n".join([*lines, "- User plans trips, rooms and flights"])


def write(
    url: str, preset: str, first: int, last: int, *, wait: bool, say: Callable[[str], object], apart: bool = False
) -> None:
    """Add the messages first..last. With `wait` a model folds in line, else folds are instant; with `apart`, as the proxy does
    it, outside of the transaction that adds."""
    numbers = Numbered()
    with Memory(url, clock=numbers.clock, ids=numbers.ids, summarizer=model if wait else None) as memory:
        chat = memory.chat("c", preset=preset, context_window=400, system="You are terse.", wait=wait)
        for number in range(first, last + 1):
            numbers.begin(number)
            if apart:
                chat.append([parse(numbered(number))], apart=True)
                chat.fold_due()
            else:
                chat.add(numbered(number))
            say(f"n{number}")


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())  # one write: a killed process leaves whole lines


def serve() -> None:
    with tempfile.TemporaryDirectory() as folder:  # whatever loads on first use is loaded before the first fork
        write(f"sqlite:///{folder}/warm.db", "default", 1, 20, wait=False, say=lambda _: None)
    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if pid:
            os.waitpid(pid, 0)
            say("ended")
            continue
        try:
            os.environ["INFOLD_FAILPOINT"] = job["failpoint"]
            importlib.reload(failpoints)  # reads the variable, as a fresh process would
            say(f"pid {os.getpid()}")
            write(job["url"], job["preset"], 1, job["last"], wait=job["wait"], say=say, apart=job["apart"])
            say("done")
            if not job["failpoint"]:
                signal.pause()  # until the test kills
        except BaseException:
            say(f"error {json.dumps(traceback.format_exc())}")
        finally:
            os._exit(0)


if __name__ == "__main__":
    serve()
