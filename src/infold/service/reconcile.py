"""Which chat a proxied request goes on with, and what of it is new.

Clients keep a chat themselves and send all of it each time. It is told from others by what it says: the longest known
beginning that ends with a reply. What follows is compared message by message; where it differs, the request is a branch.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from infold.branching import branch
from infold.errors import ConfigError, InfoldError, MovedOnError
from infold.ledger import prefixes as known
from infold.ledger import store
from infold.memory import new_id
from infold.messages import Message
from infold.service import resending
from infold.service.beginning import beginning
from infold.service.wire import START, Asked, Reply, identity, prefixes, silent

if TYPE_CHECKING:
    from infold.chat import Chat
    from infold.ledger.query import Connection
    from infold.memory import Memory

_TRIES = 5
_MOST_PART = 1000  # messages at the end of a chat among which a request may begin
_MOST_CUT = 4  # replies in a row that were cut
_AHEAD = 16  # silent messages that the ledger may have beyond what a client sends


class OtherUserError(ConfigError):
    """A chat was named that belongs to another user."""


class NothingSaidError(InfoldError):
    """A request without messages begins no chat."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose chats a request may go on with."""

    scope: str
    """Within this, chats are told apart by what they say."""
    chat: str | None
    """The chat that the client names."""
    user: str | None
    preset: str
    context_window: int | None
    find: Callable[[str, int | None], Chat | None]
    """Opens a chat that is there, by its name, and its key where that was read just now."""
    given_up: threading.Event = field(default_factory=threading.Event)
    """Set when nobody waits any more: what comes too late to be added as it is must not become a branch."""

    def check(self) -> None:
        """Raises where nobody waits any more."""
        if self.given_up.is_set():
            raise MovedOnError("the request went on without memory")


@dataclass(frozen=True, slots=True)
class Place:
    """Where the reply to a request belongs."""

    memory: Memory
    chat: Chat
    seq: int
    """Position of the last message of the request."""
    digest: bytes
    """Of everything up to there."""
    scope: str
    whole: bool
    """Whether the request has the chat from its first message on."""
    conversation: str | None
    """What the upstream calls the chat, where it keeps the history."""


@dataclass(frozen=True, slots=True)
class _Match:
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


@dataclass(frozen=True, slots=True)
class _Found:
    """Where a request goes on."""

    chat: Chat
    seq: int
    """The last position of the chat that the request has too."""
    sent: int
    """Messages of the request that the chat has."""
    whole: bool = True
    """Whether the request has the chat from its first message on."""
    fork: bool = False
    """Whether the chat has something else after that."""
    new: bool = False
    """Whether the chat was made for this request."""
    digest: bytes = b""
    """Of what both have; worked out where it is not given."""


def receive(memory: Memory, caller: Caller, asked: Asked) -> Place:
    """Find or make the chat of a request, and add to it what is new. Nothing is folded yet: somebody waits."""
    for _ in range(_TRIES):
        caller.check()
        found = _located(memory, caller, asked)
        chat, seq, new = found.chat, found.seq, asked.messages[found.sent :]
        if found.fork and not new:
            with chat.reading() as (connection, _):
                digest = found.digest or _digest_at(connection, chat, caller.scope, seq)
            return Place(memory, chat, seq, digest, caller.scope, found.whole, asked.conversation)
        if found.fork:
            chat = branch(memory, chat.id, seq, _branch_id(chat.id), check=caller.check)
        noting = _Noting(chat, caller.scope, seq, asked.conversation, found.digest)
        if caller.chat is not None and (found.new or found.digest):  # so the request has the chat from its start on
            noting.sends_all = resending.turns_again(asked.messages, new=found.new)
        if caller.chat is None and found.new:  # the next request could not be told to go on with it
            noting.check = caller.check
        with suppress(MovedOnError), beginning(chat, new=found.new):  # another request was quicker: look again
            added = chat.append(new, repair=True, fold=False, after=seq, beside=noting)
            return Place(memory, chat, seq + len(added), noting.digest, caller.scope, found.whole, asked.conversation)
    raise MovedOnError("the chat changes faster than this request can be added to it; send it again")


def apart(place: Place) -> Place:
    """The same place in a chat that ends there, so that nothing said later is seen."""
    chat = branch(place.memory, place.chat.id, place.seq, _branch_id(place.chat.id))
    return replace(place, chat=chat)


def settle(place: Place, reply: Reply) -> Chat:
    """Add a reply to where it belongs; what is due then is folded later. Where the chat has gone on otherwise, that is a
    branch."""
    messages = [_by(message, reply.model) for message in reply.parsed]
    chat = place.chat
    for _ in range(_TRIES):
        noting = _Noting(chat, place.scope, place.seq, place.conversation, place.digest, reply)
        with suppress(MovedOnError):
            chat.append(messages, repair=True, apart=True, after=place.seq, beside=noting)
            return chat
        with place.memory.database.read() as connection:
            match = _compared(connection, _position(connection, chat, place.seq), messages, 0)
            brought = match.sent == len(messages) or (not reply.complete and _brought_cut(connection, match, messages))
        if brought:  # the client's next request was quicker
            return chat
        chat = branch(place.memory, place.chat.id, place.seq, _branch_id(chat.id))
    raise MovedOnError("the chat changes faster than a reply can be added to it")


