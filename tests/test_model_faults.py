"""Whatever a provider does, memory stays true, no message is lost, and the chat goes on."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any

import openai  # noqa: F401  loaded before the first call, whose time is short
import pytest

from infold import Chat, Memory, Model
from infold.models import caller
from tests.conftest import assistant, user
from tests.test_summarizer import assert_nothing_lost, failures, fold_rows
from tests.upstream import Step, Upstream, step

KINDS = [("rolling", False, 8192), ("chain", True, 400), ("default", False, 400)]
MESSAGES = 22
BOUND = 20  # seconds for a whole chat on a slow machine; a call that nobody ends takes a minute
SHORT = 0.2


@dataclass(frozen=True)
class Fault:
    """A way to fail, and what is to be seen of it."""

    name: str
    error: str = ""
    """Of the event; none where the fault is no failure."""
    verdict: str = ""
    reason: str = ""
    """Of the gate."""
    timeout: float = 20
    most: int = 1000
    """Requests that may be made."""

    @property
    def steps(self) -> list[Step]:
        name, _, wait = self.name.partition(":")
        return [step(name, forever=True, **({"retry_after": float(wait)} if wait else {}))]


FAULTS = [
    Fault("timeout", "TransportError", timeout=SHORT, most=6),
    Fault("drip", "TransportError", timeout=SHORT, most=6),
    Fault("refused", "TransportError", timeout=SHORT),
    Fault("reset", "TransportError", most=6),
    Fault("429:60", "TransportError", most=1),
    Fault("500", "TransportError", most=6),
    Fault("503", "TransportError", most=6),
    Fault("401", "DeniedError", most=1),
    Fault("404", "DeniedError", most=1),
    Fault("context_length", "TooLargeError"),
    Fault("truncated", "TooLargeError"),
    Fault("empty", "BadAnswerError"),
    Fault("null", "BadAnswerError"),
    Fault("html", "BadAnswerError"),
    Fault("huge", "BadAnswerError"),
    Fault("refusal", "BadAnswerError"),
    Fault("malformed", "AnswerError"),
    Fault("text", "AnswerError"),
    Fault("wrong_schema", "AnswerError"),
    Fault("invented_numbers", "RejectedError", "rejected", "failures"),
    Fault("flipped", "RejectedError", "rejected", "negation"),
    Fault("echo", "RejectedError", "rejected", "failures"),
    Fault("prompt_echo", "RejectedError", "rejected", "failures"),
    Fault("lost", "", "accepted"),
    Fault("extra_sources", "", "accepted"),
    Fault("fenced", "", "accepted"),
    Fault("good", "", "accepted"),
]
NEVER = (
    "many more statements", "talked about several", "They talked", "I'm sorry", "can't help", "It works", "You keep",
    "You are an expert", "JSON", "schema", "user (", "assistant (", "user:", "assistant:",
)  # fmt: skip


def said(number: int) -> dict[str, Any]:
    """Message n of a conversation in which every message states something."""
    if number % 2:
        return user(f"My ticket number for leg {number} is FACT-{1200 + number}.")
    return assistant(f"I must not book seat {700 + number} before Anna agrees.")


def talk(chat: Chat, first: int, last: int) -> None:
    for number in range(first, last + 1):
        chat.add(said(number), id=f"m{number}")
        context = chat.context()
        assert context.tokens <= context.budget


def assert_true(summary: str) -> None:
    """Nothing in memory but what was said."""
    for line in summary.splitlines():
        if "FACT" in line:
            leg, fact = (int(value) for value in re.findall(r"leg (\d+)\D+FACT-(\d+)", line)[0])
            assert fact == 1200 + leg, line
            assert not re.search(r"\bnot\b|n't|true", line), line
        elif "seat" in line:
            assert re.search(r"\bnot\b|n't", line), line
            assert 700 < int(re.findall(r"seat (\d+)", line)[0]) < 800, line
        elif line and not line.startswith("#"):
            pytest.fail(f"nobody said {line!r}")
    assert not [phrase for phrase in NEVER if phrase in summary]


def verdicts(chat: Chat) -> list[dict[str, Any]]:
    return [event.data for event in chat.events() if event.type == "gate"]


@pytest.mark.parametrize(("preset", "wait", "window"), KINDS, ids=[kind[0] for kind in KINDS])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_F9_whatever_a_provider_does(
    upstream: Upstream, nobody: str, url: str, monkeypatch: pytest.MonkeyPatch, fault: Fault, preset: str, wait: bool,
    window: int,
) -> None:  # fmt: skip
    monkeypatch.setattr(caller, "BACKOFF", 0.01)
    if fault.name != "refused":
        upstream.script(fault.steps)
    server = nobody if fault.name == "refused" else upstream.url
    started = time.monotonic()
    with Memory(url, model=Model("gpt-test", base_url=server, timeout=fault.timeout)) as memory:
        chat = memory.chat("c", preset=preset, context_window=window, wait=wait)
        talk(chat, 1, MESSAGES - 2)
        chat.settle()
        talk(chat, MESSAGES - 1, MESSAGES)
        chat.settle()
        assert time.monotonic() - started < BOUND
        assert_true(chat.summary)
        assert_nothing_lost(memory, chat, MESSAGES)
        assert len(upstream.requests()) <= fault.most
        errors, judged = [data["error"] for data in failures(chat)], verdicts(chat)
        assert errors[:1] == ([fault.error] if fault.error else [])
        assert [data["verdict"] for data in judged[:1]] == ([fault.verdict] if fault.verdict else [])
        assert not fault.reason or fault.reason in judged[0]["reasons"]
        authors = {row[4] for row in fold_rows(url) if row[5] is None and row[1] is not None}
        if not fault.error:
            assert authors == {"summarizer"}
        elif preset == "chain":
            assert not chat.records
            assert authors == set()
        else:
            assert authors == {"extractive"}
        if preset != "chain" or not fault.error:
            assert "FACT-" in chat.summary
            last = chat.memory.cursor - 1 + chat.memory.cursor % 2
            assert fault.name == "lost" or f"FACT-{1200 + last}" in chat.summary  # what a model leaves out is out


@pytest.mark.parametrize(("preset", "wait", "window"), KINDS, ids=[kind[0] for kind in KINDS])
def test_B7_a_short_wish_to_wait_is_granted_and_the_call_made_again(
    upstream: Upstream, url: str, preset: str, wait: bool, window: int
) -> None:
    upstream.script([step("429", retry_after=0.6)])
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = memory.chat("c", preset=preset, context_window=window, wait=wait)
        talk(chat, 1, MESSAGES)
        chat.settle()
        assert not failures(chat)
        first, second = upstream.requests()[:2]
        assert first["body"] == second["body"]
        assert second["at"] - first["at"] >= 0.6
        assert chat.usage().calls[0].outcome == "transport"
        assert_true(chat.summary)
        assert_nothing_lost(memory, chat, MESSAGES)


@pytest.mark.parametrize("fault", ["503", "malformed", "flipped"])
def test_B7_after_a_failure_in_line_the_next_fold_covers_everything(
    upstream: Upstream, url: str, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """The chain leaves its messages alone; once the model is well again, they are folded by it."""
    monkeypatch.setattr(caller, "BACKOFF", 0.01)
    upstream.script([fault, fault] if fault == "503" else [fault])
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = memory.chat("c", preset="chain", context_window=400, wait=True)
        number = 0
        while not failures(chat):
            number += 1
            talk(chat, number, number)
        assert not chat.records
        while not chat.records:
            number += 1
            talk(chat, number, number)
        assert len(chat.records) == 1
        assert_true(chat.summary)
        assert_nothing_lost(memory, chat, number)
