"""Chat Completions: POST /v1/chat/completions. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infold import formats
from infold.context.view import Context
from infold.service.wire.base import (
    Asked,
    Reply,
    Streamed,
    Text,
    Wire,
    checked,
    is_object,
    is_text,
    listed,
    loaded,
    own_messages,
    parsed,
    text,
    texts,
    tools_of,
    whole,
)
from infold.service.wire.naming import named, unnamed
from infold.service.wire.tail import instructions, split, spoken, with_own_end

# What of a reply is kept beside its content. Some servers refuse other things that they themselves wrote, such as
# reasoning; a client that needs them sends them itself.
_INSTEAD_OF_CONTENT = ("tool_calls", "refusal", "audio", "function_call")
# Not the API's fields; in infold's own ways in they are about a message, and have a form.
_ABOUT = ("id", "created_at", "model_variant")


class ChatApi:
    """The Chat Completions API, of OpenAI and of everybody who speaks it."""

    name = "chat"
    path = "/v1/chat/completions"

    def read(self, body: Mapping[str, Any]) -> Asked:
        given = listed(body, "messages")
        own = own_messages(given)
        return Asked(
            texts(*(message.text for message in parsed(given[:own]))),
            parsed(map(_resent, named(given[own:]))),
            tools_of(body, "tools", "functions"),
            text(body, "model"),
            body.get("stream") is True,
            whole(body, "max_completion_tokens", "max_tokens"),
        )

    def write(self, body: Mapping[str, Any], context: Context) -> Wire:
        given = listed(body, "messages")
        at = own_messages(given)
        own, (chat, midst) = given[:at], spoken(given[at:])
        system, tagged, rest = split(context)
        built = with_own_end(formats.to_chat(rest), named(chat), chat)
        first = instructions(own, midst, system, tagged, context.budget)
        return {**body, "messages": [*first, *map(unnamed, formats.joined_chat(built))]}

    def replies(self, body: bytes, status: int, content_type: str) -> Reply | None:
        answer = loaded(body, status, content_type)
        choices = answer.get("choices") if answer else None
        if answer is None or not isinstance(choices, list):
            return None
        choice = next((one for one in choices if _is_first(one)), None)
        message = choice.get("message") if choice else None
        if not isinstance(message, Mapping):
            return None
        return checked(Reply((_kept(message),), text(answer, "model"), text(answer, "id"), True))

    def stream(self) -> Streamed:
        return _Stream()


def _resent(value: Any) -> Any:
    """A message as a chat takes it: a reply that said nothing comes back without content."""
    if is_text(value) or not isinstance(value, Mapping):
        return value
    found = {key: inner for key, inner in value.items() if key not in _ABOUT}
    if value.get("role") == "assistant" and value.get("content") is None:
        found["content"] = None if any(value.get(key) for key in _INSTEAD_OF_CONTENT) else ""
    return found


def _is_first(choice: object) -> bool:
    return isinstance(choice, dict) and choice.get("index", 0) == 0


def _kept(message: Mapping[str, Any]) -> Wire:
    """A reply as a client would send it back."""
    beside = {key: message[key] for key in _INSTEAD_OF_CONTENT if message.get(key)}
    if isinstance(audio := beside.get("audio"), Mapping):
        beside["audio"] = {"id": audio.get("id")}  # all that a request may say of it
    content = message.get("content") or (None if beside else "")
    (found,) = named([{"role": "assistant", "content": content, **beside}])
    return dict(found)


class _Call:
    """A call that arrives in pieces; also the call of old, which has no id."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.name: str | None = None
        self.said = Text()
        self.custom = False
        self.beyond: Wire = {}
        """Fields that some servers add and want back, such as signatures."""

    @property
    def wire(self) -> Wire:
        if self.custom:
            inner = {"name": self.name, "input": str(self.said)}
            return {"id": self.id, "type": "custom", "custom": inner, **self.beyond}
        return {"id": self.id, "type": "function", "function": self.function, **self.beyond}

    @property
    def function(self) -> Wire:
        return {"name": self.name, "arguments": str(self.said)}

    @property
    def done(self) -> bool:
        """Whether all of it has certainly come."""
        return not self.custom and is_object(str(self.said))


class _Stream(Streamed):
    def __init__(self) -> None:
        super().__init__()
        self._content = Text()
        self._refusal = Text()
        self._calls: list[_Call] = []
        self._places: dict[int, _Call] = {}
        self._old: _Call | None = None
        self._audio: str | None = None

    def _take(self, data: Wire, size: int) -> None:
        self._named(data)
        choices = data.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if not _is_first(choice):
                continue
            if isinstance(delta := choice.get("delta"), dict):
                self._begun = True
                self._delta(delta, size)
            if choice.get("finish_reason"):
                self._begun = self._ended = True

    def _delta(self, delta: Wire, size: int) -> None:
        content = delta.get("content")
        for piece in content if isinstance(content, list) else (content,):
            self._add(self._content, piece.get("text") if isinstance(piece, dict) else piece)
        self._add(self._refusal, delta.get("refusal"))
        if isinstance(audio := delta.get("audio"), dict):
            self._audio = self._audio or text(audio, "id")
        if isinstance(call := delta.get("function_call"), dict):
            self._old = self._old or _Call()
            self._function(self._old, call, "arguments")
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                self._call(call, size)

    def _call(self, piece: Wire, size: int) -> None:
        call = self._called(piece)
        if call is None:
            return
        for key, value in piece.items():
            if key == "function" and isinstance(value, dict):
                self._function(call, value, "arguments")
            elif key == "custom" and isinstance(value, dict):
                call.custom = True
                self._function(call, value, "input")
            elif key not in ("id", "type", "index", "function", "custom") and value is not None and self._keeps(size):
                call.beyond[key] = value

    def _called(self, piece: Wire) -> _Call | None:
        """The call that a piece belongs to. Some servers number all calls 0, or none."""
        id, index = text(piece, "id"), piece.get("index")
        place = index if type(index) is int else None
        found = self._places.get(place) if place is not None else (self._calls[-1] if self._calls and not id else None)
        if found is None or (id and found.id and id != found.id):
            if not self._opens():
                return None
            found = _Call()
            self._calls.append(found)
            if place is not None:
                self._places[place] = found
        found.id = found.id or id
        return found

    def _function(self, call: _Call, piece: Wire, key: str) -> None:
        call.name = call.name or text(piece, "name")
        self._add(call.said, piece.get(key))

    def _messages(self) -> list[Wire] | None:
        calls = [call.wire for call in self._calls if call.name and (self.complete or call.done)]
        message = {
            "content": str(self._content),
            "refusal": str(self._refusal) or None,
            "tool_calls": calls,
            "audio": {"id": self._audio} if self._audio else None,
            "function_call": self._old.function if self._old and (self.complete or self._old.done) else None,
        }
        found = _kept(message)
        said = found["content"] or any(found.get(key) for key in _INSTEAD_OF_CONTENT)
        return [found] if said or (self.complete and self._begun) else None