class _Noting:
    """Keeps the digests at which a client may be recognised: those that end with a reply, or name one."""

    def __init__(
        self,
        chat: Chat,
        scope: str,
        seq: int,
        conversation: str | None,
        digest: bytes = b"",
        reply: Reply | None = None,
    ) -> None:
        self.digest = digest
        """Of the chat up to its last message."""
        self.sends_all = False
        """Whether the client sends the whole chat each time."""
        self.check: Callable[[], None] | None = None
        """Raises where nothing is to be added after all."""
        self._chat = chat
        self._scope = scope
        self._seq = seq
        self._conversation = conversation
        self._reply = reply

    def __call__(self, connection: Connection, added: Sequence[Message]) -> None:
        if self.check is not None:
            self.check()
        chat, scope, reply = self._chat, self._scope, self._reply
        start = self.digest or _digest_at(connection, chat, scope, self._seq)
        digests = prefixes(added, start)
        self.digest = [start, *digests][-1]
        for message, digest in zip(added, digests, strict=True):
            if message.role == "assistant":
                known.put(connection, chat.key, scope, digest, message.seq)
        if self.sends_all:
            resending.note(connection, chat, scope)
        last = added[-1].seq if added else self._seq
        # A conversation goes on after a reply: what got none may come again.
        if self._conversation and (reply or not known.found(connection, scope, response(self._conversation), 1)):
            known.put(connection, chat.key, scope, response(self._conversation), last if reply else self._seq)
        if reply and reply.id:
            known.put(connection, chat.key, scope, response(reply.id), last)
        if reply is not None and not reply.complete:
            chat.record(connection, "reply_cut", {"message": added[-1].id})
            known.put(connection, chat.key, scope, cut([start, *digests][-2]), last)


def response(id: str) -> bytes:
    """The digest that a response or conversation goes by, for clients that name it instead of sending the chat again."""
    return hashlib.sha256(f"response {id}".encode("utf-8", "surrogatepass")).digest()


def cut(before: bytes) -> bytes:
    """The digest that a reply which was cut short goes by, whatever a client has of it: that of all before it."""
    return hashlib.sha256(b"cut " + before).digest()


def _located(memory: Memory, caller: Caller, asked: Asked) -> _Found:
    if asked.previous is not None:
        with memory.database.read() as connection:
            found = known.found(connection, caller.scope, response(asked.previous), 1)
            matches = [_compared(connection, at, asked.messages, 0) for at in found]
    else:
        with memory.database.read() as connection:
            matches = _matches(connection, caller, asked.messages)
    if not matches:
        chat = _named(caller)
        if chat is not None:
            return _beginning(memory, chat, caller.scope, asked.messages)
        if not asked.messages:
            raise NothingSaidError("the request has no messages")
        return _Found(_created(memory, caller, caller.chat), 0, 0, new=True)
    going_on = [match for match in matches if match.ends]
    if len(going_on) > 1 and caller.chat is None:  # the same words in several chats: which one is meant cannot be told
        return _Found(_created(memory, caller, None), 0, 0, new=True)
    best = going_on[0] if going_on else max(matches, key=lambda match: (match.sent, -match.key))
    return _Found(_open(caller, best.id, best.key), best.seq, best.sent, fork=not best.ends, digest=best.digest)


def _beginning(memory: Memory, chat: Chat, scope: str, messages: Sequence[Message]) -> _Found:
    """The same for a request that has no reply in common with any chat from the start: it is compared with the named one."""
    with memory.database.read() as connection:
        start = _position(connection, chat, 0)
        match, last = _compared(connection, start, messages, 0), start.last
        if match.ends:
            return _Found(chat, match.seq, match.sent)
        part = _overlapping(connection, chat, last, messages)
        asks = all(message.role != "assistant" for message in messages)
        edited = asks and not match.sent and resending.is_edited(connection, chat, scope, messages)
    if part is not None and (part.sent, part.ends) > (match.sent, match.ends):
        return _Found(chat, part.seq, part.sent, whole=False, fork=not part.ends)
    if asks and not match.sent and not edited:
        return _Found(chat, last, 0, whole=False)  # a client that sends only what is new
    return _Found(chat, match.seq, match.sent, fork=True)


def _overlapping(connection: Connection, chat: Chat, last: int, messages: Sequence[Message]) -> _Match | None:
    """Where a request begins in the midst of a chat: some clients send only its end."""
    first = max(1, last - min(len(messages), _MOST_PART) - _AHEAD)
    stored = [one for one in store.messages_between(connection, chat.key, first, last) if not silent(one)]
    places = [at for at, message in enumerate(messages) if not silent(message)]
    ours, theirs = [identity(one) for one in stored], [identity(messages[at]) for at in places]
    best: _Match | None = None
    for start in range(len(ours)):
        pairs = zip(ours[start:], theirs, strict=False)
        same = next((at for at, (our, their) in enumerate(pairs) if our != their), min(len(ours) - start, len(theirs)))
        end = start + same
        ends = end == len(ours)
        # One message may well be said twice; with a reply to it, hardly.
        if not same or not (ends or any(one.role == "assistant" for one in stored[start:end])):
            continue
        seq = last if ends else stored[end - 1].seq
        found = _Match(chat.key, chat.id, seq, places[same - 1] + 1, ends)
        if best is None or (found.ends, found.sent) > (best.ends, best.sent):
            best = found
    return best


