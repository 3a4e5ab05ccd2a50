"""Preset `chain`: when a fold is due, how deep the chain may get, and how much of the tail stays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import pytest

from infold import Chat, Memory, Message, SummarizationConfig
from infold.quoting.fields import MOST_FIELDS
from infold.tokens import REQUEST_OVERHEAD
from infold.triggers import Marks, Plan, Situation, decide
from tests.conftest import assistant, call, result, tokens_of, user, words
from tests.shown import shown
from tests.test_rolling import folds, reasons, seqs, sized

WINDOW = 1000


def situation(
    *, tokens: int = 800, count: int = 12, records: int = 1, since: int = 20, armed: bool = True
) -> Situation:
    """A chat with a window of 1,000, due for a fold unless a value says otherwise."""
    return Situation(
        messages=[Message("assistant", "x")] * count,
        unfolded_tokens=0, fixed_tokens=tokens, memory_tokens=0, summary_tokens=0, context_window=WINDOW,
        records=records, users=0, last_seq=since, marks=Marks(armed=armed),
    )  # fmt: skip


def fill(chat: Chat, sizes: Iterable[int]) -> None:
    """Add one message of each size, numbered on from what is there."""
    last = len(chat.messages())
    for number, tokens in enumerate(sizes, last + 1):
        chat.add(sized(number, tokens), id=f"m{number}")


def until(total: int, *sizes: int) -> list[int]:
    """These sizes, and a last one that brings a request without memory to exactly `total` tokens."""
    return [*sizes, total - REQUEST_OVERHEAD - sum(sizes)]


# B2: the guards ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "plan"),
    [
        ({}, Plan(6, "ratio")),
        ({"tokens": 799}, None),
        ({"count": 11}, Plan(5, "ratio")),  # 12 with the synthetic message
        ({"count": 10}, None),
        ({"count": 12, "records": 0}, Plan(6, "ratio")),
        ({"count": 11, "records": 0}, None),
        ({"records": 2}, Plan(6, "ratio")),
        ({"records": 3}, None),
        ({"since": 4}, Plan(6, "ratio")),
        ({"since": 3}, None),
        ({"armed": False, "since": 12}, Plan(6, "ratio")),
        ({"armed": False, "since": 11}, None),
    ],
    ids=str,
)
def test_B2_each_guard_alone_holds_the_fold_back(change: dict[str, Any], plan: Plan | None) -> None:
    assert decide(SummarizationConfig().to_policy(), situation(**change))[0] == plan


@pytest.mark.parametrize(
    ("change", "plan"),
    [
        ({"since": 0}, Plan(6, "emergency")),
        ({"since": 0, "armed": False}, Plan(6, "emergency")),
        ({"since": 0, "armed": False, "tokens": 999}, None),
        ({"count": 11}, Plan(5, "emergency")),
        ({"count": 10}, None),
        ({"records": 2}, Plan(6, "emergency")),
        ({"records": 3}, None),
    ],
    ids=str,
)
def test_B2_emergency_ignores_cooldown_and_hysteresis_and_nothing_else(
    change: dict[str, Any], plan: Plan | None
) -> None:
    assert decide(SummarizationConfig().to_policy(), situation(**{"tokens": 1000, **change}))[0] == plan


@pytest.mark.parametrize("tokens", [800, 1000, 5000])
def test_B2_disabled_never_folds(tokens: int) -> None:
    policy = SummarizationConfig(enabled=False, force_refresh_after_messages=1).to_policy()
    assert decide(policy, situation(tokens=tokens))[0] is None


@pytest.mark.parametrize(
    ("armed", "tokens", "after"),
    [(False, 699, True), (False, 700, False), (False, 799, False), (True, 700, True), (True, 799, True)],
)
def test_B2_a_check_below_reset_arms_again(armed: bool, tokens: int, after: bool) -> None:
    plan, marks = decide(SummarizationConfig().to_policy(), situation(armed=armed, tokens=tokens))
    assert plan is None
    assert marks.armed is after


def test_B2_a_fold_disarms_and_restarts_the_counters() -> None:
    _, marks = decide(SummarizationConfig().to_policy(), situation(since=37))
    assert marks == Marks(armed=False, head=37, seen=37)


@pytest.mark.parametrize(("total", "expected"), [(799, []), (800, ["ratio"]), (999, ["ratio"]), (1000, ["emergency"])])
def test_B2_the_trigger_is_at_the_ratio_not_above_it(memory: Memory, total: int, expected: list[str]) -> None:
    chat = memory.chat("c", preset="chain", context_window=WINDOW)
    fill(chat, until(total, *[20] * 11))
    assert reasons(chat) == expected


def test_B2_the_check_right_after_a_fold_arms_again(memory: Memory) -> None:
    chat = memory.chat("c", preset="chain", context_window=WINDOW)
    fill(chat, until(800, *[110] * 6, *[20] * 5))
    assert folds(chat)[0]["tokens_after"] < 700
    fill(chat, [600, 10, 10, 10])  # above 70 % at once: no later check could arm
    assert len(folds(chat)) == 1
    fill(chat, [100])  # the fifth: 12 active, more than 80 %, armed
    assert reasons(chat) == ["ratio", "ratio"]


def test_B2_a_fold_that_stays_above_reset_waits_for_min_messages(memory: Memory) -> None:
    chat = memory.chat("c", preset="chain", context_window=WINDOW)
    fill(chat, until(800, *[16] * 6, *[100] * 5))
    assert 700 <= folds(chat)[0]["tokens_after"] < 800
    fill(chat, [20] * 11)
    assert len(folds(chat)) == 1
    fill(chat, [10])  # the twelfth since
    assert reasons(chat) == ["ratio", "ratio"]


def test_B2_since_counts_the_messages_after_the_one_that_triggered(memory: Memory) -> None:
    config = SummarizationConfig(min_messages=4, preserve_recent=2, cooldown_messages=4)
    chat = memory.chat("c", config=config, context_window=WINDOW)
    fill(chat, until(800, 380, 380, 20))
    assert len(folds(chat)) == 1
    fill(chat, [300, 300, 300])
    assert len(folds(chat)) == 1
    fill(chat, [10])
    assert reasons(chat) == ["ratio", "ratio"]


@pytest.mark.parametrize("size", [150, 400])
def test_B2_after_a_fold_seven_are_active_and_a_burst_of_four_does_not_fold(memory: Memory, size: int) -> None:
    """Not even where the burst is an emergency: eleven are fewer than min_messages."""
    chat = memory.chat("c", preset="chain", context_window=WINDOW)
    fill(chat, until(800, *[110] * 6, *[20] * 5))
    fill(chat, [size] * 4)
    assert len(folds(chat)) == 1
    fill(chat, [size])
    assert len(folds(chat)) == 2


def test_B2_emergency_in_a_chat_ignores_the_cooldown(memory: Memory) -> None:
    chat = memory.chat("c", config=SummarizationConfig(cooldown_messages=50), context_window=WINDOW)
    fill(chat, until(1000, *[140] * 6, *[20] * 5))
    fill(chat, [10, 10, 10, 10, 700])
    assert len(folds(chat)) == 1  # above 80 %, but not cooled down
    fill(chat, [200])
    assert reasons(chat) == ["emergency", "emergency"]


def test_B2_there_is_no_cooldown_before_the_first_fold(memory: Memory) -> None:
    chat = memory.chat("c", config=SummarizationConfig(cooldown_messages=50), context_window=WINDOW)
    fill(chat, until(800, *[110] * 6, *[20] * 5))
    assert reasons(chat) == ["ratio"]


# B3: the depth guard and the shrinking tail --------------------------------------------------------------


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_B3_depth_guard_stops_at_the_cap(memory: Memory, cap: int) -> None:
    chat = memory.chat("c", config=SummarizationConfig(max_summary_chain_depth=cap), context_window=WINDOW)
    fill(chat, [60] * 60)
    assert [record.depth for record in chat.records] == list(range(cap))
    assert [fold["depth"] for fold in folds(chat)] == list(range(cap))
    context = chat.context()
    assert context.bridge is not None  # the bridge makes room
    assert context.tokens <= context.budget
    assert memory.verify().ok


@pytest.mark.parametrize(("size", "kept"), [(130, 6), (150, 5), (200, 3), (450, 2)])
def test_B3_tail_shrinks_once_and_never_below_two(memory: Memory, size: int, kept: int) -> None:
    chat = memory.chat("c", preset="chain", context_window=WINDOW)
    fill(chat, [20] * 6 + [size] * 6)
    assert seqs(chat.memory.recent_messages) == list(range(13 - kept, 13))
    assert len(folds(chat)) == len(chat.records) == 1
    assert len(chat.records[0].original_message_ids) == 12 - kept
    assert memory.verify().ok


def test_B3_shrinking_counts_the_whole_summary_message(memory: Memory) -> None:
    """Header and headings too: the tail is 778 of 1,000 with the request's frame."""
    chat = memory.chat("c", preset="chain", context_window=WINDOW)
    chat.add(user("My name is Ada Lovelace, I live in Lisbon."))
    fill(chat, [10] * 5 + [129] * 5 + [130])
    (fold,) = folds(chat)
    assert fold["tokens_after"] < 800


