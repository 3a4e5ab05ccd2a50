"""Cutting what is too large for a context to a marked head and tail; the ledger keeps the whole. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from infold.messages import ANTHROPIC, BOUND, CUT, RESPONSES, Message
from infold.tokens import count, excerpt, message_tokens

MIN_EXCERPT = 24  # tokens of the smallest excerpt worth showing
MIN_QUESTION = 8  # and of the question, when nothing else is left to give way


def caps(messages: Sequence[Message], room: int, floor: int = MIN_EXCERPT) -> list[int] | None:
    """How many tokens each message may take so that all fit the room: equal shares, what is short stays whole.

    None where even their frames, with `floor` tokens of text each, do not fit.
    """
    least = [min(m.tokens, _least(m, floor)) for m in messages]
    if sum(least) > room:
        return None
    low, high = 0, max((m.tokens for m in messages), default=0)

    def taken(level: int) -> int:
        return sum(min(m.tokens, max(level, size)) for m, size in zip(messages, least, strict=True))

    while low < high:  # the highest level that fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if taken(middle) <= room else (low, middle - 1)
    return [min(m.tokens, max(low, size)) for m, size in zip(messages, least, strict=True)]


def _least(message: Message, floor: int) -> int:
    """Tokens of a message that shows next to nothing of itself."""
    bare, text = _bare(message)
    return message_tokens(_without_arguments(bare)) + (floor if text else 0)


def excerpt_message(message: Message, cap: int) -> Message | None:
    """The message in at most `cap` tokens; None where even its frame does not fit."""
    if message.tokens <= cap:
        return message
    left_out = message.tokens - cap
    mark = f"\n[… about {left_out} tokens left out; the ledger keeps the whole message …]\n" if cap >= 80 else " […] "
    # What the provider does not need goes first: reasoning and other fields, then images and files.
    short, text = _bare(message)
    frame = message_tokens(short)
    if frame > cap and message.tool_calls:
        per_call = max(0, cap - message_tokens(_without_arguments(short))) // len(message.tool_calls)
        short = _with_arguments(short, per_call, mark)
        frame = message_tokens(short)
    if frame > cap:
        return None
    if text:
        short = _with_text(short, excerpt(text, cap - frame, mark))
    tokens = message_tokens(short)
    return replace(short, tokens=tokens) if tokens <= cap else None


def _bare(message: Message) -> tuple[Message, str]:
    """The message without its text and extra fields, and the text."""
    extra = _marks(message)
    if message.tool_calls and ANTHROPIC in message.extra and isinstance(message.content, list):
        bound = [part for part in message.content if part["type"] in BOUND]
        if bound:  # its API takes no calls back without what was thought before them
            calls = [part for part in message.content if part["type"] == "tool_use"]
            return replace(message, extra={ANTHROPIC: {}}, content=[*bound, *calls]), message.text
    if message.content is not None:
        return replace(message, extra=extra, content=""), message.text
    if message.tool_calls or message.opaque:
        return replace(message, extra=extra), ""
    # Neither content nor calls: what it says stands in an extra field, such as a refusal.
    said = "\n".join(value for value in message.extra.values() if isinstance(value, str))
    return replace(message, extra={}, content=""), said


def _with_text(message: Message, text: str) -> Message:
    if not isinstance(message.content, list):
        return replace(message, content=text)
    at = sum(part["type"] in BOUND for part in message.content)
    return replace(message, content=[*message.content[:at], {"type": "text", "text": text}, *message.content[at:]])


def _marks(message: Message) -> dict[str, Any]:
    """What a format still must know of a message that was cut: which item it is, and whether a result is an error."""
    if (item := message.item) is not None:
        return {RESPONSES: {key: item[key] for key in ("type", "phase") if key in item} | {CUT: True}}
    mark = message.extra.get(ANTHROPIC, {})
    return {ANTHROPIC: {"is_error": mark["is_error"]}} if "is_error" in mark else {}


def _without_arguments(message: Message) -> Message:
    return _with_arguments(message, 0, "")


def _with_arguments(message: Message, room: int, mark: str) -> Message:
    """Tool calls whose arguments are still JSON but at most about `room` tokens each."""
    calls: list[dict[str, Any]] = []
    for call in message.tool_calls:
        kind = "function" if "function" in call else "custom"
        key = "arguments" if kind == "function" else "input"
        whole = str(call[kind].get(key, ""))
        if count(whole) > room:
            body = excerpt(whole, room - 12, mark) if room > 24 else ""
            whole = json.dumps({"excerpt": body}, ensure_ascii=False) if body else "{}"
        calls.append({**call, kind: {**call[kind], key: whole}})
    return replace(message, tool_calls=tuple(calls))
