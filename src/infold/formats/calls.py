"""Arguments and ids of calls, which each format writes its own way. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from infold.errors import MessageError
from infold.messages import canonical_json

# Arguments that are no JSON object, as the models sometimes write them, under one key of an object.
RAW = "_raw_arguments"


def arguments_of(given: Mapping[str, Any]) -> str:
    """An input object as a JSON text; wrapped arguments are unwrapped."""
    raw = given.get(RAW)
    if len(given) == 1 and isinstance(raw, str) and _object(raw) is None:
        return raw
    try:
        return json.dumps(given, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise MessageError(f"the input of a tool_use block cannot be written as JSON: {error}") from None


def input_of(call: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a tool call as an object."""
    if "function" not in call:
        return {"input": (call.get("custom") or {}).get("input", "")}
    text = call["function"].get("arguments", "")
    if not text.strip():
        return {}
    found = _object(text)
    return {RAW: text} if found is None else found


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is, if any provider could read it."""
    try:
        found = json.loads(text)
        canonical_json(found).encode()  # no NaN, no half surrogates
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


class AnthropicIds:
    """Call ids as Anthropic takes them: of few characters, and each one once in a request."""

    def __init__(self) -> None:
        self._now: dict[str, str] = {}
        self._used: set[str] = set()

    def call(self, id: str) -> str:
        """The id of a new call."""
        clean = _clean(id)
        found, number = clean, 1
        while found in self._used:
            number += 1
            found = f"{clean}_{number}"
        self._used.add(found)
        self._now[id] = found
        return found

    def result(self, id: str) -> str:
        """The id of the newest call that had this one."""
        return self._now.get(id) or _clean(id)


def _clean(id: str) -> str:
    clean = re.sub(r"[^a-zA-Z0-9_-]", "_", id)
    return id if clean == id else f"{clean}_{hashlib.sha256(id.encode()).hexdigest()[:8]}"


def anthropic_name(name: str) -> str:
    """A tool's name as Anthropic takes it."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:128] or "_"
