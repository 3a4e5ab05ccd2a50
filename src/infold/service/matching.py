"""How far a proxied request and a chat agree: from the start by digests, from there or in the midst message by message."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from infold.ledger import prefixes as known
from infold.ledger import store
from infold.redaction import is_redacted, redacted
from infold.service.wire import START, identity, prefixes, silent

if TYPE_CHECKING:
    from infold.chat import Chat
    from infold.ledger.query import Connection
    from infold.messages import Message

_MOST_PART = 1000  # messages at the end of a chat among which a request may begin
_MOST_CUT = 4  # replies in a row that were cut
_MOST_FORGOTTEN = 8  # chats with forgotten messages in which a request that nobody knows is looked for
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
    digest: bytes = b""
    """Of those messages of the request, where they are all that the chat has so far."""
    forgotten: bool = False
    """Whether the chat has forgotten some of them."""
    common: int = 0
    """Characters of what was compared and is the same."""


def response(id: str) -> bytes:
    """The digest that a response or conversation goes by, for clients that name it instead of sending the chat again."""
    return hashlib.sha256(f"response {id}".encode("utf-8", "surrogatepass")).digest()


def cut(before: bytes) -> bytes:
    """The digest that a reply which was cut short goes by, whatever a client has of it: that of all before it."""
    return hashlib.sha256(b"cut " + before).digest()


def matches(connection: Connection, scope: str, messages: Sequence[Message]) -> list[Match]:
    """The chats with the longest known beginning that ends with a reply."""
    digests = prefixes(messages)
    replies = [at for at, message in enumerate(messages) if message.role == "assistant" and not silent(message)]
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
    elif replies and not best:
        some = known.forgotten(connection, scope, _MOST_FORGOTTEN)
        begun = [compared(connection, at._replace(seq=0), messages, 0) for at in some]
        best = [match for match in begun if match.forgotten and match.common >= _TELLING and match.sent > replies[0]][
            :1
        ]
    # What was forgotten must leave no digest.
    return [match if match.forgotten else replace(match, digest=digests[match.sent - 1]) for match in best]


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
    if any(message.role != "assistant" or message.tool_calls or silent(message) for message in (one, other)):
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
    stored = [one for one in store.messages_between(connection, chat.key, first, chat.last) if not silent(one)]
    places = [at for at, message in enumerate(messages) if not silent(message)]
    ours, theirs = [identity(one) for one in stored], [identity(messages[at]) for at in places]
    forgetful = any(map(is_redacted, stored))
    bare = [identity(redacted(messages[at])) for at in places] if forgetful else theirs
    best: Match | None = None
    for start in range(len(ours)):
        same = _same(ours[start:], theirs, bare)
        end = start + same
        ends = end == len(ours)
        # One message may well be said twice; with a reply to it, hardly.
        if not same or not (ends or any(one.role == "assistant" for one in stored[start:end])):
            continue
        seq = chat.last if ends else stored[end - 1].seq
        found = Match(chat.key, chat.id, seq, places[same - 1] + 1, ends)
        if best is None or (found.ends, found.sent) > (best.ends, best.sent):
            best = found
    return best


def _same(ours: Sequence[bytes], theirs: Sequence[bytes], bare: Sequence[bytes]) -> int:
    """How many messages are the same from the first on; forgotten ones count, as what is left of theirs, where a later one
    tells."""
    sure = at = 0
    for our, their, left in zip(ours, theirs, bare, strict=False):
        if our == their:
            sure = at + 1
        elif our != left:
            return sure
        at += 1
    return at if sure and at == len(ours) < len(theirs) else sure


def position(connection: Connection, chat: Chat, seq: int) -> known.Found:
    """A position of a chat as it is now."""
    row = store.chat_by_key(connection, chat.key)
    return known.Found(chat.key, seq, chat.id, row.last_seq if row else 0)


def compared(connection: Connection, start: known.Found, messages: Sequence[Message], sent: int) -> Match:
    """Go on comparing after a position that both have. What the chat has forgotten is taken for the client's message if what
    follows is the same in both."""
    key, seq, id, last = start
    sure: Match | None = None  # before messages of which only what follows can tell
    forgotten, common = False, 0

    def here(ends: bool) -> Match:
        return Match(key, id, seq, sent, ends, forgotten=forgotten, common=common)

    while True:
        upto = min(last, seq + len(messages) - sent + _AHEAD)
        stored = store.messages_between(connection, key, seq + 1, upto) if seq < last else []
        if not stored:
            return sure if sure and (sent == len(messages) or not sure.sent) else here(True)
        for message in stored:
            if not silent(message):
                while sent < len(messages) and silent(messages[sent]):
                    sent += 1
                if sent == len(messages):
                    return sure or here(False)
                if identity(message) == identity(messages[sent]):
                    sure, common = None, common + len(message.text)
                elif is_redacted(message) and identity(message) == identity(redacted(messages[sent])):
                    sure, forgotten = sure or here(False), True
                else:
                    return sure or here(False)
                sent += 1
            seq = message.seq


def digest_at(connection: Connection, chat: Chat, scope: str, seq: int) -> bytes:
    """The digest of a chat up to a position, from the nearest one that is known."""
    at, digest = known.newest(connection, chat.key, scope, seq)
    rest = store.messages_between(connection, chat.key, at + 1, seq)
    return [digest or START, *prefixes(rest, digest or START)][-1]
