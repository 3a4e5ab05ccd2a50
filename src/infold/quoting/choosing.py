"""Choosing lines under a cap of tokens: the best first, what says the same as a better one less. Pure, whole numbers only."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from math import isqrt
from typing import Protocol

from infold.quoting.candidate import Place

_WORD = re.compile(r"[^\W_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|ly|en|er|e|n)$")
_STOP = frozenset(
    "the a an and or of to in on at for with is are was were be been i you he she it they we his her their my your that this as by from not no do does did "
    "have has had will would can could should what when where who how which about into than then there here so if but also more most some any all "
    "der die das und oder ist ich du er sie es wir ein eine den dem mit von zu im in auf für nicht auch le la les de des du et un une je tu il elle est en au "
    "que qui ne pas pour dans el los las y o es un una lo se no por con para os as um uma e eu não do da em".split()
)
_OVERHEAD = 12
"""Tokens added to every line's count: many short lines are not better than a few whole ones."""
_STANDING_FLOOR = 60
"""Standing of what cannot stand: words of assistants and tools still have their worth."""


class Scored(Protocol):
    """A candidate, or a line that was chosen earlier."""

    @property
    def words(self) -> str: ...
    @property
    def places(self) -> tuple[Place, ...]: ...
    @property
    def worth(self) -> int: ...
    @property
    def standing(self) -> int: ...


def rank(worth: int, standing: int) -> int:
    """How much a line counts: worth^1.5 × standing, times ten. Twice as good a line counts more than twice as much."""
    return isqrt(worth**3 * 100) * max(standing, _STANDING_FLOOR)


@lru_cache(maxsize=8192)
def stems(text: str) -> frozenset[str]:
    """The words that tell what a line is about, less their endings; of Chinese the pairs of signs."""
    found: set[str] = set()
    spelled = not text.isascii() and _CJK.search(text) is not None
    for word in {*_WORD.findall(text.lower())}.difference(_STOP):
        if spelled and _CJK.search(word):
            found.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        elif len(word) > 1 or word.isdigit():
            found.add(_stem(word[:24]))
    return frozenset(found)


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    return _ENDING.sub("", word)


def choose(lines: Sequence[Scored], tokens: Sequence[int], cap: int, shown: Iterable[str] = ()) -> list[int]:
    """Which lines to keep, in the order given, within `cap` tokens.

    `tokens` says what each line costs; `shown` are stems (see `stems`) of what stands beside these lines anyway. Lines that
    were kept earlier compete again: a line's rank does not depend on the lines beside it, only its novelty does.
    """
    about = [stems(line.words) for line in lines]
    often = Counter(chain.from_iterable(about))
    weight = {word: (len(lines) * 4 // count + 4).bit_length() for word, count in often.items()}
    ranks = [rank(line.worth, line.standing) for line in lines]
    totals = [sum(map(weight.__getitem__, words)) for words in about]
    known = set(shown)
    taken: list[int] = []
    left = cap

    def gain(at: int) -> int:
        new = totals[at] - sum(map(weight.__getitem__, about[at] & known))
        return ranks[at] * (new * 3 + 1) // ((totals[at] * 3 + 1) * (tokens[at] + _OVERHEAD))

    heap = [(-gain(at), _place(lines[at]), at) for at in range(len(lines)) if tokens[at] <= cap]
    heapq.heapify(heap)
    while heap and left > 0:
        _, place, at = heapq.heappop(heap)
        if tokens[at] > left:
            continue
        # Gains only fall: the best one that is up to date is the best.
        now = -gain(at)
        if heap and now > heap[0][0]:
            if now < 0:
                heapq.heappush(heap, (now, place, at))
            continue
        if now == 0 or any(_overlap(lines[at], lines[other]) for other in taken):
            continue
        taken.append(at)
        known.update(about[at])
        left -= tokens[at]
    return sorted(taken)


def _place(line: Scored) -> tuple[int, int, int]:
    """Of lines that are worth the same the newer one is first, and in one message the earlier one."""
    last = line.places[-1]
    return (-last.seq, last.start, last.end)


def _overlap(one: Scored, two: Scored) -> bool:
    """Whether two lines quote the same words, headings and questions aside."""
    a, b = one.places[-1], two.places[-1]
    return a.seq == b.seq and a.start < b.end and b.start < a.end
