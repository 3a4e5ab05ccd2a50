"""The few values of a tool result that matter: references, states, amounts, dates. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from infold.folding.names import IDENTIFIER, identifiers

_MOST = 5
_KEY = re.compile(
    r"^(?:\w+_)?(?:id|number|no|code|ref|reference|status|total|amount|price|cost|balance|due|deadline|version|name|error|path|file|tracking|iban|sku|invoice|order|ticket|booking|reservation|confirmation)$"
    r"|^(?:\w+_)?(?:date|url|email)$",
    re.IGNORECASE,
)


def tool_line(text: str) -> str:
    """One line for a tool's output; empty where it names nothing that could be referred to again."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        found = identifiers(text)
        return ", ".join(found[:4]) if len(found) <= 6 else ""  # a dump names many things, none of them on purpose
    pairs: list[str] = []
    _walk(value, pairs, 0)
    if not any(IDENTIFIER.search(pair) for pair in pairs):
        return ""
    return "; ".join(pairs)


def _walk(value: Any, pairs: list[str], depth: int) -> None:
    if depth > 2 or len(pairs) >= _MOST:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, str | int | float) and not isinstance(inner, bool):
                shown = " ".join(str(inner).split())
                if len(pairs) < _MOST and _KEY.match(key) and 0 < len(shown) <= 60:
                    pairs.append(f"{key.replace('_', ' ')} {shown}")
            else:
                _walk(inner, pairs, depth + 1)
    elif isinstance(value, list):
        for inner in value[:2]:
            _walk(inner, pairs, depth + 1)
