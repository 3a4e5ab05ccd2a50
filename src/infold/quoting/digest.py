"""A message in one line: for the bridge. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from infold.marks import without_own
from infold.messages import Message
from infold.quoting.choosing import rank
from infold.quoting.history import read_once

_CHARS = 110


def digest(message: Message, before: Sequence[Message] = ()) -> str:
    """All of a short message, the most telling words of a long one, or its beginning; and what it calls."""
    text = " ".join(without_own(message.text)[: _CHARS * 3].split())
    if len(text) > _CHARS:
        fitting = [one for one in read_once(message, before) if len(one.text) <= _CHARS]
        best = max(fitting, key=lambda one: (rank(one.worth, one.standing), one.places), default=None)
        text = best.text if best else text
    if message.tool_calls:
        called = ", ".join(str((c.get("function") or c.get("custom") or {}).get("name")) for c in message.tool_calls)
        text = f"{text} [calls {called}]".strip()
    if len(text) > _CHARS:
        text = text[:_CHARS].rsplit(" ", 1)[0].rstrip(" ,;:.-") + " …"
    return f"{message.name or message.role}: {text or '(empty)'}"
