"""`assemble_context`: the memory engine's context, with its budget and what it was made of."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infold import BudgetError, Chat, Memory, NotFoundError, assemble_context
from infold.engine import select_hot_turns, select_related_entities
from infold.marks import ENTITIES_LABEL, POLICY_SNIPPET
from tests.conftest import assistant, user, words
from tests.shown import Shown, read


def filled(memory: Memory, turns: int = 30, name: str = "ada", preset: str = "engine") -> Chat:
    chat = memory.chat("a", user=name, preset=preset)
    for n in range(turns):
        chat.add(
            [user(f"I will send report-{n}.pdf to Anna by 2026-03-{n % 28 + 1:02}."), assistant(words(30, f"a{n}"))]
        )
    return chat


def entities(now: Shown) -> list[str]:
    """The entities that are shown, without their sign."""
    return [row[2:] for row in now.recalled.under(ENTITIES_LABEL)] if now.recalled else []


def test_E2_order_and_envelope(memory: Memory) -> None:
    filled(memory)
    envelope = assemble_context("ada", "a", "Which reports are for Anna?", 3000, memory=memory)
    assert envelope["budget"]["requested"] == envelope["budget"]["applied"] == 3000
    assert 0 < envelope["budget"]["estimated_used"] <= 3000
    assert envelope["sources"]["hot_turns"] == 8
    assert envelope["sources"]["summaries"] == 1
    assert 0 < envelope["sources"]["entities"] <= 25
    now = read(envelope["context"])
    assert now.order == ["system", "memory", *["user", "assistant"] * 8, "recalled", "user"]
    assert now.system == [POLICY_SNIPPET]
    assert now.memory is not None
    assert "Open Items / Pending Commitments" in now.memory.headings
    assert "report-22.pdf" in str(now.tail[0]["content"])
    assert len(entities(now)) == envelope["sources"]["entities"]
    assert now.question == "Which reports are for Anna?"


def test_E2_hot_turns_go_first_then_entities_then_the_summary(memory: Memory) -> None:
    filled(memory)
    whole = assemble_context("ada", "a", "Anna?", 3000, memory=memory)["sources"]
    seen = {"hot_turns": set[int](), "entities": set[int](), "summaries": set[int]()}
    for budget in range(2400, 110, -25):
        now = assemble_context("ada", "a", "Anna?", budget, memory=memory)
        assert now["budget"]["estimated_used"] <= budget
        counts = now["sources"]
        assert counts["entities"] == whole["entities"] or counts["hot_turns"] == 0
        assert counts["summaries"] == 1 or counts["entities"] == 0
        for name, values in seen.items():
            values.add(counts[name])
    assert len(seen["hot_turns"]) > 3
    assert len(seen["entities"]) > 3
    assert seen["summaries"] == {0, 1}


def test_E2_entities_are_trimmed_least_relevant_first(memory: Memory) -> None:
    filled(memory)
    every = memory.user("ada").entities
    ranked = [line for line, _ in select_related_entities(every, "Anna?", 25)]
    for budget in (900, 700, 500):
        found = entities(read(assemble_context("ada", "a", "Anna?", budget, memory=memory)["context"]))
        assert found == ranked[: len(found)]


def test_E5_requests_above_the_cap_are_capped(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(memory)
    assert assemble_context("ada", "a", "So?", memory=memory)["budget"]["applied"] == 3000
    assert assemble_context("ada", "a", "So?", 9000, memory=memory)["budget"] == {
        "requested": 9000,
        "applied": 3000,
        "estimated_used": assemble_context("ada", "a", "So?", memory=memory)["budget"]["estimated_used"],
    }
    monkeypatch.setenv("MEMORY_CONTEXT_MAX_TOKENS", "1200")
    monkeypatch.setenv("MEMORY_HOT_TURNS_LIMIT", "2")
    monkeypatch.setenv("MEMORY_RELATED_ENTITIES_LIMIT", "3")
    small = assemble_context("ada", "a", "So?", memory=memory)
    assert small["budget"]["applied"] == 1200
    assert small["sources"]["hot_turns"] == 2
    assert small["sources"]["entities"] == 3


def test_E2_a_chat_of_another_preset_keeps_the_order_and_loses_nothing(memory: Memory) -> None:
    chat = filled(memory, turns=20, preset="default")
    envelope = assemble_context("ada", "a", "And now?", 3000, memory=memory)
    assert envelope["sources"]["hot_turns"] == 8
    now = read(envelope["context"])
    assert now.bridge == (chat.memory.cursor + 1, 24, 24 - chat.memory.cursor)


def test_E2_other_peoples_chats_are_not_there(memory: Memory) -> None:
    filled(memory)
    memory.chat("none").add(user("Hello."))
    for stranger in ("bob", "Ada", None, ""):
        with pytest.raises(NotFoundError, match="no chat"):
            assemble_context(stranger, "a", "Anna?", memory=memory)
    with pytest.raises(NotFoundError):
        assemble_context("ada", "none", "Anna?", memory=memory)
    assert assemble_context(None, "none", "Anna?", memory=memory)["sources"]["entities"] == 0


def test_E2_the_policy_alone_over_budget_is_an_error(memory: Memory) -> None:
    filled(memory)
    with pytest.raises(BudgetError):
        assemble_context("ada", "a", "So?", 20, memory=memory)


def test_E2_a_huge_query_is_cut_last(memory: Memory) -> None:
    filled(memory)
    envelope = assemble_context("ada", "a", words(5000, "query"), 400, memory=memory)
    assert envelope["budget"]["estimated_used"] <= 400
    assert envelope["sources"] == {"hot_turns": 0, "summaries": 0, "entities": 0}
    assert read(envelope["context"]).question.startswith("query word")


def test_E5_reading_never_folds_nor_writes(memory: Memory) -> None:
    chat = filled(memory)
    before = (chat.events(), chat.memory, memory.verify().folds)
    for _ in range(3):
        assemble_context("ada", "a", "Anna?", memory=memory)
    assert (chat.events(), chat.memory, memory.verify().folds) == before


def test_E2_without_a_memory_the_default_store_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotFoundError):
        assemble_context("ada", "a", "Anna?")
    assert not list(tmp_path.iterdir())
    with Memory() as memory:
        filled(memory, 3)
    assert assemble_context("ada", "a", "Anna?")["sources"]["hot_turns"] == 3


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(budget=st.integers(1, 4000), query=st.text(min_size=1, max_size=300))
def test_E3_never_over_budget_whatever_is_asked(memory: Memory, budget: int, query: str) -> None:
    if not memory.chats():
        filled(memory, 12)
    if "\0" in query or not query.strip():
        return
    try:
        envelope = assemble_context("ada", "a", query, budget, memory=memory)
    except BudgetError:
        assert budget < 200
        return
    assert envelope["budget"]["estimated_used"] <= envelope["budget"]["applied"] == min(budget, 3000)
    assert envelope == assemble_context("ada", "a", query, budget, memory=memory)


def test_E2_select_hot_turns_keeps_whole_turns() -> None:
    from infold.messages import parse

    messages = [parse(one) for n in range(5) for one in (user(f"u{n}"), assistant(f"a{n}"))]
    assert [m.content for m in select_hot_turns(messages, 2)] == ["u3", "a3", "u4", "a4"]
    assert select_hot_turns(messages, 9) == messages
    assert select_hot_turns([], 3) == []
