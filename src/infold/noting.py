"""What messages say of facts and entities, noted when they are folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from infold import entities, facts
from infold.folding.across import REACH, Earlier, extract_each
from infold.folding.extractive import extract
from infold.folding.likeness import alike, words
from infold.folding.overturning import Claim
from infold.items import Candidate, Item
from infold.ledger import derived, mentions, store
from infold.ledger.erasure import delete_mentions_at
from infold.ledger.query import Connection
from infold.ledger.rows import ChatRow
from infold.marks import REMOVED, UNREADABLE
from infold.messages import Message

BATCH = 256
"""Messages that are read at once where an earlier version left them unread."""
Read = tuple[Message, list[Candidate]]
"""A message, and what it states."""
_KIND = {"facts": "fact", "goals": "goal", "decisions": "decision", "open": "commitment", "artifacts": "artifact"}


def earlier(connection: Connection, key: int) -> Earlier:
    """What comes before a message of a chat, read only where a message does not tell whom it speaks of."""
    return lambda seq: store.messages_between(connection, key, seq - REACH, seq - 1)


def _read(connection: Connection, key: int, messages: Sequence[Message]) -> Iterator[Read]:
    """Messages of a chat, each with what it states."""
    return zip(messages, extract_each(messages, earlier(connection, key)), strict=True)


def read_ahead(message: Message, chat: str) -> Iterator[None]:
    """Read a message now, a step at a time, so that a fold, the bridge or the gate finds it read."""
    found = extract(message)
    yield
    entities.read(message, found, chat)
    yield
    for candidate in found:
        Claim.of(candidate)  # most of what a fold asks of it, and remembers


def note(connection: Connection, key: int, chat: str, messages: Sequence[Message]) -> None:
    """Note what some messages state, and what they say of entities."""
    read = list(_read(connection, key, messages))
    _note_facts(connection, key, chat, read)
    _note_mentions(connection, key, chat, read)
    if messages:
        derived.set_read_to(connection, key, messages[-1].seq)


def note_mentions(connection: Connection, key: int, chat: str, messages: Sequence[Message]) -> None:
    """Note what some messages say of entities."""
    _note_mentions(connection, key, chat, _read(connection, key, messages))


def note_facts(connection: Connection, key: int, chat: str, messages: Sequence[Message]) -> None:
    """Note what some messages state; of what is noted already, nothing changes."""
    _note_facts(connection, key, chat, _read(connection, key, messages))


def _note_facts(connection: Connection, key: int, chat: str, read: Iterable[Read]) -> None:
    stated = [statement for message, found in read if found for statement in facts.read(message, found, chat)]
    derived.note_facts(connection, key, stated)


def _note_mentions(connection: Connection, key: int, chat: str, read: Iterable[Read]) -> None:
    said = [mention for message, found in read for mention in entities.read(message, found, chat)]
    mentions.note_mentions(connection, key, None, said)


def note_written(
    connection: Connection, key: int, chat: str, messages: Sequence[Message], items: Sequence[Item]
) -> None:
    """Note what a model's lines state beyond what was read from their messages without it."""
    by_seq = {message.seq: message for message in messages}
    read = {message.seq: found for message, found in _read(connection, key, messages)}
    for item in items:
        message = by_seq.get(item.sources[-1]) if item.sources else None
        if message is None or not item.rewrites or item.section not in _KIND:
            continue
        said = words(item.text)
        if any(alike(said, words(known.text)) for known in read[message.seq]):
            continue
        line = Candidate(
            item.section, item.text, item.sources, confidence=item.confidence, kind=_KIND[item.section], said=item.text
        )
        derived.note_facts(connection, key, facts.read(message, [line], chat))


def catch_up(connection: Connection, key: int, chat: str, folded: Sequence[Message] = ()) -> bool:
    """Note some of what was folded but never read; False where nothing is left. `folded` are messages that are at hand."""
    upto, cursor = derived.read_to(connection, key)
    if upto >= cursor:
        return False
    first, last = upto + 1, min(cursor, upto + BATCH)
    if not folded or (folded[0].seq, folded[-1].seq) != (first, last):
        folded = store.messages_between(connection, key, first, last)
    note(connection, key, chat, folded)
    return True


def rewound(connection: Connection, key: int, chat: str, cursor: int) -> None:
    """Take back what was noted of messages after a position."""
    again = derived.forget_after(connection, key, cursor)
    note_facts(connection, key, chat, store.messages_at(connection, key, sorted(again)))
    upto, _ = derived.read_to(connection, key)
    derived.set_read_to(connection, key, min(upto, cursor))


def renote_after(connection: Connection, row: ChatRow, seqs: Sequence[int]) -> None:
    """Note again what is said of entities by the messages after some that changed: their names may come from those."""
    after = {seq + more for seq in seqs for more in range(1, REACH + 1)}.difference(seqs)
    _mentions_again(connection, row, [seq for seq in after if seq <= row.read_to])


def _mentions_again(connection: Connection, row: ChatRow, seqs: Sequence[int]) -> None:
    messages = store.messages_at(connection, row.key, sorted(seqs))
    again = [message for message in messages if message.content not in (REMOVED, UNREADABLE)]
    delete_mentions_at(connection, row.key, [message.seq for message in again])
    note_mentions(connection, row.key, row.id, again)


def repair(connection: Connection, damaged: Sequence[mentions.Damaged]) -> None:
    """Read facts and mentions of chats with damaged rows again from their messages."""
    for chat in dict.fromkeys(chat for chat, _ in damaged):
        row = store.chat_by_id(connection, chat)
        if row is None:
            continue
        facts_of = [which for of, which in damaged if of == chat and isinstance(which, bytes)]
        derived.delete_facts(connection, row.key, facts_of)
        for first in range(1, row.read_to + 1 if facts_of else 1, BATCH):
            last = min(row.read_to, first + BATCH - 1)
            note_facts(connection, row.key, chat, store.messages_between(connection, row.key, first, last))
        _mentions_again(
            connection, row, list({which for of, which in damaged if of == chat and isinstance(which, int)})
        )
        store.bump(connection, row.key)
        derived.next_epoch(connection, row.key)
