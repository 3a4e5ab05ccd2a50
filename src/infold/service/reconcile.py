"""Which chat a proxied request goes on with, and what of it is new.

Clients keep a chat themselves and send all of it each time. It is told from others by what it says: the longest known
beginning that ends with a reply. What follows is compared message by message; where it differs, the request is a branch.
"""

from __future__ import annotations

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
from infold.service.aligning import aligned
from infold.service.beginning import beginning
from infold.service.matching import Match, brought_cut, compared, cut, digest_at, matches, position
from infold.service.wire import Asked, Reply, prefixes

if TYPE_CHECKING:
    from infold.chat import Chat
    from infold.ledger.query import Connection
    from infold.memory import Memory

_TRIES = 5


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
    """What the service was told of the window; else it is the model's, where that is known."""
    find: Callable[[str, int | None], Chat | None]
    """Opens a chat that is there, by its name, and its key where that was read just now."""
    given_up: threading.Event = field(default_factory=threading.Event)
    """Set when nobody waits any more: what comes too late to be added as it is must not become a branch."""

    model_window: int | None = None
    remember: bool = True
    """Whether what the request states may be known in other chats."""

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
    lone: bool = False
    """Whether it may be all that was said, or only what is new, to a chat that its client names."""
    begun: tuple[bytes, str] = (b"", "")
    """How the request begins the reply, and the digest of all before that: its client keeps both as one message."""


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
    unknown: tuple[tuple[bytes, int], ...] = ()
    """Digests of what the client has in other words than the chat, and their positions: they are not known yet."""


def receive(memory: Memory, caller: Caller, asked: Asked) -> Place:
    """Find or make the chat of a request, and add to it what is new. Nothing is folded yet: somebody waits."""
    for _ in range(_TRIES):
        caller.check()
        found = _located(memory, caller, asked)
        chat, seq, new = found.chat, found.seq, asked.messages[found.sent :]
        lone = caller.chat is not None and bool(new) and not found.fork and not _has_reply(asked.messages)
        place = Place(memory, chat, seq, found.digest, caller.scope, found.whole, asked.conversation, lone)
        if found.fork and not new:
            with chat.reading() as (connection, _):
                return replace(place, digest=found.digest or digest_at(connection, chat, caller.scope, seq))
        if found.fork:
            chat = _forked(memory, caller, chat, seq)
        noting = _Noting(chat, caller.scope, seq, asked.conversation, found.digest)
        noting.unknown = found.unknown
        if caller.chat is not None and (found.new or found.digest):  # so the request has the chat from its start on
            noting.sends_all = resending.turns_again(asked.messages, new=found.new)
        if caller.chat is None and found.new:  # the next request could not be told to go on with it
            noting.check = caller.check
        noting.follows_model = found.new and caller.context_window is None
        with suppress(MovedOnError), beginning(chat, new=found.new):  # another request was quicker: look again
            added = chat.append(new, repair=True, fold=False, apart=not caller.remember, after=seq, beside=noting)
            begun = noting.before, _begun(new)
            return replace(place, chat=chat, seq=seq + len(added), digest=noting.digest, begun=begun)
    raise MovedOnError("the chat changes faster than this request can be added to it; send it again")


def apart(place: Place, caller: Caller) -> Place:
    """The same place in a chat that ends there, so that nothing said later is seen."""

    def beside(_: Connection, __: int) -> None:
        caller.check()

    return replace(place, chat=branch(place.memory, place.chat.id, place.seq, _branch_id(place.chat), beside=beside))


