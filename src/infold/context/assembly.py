"""Building a context: what must be there, memory's room, the tail, recalled words; never over budget. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from infold.context.layout import LEAST_BRIDGE, Layout
from infold.context.parts import NO_LINES, RECALL_FRAME, bullet, quoted
from infold.context.room import chosen, standing_first, standing_room, stands
from infold.context.view import Context, Piece, View
from infold.errors import BudgetError
from infold.excerpts import MIN_EXCERPT, MIN_QUESTION, caps, excerpt_message
from infold.lines.kinds import HEADINGS
from infold.lines.line import FURTHER, Line, normal
from infold.lines.merging import is_vital_line, rank
from infold.marks import FURTHER_LABEL, RECALL_LABEL, RECALLED_HEADER, WISHES_HEADER
from infold.messages import Message
from infold.quoting.choosing import stems
from infold.tokens import MESSAGE_OVERHEAD, O200K, REQUEST_OVERHEAD, count, counting, message_tokens, tools_tokens

BLOCK_SHARE = 8  # the tail is trimmed in steps of this fraction of the budget
CACHED = 1500  # providers cache no prompt much shorter than this: smaller budgets are trimmed message by message
_BRIDGE_ROW = 24  # tokens of a bridge that says nothing but its range and count
LEAST_RECALL = 40  # tokens below which nothing is quoted
PLENTY = 3000  # who asks for no more wants it filled; above that, tokens are only spent on what is likely
ENTITIES_SHARE = 20  # of a budget, what entities may take beside recalled words


def assemble(
    view: View,
    budget: int,
    *,
    query: Message | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    sources: Sequence[str] = (),
    tokenizer: str = O200K,
) -> Context:
    """The context of a chat within a budget of a tokenizer's tokens. Raises BudgetError where even what must be there does not
    fit."""
    usual = tools_tokens(tools)
    if tokenizer == O200K:
        return _assembled(view, budget, query, usual, sources)
    with counting(tokenizer):
        own_tools = tools_tokens(tools)
    room = budget
    while True:  # what is stored is counted in the usual tokens, so the room is narrowed until the other count fits
        context = _assembled(view, room, query, usual, sources)
        with counting(tokenizer):
            own = REQUEST_OVERHEAD + own_tools + sum(map(message_tokens, context.shown()))
        if own <= budget:
            return replace(context, tokens=own, budget=budget)
        room = min(room - 1, room * budget // own)


def _assembled(view: View, budget: int, query: Message | None, tools: int, sources: Sequence[str]) -> Context:
    draft = _Draft(view, budget, query, tools, sources)
    draft.check_fixed()
    if draft.policy.memory_share:
        draft.share_room()
    else:
        draft.trim()
    draft.excerpt()
    draft.quote()
    return draft.context()


class _Draft(Layout):
    """A context while its parts are made to fit the budget."""

    def check_fixed(self) -> None:
        least = self.fixed + sum(pin.tokens for pin in self.view.pins)
        if least >= self.budget:
            what = "the fixed policy text and the system prompt" if self.policy.policy_text else "the system prompt"
            raise BudgetError(
                f"{what}, pins and tools alone take {least} tokens, but the budget is {self.budget}; "
                "raise max_tokens (or context_window), lower reserve_output, or shorten them"
            )

    # Shares: preset default --------------------------------------------------------------------------------

    def share_room(self) -> None:
        """Give memory, recalled words and the tail their shares."""
        self._drop_sources()
        self._limit_near()
        asks = self._asks_back()
        least = self._least_memory(asks)
        starts = self._turn_starts()
        turn = sum(self.unit_tokens[starts[-1] : self.closed]) if starts else 0
        work = sum(self.unit_tokens[self.closed :])
        room = self.budget - self.fixed - self.question_tokens - self._second_tokens()
        if asks:
            self._limit_entities()
            room = self.budget - self.fixed - self.question_tokens - self._second_tokens()
            beside = least + min(turn, self.budget // 3) + work + (_BRIDGE_ROW if self.tail else 0)
            most = min(self.policy.recall_cap, max(0, room - beside))
            self.kept = self._wanted(most)
            if self.kept * 4 > most * 3:
                self.kept = most
                self.overflows = most < self.policy.recall_cap  # there is more than fits
            room -= self.kept
        else:
            self.related = []
        share = int(self.policy.memory_share * (room if asks else self.budget))
        share = least if self.overflows else max(least, min(share, room - turn - work))
        tail = sum(self.unit_tokens)
        # What the tail cannot use is memory's, in steps: between two of them memory stays as it is.
        step = self._step() if self.view.given else 1
        spare = room + self.question_tokens - -(-(tail + self.question_tokens) // step) * step
        most = share if self.overflows else max(share, spare)
        used = self._show_memory(most if self.view.given else min(most, self._own_tokens()), asks)
        if tail > room - used:
            self.reserve = 0
            share = max(share, least + _BRIDGE_ROW)
            used = self._cut_and_show(room, share, asks)
            if used < share - max(step, LEAST_BRIDGE):  # memory has less to say than it may
                used = self._cut_and_show(room, used + LEAST_BRIDGE, asks)
            if self._step() == 1 and not self.overflows:  # what whole turns leave over
                self._show_memory(max(share, room - sum(self.unit_tokens[self.cut :])), asks)
        elif self.view.fill:
            self._fill(room + self.question_tokens - self.view.fill, used, asks)

    def _fill(self, room: int, used: int, asks: bool) -> None:
        """Show folded messages word for word in the room that is left. If new messages need that room, all of them go at
        once."""
        without = self.parts.shown
        if self._show_memory(room, asks) == used:
            self._show_earlier(room - used)
            if not self._over():
                return
            self.parts.earlier = ()
        self.parts.shown = without

    def _own_tokens(self) -> int:
        """Tokens of all that memory holds, further quotations aside."""
        key = ("own", self.view.variant)
        known: int | None = self.view.cache.get(key)
        if known is None:
            self.parts.shown["further"] = NO_LINES
            spared = self._most_headings(self.parts.lines)  # none of its lines gives way to a heading it does not have
            known = self.view.cache[key] = self.parts.tokens + spared
        return known

    def _least_memory(self, asks: bool) -> int:
        """Tokens that memory gets whatever else would like to be there: pins and the standing share."""
        key = ("least", self.budget, asks, self._asked_text(asks), self.view.variant)
        known: int | None = self.view.cache.get(key)
        if known is not None:
            return known
        every = [line for line in self.parts.lines if line not in self.view.pins]
        share = self._standing_room(asks)
        taken: list[Line] = []
        for line in standing_first(every, self._asked_text(asks)):
            tokens = self.parts.tokens_of((bullet(line),))
            if tokens <= share:
                taken.append(line)
                share -= tokens
        rows = [bullet(line) for line in (*self.view.pins, *taken)]
        headed = every if self._step() > 1 else [*filter(stands, every)] if asks else taken
        headings = self._most_headings(headed)
        least = self.view.cache[key] = self.frame + headings + self.parts.tokens_of(rows) if rows else 0
        return least

    def _most_headings(self, lines: Sequence[Line]) -> int:
        """Tokens of all headings and labels that lines could stand under, beside those of the frame."""
        sections = sorted({line.section for line in lines if line.layer != FURTHER} & set(HEADINGS))
        rows = [f"## {HEADINGS[section]}" for section in sections]
        rows += [FURTHER_LABEL] if any(line.layer == FURTHER for line in lines) else []
        return self._row_tokens(*rows, "" if self.view.pins else WISHES_HEADER)

    def _standing_room(self, asks: bool) -> int:
        """Tokens that standing lines may take, without their heading."""
        return max(0, standing_room(self.budget, asks) - self._row_tokens(WISHES_HEADER))

    def _asked_text(self, asks: bool) -> str:
        near = asks or self._step() == 1  # where nothing is cached, what memory shows may depend on the question
        return " ".join(message.text for message in self.query) if near else ""

    def _cut_and_show(self, room: int, share: int, asks: bool) -> int:
        """Cut the tail so that memory has its share, and show in it what stands for the messages that were cut off."""
        self.cut = 0
        self._cut_tail(room - share, 1)
        if not self.cut:
            return self._show_memory(share, asks)
        return self._show_memory(max(share, LEAST_BRIDGE), asks)

    def _show_memory(self, room: int, asks: bool) -> int:
        """Show the lines that tell most within a room of tokens; the tokens they take."""
        hidden = self._hidden()
        newest = max((message.seq for message in self._before()), default=0) if self._step() == 1 else 0
        places = (hidden[0].seq, hidden[-1].seq) if hidden else None
        key = (
            "room",
            self.budget,
            room,
            asks,
            self.overflows,
            self._asked_text(asks),
            places,
            newest,
            self.view.given,
            self.view.variant,
        )
        self.bridged = self._bridged()
        self.parts.bridge = self._bridge_row()
        found: dict[str, list[Line]] | None = self.view.cache.get(key)
        if found is None:
            found = self.view.cache[key] = self._lines_for(room, asks, hidden)
        self.parts.shown = dict(found)
        return self.parts.tokens

    def _lines_for(self, room: int, asks: bool, hidden: Sequence[Message]) -> dict[str, list[Line]]:
        parts = self.all_shown
        own = [line for name in ("facts", "summary", "leaves") for line in parts[name]]
        further = parts["further"] if self.view.given or hidden else []
        names = {line.id: name for name, lines in parts.items() for line in lines}
        bridged: list[Line] = []
        if hidden:  # what they say may overturn what memory holds
            holding, bridged = self.foreseen([*own, *further], hidden)
            held = {line.id for line in holding}
            own, further = [x for x in own if x.id in held], [x for x in further if x.id in held]
            names |= {line.id: "bridge" for line in bridged}
        own, further = self._unless_in_tail(own), self._unless_in_tail(further)
        if self.overflows:  # what is asked for would fill the room: beside it there are only standing lines
            own, further, bridged = ([*filter(stands, lines)] for lines in (own, further, bridged))
        cost = {line.id: self.parts.tokens_of((bullet(line),)) for line in (*own, *further, *bridged)}
        left = room - self.frame - self.parts.tokens_of(map(bullet, parts["pins"]))
        left -= self.parts.tokens_of((self.parts.bridge,)) if self.parts.bridge else 0
        if self._step() > 1 or self.overflows:  # so that nothing is chosen twice
            left -= self._most_headings([*own, *further])
        share = self._standing_room(asks)
        told = self._told_by_tail() if self._step() == 1 else ()
        while True:
            lines = chosen(own, [*further, *bridged], left, share, cost, self._asked_text(asks), told, parts["pins"])
            found: dict[str, list[Line]] = {name: [] for name in parts}
            found["pins"] = [*parts["pins"]]
            for line in lines:
                found[names[line.id]].append(line)
            found["bridge"].sort(key=lambda line: line.places)
            found["further"].sort(key=lambda line: (line.places, line.id))
            self.parts.shown = found
            over = self.parts.tokens - room
            if over <= 0 or not lines:
                return found
            left -= over  # headings took more than was reserved: choose again with less

    def _told_by_tail(self) -> set[str]:
        """Stems of what the tail says; memory chosen beside it changes with every message."""
        return {stem for message in self._before() if message.role != "tool" for stem in stems(message.text)}

    def _unless_in_tail(self, lines: Sequence[Line]) -> list[Line]:
        """Lines less those whose words the tail shows; of it what was there when memory changed, as memory must not change
        with every message."""
        said = "\n".join(m.text for unit in self.tail[self.cut :] for m in unit if m.seq <= self.view.head)
        return [line for line in lines if not (line.quoted and line.words in said)] if said else [*lines]

    def _show_earlier(self, room: int) -> None:
        """Show the newest folded messages word for word, as far as they fit; memory does not repeat them."""
        key = ("earlier", room, tuple(line.id for line in self.parts.lines))
        found: tuple[list[Message], dict[str, list[Line]]] | None = self.view.cache.get(key)
        if found is None:
            found = self.view.cache[key] = self._earlier(room)
        self.parts.earlier, self.parts.shown = found[0], dict(found[1])

    def _earlier(self, room: int) -> tuple[list[Message], dict[str, list[Line]]]:
        taken: list[Message] = []
        left = room - 12
        for message in reversed(self.view.earlier):
            if not message.text.strip() or message.role in ("system", "developer"):
                continue
            left -= self.parts.tokens_of((quoted(message),))
            if left < 0:
                break
            taken.append(message)
        told = {message.seq for message in taken}
        wishes = {line.id for line in self.parts.wishes}
        shown = {
            name: [line for line in lines if line.id in wishes or not (line.quoted and told >= {*line.sources} > set())]
            for name, lines in self.parts.shown.items()
        }
        return taken[::-1], shown

    def _limit_known(self) -> None:
        """Keep what the user stated in other chats within the standing share: the document's own parts come first."""
        room = standing_room(self.budget, False)
        for line in self.view.known:
            room -= line.tokens
            if room < 0:
                for name, lines in self.parts.shown.items():
                    if any(one is line for one in lines):
                        self._drop_line(name, line, "the standing share")

    def _limit_near(self) -> None:
        """Drop lines near the question, the furthest first, while what must be there does not leave them room."""
        while self.near and self.fixed + self.question_tokens + 2 * self._second_tokens() > self.budget:
            line = self.near.pop()
            self._leave_out("near", line.text, line.tokens, "furthest first")

    def _limit_entities(self) -> None:
        most = self.budget // ENTITIES_SHARE if self._step() > 1 else 0
        while self.related and sum(count(line) + 3 for line, _ in self.related) > most:
            self._drop_entity()

    def _drop_entity(self) -> None:
        line, _ = self.related.pop()
        self._leave_out("entities", line, count(line), "least relevant first")

    def _asks_back(self) -> bool:
        return self.view.recalled is not None and self.view.recalled.likely

    def _wanted(self, room: int) -> int:
        """Tokens of the recalled words that would fill a room, if nothing else were shown."""
        assert self.view.recalled is not None
        inner = room - self._recall_frame()
        tokens = self.view.recalled.tokens(inner, self.budget > PLENTY) if inner >= LEAST_RECALL else 0
        return self._recall_frame() + tokens if tokens else 0

    def _recall_frame(self) -> int:
        """Tokens that recalled words take beside their lines: a block of their own, or what the one that is there lacks."""
        if self._one_block():
            return self.parts.background_frame
        own = 0 if self._second_rows() else RECALL_FRAME + self._row_tokens(RECALLED_HEADER)
        return own + self._row_tokens(RECALL_LABEL)

    def _one_block(self) -> bool:
        """Whether recalled words join memory's block: where providers cache nothing, a second one is not worth its tokens."""
        return self._step() == 1 and self.view.memory_role == "user" and self.parts.has_block

    def quote(self) -> None:
        """Add recalled words where the question may ask for them, as many as fit in the free room."""
        near, self.near = self.near, []
        told = {normal(line.words) for line in self.parts.lines}
        whole = {message.seq for message in self.parts.earlier}
        for line in self.view.near if self.view.fill else near:
            if normal(line.words) not in told and not whole >= {*line.sources} > set():
                self.near.append(line)
                if self._over():
                    self.near.pop()
        if self.view.recalled is None:
            return
        self.kept = 0
        room = min(self._room(), self.policy.recall_cap) - self._recall_frame()
        if room >= LEAST_RECALL:
            visible = {m.seq for m in (*self._spoken(), *self.parts.earlier) if m.seq}
            self.quoted, _, self.quotations = self.view.recalled.pack(room, visible, self.budget > PLENTY)
            recalled = "\n".join(one.text for one in self.quotations)
            self.near = [line for line in self.near if line.words not in recalled]
            if self.quoted and self._one_block():
                self.parts.more = self.quoted

    # Trimming in the policy's order: the documents' presets -----------------------------------------------------

    def trim(self) -> None:
        """Let sections give way in the policy's order until the rest fits."""
        self.parts.shown["further"] = NO_LINES
        own = 0 if self.view.given else self.policy.turns_budget
        self._limit_near()
        self._limit_known()
        if self.policy.turns_budget:  # whole turns, as many as fit
            self.reserve = LEAST_BRIDGE
        for section, floor in self.policy.trim:
            if not self._over(own):
                break
            if section != "recent" and self._has_bridge():  # what the bridge quotes gives way before anything else
                self.reserve = LEAST_BRIDGE
                self._name_bridge()
                if not self._over(own):
                    break
            if section == "recent":
                self._trim_tail(floor, own)
            elif section == "sources":
                while self.sources and self._over(own):
                    self._drop_source()
            elif section == "entities":
                while self.related and self._over(own):
                    self._drop_entity()
            elif section == "leaves":
                self._trim_leaves(own)
            else:
                self._trim_lines(section, own)
        self.inner = own
        self._write_bridge()

    def _name_bridge(self) -> None:
        self.bridged = self._bridged()
        self.parts.bridge = self._bridge_row()

    def _write_bridge(self) -> None:
        """Name the messages that are not shown, and what tells most of them within the bridge's room."""
        self._name_bridge()
        if self.parts.bridge:
            row = self._row_tokens(self.parts.bridge)
            left = self.reserve - row
            if self.reserve <= LEAST_BRIDGE:  # it quotes what is left over
                left = min(self.most_bridge - row, self._room(), *([self._room(self.inner)] if self.inner else ()))
            self.parts.shown["bridge"] = self.digests(left)

    def _drop_sources(self) -> None:
        """Drop the last sources while they take more than half of the budget."""
        while self.sources and self._second_tokens() > self.budget // 2:
            self._drop_source()

    def _drop_source(self) -> None:
        text = self.sources.pop()
        self._leave_out("sources", f"source {len(self.sources) + 1}", count(text), "last source first")

    def _trim_lines(self, section: str, own: int) -> None:
        loose = self._loose(section)
        if section == "facts":  # those last that are rules, constraints or near to the question
            asked = stems(" ".join(message.text for message in self.query))
            keep = {line.id for line in loose if line.kind in ("rule", "constraint") or stems(line.words) & asked}
            loose = [*rank([line for line in loose if line.id in keep]), *rank([x for x in loose if x.id not in keep])]
        else:
            loose = rank(loose)
        while loose and self._over(own):
            self._drop_line(section, loose.pop(), "least durable first")

    def _trim_leaves(self, own: int) -> None:
        leaves = self.parts.shown["leaves"]
        for fold in sorted({line.fold for line in leaves}):
            if not self._over(own):
                return
            gone = [line for line in self.parts.shown["leaves"] if line.fold == fold]
            self.parts.shown["leaves"] = [line for line in self.parts.shown["leaves"] if line.fold != fold]
            tokens = sum(line.tokens for line in gone)
            self._leave_out("leaves", f"summary of fold {fold}", tokens, "oldest first")

    def _trim_tail(self, floor: int, own: int) -> None:
        frame = self._frame(own) + (0 if self._has_bridge() else self._bridge_room())
        budget = own or self.budget
        self._cut_tail(budget - frame - (0 if own else self.question_tokens), floor, exact=bool(own))

    def _step(self) -> int:
        """Tokens of a step in which the tail is trimmed, so that the next contexts share this one's prefix."""
        return self.budget // BLOCK_SHARE if self.budget >= CACHED else 1

    def _cut_tail(self, room: int, floor: int, exact: bool = False) -> None:
        """Move the oldest units to the bridge, in blocks, so that the next contexts share this one's prefix; `floor` turns
        stay. Where it is to be `exact`, turn by turn and no more than needed."""
        starts = self._turn_starts() if self.policy.unit == "turn" or floor else []
        most = starts[max(0, len(starts) - floor)] if floor and starts else len(self.tail)
        block = 1 if exact else self._step()
        # The most that fits, counted from the newest unit back.
        sizes = self.unit_tokens
        fits, rest = len(sizes), 0
        while fits > self.cut and rest + sizes[fits - 1] <= room:
            fits -= 1
            rest += sizes[fits]
        if fits <= self.cut:
            return
        if fits <= self.closed:  # an agent at work keeps all it has done for the question, where there is room
            most = min(most, self.closed)
        # A policy that counts turns cuts between turns. It cuts inside the newest turn only if that turn may be dropped.
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
                if exact or before // block > (before - sum(sizes[previous:at])) // block:
                    choice = at
                    break
            before += sizes[at] if at < most else 0
        self.cut = max(self.cut, choice or most)

    # What must stay, but is too large ---------------------------------------------------------------------------

    def excerpt(self) -> None:
        """Cut what must stay but is too large to head and tail; the question and the agent's last step go last."""
        if self._over():
            self.kept = 0
        while self._over(self.inner) or self._over():
            inner = self.inner if self._over(self.inner) else 0
            spoken = self._before() if inner else [*self._before(), *self._after()]
            alone = self.cut == len(self.tail) and not self.last
            room = (inner or self.budget) - self._frame(inner)
            asked = 0 if inner else sum(message.tokens for message in self.query)
            sizes = caps(spoken, room - asked) if spoken else None
            if sizes is None and not inner:
                spoken = self._spoken()
                sizes = caps(spoken, room, MIN_QUESTION if alone else MIN_EXCERPT) if spoken else None
            if sizes is not None:
                short = [excerpt_message(m, size) for m, size in zip(spoken, sizes, strict=True)]
                if None not in short:
                    self._replace(spoken, [m for m in short if m is not None])
                    continue
            if self.cut < len(self.tail):  # not even the least of each: the newest of them stay
                self.cut += 1
                self._write_bridge()
            elif self.last and not inner:  # the agent's last step cannot be shown at all: it joins the bridge
                self.tail.append(self.last)
                self.last, self.cut = [], len(self.tail)
                self._weigh()
                self._write_bridge()
            elif self._has_bridge() and (self.parts.shown["bridge"] or self.reserve > LEAST_BRIDGE):
                self.reserve, self.parts.shown["bridge"] = LEAST_BRIDGE, []
            elif self.near:
                line = self.near.pop()
                self._leave_out("near", line.text, line.tokens, "furthest first")
            elif self.related:
                self._drop_entity()
            elif self.sources:
                self._drop_source()
            elif any(self._loose(name, even_vital=True) for name in self.parts.shown):
                for name in self.parts.shown:
                    for line in self._loose(name, even_vital=True):
                        self._drop_line(name, line, "no room beside the question")
            else:
                raise BudgetError(
                    f"a context of {self.budget} tokens is too small: what the operator says, pins, tools and bridge take "
                    f"{self._frame()}, and the question needs at least {MESSAGE_OVERHEAD + MIN_QUESTION}; raise max_tokens, lower "
                    "reserve_output, or shorten the system prompt"
                )

    def _loose(self, name: str, even_vital: bool = False) -> list[Line]:
        """Lines of a part that may go: pins never do, and what a person said of health, safety and law only where nothing else
        helps."""
        lines = [line for line in self.parts.shown[name] if line not in self.view.pins]
        return lines if even_vital else [line for line in lines if not is_vital_line(line)]

    def _drop_line(self, name: str, line: Line, why: str) -> None:
        self.parts.shown[name] = [kept for kept in self.parts.shown[name] if kept is not line]
        self._leave_out(name, line.text, line.tokens, why)

    def _replace(self, spoken: Sequence[Message], short: Sequence[Message]) -> None:
        cut = {id(whole): self._note(whole, part) for whole, part in zip(spoken, short, strict=True)}
        self.tail[self.cut :] = [[cut.get(id(m), m) for m in unit] for unit in self.tail[self.cut :]]
        self.query = [cut.get(id(m), m) for m in self.query]
        self.last = [cut.get(id(m), m) for m in self.last]
        self._weigh()

    def _note(self, whole: Message, short: Message) -> Message:
        if short is not whole:
            what = f"middle of message {whole.seq}" if whole.seq else "middle of the question"
            self._leave_out("recent", what, whole.tokens - short.tokens, "too large: head and tail are shown")
        return short

    def _leave_out(self, layer: str, what: str, tokens: int, why: str) -> None:
        self.left_out.append(Piece(layer, what, tokens, f"budget: {why}"))
