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
from infold.folding.likeness import words
from infold.folding.manner import long_runs
from infold.folding.names import IDENTIFIER, MAY_IDENTIFY
from infold.folding.polarity import Clause, clauses_of
from infold.folding.proper import han_names, names, plain, spelled
from infold.folding.quantities import Number, in_words, numbers, readings
from infold.messages import Message

_READ = 40_000  # characters of one message
_KEPT = 4096  # messages whose evidence is kept
_LINE = 400  # characters of what may be a line of memory

_TOKEN = re.compile(r"`[^`\n]+`|[^\s,;()\[\]{}<>\"“”„«»|，。；：、（）？！]+")
_EXACT = re.compile(r"\d|[_@#`\\]|--\w|\w\.\w|/|[a-z][A-Z]")
_AFTER_HAN = re.compile(r"(?<=[\u3400-\u9fff])(?=[A-Za-z0-9#])|(?<=[A-Za-z0-9])(?=[\u3400-\u9fff])")
# A number with what may be written onto it: "12k", "30min", "5-star", "3pm", "€1.2M", "20%", "1st", "2x".
_FIGURE = re.compile(
    r"[~≈<>=±+-]?[$€£¥₹]?\d[\d.,'’]*(?:[-–/:][$€£]?\d[\d.,]*)*\s?(?:%|°[cf]?|[$€£¥]|st|nd|rd|th|x|k|m|mn|mio|bn|mrd|b|[ap]\.?m\.?|h\d*"
    r"|hrs?|min|mins|sec|secs|s|ms|d|g|kg|mg|mcg|µg|t|l|ml|cl|dl|km|cm|mm|mi|ft|in|lbs?|oz|kb|mb|gb|tb|w|kw|kwh|mah|v|hz|mhz|ghz|px|pt|eur|usd|gbp|chf|er|º|ª|uhr"
    r"|mph|kph|kmh|fps|dpi|°|\+|yo|wk|wks|yr|yrs|mo|cal|kcal|bar|psi|iu|ie|\")?(?:[-–][^\W\d_]+)*|\d{1,2}:\d{2}(?::\d{2})?(?:[ap]m)?",
    re.IGNORECASE,
)
_PERCENTILE = re.compile(r"p\d\d", re.IGNORECASE)  # p95: the 95th percentile
_PHONE = re.compile(
    r"(?<![\w.,-])(?:\+|00?|\()?\d[\d]*(?:[ ()/.-]{1,2}\d{2,}){2,}(?![\d,.-]?\d)|(?<![\w.,])\+\d{7,15}\b|\b0\d{6,14}\b"
)
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,8}(?: ?[A-Z0-9]{1,4})?\b")
_DOTTED = re.compile(r"[a-z_]\w*(?:\.[a-z_]\w*)+(?:\(\))?$", re.IGNORECASE)
_ABBREVIATED = re.compile(r"(?:[a-z]\.)+[a-z]?\.?$|.*\.\.", re.IGNORECASE)
_CAMEL = re.compile(r"[a-z]+[A-Z]\w*$|[A-Z][a-z]+(?:[A-Z][a-z]+)+$")
_GAPS = re.compile(r"[\s()/.-]+(?=\d)")
_JOINTS = re.compile(r"[\s_./-]+")
_SCHEME = re.compile(r"^(?:https?://)?(?:www\.)?")


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
    clauses: tuple[Clause, ...]
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
    references, rest = _references(text, dated)
    timed = reading.timed
    if references or dated:
        rest = _masked(rest, ((one.start, one.end) for one in dated))
        timed = times(rest, said) if timed else timed
    rest = _masked(rest, ((start, end) for _, _, start, end in timed))
    inside = " ".join(references)
    return Claims(
        tuple(numbers(rest)),
        tuple(in_words(rest, said)),
        tuple(dated),
        frozenset(weekdays(rest, said)),
        tuple((written, minutes) for written, minutes, _, _ in timed),
        tuple(references),
        tuple(dict.fromkeys(name for name in line_names if name not in inside)),
    )


def _normal(text: str) -> str:
    if text.isascii():
        return text[:_READ]
    text = unicodedata.normalize("NFKC", text[:_READ]).replace("’", "'")
    return _AFTER_HAN.sub(" ", text)


def _masked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """A text with some spans blanked, so that nothing else is read in them; lengths stay."""
    for start, end in spans:
        text = f"{text[:start]}{'¤' * (end - start)}{text[end:]}"
    return text


def _references(text: str, dates_there: Sequence[Dated]) -> tuple[list[str], str]:
    """Addresses, files, codes, versions and other exact words, and the text without them."""
    if not _EXACT.search(text):
        return [], text
    found: dict[str, None] = {}
    spans: list[tuple[int, int]] = []
    dated = [(one.start, one.end) for one in dates_there]
    for pattern in (_IBAN, _PHONE):
        for match in pattern.finditer(text):
            if not any(start < match.end() and match.start() < end for start, end in dated):
                found[match[0]] = None
                spans.append(match.span())
    rest = _masked(text, spans)
    for match in _TOKEN.finditer(rest):
        if match[0].isalpha() and match[0][1:].islower():
            continue
        token = match[0].strip(".:!?*'’…·=→")
        if _exact(token):
            start = match.start() + match[0].index(token)
            if not any(begin < start + len(token) and start < end for begin, end in dated):
                found[token] = None
                spans.append((start, start + len(token)))
    return list(found), _masked(text, spans)


