"""Preset `rolling`: when a fold is due, why, and how much of the chat it takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from infold import Memory, preset
from infold.messages import parse
from infold.tokens import REQUEST_OVERHEAD, count, tools_tokens
from infold.triggers import Marks, Plan, Situation, decide
from tests.conftest import assistant, call, result, tokens_of, user, words
from tests.shown import shown
from tests.test_rolling import ROLLING, folds, reasons, seqs, sized, talk


def situation(messages: list[dict[str, Any]], tokens: int, users: int) -> Situation:
    """A chat with a window of 1,000 whose next request has so many tokens."""
    read = [replace(parse(message), tokens=tokens_of(message)) for message in messages]
    unfolded = sum(message.tokens for message in read)
    return Situation(
        messages=read,
        unfolded_tokens=unfolded, fixed_tokens=tokens - unfolded, memory_tokens=0, summary_tokens=0,
        context_window=1000, records=0, users=users, last_seq=len(messages), marks=Marks(),
    )  # fmt: skip


# A6: triggers --------------------------------------------------------------------------------------------

TEN, TWELVE = ([sized(number) for number in range(1, last + 1)] for last in (10, 12))


@pytest.mark.parametrize(
    ("now", "plan"),
    [
        (situation(TWELVE, tokens=701, users=10), Plan(6, "tokens")),
        (situation(TWELVE, tokens=700, users=10), Plan(6, "overflow")),
        (situation(TWELVE, tokens=701, users=9), Plan(6, "tokens")),
        (situation(TEN, tokens=700, users=10), Plan(4, "safety")),
        (situation(TEN, tokens=700, users=9), None),
        (situation(TEN[:6], tokens=500, users=10), Plan(0, "safety")),
    ],
)
def test_A6_highest_priority_trigger_is_the_reason(now: Situation, plan: Plan | None) -> None:
    assert decide(ROLLING, now)[0] == plan


def test_A6_one_fold_a_cycle_then_the_completion_goes_on(memory: Memory) -> None:
    """The third user message is large: the token trigger and the safety trigger fire together."""
    chat = memory.chat("c", config=preset("rolling", {}, safety_turns=3), context_window=1000)
    talk(chat, 1, 4)
    chat.add(sized(5, 670))
    assert reasons(chat) == ["tokens"]
    assert chat.context().messages[-1]["content"].startswith("m5 ")


@pytest.mark.parametrize("window", [350, 700, 1000, 1300, 2000])
def test_A6_exactly_70_percent_is_not_more_than_70_percent(memory: Memory, window: int) -> None:
    chat = memory.chat("c", preset="rolling", context_window=window)
    limit = window * 7 // 10
    chat.add([sized(1), sized(2, limit - REQUEST_OVERHEAD - 10)])
    assert reasons(chat) == []
    assert chat.context(max_tokens=window).tokens == limit


def test_A6_one_token_more_than_70_percent_folds(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling", context_window=1000)
    chat.add([sized(1), sized(2, 701 - REQUEST_OVERHEAD - 10)])
    (fold,) = folds(chat)
    assert (fold["reason"], fold["tokens_before"], fold["first"], fold["last"]) == ("tokens", 701, 1, 1)


TOOLS = [{"type": "function", "function": {"name": "lookup", "description": words(100), "parameters": {}}}]


@pytest.mark.parametrize(("over", "expected"), [(0, []), (1, ["tokens"])])
@pytest.mark.parametrize("part", ["system", "memory", "tools"])
def test_A6_the_whole_next_request_is_compared_with_the_window(
    memory: Memory, part: str, over: int, expected: list[str]
) -> None:
    system = words(60, "system") if part == "system" else None
    chat = memory.chat("c", preset="rolling", context_window=1000, system=system)
    used = REQUEST_OVERHEAD + (4 + count(system) if system else 0)
    if part == "tools":
        chat.context("x", tools=TOOLS)
        used += tools_tokens(TOOLS)
    elif part == "memory":
        chat.add(user("My name is Ada Lovelace."))
        talk(chat, 2, 12)
        used = folds(chat)[0]["tokens_after"]
    assert used > REQUEST_OVERHEAD + sum(message.tokens for message in chat.memory.recent_messages)
    known = len(folds(chat))
    chat.add([sized(13), sized(14, 700 - used - 10 + over)])
    assert reasons(chat)[known:] == expected


def test_A6_max_tokens_of_a_context_is_not_the_denominator(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling", context_window=1000)
    chat.add([sized(1, 300), sized(2, 300)])
    assert chat.context(max_tokens=200).tokens <= 200
    chat.add(sized(3))
    assert reasons(chat) == []


# A6: the token trigger with at most K messages -----------------------------------------------------------


def test_A6_tokens_fold_the_oldest_units_until_70_percent(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling", context_window=1000)
    chat.add([sized(1, 150), sized(2, 150), sized(3, 150), sized(4, 150)])
    chat.add(sized(5, 340))  # 943 in all: one unit less is 793, two less is 643
    assert reasons(chat) == ["tokens"]
    assert seqs(chat.memory.recent_messages) == [3, 4, 5]


def test_A6_tokens_keep_the_last_unit_and_the_new_message(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling", context_window=1000)
    chat.add([sized(1), call("t"), result("t", words(300))])
    chat.add(sized(5, 900))
    assert reasons(chat) == ["tokens"]
    assert seqs(chat.memory.recent_messages) == [2, 3, 4]
    chat.add(sized(7, 900))
    assert seqs(chat.memory.recent_messages) == [2, 3, 4, 5]  # nothing more may go
    assert reasons(chat) == ["tokens"]


def test_A6_a_token_fold_counts_the_memory_it_makes(memory: Memory) -> None:
    """While older units are left, the request after the fold is not above 70 %."""
    chat = memory.chat("c", preset="rolling", context_window=600)
    chat.add([user("My name is Ada Lovelace, I live in Lisbon."), assistant("Noted."), sized(3, 50), sized(4, 50)])
    chat.add(sized(5, 300))
    (fold,) = folds(chat)
    assert fold["reason"] == "tokens"
    assert fold["last"] == 3  # without counting it, two would do
    assert fold["tokens_after"] <= 420


# A6: the safety counter ----------------------------------------------------------------------------------


def test_A6_safety_counts_users_since_its_own_due_point(memory: Memory) -> None:
    """Overflow folds in between do not restart it: it fires at the 10th and the 20th user message."""
    chat = memory.chat("c", preset="rolling")
    fired: dict[int, str] = {}
    for number in range(1, 41):
        known = len(folds(chat))
        talk(chat, number, number)
        fired |= dict.fromkeys([number] * (len(folds(chat)) > known), ",".join(reasons(chat)[known:]))
    assert fired == {
        12: "overflow", 18: "overflow", 19: "safety", 24: "overflow", 30: "overflow", 36: "overflow", 39: "safety",
    }  # fmt: skip


def test_A6_a_higher_trigger_consumes_a_due_safety(memory: Memory) -> None:
    chat = memory.chat("c", config=preset("rolling", {}, safety_turns=3), context_window=1000)
    talk(chat, 1, 4)
    chat.add(sized(5, 670))  # the third user message
    talk(chat, 6, 10)
    assert reasons(chat)[0] == "tokens"
    assert "safety" not in reasons(chat)
    talk(chat, 11, 11)  # the sixth
    assert reasons(chat)[-1] == "safety"


def test_A6_safety_with_nothing_beyond_k_rewrites_with_an_empty_range(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling")
    talk(chat, 1, 18)
    before = chat.memory
    talk(chat, 19, 19)
    rewrite = folds(chat)[-1]
    assert (rewrite["reason"], rewrite["kind"], rewrite["first"], rewrite["last"]) == ("safety", "rewrite", None, None)
    assert chat.records[-1].original_message_ids == ()
    assert (chat.memory.cursor, chat.memory.summary) == (before.cursor, before.summary)
    assert memory.verify().ok


def test_A6_agent_loop_folds_before_the_next_request(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling")
    talk(chat, 1, 11)
    chat.add([call("t"), result("t")])
    assert reasons(chat) == ["overflow"]
    assert chat.memory.cursor == 6
    assert shown(chat.context()).spoken == [*(sized(n) for n in range(7, 12)), call("t"), result("t")]


def test_A9_decide_is_a_function_of_the_situation() -> None:
    now = situation(TWELVE, tokens=500, users=6)
    assert decide(ROLLING, now) == decide(ROLLING, replace(now)) == (Plan(6, "overflow"), Marks(False, 0, 12, 12))
