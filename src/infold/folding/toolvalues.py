"""The few values of a tool result that matter: references, states, amounts, dates. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from infold.folding.names import identifiers

_MOST = 5
_MOST_WORDS = 36
_KEY = re.compile(
    r"^(?:\w+_)?(?:id|number|no|code|ref|reference|status|total|amount|price|cost|balance|due|deadline|version|name|error|path|file|tracking|iban|invoice|order|ticket|booking|reservation|confirmation|date|key|title|email|hotel|start|check_in)$",
    re.IGNORECASE,
)
_NOISE = re.compile(
    r"debug|url|link|flag|cache|retries|version_|schema|offset|limit|page|count|elapsed|took|duration|timestamp|_at$|hash|token|request",
    re.IGNORECASE,
)
_SAYS = re.compile(
    r"\b(?:order|booking|reference|ref|ticket|invoice|confirmation|tracking|case|reservation|refund|total|amount|version|created|saved|booked|paid)\b",
    re.IGNORECASE,
)
_SHORT = 200


def tool_line(text: str) -> str:
    """One line for a tool's output; empty where it names nothing that could be referred to again."""
    try:
        value: Any = json.loads(text, parse_float=_exact)  # 74.90 stays 74.90
    except (ValueError, RecursionError):
        return _from_text(text)
    if isinstance(value, list):
        if len(value) != 1:  # a listing: nothing in it was asked for
            return ""
        value = value[0]
    pairs: list[tuple[str, str]] = []
    _walk(value, pairs, 0)
    telling = [(key, shown) for key, shown in pairs if _KEY.match(key)]
    if not any(_names(key, shown) for key, shown in pairs):
        return ""
    rest = [pair for pair in pairs if pair not in telling and not _NOISE.search(pair[0])]
    chosen: list[tuple[str, str]] = []
    words = 0
    for key, shown in telling + rest:
        words += len(key.replace("_", " ").split()) + len(shown.split())
        if len(chosen) == _MOST or words > _MOST_WORDS:
            break
        chosen.append((key, shown))
    return "; ".join(f"{key.replace('_', ' ')} {shown}" for key, shown in pairs if (key, shown) in chosen)


def _names(key: str, shown: str) -> bool:
    """Whether a value can be referred to again."""
    return bool(
        identifiers(shown) or _MONEY.search(shown) or (key.lower().endswith("id") and any(map(str.isdigit, shown)))
    )


_MONEY = re.compile(r"[$€£]\s?\d|\d\s?(?:[$€£]|EUR|USD|GBP|CHF)")


def _from_text(text: str) -> str:
    """A short answer is quoted by what it names; a dump names many things, none of them on purpose."""
    if len(text) > _SHORT or text.count("\n") > 3 or not _SAYS.search(text):
        return ""
    return ", ".join(map(_plain, identifiers(text)[:4]))


def _exact(number: str) -> str:
    """A number as it was written, where it is one that anybody would write."""
    return number if len(number) < 20 and "e" not in number.lower() else str(float(number))


def _plain(text: str) -> str:
    """One line of what any database can store."""
    return " ".join("".join(ch if ch.isprintable() else " " for ch in text).split())


def _walk(value: Any, pairs: list[tuple[str, str]], depth: int) -> None:
    if depth > 2 or not isinstance(value, dict):
        return
    for key, inner in value.items():
        if isinstance(inner, str | int | float) and not isinstance(inner, bool):
            key, shown = _plain(key), _plain(str(inner))
            if key and 0 < len(shown) <= 60 and len(key) <= 40 and len(pairs) < 40:
                pairs.append((key, shown))
        elif isinstance(inner, list) and len(inner) == 1:
            _walk(inner[0], pairs, depth + 1)
        else:
            _walk(inner, pairs, depth + 1)
