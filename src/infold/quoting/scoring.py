"""Two scores of a sentence from its features: sums of whole numbers, read off a curve. Pure but for loading the weights."""

from __future__ import annotations

import gzip
import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import repeat
from typing import Any

from infold.quoting.candidate import MOST
from infold.quoting.features import MOST_WORDS, Seen, Setting

WORTH, STANDING = "worth", "standing"


_HALF = 1 << 31


def _packed(weights: tuple[int, int]) -> int:
    """Two weights in one number, so that both are added up at once."""
    return weights[0] + (weights[1] << 32)


def _parts(total: int) -> tuple[int, int]:
    """The two numbers in a packed one; each is much smaller than 2**31."""
    two = (total + _HALF) >> 32
    return total - (two << 32), two


class Table(dict[str, int]):
    """Packed weights of the features that begin in one way, by the rest of their names."""

    def __init__(self, weights: Mapping[str, tuple[int, int]], begin: str, end: str = "") -> None:
        size = len(begin)
        super().__init__(
            (name[size : len(name) - len(end)], _packed(pair))
            for name, pair in weights.items()
            if name.startswith(begin) and name.endswith(end)
        )
        self.known = frozenset(self)

    def sum(self, names: Iterable[str]) -> int:
        """Of the names that have a weight, each once."""
        return sum(map(self.__getitem__, self.known.intersection(names)))


class Tables:
    """A model's weights for one role, where `sums` needs no name of a feature to find them."""

    def __init__(self, model: Model, role: str) -> None:
        weights = model.weights
        self.bias = _packed(model.bias) + _packed(weights.get(f"r:{role}", (0, 0)))
        self.marks = Table(weights, "")
        for name, weight in Table(weights, "", role).items():
            self.marks[name] = self.marks.get(name, 0) + weight
        ...


_HIGH = 32
"""Two weights are packed into one number, the second this many bits higher, so that one sum adds up both."""
_NEITHER = frozenset(["r", "n", "k", "w", "b", "s", "h", "c", "<", ">", "<asks", ">asks", "re"])
"""Beginnings of features that are no marks."""
_NOUGHTS = repeat(0)

Packed = dict[str, int]


@dataclass(frozen=True)
class Model:
    """Weights of two scores by feature, and the curve each sum is read off."""

    weights: Mapping[str, tuple[int, int]]
    bias: tuple[int, int]
    curves: tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]

    def sums(self, features: Iterable[str]) -> tuple[int, int]:
        """The two sums."""
        one, two = self.bias
        get = self.weights.get
        for feature in features:
            if (found := get(feature)) is not None:
                one += found[0]
                two += found[1]
        return one, two

    def scores(self, one: Seen, place: Setting) -> tuple[int, int]:
        """Worth and standing of a sentence where it stands, 0 to MOST."""
        worth, standing = self.adder.sums(one, place)
        return read_off(self.curves[0], worth), read_off(self.curves[1], standing)

    @cached_property
    def adder(self) -> Adder:
        """The same sums without names of features."""
        return Adder(self)


class Adder:
    """A model's weights in tables by what a sentence shows: `sums` is `Model.sums` of its features, many times as quick."""

    def __init__(self, model: Model) -> None:
        tables: defaultdict[str, Packed] = defaultdict(dict)
        for feature, (worth, standing) in model.weights.items():
            begin, _, name = feature.partition(":")
            tables[begin][name] = worth + (standing << _HIGH)
        self.bias = model.bias[0] + (model.bias[1] << _HIGH)
        self.speaker, self.named, self.reply = tables["r"], tables["n"], tables["re"]
        self.words, self.doubles, self.runs, self.signs = (_Known(tables[begin]) for begin in "wbhc")
        self.before, self.after = tables["<"], tables[">"]
        self.asked_before, self.asked_after = (tables[f"{way}asks"].get("", 0) for way in "<>")
        marks = {f"{begin}:{name}": w for begin in tables.keys() - _NEITHER for name, w in tables[begin].items()}
        self.own = {role: _with_role({**tables["k"], **marks}, role) for role in "uat"}
        self.starts = tables["s"]

    def sums(self, one: Seen, place: Setting) -> tuple[int, int]:
        """The two sums of a sentence where it stands."""
        role = place.role[0]
        total = self.bias + self.speaker.get(role, 0) + self.named.get(str(place.named), 0)
        total += sum(map(self.own[role].get, one.cues + one.marks + place.marks, _NOUGHTS))
        total += self.words.sum(one.words[:MOST_WORDS]) + self.doubles.sum(one.doubles[: MOST_WORDS - 1])
        total += self.starts.get(role + " ".join(one.words[:2]), 0)
        total += self.runs.sum(one.runs) + self.signs.sum(one.signs)
        total += sum(map(self.before.get, place.before.cues, _NOUGHTS))
        total += sum(map(self.after.get, place.after.cues, _NOUGHTS))
        total += self.asked_before * place.before.asks + self.asked_after * place.after.asks
        total += self.reply.get(place.reply, 0)
        for cue in place.answers:
            total += self.reply.get(cue + role, 0)
        standing = (total + (1 << (_HIGH - 1))) >> _HIGH
        return total - (standing << _HIGH), standing


class _Known:
    """Packed weights by name."""

    def __init__(self, weights: Packed) -> None:
        self._weight = weights.__getitem__
        self._known = frozenset(weights)

    def sum(self, names: list[str]) -> int:
        """Of the names that have a weight, each once."""
        return sum(map(self._weight, self._known.intersection(names)))


def _with_role(weights: Packed, role: str) -> Packed:
    """To each name's weight the weight of the same name with the role behind it is added."""
    found = dict(weights)
    for name, weight in weights.items():
        if name.endswith(role):
            found[name[:-1]] = found.get(name[:-1], 0) + weight
    return found


def read_off(curve: tuple[tuple[int, int], ...], at: int) -> int:
    """A point of a curve of straight lines."""
    place = bisect_right(curve, (at, MOST + 1))
    if place == 0:
        return curve[0][1]
    if place == len(curve):
        return curve[-1][1]
    (x0, y0), (x1, y1) = curve[place - 1], curve[place]
    return y0 + (y1 - y0) * (at - x0) // (x1 - x0)


def from_json(found: Mapping[str, Any]) -> Model:
    """A model from what the weights file holds."""
    weights = {name: (one, two) for name, (one, two) in found["weights"].items()}
    one, two = (tuple((x, y) for x, y in found["curves"][name]) for name in (WORTH, STANDING))
    return Model(weights, (found["bias"][0], found["bias"][1]), (one, two))


@cache
def shipped() -> Model:
    """The model in the package."""
    packed = files("infold.quoting").joinpath("weights.json.gz").read_bytes()
    return from_json(json.loads(gzip.decompress(packed)))
