"""Facts and entities of chats and users: read from the database, resolved, and kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from infold import facts
from infold.facts import Fact, Statement
from infold.following import Followed
from infold.items import FACT, Item, line_tokens
from infold.ledger import derived, mentions
from infold.ledger.mentions import Damaged
from infold.ledger.query import Connection
from infold.ledger.rows import ChatRow

T = TypeVar("T")
_KEPT = 256
_LISTS = 32
_LATE, _LATE_OF_USER = 300, 1000
_SECTION = {
    "preference": "goals", "goal": "goals", "decision": "decisions", "commitment": "open", "reference": "artifacts",
}  # fmt: skip
LASTING = ("biography", "preference", "constraint", "fact", "goal")
"""Kinds of facts that are worth knowing in another chat."""
_MOST_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Known:
    """The facts of a chat or a user."""

    facts: tuple[Fact, ...]
    damaged: tuple[Damaged, ...] = ()
    """What cannot be read."""


def _known(statements: Sequence[Statement], damaged: Sequence[Damaged] = ()) -> Known:
    return Known(tuple(facts.resolve(statements)), tuple(damaged))


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
        return self._kept_or(("chat", row.key), pulse, lambda: _known(*derived.facts_of_chat(connection, row.key)))

    def facts_of_user(self, connection: Connection, user: str) -> Known:
        """What was stated in all chats of a user."""
        pulse = derived.facts_pulse(connection, user)
        key = ("user", (connection.tenant, user))
        return self._kept_or(key, pulse, lambda: _known(*derived.facts_of_user(connection, user)))

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
        """The facts that were stated last and are worth knowing, of a chat alone and with its user's other chats: contexts
        need them after every fold, however many there are in all."""
        own = self._kept_or(
            ("late", row.key),
            (row.version, row.epoch, derived.read_to(connection, row.key)),
            lambda: _known(derived.latest_of_chat(connection, row.key, LASTING, _LATE)),
        )
        if user is None:
            return own, own
        pulse = derived.facts_pulse(connection, user)
        every = self._kept_or(
            ("late of", (connection.tenant, user)),
            pulse,
            lambda: _known(derived.latest_of_user(connection, user, LASTING, _LATE_OF_USER)),
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
    own: Sequence[Fact], every: Sequence[Fact], items: Sequence[Item], chat: str, cap: int
) -> tuple[tuple[Item, ...], frozenset[str]]:
    """What a chat's facts need beside its memory: facts of its user from other chats, and what is in conflict; and which
    items of memory were overtaken in another chat."""
    shown = {fact.id: fact for fact in own}
    overtaken = _overtaken(own, every, items, chat)
    room = cap - sum(item.tokens for item in items if item.layer == FACT and item.id not in overtaken)
    told = {fact.text for fact in own if fact.status == "current"} | {item.text for item in items}
    found: list[Item] = []
    for fact in _ranked(every):
        elsewhere = all(saying.chat != chat for saying in fact.sources)
        if fact.status == "conflicting":
            text = _conflict(fact, every)
        elif fact.status == "current" and elsewhere and fact.id not in shown and fact.kind in LASTING:
            text = fact.text
        else:
            continue
        tokens = line_tokens(text)
        if not text or text in told or tokens > room or len(found) >= _MOST_SHOWN:
            continue
        told.add(text)
        room -= tokens
        if fact.status == "conflicting":  # said there, not beside it as if it held
            told_there = {fact.text, *(one.text for one in every if one.id in fact.conflicts_with)}
            overtaken |= {item.id for item in items if item.layer == FACT and item.text in told_there}
        found.append(Item(f"fact:{fact.id}", _SECTION.get(fact.kind, "facts"), text, (), FACT, 0, tokens))
    return tuple(found), overtaken


def _ranked(every: Sequence[Fact]) -> list[Fact]:
    """Conflicts first, then what is surest and newest."""
    return sorted(
        every, key=lambda fact: (fact.status != "conflicting", -round(fact.confidence, 1), -fact.valid_from, fact.id)
    )


def _conflict(fact: Fact, every: Sequence[Fact]) -> str:
    """One line for facts that contradict each other; only the first of them gets it."""
    rivals = [other for other in every if other.id in fact.conflicts_with and other.status == "conflicting"]
    if not rivals or any(other.id < fact.id for other in rivals):
        return ""
    return f"Unclear, both were said: {' / '.join(one.text for one in (fact, *rivals))}"


def _overtaken(own: Sequence[Fact], every: Sequence[Fact], items: Sequence[Item], chat: str) -> frozenset[str]:
    """Items that state a fact which holds in its chat, but was superseded in another one."""
    now = {fact.id: fact for fact in every}
    gone: list[Fact] = []
    for fact in own:
        whole = now.get(fact.id)
        by = now.get(whole.superseded_by or "") if whole and whole.status == "superseded" else None
        if fact.status == "current" and by is not None and all(saying.chat != chat for saying in by.sources):
            gone.append(fact)
    return frozenset(items[at].id for at in facts.stating([item.text for item in items], gone)) if gone else frozenset()
