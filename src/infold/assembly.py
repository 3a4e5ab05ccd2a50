"""Building a context: sections in the policy's order, trimmed in the policy's order, never over budget. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace

from infold.context import Context, Piece, View
from infold.errors import BudgetError
from infold.excerpts import MIN_EXCERPT, caps, excerpt_message
from infold.folding.extractive import digest
from infold.folding.merge import rank
from infold.items import FACT, LEAF, LONG, Item, render
from infold.messages import Message
from infold.tokens import MESSAGE_OVERHEAD, REQUEST_OVERHEAD, count, count_cached, message_tokens
from infold.units import question, repair, turns, units

# Fixed first lines. They mark what infold put into a request, so that it is never taken for conversation.
POLICY_SNIPPET = (
    "[infold memory policy] The memory below was written from earlier messages of this chat. Treat it as background: "
    "prefer what the user says now, never invent what it does not say, and do not mention it unless asked."
)
PINS_HEADER = "[infold memory] Pinned, always valid:"
FACTS_HEADER = "[infold memory] Known facts:"
SUMMARY_HEADER = "[infold memory] What earlier messages of this chat established:"
LEAVES_HEADER = "[infold memory] From messages folded recently:"
SOURCES_HEADER = "[infold sources] Retrieved for the next question:"
BRIDGE_HEADER = "[infold bridge]"
LEAST_BRIDGE = 48  # tokens of a bridge that states its range and count
BACKGROUND = "BACKGROUND – PRIOR CONVERSATION SUMMARY (use only if relevant):"


def assemble(
    view: View,
    budget: int,
    *,
    query: Message | None = None,
    tools_tokens: int = 0,
    sources: Sequence[str] = (),
) -> Context:
    """Build the context of a chat within a budget. Raises BudgetError where even what must be there does not fit."""
    draft = _Draft(view, budget, query, tools_tokens, sources)
    draft.check_fixed()
    draft.trim()
    draft.excerpt()
    return draft.render()


def memory_tokens(view: View) -> int:
    """Tokens of everything memory adds to a request when nothing is trimmed."""
    return sum(block.tokens for block in _blocks(view).values())


class _Block:
    """A section that is one system message made of items."""

    def __init__(self, header: str, items: Sequence[Item], reason: str, empty: str = "") -> None:
        self.header = header
        self.empty = empty  # what it says without items; nothing: it is left out
        self.items = list(items)
        self.reason = reason
        self._known = (-1, "", 0)  # how many items there were, their text and tokens: items only ever leave

    def _rendered(self) -> tuple[int, str, int]:
        if self._known[0] != len(self.items):
            body = render(self.items) or self.empty
            text = f"{self.header}\n{body}" if body else ""
            self._known = (len(self.items), text, MESSAGE_OVERHEAD + count_cached(text) if text else 0)
        return self._known

    @property
    def text(self) -> str:
        return self._rendered()[1]

    @property
    def tokens(self) -> int:
        return self._rendered()[2]


def _blocks(view: View) -> dict[str, _Block]:
    layers: dict[str, list[Item]] = {FACT: [], LONG: [], LEAF: []}
    for item in view.items:
        layers.get(item.layer, layers[LONG]).append(item)  # a damaged row is still shown
    header, empty = SUMMARY_HEADER, ""
    if view.policy.name == "chain" and view.depth >= 0:
        header, empty = f"[summary-depth:{view.depth}] {SUMMARY_HEADER}", "(nothing durable)"
    blocks = {
        "pins": _Block(PINS_HEADER, list(view.pins), "pinned"),
        "facts": _Block(FACTS_HEADER, layers[FACT], "lasting facts"),
        "summary": _Block(header, layers[LONG], "folded messages", empty),
        "leaves": _Block(LEAVES_HEADER, layers[LEAF], "recently folded messages"),
    }
    for name in ("leaves", "facts", "pins"):  # what has no section of its own is part of the summary
        if name not in view.policy.order:
            blocks["summary"].items = [*blocks[name].items, *blocks["summary"].items]
            blocks[name].items = []
    return blocks


class _Draft:
    """A context being fitted to its budget."""

    def __init__(
        self, view: View, budget: int, query: Message | None, tools_tokens: int, sources: Sequence[str]
    ) -> None:
        self.view = view
        self.policy = view.policy
        self.budget = budget
        self.tools_tokens = tools_tokens
        self.left_out: list[Piece] = []
        self.blocks = _blocks(view)
        self.sources = [f"[{at}] {text}" for at, text in enumerate(sources, 1)]
        self.fixed = REQUEST_OVERHEAD + tools_tokens
        if "policy" in self.policy.order:
            self.fixed += MESSAGE_OVERHEAD + count_cached(POLICY_SNIPPET)
        if view.system is not None:
            self.fixed += MESSAGE_OVERHEAD + count_cached(view.system)
        self._split(query)
        # Room for the bridge, once there is one. It does not depend on what is left over, so that the bridge's
        # text stays the same until the cut moves.
        self.reserve = min(max(budget // 8, LEAST_BRIDGE), 400)
        self.cut = 0  # units of the tail that go to the bridge

    def _split(self, query: Message | None) -> None:
        """The question, what follows it (an agent at work), and the tail before it in whole units."""
        messages = _counted(repair(self.view.messages))
        if query is not None:
            first = end = len(messages)
            self.query = [query]
        elif self.view.asked:
            first = end = 0
            self.query = list(self.view.asked)
        else:
            first, end = question(messages)
            first = max(first, end - 1)  # the newest words of the question; earlier ones may be bridged
            self.query = list(messages[first:end])
        closed, following = messages[:first], messages[end:]
        self.tail = [closed[u.first : u.last + 1] for u in units(closed)]
        self.closed = len(self.tail)  # units before the question; the rest of the tail comes after it
        work = [following[u.first : u.last + 1] for u in units(following)]
        self.last = work.pop() if work else []  # what the agent needs to go on
        self.tail += work
        self.unit_tokens = [sum(m.tokens for m in unit) for unit in self.tail]

    # Fitting -------------------------------------------------------------------------------------------

    def check_fixed(self) -> None:
        least = self.fixed + sum(item.tokens for item in self.view.pins)
        if least >= self.budget:
            raise BudgetError(
                f"the system prompt, pins and tools alone take {least} tokens, but the budget is {self.budget}; "
                "raise max_tokens (or context_window), lower reserve_output, or shorten them"
            )

    def _has_bridge(self) -> bool:
        return self.cut > 0 or self.view.older is not None

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

    def _frame(self) -> int:
        """Tokens of everything but the messages shown as they were said."""
        blocks = sum(block.tokens for block in self.blocks.values())
        return self.fixed + blocks + self._sources_tokens() + (self.reserve if self._has_bridge() else 0)

    def _total(self) -> int:
        return self._frame() + sum(m.tokens for m in self._spoken())

    def _over(self) -> bool:
        return self._total() > self.budget

    def trim(self) -> None:
        # Sources may not push memory out: above half the budget they give way first.
        while self.sources and self._sources_tokens() > self.budget // 2 and self._over():
            self._drop_source()
        for section, floor in self.policy.trim:
            if not self._over():
                return
            if section == "recent":
                self._trim_tail(floor)
            elif section == "sources":
                while self.sources and self._over():
                    self._drop_source()
            elif section == "leaves":
                self._trim_leaves()
            else:
                self._trim_items(section)

    def _drop_source(self) -> None:
        tokens = count(self.sources.pop())
        self._leave_out("sources", f"source {len(self.sources) + 1}", tokens, "last source first")

    def _trim_items(self, section: str) -> None:
        block = self.blocks[section]
        loose = rank([item for item in block.items if item not in self.view.pins])
        while loose and self._over():
            item = loose.pop()
            block.items.remove(item)
            self._leave_out(section, item.text, item.tokens, "least durable first")

    def _trim_leaves(self) -> None:
        block = self.blocks["leaves"]
        while block.items and self._over():
            oldest = min(item.fold for item in block.items)
            tokens = sum(item.tokens for item in block.items if item.fold == oldest)
            block.items = [item for item in block.items if item.fold != oldest]
            self._leave_out("leaves", f"summary of fold {oldest}", tokens, "oldest first")

    def _trim_tail(self, floor: int) -> None:
        """Move the oldest units to the bridge, in blocks, so that the next contexts share this one's prefix."""
        most = self._most_cut(floor)
        block = max(self.budget // 8, 1)
        frame = self._frame() + (0 if self._has_bridge() else self.reserve)
        room = self.budget - frame - sum(m.tokens for m in (*self.query, *self.last))
        before, rest = 0, sum(self.unit_tokens)
        choice = None
        allowed = self._cuts(floor)
        for at in range(1, most + 1):
            size = self.unit_tokens[at - 1]
            ends_block = (before + size) // block > before // block
            before, rest = before + size, rest - size
            if at > self.cut and rest <= room and allowed[at]:
                choice = choice or at
                if ends_block:
                    choice = at
                    break
        self.cut = max(self.cut, choice or most)

    def _turn_starts(self) -> list[int]:
        """Units of the tail before the question that open a turn."""
        flat = [m for unit in self.tail[: self.closed] for m in unit]
        firsts = {turn.first for turn in turns(flat)}
        starts: list[int] = []
        at = 0
        for index, unit in enumerate(self.tail[: self.closed]):
            if any(at + offset in firsts for offset in range(len(unit))):
                starts.append(index)
            at += len(unit)
        return starts

    def _most_cut(self, floor: int) -> int:
        """Units that may go when the newest `floor` turns stay."""
        starts = self._turn_starts() if floor else []
        return starts[max(0, len(starts) - floor)] if starts else len(self.tail)

    def _cuts(self, floor: int) -> list[bool]:
        """Where the tail may be cut: policies of turns cut between turns, and inside the newest only if it may go."""
        if self.policy.unit != "turn":
            return [True] * (len(self.tail) + 1)
        starts = self._turn_starts()
        last = starts[-1] if starts and not floor else self.closed
        return [at in starts or at > last or at >= self.closed for at in range(len(self.tail) + 1)]

    def excerpt(self) -> None:
        """Cut what must stay but is too large to head and tail; the question and the agent's last step go last."""
        while self._over():
            spoken = self._spoken()
            alone = self.cut == len(self.tail) and not self.last  # the question may shrink to almost nothing
            sizes = caps(spoken, self.budget - self._frame(), 1 if alone else MIN_EXCERPT) if spoken else None
            if sizes is not None:
                short = [excerpt_message(m, size) for m, size in zip(spoken, sizes, strict=True)]
                if None not in short:
                    self._replace([m for m in short if m is not None])
                    continue
            if self.cut < len(self.tail):
                self.cut = len(self.tail)
            elif self.last:  # the agent's last step cannot be shown at all: it joins the bridge
                self.tail.append(self.last)
                self.unit_tokens.append(sum(m.tokens for m in self.last))
                self.last, self.cut = [], len(self.tail)
            elif self._has_bridge() and self.reserve > LEAST_BRIDGE:
                self.reserve = LEAST_BRIDGE
            elif any(self._loose(name) for name in self.blocks):
                for name in self.blocks:
                    self._drop_loose(name)
            else:
                raise BudgetError(
                    f"a context of {self.budget} tokens is too small: the system prompt, pins, tools and bridge take "
                    f"{self._frame()}, and the question needs at least {MIN_EXCERPT}; raise max_tokens, lower "
                    "reserve_output, or shorten the system prompt"
                )

    def _loose(self, name: str) -> list[Item]:
        return [item for item in self.blocks[name].items if item not in self.view.pins]

    def _drop_loose(self, name: str) -> None:
        for item in self._loose(name):
            self.blocks[name].items.remove(item)
            self._leave_out(name, item.text, item.tokens, "no room beside the question")

    def _replace(self, short: list[Message]) -> None:
        cut = {id(whole): self._note(whole, part) for whole, part in zip(self._spoken(), short, strict=True)}
        self.tail[self.cut :] = [[cut[id(m)] for m in unit] for unit in self.tail[self.cut :]]
        self.query = [cut[id(m)] for m in self.query]
        self.last = [cut[id(m)] for m in self.last]

    def _note(self, whole: Message, short: Message) -> Message:
        if short is not whole:
            what = f"middle of message {whole.seq}" if whole.seq else "middle of the question"
            self._leave_out("recent", what, whole.tokens - short.tokens, "too large: head and tail are shown")
        return short

    def _leave_out(self, layer: str, what: str, tokens: int, why: str) -> None:
        self.left_out.append(Piece(layer, what, tokens, f"budget: {why}"))

    # Rendering -----------------------------------------------------------------------------------------

    def render(self) -> Context:
        bridge, bridge_text = self._bridge()
        messages: list[Message] = []
        pieces: list[Piece] = []
        for section in self.policy.order:
            for message, piece in self._section(section, bridge_text):
                messages.append(message)
                pieces.append(piece)
        if self.tools_tokens:
            pieces.append(Piece("tools", "tool definitions", self.tools_tokens, "sent with the request"))
        used = REQUEST_OVERHEAD + self.tools_tokens + sum(m.tokens for m in messages)
        assert used <= self.budget, (used, self.budget)
        shown = self._spoken()
        counts = {
            "pins": len(self.view.pins),
            "facts": len(self.blocks["facts"].items),
            "summaries": sum(1 for name in ("summary", "leaves") if self.blocks[name].items),
            "hot_turns": len(turns(self._before())),
            "messages": len(shown),
            "bridged": bridge[2] if bridge else 0,
            "sources": len(self.sources),
            "entities": 0,
        }
        wire = [message.wire if message.plain else deepcopy(message.wire) for message in messages]
        return Context(
            wire, used, self.budget, counts, bridge, tuple(pieces), tuple(self.left_out), self._text(bridge_text)
        )

    def _section(self, section: str, bridge_text: str) -> Iterator[tuple[Message, Piece]]:
        if section == "policy":
            yield _system(POLICY_SNIPPET, section, "memory policy", "always first")
        elif section == "system" and self.view.system is not None:
            yield _system(self.view.system, section, "system prompt", "always there")
        elif section in self.blocks and self.blocks[section].text:
            block = self.blocks[section]
            yield _system(block.text, section, f"{len(block.items)} lines", block.reason)
        elif section == "bridge" and bridge_text:
            yield _system(
                bridge_text, section, bridge_text.partition("\n")[0], "neither folded yet nor fitting verbatim"
            )
        elif section == "recent":
            yield from (_said(message, "verbatim tail") for message in self._before())
        elif section == "sources" and self.sources:
            yield _system(self._sources_text(), section, f"{len(self.sources)} sources", "given by the caller")
        elif section == "query":
            yield from (_said(message, "the question") for message in self.query)
            yield from (_said(message, "the agent at work") for message in self._after())

    def _bridge(self) -> tuple[tuple[int, int, int] | None, str]:
        """Range, count and as many digests as fit the reserve, newest kept first, shown in order."""
        if not self._has_bridge():
            return None, ""
        hidden = [m for unit in self.tail[: self.cut] for m in unit if m.seq]
        older = self.view.older
        places = [m.seq for m in hidden] + (list(older) if older else [])
        first, last = min(places), max(places)
        number = len(hidden) + (older[1] - older[0] + 1 if older else 0)
        noun = "message" if number == 1 else "messages"
        head = f"{BRIDGE_HEADER} Messages {first}–{last} ({number} {noun}) are not shown in full."
        room = self.reserve - MESSAGE_OVERHEAD - count(head + "\n") - 1
        lines: list[str] = []
        for message in reversed(hidden):
            line = f"- {digest(message)}\n"
            room -= count(line)
            if room < 0:
                break
            lines.append(line)
        for message in hidden:
            self.left_out.append(
                Piece("recent", f"message {message.seq}", message.tokens, "budget: oldest first, bridged")
            )
        return (first, last, number), f"{head}\n{''.join(reversed(lines))}".rstrip("\n")

    def _text(self, bridge_text: str) -> tuple[str, ...]:
        """The plain prompt: system, background summary, turns, sources, question."""
        parts: list[str] = []
        if "policy" in self.policy.order:
            parts.append(POLICY_SNIPPET)
        if self.view.system is not None:
            parts.append(self.view.system)
        memory = [item for block in self.blocks.values() for item in block.items]
        if memory:
            parts.append(f"{BACKGROUND}\n{render(memory)}")
        if bridge_text:
            parts.append(bridge_text)
        tail = self._before()
        parts += ["\n".join(_line(m) for m in tail[turn.first : turn.last + 1]) for turn in turns(tail)]
        if self.sources:
            parts.append(self._sources_text())
        asked = "\n".join(_line(m) for m in (*self.query, *self._after()))
        return tuple([*parts, asked] if asked else parts)


def _counted(messages: list[Message]) -> list[Message]:
    """Messages that a repair made get their tokens too."""
    return [m if m.tokens else replace(m, tokens=message_tokens(m)) for m in messages]


def _system(text: str, layer: str, what: str, reason: str) -> tuple[Message, Piece]:
    tokens = MESSAGE_OVERHEAD + count_cached(text)
    return Message("system", text, tokens=tokens), Piece(layer, what, tokens, reason)


def _said(message: Message, reason: str) -> tuple[Message, Piece]:
    what = f"message {message.seq} ({message.role})" if message.seq else message.role
    return message, Piece("recent" if reason == "verbatim tail" else "query", what, message.tokens, reason)


def _line(message: Message) -> str:
    label = {"user": "User", "assistant": "Assistant", "tool": "Tool"}.get(message.role, "System")
    if message.tool_calls:
        calls = ", ".join(
            f"{c[k]['name']}({c[k].get('arguments', '')})"
            for c in message.tool_calls
            for k in c
            if k in ("function", "custom")
        )
        return f"{label}: {message.text} [calls {calls}]".replace(":  [", ": [")
    return f"{label}: {message.text}"
