"""What is stored about entities, and what is made of it. Pure."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from hashlib import blake2b

from infold.lines.line import normal

KINDS = ("task", "goal", "problem", "person", "project", "file")
STATUSES = ("open", "done", "dropped")
# Kinds that are said in a sentence rather than by a name, and so may be said in different words.
TOLD = frozenset(["task", "goal", "problem"])


@dataclass(frozen=True, slots=True)
class Mention:
    """One thing that was said, or set by hand, about an entity."""

    kind: str
    """One of KINDS; empty for what only says that something is done or dropped: `resolve` finds out what."""
    name: str
    """Compact: "Send the report to Anna", "Anna", "report.pdf"."""
    status: str = ""
    """One of STATUSES; empty where it says nothing about it."""
    due: str = ""
    """ISO date, or empty."""
    owner: str = ""
    """Who has to do a task: "User", "Assistant", a name, or empty."""
    links: tuple[str, ...] = ()
    """Names of other entities it is said together with, sorted."""
    at: int = 0
    """Milliseconds since 1970."""
    chat: str = ""
    seq: int = 0
    id: str = ""
    """The message; chat, seq and id are empty for what was set by hand."""
    by_hand: bool = False

    @property
    def key(self) -> str:
        """Equal for mentions of the same entity."""
        return key_of(self.kind, self.name)


@dataclass(frozen=True, slots=True)
class Entity:
    """What all mentions of one thing come to."""

    id: str
    """The key of its first mention; always `key_of(kind, name)`."""
    kind: str
    name: str
    status: str
    """Open unless somebody says otherwise."""
    due: str
    owner: str
    links: tuple[str, ...]
    """Ids of linked entities, sorted. Links have no direction: each stands at both ends."""
    first_at: int
    last_at: int
    mentions: int
    sources: tuple[tuple[str, int, str], ...]
    """Chat, seq and id of its messages, newest last, at most 20."""


@functools.lru_cache(maxsize=16384)
def key_of(kind: str, name: str) -> str:
    """The identity of an entity, whatever the case, width and spacing of its name."""
    said = f"{kind}\0{normal(name) or name}"
    return blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
