"""Which entities matter for a query, and how one is shown. Pure, equal to the bit on every machine."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from heapq import nsmallest

from infold.entities.model import TOLD, Entity
from infold.folding.likeness import GENERIC, words
from infold.items import normal

_WEEK = 7 * 24 * 3600 * 1000
_PROXIMITY = 2  # how much more it counts than recency
_OVER = 0.5
_MOST_LINKS = 5
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def relevant(entities: Sequence[Entity], query: str, limit: int) -> list[tuple[Entity, float]]:
    """The entities that matter most for a query, best first, each with its score: recency + 2 × proximity.

    Recency is 1 for the newest of them and halves every seven days before it. Proximity is 1 for what the query names (for
    tasks, goals and problems: the share of their words it has), half of that for what is linked with it, a quarter at two
    links. What is done or dropped counts half.
    """
    if limit <= 0 or not entities:
        return []
    newest = max(entity.last_at for entity in entities)
    near = _proximity(entities, query)
    ranked: list[tuple[float, int, str, int]] = []
    for at in _eligible(entities, near, limit):
        entity = entities[at]
        score = _recency(newest - entity.last_at) + _PROXIMITY * near.get(entity.id, 0.0)
        if entity.status in ("done", "dropped"):
            score *= _OVER
        ranked.append((-score, -entity.last_at, entity.id, at))
    return [(entities[at], -score) for score, _, _, at in nsmallest(limit, ranked)]


def _eligible(entities: Sequence[Entity], near: Mapping[str, float], limit: int) -> list[int]:
    """Numbers of the entities that can be among the best: what is near, and of the rest, the newest that are open or not."""
    newest = [(-entity.last_at, entity.id, at) for at, entity in enumerate(entities) if entity.id not in near]
    among = [at for at, entity in enumerate(entities) if entity.id in near]
    for over in (False, True):
        some = (one for one in newest if (entities[one[2]].status in ("done", "dropped")) == over)
        among += [at for _, _, at in nsmallest(limit, some)]
    return among


def _recency(age: int) -> float:
    """Halves every week, in a straight line in between: a power would be rounded differently by different machines."""
    weeks, rest = divmod(age, _WEEK)
    return math.ldexp(1 - rest / (2 * _WEEK), -min(weeks, 1100))


def _proximity(entities: Sequence[Entity], query: str) -> dict[str, float]:
    """How near entities are to what a query names, by id; those that are not near at all are left out."""
    asked = _Query(query)
    near = {entity.id: share for entity in entities if (share := asked.names(entity))}
    if not near:
        return near
    links = {entity.id: entity.links for entity in entities}
    edge = dict(near)
    for _ in range(2):
        reached: dict[str, float] = {}
        for id, share in edge.items():
            for other in links.get(id, ()):
                if share / 2 > reached.get(other, 0.0):
                    reached[other] = share / 2
        for id, share in reached.items():
            if share > near.get(id, 0.0):
                near[id] = share
        edge = reached
    return near


class _Query:
    """A query, ready to be asked what it names."""

    def __init__(self, query: str) -> None:
        self.text = normal(query)
        self.words = words(query)
        self.tokens = _tokens(query)
        # Most names share nothing with a query, which is faster to see than their words are to find.
        self.may_tell = _any_of(self.words)
        self.may_name = _any_of(self.words | self.tokens)

    def names(self, entity: Entity) -> float:
        """1 for what is named whole, 0 for what is not named; what is said in a sentence may be named in part."""
        name = entity.name
        told = entity.kind in TOLD
        if name.isascii() and not (self.may_tell if told else self.may_name).search(name):
            return 0.0
        if told:
            mine = words(name)
            total = _weight(mine)
            return _weight(mine & self.words) / total if total else 0.0
        if entity.kind == "person":
            mine = _tokens(name)
        else:
            mine = words(name.rstrip("/").rpartition("/")[2] if entity.kind == "file" else name) or _tokens(name)
            mine = mine if mine <= self.words else _tokens(name)
        if mine and (mine <= self.tokens or mine <= self.words):
            return 1.0
        return float(_HAN.search(name) is not None and normal(name) in self.text)  # no spaces between words


def _any_of(found: frozenset[str]) -> re.Pattern[str]:
    """What finds any of some words, in any of their forms: companies have the stem company."""
    starts = sorted({word[:-1] if len(word) > 3 else word for word in found})
    return re.compile("|".join(map(re.escape, starts)) or r"(?!)", re.IGNORECASE)


def _tokens(text: str) -> frozenset[str]:
    """The words of a text as they are, small ones too: Will and May are people."""
    return frozenset(word.strip(".:-") for word in normal(text).split()) - {"", "s"}


def _weight(found: frozenset[str]) -> int:
    """What everybody says ("send", "report") tells a quarter as much."""
    return sum(1 if word in GENERIC else 4 for word in found)


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
