"""What the three APIs have in common: what is asked, what is replied, and a reply that is still arriving. Pure."""

from __future__ import annotations

import functools
import json
import marshal
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any, Protocol, cast

from infold import formats
from infold.context.view import Context
from infold.errors import MessageError
from infold.messages import Message
from infold.service.wire.identity import OWN
from infold.service.wire.mending import mended
from infold.service.wire.sse import LIMIT, Parser

Wire = dict[str, Any]

_SHORT = 4096  # bytes of a message that is kept in mind
_EACH = 1024  # bytes that a block, call or item takes beside its texts


@dataclass(frozen=True, slots=True)
class Asked:
    """A client's request, as far as memory needs to know it."""

    system: str | None
    """The text of the client's own instructions, before the chat."""
    messages: tuple[Message, ...]
    """The chat, without ids: those of a request are not the ledger's."""
    tools: Sequence[Mapping[str, Any]]
    model: str | None
    stream: bool
    reserve_output: int
    """Tokens that the reply may take; 0 where the request does not say."""
    previous: str | None = None
    """The response or conversation that goes on, where the upstream keeps the history: then no memory is put in."""
    conversation: str | None = None
    """The conversation, where the request names one: every request and reply of it belongs to one chat."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said."""

    messages: tuple[Wire, ...]
    """In the API's own format; of several choices, the first."""
    model: str | None
    id: str | None
    complete: bool
    """Whether it was received to its end."""

    @property
    def parsed(self) -> tuple[Message, ...]:
        """The messages for a chat, without ids: some servers give every reply the same."""
        return parsed(self.messages)


class Api(Protocol):
    """What the proxy knows about one provider API."""

    name: str
    """Also the name of its message format."""
    path: str

    def read(self, body: Mapping[str, Any]) -> Asked:
        """The request in a body. Raises MessageError where it is not understood."""
        ...

    def write(self, body: Mapping[str, Any], context: Context) -> Wire:
        """The body with the context in place of its chat; the client's own instructions and all other fields are kept."""
        ...

    def replies(self, body: bytes, status: int, content_type: str) -> Reply | None:
        """The reply in a whole answer; None where it is an error, larger than LIMIT, or not understood."""
        ...

    def stream(self) -> Streamed:
        """A reply that will arrive as events."""
        ...


# Requests ----------------------------------------------------------------------------------------------


def parsed(values: Iterable[Mapping[str, Any]]) -> tuple[Message, ...]:
    """Messages of any format, without ids."""
    try:
        found = [message for value in values for message in _parsed(value)]
    except (TypeError, RecursionError) as error:  # such as a list where a name should stand
        raise MessageError(f"a message is malformed: {error}") from None
    return tuple(found)


def read_part(api: Api, body: Mapping[str, Any]) -> Asked | None:
    """As much of a request as can be read, where a message in it cannot; None where that is nothing."""
    key = "messages" if "messages" in body else "input"
    given = body.get(key)
    low, high = 0, len(given) if isinstance(given, list) else 0  # given[:low] can be read, given[:high] cannot
    found: Asked | None = None
    while isinstance(given, list) and high - low > 1:
        middle = (low + high) // 2
        try:
            found, low = api.read({**body, key: given[:middle]}), middle
        except MessageError:
            high = middle
    return found


def is_text(value: Any) -> bool:
    """Whether a message is a role and a text, and nothing more."""
    return (
        type(value) is dict and len(value) == 2 and type(value.get("content")) is str and type(value.get("role")) is str
    )


def _parsed(value: Mapping[str, Any]) -> Sequence[Message]:
    if is_text(value) and len(value["content"]) <= _SHORT:
        return _parsed_text(value["role"], value["content"])
    try:
        packed = marshal.dumps(cast(Any, value))
    except ValueError:  # not what JSON gives
        return _without_ids(value)
    return _parsed_before(packed) if len(packed) <= _SHORT else _without_ids(value)


@functools.lru_cache(maxsize=8192)
def _parsed_text(role: str, content: str) -> Sequence[Message]:
    """What a client sends again with every request is read once."""
    return _without_ids({"role": role, "content": content})


@functools.lru_cache(maxsize=8192)
def _parsed_before(packed: bytes) -> Sequence[Message]:
    """The same for messages that are more than a text."""
    return _without_ids(marshal.loads(packed))  # noqa: S302  it was packed here


def _without_ids(value: Mapping[str, Any]) -> Sequence[Message]:
    try:
        found = formats.parse(value)
    except MessageError:
        found = formats.parse(mended(value))
    return [replace(message, id="") if message.id else message for message in found]