def test_B3_tail_also_shrinks_for_a_summarizer(url: str) -> None:
    with Memory(url, summarizer=lambda summary, messages: "- User wants words") as memory:
        chat = memory.chat("c", preset="chain", context_window=WINDOW, wait=True)
        fill(chat, [10] * 6 + [150] * 6)
        assert 2 <= len(chat.memory.recent_messages) < 6
        (fold,) = folds(chat)
        assert fold["tokens_after"] < 800
        assert len(chat.records) == 1


def test_B3_a_shrinking_tail_splits_no_unit(memory: Memory) -> None:
    chat = memory.chat("c", preset="chain", context_window=WINDOW)
    fill(chat, [10] * 9)
    chat.add([call("a", "b"), result("a", words(400, "r")), result("b", words(400, "s"))])
    assert seqs(chat.memory.recent_messages) == [10, 11, 12]
    assert len(chat.records) == 1


# B4: the tail --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [2, 6, 9])
def test_B4_the_last_preserve_recent_messages_stay_verbatim(memory: Memory, keep: int) -> None:
    chat = memory.chat("c", config=SummarizationConfig(preserve_recent=keep), context_window=WINDOW)
    sizes = until(800, *[110] * 3, *[20] * 8)
    fill(chat, sizes)
    now = shown(chat.context(max_tokens=WINDOW))
    assert now.spoken == [sized(number, sizes[number - 1]) for number in range(13 - keep, 13)]


