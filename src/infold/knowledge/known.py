"""Facts and entities of chats and users: read from the database, resolved, and kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from infold.context.room import STANDING_MOST
from infold.context.view import View
from infold.knowledge.facts import resolve
from infold.knowledge.following import Followed
from infold.knowledge.standing import KNOWN, is_personal
from infold.ledger import derived, mentions, stated
from infold.ledger.mentions import Damaged
from infold.ledger.query import Connection
from infold.ledger.rows import ChatRow
from infold.ledger.stated import Held
from infold.lines.line import FACT, FURTHER, Line, Place, line_tokens, normal
from infold.state import State

T = TypeVar("T")
_KEPT = 256
_LISTS = 32
_SHORTEST = 6
"""Tokens of a line."""
_MOST_HELD = 48
"""Lines of a user that contexts choose from, those that come first."""


@dataclass(frozen=True, slots=True)
class Known:
    """The facts of a chat or a user."""

    facts: tuple[Line, ...]
    damaged: tuple[Damaged, ...] = ()
    """What cannot be read."""


@dataclass(frozen=True, slots=True)
class OfUser:
    """What a user said that holds, in the order in which it comes first."""

    key: int
    pulse: int
    held: tuple[Held, ...]
    number: int
    """Of all that holds; those that come first are here."""


def _known(lines: Sequence[Line], damaged: Sequence[Damaged] = ()) -> Known:
    return Known(tuple(resolve(lines)), tuple(damaged))


class Knowledge:
    """What chats and users are known for. Facts are resolved once a change, entities followed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, Any], tuple[tuple[Any, ...], Known]] = OrderedDict()
        self._followed: OrderedDict[tuple[str, Any], Followed] = OrderedDict()
        self._of_users: OrderedDict[tuple[str, str], OfUser] = OrderedDict()
        self._lists: OrderedDict[tuple[Any, ...], tuple[Any, list[Any]]] = OrderedDict()

    def facts_of_chat(self, connection: Connection, row: ChatRow) -> Known:
        """What was stated in one chat."""
        pulse = (row.version, row.epoch, derived.read_to(connection, row.key))
        return self._kept_or(("chat", row.key), pulse, lambda: _known(*stated.of_chat(connection, row.key)))

    def facts_of_user(self, connection: Connection, user: str) -> Known:
        """What was stated in all chats of a user that may be known in all of them."""
        known = stated.user(connection, user)
        if known is None or not known.remember:
            return Known(())
        key = ("user", (connection.tenant, user))
        return self._kept_or(key, (known.pulse,), lambda: _known(*stated.of_owner(connection, known.key)))

    def of_user(self, connection: Connection, user: str) -> OfUser | None:
        """What a chat of a user needs of the others; None where nothing is to be known."""
        known = stated.user(connection, user)
        if known is None or not known.remember:
            return None
        key = (connection.tenant, user)
        with self._lock:
            kept = self._of_users.get(key)
            if kept is not None and kept.key == known.key and kept.pulse == known.pulse:
                self._of_users.move_to_end(key)
                return kept
        rows = stated.held(connection, known.key, KNOWN, _MOST_HELD)
        number = stated.count_held(connection, known.key, KNOWN) if len(rows) == _MOST_HELD else len(rows)
        kept = OfUser(known.key, known.pulse, tuple(rows), number)
        with self._lock:
            self._of_users[key] = kept
            while len(self._of_users) > _KEPT:
                self._of_users.popitem(last=False)
        return kept

    def entities_for(self, connection: Connection, row: ChatRow) -> Followed:
        """The entities of a chat's user, or of the chat where it has none."""
        return (
            self.entities_of_user(connection, row.known_as) if row.known_as else self._entities_of_chat(connection, row)
        )

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
        known = stated.user(connection, user)
        return self._follower(("user", (connection.tenant, user))).follow(
            connection,
            (known, mentions.by_hand(connection, -1, user)),
            lambda: mentions.noted_of_user(connection, user) if known is None or known.remember else [],
            lambda: mentions.mentions_by_hand(connection, -1, user),
        )

    def forget(self, key: int) -> None:
        """Drop what is kept of a chat, and of users, who may have been its own."""
        with self._lock:
            for some in (self._kept, self._followed):
                for kept in [one for one in some if one[0] == "user" or one[1] == key]:
                    del some[kept]
            self._of_users.clear()
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


def beside_memory(knowledge: Knowledge, connection: Connection, state: State, view: View) -> View:
    """A view with what the chat's user said in other chats and still holds, less what was overtaken there."""
    row = state.row
    if not state.policy.user_facts or row.known_as is None:
        return view
    known = knowledge.of_user(connection, row.known_as)
    if known is None:
        return view
    kept = state.rendered.get("beside")
    if kept is None or kept[0] is not known:
        gone = {line.places or line.text for line in stated.overtaken(connection, row.key)}
        outdated = frozenset(line.id for line in state.lines if (line.places or line.text) in gone)
        lines = [line for line in state.lines if line.id not in outdated]
        found, more = beside(known.held, lines, row.key, STANDING_MOST)
        more += known.number - len(known.held)
        kept = state.rendered["beside"] = (known, found, outdated, more)
    return replace(view, known=kept[1], outdated=kept[2], more=kept[3]) if kept[1] or kept[2] else view


def beside(held: Sequence[Held], lines: Sequence[Line], chat: int, cap: int) -> tuple[tuple[Line, ...], int]:
    """What a user said in other chats and still holds, as facts beside a chat's memory: what comes first within a cap; and how
    many more there are."""
    told = {normal(line.words) for line in lines if line.layer != FURTHER}
    found: list[Line] = []
    more = 0
    for one in held:
        if one.chat == chat or not is_personal(one.line) or normal(one.line.words) in told:
            continue
        line = elsewhere(one.line, len(found)) if cap >= _SHORTEST else None
        if line is None or line.tokens > cap:
            more += 1
            continue
        cap -= line.tokens
        told.add(normal(line.words))
        found.append(line)
    return tuple(found), more


def elsewhere(line: Line, number: int) -> Line:
    """A line as it stands in another chat, where positions of its messages mean nothing."""
    return Line(
        f"fact:{line.id}", line.section, line.text, (), FACT, tokens=line_tokens(line.shown), kind=line.kind, quote=line.quote,
        places=tuple(Place(-2 * number - 1 - at, 0, 0) for at in range(_messages(line))), role=line.role, said_by=line.said_by, said_at=line.said_at, author=line.author,
        worth=line.worth, standing=line.standing, rewrites=line.rewrites, chat=line.chat,
    )  # fmt: skip


def _messages(line: Line) -> int:
    """One, or two where a line is an answer beside the question."""
    return 1 if len({place.seq for place in line.places}) < 2 else 2
