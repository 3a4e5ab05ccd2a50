"""Branches: a chat that goes on differently from some message on, and shares what was folded before."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from infold.chat import Chat
from infold.committing import rewind
from infold.errors import DuplicateIdError, NotFoundError
from infold.knowledge.noting import return_to
from infold.ledger import journal, prefixes, store
from infold.ledger.rows import Event
from infold.state import load

if TYPE_CHECKING:
    from infold.ledger.query import Connection
    from infold.memory import Memory


def branch(
    memory: Memory, chat: str, seq: int, id: str, *, beside: Callable[[Connection, int], None] | None = None
) -> Chat:
    """A new chat with the messages of another one up to a position, and with its memory as it was then. `beside` is called
    last, with the key of the new chat; if it raises, there is no branch."""
    with memory.database.write() as connection:
        connection.alone(f"chat {id}")
        source = store.chat_by_id(connection, chat)
        if source is None:
            raise NotFoundError(f"there is no chat {chat!r}")
        if store.chat_by_id(connection, id) is not None:
            raise DuplicateIdError(f"there is a chat {id!r} already; give the branch another id")
        now = memory.clockwork.now()
        key = prefixes.copy_chat(connection, source.key, id, zlib.crc32(f"{id}\0{now}".encode()) << 16)
        state = load(connection, key, None)
        assert state is not None, "it was written in this transaction"
        if seq < source.last_seq:
            rewind(connection, state, seq)
        row = store.chat_by_key(connection, key)
        assert row is not None
        return_to(connection, row)
        event = Event("branched", now, {"from": chat, "at": seq}, id)
        journal.insert_event(connection, key, event)
        if beside is not None:
            beside(connection, key)
    memory.emit([event])
    return Chat(memory, key, id, False)