def _matches(connection: Connection, caller: Caller, messages: Sequence[Message]) -> list[_Match]:
    """The chats with the longest known beginning that ends with a reply."""
    digests = prefixes(messages)
    replies = [at for at, message in enumerate(messages) if message.role == "assistant" and not silent(message)]
    low, found = longest(connection, caller.scope, [digests[at] for at in replies])
    matches: list[_Match] = []
    # What follows the last known one may be replies that were cut, several in a row: the last of them tells of all.
    for at in reversed(replies[low : low + _MOST_CUT]):
        matches = matches or _cut_short(connection, caller, messages, at, digests)
    if found and not matches:
        sent = replies[low - 1] + 1
        while sent < len(messages) and silent(messages[sent]):
            sent += 1
        matches = [_compared(connection, at, messages, sent) for at in found]
    return [replace(match, digest=digests[match.sent - 1]) for match in matches]


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
    connection: Connection, caller: Caller, messages: Sequence[Message], at: int, digests: Sequence[bytes]
) -> list[_Match]:
    """The chats that have the reply at this place too, but cut off earlier or later than the client has it."""
    found = known.found(connection, caller.scope, cut(digests[at - 1] if at else START))
    return [
        _compared(connection, end, messages, at + 1)
        for end in found
        if any(_is_same_cut(one, messages[at]) for one in store.messages_between(connection, end.key, end.seq, end.seq))
    ]


def _brought_cut(connection: Connection, match: _Match, messages: Sequence[Message]) -> bool:
    """Whether a chat has a reply that was cut short but for its last words."""
    stored = store.messages_between(connection, match.key, match.seq + 1, match.seq + 1)
    return match.sent == len(messages) - 1 and any(_is_same_cut(one, messages[-1]) for one in stored)


def _is_same_cut(one: Message, other: Message) -> bool:
    """Whether one of two messages may be the beginning of the other."""
    if any(message.role != "assistant" or message.tool_calls or silent(message) for message in (one, other)):
        return False
    return one.text.startswith(other.text) or other.text.startswith(one.text)


def _position(connection: Connection, chat: Chat, seq: int) -> known.Found:
    row = store.chat_by_key(connection, chat.key)
    return known.Found(chat.key, seq, chat.id, row.last_seq if row else 0)


def _compared(connection: Connection, start: known.Found, messages: Sequence[Message], sent: int) -> _Match:
    """Go on comparing after a position that both have."""
    key, seq, id, last = start
    while True:
        upto = min(last, seq + len(messages) - sent + _AHEAD)
        stored = store.messages_between(connection, key, seq + 1, upto) if seq < last else []
        if not stored:
            return _Match(key, id, seq, sent, True)
        for message in stored:
            if not silent(message):
                while sent < len(messages) and silent(messages[sent]):
                    sent += 1
                if sent == len(messages) or identity(message) != identity(messages[sent]):
                    return _Match(key, id, seq, sent, False)
                sent += 1
            seq = message.seq


def _digest_at(connection: Connection, chat: Chat, scope: str, seq: int) -> bytes:
    """The digest of a chat up to a position, from the nearest one that is known."""
    at, digest = known.newest(connection, chat.key, scope, seq)
    rest = store.messages_between(connection, chat.key, at + 1, seq)
    return [digest or START, *prefixes(rest, digest or START)][-1]


def _named(caller: Caller) -> Chat | None:
    return _checked(caller.find(caller.chat, None), caller) if caller.chat is not None else None


def _open(caller: Caller, id: str, key: int) -> Chat:
    chat = _checked(caller.find(id, key), caller)
    if chat is None:
        raise MovedOnError(f"chat {id!r} was deleted")
    return chat


def _checked(chat: Chat | None, caller: Caller) -> Chat | None:
    """A chat that this caller may go on with; it learns whose it is, if nobody said so yet."""
    if chat is None or caller.user is None:
        return chat
    with chat.reading() as (_, state):
        owner = state.row.user
    if owner is None:
        chat.update(user=caller.user)
    elif owner != caller.user:
        raise OtherUserError(f"the chat {chat.id!r} belongs to another user")
    return chat


def _created(memory: Memory, caller: Caller, id: str | None) -> Chat:
    return memory.chat(id or new_id(), user=caller.user, preset=caller.preset, context_window=caller.context_window)


def _branch_id(id: str) -> str:
    return f"{id.partition(store.BRANCH)[0][:150]}{store.BRANCH}{new_id()}"


def _by(message: Message, model: str | None) -> Message:
    return replace(message, model_variant=model) if model and message.role == "assistant" else message
