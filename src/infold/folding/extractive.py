"""The LLM-free reading of a message: its durable statements, and its one-line digest. Pure, deterministic."""

from __future__ import annotations

import re

from infold.folding.cues import cue_names, weigh
from infold.folding.judge import judge
from infold.folding.likeness import GENERIC, words
from infold.folding.names import AMOUNT, DATE, FIGURE, IDENTIFIER, MAY_IDENTIFY, names
from infold.folding.sentences import clauses, clean, sentences
from infold.folding.telling import lead_stripped, tell
from infold.folding.toolvalues import tool_line
from infold.items import CLOSING, Candidate
from infold.messages import Message

# What is read of one message. Tool output is capped harder: its dump is not memory.
READ_CHARS = 6000
TOOL_CHARS = 8000
MAX_ITEMS = 8

_WORD = re.compile(r"[\w'-]+")
_SECTION = {
    "question": "open", "commitment": "open", "decision": "decisions", "reversal": "decisions", "constraint": "facts",
    "preference": "goals", "goal": "goals", "fact": "facts", "artifact": "artifacts",
}  # fmt: skip
_LASTING = frozenset(["constraint", "preference", "fact"])
_POINTS_BACK = re.compile(r"\b(?:it|that|this|them|these|those|they|which|that's|it's|this is)\b", re.IGNORECASE)
# "The kick-off? 14 March": a topic put as a question.
_INTERROGATIVE = re.compile(r"^(?:and |so |but |ok(?:ay)?,? |hey,? |hm+,? |wait,? )*(?:who|what|when|where|why|how|which|whose|is|are|was|were|do|does|did|can|could|will|would|should|shall|may|might|have|has|had|am|any)\b", re.IGNORECASE)
_MOST_WORDS = 18


def extract(message: Message) -> list[Candidate]:
    """The durable statements of one message, in the order they stand there."""
    if message.role in ("system", "developer"):
        return []
    sources = (message.seq,) if message.seq else ()
    if message.role == "tool":
        line = tool_line(message.text[:TOOL_CHARS])
        return [Candidate("artifacts", line, sources)] if line else []
    reader = _Reader(message, sources)
    before = ""
    for sentence in sentences(clean(message.text[:READ_CHARS])):
        if sentence.endswith("?") and len(sentence) < 60 and not _INTERROGATIVE.match(sentence):
            before = sentence[:-1].strip() + ": "
            continue
        reader.read(before + sentence)
        before = ""
        if len(reader.found) >= MAX_ITEMS:
            break
    return reader.found


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

    def read(self, sentence: str) -> None:
        previous, self.previous = self.previous, sentence
        stripped = lead_stripped(sentence)
        if len(stripped) < 4:
            return
        weights = self._weigh(stripped)
        kind, _ = judge(stripped, self.by_user, cue_names(weights))
        closes = kind == "done" or weights.get("done", 0) >= 2 or weights.get("answer", 0) >= 2
        if sentence.endswith(("?", "？")) and kind != "question":
            return
        if kind in ("pass", "done"):
            if closes:
                self.found.append(Candidate(CLOSING, " ".join(sorted(words(sentence) - GENERIC)[:16]), self.sources, closes=True))
            return
        told = self._gist(stripped)
        if kind in ("question", "decision", "reversal", "commitment", "artifact") and _POINTS_BACK.match(stripped) and 0 < len(previous) < 90:
            told = f"{lead_stripped(previous).rstrip('.!? ')}: {told}"
            sentence = f"{previous} {sentence}"
        gone = ""
        if kind == "reversal" or (kind == "decision" and weights.get("reversal", 0) >= 3):
            told, gone = _without_old(told)
            gone = gone or sentence[:160].lower()
        line = tell(told, sentence, self.speaker, self.listener, kind, self.at)
        if len(line.split()) < 2 and line.isascii():
            return
        self.found.append(Candidate(_SECTION[kind], line, self.sources, kind in _LASTING, gone, closes))

    def _weigh(self, text: str) -> dict[str, int]:
        low = text.lower()
        return weigh(low, frozenset(_WORD.findall(low)))

    def _gist(self, text: str) -> str:
        """The clauses of a sentence that carry it, at most _MOST_WORDS words of them."""
        parts = clauses(text)
        if len(parts) == 1:
            return text
        worth: list[float] = []
        for part in parts:
            _, margin = judge(part, self.by_user, cue_names(self._weigh(part)))
            worth.append(margin + exactness(part))
        best = worth.index(max(worth))
        kept = {best}
        if best and _POINTS_BACK.search(parts[best]):
            kept.add(best - 1)
        size = sum(len(parts[at].split()) for at in kept)
        for at in sorted(range(len(parts)), key=lambda at: (-worth[at], at)):
            more = len(parts[at].split())
            if at not in kept and worth[at] > 0 and size + more <= _MOST_WORDS:
                kept.add(at)
                size += more
        return ", ".join(parts[at] for at in sorted(kept))


def exactness(part: str) -> float:
    """How much a clause names exactly."""
    found = 0.0
    if MAY_IDENTIFY.search(part) and IDENTIFIER.search(part):
        found += 2
    if DATE.search(part):
        found += 1.5
    if AMOUNT.search(part):
        found += 1.5
    elif FIGURE.search(part):
        found += 0.5
    if names(part):
        found += 1
    return min(found, 3)


_NEXT = r"(?=\s+(?:we|i|let's|and|but|because|so|for|then|as|since|in favou?r|with|to|on|at|it|now|any ?more)\b|[,.;:!?)]|\s[–—-]|$)"
_OLD = [
    re.compile(rf"\b(?:instead of|rather than|in place of|in lieu of|(?:and |but |now,? )?not|no longer|away from)\s+(?:the |our |my |using |going with |a )?([\w][^,.;:!?()–—]{{1,40}}?){_NEXT}", re.IGNORECASE),
    re.compile(rf"\b(?:scrap|ditch|drop|bin|axe|shelve|abandon|dump|cancel|kill|nix|retire|toss|skip|forget)(?:p?ed|p?ing|ning|s)?(?: about)?\s+(?:the |our |my |that |using |a )?([\w][^,.;:!?()–—]{{1,40}}?){_NEXT}", re.IGNORECASE),
]
_FROM_TO = re.compile(r"\bfrom\s+(?:the )?([\w][^,.;:!?()–—]{1,40}?)\s+(?:over )?to\s+", re.IGNORECASE)
_SWAP = re.compile(r"\b(?:swap|switch|replac|trad|chang|substitut)(?:e|es|ed|ing|ped|ping)?\s+(?:out )?(?:the |our |my )?([\w][^,.;:!?()–—]{1,40}?)\s+(?:for|with|by|to)\s+", re.IGNORECASE)
_IS_OUT = re.compile(r"(?:^|[:,;.] )(?:the )?([\w][^,.;:!?]{1,40}?)(?: is|'s| are| was) (?:now )?(?:out|off|cancell?ed|dead|history|gone|scrapped|dropped)\b(?: the (?:table|menu))?", re.IGNORECASE)


def _without_old(part: str) -> tuple[str, str]:
    """A reversal without what it overturns, and what that is."""
    for pattern, put in ((_FROM_TO, "to "), (_SWAP, "")):
        found = pattern.search(part)
        if found:
            return part[: found.start()] + put + part[found.end() :], found[1]
    for pattern in (*_OLD, _IS_OUT):
        found = pattern.search(part)
        if found:
            rest = f"{part[: found.start()]} {part[found.end() :]}".strip(" ,;:.")
            if len(rest.split()) >= 2:
                return rest, found[1]
    return part, ""


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
