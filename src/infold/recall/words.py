"""The words a message can be found by. Pure."""

from __future__ import annotations

import functools
import re
import zlib
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from infold.folding.likeness import stem

_SMALL = frozenset(
    "a an and are as at be been being but by can did do does doing for from had has have having he her hers him his how i if "
    "in into is it its me my mine no not of off on or our ours out she so some than that the their theirs them then there "
    "these they this those to too up us was we were what when where which while who whom whose why will with would you "
    "your yours shall should could may might must am let about all also any because still just yet now only more most "
    "much very one other such own same many ll re ve don isn wasn aren couldn hasn haven doesn won wouldn didn weren "
    "shouldn".split()
)
_ENDINGS = ("ation", "ment", "ness", "ful", "ly", "ive", "ion", "er", "or", "al", "y", "ous")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Scripts that put no space between words: Thai, Lao, Khmer, kana, Chinese, Hangul.
_UNSPACED = re.compile(r"[฀-໿ក-៿぀-ヿ㐀-䶿一-鿿豈-﫿가-힣\U00020000-\U0003ffff]+")
_LONGEST = 64
PAIR = 0x9E3779B1  # keeps the id of a pair of words apart from those of words


def words(text: str) -> list[str]:
    """The words of a text as they are written, in lower case, small ones passed over."""
    return [word for found in _WORD.findall(text.casefold()) for word in _split(found)]


def unspaced(word: str) -> bool:
    """Whether a word is a piece of what is written without spaces."""
    return _UNSPACED.search(word) is not None


@functools.lru_cache(maxsize=16384)
def _split(found: str) -> tuple[str, ...]:
    parts = found.replace("’", "'").split("'")
    if len(parts) > 1:  # "cat's" is the cat, "l'amour" the amour
        return tuple(word for part in parts if len(part) > 1 for word in _split(part))
    if _UNSPACED.search(found):
        return tuple(piece for run in _runs(found) for piece in run)
    return () if found in _SMALL else (found[:_LONGEST],)


def _runs(word: str) -> list[list[str]]:
    """Pairs of characters of what is written without spaces, the rest as it is."""
    found: list[list[str]] = []
    at = 0
    for match in _UNSPACED.finditer(word):
        if match.start() > at:
            found.append([word[at : match.start()]])
        run = match[0]
        found.append([a + b for a, b in pairwise(run)] or [run])
        at = match.end()
    if at < len(word):
        found.append([word[at:]])
    return found


@functools.lru_cache(maxsize=16384)
def root(word: str) -> str:
    """A word without what bends or derives it: "recommendations", "recommended" and "recommend" are one."""
    word = stem(word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


@functools.lru_cache(maxsize=16384)
def term(word: str) -> int:
    """The number a word is stored under; equal for all its forms."""
    return zlib.crc32(root(word).encode("utf-8", "surrogatepass"))


def terms(text: str) -> NDArray[np.uint32]:
    """The numbers of a text's words, in their order, repeated as often as they stand in it."""
    return np.array([term(word) for word in words(text)], np.uint32)
