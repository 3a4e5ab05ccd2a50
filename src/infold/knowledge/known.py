"""Facts and entities of chats and users: read from the database, resolved, and kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from infold.knowledge.following import Followed
from infold.ledger import derived, mentions, stated
from infold.ledger.mentions import Damaged
from infold.ledger.query import Connection
from infold.ledger.rows import ChatRow
from infold.lines.facts import resolve
from infold.lines.line import (
    CONFLICTING,
    CURRENT,
    FACT,
    FURTHER,
    STANDING,
    SUPERSEDED,
    Line,
    Place,
    is_standing,
    line_tokens,
)

T = TypeVar("T")
_KEPT = 256
_LISTS = 32
_LATE, _LATE_OF_USER = 300, 1000
_MOST_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Known:
    """The facts of a chat or a user."""

    facts: tuple[Line, ...]
    damaged: tuple[Damaged, ...] = ()
    """What cannot be read."""


def _known(lines: Sequence[Line], damaged: Sequence[Damaged] = ()) -> Known:
    return Known(tuple(resolve(lines)), tuple(damaged))


class Knowledge:
    """What chats and users are known for. Facts are resolved once a change, entities followed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, Any], tuple[tuple[Any, ...], Known]] = OrderedDict()
        self._followed: OrderedDict[tuple[str, Any], Followed] = OrderedDict()
        self._lists: OrderedDict[tuple[Any, ...], tuple[Any, list[Any]]] = OrderedDict()

    def facts_of_chat(self, connection: Connection, row: ChatRow) -> Known:
        """What was stated in one chat."""
        pulse = (row.version, row.epoch, derived.read_to(connection, row.key))
        return self._kept_or(("chat", row.key), pulse, lambda: _known(*stated.of_chat(connection, row.key)))

    def facts_of_user(self, connection: Connection, user: str) -> Known:
        """What was stated in all chats of a user."""
        pulse = derived.facts_pulse(connection, user)
        key = ("user", (connection.tenant, user))
        return self._kept_or(key, pulse, lambda: _known(*stated.of_user(connection, user)))

    def entities_for(self, connection: Connection, row: ChatRow) -> Followed:
        """The entities of a chat's user, or of the chat where it has none."""
        return self.entities_of_user(connection, row.user) if row.user else self._entities_of_chat(connection, row)

    def _entities_of_chat(self, connection: Connection, row: ChatRow) -> Followed:
        """What was said of entities in one chat, or set by hand for it."""
        upto, _ = derived.read_to(connection, row.key)
        return self._follower(("chat", row.key)).follow(
            connection,
            (row.version, row.epoch, upto, mentions.by_hand(connection, row.key, None)),
            lambda: [mentions.Noted(row.key, row.epoch, upto)],
            lambda: mentions.mentions_by_hand(connection, row.key, None),
        )

    def entities_of_user(self, connection: Connection, user: str) -> Followed:
        """What was said of entities in all chats of a user, or set by hand for one of them or for the user."""
        return self._follower(("user", (connection.tenant, user))).follow(
            connection,
            (derived.facts_pulse(connection, user), mentions.by_hand(connection, -1, user)),
            lambda: mentions.noted_of_user(connection, user),
            lambda: mentions.mentions_by_hand(connection, -1, user),
        )

    def lately(self, connection: Connection, row: ChatRow, user: str | None) -> tuple[Known, Known]:
        """The facts that were stated last, of a chat alone and with its user's other chats: contexts
        need them after every fold, however many there are in all."""
        own = self._kept_or(
            ("late", row.key),
            (row.version, row.epoch, derived.read_to(connection, row.key)),
            lambda: _known(stated.latest_of_chat(connection, row.key, _LATE)),
        )
        if user is None:
            return own, own
        pulse = derived.facts_pulse(connection, user)
        every = self._kept_or(
            ("late of", (connection.tenant, user)),
            pulse,
            lambda: _known(stated.latest_of_user(connection, user, _LATE_OF_USER)),
        )
        return own, every

    def forget(self, key: int) -> None:
        """Drop what is kept of a chat, and of users, who may have been its own."""
        with self._lock:
            for some in (self._kept, self._followed):
                for kept in [one for one in some if one[0] in ("user", "late of") or one[1] == key]:
                    del some[kept]
            self._lists.clear()

    def release(self, key: int) -> None:
        """Keep nothing of a chat alone."""
        with self._lock:
            for some in (self._kept, self._followed):
                for of in [one for one in some if one[1] == key]:
                    del some[of]

    def listed(self, of: tuple[object, ...], key: Any, make: Callable[[], list[T]]) -> list[T]:
        """A list that depends on these very objects and a key alone, made once."""
        which = tuple(map(id, of))
        with self._lock:
            kept = self._lists.get((which, key))
        if kept is not None:
            return cast("list[T]", kept[1])
        made = make()
        with self._lock:
            self._lists[which, key] = (of, made)  # as long as they are kept, their ids are their own
            while len(self._lists) > _LISTS:
                self._lists.popitem(last=False)
        return made

    def _follower(self, key: tuple[str, Any]) -> Followed:
        with self._lock:
            found = self._followed.setdefault(key, Followed())
            self._followed.move_to_end(key)
            while len(self._followed) > _KEPT:
                self._followed.popitem(last=False)
        return found

    def _kept_or(self, key: tuple[str, Any], pulse: tuple[Any, ...], read: Callable[[], Known]) -> Known:
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept[0] == pulse:
                self._kept.move_to_end(key)
                return kept[1]
        known = read()
        with self._lock:
            self._kept[key] = (pulse, known)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return known


