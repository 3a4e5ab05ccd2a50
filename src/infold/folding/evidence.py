"""What a text claims exactly (numbers, dates, references, names), and what a message is evidence for. Pure."""

from __future__ import annotations

import functools
import re
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from infold.folding.calendar import (
    Dated,
    Day,
    dates,
    day_of,
    dotted_times,
    relative,
    said_in,
    times,
    weekday_of,
    weekdays,
)
from infold.folding.likeness import stem, words
from infold.folding.manner import long_runs
from infold.folding.placing import Placed, Timed, placed
from infold.folding.polarity import Clause, clauses_of
from infold.folding.proper import han_names, names, plain, spelled
from infold.folding.quantities import Number, in_words, label_at, numbers
from infold.folding.references import GAPS, doubtful_in, masked, references_in
from infold.messages import Message

_READ = 40_000  # characters of one message
_KEPT = 4096  # messages whose evidence is kept
_LINE = 400  # characters of what may be a line of memory
_LAST_HOUR = 24
_BEFORE_HOURS = frozenset(map(stem, "until till around about before after past gegen vers hasta".split()))

_AREA = re.compile(
    r"\s?(?:\b(?:square|sq\.?|cubic|cu\.?)[ -](?:met(?:er|re)s?|feet|foot|ft|kilomet(?:er|re)s?|km|m)\b\.?"
    r"|\b(?:quadrat|kubik)meter[ns]?\b|(?<=[\d+ ])(?:k?m|ft)[²³]|(?<=\d[ ])k?m[23]\b|(?<=\d)k?m[23]\b)",
    re.IGNORECASE,
)
_AREAS = ("sq", "cub", "cu ", "cu.", "cu-", "quadrat", "kubik", "²", "³", "m2", "m3")
"""One of these is in whatever the pattern finds."""
_AFTER_HAN = re.compile(r"(?<=[\u3400-\u9fff])(?=[A-Za-z0-9#])|(?<=[A-Za-z0-9])(?=[\u3400-\u9fff])")


@dataclass(frozen=True, slots=True)
class Claims:
    """What a text states exactly, each as it is written, with the values it may mean."""

    numbers: tuple[Number, ...]
    worded: tuple[Number, ...]
    """Numbers in words."""
    dates: tuple[Dated, ...]
    weekdays: frozenset[int]
    times: tuple[tuple[str, frozenset[int]], ...]
    references: tuple[str, ...]
    names: tuple[str, ...]
    placed: tuple[Placed, ...]
    """Numbers, dates, references and names with what stands beside them."""
    doubtful: tuple[str, ...]
    """What may be a reference."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a text can be evidence for."""

    folded: str
    """The text in plain letters, for references."""
    digits: str
    """The same without gaps in numbers."""
    runs: frozenset[int]
    """Its long runs of words, which no line may repeat."""
    words: frozenset[str]
    stems: frozenset[str]
    numbers: tuple[Number, ...]
    values: tuple[tuple[float, Number], ...]
    """The numbers by what they may mean, in their own unit and in the base unit."""
    kinds: frozenset[str]
    """What it measures or counts."""
    days: frozenset[Day]
    years: frozenset[int]
    """Years that it writes out."""
    weekdays: frozenset[int]
    minutes: frozenset[int]
    hours: frozenset[float]
    """Numbers that may be hours: "at 7"."""
    doubtful: tuple[str, ...]
    """What may be a reference."""
    clauses: tuple[Clause, ...]
    placed: tuple[Placed, ...] = ()
    """Its values with what stands beside them."""
    said: date | None = None
    language: str = "en"


class _Reading:
    """A text with what both claims and evidence are made of."""

    __slots__ = ("dated", "said", "text", "timed")

    def __init__(self, text: str) -> None:
        self.text = _normal(text)
        self.said = said_in(self.text)
        self.dated = dates(self.text, self.said)
        self.timed = times(self.text, self.said)


