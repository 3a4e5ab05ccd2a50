"""What a question asks for. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from infold.recall.dates import Times, times
from infold.recall.vectors import Embedder, Floats, unit
from infold.recall.words import term, unspaced, words

_MOST_WORDS = 32

_WHEN = re.compile(
    r"\b(?:when|how (?:long|recently)|since|what (?:date|day|month|year|time)|which (?:date|day|week|month|year))\b",
    re.IGNORECASE,
)
_MANY = re.compile(r"\bhow (?:many|much|often|long|old|far|big|tall)\b", re.IGNORECASE)
_NAME = re.compile(
    r"\b(?:who|whom|whose|where|which|names?|called|titles?|what (?:\w+ )?(?:movies?|films?|books?|games?|songs?|bands?|artists?|"
    r"place|city|country|state|town|company|brand|kind|type))\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:I|me|my|mine|myself|we|our)\b", re.IGNORECASE)
_YOURS = re.compile(
    r"\b(?:did|have|had|were|do) you\b|\byou (?:said|say|told|suggest\w*|recommend\w*|mention\w*|wrote|gave|propos\w*|explain\w*)|\byour\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Query:
    """A question, read."""

    words: tuple[str, ...]
    """What it is about: no small words, no speakers, no dates."""
    meaning: str
    """Its text without the speakers."""
    speakers: frozenset[str]
    """Who is asked about, where that is told; empty where not, or where all are."""
    times: Times
    when: bool
    many: bool
    name: bool
    at: int = 0
    """When it is asked, in milliseconds."""

    def asked(self, embedder: Embedder) -> Asked:
        """The question with what an embedder knows of it."""
        words = self.words[:_MOST_WORDS]
        numbers = [term(word) for word in words]
        own = {number: at for at, number in enumerate(dict.fromkeys(numbers))}
        others = sorted(
            (near, own[number], term(other))
            for number, close in zip(numbers, embedder.near(list(words)), strict=True)
            for other, near in close
            if term(other) != number
        )
        pieces = {number: unspaced(word) for number, word in zip(numbers, words, strict=True)}
        return Asked(self, unit(embedder.embed([self.meaning])[0]), tuple(own), tuple(pieces.values()), tuple(others))


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A question and what an embedder knows of it: made once for a ranking."""

    query: Query
    vector: Floats
    """Its meaning, of length 1."""
    terms: tuple[int, ...]
    """The numbers of its words."""
    pieces: tuple[bool, ...]
    """Which of `terms` are pairs of characters of what is written without spaces."""
    others: tuple[tuple[float, int, int], ...]
    """Words near in meaning to its own: how near, to which of `terms`, and their number; the nearest last."""


def read(question: str, speakers: tuple[str, ...] = (), at: int = 0, asker: str = "") -> Query:
    """A question about a chat of `speakers`, asked at `at` (milliseconds) by `asker`, if that is one of them."""
    when = times(question, at)
    known = {part: name for name in speakers for part in words(name)}
    found = list(dict.fromkeys(words(when.text)))
    named = {known[word] for word in found if word in known}
    if not named and asker in speakers:
        own, yours = _OWN.search(question) is not None, _YOURS.search(question) is not None
        if own != yours:
            named = {asker} if own else set(speakers) - {asker}
    return Query(
        words=tuple(word for word in found if word not in known) or tuple(found) or tuple(words(question)),
        meaning=_without(question, known),
        speakers=frozenset(named) if len(named) < len(speakers) else frozenset(),
        times=when,
        when=_WHEN.search(question) is not None,
        many=_MANY.search(question) is not None,
        name=_NAME.search(question) is not None,
        at=at,
    )


def _without(question: str, known: dict[str, str]) -> str:
    if not known:
        return question
    rest = re.sub(
        rf"\b(?:{'|'.join(re.escape(part) for part in sorted(known))})(?:['’]s)?\b", " ", question, flags=re.IGNORECASE
    )
    return rest if rest.strip(" ?!.,") else question
