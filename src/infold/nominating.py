"""Long chats on PostgreSQL: the database nominates the blocks that may answer a question, and only those are ranked."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from infold.ledger import passages, store
from infold.ledger.derived import BLOCK

if TYPE_CHECKING:
    from infold.ledger.database import Database
    from infold.ledger.passages import Place
    from infold.ledger.query import Connection
    from infold.messages import Message
    from infold.recall.corpus import Corpus
    from infold.recall.query import Asked, Query
    from infold.recall.segment import Segment

LARGE = 20_000
"""Of more messages in blocks than these, the database nominates."""
MOST = 128
"""Stretches of passages that are ranked for one question: as many passages as a long chat in memory has ranked."""
_KEPT = 100_000  # passages kept in memory that are in no block yet, over all chats
_CHATS = 10_000  # chats whose speakers are remembered

Piece = tuple[int, int, "Segment"]
"""The first and the last position of some messages, and what recall has of them."""


@dataclass(slots=True)
class _Tail:
    """What of a chat is in no block yet, by the positions at which its blocks will begin."""

    epoch: int
    parts: dict[int, tuple[Piece, ...]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return sum(last - first + 1 for part in self.parts.values() for first, last, _ in part)


@dataclass(slots=True)
class _Speakers:
    """Who speaks in the blocks of a chat, up to the one that begins at a position."""

    epoch: int
    upto: int = 0
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is searched, and how to read its question once the speakers are known."""

    chat: int | None
    user: str | None
    since: int | None
    until: int | None
    read: Callable[[tuple[str, ...]], Query]
    ask: Callable[[Query], Asked]
    mend: Callable[[int, int, int, Segment], None]
    """Writes a block in place of a damaged one: chat, epoch, first position."""


