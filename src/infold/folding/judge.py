"""What a sentence is for memory, by two small linear models over its words. Pure.

The weights are trained by `python -m training.train` from the labelled sentences in `training/` and shipped beside this file.
"""

from __future__ import annotations

import functools
import gzip
import json
import math
import re
import struct
from importlib.resources import files
from itertools import chain, pairwise
from typing import Any, NamedTuple

_UNITS = frozenset(
    "euro euros eur dollars dollar usd pounds pound gbp chf percent gb mb tb kb kg g km cm mm m litres liters ml "
    "minutes minute mins min hours hour hrs h days day weeks week months month years year people persons guests "
    "seats users rooms nights pages words items units licences licenses degrees mg k sqm miles metres meters".split()
)
_DAYS = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri sat sun january "
    "february march april june july august september october november december jan feb apr jun jul aug sep sept oct "
    "nov dec".split()
)
_EDGES = ".,;:!?()[]{}\"“”«»'…*_<>"


# What a word is by itself: its token at the start of a sentence and within one, what a number before it becomes, its mark,
# whether it ends a sentence, and the words in it as they are said. A plain tuple, which is unpacked fastest.
_Word = tuple[str, str, str, str, bool, list[str]]


class _Words(dict[str, _Word]):
    """All words met so far: most words of a sentence have been seen before."""

    def __missing__(self, raw: str) -> _Word:
        if len(self) >= _MOST_WORDS:
            self.clear()
        self[raw] = word = _word(raw)
        return word


_MOST_WORDS = 8192
_known = _Words().__getitem__


def tokens(sentence: str) -> list[str]:
    """The words of a sentence, lower case; names, figures, references and days only by what they are."""
    return look(sentence)[0]


def look(sentence: str) -> tuple[list[str], set[str]]:
    """The tokens of a sentence, and its words as they are said."""
    found = ["^"]
    every: list[str] = []
    first = True
    for opening, within, measure, mark, ends, said in map(_known, sentence.split()):
        every += said
        if within:
            if measure and found[-1] == "§n":
                found[-1] = measure
            elif first:
                found.append(opening)
            elif within != "§name" or found[-1] != "§name":
                found.append(within)
            first = ends
        if mark:
            found.append(mark)
    found.append("$")
    return found, {*every}


def words_of(sentence: str) -> set[str]:
    """The words of a sentence as they are said."""
    return look(sentence)[1]


_SAID = re.compile(r"[\w'-]+")


def _word(raw: str) -> _Word:
    said = _SAID.findall(raw.lower())
    word = raw if raw.isalpha() else raw.strip(_EDGES)
    low = word.lower()
    if not low:
        return "", "", "", raw[0] if raw[0] in ":;(–—-" else "", False, said
    measure, opening = "", low
    if not low.isalpha() and (shape := _shape(raw, word, low)):
        opening = within = shape
    elif low in _DAYS:
        opening = within = "§day"
        measure = "§date"
    else:
        within = "§name" if word[0].isupper() and low not in _PRONOUN else low
        measure = "§amount" if low in _UNITS else ""
    last = raw[-1]
    return opening, within, measure, last if last in ":;,?!" and len(raw) > 1 else "", last in ".!?", said


def _shape(raw: str, word: str, low: str) -> str:
    """What a word with more than letters in it is; empty where it is just a word."""
    if any(map(str.isdigit, word)):
        return _figure(raw, word)
    if "@" in word or ("/" in word[1:] and "." in word):
        return "§id"
    if (
        "." in word[1:-1]
        and word[0].isalnum()
        and len(word) > 4
        and word.rsplit(".", 1)[1].isalpha()
        and "'" not in word
    ):
        return "" if low.endswith(("e.g", "i.e", "a.m", "p.m")) else "§id"
    return ""


_PRONOUN = frozenset(["i", "i'm", "i'd", "i'll", "i've", "ok"])


