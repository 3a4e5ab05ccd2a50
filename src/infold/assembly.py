"""Building a context: sections in the policy's order, trimmed in the policy's order, never over budget. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from infold.context import Context, Explanation, Piece, Quotation, View
from infold.errors import BudgetError
from infold.excerpts import MIN_EXCERPT, MIN_QUESTION, caps, excerpt_message
from infold.folding.merge import rank
from infold.formats import to_chat
from infold.items import Item, render
from infold.marks import BACKGROUND, ENTITIES_HEADER, POLICY_SNIPPET, SOURCES_HEADER
from infold.messages import Message
from infold.rendering import bridge_message, memory_blocks, plain_line, system_message
from infold.tokens import MESSAGE_OVERHEAD, REQUEST_OVERHEAD, count, count_cached, counted
from infold.units import question, repair, turn_starts, turns, unit_slices

LEAST_BRIDGE = 36  # tokens of a bridge that states its range and count
MOST_BRIDGE = 400
BRIDGE_SHARE = 8  # the bridge may take this fraction of the budget
BRIDGE_BESIDE_RECALL = 40  # and this one where something is recalled
BLOCK_SHARE = 6  # the tail is trimmed in steps of this fraction of the budget
LEAST_RECALL = 60  # tokens below which nothing is quoted
# Of a small budget, what is asked for gets nearly all; above SMALL, memory and tail get this share of what is more.
SMALL, BESIDE_RECALL = 2000, 0.2


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
    draft.make_room()
    draft.trim()
    draft.excerpt()
    draft.quote()
    return draft.context()


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
        self.blocks = memory_blocks(view)
        self.blocks_tokens = sum([block.tokens for block in self.blocks.values()])
        self.sources = [f"[{at}] {text}" for at, text in enumerate(sources, 1)]
        self.related = list(view.related)
        self.kept = 0  # tokens kept free for quotations, then those of the quotations
        self.quoted = ""
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

    def _frame(self) -> int:
        """Tokens of everything but the messages shown as they were said."""
        beside = (self._sources_tokens() if self.sources else 0) + (self._related_tokens() if self.related else 0)
        return self.fixed + self.blocks_tokens + beside + self.kept + (self.reserve if self._has_bridge() else 0)

    def _over(self) -> bool:
        return self._frame() + sum(self.unit_tokens[self.cut :]) + self.question_tokens > self.budget

    def make_room(self) -> None:
        """Keep room for quotations, where the question asks for something of the past."""
        if self.view.recalled is None:
            return
        # What is asked for matters more than what came between.
        self.reserve = min(self.reserve, max(LEAST_BRIDGE, self.budget // BRIDGE_BESIDE_RECALL))
        self.kept = max(0, min(self.policy.recall_cap, self.budget - self.fixed - self.question_tokens))

    def _least_recall(self) -> int:
        """Tokens that quotations get whatever else would like to be there."""
        room = (
            self.budget - self.fixed - self.question_tokens - self.reserve - sum(pin.tokens for pin in self.view.pins)
        )
        beside = BESIDE_RECALL * max(0, self.budget - SMALL)
        return max(0, min(self.kept, int(room - beside)))

    def _wanted(self, room: int) -> int:
        """Tokens of the quotations that would fill a room, if nothing else were shown."""
        assert self.view.recalled is not None
        text, _ = self.view.recalled.pack(room - MESSAGE_OVERHEAD, ())
        return MESSAGE_OVERHEAD + count(text) if text else 0

    def quote(self) -> None:
        """Fill the room that is kept with what earlier messages say."""
        if self.view.recalled is None:
            return
        self.kept = 0
        room = self.budget - self._frame() - sum(self.unit_tokens[self.cut :]) - self.question_tokens
        self.bridged = self._bridged()
        room += (self.reserve if self.bridged else 0) - sum(message.tokens for message in self._section("bridge"))
        room = min(room, self.policy.recall_cap) - MESSAGE_OVERHEAD
        if room >= LEAST_RECALL:
            visible = {m.seq for m in self._spoken() if m.seq}
            self.quoted, self.quotations = self.view.recalled.pack(room, visible)

    def trim(self) -> None:
        """Let sections give way in the policy's order until the rest fits."""
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
            elif section == "recalled":
                self.kept = self._wanted(self._least_recall()) if self.kept else 0
            elif section == "entities":
                while self.related and self._over():
                    line, _ = self.related.pop()
                    self._leave_out("entities", line, count(line), "least relevant first")
            elif section == "leaves":
                self._trim_leaves()
            else:
                self._trim_items(section)

    def _drop_source(self) -> None:
        tokens = count(self.sources.pop())
        self._leave_out("sources", f"source {len(self.sources) + 1}", tokens, "last source first")

    def _trim_items(self, section: str) -> None:
        loose = rank(self._loose(section))
        while loose and self._over():
            self._drop_item(section, loose.pop(), "least durable first")

    def _trim_leaves(self) -> None:
        block = self.blocks["leaves"]
        for oldest, tokens, rest in self._leaf_steps(block.items):
            if not self._over():
                return
            self._keep("leaves", rest)
            self._leave_out("leaves", f"summary of fold {oldest}", tokens, "oldest first")

    def _leaf_steps(self, items: list[Item]) -> list[tuple[int, int, list[Item]]]:
        """Leaves in the order they go: their fold, their tokens, and what is left without them."""
        steps: list[tuple[int, int, list[Item]]] | None = self.view.cache.get("leaf steps")
        if steps is None:
            steps = self.view.cache["leaf steps"] = []
            for fold in sorted({item.fold for item in items}):
                rest = [item for item in items if item.fold != fold]
                steps.append((fold, sum(item.tokens for item in items) - sum(item.tokens for item in rest), rest))
                items = rest
        return steps

    def _trim_tail(self, floor: int) -> None:
        """Move the oldest units to the bridge, in blocks, so that the next contexts share this one's prefix."""
        starts = self._turn_starts() if self.policy.unit == "turn" or floor else []
        most = starts[max(0, len(starts) - floor)] if floor and starts else len(self.tail)
        block = max(self.budget // BLOCK_SHARE, 1)
        frame = self._frame() + (0 if self._has_bridge() else self.reserve)
        room = self.budget - frame - self.question_tokens
        # The most that fits, counted from the newest unit back.
        sizes = self.unit_tokens
        fits, rest = len(sizes), 0
        while fits > self.cut + 1 and rest + sizes[fits - 1] <= room:
            fits -= 1
            rest += sizes[fits]
        # Policies of turns cut between turns, and inside the newest one only where it may go altogether.
        between_turns = self.policy.unit == "turn"
        inner = starts[-1] if starts and not floor else self.closed
        before, choice = sum(sizes) - rest, 0
        most_before = before + rest // 2  # a warm cache is not worth more than half of what would fit
        for at in range(max(fits, 1), most + 1):
            if choice and before > most_before:
                break
            whole_turn = between_turns and at in starts
            if whole_turn or not between_turns or at > inner or at >= self.closed:
                choice = choice or at
                previous = starts[starts.index(at) - 1] if whole_turn and at > starts[0] else at - 1
                if before // block > (before - sum(sizes[previous:at])) // block:
                    choice = at
                    break
            before += sizes[at] if at < most else 0
        self.cut = max(self.cut, choice or most)

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

    def excerpt(self) -> None:
        """Cut what must stay but is too large to head and tail; the question and the agent's last step go last."""
        if self._over():
            self.kept = 0
        while self._over():
            spoken = self._spoken()
            alone = self.cut == len(self.tail) and not self.last
            sizes = (
                caps(spoken, self.budget - self._frame(), MIN_QUESTION if alone else MIN_EXCERPT) if spoken else None
            )
            if sizes is not None:
                short = [excerpt_message(m, size) for m, size in zip(spoken, sizes, strict=True)]
                if None not in short:
                    self._replace([m for m in short if m is not None])
                    continue
            if self.cut < len(self.tail):
                self.cut = len(self.tail)
            elif self.last:  # the agent's last step cannot be shown at all: it joins the bridge
                self.tail.append(self.last)
                self.last, self.cut = [], len(self.tail)
                self._weigh()
            elif self._has_bridge() and self.reserve > LEAST_BRIDGE:
                self.reserve = LEAST_BRIDGE
            elif any(self._loose(name) for name in self.blocks):
                for name in self.blocks:
                    for item in self._loose(name):
                        self._drop_item(name, item, "no room beside the question")
            else:
                raise BudgetError(
                    f"a context of {self.budget} tokens is too small: the system prompt, pins, tools and bridge take "
                    f"{self._frame()}, and the question needs at least {MESSAGE_OVERHEAD + MIN_QUESTION}; raise max_tokens, lower "
                    "reserve_output, or shorten the system prompt"
                )

    def _loose(self, name: str) -> list[Item]:
        """Items of a block that may go: pins never do."""
        return [item for item in self.blocks[name].items if item not in self.view.pins]

    def _keep(self, name: str, items: list[Item]) -> None:
        """Let a block go on with fewer items."""
        block = self.blocks[name]
        self.blocks_tokens -= block.tokens
        block.items = items
        self.blocks_tokens += block.tokens

    def _drop_item(self, name: str, item: Item, why: str) -> None:
        self._keep(name, [kept for kept in self.blocks[name].items if kept is not item])
        self._leave_out(name, item.text, item.tokens, why)

    def _replace(self, short: list[Message]) -> None:
        cut = {id(whole): self._note(whole, part) for whole, part in zip(self._spoken(), short, strict=True)}
        self.tail[self.cut :] = [[cut[id(m)] for m in unit] for unit in self.tail[self.cut :]]
        self.query = [cut[id(m)] for m in self.query]
        self.last = [cut[id(m)] for m in self.last]
        self._weigh()

    def _note(self, whole: Message, short: Message) -> Message:
        if short is not whole:
            what = f"middle of message {whole.seq}" if whole.seq else "middle of the question"
            self._leave_out("recent", what, whole.tokens - short.tokens, "too large: head and tail are shown")
        return short

    def _leave_out(self, layer: str, what: str, tokens: int, why: str) -> None:
        self.left_out.append(Piece(layer, what, tokens, f"budget: {why}"))

    # Showing -------------------------------------------------------------------------------------------

    def context(self) -> Context:
        self.bridged = bridged = self._bridged()
        messages = self.shown()
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
        return [message for section in self.policy.order for message in self._section(section)]

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
        text = {
            "policy": POLICY_SNIPPET,
            "system": self.view.system or "",
            "recalled": self.quoted,
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
        return Explanation(self.budget, self.used, tuple(pieces), (*self.left_out, *hidden))

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
