"""How much of a request is the beginning of the next one: what a provider's prompt cache can use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import zip_longest
from typing import Any

from infold import Chat
from infold.tokens import count
from tests import own

Wire = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """A request beside the one before it."""

    at: int
    """Messages of the chat so far."""
    tokens: int
    """Of the request before."""
    shared: int
    """Of these, how many this one begins with."""
    folded: bool
    """Whether a fold lies between them."""
    asks_back: bool
    """Whether one of them holds what was said on the question, recalled words or entities."""
    trimmed: bool
    """Whether one of them leaves messages out."""

    @property
    def share(self) -> float:
        return self.shared / self.tokens


def conversations() -> dict[str, list[Wire]]:
    """The chats that were written for infold, and the demo."""
    lines = (files("infold") / "demo" / "conversation.jsonl").read_text("utf-8").splitlines()
    return {**{name: own.messages(name) for name in own.NAMES}, "demo": [json.loads(line) for line in lines]}


def steps(chat: Chat, wires: Sequence[Wire], max_tokens: int | None = None) -> Iterator[Step]:
    """Play a conversation: a request before each reply, and where nobody replies, after each message. A first request is all
    question, and is compared with nothing."""
    before, text = None, ""
    replies = any(wire["role"] == "assistant" for wire in wires)
    for at, (wire, following) in enumerate(zip_longest(wires, wires[1:], fillvalue={"role": ""}), 1):
        chat.add(wire, repair=True)
        if replies and following["role"] != "assistant":
            continue
        context = chat.context(max_tokens=max_tokens)
        asks_back = any(context.sources[name] for name in ("near", "recalled", "entities"))
        now = (chat.memory.cursor, asks_back, context.bridge is not None)
        rendered = _rendered(context.messages)
        if before is not None and at > 2:
            shared = text[: _common(text.encode(), rendered.encode(), text)]
            yield Step(at, count(text), count(shared), before[0] != now[0], before[1] or now[1], before[2] or now[2])
        before, text = now, rendered


def _rendered(messages: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(json.dumps(message, ensure_ascii=False) for message in messages)


def _common(one: bytes, other: bytes, text: str) -> int:
    """Characters of a text whose bytes both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return len(one[:low].decode("utf-8", "ignore")) if low < len(one) else len(text)
