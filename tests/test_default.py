"""Preset `default`: shares of the window, leaves and roll-ups, order and trim order, budgets."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from infold import BudgetError, Chat, Context, Memory, preset
from infold.lines.line import Line
from infold.lines.rendering import render
from infold.marks import WISHES_HEADER
from infold.tokens import REQUEST_OVERHEAD, count
from infold.triggers import shares
from infold.units import turns
from tests.conftest import assistant, call, result, tokens_of, turn, user, words
from tests.shown import shown
from tests.test_layered import decision, wish

A_LINE = 45  # tokens of a wish, and of the heading above it


def folds(chat: Chat, kind: str = "base") -> list[tuple[Any, Any, Any]]:
    events = [e.data for e in chat.events() if e.type == "summarization" and e.data["kind"] == kind]
    return [(data["reason"], data["first"], data["last"]) for data in events]


def exchange(n: int, tokens: int = 30) -> list[dict[str, Any]]:
    """A turn with one decision, one wish that stands, and an answer of so many tokens."""
    return [user(f"{decision(n)}\n\n\n{wish(n)}"), assistant(words(tokens, f"a{n}"))]


def filled(memory: Memory) -> Chat:
    """A chat with a system prompt, a pin, facts, a long summary, two leaves, and a tail of six turns or more."""
    chat = memory.chat("a", system="Be brief.", context_window=2048)
    chat.pin("The gate code is 4711#.")
    for n in range(1, 400):
        chat.add(exchange(n))
        state = chat.memory
        if state.long and len({item.fold for item in state.leaves}) == 2 and len(state.recent_messages) >= 12:
            return chat
    raise AssertionError("two leaves never stood beside a long summary")


def sizes(context: Context) -> Counter[str]:
    """Tokens of each layer."""
    found: Counter[str] = Counter()
    for piece in context.explain().items:
        found[piece.layer] += piece.tokens
    return found


def pieces(context: Context, layer: str) -> list[str]:
    """What a context shows in one of its layers."""
    return [piece.what for piece in context.explain().items if piece.layer == layer]


def left_out(context: Context, *layers: str) -> list[str]:
    return [piece.what for piece in context.explain().left_out if piece.layer in layers]


@pytest.mark.parametrize(
    ("window", "kept", "chunk"),
    [
        (256, 64, 64),
        (2_048, 512, 512),  # too small for 1,000 and 2,000: a quarter
        (3_999, 999, 999),
        (4_000, 1_000, 1_000),
        (7_996, 1_599, 1_999),
        (8_000, 1_600, 2_400),
        (8_192, 1_638, 2_457),
        (20_000, 4_000, 6_000),
        (26_000, 4_000, 7_800),
        (128_000, 4_000, 8_000),
        (1_000_000, 4_000, 8_000),
    ],
)
def test_default_shares_of_the_window(window: int, kept: int, chunk: int) -> None:
    assert shares(preset("default"), window) == (kept, chunk)


@pytest.mark.parametrize("over", [0, 1])
@pytest.mark.parametrize("window", [2_048, 8_192, 64_000])
def test_default_folds_above_kept_share_and_chunk(memory: Memory, window: int, over: int) -> None:
    chat = memory.chat("a", context_window=window)
    kept, chunk = shares(preset("default"), window)
    size = (kept + chunk) // 12
    wires = [wire for n in range(5) for wire in turn(n, size - 4)]
    wires.append(user(words(size - 4, "q")))
    wires.append(assistant(words(kept + chunk + over - sum(map(tokens_of, wires)) - 4, "a")))
    assert sum(map(tokens_of, wires)) == kept + chunk + over
    chat.add(wires)
    assert [reason for reason, _, _ in folds(chat)] == ["share"] * over


@pytest.mark.parametrize("size", [20, 60, 150, 230])
def test_default_keeps_as_many_whole_turns_as_the_kept_share_holds(memory: Memory, size: int) -> None:
    chat = memory.chat("a", context_window=4_000)
    while not folds(chat):
        chat.add(turn(len(chat.messages()), size))
    tail = chat.memory.recent_messages
    assert sum(m.tokens for m in tail) <= 1000 < sum(m.tokens for m in tail) + 2 * (size + 4)
    assert tail[0].role == "user"


def test_default_keeps_two_complete_turns_of_any_size(memory: Memory) -> None:
    chat = memory.chat("a")
    for n in range(2):
        chat.add(turn(n, 1100))
    assert folds(chat) == []
    chat.add([user(words(1100, "q")), call("x")])
    assert folds(chat) == []  # an open turn is not counted
    chat.add([result("x"), assistant("Found.")])
    assert folds(chat) == [("share", 1, 2)]
    assert len(turns(chat.memory.recent_messages)) == 2
    chat.add(turn(3, 1500))
    assert folds(chat)[1:] == [("share", 3, 4)]


@pytest.mark.parametrize("short", [0, 1])
def test_default_emergency_at_a_full_window(memory: Memory, short: int) -> None:
    chat = memory.chat("a")
    for n in range(3):
        chat.add(turn(n, 100))
    used = REQUEST_OVERHEAD + sum(m.tokens for m in chat.messages())
    chat.add(user(words(8192 - used - 4 - short, "q")))
    assert [reason for reason, _, _ in folds(chat)] == ["emergency"] * (1 - short)
    kept = turns(chat.memory.recent_messages)
    assert [t.complete for t in kept] == [True] * (2 + short) + [False]


def test_default_caps(memory: Memory) -> None:
    chat = memory.chat("a", context_window=2_048)

    def size(items: tuple[Line, ...]) -> int:
        return count(render(items))

    largest_long = largest_leaves = most_leaves = 0
    for n in range(1, 220):
        said = f"We decided on supplier Nordwind{n} for crate {n}. I will send form F-{n} by May {n % 28 + 1}."
        chat.add([user(f"{said} See https://example.org/{n}. I want to paint hall {n}."), assistant("Noted.")])
        state = chat.memory
        assert size(state.long) <= 500
        assert size(state.leaves) <= 500
        largest_long, largest_leaves = max(largest_long, size(state.long)), max(largest_leaves, size(state.leaves))
        most_leaves = max(most_leaves, len({item.fold for item in state.leaves}))
    assert largest_long > 450
    assert largest_leaves > 300
    assert most_leaves >= 2
    assert chat.verify().ok


def test_default_each_fold_is_a_leaf_and_leaves_merge_into_the_long_summary(memory: Memory) -> None:
    chat = memory.chat("a", context_window=2_048)
    n = 0
    while not folds(chat, "rollup"):
        n += 1
        before = chat.memory
        chat.add(exchange(n))
        leaves = {item.fold for item in chat.memory.leaves}
        if not folds(chat, "rollup"):
            assert len(leaves) == len(folds(chat))
            assert not chat.memory.long
    after = chat.memory
    newest = max(item.fold for item in after.leaves)
    assert {item.fold for item in after.leaves} == {newest}  # the newest leaf stays
    assert {item.text for item in before.leaves} == {item.text for item in after.long}
    assert {record.depth for record in chat.records} == {0}
    assert [e.data["depth"] for e in chat.events() if e.data.get("kind") == "rollup"] == [1]


def test_default_order(memory: Memory) -> None:
    chat = filled(memory)
    order = "system pins facts summary leaves further earlier bridge recent sources query".split()
    seen: set[str] = set()
    for budget in (9000, *range(3000, 180, -20)):
        context = chat.context("And now?", max_tokens=budget, sources=["One.", "Two."])
        layers = [
            piece.layer for piece in context.explain().items if piece.layer not in ("memory", "recalled", "request")
        ]
        found = list(dict.fromkeys(layers))
        seen.update(found)
        assert found == [name for name in order if name in found]
        now = shown(context)
        tail = ["user", "assistant"] * now.turns
        assert now.order == ["system", "memory", *tail, "recalled", "user"]
        assert now.system == ["Be brief."]
        assert now.memory is not None
        assert now.memory.rows[0] == WISHES_HEADER
        assert now.question == "And now?"
    assert seen == set(order)


def test_default_without_a_budget_memory_and_tail_are_all_there_is(memory: Memory) -> None:
    chat = filled(memory)
    state = chat.memory
    whole = chat.context("And now?")
    assert pieces(whole, "facts") == [line.text for line in state.facts]
    assert pieces(whole, "summary") == [line.text for line in state.long]
    assert pieces(whole, "leaves") == [line.text for line in state.leaves]
    assert shown(whole).tail == [m.wire for m in state.recent_messages]
    assert whole.bridge is None
    assert not sizes(whole)["further"]
    assert not sizes(whole)["earlier"]


def test_F11_a_given_budget_is_filled_with_memory_and_older_messages(memory: Memory) -> None:
    chat = filled(memory)
    state = chat.memory
    assert state.further
    large = chat.context("And now?", max_tokens=9000)
    assert {line.text for line in state.further} <= set(pieces(large, "further"))
    now = shown(large)
    assert now.memory is not None
    assert now.memory.earlier == [*range(1, state.cursor + 1)]
    said = {line.text for line in (*state.long, *state.leaves)}
    assert not said & {*pieces(large, "summary"), *pieces(large, "leaves")}  # nothing stands in it twice
    assert all(any(text in row for row in now.memory.rows) for text in said)


@pytest.mark.parametrize("budget", [2500, 4000, 6000, 9000])
def test_F11_older_messages_stay_until_the_next_fold_or_go_in_one_step(memory: Memory, budget: int) -> None:
    chat = memory.chat("a", context_window=2048)
    held: list[int] = []
    steps: list[str] = []
    for n in range(1, 120):
        before = len(folds(chat))
        chat.add(exchange(n, 200 if n % 5 == 0 else 20))
        context = chat.context("And now?", max_tokens=budget)
        now = shown(context)
        earlier = now.memory.earlier if now.memory else []
        assert earlier == sorted(earlier)
        assert not earlier or earlier[-1] == chat.memory.cursor  # the newest ones
        if len(folds(chat)) > before:
            steps.append("fold")
        else:
            assert earlier in (held, [])
            steps.append("stays" if earlier == held else "gone")
        held = earlier
        if earlier:  # memory comes first: it has no more to say
            state, text = chat.memory, str(context.messages)
            assert all(line.text in text for line in (*state.items, *state.further))
    assert steps.count("fold") > 5
    assert held or budget < 6000
    assert steps.count("gone") <= steps.count("fold") // 3  # the room until the next fold is kept free


def test_F11_what_gives_way_and_in_which_order(memory: Memory) -> None:
    chat = filled(memory)
    whole = chat.context("And now?", max_tokens=9000)
    last = chat.memory.recent_messages[-2:]
    standing = len(pieces(whole, "facts"))
    cut = 0
    for budget in range(2600, 180, -7):
        context = chat.context("And now?", max_tokens=budget)
        now = shown(context)
        assert (now.system, now.question) == (["Be brief."], "And now?")
        assert pieces(context, "pins") == ["The gate code is 4711#."]
        assert now.memory is not None
        # The standing share, a fifth of the budget; wishes that memory holds as facts and those it holds further.
        wishes = count("\n".join(now.memory.wishes))
        assert wishes > budget // 5 - A_LINE or len(pieces(context, "facts")) == standing, budget
        # The last complete turn always stays; the tail goes oldest first into the bridge.
        assert [wire["role"] for wire in now.tail[-2:]] == ["user", "assistant"]
        assert str(now.tail[-2]["content"])[:20] == last[0].text[:20]
        stored = [m.wire for m in chat.memory.recent_messages]
        full = now.tail if now.turns > 1 else []
        assert full == stored[len(stored) - len(full) :]
        assert (context.bridge is not None) == (now.turns < len(stored) // 2)
        if context.bridge:
            cut += 1
            assert context.bridge[1:] == (108 - 2 * now.turns, len(stored) - 2 * now.turns)
        # Memory has 60 % before the tail gets the rest, and what the tail cannot use.
        if left_out(context, "facts", "summary", "leaves"):
            step = budget // 8 if budget >= 1500 else 0
            least = budget * 6 // 10 if now.turns > 1 and context.bridge else 0
            assert now.memory_tokens > least - 60, budget
            assert context.bridge or budget - context.tokens < step + 60, budget
        if now.turns > 1 and context.bridge:
            a_turn = sum(map(tokens_of, stored[:2]))  # what does not fit is memory's
            assert now.memory_tokens <= budget * 6 // 10 + a_turn, budget
    assert cut > 50


def test_default_nothing_gives_way_to_what_cannot_be_shown_itself(memory: Memory) -> None:
    """A message larger than the budget goes to the bridge; memory and sources are there beside it as if it did not exist."""
    chat = filled(memory)
    chat.add([user(f"Crate 900. {words(3000, 'h')}"), assistant("Noted.")])
    chat.add([user("And the rope?"), assistant("It is long enough.")])
    state = chat.memory
    assert state.leaves
    context = chat.context("And now?", max_tokens=2800, sources=["One.", "Two."])
    for name, lines in (("facts", state.facts), ("summary", state.long), ("leaves", state.leaves)):
        assert pieces(context, name) == [line.text for line in lines]
    assert len(pieces(context, "sources")) == 2
    assert context.bridge is not None
    assert {piece.layer for piece in context.explain().left_out} <= {"recent", "folds"}


def test_F11_the_last_complete_turn_stays_even_where_it_has_to_be_cut(memory: Memory) -> None:
    chat = filled(memory)
    chat.add([user(f"Crate 900. {words(3000, 'h')}"), assistant("Noted.")])
    for budget in range(300, 2800, 100):
        context = chat.context("And now?", max_tokens=budget)
        now = shown(context)
        assert str(now.tail[-2]["content"]).startswith("Crate 900. h word")
        assert "[…" in str(now.tail[-2]["content"])
        assert now.tail[-1] == assistant("Noted.")
        assert pieces(context, "pins") == ["The gate code is 4711#."]
        assert now.memory is not None
        assert count("\n".join(now.memory.wishes)) > min(600, budget // 5) - A_LINE or not left_out(context, "facts")


@pytest.mark.parametrize("size", [40, 300, 2000])
def test_default_sources_take_at_most_half_a_budget(memory: Memory, size: int) -> None:
    """They do not push out the standing share, nor the last complete turn."""
    chat = filled(memory)
    sources = [words(size, f"s{n}") for n in range(4)]
    last = chat.memory.recent_messages[-2].text
    numbers: set[int] = set()
    for budget in range(500, 3000, 50):
        context = chat.context("And now?", max_tokens=budget, sources=sources)
        now = shown(context)
        numbers.add(context.sources["sources"])
        assert (
            pieces(context, "sources") == [f"> [{n}] {text}"[:60] for n, text in enumerate(sources, 1)][: max(numbers)]
        )
        assert sizes(context)["sources"] <= budget // 2
        assert last in now.said or any("[…" in str(wire["content"]) for wire in now.tail)
        assert now.memory is not None
        assert count("\n".join(now.memory.wishes)) > budget // 5 - A_LINE or not left_out(context, "facts")
    assert numbers == {40: {4}, 300: {0, 1, 2, 3, 4}, 2000: {0}}[size]


def doors(memory: Memory) -> Chat:
    """A chat whose folded messages speak of doors, one of them of the freight door."""
    chat = memory.chat("a", context_window=3000)
    chat.add([user("The freight door is 240 cm wide, said the architect."), *turn(0)[1:]])
    for number in range(60):
        told = f"The architect said of door {number} that room {number + 100} is behind it."
        chat.add([user(told), *turn(number, 30)[1:]])
    return chat


def test_default_quotations_do_not_push_out_what_an_agent_has_just_done(memory: Memory) -> None:
    chat = doors(memory)
    chat.add(user("What did the architect say, how wide is the freight door?"))
    for budget in range(400, 1200, 100):  # before it has done anything, what is asked for comes first
        assert sizes(chat.context(max_tokens=budget))["recalled"], budget
    results, quoted = [], 0
    for step in range(4):
        ids = [f"c{step}-{part}" for part in range(2)]
        results += [f"hook {step} {part} " + words(25, "h") for part in range(2)]
        chat.add([call(*ids), *(result(id, text) for id, text in zip(ids, results[-2:], strict=True))])
        for budget in range(1200, 2600, 25):
            context = chat.context(max_tokens=budget)
            assert [text for text in results if text not in str(context.messages)] == [], (step, budget)
            quoted += sizes(context)["recalled"] > 0
    assert quoted > 20


@pytest.mark.parametrize("large", [0, 1500])
def test_default_sources_leave_quotations_their_room(memory: Memory, large: int) -> None:
    """As does a large message, where both fit."""
    chat = doors(memory)
    if large:
        chat.add([user(words(large, "h")), assistant("Noted.")])
    for sources in ([], [words(40, "x"), words(40, "y")], [words(3000, "z")]):
        for budget in range(large + 400, large + 2000, 50):
            context = chat.context("How wide is the freight door?", max_tokens=budget, sources=sources)
            assert any("240 cm" in row for row in shown(context).statements), budget
            assert sizes(context)["recalled"], budget


def test_default_sources_give_way_last_first(memory: Memory) -> None:
    chat = memory.chat("a")
    chat.add(turn(1))
    sources = [f"{name} {words(30)}" for name in ("Best", "Good", "Least")]
    assert chat.context("And now?", sources=sources).sources["sources"] == 3
    numbers: list[int] = []
    for budget in range(400, 60, -1):
        found = pieces(chat.context("And now?", max_tokens=budget, sources=sources), "sources")
        assert found == [f"> [{n}] {text}"[:60] for n, text in enumerate(sources, 1)][: len(found)]
        numbers.append(len(found))
    assert numbers == sorted(numbers, reverse=True)
    assert set(numbers) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("name", "window", "budget"),
    [
        ("default", None, 7192),  # 8,192 less 1,000
        ("default", 2_000, 1700),  # 15 % are less than that
        ("default", 10_000, 9000),
        ("rolling", 10_000, 9000),
        ("chain", 10_000, 9000),
        ("layered", 10_000, 9000),
        ("chunked", 10_000, 9000),
        ("engine", None, 3000),
        ("engine", 2_000, 1700),
    ],
)
def test_default_budget_of_a_context(memory: Memory, name: str, window: int | None, budget: int) -> None:
    chat = memory.chat("a", preset=name, context_window=window)
    assert chat.context("Hi.").budget == budget
    left = (window or 8192) - 500
    assert chat.context("Hi.", reserve_output=500).budget == (min(3000, left) if name == "engine" else left)
    assert chat.context("Hi.", max_tokens=500).budget == 500
    assert chat.context("Hi.", max_tokens=500, reserve_output=100).budget == 400
    with pytest.raises(BudgetError, match="reserve_output"):
        chat.context("Hi.", reserve_output=window or 8192)


def test_default_is_what_a_newcomer_gets(memory: Memory) -> None:
    assert memory.chat("a").policy == preset("default")
    assert memory.chat("a").policy.fallback == "extractive"
