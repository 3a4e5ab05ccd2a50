"""Preset `engine`: the policy snippet, one cumulative summary, hot turns; its settings."""

from __future__ import annotations

from typing import Any

import pytest

from infold import BudgetError, Chat, ConfigError, Memory, Settings, preset
from infold.marks import POLICY_SNIPPET
from infold.tokens import REQUEST_OVERHEAD
from tests.conftest import assistant, call, counted_ids, result, ticking_clock, tokens_of, turn, user, words
from tests.databases import fresh
from tests.shown import Shown, shown

NAMES = {
    "MEMORY_CONTEXT_MAX_TOKENS": ("memory_context_max_tokens", 3000),
    "MEMORY_HOT_TURNS_LIMIT": ("memory_hot_turns_limit", 8),
    "MEMORY_RELATED_ENTITIES_LIMIT": ("memory_related_entities_limit", 25),
    "TRANSCRIPT_RETENTION_DAYS": ("transcript_retention_days", 30),
}
SOURCES = [f"Task {n}: {words(18, f't{n}')}" for n in range(1, 5)]


def folds(chat: Chat) -> list[tuple[Any, Any]]:
    return [(e.data["first"], e.data["last"]) for e in chat.events() if e.type == "summarization"]


def decided(memory: Memory, turns: int, id: str = "a") -> Chat:
    """A chat in which every turn decides something."""
    chat = memory.chat(id, preset="engine", system="Be brief.")
    for n in range(1, turns + 1):
        chat.add([user(f"We decided to use rope {n} for crate {n}."), assistant(words(12, f"a{n}"))])
    return chat


def sources_shown(now: Shown) -> int:
    return sum("] Task" in row for row in now.recalled.rows) if now.recalled else 0


def test_E2_order(memory: Memory) -> None:
    chat = decided(memory, 20)
    now = shown(chat.context("What is open?", sources=SOURCES))
    assert now.order == ["system", "memory", *["user", "assistant"] * 8, "recalled", "user"]
    assert now.system == [f"{POLICY_SNIPPET}\n\nBe brief."]  # the snippet is fixed
    assert now.summary == [f"> We decided to use rope {n} for crate {n}." for n in range(1, 13)]
    assert now.tail == [m.wire for m in chat.messages()[-16:]]
    assert now.question == "What is open?"


@pytest.mark.parametrize("stored", [True, False])
def test_E2_at_most_eight_hot_turns_the_query_is_not_one(memory: Memory, stored: bool) -> None:
    chat = decided(memory, 13)
    if stored:
        chat.add(user("What is open?"))
    context = chat.context(None if stored else "What is open?")
    assert shown(context).turns == 8
    assert context.sources["hot_turns"] == 8


def test_E2_trim_order(memory: Memory) -> None:
    chat = decided(memory, 20)
    query = words(60, "What is open?")
    whole = chat.context(query, sources=SOURCES)
    lines = len(shown(whole).summary)
    assert (lines, sources_shown(shown(whole))) == (12, 4)
    seen: set[tuple[int, int, int, bool]] = set()
    least = REQUEST_OVERHEAD + tokens_of(whole.messages[0])
    for budget in range(whole.tokens + 9, least + 90, -1):
        context = chat.context(query, max_tokens=budget, sources=SOURCES)
        assert context.tokens <= budget
        assert context.messages[0] == whole.messages[0]
        now = shown(context)
        shape = (now.turns, sources_shown(now), len(now.summary), now.question != query)
        rows = now.recalled.rows if now.recalled else []
        assert shape[1] == sum(f"> [{n}] {SOURCES[n - 1]}" in rows for n in range(1, shape[1] + 1))
        seen.add(shape)
        assert shape[1] == 4 or shape[0] == 0, "hot turns give way before the entities"
        assert shape[2] == lines or shape[1] == 0, "the entities before the summary"
        assert not shape[3] or shape[2] == 0, "the summary before the query"
    assert {0, 8} < {hot for hot, *_ in seen}
    assert {number for _, number, *_ in seen} == set(range(5))
    assert {number for *_, number, _ in seen} == set(range(lines + 1))
    assert {cut for *_, cut in seen} == {True, False}


def test_E2_hot_turns_go_oldest_first(memory: Memory) -> None:
    chat = decided(memory, 20)
    whole = chat.context("What is open?")
    hot = [m.wire for m in chat.messages()[-16:]]
    for budget in range(whole.tokens, 400, -20):
        tail = shown(chat.context("What is open?", max_tokens=budget)).tail
        assert tail == hot[len(hot) - len(tail) :]


