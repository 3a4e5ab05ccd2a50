"""Which entities matter for a query. Pure, equal to the bit on every machine."""

from __future__ import annotations

import math
import re
import threading
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from itertools import islice

from infold.folding.likeness import GENERIC, words
from infold.knowledge.entity import TOLD, Entity, line
from infold.lines.line import normal

_WEEK = 7 * 24 * 3600 * 1000
_PROXIMITY = 2  # how much more it counts than recency
_OVER = 0.5
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class Entities:
    """Entities, filed by age and by the words that name them. Threads may share it."""

    def __init__(self, entities: Iterable[Entity] = ()) -> None:
        self._lock = threading.RLock()
        self.version = 0  # how often they were changed
        self._all: dict[str, Entity] = {}
        # Of those that are open, and of those that are over, the newest first.
        self._by_age: dict[bool, list[tuple[int, str]]] = {False: [], True: []}
        self._by_word: dict[str, set[str]] = {}
        self.change(entities)

    def change(self, entities: Iterable[Entity], gone: Iterable[str] = ()) -> None:
        """Put entities in place of what they were, and let some go."""
        with self._lock:
            self.version += 1
            for id in gone:
                self._take_out(id)
            for entity in entities:
                self._take_out(entity.id)
                self._all[entity.id] = entity
                insort(self._by_age[entity.status != "open"], (-entity.last_at, entity.id))
                for word in _filed_under(entity):
                    self._by_word.setdefault(word, set()).add(entity.id)

    def _take_out(self, id: str) -> None:
        entity = self._all.pop(id, None)
        if entity is None:
            return
        some = self._by_age[entity.status != "open"]
        del some[bisect_left(some, (-entity.last_at, id))]
        for word in _filed_under(entity):
            self._by_word[word].discard(id)
            if not self._by_word[word]:
                del self._by_word[word]

    def __iter__(self) -> Iterator[Entity]:
        """The latest first."""
        with self._lock:
            return iter([self._all[id] for _, id in merge(*self._by_age.values())])

    def line(self, entity: Entity) -> str:
        """One line for a prompt."""
        with self._lock:
            return line(entity, {id: self._all[id].name for id in entity.links if id in self._all})

    def lines(self, query: str, limit: int) -> list[tuple[str, float]]:
        """What `relevant` finds, each as one line for a prompt."""
        with self._lock:
            return [(self.line(entity), score) for entity, score in self.relevant(query, limit)]

    def relevant(self, query: str, limit: int) -> list[tuple[Entity, float]]:
        """See `relevant`."""
        with self._lock:
            if limit <= 0 or not self._all:
                return []
            near = self._near(self._named_in(query))
            for some in self._by_age.values():  # what is not near counts by its age alone
                near |= dict.fromkeys(islice((id for _, id in some if id not in near), limit), 0.0)
            newest = -min(some[0][0] for some in self._by_age.values() if some)
            ranked = []
            for entity, share in ((self._all[id], share) for id, share in near.items()):
                score = _recency(newest - entity.last_at) + _PROXIMITY * share
                ranked.append((-score * (_OVER if entity.status != "open" else 1), -entity.last_at, entity.id))
            return [(self._all[id], -score) for score, _, id in sorted(ranked)[:limit]]

    def _named_in(self, query: str) -> dict[str, float]:
        """The entities that a query names, by id: 1 for what is named whole; what is told may be named in part."""
        text, told, tokens = normal(query), words(query), _tokens(query)
        found: dict[str, float] = {}
        for id in set().union(*[self._by_word.get(word, ()) for word in told | tokens | {""}]):
            name, kind = self._all[id].name, self._all[id].kind
            own, spelled = words(name.rpartition("/")[2] if kind == "file" else name), _tokens(name)
            named = (spelled and spelled <= tokens) or (own and own <= told and kind != "person")
            if kind in TOLD:
                found[id] = sum(map(_weight, own & told)) / sum(map(_weight, own))
            elif named or (_HAN.search(name) and normal(name) in text):
                found[id] = 1.0
        return found

    def _near(self, named: Mapping[str, float]) -> dict[str, float]:
        """How near entities are, by id: what is named, and half as much at each link."""
        near, edge = dict(named), dict(named)
        for _ in range(2):  # links
            reached: dict[str, float] = {}
            for id, share in edge.items():
                for other in self._all[id].links:
                    if other in self._all and share / 2 > max(near.get(other, 0.0), reached.get(other, 0.0)):
                        reached[other] = share / 2
            near |= reached
            edge = reached
        return near


def relevant(entities: Iterable[Entity], query: str, limit: int) -> list[tuple[Entity, float]]:
    """The entities that matter most for a query, best first, each with its score: recency + 2 × proximity.

    Recency is 1 for the newest of them and halves every seven days before it. Proximity is 1 for what the query names (for
    tasks, goals and problems: the share of their words it has), half of that for what is linked with it, a quarter at two
    links. What is done or dropped counts half.
    """
    return (entities if isinstance(entities, Entities) else Entities(entities)).relevant(query, limit)


def _filed_under(entity: Entity) -> frozenset[str]:
    """The words by which an entity is found; empty for a name that may stand within a word."""
    if entity.kind in TOLD:
        return words(entity.name)
    within = [""] if _HAN.search(entity.name) else []
    return _tokens(entity.name).union(words(entity.name), words(entity.name.rpartition("/")[2]), within)


def _tokens(text: str) -> frozenset[str]:
    """The words of a text as they are, small ones too: Will and May are people."""
    return frozenset(word.strip(".:-") for word in normal(text).split()) - {"", "s"}


def _weight(word: str) -> int:
    """What everybody says ("send", "report") tells a quarter as much."""
    return 1 if word in GENERIC else 4


def _recency(age: int) -> float:
    """Halves every week, in a straight line in between: a power would be rounded differently by different machines."""
    weeks, rest = divmod(age, _WEEK)
    return math.ldexp(1 - rest / (2 * _WEEK), -min(weeks, 1100))
