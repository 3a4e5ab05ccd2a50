"""Transactions that come with a chat's state."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from infold.ledger.query import Connection
from infold.state import State

if TYPE_CHECKING:
    from infold.handle import Handle


class Access:
    """A transaction together with the chat's fresh state; a failed one forgets the state it may have changed."""

    __slots__ = ("_chat", "_transaction")

    def __init__(self, chat: Handle, transaction: AbstractContextManager[Connection]) -> None:
        self._chat = chat
        self._transaction = transaction

    def __enter__(self) -> tuple[Connection, State]:
        chat = self._chat
        chat.lock.acquire()  # the state is one for all threads that use this chat
        try:
            connection = self._transaction.__enter__()
            try:
                state = chat.cache = chat.load(connection, chat.cache)
            except BaseException as error:
                chat.cache = None
                self._transaction.__exit__(type(error), error, error.__traceback__)
                raise
        except BaseException:
            chat.lock.release()
            raise
        return connection, state

    def __exit__(self, *error: Any) -> None:
        chat = self._chat
        try:
            if error[0] is not None:
                chat.cache = None
            self._transaction.__exit__(*error)
        except BaseException:
            chat.cache = None
            raise
        finally:
            chat.lock.release()
