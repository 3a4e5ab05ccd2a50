"""A context as it is laid out: its sections, what they show, and what it says about itself. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from infold.context.escaping import escape
from infold.context.parts import FRAME, RECALL_FRAME, Parts, bullet, quoted, recalled_block
from infold.context.view import Context, Explanation, Piece, Quotation, View
from infold.formats import STUB, calls_text, joined_chat, to_chat
from infold.lines.line import Line, normal
from infold.lines.merging import LEAST, foreseen, quotation
from infold.marks import (
    BACKGROUND_HEADER,
    DEPTH_TAG,
    ENTITIES_LABEL,
    NEAR_LABEL,
    POLICY_SNIPPET,
    RECALL_LABEL,
    RECALLED_HEADER,
    SOURCES_LABEL,
    WISHES_HEADER,
)
from infold.messages import Message
from infold.quoting.choosing import choose
from infold.quoting.history import read_all
from infold.quoting.reading import REACH
from infold.tokens import MESSAGE_OVERHEAD, REQUEST_OVERHEAD, count, count_cached, counted
from infold.units import question, repair, turn_starts, turns, unit_slices

LEAST_BRIDGE = 36  # tokens of a bridge that states its range and count
MOST_BRIDGE = 400
BRIDGE_SHARE = 8  # the bridge may take at most one eighth of the budget
OPERATOR_SHARE = 4  # and what the operator said in the midst of the chat this one; the newest, if that is very much
OPERATOR = ("system", "developer")
BREAK = "\n\n"
_TAG = DEPTH_TAG.partition("{")[0]
_STUB_TOKENS = MESSAGE_OVERHEAD + 1 + count_cached(STUB)
_MOST_READ = 128  # hidden messages that are read for what may be quoted of them, the newest ones


class Layout:
    """Everything a context may show, and what of it is shown."""

    def __init__(
        self, view: View, budget: int, query: Message | None, tools_tokens: int, sources: Sequence[str]
    ) -> None:
        self.view = view
        self.policy = view.policy
        self.budget = budget
        self.inner = 0
        """Tokens that memory and the turns before the question may take together; 0 where nothing but the budget counts."""
        self.tools_tokens = tools_tokens
        self.left_out: list[Piece] = []
        self.parts = Parts.of(view)
        self.all_shown = dict(self.parts.shown)
        self.sources = [f"> [{at}] {escape(text)}" for at, text in enumerate(sources, 1)]
        self.near = [] if view.fill else list(view.near)
        self.related = list(view.related)
        self.overflows = False  # whether there are more recalled words than fit
        self.kept = 0  # tokens kept free for recalled words
        self.quoted: list[str] = []
        self.quotations: list[Quotation] = []
        stored = view.messages
        self.system = self._system_text([m for m in (*view.operator, *stored) if m.role in OPERATOR])
        self.fixed = REQUEST_OVERHEAD + tools_tokens
        if self.system:
            self.fixed += MESSAGE_OVERHEAD + count_cached(self.system)
        self.frame = FRAME + self._row_tokens(BACKGROUND_HEADER) + (self._row_tokens(WISHES_HEADER) if view.pins else 0)
        self._split(query, [m for m in stored if m.role not in OPERATOR])
        # Tokens reserved for the bridge. They depend on the budget alone: the bridge's text changes only when the cut moves.
        self.reserve = self.most_bridge = min(max(budget // BRIDGE_SHARE, LEAST_BRIDGE), MOST_BRIDGE)
        self.cut = 0  # units of the tail that go to the bridge
        self.used = 0
        self.bridged: tuple[int, int, int] | None = None
        self._starts: list[int] | None = None
        self._shown: list[Message] = []

    def _system_text(self, said: Sequence[Message]) -> str:
        """What the operator says: the fixed policy text, the system prompt, and what was said later, in order."""
        texts = [self.view.system] if self.view.system else []
        room = self.budget // OPERATOR_SHARE
        later: list[str] = []
        for message, text in reversed(_less_echoes(texts, said)):
            if text in (*texts, *later):
                continue
            room -= message.tokens if room >= 0 else 0
            if room >= 0:
                later.append(text)
            else:
                why = "budget: the newest of what the operator said"
                self.left_out.append(Piece("system", f"message {message.seq}", message.tokens, why))
        policy_text = [POLICY_SNIPPET] if self.policy.policy_text else []
        return BREAK.join([*policy_text, *texts, *reversed(later)])

    def _split(self, query: Message | None, stored: Sequence[Message]) -> None:
        """The question, what follows it (an agent at work), and the tail before it in whole units."""
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

    # Room ------------------------------------------------------------------------------------------------

    def _row_tokens(self, *rows: str) -> int:
        return sum(count_cached(f"{row}\n") for row in rows if row)

    def _frame(self, inner: int = 0) -> int:
        """Tokens of everything but the messages shown as they were said; of an inner budget, of memory alone."""
        to_come = self._bridge_room() if self._has_bridge() and not self.parts.bridge else 0
        memory = self.parts.tokens + to_come
        if inner:
            return memory
        stub = _STUB_TOKENS if self._needs_stub(self.parts.has_block or to_come > 0) else 0
        return self.fixed + memory + self._second_tokens() + self.kept + stub

    def _bridge_room(self) -> int:
        """Tokens kept free for a bridge that is not written yet, with what its block does not have yet."""
        return self.reserve + self.parts.background_frame

    def _needs_stub(self, memory: bool) -> bool:
        """Whether the first message would not be the user's."""
        if memory and self.view.memory_role == "user":
            return False
        spoken = next(iter(self._spoken()), None)
        return spoken is not None and spoken.role != "user" and not (spoken.role == "assistant" and spoken.opaque)

    def _room(self, inner: int = 0) -> int:
        """Tokens that are free; below 0 where too much is shown."""
        if inner:
            return inner - self._frame(inner) - sum(self.unit_tokens[self.cut : self.closed])
        return self.budget - self._frame() - sum(self.unit_tokens[self.cut :]) - self.question_tokens

    def _over(self, inner: int = 0) -> bool:
        return self._room(inner) < 0

    def _second_rows(self) -> list[str]:
        """What stands before the question: recalled words, entities and sources."""
        rows = [NEAR_LABEL, *map(bullet, self.near)] if self.near else []
        rows += [RECALL_LABEL, *self.quoted] if self.quoted and not self.parts.more else []
        rows += [ENTITIES_LABEL, *(f"- {escape(line)}" for line, _ in self.related)] if self.related else []
        return [*rows, *([SOURCES_LABEL, *self.sources] if self.sources else ())]

    def _second_tokens(self) -> int:
        rows = self._second_rows()
        return RECALL_FRAME + self._row_tokens(RECALLED_HEADER, *rows) if rows else 0

    def _second_text(self) -> str:
        rows = self._second_rows()
        return recalled_block([RECALLED_HEADER, *rows], self.view) if rows else ""

    # The messages shown ------------------------------------------------------------------------------------

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
        asked = self.query[:1]
        if asked and not asked[0].seq and asked[0].name is None and flat and flat[-1].role == "user":
            asked = [replace(asked[0], name=flat[-1].name)]  # whoever asks for a speaker goes on with their words
        firsts = turn_starts([*flat, *asked])
        if self.query:
            firsts.pop()  # the question's turn is open, whether it opens one or goes on with what was said before it
        if len(flat) == len(closed):  # every unit is one message
            return firsts
        unit_of = [index for index, unit in enumerate(closed) for _ in unit]
        return list(dict.fromkeys(unit_of[first] for first in firsts))

    # The bridge ----------------------------------------------------------------------------------------------

    def _has_bridge(self) -> bool:
        return self.cut > 0 or self.view.unloaded is not None

    def _hidden(self) -> list[Message]:
        """Messages that are named by the bridge; those a repair made have no place in the chat."""
        return [m for unit in self.tail[: self.cut] for m in unit if m.seq]

    def _bridged(self) -> tuple[int, int, int] | None:
        """First and last position and number of the messages that are named but not shown."""
        if not self._has_bridge():
            return None
        places = [m.seq for m in self._hidden()]
        if self.view.unloaded:
            first, last = self.view.unloaded
            return first, max(places, default=last), len(places) + last - first + 1
        return (min(places), max(places), len(places)) if places else None

    def _bridge_row(self) -> str:
        if self.bridged is None:
            return ""
        first, last, number = self.bridged
        noun = "message" if number == 1 else "messages"
        return f"Messages {first}–{last} ({number} {noun}) are not shown in full."

    def foreseen(self, own: Sequence[Line], hidden: Sequence[Message]) -> tuple[list[Line], list[Line]]:
        """The lines of memory that hold beside what hidden messages say, and what those may be quoted for."""
        hidden = hidden[-_MOST_READ:]
        key = ("foreseen", hidden[0].seq, hidden[-1].seq, len(own), self.view.variant)
        found: tuple[list[Line], list[Line]] | None = self.view.cache.get(key)
        if found is None:
            before = [m for m in self.view.messages if m.seq < hidden[0].seq][-REACH:]
            read = [one for some in read_all(hidden, before) for one in some]
            lines = foreseen(own, read, self.policy, self.view.folds + 1)
            # What is said again is the line that is there.
            held = {line.text: line for line in reversed(own)} | {line.id: line for line in own}
            known = [held.get(line.id) or held.get(line.text) for line in lines]
            found = self.view.cache[key] = (
                [line for line in known if line], [line for line, old in zip(lines, known, strict=True) if not old],
            )  # fmt: skip
        return found

    def digests(self, room: int) -> list[Line]:
        """What tells most of the hidden messages, within a room of tokens."""
        hidden = self._hidden()[-_MOST_READ:]
        if not hidden or room <= 0:
            return []
        before = [m for m in self.view.messages if m.seq < hidden[0].seq][-REACH:]
        found = [one for some in read_all(hidden, before) for one in some if one.worth >= LEAST]
        lines = [replace(quotation(one), id=f"{self.view.folds + 1}.{at}") for at, one in enumerate(found, 1)]
        tokens = [self.parts.tokens_of((bullet(line),)) for line in lines]
        return sorted((lines[at] for at in choose(lines, tokens, room)), key=lambda line: line.places)

    # The result ----------------------------------------------------------------------------------------------

    def context(self) -> Context:
        """The context as it stands."""
        messages = self._shown = self._messages()
        self.used = REQUEST_OVERHEAD + self.tools_tokens + sum(message.tokens for message in messages)
        assert self.used <= self.budget, (self.used, self.budget)
        starts = self._turn_starts()
        hot = sum([start >= self.cut for start in starts]) + (self.cut < self.closed and self.cut not in starts)
        shown, known = self.parts.shown, {line.id for line in self.view.known}
        counts = {
            "pins": len(shown["pins"]),
            "facts": len(shown["facts"]) + sum(line.id in known for line in shown["summary"]),
            "summaries": sum(1 for name in ("summary", "leaves") if any(x.id not in known for x in shown[name])),
            "further": len(shown["further"]),
            "earlier": len(self.parts.earlier),
            "hot_turns": hot,
            "messages": sum(map(len, self.tail[self.cut :])) + len(self.query) + len(self.last),
            "bridged": self.bridged[2] if self.bridged else 0,
            "near": len(self.near),
            "recalled": len(self.quotations),
            "entities": len(self.related),
            "sources": len(self.sources),
        }
        return Context(joined_chat(to_chat(messages)), self.used, self.budget, counts, self.bridged, self)

    def shown(self) -> list[Message]:
        """The messages of the context, in order."""
        return [*self._shown]

    def _messages(self) -> list[Message]:
        """The operator's words, memory, the tail, what is known for the question, and the question."""
        system, memory = self.system, self.parts.text
        tokens = MESSAGE_OVERHEAD + count_cached(system) if system else 0
        tagged, second = self.parts.tagged, self._second_text()
        joined = [memory] if memory and self.view.memory_role == "system" else []
        joined += [tagged] if tagged and self.view.merge else []
        for text in joined:  # as they were counted, which is a little more than they are together
            system, tokens = "\n\n".join(filter(None, (system, text))), tokens + own_message("system", text).tokens
        first = [Message("system", system, tokens=tokens)] if system else []
        tagged, memory = "" if tagged in joined else tagged, "" if memory in joined else memory
        memory = memory or (STUB if self._needs_stub(False) else "")
        return [
            *first,
            *([own_message("system", tagged)] if tagged else ()),
            *([own_message("user", memory)] if memory else ()),
            *self._before(),
            *([own_message("user", second)] if second else ()),
            *self.query,
            *self._after(),
        ]

    # What it says about itself -------------------------------------------------------------------------------

    def explain(self) -> Explanation:
        """Every piece with its reason; made only when somebody asks."""
        pieces = [*self._system_pieces(), *self._memory_pieces()]
        if self._needs_stub(self.parts.has_block):
            pieces.append(Piece("recent", STUB, _STUB_TOKENS, "the first message must be a user's"))
        pieces += [_spoken(message, "recent", "verbatim tail") for message in self._before()]
        pieces += self._second_pieces()
        spoken = (*self.query, *self._after())
        pieces += [_spoken(message, "query", "the question and what followed it") for message in spoken]
        pieces.append(Piece("request", "scaffolding", REQUEST_OVERHEAD, "every request has it"))
        if self.tools_tokens:
            pieces.append(Piece("tools", "tool definitions", self.tools_tokens, "sent with the request"))
        hidden = [
            Piece("recent", f"message {m.seq}", m.tokens, "budget: oldest first, bridged") for m in self._hidden()
        ]
        outdated = [
            Piece(line.layer, line.text, line.tokens, "facts: in conflict, or overtaken in another chat")
            for line in self.view.lines
            if line.id in self.view.outdated
        ]
        if self.view.more:
            outdated.append(Piece("facts", f"{self.view.more} more of what the user stated", 0, "the standing share"))
        left_out = (*self.left_out, *outdated, *self._lines_left_out(), *self._folded_away(), *hidden)
        return Explanation(self.budget, self.used, tuple(pieces), left_out)

    def _lines_left_out(self) -> list[Piece]:
        """Lines of memory that had no room, where it is shared out."""
        if not self.policy.memory_share:
            return []  # each was told when it was dropped
        shown = {line.id for line in self.parts.lines}
        whole = {message.seq for message in self.parts.earlier}
        said = "\n".join([*(m.text for m in self._spoken()), *(one.text for one in self.quotations)])
        told = {normal(line.words) for line in self.parts.lines}
        return [
            Piece(name, line.text, line.tokens, "said by what is shown" if there else "budget: tells less")
            for name, lines in self.all_shown.items()
            for line in lines
            if name != "further" and line.id not in shown
            for there in (
                normal(line.words) in told
                or (line.quoted and (line.words in said or whole >= {*line.sources} > set())),
            )
        ]

    def _system_pieces(self) -> list[Piece]:
        if not self.system:
            return []
        return [Piece("system", "the operator's words", MESSAGE_OVERHEAD + count_cached(self.system), "always there")]

    def _memory_pieces(self) -> list[Piece]:
        parts, view = self.parts, self.view
        reasons = {
            "facts": "what holds", "summary": "folded messages", "leaves": "recently folded messages",
            "further": "said in folded messages; there is room", "bridge": "neither folded yet nor fitting verbatim",
        }  # fmt: skip
        pinned = {line.id for line in view.pins}
        pieces = [
            Piece("pins", line.text, parts.tokens_of((bullet(line),)), "pinned")
            for line in parts.wishes
            if line.id in pinned
        ]
        for name, reason in reasons.items():
            for line in parts.shown[name]:
                why = f"{reason}; a standing wish" if line.wish else reason
                pieces.append(Piece(name, line.shown, parts.tokens_of((bullet(line),)), why))
        if parts.earlier:
            first, last = parts.earlier[0].seq, parts.earlier[-1].seq
            tokens = parts.tokens_of(map(quoted, parts.earlier))
            pieces.append(Piece("earlier", f"messages {first}–{last}", tokens, "folded; the budget has room for them"))
        if parts.bridge:
            pieces.append(Piece("bridge", parts.bridge, self._row_tokens(parts.bridge), reasons["bridge"]))
        rest = parts.tokens - parts.tokens_of(parts.more) - sum(piece.tokens for piece in pieces)
        return [*pieces, Piece("memory", "headings and marks", rest, "go with them")] if pieces or rest else []

    def _second_pieces(self) -> list[Piece]:
        pieces: list[Piece] = [
            Piece("recalled", f"message {one.seq}", count(one.text), f"recalled: {one.why}") for one in self.quotations
        ]
        pieces += [
            Piece("near", line.shown, self._row_tokens(bullet(line)), "stated before; bears on the question")
            for line in self.near
        ]
        pieces += [Piece("entities", line, count(line), f"related: {why}") for line, why in self.related]
        pieces += [Piece("sources", row[:60], self._row_tokens(row), "given by the caller") for row in self.sources]
        more = self.parts.tokens_of(self.parts.more)
        rest = self._second_tokens() + more - sum(piece.tokens for piece in pieces)
        return [*pieces, Piece("recalled", "heading, dates and speakers", rest, "goes with them")] if pieces else []

    def _folded_away(self) -> list[Piece]:
        """How much of what was folded no line speaks of."""
        told = {seq for line in self.parts.lines for seq in line.sources if seq <= self.view.cursor}
        told |= {message.seq for message in self.parts.earlier}
        number = self.view.cursor - len(told)
        if number <= 0:
            return []
        what = f"{number} of {self.view.cursor} folded messages"
        return [Piece("folds", what, 0, "folded: no line shown here rests on them")]

    def text(self, models: bool = False) -> str:
        """The plain prompt: system, background summary, turns, sources, question."""
        memory = "\n".join(filter(None, (self.parts.tagged, self.parts.plain)))
        parts = [self.system, memory]
        tail = self._before()
        parts += ["\n".join(plain_line(m, models) for m in tail[turn.first : turn.last + 1]) for turn in turns(tail)]
        parts.append(self._second_text())
        parts.append("\n".join(plain_line(m, models) for m in (*self.query, *self._after())))
        return "\n\n".join(part for part in parts if part)