@functools.lru_cache(maxsize=1024)
def _reading(text: str) -> _Reading:
    return _Reading(text)


@functools.lru_cache(maxsize=2048)
def claims_of(text: str) -> Claims:
    """What a line claims."""
    reading = _reading(text)
    text, said, dated = reading.text, reading.said, reading.dated
    line_names = (*names(text), *(() if text.isascii() else han_names(text)))
    references, rest = references_in(text, dated)
    timed = reading.timed
    if references or dated:
        rest = masked(rest, ((one.start, one.end) for one in dated))
        timed = times(rest, said) if timed else timed
    rest = masked(rest, ((start, end) for _, _, start, end in timed))
    inside = " ".join([written for written, _, _ in references])
    found, named = numbers(rest), list(dict.fromkeys(name for name in line_names if name not in inside))
    return Claims(
        tuple(found),
        tuple(in_words(rest, said)),
        tuple(dated),
        frozenset(weekdays(rest, said)),
        tuple((written, minutes) for written, minutes, _, _ in timed),
        tuple(dict.fromkeys([written for written, _, _ in references])),
        tuple(named),
        tuple(placed(text, found, dated, timed, references, named, fine=False)),
        doubtful_in(text),
    )


def _area(match: re.Match[str]) -> str:
    """A unit of area or volume in one word."""
    low = match[0].lower()
    cubic = "cub" in low or "³" in low or low.endswith("3")
    size = "ft" if "f" in low else "km" if "k" in low else "m"
    return f" {'cb' if cubic else 'sq'}{size}"


def _normal(text: str) -> str:
    text = text[:_READ]
    low = text.lower()
    if any(part in low for part in _AREAS):
        text = _AREA.sub(_area, text)
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    return _AFTER_HAN.sub(" ", text)


def evidence_in(text: str, at: int = 0, runs: bool = True) -> Evidence:
    """What a text said at a time (milliseconds; 0: not known) is evidence for."""
    line = len(text) < _LINE
    reading = _reading(text) if line else _Reading(text)
    text, spoken, dated, timed = reading.text, reading.said, reading.dated, reading.timed
    folded = plain(text) if len(text) < 200 else plain.__wrapped__(text)
    said = day_of(at)
    days = {day for one in dated for day in one.days}
    years = frozenset(day[0] for day in days)
    if said is not None:
        days |= relative(text, said, spoken)
    claims = claims_of(text) if line and not at else None  # a line of memory: its claims are known
    whole = all(one.days[0][1] and one.days[0][2] for one in dated)
    if claims is not None and whole and not (claims.references or claims.times):
        counted = (*claims.numbers, *claims.worded)
    else:
        rest = masked(text, ((one.start, one.end) for one in dated if one.days[0][1] and one.days[0][2]))
        counted = (*numbers(rest), *in_words(rest, spoken))
    references = () if claims is not None else references_in(text, dated)[0]
    minutes = {minute for _, readings, _, _ in timed for minute in readings}
    minutes.update(dotted_times(text))
    named = frozenset(weekdays(text, spoken)) | {
        day for full in days if all(full) and (day := weekday_of(full)) is not None
    }
    return Evidence(
        folded,
        GAPS.sub("", folded) if counted else folded,
        long_runs(text) if runs else frozenset(),
        frozenset((*_words(folded), *_umlauts(text))),
        stems_of(text),
        counted,
        tuple([(value, one) for one in counted for value in {*one.values, *one.bases}]),
        frozenset().union(*[one.kinds for one in counted]),
        frozenset(days),
        years,
        named,
        frozenset(minutes),
        _hours(text, counted, timed),
        doubtful_in(text),
        clauses_of(text) if line else clauses_of.__wrapped__(text),
        claims.placed if claims is not None else tuple(placed(text, counted, dated, timed, references, names(text))),
        said,
        language_of(spoken),
    )


