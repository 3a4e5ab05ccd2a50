"""Messages that some provider takes though a ledger cannot hold them: all that can be kept of one is. Pure."""

from __future__ import annotations

import json
import math
import re
from typing import Any

_LOST = re.compile("[\0\ud800-\udfff]")
_MARK = "\ufffd"


def mended(value: Any) -> Any:
    """A message without what no database holds (NUL, halves of characters, numbers that are none), and with a text where it has
    nothing; where that is not enough, it is still no message."""
    found = _clean(value)
    if not isinstance(found, dict):
        return found
    content = found.get("content")
    if content is None and found.get("role") != "assistant" and "content" in found:
        found["content"] = ""
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and "text" in part and part["text"] is None:
            part["text"] = ""
    calls = found.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict) and isinstance(function.get("arguments"), dict):
            function["arguments"] = json.dumps(function["arguments"], ensure_ascii=False)
    return found


def _clean(value: Any) -> Any:
    """A copy of what JSON can say, with marks for what no database holds."""
    if isinstance(value, str):
        return _LOST.sub(_MARK, value)
    if isinstance(value, dict):
        return {_clean(key): _clean(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_clean(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
