"""Preset `rolling`: one summary that is the state, rewritten whole, and the last messages verbatim."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from infold import Chat, Event, Memory, Message, PolicyMismatchError, preset
from infold.lines.rendering import block_tokens
from tests.conftest import assistant, call, counted_ids, result, ticking_clock, tokens_of, user, words
from tests.databases import POSTGRES, fresh
from tests.shown import shown

ROLLING = preset("rolling", {})


def sized(number: int, tokens: int = 10) -> dict[str, Any]:
    """Message number so-and-so, odd ones by the user, of exactly so many tokens in a request."""
    message = {"role": "user" if number % 2 else "assistant", "content": words(tokens - 4, f"m{number}")}
    assert tokens_of(message) == tokens
    return message


def talk(chat: Chat, first: int, last: int) -> None:
    for number in range(first, last + 1):
        chat.add(sized(number), id=f"m{number}")


def folds(chat: Chat) -> list[dict[str, Any]]:
    return [event.data for event in chat.events() if event.type == "summarization"]


def reasons(chat: Chat) -> list[str]:
    return [fold["reason"] for fold in folds(chat)]


def seqs(messages: Iterable[Message]) -> list[int]:
    return [message.seq for message in messages]


# A1: state and policy ------------------------------------------------------------------------------------


def test_A1_policy_has_the_documents_values() -> None:
    assert (ROLLING.keep, ROLLING.buffer, ROLLING.token_ratio, ROLLING.safety_turns) == (6, 4, 0.70, 10)
    assert ROLLING.triggers == ("tokens", "overflow", "safety")


def test_A1_policy_cannot_be_changed_in_place(memory: Memory) -> None:
    chat, field = memory.chat("c", preset="rolling"), "keep"
    with pytest.raises(FrozenInstanceError):
        setattr(chat.policy, field, 7)
    assert chat.policy == ROLLING


def test_A1_state_is_the_summary_and_the_recent_messages(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling")
    assert (chat.memory.summary, chat.memory.recent_messages) == ("", ())
    chat.add(user("My name is Ada Lovelace."))
    talk(chat, 2, 12)
    assert "Ada Lovelace" in chat.memory.summary
    assert seqs(chat.memory.recent_messages) == [7, 8, 9, 10, 11, 12]


def test_A1_reopening_with_other_values_is_an_error(url: str) -> None:
    other = preset("rolling", {}, keep=4)
    with Memory(url) as memory:
        memory.chat("c", preset="rolling")
    with Memory(url) as memory:
        with pytest.raises(PolicyMismatchError, match="keep 6 → 4"):
            memory.chat("c", config=other)
        with pytest.raises(PolicyMismatchError, match="set_policy"):
            memory.chat("c", preset="chain")
        assert memory.chat("c").policy == memory.chat("c", preset="rolling").policy == ROLLING
        assert memory.chat("c", config=ROLLING).policy == ROLLING


def test_A1_set_policy_changes_it_and_is_an_event(url: str) -> None:
    other = preset("rolling", {}, keep=2, buffer=1)
    with Memory(url) as memory:
        chat = memory.chat("c", preset="rolling")
        chat.set_policy(other)
        assert [e.type for e in chat.events()] == ["chat_created", "policy_changed"]
    with Memory(url) as memory:
        chat = memory.chat("c", config=other)
        talk(chat, 1, 4)
        assert seqs(chat.memory.recent_messages) == [3, 4]


def test_A1_summary_is_headings_and_bullets_rewritten_whole(memory: Memory) -> None:
    """The second value replaces the first; nothing is appended."""
    chat = memory.chat("c", preset="rolling")
    chat.add(user("My budget is 400 euros."))
    talk(chat, 2, 12)
    assert "400" in chat.summary
    chat.add(user("My budget is 650 euros."))
    talk(chat, 14, 24)
    assert "650" in chat.summary
    assert "400" not in chat.summary
    assert all(re.match(r"(## [A-Z]|- \S)", line) for line in chat.summary.splitlines())
    assert len(re.findall(r"^## Facts / Constraints \(quoted\)$", chat.summary, re.MULTILINE)) == 1


# A2: messages and user turns -----------------------------------------------------------------------------


def test_A2_user_messages_alone_fire_safety_not_overflow(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling")
    for number in range(1, 10):
        chat.add(user(words(5, f"u{number}")))
    assert reasons(chat) == []
    chat.add(user(words(5, "u10")))
    assert reasons(chat) == ["safety"]


def test_A2_messages_without_user_turns_fire_overflow_not_safety(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling")
    for number in range(1, 11):
        chat.add(assistant(words(5, f"a{number}")))
    assert reasons(chat) == []
    chat.add(assistant(words(5, "a11")))
    assert reasons(chat) == ["overflow"]
    assert seqs(chat.memory.recent_messages) == [6, 7, 8, 9, 10, 11]


# A3: the context -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("stored", [True, False])
def test_A3_order_is_system_summary_recent_question(memory: Memory, stored: bool) -> None:
    chat = memory.chat("c", preset="rolling", system="Be brief.")
    chat.add(user("My name is Ada Lovelace."))
    talk(chat, 2, 16)
    question = user("What is my name?")
    context = chat.context() if stored and chat.add(question) else chat.context(question["content"])
    now = shown(context)
    assert now.order == ["system", "memory", *["user", "assistant"] * 5, "user"]
    assert now.system == ["Be brief."]
    assert any("Ada Lovelace" in row for row in now.summary)
    assert now.tail == [sized(number) for number in range(7, 17)]
    assert now.question == question["content"]


def test_A3_without_memory_there_is_no_summary_message(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling", system="Be brief.")
    talk(chat, 1, 3)
    assert chat.context().messages == [{"role": "system", "content": "Be brief."}, sized(1), sized(2), sized(3)]


def test_A3_never_more_than_k_plus_b_recent_messages(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling")
    most = 0
    for number in range(1, 61):
        talk(chat, number, number)
        most = max(most, len(shown(chat.context()).spoken) - number % 2)  # an odd message is the new one
    assert most == ROLLING.keep + ROLLING.buffer


# A4: overflow --------------------------------------------------------------------------------------------


def test_A4_longer_than_k_alone_never_folds(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling")
    talk(chat, 1, 10)
    assert folds(chat) == []
    assert seqs(chat.memory.recent_messages) == list(range(1, 11))


def test_A4_overflow_keeps_last_k(memory: Memory) -> None:
    """Ten stored; the user's eleventh is the new message and folds nothing; the answer does."""
    chat = memory.chat("c", preset="rolling")
    talk(chat, 1, 11)
    assert chat.memory.cursor == 0
    talk(chat, 12, 12)
    (fold,) = folds(chat)
    assert (fold["reason"], fold["first"], fold["last"]) == ("overflow", 1, 6)
    assert chat.memory.cursor == 6
    assert chat.memory.last_summarized_message_id == "m6"
    assert seqs(chat.memory.recent_messages) == [7, 8, 9, 10, 11, 12]


