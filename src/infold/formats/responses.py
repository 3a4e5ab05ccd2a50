"""Messages as input items of the Responses API. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from infold.formats.parts import failed, for_responses, parts_of, prefixed, said, speaker
from infold.messages import CUT, Message
from infold.units import runs


def to_responses(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages as a Responses request has them; items come out as they were."""
    result: list[dict[str, Any]] = []
    kinds: dict[str, str] = {}  # call id -> type of its newest call
    for run in runs(messages):
        kinds.update((call["id"], _call(call)["type"]) for message in run for call in message.tool_calls)
        # The API refuses an item without its reasoning and reasoning without its item, and knows them by their ids:
        # where one item of a run was cut, the others go without.
        whole = not any((message.item or {}).get(CUT) for message in run)
        for message in run:
            if message.item is None:
                result += _foreign(message, kinds)
            elif whole:
                result.append(_native(message))
            else:
                result += _cut(message)
    return result


def _native(message: Message) -> dict[str, Any]:
    """An item as it came."""
    item = deepcopy(message.item or {})
    if message.opaque:
        return item
    if message.tool_calls:
        return {**_call(message.tool_calls[0]), **item}
    content = deepcopy(message.content)
    if message.role == "tool":
        return {**item, "call_id": message.tool_call_id, "output": content}
    return {**item, "role": message.role, "content": content}


def _cut(message: Message) -> list[dict[str, Any]]:
    """An item of a run that is no longer whole."""
    item = {key: value for key, value in (message.item or {}).items() if key not in (CUT, "id")}
    if message.tool_calls:
        return [{**_call(message.tool_calls[0]), **deepcopy(item)}]
    if message.role == "tool":
        return [{**deepcopy(item), "call_id": message.tool_call_id, "output": deepcopy(message.content)}]
    text = "\n\n".join(said(message))
    phase = {"phase": item["phase"]} if "phase" in item else {}
    return [{"role": message.role, "content": text, **phase}] if text or message.role != "assistant" else []


def _call(call: dict[str, Any]) -> dict[str, Any]:
    if "custom" in call:
        inner = call["custom"]
        return {
            "type": "custom_tool_call",
            "call_id": call["id"],
            "name": inner["name"],
            "input": inner.get("input", ""),
        }
    inner = call["function"]
    arguments = inner.get("arguments", "")
    return {"type": "function_call", "call_id": call["id"], "name": inner["name"], "arguments": arguments}


def _foreign(message: Message, kinds: dict[str, str]) -> list[dict[str, Any]]:
    """A message of another format; a speaker's name has no place but the text."""
    content, role = message.content, message.role
    if role == "tool":
        kind = f"{kinds.get(message.tool_call_id or '', 'function_call')}_output"
        output = _input(content, "[error] " if failed(message) else "")
        return [{"type": kind, "call_id": message.tool_call_id, "output": output}]
    prefix = f"{speaker(message.name)}: " if message.name else ""
    if role != "assistant":
        return [{"role": role, "content": _input(content, prefix)}]
    text = content if isinstance(content, str) else "\n\n".join(text for text in said(message) if text)
    spoken = [{"role": role, "content": prefix + text}] if text or (content == "" and not message.tool_calls) else []
    return [*spoken, *map(_call, message.tool_calls)]


def _input(content: str | list[dict[str, Any]] | None, prefix: str) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return prefix + content
    return [for_responses(part) for part in prefixed(parts_of(content), prefix)]
