"""Of a named chat: whether its client sends all of it each time, as most do, and which branches it has.

Who sends all of it, and now something that was never said, says no more but begins anew: much as before, if it was edited.
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
_MOST_FAMILY = 16  # branches of a named chat in which the end of a request is looked for
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


def note_branch(connection: Connection, key: int, of: int, scope: str) -> None:
    """Note that a client has begun a branch of a chat."""
    for one in (key, of):
        known.lead_to(connection, one, scope)


def family(connection: Connection, chat: known.Found, scope: str) -> list[known.Found]:
    """A named chat and the branches that its clients have begun, the one that was spoken in last first."""
    row = store.chat_by_key(connection, chat.key)
    found = known.led_to(connection, scope, row.root, _MOST_FAMILY) if row else []
    return found if any(one.key == chat.key for one in found) else [*found, chat]


def sends_all(connection: Connection, scope: str) -> bool:
    """Whether clients of this chat are known to do so."""
    return bool(known.found(connection, scope, _SENDS_ALL, 1))


def is_edited(connection: Connection, chat: Chat, scope: str, messages: Sequence[Message]) -> bool:
    """Whether a request is the beginning of a chat in other words."""
    if not messages or not sends_all(connection, scope):
        return False
    first = store.messages_between(connection, chat.key, 1, 1)
    return bool(first) and _alike(first[0].text.split()[:_WORDS], messages[0].text.split()[:_WORDS])


def _alike(ours: list[str], theirs: list[str]) -> bool:
    return SequenceMatcher(None, ours, theirs, autojunk=False).ratio() >= _ALIKE
