"""What belongs together: units, turns, the question, and the repair of calls and results."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infold import Memory, MessageError, OrphanResultError
from infold.messages import Message, parse
from infold.presets import PRESETS
from infold.units import NO_RESULT, ORPHAN_MARK, Unit, question, repair, trailing, turns, units
from tests.conftest import assistant, call, result, user, words


def said(script: str) -> list[Message]:
    """Messages of a script: u, a, s; u:Ann with a name; c:x,y calls x and y; t:x is the result of x."""
    made: list[dict[str, Any]] = []
    for at, word in enumerate(script.split()):
        kind, _, what = word.partition(":")
        made.append(
            {
                "u": user(f"text {at}", **({"name": what} if what else {})),
                "a": assistant(f"text {at}"),
                "s": {"role": "system", "content": f"text {at}"},
                "c": call(*what.split(","), content=f"text {at}"),
                "t": result(what or "none", f"text {at}"),
            }[kind]
        )
    return [parse(message) for message in made]


def script_of(messages: Sequence[Message]) -> str:
    """The script that `said` would make these messages of; repaired orphans are user messages."""
    names = {"user": "u", "assistant": "a", "system": "s", "tool": "t"}
    return " ".join(
        f"c:{','.join(m.call_ids)}" if m.tool_calls else f"t:{m.tool_call_id}" if m.role == "tool" else names[m.role]
        for m in messages
    )


def assert_valid(wires: Sequence[dict[str, Any]]) -> None:
    """Every call is directly followed by exactly one result for each id, and no result stands elsewhere."""
    at = 0
    while at < len(wires):
        assert wires[at]["role"] != "tool", f"orphan result at {at}"
        ids = [one["id"] for one in wires[at].get("tool_calls", ())]
        found = [m.get("tool_call_id") for m in wires[at + 1 : at + 1 + len(ids)]]
        assert sorted(ids) == sorted(map(str, found)), f"call at {at} has the results {found}"
        at += 1 + len(ids)


SCRIPTS = st.lists(
    st.sampled_from(["u", "u", "a", "s", "c:x", "c:y", "c:x,y", "c:x,y,z", "t:x", "t:y", "t:z", "u:Ann"]), max_size=14
).map(" ".join)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("", []),
        ("u a u", [(0, 0), (1, 1), (2, 2)]),
        ("u c:x t:x a", [(0, 0), (1, 2), (3, 3)]),
        ("u c:x,y t:x t:y a", [(0, 0), (1, 3), (4, 4)]),
        ("u c:x,y t:y t:x a", [(0, 0), (1, 3), (4, 4)]),
        ("u c:x u t:x a", [(0, 0), (1, 3), (4, 4)]),  # a user message came between
        ("u c:x a u t:x a", [(0, 0), (1, 4), (5, 5)]),  # a late result
        ("c:x c:y t:x t:y a", [(0, 3), (4, 4)]),  # two calls that reach into one another
        ("u c:x t:x c:x t:x", [(0, 0), (1, 2), (3, 4)]),  # the same id again
        ("u c:x c:x t:x a", [(0, 0), (1, 1), (2, 3), (4, 4)]),  # the newest call of an id gets the result
        ("u t:x a", [(0, 0), (1, 1), (2, 2)]),
        ("u c:x a u", [(0, 0), (1, 1), (2, 2), (3, 3)]),  # the assistant went on without the result
    ],
)
def test_F2_units(script: str, expected: list[tuple[int, int]]) -> None:
    assert units(said(script)) == [Unit(first, last) for first, last in expected]


@pytest.mark.parametrize(
    ("script", "first"),
    [("u c:x", 1), ("u c:x,y t:x", 1), ("u c:x u u", 1), ("u c:x t:x c:x,y t:x u", 3), ("u c:z a c:x", 3)],
)
def test_F2_a_pending_call_reaches_to_the_end(script: str, first: int) -> None:
    messages = said(script)
    assert units(messages)[-1] == Unit(first, len(messages) - 1, pending=True)


@settings(deadline=None)
@given(SCRIPTS)
def test_F2_units_partition_the_messages_and_hold_whole_exchanges(script: str) -> None:
    messages = said(script)
    found = units(messages)
    assert [at for unit in found for at in range(unit.first, unit.last + 1)] == list(range(len(messages)))
    fixed = repair(messages)
    for unit in units(fixed):
        assert_valid([m.wire for m in fixed[unit.first : unit.last + 1]])


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("", []),
        ("u u c:x t:x a", [(0, 4, True)]),
        ("u a u a", [(0, 1, True), (2, 3, True)]),
        ("a u a", [(0, 0, True), (1, 2, True)]),
        ("u a a u a", [(0, 2, True), (3, 4, True)]),
        ("u a u", [(0, 1, True), (2, 2, False)]),
        ("u a u c:x", [(0, 1, True), (2, 3, False)]),
        ("u c:x t:x", [(0, 2, False)]),
        ("u c:x t:x u a", [(0, 2, True), (3, 4, True)]),  # without a reply, but a later one exists
        ("u:Ann u:Ann a", [(0, 2, True)]),
        ("u:Ann u:Bo a", [(0, 0, True), (1, 2, True)]),
        ("u:Ann u:Bo", [(0, 0, True), (1, 1, False)]),
        ("s u a s u a", [(0, 3, True), (4, 5, True)]),
    ],
)
def test_F2_turns(script: str, expected: list[tuple[int, int, bool]]) -> None:
    assert [(turn.first, turn.last, turn.complete) for turn in turns(said(script))] == expected


@settings(deadline=None)
@given(SCRIPTS)
def test_F2_turns_partition_the_messages_and_only_the_last_is_open(script: str) -> None:
    found = turns(said(script))
    covered = [at for turn in found for at in range(turn.first, turn.last + 1)]
    assert covered == list(range(len(script.split())))
    assert all(turn.complete for turn in found[:-1])


@pytest.mark.parametrize(
    ("script", "starts", "asked"),
    [
        ("", 0, (0, 0)),
        ("u a", 2, (2, 2)),
        ("u a u", 2, (2, 3)),
        ("u a u u", 2, (2, 4)),
        ("u u", 0, (0, 2)),
        ("u a u c:x", 4, (2, 3)),
        ("u a u u c:x t:x c:y t:y", 8, (2, 4)),
        ("u a u:Ann u:Bo", 3, (3, 4)),
        ("c:x t:x", 2, (2, 2)),
    ],
)
def test_F2_the_new_message_and_the_question(script: str, starts: int, asked: tuple[int, int]) -> None:
    assert trailing(said(script)) == starts
    assert question(said(script)) == asked


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("u c:x t:x a", "u c:x t:x a"),
        ("u c:x u t:x a", "u c:x t:x u a"),
        ("u c:x,y t:y a t:x", "u c:x,y t:x t:y a"),
        ("u c:x,y t:y u", "u c:x,y t:x t:y u"),
        ("t:x a", "u a"),
        ("u c:x t:x t:x a", "u c:x t:x u a"),
        ("t:x c:x", "u c:x t:x"),
    ],
)
def test_F2_repair(script: str, expected: str) -> None:
    assert script_of(repair(said(script))) == expected


def test_F2_repair_marks_what_was_missing_and_what_was_left_over() -> None:
    fixed = repair(said("t:x u c:y,z t:z a"))
    assert [m.text for m in fixed] == [f"{ORPHAN_MARK} text 0", "text 1", "text 2", NO_RESULT, "text 3", "text 4"]


@settings(deadline=None)
@given(SCRIPTS)
def test_F2_repair_is_valid_idempotent_and_loses_nothing(script: str) -> None:
    messages = said(script)
    fixed = repair(messages)
    assert_valid([m.wire for m in fixed])
    assert repair(fixed) == fixed
    assert repair(messages) == fixed
    kept = [m.text.removeprefix(f"{ORPHAN_MARK} ") for m in fixed if m.text != NO_RESULT]
    assert sorted(kept) == sorted(m.text for m in messages)
    others = [m for m in fixed if m.role != "tool" and not m.text.startswith(ORPHAN_MARK)]
    assert others == [m for m in messages if m.role != "tool"]


@pytest.mark.parametrize("before", ["", "u a", "u c:x t:x", "u c:y", "u c:x t:x a"])
def test_F2_add_refuses_a_result_without_its_call(memory: Memory, before: str) -> None:
    chat = memory.chat("a")
    chat.add(said(before))
    with pytest.raises(OrphanResultError, match="'x'"):
        chat.add([user("good"), result("x")])
    assert [m.wire for m in chat.messages()] == [m.wire for m in said(before)]
    assert issubclass(OrphanResultError, MessageError)


def test_F2_add_with_repair_keeps_the_result_and_contexts_stay_valid(memory: Memory) -> None:
    chat = memory.chat("a")
    wires = [user("Go."), result("x", "41 boxes"), assistant("Done."), user("And?")]
    chat.add(wires, repair=True)
    assert [m.wire for m in chat.messages()] == wires
    shown = chat.context().messages
    assert_valid(shown)
    assert shown == [user(f"Go.\n\n{ORPHAN_MARK} 41 boxes"), *wires[2:]]


def test_F2_a_result_that_comes_after_its_call_was_folded(memory: Memory) -> None:
    chat = memory.chat("a", preset="rolling")
    chat.add([user("Go."), call("x"), assistant("I cannot wait.")])
    for n in range(6):
        chat.add([user(f"question {n}"), assistant(f"answer {n}")])
    assert chat.memory.cursor >= 2
    with pytest.raises(OrphanResultError):
        chat.add(result("x"))
    chat.add(result("x", "late"), repair=True)
    assert_valid(chat.context().messages)
    assert chat.messages()[-1].wire == result("x", "late")
    assert chat.verify().ok


@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize("seed", range(6))
def test_F2_every_context_of_a_wild_chat_is_valid(memory: Memory, preset: str, seed: int) -> None:
    draw = random.Random(seed)
    chat = memory.chat("a", preset=preset, context_window=1200)
    open_calls: list[str] = []
    for n in range(70):
        kind = draw.choice(["user", "assistant", "call", "late result", "result", "result"])
        text = words(draw.choice([3, 20, 90]), f"m{n}")
        if kind == "call":
            open_calls = [f"c{n}.{at}" for at in range(draw.randint(1, 3))]
            chat.add(call(*open_calls, arguments=f'{{"text": "{text}"}}'))
        elif "result" in kind and open_calls:
            one = open_calls.pop(draw.randrange(len(open_calls)))
            chat.add(result(one, text), repair=True)
        else:
            chat.add(user(text) if kind != "assistant" else assistant(text))
        for budget in (1100, 260):
            context = chat.context(max_tokens=budget)
            assert_valid(context.messages)
            assert context.tokens <= budget
    assert chat.verify().ok, chat.verify()
    assert len(chat.messages()) == 70
