"""The LLM-free reading of a message: its durable statements, and its one-line digest. Pure, deterministic."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence

from infold.folding.abroad import read_abroad
from infold.folding.cues import foreign, says
from infold.folding.judge import look, tokens, words_of, worth
from infold.folding.likeness import GENERIC, figures, telling, words
from infold.folding.once import Once
from infold.folding.pronouns import named, thing_named
from infold.folding.reading import INTERROGATIVE, Reading, judged
from infold.folding.reversals import anew, bygone, outcome
from infold.folding.sentences import clauses, clean, phrases, sentences
from infold.folding.telling import lead_stripped, shorten, tell
from infold.folding.toolvalues import tool_line
from infold.items import CLOSING, Candidate
from infold.marks import without_own
from infold.messages import Message

# What is read of one message. Tool output is capped harder: its dump is not memory.
READ_CHARS = 6000
TOOL_CHARS = 8000
MAX_ITEMS = 8
TOOL_CONFIDENCE = 0.7
FOREIGN_CONFIDENCE = 0.8
_FEW_WORDS, _MOST_WORDS = 10, 20
_REMEMBERED = 160  # characters of a sentence that others are compared with

_SECTION = {
    "question": "open", "commitment": "open", "decision": "decisions", "reversal": "decisions", "constraint": "facts",
    "preference": "goals", "goal": "goals", "fact": "facts", "biography": "facts", "artifact": "artifacts",
}  # fmt: skip
_LASTING = frozenset(["constraint", "preference", "fact", "biography"])
# Kinds that may need the sentence before; whose clauses lean on each other; that change a mind if they speak of one.
_LEANING = frozenset(["question", "decision", "reversal", "commitment", "artifact"])
_WHOLE = frozenset(["reversal", "decision", "commitment", "question"])
_TURNING = frozenset(["reversal", "decision", "fact", "goal", "artifact"])
_POINTS_BACK = re.compile(r"\b(?:it|that|this|them|these|those|they|which|that's|it's|this is)\b", re.IGNORECASE)
_STARTS_ANEW = re.compile(
    r"^(?:thanks|thank you|cheers|bye|great|perfect|ok|okay|cool|nice|good|hi|hello|hey|sorry|lol|haha|wow|sure|ugh|tell|show"
    r"|give|explain|can|could|please|let|help|make|write|list|i|we|you|my|your|scratch|scrap|forget"
    r"|drop|ditch|strike|cancel|ignore|not|no)\b",
    re.IGNORECASE,
)
_ABOUT_USER = re.compile(
    r"User (?:(?:now|no longer|doesn't|has|is) )*(?:lives?|living|moved|works?|working|in\b|prefers?|likes?|drinks?|eats?"
    r"|speaks?|married|single)|User's (?:name|job|address|last name)\b"
)
_PREDICATE = re.compile(r"(?:is|are|was|were|must|should|to) ", re.IGNORECASE)
_TAKES = re.compile(
    r"(?:give (?:me|us)|get|use|take|make (?:it|that)|go (?:with|for|by)|put|book|order|buy|(?:i|we) (?:want|need)|i'd like|we'd like)\b"
)
_NUMBERED = re.compile(r"\b(?:number|code|pin|combination|extension)\b.{0,20}? (?:is|:) ", re.IGNORECASE)
_UNSAID = ("said", "says", "goes", "wrote", "reads")  # a quotation stood here
_EXACT = {"§id": 2.0, "§date": 1.5, "§amount": 1.5, "§day": 1.0, "§name": 1.0, "§n": 0.5}
_EXACTLY = frozenset(["§id", "§name", "§amount"])


def extract(message: Message) -> list[Candidate]:
    """The durable statements of one message, in the order they stand there. Each is read once: folds, the bridge and the
    gate ask for the same ones."""
    key = (message.role, message.name, message.seq, message.created_at, message.text)
    return [*_read.get(key, lambda: tuple(_extract(message)))]


_read: Once[tuple[Candidate, ...]] = Once(4096)


def _extract(message: Message) -> list[Candidate]:
    if message.role in ("system", "developer"):
        return []
    sources = (message.seq,) if message.seq else ()
    if message.role == "tool":
        line = tool_line(without_own(message.text)[:TOOL_CHARS])
        if not line:
            return []
        return [Candidate("artifacts", line, sources, confidence=TOOL_CONFIDENCE, kind="artifact")]
    reader = _Reader(message, sources)
    for sentence in sentences_of(message):
        reader.read(sentence)
        if len(reader.found) >= MAX_ITEMS:
            break
    return reader.found


def retold(message: Message, about: frozenset[str]) -> tuple[str, int]:
    """The sentence of a message that has most of some words, told as memory tells it; and how many it has.

    Empty for questions, and for languages in which a sentence cannot be told of its speaker.
    """
    best, most = "", 0
    for sentence in sentences_of(message) if message.role in ("user", "assistant") else ():
        shared = len(words(sentence) & about)
        low = sentence.lower()
        if shared > most and not sentence.endswith(("?", "？")) and not foreign(low, frozenset(words_of(low))):
            best, most = sentence, shared
    reader = _Reader(message, ())
    return tell(best, best, reader.speaker, reader.listener, "fact", reader.at) if best else "", most


def sentences_of(message: Message) -> list[str]:
    """The sentences of a message as they are read, one by one."""
    return _joined(plain_sentences(message.text))


@functools.lru_cache(maxsize=256)
def plain_sentences(text: str) -> Sequence[str]:
    """The sentences of a text one by one, without what infold itself put there."""
    return tuple(sentences(clean(without_own(text)[:READ_CHARS])))


def speaker_of(message: Message) -> str:
    """How lines call the one who speaks."""
    return message.name or "User" if message.role == "user" else "Assistant"


def _joined(found: Sequence[str]) -> list[str]:
    """Sentences with what only continues them: topics put as questions, and short afterthoughts."""
    whole: list[str] = []
    for sentence in found:
        if whole and whole[-1].endswith("?"):
            if len(whole[-1].split(None, 6)) <= 6 and ":" not in whole[-1] and not INTERROGATIVE.match(whole[-1]):
                whole[-1] = f"{whole[-1][:-1].rstrip()}: {sentence}"
                continue
        elif (
            whole
            and len(sentence.split(None, 4)) <= (4 if len(whole[-1]) < 40 else 3)
            and len(whole[-1]) < 120
            and not sentence.endswith("?")
            and not whole[-1].endswith(":")
            and not _STARTS_ANEW.match(sentence)
            and "://" not in sentence
        ):
            whole[-1] = f"{whole[-1].rstrip('.!')} – {sentence}"
            continue
        whole.append(sentence)
    return whole


class _Reader:
    """Reads the sentences of one message in their order."""

    def __init__(self, message: Message, sources: tuple[int, ...]) -> None:
        self.by_user = message.role == "user"
        self.speaker = speaker_of(message)
        self.listener = "Assistant" if self.by_user else "User"
        self.at = message.created_at
        self.sources = sources
        self.found: list[Candidate] = []
        self.previous = ""
        self.before: list[str] = []
        """The sentences before the one that is read."""
        self.overturned = ""
        """The last sentence that took something back."""
        self.kept = ""
        """The last sentence that gave an item."""

    def read(self, sentence: str) -> None:
        previous, self.previous = self.previous, sentence
        if previous:
            self.before = [*self.before[-1:], previous]
        text = lead_stripped(sentence)
        if len(text) < 4:
            return
        low = text.lower()
        found, said = look(text)
        if foreign(low, said):
            kind, line = read_abroad(text, low, said, text.endswith(("?", "？")), self.at)
            if kind:
                gone = low[:_REMEMBERED] if kind == "reversal" else ""
                self._add(_SECTION[kind], line, kind, sentence, gone, confidence=FOREIGN_CONFIDENCE)
            return
        if text.endswith("?") and "remember" in said and bygone(low):
            self.overturned = sentence  # "Remember how I wanted X? It's Y now."
        reading = judged(text, low, found, said, self.by_user)
        if previous and self.overturned == previous and _TAKES.match(low):  # "X broke down. Give me Y."
            reading = Reading(text, low, {}, "reversal", "decision", 1.0, False, False)
        if reading is None:
            return
        if reading.kind:
            self._note(reading, sentence, previous)
        elif reading.turns:
            if bygone(sentence):
                self.overturned = sentence
            told, _ = outcome(self._gist(text, "reversal"))
            self._suspect(tell(told, sentence, self.speaker, self.listener, "reversal", self.at), reading, sentence)
        elif reading.closes:
            self._close(sentence)

    def _note(self, reading: Reading, sentence: str, previous: str) -> None:
        """Turn a sentence that is worth it into an item, or into what closes one."""
        told = reading.text if reading.weight("reversal") >= 3 else self._gist(reading.text, reading.kind)
        if self._leans(reading, told, previous):
            told = f"{lead_stripped(previous).rstrip('.!? ')}: {told}"
            sentence = f"{previous} {sentence}"
        whole = told
        told, gone = _turned(reading, whole, sentence, self.by_user)
        if (
            previous
            and self.overturned == previous
            and (reading.kind in ("decision", "reversal") or (reading.kind == "fact" and anew(sentence)))
        ):
            if self.found and self.kept == previous:
                self.found.pop()  # two sentences, one change
            gone, reading.kind = f"{previous[:_REMEMBERED].lower()} {gone}".strip(), "reversal"
        if told == whole and (gone or reading.weight("reversal") >= 3) and bygone(sentence):
            self.overturned = sentence  # and says nothing yet of what comes instead
        line = tell(told, sentence, self.speaker, self.listener, reading.kind, self.at)
        if not _says_something(line, reading, bool(gone)):
            if gone:
                self._suspect(line, reading, f"{gone} {sentence}")
            elif reading.closes:
                self._close(sentence)
            return
        section = _SECTION[reading.kind]
        if reading.kind == "reversal" and _ABOUT_USER.match(line):  # of what is not a decision
            section = "goals" if reading.weight("preference") >= 3 else "facts"
        elif reading.kind == "decision" and not gone and self.kept == previous and self._last_is("decisions"):
            line = shorten(f"{self.found.pop().text}; {line}", f"{previous} {sentence}")  # two sentences, one decision
        line, unnamed = named(line, sentence, self.before, self.speaker)
        if not unnamed and reading.kind not in ("reversal", "decision"):  # whose "it" is what was decided about
            line, unnamed = thing_named(line, self.before, self.speaker)
        self.kept = self.previous
        may_doubt = not gone and reading.kind not in ("commitment", "question")
        doubts = may_doubt and (not reading.steady or bygone(sentence) or anew(sentence))
        self._add(
            section,
            line,
            reading.kind,
            sentence,
            gone,
            reading.closes,
            1 / (1 + math.exp(-reading.value / 2)),
            reading.tentative,
            sentence[:_REMEMBERED].lower() if doubts else "",
            unnamed,
        )

    def _add(
        self,
        section: str,
        line: str,
        kind: str = "",
        said: str = "",
        gone: str = "",
        closes: bool = False,
        confidence: float = 1.0,
        tentative: bool = False,
        doubts: str = "",
        unnamed: bool = False,
    ) -> None:
        fact = kind in _LASTING
        self.found.append(
            Candidate(
                section, line, self.sources, fact, gone, closes, confidence, tentative, doubts,
                kind=kind, said=said, beside=self.before[-1][:_REMEMBERED] if self.before else "", unnamed=unnamed,
            )
        )  # fmt: skip

    def _close(self, sentence: str) -> None:
        said = " ".join(sorted(words(sentence) - GENERIC)[:16])
        if said:
            self.found.append(Candidate(CLOSING, said, self.sources, closes=True, said=sentence))

    def _suspect(self, line: str, reading: Reading, sentence: str) -> None:
        """What is worth a line only where it changes a decision that memory knows."""
        if telling(words(line)):
            sure = 1 / (1 + math.exp(-reading.value / 2))
            doubts = sentence[: 2 * _REMEMBERED].lower()
            self._add(CLOSING, line, said=sentence, closes=reading.closes, confidence=sure, doubts=doubts)
        elif reading.closes:
            self._close(sentence)

    def _last_is(self, section: str) -> bool:
        return bool(self.found) and self.found[-1].section == section

    def _leans(self, reading: Reading, told: str, previous: str) -> bool:
        """Whether a sentence is nothing without the one before it."""
        if reading.kind not in _LEANING or self.kept == previous or not 0 < len(previous) < 90:
            return False
        if previous.endswith("?"):
            return reading.kind == "question" and "you" not in words_of(previous)
        thin = len(words(told) - GENERIC) < 2 or _POINTS_BACK.match(reading.text) is not None
        return thin and worth(tokens(previous), self.by_user) > 0

    def _gist(self, text: str, kind: str) -> str:
        """The clauses of a sentence that carry it, at most _MOST_WORDS words of them."""
        size = len(text.split())
        if size <= _FEW_WORDS:
            return text
        long = size > _MOST_WORDS
        parts = phrases(text) if long else clauses(text)
        if len(parts) == 1:
            return text
        value: list[float] = []
        for part in parts:
            found, said = look(part)
            outright = says(part.lower(), said, kind, 3)
            point = long and _PREDICATE.match(part) is not None  # what a winding sentence comes to in the end
            value.append(worth(found, self.by_user) + exactness(found) + 2 * outright + 4 * point)
        best = value.index(max(value))
        kept = {best}
        if best and _POINTS_BACK.search(parts[best]):
            kept.add(best - 1)
        size = sum(len(parts[at].split()) for at in kept)
        least = -9 if kind in _WHOLE or long else 0
        for at in sorted(range(len(parts)), key=lambda at: (-value[at], at)):
            more = len(parts[at].split())
            if at not in kept and value[at] > least and size + more <= _MOST_WORDS:
                kept.add(at)
                size += more
        return ", ".join(parts[at] for at in sorted(kept))


def _turned(reading: Reading, told: str, sentence: str, by_user: bool) -> tuple[str, str]:
    """A change of mind as what holds now, and what it overturns; anything else as it is."""
    kind, turned = reading.kind, reading.weight("reversal")
    if not (
        kind == "reversal"
        or (turned >= 3 and (by_user or kind in _TURNING or anew(told)))
        or (reading.other == "reversal" and kind != "commitment" and (turned or bygone(sentence) or anew(sentence)))
    ):
        return told, ""
    holds, gone = outcome(told)
    changes = kind in _TURNING or (kind not in ("commitment", "question") and holds != told and anew(holds))
    if not changes:
        return told, ""
    before, after = tokens(told), tokens(holds)
    named = telling(words(holds)) - figures(words(holds))
    if any(before.count(shape) > after.count(shape) for shape in ("§id", "§amount")) and not (gone and named):
        return told, ""
    if not named:  # a figure alone says nothing without what it is the figure of
        holds = told
    reading.kind = "reversal"
    return holds, gone or sentence[:_REMEMBERED].lower()


def _says_something(line: str, reading: Reading, turned: bool) -> bool:
    """Whether a line still means something to a reader who has not seen the chat."""
    if line.endswith(_UNSAID) and line.rpartition(" ")[2] in _UNSAID:
        return False
    shapes = tokens(line)
    if not _EXACTLY.isdisjoint(shapes):
        return True
    content = sum(not word[0].isdigit() for word in words(line) - GENERIC)
    exact = content > 0 and ("§date" in shapes or ("§n" in shapes and _NUMBERED.search(line) is not None))
    if content < 2 and not exact and len(shapes) < 8 and reading.top < 3:
        return False
    if exact or (content and reading.kind in ("question", "commitment")):
        return True
    return content > 1 or (content == 1 and (turned or not _POINTS_BACK.search(line)))


def exactness(found: list[str]) -> float:
    """How much the tokens of a text name exactly."""
    return min(sum(_EXACT[shape] for shape in _EXACT.keys() & found), 3)


def digest(message: Message, found: Sequence[Candidate] | None = None, chars: int = 110) -> str:
    """One line that tells a reader what the message was: all of a short one, what a long one states, or its beginning.

    `found` is what was extracted from it, where that is known.
    """
    text = " ".join(without_own(message.text)[: chars * 3].split())
    if len(text) > chars:
        found = extract(message) if found is None else found
        stated = "; ".join(item.text for item in found if item.section != CLOSING)
        text = stated or text
    if message.tool_calls:
        called = ", ".join(str((c.get("function") or c.get("custom") or {}).get("name")) for c in message.tool_calls)
        text = f"{text} [calls {called}]".strip()
    if len(text) > chars:
        text = text[:chars].rsplit(" ", 1)[0].rstrip(" ,;:.-") + " …"
    return f"{message.name or message.role}: {text or '(empty)'}"
