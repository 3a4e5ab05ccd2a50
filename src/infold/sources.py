"""What a line of memory rests on: its messages, with their hashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from infold.errors import ConfigError, NotFoundError
from infold.ledger import store
from infold.ledger.query import Connection
from infold.lines.line import Line
from infold.marks import REMOVED, UNREADABLE
from infold.state import State


@dataclass(frozen=True, slots=True)
class Source:
    """One message that a line rests on."""

    seq: int
    """Position in the chat."""
    id: str
    said_by: str
    """The speaker's name, or the role of who has none."""
    said_at: int
    """Milliseconds since 1970."""
    sha256: str
    """Of the message as it was added."""
    quote: str
    """The words of it that the line rests on; all of it where nobody noted which. Empty where they were removed."""
    removed: bool
    """Whether retention removed the message's words: its hash is what is left."""


def line_of(state: State, line: str | Line, facts: Sequence[Line]) -> Line:
    """A line of a chat, which is given itself or by its id."""
    if not isinstance(line, str | Line):
        raise ConfigError(f"a line is given by itself or by its id, not as {line!r}")
    wanted = line if isinstance(line, str) else line.id
    known = next((one for one in (*state.pins, *state.lines, *facts) if one.id == wanted), None)
    if known is None:
        raise NotFoundError(
            f"this chat's memory has no line {wanted[:200]!r}; chat.memory.items and chat.facts list them"
        )
    return known


def sources_of(connection: Connection, state: State, known: Line) -> list[Source]:
    """The sources of a line."""
    found: list[Source] = []
    for message in store.messages_at(connection, state.row.key, known.sources):
        (sha256,) = store.message_hashes(connection, state.row.key, message.seq, message.seq)
        removed = message.content in (REMOVED, UNREADABLE)
        parts = [message.text[place.start : place.end] for place in known.places if place.seq == message.seq]
        quote = "" if removed else " … ".join(parts) or message.text
        found.append(
            Source(
                message.seq, message.id, message.name or message.role, message.created_at, sha256.hex(), quote, removed
            )
        )
    return found
