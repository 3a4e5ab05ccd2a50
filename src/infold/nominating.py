"""Long chats: the database nominates the stretches of blocks that may answer a question, and only those are ranked."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from infold.ledger import full_text, passages, store
from infold.ledger.derived import BLOCK
from infold.ledger.sqlite import Sqlite
from infold.looking import ByFullText, ByPassages, Site

if TYPE_CHECKING:
    from infold.ledger.database import Database
    from infold.ledger.passages import Place, Scope
    from infold.ledger.query import Connection
    from infold.looking import Looker
    from infold.messages import Message
    from infold.recall.corpus import Corpus
    from infold.recall.query import Asked, Query
    from infold.recall.segment import Segment
    from infold.recall.sketch import Block, Tail

MOST = 512
"""Stretches of passages that are ranked for one question: as many passages as a long chat in memory has ranked."""
_BLOCKS = 1024  # blocks that were read last are kept in memory: of one that is wanted, others will be
_KEPT = 100_000  # passages kept in memory that are in no block yet, over all chats

Piece = tuple[int, int, "Segment"]
"""The first and the last position of some messages, and what recall has of them."""
Cut = tuple[int, int, "Segment", list[tuple[int, int]]]
"""The same, and which of their passages are ranked: from one on and before another."""


@dataclass(slots=True)
class _Tail:
    """What of a chat is in no block yet, by the positions at which its blocks will begin."""

    epoch: int
    parts: dict[int, Piece] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return sum(last - first + 1 for first, last, _ in self.parts.values())


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is searched, and how to read its question once the speakers are known."""

    scope: Scope
    read: Callable[[tuple[str, ...]], Query]
    ask: Callable[[Query], Asked]
    mend: Callable[[int, int, int, Segment], None]
    """Writes a block in place of a damaged one: chat, epoch, first position."""
    repair: Callable[[], None]
    """Makes the database's own index again, which is damaged."""


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
        self.large: int | None = None
        """Instead of what the way of looking says."""
        self.most = MOST
        self._maker = maker
        self._segment = segment
        self._unpacked = unpacked
        self._lock = threading.Lock()
        self._look: Looker | None = None
        self._read: OrderedDict[tuple[int, int, int, int], Segment] = OrderedDict()
        """Blocks, by the epoch of their chat, and what a block is known by."""
        self._tail: tuple[list[Segment], Tail] | None = None
        """The sketch that was made last, and of what."""
        self._tails: OrderedDict[int, _Tail] = OrderedDict()

    def forget(self, key: int) -> None:
        """Drop what is kept of a chat."""
        with self._lock:
            for at in [at for at in self._read if at[1] == key]:
                del self._read[at]
            self._tails.pop(key, None)
            self._tail = None
            if self._look is not None:
                self._look.forget(key)

    def corpus(self, database: Database, wanted: Wanted) -> tuple[Corpus, Query] | None:
        """What may answer a question, and the question as it was read; None where everything is to be searched."""
        looker = self._looker(database)
        if looker is None:
            return None
        mended: dict[Block, tuple[int, Segment]] = {}
        try:
            return self._nominated(database, looker, wanted, mended)
        except full_text.DamagedError:
            wanted.repair()
            return None
        finally:
            for (key, first, _), (epoch, segment) in mended.items():
                wanted.mend(key, epoch, first, segment)

    def _nominated(
        self, database: Database, looker: Looker, wanted: Wanted, mended: dict[Block, tuple[int, Segment]]
    ) -> tuple[Corpus, Query] | None:
        from infold.recall.corpus import Corpus
        from infold.recall.nominees import cut
        from infold.recall.query import read

        large = looker.large if self.large is None else self.large
        with database.read() as connection:
            if passages.size(connection, wanted.scope) <= large:
                return None
            places = passages.places(connection, self._maker, wanted.scope)
            if places is None or BLOCK * sum(len(place.blocks) for place in places) <= large:
                return None
            epochs = {place.key: place.epoch for place in places}
            reading = functools.partial(self._blocks, epochs, mended)
            names = looker.speakers(Site(connection, wanted.scope, places, reading))
            parts = [self._unread(connection, place) for place in places]
        tails = [self._laid_out(place, *part) for place, part in zip(places, parts, strict=True)]
        names |= {name for tail in tails for *_, found in tail for name in found.speakers}
        query = wanted.read(tuple(sorted(names)))
        questions = [wanted.ask(query)]
        if query.times.event:
            questions.append(wanted.ask(read(query.times.event.text)))
        keys = {place.key: place.blocks for place in places}
        chosen: dict[Block, set[int]] = {}
        shares: dict[int, float] = {}
        with database.read() as connection:
            site = Site(connection, wanted.scope, places, reading)
            for asked in questions:
                nominees = looker.best(site, asked, self.most // len(questions))
                shares |= nominees.shares
                for key, first, at in nominees.stretches:
                    chosen.setdefault((key, first, keys[key][first]), set()).add(at)
            found = reading(connection, sorted(chosen))
        pieces = self._of_tails(places, tails, questions, wanted.scope)
        for block, segment in found.items():
            edges = cut(segment, chosen[block], looker.most)
            pieces[block[0]].append((block[1], block[1] + BLOCK - 1, segment, edges))
        return _joined(pieces, Corpus(shares)), query

    def _of_tails(
        self, places: Sequence[Place], tails: Sequence[Sequence[Piece]], questions: Sequence[Asked], scope: Scope
    ) -> dict[int, list[Cut]]:
        """What of the messages that are in no block is ranked, by chat: all of it, or of very much what promises most."""
        from infold.recall.nominees import STRETCH, cut
        from infold.recall.sketch import Tail

        most = self.most // 4
        if sum(len(segment.seq) for tail in tails for *_, segment in tail) <= most * STRETCH:
            return {
                place.key: [(first, last, segment, [(0, len(segment.seq))]) for first, last, segment in tail]
                for place, tail in zip(places, tails, strict=True)
            }
        numbered = [(place.key, *piece) for place, tail in zip(places, tails, strict=True) for piece in tail]
        known = {(key, first, -1 - at): segment for at, (key, first, _, segment) in enumerate(numbered)}
        with self._lock:
            kept = self._tail
        made_of = list(known.values())
        if kept is None or [*map(id, kept[0])] != [*map(id, made_of)]:
            kept = (made_of, Tail.of(known, MOST))
            with self._lock:
                self._tail = kept
        chosen: dict[tuple[int, int], set[int]] = {}
        for asked in questions:
            for key, first, number in kept[1].best(asked, scope.since, scope.until, most // len(questions)):
                chosen.setdefault((key, first), set()).add(number)
        found: dict[int, list[Cut]] = {place.key: [] for place in places}
        for key, first, last, segment in numbered:
            if (key, first) in chosen:
                found[key].append((first, last, segment, cut(segment, chosen[key, first], MOST)))
        return found

    def _looker(self, database: Database) -> Looker | None:
        if not database.backend.nominates:
            return None
        with self._lock:
            if self._look is None:
                self._look = ByFullText() if isinstance(database.backend, Sqlite) else ByPassages(self._maker)
            return self._look

    def _blocks(
        self,
        epochs: Mapping[int, int],
        mended: dict[Block, tuple[int, Segment]],
        connection: Connection,
        wanted: Sequence[Block],
    ) -> dict[Block, Segment]:
        """Blocks, from memory where they are there; those that were damaged are made again, and are among the mended."""
        with self._lock:
            known = {block: self._read.get((epochs[block[0]], *block)) for block in wanted}
        missing = {block[:2]: block for block, segment in known.items() if segment is None}
        for key, first, data in passages.blocks(connection, self._maker, missing) if missing else ():
            segment = self._unpacked(data)
            if segment is None:
                segment = self._segment(store.messages_between(connection, key, first, first + BLOCK - 1))
                mended[missing[key, first]] = (epochs[key], segment)
            known[missing[key, first]] = segment
        with self._lock:
            for block, segment in known.items():
                if segment is not None:
                    self._read[epochs[block[0]], *block] = segment
                    self._read.move_to_end((epochs[block[0]], *block))
            while len(self._read) > _BLOCKS:
                self._read.popitem(last=False)
        return {block: segment for block, segment in known.items() if segment is not None}

    def _unread(self, connection: Connection, place: Place) -> tuple[dict[int, Piece], dict[int, list[Message]]]:
        """Of what is in no block, by where its block will begin: what is laid out already, and the other messages."""
        with self._lock:
            tail = self._tails.get(place.key)
            kept = dict(tail.parts) if tail and tail.epoch == place.epoch else {}
        made = place.blocks
        parts: dict[int, Piece] = {}
        fresh: dict[int, list[Message]] = {}
        for start in range(1, place.last + 1, BLOCK):
            if start in made:
                continue
            end = min(start + BLOCK - 1, place.last)
            if start in kept:
                parts[start] = kept[start]
            upto = kept[start][1] if start in kept else start - 1
            if upto < end:
                fresh[start] = store.messages_between(connection, place.key, upto + 1, end)
        return parts, fresh

    def _laid_out(self, place: Place, parts: dict[int, Piece], fresh: dict[int, list[Message]]) -> list[Piece]:
        from infold.recall.segment import Segment

        for start, messages in fresh.items():
            if messages:
                segment = self._segment(messages)
                if start in parts:  # as one, so that it does not matter when each was laid out
                    known = parts[start][2]
                    segment = Segment.joined([(one, [(0, len(one.seq))]) for one in (known, segment)])
                parts[start] = (start, messages[-1].seq, segment)
        with self._lock:
            self._tails[place.key] = _Tail(place.epoch, parts)
            self._tails.move_to_end(place.key)
            size = sum(tail.size for tail in self._tails.values()) if fresh else 0
            while size > _KEPT and len(self._tails) > 1:
                size -= self._tails.popitem(last=False)[1].size
        return [parts[start] for start in sorted(parts)]


def _joined(pieces: Mapping[int, Sequence[Cut]], corpus: Corpus) -> Corpus:
    """A corpus with pieces of chats in it."""
    import numpy as np

    from infold.recall.segment import Segment

    parts: list[tuple[Segment, list[tuple[int, int]]]] = []
    chats: list[int] = []
    apart: list[int] = []
    size = 0
    for key, cuts in pieces.items():
        before, ends = size, -1
        for first, last, segment, edges in sorted(cuts, key=lambda one: one[0]):
            parts.append((segment, edges))
            for start, end in edges:
                begins = int(segment.seq[start]) if start else first
                if begins != ends + 1:
                    apart.append(size)
                size += end - start
                ends = int(segment.seq[end - 1]) if end < len(segment.seq) else last
        chats += [key] * (size - before)
    if parts:
        corpus.extend(Segment.joined(parts), np.array(chats, np.int64), apart=apart)
    return corpus
