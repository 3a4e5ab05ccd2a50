"""One sentence as it is read: whether it is worth remembering, and as what. Pure."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass

from infold.folding.cues import CLOSERS, cue_names, says, weigh
from infold.folding.judge import kinds_of, look, votes, worth_of

# Worth of a sentence that is kept, of a user and of an assistant: what an assistant says is rarely about the user's affairs.
LEAST = {True: 1.0, False: 1.0}
SHORT_LEAST = 1.0  # of three words or less
CLOSING_LEAST = -1.0  # of one that may close an open item
STEADY = 2.0  # how far from a reversal a sentence is that cannot be one

# "The kick-off? 14 March": a topic put as a question does not start like this.
INTERROGATIVE = re.compile(
    r"^(?:and |so |but |ok(?:ay)?,? |hey,? |hm+,? |wait,? )*(?:who|what|when|where|why|how|which|whose|if|suppose|imagine"
    r"|is|are|was|were|do|does|did|can|could|will|would|should|shall|may|might|have|has|had|am|any)\b",
    re.IGNORECASE,
)
_ASKED_FOR = re.compile(r"\b(?:can|could|would|will|might) (?:you|we|i)\b|^please\b", re.IGNORECASE)
_ASKING = frozenset(["can", "could", "would", "will", "might", "please"])
_DUE = re.compile(
    r"\b(?:by|before|until|till|on|due|this|next|target|latest|end of)\b.{0,24}\b(?:monday|tuesday|wednesday|thursday"
    r"|friday|saturday|sunday|weekend|week|month|noon|tonight|january|february|march|april|may|june|july|august|september"
    r"|october|november|december|\d{1,2})|\btomorrow\b"
)
# An assistant's way of talking about its answer, not its promises.
_TALK = re.compile(
    r"\b(?:i|we)(?:'ll| will|'m going to| am going to| can|'d) (?:be (?:happy|glad|here|honest|brief)|explain|show|walk|help"
    r"|assume|start|begin|list|summari[sz]e|give you|try|go (?:through|over|into)|break|take (?:a look|you through)|use|rewrite"
    r"|rephrase|describe|outline|answer|share (?:some|a few|three|two)|focus|note|mention|suggest|recommend|stop|provide|present"
    r"|continue|cover|do my best|have to remember|shorten|translate|keep (?:it|that|this|things) (?:short|brief|simple|in mind))\b"
)
_NO_LONGER = re.compile(r"\bno longer\b|\bany ?more\b")
_DECIDING = frozenset(["decision", "decided", "agreed"])
_DECIDED = re.compile(r"(?:decision|decided|agreed)\b ?:|(?:we|i)(?:'ve| have)? (?:decided|agreed)\b")
_NOT_WHEN = re.compile(r"\bbut not (?:on|in|at|after|before|during|with|for)\b")
_ASKABLE = frozenset(["preference", "constraint", "commitment"])  # that may be said as a request
_DECIDES = frozenset(["decision", "reversal"])
_LASTS = frozenset(["always", "future", "onwards", "now"])


@dataclass(slots=True)
class Reading:
    """A sentence, and what the models and the outright words make of it."""

    text: str
    """The sentence without its opening filler."""
    low: str
    weights: dict[str, int]
    """Outright words, by kind."""
    kind: str
    """Empty for what is not kept."""
    other: str
    """The second best kind."""
    value: float
    closes: bool
    """Says that something was done or answered."""
    steady: bool
    """Cannot be a change of mind."""
    tentative: bool = False
    """Is only worth a line where it closes nothing."""
    turns: bool = False
    """Is only worth a line where it changes what is known to be decided."""

    def weight(self, kind: str) -> int:
        return self.weights.get(kind, 0)

    @property
    def top(self) -> int:
        return max(self.weights.values(), default=0)


_STATES_VALUE = re.compile(r"(?:the|my|our) [\w' -]{2,40}? (?:is|are|will be)\b")
_EXACT = frozenset(["§id", "§amount", "§date"])
STATED = 1.5  # what "the launch date is 14 March" adds


def judged(text: str, low: str, found: list[str], said: Set[str], by_user: bool) -> Reading | None:
    """A sentence as it is read; None where there is nothing in it at all.

    `low` is the sentence in lower case; `found` and `said` are its tokens and its words.
    """
    asks = text.endswith("?")
    if asks and INTERROGATIVE.match(text) and (said.isdisjoint(_ASKING) or not _ASKED_FOR.search(text)):
        head = text.rpartition(",")[0]
        if not head or INTERROGATIVE.match(head):
            return None  # a question and no more, whatever its words weigh
    voted = votes(found, by_user)
    value = worth_of(voted, by_user)
    if by_user and not _EXACT.isdisjoint(found) and _STATES_VALUE.match(low):
        value += STATED
    if value < CLOSING_LEAST:
        if said.isdisjoint(CLOSERS) and not (asks and by_user):
            return None
        if not asks:  # it closes or turns something at best
            closes = says(low, said, "done", 2) or says(low, said, "answer", 2)
            turns = says(low, said, "reversal", 3)
            return Reading(text, low, {}, "", "", value, closes, False, turns=turns) if closes or turns else None
    weights = weigh(low, said)
    closes = weights.get("done", 0) >= 2 or weights.get("answer", 0) >= 2
    # Only outright words can lift what is worth too little: without them it closes or turns something at best.
    lost = value < min(LEAST[by_user], SHORT_LEAST) and max(weights.values(), default=0) < 2
    kind, other, apart = kinds_of(voted, by_user, cue_names(weights))
    if lost and not asks:
        turns = kind in _DECIDES or weights.get("reversal", 0) >= 3
        return Reading(text, low, weights, "", "", value, closes, False, turns=turns) if closes or turns else None
    reading = Reading(text, low, weights, kind, other, value, False, apart >= STEADY)
    if asks and not _states(reading):
        head = text.rpartition(",")[0]  # "Just sent it, anything else?"
        if not head or INTERROGATIVE.match(head) or weights.get("request"):
            return None
        return judged(head, head.lower(), *look(head), by_user)
    _settle(reading, said, by_user)
    decides = reading.kind in _DECIDES
    if reading.weight("request") >= 3 and reading.kind not in _ASKABLE and reading.weight("reversal") < 3:
        return Reading(text, low, weights, "", "", value, False, False, turns=True) if decides else None
    if not by_user and reading.kind == "commitment" and _TALK.search(low) and not _DUE.search(low):
        return None
    least = LEAST[by_user] if len(found) > 5 or reading.top >= 3 else SHORT_LEAST
    if reading.kind == "reversal" and reading.weight("reversal") >= 2:
        least -= 1.0  # what it overturns must not stay
    if by_user and not asks and reading.kind in ("question", "commitment") and reading.weight(reading.kind) < 2:
        least += 1.0  # open for long: better be sure
    _reconsider(reading)
    if reading.value < least:
        reading.kind, reading.turns = "", decides
    elif reading.tentative:
        reading.value -= 1.5
    return reading


def _states(reading: Reading) -> bool:
    """Whether a sentence with a question mark states something: an open point, or a wish."""
    asked = reading.weight("question") >= 3 or (reading.kind == "question" and reading.value > 1)
    if asked and not (reading.weight("request") or reading.weight("unreal") or INTERROGATIVE.match(reading.text)):
        reading.kind, reading.value = "question", max(reading.value, 1.0)
        return True
    wished = reading.kind in ("preference", "constraint", "reversal") or reading.weight("reversal") >= 3
    return wished and _ASKED_FOR.search(reading.text) is not None


def _settle(reading: Reading, said: Set[str], by_user: bool) -> None:
    """Let outright words decide where they leave no doubt."""
    weight, kind = reading.weight, reading.kind
    if weight("preference") >= 2 and not said.isdisjoint(_LASTS) and kind in ("commitment", "decision", "goal"):
        kind = "preference"
    elif kind == "preference" and "never" in said:
        kind = "fact" if "been" in said else "constraint" if "we" in said else kind
    elif kind == "decision" and weight("goal") >= 3 and weight("decision") < 2:
        kind = "goal"
    elif kind in ("artifact", "fact", "goal") and not said.isdisjoint(_DECIDING) and _DECIDED.match(reading.low):
        kind = "decision"
    reading.closes = kind == "done" or weight("done") >= 2 or weight("answer") >= 2
    reading.kind = kind
    if by_user or kind == "commitment":
        reading.value += _push(reading)


def _push(reading: Reading) -> float:
    """What outright words add to the worth of a sentence, or take from it."""
    kind, weight = reading.kind, reading.weight
    push = 0.0
    if weight(kind) >= (2 if kind == "reversal" else 3):
        push += 1.5 if kind == "reversal" else 1.0
    if weight("unreal") >= 3:
        push -= 1.5
    if weight("remark") >= 3:
        push -= 3.0
    if weight("request") >= 3 and not (kind in ("preference", "constraint", "reversal") and weight(kind) >= 2):
        push -= 2.0
    return push


def _reconsider(reading: Reading) -> None:
    """Kinds that are easily taken for each other."""
    weight = reading.weight
    if reading.kind == "commitment" and weight("done") >= 3 and not _DUE.search(reading.low):
        reading.kind = "done"
    if reading.kind == "done" and weight("reversal") >= 3 and (weight("done") < 3 or weight("decision") >= 2):
        reading.kind = "reversal"
    reading.tentative = reading.kind == "done"
    if reading.tentative:  # and what it is where it closes nothing
        reading.kind = reading.other if reading.other not in ("question", "commitment", "done") else "fact"
    if reading.kind != "reversal" or weight("decision") >= 2:
        return
    if weight("commitment") >= 3 and _DUE.search(reading.low):
        reading.kind = "commitment"  # "Kenji will cancel the subscription by Friday"
    elif _NOT_WHEN.search(reading.low) or (
        (weight("constraint") >= 3 or _NO_LONGER.search(reading.low)) and "," not in reading.text
    ):
        reading.kind = "constraint"  # "no longer", and nothing in its place
