"""Recall: keeps the index of chats in the database and in memory, and searches it."""

from __future__ import annotations

import copy
import functools
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from infold.ledger import derived, full_text, passages, store
from infold.ledger.derived import BLOCK
from infold.ledger.query import Connection
from infold.messages import Message
from infold.nominating import Nominator, Wanted
from infold.rarity import Rarity
from infold.sayings import said, text_of
from infold.texts import Texts

if TYPE_CHECKING:
    from infold.context.view import Quotations
    from infold.ledger.database import Database
    from infold.ledger.derived import Place
    from infold.recall.corpus import Corpus
    from infold.recall.query import Asked, Query
    from infold.recall.rank import Allowed, Ranked
    from infold.recall.segment import Segment
    from infold.recall.vectors import Embedder

log = logging.getLogger("infold")

INSIDE = "wordllama-256"
"""The name of the embedder that comes with infold."""
FORMAT = "2"
"""Of blocks, words and passages; another one is made anew."""
_KEPT = 100_000  # passages kept in memory, over all chats
_AT_ONCE = 4096  # messages that may be indexed while somebody waits for a context
_UNASKED = 512  # messages that are laid out ahead in a chat where nothing was asked for yet
_STEP = 8  # messages that are laid out ahead in one go


@dataclass(slots=True)
class _Kept:
    """A chat's passages in memory."""

    epoch: int
    corpus: Corpus
    upto: int = 0
    """Position of the newest message in it."""


@dataclass(slots=True)
class _OfUser:
    """The passages of all chats of a user in memory."""

    pulse: tuple[Any, ...] = ()
    corpus: Corpus | None = None
    places: list[Place] = field(default_factory=list)
    """The chats in it, and how far."""

    def goes_on(self, places: Sequence[Place]) -> bool:
        """Whether what there is now only comes after what is in it: in its last chat, or in newer ones."""
        known = self.places
        if len(places) < len(known) or list(places[: len(known) - 1]) != known[:-1]:
            return False
        return not known or (places[len(known) - 1][:2] == known[-1][:2] and places[len(known) - 1][2] >= known[-1][2])


@dataclass(frozen=True, slots=True)
class Found:
    """A ranking, and the messages it is about."""

    query: Query | None
    ranked: list[Ranked]
    messages: dict[tuple[int, int], Message]
    """By chat and position."""

    def quoted(self) -> Quotations | None:
        """The messages of a chat, ready to be quoted; None where nothing was found."""
        from infold.recall.quoting import Quoted

        if self.query is None or not self.ranked:
            return None
        texts = {seq: text_of(message) for (_, seq), message in self.messages.items()}
        tokens = {seq: message.tokens for (_, seq), message in self.messages.items()}
        return Quoted(self.ranked, texts, tokens, self.query)


