"""Conversations with questions and the messages that answer them: our own (bench/talks), and LoCoMo's, read from a path.

python -m bench.recall_data checks our own.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from infold.recall.segment import Said
from infold.recall.words import term, words

KINDS = ("single", "several", "time", "open")
"""What questions ask for: one message, several, a time, something to be inferred."""
OURS = Path(__file__).parent / "talks"
_LOCOMO = {1: "several", 2: "time", 3: "open", 4: "single"}
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")
_DAY = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Evidence:
    """A message that holds an answer; of a long one, the characters that do."""

    seq: int
    start: int = 0
    end: int = 0
    """0 where it is the whole message."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the messages that hold its answer."""

    text: str
    kind: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation with its questions."""

    name: str
    kind: str
    messages: list[Said]
    questions: list[Question]
    asker: str = ""
    """Who asks, where that is one of its speakers."""

    @property
    def asked_at(self) -> int:
        """The day after the last message."""
        return self.messages[-1].at + _DAY


def load(path: Path) -> list[Talk]:
    """The conversations of a folder in our layout, or of a file in LoCoMo's."""
    if path.is_dir():
        return [_ours(json.loads(one.read_text())) for one in sorted(path.glob("*.json"))]
    return [_locomo(found) for found in json.loads(path.read_text())]


def merged(talks: Sequence[Talk]) -> list[Talk]:
    """Longer conversations: the talks of each kind as one, their sessions by date, their people under the same names.

    So what is not asked for has the size of a real chat and is told by the same speakers.
    """
    groups: dict[str, list[Talk]] = {}
    for talk in talks:
        groups.setdefault(talk.kind, []).append(talk)
    return [_merge(kind, group) for kind, group in groups.items()]


def eased(talk: Talk) -> Talk:
    """A conversation with each question a second time, with one word of its evidence, neither its rarest nor its commonest.

    Our questions avoid the words of the answer; many that people ask do not.
    """
    held = Counter(number for said in talk.messages for number in {term(word) for word in words(said.text)})
    names = {term(word) for said in talk.messages for word in words(said.speaker)}
    more: list[Question] = []
    for asked in talk.questions:
        one = asked.evidence[0]
        text = talk.messages[one.seq - 1].text
        known = names | {term(word) for word in words(asked.text)}
        found = dict.fromkeys(words(text[one.start : one.end] if one.end else text))
        new = [word for word in found if term(word) not in known and word.isalpha() and len(word) > 3]
        new.sort(key=lambda word: (-held[term(word)], word))
        more += [replace(asked, text=f"{asked.text} {new[len(new) // 2]}")] if new else []
    return replace(talk, questions=[*talk.questions, *more])


def _merge(kind: str, group: Sequence[Talk]) -> Talk:
    names = list(dict.fromkeys(message.speaker for message in group[0].messages))
    every: list[tuple[int, int, Said]] = []
    asked: list[tuple[int, Question]] = []
    for number, talk in enumerate(group):
        others = list(dict.fromkeys(message.speaker for message in talk.messages))
        now = {name: names[at % len(names)] for at, name in enumerate(others)}
        pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, others))})\b")

        def renamed(text: str, now: dict[str, str] = now, pattern: re.Pattern[str] = pattern) -> str:
            return text if "user" in now else pattern.sub(lambda match: now[match[0]], text)

        moved = group[0].messages[0].at - talk.messages[0].at
        moved -= moved % _DAY  # at the same hours of the day
        for said in talk.messages:
            every.append(
                (
                    number,
                    said.seq,
                    replace(said, text=renamed(said.text), speaker=now[said.speaker], at=said.at + moved),
                )
            )
        asked += [(number, replace(one, text=renamed(one.text))) for one in talk.questions if not _dated(one.text)]
    every.sort(key=lambda one: one[2].at)
    place = {(number, seq): at + 1 for at, (number, seq, _) in enumerate(every)}
    messages = [replace(said, seq=at + 1) for at, (*_, said) in enumerate(every)]
    questions = [
        replace(one, evidence=tuple(_moved(found, number, place, group, messages) for found in one.evidence))
        for number, one in asked
    ]
    return Talk(f"all {kind}", kind, messages, questions, group[0].asker)


