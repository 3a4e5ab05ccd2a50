"""The phrasings: files of sentences with slots, the pools that fill them, and values no pool holds."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

PHRASINGS = Path(__file__).resolve().parent / "phrasings"
HALVES = {"tuned": "tuned-*.toml", "unseen": "unseen.toml"}
LIVE = {
    "preference": 3, "constraint": 3, "biography": 3, "decision": 3, "goal": 2, "commitment": 3, "question": 2,
    "identifier": 1, "file": 1, "version": 1, "amount": 1, "person": 1, "date": 1,
}  # fmt: skip
START = datetime(2026, 3, 2, 8, 5, tzinfo=UTC)

_KEEP = {
    "decision": "new", "reversal": "new", "commitment": "task.key", "done": "task.key", "question": "question.key",
    "answer": "question.key", "identifier": "ref", "file": "file", "version": "version", "amount": "amount",
    "person": "person", "date": "date",
}  # fmt: skip
_FILLERS = ("filler_user", "filler_assistant", "filler_tool")
_KINDS = (*LIVE, "reversal", "done", "answer")


class NotEnoughError(Exception):
    """The phrasings do not suffice for a chat; the text names a kind, never a phrasing."""


@dataclass(frozen=True, slots=True)
class Phrasing:
    say: str
    keep: tuple[str, ...] = ()
    by: str = "user"


@dataclass(frozen=True, slots=True)
class Topic:
    """Something to decide, and the choices."""

    name: str
    options: list[str]


@dataclass(frozen=True, slots=True)
class Book:
    """One file of phrasings with its pools."""

    pools: dict[str, list[str]]
    topics: list[Topic]
    tasks: list[dict[str, str]]
    questions: list[dict[str, str]]
    kinds: dict[str, list[Phrasing]]


def even(text: str) -> str:
    """Case, spacing and quotation marks evened out."""
    return re.sub(r"(?<=\d) (?=%)", "", " ".join(text.casefold().replace("’", "'").split()))


def any_of(values: Sequence[str]) -> re.Pattern[str]:
    """Finds any of the values in an evened text, as whole words, a plural allowed."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(even(v)) for v in values) or '(?!)'})(?:'s|e?s)?(?!\w)")


@cache
def _finder(value: str) -> re.Pattern[str]:
    return any_of((value,))


def holds(evened: str, value: str) -> bool:
    """Whether an evened text holds a value as whole words, a plural allowed."""
    return _finder(value).search(evened) is not None


def load(path: Path) -> Book:
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    kinds = {
        kind: [
            Phrasing(
                entry["say"],
                tuple(entry.get("keep", [_KEEP[kind]] if kind in _KEEP else [])),
                entry.get("by", "user"),
            )
            for entry in raw.get(kind, [])
        ]
        for kind in (*_KINDS, *_FILLERS)
    }
    topics = [Topic(entry["name"], entry["options"]) for entry in raw["topics"]]
    return Book(raw.get("pools", {}), topics, raw["tasks"], raw["questions"], kinds)


@cache
def books(half: str, folder: Path = PHRASINGS) -> list[Book]:
    paths = sorted(folder.glob(HALVES[half]))
    if not paths:
        raise NotEnoughError(f"no {HALVES[half]} in {folder}")
    return [load(path) for path in paths]


def made(slot: str, chance: random.Random) -> str:
    """Values no pool holds."""
    draw, pick = chance.randint, chance.choice
    if slot == "ref":
        letters = "".join(pick("ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(3))
        return pick(
            (
                f"ORD-{draw(10000, 99999)}",
                f"{letters[:2]}{draw(2, 9)}{letters[2]}{draw(2, 9)}{pick('QRTVX')}",
                f"#{draw(1000, 9999)}",
                f"INV/2026/{draw(100, 999)}",
                f"{letters}-{draw(100, 999)}-{draw(10, 99)}",
            )
        )
    if slot == "version":
        return pick(
            (
                f"{draw(1, 9)}.{draw(0, 30)}.{draw(0, 19)}",
                f"v{draw(1, 12)}.{draw(0, 20)}",
                f"{draw(10, 24)}.{draw(1, 12)}",
            )
        )
    if slot == "amount":
        money = f"{draw(11, 480) * 10:,}"
        return pick((f"€{money}", f"${draw(11, 99) / 10:.1f}k", f"{draw(12, 960)} GB", f"{draw(2, 48)} %", f"£{money}"))
    if slot == "date":
        day = START + timedelta(days=draw(60, 420))
        hour = f"{draw(8, 19)}:{pick(('00', '15', '30', '45'))}"
        return pick(
            (
                f"{day.day} {day:%B %Y}",
                f"{day:%a} {day.day} {day:%B}",
                f"{day:%Y-%m-%d} at {hour}",
                f"{day:%B} {day.day}",
            )
        )
    return str(draw(2, 900)) if slot in ("n", "number", "count") else ""
