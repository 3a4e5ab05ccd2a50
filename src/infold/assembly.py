"""Building a context: sections in the policy's order, trimmed in the policy's order, never over budget. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infold.context import Context, Piece, View
from infold.errors import BudgetError
from infold.excerpts import MIN_EXCERPT, MIN_QUESTION, caps, excerpt_message
from infold.layout import LEAST_BRIDGE, Layout
from infold.lines.line import Line
from infold.lines.merging import is_vital_line, rank
from infold.messages import Message
from infold.tokens import MESSAGE_OVERHEAD, count

BRIDGE_BESIDE_RECALL = 40  # the bridge may take this fraction of the budget where something is recalled
BLOCK_SHARE = 6  # the tail is trimmed in steps of this fraction of the budget
LEAST_RECALL = 60  # tokens below which nothing is quoted
BESIDE_RECALL = ((500, 0.1), (2000, 0.1))
"""What memory and tail keep whatever is asked for: of the tokens above each of these, this share more."""
PLENTY = 3000  # who asks for no more wants it filled; above that, tokens are only spent on what is likely


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
    draft.put_back()
    draft.quote()
    draft.put_back()
    return draft.context()


class _Draft(Layout):
    """A context being fitted to its budget."""

    def check_fixed(self) -> None:
        least = self.fixed + sum(item.tokens for item in self.view.pins)
        if least >= self.budget:
            raise BudgetError(
                f"the system prompt, pins and tools alone take {least} tokens, but the budget is {self.budget}; "
                "raise max_tokens (or context_window), lower reserve_output, or shorten them"
            )

    def _frame(self) -> int:
        """Tokens of everything but the messages shown as they were said."""
        beside = (self._sources_tokens() if self.sources else 0) + (self._related_tokens() if self.related else 0)
        return self.fixed + self.blocks_tokens + beside + self.kept + (self.reserve if self._has_bridge() else 0)

    def _room(self) -> int:
        """Tokens that are free; below 0 where too much is shown."""
        return self.budget - self._frame() - sum(self.unit_tokens[self.cut :]) - self.question_tokens

    def _over(self) -> bool:
        return self._room() < 0

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
        beside = sum(share * max(0, self.budget - least) for least, share in BESIDE_RECALL)
        return max(0, min(self.kept, int(room - beside)))

    def _asks_back(self) -> bool:
        return self.view.recalled is not None and self.view.recalled.likely

    def _wanted(self, room: int) -> int:
        """Tokens of the quotations that would fill a room, if nothing else were shown."""
        assert self.view.recalled is not None
        tokens = self.view.recalled.tokens(room - MESSAGE_OVERHEAD, self.budget > PLENTY)
        return MESSAGE_OVERHEAD + tokens if tokens else 0

    def quote(self) -> None:
        """Fill the room that is kept with what earlier messages say."""
        if self.view.recalled is None:
            return
        self.to_quote, self.kept = False, 0
        room = self._room()
        self.bridged = self._bridged()
        room += (self.reserve if self.bridged else 0) - sum(message.tokens for message in self._section("bridge"))
        room = min(room, self.policy.recall_cap) - MESSAGE_OVERHEAD
        if room >= LEAST_RECALL:
            visible = {m.seq for m in self._spoken() if m.seq}
            packed = self.view.recalled.pack(room, visible, self.budget > PLENTY)
            self.quoted, self.quoted_tokens, self.quotations = packed
        self.kept = MESSAGE_OVERHEAD + self.quoted_tokens if self.quoted else 0

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
                self.kept = self._wanted(self._least_recall()) if self.kept and self._asks_back() else 0
            elif section == "entities":
                while self.related and self._over():
                    line, _ = self.related[-1]
                    self._give_up(section, self.related[:-1], line, count(line), "least relevant first")
            elif section == "leaves":
                self._trim_leaves()
            else:
                self._trim_items(section)

    def _drop_source(self) -> None:
        tokens = count(self.sources[-1])
        self._give_up("sources", self.sources[:-1], f"source {len(self.sources)}", tokens, "last source first")

    def _trim_items(self, section: str) -> None:
        loose = rank(self._loose(section))
        while loose and self._over():
            self._drop_item(section, loose.pop(), "least durable first")

    def _trim_leaves(self) -> None:
        block = self.blocks["leaves"]
        for oldest, tokens, rest in self._leaf_steps(block.items):
            if not self._over():
                return
            self._give_up("leaves", rest, f"summary of fold {oldest}", tokens, "oldest first")

    def _leaf_steps(self, items: list[Line]) -> list[tuple[int, int, list[Line]]]:
        """Leaves in the order they go: their fold, their tokens, and what is left without them."""
        steps: list[tuple[int, int, list[Line]]] | None = self.view.cache.get("leaf steps")
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
        work = sum(self.unit_tokens[self.closed :])
        if work and work > room:  # what an agent has done for the question matters more than what was said long ago
            given = min(work - room, self.kept)
            self.kept -= given
            room += given
        # The most that fits, counted from the newest unit back.
        sizes = self.unit_tokens
        fits, rest = len(sizes), 0
        while fits > self.cut + 1 and rest + sizes[fits - 1] <= room:
            fits -= 1
            rest += sizes[fits]
        if fits <= self.closed:  # an agent at work keeps all it has done for the question, where there is room
            most = min(most, self.closed)
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
            elif any(self._loose(name, even_vital=True) for name in self.blocks):
                for name in self.blocks:
                    for item in self._loose(name, even_vital=True):
                        self._drop_item(name, item, "no room beside the question")
            else:
                raise BudgetError(
                    f"a context of {self.budget} tokens is too small: the system prompt, pins, tools and bridge take "
                    f"{self._frame()}, and the question needs at least {MESSAGE_OVERHEAD + MIN_QUESTION}; raise max_tokens, lower "
                    "reserve_output, or shorten the system prompt"
                )

    def _loose(self, name: str, even_vital: bool = False) -> list[Line]:
        """Lines of a block that may go: pins never do, and what a person said of health, safety and law only where nothing
        else helps."""
        lines = [line for line in self.blocks[name].items if line not in self.view.pins]
        return lines if even_vital else [line for line in lines if not is_vital_line(line)]

    def put_back(self) -> None:
        """Show again what gave way to messages that then had to go themselves, the last one first, as long as a block of
        the budget stays free: what comes back shall not go again with the next short turn."""
        least = max(self.budget // BLOCK_SHARE, 1)
        while self.given_up:
            section, before, piece = self.given_up[-1]
            now = self._pieces(section)
            if self.to_quote and self._gives_way_before_quotations(section):
                return
            self._show(section, before)
            if self._room() < least:
                self._show(section, now)
                return
            self.left_out.remove(piece)
            self.given_up.pop()

    def _gives_way_before_quotations(self, section: str) -> bool:
        order = [name for name, _ in self.policy.trim]
        return "recalled" in order and section in order[: order.index("recalled")]

    def _give_up(self, section: str, rest: list[Any], what: str, tokens: int, why: str) -> None:
        """Let a section go on with less."""
        before = self._pieces(section)
        self._show(section, rest)
        self._leave_out(section, what, tokens, why)
        self.given_up.append((section, before, self.left_out[-1]))

    def _pieces(self, section: str) -> list[Any]:
        if section == "sources":
            return self.sources
        return self.related if section == "entities" else self.blocks[section].items

    def _show(self, section: str, pieces: list[Any]) -> None:
        if section == "sources":
            self.sources = pieces
        elif section == "entities":
            self.related = pieces
        else:
            block = self.blocks[section]
            self.blocks_tokens -= block.tokens
            block.items = pieces
            self.blocks_tokens += block.tokens

    def _drop_item(self, name: str, item: Line, why: str) -> None:
        rest = [kept for kept in self.blocks[name].items if kept is not item]
        self._give_up(name, rest, item.text, item.tokens, why)

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
