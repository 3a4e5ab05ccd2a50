"""The LLM-free reading of a message: its durable statements, and its one-line digest. Pure, deterministic."""

from __future__ import annotations

import math
import re

from infold.folding.cues import CLOSERS, cue_names, foreign, weigh, words_of
from infold.folding.dates import resolve
from infold.folding.judge import kinds_of, tokens, worth
from infold.folding.likeness import GENERIC, words
from infold.folding.names import identifiers
from infold.folding.reversals import anew, bygone, outcome
from infold.folding.sentences import clauses, clean, sentences
from infold.folding.telling import lead_stripped, shorten, tell
from infold.folding.toolvalues import tool_line
from infold.items import CLOSING, Candidate
from infold.messages import Message

# What is read of one message. Tool output is capped harder: its dump is not memory.
READ_CHARS = 6000
TOOL_CHARS = 8000
MAX_ITEMS = 8
TOOL_CONFIDENCE = 0.7
LEAST = {True: 0.5, False: 1.0}  # worth of a sentence that is kept, of a user and of an assistant
STEADY = 2.0  # how far from a reversal a sentence is that cannot be one
SHORT_LEAST = 1.0  # of three words or less
CLOSING_LEAST = -1.5  # and of one that may close an open item

_SECTION = {
    "question": "open", "commitment": "open", "decision": "decisions", "reversal": "decisions", "constraint": "facts",
    "preference": "goals", "goal": "goals", "fact": "facts", "biography": "facts", "artifact": "artifacts",
}  # fmt: skip
_LASTING = frozenset(["constraint", "preference", "fact", "biography"])
_POINTS_BACK = re.compile(r"\b(?:it|that|this|them|these|those|they|which|that's|it's|this is)\b", re.IGNORECASE)
# "The kick-off? 14 March": a topic put as a question.
_INTERROGATIVE = re.compile(
    r"^(?:and |so |but |ok(?:ay)?,? |hey,? |hm+,? |wait,? )*(?:who|what|when|where|why|how|which|whose|if|suppose|imagine|is|are|was|were|do|does|did|can|could|will|would|should|shall|may|might|have|has|had|am|any)\b",
    re.IGNORECASE,
)
_ASKED_FOR = re.compile(r"\b(?:can|could|would|will|might) (?:you|we|i)\b|^please\b", re.IGNORECASE)
_FAREWELL = re.compile(
    r"^(?:thanks|thank you|cheers|bye|great|perfect|ok|okay|cool|nice|good|hi|hello|hey|sorry|lol|haha|wow|sure)\b",
    re.IGNORECASE,
)
_DUE = re.compile(
    r"\b(?:by|before|until|till|on|due|this|next|target|latest|end of)\b.{0,24}\b(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|weekend|week|month|noon|tonight|january|february|march|april|may|june|july|august|september|october|november|december|\d{1,2})|\btomorrow\b"
)
_FOREIGN_ORDER = ("question", "reversal", "decision", "constraint", "preference", "goal", "commitment", "biography")
_MOST_WORDS = 20
_TURNABLE = frozenset(["fact", "goal", "preference", "artifact"])
_TURNING = frozenset(
    ["reversal", "decision", "fact", "goal", "artifact"]
)  # that are a change of mind if they speak of one
_ABOUT_USER = re.compile(r"User (?:(?:now|no longer|doesn't|has|is) )*(?:lives?|liv(?:es|ing)|moved|works?|working|in\b|prefers?|likes?|drinks?|eats?|speaks?|married|single)|User's (?:name|job|address|last name)\b")
_NO_LONGER = re.compile(r"\bno longer\b|\bany ?more\b")
_NOW = re.compile(
    r"\b(?:now|it is|it's|becomes?|is in|are in|go(?:ing)? (?:for|with)|taking|instead|switch\w*|settled|from here on|from now on)\b",
    re.IGNORECASE,
)
_LEANING = frozenset(
    ["question", "decision", "reversal", "commitment", "artifact"]
)  # that may need the sentence before
_ASKABLE = frozenset(["preference", "constraint", "commitment"])  # that may be said as a request
_LASTS = frozenset(["always", "future", "onwards", "now"])
_WHOLE = frozenset(["reversal", "decision", "commitment", "question"])  # whose clauses lean on each other


