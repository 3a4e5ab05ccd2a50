"""Where one clause of a sentence ends and the next begins. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from infold.folding.calendar import MONTHS
from infold.folding.denials import (
    AFTER_AND,
    CHOOSING,
    EMBEDDING,
    FITTING,
    NEGATORS,
    SHORT,
    SMALL,
    STARTERS,
    SUBJECTS,
    VERBAL,
    bare,
    lexicon,
)

_TOKEN = re.compile(r"n't\b|[^\W\d_](?:[^\W_]|['._/@-](?=[^\W_]))*|\d[\d.,:]*\d|\d|[,;:.!?()\n–—]|[。！？；，]")
_UNDATED = frozenset((*MONTHS, "today", "tomorrow", "tonight", "yesterday")) - {"may", "set", "sun", "sat"}
_ISO = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_MAY = re.compile(r"\bmay (?=\d)")
_ORDINAL = frozenset("th st nd rd".split())
_TO = re.compile(r"(\bprefer\w* (?!to\b)(?:\S+ ){1,5}?)to\b")
_THAN = re.compile(r"\bthan\b")
_OVER = re.compile(r"\bover\b(?! \d)")
_OUT = re.compile(r"(?:'s|\b(?:is|are|was|were)) out(?= ?(?:[,.;!]|$))")
_OPPOSING = frozenset("out prefer prefers preferred over instead rather place lieu opposed sooner".split())
_AGAINST = re.compile(r"\b(?:instead of|rather than|in place of|in lieu of|as opposed to)\b")
_ASIDE = re.compile(r"\([^()]{0,24}\)")


def parts_of(sentence: str) -> list[list[str]]:
    """The words of each clause of a sentence in lower case; "X instead of Y" is two clauses, "X" and "unlike Y"."""
    pieces = _pieces(sentence)
    if not _OPPOSING.isdisjoint(pieces):
        pieces = _pieces(_plain(sentence, set(pieces)))
    found: list[list[str]] = []
    words: list[str] = []
    aside: list[str] = []  # "photos without flash are fine": its own clause
    for at, part in enumerate(pieces):
        if aside:
            if part[0].isalnum() and part not in STARTERS and not verbal(part):
                aside.append(part)
                continue
            found.append(aside)
            aside = []
        if part in WITHOUT and words and not verbal(words[-1]) and not all(word in SMALL for word in words):
            aside = [part]
            continue
        if part in _BREAKING and _breaks(part, pieces[at + 1 : at + 5], words):
            if words:
                found.append(words)
            words = []
        if (part[0].isalnum() or part == "n't") and part not in _UNDATED:
            words.append(part)
    return [*found, *filter(None, (aside, words))]


def _plain(sentence: str, said: set[str]) -> str:
    """A sentence with "X instead of Y" and "X over Y" as "X; unlike Y"."""
    plain = _AGAINST.sub(" ; unlike ", sentence)
    if "out" in said:
        plain = _OUT.sub(" is not accepted ", plain)
    if "than" in said and not said.isdisjoint(("rather", "prefer", "sooner")):
        plain = _THAN.sub(" ; unlike ", plain)
    if "to" in said and not said.isdisjoint(("prefer", "prefers", "preferred")):
        plain = _TO.sub(r"\1 ; unlike ", plain)
    if "over" in said and not said.isdisjoint(CHOOSING):
        plain = _OVER.sub(" ; unlike ", plain)
    return plain


def _pieces(sentence: str) -> list[str]:
    """Words and marks; "can't" as two words, dates left out: they are claims, and written in too many ways."""
    if "(" in sentence:
        sentence = _ASIDE.sub(
            lambda aside: f"; {aside[0].strip('()')}" if aside.end() == len(sentence) else " ", sentence
        )
    if "-" in sentence:
        sentence = _ISO.sub(" ", sentence)
    if "may " in sentence:
        sentence = _MAY.sub(" ", sentence)
    pieces: list[str] = []
    for piece in _TOKEN.findall(sentence):
        if piece in SHORT:
            pieces.extend(SHORT[piece])
        elif piece in _ORDINAL:
            continue
        elif piece.startswith("n'") and len(piece) > 3:
            pieces += ["ne", piece[2:]]
        else:
            pieces.append(piece)
    return pieces


def _breaks(part: str, coming: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a clause ends before a word or at a mark, given the words so far and those to come."""
    after = coming[0] if coming else ""
    if part in (",", "，"):
        if after in NEGATORS or after in STARTERS or after in SUBJECTS:
            return True
        return (
            len(words) > 4
            or _opens(coming)
            or any(verbal(word) or word in NEGATORS or bare(word) in EMBEDDING for word in words)
        )
    if part == ":":
        return len(coming) > 3 and (len(words) > 3 or any(word in NEGATORS for word in words))
    if part in _ENDS:
        return part != "." or not words or words[-1] not in _TITLES
    if words and words[0] == "unlike" and len(words) > 1 and part in SUBJECTS:  # "instead of X we take Y"
        return True
    if part == "not" and words and not verbal(words[-1]) and words[-1] not in SMALL:
        # "train not car", but "pets not allowed"
        return not (after in FITTING or after.endswith(_PARTICIPLES))
    if part in WITHOUT and words:
        return any(word in NEGATORS for word in words)
    if part in _AND:
        return (
            after in AFTER_AND
            or verbal(after)
            or _new_subject(coming)
            or any(sense.side for sense in lexicon().senses.get(bare(after), ()))
            or (len(coming) > 2 and any(bare(word) in EMBEDDING for word in words))
        )
    return part in STARTERS


_TITLES = frozenset("dr mr ms mrs vs prof no st".split())
WITHOUT = frozenset(["without", "ohne", "sans", "sin"])
_AND = frozenset(["and", "und", "et", "y"])
_ENDS = frozenset(".;()–—\n!?。！？；")
_BREAKING = frozenset(",，:") | _ENDS | {"not"} | WITHOUT | _AND | STARTERS | SUBJECTS
_PARTICIPLES = ("ed", "en", "ing", "able", "ible", "t", "ly", "ary", "ous", "ive", "ful", "ial", "happy")
_DETERMINERS = frozenset("the a an my our his her their its".split())
CONTRACTED = ("'m", "'re", "'ve", "'ll", "'d")


def verbal(word: str) -> bool:
    """Whether a word is a verb that a clause may hang on."""
    return word in VERBAL or word.endswith(CONTRACTED)


def _opens(coming: Sequence[str]) -> bool:
    """Whether a comma stands before a clause with a verb of its own."""
    return len(coming) > 1 and not verbal(coming[0]) and any(map(verbal, coming[1:3]))


def _new_subject(coming: Sequence[str]) -> bool:
    """Whether what follows an "and" is a clause of its own: "and Priya takes the room"."""
    if coming and coming[0] in _DETERMINERS:
        coming = (*coming[1:], "…")
    if any(map(verbal, coming[1:4])):
        return True
    return (
        len(coming) > 3
        and (verbal(coming[1]) or coming[1].endswith(("s", "ed")))
        and (coming[2].isalpha() or coming[2] in ("n't", "…"))
    )
