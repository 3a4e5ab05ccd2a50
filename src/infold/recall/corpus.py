"""The passages of a chat, laid out for ranking. Grows with the chat. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infold.recall.segment import Segment
from infold.recall.vectors import Floats, unit

Numbers = NDArray[np.int64]
GAP = 3 * 3600 * 1000
"""A silence of so many milliseconds ends a session."""
LONGEST = 64
"""A session of more passages is cut: chats that never pause still have neighbourhoods."""
COARSE = 64
"""Numbers of a vector that a first look over a long chat takes: the first ones carry most."""
_AS_FLOATS = 16384  # so many vectors are kept ready for use, at four times the memory
_NOBODY = np.zeros(0, np.int32)
_SMALL = 512
_STEP = 16


class Corpus:
    """All passages of one chat, or of several, in the order they were said within each.

    What is common to all of them (their middle, how rare words are) is taken from a first part, whose size depends on the
    number of passages alone: so a ranking does not depend on when the corpus was made or how it grew.
    """

    def __init__(self) -> None:
        self.size = 0
        self.speakers: list[str] = []
        self._numbers: dict[str, int] = {}
        self._columns: dict[str, _Column] = {}
        self._flat = _Column(np.uint32)  # the terms of all passages, one after the other
        self._firsts: list[int] = []
        self._base = self._settled = -1
        self._everything: Pool | None = None

    def extend(self, found: Segment, chat: int = 0, alone: bool = False, apart: bool = False) -> None:
        """Add what was said next in a chat; a chat's segments must come one after the other.

        With `alone`, no passage has neighbours; with `apart`, something between was left out, and a session begins.
        """
        size = len(found.seq)
        if not size:
            return
        for name in found.speakers:
            if name not in self._numbers:
                self._numbers[name] = len(self.speakers)
                self.speakers.append(name)
        who = np.array([self._numbers[name] for name in found.speakers], np.int32)
        vectors = found.vectors.astype(np.float32)
        long = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        scale = np.where(long > 0, 1 / np.maximum(long, 1e-9), 0).astype(np.float32)
        if alone:
            self._firsts.extend(range(self.size, self.size + size))
        else:
            self._sessions(found, chat, apart)
        new: dict[str, NDArray[Any]] = {
            "chat": np.full(size, chat, np.int64),
            "seq": found.seq.astype(np.int64),
            "start": found.start.astype(np.int64),
            "end": found.end.astype(np.int64),
            "at": found.at,
            "speaker": who[found.speaker],
            "marks": found.marks,
            "count": found.count.astype(np.float32),
            "vector": found.vectors,
            "scale": scale,
            "coarse": unit(vectors[:, :COARSE]),
        }
        if self.size + size <= _AS_FLOATS:
            new["floats"] = vectors * scale[:, None]
        else:
            self._columns.pop("floats", None)
        for name, values in new.items():
            column = self._columns.get(name)
            if column is None:
                column = self._columns[name] = _Column(values.dtype, values.shape[1:])
            column.add(values)
        self._flat.add(found.terms)
        self.size += size
        self._everything = None

    def _sessions(self, found: Segment, chat: int, apart: bool) -> None:
        """Note where sessions begin among new passages."""
        size, at = len(found.seq), found.at
        gaps = np.flatnonzero(np.diff(at) >= GAP) + 1
        goes_on = (
            self.size > 0
            and not apart
            and self["chat"][-1] == chat
            and at[0] - self["at"][-1] < GAP
            and self.size - self._firsts[-1] < LONGEST
        )
        starts = gaps.tolist() if goes_on else [0, *gaps.tolist()]
        here = self._firsts[-1] - self.size if goes_on else 0
        for start, end in zip(
            [here, *starts] if goes_on else starts, [*(starts if goes_on else starts[1:]), size], strict=True
        ):
            for first in range(start, end, LONGEST):
                if first >= 0:
                    self._firsts.append(self.size + first)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name].values

    def settle(self) -> None:
        """Bring the sorted terms and what all passages have in common up to date."""
        if self._settled == self.size:
            return
        self._settled = self.size
        base = _base(self.size)
        counts = self["count"].astype(np.int64)
        ends = np.concatenate(([0], np.cumsum(counts)))
        flat = self._flat.values
        if base != self._base:
            self._base = base
            self._terms, self._holder = _sorted(flat[: ends[base]], counts[:base], 0)
            fresh = np.append(True, self._terms[1:] != self._terms[:-1]) if len(self._terms) else np.zeros(0, bool)
            self._known = self._terms[fresh]
            self._held = np.diff(np.append(np.flatnonzero(fresh), len(self._terms)))
            vectors = self["vector"][:base].astype(np.float32) * self["scale"][:base, None]
            self.middle = np.round(vectors.mean(axis=0, dtype=np.float64), 7).astype(np.float32)
            self._rare = self._rarity(flat[: ends[base]], counts[:base])
        tail = flat[ends[base] :]
        self._tail_terms, self._tail_holder = _sorted(tail, counts[base:], base)
        self._rarities = np.concatenate((self._rare, self._rarity(tail, counts[base:])))

    def _rarity(self, flat: NDArray[np.uint32], counts: Numbers) -> Floats:
        """How rare the words of passages are in this chat, on average; 0 for all in each, about 1 for once."""
        if not len(flat) or not len(self._known):
            return np.zeros(len(counts), np.float32)
        place = np.minimum(np.searchsorted(self._known, flat), len(self._known) - 1)
        held = np.where(self._known[place] == flat, self._held[place], 1)
        rare = 1 - np.log(held) / np.log(2 + self._base)
        sums = np.bincount(np.repeat(np.arange(len(counts)), counts), rare, len(counts))
        return (sums / np.maximum(counts, 1)).astype(np.float32)

    def holders(self, numbers: Sequence[int]) -> list[NDArray[np.int32]]:
        """For each term, the passages with it, one as often as it holds it."""
        wanted = np.array(numbers, np.uint32)  # of the same type as what is searched, or all of it is converted
        found = [_NOBODY] * len(wanted)  # most words near in meaning stand nowhere
        for terms, holder in ((self._terms, self._holder), (self._tail_terms, self._tail_holder)):
            if not len(terms):
                continue
            low = np.searchsorted(terms, wanted, "left")
            there = np.flatnonzero(terms[np.minimum(low, len(terms) - 1)] == wanted)
            high = np.searchsorted(terms, wanted[there], "right")
            for at, start, end in zip(there.tolist(), low[there].tolist(), high.tolist(), strict=True):
                held = holder[start:end]
                found[at] = np.concatenate((found[at], held)) if len(found[at]) else held
        return found

    def everything(self) -> Pool:
        """All passages, for ranking."""
        if self._everything is None:
            self.settle()
            self._everything = Pool(self, None)
        return self._everything

    def some(self, sessions: Numbers) -> Pool:
        """The passages of some sessions, given by their numbers in rising order."""
        firsts = np.array(self._firsts, np.int64)
        ends = np.append(firsts[1:], self.size)
        size = ends[sessions] - firsts[sessions]
        begins = np.cumsum(size) - size
        places = np.arange(int(size.sum())) + np.repeat(firsts[sessions] - begins, size)
        return Pool(self, places)

    @property
    def floats(self) -> Floats | None:
        """All vectors, of length 1, where there are few enough to keep them so."""
        column = self._columns.get("floats")
        return column.values if column is not None and len(column.values) == self.size else None

    @property
    def firsts(self) -> Numbers:
        """Of each session, its first passage."""
        return np.array(self._firsts, np.int64)


class Pool:
    """Whole sessions of a corpus, as arrays; the neighbour of a passage is the next in its session."""

    def __init__(self, corpus: Corpus, places: Numbers | None) -> None:
        self.corpus = corpus
        self.places = np.arange(corpus.size) if places is None else places
        self.size = len(self.places)
        every = slice(None) if places is None else places
        self.chat, self.seq, self.start, self.end, self.at, self.speaker, self.marks, self.count = (
            corpus[name][every] for name in ("chat", "seq", "start", "end", "at", "speaker", "marks", "count")
        )
        self.chars = (self.end - self.start).astype(np.float32)
        self.rarity = corpus._rarities[every]
        firsts = corpus.firsts
        if places is None:
            self.first = firsts
        else:
            self.first = np.flatnonzero(np.isin(self.places, firsts))
        self.session = np.repeat(np.arange(len(self.first)), np.diff([*self.first, self.size]))
        # Passages of one message are long, and no neighbours: what one says does not speak for the next.
        self._apart = np.union1d(self.first, np.flatnonzero(self.seq[1:] == self.seq[:-1]) + 1)
        self._where: NDArray[np.int32] | None = None
        if places is not None:
            self._where = np.full(corpus.size, -1, np.int32)
            self._where[self.places] = np.arange(self.size, dtype=np.int32)
        floats = corpus.floats
        if floats is None:
            floats = np.multiply(corpus["vector"][every], corpus["scale"][every, None], dtype=np.float32)
        elif places is not None:
            floats = floats[places]
        self.vectors: Floats = floats
        self.middle = corpus.middle
        self.common: Floats = self.vectors @ self.middle
        """How near each vector is to the middle."""
        own = (corpus["scale"][every] > 0).astype(np.float32)
        square = float(self.middle @ self.middle)
        long = own - 2 * self.common + square
        self.vector_lengths: Floats = np.sqrt(np.maximum(long, 1e-6))
        """Lengths of the vectors once the middle is taken off."""
        self.window_lengths = self._windows(long, square)

    def _windows(self, long: Floats, square: float) -> Floats:
        """Lengths of the vectors of windows: a passage and half of each neighbour."""
        once = self._along(1, square)
        twice = self._along(2, square)
        before, after = self.before(np.maximum(long, 0)), self.after(np.maximum(long, 0))
        whole = long + (before + after) / 4 + self.before(once) + once + self.before(twice) / 2
        return np.maximum(np.sqrt(np.maximum(whole, 0)), 1e-3)

    def _along(self, step: int, square: float) -> Floats:
        """Each vector times the one some steps later in its session, the middle taken off both; else 0."""
        found = np.zeros(self.size, np.float32)
        if self.size > step:
            found[:-step] = np.einsum("ij,ij->i", self.vectors[:-step], self.vectors[step:])
            found[:-step] -= self.common[:-step] + self.common[step:] - square
        for back in range(1, step + 1):
            places = self._apart - back
            found[places[places >= 0]] = 0
        found[-step:] = 0
        return found

    def holders(self, numbers: Sequence[int]) -> tuple[list[NDArray[np.int32]], list[int]]:
        """For each term, the passages with it, one as often as it holds it; and how many of the whole corpus do."""
        every = self.corpus.holders(numbers)
        return [self._inside(held) for held in every], [distinct(held) for held in every]

    def having(self, numbers: Sequence[int]) -> Iterator[tuple[int, NDArray[np.int32]]]:
        """Those of the terms that stand anywhere: which of them, and the passages with it."""
        for at, held in enumerate(self.corpus.holders(numbers)):
            if len(held):
                yield at, self._inside(held)

    def _inside(self, held: NDArray[np.int32]) -> NDArray[np.int32]:
        if self._where is None or not len(held):
            return held
        inside = self._where[held]
        return inside[inside >= 0]

    def before(self, values: Floats) -> Floats:
        """Each passage's value of the one before it in its session, else 0; along the last axis."""
        moved = np.empty_like(values)
        moved[..., 1:] = values[..., :-1]
        moved[..., self._apart] = 0
        return moved

    def after(self, values: Floats) -> Floats:
        """Each passage's value of the one after it in its session, else 0; along the last axis."""
        moved = np.empty_like(values)
        moved[..., :-1] = values[..., 1:]
        moved[..., self._apart - 1] = 0  # the first of all stands for the last of all, at -1
        return moved

    def by_session(self, values: Floats) -> Floats:
        """Sums over sessions, along the last axis."""
        return np.add.reduceat(values, self.first, axis=-1)


