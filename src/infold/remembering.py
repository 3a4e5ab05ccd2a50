"""What a chat knows beside its summary: facts, entities, and what was said long ago."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from infold.context.room import NEAR_MOST, NEAR_SHARE
from infold.engine import NAMED, select_related_entities
from infold.errors import EmbedderError
from infold.finding import find, put_entity, take_entity
from infold.handle import Handle
from infold.knowledge.entity import Entity
from infold.knowledge.facts import Facts
from infold.knowledge.known import elsewhere
from infold.knowledge.noting import read_up
from infold.knowledge.standing import bearing, holding, is_personal, numbers_near
from infold.ledger import stated
from infold.lines.line import Line, line_tokens
from infold.rarity import has_words
from infold.recall.hits import KINDS, Hit

if TYPE_CHECKING:
    from infold.context.view import View
    from infold.knowledge.following import Followed
    from infold.ledger.query import Connection
    from infold.ledger.rows import ChatRow
    from infold.ledger.stated import Held
    from infold.messages import Message
    from infold.state import State

log = logging.getLogger("infold")

_MOST_FOUND, _FEWEST_FOUND, _SHORTEST = 300, 40, 8
_MOST_NEAR = 24
_SLIGHTLY, _CLEARLY = 2, 4
"""How much of a question a line has to share."""
_BACK = re.compile(
    r"\b(?:remember|remind|recall|earlier|previous(?:ly)?|last time|as (?:we|i|you) (?:said|agreed|discussed)"
    r"|(?:i|you|we|he|she|they) (?:said|told|mentioned|agreed|decided|talked|discussed|wanted|planned|promised|suggested"
    r"|recommended)|what(?:'s| is| are) (?:my|our)|look up)\b",
    re.IGNORECASE,
)
_ONCE = re.compile(r"\b(?:did|was|were|had)\b", re.IGNORECASE)
_OPENS = re.compile(
    r"\W*(?:(?:and|but|so|ok|okay|then)\W+){,3}(?:wh(?:at|en|ere|o|om|ose|ich|y)|how|did|was|were|had)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"[^.!?？؟\n]*[.!?？؟\n]*")
_MARKS = ("?", "？", "؟")


def _asking(text: str) -> tuple[str, bool]:
    """The sentences of a message that ask, and whether they ask for something of the past."""
    if not any(mark in text for mark in _MARKS) and not _BACK.search(text) and not _ONCE.search(text):
        return "", False
    found: list[str] = []
    past = False
    for one in _SENTENCE.findall(text):
        back, once = _BACK.search(one), _ONCE.search(one)
        # Who tells a story speaks of the past, too, and asks for nothing.
        if back or one.rstrip().endswith(_MARKS) or (once and _OPENS.match(one)):
            found.append(one)
            past = past or bool(back or once)
    return " ".join(found), past


class Remembering(Handle):
    """The part of a chat that answers questions."""

    @property
    def facts(self) -> Facts:
        """What was stated and holds, oldest first; `facts(all=True)` also what was superseded."""
        self.read_up()
        with self.reading() as (connection, state):
            known = self._memory.knowledge.facts_of_chat(connection, state.row)
        if self._memory.repaired(known.damaged):
            with self.reading() as (connection, state):
                known = self._memory.knowledge.facts_of_chat(connection, state.row)
        return Facts(known.facts)

    def read_up(self) -> None:
        """Note what nobody has asked for yet: of this chat, and of its user's others."""
        with self.seen() as state:
            user = state.row.user
        read_up(self._memory.database, self._key, user)

    @property
    def entities(self) -> list[Entity]:
        """Tasks, goals, problems, people, projects and files, newest first: of the chat's user, or of the chat."""
        self.read_up()
        with self.reading() as (connection, state):
            known = self.entities_known(connection, state)
        if self._memory.repaired(known.damaged):
            with self.reading() as (connection, state):
                known = self.entities_known(connection, state)
        return list(known.entities)

    def set_entity(
        self, kind: str, name: str, *, status: str = "", due: str = "", owner: str = "", links: Sequence[str] = ()
    ) -> Entity:
        """Add an entity by hand, or change what is known of it; `links` are names of others. What is not given stays."""
        with self.writing() as (connection, state):
            said = (kind, name, status, due, owner, links)
            return put_entity(self._memory, connection, state.row.known_as, state.row, said)

    def remove_entity(self, id: str) -> None:
        """Let an entity go: what was set by hand for it, and what chats say of it so far."""
        with self.writing() as (connection, state):
            take_entity(self._memory, connection, state.row.known_as, state.row, id)

    def recall(
        self,
        query: str,
        *,
        limit: int = 8,
        kinds: Sequence[str] = KINDS,
        since: int | str | datetime | None = None,
        until: int | str | datetime | None = None,
    ) -> list[Hit]:
        """What this chat holds that answers a query, best first: messages, facts, lines of summaries, entities."""
        self.read_up()
        return find(self._memory, query, chat=self.id, limit=limit, kinds=kinds, since=since, until=until)

    def entities_known(self, connection: Connection, state: State) -> Followed:
        """The entities of the chat's user, or of the chat where it has none."""
        return self._memory.knowledge.entities_for(connection, state.row)

    def near(
        self, connection: Connection, state: State, view: View, question: str, given: bool, asks_back: bool, budget: int
    ) -> View:
        """A view with what was stated that bears on a question, best first, and does not stand in the tail. The last message of
        a chat counts as a question where it asks; as long as nothing is folded, always. Of a chat whose messages are recalled
        nothing is stated besides."""
        row = state.row
        if not state.policy.user_facts or not (given or not row.cursor or _asking(question)[0]):
            return view
        stated_before: list[Held] = []
        for owner in self._owners(connection, row):
            near = {
                one.key: one
                for words in numbers_near(question)
                for one in stated.near(connection, owner, words, _MOST_NEAR)
            }
            # What holds of all that is known of a user is noted; of what a chat says for itself it is not.
            stated_before += near.values() if owner > 0 else holding([*near.values()])
        here = {message.seq for message in view.messages}
        found = [
            one
            for one in stated_before
            if (not asks_back and here.isdisjoint(one.line.sources) if one.chat == row.key else is_personal(one.line))
        ]
        room = min(budget // NEAR_SHARE, NEAR_MOST)
        best: list[Line] = []
        for one in bearing(question, found, _SLIGHTLY if given else _CLEARLY):
            line = elsewhere(one.line, 1000 + len(best)) if one.chat != row.key else one.line
            tokens = line_tokens(line.shown)
            if tokens <= room:
                room -= tokens
                best.append(line)
        return replace(view, near=tuple(best)) if best else view

    def _owners(self, connection: Connection, row: ChatRow) -> list[int]:
        """Whose statements a chat may show: its own, and its user's."""
        known = stated.user(connection, row.known_as) if row.known_as else None
        return [-row.key, known.key] if known is not None and known.remember else [-row.key]

    def asks_back(self, connection: Connection, state: State, question: str, given: bool, budget: int) -> bool:
        """Whether a question may be answered by messages that a context would not show.

        One that the caller gave is taken at its word; of the last message of a chat it takes the form of a question, and
        words that are rare in what was folded: two, or one where it asks for something of the past.
        """
        if not state.policy.recall_cap:
            return False
        if not state.row.cursor and state.unfolded_tokens < budget:
            return False
        if not self._memory.recaller.ready(connection, self._key, state.row.cursor):
            return False  # the background is at it
        if given:
            return has_words(question)
        asks, past = _asking(question)
        return bool(asks) and self._memory.recaller.rarity.rare(connection, state.row, asks) > (0 if past else 1)

    def answers(self, view: View, question: Message, budget: int, upto: int | None = None) -> View:
        """A view with what earlier messages say to a question; none after `upto`, where it is asked last not itself."""
        most = min(_MOST_FOUND, max(_FEWEST_FOUND, budget // _SHORTEST)) + len(view.messages)
        try:
            found = self._memory.recaller.search(
                question.text,
                chat=self._key,
                at=question.created_at or self._memory.clockwork.now(),
                asker=question.name or "user",
                most=most,
                upto=question.seq - 1 if view.messages and question is view.messages[-1] else upto,
            )
        except EmbedderError as error:  # a server's: the context goes without
            log.warning("nothing is recalled for chat %s: %s", self.id, error)
            return view
        return replace(view, recalled=found.quoted())

    def related(self, connection: Connection, state: State, view: View, question: str, named: bool) -> View:
        """A view with the entities that matter for a question; with `named`, only those that it points to."""
        found = select_related_entities(
            self.entities_known(connection, state).entities, question, state.policy.entities
        )
        return replace(view, related=tuple(one for one in found if one[1] == NAMED or not named))