def _less_echoes(texts: Sequence[str], said: Sequence[Message]) -> list[tuple[Message, str]]:
    """What the operator said, less the system messages of requests that came back: those say all of it once more."""
    found: list[tuple[Message, str]] = []
    known: list[str] = []
    for message in said:
        text = message.text.removeprefix(POLICY_SNIPPET).strip("\n")
        echoes = (BREAK.join([*texts, *known[at:]]) for at in range(len(known) + 1))
        if not text.strip() or (BREAK in text and text in echoes):
            continue
        known = [*(one for one in known if one != text), text]
        found.append((message, text))
    return found


def _spoken(message: Message, layer: str, reason: str) -> Piece:
    what = f"message {message.seq} ({message.role})" if message.seq else message.role
    return Piece(layer, what, message.tokens, reason)


def own_message(role: str, text: str) -> Message:
    """What infold says itself, as a message."""
    return Message(role, text, tokens=MESSAGE_OVERHEAD + 1 + count_cached(text))


def is_tagged(message: Message) -> bool:
    """Whether this is the message that stands for what a chain has folded."""
    return message.role == "system" and not message.seq and message.text.startswith(_TAG)


def plain_line(message: Message, models: bool = False) -> str:
    """A message as a line of the plain prompt, with the model that wrote it where that is asked for."""
    label = {"user": "User", "assistant": "Assistant", "tool": "Tool"}.get(message.role, "System")
    if models and message.model_variant:
        label = f"{label} ({message.model_variant})"
    if not message.tool_calls:
        return f"{label}: {message.text}"
    return f"{label}: {message.text} {calls_text(message.tool_calls)}".replace(":  [", ": [")