def test_E2_the_policy_alone_over_budget_is_an_error(memory: Memory) -> None:
    chat = memory.chat("a", preset="engine")
    policy = chat.context().messages[0]
    alone = REQUEST_OVERHEAD + tokens_of(policy)
    with pytest.raises(BudgetError, match="raise max_tokens"):
        chat.context("Hi.", max_tokens=alone)
    fits = chat.context("Hi.", max_tokens=alone + tokens_of(user("Hi.")))
    assert fits.messages == [policy, user("Hi.")]


@pytest.mark.parametrize("window", [8_192, 200_000])
def test_E3_never_over_budget_and_the_budget_is_3000(memory: Memory, window: int) -> None:
    chat = memory.chat("a", preset="engine", context_window=window)
    for n in range(30):
        chat.add(turn(n, 150 + 40 * (n % 5)))
        context = chat.context("And now?")
        assert context.budget == 3000
        assert context.tokens <= 3000
        # A block that shares a message with its neighbour is counted as if it were one of its own.
        used = REQUEST_OVERHEAD + sum(map(tokens_of, context.messages))
        assert context.tokens - 10 <= used <= context.tokens


def test_E3_the_same_chat_gives_the_same_bytes() -> None:
    hashes: list[list[str]] = []
    for _ in range(2):
        with fresh() as url, Memory(url, clock=ticking_clock(), ids=counted_ids()) as memory:
            chat = decided(memory, 15)
            budgets = (200, 300, 400, 3000)
            hashes.append([chat.context("And now?", max_tokens=budget).hash for budget in budgets])
            assert hashes[-1] == [chat.context("And now?", max_tokens=budget).hash for budget in budgets]
    assert hashes[0] == hashes[1]
    assert len(set(hashes[0])) == 4


def test_E6_defaults() -> None:
    assert Settings.from_environment({}) == Settings()
    for field, default in NAMES.values():
        assert getattr(Settings(), field) == default


@pytest.mark.parametrize("name", NAMES)
def test_E6_environment(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    field, default = NAMES[name]
    assert getattr(Settings.from_environment({name: " 41 "}), field) == 41
    assert getattr(Settings.from_environment({name: ""}), field) == default
    monkeypatch.setenv(name, "42")
    assert getattr(Settings.from_environment(), field) == 42
    others = [other for other in NAMES if other != name]
    assert [getattr(Settings.from_environment({name: "41"}), NAMES[o][0]) for o in others] == [
        NAMES[o][1] for o in others
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bad", ["0", "-1", "many", "1.5", "3000 tokens", "²"])
def test_E6_bad_values_are_config_errors(name: str, bad: str) -> None:
    with pytest.raises(ConfigError, match=name):
        Settings.from_environment({name: bad})


def test_E6_the_environment_reaches_the_preset(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_CONTEXT_MAX_TOKENS", "700")
    monkeypatch.setenv("MEMORY_HOT_TURNS_LIMIT", "2")
    chat = memory.chat("a", preset="engine")
    for n in range(3):
        chat.add(turn(n))
    assert chat.context("?").budget == 700
    assert folds(chat) == [(1, 2)]
    assert preset("engine", keep=5, budget=99).keep == 5
    assert preset("engine", keep=5, budget=99).budget == 99


def test_E7_more_than_eight_complete_turns_fold_all_older_ones(memory: Memory) -> None:
    chat = memory.chat("a", preset="engine")
    for n in range(8):
        chat.add(turn(n))
    chat.add([user("Look."), call("x"), result("x")])
    assert folds(chat) == []  # the ninth is not complete
    chat.add(assistant("Found."))
    assert folds(chat) == [(1, 2)]
    chat.add(turn(9))
    assert folds(chat) == [(1, 2), (3, 4)]


def test_E7_a_fold_takes_all_older_turns_at_once(memory: Memory) -> None:
    chat = memory.chat("a", config=preset("rolling", enabled=False))
    for n in range(20):
        chat.add(turn(n))
    chat.set_policy("engine")
    chat.add(turn(20))
    assert folds(chat) == [(1, 26)]
    assert len(chat.memory.recent_messages) == 16


def test_E7_the_summary_is_cumulative(memory: Memory) -> None:
    chat = decided(memory, 20)
    assert [item.text for item in chat.memory.long] == [
        f"We decided to use rope {n} for crate {n}." for n in range(1, 13)
    ]
