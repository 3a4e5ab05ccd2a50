"""A corpus of sentences: what each message leaves behind when no language model reads it, and what it must not."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from infold.folding.extractive import extract
from infold.messages import Message

CORPUS = Path(__file__).parent / "corpus" / "sentences.toml"
MONDAY = "2026-05-04T10:00:00Z"
SECTIONS = {"facts", "goals", "decisions", "open", "artifacts"}
KEYS = {"says", "by", "at", "section", "has", "lacks", "nothing"}
LONGEST_RUN = 12  # words that an item may take over from its source in one go
FARTHEST = timedelta(days=400)  # a resolved date lies near the day it was said on

EDGES = re.compile(r"^[^\w]+|[^\w]+$")
CODE = re.compile(r"[A-Za-z0-9]+(?:[._:/@,+#-]+[A-Za-z0-9]+)*")  # identifiers, numbers, dates, addresses
PARTS = re.compile(r"[:/,@+#]")


@dataclass(frozen=True)
class Case:
    """One message and what is expected of it."""

    says: str
    by: str
    at: datetime
    sections: frozenset[str]
    has: tuple[str, ...]
    lacks: tuple[str, ...]
    nothing: bool

    @property
    def message(self) -> Message:
        call = "c1" if self.by == "tool" else None
        return Message(self.by, self.says, seq=1, created_at=int(self.at.timestamp() * 1000), tool_call_id=call)

    def items(self) -> list[tuple[str, str]]:
        """Section and text of each item; closing notes are none."""
        found = extract(self.message)
        return [(one.section, one.text) for one in found if one.section not in {"", "done"}]


def read_case(table: dict[str, Any]) -> Case:
    """A case as the file has it; an unknown key or a missing expectation is a mistake in the file."""
    assert set(table) <= KEYS, f"unknown keys {set(table) - KEYS} in {table}"
    section = table.get("section", [])
    case = Case(
        says=table["says"],
        by=table.get("by", "user"),
        at=datetime.fromisoformat(table.get("at", MONDAY)),
        sections=frozenset([section] if isinstance(section, str) else section),
        has=tuple(table.get("has", ())),
        lacks=tuple(table.get("lacks", ())),
        nothing=table.get("nothing", False),
    )
    assert case.by in {"user", "assistant", "tool"}, f"nobody is called {case.by!r}: {table}"
    assert case.sections <= SECTIONS, f"unknown section in {table}"
    assert case.nothing != bool(case.sections and case.has), f"either nothing, or a section and what it has: {table}"
    return case


def readable(number: int, case: Case) -> str:
    """An id that names the sentence: its number in the file, who said it and its first words, in plain letters."""
    plain = unicodedata.normalize("NFKD", case.says).encode("ascii", "ignore").decode().lower()
    start = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:48].strip("-")
    return "-".join(part for part in (f"{number:03d}", case.by, start) if part)


CASES = [read_case(table) for table in tomllib.loads(CORPUS.read_text(encoding="utf-8"))["case"]]
each_case = pytest.mark.parametrize("case", [pytest.param(c, id=readable(n, c)) for n, c in enumerate(CASES, start=1)])


def padded(text: str) -> str:
    """Lowercase, with a blank on either side, so that " my " is found at the ends too."""
    return f" {text.lower()} "


def words(text: str) -> list[str]:
    """Words in lowercase without punctuation around them; identifiers do not count."""
    bare = (EDGES.sub("", word).lower() for word in text.split())
    return [word for word in bare if word and not re.search(r"[\d_/@\\]|\w\.\w", word)]


def runs(text: str, length: int) -> set[tuple[str, ...]]:
    """Every run of so many consecutive words."""
    found = words(text)
    return {tuple(found[start : start + length]) for start in range(len(found) - length + 1)}


def stands_in(token: str, source: str) -> bool:
    """Whether the source has the token as a whole: "12" does not stand in "120"."""
    return bool(re.search(rf"(?<![A-Za-z0-9]){re.escape(token)}(?![A-Za-z0-9])", source, re.IGNORECASE))


def is_near_date(token: str, said: date) -> bool:
    """Whether the token is a date of the calendar, in the form 2026-05-08, not far from the day it was said on."""
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", token):
        return False
    try:
        return abs(date.fromisoformat(token) - said) <= FARTHEST
    except ValueError:
        return False


def invented(text: str, case: Case) -> list[str]:
    """The tokens with a digit that come neither from the source nor from resolving a date."""

    def known(token: str) -> bool:
        return (
            not re.search(r"\d", token)
            or stands_in(token, case.says)
            or is_near_date(token.rstrip(":,"), case.at.date())
        )

    return [
        token
        for token in CODE.findall(text)
        if not known(token) and not all(known(part) for part in PARTS.split(token))
    ]


def test_the_corpus_is_broad_enough() -> None:
    assert len(CASES) >= 240
    assert sum(case.nothing for case in CASES) >= 80
    assert sum(case.by == "tool" for case in CASES) >= 8
    assert sum(case.by == "assistant" for case in CASES) >= 20
    per_section = Counter(section for case in CASES for section in case.sections)
    assert all(per_section[section] >= 20 for section in SECTIONS), per_section


def test_the_corpus_expects_no_case_twice() -> None:
    seen = Counter((case.says, case.by, case.at, case.sections, case.has) for case in CASES)
    assert [key for key, times in seen.items() if times > 1] == []


@each_case
def test_sentence(case: Case) -> None:
    items = case.items()
    if case.nothing:
        assert items == []
        return
    fitting = [
        text
        for section, text in items
        if section in case.sections and all(part.lower() in padded(text) for part in case.has)
    ]
    assert fitting, f"no item in {sorted(case.sections)} has all of {list(case.has)}: {items}"
    unwanted = [(part, text) for _, text in items for part in case.lacks if part.lower() in padded(text)]
    assert unwanted == []


@each_case
def test_A7_items_are_third_person(case: Case) -> None:
    texts = [text for _, text in case.items()]
    assert [text for text in texts if " I " in f" {text} " or " my " in padded(text)] == []


@each_case
def test_A8_no_item_repeats_twelve_words(case: Case) -> None:
    source = runs(case.says, LONGEST_RUN + 1)
    assert [text for _, text in case.items() if runs(text, LONGEST_RUN + 1) & source] == []


@each_case
def test_no_item_invents_a_number(case: Case) -> None:
    assert [(text, invented(text, case)) for _, text in case.items() if invented(text, case)] == []
