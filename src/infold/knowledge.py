"""Facts and entities of chats and users: read from the database, resolved, and kept while nothing changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from infold import entities, facts
from infold.entities import Entities
from infold.facts import Fact, Statement
from infold.items import FACT, Item, line_tokens
from infold.ledger import derived
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
    """What is known of a chat or a user."""

    facts: tuple[Fact, ...]
    entities: Entities
    damaged: tuple[derived.Damaged, ...] = ()
    """What cannot be read, of facts and of entities."""


def _known(statements: Sequence[Statement]) -> Known:
    return Known(tuple(facts.resolve(statements)), Entities())


class Knowledge:
    """What chats and users are known for, resolved once a change."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, Any], tuple[tuple[Any, ...], Known]] = OrderedDict()
        self._lists: OrderedDict[tuple[int, Any], tuple[Known, list[Any]]] = OrderedDict()

    def of_chat(self, connection: Connection, row: ChatRow) -> Known:
        """What was said in one chat."""
        pulse = (row.version, row.epoch, derived.read_to(connection, row.key), derived.by_hand(connection, row.key))

        def read() -> Known:
            said, damaged = derived.facts_of_chat(connection, row.key)
            found, unread = derived.mentions_of_chat(connection, row.key)
            return Known(tuple(facts.resolve(said)), Entities(entities.resolve(found)), (*damaged, *unread))

        return self._kept_or(("chat", row.key), pulse, read)

    def lately(self, connection: Connection, row: ChatRow, user: str | None) -> tuple[Known, Known]:
        """The facts that were stated last and are worth knowing, of a chat alone and with its user's other chats: contexts
        need them after every fold, however many there are in all."""
        own = self._kept_or(
            ("late", row.key),
            (row.version, row.epoch),
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

    def of_user(self, connection: Connection, user: str) -> Known:
        """What was said in all chats of a user."""

        def read() -> Known:
            said, damaged = derived.facts_of_user(connection, user)
            found, unread = derived.mentions_of_user(connection, user)
            return Known(tuple(facts.resolve(said)), Entities(entities.resolve(found)), (*damaged, *unread))

        return self._kept_or(("user", (connection.tenant, user)), derived.user_pulse(connection, user), read)

    def forget(self, key: int) -> None:
        """Drop what is kept of a chat, and of users, who may have been its own."""
        with self._lock:
            for kept in [one for one in self._kept if one[0] in ("user", "late of") or one[1] == key]:
                del self._kept[kept]
            self._lists.clear()

    def with_entities(self, known: Known, other: Known) -> Known:
        """What is known of a chat, with the entities of its user."""
        found = self.listed(known, ("of", id(other)), lambda: [replace(known, entities=other.entities), other])
        return found[0]

    def listed(self, known: Known, key: Any, make: Callable[[], list[T]]) -> list[T]:
        """A list that depends on what is known alone, made once."""
        with self._lock:
            kept = self._lists.get((id(known), key))
        if kept is not None:
            return cast("list[T]", kept[1])
        made = make()
        with self._lock:
            self._lists[id(known), key] = (known, made)  # as long as it is kept, its id is its own
            while len(self._lists) > _LISTS:
                self._lists.popitem(last=False)
        return made

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
