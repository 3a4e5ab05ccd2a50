"""Preset `default`: shares of the window, leaves and roll-ups, order and trim order, budgets."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from infold import BudgetError, Chat, Context, Memory, preset
from infold.lines.line import Line
from infold.lines.rendering import render
from infold.tokens import REQUEST_OVERHEAD, count
from infold.triggers import shares
from infold.units import turns
from tests.conftest import assistant, call, result, tokens_of, turn, user, words
from tests.test_layered import decision, wish


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


def block(context: Context, layer: str) -> str:
    """What a context says in one of its layers."""
    pieces = zip(context.messages, context.explain().items, strict=True)
    return "".join(str(wire["content"]) for wire, piece in pieces if piece.layer == layer)


def sizes(context: Context) -> Counter[str]:
    """Tokens of each layer."""
    found: Counter[str] = Counter()
    for piece in context.explain().items:
        found[piece.layer] += piece.tokens
    return found


def lines(context: Context, layer: str) -> int:
    return block(context, layer).count("\n- ")


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
    order = ["system", "pins", "facts", "summary", "leaves", "bridge", "recent", "sources", "query"]
    seen: set[str] = set()
    for budget in range(3000, 120, -20):
        context = chat.context("And now?", max_tokens=budget, sources=["One.", "Two."])
        found = list(dict.fromkeys(piece.layer for piece in context.explain().items))
        seen.update(found)
        assert found == [name for name in order if name in found]
        assert context.messages[0] == {"role": "system", "content": "Be brief."}
        assert context.messages[-1] == user("And now?")
    assert seen == set(order)


def test_default_trim_order(memory: Memory) -> None:
    chat = filled(memory)
    whole = chat.context("And now?", max_tokens=9000, sources=["One.", "Two.", "Three."])
    full = {name: lines(whole, name) for name in ("facts", "summary", "leaves")}
    full |= {"sources": 3, "tail": sum(w["role"] == "user" for w in whole.messages) - 1}
    by_fold: dict[int, list[str]] = {}
    for item in chat.memory.leaves:
        by_fold.setdefault(item.fold, []).append(item.text)
    seen: dict[str, set[int]] = {name: set() for name in full}
    for budget in range(whole.tokens + 9, 100, -2):
        context = chat.context("And now?", max_tokens=budget, sources=["One.", "Two.", "Three."])
        assert context.tokens <= budget
        assert "- The gate code is 4711#." in block(context, "pins")
        now = {name: lines(context, name) for name in ("facts", "summary", "leaves")}
        now |= {"sources": block(context, "sources").count("\n["), "tail": 0}
        now["tail"] = sum(w["role"] == "user" for w in context.messages) - 1
        for name, number in now.items():
            seen[name].add(number)
        steps = ("sources", "leaves", "tail", "summary", "facts")
        for earlier, later in pairwise(steps):
            assert now[later] == full[later] or now[earlier] == 0, (budget, later, earlier)
        shown = [fold for fold, texts in by_fold.items() if f"- {texts[0]}" in block(context, "leaves")]
        assert shown == sorted(by_fold)[len(by_fold) - len(shown) :]
        assert (context.bridge is None) == (now["tail"] == full["tail"])
    assert seen["sources"] == {0, 1, 2, 3}
    assert len(seen["leaves"]) == len(by_fold) + 1
    assert len(seen["tail"]) > 2
    for name in ("summary", "facts"):
        assert seen[name] == set(range(full[name] + 1))


@pytest.mark.parametrize("after", [0, 1])
def test_default_nothing_gives_way_to_what_cannot_be_shown_itself(memory: Memory, after: int) -> None:
    """Messages larger than the budget go to the bridge; memory and sources are there beside it as if they did not exist."""
    chat = filled(memory)
    chat.add([user(words(3000, "h")), assistant("Noted.")])
    for _ in range(after):
        chat.add([user("And the rope?"), assistant("It is long enough.")])
    assert {item.fold for item in chat.memory.leaves}
    context = chat.context("And now?", max_tokens=2800, sources=["One.", "Two."])
    leaves = {item.text for item in chat.memory.leaves}
    assert {text for text in leaves if f"- {text}" in block(context, "leaves")} == leaves
    assert block(context, "sources").count("\n[") == 2
    assert context.bridge is not None
    assert {piece.layer for piece in context.explain().left_out} == {"recent"}


def test_default_what_comes_back_keeps_the_order_of_giving_way(memory: Memory) -> None:
    """No source is shown that a leaf has given way to, whatever the budget."""
    chat = filled(memory)
    chat.add([user(words(700, "h")), assistant("Noted.")])
    leaves = {item.text for item in chat.memory.leaves}
    for budget in range(500, 3000, 50):
        context = chat.context("And now?", max_tokens=budget, sources=[words(40, "x"), words(40, "y")])
        shown = {text for text in leaves if f"- {text}" in block(context, "leaves")}
        assert shown == leaves or "\n[" not in block(context, "sources"), budget


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


def test_default_sources_that_have_given_way_leave_quotations_their_room(memory: Memory) -> None:
    """A large message pushes all of them out, and then has to go itself."""
    chat = doors(memory)
    chat.add([user(words(1500, "h")), assistant("Noted.")])
    sources = [words(40, "x"), words(40, "y")]
    quoted = 0
    for budget in range(800, 3000, 50):
        found = [chat.context("Tell me about the doors", max_tokens=budget, sources=given) for given in ([], sources)]
        without, beside = map(sizes, found)
        assert beside["recalled"] == without["recalled"] or not beside["sources"], budget
        assert beside["sources"] or found[1].tokens + budget // 6 + 50 > budget, budget
        quoted += beside["recalled"] > 0
    assert quoted > 20


def test_default_sources_give_way_last_first(memory: Memory) -> None:
    chat = memory.chat("a")
    chat.add(turn(1))
    whole = chat.context("And now?", sources=["Best one.", "Good one.", "Least one."])
    cut = chat.context("And now?", max_tokens=whole.tokens - 2, sources=["Best one.", "Good one.", "Least one."])
    assert block(cut, "sources").splitlines()[1:] == ["[1] Best one.", "[2] Good one."]


@pytest.mark.parametrize(
    ("name", "window", "budget"),
    [
        ("default", None, 5734),  # 70 % of 8,192
        ("default", 10_000, 7000),
        ("rolling", 10_000, 7000),
        ("chain", 10_000, 7000),
        ("layered", 10_000, 7000),
        ("chunked", 10_000, 3000),
        ("engine", None, 3000),
    ],
)
def test_default_budget_of_a_context(memory: Memory, name: str, window: int | None, budget: int) -> None:
    chat = memory.chat("a", preset=name, context_window=window)
    assert chat.context("Hi.").budget == budget
    assert chat.context("Hi.", reserve_output=1000).budget == budget - 1000
    assert chat.context("Hi.", max_tokens=500).budget == 500
    assert chat.context("Hi.", max_tokens=500, reserve_output=100).budget == 400
    with pytest.raises(BudgetError, match="reserve_output"):
        chat.context("Hi.", reserve_output=budget)


def test_default_is_what_a_newcomer_gets(memory: Memory) -> None:
    assert memory.chat("a").policy == preset("default")
    assert memory.chat("a").policy.fallback == "extractive"