def _exact(token: str) -> bool:
    """Whether a token names something exactly; figures are read as numbers instead."""
    if len(token) < 2 or "¤" in token or not _EXACT.search(token):
        return False
    if token[0] == "`":
        return True
    if any(map(str.isdigit, token)):
        if _FIGURE.fullmatch(token):
            return token.count(".") > 1 and not readings(token)
        if _PERCENTILE.fullmatch(token):
            return False
        return any(map(str.isalpha, token)) or token[0] == "#" or token.count(".") > 1 or token.count("-") > 1
    if "@" in token or "\\" in token or token.startswith(("--", "#")) or "://" in token:
        return len(token) > 2
    if "_" in token.strip("_"):
        return True
    if "/" in token:
        return (
            token[0] in "/~."
            or token.count("/") > 1
            or (MAY_IDENTIFY.search(token) is not None and IDENTIFIER.fullmatch(token) is not None)
        )
    if _DOTTED.match(token):
        return not _ABBREVIATED.match(token)
    return len(token) > 3 and _CAMEL.match(token) is not None and not token.startswith(("Mc", "Mac"))


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
    if claims is not None and not (claims.references or claims.dates or claims.times):
        counted = (*claims.numbers, *claims.worded)
    else:
        rest = _masked(text, ((one.start, one.end) for one in dated if one.days[0][1] and one.days[0][2]))
        counted = (*numbers(rest), *in_words(rest, spoken))
    minutes = {minute for _, readings, _, _ in timed for minute in readings} 
    if "." in text:
        minutes.update(dotted_times(text))
    named = frozenset(weekdays(text, spoken)) | {
        day for full in days if all(full) and (day := weekday_of(full)) is not None
    }
    return Evidence(
        folded,
        _GAPS.sub("", folded) if counted else folded,
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
        clauses_of(text) if line else clauses_of.__wrapped__(text),
        said,
        language_of(spoken),
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


@functools.lru_cache(maxsize=2048)
def evidence_of_text(text: str) -> Evidence:
    """What a line of memory is evidence for."""
    return evidence_in(text, runs=False)


def cites(reference: str, evidence: Evidence, loosely: bool = True) -> bool:
    """Whether a text has a reference: whole, or as the end of a longer path; `loosely` also with other joints."""
    wanted, digits, compact = _wanted(reference)
    for one in wanted:
        if one in evidence.folded and _stands(one, evidence.folded):
            return True
    if not loosely:
        return False
    if digits:
        return _stands(digits, evidence.digits)
    return bool(compact) and compact[:2] in evidence.folded and _loosely(compact).search(evidence.folded) is not None


def found_in(reference: str, folded: str, loosely: bool) -> bool:
    """Whether a reference may stand in one of several texts: false for most that do not."""
    wanted, digits, compact = _wanted(reference)
    return any(one in folded for one in wanted) or (loosely and bool(digits or compact[:2] in folded))


def has_digits(written: str, evidence: Evidence) -> bool:
    """Whether a text has a figure of three digits or more, be it with letters before it: 1782 of LH1782."""
    return (
        len(written) > 2
        and written.isdigit()
        and written in evidence.folded
        and _figure(written).search(evidence.folded) is not None
    )


@functools.lru_cache(maxsize=1024)
def _figure(written: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\d.,]){written}(?![\d])")


@functools.lru_cache(maxsize=1024)
def _wanted(reference: str) -> tuple[frozenset[str], str, str]:
    """A reference as it may be written, its digits where it is a number, and its letters and digits where joints may differ."""
    low = _SCHEME.sub("", plain(reference.strip("`*")).rstrip("/."))
    if low[:1] == "#" and low[1:].isdigit():
        low = low[1:]
    version = low[1:] if low[:1] == "v" and low[1:2].isdigit() else low
    if sum(map(str.isdigit, low)) >= 7 and not any(map(str.isalpha, low)):
        return frozenset([low, version]), _GAPS.sub("", low).lstrip("+("), ""
    compact = _JOINTS.sub("", low)
    if len(compact) < 4 or "@" in low or "/" in low or not any(map(str.isdigit, compact)):
        compact = ""
    return frozenset([low, version]), "", compact


@functools.lru_cache(maxsize=1024)
def _loosely(compact: str) -> re.Pattern[str]:
    """A reference with other joints: ORD-47, ORD 47 and ORD47."""
    return re.compile(r"(?<![a-z0-9])" + r"[\s_./#-]?".join(map(re.escape, compact)) + r"(?![a-z0-9]|[-_][a-z0-9])")


def _stands(wanted: str, text: str) -> bool:
    """Whether a text has something with nothing written onto it."""
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        end = at + len(wanted)
        before, after = text[at - 1 : at], text[end : end + 2]
        joined = after[:1] in ("-", "_", "@") and after[1:].isalnum() and after[1:].isascii()
        if not _ascii_alnum(before) and before not in ("_", "@") and not _ascii_alnum(after[:1]) and not joined:
            return True
        at = text.find(wanted, at + 1)
    return False


def _ascii_alnum(char: str) -> bool:
    return char.isascii() and char.isalnum()


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