def _figure(raw: str, word: str) -> str:
    if (
        raw[0] in "$€£¥"
        or raw[-1] in "%€$£"
        or word[0] in "$€£¥"
        or word[-1] in "%€$£"
        or (word[-1] in "kK" and word[:-1].replace(".", "").isdigit())
    ):
        return "§amount"
    if raw[0] == "#" or "/" in word or "_" in word or (any(map(str.isupper, word)) and any(map(str.isdigit, word))):
        return "§id"
    if (word.count("-") == 2 and len(word) == 10) or ":" in word:
        return "§date"
    if word.count(".") >= 1 and not word.replace(".", "").isdigit():
        return "§id"
    if word.count(".") >= 2:
        return "§id"
    plain = word.replace(",", "").replace(".", "")
    if plain.isdigit():
        return "§n" if len(plain) < 6 else "§id"
    if plain[-2:] in ("th", "st", "nd", "rd", "am", "pm"):
        return "§date"
    return "§id" if plain[:1] == "v" or "-" in word else "§n"


def features(found: list[str]) -> set[str]:
    """What the model looks at: words, and pairs of neighbours."""
    return {*found[1:-1], *map(" ".join, pairwise(found))}


# Weights are whole hundredths, which add up the same in any order.
ZERO = 1 << 15  # what stands for 0 in the weights of the kinds: so none is below it


class _Model(NamedTuple):
    """What one speaker's sentences are judged by."""

    gate_bias: float
    gate: dict[str, int]
    """The weight of a word or a pair."""
    kinds_bias: list[float]
    kinds: dict[str, int]
    """Its weights for all kinds, 32 bits each, in one number: a sum of such numbers adds up all kinds at once."""


@functools.cache
def _weights() -> dict[str, Any]:
    packed = (files("infold.folding") / "weights.json.gz").read_bytes()
    told: dict[str, Any] = json.loads(gzip.decompress(packed))
    return told


@functools.cache
def _model(by_user: bool) -> _Model:
    own = _weights()["user" if by_user else "assistant"]
    kinds = {name: int(weights, 16) for name, weights in own["kinds"].items()}
    return _Model(own["gate_bias"], own["gate"], own["kinds_bias"], kinds)


@functools.cache
def _labels() -> tuple[list[str], int, struct.Struct]:
    """The kinds, the place of reversals among them, and how their sums are told apart."""
    labels: list[str] = _weights()["labels"]
    return labels, labels.index("reversal"), struct.Struct(f">{len(labels)}I")


@functools.cache
def common() -> frozenset[str]:
    """Words that are said about everything."""
    return frozenset(_weights()["common"])


def worth(found: list[str], by_user: bool) -> float:
    """How much a sentence deserves to be remembered: above 0 rather yes, below 0 rather not."""
    return worth_of(features(found), by_user)


def worth_of(seen: set[str], by_user: bool) -> float:
    """The same, of what the models look at."""
    model = _model(by_user)
    known = [*filter(None, map(model.gate.get, seen))]
    return model.gate_bias + sum(known) / math.sqrt(len(known) + 1) / 100


def kinds_of(seen: set[str], by_user: bool, cues: list[str]) -> tuple[str, str, float]:
    """What a sentence that is worth it is, what else it could be, and how far it is from being a reversal."""
    model = _model(by_user)
    labels, reversal, sums = _labels()
    known = [*filter(None, map(model.kinds.get, chain(seen, cues)))]
    votes = sums.unpack(sum(known).to_bytes(sums.size, "big"))
    zero, norm = ZERO * len(known), 1 / math.sqrt(len(known) + 1) / 100
    scores = [own + norm * (mine - zero) for own, mine in zip(model.kinds_bias, votes, strict=True)]
    first = scores.index(max(scores))
    apart = scores[first] - scores[reversal]
    scores[first] = -math.inf
    return labels[first], labels[scores.index(max(scores))], apart