def test_B4_the_cut_moves_older_rather_than_split_a_unit(memory: Memory) -> None:
    chat = memory.chat("c", preset="chain", context_window=WINDOW)
    fill(chat, [110] * 5)
    chat.add([call("t"), result("t")])  # messages 6 and 7
    fill(chat, [30, 30, 30, 30, 200])
    assert len(folds(chat)) == 1
    assert seqs(chat.memory.recent_messages) == [6, 7, 8, 9, 10, 11, 12]


# B13: refresh and the master switch ----------------------------------------------------------------------


def test_B13_refresh_fires_after_so_many_messages_at_any_ratio(memory: Memory) -> None:
    chat = memory.chat("c", config=SummarizationConfig(force_refresh_after_messages=14), context_window=100_000)
    fired: list[int] = []
    for number in range(1, 61):
        before = len(folds(chat))
        fill(chat, [10])
        fired += [number] * (len(folds(chat)) - before)
    assert fired == [14, 28, 42]  # and no more: the depth guard holds
    assert set(reasons(chat)) == {"refresh"}


@pytest.mark.parametrize(
    ("change", "fires"),
    [({}, True), ({"count": 10}, False), ({"records": 3}, False), ({"since": 6}, False), ({"since": 5}, False)],
    ids=str,
)
def test_B13_refresh_obeys_the_other_guards(change: dict[str, Any], fires: bool) -> None:
    policy = SummarizationConfig(force_refresh_after_messages=6, cooldown_messages=7).to_policy()
    plan, _ = decide(policy, situation(**{"tokens": 1, "since": 7, "armed": False, **change}))
    assert plan == (Plan(6, "refresh") if fires else None)


