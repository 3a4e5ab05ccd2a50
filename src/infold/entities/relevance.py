"""Which entities matter for a query, and how one is shown. Pure, equal to the bit on every machine."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import islice

from infold.entities.model import TOLD, Entity
from infold.folding.likeness import GENERIC, words
from infold.items import normal

_WEEK = 7 * 24 * 3600 * 1000
_PROXIMITY = 2  # how much more it counts than recency
_OVER = 0.5
_MOST_LINKS = 5
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class Entities(tuple[Entity, ...]):
    """Entities with what a search for those that matter needs to know of all of them, worked out once."""

    @functools.cached_property
    def names(self) -> dict[str, str]:
        """By id."""
        return {entity.id: entity.name for entity in self}

    @functools.cached_property
    def places(self) -> dict[str, int]:
        return {entity.id: at for at, entity in enumerate(self)}

    @functools.cached_property
    def linked(self) -> list[tuple[int, ...]]:
        """Of each, the numbers of those it is linked with."""
        return [tuple(self.places[id] for id in entity.links if id in self.places) for entity in self]

    @functools.cached_property
    def newest_first(self) -> list[int]:
        return sorted(range(len(self)), key=lambda at: (-self[at].last_at, self[at].id))

    @functools.cached_property
    def ages(self) -> list[tuple[int, float, float]]:
        """Of each, its place among all from the newest on, its recency, and what its score counts."""
        places = {at: place for place, at in enumerate(self.newest_first)}
        newest = self[self.newest_first[0]].last_at
        return [
            (places[at], _recency(newest - entity.last_at), _OVER if _is_over(entity) else 1.0)
            for at, entity in enumerate(self)
        ]

    @functools.cached_property
    def by_age(self) -> tuple[list[int], list[int]]:
        """Numbers of those that are open, and of those that are not, newest first."""
        order = self.newest_first
        return [at for at in order if not _is_over(self[at])], [at for at in order if _is_over(self[at])]

    @functools.cached_property
    def told(self) -> tuple[dict[str, list[int]], dict[int, int]]:
        """Of those that are told in a sentence: who has a word, and what all words of each weigh."""
        having: dict[str, list[int]] = {}
        weights: dict[int, int] = {}
        for at, entity in enumerate(self):
            if entity.kind in TOLD:
                mine = words(entity.name)
                weights[at] = sum(map(_weight, mine))
                for word in mine:
                    having.setdefault(word, []).append(at)
        return having, weights

    @functools.cached_property
    def named(self) -> dict[str, list[int]]:
        """Of those that have a name: who may be named by a word."""
        found: dict[str, list[int]] = {}
        for at, entity in enumerate(self):
            if entity.kind not in TOLD:
                for word in _tokens(entity.name) | words(entity.name) | words(_own_name(entity)):
                    found.setdefault(word, []).append(at)
        return found

    @functools.cached_property
    def unspaced(self) -> list[int]:
        """Numbers of those whose names may stand within a word."""
        return [at for at, entity in enumerate(self) if entity.kind not in TOLD and _HAN.search(entity.name)]


def relevant(entities: Sequence[Entity], query: str, limit: int) -> list[tuple[Entity, float]]:
    """The entities that matter most for a query, best first, each with its score: recency + 2 × proximity.

    Recency is 1 for the newest of them and halves every seven days before it. Proximity is 1 for what the query names (for
    tasks, goals and problems: the share of their words it has), half of that for what is linked with it, a quarter at two
    links. What is done or dropped counts half.
    """
    if limit <= 0 or not entities:
        return []
    known = entities if isinstance(entities, Entities) else Entities(entities)
    near = _proximity(known, query)
    ages = known.ages
    ranked: list[tuple[float, int]] = []
    for at in _eligible(known, near, limit):
        place, recency, counts = ages[at]
        ranked.append((-(recency + _PROXIMITY * near.get(at, 0.0)) * counts, place))
    return [(known[known.newest_first[place]], -score) for score, place in nsmallest(limit, ranked)]


def _eligible(known: Entities, near: Mapping[int, float], limit: int) -> list[int]:
    """Numbers of the entities that can be among the best: what is near, and of the rest, the newest that are open or not."""
    among = list(near)
    for some in known.by_age:
        among += islice((at for at in some if at not in near), limit)
    return among


def _is_over(entity: Entity) -> bool:
    return entity.status in ("done", "dropped")


def _own_name(entity: Entity) -> str:
    """The name without the folders of a file."""
    return entity.name.rstrip("/").rpartition("/")[2] if entity.kind == "file" else entity.name


def _recency(age: int) -> float:
    """Halves every week, in a straight line in between: a power would be rounded differently by different machines."""
    weeks, rest = divmod(age, _WEEK)
    return math.ldexp(1 - rest / (2 * _WEEK), -min(weeks, 1100))


def _proximity(known: Entities, query: str) -> dict[int, float]:
    """How near entities are to what a query names, by number; those that are not near at all are left out."""
    near = dict(_Query(query).named_of(known))
    edge, linked = dict(near), known.linked
    for _ in range(2):
        reached: dict[int, float] = {}
        for at, share in edge.items():
            half = share / 2
            for other in linked[at]:
                if half > reached.get(other, 0.0):
                    reached[other] = half
        for at, share in reached.items():
            if share > near.get(at, 0.0):
                near[at] = share
        edge = reached
    return near


class _Query:
    """A query, ready to be asked what it names."""

    def __init__(self, query: str) -> None:
        self.text = normal(query)
        self.words = words(query)
        self.tokens = _tokens(query)

    def named_of(self, known: Entities) -> Iterator[tuple[int, float]]:
        """Numbers of the entities that it names: 1 for what is named whole; what is told in a sentence may be named in part."""
        having, weights = known.told
        parts: Counter[int] = Counter()
        for word in self.words:
            weight = _weight(word)
            for at in having.get(word, ()):
                parts[at] += weight
        for at, part in parts.items():
            yield at, part / weights[at]
        shared = {at for word in self.words | self.tokens for at in known.named.get(word, ())}
        for at in shared.union(known.unspaced):
            if self._names(known[at]):
                yield at, 1.0

    def _names(self, entity: Entity) -> bool:
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
