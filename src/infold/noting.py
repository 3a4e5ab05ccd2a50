"""What messages say of facts and entities, noted when they are folded."""

from __future__ import annotations

from collections.abc import Sequence

from infold import entities, facts
from infold.folding.extractive import extract
from infold.folding.likeness import alike, words
from infold.items import Candidate, Item
from infold.ledger import derived, store
from infold.ledger.store import Connection
from infold.messages import Message

BATCH = 256
"""Messages that are read at once where an earlier version left them unread."""
_KIND = {"facts": "fact", "goals": "goal", "decisions": "decision", "open": "commitment", "artifacts": "artifact"}


def note(connection: Connection, key: int, chat: str, messages: Sequence[Message]) -> None:
    """Note what some messages state, and what they say of entities."""
    note_facts(connection, key, chat, messages)
    for message in messages:
        found = extract(message)  # read once: it is remembered
        derived.note_mentions(connection, key, None, entities.read(message, found, chat))
    if messages:
        derived.set_read_to(connection, key, messages[-1].seq)


def note_facts(connection: Connection, key: int, chat: str, messages: Sequence[Message]) -> None:
    """Note once more what some messages state, as `note` did."""
    for message in messages:
        found = extract(message)
        if found:
            derived.note_facts(connection, key, facts.read(message, found, chat))


def note_written(
    connection: Connection, key: int, chat: str, messages: Sequence[Message], items: Sequence[Item]
) -> None:
    """Note what a model's lines state beyond what was read from their messages without it."""
    by_seq = {message.seq: message for message in messages}
    for item in items:
        message = by_seq.get(item.sources[-1]) if item.sources else None
        if message is None or not item.rewrites or item.section not in _KIND:
            continue
        said = words(item.text)
        if any(alike(said, words(known.text)) for known in extract(message)):
            continue
        line = Candidate(
            item.section, item.text, item.sources, confidence=item.confidence, kind=_KIND[item.section], said=item.text
        )
        derived.note_facts(connection, key, facts.read(message, [line], chat))


def catch_up(connection: Connection, key: int, chat: str) -> bool:
    """Note some of what was folded but never read; False where nothing is left."""
    upto, cursor = derived.read_to(connection, key)
    if upto >= cursor:
        return False
    note(connection, key, chat, store.messages_between(connection, key, upto + 1, min(cursor, upto + BATCH)))
    return True


def repair(connection: Connection, key: int, chat: str, damaged: Sequence[bytes]) -> None:
    """Read damaged facts again from the messages of the chat."""
    derived.delete_facts(connection, key, damaged)
    _, cursor = derived.read_to(connection, key)
    gone = set(damaged)
    for first in range(1, cursor + 1, BATCH):
        for message in store.messages_between(connection, key, first, min(cursor, first + BATCH - 1)):
            found = extract(message)
            again = [one for one in facts.read(message, found, chat) if one.digest in gone] if found else []
            derived.note_facts(connection, key, again)