def _hours(text: str, counted: Iterable[Number], timed: Sequence[Timed]) -> frozenset[float]:
    clock = {at for _, _, start, end in timed for at in range(start, end)}
    return frozenset(
        [
            one.values[0]
            for one in counted
            if not one.kinds
            and one.values[0] <= _LAST_HOUR
            and ((label := one.label or label_at(text, one.start)) in _BEFORE_HOURS or not label)
            and not text.startswith(" of ", one.end)  # "five of us"
            and one.end - 1 not in clock
        ]
    )


_PLAIN_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def _words(folded: str) -> Iterable[str]:
    for word in _PLAIN_WORD.findall(folded):
        yield word.removesuffix("'s")
        if "'" in word:
            yield word.split("'")[-1]  # l'Oréal


def _umlauts(text: str) -> Iterable[str]:
    if not text.isascii():
        for word in _PLAIN_WORD.findall(text.casefold()):
            if not word.isascii():
                yield spelled(word)


def stems_of(text: str) -> frozenset[str]:
    """The content stems of a text; pairs of characters where words are not parted."""
    return _line_stems(text) if len(text) < _LINE else _stems(words.__wrapped__(text))


@functools.lru_cache(maxsize=4096)
def _line_stems(text: str) -> frozenset[str]:
    return _stems(words(text))


def _stems(found: frozenset[str]) -> frozenset[str]:
    if british := [word for word in found if "our" in word and len(word) > 5]:
        found |= {word.replace("our", "or") for word in british}
    wide = [word for word in found if not word.isascii() and any("\u3400" <= ch <= "\u9fff" for ch in word)]
    if not wide:
        return found
    pairs = {word[at : at + 2] for word in wide for at in range(max(1, len(word) - 1))}
    return (found - frozenset(wide)) | pairs


class _Known:
    """Evidence of the messages seen last. A message never changes, so its hash names its evidence."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: OrderedDict[bytes, Evidence] = OrderedDict()
        self._lock = threading.Lock()

    def forget(self) -> None:
        with self._lock:
            self._found.clear()

    def of(self, message: Message) -> Evidence:
        key = message.sha256
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
                return found
        found = evidence_in(_said(message), message.created_at)
        with self._lock:
            self._found[key] = found
            if len(self._found) > self._most:
                self._found.popitem(last=False)
        return found


def _said(message: Message) -> str:
    """All words of a message: its text, who speaks, and what it calls."""
    parts = [message.text]
    for call in message.tool_calls:
        function = call.get("function") or call.get("custom") or {}
        parts.append(f"{function.get('name', '')} {function.get('arguments', function.get('input', ''))}")
    if message.name:
        parts.append(message.name)
    return "\n".join(parts)


_known = _Known(_KEPT)


def evidence_of(message: Message) -> Evidence:
    """What a message is evidence for; known for the messages seen last."""
    return _known.of(message)


def forget_evidence() -> None:
    """Drop what is known of messages."""
    _known.forget()


@functools.lru_cache(maxsize=2048)
def evidence_of_text(text: str) -> Evidence:
    """What a line of memory is evidence for."""
    return evidence_in(text, runs=False)


_MARKS = {
    "de": frozenset("der die das und ist nicht ein eine ich wir mit für auf zu den bitte kein keine".split()),
    "fr": frozenset("le la les et est une je nous pour avec pas des du que dans il".split()),
    "es": frozenset("el los las y una yo para con que por es un no de".split()) - {"no", "de", "que", "un"},
    "en": frozenset("the and is a i we to of for with not user in on my".split()),
}


def language_of(said: frozenset[str]) -> str:
    """The language of some words, as far as it matters here; "en" where it cannot be told."""
    if any("\u3040" <= word[0] <= "\u9fff" for word in said):
        return "zh"
    scores = {name: len(said & marks) for name, marks in _MARKS.items()}
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] > 1 else "en"
