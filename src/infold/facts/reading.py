"""From what was read of a message to the facts it states. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from infold.facts.attributes import BIOGRAPHICAL, CHOICE, TASTES
from infold.facts.slots import USER, Slot, slots_in
from infold.facts.statements import ASSISTANT, TOOL, Saying, Statement
from infold.folding.judge import words_of
from infold.folding.names import identifiers
from infold.folding.sentences import sentences
from infold.items import CLOSING, Candidate
from infold.messages import Message

QUOTED = 300  # characters of a quote, at most
_REMEMBERED = 160  # characters of a correction, at most
_BEFORE = 60  # characters of a tool's output before what it is quoted for
_BY_SECTION = {
    "facts": "fact", "goals": "goal", "decisions": "decision", "open": "commitment", "artifacts": "reference",
}  # fmt: skip
_LASTING = frozenset(["preference", "biography", "goal", "constraint", "commitment", "decision", "fact"])
_CORRECTS = re.compile(
    r"\b(?:actually|misspoke|correction|correcting|(?:was|were) (?:wrong|mistaken)|my mistake|(?:i|we) meant|scratch that|typo"
    r"|got (?:it|that) wrong|to correct|in fact it)\b",
    re.IGNORECASE,
)
_ASKS = ("?", "？", "؟")


def read(message: Message, candidates: Sequence[Candidate], chat: str) -> list[Statement]:
    """What a message states that lasts, of what was extracted from it. `chat` is the id of its chat."""
    speaker = _speaker(message)
    if not speaker:
        return []
    saying = (Saying(message.created_at, chat, message.seq, message.id, speaker),)
    text = message.text
    found: list[Statement] = []
    for candidate in candidates:
        if candidate.section == CLOSING or candidate.kind == "question" or candidate.said.rstrip().endswith(_ASKS):
            continue
        quote = _tool_quote(text, candidate.text) if speaker == TOOL else _quote(text, candidate.said or candidate.text)
        replaces = candidate.replaces
        if not replaces and _CORRECTS.search(candidate.said):
            replaces = candidate.said[:_REMEMBERED].lower()
        for told, slot in _told(message, candidate):
            subject, attribute, value = (slot.subject, slot.attribute, slot.value) if slot else ("", "", "")
            kind = _kind(candidate, slot, told)
            sure = candidate.confidence
            found.append(Statement(told, kind, subject, attribute, value, quote, sure, replaces, speaker, saying))
    return found


def _speaker(message: Message) -> str:
    """Who speaks; empty for those who state no facts."""
    if message.role == "user":
        return message.name or "user"
    return message.role if message.role in (ASSISTANT, TOOL) else ""


def _told(message: Message, candidate: Candidate) -> list[tuple[str, Slot | None]]:
    """The texts of a candidate, each with its slot; a named speaker is told by name."""
    if message.role == TOOL:
        return [(candidate.text, None)]
    decides = candidate.kind in ("decision", "reversal")
    name = message.name if message.role == "user" else None
    if not name or name == USER:
        return [*slots_in(candidate.text, candidate.said, decides)] or [(candidate.text, None)]
    own = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    slots = slots_in(own.sub(USER, candidate.text), candidate.said, decides)
    if not slots:
        return [(candidate.text, None)]

    def back(told: str) -> str:
        return re.sub(r"\bUser\b", lambda _: name, told)

    return [(back(told), Slot(back(slot.subject), slot.attribute, slot.value)) for told, slot in slots]


def _kind(candidate: Candidate, slot: Slot | None, told: str) -> str:
    """The kind of a fact, from what its reader took it for and what it turned out to state."""
    kind = candidate.kind or _BY_SECTION.get(candidate.section, "fact")
    if slot and kind in ("fact", "constraint", "reversal", "artifact", "preference"):
        if slot.attribute in TASTES:
            return "preference"
        if slot.attribute in BIOGRAPHICAL:
            return "biography"
    if kind == "fact":
        return "biography" if not slot and told.startswith(USER) else "fact"
    if kind == "reversal":
        if slot and slot.attribute != CHOICE:
            return "fact"
        return {"goals": "preference", "facts": "fact"}.get(candidate.section, "decision")
    return kind if kind in _LASTING else "reference"


def _quote(text: str, said: str) -> str:
    """The part of a message that a sentence stands for, as it is written there."""
    at = text.find(said)
    if at < 0:
        # Spacing, emphasis and typographic apostrophes are evened out before a message is read.
        parts = (re.escape(word).replace("'", "['’]") for word in said.split())
        match = re.search(r"[\s*_`>#-]+".join(parts), text.replace("\0", " ")) if said else None
        at, end = match.span() if match else _nearest(text, said)
    else:
        end = at + len(said)
    return _cut(text[at:end])


def _nearest(text: str, said: str) -> tuple[int, int]:
    """Where the sentence stands that shares most words with another, the first of several."""
    wanted = words_of(said.lower())
    best, where, start = 0, (0, len(text)), 0
    for sentence in sentences(text):
        at = text.find(sentence, start)
        if at < 0:
            continue
        start = at + len(sentence)
        shared = len(wanted & words_of(sentence.lower()))
        if shared > best:
            best, where = shared, (at, start)
    return where


def _tool_quote(text: str, line: str) -> str:
    """A part of a tool's output around what it is remembered for."""
    places = [at for at in map(text.find, identifiers(line)) if at >= 0]
    start = max(0, min(places) - _BEFORE) if places and len(text) > QUOTED else 0
    return _cut(text[start:])


def _cut(text: str) -> str:
    """At most QUOTED characters from the beginning of a text, whole words if possible."""
    text = text.strip()
    if len(text) <= QUOTED:
        return text
    head = text[:QUOTED]
    return (head.rsplit(None, 1)[0] if " " in head else head).rstrip()