def extract(message: Message) -> list[Candidate]:
    """The durable statements of one message, in the order they stand there."""
    if message.role in ("system", "developer"):
        return []
    sources = (message.seq,) if message.seq else ()
    if message.role == "tool":
        line = tool_line(message.text[:TOOL_CHARS])
        return [Candidate("artifacts", line, sources, confidence=TOOL_CONFIDENCE)] if line else []
    reader = _Reader(message, sources)
    for sentence in _joined(sentences(clean(message.text[:READ_CHARS]))):
        reader.read(sentence)
        if len(reader.found) >= MAX_ITEMS:
            break
    return reader.found


def _joined(found: list[str]) -> list[str]:
    """Sentences with what only continues them: topics put as questions, and short afterthoughts."""
    whole: list[str] = []
    for sentence in found:
        if whole and whole[-1].endswith("?"):
            if len(whole[-1].split()) <= 6 and ":" not in whole[-1] and not _INTERROGATIVE.match(whole[-1]):
                whole[-1] = f"{whole[-1][:-1].rstrip()}: {sentence}"
                continue
        elif (
            whole
            and len(sentence.split()) <= (4 if len(whole[-1]) < 40 else 3)
            and len(whole[-1]) < 120
            and not sentence.endswith("?")
            and not whole[-1].endswith(":")
            and not _FAREWELL.match(sentence)
        ):
            whole[-1] = f"{whole[-1].rstrip('.!')} – {sentence}"
            continue
        whole.append(sentence)
    return whole


