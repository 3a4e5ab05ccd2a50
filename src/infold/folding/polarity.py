"""What a text affirms, denies, supposes or demands, clause by clause, and whether two texts disagree. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from infold.folding.calendar import MONTHS, WEEKDAYS
from infold.folding.denials import (
    AFTER_AND,
    BASES,
    CHOOSING,
    DENYING,
    FIRM,
    FITTING,
    HEDGES,
    IDIOMS,
    IMPLICIT,
    MAY,
    MUST,
    NEGATORS,
    NEUTRAL,
    PAIRED,
    PAIRS,
    PREFIXED,
    SHORT,
    SMALL,
    STARTERS,
    SUBJECTS,
    UNCLEAR,
    VERBAL,
)
from infold.folding.likeness import GENERIC, stem

_TOKEN = re.compile(r"n't\b|[^\W\d_](?:[^\W_]|['._/@-](?=[^\W_]))*|\d[\d.,:]*\d|\d|[,;:.!?()\n–—]|[。！？；，]")
_AGAINST = re.compile(
    r"\b(?:(?<=decided )against|(?<=voted )against|(?<=decide )against|(?<=opted )against|(?<=advised )against|(?<=advises )against|(?<=decision )against|instead of|rather than|in place of|in lieu of|as opposed to)\b",
    re.IGNORECASE,
)
_HAN_HEDGE, _HAN_FIRM = re.compile("可能|也许|考虑"), re.compile("决定|必须")
_OPEN = re.compile(
    r"(?:n't|\bnot) (?:yet )?(?:sure|certain|decided|clear|settled)\b|\b(?:not (?:yet )?(?:sure|certain|decided|clear)|undecided)\b"
)
_IDIOMATIC = frozenset("no not n't nothing off offs whether undecided oder non why or day cut drop time nor".split())
_TO = re.compile(r"(\bprefer\w* (?!to\b)(?:\S+ ){1,5}?)to\b")
_THAN = re.compile(r"\bthan\b")
_OVER = re.compile(r"\bover\b(?! \d)")
_OUT = re.compile(r"(?:'s|\b(?:is|are|was|were)) out(?: of the question\b|(?=\s?(?:[,.;!]|$)))")
_OPPOSING = frozenset("out keinen prefer prefers preferred instead rather against over place lieu opposed".split())
_UNDATED = frozenset((*MONTHS, *WEEKDAYS, "today", "tomorrow", "tonight", "yesterday")) - {"may", "set", "sun", "sat"}
_ISO = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_SENTENCE = re.compile(
    r"(?<=[.!?。！？；])(?<!\bdr\.)(?<!\bmr\.)(?<!\bms\.)(?<!\bmrs\.)(?<!\bvs\.)(?<!\bprof\.)(?<!\bno\.)(?<!\bst\.)\s+|\n+|(?<=[。！？；])"
)
_TWICE, _DANGLING = frozenset(["twice"]), frozenset(["dangling"])
_LIMIT = frozenset(["limit"])
_HARMS = frozenset(
    map(stem, "problem problems issue issues bad wrong trouble matter bother mind worry rush hurry".split())
)
_OPENING = frozenset("sure undecided decided certain clear settled".split())
_ASIDE = re.compile(r"\([^()]{0,24}\)")
_HAN = re.compile(r"[\u3400-\u9fff]+")
_HAN_NOT = re.compile(r"不(?!过|错|仅|同|久|但|少|断|管|论)|没(?!事)|无(?!论)|别(?!的|人)|未(?!来)|勿|禁止")


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause: what it speaks of, and how."""

    stems: frozenset[str]
    mass: float
    """How much the stems tell."""
    negative: bool
    denied: frozenset[str]
    """Bases of the words that deny by themselves."""
    stated: frozenset[str]
    """Bases of the words that such words deny."""
    unclear: frozenset[str]
    """Words that leave open what is denied."""
    implicit: bool
    """Whether its sentence has words that deny or limit without a "not"."""
    shaded: bool
    """The same of the clause itself; words of time and place do not count."""
    bare: bool
    """A fragment such as "without cheese" or "no sugar"."""
    head: str
    """The stem right after a plain negation: what it denies."""
    asks: bool
    hedged: bool
    firm: bool
    must: bool
    may: bool