def test_B13_enabled_is_the_master_switch(memory: Memory) -> None:
    chat = memory.chat(
        "c", config=SummarizationConfig(enabled=False, force_refresh_after_messages=14), context_window=WINDOW
    )
    fill(chat, [100] * 30)
    assert folds(chat) == []
    assert chat.memory.cursor == 0
    assert chat.context().tokens <= 850  # the window less 15 %
    chat.set_policy(SummarizationConfig())
    fill(chat, [10])
    assert reasons(chat) == ["emergency"]


# B14: the document's integration, drift and edge cases ---------------------------------------------------


def test_B14_a_long_thread_folds_exactly_once_at_about_80_percent(memory: Memory) -> None:
    chat = memory.chat("c", preset="chain", context_window=WINDOW)
    fill(chat, [20] * 39)
    assert folds(chat) == []
    fill(chat, [20] * 11)
    (fold,) = folds(chat)
    assert 0.80 <= fold["ratio"] < 0.82


def test_B14_a_burst_of_five_across_the_threshold_folds_once(memory: Memory) -> None:
    chat = memory.chat("c", preset="chain", context_window=WINDOW)
    fill(chat, until(790, *[60] * 11))
    chat.add([sized(number, 40) for number in range(13, 18)])
    assert reasons(chat) == ["ratio"]


def test_B14_a_model_with_a_2k_window_folds_up_to_the_depth_cap(memory: Memory) -> None:
    chat = memory.chat("c", preset="chain", context_window=2048)
    for number in range(1, 81):
        chat.add(sized(number, 120))
        assert chat.context().tokens <= 1741  # the window less 15 %
    assert [record.depth for record in chat.records] == [0, 1, 2]
    assert memory.verify().ok


def test_B14_one_extremely_long_message(memory: Memory) -> None:
    chat = memory.chat("c", preset="chain", context_window=WINDOW)
    text = words(20_000, "start") + " end"
    chat.add(user(text))
    context = chat.context()
    assert context.tokens <= context.budget
    assert context.messages[0]["content"].startswith("start")
    assert context.messages[0]["content"].endswith("end")
    assert chat.messages()[0].content == text
    fill(chat, [10] * 11)
    assert reasons(chat) == ["emergency"]
    assert folds(chat)[0]["tokens_after"] < 200
    assert memory.verify().ok


def test_B14_tool_output_does_not_bloat_the_summary(memory: Memory) -> None:
    chat = memory.chat("c", preset="chain", context_window=4000)
    rows = json.dumps([{"id": f"INV-{n}", "status": "open", "note": words(12, f"row{n}")} for n in range(150)])
    chat.add([user("We decided to use ledger v2.4.1 for this."), call("t"), result("t", rows)])
    fill(chat, [20] * 9)
    assert tokens_of(result("t", rows)) > 3500
    assert len(folds(chat)) == 1
    assert "v2.4.1" in chat.summary
    assert len(re.findall("^- Tool: ", chat.summary, re.MULTILINE)) <= MOST_FIELDS
    assert chat.records[0].token_estimate < 300


def test_B14_an_early_technical_term_survives_the_second_fold(memory: Memory) -> None:
    chat = memory.chat("c", preset="chain", context_window=WINDOW)
    chat.add(user("The retry budget must be 3 attempts in src/gateway/retry_policy.py."))
    fill(chat, [100] * 8)
    fill(chat, [10, 10, 10])
    chat.add([user("Does retry_policy.py need a test?"), assistant(words(300, "yes"))])
    fill(chat, [100] * 4)
    assert [record.depth for record in chat.records] == [0, 1]
    assert "src/gateway/retry_policy.py" in chat.summary
    assert "src/gateway/retry_policy.py" in chat.records[1].summary