class _Reader:
    """Reads the sentences of one message in their order."""

    def __init__(self, message: Message, sources: tuple[int, ...]) -> None:
        self.by_user = message.role == "user"
        self.speaker = message.name or "User" if self.by_user else "Assistant"
        self.listener = "Assistant" if self.by_user else "User"
        self.at = message.created_at
        self.sources = sources
        self.found: list[Candidate] = []
        self.previous = ""
        self.overturned = ""
        self.kept = ""
        """The last sentence that gave an item."""

    def read(self, sentence: str) -> None:
        previous, self.previous = self.previous, sentence
        stripped = lead_stripped(sentence)
        if len(stripped) < 4:
            return
        asks = sentence.endswith(("?", "？"))
        low = stripped.lower()
        said = words_of(low)
        if foreign(low, said):
            self._foreign(stripped, low, said, asks)
            return
        found = tokens(stripped)
        value = worth(found, self.by_user)
        if value < CLOSING_LEAST and said.isdisjoint(CLOSERS) and not (asks and self.by_user):
            return
        weights = weigh(low, said)
        kind, other, steady = kinds_of(found, self.by_user, cue_names(weights))
        if (
            asks
            and (weights.get("question", 0) >= 3 or (kind == "question" and value > 1))
            and not (weights.get("request") or weights.get("unreal") or _INTERROGATIVE.match(stripped))
        ):
            kind, value = "question", max(value, 1.0)
        elif asks and not (
            (kind in ("preference", "constraint", "reversal") or weights.get("reversal", 0) >= 3)
            and _ASKED_FOR.search(stripped)
        ):
            head = stripped.rpartition(",")[0]  # "Just sent it, anything else?"
            if head and not _INTERROGATIVE.match(head) and not weights.get("request"):
                self.read(head)
            return
        kind = _settled(kind, weights, said)
        if weights.get("request", 0) >= 3 and kind not in _ASKABLE and weights.get("reversal", 0) < 3:
            return
        if self.by_user or kind == "commitment":
            value += _push(weights, kind)
        closes = kind == "done" or weights.get("done", 0) >= 2 or weights.get("answer", 0) >= 2
        least = LEAST[self.by_user] if len(found) > 5 or max(weights.values(), default=0) >= 3 else SHORT_LEAST
        if kind == "reversal":
            least -= 1.0  # what it overturns must not stay
        if self.by_user and not asks and kind in ("question", "commitment") and weights.get(kind, 0) < 2:
            least += 1.0  # open for long: better be sure
        if kind == "commitment" and weights.get("done", 0) >= 3 and not _DUE.search(low):
            kind = "done"
        if (
            kind == "done"
            and weights.get("reversal", 0) >= 3
            and (weights.get("done", 0) < 3 or weights.get("decision", 0) >= 2)
        ):
            kind = "reversal"
        if value < least:
            if closes:
                self._close(sentence)
            return
        tentative = kind == "done"
        if tentative:  # and what it is where it closes nothing
            kind = other if other not in ("question", "commitment", "done") else "fact"
            value -= 1.5
        if (
            kind == "reversal"
            and weights.get("commitment", 0) >= 3
            and weights.get("decision", 0) < 2
            and _DUE.search(low)
        ):
            kind = "commitment"  # "Kenji will cancel the subscription by Friday"
        if (
            kind == "reversal"
            and (weights.get("constraint", 0) >= 3 or _NO_LONGER.search(low))
            and "," not in stripped
            and weights.get("decision", 0) < 2
        ):
            kind = "constraint"  # "no longer", and nothing in its place
        told = stripped if weights.get("reversal", 0) >= 3 else self._gist(stripped, kind)
        thin = (
            len(words(told) - GENERIC) < 2
            or _POINTS_BACK.match(stripped) is not None
            or (kind == "question" and previous.endswith("?"))
        )
        if kind in _LEANING and thin and self.kept != previous and self._leads(previous, kind):
            told = f"{lead_stripped(previous).rstrip('.!? ')}: {told}"
            sentence = f"{previous} {sentence}"
        gone = ""
        turned, top = weights.get("reversal", 0), max(weights.values(), default=0)
        if (
            kind == "reversal"
            or (kind == "decision" and (turned >= 3 or other == "reversal"))
            or (other == "reversal" and kind != "commitment" and bygone(sentence))
            or (turned >= 3 and (kind in _TURNABLE or _NOW.search(told) or self.by_user))
        ):
            holds, gone = outcome(told)
            changes = kind in _TURNING or (kind not in ("commitment", "question") and holds != told and anew(holds))
            if changes and not _loses(told, holds):
                kind, told, gone = "reversal", holds, gone or sentence[:160].lower()
            else:
                gone = ""
        if kind in ("decision", "reversal", "fact") and previous and self.overturned == previous:
            if self.found and self.kept == previous:
                self.found.pop()  # two sentences, one change
            gone, kind = f"{previous[:160].lower()} {gone}".strip(), "reversal"
        if gone or (turned >= 3 and bygone(sentence)):
            self.overturned = sentence
        line = tell(told, sentence, self.speaker, self.listener, kind, self.at)
        content, shapes = sum(not word[0].isdigit() for word in words(line) - GENERIC), tokens(line)
        if _UNSAID.search(line) or (content < 2 and len(shapes) < 8 and not _EXACTLY.intersection(shapes) and top < 3):
            return
        named = bool(_EXACTLY.intersection(shapes)) or (content and kind in ("question", "commitment"))
        if not named and (not content or (content < 2 and not gone and _POINTS_BACK.search(line))):
            if closes or gone:
                self._close(sentence)
            return
        confidence = 1 / (1 + math.exp(-value / 2))
        section = _SECTION[kind]
        if (
            kind == "decision"
            and self.found
            and self.kept == previous
            and self.found[-1].section == "decisions"
            and not gone
        ):
            line = shorten(f"{self.found.pop().text}; {line}", f"{previous} {sentence}")  # two sentences, one decision
        self.kept = self.previous
        if kind == "reversal" and _ABOUT_USER.match(line):  # of what is not a decision
            section = "goals" if weights.get("preference", 0) >= 3 else "facts"
        doubtful = steady < STEADY or bygone(sentence) or anew(sentence)
        doubt = sentence[:160].lower() if doubtful and not gone and kind not in ("commitment", "question") else ""
        self.found.append(
            Candidate(section, line, self.sources, kind in _LASTING, gone, closes, confidence, tentative, doubt)
        )

    def _leads(self, previous: str, kind: str) -> bool:
        """Whether a sentence is what the next one points back to."""
        if not 0 < len(previous) < 90:
            return False
        if previous.endswith("?"):
            return kind == "question" and "you" not in words_of(previous.lower())
        return worth(tokens(previous), self.by_user) > 0

    def _close(self, sentence: str) -> None:
        said = " ".join(sorted(words(sentence) - GENERIC)[:16])
        if said:
            self.found.append(Candidate(CLOSING, said, self.sources, closes=True))

    def _foreign(self, text: str, low: str, said: frozenset[str], asks: bool) -> None:
        """Other languages by their explicit marks alone, in the words they were said in."""
        weights = weigh(low, said, abroad=True)
        known = [kind for kind in _FOREIGN_ORDER if weights.get(kind, 0) >= 3 and (not asks or kind == "question")]
        kind = known[0] if known else "artifact" if identifiers(text) and not asks else ""
        if kind:
            line = shorten(resolve(_told_abroad(text).strip(" .!。！"), self.at), text)
            section = _SECTION[kind]
            self.found.append(
                Candidate(
                    section, line, self.sources, kind in _LASTING, low[:160] if kind == "reversal" else "", False, 0.8
                )
            )

    def _gist(self, text: str, kind: str) -> str:
        """The clauses of a sentence that carry it, at most _MOST_WORDS words of them."""
        parts = clauses(text)
        if len(parts) == 1:
            return text
        value: list[float] = []
        for part in parts:
            found = tokens(part)
            outright = weigh(part.lower(), words_of(part.lower())).get(kind, 0) >= 3
            value.append(worth(found, self.by_user) + exactness(found) + 2 * outright)
        best = value.index(max(value))
        kept = {best}
        if best and _POINTS_BACK.search(parts[best]):
            kept.add(best - 1)
        size = sum(len(parts[at].split()) for at in kept)
        least = -9 if kind in _WHOLE else 0
        for at in sorted(range(len(parts)), key=lambda at: (-value[at], at)):
            more = len(parts[at].split())
            if at not in kept and value[at] > least and size + more <= _MOST_WORDS:
                kept.add(at)
                size += more
        return ", ".join(parts[at] for at in sorted(kept))


