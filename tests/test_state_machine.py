"""Any sequence of operations, on every preset, beside a plain model of what was said.

INFOLD_FUZZ=20 runs twenty times as many sequences, other ones each time.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine

from infold import BudgetError, Chat, DuplicateIdError, Memory, Message, OrphanResultError, summarize_memory
from infold.context import Context
from infold.context.block import BLOCK_SIGN
from infold.context.escaping import escape, unescape
from infold.formats import STUB
from infold.lines.line import line_tokens
from infold.marks import POLICY_SNIPPET
from infold.messages import parse
from infold.presets import PRESETS
from infold.state import load
from infold.tokens import MESSAGE_OVERHEAD, REQUEST_OVERHEAD, count, message_tokens, tools_tokens
from infold.units import units

from .conftest import assistant, call, counted_ids, result, ticking_clock, tokens_of, user, words
from .databases import fresh
from .rawsql import Observer

FUZZ = int(os.environ.get("INFOLD_FUZZ", "0"))
SETTINGS = settings(
    max_examples=15 * max(FUZZ, 1), stateful_step_count=25, derandomize=not FUZZ, print_blob=bool(FUZZ),
    database=None, deadline=None, suppress_health_check=list(HealthCheck),
)  # fmt: skip

ROOM = 150  # what a question, a bridge, headings and marks need beside system prompt and pins
BUDGETS = (60, 90, 125, 200, 350, 700, 1500, 4000, 20_000)
SYSTEMS = (None, "You are terse.", words(150, "system"))
PINS = ("Never call before 9.", "Cost centre 4711]);", words(100, "pin"), words(700, "pin"))
SIZES = (0, 1, 10, 60, 400, 2000, 20_000)
FACTS = (
    "My budget for trip {n} is {n}50 euros.", "I prefer window seats on flight LH{n}1.", "I am allergic to peanuts.",
    "Let's use Postgres 1{n}.2.0 instead of MySQL.", "I will send invoice INV-{n}7 by Friday.", "My name is Ana.",
    "We decided to cancel plan {n}; no more than {n} people may come.",
)  # fmt: skip
TOOLS = ({"type": "function", "function": {"name": "lookup", "description": "Look things up", "parameters": {}}},)
GARBAGE: dict[str, object] = {
    "empty": "", "number": 42, "nothing": None, "nul": "- a\x00b", "surrogate": "- half \ud800 pair",
    "endless": "- " + words(5000, "endless"), "blank": "\n \n## Facts\n",
}  # fmt: skip
MODES = ("works", "works", "works", "raises", "transcript", *GARBAGE)
MEDDLES = ("", "", "add", "answer", "fold", "pin", "rewind", "policy")

small = st.sampled_from([SIZES[at] for at in (2, 2, 2, 3, 3, 3, 0, 1, 4, 4, 5, 6)])
facts = st.sampled_from(FACTS)
texts = st.one_of(facts, small, facts, small)
windows = st.sampled_from((256, 600, 2000, 8192))
budgets = st.one_of(st.integers(60, 300), st.integers(60, 20_000), st.integers(-4, 4))
pick = st.integers(0, 1000)
odd = st.sampled_from((False, False, False, True))


def at_of(values: Sequence[object]) -> st.SearchStrategy[int]:
    return st.integers(0, len(values) - 1)


@functools.cache
def sized(tokens: int) -> str:
    return words(tokens)


def check_wire(messages: list[dict[str, Any]]) -> None:
    """A Chat Completions request: each call directly followed by exactly one result for each id, nothing orphaned."""
    open_ids: list[str] = []
    for message in messages:
        role, content = message["role"], message.get("content")
        if role == "tool":
            assert message["tool_call_id"] in open_ids, "a result without its call right before it"
            open_ids.remove(message["tool_call_id"])
        else:
            assert not open_ids, "a call without its result"
        assert role in ("system", "user", "assistant", "tool"), role
        calls = message.get("tool_calls", [])
        assert role == "assistant" or not calls
        if role != "assistant" or not (calls or message.get("refusal")):
            assert isinstance(content, str) or (isinstance(content, list) and content), f"a {role} message of nothing"
        open_ids += [tool_call["id"] for tool_call in calls]
        assert len(set(open_ids)) == len(open_ids)
    assert not open_ids, "a call without its result"


def check_excerpt(shown: dict[str, Any], said: dict[str, Any]) -> None:
    """What is shown of a message is all of it, or its head and tail with a mark between."""
    whole, text = parse(said).text or said.get("refusal", ""), parse(shown).text or shown.get("refusal", "")
    if said["role"] == "tool" and shown["role"] == "user":
        whole = f"[tool result without its call] {whole}"
    if whole == text or (not text and said.get("tool_calls")):
        return
    head, mark, rest = text.partition("[…")
    assert mark, f"{whole[:40]!r} became {text[:40]!r} without a mark"
    assert whole.startswith(head.rstrip()), (whole[:60], head[:60])
    assert whole.endswith(rest.partition("]")[2].lstrip())


class ChatMachine(RuleBasedStateMachine):
    """One chat; `said` is the model: every message that was added and not rewound, in order."""

    preset = "default"

    def __init__(self) -> None:
        super().__init__()
        self.opened = ExitStack()
        self.url = self.opened.enter_context(fresh())
        self.clock, self.ids = ticking_clock(), counted_ids()
        self.said: list[dict[str, Any]] = []
        self.pins: dict[str, str] = {}
        self.then: dict[int, list[Any]] = {}  # memory by the number of messages there were
        self.made = self.step = 0
        self.mode, self.meddle = "works", ""
        self.policy = self.preset
        self.just_added = False
        self.observer = self.opened.enter_context(Observer(self.url))

    @initialize(
        system=at_of(SYSTEMS), window=windows, wait=st.booleans(), model=st.booleans(), turns=st.integers(0, 14)
    )
    def begin(self, system: int, window: int, wait: bool, model: bool, turns: int) -> None:
        self.system, self.window = SYSTEMS[system], window
        self.open(wait, model)
        for at in range(turns):
            self.add_turns(1, FACTS[at % len(FACTS)], 10)

    def open(self, wait: bool, model: bool) -> None:
        self.wait, self.model = wait, model
        self.memory = Memory(self.url, summarizer=self.summarize if model else None, clock=self.clock, ids=self.ids)
        self.chat = self.memory.chat("c", preset=self.policy, system=self.system, context_window=self.window, wait=wait)

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            self.memory.close()
        self.opened.close()

    # The summarizer, and what other people do while it thinks -------------------------------------------

    def summarize(self, summary: str, messages: list[Message]) -> Any:
        meddle, self.meddle = self.meddle, ""
        if meddle:
            self.just_added, self.then = False, {}
            with Memory(self.url, clock=self.clock, ids=self.ids) as other:
                self.interfere(meddle, other)
        if self.mode == "raises":
            raise RuntimeError("the model is down \ud800\x00")
        if self.mode == "transcript":
            return "\n".join(m.text for m in messages)
        if self.mode in GARBAGE:
            return GARBAGE[self.mode]
        return f"{summarize_memory(summary, messages)}\n- {len(messages)} messages were read"

    def interfere(self, what: str, other: Memory) -> None:
        chat = other.chat("c")
        if what == "add":
            self.add(user("By the way, my flight is LH99."), chat=chat)
        elif what == "answer" and self.waiting():
            self.answer(self.waiting()[0], "Late.", chat)
        elif what == "fold":
            chat.fold()
        elif what == "pin" and "Gate B7." not in self.pins.values():
            self.pins[chat.pin("Gate B7.")] = "Gate B7."
        elif what == "rewind" and self.said:
            del self.said[len(self.said) // 2 + 1 :]
            chat.rewind(self.said[-1]["id"])
        elif what == "policy":
            self.policy = "layered" if self.policy == "rolling" else "rolling"
            chat.set_policy(self.policy)

    # Adding ------------------------------------------------------------------------------------------------

    def new(self, message: dict[str, Any]) -> dict[str, Any]:
        self.made += 1
        return {**message, "id": f"m{self.made}"}

    def text(self, drawn: int | str) -> str:
        return sized(drawn) if isinstance(drawn, int) else drawn.format(n=self.made % 9 + 1)

    def add(self, *messages: dict[str, Any], repair: bool = False, chat: Chat | None = None) -> None:
        new = [self.new(message) for message in messages]
        before = list(self.said)
        self.said += new
        self.just_added = True
        try:
            (chat or self.chat).add(new if len(new) > 1 else new[0], repair=repair)
            (chat or self.chat).settle()  # a race is only what `interfere` does: at a known place, every time
        except BaseException:
            self.said = before
            raise

    @rule(text=texts, role=st.sampled_from(("user", "user", "assistant", "assistant", "system")), odd=odd)
    def add_message(self, text: int | str, role: str, odd: bool) -> None:
        said = self.text(text)
        message = {"role": role, "content": said}
        if odd and role == "user":
            image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}}
            message = user([{"type": "text", "text": said}, image], name="bo")
        elif odd and role == "assistant" and said:
            message = assistant(None, refusal=said)
        self.add(message)

    @rule(number=st.integers(1, 3), again=odd, text=small)
    def add_call(self, number: int, again: bool, text: int) -> None:
        start = 0 if again else self.made  # some providers use the same ids again and again
        ids = [f"call-{start}-{at}" for at in range(number)]
        self.add(call(*ids, arguments=f'{{"q": "{sized(text)}"}}', content=self.text(text) if number == 2 else None))

    def waiting(self) -> list[str]:
        ids: dict[str, None] = {}
        for message in self.said:
            ids.update(dict.fromkeys(parse(message).call_ids))
            ids.pop(message.get("tool_call_id", ""), None)
        return list(ids)

    @precondition(lambda self: self.waiting())
    @rule(at=pick, text=texts)
    def add_result(self, at: int, text: int | str) -> None:
        ids = self.waiting()
        self.answer(ids[at % len(ids)], self.text(text))

    def answer(self, id: str, text: str, chat: Chat | None = None) -> None:
        try:
            self.add(result(id, text), chat=chat)
        except OrphanResultError:
            unfolded = self.said[self.chat.memory.cursor :]
            assert all(id not in parse(message).call_ids for message in unfolded)
            self.add(result(id, text), repair=True, chat=chat)

    @rule(turns=st.integers(1, 8), text=small)
    def add_late_result(self, turns: int, text: int) -> None:
        id = f"late-{self.made}"
        self.add(call(id))
        self.add_turns(turns, FACTS[0], text)
        if id in self.waiting():  # others may have answered it, or rewound it away
            self.answer(id, self.text(text))

    @rule(number=st.integers(1, 3), back=st.booleans(), text=small)
    def add_unit(self, number: int, back: bool, text: int) -> None:
        ids = [f"unit-{self.made}-{at}" for at in range(number)]
        results = [result(id, self.text(text)) for id in ids]
        self.add(user("Look it up."), call(*ids), *(results[::-1] if back else results))

    @rule(turns=st.integers(1, 8), ask=facts, reply=small)
    def add_turns(self, turns: int, ask: str, reply: int) -> None:
        self.add(*(m for at in range(turns) for m in (user(ask.format(n=at + 1)), assistant(sized(reply)))))

    @precondition(lambda self: self.said)
    @rule(at=pick)
    def add_again(self, at: int) -> None:
        seq = at % len(self.said)
        before = self.version()
        again = self.chat.add(self.said[seq])
        assert isinstance(again, Message)
        assert again.seq == seq + 1
        assert self.model or self.version() == before
        with pytest.raises(DuplicateIdError):
            self.chat.add(user("something else", id=self.said[seq]["id"]))

    # Changing ----------------------------------------------------------------------------------------------

    @rule(mode=st.sampled_from(MODES), meddle=st.sampled_from(MEDDLES))
    def fold(self, mode: str, meddle: str) -> None:
        self.just_added = False
        self.mode, self.meddle = mode, meddle
        self.chat.fold()

    @rule(which=at_of(PINS))
    def pin(self, which: int) -> None:
        text = PINS[which]
        taken = sum(line_tokens(pin) for pin in self.pins.values())
        try:
            self.pins[self.chat.pin(text)] = text
        except BudgetError:
            assert taken + line_tokens(text) > max(64, self.window // 8)

    @precondition(lambda self: self.pins)
    @rule(at=pick)
    def unpin(self, at: int) -> None:
        id = list(self.pins)[at % len(self.pins)]
        self.chat.unpin(id)
        del self.pins[id]

    @precondition(lambda self: self.said)
    @rule(back=st.sampled_from((0, 1, 1, 2, 3, 5, 12, 40)))
    def rewind(self, back: int) -> None:
        self.just_added = False
        seq = max(1, len(self.said) - back)
        assert self.chat.rewind(self.said[seq - 1]["id"]) == len(self.said) - seq
        del self.said[seq:]
        assert self.remembered() == self.then.get(seq, self.remembered()), "memory is not what it was then"
        self.then = {known: memory for known, memory in self.then.items() if known <= seq}

    def remembered(self) -> list[Any]:
        return sorted((i.id, i.layer, i.section, i.text) for i in self.chat.memory.items if i.id not in self.pins)

    @rule(name=st.sampled_from(sorted(PRESETS)))
    def set_policy(self, name: str) -> None:
        self.just_added = False
        self.policy = name
        self.chat.set_policy(name)
        self.then = {}

    @precondition(lambda self: self.model)
    @rule(mode=st.sampled_from(MODES), meddle=st.sampled_from(MEDDLES))
    def next_answer(self, mode: str, meddle: str) -> None:
        self.mode, self.meddle = mode, meddle

    @rule(wait=st.booleans(), model=st.booleans())
    def reopen(self, wait: bool, model: bool) -> None:
        self.memory.close()
        self.open(wait, model)

    # Reading -----------------------------------------------------------------------------------------------

    @rule(budget=budgets, query=st.one_of(st.none(), texts), sources=st.lists(small, max_size=3), tools=st.booleans())
    def context(self, budget: int, query: int | str | None, sources: list[int], tools: bool) -> None:
        more: dict[str, Any] = {"query": None if query is None else self.text(query)}
        more["sources"] = [f"source {at} {sized(size)}" for at, size in enumerate(sources)]
        more["tools"] = TOOLS if tools else None
        if budget < 60:  # right at what it takes
            budget = max(60, budget + self.chat.context(max_tokens=1_000_000, **more).tokens)
        self.check_context(budget, more)

    def version(self) -> Any:
        return self.observer.version()

    def check_context(self, budget: int, more: dict[str, Any]) -> None:
        tools = tools_tokens(more.get("tools"))
        try:
            context = self.chat.context(max_tokens=budget, **more)
        except BudgetError:
            fixed = REQUEST_OVERHEAD + tools + sum(line_tokens(pin) for pin in self.pins.values())
            fixed += tokens_of({"role": "system", "content": self.system}) if self.system else 0
            fixed += MESSAGE_OVERHEAD + count(POLICY_SNIPPET) if self.policy == "engine" else 0
            fixed += min(budget // 4, sum(tokens_of(m) for m in self.said if m["role"] == "system"))
            assert fixed + ROOM > budget, "the budget was enough"
            return
        before = self.version()
        assert self.chat.context(max_tokens=budget, **more).hash == context.hash
        assert self.version() == before, "asking for a context changed the database"
        check_wire(context.messages)
        counted = REQUEST_OVERHEAD + tools + sum(message_tokens(parse(message)) for message in context.messages)
        joined = len(context.shown()) - len(context.messages)
        assert counted <= context.tokens <= counted + (joined + 2) * (MESSAGE_OVERHEAD + 1)
        assert context.tokens <= budget == context.budget
        roles = [message["role"] for message in context.messages]
        assert roles.count("system") <= 1 + (self.policy == "chain")
        assert "system" not in roles[roles.count("system") :]
        assert next((role for role in roles if role != "system"), "user") == "user"
        assert all(one != other or other == "tool" for one, other in pairwise(roles[roles.count("system") :]))
        texts = [parse(message).text for message in context.messages]
        assert not self.system or self.system in texts[0]
        rows = "\n".join(texts).splitlines()
        assert all(f"> {escape(pin)}" in rows for pin in self.pins.values()), "a pin is not shown verbatim"
        explained = context.explain()
        assert sum(piece.tokens for piece in explained.items) == context.tokens
        left_out = [piece for piece in explained.left_out if piece.layer != "folds"]
        if not left_out:
            text = unescape("\n".join(texts))
            missing = [item.text for item in self.chat.memory.items if item.text not in text]
            assert not missing, f"in memory, but not shown: {missing}"
        said = [m["content"] for m in self.said if m["role"] == "system" and str(m["content"]).strip()]
        if not any(piece.layer == "system" for piece in left_out):
            assert all(one in texts[0] for one in said), "what the operator said is missing"
        self.check_spoken(context, more.get("query"))

    def check_spoken(self, context: Context, query: str | None) -> None:
        """Each unfolded message is shown or inside the bridge; the question is there; the order is the chat's."""
        cursor = self.chat.memory.cursor
        shown: list[int] = []
        asked = query is None
        for message in context.shown():
            if message.seq:
                shown.append(message.seq)
                check_excerpt(message.wire, self.said[message.seq - 1])
            elif not asked and query is not None and message.role == "user":
                if message.text == STUB or BLOCK_SIGN in message.text:
                    continue
                check_excerpt(message.wire, user(query))
                asked = True
        operator = {at for at, message in enumerate(self.said, 1) if message["role"] == "system"}
        hidden = set(range(cursor + 1, len(self.said) + 1)) - set(shown) - operator
        if hidden:
            assert context.bridge is not None
            assert context.bridge[0] <= min(hidden) <= max(hidden) <= context.bridge[1]
            assert context.bridge[2] == len(hidden) == context.sources["bridged"]
        else:
            assert context.bridge is None
        fresh = [seq for seq in shown if seq > cursor and self.said[seq - 1]["role"] != "tool"]
        assert fresh == sorted(set(fresh)), f"out of order: {fresh}"
        assert asked
        question = self.question()
        assert query is not None or not question or question in shown, "the question is missing"

    def question(self) -> int:
        """Position of the newest unanswered user message; 0 without one."""
        for seq in range(len(self.said), 0, -1):
            message = self.said[seq - 1]
            if message["role"] == "assistant" and not message.get("tool_calls"):
                return 0
            if message["role"] == "user":
                return seq
        return 0

    # After each step ---------------------------------------------------------------------------------------

    @invariant()
    def every_promise_holds(self) -> None:
        if not hasattr(self, "chat"):
            return
        self.chat.settle()
        self.step += 1
        self.then[len(self.said)] = self.remembered()
        proof = self.memory.verify()
        assert proof.ok, str(proof)
        with self.chat.reading() as (connection, known):
            read = load(connection, known.row.key, None)
        assert read is not None
        assert known == read  # what is in memory is what a new process would find
        kept = self.chat.messages(limit=100_000)
        assert [(m.seq, {**m.wire, "id": m.id}) for m in kept] == list(enumerate(self.said, 1))
        cursor, end = self.chat.memory.cursor, 0
        ranges = "SELECT first_seq, last_seq FROM folds WHERE kind = 'base' AND superseded_by IS NULL ORDER BY 1"
        for first, last in self.observer.rows(ranges):
            assert first == end + 1 <= last
            end = last
        assert end == cursor
        assert [m.id for m in self.chat.memory.recent_messages] == [m["id"] for m in self.said[cursor:]]
        assert (proof.folded, proof.unfolded) == (cursor, len(self.said) - cursor)
        if self.policy == "rolling" and self.just_added:
            self.check_rolling(kept[cursor:])
        self.check_context(BUDGETS[self.step % len(BUDGETS)], {})

    def check_rolling(self, unfolded: list[Message]) -> None:
        recent = list(unfolded)
        while recent and recent[-1].role == "user":
            recent.pop()
        found = units(unfolded)
        sole_or_pending = not found or found[0].pending or found[0].last + 1 >= len(recent)
        assert len(recent) <= 10 or sole_or_pending, [(u.first, u.last) for u in found]


@pytest.mark.parametrize("preset", PRESETS)
def test_F1_F2_F4_F9_any_sequence_of_operations_keeps_every_promise(preset: str) -> None:
    machine: type[RuleBasedStateMachine] = type("Machine", (ChatMachine,), {"preset": preset})
    if not FUZZ:
        machine = seed(sum(preset.encode()))(machine)  # other sequences for each preset, the same ones every time
    run_machine(machine, settings=SETTINGS)
