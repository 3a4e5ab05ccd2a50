"""What is left of a message that was forgotten, and of what may quote it. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from infold.marks import FORGOTTEN
from infold.messages import ANTHROPIC, CUT, RESPONSES, Message
from infold.tokens import message_tokens

_SHORTEST = 8  # characters: a shorter text without figures stands in others by chance
_WORD = re.compile(r"\w+")


def redacted(message: Message) -> Message:
    """The message without anything that was said in it. Calls keep ids and names, so that their results belong to them."""
    extra = _structure(message)
    silent = message.content is None and message.item is not None  # its mark is that it was cut
    bare = replace(
        message,
        content=None if silent else FORGOTTEN,
        name=None,
        tool_calls=tuple(map(_bare_call, message.tool_calls)),
        extra=extra,
    )
    return replace(bare, tokens=message_tokens(bare))


def is_redacted(message: Message) -> bool:
    """Whether nothing is left of what a message said."""
    left = message.content == FORGOTTEN or (message.content is None and message.item is not None)
    return left and redacted(message) == message


def trace(message: Message) -> int:
    """One byte of a hash of what a message says: enough to know it at its place when it comes again, and far too little to find
    out what it was."""
    return hashlib.sha256("".join(message.text.split()).encode()).digest()[0]


def _structure(message: Message) -> dict[str, Any]:
    """What a format needs to write the message among its neighbours: no words."""
    if message.item is not None and message.role in ("assistant", "tool"):
        kept = {"type": message.item["type"]} if isinstance(message.item.get("type"), str) else {}
        return {RESPONSES: {**kept, CUT: True}}  # its id would name an item that the provider still has
    if message.extra.get(ANTHROPIC, {}).get("joined") is True:
        return {ANTHROPIC: {"joined": True}}
    return {}


def _bare_call(call: Mapping[str, Any]) -> dict[str, Any]:
    if "function" in call:
        return {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["function"]["name"], "arguments": "{}"},
        }
    return {"id": call["id"], "type": "custom", "custom": {"name": call["custom"]["name"], "input": ""}}


def all_text(message: Message) -> str:
    """Everything that a message said: its text and the arguments of its calls."""
    given = [call.get("function") or call.get("custom") or {} for call in message.tool_calls]
    return "\n".join([message.text, *(str(one.get("arguments", one.get("input", ""))) for one in given)])


def quotes(text: str, said: str) -> bool:
    """Whether a text stands in what was said, or what was said in it, word for word."""
    short, long = sorted((_words(text), _words(said)), key=len)
    if short == long:
        return True
    telling = len(short.strip()) >= _SHORTEST or any(ch.isdigit() for ch in short)
    return telling and short in long


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def without_quotations(data: Mapping[str, Any]) -> dict[str, Any]:
    """What an event tells, less what may quote messages: the words of errors, and details of what the gate found."""
    kept = {key: value for key, value in data.items() if key != "message"}
    if isinstance(kept.get("findings"), list):
        kept["findings"] = [finding[:2] for finding in kept["findings"] if isinstance(finding, list)]
    if "contradicted" in kept:  # ids of facts are made of their words
        kept["contradicted"] = []
    return kept
