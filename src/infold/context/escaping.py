"""Other people's words on one line of a block, so that nothing in them can end the line or the block. Pure."""

from __future__ import annotations

import re

BREAK = "¶"
"""Stands for a line break."""
_OPEN, _CLOSE = "␛", ";"
TAGS = ("memory", "recalled")
"""Names of the blocks."""

# Everything that ends a line, other control characters but tabs, and what turns the direction of writing.
_TOUCHED = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb"
    f"{BREAK}{_OPEN}]|<(?=/?(?:{'|'.join(TAGS)})\\b)",
    re.IGNORECASE,
)
_ESCAPED = re.compile(f"{BREAK}|{_OPEN}([0-9a-f]{{1,6}}){_CLOSE}")


def escape(text: str) -> str:
    """A text on one line. Only line breaks, control and bidi characters, our own signs and the tags of blocks are touched."""
    return _TOUCHED.sub(_written, text)


def unescape(text: str) -> str:
    """The text that was escaped."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else "\n", text)


def _written(found: re.Match[str]) -> str:
    sign = found[0]
    return BREAK if sign == "\n" else f"{_OPEN}{ord(sign):x}{_CLOSE}"
