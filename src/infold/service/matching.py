"""How far a proxied request and a chat agree: from the start by digests, from there or in the midst message by message."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from infold.ledger import prefixes as known
from infold.ledger import store
from infold.marks import REMOVED, UNREADABLE
from infold.redaction import is_redacted, redacted, trace
from infold.service.wire import START, identity, prefixes, reasoning, silent

if TYPE_CHECKING:
    from infold.chat import Chat
    from infold.ledger.query import Connection
    from infold.messages import Message

_MOST_PART = 1000  # messages at the end of a chat among which a request may begin
_MOST_CUT = 4  # replies in a row that were cut
_MOST_FORGETFUL = 8  # chats with forgotten messages in which a request that nobody knows is looked for
_TELLING = 48  # characters that such a chat and the request must have in common
_AHEAD = 16  # silent messages that the ledger may have beyond what a client sends


@dataclass(frozen=True, slots=True)
class Match:
    """How far a request and a chat agree."""

    key: int
    id: str
    seq: int
    """The last position of the chat that the request has too."""
    sent: int
    """Messages of the request that the chat has."""
    ends: bool
    """Whether the chat has nothing beyond."""
    common: int
    """Characters of what was compared and is the same."""
    replied: bool
    """Whether a reply is among it."""
    gone: bool
    """Whether the chat has no words any more of some of it."""
    changed: bool
    """Whether the client has some of it in other words than the chat."""
    digest: bytes = b""
    """Of those messages of the request, where they are all that the chat has so far."""


def response(id: str) -> bytes:
    """The digest that a response or conversation goes by, for clients that name it instead of sending the chat again."""
    return hashlib.sha256(f"response {id}".encode("utf-8", "surrogatepass")).digest()


def cut(before: bytes) -> bytes:
    """The digest that a reply which was cut short goes by, whatever a client has of it: that of all before it."""
    return hashlib.sha256(b"cut " + before).digest()


def matches(connection: Connection, scope: str, messages: Sequence[Message]) -> list[Match]:
    """The chats with the longest known beginning that ends with a reply."""
    digests = prefixes(messages)
    replies = [at for at, message in enumerate(messages) if message.role == "assistant" and not reasoning(message)]
    low, found = longest(connection, scope, [digests[at] for at in replies])
    best: list[Match] = []
    # What follows the last known one may be replies that were cut, several in a row: the last of them tells of all.
    for at in reversed(replies[low : low + _MOST_CUT]):
        best = best or _cut_short(connection, scope, messages, at, digests)
    if found and not best:
        sent = replies[low - 1] + 1
        while sent < len(messages) and silent(messages[sent]):
            sent += 1
        best = [compared(connection, at, messages, sent) for at in found]
    if replies and all(match.sent <= replies[-1] for match in best):
        best += _forgetful(connection, scope, messages)
    # What was forgotten must leave no digest.
    return [match if match.gone else replace(match, digest=digests[match.sent - 1]) for match in best]


def _forgetful(connection: Connection, scope: str, messages: Sequence[Message]) -> list[Match]:
    """The chat that has the beginning of a request, but for what it has forgotten: no digest tells of that."""
    some = known.forgotten(connection, scope, _MOST_FORGETFUL)
    begun = [compared(connection, at._replace(seq=0), messages, 0) for at in some]
    telling = [match for match in begun if match.gone and match.replied and match.common >= _TELLING]
    return sorted(telling, key=lambda match: -match.sent)[:1]


def longest(connection: Connection, scope: str, digests: Sequence[bytes]) -> tuple[int, list[known.Found]]:
    """How many of the digests of ever longer beginnings are known, and where the last of those ends."""
    # Whoever knows a beginning knows every shorter one: the last one is nearly always it, else it is found by halves.
    low, high = 0, len(digests)  # digests[:low] are known, digests[high:] are not
    found: list[known.Found] = []
    probe = high - 1
    while low < high:
        rows = known.found(connection, scope, digests[probe])
        if rows:
            low, found = probe + 1, rows
        else:
            high = probe
        probe = (low + high) // 2
    return low, found


def _cut_short(
    connection: Connection, scope: str, messages: Sequence[Message], at: int, digests: Sequence[bytes]
) -> list[Match]:
    """The chats that have the reply at this place too, but cut off earlier or later than the client has it."""
    found = known.found(connection, scope, cut(digests[at - 1] if at else START))
    return [
        compared(connection, end, messages, at + 1)
        for end in found
        if any(_is_same_cut(one, messages[at]) for one in store.messages_between(connection, end.key, end.seq, end.seq))
    ]


def brought_cut(connection: Connection, match: Match, messages: Sequence[Message]) -> bool:
    """Whether a chat has a reply that was cut short but for its last words."""
    stored = store.messages_between(connection, match.key, match.seq + 1, match.seq + 1)
    return match.sent == len(messages) - 1 and any(_is_same_cut(one, messages[-1]) for one in stored)


def _is_same_cut(one: Message, other: Message) -> bool:
    """Whether one of two messages may be the beginning of the other."""
    if any(message.role != "assistant" or message.tool_calls or reasoning(message) for message in (one, other)):
        return False
    return one.text.startswith(other.text) or other.text.startswith(one.text)


def overlapping(connection: Connection, chats: Sequence[known.Found], messages: Sequence[Message]) -> Match | None:
    """Where a request begins in the midst of one of these chats: some clients send only its end."""
    near = min(len(messages), _MOST_PART) + _AHEAD
    # Who goes back some turns sends a reply that is further away; who sends none, only what is new.
    for far in (near, _MOST_PART + _AHEAD) if any(message.role == "assistant" for message in messages) else (near,):
        found = [_overlapping(connection, chat, far, messages) for chat in chats]
        if best := max((match for match in found if match), key=lambda match: (match.sent, match.ends), default=None):
            return best
    return None


def _overlapping(connection: Connection, chat: known.Found, far: int, messages: Sequence[Message]) -> Match | None:
    first = max(1, chat.last - far)
    stored = store.messages_between(connection, chat.key, first, chat.last)
    opening = next((identity(message) for message in messages if not silent(message)), None)
    best: Match | None = None
    for at, message in enumerate(stored):
        if silent(message) or identity(message) != opening:
            continue
        walk = _Walk(messages, 0, message.seq - 1)
        found = walk.match(connection, chat, ends=walk.goes_over(stored[at:]))
        # One message may well be said twice; with a reply to it, hardly.
        if (found.ends or found.replied) and (best is None or (found.ends, found.sent) > (best.ends, best.sent)):
            best = found
    return best


def position(connection: Connection, chat: Chat, seq: int) -> known.Found:
    """A position of a chat as it is now."""
    row = store.chat_by_key(connection, chat.key)
    return known.Found(chat.key, seq, chat.id, row.last_seq if row else 0)


def compared(connection: Connection, start: known.Found, messages: Sequence[Message], sent: int) -> Match:
    """Go on comparing after a position that both have."""
    walk = _Walk(messages, sent, start.seq)
    while True:
        upto = min(start.last, walk.seq + len(messages) - sent + _AHEAD)
        stored = store.messages_between(connection, start.key, walk.seq + 1, upto) if walk.seq < start.last else []
        if not stored:
            return walk.match(connection, start, ends=True)
        if not walk.goes_over(stored):
            return walk.match(connection, start, ends=False)


class _Walk:
    """Compares a chat with a request, message by message.

    A chat may have no words of a message any more: it was forgotten, or removed by retention. And clients change what a user said,
    such as texts that they looked up for it. Then what follows tells whether it is the same.
    """

    def __init__(self, messages: Sequence[Message], sent: int, seq: int) -> None:
        self.seq = seq
        """The last position that was looked at."""
        self._messages = messages
        self._begun = sent
        self._said = [at for at in range(sent, len(messages)) if not silent(messages[at])]
        self._same = 0  # of those, so many are the same
        self._sure = seq  # the last position up to which all is
        self._open: list[Message] = []  # messages of the chat after that, of which what follows tells
        self._changed = False  # whether the last of those may be one in other words
        self._match = Match(0, "", 0, 0, False, 0, False, False, False)

    def goes_over(self, stored: Sequence[Message]) -> bool:
        """Go on with what the chat has next; False where that differs."""
        for message in stored:
            if not silent(message) and not self._takes(message):
                return False
            self.seq = message.seq
            if not self._open:
                self._sure = message.seq
        return True

    def _takes(self, message: Message) -> bool:
        if self._changed or not _is_gone(message):
            ahead = len(self._open)
            # A client may have let go of what the chat has forgotten, but not of what it has in other words.
            for skipped in (ahead,) if self._changed else range(ahead, -1, -1):
                at = self._same + skipped
                if at < len(self._said) and identity(message) == identity(self._messages[self._said[at]]):
                    self._settle(message, at + 1)
                    return True
            at = self._same + ahead
            if self._changed or at >= len(self._said) or not _in_other_words(message, self._messages[self._said[at]]):
                return False
            self._changed = True
        self._open.append(message)
        return True

    def _settle(self, message: Message, same: int) -> None:
        before = self._match
        self._match = replace(
            before,
            common=before.common + len(message.text),
            replied=before.replied or message.role == "assistant",
            gone=before.gone or any(map(_is_gone, self._open)),
            changed=before.changed or self._changed,
        )
        self._same, self._open, self._changed = same, [], False

    def match(self, connection: Connection, chat: known.Found, *, ends: bool) -> Match:
        """How far both agree; `ends` where the chat has nothing that was not looked at."""
        found = replace(self._match, key=chat.key, id=chat.id)
        if ends and self._open and not self._changed and self._knows(connection, chat.key):
            self._same, self._open = self._same + len(self._open), []
            found = replace(found, gone=True)
        if ends and not self._open:
            sent = self._said[self._same - 1] + 1 if self._same else self._begun
            if self._same == len(self._said):  # what is left says nothing, and the chat has it, or the like of it
                sent = len(self._messages)
            return replace(found, seq=self.seq, sent=sent, ends=True)
        rest = self._said[self._same :]
        return replace(found, seq=self._sure, sent=rest[0] if rest else len(self._messages))

    def _knows(self, connection: Connection, key: int) -> bool:
        """Whether the request has, and goes on after, what the chat has forgotten at its end."""
        theirs = [self._messages[at] for at in self._said[self._same : self._same + len(self._open)]]
        if self._same + len(self._open) >= len(self._said):
            return False
        traces = known.traces(connection, key, [message.seq for message in self._open])
        return all(
            identity(redacted(their)) == identity(message) and traces.get(message.seq) == trace(their)
            for message, their in zip(self._open, theirs, strict=True)
        )


def _is_gone(message: Message) -> bool:
    return message.content in (REMOVED, UNREADABLE) or is_redacted(message)


def _in_other_words(message: Message, other: Message) -> bool:
    """Whether two messages of a user may be the same, one of them with more in it."""
    if message.role != "user" or other.role != "user":
        return False
    short, long = sorted((message.text.strip(), other.text.strip()), key=len)
    return bool(short) and short in long


def digest_at(connection: Connection, chat: Chat, scope: str, seq: int) -> bytes:
    """The digest of a chat up to a position, from the nearest one that is known."""
    at, digest = known.newest(connection, chat.key, scope, seq)
    rest = store.messages_between(connection, chat.key, at + 1, seq)
    return [digest or START, *prefixes(rest, digest or START)][-1]
