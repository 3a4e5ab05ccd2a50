"""What is known of people in all their chats: which lines, in what order, and by which words they are found. Pure."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from infold.folding.proper import common
from infold.lines.line import MOST, PERSON, STANDING, Line, is_standing
from infold.lines.merging import is_vital_line, said_of
from infold.quoting.lasting import is_habit, tells_change, tells_habit
from infold.quoting.replacing import resolve
from infold.quoting.telling import stem, telling

if TYPE_CHECKING:
    from infold.ledger.stated import Held
    from infold.quoting.candidate import Candidate

VITAL = 10_000
"""Added to the rank of health, safety and law: they come first."""
KNOWN, FAINT = 450, 350
"""The least score for standing of what is known elsewhere, and of what is so where a question is near to it."""
_HINTS = 10
"""Words by which a line is found."""
_READ = 2000
"""Characters of a question that are read."""

_RARE, _PLAIN, _TOPIC, _FEW = 4, 2, 1, 3
"""What words and topics in common count, and how many lines a rare word is in."""


def _topics() -> dict[str, tuple[str, ...]]:
    """The topics of each word that tells one."""
    found: dict[str, tuple[str, ...]] = {}
    for row in (files("infold.knowledge") / "topics.txt").read_text("utf-8").splitlines():
        topic, colon, words = row.partition(": ")
        for word in dict.fromkeys(stem(word) for word in words.split() if colon and not row.startswith("#")):
            found[word] = (*found.get(word, ()), f" {topic}")
    return found


_TOPICS_OF = _topics()
_WIDE = frozenset((" time", " work", " travel", " learn", " play"))
"""Topics that so much is about that one of them alone tells nothing."""
_PERSON = frozenset((" food", " health", " family"))


def may_overrule(one: Candidate) -> bool:
    """Whether a sentence may say that something is not so any more."""
    return tells_change(one.words)


def may_be_known(one: Candidate) -> bool:
    """Whether a sentence may be worth knowing elsewhere: most are not, and nothing else is asked of them."""
    return one.standing >= FAINT or is_standing(one.kind, 0) or tells_habit(one.words) or is_habit(one.words)


def is_known(line: Line) -> bool:
    """Whether a line may be known elsewhere: in any chat, or where a question is near to it."""
    return is_personal(line) and rank_of(line) >= FAINT


def rank_of(line: Line) -> int:
    """What is shown first, where not all of what holds is: health, safety and law, then the surest."""
    lasting = line.own or bool(line.rewrites) or line.author == PERSON
    standing = max(line.standing, STANDING if is_standing(line.kind, 0) else KNOWN if is_habit(line.words) else 0)
    standing = MOST if line.author == PERSON else standing
    return (VITAL if is_vital_line(line) else 0) + standing if lasting else 0


def is_personal(line: Line) -> bool:
    """Whether a line is about the person, not about what the chat is about: then it is known in their other chats."""
    if line.kind == "constraint":
        return is_vital_line(line) or is_habit(line.words) or not _PERSON.isdisjoint(topics(_stems(line.words)))
    return line.kind in ("rule", "preference", "who", "fact", "")


def topics(stems: Iterable[str]) -> frozenset[str]:
    """What some words are about, of the few things that people say in many ways."""
    return frozenset(topic for word in stems for topic in _TOPICS_OF.get(word, ()))


@lru_cache(maxsize=4096)
def asked_about(question: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a question by which lines are found, and what it is about."""
    stems = telling(question[:_READ].lower())
    return stems, topics(stems)


def hints_of(line: Line) -> list[int]:
    """Numbers of the words that a line can be found by."""
    words = _stems(line.words)
    slot = said_of(line).slot
    return numbers(sorted(words, key=lambda word: (-len(word), word))[:_HINTS] + (sorted(slot.of) if slot else []))


def numbers_near(question: str) -> tuple[list[int], list[int]]:
    """Numbers of the words of a question, and of others that are about the same."""
    stems, about = asked_about(question)
    return numbers(stems), numbers(word for word, topics in _TOPICS_OF.items() if not about.isdisjoint(topics))


def numbers(words: Iterable[str]) -> list[int]:
    """The numbers that words are stored under."""
    return sorted({zlib.crc32(word.encode("utf-8", "surrogatepass")) & 0x7FFFFFFF for word in words})


@lru_cache(maxsize=4096)
def _stems(words: str) -> frozenset[str]:
    return telling(words.lower())


@cache
def _said_of_everything() -> frozenset[str]:
    """Words that tell nothing by themselves."""
    return frozenset(map(stem, common()))


def holding(found: Sequence[Held]) -> list[Held]:
    """Those of some lines that no other one of them overrules."""
    rows = sorted(found, key=lambda one: (one.line.said_at, one.chat, max(one.line.sources), one.key))
    gone = resolve([said_of(one.line) for one in rows]).gone
    return [one for at, one in enumerate(rows) if at not in gone]


def bearing(question: str, found: Sequence[Held], least: int) -> list[Held]:
    """Those of some lines that bear on a question, the nearest first: by the words they share, and by what both are about, which
    counts `least` together."""
    stems, about = asked_about(question)
    every = [(one, _stems(one.line.words)) for one in found]
    holders = Counter(stem for _, words in every for stem in words)
    scored: list[tuple[int, int, int, int, Held]] = []
    for one, words in every:
        shared = sum(
            1 if word in _said_of_everything() else _RARE if holders[word] <= _FEW else _PLAIN for word in words & stems
        )
        both = topics(words) & about
        near = shared + _TOPIC * len(both) + len(both - _WIDE)
        if near >= least:
            scored.append((-near, -one.rank, -one.line.said_at, one.key, one))
    return [one for *_, one in sorted(scored, key=lambda item: item[:4])]
