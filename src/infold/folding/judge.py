"""What a sentence is for memory, by two small linear models over its words. Pure.

The weights are trained by `python -m training.train` from the labelled sentences in `training/` and shipped beside this file.
"""

from __future__ import annotations

import functools
import gzip
import json
import math
from importlib.resources import files
from typing import Any

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


def tokens(sentence: str) -> list[str]:
    """The words of a sentence, lower case; names, figures, references and days only by what they are."""
    found = ["^"]
    first = True
    for raw in sentence.split():
        word = raw if raw.isalpha() else raw.strip(_EDGES)
        low = word.lower()
        if not low:
            if raw[0] in ":;(–—-":
                found.append(raw[0])
            continue
        if not low.isalpha() and (shape := _shape(raw, word, low)):
            found.append(shape)
        elif low in _UNITS and found[-1] == "§n":
            found[-1] = "§amount"
        elif low in _DAYS:
            if found[-1] == "§n":
                found[-1] = "§date"
            else:
                found.append("§day")
        elif not first and word[0].isupper() and low not in _PRONOUN:
            if found[-1] != "§name":
                found.append("§name")
        else:
            found.append(low)
        last = raw[-1]
        first = last in ".!?"
        if last in ":;,?!" and len(raw) > 1:
            found.append(last)
    found.append("$")
    return found


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


def features(found: list[str]) -> list[str]:
    """What the model looks at: words, and pairs of neighbours."""
    return [*found[1:-1], *map(_PAIR, found, found[1:])]


_PAIR = "{} {}".format
# Words and pairs, each with its weight in hundredths: whole numbers add up the same in any order.
_Gate = dict[str, int]
_Kinds = dict[str, list[list[int]]]


@functools.cache
def _weights() -> dict[str, Any]:
    packed = (files("infold.folding") / "weights.json.gz").read_bytes()
    told: dict[str, Any] = json.loads(gzip.decompress(packed))
    return told


@functools.cache
def _model() -> tuple[list[str], dict[bool, tuple[float, _Gate, list[float], _Kinds]]]:
    told = _weights()
    by_speaker = {True: told["user"], False: told["assistant"]}
    return told["labels"], {
        by_user: (own["gate_bias"], own["gate"], own["kinds_bias"], own["kinds"]) for by_user, own in by_speaker.items()
    }


@functools.cache
def common() -> frozenset[str]:
    """Words that are said about everything."""
    return frozenset(_weights()["common"])


def worth(found: list[str], by_user: bool) -> float:
    """How much a sentence deserves to be remembered: above 0 rather yes, below 0 rather not."""
    return worth_of({*features(found)}, by_user)


def worth_of(seen: set[str], by_user: bool) -> float:
    """The same, of what the models look at."""
    bias, gate, _, _ = _model()[1][by_user]
    known = [gate[name] for name in gate.keys() & seen]
    return bias + sum(known) / math.sqrt(len(known) + 1) / 100


def kinds_of(seen: set[str], by_user: bool, cues: list[str]) -> tuple[str, str, float]:
    """What a sentence that is worth it is, what else it could be, and how far it is from being a reversal."""
    labels, models = _model()
    _, _, bias, kinds = models[by_user]
    known = [kinds[name] for name in kinds.keys() & seen.union(cues)]
    votes = [0] * len(labels)
    for pairs in known:
        for at, weight in pairs:
            votes[at] += weight
    norm = 1 / math.sqrt(len(known) + 1) / 100
    scores = [own + norm * mine for own, mine in zip(bias, votes, strict=True)]
    first, second = sorted(range(len(scores)), key=lambda at: -scores[at])[:2]
    apart = scores[first] - scores[labels.index("reversal")]
    made, turned = labels.index("decision"), labels.index("reversal")
    if first not in (made, turned) and math.exp(scores[made] - scores[first]) + math.exp(-apart) > 1:
        # A decision or a change of one, between them likelier than anything else.
        first, second = (made, turned) if scores[made] >= scores[turned] else (turned, made)
    return labels[first], labels[second], apart
