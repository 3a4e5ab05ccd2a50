"""Blocks: the text that infold adds to a request. A mark tells infold its own blocks when they come back. Pure.

A mark is a MAC over the chat and the block's body. What carries no valid mark is conversation, whatever it looks like.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from typing import Any

from infold.context.escaping import TAGS
from infold.marks import DEPTH_TAG

DIGITS = 18
"""Of a mark. Digits are three to a token, so that every mark takes the same number of tokens."""
BLOCK_SIGN = ' mark="'
"""Stands in every block."""
_BLANK = "0" * DIGITS
_OPENING = re.compile(rf'<({"|".join(TAGS)}) mark="(\d{{{DIGITS}}})">\n')
_DEPTH = re.compile(
    rf"(?:(?<=\n)|\A){re.escape(DEPTH_TAG).replace(re.escape('{}'), '[0-9]+')}\n\Z"
)  # a chain's, before its block
_MARK = re.compile(rf'(?<=<(?:memory) mark=")\d{{{DIGITS}}}(?=">)|(?<=<recalled mark=")\d{{{DIGITS}}}(?=">)')


def opening(tag: str, mark: str = _BLANK) -> str:
    """The first line of a block."""
    return f'<{tag}{BLOCK_SIGN}{mark}">'


def closing(tag: str) -> str:
    """The last line of a block."""
    return f"</{tag}>"


def block(tag: str, lines: Sequence[str], chat: str, key: bytes) -> str:
    """Lines as a block."""
    body = "\n".join(lines)
    return f"{opening(tag, _mark(tag, body, chat, key))}\n{body}\n{closing(tag)}"


def _mark(tag: str, body: str, chat: str, key: bytes) -> str:
    said = f"{tag}\0{chat}\0{body}".encode("utf-8", "surrogatepass")
    return str(int.from_bytes(hmac.digest(key, said, hashlib.sha256)[:12], "big") % 10**DIGITS).zfill(DIGITS)


def without_blocks(text: str, chat: str, key: bytes) -> str:
    """A text less the blocks that were made for this chat, and the blank lines around them."""
    if BLOCK_SIGN not in text:
        return text
    kept: list[str] = []
    at = 0
    opened = [*_OPENING.finditer(text)]
    for number, found in enumerate(opened):
        tag, mark = found.groups()
        # No block holds the beginning of another, so none of somebody else's can swallow one of ours.
        until = opened[number + 1].start() if number + 1 < len(opened) else len(text)
        end = text.find(f"\n{closing(tag)}", found.end(), until)
        if end >= 0 and hmac.compare_digest(mark, _mark(tag, text[found.end() : end], chat, key)):
            kept.append(_DEPTH.sub("", text[at : found.start()]).rstrip())
            at = end + 1 + len(closing(tag))
    if not at:
        return text
    kept.append(text[at:])
    return "\n\n".join(part.strip("\n") for part in kept if part.strip())


def unmarked(value: Any) -> Any:
    """The messages with every mark blanked, so that two installations can be compared."""
    if isinstance(value, str):
        return _MARK.sub(_BLANK, value) if BLOCK_SIGN in value else value
    if isinstance(value, dict):
        return {key: unmarked(inner) for key, inner in value.items()}
    return [unmarked(inner) for inner in value] if isinstance(value, list | tuple) else value
