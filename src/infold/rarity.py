"""How rare the words of a question are in what was folded: whether it may ask for that. Without vectors."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from infold.ledger import derived, store
from infold.ledger.derived import BLOCK
from infold.ledger.query import Connection
from infold.sayings import text_of

if TYPE_CHECKING:
    from infold.ledger.rows import ChatRow
    from infold.recall.segment import Segment

_KEPT = 256
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


@dataclass(slots=True)
class _Words:
    """In how many folded messages of a chat each word stands."""

    epoch: int
    upto: int = 0
    counts: Counter[int] = field(default_factory=Counter)


class Rarity:
    """Counts the words of chats as they grow. Threads may share it."""

    def __init__(self, maker: str, unpacked: Callable[[bytes], Segment | None]) -> None:
        self._maker = maker
        self._unpacked = unpacked
        # Of its own: it is taken by those who hold the database, and whoever has recall's may want that.
        self._lock = threading.Lock()
        self._chats: OrderedDict[int, _Words] = OrderedDict()

    def forget(self, key: int) -> None:
        """Drop what is kept of a chat."""
        with self._lock:
            self._chats.pop(key, None)

    def rare(self, connection: Connection, row: ChatRow, question: str) -> int:
        """How many words of a question few folded messages of a chat have, but some: it may ask for those.

        Cheap, and without vectors: it is asked of every message that looks like a question.
        """
        from infold.recall.words import term, words

        wanted = {term(word) for word in words(question) if word not in _COURTESY and not _is_small(word)}
        if not wanted:
            return 0
        with self._lock:
            known = self._counted(connection, row)
        most = max(2, known.upto // 100)
        return sum(0 < known.counts[number] <= most for number in wanted)

    def _counted(self, connection: Connection, row: ChatRow) -> _Words:
        from infold.recall.words import term, words

        key, epoch, cursor = row.key, row.epoch, row.cursor
        known = self._chats.get(key)
        if known is not None and known.epoch == epoch and known.upto == cursor:
            return known
        if known is None or known.epoch != epoch or known.upto > cursor:
            known = self._chats[key] = _Words(epoch)
        self._chats.move_to_end(key)
        if cursor - known.upto > 2 * BLOCK:
            for first, data in derived.blocks(connection, key, self._maker, known.upto + 1):
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
        while len(self._chats) > _KEPT:
            self._chats.popitem(last=False)
        return known