def _settled(kind: str, weights: dict[str, int], said: frozenset[str]) -> str:
    """The kind of a sentence, where outright words leave no doubt."""
    if weights.get("preference", 0) >= 2 and not said.isdisjoint(_LASTS) and kind in ("commitment", "decision", "goal"):
        return "preference"
    if kind == "preference" and "never" in said:
        return "fact" if "been" in said else "constraint" if "we" in said else kind
    if kind == "decision" and weights.get("goal", 0) >= 3 and weights.get("decision", 0) < 2:
        return "goal"
    return kind


def _push(weights: dict[str, int], kind: str) -> float:
    """What outright words add to the worth of a sentence, or take from it."""
    push = 0.0
    if weights.get(kind, 0) >= (2 if kind == "reversal" else 3):
        push += 1.5 if kind == "reversal" else 1.0
    if weights.get("unreal", 0) >= 3:
        push -= 1.5
    if weights.get("remark", 0) >= 3:
        push -= 3.0
    if weights.get("request", 0) >= 3 and not (
        kind in ("preference", "constraint", "reversal") and weights.get(kind, 0) >= 2
    ):
        push -= 2.0
    return push


_ABROAD = [
    (re.compile(pattern, re.IGNORECASE), put)
    for pattern, put in (
        (r"\bich bin\b", "User ist"), (r"\bich habe\b", "User hat"), (r"\bich\b", "User"), (r"\bmeine?\b", "Users"),
        (r"\bje suis\b", "User est"), (r"\bj'ai\b", "User a"), (r"\bj'", "User "), (r"\bje\b", "User"),
        (r"^soy\b", "User es"), (r"^tengo\b", "User tiene"), (r"^prefiero\b", "User prefiere"), (r"\byo\b", "User"),
        (r"我们|我", "用户"),
    )
]  # fmt: skip


def _told_abroad(text: str) -> str:
    for pattern, put in _ABROAD:
        text = pattern.sub(put, text)
    return text


_EXACTLY = frozenset(["§id", "§name", "§amount"])
_UNSAID = re.compile(r"\b(?:said|says|goes|wrote|reads)$")  # a quotation stood here


def _loses(told: str, holds: str) -> bool:
    """Whether what is left out of a reversal names something exactly."""
    before, after = tokens(told), tokens(holds)
    return any(before.count(shape) > after.count(shape) for shape in ("§id", "§amount"))


_EXACT = {"§id": 2.0, "§date": 1.5, "§amount": 1.5, "§day": 1.0, "§name": 1.0, "§n": 0.5}


def exactness(found: list[str]) -> float:
    """How much the tokens of a text name exactly."""
    return min(sum(weight for shape, weight in _EXACT.items() if shape in found), 3)


def digest(message: Message, chars: int = 110) -> str:
    """One line that tells a reader what the message was."""
    if message.tool_calls:
        called = ", ".join(str((c.get("function") or c.get("custom") or {}).get("name")) for c in message.tool_calls)
        text = f"{message.text[: chars * 2]} [calls {called}]" if message.content else f"[calls {called}]"
    else:
        text = message.text[: chars * 3]
    text = " ".join(text.split())
    if len(text) > chars:
        text = text[:chars].rsplit(" ", 1)[0].rstrip(" ,;:.-") + " …"
    return f"{message.name or message.role}: {text}" if text else f"{message.name or message.role}: (empty)"