def test_A4_reading_never_folds(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling")
    talk(chat, 1, 11)
    before = chat.events()
    chat.context("a question", max_tokens=100)
    chat.context(max_tokens=60)
    assert chat.memory.cursor == 0
    assert chat.events() == before


def test_A4_cut_moves_older_rather_than_split_a_unit(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling")
    talk(chat, 1, 5)
    chat.add([call("t"), result("t")])  # messages 6 and 7: the plain cut would fall between them
    chat.add([assistant(words(5, "x"))])
    talk(chat, 9, 12)
    assert reasons(chat) == ["overflow"]
    assert seqs(chat.memory.recent_messages) == [6, 7, 8, 9, 10, 11, 12]


def test_A4_cut_moves_newer_where_older_keeps_more_than_k_plus_b(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling")
    calls = [f"t{number}" for number in range(10)]
    chat.add([user(words(5, "u")), call(*calls), *(result(id) for id in calls)])
    assert seqs(chat.memory.recent_messages) == list(range(2, 13))  # as the sole last unit it stays whole
    chat.add(assistant(words(5, "a")))
    assert seqs(chat.memory.recent_messages) == [13]
    assert memory.verify().ok


@pytest.mark.parametrize("budget", [1500, 2700])
def test_A4_pending_unit_may_exceed_k_plus_b_and_is_excerpted(memory: Memory, budget: int) -> None:
    chat = memory.chat("c", preset="rolling")
    calls = [f"t{number}" for number in range(14)]
    texts = [words(200, f"r{number}") for number in range(13)]
    chat.add([user(words(5, "u")), call(*calls)])
    chat.add([result(id, text) for id, text in zip(calls, texts, strict=False)])
    assert seqs(chat.memory.recent_messages) == list(range(2, 16))
    assert [m.content for m in chat.messages()[2:]] == texts
    context = chat.context(max_tokens=budget)
    shown = [m["content"] for m in context.messages if m["role"] == "tool"]
    assert len(shown) == 14  # each call of the unit has a result, the missing one by a mark
    assert all(text not in shown and short.startswith(text[:8]) for text, short in zip(texts, shown, strict=False))
    assert context.tokens <= budget


# A5: nothing leaves before it is covered -----------------------------------------------------------------


def test_A5_every_message_is_recent_or_covered_by_one_record(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling", context_window=400)
    for number in range(1, 61):
        chat.add(sized(number, 250 if number % 17 == 0 else 10), id=f"m{number}")
        covered = [id for record in chat.records for id in record.original_message_ids]
        assert [*covered, *(m.id for m in chat.memory.recent_messages)] == [f"m{n}" for n in range(1, number + 1)]
    assert set(reasons(chat)) == {"tokens", "overflow", "safety"}
    assert memory.verify().ok


def test_A5_the_event_comes_after_the_summary_is_committed(url: str) -> None:
    seen: list[tuple[str, int]] = []

    def other_reader(event: Event) -> None:
        if event.type == "summarization":
            with Memory(url if POSTGRES else f"{url}?mode=ro") as reader:
                state = reader.chat("c").memory
                seen.append((state.summary, state.cursor))

    with Memory(url, on_event=other_reader) as memory:
        chat = memory.chat("c", preset="rolling")
        chat.add(user("My name is Ada Lovelace."))
        talk(chat, 2, 12)
        assert seen == [(chat.summary, 6)]
        assert "Ada Lovelace" in seen[0][0]


# A9: bounded and repeatable ------------------------------------------------------------------------------


def test_A9_state_is_bounded(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling")
    for number in range(1, 121):
        chat.add([user(f"The deadline of project P-{number} must be {number} May."), assistant(words(5, f"a{number}"))])
        assert len(chat.memory.recent_messages) <= ROLLING.keep + ROLLING.buffer
    assert 400 < block_tokens(chat.memory.items) <= ROLLING.summary_cap
    assert "P-116 " in chat.summary


def run(url: str, reopened: bool) -> str:
    """A conversation that fires every trigger; everything that can be read of it afterwards."""
    clock, ids = ticking_clock(), counted_ids()
    memory = Memory(url, clock=clock, ids=ids)
    for number in range(1, 31):
        if reopened:
            memory.close()
            memory = Memory(url, clock=clock, ids=ids)
        chat = memory.chat("c", preset="rolling", context_window=1500)
        said = user(f"We decided to use part {number} of P-{number}.")
        chat.add(said if number % 2 else sized(number, 900 if number == 28 else 10))
    assert set(reasons(chat)) == {"tokens", "overflow", "safety"}
    seen = [chat.context().messages, chat.records, chat.memory, chat.events(), memory.verify()]
    memory.close()
    return json.dumps(seen, default=repr)


@pytest.mark.parametrize("reopened", [False, True])
def test_A9_same_inputs_same_behaviour_byte_for_byte(reopened: bool) -> None:
    with fresh() as one, fresh() as other:
        assert run(one, reopened) == run(other, reopened=False)