def listed(body: Mapping[str, Any], key: str) -> list[Any]:
    """The list under a key of a request."""
    found = body.get(key)
    if not isinstance(found, list):
        raise MessageError(f'the request needs a list under "{key}", not {type(found).__name__}')
    return found


def own_messages(values: Sequence[Any]) -> int:
    """How many messages at the beginning are the client's own instructions."""
    for at, value in enumerate(values):
        if not isinstance(value, Mapping) or value.get("role") not in OWN:
            return at
    return len(values)


def tools_of(body: Mapping[str, Any], *keys: str) -> tuple[Mapping[str, Any], ...]:
    """The tool definitions of a request."""
    lists = (body.get(key) for key in keys)
    return tuple(tool for tools in lists if isinstance(tools, list) for tool in tools if isinstance(tool, Mapping))


def whole(body: Mapping[str, Any], *keys: str) -> int:
    """The first number above 0 under these keys, else 0."""
    found = (body.get(key) for key in keys)
    return next((number for number in found if type(number) is int and number > 0), 0)


def text(value: Mapping[str, Any], key: str) -> str | None:
    """The text under a key, if it is one and not empty."""
    found = value.get(key)
    return found if isinstance(found, str) and found else None


def texts(*found: str | None) -> str | None:
    """Several texts as one."""
    return "\n\n".join(one for one in found if one) or None


# Replies -----------------------------------------------------------------------------------------------


def loaded(body: bytes, status: int, content_type: str) -> Wire | None:
    """The JSON object of a good answer."""
    json_or_unsaid = not content_type or "json" in content_type.lower()
    if not 200 <= status < 300 or len(body) > LIMIT or not json_or_unsaid:
        return None
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and not found.get("error") else None


def checked(reply: Reply) -> Reply | None:
    """The reply, if a chat can have it."""
    try:
        reply.parsed  # noqa: B018 - asked for its errors
    except MessageError:
        return None
    return reply


def is_object(written: str) -> bool:
    """Whether a text is a JSON object from brace to brace."""
    try:
        return isinstance(json.loads(written), dict)
    except (ValueError, RecursionError):
        return False


class Text:
    """A text that arrives in pieces."""

    __slots__ = ("_pieces",)

    def __init__(self) -> None:
        self._pieces = StringIO()

    def add(self, piece: str) -> None:
        self._pieces.write(piece)

    def __str__(self) -> str:
        found = self._pieces.getvalue()
        try:
            found.encode()
        except UnicodeEncodeError:  # the halves of a character came in two pieces
            found = found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return found


class Streamed(ABC):
    """A reply that arrives as server-sent events. Whatever comes, nothing is raised."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._parser = Parser(limit)
        self._room = limit
        self._full = False
        self._begun = False
        self._ended = False
        self._failed = False
        self._id: str | None = None
        self._model: str | None = None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        for event in self._parser.feed(chunk):
            if event.data.strip() == "[DONE]":
                self._ended = True
                continue
            try:
                data = json.loads(event.data)
            except (ValueError, RecursionError):
                continue
            if isinstance(data, dict):
                if data.get("error") or data.get("type") == "error":
                    self._failed = True
                self._take(data, len(event.data))

    @property
    def complete(self) -> bool:
        """Whether the end of the reply has come, and nothing of it was lost."""
        return self._ended and not (self._failed or self._full or self._parser.overflown)

    def reply(self) -> Reply | None:
        """What has come so far; None if that is nothing a chat could have."""
        messages = self._messages()
        return None if messages is None else checked(Reply(tuple(messages), self._model, self._id, self.complete))

    @abstractmethod
    def _take(self, data: Wire, size: int) -> None:
        """Take one event of so many characters."""

    @abstractmethod
    def _messages(self) -> list[Wire] | None: ...

    def _named(self, data: Mapping[str, Any]) -> None:
        """Note id and model of the reply."""
        self._id = self._id or text(data, "id")
        self._model = self._model or text(data, "model")

    def _opens(self, size: int = 0) -> bool:
        """Whether there is room for one more block, call or item that begins with so many characters."""
        return self._keeps(_EACH + size)

    def _keeps(self, size: int) -> bool:
        """Whether there is room to keep so much more. Once there was none, nothing more is kept."""
        self._full = self._full or size > self._room
        if not self._full:
            self._room -= size
        return not self._full

    def _add(self, to: Text, piece: object) -> None:
        """Add a piece of text, if it is one."""
        # A character takes up to four bytes.
        if isinstance(piece, str) and piece and self._keeps(len(piece) if piece.isascii() else 4 * len(piece)):
            to.add(piece)
