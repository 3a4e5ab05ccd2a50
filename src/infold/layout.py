"""A context as it is laid out: its sections, what they show, and what it says about itself. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infold.context import Context, Explanation, Piece, Quotation, View
from infold.formats import to_chat
from infold.lines.rendering import render
from infold.marks import BACKGROUND, ENTITIES_HEADER, POLICY_SNIPPET, SOURCES_HEADER
from infold.messages import Message
from infold.rendering import bridge_message, memory_blocks, plain_line, system_message
from infold.tokens import MESSAGE_OVERHEAD, REQUEST_OVERHEAD, count, count_cached, counted
from infold.units import question, repair, turn_starts, turns, unit_slices

LEAST_BRIDGE = 36  # tokens of a bridge that states its range and count
MOST_BRIDGE = 400
BRIDGE_SHARE = 8  # the bridge may take this fraction of the budget


class Layout:
    """Everything a context may show, and what of it is shown."""

    def __init__(
        self, view: View, budget: int, query: Message | None, tools_tokens: int, sources: Sequence[str]
    ) -> None:
        self.view = view
        self.policy = view.policy
        self.budget = budget
        self.tools_tokens = tools_tokens
        self.left_out: list[Piece] = []
        self.given_up: list[tuple[str, list[Any], Piece]] = []
        """Of sections that gave way: what they showed before, and what they lost."""
        self.blocks = memory_blocks(view)
        self.blocks_tokens = sum([block.tokens for block in self.blocks.values()])
        self.sources = [f"[{at}] {text}" for at, text in enumerate(sources, 1)]
        self.related = list(view.related)
        self.kept = 0  # tokens kept free for quotations, then those of the quotations
        self.quoted, self.quoted_tokens = "", 0
        self.to_quote = view.recalled is not None  # whether quotations are still to be chosen
        self.quotations: list[Quotation] = []
        self.fixed = REQUEST_OVERHEAD + tools_tokens
        if "policy" in self.policy.order:
            self.fixed += MESSAGE_OVERHEAD + count_cached(POLICY_SNIPPET)
        if view.system is not None:
            self.fixed += MESSAGE_OVERHEAD + count_cached(view.system)
        self._split(query)
        # Room for the bridge, once there is one. It does not depend on what is left over, so that the bridge's
        # text stays the same until the cut moves.
        self.reserve = min(max(budget // BRIDGE_SHARE, LEAST_BRIDGE), MOST_BRIDGE)
        self.cut = 0  # units of the tail that go to the bridge
        self.used = 0
        self.bridged: tuple[int, int, int] | None = None
        self._starts: list[int] | None = None
        self._shown: list[Message] = []

    def _split(self, query: Message | None) -> None:
        """The question, what follows it (an agent at work), and the tail before it in whole units."""
        stored = self.view.messages
        with_tools = any(m.tool_calls or m.role == "tool" for m in stored)
        messages = counted(repair(stored)) if with_tools else list(stored)
        if query is not None:
            first = end = len(messages)
            self.query = [query]
        elif self.view.asked:
            first = end = 0
            self.query = list(self.view.asked)
        else:
            # Asked of the stored messages: a repaired orphan is a user message on the wire only.
            first, end = question(stored)
            if first < end:  # the newest words of the question; earlier ones may be bridged
                asked = stored[end - 1]
                first = next(at for at, m in enumerate(messages) if m is asked) if with_tools else end - 1
                end = first + 1
            else:
                first = end = len(messages)
            self.query = messages[first:end]
        self.tail = unit_slices(messages[:first])
        self.closed = len(self.tail)  # units before the question; the rest of the tail comes after it
        work = unit_slices(messages[end:])
        self.last = work.pop() if work else []  # what the agent needs to go on
        self.tail += work
        self._weigh()

    def _weigh(self) -> None:
        self.unit_tokens = [unit[0].tokens if len(unit) == 1 else sum(m.tokens for m in unit) for unit in self.tail]
        self.question_tokens = sum(m.tokens for m in (*self.query, *self.last))

    def _has_bridge(self) -> bool:
        return self.cut > 0 or self.view.older is not None

    def _related_text(self) -> str:
        return "\n".join((ENTITIES_HEADER, *(f"- {line}" for line, _ in self.related))) if self.related else ""

    def _related_tokens(self) -> int:
        return MESSAGE_OVERHEAD + count_cached(self._related_text()) if self.related else 0

    def _sources_text(self) -> str:
        return "\n".join((SOURCES_HEADER, *self.sources)) if self.sources else ""

    def _sources_tokens(self) -> int:
        return MESSAGE_OVERHEAD + count_cached(self._sources_text()) if self.sources else 0

    def _before(self) -> list[Message]:
        """Messages shown before the question."""
        return [m for unit in self.tail[self.cut : self.closed] for m in unit]

    def _after(self) -> list[Message]:
        """Messages shown after the question: the agent at work."""
        return [*(m for unit in self.tail[max(self.cut, self.closed) :] for m in unit), *self.last]

    def _spoken(self) -> list[Message]:
        """Every message shown as it was said, in order."""
        return [*self._before(), *self.query, *self._after()]

    def _turn_starts(self) -> list[int]:
        """Units of the tail before the question that open a turn."""
        if self._starts is None:
            self._starts = self._find_starts()
        return self._starts

    def _find_starts(self) -> list[int]:
        closed = self.tail[: self.closed]
        flat = [m for unit in closed for m in unit]
        firsts = turn_starts(flat)
        if len(flat) == len(closed):  # every unit is one message
            return firsts
        unit_of = [index for index, unit in enumerate(closed) for _ in unit]
        return list(dict.fromkeys(unit_of[first] for first in firsts))

    def context(self) -> Context:
        self.bridged = bridged = self._bridged()
        messages = self._shown = [m for section in self.policy.order for m in self._section(section)]
        self.used = REQUEST_OVERHEAD + self.tools_tokens + sum([message.tokens for message in messages])
        assert self.used <= self.budget, (self.used, self.budget)
        starts = self._turn_starts()
        hot = sum([start >= self.cut for start in starts]) + (self.cut < self.closed and self.cut not in starts)
        counts = {
            "pins": len(self.view.pins),
            "facts": len(self.blocks["facts"].items),
            "summaries": sum(1 for name in ("summary", "leaves") if self.blocks[name].items),
            "hot_turns": hot,
            "messages": sum(map(len, self.tail[self.cut :])) + len(self.query) + len(self.last),
            "bridged": bridged[2] if bridged else 0,
            "recalled": len(self.quotations),
            "entities": len(self.related),
            "sources": len(self.sources),
        }
        return Context(to_chat(messages), self.used, self.budget, counts, bridged, self)

    def shown(self) -> list[Message]:
        """The messages of the context, in order."""
        return [*self._shown]

    def _section(self, section: str) -> list[Message]:
        """The messages of one section."""
        if section == "recent":
            return self._before()
        if section == "query":
            return [*self.query, *self._after()]
        if section in self.blocks:
            block = self.blocks[section]
            return [system_message(block.text, block.tokens)] if block.text else []
        if section == "bridge":
            if self.bridged is None:
                return []
            return [bridge_message(self.bridged, self._hidden(), self.reserve, self.view.cache)]
        if section == "recalled":
            return [system_message(self.quoted, MESSAGE_OVERHEAD + self.quoted_tokens)] if self.quoted else []
        text = {
            "policy": POLICY_SNIPPET,
            "system": self.view.system or "",
            "entities": self._related_text(),
            "sources": self._sources_text(),
        }[section]
        return [system_message(text)] if text else []

    def _hidden(self) -> list[Message]:
        """Messages that are named by the bridge; those a repair made have no place in the chat."""
        return [m for unit in self.tail[: self.cut] for m in unit if m.seq]

    def _bridged(self) -> tuple[int, int, int] | None:
        """First and last position and number of the messages that are named but not shown."""
        if not self._has_bridge():
            return None
        places = [m.seq for m in self._hidden()]
        if self.view.older:
            first, last = self.view.older
            return first, max(places, default=last), len(places) + last - first + 1
        return min(places), max(places), len(places)

    def explain(self) -> Explanation:
        """Every piece with its reason; made only when somebody asks."""
        pieces: list[Piece] = []
        for section in self.policy.order:
            if section == "recalled":
                found = [(f"message {one.seq}", one.text, f"recalled: {one.why}") for one in self.quotations]
                pieces += _explained(section, found, self._section(section))
                continue
            if section == "entities":
                found = [(line, line, f"related: {why}") for line, why in self.related]
                pieces += _explained(section, found, self._section(section))
                continue
            for message in self._section(section):
                what = f"message {message.seq} ({message.role})" if message.seq else message.role
                if section in self.blocks:
                    what = f"{len(self.blocks[section].items)} lines"
                elif section == "bridge":
                    what = str(message.content).partition("\n")[0]
                pieces.append(Piece(section, what, message.tokens, self._reason(section)))
        if self.tools_tokens:
            pieces.append(Piece("tools", "tool definitions", self.tools_tokens, "sent with the request"))
        hidden = [
            Piece("recent", f"message {m.seq}", m.tokens, "budget: oldest first, bridged") for m in self._hidden()
        ]
        outdated = [
            Piece(item.layer, item.text, item.tokens, "facts: in conflict, or overtaken in another chat")
            for item in self.view.lines
            if item.id in self.view.outdated
        ]
        return Explanation(self.budget, self.used, tuple(pieces), (*self.left_out, *outdated, *hidden))

    def _reason(self, section: str) -> str:
        reasons = {
            "policy": "always first",
            "system": "always there",
            "bridge": "neither folded yet nor fitting verbatim",
            "recent": "verbatim tail",
            "sources": "given by the caller",
            "query": "the question and what followed it",
        }
        return reasons.get(section) or self.blocks[section].reason

    def text(self, models: bool = False) -> str:
        """The plain prompt: system, background summary, turns, sources, question."""
        parts = [
            str(m.content) for name in ("policy", "system") if name in self.policy.order for m in self._section(name)
        ]
        memory = [item for block in self.blocks.values() for item in block.items]
        if memory:
            parts.append(f"{BACKGROUND}\n{render(memory)}")
        parts += [str(message.content) for message in self._section("bridge")]
        tail = self._before()
        parts += ["\n".join(plain_line(m, models) for m in tail[turn.first : turn.last + 1]) for turn in turns(tail)]
        parts += [self.quoted, self._related_text(), self._sources_text()]
        parts.append("\n".join(plain_line(m, models) for m in (*self.query, *self._after())))
        return "\n\n".join(part for part in parts if part)


def _explained(section: str, found: Sequence[tuple[str, str, str]], shown: Sequence[Message]) -> list[Piece]:
    """The pieces of a section that is one message: what each is, its text, the reason; and what holds them together."""
    pieces = [Piece(section, what, count(text), why) for what, text, why in found]
    rest = sum(message.tokens for message in shown) - sum(piece.tokens for piece in pieces)
    return [*pieces, Piece(section, "heading, dates and speakers", rest, "goes with them")] if pieces else []
