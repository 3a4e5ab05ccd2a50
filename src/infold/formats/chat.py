"""Messages as Chat Completions messages. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from infold.formats.parts import failed, for_chat, parts_of, prefixed, said
from infold.messages import ANTHROPIC, RESPONSES, Message
from infold.units import runs


def to_chat(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages as a Chat Completions request has them; what came in that format comes out as it was."""
    if not any(message.extra for message in messages):  # the common case, much cheaper
        return [message.wire if message.plain else deepcopy(message.wire) for message in messages]
    result: list[dict[str, Any]] = []
    for run in runs(messages):
        first = run[0]
        if not first.foreign:
            result.append(deepcopy(first.wire))
        elif first.role == "assistant":
            result += _assistant(run)
        else:
            result.append(_other(first))
    return result


def _assistant(run: Sequence[Message]) -> list[dict[str, Any]]:
    """What the model said in one go as one message, if any of it can be said here."""
    calls = [deepcopy(call) for message in run for call in message.tool_calls]
    text = "\n\n".join(text for message in run for text in said(message) if text)
    if not calls and not text:
        return []
    wire = {"role": "assistant", "content": text or None, **_own(run[0])}
    return [{**wire, "tool_calls": calls} if calls else wire]


def _other(message: Message) -> dict[str, Any]:
    parts = prefixed(parts_of(message.content), "[error] " if failed(message) else "")
    content: Any = parts[0].text if len(parts) == 1 and isinstance(message.content, str) else None
    if content is None:
        text_only = message.role != "user"
        content = [{"type": "text", "text": part.text} if text_only else for_chat(part) for part in parts] or ""
    wire = {"role": message.role, "content": content, **_own(message)}
    return {**wire, "tool_call_id": message.tool_call_id} if message.role == "tool" else wire


def _own(message: Message) -> dict[str, Any]:
    """The name and the fields that infold does not know."""
    fields = {key: deepcopy(value) for key, value in message.extra.items() if key not in (RESPONSES, ANTHROPIC)}
    return {"name": message.name, **fields} if message.name is not None else fields
