"""Chats that begin with their first messages: where those are refused, there is no chat."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from infold.errors import InfoldError
from infold.ledger import store

if TYPE_CHECKING:
    from infold.chat import Chat


@contextmanager
def beginning(chat: Chat, *, new: bool) -> Iterator[None]:
    """Around the first messages of a chat that is new; if they cannot be added, it goes again."""
    try:
        yield
    except BaseException:
        if new:
            with suppress(InfoldError):  # the first error is the one to tell
                _discard(chat)
        raise


def _discard(chat: Chat) -> None:
    """Remove a chat that nobody has said anything in."""
    with chat.writing() as (connection, state):
        if not state.row.last_seq:
            store.delete_chat(connection, state.row.key)
            chat.cache = None
