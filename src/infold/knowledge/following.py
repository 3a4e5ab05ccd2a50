"""The entities of a chat or of a user, kept in memory: once they are known, only what was noted since is read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from infold.knowledge.entity import Mention
from infold.knowledge.joining import Things
from infold.knowledge.relevance import Entities
from infold.ledger import mentions
from infold.ledger.mentions import Damaged, Noted
from infold.ledger.query import Connection


class Followed:
    """What is known of entities so far. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._start()

    def _start(self) -> None:
        self._pulse: object = None
        self.entities = Entities()
        self.damaged: tuple[Damaged, ...] = ()  # what cannot be read
        self._things = Things()
        self._by_hand: frozenset[Mention] = frozenset()
        self._noted: dict[int, Noted] = {}  # by chat, what was read

    def follow(
        self, db: Connection, pulse: object, noted: Callable[[], list[Noted]], by_hand: Callable[[], list[Mention]]
    ) -> Followed:
        """Read what is new, if the pulse says that something may be: of these chats, and of what was set by hand."""
        with self._lock:
            if pulse != self._pulse:
                self._read(db, noted(), frozenset(by_hand()))
                self._pulse = pulse
        return self

    def _read(self, connection: Connection, noted: Sequence[Noted], by_hand: frozenset[Mention]) -> None:
        epochs = {one.chat: one.epoch for one in noted}
        # Nothing that was noted goes without a new epoch; what was set by hand may.
        if not self._by_hand <= by_hand or any(epochs.get(one.chat) != one.epoch for one in self._noted.values()):
            self._start()
        fresh = [one for one in noted if self._noted.get(one.chat) != one]
        upto = {one.chat: one.upto for one in self._noted.values()}
        read = [mentions.mentions_after(connection, one.chat, upto.get(one.chat, 0)) for one in fresh]
        # From here on nothing fails: either all of it is taken or, should reading fail, nothing.
        new = [*(by_hand - self._by_hand)]
        self._by_hand = by_hand
        for one, (found, damaged) in zip(fresh, read, strict=True):
            new += found
            self.damaged += tuple(damaged)
            self._noted[one.chat] = one
        changed = self._things.add(new)
        gone = [id for id in changed if id not in self._things]
        self.entities.change((self._things.entity(id) for id in changed if id in self._things), gone)
