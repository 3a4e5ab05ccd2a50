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
from itertools import pairwise
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
# whether it ends a sentence, and the words in it as they are said. A plain tuple, which is unpacked fastest; and only its
# token where it is all of this, as most words are.
_Word = tuple[str, str, str, str, bool, list[str]] | str


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


ENDS = ("^", "$")
"""The first and the last token of every sentence."""


def look(sentence: str) -> tuple[list[str], set[str]]:
    """The tokens of a sentence, and its words as they are said."""
    found = ["^"]
    every: list[str] = []
    first = True
    for word in map(_known, sentence.split()):
        if isinstance(word, str):
            found.append(word)
            every.append(word)
            first = False
            continue
        opening, within, measure, mark, ends, said = word
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
    if raw == low == within and said == [low] and not measure:
        return low
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


# Weights are whole hundredths, which add up the same in any order. All weights of a word or a pair are one number with
# fields of 32 bits, so that a sum of such numbers adds up every field at once: 1 where the gate knows it, its weight there, 1
# where the kinds know it, its weight for each kind.
ZERO = 1 << 15  # what stands for 0 in a weight: so none is below it


class _Model(NamedTuple):
    """What one speaker's sentences are judged by."""

    gate_bias: float
    kinds_bias: list[float]
    words: dict[str, int]
    pairs: dict[str, dict[str, int]]
    """By the first word and the second."""
    cues: dict[str, int]


@functools.cache
def _weights() -> dict[str, Any]:
    packed = (files("infold.folding") / "weights.json.gz").read_bytes()
    told: dict[str, Any] = json.loads(gzip.decompress(packed))
    return told


@functools.cache
def _model(by_user: bool) -> _Model:
    own = _weights()["user" if by_user else "assistant"]
    pairs = {first: _numbers(after) for first, after in own["pairs"].items()}
    return _Model(own["gate_bias"], own["kinds_bias"], _numbers(own["words"]), pairs, _numbers(own["cues"]))


def _numbers(told: dict[str, str]) -> dict[str, int]:
    return {name: int(weights, 16) for name, weights in told.items()}


@functools.cache
def _labels() -> tuple[list[str], int, struct.Struct]:
    """The kinds, the place of reversals among them, and how the sums of all fields are told apart."""
    labels: list[str] = _weights()["labels"]
    return labels, labels.index("reversal"), struct.Struct(f">{3 + len(labels)}I")


@functools.cache
def small() -> frozenset[str]:
    """Words that the models know within a sentence, where names are known as names only."""
    return frozenset(second for first, after in _model(True).pairs.items() if first != ENDS[0] for second in after)


@functools.cache
def common() -> frozenset[str]:
    """Words that are said about everything."""
    return frozenset(_weights()["common"])


def worth(found: list[str], by_user: bool) -> float:
    """How much a sentence deserves to be remembered: above 0 rather yes, below 0 rather not."""
    return worth_of(votes(found, by_user), by_user)


def votes(found: list[str], by_user: bool) -> int:
    """What the models know of the words of a sentence and of its pairs of neighbours, each counted once."""
    model = _model(by_user)
    alone = {*found}
    known = [*filter(None, map(model.words.get, alone))]
    # A pair can only be there twice where both its words are.
    pairs = pairwise(found) if len(found) - len(alone) < 2 else {*pairwise(found)}
    follow = model.pairs.get
    for first, second in pairs:
        if (after := follow(first)) is not None and (weights := after.get(second)) is not None:
            known.append(weights)
    return sum(known)


def worth_of(voted: int, by_user: bool) -> float:
    """The same, of what was voted."""
    gate = voted >> 8 * _labels()[2].size - 64
    known = gate >> 32
    return _model(by_user).gate_bias + ((gate & 0xFFFF_FFFF) - ZERO * known) / math.sqrt(known + 1) / 100


def kinds_of(voted: int, by_user: bool, cues: list[str]) -> tuple[str, str, float]:
    """What a sentence that is worth it is, what else it could be, and how far it is from being a reversal."""
    model = _model(by_user)
    labels, reversal, sums = _labels()
    voted += sum(filter(None, map(model.cues.get, cues)))
    _, _, known, *found = sums.unpack(voted.to_bytes(sums.size, "big"))
    zero, norm = ZERO * known, 1 / math.sqrt(known + 1) / 100
    scores = [own + norm * (mine - zero) for own, mine in zip(model.kinds_bias, found, strict=True)]
    first = scores.index(max(scores))
    apart = scores[first] - scores[reversal]
    scores[first] = -math.inf
    return labels[first], labels[scores.index(max(scores))], apart