class Recaller:
    """Searches the chats of one database."""

    def __init__(self, database: Database, embedder: Callable[[], Embedder], label: str) -> None:
        self._database = database
        self._make = functools.cache(embedder)
        self._inside = label == INSIDE
        self.maker = f"{FORMAT}:{label}{passages.LAID_OUT if database.backend.nominates else ''}"
        self._lock = threading.RLock()
        self._chats: OrderedDict[int, _Kept] = OrderedDict()
        self._users: OrderedDict[tuple[str, str], _OfUser] = OrderedDict()
        self._indexed: dict[int, int] = {}
        self._texts = Texts()
        self.nominator = Nominator(self.maker, self._segment, self._unpacked)
        self.rarity = Rarity(self.maker, self._unpacked)

    @property
    def embedder(self) -> Embedder:
        """What makes vectors; loaded at first use."""
        with self._lock:
            return self._make()

    @property
    def at_hand(self) -> bool:
        """Whether vectors cost next to nothing: the embedder inside is loaded. Another one may be a server, which is asked for
        those that are needed and no others."""
        return self._inside and self._make.cache_info().currsize > 0

    def of(self, database: Database) -> Recaller:
        """The same index, for another tenant's view of the database."""
        view = copy.copy(self)  # what is kept in memory is shared
        view._database = database
        return view

    def forget(self, key: int) -> None:
        """Drop what is kept of a chat, and of users, who may have been its own."""
        with self._lock:
            self._chats.pop(key, None)
            self._indexed.pop(key, None)
            self._users.clear()
            self._texts.clear()
            self.nominator.forget(key)
        self.rarity.forget(key)

    def release(self, key: int) -> None:
        """Keep nothing of a chat in memory that nobody uses; it is read again when somebody does."""
        with self._lock:
            self._chats.pop(key, None)
        self.rarity.forget(key)

    # The index -----------------------------------------------------------------------------------------

    def index(self, key: int) -> None:
        """Write the blocks of a chat that are complete and not there yet, one transaction each."""
        while True:
            with self._database.read() as connection:
                place = derived.place(connection, key)
                first = self._missing(connection, key, place[2]) if place else None
                if place is None or first is None:
                    return
                messages = store.messages_between(connection, key, first, first + BLOCK - 1)
            made = self._segment(messages)
            with self._database.write() as connection:
                now = derived.place(connection, key)
                if now is None or now[0] != place[0]:  # deleted or rewound meanwhile
                    continue
                self._put(connection, key, first, made)

    def behind(self, connection: Connection, key: int, cursor: int) -> bool:
        """Whether complete blocks of folded messages are missing."""
        return cursor >= BLOCK and self._missing(connection, key, cursor) is not None

    def ready(self, connection: Connection, key: int, cursor: int) -> bool:
        """Whether so much is indexed that nobody has to wait long for a search."""
        kept = self._chats.get(key)
        indexed = max(self._indexed.get(key, 0), kept.upto if kept else 0)
        if cursor - indexed > _AT_ONCE:
            indexed = self._indexed[key] = derived.count_blocks(connection, key, self.maker) * BLOCK
        return cursor - indexed <= _AT_ONCE

    def _missing(self, connection: Connection, key: int, cursor: int) -> int | None:
        made = derived.blocks_made(connection, key, self.maker)
        if len(made) == cursor // BLOCK:
            return None
        known = set(made)
        return next((first for first in range(1, cursor - BLOCK + 2, BLOCK) if first not in known), None)

    def _segment(self, messages: Sequence[Message]) -> Segment:
        from infold.recall.segment import segment

        return segment([said(message) for message in messages], self.embedder)

    def _corpus(self, key: int, upto: int | None = None) -> Corpus | None:
        """All passages of a chat, or those up to a position; None where it is gone."""
        from infold.recall.corpus import Corpus

        with self._database.read() as connection:
            place = derived.place(connection, key)
            if place is None:
                return None
            epoch, last, cursor, _ = place
            kept = self._chats.get(key)
            if kept is None or kept.epoch != epoch or kept.upto > last:
                kept = self._chats[key] = _Kept(epoch, Corpus())
            self._chats.move_to_end(key)
            last = last if upto is None else min(last, upto)
            stored = (
                dict(derived.blocks(connection, key, self.maker, kept.upto + 1))
                if kept.upto < min(cursor, last)
                else {}
            )
        if kept.upto > last:
            kept.corpus.cut(last)
            kept.upto = last
        for found, end in self._segments(key, epoch, kept.upto, last, stored):
            kept.corpus.extend(found, key)
            kept.upto = end
        self._make_room()
        return kept.corpus

    def read_ahead(self, key: int, messages: Sequence[Message], cursor: int) -> Iterator[None]:
        """Lay out what the next search in a chat will want, up to its newest messages, a step at a time. Not of long chats that
        nobody has searched yet."""
        from infold.recall.quoting import count_line

        upto = messages[-1].seq if messages else 0
        while True:
            with self._lock:
                kept = self._chats.get(key)
                done = kept.upto if kept else 0
                if done >= upto or (kept is None and upto > _UNASKED):
                    break
                end = done + (BLOCK if done % BLOCK == 0 and done + BLOCK <= cursor else _STEP)
                if self._corpus(key, min(upto, end)) is None or self._chats[key].upto <= done:  # gone, or taken back
                    return
            for message in messages:
                if done < message.seq <= end:
                    count_line(said(message))
            yield
        with self._lock:
            if kept is not None and kept.corpus.size:
                kept.corpus.settle()

    def _unpacked(self, data: bytes) -> Segment | None:
        from infold.recall.segment import Segment

        try:
            return Segment.from_bytes(data)
        except ValueError as error:
            log.warning("a block of the recall index is damaged (%s); it is made again from its messages", error)
            return None

    def _make_room(self) -> None:
        while len(self._chats) > 1 and sum(kept.corpus.size for kept in self._chats.values()) > _KEPT:
            self._chats.popitem(last=False)

    def _of_user(self, user: str) -> Corpus:
        """All passages of all chats of a user."""
        from infold.recall.corpus import Corpus

        with self._database.read() as connection:
            pulse = derived.user_pulse(connection, user)
            known = self._users.pop((connection.tenant, user), None) or _OfUser()
            places = derived.places_of_user(connection, user) if known.pulse != pulse else known.places
        if known.corpus is None or not known.goes_on(places):
            known = _OfUser(corpus=Corpus())
        assert known.corpus is not None
        for at in range(max(0, len(known.places) - 1), len(places)):
            key, epoch, last = places[at]
            upto = known.places[at][2] if at < len(known.places) else 0
            with self._database.read() as connection:
                stored = dict(derived.blocks(connection, key, self.maker, upto + 1)) if upto < last else {}
            for found, _ in self._segments(key, epoch, upto, last, stored):
                known.corpus.extend(found, key)
        known.pulse, known.places = pulse, places
        self._users[self._database.tenant, user] = known  # not before all of it is there
        while len(self._users) > 8:
            self._users.popitem(last=False)
        return known.corpus

    def _segments(
        self, key: int, epoch: int, upto: int, last: int, stored: dict[int, bytes]
    ) -> Iterator[tuple[Segment, int]]:
        """What follows a position in a chat, from blocks where there are, else made of messages; and where each ends."""
        while upto < last:
            end = min(last, (upto // BLOCK + 1) * BLOCK)
            whole = upto + 1 in stored and end == upto + BLOCK
            found = self._unpacked(stored[upto + 1]) if whole else None
            if found is None:
                with self._database.read() as connection:
                    messages = store.messages_between(connection, key, upto + 1, end)
                found = self._segment(messages)
                if whole:
                    self._mend(key, epoch, upto + 1, found)
            yield found, end
            upto = end

    def _mend(self, key: int, epoch: int, first: int, made: Segment) -> None:
        """Write a block in place of a damaged one, unless messages have left the chat meanwhile."""
        if self._database.read_only:
            return
        with self._database.write() as connection:
            now = derived.place(connection, key)
            if now is not None and now[0] == epoch:
                derived.drop_block(connection, key, first)
                self._put(connection, key, first, made)

    def _repair(self) -> None:
        """Make the full text of a SQLite file again."""
        if not self._database.read_only:
            with self._database.write() as connection:
                full_text.rebuild(connection)

    def _put(self, connection: Connection, key: int, first: int, made: Segment) -> None:
        if derived.put_block(connection, key, first, self.maker, made.to_bytes()):
            passages.put(connection, key, first, made)

    # Searching -----------------------------------------------------------------------------------------

    def search(
        self,
        question: str,
        *,
        chat: int | None = None,
        user: str | None = None,
        at: int = 0,
        asker: str = "",
        most: int = 100,
        since: int | None = None,
        until: int | None = None,
        upto: int | None = None,
    ) -> Found:
        """The passages of a chat, or of all chats of a user, that answer a question best, with their messages; of a chat,
        none after `upto`."""
        from infold.recall.pointing import points_at
        from infold.recall.query import read
        from infold.recall.rank import rank

        reads = functools.partial(read, question, at=at, asker=asker)
        nominated = self.nominator.corpus(
            self._database,
            Wanted(passages.Scope(chat, user, since, until), reads, self._ask, self._mend, self._repair),
        )
        with self._lock:
            if nominated is not None:
                self._release(chat, user)
                corpus, query = nominated
            else:
                every = self._corpus(chat, upto) if chat is not None else self._of_user(user or "")
                if every is None:
                    return Found(None, [], {})
                corpus, query = every, reads(tuple(every.speakers))
            if not corpus.size:
                return Found(None, [], {})
            if not points_at(corpus, query, self.embedder):
                return Found(None, [], {})
            ranked = rank(corpus, query, self.embedder, most, allowed=_between(since, until))
        messages: dict[tuple[int, int], Message] = {}
        with self._database.read() as connection:
            for key in dict.fromkeys(one.chat for one in ranked):
                seqs = list(dict.fromkeys(one.seq for one in ranked if one.chat == key))
                for message in store.messages_at(connection, key, seqs):
                    messages[key, message.seq] = message
        if upto is not None:
            ranked = [one for one in ranked if one.seq <= upto]
        # Some may have left their chat since, and others may be in their places.
        ranked = [
            one
            for one in ranked
            if (one.chat, one.seq) in messages and one.at == messages[one.chat, one.seq].created_at
        ]
        return Found(query, ranked, messages)

    def _release(self, chat: int | None, user: str | None) -> None:
        """Keep nothing of what has grown so large that the database nominates."""
        if chat is not None:
            self._chats.pop(chat, None)
        else:
            self._users.pop((self._database.tenant, user or ""), None)

    def _ask(self, query: Query) -> Asked:
        with self._lock:
            return query.asked(self.embedder)

    def search_texts(
        self, question: str, texts: Sequence[tuple[str, int]], *, at: int = 0, most: int = 100
    ) -> list[tuple[int, float]]:
        """Which of some short texts, each with its time, answer a question best: their numbers and scores."""
        with self._lock:
            return self._texts.search(question, texts, self.embedder, at, most)


def _between(since: int | None, until: int | None) -> Allowed | None:
    """What was said from one moment on, and before another."""

    def allowed(_chats: Any, _seqs: Any, times: Any) -> Any:
        inside = times >= (-(1 << 62) if since is None else since)
        return inside if until is None else inside & (times < until)

    return None if since is None and until is None else allowed
