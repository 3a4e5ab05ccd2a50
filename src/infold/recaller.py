"""Recall: keeps the index of chats in the database and in memory, and searches it."""

from __future__ import annotations

import copy
import functools
import logging
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from infold.ledger import derived, passages, store
from infold.ledger.derived import BLOCK
from infold.ledger.query import Connection
from infold.marks import without_own
from infold.messages import Message
from infold.nominating import Nominator, Wanted
from infold.texts import Texts

if TYPE_CHECKING:
    from infold.context import Quotations
    from infold.ledger.database import Database
    from infold.ledger.rows import ChatRow
    from infold.recall.corpus import Corpus
    from infold.recall.query import Asked, Query
    from infold.recall.rank import Allowed, Ranked
    from infold.recall.segment import Said, Segment
    from infold.recall.vectors import Embedder

log = logging.getLogger("infold")

FORMAT = "2"
"""Of blocks, words and passages; another one is made anew."""
_KEPT = 100_000  # passages kept in memory, over all chats
_AT_ONCE = 4096  # messages that may be indexed while somebody waits for a context


@dataclass(slots=True)
class _Kept:
    """A chat's passages in memory."""

    epoch: int
    corpus: Corpus
    upto: int = 0
    """Position of the newest message in it."""


@dataclass(slots=True)
class _Words:
    """In how many folded messages of a chat each word stands."""

    epoch: int
    upto: int = 0
    counts: Counter[int] = field(default_factory=Counter)


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
        self.maker = f"{FORMAT}:{label}{passages.LAID_OUT if database.backend.nominates else ''}"
        self._lock = threading.RLock()
        # Of its own: it is taken by those who hold the database, and whoever has the other may want that.
        self._counting = threading.Lock()
        self._chats: OrderedDict[int, _Kept] = OrderedDict()
        self._words: OrderedDict[int, _Words] = OrderedDict()
        self._users: OrderedDict[tuple[str, str], tuple[tuple[Any, ...], Corpus]] = OrderedDict()
        self._indexed: dict[int, int] = {}
        self._texts = Texts()
        self.nominator = Nominator(self.maker, self._segment, self._unpacked)

    @property
    def embedder(self) -> Embedder:
        """What makes vectors; loaded at first use."""
        with self._lock:
            return self._make()

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
        with self._counting:
            self._words.pop(key, None)

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

    def _corpus(self, key: int) -> Corpus | None:
        """All passages of a chat, up to date; None where it is gone."""
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
            stored = dict(derived.blocks(connection, key, self.maker, kept.upto + 1)) if kept.upto < cursor else {}
        for found, end in self._segments(key, epoch, kept.upto, last, stored):
            kept.corpus.extend(found, key)
            kept.upto = end
        self._make_room()
        return kept.corpus

    def read_ahead(self, key: int) -> bool:
        """Lay out what was said last in a chat that has been searched, as it will be again; whether it is such a one."""
        if key not in self._chats:
            return False
        with self._lock:
            corpus = self._corpus(key)
            if corpus is not None and corpus.size:
                corpus.settle()
        return True

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
            known = self._users.get((connection.tenant, user))
            if known is not None and known[0] == pulse:
                return known[1]
            keys = derived.chats_of_user(connection, user)
        whole = Corpus()
        for key in keys:
            self._add_chat(whole, key)
        self._users[self._database.tenant, user] = (pulse, whole)
        while len(self._users) > 8:
            self._users.popitem(last=False)
        return whole

    def _add_chat(self, whole: Corpus, key: int) -> None:
        with self._database.read() as connection:
            place = derived.place(connection, key)
            stored = dict(derived.blocks(connection, key, self.maker, 1)) if place else {}
        for found, _ in self._segments(key, place[0] if place else 0, 0, place[1] if place else 0, stored):
            whole.extend(found, key)

    def _segments(
        self, key: int, epoch: int, upto: int, last: int, stored: dict[int, bytes]
    ) -> Iterator[tuple[Segment, int]]:
        """What follows a position in a chat, from blocks where there are, else made of messages; and where each ends."""
        while upto < last:
            found = self._unpacked(stored[upto + 1]) if upto + 1 in stored else None
            end = min(last, (upto // BLOCK + 1) * BLOCK)
            if found is None:
                with self._database.read() as connection:
                    messages = store.messages_between(connection, key, upto + 1, end)
                found = self._segment(messages)
                if upto + 1 in stored:
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

    def _put(self, connection: Connection, key: int, first: int, made: Segment) -> None:
        derived.put_block(connection, key, first, self.maker, made.to_bytes())
        passages.put(connection, key, first, made)

    # Searching -----------------------------------------------------------------------------------------

    def rare(self, connection: Connection, row: ChatRow, question: str) -> int:
        """How many words of a question few folded messages of a chat have, but some: it may ask for those.

        Cheap, and without vectors: it is asked of every message that looks like a question.
        """
        from infold.recall.words import term, words

        wanted = {term(word) for word in words(question) if word not in _COURTESY and not _is_small(word)}
        if not wanted:
            return 0
        with self._counting:
            known = self._count_words(connection, row)
        most = max(2, known.upto // 100)
        return sum(0 < known.counts[number] <= most for number in wanted)

    def _count_words(self, connection: Connection, row: ChatRow) -> _Words:
        from infold.recall.words import term, words

        key, epoch, cursor = row.key, row.epoch, row.cursor
        known = self._words.get(key)
        if known is not None and known.epoch == epoch and known.upto == cursor:
            return known
        if known is None or known.epoch != epoch or known.upto > cursor:
            known = self._words[key] = _Words(epoch)
        self._words.move_to_end(key)
        if cursor - known.upto > 2 * BLOCK:
            for first, data in derived.blocks(connection, key, self.maker, known.upto + 1):
                found = self._unpacked(data) if first == known.upto + 1 else None
                if found is None:
                    break
                ends = found.count.cumsum().tolist()
                numbers = found.terms.tolist()
                for start, end in zip([0, *ends], ends, strict=False):
                    known.counts.update(set(numbers[start:end]))
                known.upto = first + BLOCK - 1
        while known.upto < cursor:
            messages = store.messages_between(connection, key, known.upto + 1, min(cursor, known.upto + BLOCK))
            for message in messages:
                known.counts.update({term(word) for word in words(text_of(message))})
            known.upto = messages[-1].seq
        while len(self._words) > 256:
            self._words.popitem(last=False)
        return known

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
    ) -> Found:
        """The passages of a chat, or of all chats of a user, that answer a question best, with their messages."""
        from infold.recall.pointing import points_at
        from infold.recall.query import read
        from infold.recall.rank import rank

        reads = functools.partial(read, question, at=at, asker=asker)
        nominated = self.nominator.corpus(
            self._database, Wanted(chat, user, since, until, reads, self._ask, self._mend)
        )
        with self._lock:
            if nominated is not None:
                self._release(chat, user)
                corpus, query = nominated
            else:
                every = self._corpus(chat) if chat is not None else self._of_user(user or "")
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


# Words of courtesy: they ask for nothing.
_COURTESY = frozenset(
    "hello hi hey thanks thank ok okay yes yeah no nope great good morning evening afternoon night please sure fine cool nice "
    "perfect bye welcome go continue sorry well right alright lovely awesome today going hallo danke merci gracias hola bonjour".split()
)


def _is_small(word: str) -> bool:
    """Numbers of up to three digits stand for nothing in particular."""
    return word.isdigit() and len(word) < 4


def has_words(question: str) -> bool:
    """Whether a question has a word that messages could be found by."""
    from infold.recall.words import words

    return any(word not in _COURTESY for word in words(question))


def said(message: Message) -> Said:
    """A message as recall sees it."""
    from infold.recall.segment import Said

    return Said(message.seq, text_of(message), speaker_of(message), message.created_at)


def text_of(message: Message) -> str:
    """What is searched and shown of a message: its text, without what infold itself put there."""
    return "" if message.role in ("system", "developer") else without_own(message.text)


def speaker_of(message: Message) -> str:
    return message.name or message.role
