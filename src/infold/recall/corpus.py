"""The passages of a chat, laid out for ranking. Grows with the chat. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
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
_AS_FLOATS = range(4096, 16385)  # so many vectors are kept ready for use, at four times the memory: few need not be
_AT_ONCE = 8192
_MEASURES = ("common", "length", "window")
"""How near a passage's vector is to the middle; its length once the middle is taken off, and that of its window: a passage
and half of each neighbour."""
_NOBODY = np.zeros(0, np.int32)
_SMALL = 512
_STEP = 16


class Corpus:
    """All passages of one chat, or of several, in the order they were said within each.

    What is common to all of them (their middle, how rare words are) is taken from a first part, whose size depends on the
    number of passages alone: so a ranking does not depend on when the corpus was made or how it grew.
    """

    def __init__(self, shares: Mapping[int, float] | None = None) -> None:
        """Of something larger, `shares` tell of words in which part of it they stand."""
        self.size = 0
        self.shares = shares or {}
        self.speakers: list[str] = []
        self._numbers: dict[str, int] = {}
        self._columns: dict[str, _Column] = {}
        self._flat = _Column(np.uint32)  # the terms of all passages, one after the other
        self._firsts: list[int] = []
        self._base = self._settled = -1
        self._everything: Pool | None = None
        """What ranks all of it, but for the corpus itself."""

    def extend(self, found: Segment, chat: int | Numbers = 0, alone: bool = False, apart: Sequence[int] = ()) -> None:
        """Add what was said next in a chat, or in several; a chat's segments must come one after the other.

        With `alone`, no passage has neighbours; before those `apart`, by their numbers, something was left out, and a
        session begins.
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
            "chat": np.broadcast_to(np.asarray(chat, np.int64), size),
            "seq": found.seq.astype(np.int64),
            "start": found.start.astype(np.int64),
            "end": found.end.astype(np.int64),
            "at": found.at,
            "speaker": who[found.speaker],
            "marks": found.marks,
            "count": found.count.astype(np.float32),
            "vector": found.vectors,
            "scale": scale,
        }
        for name, values in new.items():
            column = self._columns.get(name)
            if column is None:
                column = self._columns[name] = _Column(values.dtype, values.shape[1:])
            column.add(values)
        self._flat.add(found.terms)
        self.size += size
        self._everything = None

    def cut(self, seq: int) -> None:
        """Take back what was said after a position, in a corpus of one chat."""
        size = int(np.searchsorted(self["seq"], seq, "right"))
        self._flat.cut(int(self["count"][:size].sum(dtype=np.int64)))
        for column in self._columns.values():
            column.cut(size)
        del self._firsts[int(np.searchsorted(self._firsts, size)) :]
        del self.speakers[int(self["speaker"].max(initial=-1)) + 1 :]
        self._numbers = {name: number for number, name in enumerate(self.speakers)}
        self.size, self._settled, self._everything = size, -1, None

    def _sessions(self, found: Segment, chat: int | Numbers, apart: Sequence[int]) -> None:
        """Note where sessions begin among new passages."""
        size, at = len(found.seq), found.at
        gaps = np.flatnonzero(np.diff(at) >= GAP) + 1
        if apart:
            gaps = np.union1d(gaps, np.array([place for place in apart if place], np.int64))
        goes_on = (
            self.size > 0
            and 0 not in apart
            and self["chat"][-1] == np.ravel(chat)[0]
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
            for name in _MEASURES:
                self._columns[name] = _Column(np.float32)
        tail = flat[ends[base] :]
        self._tail_terms, self._tail_holder = _sorted(tail, counts[base:], base)
        self._rarities = np.concatenate((self._rare, self._rarity(tail, counts[base:])))
        self._measure()

    def _measure(self) -> None:
        """Note of each new passage how near it is to the middle, and its length and that of its window without it."""
        firsts = self.firsts
        known = len(self["common"])
        start = int(firsts[np.searchsorted(firsts, known - 1, "right") - 1]) if known else 0  # its session has grown
        while start < self.size:
            after = np.searchsorted(firsts, start + _AT_ONCE, "right") - 1
            end = int(firsts[after]) if firsts[after] > start and start + _AT_ONCE < self.size else self.size
            seq = self["seq"][start:end]
            same = np.flatnonzero(seq[1:] == seq[:-1]) + 1
            near = Neighbours(np.union1d(firsts[(firsts >= start) & (firsts < end)] - start, same))
            for name, values in zip(_MEASURES, self._lengths(start, end, near), strict=True):
                self._columns[name].put(start, values)
            start = end

    def _lengths(self, start: int, end: int, near: Neighbours) -> tuple[Floats, Floats, Floats]:
        vectors = self.vectors(slice(start, end))
        common: Floats = vectors @ self.middle
        square = float(self.middle @ self.middle)
        long = (self["scale"][start:end] > 0).astype(np.float32) - 2 * common + square

        def along(step: int) -> Floats:
            """Each vector times the one some steps later in its session, the middle taken off both; else 0."""
            found = np.zeros(end - start, np.float32)
            if end - start > step:
                found[:-step] = np.einsum("ij,ij->i", vectors[:-step], vectors[step:])
                found[:-step] -= common[:-step] + common[step:] - square
            for back in range(1, step + 1):
                places = near.apart - back
                found[places[places >= 0]] = 0
            found[-step:] = 0
            return found

        once, twice = along(1), along(2)
        before, after = near.before(np.maximum(long, 0)), near.after(np.maximum(long, 0))
        whole = long + (before + after) / 4 + near.before(once) + once + near.before(twice) / 2
        window = np.maximum(np.sqrt(np.maximum(whole, 0)), 1e-3)
        return common, np.sqrt(np.maximum(long, 1e-6)), np.asarray(window, np.float32)

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
        kept = self._everything
        if kept is None:
            self.settle()
            kept = Pool(self, None)
            del kept.corpus  # they would keep each other, and their room, when nobody else does
            self._everything = kept
        pool = copy(kept)
        pool.corpus = self
        return pool

    def some(self, sessions: Numbers) -> Pool:
        """The passages of some sessions, given by their numbers in rising order."""
        firsts = np.array(self._firsts, np.int64)
        ends = np.append(firsts[1:], self.size)
        size = ends[sessions] - firsts[sessions]
        begins = np.cumsum(size) - size
        places = np.arange(int(size.sum())) + np.repeat(firsts[sessions] - begins, size)
        return Pool(self, places)

    def vectors(self, places: slice | Numbers) -> Floats:
        """The vectors of some passages, of length 1."""
        if self.size in _AS_FLOATS:
            return self._made("floats", _floats)[places]
        self._columns.pop("floats", None)
        return _floats(self["vector"][places], self["scale"][places])

    @property
    def coarse(self) -> Floats:
        """The beginnings of all vectors, of length 1."""
        return self._made("coarse", _coarse)

    def _made(self, name: str, make: Callable[[NDArray[np.int8], Floats], Floats]) -> Floats:
        """A column that is made of vectors when it is needed, and grows with them."""
        known = len(self._columns[name].values) if name in self._columns else 0
        if known < self.size:
            made = make(self["vector"][known:], self["scale"][known:])
            if name not in self._columns:
                self._columns[name] = _Column(made.dtype, made.shape[1:])
            self._columns[name].add(made)
        found: Floats = self[name]
        return found

    @property
    def firsts(self) -> Numbers:
        """Of each session, its first passage."""
        return np.array(self._firsts, np.int64)


class Neighbours:
    """Passages in a row, some of them `apart` from the one before: another session's, or of the same message."""

    def __init__(self, apart: Numbers) -> None:
        self.apart = apart

    def before(self, values: Floats) -> Floats:
        """Each passage's value of the one before it in its session, else 0; along the last axis."""
        moved = np.empty_like(values)
        moved[..., 1:] = values[..., :-1]
        moved[..., self.apart] = 0
        return moved

    def after(self, values: Floats) -> Floats:
        """Each passage's value of the one after it in its session, else 0; along the last axis."""
        moved = np.empty_like(values)
        moved[..., :-1] = values[..., 1:]
        moved[..., self.apart - 1] = 0  # the first of all stands for the last of all, at -1
        return moved


class Pool(Neighbours):
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
        super().__init__(np.union1d(self.first, np.flatnonzero(self.seq[1:] == self.seq[:-1]) + 1))
        self._where: NDArray[np.int32] | None = None
        if places is not None:
            self._where = np.full(corpus.size, -1, np.int32)
            self._where[self.places] = np.arange(self.size, dtype=np.int32)
        self.middle = corpus.middle
        self.common, self.vector_lengths, self.window_lengths = (corpus[name][every] for name in _MEASURES)

    def towards(self, vector: Floats) -> Floats:
        """Each passage's vector times another one."""
        found = np.empty(self.size, np.float32)
        ends = np.append(np.flatnonzero(np.diff(self.places) != 1) + 1, self.size)
        start = 0
        for end in ends.tolist():  # what follows each other is not copied
            first = int(self.places[start])
            np.dot(self.corpus.vectors(slice(first, first + end - start)), vector, out=found[start:end])
            start = end
        return found

    def vectors(self, some: Numbers) -> Floats:
        """The vectors of some passages, given by their numbers in the pool."""
        return self.corpus.vectors(self.places[some])

    def holders(self, numbers: Sequence[int]) -> tuple[list[NDArray[np.int32]], list[float]]:
        """For each term, the passages with it, one as often as it holds it; and how many of the whole corpus do."""
        every = self.corpus.holders(numbers)
        shares, size = self.corpus.shares, self.corpus.size
        counts = [
            shares[number] * size if number in shares else distinct(held)
            for number, held in zip(numbers, every, strict=True)
        ]
        return [self._inside(held) for held in every], counts

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

    def by_session(self, values: Floats) -> Floats:
        """Sums over sessions, along the last axis."""
        return np.add.reduceat(values, self.first, axis=-1)


def distinct(held: NDArray[np.int32]) -> int:
    """How many different numbers there are among rising ones."""
    return int(np.count_nonzero(held[1:] != held[:-1])) + 1 if len(held) else 0


def _floats(vectors: NDArray[np.int8], scale: Floats) -> Floats:
    found: Floats = np.multiply(vectors, scale[:, None], dtype=np.float32)
    return found


def _coarse(vectors: NDArray[np.int8], _: Floats) -> Floats:
    return unit(vectors[:, :COARSE].astype(np.float32))


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

    def cut(self, size: int) -> None:
        self._size = min(self._size, size)

    def put(self, start: int, values: NDArray[Any]) -> None:
        """Add values in place of those from a position on."""
        self._size = start
        self.add(values)

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
