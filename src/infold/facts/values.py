"""Values as far as they are compared: figures, money and dates written alike. Pure."""

from __future__ import annotations

import functools
import re

from infold.facts.statements import evened
from infold.folding.calendar import MONTHS

_NUMBERS = {
    name: at
    for at, name in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen twenty".split()
    )
} | {name: ten * 10 for ten, name in enumerate("thirty forty fifty sixty seventy eighty ninety".split(), start=3)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
_MONEY = {
    "$": "usd", "dollar": "usd", "dollars": "usd", "bucks": "usd", "us$": "usd", "€": "eur", "euro": "eur", "euros": "eur",
    "£": "gbp", "pounds": "gbp", "quid": "gbp", "years": "year",
}  # fmt: skip
_IDLE = frozenset(
    "a an the about around roughly approximately now exactly currently of on at in years year old".split()
)
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_WORD = re.compile(r"[$€£]|\d[\d.,]*(?:k\b)?|[^\W\d][\w'+#./@-]*|[+#]\w+|\S")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?$")
_ORDINAL = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b")
_DATED = re.compile(r"\d")
_NAMES = ("", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@functools.lru_cache(maxsize=4096)
def compared(value: str) -> str:
    """What two spellings of a value have in common: "six hundred euros" and "€600.00" are the same."""
    low = evened(value)
    if _DATED.search(low):
        low = _ORDINAL.sub(r"\1", _ISO.sub(lambda day: f"{day[1]} {_NAMES[int(day[2]) % 13]} {int(day[3])}", low))
    words = [word for word in _numbered([_plain(word) for word in _WORD.findall(low)]) if word not in _IDLE]
    if any(word in _NAMES for word in words) or any(word in ("usd", "eur", "gbp") for word in words):
        words = sorted(word for word in words if word not in ",.")
    return " ".join(word for word in words if word not in (",", ".", ";")) or low


def _plain(word: str) -> str:
    if word[0].isdigit():
        number = word.rstrip(".,")
        if number.endswith("k") and number[:-1].isdigit():
            return f"{number[:-1]}000"
        if _GROUPED.match(number):
            number = number.replace(",", "")
        if number.count(".") == 1 and number.endswith(("0", "00")) and len(number.rpartition(".")[2]) == 2:
            number = number.rstrip("0").rstrip(".")  # 600.00, but not version 3.10
        return number
    word = word.rstrip(".")
    if word in MONTHS and (word not in ("may", "mar", "set", "ago") or word in ("may", "mar")):
        return _NAMES[MONTHS[word]]
    return _MONEY.get(word, word)


def _numbered(words: list[str]) -> list[str]:
    """The words with numbers in figures: "six hundred" as "600"."""
    if _NUMBERS.keys().isdisjoint(words):
        return words
    found: list[str] = []
    total: int | None = None
    for word in [*words, ""]:
        if word in _NUMBERS:
            total = (total or 0) + _NUMBERS[word]
        elif word in _SCALES and total:
            total *= _SCALES[word]
        elif word not in ("-", "and") or total is None:
            if total is not None:
                found.append(str(total))
                total = None
            found.append(word)
    return found[:-1] if found and not found[-1] else found


def compatible(one: str, other: str) -> bool:
    """Whether of two compared values one only adds to the other: "oslo" and "oslo norway"."""
    first, second = set(one.split()), set(other.split())
    return first <= second or second <= first
