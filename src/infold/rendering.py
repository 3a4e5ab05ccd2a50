"""The pieces of a context as text: memory blocks, the bridge, sources, plain lines. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infold.context import View
from infold.lines.line import FACT, LEAF, LONG, Line
from infold.lines.rendering import render
from infold.marks import BRIDGE_HEADER, FACTS_HEADER, LEAVES_HEADER, NOTHING, PINS_HEADER, SUMMARY_HEADER
from infold.messages import Message
from infold.quoting.digest import digest
from infold.quoting.reading import REACH
from infold.tokens import MESSAGE_OVERHEAD, count, count_cached


class Block:
    """A section that is one system message made of items. Items only ever leave it, in a fixed order."""

    __slots__ = ("_cache", "_of", "empty", "header", "items", "reason")

    def __init__(
        self, header: str, items: Sequence[Line], reason: str, cache: dict[Any, Any], empty: str = "", of: object = None
    ) -> None:
        self.header = header
        self.items = list(items)
        self.reason = reason
        self.empty = empty
        """What it says without items; nothing: it is left out."""
        self._cache = cache
        self._of = of
        """What the items depend on beside memory."""

    def _rendered(self) -> tuple[str, int]:
        key = (self.header, self._of, len(self.items))  # which items are left follows from how many
        found: tuple[str, int] | None = self._cache.get(key)
        if found is None:
            body = render(self.items) or self.empty
            text = f"{self.header}\n{body}" if body else ""
            found = self._cache[key] = (text, MESSAGE_OVERHEAD + count_cached(text) if text else 0)
        return found

    @property
    def text(self) -> str:
        return self._rendered()[0]

    @property
    def tokens(self) -> int:
        return self._rendered()[1]


def memory_blocks(view: View) -> dict[str, Block]:
    """The sections of memory; what has none of its own in the policy's order is part of the summary."""
    beside = (view.known, view.outdated) if view.known or view.outdated else None
    items = view.cache.get(("items", beside))
    if items is None:
        items = view.cache["items", beside] = _by_section(view)
    header, empty = SUMMARY_HEADER, ""
    if view.policy.name == "chain" and view.depth >= 0:
        header, empty = f"[summary-depth:{view.depth}] {SUMMARY_HEADER}", NOTHING
    return {
        "pins": Block(PINS_HEADER, items["pins"], "pinned", view.cache),
        "facts": Block(FACTS_HEADER, items["facts"], "lasting facts", view.cache, of=beside),
        "summary": Block(header, items["summary"], "folded messages", view.cache, empty, beside),
        "leaves": Block(LEAVES_HEADER, items["leaves"], "recently folded messages", view.cache),
    }


def _by_section(view: View) -> dict[str, list[Line]]:
    layers: dict[str, list[Line]] = {FACT: [], LONG: [], LEAF: []}
    for item in (*view.lines, *view.known):
        if item.id not in view.outdated:
            layers.get(item.layer, layers[LONG]).append(item)  # a damaged row is still shown
    found = {"pins": list(view.pins), "facts": layers[FACT], "summary": layers[LONG], "leaves": layers[LEAF]}
    for name in ("leaves", "facts", "pins"):
        if name not in view.policy.order:
            found["summary"] = [*found[name], *found["summary"]]
            found[name] = []
    return found


def memory_tokens(view: View) -> int:
    """Tokens of everything memory adds to a request when nothing is trimmed."""
    return sum(block.tokens for block in memory_blocks(view).values())


def bridge_message(
    places: tuple[int, int, int], hidden: Sequence[Message], reserve: int, cache: dict[Any, Any]
) -> Message:
    """Range, count, and as many digests as fit the reserve: the newest are kept, shown in order."""
    key = ("bridge", places, reserve)
    found: Message | None = cache.get(key)
    if found is None:
        first, last, number = places
        noun = "message" if number == 1 else "messages"
        head = f"{BRIDGE_HEADER} Messages {first}–{last} ({number} {noun}) are not shown in full.\n"
        used = MESSAGE_OVERHEAD + count(head) + 1
        lines: list[str] = []
        for at in range(len(hidden) - 1, -1, -1):
            line, tokens = cache.get(hidden[at].seq) or _digest_line(hidden, at, cache)
            if used + tokens > reserve:
                break
            used += tokens
            lines.append(line)
        # Tokens do not join across a line break, so lines are counted apart; losing the last break may cost one.
        text = (head + "".join(reversed(lines))).rstrip("\n")
        last_line = lines[0] if lines else head
        used += count_cached(last_line.rstrip("\n")) - count_cached(last_line) - 1
        found = cache[key] = Message("system", text, tokens=used)
    return found


def _digest_line(hidden: Sequence[Message], at: int, cache: dict[Any, Any]) -> tuple[str, int]:
    line = f"- {digest(hidden[at], hidden[max(0, at - REACH) : at])}\n"
    cache[hidden[at].seq] = found = (line, count(line))
    return found


def system_message(text: str, tokens: int = 0) -> Message:
    """What infold says itself, as a message."""
    return Message("system", text, tokens=tokens or MESSAGE_OVERHEAD + count_cached(text))


def plain_line(message: Message, models: bool = False) -> str:
    """A message as a line of the plain prompt, with the model that wrote it where that is asked for."""
    label = {"user": "User", "assistant": "Assistant", "tool": "Tool"}.get(message.role, "System")
    if models and message.model_variant:
        label = f"{label} ({message.model_variant})"
    if not message.tool_calls:
        return f"{label}: {message.text}"
    functions = [call.get("function") or call.get("custom") or {} for call in message.tool_calls]
    calls = ", ".join(f"{f.get('name')}({f.get('arguments', f.get('input', ''))})" for f in functions)
    return f"{label}: {message.text} [calls {calls}]".replace(":  [", ": [")
