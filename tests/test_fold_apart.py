"""Folds that are left to be made after a reply: the same as those made at once, and of long histories part by part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from infold import Chat, Memory, Message, formats
from infold.folder import fold_written
from infold.ledger.rows import Event
from infold.messages import parse
from infold.rewriter import MOST_AT_ONCE
from infold.state import State
from infold.triggers import decide
from tests.conftest import assistant, ticking_clock, user, words

WINDOW = 2048


def said(n: int) -> list[dict[str, object]]:
    told = f"My sister Marta moved to number {n}. She decided on plan {n}. The budget is {n * 111} euros."
    return [user(told), assistant(words(30, f"a{n}"))]


def told(chat: Chat) -> tuple[object, ...]:
    """What a chat holds, whatever it was called and whenever it was made."""
    memory, row = chat.memory, chat.cache
    assert row is not None
    lines = [(line.layer, line.section, line.text, line.sources) for line in row.lines]
    folds = [(fold.kind, fold.first_seq, fold.last_seq, fold.author, fold.reason) for fold in row.folds]
    return memory.cursor, lines, folds, row.marks, [fact.text for fact in chat.facts]


def much(n: int, length: int) -> list[dict[str, object]]:
    told = (
        f"My colleague Anna{n} lives in Town{n}. The deadline of project P{n} is May {n % 28 + 1}. We decided to use tool T{n} "
        f"for module M{n}. The budget of trip {n} is {n * 111} euros. {words(length, f'q{n}')}"
    )
    return [user(told), assistant(f"Noted, ticket TK-{n}99 is booked for flight LH{n}4.")]


@pytest.mark.parametrize(
    ("preset", "window", "length"),
    [("default", WINDOW, 0), ("rolling", WINDOW, 0), ("chain", WINDOW, 0), ("rolling", 700, 60), ("chain", 900, 20)],
)  # the last two make more room than was planned, as memory has grown
def test_B6_a_fold_made_apart_is_the_same_fold(memory: Memory, preset: str, window: int, length: int) -> None:
    inside, apart = (memory.chat(name, preset=preset, context_window=window) for name in ("inside", "apart"))
    folds = 0
    for n in range(60):
        turn = much(n, length) if length else said(n)
        inside.add(turn)
        before = apart.memory.cursor
        for one in turn:
            apart.append([parse(one)], later=True)
            apart.fold_due()
        folds += apart.memory.cursor > before
        assert told(apart) == told(inside)
    assert folds > 1
    assert apart.verify().ok


@pytest.mark.parametrize("preset", ["default", "chunked", "layered", "engine"])
def test_B6_a_reply_of_several_messages_is_folded_as_often(memory: Memory, preset: str) -> None:
    inside, apart = (memory.chat(name, preset=preset, context_window=4096) for name in ("inside", "apart"))
    for chat in (inside, apart):
        chat.append(formats.parse(user("Please do all of it.")), fold=False)
        for n in range(60):
            text = [{"type": "output_text", "text": words(120, f"a{n}")}]
            reply = [
                *formats.parse({"type": "message", "role": "assistant", "content": text}),
                *formats.parse({"type": "function_call", "call_id": f"k{n}", "name": "go", "arguments": "{}"}),
            ]
            chat.append(reply, repair=True, later=chat is apart)
            chat.fold_due()
            result = {"type": "function_call_output", "call_id": f"k{n}", "output": "done " * 20}
            chat.append([*formats.parse(result), *formats.parse(user(words(40, f"q{n}")))], repair=True, fold=False)
    assert inside.memory.cursor > 60
    assert told(apart) == told(inside)


def test_B9_an_answer_does_not_set_back_what_was_decided_since(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tick, turns = ticking_clock(), iter(range(1000))

    def turn(chat: Chat, folds: bool = True) -> None:
        for one in said(next(turns)):
            chat.append([parse(one)], later=True)
            if folds:
                chat.fold_due()

    with Memory(url, clock=tick) as memory:
        chat = memory.chat("a", preset="rolling", context_window=100_000)
        while not chat.memory.cursor:
            turn(chat)
        while chat.cache is None or chat.cache.marks.seen == chat.cache.row.last_seq:
            turn(chat, folds=False)
    seen: list[int] = []
    after: list[int] = []

    def spied(*args: Any) -> tuple[State, list[Event]]:
        state, events = fold_written(*args)
        after.append(state.marks.seen)
        return state, events

    monkeypatch.setattr("infold.rewriter.fold_written", spied)

    def summarizer(summary: str, messages: Sequence[Message]) -> str:
        if not seen:  # messages come and are decided on while it thinks
            for _ in range(12):
                turn(chat)
            assert chat.cache is not None
            seen.append(chat.cache.marks.seen)
        return "## Facts / Constraints\n- Plans and budgets were talked about."

    with Memory(url, clock=tick, summarizer=summarizer) as memory:
        chat = memory.chat("a")
        chat._rewriter.work()
        memory.settle()
        assert seen
        assert after
        assert min(after) >= seen[0]
        assert chat.verify().ok


@pytest.mark.parametrize("preset", ["default", "chunked", "engine"])
def test_B6_a_long_history_is_folded_part_by_part(memory: Memory, preset: str) -> None:
    chat = memory.chat("a", preset=preset, context_window=4000)
    history = [parse(one) for n in range(500) for one in said(n)]
    chat.append(history, fold=False)
    chat.append([parse(user("And now?"))], fold=False)
    chat.append([parse(assistant("Now we go on."))], later=True)
    while (cursor := chat.memory.cursor) >= 0 and chat.fold_due():
        assert 0 < chat.memory.cursor - cursor <= MOST_AT_ONCE
        assert chat.verify().ok
    assert len(history) - chat.memory.cursor < MOST_AT_ONCE
    assert not chat.fold_due()
    with chat.reading() as (_, state):
        assert decide(state.policy, state.situation())[0] is None
    assert chat.verify().ok


def test_D2_a_long_history_is_folded_batch_by_batch_until_none_is_due(memory: Memory) -> None:
    chat = memory.chat("c", preset="layered", context_window=8192)
    history = [parse(one) for n in range(60) for one in said(n)]
    chat.append(history, fold=False)
    while chat.fold_due():
        pass
    assert len(history) - chat.memory.cursor < 2 * 12
    assert chat.context().bridge is None
