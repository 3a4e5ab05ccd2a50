"""Candidates for memory from one message. Pure: the same whatever comes after it and however it is batched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infold.marks import GONE
from infold.messages import Message
from infold.quoting.adding import Adder
from infold.quoting.candidate import LIKELY, Candidate, Place
from infold.quoting.courtesy import idle
from infold.quoting.features import (
    ANSWER,
    FIRST,
    HEADING,
    ITEM,
    LAST,
    NOTHING,
    PAIR,
    Seen,
    Setting,
    seen,
    size_of,
)
from infold.quoting.fields import fields
from infold.quoting.health import is_vital
from infold.quoting.pasted import borrowed, in_quotes, letter_from, within
from infold.quoting.scoring import Model, shipped
from infold.quoting.sentences import Sentence, split

REACH = 4
"""How many messages before it bear on what a message is worth."""
LONGEST = 300
_EARLIEST = 120  # a cut leaves at least this much
_SHORT = 140  # sentences up to this length may stand together
_PAIR = 220
_FRAGMENT = 40
_QUESTION = 160
_MINE = frozenset(
    "i i'm i've i'd i'll im my we we're we've our ich mein meine meinen wir unser je j'ai mon ma mes nous yo soy mi mis eu sou meu minha".split()
)
"""Words of who speaks of themselves: such a sentence stands by itself."""
_SPEAKER = re.compile(r"(?:user|assistant|system|tool|human|ai): ", re.IGNORECASE)  # in a pasted conversation
_PLAIN = frozenset('\n"“”„«»「」『』')
"""Signs without which nothing in a message is pasted or quoted."""
_MARKS = ("; ", " – ", " — ", ": ", ", ", "；", "，", "、", " and ", " und ", " et ", " y ", " e ", " but ", " aber ")


@dataclass(slots=True)
class Draft:
    """Words that may become a candidate, with what is to be known of them."""

    text: str
    places: tuple[Place, ...]
    parts: tuple[Seen, ...]
    """The sentence, or two sentences."""
    setting: Setting

    @property
    def words(self) -> Seen:
        """What it shows."""
        return self.parts[0] if len(self.parts) == 1 else seen(self.text)


def read(message: Message, before: Sequence[Message]) -> tuple[Candidate, ...]:
    """The candidates of a message; `before` are the messages right before it, REACH at most."""
    return read_with(shipped(), message, before)


def read_with(model: Model, message: Message, before: Sequence[Message]) -> tuple[Candidate, ...]:
    """`read` with another model."""
    found = []
    text, role, name = message.text, message.role, message.name or message.role
    drafted = drafts(message, before[-REACH:])
    if not drafted:
        return ()
    adder = Adder(model.tables, drafted[0].setting)
    spans = borrowed(text) if role == "user" else []
    may_borrow = role == "user" and (bool(spans) or not _PLAIN.isdisjoint(text))
    for draft in drafted:
        sums = adder.sums(draft.parts, draft.text, draft.setting)
        standing = model.standing(sums) if role == "user" else 0
        others = may_borrow and _of_others(text, draft.places[-1], spans)
        if others:
            standing = min(standing, LIKELY - 1)  # what somebody else wrote is not the user's word
        worth = model.worth(sums)
        found.append(Candidate(draft.text, draft.places, role, name, message.created_at, worth, standing, others))
    return tuple(found)


def _of_others(text: str, place: Place, spans: list[tuple[int, int]]) -> bool:
    """Whether words are pasted or quoted."""
    return (
        place.start >= letter_from(text)
        or in_quotes(text, place.start, place.end)
        or within(spans, place.start, place.end)
    )


def drafts(message: Message, before: Sequence[Message]) -> list[Draft]:
    """What may be quoted of a message, not scored yet."""
    if message.text in GONE:
        return []
    if message.role == "tool":
        return _of_tool(message)
    if message.role not in ("user", "assistant"):
        return []
    text = message.text
    pieces: list[tuple[Sentence, bool, bool]] = []
    for one in split(text):
        pieces += [(one, False, False)] if one.end - one.start <= LONGEST else _cut(text, one)
    if not pieces:
        return []
    role, named = message.role, message.name is not None
    last, question = _question(message, before)
    words = [seen(_folded(text[one.start : one.end])) for one, _, _ in pieces]
    empty = [idle(one) for one in words]
    around = [NOTHING, *words, NOTHING, NOTHING]
    size = size_of(len(pieces), len(text))
    reply = f"{_speaker(message, before)[:1]}{message.role[0]}{int(last.asks)}"

    def setting(at: int, marks: list[str], after: int = 2) -> Setting:
        answers = last.cues if at == 0 and last.asks else ()
        marks += _at(at, len(pieces))
        return Setting(role, named, marks + size, around[at], around[at + after], reply, answers)

    found: list[Draft] = []
    for at, (one, lead, tail) in enumerate(pieces):
        marks = [ITEM] if one.item else []
        place = Place(message.seq, one.start, one.end)
        said = words[at].text
        if lead or tail:
            said = f"{'… ' if lead else ''}{said}{'…' if tail else ''}"
        if one.heading:
            head = _folded(text[slice(*one.heading)])
            colon = "" if head.endswith((":", "：")) else ":"
            places = (Place(message.seq, *one.heading), place)
            found.append(Draft(f"{head}{colon} {said}", places, (words[at],), setting(at, [*marks, HEADING])))
            continue
        if at == 0 and question and len(said) <= _FRAGMENT and not words[at].asks and _MINE.isdisjoint(words[at].words):
            shown = f"{question[0]} – {said}"
            read_as = (seen(f"{question[0]} {said}"),)
            found.append(Draft(shown, (question[1], place), read_as, setting(at, [*marks, ANSWER])))
            continue
        if empty[at]:
            continue
        if not _says_little(words[at]):
            found.append(Draft(said, (place,), (words[at],), setting(at, marks)))
        if at + 1 == len(pieces) or lead or tail or empty[at + 1]:
            continue
        follows, _, cut = pieces[at + 1]
        if not cut and _go_together(one, follows) and not _SPEAKER.match(text, follows.start):
            both = _folded(text[one.start : follows.end])
            place = Place(message.seq, one.start, follows.end)
            found.append(Draft(both, (place,), (words[at], words[at + 1]), setting(at, [PAIR], 3)))
    return found


def _at(at: int, of: int) -> tuple[str, ...]:
    """The marks of the first and the last sentence of a message."""
    if at == 0:
        return (FIRST, LAST) if of == 1 else (FIRST,)
    return (LAST,) if at == of - 1 else ()


def _says_little(words: Seen) -> bool:
    """Whether a sentence says nothing by itself: a word or two, the label of what follows."""
    text = words.text
    if text.endswith((":", "：")):
        return True
    if words.figures:
        return not words.words and len(text) < 6
    if words.cjk:
        return len(text) < 6
    least = 2 if words.words and words.words[0] in _MINE else 3
    return len(words.words) < least and not is_vital(text)


def _of_tool(message: Message) -> list[Draft]:
    """Fields of a result."""
    found = fields(message.text)
    size = size_of(len(found), len(message.text))
    return [
        Draft(
            one.text,
            (Place(message.seq, one.start, one.end),),
            (seen(one.text),),
            Setting("tool", False, [*_at(at, len(found)), *size], NOTHING, NOTHING, "t0", ()),
        )
        for at, one in enumerate(found)
    ]


def _folded(text: str) -> str:
    return " ".join(text.split())


def _go_together(one: Sentence, two: Sentence) -> bool:
    """Whether two sentences are short and stand side by side."""
    return (
        not (one.item or two.item)
        and two.start - one.end <= 2
        and one.end - one.start <= _SHORT
        and two.end - two.start <= _SHORT
        and two.end - one.start <= _PAIR
    )


def _cut(text: str, one: Sentence) -> Iterator[tuple[Sentence, bool, bool]]:
    """A sentence in parts of at most LONGEST characters, with whether something was cut off before and after each."""
    start = one.start
    while one.end - start > LONGEST:
        window = text[start : start + LONGEST]
        at = max(window.rfind(mark, _EARLIEST) + len(mark.rstrip()) * (not mark[1:2].isalpha()) for mark in _MARKS)
        if at < _EARLIEST:
            at = window.rfind(" ", _EARLIEST)
        end = start + (at if at >= _EARLIEST else LONGEST)
        yield one._replace(start=start, end=len(text[:end].rstrip())), start > one.start, True
        start = end + len(text[end : one.end]) - len(text[end : one.end].lstrip())
    yield one if start == one.start else one._replace(start=start), start > one.start, False


def _speaker(message: Message, before: Sequence[Message]) -> str:
    """Who spoke right before: the same person, another one, an assistant, a tool."""
    if not before:
        return ""
    last = before[-1]
    return (
        "same"
        if (last.role, last.name) == (message.role, message.name)
        else "other"
        if last.role == "user"
        else last.role
    )


def _question(message: Message, before: Sequence[Message]) -> tuple[Seen, tuple[str, Place] | None]:
    """The last sentence that somebody else said right before, and the same as a question to quote."""
    for last in reversed(before):
        if last.role not in ("user", "assistant") or not last.text.strip():
            continue
        if (last.role, last.name) == (message.role, message.name):
            break
        text = last.text
        parts = split(text)
        if not parts:
            break
        one = parts[-1]
        words = seen(_folded(text[one.start : one.end])[:LONGEST])
        if words.asks and one.end - one.start <= _QUESTION:
            return words, (words.text, Place(last.seq, one.start, one.end))
        return words, None
    return NOTHING, None
