"""What recall keeps of some messages of a chat, as arrays, and as bytes. Pure."""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from infold.recall.passages import passages
from infold.recall.vectors import Embedder, packed
from infold.recall.words import terms

ASKS, TIMED, COUNTS, NAMES = 1, 2, 4, 8
"""Marks of a passage: it asks something, tells a time, a number, a name."""
_TIMED = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|recently|(?:last|next|this|past) \w+|january|february|march|april|june|"
    r"july|august|september|october|november|december|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|since|(?:19|20)\d\d|"
    r"weeks?|weekends?|months?|years?)\b",
    re.IGNORECASE,
)
_COUNTS = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|once|twice|first|second|third|dozen|couple|another)\b",
    re.IGNORECASE,
)
_NAMES = re.compile(r"(?<![.!?] )(?<!^)\b(?!I\b)[A-Z]\w+")

_FIELDS = (
    ("seq", np.uint32),
    ("start", np.uint32),
    ("end", np.uint32),
    ("at", np.int64),
    ("speaker", np.uint8),
    ("marks", np.uint8),
    ("count", np.uint16),
)
_SLICED = ("seq", "start", "end", "at", "marks", "count", "vectors")
_HEAD = struct.Struct(
    "<IIHHHI"
)  # checksum of the rest, number of terms, of entries, of numbers a vector, of bytes of names, of compressed bytes
_MOST_SPEAKERS = 255


@dataclass(frozen=True, slots=True)
class Said:
    """A message as recall sees it."""

    seq: int
    text: str
    speaker: str = ""
    at: int = 0
    """Milliseconds; 0 where it is not known."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Passages of messages that follow each other; most messages are one passage."""

    speakers: tuple[str, ...]
    seq: NDArray[np.uint32]
    start: NDArray[np.uint32]
    end: NDArray[np.uint32]
    at: NDArray[np.int64]
    speaker: NDArray[np.uint8]
    """Numbers of `speakers`."""
    marks: NDArray[np.uint8]
    count: NDArray[np.uint16]
    """Terms of each passage."""
    terms: NDArray[np.uint32]
    vectors: NDArray[np.int8]

    def to_bytes(self) -> bytes:
        """The segment as it is stored."""
        names = json.dumps(self.speakers, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        arrays = [getattr(self, name).astype(kind).tobytes() for name, kind in _FIELDS]
        small = zlib.compress(b"".join((names, *arrays, self.terms.tobytes())))
        rest = small + self.vectors.tobytes()  # vectors are like noise
        sizes = (len(self.terms), len(self.seq), self.vectors.shape[1], len(names), len(small))
        return _HEAD.pack(zlib.crc32(rest), *sizes) + rest

    @classmethod
    def joined(cls, parts: Iterable[tuple[Segment, Sequence[tuple[int, int]]]]) -> Segment:
        """Some passages of several segments as one: of each those from one number on and before another."""
        numbers: dict[str, int] = {}
        columns: dict[str, list[NDArray[np.generic]]] = {name: [] for name in (*dict(_FIELDS), "terms", "vectors")}
        for found, edges in parts:
            who = np.array([numbers.setdefault(name, len(numbers)) for name in found.speakers], np.int64)
            ends = np.append(0, np.cumsum(found.count, dtype=np.int64))
            for start, end in edges:
                for name in _SLICED:
                    columns[name].append(getattr(found, name)[start:end])
                columns["speaker"].append(who[found.speaker[start:end]])
                columns["terms"].append(found.terms[ends[start] : ends[end]])
        return cls(tuple(numbers), **{name: np.concatenate(values) for name, values in columns.items()})

    @classmethod
    def from_bytes(cls, data: bytes) -> Segment:
        """A stored segment; ValueError where it is damaged."""
        try:
            checksum, terms_size, size, numbers, names_size, small_size = _HEAD.unpack_from(data)
        except struct.error as error:
            raise ValueError("too short") from error
        rest = memoryview(data)[_HEAD.size :]
        if zlib.crc32(rest) != checksum:
            raise ValueError("its checksum is wrong")
        try:
            small = zlib.decompress(rest[:small_size])
        except zlib.error as error:
            raise ValueError(str(error)) from error
        names = json.loads(small[:names_size].decode("utf-8", "surrogatepass"))
        place = names_size
        found: dict[str, NDArray[np.generic]] = {}
        for name, kind in (*_FIELDS, ("terms", np.uint32)):
            length = terms_size if name == "terms" else size
            found[name] = np.frombuffer(small, kind, length, place)
            place += found[name].nbytes
        vectors = np.frombuffer(rest, np.int8, size * numbers, small_size).reshape(size, numbers)
        return cls(tuple(names), **found, vectors=vectors)  # type: ignore[arg-type]  # by name, from _FIELDS


def segment(messages: Sequence[Said], embedder: Embedder) -> Segment:
    """What to keep of messages."""
    parts = [(message, part) for message in messages for part in passages(message.text) if message.text.strip()]
    texts = [message.text[part.start : part.end] for message, part in parts]
    names = list(dict.fromkeys(message.speaker for message, _ in parts))
    number = {name: min(at, _MOST_SPEAKERS) for at, name in enumerate(names)}
    numbers = [terms(text)[:65535] for text in texts]
    return Segment(
        speakers=tuple(names[: _MOST_SPEAKERS + 1]),
        seq=np.array([message.seq for message, _ in parts], np.uint32),
        start=np.array([part.start for _, part in parts], np.uint32),
        end=np.array([part.end for _, part in parts], np.uint32),
        at=np.array([message.at for message, _ in parts], np.int64),
        speaker=np.array([number[message.speaker] for message, _ in parts], np.uint8),
        marks=np.array([_marks(text) for text in texts], np.uint8),
        count=np.array([len(one) for one in numbers], np.uint16),
        terms=np.concatenate([*numbers, np.zeros(0, np.uint32)]),
        vectors=packed(embedder.embed(texts)),
    )


def _marks(text: str) -> int:
    return (
        ASKS * ("?" in text or "？" in text)
        | TIMED * bool(_TIMED.search(text))
        | COUNTS * bool(_COUNTS.search(text))
        | NAMES * bool(_NAMES.search(text))
    )
