"""Which entities matter for a query, and how one is shown. Pure, equal to the bit on every machine."""

from __future__ import annotations

import math
import re
import threading
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from itertools import islice

from infold.entities.model import TOLD, Entity
from infold.folding.likeness import GENERIC, words
from infold.lines.line import normal

_WEEK = 7 * 24 * 3600 * 1000
_PROXIMITY = 2  # how much more it counts than recency
_NEWEST = 1.0  # the most that recency can be
_OVER = 0.5
_MOST_LINKS = 5
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class Entities:
    """Entities with what a search for those that matter needs to know of all of them. Threads may share it."""

    def __init__(self, entities: Iterable[Entity] = ()) -> None:
        self._lock = threading.RLock()
        self.version = 0
        """How often they were changed."""
        self._all: dict[str, Entity] = {}
        self._by_age: dict[bool, list[tuple[int, str]]] = {False: [], True: []}
        """Of those that are open, and of those that are over, the newest first."""
        self._told: dict[str, set[str]] = {}
        """Of those that are told in a sentence: who has a word."""
        self._weights: dict[str, int] = {}
        """And what all words of each weigh."""
        self._named: dict[str, set[str]] = {}
        """Of those that have a name: who may be named by a word."""
        self._unspaced: set[str] = set()
        """Those whose names may stand within a word."""
        self._ages: dict[str, tuple[float, float, int]] = {}
        self._lines: dict[str, str] = {}
        self.change(entities)

    def change(self, entities: Iterable[Entity], gone: Iterable[str] = ()) -> None:
        """Put entities in place of what they were, and let some go."""
        with self._lock:
            self.version += 1
            self._ages.clear()
            self._lines.clear()
            for id in gone:
                self._take_out(id)
            for entity in entities:
                self._take_out(entity.id)
                self._put(entity)

    def __iter__(self) -> Iterator[Entity]:
        """The latest first."""
        with self._lock:
            return iter([self._all[id] for _, id in merge(*self._by_age.values())])

    def __len__(self) -> int:
        return len(self._all)

    def line(self, entity: Entity) -> str:
        """One line for a prompt."""
        with self._lock:
            kept = self._lines.get(entity.id) if self._all.get(entity.id) is entity else None
            if kept is not None:
                return kept
            written = line(entity, {id: self._all[id].name for id in entity.links if id in self._all})
            if self._all.get(entity.id) is entity:
                self._lines[entity.id] = written
        return written

    def lines(self, query: str, limit: int) -> list[tuple[str, float]]:
        """What `relevant` finds, each as one line for a prompt."""
        with self._lock:
            kept = self._lines.get
            return [(kept(entity.id) or self.line(entity), score) for entity, score in self.relevant(query, limit)]

    def relevant(self, query: str, limit: int) -> list[tuple[Entity, float]]:
        """See `relevant`."""
        with self._lock:
            if limit <= 0 or not self._all:
                return []
            named = self._named_in(_Query(query))
            near = named | dict.fromkeys(self._recent(named, limit), 0.0)
            best = self._best(near, limit)
            # What links bring nearer may come in between; of what they do not, nothing else can be among the best then.
            nearer = self._linked(named, -best[-1][0] if len(best) == limit else 0.0)
            if nearer:
                best = [*self._best(nearer, limit), *(one for one in best if one[2] not in nearer)]
                best.sort()
            return [(self._all[id], -score) for score, _, id in best[:limit]]

    def _best(self, near: Mapping[str, float], limit: int) -> list[tuple[float, int, str]]:
        """Those of some that matter most: the score, negative, when it was last said, negative, and the id."""
        known = self._ages.get
        ages = [known(id) or self._age(id) for id in near]
        scores = [
            -(recency + _PROXIMITY * share) * counts
            for (recency, counts, _), share in zip(ages, near.values(), strict=True)
        ]
        least = sorted(scores)[:limit][-1]
        ranked = [(score, age[2], id) for score, age, id in zip(scores, ages, near, strict=True) if score <= least]
        ranked.sort()
        return ranked[:limit]

    def _age(self, id: str) -> tuple[float, float, int]:
        """How recent an entity is, what its score counts, and when it was last said, negative; kept until any changes."""
        entity = self._all[id]
        newest = -min(some[0][0] for some in self._by_age.values() if some)
        found = (_recency(newest - entity.last_at), _OVER if _is_over(entity) else 1.0, -entity.last_at)
        self._ages[id] = found
        return found

    def _put(self, entity: Entity) -> None:
        self._all[entity.id] = entity
        insort(self._by_age[_is_over(entity)], (-entity.last_at, entity.id))
        index, found = self._words(entity)
        for word in found:
            index.setdefault(word, set()).add(entity.id)
        if entity.kind in TOLD:
            self._weights[entity.id] = sum(map(_weight, found))
        elif _HAN.search(entity.name):
            self._unspaced.add(entity.id)

    def _take_out(self, id: str) -> None:
        entity = self._all.pop(id, None)
        if entity is None:
            return
        some = self._by_age[_is_over(entity)]
        del some[bisect_left(some, (-entity.last_at, id))]
        index, found = self._words(entity)
        for word in found:
            index[word].discard(id)
            if not index[word]:
                del index[word]
        self._weights.pop(id, None)
        self._unspaced.discard(id)

    def _words(self, entity: Entity) -> tuple[dict[str, set[str]], frozenset[str]]:
        """The words by which an entity is found, and where."""
        if entity.kind in TOLD:
            return self._told, words(entity.name)
        return self._named, _tokens(entity.name) | words(entity.name) | words(_own_name(entity))

    def _recent(self, near: Mapping[str, float], limit: int) -> list[str]:
        """Ids of those that can be among the best though they are not near: the newest, of those that are open or not."""
        found: list[str] = []
        for some in self._by_age.values():
            found += islice((id for _, id in some if id not in near), limit)
        return found

    def _linked(self, named: Mapping[str, float], least: float) -> dict[str, float]:
        """How near entities are, by id, that are linked with what a query names, and are not as near to it by themselves; as far
        as that can score so much."""
        near: dict[str, float] = {}
        edge, every = named, self._all
        for _ in range(2):
            reached: dict[str, float] = {}
            for id, share in edge.items():
                half = share / 2
                if _NEWEST + _PROXIMITY * half < least:
                    continue
                for other in every[id].links:
                    if half > reached.get(other, 0.0) and other in every:
                        reached[other] = half
            for id, share in reached.items():
                if share > near.get(id, 0.0) and share > named.get(id, 0.0):
                    near[id] = share
            edge = reached
        return near

    def _named_in(self, query: _Query) -> dict[str, float]:
        """The entities that a query names, by id: 1 for what is named whole; what is told in a sentence may be named in
        part."""
        parts: dict[str, int] = {}
        for word in query.words:
            told, weight = self._told.get(word), _weight(word)
            if told and parts:
                for id in told:
                    parts[id] = parts.get(id, 0) + weight
            elif told:
                parts = dict.fromkeys(told, weight)
        weights = self._weights
        found = {id: part / weights[id] for id, part in parts.items()}
        shared = self._unspaced.union(*[self._named.get(word, ()) for word in query.words | query.tokens])
        found.update([(id, 1.0) for id in shared if query.names(self._all[id])])
        return found


