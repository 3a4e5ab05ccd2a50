"""Calls and results as text, for models whose chat template knows no tools. Pure.

The model's calls stand in its own words; a result is quoted in the user's role, as no other is left, so that nothing in it
reads as what the user said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infold.formats.calls import anthropic_name
from infold.units import quoted

Wire = dict[str, Any]


def calls_text(calls: Sequence[Mapping[str, Any]]) -> str:
    """The calls of a message as a text."""
    functions = [call.get("function") or call.get("custom") or {} for call in calls]
    made = ", ".join(f"{f.get('name')}({f.get('arguments', f.get('input', ''))})" for f in functions)
    return f"[calls {made}]"


def worded(messages: Sequence[Wire]) -> list[Wire]:
    """Chat Completions messages without tool calls and tool roles; what they say is text."""
    names: dict[str, str] = {}
    result: list[Wire] = []
    for message in messages:
        if message["role"] == "tool":
            result.append({"role": "user", "content": _result(message, names)})
            continue
        calls = message.get("tool_calls") or ()
        for call in calls:
            names[call["id"]] = (call.get("function") or call.get("custom") or {}).get("name", "")
        rest = {key: value for key, value in message.items() if key != "tool_calls"}
        result.append({**rest, "content": _with_calls(message.get("content"), calls)})
    return result


def _with_calls(content: Any, calls: Sequence[Wire]) -> Any:
    if not calls:
        return content or ""
    said = calls_text(calls)
    if isinstance(content, list):
        return [*content, {"type": "text", "text": said}]
    return f"{content} {said}" if content else said


def _result(message: Wire, names: Mapping[str, str]) -> str:
    content = message.get("content") or ""
    text = content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)
    name = anthropic_name(names.get(message.get("tool_call_id", "")) or "tool")
    return f"[result of {name}]\n> {quoted(text)}"