@functools.lru_cache(maxsize=2048)
def clauses_of(text: str) -> tuple[Clause, ...]:
    """The clauses of a text, each with its polarity and mood."""
    found: list[Clause] = []
    for sentence in _SENTENCE.split(text.replace("’", "'").lower()):
        if sentence.strip():
            found.extend(_clauses(sentence))
    return tuple(found)


def _clauses(sentence: str) -> list[Clause]:
    asks = sentence.rstrip().endswith(("?", "？"))
    pieces = _pieces(sentence)
    said = set(pieces)
    hedged = not said.isdisjoint(_OPENING) and _OPEN.search(sentence) is not None
    implicit = not said.isdisjoint(IMPLICIT) or any(map(_prefixed, said))
    if not said.isdisjoint(_IDIOMATIC) or not said.isdisjoint(_OPPOSING):
        pieces = _pieces(_plain(sentence, said))
    found: list[Clause] = []
    words: list[str] = []
    for at, part in enumerate(pieces):
        if part in _BREAKING and _breaks(part, pieces[at + 1 : at + 5], words):
            if words:
                found.append(_clause(words, asks, hedged, implicit))
            words = []
        if (part[0].isalnum() or part == "n't") and part not in _UNDATED:
            words.append(part)
    if words:
        found.append(_clause(words, asks, hedged, implicit))
    doubly = "without" in said and sum(clause.negative for clause in found) > 1  # "don't go without asking"
    if len(found) > 1 and (doubly or any(clause.negative and clause.mass < 1 for clause in found)):
        # "…, but we don't have one": what it denies stands in another clause
        found = [
            clause if clause.negative and clause.head and clause.head not in PALE
            else replace(clause, unclear=clause.unclear | _DANGLING)
            for clause in found
        ]  # fmt: skip
    return found


def _plain(sentence: str, said: set[str]) -> str:
    """A sentence without idioms that only look like denials, and with "X instead of Y" as "X; unlike Y"."""
    plain = _AGAINST.sub(" ; unlike ", IDIOMS.sub(" ", sentence))
    if "out" in said:
        plain = _OUT.sub(" is not ", plain)
    if "keinen" in said:
        plain = plain.replace("auf keinen fall", "; nicht")
    if "than" in said and ("rather" in said or "prefer" in said or "sooner" in said):
        plain = _THAN.sub(" ; unlike ", plain)
    if "to" in said and not said.isdisjoint(("prefer", "prefers", "preferred")):
        plain = _TO.sub(r"\1 ; unlike ", plain)
    if "over" in said and not said.isdisjoint(CHOOSING):
        plain = _OVER.sub(" ; unlike ", plain)
    return plain.replace("no longer", "not").replace("any longer", "").replace("no one", "nobody")


def _pieces(sentence: str) -> list[str]:
    """Words and marks; "can't" as two words, dates left out: they are claims, and written in too many ways."""
    if "(" in sentence:
        sentence = _ASIDE.sub(lambda aside: aside[0].strip("()") if aside.end() == len(sentence) else " ", sentence)
    if "-" in sentence:
        sentence = _ISO.sub(" ", sentence).replace("non-", "non ")
    pieces: list[str] = []
    for piece in _TOKEN.findall(sentence):
        if piece in SHORT:
            pieces.extend(SHORT[piece])
        else:
            pieces.append(piece)
    return pieces


