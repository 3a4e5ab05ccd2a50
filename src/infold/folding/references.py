"""Exact words of a text: addresses, files, codes, versions; and whether another text has them. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING

from infold.folding.calendar import Dated
from infold.folding.likeness import words
from infold.folding.names import IDENTIFIER, MAY_IDENTIFY
from infold.folding.proper import plain
from infold.folding.quantities import readings

if TYPE_CHECKING:
    from infold.folding.evidence import Evidence

_TOKEN = re.compile(r"`[^`\n]+`|[^\s,;()\[\]{}<>\"“”„«»|，。；：、（）？！]+")
_EXACT = re.compile(r"\d|[_@#`\\]|--\w|\w\.\w|/|[a-z][A-Z]")
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
_PHONE_DIGITS = 5  # at least
_DIGIT = re.compile(r"\d")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,8}(?: ?[A-Z0-9]{1,4})?\b")
_AGED = re.compile(r"(?:under|over|sub|pre|post|mid|top|early|late)-\d+s?", re.IGNORECASE)
_LINE = re.compile(r"(.*[./].*[a-z_]):\d+", re.IGNORECASE)  # a file and a line of it
_CLASS = re.compile(r"\d{1,2}[abcef]")
_DOTTED = re.compile(r"[a-z_][\w-]*(?:\.[a-z_]\w*)+(?:\(\))?$", re.IGNORECASE)
_ABBREVIATED = re.compile(r"(?:[a-z]\.)+[a-z]?\.?$|.*\.\.", re.IGNORECASE)
_CAMEL = re.compile(r"[a-z]+[A-Z]\w*$|[A-Z][a-z]+(?:[A-Z][a-z]+)+$")
GAPS = re.compile(r"[\s()/.-]+(?=\d)")
_JOINTS = re.compile(r"[\s_./-]+")
_SCHEME = re.compile(r"^(?:https?://)?(?:www\.)?")
_POINT = re.compile(r"(?<=\d)\.(?=\d)")  # of a version
_UNPOINTED = r"(?:[\s_/#-]|(?<!\d)\.|\.(?!\d))?"
_RUNS = re.compile(r"[^\W\d_]+|\d+")
_HASH = re.compile(r"[0-9a-f]{7,}")
_SLASHED = re.compile(r"(?<![\w./@-])[a-z][\w-]*/[a-z][\w-]*(?![\w/@.])")  # apps/portal, and/or
_PLATE = re.compile(r"\b[A-Z]{1,3}[ -][A-Z]{1,3} \d{2,4}\b")  # BR SU 622, EU VAT 2026
_BETWEEN = re.compile(r"[\W_]+")

Reference = tuple[str, int, int]
"""As written, start and end."""


def masked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """A text with some spans blanked, so that nothing else is read in them; lengths stay."""
    blanked: list[str] = []
    for start, end in spans:
        blanked = blanked or list(text)
        blanked[start:end] = "¤" * (end - start)
    return "".join(blanked) or text


def references_in(text: str, dates_there: Sequence[Dated]) -> tuple[list[Reference], str]:
    """Addresses, files, codes, versions and other exact words, and the text without them."""
    if not _EXACT.search(text):
        return [], text
    found: list[Reference] = []
    dated = [(one.start, one.end) for one in dates_there]
    figures = len(_DIGIT.findall(text))
    for pattern in (_IBAN, _PHONE) if figures >= _PHONE_DIGITS else (_IBAN,) if figures > 1 else ():
        for match in pattern.finditer(text):
            if not any(start < match.end() and match.start() < end for start, end in dated):
                found.append((match[0], *match.span()))
    rest = masked(text, [*dated, *((start, end) for _, start, end in found)])
    for match in _TOKEN.finditer(rest):
        if match[0].isalpha() and match[0][1:].islower():
            continue
        token = match[0].strip(".:!?*'’…·=→")
        if ":" in token and (file := _LINE.fullmatch(token)):
            token = file[1]
        if _exact(token):
            start = match.start() + match[0].index(token)
            found.append((token, start, start + len(token)))
    return found, masked(text, ((start, end) for _, start, end in found))


def _exact(token: str) -> bool:
    """Whether a token names something exactly; figures are read as numbers instead."""
    if len(token) < 2 or "¤" in token or not _EXACT.search(token):
        return False
    if token[0] == "`":
        return True
    if any(map(str.isdigit, token)):
        if _CLASS.fullmatch(token):
            return True
        if _AGED.fullmatch(token):
            return False
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


def cites(reference: str, evidence: Evidence, loosely: bool = True) -> bool:
    """Whether a text has a reference: whole, or as the end of a longer path; `loosely` also with other joints."""
    wanted, digits, compact, low = _wanted(reference)
    for one in wanted:
        if one in evidence.folded and _stands(one, evidence.folded):
            return True
    if not loosely:
        return False
    if digits:
        return _stands(digits, evidence.digits)
    return bool(compact) and compact[:2] in evidence.folded and _loosely(low).search(evidence.folded) is not None


def written_as(reference: str) -> frozenset[str]:
    """The ways a reference may be written; a text that has it has one of them."""
    return _wanted(reference)[0]


def doubtful_in(text: str) -> tuple[str, ...]:
    """What may be a reference and may be plain words: only beside one of the same form it can be told."""
    found = _SLASHED.findall(text) if "/" in text else []
    return (*found, *_PLATE.findall(text)) if _DIGIT.search(text) else tuple(found)


def unknown_part(written: str, said: Container[str]) -> bool:
    """Whether a telling word that it is made of is not among those said."""
    return any(part not in said and words(part) for part in _BETWEEN.split(plain(written)))


def known_by(reference: str) -> str:
    """What is the same however a reference is written."""
    _, digits, compact, low = _wanted(reference)
    return compact or digits or low


def form_of(reference: str) -> str:
    """What kind of reference it is: only those of one form can be mistaken for each other."""
    low = known_by(reference)
    if "@" in low:
        return "mail"
    if "/" in low or "_" in low:
        return "path"
    return "hash" if _HASH.fullmatch(low) else _RUNS.sub(lambda run: "9" if run[0].isdigit() else "a", low)


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
def _wanted(reference: str) -> tuple[frozenset[str], str, str, str]:
    """A reference as it may be written, its digits where it is a number, its letters and digits where joints may differ,
    and the whole in small letters."""
    low = _SCHEME.sub("", plain(reference.strip("`*")).rstrip("/."))
    if low[:1] == "#" and low[1:].isdigit():
        low = low[1:]
    version = low[1:] if low[:1] == "v" and low[1:2].isdigit() else low
    if sum(map(str.isdigit, low)) >= 7 and not any(map(str.isalpha, low)):
        return frozenset([low, version]), GAPS.sub("", low).lstrip("+("), "", low
    compact = _JOINTS.sub("", low)
    if len(compact) < 4 or "@" in low or "/" in low or not any(map(str.isdigit, compact)):
        compact = ""
    return frozenset([low, version]), "", compact, low


@functools.lru_cache(maxsize=1024)
def _loosely(low: str) -> re.Pattern[str]:
    """A reference with other joints: ORD-47, ORD 47 and ORD47; but 2.1.14 is not 2.11.4."""
    parts = [[ch for ch in part if not _JOINTS.match(ch)] for part in _POINT.split(low)]
    pattern = r"[\s_./#-]".join(_UNPOINTED.join(map(re.escape, part)) for part in parts)
    return re.compile(r"(?<![a-z0-9])" + pattern + r"(?![a-z0-9]|[-_][a-z0-9])")


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
