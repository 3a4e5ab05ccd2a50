"""Two ways in which a database says which stretches of blocks may answer a question."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from infold.ledger import full_text, passages

if TYPE_CHECKING:
    from infold.ledger.passages import Place, Scope
    from infold.ledger.query import Connection
    from infold.recall.nominees import Nominees
    from infold.recall.query import Asked
    from infold.recall.segment import Segment
    from infold.recall.sketch import Block, Sketch

_CHATS = 10_000  # chats whose speakers are remembered
_SKETCHED = 1_000_000  # passages that are sketched in memory, over all chats and users

Reading = Callable[["Connection", Sequence["Block"]], Mapping["Block", "Segment"]]
"""Reads blocks; those that are gone meanwhile are missing."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where to look, in an open transaction."""

    connection: Connection
    scope: Scope
    places: Sequence[Place]
    read: Reading


class Looker(Protocol):
    """Looks at the blocks of chats. Threads may share it."""

    large: int
    """Of more messages in blocks than these, the database nominates; others are searched in memory."""
    most: int
    """Stretches that a block has at most."""

    def speakers(self, site: Site) -> set[str]:
        """Who speaks in the blocks."""
        ...

    def best(self, site: Site, asked: Asked, most: int) -> Nominees:
        """The stretches that promise most."""
        ...

    def forget(self, key: int) -> None:
        """Drop what is kept of a chat."""
        ...


@dataclass(slots=True)
class _Speakers:
    """Who speaks in the blocks of a chat, up to the one that begins at a position."""

    epoch: int
    upto: int = 0
    names: frozenset[str] = frozenset()


class ByPassages:
    """PostgreSQL looks at each passage; nothing is kept in memory but the names of speakers."""

    large = 20_000  # each of many processes would have them in memory
    most = passages.MOST

    def __init__(self, maker: str) -> None:
        self._maker = maker
        self._lock = threading.Lock()
        self._speakers: OrderedDict[int, _Speakers] = OrderedDict()

    def forget(self, key: int) -> None:
        with self._lock:
            self._speakers.pop(key, None)

    def speakers(self, site: Site) -> set[str]:
        """Blocks that were not there the last time are looked at."""
        known: dict[int, _Speakers] = {}
        with self._lock:
            for place in site.places:
                kept = self._speakers.get(place.key)
                known[place.key] = kept if kept and kept.epoch == place.epoch else _Speakers(place.epoch)
        newest = {place.key: max(place.blocks) for place in site.places if place.blocks}
        behind = {key: known[key].upto for key, first in newest.items() if known[key].upto < first}
        found = passages.speakers(site.connection, self._maker, behind) if behind else {}
        for key in behind:
            names = known[key].names | found.get(key, set())
            known[key] = _Speakers(known[key].epoch, newest[key], names)
        with self._lock:
            for key in behind:
                self._speakers[key] = known[key]
            while len(self._speakers) > _CHATS:
                self._speakers.popitem(last=False)
        return {name for kept in known.values() for name in kept.names}

    def best(self, site: Site, asked: Asked, most: int) -> Nominees:
        from infold.recall.nominees import best, looks

        looked, vector = looks(asked), asked.vector.tolist()
        found = passages.look(site.connection, self._maker, site.scope, site.places, looked, vector)
        return best(found, looked, most)


class ByFullText:
    """Full text tells which stretches have the words; when and by whom they were said, and about what, is kept in memory,
    in a tenth of the room that all of it would take. Raises `full_text.DamagedError`."""

    large = 100_000  # in memory they are found faster, and take some 150 MB
    most = full_text.ROWS

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sketches: OrderedDict[tuple[int | None, str, str], tuple[dict[int, int], Sketch]] = OrderedDict()

    def forget(self, key: int) -> None:
        with self._lock:
            for of in [of for of, (epochs, _) in self._sketches.items() if key in epochs]:
                del self._sketches[of]

    def speakers(self, site: Site) -> set[str]:
        return set(self._sketch(site).speakers)

    def best(self, site: Site, asked: Asked, most: int) -> Nominees:
        from infold.recall.sketch import sought

        sketch, scope = self._sketch(site), site.scope
        wanted = [numbers for *_, numbers in sought(asked)]
        held = full_text.having(site.connection, scope.chat, scope.user or "", wanted)
        return sketch.best(asked, held, scope.since, scope.until, most)

    def _sketch(self, site: Site) -> Sketch:
        from infold.recall.sketch import Sketch

        scope, tenant = site.scope, site.connection.tenant
        of = (scope.chat, tenant, scope.user or "")
        epochs = {place.key: place.epoch for place in site.places}
        wanted = {(place.key, first, key) for place in site.places for first, key in place.blocks.items()}
        with self._lock:
            then, sketch = self._sketches.get(of) or ({}, Sketch.empty())
        if not sketch.blocks <= wanted or any(epochs.get(key) != epoch for key, epoch in then.items()):
            sketch = Sketch.empty()
        new = sorted(wanted - sketch.blocks)
        if new:
            sketch = sketch.with_blocks(site.read(site.connection, new), self.most)
            (rows,) = full_text.having(site.connection, scope.chat, scope.user or "", [[]])
            if not sketch.is_within(rows):
                raise full_text.DamagedError
        with self._lock:
            self._sketches[of] = (epochs, sketch)
            self._sketches.move_to_end(of)
            while len(self._sketches) > 1 and sum(len(one.at) for _, one in self._sketches.values()) > _SKETCHED:
                self._sketches.popitem(last=False)
        return sketch
