"""Whether a client of a named chat sends all of it each time, as most do: what it has sent before tells.

A request without any reply is then no message more, but the chat begun anew: if it begins much as before, it was edited.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING

from infold.ledger import prefixes as known
from infold.ledger import store

if TYPE_CHECKING:
    from infold.chat import Chat
    from infold.ledger.query import Connection
    from infold.messages import Message

_SENDS_ALL = hashlib.sha256(b"sends all").digest()
_FEW = 3  # turns that a client has sent again when it is noted: once is enough
_WORDS = 400  # that are compared
_ALIKE = 0.5  # share of words that an edited message keeps


def turns_again(messages: Sequence[Message], *, new: bool) -> bool:
    """Whether a request has a reply and what was said to it: in a new chat, or one for the first times."""
    turns = sum(before.role == "assistant" and message.role == "user" for before, message in pairwise(messages))
    return turns > 0 and (new or turns <= _FEW)


def note(connection: Connection, chat: Chat, scope: str) -> None:
    """Note that a client sends all of a chat."""
    known.put(connection, chat.key, scope, _SENDS_ALL, 0)


def is_edited(connection: Connection, chat: Chat, scope: str, messages: Sequence[Message]) -> bool:
    """Whether a request without any reply is the beginning of a chat in other words."""
    if not messages or not known.found(connection, scope, _SENDS_ALL, 1):
        return False
    first = store.messages_between(connection, chat.key, 1, 1)
    return bool(first) and _alike(first[0].text.split()[:_WORDS], messages[0].text.split()[:_WORDS])


def _alike(ours: list[str], theirs: list[str]) -> bool:
    return SequenceMatcher(None, ours, theirs, autojunk=False).ratio() >= _ALIKE