def _breaks(part: str, coming: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a clause ends before a word or at a mark, given the words so far and those to come."""
    after = coming[0] if coming else ""
    if part in (",", "，"):
        if after in NEGATORS or after in STARTERS or after in DENYING or after in SUBJECTS:
            return True
        return len(words) > 4 or any(_verbal(word) or word in NEGATORS or word in DENYING for word in words)
    if part == ":":
        return len(coming) > 3 and (len(words) > 3 or any(word in NEGATORS for word in words))
    if part in _ENDS:
        return part != "." or not words or words[-1] not in _TITLES
    if words and words[0] == "unlike" and len(words) > 1 and part in SUBJECTS:  # "instead of X we take Y"
        return True
    if part == "not" and words and not _verbal(words[-1]) and words[-1] not in SMALL:
        # "train not car", but "pets not allowed"
        return not (after in FITTING or after in DENYING or after.endswith(_PARTICIPLES))
    if part in _WITHOUT and words:
        return True
    if part in _AND:
        return (
            after in AFTER_AND
            or _verbal(after)
            or _new_subject(coming)
            or (len(coming) > 2 and not DENYING.keys().isdisjoint(words))
        )
    return part in STARTERS


_TITLES = frozenset("dr mr ms mrs vs prof no st".split())
_WITHOUT = frozenset(["without", "ohne", "sans", "sin"])
_AND = frozenset(["and", "und", "et", "y"])
_ENDS = frozenset(".;()–—\n!?。！？；")
_BREAKING = frozenset(",，:") | _ENDS | {"not"} | _WITHOUT | _AND | STARTERS | SUBJECTS
_PARTICIPLES = ("ed", "en", "ing", "able", "ible", "t", "ly", "ary", "ous", "ive", "ful", "ial", "happy")


def _verbal(word: str) -> bool:
    return word in VERBAL or word.endswith(("'m", "'re", "'ve", "'ll", "'d"))


def _new_subject(coming: Sequence[str]) -> bool:
    """Whether what follows an "and" is a clause of its own: "and Priya takes the room"."""
    return (
        len(coming) > 3
        and (_verbal(coming[1]) or coming[1].endswith(("s", "ed")))
        and (coming[2].isalpha() or coming[2] == "n't")
    )


@functools.lru_cache(maxsize=8192)
def _prefixed(word: str) -> bool:
    return PREFIXED.match(word) is not None


@functools.lru_cache(maxsize=8192)
def _part(word: str) -> tuple[int, str, tuple[str, ...], tuple[str, ...]]:
    """What a word does in a clause: how often it negates, what it denies, its stems, and the bases among them."""
    if word in NEGATORS:
        return 1, "", (), ()
    if word in DENYING:
        return 0, DENYING[word], (), ()
    if not word.isascii() and _HAN.match(word):
        return len(_HAN_NOT.findall(word)), "", tuple(word[at : at + 2] for at in range(len(word) - 1) or (0,)), ()
    if word in SMALL:
        return 0, "", (), ()
    roots = [stem(piece.removesuffix("'s")) for piece in (word.split("-") if "-" in word else (word,))]
    roots = [root[:-3] if len(root) > 7 and root.endswith(("abl", "ibl")) else root for root in roots]
    kept = tuple(BASES.get(root) or root for root in roots if len(root) > 1 or root.isdigit())
    return 0, "", kept, tuple(BASES[root] for root in roots if BASES.get(root))


def _clause(words: Sequence[str], asks: bool, hedged: bool, implicit: bool) -> Clause:
    strong = 0
    head = ""
    denied: list[str] = []
    stems: set[str] = set()
    stated: set[str] = set()
    for negates, denies, roots, bases in map(_part, words):
        if roots:
            if strong and not head and not negates:
                head = roots[0]
            stems.update(roots)
            stated.update(bases)
        strong += negates
        if denies:
            denied.append(denies)
    stems.update(denied)
    moods = _moods(words)
    unclear = UNCLEAR.intersection(words)
    if "than" in words or "exceed" in words:  # "can't take more than two": a limit
        unclear |= _LIMIT
    if head in _HARMS:  # "is no problem"
        unclear |= _TWICE
    return Clause(
        frozenset(stems),
        weight(stems),
        (strong + len(denied)) % 2 == 1,
        frozenset(denied),
        frozenset(stated),
        unclear | _TWICE if strong > 1 or len(denied) > 1 else unclear,
        implicit,
        implicit and any((word in IMPLICIT and word not in NEUTRAL) or _prefixed(word) for word in words),
        words[0] in _WITHOUT or words[0] == "no",
        head,
        asks,
        hedged or not moods.isdisjoint(HEDGES),
        not moods.isdisjoint(FIRM),
        not moods.isdisjoint(MUST),
        not moods.isdisjoint(MAY),
    )


def _moods(words: Sequence[str]) -> set[str]:
    """The words of a clause with pairs like "have to" as one."""
    found = set(words)
    if not found.isdisjoint(PAIRED):
        found.update(PAIRS[pair] for one, two in pairwise(words) if (pair := f"{one} {two}") in PAIRS)
    text = " ".join(words)
    if "'ll" in text:
        found.add("will")
    for word in () if text.isascii() else [word for word in found if not word.isascii()]:
        if _HAN_HEDGE.search(word):
            found.add("maybe")
        if _HAN_FIRM.search(word):
            found.add("decided")
    return found


def weight(stems: Iterable[str]) -> float:
    """How much some stems tell; words that are said about everything tell less."""
    return sum([0.5 if one in PALE else 1.0 for one in stems])


PALE = GENERIC | {"accept", "keep", "continu", "use", "hav", "able", "want", "like", "open"}


def opposed(line: Sequence[Clause], sources: Sequence[Clause]) -> str:
    """ "negation" or "modality" where a line says the opposite of its sources, or is surer than they are; else empty."""
    for clause in line:
        if not clause.negative and _has_without(clause, sources):
            return "negation"
        near = _nearest(clause, sources)
        if not near:
            continue
        if all(_denies(clause, other) for other in near) and not _as_much(clause, sources):
            return "negation"
        if all(_firmer(clause, other) for other in near):
            return "modality"
    return ""


def _as_much(clause: Clause, sources: Sequence[Clause]) -> bool:
    """Whether the sources deny the same by a word of their own: "fails" for "the failure is"."""
    return any(clause.denied & other.denied and clause.negative == other.negative for other in sources)


def _has_without(clause: Clause, sources: Sequence[Clause]) -> bool:
    """Whether a clause affirms all of what its sources only ever exclude: "with cheese" for "without cheese"."""
    if clause.implicit or clause.unclear:
        return False
    for other in sources:
        if other.bare and other.negative and other.mass >= 1 and other.stems <= clause.stems and len(clause.stems) > 1:
            rest = clause.stems - other.stems
            stated = any(not one.negative and one.stems & other.stems for one in sources)
            if not stated and any(not one.negative and one.stems & rest for one in sources):
                return True
    return False


def _nearest(clause: Clause, sources: Sequence[Clause]) -> list[Clause]:
    """The source clauses that speak of the same; none where too little is shared to tell."""
    mine = clause.mass
    if not mine:
        return []
    scored = []
    for other in sources:
        common = clause.stems & other.stems
        if common:
            shared = weight(common)
            if shared >= 0.5 * mine or (shared >= 2 and shared >= 0.75 * other.mass):
                scored.append((shared, other))
    best = max((score for score, _ in scored), default=0.0)
    least = 1.5 if clause.negative or clause.implicit else 1.0  # a denial that was lost shows sooner than an added one
    if best < least and best < 0.99 * mine:
        return []
    near = [other for score, other in scored if score >= 0.8 * best]
    if any(other.asks for other in near) and not clause.asks:
        stating = [other for other in near if not other.asks]
        return stating if any(weight(clause.stems & other.stems) >= best - 0.01 for other in stating) else []
    return near


def _denies(one: Clause, other: Clause) -> bool:
    if (
        one.unclear != other.unclear
        or "twice" in one.unclear
        or one.negative == other.negative
        or one.asks
        or other.asks
    ):
        return False
    if one.denied == other.denied:  # the difference is a plain "not"; can it be told what it denies?
        head, plain = (one.head, other) if one.negative else (other.head, one)
        if not head or (_has(one, head) and _has(other, head)):
            return True
        return not plain.implicit and (plain is other or plain.mass >= 1.5)
    if one.denied & other.stated or other.denied & one.stated:
        return True
    denying, plain = (one, other) if one.denied else (other, one)
    return not plain.denied and not plain.implicit and plain.mass >= 1.5 and plain.stems <= denying.stems


def _has(clause: Clause, head: str) -> bool:
    """Whether a clause has a stem, or one that begins like it: quiero, quiere."""
    return head in clause.stems or (len(head) > 4 and any(word.startswith(head[:4]) for word in clause.stems))


def _firmer(one: Clause, other: Clause) -> bool:
    if one.unclear and other.unclear:
        return False
    if one.firm and not one.hedged and other.hedged and not other.firm:
        return True
    return other.must and not other.may and one.may and not one.must and not one.negative
