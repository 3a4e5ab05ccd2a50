"""Stand-in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Effect(Enum):
    REPLACES = 1
    CLOSES = 2
    REPEATS = 3
    CONFLICTS = 4


@dataclass(frozen=True, slots=True)
class Said:
    text: str
    role: str
    said_by: str
    seq: int
    said_at: int
    kind: str

    @classmethod
    def of(cls, *args) -> Said:
        return cls(*args)


class Index:
    def __init__(self) -> None:
        self.n = 0
        self.texts = {}

    def add(self, said: Said) -> int:
        self.n += 1
        self.texts[self.n] = said
        return self.n

    def remove(self, at: int) -> None:
        self.texts.pop(at, None)


def effects(new: Said, known: Index) -> list[tuple[int, Effect]]:
    return [(at, Effect.REPEATS) for at, one in known.texts.items() if one.text == new.text and one.seq < new.seq]
