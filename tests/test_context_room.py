"""Preset `default`: what every context of real chats has, who gets the room, and what stays the same from one to the next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from infold import Chat, Context, Memory
from infold.context.escaping import unescape
from infold.lines.line import STANDING, Line
from infold.messages import Message, parse
from infold.tokens import count
from infold.units import turns
from tests import own
from tests.conftest import assistant, call, result, user, words
from tests.prefixes import conversations, steps
from tests.shown import CUT, Shown, Wire, shown

BUDGETS = (300, 400, 600, 1_000, 1_499, 1_500, 2_000, 3_000)
QUERIES = (None, "And now?", "What did I say about the date?")
PIN = "The gate code is 4711#."
HEADING = 16  # tokens of the line above standing wishes, which counts into their share


@dataclass(frozen=True, slots=True)
class Case:
    """A context of a chat, and what it was asked with."""

    budget: int
    query: str | None
    context: Context
    now: Shown

    @property
    def everything(self) -> str:
        """All words it shows."""
        return unescape("\n".join([self.now.said, *self.now.statements]))


def cases(chat: Chat) -> Iterator[Case]:
    for budget in BUDGETS:
        for query in QUERIES:
            context = chat.context(query, max_tokens=budget)
            yield Case(budget, query, context, shown(context))


def lines(chat: Chat) -> list[Line]:
    return [*chat.memory.facts, *chat.memory.long, *chat.memory.leaves, *chat.memory.further]


def stands(line: Line) -> bool:
    return line.own and line.standing >= STANDING


def row(line: Line) -> int:
    return count(f"> {line.shown}\n")


def is_there(message: Message, case: Case) -> bool:
    """Whether a message is shown, whole or cut to its head and tail."""
    said = case.now.said
    whole = message.text in said
    excerpt = CUT in said and (message.text[:4] in said or message.text[-4:] in said)
    return whole or excerpt or any(made["id"] in said for made in message.tool_calls)


def check_turn(case: Case, messages: list[Message]) -> None:
    """The last complete turn is shown; of one of many messages that do not fit even cut, the newest part."""
    asked = [parse(user(case.query))] if case.query else []
    last = [turn for turn in turns([*messages, *asked]) if turn.complete][-1]
    there = [is_there(message, case) for message in messages[last.first : last.last + 1]]
    assert there[-1]
    assert all(there) or (len(there) > 4 and case.budget < 400)


def check_standing(case: Case, before: list[Line], after: list[Line]) -> None:
    """Pins, and of what stands as much as its share holds: none is left out for which there was room in it. What the chat has
    overtaken meanwhile is gone once it is folded."""
    assert case.now.memory is not None
    assert f"> {PIN}" in case.now.memory.wishes
    share = min(600, case.budget // (10 if case.query else 5)) - HEADING
    there = case.everything
    standing = [line for line in before if stands(line)]
    held = [line for line in standing if line.words in there or line.shown in there]
    holding = {line.words for line in after}
    gone = [line for line in standing if line not in held and line.words in holding]
    known = {line.shown for line in before} | {PIN}
    bridged = [text for text in remembered(case.now) if unescape(text) not in known]  # some of it may stand as well
    used = sum(map(row, held)) + sum(count(f"> {text}\n") for text in bridged)
    assert not gone or used + min(map(row, gone)) > share


def remembered(now: Shown) -> list[str]:
    """What memory says, without recalled words."""
    rows = now.memory.rows if now.memory else []
    return [text[2:] for text in rows if text.startswith(("> ", "- ")) and not re.match(r"> #\d+ ", text)]


def check_once(case: Case) -> None:
    """What the tail shows, memory does not repeat; and it says nothing twice itself."""
    assert case.now.memory is not None
    told = remembered(case.now)
    assert len(told) == len(set(told))
    said = case.now.said
    for text in told:
        words = unescape(text.split(": ", 1)[-1])
        assert len(words.split()) < 4 or words not in said


def check_counts(case: Case, chat: Chat, every: list[Line]) -> None:
    """`explain()` says of how many folded messages no line tells."""
    assert case.now.memory is not None
    rows = {unescape(text) for text in case.now.memory.statements}
    cursor = chat.memory.cursor
    told = {seq for line in every for seq in line.sources if line.shown in rows} | set(case.now.memory.earlier)
    left = cursor - sum(1 for seq in told if seq <= cursor)
    pieces = [piece.what for piece in case.context.explain().left_out if piece.layer == "folds"]
    assert pieces == ([f"{left} of {cursor} folded messages"] if left else [])


@pytest.mark.parametrize("name", own.NAMES)
def test_F11_what_every_context_of_a_chat_has(memory: Memory, name: str) -> None:
    chat = memory.chat("a", context_window=8_192)
    chat.pin(PIN)
    chat.add(own.messages(name), repair=True)
    messages = chat.messages()
    before = lines(chat)
    first = [*cases(chat)]
    for case in first:
        check_counts(case, chat, before)
    chat.fold()
    after = lines(chat)
    second = [*cases(chat)]
    for case in second:
        check_counts(case, chat, after)
    for case in (*first, *second):
        check_turn(case, messages)
        check_once(case)
        check_standing(case, before if case in first else after, after)
    assert len(first) + len(second) == 48


@pytest.mark.parametrize("name", ["diet", "trip", "agent_py", "wedding", "zh"])
def test_F11_the_same_context_whatever_was_asked_before(memory: Memory, name: str) -> None:
    """What was worked out for one budget or question is not used for another."""
    chat = memory.chat("a", context_window=8_192)
    chat.add(own.messages(name), repair=True)
    wanted = [(case.budget, case.query, case.context.hash) for case in cases(chat)]
    for budget, query, hash in reversed(wanted):
        assert chat.context(query, max_tokens=budget).hash == hash
        assert memory.chat("a").context(query, max_tokens=budget).hash == hash


# The last turn ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("waiting", [0, 1, 2])
@pytest.mark.parametrize("budget", [300, 1_000, 2_000, 3_000])
def test_F11_words_without_a_reply_do_not_take_the_last_turns_place(memory: Memory, budget: int, waiting: int) -> None:
    chat = memory.chat("a", context_window=8_192)
    chat.add([wire for n in range(6) for wire in (user(words(300, f"q{n}")), assistant(words(300, f"a{n}")))])
    chat.add([user("Which crate is it?"), assistant("It is crate twelve.")])
    chat.add([user(words(20, f"w{n}")) for n in range(waiting)])
    for query in ("And now?", "What did I say about the crate?"):
        now = shown(chat.context(query, max_tokens=budget))
        assert [wire["content"] for wire in now.tail[-2:]][:1] != []
        assert "Which crate is it?" in now.said
        assert "It is crate twelve." in now.said
        assert all(words(20, f"w{n}") in now.said for n in range(waiting))


@pytest.mark.parametrize("budget", [500, 1_500, 3_000])
def test_F11_a_turn_larger_than_the_budget_is_cut_and_memory_keeps_its_share(memory: Memory, budget: int) -> None:
    chat = memory.chat("a", context_window=8_192)
    rules = [
        "Never send me voice messages, I cannot hear them at work.",
        "From now on, always write prices in euros and with two decimals.",
        "I am allergic to peanuts and to every other kind of nut.",
    ]
    for rule in rules:
        chat.add([user(rule), assistant("Noted.")])
    chat.add([wire for n in range(9) for wire in (user(words(300, f"q{n}")), assistant(words(300, f"a{n}")))])
    chat.fold()
    chat.add([user(f"Read this. {words(2_000, 'x')}"), assistant(f"I have read it. {words(2_000, 'y')}")])
    context = chat.context("And now?", max_tokens=budget)
    now = shown(context)
    assert now.memory is not None
    assert [rule for rule in rules if not any(rule in row for row in now.memory.rows)] == []
    assert str(now.tail[-2]["content"]).startswith("Read this.")
    assert str(now.tail[-1]["content"]).startswith("I have read it.")
    assert now.said.count(CUT) == 2
    assert context.tokens > budget - 40, "and no more than must"


def test_F11_of_an_agents_turn_that_cannot_be_shown_the_answer_is(memory: Memory) -> None:
    chat = memory.chat("a", context_window=8_192)
    work: list[Wire] = [user("Look at all of them.")]
    for n in range(30):
        work += [call(f"c{n}"), result(f"c{n}", words(30, f"r{n}"))]
    chat.add([*work, assistant("All are fine.")])
    for budget in (200, 300, 600, 1_000):
        now = shown(chat.context("And now?", max_tokens=budget))
        assert now.tail[-1] == assistant("All are fine.")
        assert now.bridge is not None


# Folded messages word for word --------------------------------------------------------------------------


def quoted(now: Shown) -> dict[int, str]:
    """Folded messages that are shown again, by their place."""
    rows = now.memory.under("The messages before, word for word:") if now.memory else []
    return {int(text[3:].split(" ", 1)[0]): unescape(text.split(": ", 1)[1]) for text in rows}


@pytest.mark.parametrize("name", ["diet", "agent_py", "errands", "zh"])
def test_F11_with_room_for_everything_folded_messages_are_there_word_for_word(memory: Memory, name: str) -> None:
    chat = memory.chat("a", context_window=8_192)
    seen: dict[int, set[tuple[int, ...]]] = {}
    for wire in own.messages(name):
        chat.add(wire, repair=True)
        now = shown(chat.context(max_tokens=200_000))
        folded = [m for m in chat.messages() if m.seq <= chat.memory.cursor and m.text.strip()]
        assert quoted(now) == {m.seq: m.text for m in folded}
        assert now.bridge is None
        seen.setdefault(chat.memory.cursor, set()).add(tuple(quoted(now)))
        if now.memory:  # memory does not repeat them
            told = "\n".join(m.text for m in folded)
            rest = [text for text in now.summary if not text.startswith("- ") and text[2:].split(": ", 1)[-1] in told]
            assert rest == []
    assert len(seen) > 1
    assert all(len(chosen) == 1 for chosen in seen.values())


@pytest.mark.parametrize("name", ["diet", "agent_py", "errands", "zh"])
@pytest.mark.parametrize("budget", [9_000, 12_000, 20_000])
def test_F11_folded_messages_are_chosen_once_a_fold_and_given_back_in_one_step(
    memory: Memory, name: str, budget: int
) -> None:
    chat = memory.chat("a", context_window=8_192)
    seen: dict[int, list[tuple[int, ...]]] = {}
    for wire in own.messages(name):
        chat.add(wire, repair=True)
        context = chat.context(max_tokens=budget)
        if any(context.sources[name] for name in ("near", "recalled", "entities")):
            continue
        chosen = tuple(quoted(shown(context)))
        assert chosen == () or chosen[-1] <= chat.memory.cursor
        steps = seen.setdefault(chat.memory.cursor, [])
        if chosen not in steps[-1:]:
            steps.append(chosen)
    assert len(seen) > 1
    assert any(steps != [()] for steps in seen.values())
    for steps in seen.values():
        assert len(steps) <= 2, "once chosen, once given back"
        assert sorted(map(len, steps), reverse=True) == [*map(len, steps)]


def test_F11_without_a_budget_a_context_costs_what_memory_and_tail_need(memory: Memory) -> None:
    chat = memory.chat("a", context_window=32_768)
    for _ in range(2):
        chat.add([{**wire, "id": None} for wire in own.messages("agent_py")], repair=True)
    assert chat.memory.cursor
    assert chat.memory.further
    context = chat.context("And now?")
    assert (context.sources["earlier"], context.sources["further"], context.bridge) == (0, 0, None)
    assert [m.text for m in chat.memory.recent_messages if m.text not in shown(context).said] == []
    filled = chat.context("And now?", max_tokens=31_768)
    assert filled.sources["earlier"] > 20
    assert filled.tokens > context.tokens + 2_000


# The beginning stays the same ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(conversations()))
@pytest.mark.parametrize("window", [8_192, 32_768])
def test_F7_a_request_begins_with_the_one_before_it(memory: Memory, name: str, window: int) -> None:
    """But after a fold, and where a question asks back."""
    chat = memory.chat("a", context_window=window)
    found = [*steps(chat, conversations()[name])]
    quiet = [step for step in found if not (step.folded or step.asks_back)]
    assert len(quiet) > len(found) // 3
    assert [step for step in quiet if step.share < 0.9] == []