def relevant(entities: Iterable[Entity], query: str, limit: int) -> list[tuple[Entity, float]]:
    """The entities that matter most for a query, best first, each with its score: recency + 2 × proximity.

    Recency is 1 for the newest of them and halves every seven days before it. Proximity is 1 for what the query names (for
    tasks, goals and problems: the share of their words it has), half of that for what is linked with it, a quarter at two
    links. What is done or dropped counts half.
    """
    known = entities if isinstance(entities, Entities) else Entities(entities)
    return known.relevant(query, limit)


def _is_over(entity: Entity) -> bool:
    return entity.status in ("done", "dropped")


def _own_name(entity: Entity) -> str:
    """The name without the folders of a file."""
    return entity.name.rstrip("/").rpartition("/")[2] if entity.kind == "file" else entity.name


def _recency(age: int) -> float:
    """Halves every week, in a straight line in between: a power would be rounded differently by different machines."""
    weeks, rest = divmod(age, _WEEK)
    return math.ldexp(1 - rest / (2 * _WEEK), -min(weeks, 1100))


class _Query:
    """A query, ready to be asked what it names."""

    def __init__(self, query: str) -> None:
        self.text = normal(query)
        self.words = words(query)
        self.tokens = _tokens(query)

    def names(self, entity: Entity) -> bool:
        """Whether it names all of an entity that has a name."""
        name = entity.name
        if entity.kind == "person":
            mine = _tokens(name)
        else:
            mine = words(_own_name(entity)) or _tokens(name)
            mine = mine if mine <= self.words else _tokens(name)
        if mine and (mine <= self.tokens or mine <= self.words):
            return True
        return _HAN.search(name) is not None and normal(name) in self.text  # no spaces between words


def _tokens(text: str) -> frozenset[str]:
    """The words of a text as they are, small ones too: Will and May are people."""
    return frozenset(word.strip(".:-") for word in normal(text).split()) - {"", "s"}


def _weight(word: str) -> int:
    """What everybody says ("send", "report") tells a quarter as much."""
    return 1 if word in GENERIC else 4


def line(entity: Entity, names: Mapping[str, str]) -> str:
    """One line for a prompt: "Task: Send the report to Anna (open, due 2026-11-20; with Anna, report.pdf)".

    `names` are the names of entities by id; links to others are not shown.
    """
    state = [entity.status] if entity.kind in TOLD or entity.status != "open" else []
    if entity.owner not in ("", "User"):
        state.append(f"owner {_flat(entity.owner)}")
    if entity.due:
        state.append(f"due {_flat(entity.due)}")
    linked = sorted(_flat(names[id]) for id in entity.links if id in names)
    more = f" and {len(linked) - _MOST_LINKS} more" if len(linked) > _MOST_LINKS else ""
    beside = f"with {', '.join(linked[:_MOST_LINKS])}{more}" if linked else ""
    said = "; ".join(part for part in (", ".join(state), beside) if part)
    return f"{entity.kind.capitalize()}: {_flat(entity.name)}{f' ({said})' if said else ''}"


def _flat(text: str) -> str:
    return " ".join(text.split())
