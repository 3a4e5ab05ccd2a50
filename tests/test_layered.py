"""Preset `layered`: a window, medium summaries, the long summary, and facts."""

from __future__ import annotations

from typing import Any

import pytest

from infold import Chat, Context, Memory, preset
from infold.lines.rendering import block_tokens
from infold.marks import BACKGROUND_HEADER, LEAVES_LABEL, WISHES_HEADER
from infold.tokens import count
from tests.conftest import assistant, counted_ids, ticking_clock, user, words
from tests.shown import shown

STARTS = "Al Bren Cor Dor Ev Fal Gor Hel".split()
ENDS = "bert dis fina gan lena mund ric tova".split()


def exchange(n: int) -> list[dict[str, Any]]:
    """A turn with one wish that stands and one decision."""
    return [user(f"{decision(n)}\n\n\n{wish(n)}"), assistant(f"{'word ' * 16}{n}.")]


def decision(n: int) -> str:
    return f"We decided to use rope {n} for crate {n}."


def wish(n: int) -> str:
    """What the user wants from now on of one of many people."""
    who = STARTS[n // 8 % 8] + ENDS[n % 8]
    return f"From now on, always put {who} in copy of everything you write for me, and never use emojis with {who}."


def filled(memory: Memory, turns: int, **values: Any) -> Chat:
    chat = memory.chat("a", config=preset("layered", **values), system="Be brief.", context_window=50_000)
    for n in range(1, turns + 1):
        chat.add(exchange(n))
    return chat


def folds(chat: Chat) -> list[tuple[str, Any, Any]]:
    return [(e.data["kind"], e.data["first"], e.data["last"]) for e in chat.events() if e.type == "summarization"]


def lines(context: Context, layer: str) -> list[str]:
    """What a context shows in one of its layers."""
    return [piece.what for piece in context.explain().items if piece.layer == layer]


def layers(context: Context) -> list[str]:
    return list(dict.fromkeys(piece.layer for piece in context.explain().items if piece.layer != "request"))


def test_D1_the_four_layers(memory: Memory) -> None:
    chat = filled(memory, 44, facts_cap=2000)
    state = chat.memory
    assert [m.wire for m in state.recent_messages] == [wire for n in range(41, 45) for wire in exchange(n)]
    assert [item.text for item in state.leaves] == [decision(n) for n in range(33, 41)]
    assert decision(1) in [item.text for item in state.long]
    assert [item.text for item in state.facts] == [wish(n) for n in range(1, 41)]


@pytest.mark.parametrize(("turns", "expected"), [(11, []), (12, [("base", 1, 16)]), (19, [("base", 1, 16)])])
def test_D2_at_twelve_turns_the_oldest_eight_fold(
    memory: Memory, turns: int, expected: list[tuple[str, int, int]]
) -> None:
    chat = filled(memory, turns)
    assert folds(chat) == expected
    assert len({item.fold for item in chat.memory.leaves}) == len(expected)
    assert len(chat.memory.recent_messages) == 2 * turns - 16 * len(expected)


def test_D2_the_twelfth_turn_counts_when_it_is_complete(memory: Memory) -> None:
    chat = filled(memory, 11)
    asked, answer = exchange(12)
    chat.add(asked)
    assert folds(chat) == []
    chat.add(answer)
    assert folds(chat) == [("base", 1, 16)]


def test_D2_four_mediums_fold_into_the_long_summary(memory: Memory) -> None:
    chat = filled(memory, 35)
    assert [kind for kind, _, _ in folds(chat)] == ["base"] * 3
    before = chat.memory
    assert len({item.fold for item in before.leaves}) == 3
    assert before.long == ()
    chat.add(exchange(36))
    assert [kind for kind, _, _ in folds(chat)] == ["base"] * 4 + ["rollup"]
    after = chat.memory
    assert after.leaves == ()
    assert {item.text for item in before.leaves} <= {item.text for item in after.long}
    assert chat.verify().ok


def test_D2_mediums_of_more_than_1500_tokens_fold_into_the_long_summary(url: str) -> None:
    def medium(known: str, new: Any) -> str:
        named = sorted({word for message in new for word in message.text.split() if word.startswith("X")})
        return "\n".join(f"- Crate {name} is packed by the red gate." for name in named)

    with Memory(url, summarizer=medium, clock=ticking_clock(), ids=counted_ids()) as memory:
        chat = memory.chat("a", config=preset("layered", leaf_cap=1000), wait=True)
        for n in range(1, 20):
            chat.add(
                [user(" ".join(f"X{n}.{k} is crate" for k in range(8)) + " packed by the red gate"), assistant("Fine.")]
            )
        before = chat.memory
        assert 700 < sum(item.tokens for item in before.leaves) < 1500
        assert before.long == ()
        chat.add([user("And now?"), assistant("Fine.")])  # the second one
        after = chat.memory
        assert after.leaves == ()
        assert 400 < block_tokens(after.long) <= 500


def test_D4_order(memory: Memory) -> None:
    chat = filled(memory, 52)
    chat.add(user("And now?"))
    context = chat.context()
    assert layers(context) == ["system", "facts", "summary", "leaves", "memory", "recent", "query"]
    now = shown(context)
    assert now.order == ["system", "memory", *["user", "assistant"] * 4, "user"]
    assert now.system == ["Be brief."]
    assert now.memory is not None
    facts, long, mediums = (lines(context, layer) for layer in ("facts", "summary", "leaves"))
    assert now.memory.rows == [
        WISHES_HEADER,
        *(f"> {fact}" for fact in facts),  # they are surely the user's wishes
        BACKGROUND_HEADER,
        "## Decisions Made",
        *(f"> {line}" for line in long),
        LEAVES_LABEL,
        "## Decisions Made",
        *(f"> {line}" for line in mediums),
    ]
    short = layers(chat.context(max_tokens=count(str(chat.summary)) // 2))
    assert short[:2] == ["system", "facts"]
    assert short[-1] == "query"


def test_D4_trim_order(memory: Memory) -> None:
    chat = filled(memory, 52)
    whole = chat.context("And now?")
    assert (len(lines(whole, "leaves")), len(lines(whole, "summary"))) == (16, 32)
    facts, long = len(lines(whole, "facts")), len(lines(whole, "summary"))
    seen: dict[str, set[int]] = {"leaves": set(), "summary": set(), "tail": set(), "facts": set()}
    for budget in range(whole.tokens + 9, 85, -1):
        context = chat.context("And now?", max_tokens=budget)
        now = shown(context)
        assert (now.system, now.question) == (["Be brief."], "And now?")
        there = {layer: len(lines(context, layer)) for layer in ("leaves", "summary", "facts")}
        there["tail"] = now.turns
        for layer, number in there.items():
            seen[layer].add(number)
        if there["leaves"] == 8:  # the oldest one went first
            assert "crate 48" in lines(context, "leaves")[-1]
        assert there["summary"] == long or there["leaves"] == 0
        assert there["tail"] == 4 or there["summary"] == 0
        assert there["facts"] == facts or there["tail"] == 0
        if there["tail"] == 0:
            assert context.bridge is not None
    assert seen["leaves"] == {16, 8, 0}
    assert seen["summary"] == set(range(long + 1))
    assert {0, 4} < seen["tail"]
    assert seen["facts"] == set(range(facts + 1))


@pytest.mark.parametrize("system", [None, "Be brief."])
def test_D7_an_empty_history_gives_system_and_query_only(memory: Memory, system: str | None) -> None:
    chat = memory.chat("a", preset="layered", system=system)
    first = [{"role": "system", "content": system}] if system else []
    assert chat.context().messages == first
    assert chat.context("Anyone there?").messages == [*first, user("Anyone there?")]
    text = chat.context("Anyone there?").to("text")
    assert text == ("Be brief.\n\n" if system else "") + "User: Anyone there?"


def test_D7_no_empty_headings_when_nothing_was_worth_keeping(memory: Memory) -> None:
    chat = memory.chat("a", preset="layered")
    for n in range(40):
        chat.add([user(words(20, f"{n}")), assistant(words(20, f"{n}"))])
    assert [kind for kind, _, _ in folds(chat)] == ["base"] * 4 + ["rollup"]
    assert layers(chat.context("So?")) == ["recent", "query"]
