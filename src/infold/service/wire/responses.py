"""Responses: POST /v1/responses. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infold import formats
from infold.context.view import Context
from infold.errors import MessageError
from infold.messages import CUT
from infold.service.wire.base import (
    Asked,
    Reply,
    Streamed,
    Text,
    Wire,
    checked,
    is_object,
    loaded,
    own_messages,
    parsed,
    text,
    texts,
    tools_of,
    whole,
)
from infold.service.wire.tail import instructions, split, spoken, with_own_end

_ENDED = ("completed", "incomplete")  # incomplete: the model was stopped, and all it said is there


class ResponsesApi:
    """OpenAI's Responses API."""

    name = "responses"
    path = "/v1/responses"

    def read(self, body: Mapping[str, Any]) -> Asked:
        given = _input(body)
        own = own_messages(given)
        return Asked(
            texts(text(body, "instructions"), *(message.text for message in parsed(given[:own]))),
            parsed(given[own:]),
            tools_of(body, "tools"),
            text(body, "model"),
            body.get("stream") is True,
            whole(body, "max_output_tokens"),
            text(body, "previous_response_id") or _conversation(body),
            _conversation(body),
        )

    def write(self, body: Mapping[str, Any], context: Context) -> Wire:
        given = _input(body)
        at = own_messages(given)
        own, (chat, midst) = given[:at], spoken(given[at:])
        system, tagged, rest = split(context)
        built = formats.to_responses(rest)
        if body.get("store") is False:  # the upstream does not know reasoning that it cannot read here
            built = [item for item in built if item.get("type") != "reasoning" or item.get("encrypted_content")]
        first = instructions(own, midst, system, tagged, context.budget)
        return {**body, "input": [*first, *formats.joined_responses(with_own_end(built, chat))]}

    def replies(self, body: bytes, status: int, content_type: str) -> Reply | None:
        answer = loaded(body, status, content_type)
        output = answer.get("output") if answer else None
        if answer is None or not isinstance(output, list):
            return None
        complete = answer.get("status", "completed") in _ENDED
        items = _answered(output)
        if not items and not complete:
            return None
        return checked(Reply(tuple(items), text(answer, "model"), text(answer, "id"), complete))

    def stream(self) -> Streamed:
        return _Stream()


def _input(body: Mapping[str, Any]) -> list[Any]:
    given = body.get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if given is not None and not isinstance(given, list):
        raise MessageError(f'"input" is a text or a list of items, not {type(given).__name__}')
    return given or []


def _conversation(body: Mapping[str, Any]) -> str | None:
    given = body.get("conversation")
    return text(given, "id") if isinstance(given, Mapping) else text(body, "conversation")


def _answered(output: Sequence[Any]) -> list[Wire]:
    """The items of a reply, less reasoning that led to nothing: the API would not take it back."""
    items = [item for item in output if isinstance(item, dict)]
    while items and items[-1].get("type") == "reasoning":
        items.pop()
    return items


class _Item:
    """An output item that arrives in pieces."""

    def __init__(self, start: Wire) -> None:
        self.start = start
        self.parts: dict[int, tuple[str, Text]] = {}
        """Of a message: the type of each part, and its text."""
        self.said = Text()
        """Arguments of a call."""
        self.done: Wire | None = None

    @property
    def wire(self) -> Wire | None:
        """The item; None if not enough of it has come. The API does not know an item that was cut."""
        if self.done is not None:
            return self.done
        kind = self.start.get("type")
        if kind == "message":
            parts = (self.parts[at] for at in sorted(self.parts))
            content = [{"type": type, _FIELDS[type]: str(said)} for type, said in parts if str(said)]
            cut = {"status": "incomplete", "content": content, CUT: True}
            return {**self.start, "role": "assistant", **cut} if content else None
        if kind == "function_call" and is_object(str(self.said)):
            return {**self.start, "arguments": str(self.said), CUT: True}
        return None


_FIELDS = {"output_text": "text", "refusal": "refusal"}
_PARTS = {"response.output_text.delta": "output_text", "response.refusal.delta": "refusal"}


class _Stream(Streamed):
    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, _Item] = {}
        self._output: list[Any] = []  # as the last event has it

    def _take(self, data: Wire, size: int) -> None:
        kind, index = data.get("type"), data.get("output_index")
        if not isinstance(kind, str):
            return
        if isinstance(response := data.get("response"), dict):
            self._begun = True
            self._named(response)
            self._response(kind, response)
        if type(index) is not int:
            return
        item = data.get("item")
        if kind == "response.output_item.added" and isinstance(item, dict) and self._opens(size):
            self._items[index] = _Item(item)
        elif kind == "response.output_item.done" and isinstance(item, dict) and self._opens(size):
            found = self._items[index] = _Item(item)
            found.done = item
        elif index in self._items:
            self._delta(self._items[index], kind, data)

    def _response(self, kind: str, response: Wire) -> None:
        if kind == "response.failed":
            self._failed = True
        elif kind in ("response.completed", "response.incomplete"):
            self._ended = True
            if isinstance(output := response.get("output"), list) and output:
                self._output = output
                self._items.clear()
                self._full = False  # all is there, after all

    def _delta(self, item: _Item, kind: str, data: Wire) -> None:
        if kind == "response.function_call_arguments.delta":
            self._add(item.said, data.get("delta"))
        elif kind in _PARTS and type(at := data.get("content_index")) is int:
            if at not in item.parts and self._opens():
                item.parts[at] = (_PARTS[kind], Text())
            if at in item.parts:
                self._add(item.parts[at][1], data.get("delta"))

    def _messages(self) -> list[Wire] | None:
        made = (self._items[index].wire for index in sorted(self._items))
        items = _answered(self._output or [item for item in made if item is not None])
        return items if items or (self.complete and self._begun) else None
