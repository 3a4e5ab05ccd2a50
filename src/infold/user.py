"""User: what is known of a person over all chats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from infold.errors import ConfigError, NotFoundError
from infold.finding import find, put_entity, take_entity
from infold.forgetting import Receipt, forget_user
from infold.knowledge.entity import Entity
from infold.knowledge.facts import Facts
from infold.knowledge.noting import read_up, set_remember
from infold.ledger import stated
from infold.lines.line import Line, normal
from infold.recall.hits import KINDS, Hit

if TYPE_CHECKING:
    from infold.chat import Chat
    from infold.knowledge.following import Followed
    from infold.knowledge.known import Known
    from infold.ledger.query import Connection
    from infold.memory import Memory

K = TypeVar("K", "Known", "Followed")


class User:
    """One user of the chats in a database; `memory.user(…)` gives it. Never sees anything of another one's chats."""

    def __init__(self, memory: Memory, name: str) -> None:
        self.name = name
        self._memory = memory

    @property
    def remember(self) -> bool:
        """Whether what the user says in one chat is known in the others. Setting it to False keeps each chat to itself; what
        is known is not deleted: `forget` does that."""
        with self._memory.database.read() as connection:
            known = stated.user(connection, self.name)
        return known is None or known.remember

    @remember.setter
    def remember(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise ConfigError(f"remember must be True or False, not {value!r}")
        with self._memory.database.write() as connection:
            set_remember(connection, self.name, value)

    @property
    def facts(self) -> Facts:
        """What is known and holds, oldest first; `facts(all=True)` also what was superseded."""
        known = self._sound(self._memory.knowledge.facts_of_user)
        return Facts(known.facts)

    @property
    def entities(self) -> list[Entity]:
        """Tasks, goals, problems, people, projects and files, newest first."""
        return list(self._sound(self._memory.knowledge.entities_of_user).entities)

    def _sound(self, read: Callable[[Connection, str], K]) -> K:
        """What is known, once what was damaged is repaired."""
        read_up(self._memory.database, None, self.name)
        with self._memory.database.read() as connection:
            known = read(connection, self.name)
            damaged = known.damaged
        if self._memory.repaired(damaged):
            with self._memory.database.read() as connection:
                known = read(connection, self.name)
        return known

    def correct(self, line: str | Line, text: str, *, by: str = "user") -> Line:
        """Say what a fact should say; see `Chat.correct`."""
        (chat, known), *others = self._said_in(line)
        for other, same in others:
            other.retract(same, by=by)
        return chat.correct(known, text, by=by)

    def retract(self, line: str | Line, *, by: str = "user") -> None:
        """Take a fact back, in every chat that says it; see `Chat.retract`."""
        for chat, known in self._said_in(line):
            chat.retract(known, by=by)

    def confirm(self, line: str | Line, *, by: str = "user") -> Line:
        """Say that a fact is so; see `Chat.confirm`."""
        chat, known = self._said_in(line)[0]
        return chat.confirm(known, by=by)

    def _said_in(self, line: str | Line) -> list[tuple[Chat, str]]:
        """The chat that a fact was said in, and others that say the same, each with the fact's id there."""
        if not isinstance(line, str | Line):
            raise ConfigError(f"a fact is given by itself or by its id, not as {line!r}")
        wanted = line if isinstance(line, str) else line.id
        known = next((one for one in self.facts(all=True) if one.id == wanted), None)
        if known is None:
            raise NotFoundError(f"nothing that is known of this user has the id {wanted[:200]!r}; user.facts lists it")
        with self._memory.database.read() as connection:
            user = stated.user(connection, self.name)
            rows = stated.of_owner(connection, user.key)[0] if user else []
        same = [one for one in rows if one.id != wanted and normal(one.words) == normal(known.words)]
        found = [(self._memory.find(one.chat), one.id) for one in (known, *same)]
        return [(chat, id) for chat, id in found if chat is not None]

    def set_entity(
        self, kind: str, name: str, *, status: str = "", due: str = "", owner: str = "", links: Sequence[str] = ()
    ) -> Entity:
        """Add an entity by hand, or change what is known of it; `links` are names of others. What is not given stays."""
        with self._memory.database.write() as connection:
            return put_entity(self._memory, connection, self.name, None, (kind, name, status, due, owner, links))

    def remove_entity(self, id: str) -> None:
        """Let an entity go: what was set by hand for it, and what chats say of it so far."""
        with self._memory.database.write() as connection:
            take_entity(self._memory, connection, self.name, None, id)

    def recall(
        self,
        query: str,
        *,
        limit: int = 8,
        kinds: Sequence[str] = KINDS,
        chat: str | None = None,
        since: int | str | datetime | None = None,
        until: int | str | datetime | None = None,
    ) -> list[Hit]:
        """What was said in the chats of this user (or in one of them) that answers a query, best first."""
        read_up(self._memory.database, None, self.name)
        return find(self._memory, query, user=self.name, chat=chat, limit=limit, kinds=kinds, since=since, until=until)

    def forget(self) -> Receipt:
        """Forget the person: all chats of the user, everything made of them, and the entities set by hand."""
        return forget_user(self._memory, self.name)