def settle(place: Place, reply: Reply) -> Chat:
    """Add a reply to where it belongs; what is due then is folded later. Where the chat has gone on otherwise, that is a
    branch; but where several speak to a chat at once, and each says only what is new, it comes late."""
    messages = [_by(message, reply.model) for message in reply.parsed]
    chat, late = place.chat, place.lone and reply.complete
    for _ in range(_TRIES):
        noting = _Noting(chat, place.scope, place.seq, place.conversation, place.digest, reply)
        noting.begun = place.begun
        with suppress(MovedOnError):
            chat.append(messages, repair=True, later=True, after=place.seq, beside=noting)
            return chat
        with place.memory.database.read() as connection:
            match = compared(connection, position(connection, chat, place.seq), messages, 0)
            # Of a complete reply the beginning is not enough: the chat may have that of one that was cut before.
            brought = match.sent == len(messages) and not (reply.complete and match.changed)
            brought = brought or (not reply.complete and brought_cut(connection, match, messages))
        if brought:  # the client's next request was quicker
            return chat
        if late:
            noting = _Noting(chat, place.scope, place.seq, place.conversation, reply=reply)
            chat.append(messages, repair=True, later=True, beside=noting)
            return chat
        chat = branch(place.memory, place.chat.id, place.seq, _branch_id(place.chat))
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
        self.follows_model = False
        """Whether the chat's window is that of the model it speaks with."""
        self.unknown: Sequence[tuple[bytes, int]] = ()
        """Digests of what the client has in other words than the chat, and their positions."""
        self.before = b""
        """The same up to the one before."""
        self.begun = (b"", "")
        """How the request began the reply, and the digest of all before that."""
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
        before = added[0].seq - 1 if added else self._seq
        start = self.digest or digest_at(connection, chat, scope, before)
        for digest, seq in self.unknown:
            known.put(connection, chat.key, scope, digest, seq)
        digests = prefixes(added, start)
        self.before, self.digest = [start, start, *digests][-2:]
        for message, digest in zip(added, digests, strict=True):
            if message.role == "assistant":
                known.put(connection, chat.key, scope, digest, message.seq)
        digest, said = self.begun
        if said and added and added[0].role == "assistant" and not added[0].tool_calls:
            one = replace(added[0], content=said + added[0].text, extra={})
            known.put(connection, chat.key, scope, prefixes([one], digest)[0], added[0].seq)
        if self.follows_model:
            known.follow_model(connection, chat.key, follows=True)
        if self.sends_all:
            resending.note(connection, chat, scope)
        last = added[-1].seq if added else self._seq
        # A conversation goes on after a reply: what got none may come again.
        if self._conversation and (reply or not known.found(connection, scope, known.called(self._conversation), 1)):
            known.put(connection, chat.key, scope, known.called(self._conversation), last if reply else self._seq)
        if reply and reply.id:
            known.put(connection, chat.key, scope, known.called(reply.id), last)
        if reply is not None and not reply.complete:
            chat.record(connection, "reply_cut", {"message": added[-1].id})
            known.note_cut(connection, chat.key, last)
            known.put(connection, chat.key, scope, cut([start, *digests][-2]), last)


def _located(memory: Memory, caller: Caller, asked: Asked) -> _Found:
    with memory.database.read() as connection:
        if asked.previous is not None:
            found = known.found(connection, caller.scope, known.called(asked.previous), 1)
            same = [compared(connection, at, asked.messages, 0) for at in found]
        else:
            same = matches(connection, caller.scope, asked.messages)
    if not same:
        chat = _named(caller)
        if chat is not None:
            return _beginning(memory, caller, chat, asked.messages)
        if not asked.messages:
            raise NothingSaidError("the request has no messages")
        return _Found(_created(memory, caller, caller.chat), 0, 0, new=True)
    going_on = [match for match in same if match.ends]
    most = max((match.sent for match in going_on), default=0)
    going_on = [match for match in going_on if match.sent == most]
    if len(going_on) > 1 and caller.chat is None:  # the same words in several chats: which one is meant cannot be told
        return _Found(_created(memory, caller, None), 0, 0, new=True)
    best = going_on[0] if going_on else max(same, key=lambda match: (match.sent, -match.key))
    if not best.ends and asked.previous is None:
        with memory.database.read() as connection:
            further = None if caller.chat is None else _further(connection, caller, best, asked.messages)
            edited = caller.chat is not None or _is_edited(connection, same, best)
        if further is not None and further.sent:
            return _found(caller, asked.messages, further, whole=False)
        if not edited:
            return _Found(_created(memory, caller, None), 0, 0, new=True)
    return _found(caller, asked.messages, best, whole=True)


def _is_edited(connection: Connection, same: Sequence[Match], best: Match) -> bool:
    """Whether a request without a name goes on differently with what somebody said here, and no doubt who. Others only begin
    alike, with a greeting or examples that no model has given."""
    rows = [store.chat_by_key(connection, match.key) for match in same if match.sent == best.sent]
    spoken = store.last_model(connection, best.key, 1, best.seq) is not None
    return spoken and len({row.root for row in rows if row is not None}) == 1


