"""Conversations with questions and the messages that answer them, in the layout of LoCoMo; read from a path, never kept."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from infold.recall.segment import Said

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop"}
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the seqs of the messages that hold its answer."""

    text: str
    category: int
    evidence: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation with its questions."""

    name: str
    messages: list[Said]
    questions: list[Question]

    @property
    def asked_at(self) -> int:
        """The day after the last message."""
        return self.messages[-1].at + 24 * 3600 * 1000


def load(path: Path) -> list[Talk]:
    """The conversations of a file; questions without an answer, or whose evidence names no message, are left out."""
    return [_talk(found) for found in json.loads(path.read_text())]


def _talk(found: dict[str, Any]) -> Talk:
    every = found["conversation"]
    numbers = sorted(int(match[1]) for key in every if (match := _SESSION.fullmatch(key)))
    messages: list[Said] = []
    ids: dict[str, int] = {}
    for number in numbers:
        when = datetime.strptime(every[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for at, turn in enumerate(every[f"session_{number}"]):
            said = Said(len(messages) + 1, turn["text"], turn["speaker"], int(when.timestamp() + 30 * at) * 1000)
            ids[turn["dia_id"]] = said.seq
            messages.append(said)
    questions = [
        Question(asked["question"], asked["category"], evidence)
        for asked in found["qa"]
        if asked["category"] in CATEGORIES and (evidence := _evidence(asked["evidence"], ids))
    ]
    return Talk(found["sample_id"], messages, questions)


def _evidence(named: list[str], ids: dict[str, int]) -> tuple[int, ...]:
    """Several ids in one string are taken apart, those of no message passed over."""
    every = [f"D{int(session)}:{int(turn)}" for one in named for session, turn in _EVIDENCE.findall(one)]
    return tuple(dict.fromkeys(ids[one] for one in every if one in ids))
