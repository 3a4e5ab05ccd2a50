"""Of a chat too long to be kept in memory, what a first look needs of each passage beside its words. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infold.recall.corpus import COARSE
from infold.recall.nominees import Nominees, Stretch, chosen, length, near_words, shares
from infold.recall.query import Asked
from infold.recall.segment import Segment
from infold.recall.signals import named_times, spread
from infold.recall.vectors import unit

_AT_ONCE = 4096
_NOTHING = np.zeros(0, np.int64)
Block = tuple[int, int, int]
"""A block: its chat, its first position and its key."""


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """Passages of blocks, with their times and speakers and the beginnings of their vectors. It is not changed: it has heirs."""

    blocks: frozenset[Block]
    speakers: tuple[str, ...]
    at: NDArray[np.int64]
    speaker: NDArray[np.int32]
    coarse: NDArray[np.int8]
    scale: NDArray[np.float32]
    """What makes a `coarse` one have the length 1."""
    starts: NDArray[np.int64]
    """The first passage of each stretch."""
    stretches: NDArray[np.int64]
    """Chat, first position of the block and number in it, of each stretch."""
    rows: NDArray[np.int64]
    """Their numbers in full text, rising."""
    places: NDArray[np.int64]
    """Which stretch each of `rows` is."""

    @classmethod
    def empty(cls) -> Sketch:
        """One of no blocks."""
        none = np.zeros(0, np.int64)
        coarse, scale = np.zeros((0, COARSE), np.int8), np.zeros(0, np.float32)
        return cls(frozenset(), (), none, none.astype(np.int32), coarse, scale, none, none.reshape(0, 3), none, none)

    def with_blocks(self, new: Mapping[Block, Segment], most: int) -> Sketch:
        """The same with more blocks, in which there are so many stretches at most."""
        numbers = {name: at for at, name in enumerate(self.speakers)}
        columns: dict[str, list[NDArray[Any]]] = {
            name: [getattr(self, name)]
            for name in ("at", "speaker", "coarse", "scale", "starts", "stretches", "rows", "places")
        }
        size, known = len(self.at), len(self.starts)
        for (chat, first, key), found in new.items():
            who = np.array([numbers.setdefault(name, len(numbers)) for name in found.speakers], np.int32)
            starts = np.arange(0, len(found.seq), length(found, most))
            number = np.arange(len(starts))
            coarse = found.vectors[:, :COARSE]
            if coarse.shape[1] < COARSE:
                coarse = np.pad(coarse, ((0, 0), (0, COARSE - coarse.shape[1])))
            long = np.sqrt(np.square(coarse, dtype=np.float32).sum(axis=1))
            for name, values in (
                ("at", found.at),
                ("speaker", who[found.speaker]),
                ("coarse", coarse),
                ("scale", np.where(long > 0, 1 / np.maximum(long, 1e-9), 0).astype(np.float32)),
                ("starts", size + starts),
                ("stretches", np.stack((np.full(len(starts), chat), np.full(len(starts), first), number), axis=1)),
                ("rows", key * most + number),
                ("places", known + number),
            ):
                columns[name].append(values)
            size, known = size + len(found.seq), known + len(starts)
        joined = {name: np.concatenate(values) for name, values in columns.items()}
        order = np.argsort(joined["rows"], kind="stable")
        joined |= {name: joined[name][order] for name in ("rows", "places")}
        return Sketch(self.blocks | new.keys(), tuple(numbers), **joined)

    def best(
        self, asked: Asked, held: Sequence[NDArray[np.int64]], since: int | None, until: int | None, most: int
    ) -> Nominees:
        """The stretches that promise most; `held` are the rows of full text that have the words of `sought`."""
        if not len(self.at):
            return Nominees([], {})
        query, size = asked.query, len(self.starts)
        own, near = np.zeros((len(asked.terms), size), np.float32), np.zeros((len(asked.terms), size), np.float32)
        for (at, weight, _), rows in zip(sought(asked), held, strict=True):
            (near if weight else own)[at, self._of(rows)] = weight or 1.0
        df = own.sum(axis=1)
        share = shares(df, size)
        session = np.repeat(np.arange(size), np.diff(np.append(self.starts, len(self.at))))
        time, told = named_times(query.times, self.at, self.starts, session)
        who = np.array([name in query.speakers for name in self.speakers], np.float32)[self.speaker]
        close = spread(self._towards(unit(asked.vector[:COARSE])) * self.scale)
        total = close + who + time + told / 4
        inside = (self.at >= (-(1 << 62) if since is None else since)) & (
            self.at < (1 << 62 if until is None else until)
        )
        value = np.maximum.reduceat(np.where(inside, total, -np.inf), self.starts)
        value = value + 6 * (share @ np.maximum(own, near)) + 2 * (share @ own)
        order = np.lexsort((*(-self.stretches[:, at] for at in (2, 1, 0)), -np.round(value, 5)))
        order = order[value[order] > -np.inf]
        then = np.maximum.reduceat(time, self.starts)
        best = self.stretches[chosen(order, then, most)].tolist()
        return Nominees([tuple(one) for one in best], dict(zip(asked.terms, (df / size).tolist(), strict=True)))

    def _towards(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        found = np.empty(len(self.coarse), np.float32)
        for start in range(0, len(found), _AT_ONCE):  # a part at a time, which a processor has at hand
            np.dot(
                self.coarse[start : start + _AT_ONCE].astype(np.float32), vector, out=found[start : start + _AT_ONCE]
            )
        return found

    def is_within(self, rows: NDArray[np.int64]) -> bool:
        """Whether all stretches are among some rows of full text."""
        return bool(np.isin(self.rows, rows).all())

    def _of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The stretches that rows of full text are, those passed over that are of others."""
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        found: NDArray[np.int64] = self.places[at[self.rows[at] == rows]]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Tail:
    """A sketch of what is in no block and no full text yet, with its words."""

    sketch: Sketch
    terms: NDArray[np.uint32]
    """In order."""
    rows: NDArray[np.int64]
    """Of which stretches each of `terms` is."""

    @classmethod
    def of(cls, pieces: Mapping[Block, Segment], most: int) -> Tail:
        """One of some pieces, given as if they were blocks."""
        terms = np.concatenate([*(found.terms for found in pieces.values()), np.zeros(0, np.uint32)])
        rows = [
            np.repeat(key * most + np.arange(len(found.seq)) // length(found, most), found.count)
            for (_, _, key), found in pieces.items()
        ]
        order = np.argsort(terms, kind="stable")
        return cls(Sketch.empty().with_blocks(pieces, most), terms[order], np.concatenate([*rows, _NOTHING])[order])

    def best(self, asked: Asked, since: int | None, until: int | None, most: int) -> list[Stretch]:
        """The stretches that promise most."""
        held = [np.concatenate([_NOTHING, *map(self._having, numbers)]) for *_, numbers in sought(asked)]
        return self.sketch.best(asked, held, since, until, most).stretches

    def _having(self, number: int) -> NDArray[np.int64]:
        first, last = (np.searchsorted(self.terms, np.uint32(number), side) for side in ("left", "right"))
        return self.rows[first:last]


def sought(asked: Asked) -> list[tuple[int, float, list[int]]]:
    """The words to look for in full text: which word of the question they stand for, what they weigh (0 for that word
    itself), and their numbers."""
    return [(at, 0.0, [number]) for at, number in enumerate(asked.terms)] + near_words(asked)
