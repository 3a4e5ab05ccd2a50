"""How far a proxied request and a chat agree: from the start by digests, from there message by message."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from infold.ledger import prefixes as known
from infold.ledger import store
from infold.marks import REMOVED, UNREADABLE
from infold.redaction import is_redacted, redacted, trace
from infold.service.wire import OWN, START, identity, prefixes, reasoning, silent, spoken

if TYPE_CHECKING:
    from infold.chat import Chat
    from infold.ledger.query import Connection
    from infold.messages import Message

_MOST_FORGETFUL = 32  # chats with forgotten messages in which a request that nobody knows is looked for
TELLING = 48
"""Characters that hardly anybody says twice."""
AHEAD = 16
"""Silent messages that the ledger may have beyond what a client sends."""


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
    common: int = 0
    """Characters of what was compared and is the same."""
    replied: bool = False
    """Whether a reply is among it."""
    gone: bool = False
    """Whether the chat has no words any more of some of it."""
    changed: bool = False
    """Whether the client has some of it in other words than the chat."""
    replies: tuple[tuple[int, int], ...] = ()
    """Replies that were compared: their places in the request, and in the chat."""
    digest: bytes = b""
    """Of those messages of the request, where they are all that the chat has so far."""


def cut(before: bytes) -> bytes:
    """The digest that a reply which was cut short goes by, whatever a client has of it: that of all before it."""
    return hashlib.sha256(b"cut " + before).digest()


def matches(connection: Connection, scope: str, messages: Sequence[Message]) -> list[Match]:
    """The chats with the longest known beginning that ends with a reply."""
    digests = prefixes(messages)
    replies = [at for at, message in enumerate(messages) if message.role == "assistant" and not reasoning(message)]
    low, found = longest(connection, scope, [digests[at] for at in replies])
    best = [compared(connection, at, messages, replies[low - 1] + 1) for at in found]
    if not best and replies:  # the first one may have been cut
        at = replies[0]
        begun = known.found(connection, scope, cut(digests[at - 1] if at else START))
        tried = [compared(connection, end._replace(seq=end.seq - 1), messages, at) for end in begun]
        best = [match for match, end in zip(tried, begun, strict=True) if match.seq >= end.seq]
    if replies and all(match.sent <= replies[-1] for match in best):
        best += _forgetful(connection, scope, messages)
    # What was forgotten must leave no digest.
    return [match if match.gone or not match.sent else replace(match, digest=digests[match.sent - 1]) for match in best]


def _forgetful(connection: Connection, scope: str, messages: Sequence[Message]) -> list[Match]:
    """The chats that have the beginning of a request, but for what they have forgotten: no digest tells of that."""
    some = known.forgotten(connection, scope, _MOST_FORGETFUL)
    begun = [compared(connection, at._replace(seq=0), messages, 0) for at in some]
    telling = [match for match in begun if match.gone and match.replied and match.common >= TELLING]
    most = max((match.sent for match in telling), default=0)
    return [match for match in telling if match.sent == most]


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


def brought_cut(connection: Connection, match: Match, messages: Sequence[Message]) -> bool:
    """Whether a chat has a reply that was cut short but for its last words: what its client has of it."""
    stored = store.messages_between(connection, match.key, match.seq + 1, match.seq + 1)
    return match.sent == len(messages) - 1 and any(_is_part(one, messages[-1]) for one in stored)


def position(connection: Connection, chat: Chat, seq: int) -> known.Found:
    """A position of a chat as it is now."""
    row = store.chat_by_key(connection, chat.key)
    return known.Found(chat.key, seq, chat.id, row.last_seq if row else 0)


def digest_at(connection: Connection, chat: Chat, scope: str, seq: int) -> bytes:
    """The digest of a chat up to a position, from the nearest one that is known."""
    at, digest = known.newest(connection, chat.key, scope, seq)
    rest = store.messages_between(connection, chat.key, at + 1, seq)
    return [digest or START, *prefixes(rest, digest or START)][-1]


def compared(connection: Connection, start: known.Found, messages: Sequence[Message], sent: int) -> Match:
    """Go on comparing after a position that both have."""
    walk = Walk(Words(connection, start.key), messages, sent, start.seq)
    while True:
        upto = min(start.last, walk.seq + len(messages) - sent + AHEAD)
        stored = store.messages_between(connection, start.key, walk.seq + 1, upto) if walk.seq < start.last else []
        if not stored or not walk.goes_over(stored):
            return walk.match(start, ends=not stored)


class Words:
    """Whether a message of a chat and one of a client are the same, though the words may not be: the chat may have forgotten
    them, or have let them go; it may have more of a reply that was cut; and clients change what a user said, such as
    texts that they looked up for it."""

    def __init__(self, connection: Connection, key: int) -> None:
        self._connection = connection
        self._key = key
        self._notes: known.Notes | None = None

    @property
    def notes(self) -> known.Notes:
        """What is noted of the chat's messages; read when it is asked for."""
        if self._notes is None:
            self._notes = known.notes(self._connection, self._key)
        return self._notes

    def is_cut(self, ours: Message) -> bool:
        return ours.role == "assistant" and not ours.tool_calls and ours.seq in self.notes.cut

    def fits(self, ours: Message, theirs: Message) -> bool:
        """Whether they may be the same, in other words."""
        if is_gone(ours):
            return ours.role == theirs.role and self.knows(ours, theirs) is not False
        if ours.role == "user":
            return _in_other_words(ours, theirs)
        return self.is_cut(ours) and _is_part(theirs, ours)

    def knows(self, ours: Message, theirs: Message) -> bool | None:
        """Whether a message that was forgotten said what theirs says; None where nothing is left to tell by."""
        if not is_redacted(ours) or (kept := self.notes.traces.get(ours.seq)) is None:
            return None
        return identity(redacted(theirs)) == identity(ours) and kept == trace(theirs)

    def same(self, ours: Message, theirs: Message) -> bool:
        """Whether they are the same, as far as one can tell without what stands around them."""
        return identity(ours) == identity(theirs) or (
            bool(self.knows(ours, theirs)) if is_gone(ours) else self.fits(ours, theirs)
        )