class Nominator:
    """Makes a small corpus for one question where a chat, or a user, has very much. Threads may share it.

    Whether it does depends on what is stored, never on what happens to be in memory: all processes answer alike.
    """

    def __init__(
        self,
        maker: str,
        segment: Callable[[Sequence[Message]], Segment],
        unpacked: Callable[[bytes], Segment | None],
    ) -> None:
        self.large, self.most = LARGE, MOST
        self._maker = maker
        self._segment = segment
        self._unpacked = unpacked
        self._lock = threading.Lock()
        self._tails: OrderedDict[int, _Tail] = OrderedDict()
        self._speakers: OrderedDict[int, _Speakers] = OrderedDict()

    def forget(self, key: int) -> None:
        """Drop what is kept of a chat."""
        with self._lock:
            self._tails.pop(key, None)
            self._speakers.pop(key, None)

    def corpus(self, database: Database, wanted: Wanted) -> tuple[Corpus, Query] | None:
        """What may answer a question, and the question as it was read; None where everything is to be searched."""
        from infold.recall.corpus import Corpus
        from infold.recall.query import read

        if not database.backend.nominates:
            return None
        with database.read() as connection:
            places = passages.places(connection, self._maker, chat=wanted.chat, user=wanted.user)
            if places is None or BLOCK * sum(len(place.firsts) for place in places) <= self.large:
                return None
            names = self._names(connection, places)
            parts = [self._unread(connection, place) for place in places]
        tails = [self._laid_out(place, *part) for place, part in zip(places, parts, strict=True)]
        names |= {name for tail in tails for *_, found in tail for name in found.speakers}
        query = wanted.read(tuple(sorted(names)))
        questions = [wanted.ask(query)]
        if query.times.event:
            questions.append(wanted.ask(read(query.times.event.text)))
        with database.read() as connection:
            found, mended = self._blocks(connection, self._nominees(connection, places, questions, wanted))
        corpus = Corpus()
        for place, tail in zip(places, tails, strict=True):
            for first, _, segment in mended.get(place.key, ()):
                wanted.mend(place.key, place.epoch, first, segment)
            end = 0
            for first, last, segment in sorted((*found.get(place.key, ()), *tail), key=lambda piece: piece[:2]):
                corpus.extend(segment, place.key, apart=first != end + 1)
                end = last
        return corpus, query

    def _nominees(
        self, connection: Connection, places: Sequence[Place], questions: Sequence[Asked], wanted: Wanted
    ) -> dict[tuple[int, int], set[int]]:
        """Of blocks, by chat and first position, the numbers of the stretches that promise most."""
        from infold.recall.nominees import STRETCH, best, looks

        known = {place.key: set(place.firsts) for place in places}  # what was written since is in the tail
        chosen: dict[tuple[int, int], set[int]] = {}
        for asked in questions:
            looked = looks(asked)
            rows = passages.look(
                connection, self._maker, list(known), looked, STRETCH, asked.vector.tolist(), wanted.since, wanted.until
            )
            rows = [row for row in rows if row[1] in known[row[0]]]
            for key, first, number in best(rows, looked, self.most // len(questions)):
                chosen.setdefault((key, first), set()).add(number)
        return chosen

    def _blocks(
        self, connection: Connection, chosen: dict[tuple[int, int], set[int]]
    ) -> tuple[dict[int, list[Piece]], dict[int, list[Piece]]]:
        """Stretches of blocks, by chat; and the blocks that were damaged and have been made again."""
        from infold.recall.nominees import cut

        found: dict[int, list[Piece]] = {}
        mended: dict[int, list[Piece]] = {}
        for key, first, data in passages.blocks(connection, self._maker, chosen) if chosen else ():
            last = first + BLOCK - 1
            segment = self._unpacked(data)
            if segment is None:
                segment = self._segment(store.messages_between(connection, key, first, last))
                mended.setdefault(key, []).append((first, last, segment))
            seqs = segment.seq.tolist()
            for start, end in cut(segment, chosen[key, first]):
                begins = seqs[start] if start else first
                ends = seqs[end - 1] if end < len(seqs) else last
                found.setdefault(key, []).append((begins, ends, segment.part(start, end)))
        return found, mended

    def _names(self, connection: Connection, places: Sequence[Place]) -> set[str]:
        """Who speaks in the blocks of chats; those that were not there the last time are looked at."""
        known: dict[int, _Speakers] = {}
        with self._lock:
            for place in places:
                kept = self._speakers.get(place.key)
                known[place.key] = kept if kept and kept.epoch == place.epoch else _Speakers(place.epoch)
        newest = {place.key: place.firsts[-1] for place in places if place.firsts}
        behind = {key: known[key].upto for key, first in newest.items() if known[key].upto < first}
        found = passages.speakers(connection, self._maker, behind) if behind else {}
        for key in behind:
            names = known[key].names | found.get(key, set())
            known[key] = _Speakers(known[key].epoch, newest[key], names)
        with self._lock:
            for key in behind:
                self._speakers[key] = known[key]
            while len(self._speakers) > _CHATS:
                self._speakers.popitem(last=False)
        return {name for kept in known.values() for name in kept.names}

    def _unread(
        self, connection: Connection, place: Place
    ) -> tuple[dict[int, tuple[Piece, ...]], dict[int, list[Message]]]:
        """Of what is in no block, by where its block will begin: what is laid out already, and the other messages."""
        with self._lock:
            tail = self._tails.get(place.key)
            kept = dict(tail.parts) if tail and tail.epoch == place.epoch else {}
        made = set(place.firsts)
        parts: dict[int, tuple[Piece, ...]] = {}
        fresh: dict[int, list[Message]] = {}
        for start in range(1, place.last + 1, BLOCK):
            if start in made:
                continue
            end = min(start + BLOCK - 1, place.last)
            parts[start] = kept.get(start, ())
            upto = parts[start][-1][1] if parts[start] else start - 1
            if upto < end:
                fresh[start] = store.messages_between(connection, place.key, upto + 1, end)
        return parts, fresh

    def _laid_out(
        self, place: Place, parts: dict[int, tuple[Piece, ...]], fresh: dict[int, list[Message]]
    ) -> list[Piece]:
        for start, messages in fresh.items():
            if messages:
                parts[start] += ((messages[0].seq, messages[-1].seq, self._segment(messages)),)
        with self._lock:
            self._tails[place.key] = _Tail(place.epoch, parts)
            self._tails.move_to_end(place.key)
            size = sum(tail.size for tail in self._tails.values()) if fresh else 0
            while size > _KEPT and len(self._tails) > 1:
                size -= self._tails.popitem(last=False)[1].size
        return [piece for part in parts.values() for piece in part]
