"""A chat's place in the database: transactions that come with its fresh state, and events."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from infold.access import Access
from infold.errors import NotFoundError
from infold.ledger import journal
from infold.ledger.jobs import SUMMARIZE
from infold.ledger.query import Connection
from infold.ledger.rows import Event
from infold.messages import canonical_json
from infold.state import State, load

if TYPE_CHECKING:
    from infold.memory import Memory


class Handle:
    """What all parts of a chat share."""

    def __init__(self, memory: Memory, key: int, id: str, wait: bool) -> None:
        self.id = id
        self._memory = memory
        self._key = key
        self._wait = wait
        self.cache: State | None = None
        self.lock = threading.Lock()
        self._mended = False

    @property
    def key(self) -> int:
        """Of its row in the ledger."""
        return self._key

    @property
    def job(self) -> str:
        """What the background knows this chat by; other tenants may have chats of the same name."""
        return f"{self.id} #{self._key}"

    def settle(self) -> None:
        """Wait for what the background does for this chat."""
        raise NotImplementedError

    def wake(self, connection: Connection) -> None:
        """Let a worker go on with this chat, once the transaction is committed."""
        if self._memory.queued:
            payload = canonical_json({"tenant": connection.tenant, "chat": self.id})
            connection.enqueue(SUMMARIZE, payload.encode(), f"{SUMMARIZE} {self._key}")

    def reading(self) -> Access:
        """A consistent view of the database together with this chat's fresh state."""
        return Access(self, self._memory.database.read())

    @contextmanager
    def seen(self) -> Iterator[State]:
        """This chat's state as its last transaction saw it: the database is not asked again."""
        with self.lock:
            if self.cache is not None:
                yield self.cache
                return
        with self.reading() as (_, state):
            yield state

    def writing(self) -> Access:
        """A write transaction together with this chat's fresh state."""
        return Access(self, self._memory.database.write())

    def load(self, connection: Connection, cached: State | None) -> State:
        """This chat as it is now."""
        state = load(connection, self._key, cached)
        if state is None or state.row.id != self.id:  # keys of deleted chats are used again
            raise NotFoundError(f"chat {self.id!r} was deleted")
        if state.damaged and not self._mended and not self._memory.database.read_only:
            self._mended = True  # tried once: what cannot be repaired is left as it is
            self._memory.background.submit(self.repair_job, self.repair)
        return state

    @property
    def repair_job(self) -> str:
        return f"{self.job} (repair)"

    def repair(self) -> int:
        """Make memory that was damaged in the database again from the messages; how many folds were made again."""
        raise NotImplementedError

    def record(self, connection: Connection, type: str, data: dict[str, Any]) -> Event:
        """Write an event; the caller emits it once it is committed."""
        event = Event(type, self._memory.clockwork.now(), data, self.id)
        journal.insert_event(connection, self._key, event)
        return event