class Walk:
    """Compares a chat with a request, message by message. Where the words are not the same, what follows tells."""

    def __init__(self, words: Words, messages: Sequence[Message], sent: int, seq: int) -> None:
        self.seq = seq
        """The last position that was looked at."""
        self._words = words
        self._messages = messages
        self._begun = sent
        self._said = [at for at in range(sent, len(messages)) if not silent(messages[at])]
        self._same = 0  # of those, so many are the same
        self._sure = seq  # the last position up to which all is
        self._open: list[Message] = []  # messages of the chat after that, of which what follows tells
        self._own: list[bytes] = []  # instructions that the chat has after that
        self._match = Match(0, "", 0, 0, ends=False)
        self._replies: list[tuple[int, int]] = []

    def goes_over(self, stored: Sequence[Message]) -> bool:
        """Go on with what the chat has next; False where that differs."""
        for message in stored:
            if not silent(message) and not self._takes(message):
                return False
            self.seq = message.seq
            if not self._open:
                self._sure = message.seq
                self._own = [*self._own, identity(message)] if message.role in OWN else []
        return True

    def match(self, chat: known.Found, *, ends: bool) -> Match:
        """How far both agree; `ends` where the chat has nothing that was not looked at."""
        self._settle_end(ends=ends)
        if self._open:
            ends = False
        rest = self._said[self._same :]
        if ends:
            seq, sent = self.seq, self._said[self._same - 1] + 1 if self._same else self._begun
            sent = self._after_silent(sent) if rest else self._end(sent)
        else:
            seq, sent = self._sure, rest[0] if rest else len(self._messages)
        return replace(
            self._match, key=chat.key, id=chat.id, seq=seq, sent=sent, ends=ends, replies=tuple(self._replies)
        )

    def _takes(self, message: Message) -> bool:
        if not is_gone(message):
            for kept in range(len(self._open), -1, -1):  # of the open ones, so many the client still has
                at = self._same + kept
                if at < len(self._said) and identity(message) == identity(self._their(at)) and self._fit(kept):
                    self._settle(len(self._open), kept)
                    self._settle_one(message, at)
                    return True
        if not is_gone(message) and not self._words.is_cut(message):
            at = self._same + len(self._open)
            if at >= len(self._said) or not self._words.fits(message, self._their(at)):
                return False
        self._open.append(message)
        return True

    def _their(self, at: int) -> Message:
        return self._messages[self._said[at]]

    def _fit(self, kept: int) -> bool:
        """Whether the client's next messages are so many of the open ones, and the others may be missing."""
        found = 0
        for ours in self._open:
            if found < kept and self._words.fits(ours, self._their(self._same + found)):
                found += 1
            elif not (is_gone(ours) or self._words.is_cut(ours)):
                return False
        return found == kept

    def _settle(self, count: int, kept: int) -> None:
        """So many of the open messages are known to be the same now; the client has some of them."""
        found = 0
        for ours in self._open[:count]:
            gone = is_gone(ours)
            if found < kept and self._words.fits(ours, self._their(self._same)):
                found += 1
                self._settle_one(ours, self._same, gone=gone, changed=not gone)
            else:
                self._match = replace(self._match, gone=self._match.gone or gone, changed=True)
            self._sure = ours.seq
        self._open = self._open[count:]

    def _settle_one(self, ours: Message, at: int, *, gone: bool = False, changed: bool = False) -> None:
        before, reply = self._match, ours.role == "assistant"
        self._match = replace(
            before,
            common=before.common + (0 if gone else len(ours.text)),
            replied=before.replied or (reply and not gone),
            gone=before.gone or gone,
            changed=before.changed or changed,
        )
        if reply:
            self._replies.append((self._said[at], ours.seq))
        self._same = at + 1

    def _settle_end(self, *, ends: bool) -> None:
        """Nothing follows that would tell: some of the open messages tell by themselves."""
        while self._open:
            ours, left = self._open[0], len(self._said) - self._same
            if not left:
                return
            theirs = self._their(self._same)
            if is_gone(ours):
                known = self._words.knows(ours, theirs)
                same = left > 1 and bool(known)  # as the last one of a request, it is said once more
                dropped = ends and left == 1 and known is not None  # the client has forgotten it, too
            else:
                same = self._words.is_cut(ours) and self._words.fits(ours, theirs)
                # Of a reply that was cut early a client may keep nothing.
                dropped = self._words.is_cut(ours) and theirs.role != "assistant"
            if not same and not dropped:
                return
            self._settle(1, int(same))

    def _end(self, sent: int) -> int:
        """How much of a request the chat has that has all it says: instructions after the last reply may be new."""
        if sent and self._messages[sent - 1].role != "assistant":
            return len(self._messages)
        for at in range(sent, len(self._messages)):
            message = self._messages[at]
            if message.role in OWN and message.text.strip() and identity(message) not in self._own:
                return at
        return len(self._messages)

    def _after_silent(self, sent: int) -> int:
        """Where what is new begins: what says nothing is not, nor are instructions right after a known beginning."""
        while silent(self._messages[sent]) and (not self._same or self._messages[sent].role == "assistant"):
            sent += 1
        return sent


def is_gone(message: Message) -> bool:
    """Whether a chat has no words of a message any more."""
    return message.content in (REMOVED, UNREADABLE) or is_redacted(message)


def _is_part(kept: Message, sent: Message) -> bool:
    """Whether a client may have kept this of a reply that was cut short; more than it was sent is another reply."""
    if any(message.role != "assistant" or message.tool_calls or reasoning(message) for message in (kept, sent)):
        return False
    return spoken(sent).startswith(spoken(kept))


def _in_other_words(message: Message, other: Message) -> bool:
    """Whether two messages of a user may be the same, one of them with more in it."""
    if message.role != "user" or other.role != "user":
        return False
    short, long = sorted((message.text.strip(), other.text.strip()), key=len)
    return bool(short) and short in long
