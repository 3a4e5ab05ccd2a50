"""Two scores of a sentence from its features: sums of whole numbers, read off a curve. Pure but for loading the weights."""

from __future__ import annotations

import gzip
import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from infold.quoting.adding import Tables
from infold.quoting.candidate import MOST

WORTH, STANDING = "worth", "standing"


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

    @cached_property
    def tables(self) -> Tables:
        """The weights by what a sentence shows."""
        return Tables(self.weights, self.bias)

    def worth(self, sums: tuple[int, int]) -> int:
        """0 to MOST."""
        return read_off(self.curves[0], sums[0])

    def standing(self, sums: tuple[int, int]) -> int:
        """0 to MOST."""
        return read_off(self.curves[1], sums[1])


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
