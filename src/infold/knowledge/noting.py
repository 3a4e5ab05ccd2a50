"""What messages say that lasts, and of entities, noted when they are folded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from infold.knowledge.mentions import read as mentions_of
from infold.ledger import derived, mentions, stated, store
from infold.ledger.erasure import delete_mentions_at
from infold.ledger.query import Connection
from infold.ledger.rows import ChatRow
from infold.lines.facts import notable
from infold.lines.line import Line
from infold.lines.merging import quotation
from infold.marks import REMOVED, UNREADABLE
from infold.messages import Message
from infold.quoting.candidate import Candidate
from infold.quoting.history import read_all
from infold.quoting.reading import REACH

BATCH = 256
"""Messages that are read at once where an earlier version left them unread."""


def candidates(connection: Connection, key: int, messages: Sequence[Message]) -> list[tuple[Candidate, ...]]:
    """What each of some messages of a chat may be quoted for. They follow each other."""
    if not messages:
        return []
    first = messages[0].seq
    return read_all(messages, store.messages_between(connection, key, first - REACH, first - 1))


def note(connection: Connection, key: int, chat: str, messages: Sequence[Message]) -> None:
    """Note what some messages state that lasts, and what they say of entities. They follow each other."""
    read = note_stated(connection, key, messages)
    said = [
        mention for message, found in zip(messages, read, strict=True) for mention in mentions_of(message, found, chat)
    ]
    mentions.note_mentions(connection, key, None, said)
    if messages:
        derived.set_read_to(connection, key, messages[-1].seq)


def note_stated(connection: Connection, key: int, messages: Sequence[Message]) -> list[tuple[Candidate, ...]]:
    """Note what some messages state that lasts; gives what each of them may be quoted for."""
    read = candidates(connection, key, messages)
    own = [[one for one in found if one.role == "user"] for found in read]
    every = [quotation(candidate) for found in own for candidate in _single(found)]
    stated.note(connection, key, [line for line in every if notable(line)])
    return read


def _single(found: Sequence[Candidate]) -> list[Candidate]:
    """Candidates less those that hold another one: of two sentences, each is a fact by itself."""

    def holds(one: Candidate, other: Candidate) -> bool:
        outer, inner = one.places[-1], other.places[-1]
        within = outer.seq == inner.seq and outer.start <= inner.start and inner.end <= outer.end
        return within and outer != inner

    return [one for one in found if not any(holds(one, other) for other in found)]


def note_written(connection: Connection, key: int, written: Iterable[Line]) -> None:
    """Note the lines of a model that last."""
    lasting = [line for line in written if line.rewrites and line.sources and line.section in ("facts", "goals")]
    stated.note(connection, key, lasting)


def catch_up(connection: Connection, key: int, chat: str) -> bool:
    """Note some of what was folded but never read; False where nothing is left."""
    upto, cursor = derived.read_to(connection, key)
    if upto >= cursor:
        return False
    note(connection, key, chat, store.messages_between(connection, key, upto + 1, min(cursor, upto + BATCH)))
    return True


def rewound(connection: Connection, key: int, cursor: int) -> None:
    """Take back what was noted of messages after a position."""
    derived.forget_after(connection, key, cursor)
    upto, _ = derived.read_to(connection, key)
    derived.set_read_to(connection, key, min(upto, cursor))


def renote(connection: Connection, row: ChatRow, seqs: Iterable[int]) -> tuple[int, int]:
    """Note again what some messages say, which were changed, and those after them, which may rest on them; how many facts and
    mentions of the changed ones went."""
    changed = set(seqs)
    facts, said = stated.forget_at(connection, row.key, changed), delete_mentions_at(connection, row.key, changed)
    upto, _ = derived.read_to(connection, row.key)
    after = sorted({seq + more for seq in changed for more in range(REACH + 1) if seq + more <= upto})
    again = [one for one in store.messages_at(connection, row.key, after) if one.content not in (REMOVED, UNREADABLE)]
    stated.forget_at(connection, row.key, (message.seq for message in again))
    delete_mentions_at(connection, row.key, (message.seq for message in again))
    for message in again:
        note(connection, row.key, row.id, [message])
    derived.set_read_to(connection, row.key, upto)
    return facts, said


def repair(connection: Connection, damaged: Sequence[mentions.Damaged]) -> None:
    """Read again from their messages what damaged rows said."""
    for chat in dict.fromkeys(chat for chat, _ in damaged):
        row = store.chat_by_id(connection, chat)
        if row is None:
            continue
        renote(connection, row, [seq for of, seq in damaged if of == chat])
        store.bump(connection, row.key)
        derived.next_epoch(connection, row.key)