def beside(
    own: Sequence[Line], every: Sequence[Line], lines: Sequence[Line], chat: str, cap: int
) -> tuple[tuple[Line, ...], frozenset[str]]:
    """What a chat's facts need beside its memory: what its user said in other chats and still holds, and what is in conflict;
    and which lines of memory were overtaken in another chat."""
    shown = {fact.id for fact in own if fact.status == CURRENT}
    overtaken = _overtaken(every, lines, chat)
    told = {line.text for line in lines if line.id not in overtaken and line.layer != FURTHER}
    room = cap - sum(line.tokens for line in lines if line.layer == FACT and line.id not in overtaken)
    found: list[Line] = []
    ranked = sorted(every, key=lambda fact: (fact.status != CONFLICTING, -fact.standing, -fact.said_at, fact.id))
    for fact in ranked:
        elsewhere = fact.status == CURRENT and fact.chat != chat and _is_known(fact) and fact.id not in shown
        if len(found) >= _MOST_SHOWN or fact.text in told or not (elsewhere or fact.status == CONFLICTING):
            continue
        tokens = line_tokens(fact.shown)
        if tokens <= room:
            told.add(fact.text)
            room -= tokens
            line = replace(fact, id=f"fact:{fact.id}", layer=FACT, tokens=tokens)
            if fact.chat != chat:  # positions of messages mean nothing in another chat
                line = replace(line, sources=(), places=(Place(-len(found), 0, 0),))
            found.append(line)
    return tuple(found), overtaken


def _is_known(fact: Line) -> bool:
    """Whether a fact is to be known in the other chats of its user: by its score, or by its outright words."""
    return is_standing(fact.kind, 0) or fact.standing >= STANDING


def _overtaken(every: Sequence[Line], lines: Sequence[Line], chat: str) -> frozenset[str]:
    """Lines of memory that say what holds in their chat, but not any more since the user said otherwise in another one."""
    chats = {fact.id: fact.chat for fact in every}
    gone = {
        fact.places or fact.text
        for fact in every
        if fact.status == SUPERSEDED and fact.chat == chat and chats.get(fact.superseded_by or "", chat) != chat
    }
    return frozenset(line.id for line in lines if (line.places or line.text) in gone)