def distinct(held: NDArray[np.int32]) -> int:
    """How many different numbers there are among rising ones."""
    return int(np.count_nonzero(held[1:] != held[:-1])) + 1 if len(held) else 0


class _Column:
    """An array that grows."""

    def __init__(self, kind: Any, shape: tuple[int, ...] = ()) -> None:
        self._room = np.zeros((64, *shape), kind)
        self._size = 0

    def add(self, values: NDArray[Any]) -> None:
        needed = self._size + len(values)
        if needed > len(self._room):
            room = np.zeros((max(needed, 2 * len(self._room)), *self._room.shape[1:]), self._room.dtype)
            room[: self._size] = self.values
            self._room = room
        self._room[self._size : needed] = values
        self._size = needed

    @property
    def values(self) -> NDArray[Any]:
        return self._room[: self._size]


def _base(size: int) -> int:
    """How many of so many passages tell what is common to all: all of few, and at least 15 of 16."""
    if size <= _SMALL:
        return size
    base = _SMALL
    while base + base // _STEP <= size:
        base += base // _STEP
    return base


def _sorted(flat: NDArray[np.uint32], counts: Numbers, first: int) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """Terms in order, and which passage holds each."""
    holder = np.repeat(np.arange(first, first + len(counts), dtype=np.int32), counts)
    order = np.argsort(flat, kind="stable")
    return flat[order], holder[order]
