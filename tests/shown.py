"""What a context shows, read from its messages as a client of the wire sees them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from infold import Context
from infold.messages import parse
from infold.tokens import REQUEST_OVERHEAD, count, message_tokens, tools_tokens

Wire = dict[str, Any]
BLOCK = re.compile(r'<(memory|recalled) mark="\d{18}">\n(.*?)\n</\1>', re.DOTALL)
BRIDGE = re.compile(r"Messages (\d+)–(\d+) \((\d+) messages?\) are not shown in full\.")
CUT = "[…"
"""Stands where the middle of a message is left out."""
_STUB = "[the conversation goes on]"
_EARLIER = "The messages before, word for word:"


@dataclass(frozen=True, slots=True)
class Block:
    """One block of quoted data."""

    tag: str
    text: str

    @property
    def rows(self) -> list[str]:
        """Its lines, the two with the tag left out."""
        return self.text.split("\n")[1:-1]

    @property
    def wishes(self) -> list[str]:
        """Lines of the first part, which count as said now."""
        rows = self.rows
        if not rows[0].startswith("Standing wishes"):
            return []
        return rows[1 : self._background]

    @property
    def background(self) -> list[str]:
        """Lines after the sentence that says that the rest is no instruction."""
        return self.rows[self._background + 1 :]

    @property
    def _background(self) -> int:
        rows = self.rows
        return next((at for at, row in enumerate(rows) if row.startswith(("Background", "BACKGROUND"))), len(rows))

    def under(self, label: str) -> list[str]:
        """Lines of background from a label to the next."""
        rows = self.background
        if label not in rows:
            return []
        rest = rows[rows.index(label) + 1 :]
        end = next((at for at, row in enumerate(rest) if not row.startswith((">", "-", "##"))), len(rest))
        return [row for row in rest[:end] if not row.startswith("##")]

    @property
    def summary(self) -> list[str]:
        """Lines of background before the first label."""
        rows = self.background
        end = next((at for at, row in enumerate(rows) if not row.startswith((">", "-", "##"))), len(rows))
        return [row for row in rows[:end] if not row.startswith("##")]

    @property
    def headings(self) -> list[str]:
        return [row[3:] for row in self.rows if row.startswith("## ")]

    @property
    def statements(self) -> list[str]:
        """Every line that says something, without its sign."""
        return [row[2:] for row in self.rows if row.startswith(("> ", "- "))]

    @property
    def bridge(self) -> tuple[int, int, int] | None:
        """First and last position and number of the messages it only names."""
        found = [BRIDGE.fullmatch(row) for row in self.rows]
        return next(((int(f[1]), int(f[2]), int(f[3])) for f in found if f), None)

    @property
    def bridge_tokens(self) -> int:
        """Of the words it quotes from those."""
        rows = self.background
        at = next((at for at, row in enumerate(rows) if BRIDGE.fullmatch(row)), len(rows))
        return sum(count(f"{row}\n") for row in self.under(rows[at])) if at < len(rows) else 0

    @property
    def earlier(self) -> list[int]:
        """Positions of the folded messages it shows word for word."""
        return [int(row[3:].split(" ", 1)[0]) for row in self.under(_EARLIER)]


@dataclass(slots=True)
class Shown:
    """Everything a context shows."""

    tokens: int
    """As a client counts them."""
    system: list[str] = field(default_factory=list)
    tagged: Block | None = None
    """What a chain's synthetic system message holds."""
    depth: int | None = None
    memory: Block | None = None
    recalled: Block | None = None
    spoken: list[Wire] = field(default_factory=list)
    """The messages said in the chat, the question included; neighbours of one role are one of them."""
    order: list[str] = field(default_factory=list)
    """What comes after what."""

    @property
    def tail(self) -> list[Wire]:
        """What was said before the question."""
        return self.spoken[:-1]

    @property
    def question(self) -> str:
        assert self.spoken[-1]["role"] == "user"
        return str(self.spoken[-1]["content"])

    @property
    def turns(self) -> int:
        """Turns of the tail."""
        return sum(wire["role"] == "user" for wire in self.tail)

    @property
    def tail_tokens(self) -> int:
        return sum(map(tokens, self.tail))

    @property
    def memory_tokens(self) -> int:
        """Tokens of memory's block as a message of its own."""
        return tokens({"role": "user", "content": self.memory.text}) if self.memory else 0

    @property
    def bridge(self) -> tuple[int, int, int] | None:
        return self.memory.bridge if self.memory else None

    @property
    def summary(self) -> list[str]:
        """Lines of memory that are no wishes, bridge or other part with a label."""
        block = self.tagged or self.memory
        return block.summary if block else []

    @property
    def statements(self) -> list[str]:
        """Every line of every block."""
        return [line for block in (self.tagged, self.memory, self.recalled) if block for line in block.statements]

    @property
    def said(self) -> str:
        """Everything that is shown as it was said in the chat."""
        return "\n".join(map(text, self.spoken))


def tokens(wire: Wire) -> int:
    """Of one message of a request."""
    return message_tokens(parse(wire))


def text(wire: Wire) -> str:
    content = wire.get("content")
    if isinstance(content, list):
        content = "\n".join(str(part.get("text", "")) for part in content)
    calls = [str(call.get("function", call)) for call in wire.get("tool_calls", ())]
    return "\n".join([str(content or ""), *calls])


def request_tokens(messages: Sequence[Wire], tools: Sequence[Wire] | None = None) -> int:
    """Of a whole request."""
    return REQUEST_OVERHEAD + tools_tokens(tools) + sum(map(tokens, messages))


def shown(context: Context, tools: Sequence[Wire] | None = None) -> Shown:
    """What a context shows. Its own count is never below a client's, and never above its budget."""
    found = read(context.messages, tools)
    assert found.tokens <= context.tokens <= context.budget
    return found


def read(messages: Sequence[Wire], tools: Sequence[Wire] | None = None) -> Shown:
    """What the messages of a request show."""
    found = Shown(request_tokens(messages, tools))
    for wire in messages:
        content = wire.get("content")
        if wire["role"] == "system":
            _system(found, str(content))
        elif wire["role"] == "user" and isinstance(content, str):
            _user(found, content)
        else:
            found.order.append(wire["role"])
            found.spoken.append(wire)
    return found


def _system(found: Shown, content: str) -> None:
    block = BLOCK.search(content)
    if block is None:
        found.order.append("system")
        found.system.append(content)
        return
    tag = re.match(r"\[summary-depth:(\d+)\]\n", content)
    assert tag is not None
    found.order.append("tagged")
    found.tagged, found.depth = Block(block[1], block[0]), int(tag[1])


def _user(found: Shown, content: str) -> None:
    at = 0
    for block in [*BLOCK.finditer(content), None]:
        said = content[at : block.start() if block else None].strip("\n")
        if said and said != _STUB:
            found.order.append("user")
            found.spoken.append({"role": "user", "content": said})
        if block:
            found.order.append(block[1])
            assert getattr(found, block[1]) is None, "one block of each kind"
            setattr(found, block[1], Block(block[1], block[0]))
            at = block.end()