def _dated(text: str) -> bool:
    """Whether a question names a year or a month: in a merged conversation those have moved."""
    return re.search(r"\b(?:19|20)\d\d\b|January|February|March|April|May|June|July|August|September|October|November|December", text) is not None  # fmt: skip


def _moved(
    found: Evidence, number: int, place: dict[tuple[int, int], int], group: Sequence[Talk], messages: Sequence[Said]
) -> Evidence:
    seq = place[number, found.seq]
    if not found.end:
        return Evidence(seq)
    # A name before it may have become longer or shorter.
    slack = len(messages[seq - 1].text) - len(group[number].messages[found.seq - 1].text)
    return Evidence(seq, max(found.start + min(slack, 0), 0), found.end + max(slack, 0))


def _ours(found: dict[str, Any]) -> Talk:
    messages: list[Said] = []
    ids: dict[str, Said] = {}
    for session in found["sessions"]:
        when = int(datetime.fromisoformat(session["date"]).replace(tzinfo=UTC).timestamp())
        for at, turn in enumerate(session["messages"]):
            said = Said(len(messages) + 1, turn["text"], turn["speaker"], (when + 30 * at) * 1000)
            ids[turn["id"]] = said
            messages.append(said)
    questions = [
        Question(
            asked["text"],
            asked["kind"],
            tuple(_within(ids[one], asked.get("passage", "")) for one in asked["evidence"]),
        )
        for asked in found["questions"]
    ]
    asker = "user" if found["kind"] == "assistant" else ""
    return Talk(f"{found['kind']}-{found['name']}", found["kind"], messages, questions, asker)


def _within(said: Said, passage: str) -> Evidence:
    start = said.text.find(passage) if passage else -1
    return Evidence(said.seq, start, start + len(passage)) if start >= 0 else Evidence(said.seq)


def _locomo(found: dict[str, Any]) -> Talk:
    """Questions without an answer, or whose evidence names no message, are left out."""
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
        Question(asked["question"], _LOCOMO[asked["category"]], evidence)
        for asked in found["qa"]
        if asked["category"] in _LOCOMO and (evidence := _named(asked["evidence"], ids))
    ]
    return Talk(found["sample_id"], "locomo", messages, questions)


def _named(named: list[str], ids: dict[str, int]) -> tuple[Evidence, ...]:
    """Several ids in one string are taken apart, those of no message passed over."""
    every = [f"D{int(session)}:{int(turn)}" for one in named for session, turn in _EVIDENCE.findall(one)]
    return tuple(Evidence(seq) for seq in dict.fromkeys(ids[one] for one in every if one in ids))


def faults(found: dict[str, Any]) -> list[str]:
    """What is wrong with a conversation in our layout."""
    messages = [turn for session in found["sessions"] for turn in session["messages"]]
    texts = {turn["id"]: turn["text"] for turn in messages}
    wrong = [f"{turn['id']}: unknown speaker" for turn in messages if turn["speaker"] not in found["speakers"]]
    if len(texts) < len(messages):
        wrong.append("two messages have one id")
    if [one["date"] for one in found["sessions"]] != sorted(one["date"] for one in found["sessions"]):
        wrong.append("sessions are not in their order")
    for asked in found["questions"]:
        known = [texts[one] for one in asked["evidence"] if one in texts]
        if not known or len(known) < len(asked["evidence"]) or len(set(asked["evidence"])) < len(known):
            wrong.append(f"{asked['text']}: evidence is none, unknown or named twice")
        if asked["kind"] not in KINDS:
            wrong.append(f"{asked['text']}: unknown kind")
        if "passage" in asked and not any(asked["passage"] in text for text in known):
            wrong.append(f"{asked['text']}: its passage is in none of its evidence")
    return wrong


if __name__ == "__main__":
    for path in sorted(OURS.glob("*.json")):
        wrong = faults(json.loads(path.read_text()))
        print(f"{path.name}: {'; '.join(wrong) or 'fine'}")
