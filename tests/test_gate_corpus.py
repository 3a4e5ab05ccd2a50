"""A corpus of proposed lines of memory: what the gate lets through, and why it does not."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from infold.folding.gate import Verdict, judge
from infold.lines.kinds import PINNED
from infold.lines.line import Line
from infold.messages import Message

CORPUS = Path(__file__).parent / "corpus" / "gate.toml"
MONDAY = "2026-05-04"
OLDER = 1000  # memory comes from earlier messages
KEYS = {
    "says",
    "messages",
    "line",
    "lines",
    "fails",
    "memory",
    "pins",
    "paraphrase",
    "doubted",
}
DOUBT = "its sources may say the opposite"
REASONS = {
    "number", "date", "identifier", "name", "negation", "modality", "unsupported", "transcript", "reply", "refusal",
    "prompt", "copy", "pin", "size",
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """Messages, what was proposed as their summary, and what the gate must say of it."""

    messages: tuple[Message, ...]
    lines: tuple[Line, ...]
    fails: tuple[str, ...]
    memory: tuple[Line, ...]
    pins: tuple[Line, ...]
    paraphrase: bool
    doubted: bool

    def verdict(self) -> Verdict:
        return judge(self.lines, self.messages, self.memory, pins=self.pins)


def read_case(table: dict[str, Any]) -> Case:
    """A case as the file has it; an unknown key is a mistake in the file."""
    assert set(table) <= KEYS, f"unknown keys {set(table) - KEYS} in {table}"
    told = table.get("messages") or [{"text": table["says"]}]
    lines = table.get("lines") or [{"text": table["line"]}]
    fails = [line.get("fails", "") for line in lines]
    if "fails" in table:
        fails[0] = table["fails"]
    assert set(fails) <= REASONS | {""}, f"unknown reason in {table}"
    return Case(
        tuple(message(at, one) for at, one in enumerate(told, start=1)),
        tuple(Line("", one.get("section", "facts"), one["text"], tuple(one.get("cites", [1]))) for one in lines),
        tuple(fails),
        tuple(
            Line(f"1.{at}", one.get("section", "facts"), one["text"], tuple(one.get("sources", [at])))
            for at, one in enumerate(table.get("memory", ()), start=1)
        ),
        tuple(Line(f"p{at}", PINNED, text, ()) for at, text in enumerate(table.get("pins", ()))),
        table.get("paraphrase", False),
        table.get("doubted", False),
    )


def message(seq: int, told: dict[str, Any]) -> Message:
    """A message of a case."""
    at = datetime.fromisoformat(told.get("at", MONDAY)).replace(hour=10, tzinfo=UTC)
    return Message(told.get("role", "user"), told["text"], seq=seq, created_at=int(at.timestamp() * 1000))


def readable(number: int, case: Case) -> str:
    """An id that says what is expected of which line."""
    said = case.lines[-1].text
    plain = unicodedata.normalize("NFKD", said).encode("ascii", "ignore").decode().lower()
    start = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:44].strip("-")
    expected = "-".join(dict.fromkeys(filter(None, case.fails))) or "sound"
    return f"{number:03d}-{expected}-{start or 'han'}"


CASES = [read_case(table) for table in tomllib.loads(CORPUS.read_text(encoding="utf-8"))["case"]]
each_case = pytest.mark.parametrize("case", [pytest.param(c, id=readable(n, c)) for n, c in enumerate(CASES, start=1)])


def test_F3_the_corpus_is_broad_enough() -> None:
    assert len(CASES) >= 110
    assert sum(case.paraphrase and not any(case.fails) and not case.doubted for case in CASES) >= 40
    assert sum(case.doubted for case in CASES) * 20 <= len(CASES), "doubt is rare"
    abroad = [
        case
        for case in CASES
        if not case.messages[0].text.isascii() or re.search(r"\b(?:Die|Das|Le|El|La|Wir)\b", case.messages[0].text)
    ]
    assert len(abroad) >= 30
    per_reason = Counter(reason for case in CASES for reason in case.fails if reason)
    assert set(per_reason) >= REASONS - {"size"}, per_reason


@each_case
def test_F3_gate(case: Case) -> None:
    verdict = case.verdict()
    failed = [(one.reason, one.detail) for one in verdict.findings if one.action == "dropped"]
    doubts = [one for one in failed if one[1] == DOUBT] if case.doubted else []
    assert bool(doubts) == case.doubted
    assert sorted(reason for reason, _ in failed) == sorted(
        [*filter(None, case.fails), *(["negation"] * len(doubts))]
    ), failed
    sure = len(failed) - len(doubts)
    assert verdict.ok == (sure * 2 <= len(case.lines)) or (doubts and not verdict.lines)


EXCHANGES = CORPUS.with_name("exchanges.txt")


@dataclass(frozen=True)
class Told:
    """A line about a chat, and whether it is right."""

    chat: tuple[Message, ...]
    text: str
    cites: tuple[int, ...]
    right: bool


def read_exchanges() -> list[Told]:
    """The lines of all chats in the file."""
    found: list[Told] = []
    for block in EXCHANGES.read_text(encoding="utf-8").split("\n\n"):
        rows = [row for row in block.splitlines() if row and row[0] != "#"]
        said = [row[2:] for row in rows if row[0] in "ua"]
        chat = tuple(message(at, {"text": text}) for at, text in enumerate(said, start=1))
        for row in rows:
            if row[0] in "=!":
                mark, cites, text = row.split(" ", 2)
                found.append(Told(chat, text, tuple(map(int, cites.split(","))) if cites != "-" else (), mark == "="))
    return found


def passes(told: Told, chat: tuple[Message, ...], by: int = 0) -> bool:
    """Whether a line is committed as the summary of a chat in which its own begins so many messages later."""
    line = Line("", "facts", told.text, tuple(seq + by for seq in told.cites))
    return any(one.text == told.text for one in judge([line], chat).lines)


def doubted(told: Told) -> bool:
    """Whether a line is dropped only because it may be denied there."""
    findings = judge([Line("", "facts", told.text, told.cites)], told.chat).findings
    return {one.detail for one in findings if one.action == "dropped"} == {DOUBT}


def test_F3_values_that_were_exchanged_are_told_from_those_that_were_not() -> None:
    lines = read_exchanges()
    right, wrong = [one for one in lines if one.right], [one for one in lines if not one.right]
    assert len(right) >= 120
    assert len(wrong) >= 100
    failing = [one for one in right if not passes(one, one.chat)]
    assert [one.text for one in failing if not doubted(one)] == []
    assert len(failing) * 20 <= len(right), "doubt is rare"
    caught = sum(not passes(one, one.chat) for one in wrong)
    assert caught / len(wrong) >= 0.65, caught


def test_F3_other_talk_before_a_chat_makes_no_line_wrong() -> None:
    lines = [one for one in read_exchanges() if one.right]
    for one, other in zip(lines, [*lines[50:], *lines[:50]], strict=True):
        before = [replace(each, seq=at) for at, each in enumerate(other.chat, start=1)]
        after = [replace(each, seq=each.seq + len(before)) for each in one.chat]
        assert passes(one, (*before, *after), len(before)) or doubted(one), one.text
