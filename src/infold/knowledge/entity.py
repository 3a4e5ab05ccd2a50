"""What is stored about entities, and what is made of it. Pure."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from infold.lines.line import normal

KINDS = ("task", "goal", "problem", "person", "project", "file")
STATUSES = ("open", "done", "dropped")
# Kinds that are told in a sentence rather than by a name, and so may be told in other words.
TOLD = frozenset(["task", "goal", "problem"])
_MOST_LINKS = 5


class Reference(NamedTuple):
    """A message that something rests on."""

    chat: str
    seq: int
    id: str


@dataclass(frozen=True, slots=True)
class Mention:
    """One thing that was said, or set by hand, about an entity."""

    kind: str  # one of KINDS; empty for a sentence that only says that something is over: `resolve` finds out what
    name: str  # compact: "Send the report to Anna", "Anna", "report.pdf"
    status: str = ""  # one of STATUSES; empty where nothing is said about it
    due: str = ""  # ISO date, or empty
    owner: str = ""  # who has to do a task: "User", "Assistant", a name, or empty
    links: tuple[str, ...] = ()  # names of other entities of the same message, sorted
    at: int = 0  # milliseconds since 1970
    chat: str = ""  # with seq and id, the message; all three are empty for what was set by hand
    seq: int = 0
    id: str = ""
    by_hand: bool = False

    @property
    def key(self) -> str:
        """Equal for mentions of the same entity."""
        return key_of(self.kind, self.name)


@dataclass(frozen=True, slots=True)
class Entity:
    """What all mentions of one thing come to."""

    id: str  # of its first mention; always `key_of(kind, name)`
    kind: str
    name: str
    status: str  # open unless somebody says otherwise
    due: str
    owner: str
    links: tuple[str, ...]  # ids of linked entities, sorted; a link stands at both ends
    first_at: int
    last_at: int
    mentions: int
    sources: tuple[Reference, ...]  # its messages, newest last, at most 20


@functools.lru_cache(maxsize=16384)
def key_of(kind: str, name: str) -> str:
    """The identity of an entity, whatever the case, width and spacing of its name."""
    said = f"{kind}\0{normal(name) or name}"
    return blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def line(entity: Entity, names: Mapping[str, str]) -> str:
    """One line for a prompt: "Task: Send the report to Anna (open, due 2026-11-20; with Anna, report.pdf)".

    `names` are the names of entities by id; links to others are not shown.
    """
    state = [entity.status] if entity.kind in TOLD or entity.status != "open" else []
    state += [f"owner {entity.owner}"] if entity.owner not in ("", "User") else []
    state += [f"due {entity.due}"] if entity.due else []
    linked = sorted(" ".join(names[id].split()) for id in entity.links if id in names)
    more = f" and {len(linked) - _MOST_LINKS} more" if len(linked) > _MOST_LINKS else ""
    beside = f"with {', '.join(linked[:_MOST_LINKS])}{more}" if linked else ""
    said = "; ".join(filter(None, (", ".join(state), beside)))
    return " ".join(f"{entity.kind.capitalize()}: {entity.name}{f' ({said})' if said else ''}".split())
