"""Neighbours of one role as one message, as strict chat templates want them; and marks for a provider's cache. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infold.formats.parts import speaker

STUB = "[the conversation goes on]"  # the first message must be a user's
BREAK = "\n\n"
_JOINED = ("user", "assistant")
_CACHE = "cache_control"

Wire = dict[str, Any]


def joined_chat(messages: Sequence[Wire]) -> list[Wire]:
    """Chat Completions messages with the user first and no two neighbours of one role; who speaks by name keeps it in the
    text."""
    result: list[Wire] = []
    for message in messages:
        role = message["role"]
        begins = not result or result[-1]["role"] in ("system", "developer")
        if begins and role in ("assistant", "tool"):
            result.append({"role": "user", "content": STUB})
        if result and role in _JOINED and result[-1]["role"] == role:
            result[-1] = _chat(result[-1], message)
        else:
            result.append(message)
    return result


def _chat(one: Wire, other: Wire) -> Wire:
    first, second = _named(one), _named(other)
    content = _content(first.get("content"), second.get("content"), "text")
    both = (first.keys() & second.keys()) - {"role", "content"}
    return {**first, **second, "content": content, **{key: _both(first[key], second[key]) for key in both}}


def _both(one: Any, other: Any) -> Any:
    """What two messages have under one name, such as calls, a refusal or reasoning; of what cannot be joined, the later one's."""
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}{BREAK}{other}"
    return [*one, *other] if isinstance(one, list) and isinstance(other, list) else other


def _named(message: Wire) -> Wire:
    """A message with its speaker's name in the text."""
    name = message.get("name")
    if not isinstance(name, str):
        return message
    rest, name = {key: value for key, value in message.items() if key != "name"}, speaker(name)
    content = message.get("content")
    if isinstance(content, list):
        at = next((at for at, part in enumerate(content) if part.get("type") == "text"), None)
        if at == 0:
            return {**rest, "content": [{**content[0], "text": f"{name}: {content[0]['text']}"}, *content[1:]]}
        return {**rest, "content": [{"type": "text", "text": f"{name}:"}, *content]}
    return {**rest, "content": f"{name}: {content}"} if content else rest


def _content(one: Any, other: Any, kind: str) -> Any:
    if not one or not other:
        return one or other
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}{BREAK}{other}"
    return [*_parts(one, kind), *_parts(other, kind)]


def _parts(content: Any, kind: str) -> list[Wire]:
    return [{"type": kind, "text": content}] if isinstance(content, str) else [*content]


def joined_responses(items: Sequence[Wire]) -> list[Wire]:
    """Responses items with the user's neighbours joined; what the model said stays item by item."""
    result: list[Wire] = []
    for item in items:
        if result and item.get("role") == result[-1].get("role") == "user":
            content = _content(result[-1].get("content"), item.get("content"), "input_text")
            result[-1] = {**result[-1], **item, "content": content}
        else:
            result.append(item)
    return result


def joined_anthropic(messages: Sequence[Wire]) -> list[Wire]:
    """Anthropic messages with neighbours of one role joined, block by block."""
    result: list[Wire] = []
    for message in messages:
        if result and message["role"] == result[-1]["role"]:
            content = [*_parts(result[-1]["content"], "text"), *_parts(message["content"], "text")]
            result[-1] = {**result[-1], "content": content}
        else:
            result.append(message)
    return result


def with_breakpoints(built: Wire) -> Wire:
    """An Anthropic request with breakpoints for the provider's cache: after memory, and after the last reply. Those of earlier
    requests go: providers take few in one."""
    messages = [without_breakpoints(message) for message in built["messages"]]
    at = next((at for at in range(len(messages) - 1, -1, -1) if messages[at]["role"] == "assistant"), None)
    marked = {*([at] if at is not None else ()), *([0] if messages and messages[0]["role"] == "user" else ())}
    return {**built, "messages": [_marked(m, at == 0) if at in marked else m for at, m in enumerate(messages)]}


def without_breakpoints(value: Any) -> Any:
    """A message or part without marks for the cache."""
    if not isinstance(value, dict):
        return value
    found = {key: inner for key, inner in value.items() if key != _CACHE}
    if isinstance(found.get("content"), list):  # of a message, or of a tool result in it
        found["content"] = [without_breakpoints(part) for part in found["content"]]
    return found


def _marked(message: Wire, first: bool) -> Wire:
    parts = _parts(message["content"], "text")
    at = 0 if first else len(parts) - 1
    if not parts or parts[at].get("type") in ("thinking", "redacted_thinking"):
        return message
    parts[at] = {**parts[at], _CACHE: {"type": "ephemeral"}}
    return {**message, "content": parts}