def _beginning(memory: Memory, caller: Caller, chat: Chat, messages: Sequence[Message]) -> _Found:
    """The same for a request that has no reply in common with any chat from the start: it is compared with the named one,
    and with the ends of that and its branches."""
    with memory.database.read() as connection:
        match = compared(connection, position(connection, chat, 0), messages, 0)
        if not match.ends:
            further = _further(connection, caller, match, messages)
            newest = _family(connection, caller, match)[0]
            again = match.sent and (_is_first(connection, chat) or resending.sends_all(connection, caller.scope))
            edited = not match.sent and resending.is_edited(connection, chat, caller.scope, messages)
    if match.ends:
        if match.sent and not match.gone:
            match = replace(match, digest=prefixes(messages)[match.sent - 1])
        return _found(caller, messages, match, whole=True)
    if further is not None:
        return _found(caller, messages, further, whole=not further.sent)
    if edited or again or (match.sent and _has_reply(messages)):
        return _found(caller, messages, match, whole=True)
    # Nothing of it was said before, or by chance: it is what comes next.
    return _Found(_open(caller, newest.id, newest.key), newest.last, 0, whole=False)


def _further(connection: Connection, caller: Caller, match: Match, messages: Sequence[Message]) -> Match | None:
    """Where a request goes on in a named chat, or in a branch of it, that has more of it than it shares with the beginning: some
    clients leave out what comes after that, or all but the end."""
    chats = _family(connection, caller, match)
    whole = resending.sends_all(connection, caller.scope)
    found = aligned(connection, chats, messages, match.sent, whole=whole)
    if found is None or (found.sent and (found.sent, found.ends and not whole) <= (match.sent, match.ends)):
        return None  # who sends all has edited what comes after the beginning, though its words were said later, too
    return found


def _family(connection: Connection, caller: Caller, match: Match) -> list[known.Found]:
    row = store.chat_by_key(connection, match.key)
    chat = known.Found(match.key, match.seq, match.id, row.last_seq if row else 0)
    return resending.family(connection, chat, caller.scope)


def _begun(new: Sequence[Message]) -> str:
    """How a request begins the reply to it, where it does."""
    last = new[-1] if new else None
    return last.text if last is not None and last.role == "assistant" and not last.tool_calls else ""


def _has_reply(messages: Sequence[Message]) -> bool:
    return any(message.role == "assistant" for message in messages)


def _is_first(connection: Connection, chat: Chat) -> bool:
    """Whether a chat has no more than its first turn: who sends that again, tries it again."""
    row = store.chat_by_key(connection, chat.key)
    return row is not None and row.users <= 1


def _found(caller: Caller, messages: Sequence[Message], match: Match, *, whole: bool) -> _Found:
    unknown: list[tuple[bytes, int]] = []
    if match.changed and match.ends and match.digest:
        digests = prefixes(messages)
        unknown = [(digests[at], seq) for at, seq in match.replies]
    return _Found(
        _open(caller, match.id, match.key), match.seq, match.sent, whole,
        fork=not match.ends, digest=match.digest, unknown=tuple(unknown),
    )  # fmt: skip


def _named(caller: Caller) -> Chat | None:
    return _checked(caller.find(caller.chat, None), caller) if caller.chat is not None else None


def _open(caller: Caller, id: str, key: int) -> Chat:
    chat = _checked(caller.find(id, key), caller)
    if chat is None:
        raise MovedOnError(f"chat {id!r} was deleted")
    return chat


def _checked(chat: Chat | None, caller: Caller) -> Chat | None:
    """A chat that this caller may go on with; it learns whose it is, if nobody said so yet, and so do its branches."""
    if chat is None or caller.user is None:
        return chat
    with chat.reading() as (connection, state):
        owner = state.row.user
        family = store.family(connection, state.row) if owner is None else []
    if owner is None:
        for row in family:
            if row.user is None and (one := caller.find(row.id, row.key)):
                one.update(user=caller.user)
    elif owner != caller.user:
        raise OtherUserError(f"the chat {chat.id!r} belongs to another user")
    return chat


def _created(memory: Memory, caller: Caller, id: str | None) -> Chat:
    window = caller.context_window or caller.model_window
    found = caller.find(id, None) if id is not None else None  # somebody else may have made it meanwhile
    return found or memory.chat(id or new_id(), user=caller.user, preset=caller.preset, context_window=window)


def _forked(memory: Memory, caller: Caller, chat: Chat, seq: int) -> Chat:
    """A branch that a client has begun; whoever names the chat may go on with it."""

    def beside(connection: Connection, key: int) -> None:
        if caller.chat is not None:
            resending.note_branch(connection, key, chat.key, caller.scope)
        caller.check()

    return branch(memory, chat.id, seq, _branch_id(chat), beside=beside)


def _branch_id(chat: Chat) -> str:
    return f"{chat.id.partition('~')[0][:150]}~{new_id()}"


def _by(message: Message, model: str | None) -> Message:
    return replace(message, model_variant=model) if model and message.role == "assistant" else message
