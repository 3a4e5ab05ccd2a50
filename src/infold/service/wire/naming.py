"""Calls by names of their own. Some servers give a call no id, or two the same; and a function of old never had one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_FUNCTION = "infold function "  # begins the id of a function of old; its name follows
_CALL = "call"


def named(messages: Sequence[Any]) -> list[Any]:
    """The same messages, one for one, with each call named and each result naming its call. What is named stays as it is."""
    found: list[Any] = []
    waiting: list[tuple[str, str]] = []  # calls without a result: the id that was written, and the name
    for value in messages:
        role = value.get("role") if isinstance(value, Mapping) else None
        if role == "assistant":
            made = _called(value)
            waiting = list(zip(_written(value), _written(made), strict=False))
            value = made
        elif role == "tool":
            value = _answered(value, waiting)
        elif role == "function" and isinstance(value.get("name"), str):
            rest = {key: inner for key, inner in value.items() if key != "name"}
            value = {**rest, "role": "tool", "tool_call_id": _FUNCTION + value["name"]}
        found.append(value)
    return found


def unnamed(value: dict[str, Any]) -> dict[str, Any]:
    """A message with a function of old as the API had it."""
    id, calls = value.get("tool_call_id"), value.get("tool_calls")
    if isinstance(id, str) and id.startswith(_FUNCTION):
        rest = {key: inner for key, inner in value.items() if key != "tool_call_id"}
        return {**rest, "role": "function", "name": id.removeprefix(_FUNCTION)}
    if calls and str(calls[0].get("id")).startswith(_FUNCTION):
        rest = {key: inner for key, inner in value.items() if key != "tool_calls"}
        return {**rest, "function_call": calls[0]["function"]}
    return value


def _called(value: Mapping[str, Any]) -> Mapping[str, Any]:
    calls, function = value.get("tool_calls"), value.get("function_call")
    if calls and isinstance(calls, list) and all(isinstance(call, dict) for call in calls):
        names = list(_names(_written(value)))
        if names == [call.get("id") for call in calls]:
            return value
        return {**value, "tool_calls": [{**call, "id": name} for call, name in zip(calls, names, strict=True)]}
    if not calls and isinstance(function, dict) and isinstance(function.get("name"), str):
        call = {"id": _FUNCTION + function["name"], "type": "function", "function": function}
        return {**{key: inner for key, inner in value.items() if key != "function_call"}, "tool_calls": [call]}
    return value


def _written(value: Mapping[str, Any]) -> list[str]:
    """The ids of calls as they are written; empty where there is none."""
    calls = value.get("tool_calls")
    ids = [call.get("id") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return [id if isinstance(id, str) else "" for id in ids]


def _names(written: Sequence[str]) -> Iterator[str]:
    used: set[str] = set()
    for id in written:
        name, number = id or _CALL, 1
        while name in used:
            number += 1
            name = f"{id or _CALL}_{number}"
        used.add(name)
        yield name


def _answered(value: Mapping[str, Any], waiting: list[tuple[str, str]]) -> Mapping[str, Any]:
    """A result with the name of its call: the first of that id; the first of all, where it has none that fits."""
    id = value.get("tool_call_id") or ""
    call = next((one for one in waiting if one[0] == id), waiting[0] if waiting and not id else None)
    if call is not None:
        waiting.remove(call)
    name = call[1] if call is not None else id or _CALL
    return value if name == id else {**value, "tool_call_id": name}
