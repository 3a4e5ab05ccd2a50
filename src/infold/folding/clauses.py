"""What a text affirms, denies, supposes or demands, clause by clause. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from infold.folding.denials import (
    ANSWERS,
    EMBEDDING,
    FIRM,
    FIRMLY,
    FREE,
    HEDGED,
    HEDGES,
    MAY,
    MODAL,
    MUST,
    NEGATORS,
    OBLIGED,
    PALE,
    PREFIXED,
    RELEASING,
    SHADES,
    SMALL,
    Sense,
    bare,
    lexicon,
    root_of,
)
from infold.folding.splitting import CONTRACTED, WITHOUT, parts_of, verbal

_SENTENCE = re.compile(
    r"(?<=[.!?。！？；])(?<!\bdr\.)(?<!\bmr\.)(?<!\bms\.)(?<!\bmrs\.)(?<!\bvs\.)(?<!\bprof\.)(?<!\bst\.)(?!(?<=\bno\.)\s+\d)\s+|\n+|(?<=[。！？；])"
)
_HAN = re.compile(r"[\u3400-\u9fff]+")
_HAN_NOT = re.compile(r"不(?!过|错|仅|同|久|但|少|断|管|论)|没(?!事)|无(?!论)|别(?!的|人)|未(?!来)|勿|禁止")
_HAN_HEDGE, _HAN_FIRM = re.compile("可能|也许|考虑"), re.compile("决定|必须")

_FIRST = re.compile(r"[^\W\d_]+")
_EXCEPT = frozenset("except excepting außer sauf excepto salvo".split())
_NOT = frozenset(["n't", "not"])
_PRONOUNS = frozenset("i you he she it we they that there who".split())
_SUPPOSING = frozenset("if unless whether wenn falls ob si".split())


class Unit(NamedTuple):
    """A telling word of a clause."""

    stem: str
    weight: float
    senses: tuple[tuple[str, int], ...]
    """What it stands for, and whether this is affirmed, denied, or neither."""


@dataclass(slots=True, eq=False)
class Clause:
    """One clause: what it speaks of, and how."""

    units: tuple[Unit, ...]
    keys: frozenset[str]
    """All stems and senses of the units."""
    signs: dict[str, int]
    """Of each sense whether it is affirmed or denied."""
    mass: float
    negations: int
    """How many words say "not"."""
    starred: int
    """-1 where the words that tell whether a thing is wanted, there or allowed deny it."""
    sided: int
    """How many words deny by what they mean."""
    shades: int
    """How many words limit or colour what is said."""
    head: str
    """The stem right after the first "not"."""
    asks: bool
    moods: int
    supposes: bool
    """Whether it stands under an "if"."""
    around: frozenset[str]
    """The keys of the clauses next to it."""
    odd: bool
    """Whether it is denied: by its "not"s alone,"""
    turned: bool
    """with what it says of things,"""
    full: bool
    """and with all words that deny by what they mean."""
    denies: bool
    """Whether anything in it says "not", or denies by what it means."""
    tells: bool
    """Whether it has a verb, or a word with a side: more than a name."""
    lacking: bool
    """Whether it is a fragment like "without cheese"."""
    answer: int
    """Of the first clause of a text that begins with "yes" or "no": 1 or -1."""


@functools.lru_cache(maxsize=2048)
def clauses_of(text: str) -> tuple[Clause, ...]:
    """The clauses of a text, each with its polarity and mood."""
    found: list[Clause] = []
    for sentence in _SENTENCE.split(text.replace("’", "'").lower()):
        if sentence.strip():
            found.extend(_clauses(sentence))
    for one, two in pairwise(found):
        two.around = one.keys
        one.around |= two.keys
    if found and (first := _FIRST.match(text)) and (answer := ANSWERS.get(first[0].lower())):
        found[0].answer = answer
    return tuple(found)


def answered(question: Sequence[Clause], answer: Sequence[Clause]) -> tuple[Clause, ...]:
    """The clauses of a text whose last question the next text answers with "yes" or "no": a statement, then."""
    if not answer or not answer[0].answer or not any(clause.asks for clause in question[-2:]):
        return tuple(question)
    return (*question[:-2], *(_settled(clause, answer[0].answer) for clause in question[-2:]))


def _settled(clause: Clause, answer: int) -> Clause:
    if not clause.asks:
        return clause
    if answer > 0 or clause.negations % 2:
        return replace(clause, asks=False)
    signs = {name: -sign for name, sign in clause.signs.items()}
    return replace(
        clause, asks=False, negations=clause.negations + 1, signs=signs, denies=True,
        odd=not clause.odd, turned=not clause.turned, full=not clause.full,
    )  # fmt: skip


def _clauses(sentence: str) -> list[Clause]:
    asks = sentence.rstrip().endswith(("?", "？"))
    found: list[Clause] = []
    for words in parts_of(sentence):
        found.append(_clause(words, asks, found[-1] if found else None))
    if sum(clause.negations > 0 for clause in found) > 1 and not WITHOUT.isdisjoint(sentence.split()):
        for clause in found:  # "don't go without asking": one may go
            clause.supposes = True
    if any(clause.signs.get("=certain", 0) < 0 for clause in found):
        for clause in found:
            clause.moods |= HEDGED
    for one, two in pairwise(found):
        if two.supposes and not one.negations:
            one.supposes = True
    return found


_DERIVED = ("ed", "able", "ible", "ing", "en", "al", "ive", "er", "d", "n", "t")


_Told = tuple[str, float, tuple[Sense, ...]]


class _Word(NamedTuple):
    """What a word does in a clause."""

    bare: str
    negates: int
    embeds: bool
    shade: bool
    moods: int
    units: tuple[_Told, ...]


@functools.lru_cache(maxsize=8192)
def _word(word: str) -> _Word:
    word = word.removesuffix("'s")
    base = bare(word)
    moods = (
        HEDGED * (word in HEDGES)
        | FIRMLY * (word in FIRM or word.endswith("'ll"))
        | OBLIGED * (word in MUST)
        | FREE * (word in MAY)
    )
    shade = word in SHADES
    if word in NEGATORS:
        return _Word(base, 1, False, shade, moods, ())
    if not word.isascii() and _HAN.match(word):
        if _HAN_HEDGE.search(word):
            moods |= HEDGED
        if _HAN_FIRM.search(word):
            moods |= FIRMLY
        pairs = tuple((word[at : at + 2], 1.0, ()) for at in range(len(word) - 1) or (0,))
        return _Word(base, len(_HAN_NOT.findall(word)), False, False, moods, pairs)
    known = lexicon().senses
    if word in SMALL or (word.endswith(CONTRACTED) and word.partition("'")[0] in _PRONOUNS):
        senses = known.get(base, ()) if word in MODAL else ()
        return _Word(base, 0, False, shade, moods, ((word, 0.15, senses),) if senses else ())
    units: list[_Told] = []
    negates = 0
    for part in word.split("-") if "-" in word and base not in known else (word,):
        own = bare(part)
        if part in ("non", "ex"):
            negates += 1
            continue
        if part in SMALL or (len(own) < 2 and not own.isdigit()):
            continue
        root = root_of(part)
        senses = known.get(own) or (() if part.endswith("ation") else lexicon().roots.get(root, ()))
        if part in ("free", "less") and units:
            negates += 1
            continue
        if not senses and (denied := PREFIXED.fullmatch(part)):
            inner = denied["inner"] or denied["lacked"] or denied["known"]
            if any(one.side for one in known.get(bare(inner), ())):
                senses = tuple(one._replace(side=-one.side) for one in known[bare(inner)])
                root = root_of(inner)
            elif denied["lacked"] or (denied["inner"] and part.endswith(_DERIVED)):
                root = root_of(inner)
                negates += 1
        weight = 0.5 if own in PALE or root in PALE or any(one.starred for one in senses) else 1.0
        units.append((root, weight, senses))
    return _Word(base, negates, base in EMBEDDING, shade, moods, tuple(units))


def _too(words: Sequence[str]) -> list[str]:
    """Words with "too late to go" as "too late not go"."""
    found = list(words)
    at = found.index("too")
    if "to" in found[at + 2 : at + 4]:
        found[found.index("to", at + 2)] = "n't"
    return found


def _phrase(words: Sequence[str], bares: Sequence[str], at: int) -> tuple[int, int, tuple[_Told, ...]] | None:
    """The phrase that begins at a word: how many words it has, whether it says "not", and what it tells."""
    for rest, denies, senses in lexicon().phrases[bares[at]]:
        if bares[at + 1 : at + 1 + len(rest)] == rest:
            length = 1 + len(rest)
            weight = 0.5 if any(sense.starred for sense in senses) else 1.0
            return length, int(denies), (("_".join(words[at : at + length]), weight, senses),) if senses else ()
    return None


def _add_signs(signs: dict[str, int], senses: Sequence[Sense], flip: int) -> None:
    """Note whether senses are affirmed or denied; 0 where a clause does both."""
    for name, side, _ in senses:
        sign = side * flip or side
        signs[name] = sign if signs.get(name, sign) == sign else 0


def _clause(words: Sequence[str], asks: bool, last: Clause | None = None) -> Clause:
    if "too" in words:
        words = _too(words)
    read = [_word(word) for word in words]
    bares = [one.bare for one in read]
    phrases = lexicon().phrases
    told: list[_Told] = []
    signs: dict[str, int] = {}
    negations = sided = shades = moods = 0
    starred, flip, embedded, head = 1, 1, False, ""
    thing: list[Sense] = []  # what the word before says of a thing
    at, end = 0, len(words)
    french = "ne" in words
    while at < end:
        word = words[at]
        _, negates, embeds, shade, mood, units = read[at]
        shades += shade and not (word == "too" and at + 1 == end)
        length = 1
        if bares[at] in phrases and (phrase := _phrase(words, bares, at)):
            length, negates, units = phrase
            mood = FIRMLY if negates else mood  # "may not" leaves nothing open
        moods |= mood
        if french and word in _FRENCH:
            negates, units = 0, ()
        settled = length > 1 and negates > 0  # a phrase like "can not" has its sign already
        if negates and word == "no" and length == 1:
            signs |= {sense.name: -signs[sense.name] for sense in thing}  # "needs no …"
        if negates and not (negations and word in _AGAIN):
            negations += negates
            flip = -flip if negates % 2 else flip
        thing = []
        for unit in units:
            if negations and not head:
                head = unit[0]
            told.append(unit)
            _add_signs(signs, unit[2], 0 if settled else flip)
            if length == 1:
                thing += [sense for sense in unit[2] if sense.starred]
            if not settled and (denying := [sense for sense in unit[2] if sense.side < 0]):
                sided += 1
                starred = -starred if any(sense.starred for sense in denying) else starred
        if embedded and word in RELEASING:
            flip, embedded = -flip, False
        if embeds and length == 1:
            flip, embedded = -flip, not embedded
        at += length
    negations -= words[0] in WITHOUT and negations > 1  # "without a ticket you can't get in"
    hangs = len(told) < 3 and (words[-1] in _NOT or verbal(words[-1])) and not any(signs.values())
    if last and (hangs or words[0] in _EXCEPT):
        # "…, the others don't": what is said of them stands before
        told += [(unit.stem, unit.weight, ()) for unit in last.units if any(sign for _, sign in unit.senses)]
        turn = (-1) ** (negations + last.negations + (words[0] in _EXCEPT))
        signs |= {name: sign * turn for name, sign in last.signs.items() if name not in signs}
    return Clause(
        tuple([Unit(stem, weight, tuple([(one.name, signs[one.name]) for one in senses])) for stem, weight, senses in told]),
        frozenset([*signs, *[unit[0] for unit in told]]), signs, max(0.5, sum([unit[1] for unit in told])), negations,
        starred, sided, shades, head, asks, moods | _moods(words, signs), words[0] in _SUPPOSING, frozenset(),
        negations % 2 == 1, (negations % 2 == 1) != (starred < 0), (negations + sided) % 2 == 1,
        negations > 0 or sided > 0 or starred < 0, negations > 0 or any(map(verbal, words)) or any(signs.values()),
        words[0] in WITHOUT, 0,
    )  # fmt: skip


def _moods(words: Sequence[str], signs: dict[str, int]) -> int:
    """The mood of pairs of words such as "have to", and of what is certain or not."""
    moods = (0, FIRMLY, HEDGED)[signs.get("=certain", 0)]
    if not _MOODY.isdisjoint(words):
        for one, two in pairwise(words):
            if one in _HAVING and two == "to":
                moods |= OBLIGED
            elif one == "going" and two in ("to", "with"):
                moods |= FIRMLY
            elif one in ("free", "allowed") and two == "to":
                moods |= FREE
            elif one in ("thinking", "think") and two in ("about", "of"):
                moods |= HEDGED
    return moods


_HAVING = frozenset("has have had needs need".split())
_MOODY = _HAVING | frozenset("going free allowed thinking think".split())
_FRENCH = frozenset("jamais aucun aucune rien plus pas".split())
_AGAIN = frozenset("nor nada nunca nadie nothing nobody".split())
