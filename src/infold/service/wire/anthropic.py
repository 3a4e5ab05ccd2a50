"""Anthropic's Messages: POST /v1/messages. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from infold import formats
from infold.context.view import Context
from infold.errors import MessageError
from infold.service.wire.base import (
    Asked,
    Reply,
    Streamed,
    Text,
    Wire,
    checked,
    listed,
    loaded,
    parsed,
    text,
    texts,
    tools_of,
    whole,
)
from infold.service.wire.tail import with_own_end

_THINKING = ("thinking", "redacted_thinking")


class AnthropicApi:
    """The Messages API."""

    name = "anthropic"
    path = "/v1/messages"

    def read(self, body: Mapping[str, Any]) -> Asked:
        return Asked(
            texts(*(block.get("text") for block in _system(body))),
            parsed(listed(body, "messages")),
            tools_of(body, "tools"),
            text(body, "model"),
            body.get("stream") is True,
            whole(body, "max_tokens"),
        )

    def write(self, body: Mapping[str, Any], context: Context) -> Wire:
        built = formats.to_anthropic(context.shown(), join=False)
        messages = formats.joined_anthropic(with_own_end(built["messages"], listed(body, "messages")))
        if more := built.get("system"):
            return {**body, "system": [*_system(body), *more], "messages": messages}
        return {**body, "messages": messages}

    def replies(self, body: bytes, status: int, content_type: str) -> Reply | None:
        answer = loaded(body, status, content_type)
        if answer is None or answer.get("role") != "assistant" or not isinstance(answer.get("content"), list):
            return None
        model = text(answer, "model")
        return checked(Reply((_message(answer["content"], model),), model, text(answer, "id"), True))

    def stream(self) -> Streamed:
        return _Stream()


def _system(body: Mapping[str, Any]) -> list[Any]:
    """The client's own instructions as blocks."""
    system = body.get("system")
    if isinstance(system, str):
        return [{"type": "text", "text": system}] if system.strip() else []
    if system is None:
        return []
    if not isinstance(system, list) or not all(
        isinstance(block, dict) and isinstance(block.get("text", ""), str) for block in system
    ):
        raise MessageError('"system" is a text or a list of text blocks')
    return system


def _message(blocks: Sequence[Any], model: str | None) -> Wire:
    """A reply for the chat; thinking alone says nothing, and the API would not take it back."""
    if any(not isinstance(block, dict) or block.get("type") not in _THINKING for block in blocks):
        named = {"model": model} if model else {}
        return {"type": "message", "role": "assistant", "content": list(blocks), **named}
    return {"role": "assistant", "content": ""}


class _Block:
    """A content block that arrives in pieces."""

    def __init__(self, start: Wire) -> None:
        self.start = start
        self.texts: dict[str, Text] = {}
        """Pieces by the field they belong to."""
        self.citations: list[Any] = []
        self.stopped = False

    @property
    def kind(self) -> str:
        return str(self.start["type"])

    @property
    def wire(self) -> Wire | None:
        """The block; None if it is empty, or not all of it has come that must be there."""
        fields = {key: f"{self.start.get(key) or ''}{said}" for key, said in self.texts.items() if key != "input"}
        block = {**self.start, **fields}
        if self.citations:
            block["citations"] = self.citations
        if self.kind == "text":
            return block if block.get("text") else None
        if self.kind == "thinking" and not block.get("signature"):
            return None
        if written := str(self.texts.get("input", "")):
            try:
                block["input"] = json.loads(written)
            except (ValueError, RecursionError):
                return None
        elif not self.stopped:
            return None
        return block


_PIECES = {  # type of delta -> (its field, the block's field)
    "text_delta": ("text", "text"),
    "input_json_delta": ("partial_json", "input"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
}


class _Stream(Streamed):
    def __init__(self) -> None:
        super().__init__()
        self._blocks: dict[int, _Block] = {}

    def _take(self, data: Wire, size: int) -> None:
        kind, index = data.get("type"), data.get("index")
        if kind == "message_start" and isinstance(message := data.get("message"), dict):
            self._begun = True
            self._named(message)
        elif kind == "message_stop" or (kind == "message_delta" and _stops(data.get("delta"))):
            self._ended = True
        elif type(index) is not int:
            return
        elif kind == "content_block_start":
            start = data.get("content_block")
            if isinstance(start, dict) and isinstance(start.get("type"), str) and self._opens(size):
                self._blocks[index] = _Block(start)
        elif block := self._blocks.get(index):
            if kind == "content_block_stop":
                block.stopped = True
            elif kind == "content_block_delta" and isinstance(delta := data.get("delta"), dict):
                self._delta(block, delta, size)

    def _delta(self, block: _Block, delta: Wire, size: int) -> None:
        kind = delta.get("type")
        if kind == "citations_delta":
            if delta.get("citation") and self._keeps(size):
                block.citations.append(delta["citation"])
        elif isinstance(kind, str) and kind in _PIECES:
            key, field = _PIECES[kind]
            self._add(block.texts.setdefault(field, Text()), delta.get(key))

    def _messages(self) -> list[Wire] | None:
        made = (self._blocks[index].wire for index in sorted(self._blocks))
        blocks = [block for block in made if block is not None]
        if not self.complete:  # what the server looked up, but did not get
            got = {block.get("tool_use_id") for block in blocks if isinstance(block.get("tool_use_id"), str)}
            blocks = [block for block in blocks if block["type"] != "server_tool_use" or block.get("id") in got]
        message = _message(blocks, self._model)
        return [message] if message["content"] or (self.complete and self._begun) else None


def _stops(delta: object) -> bool:
    return isinstance(delta, dict) and bool(delta.get("stop_reason"))
