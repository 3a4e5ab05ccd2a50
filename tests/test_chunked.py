"""Preset `chunked`: turns, a capped global summary, a prompt budget, and folds in chunks."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from infold import Chat, ConfigError, Context, Memory, preset
from infold.context.block import unmarked
from infold.lines.rendering import block_tokens
from infold.marks import BACKGROUND_HEADER
from infold.tokens import count
from tests.conftest import assistant, call, counted_ids, result, ticking_clock, tokens_of, turn, user, words
from tests.shown import shown


def writing(url: str, summary: str) -> Memory:
    """A memory whose summarizer always writes the same."""
    return Memory(url, summarizer=lambda known, new: summary, clock=ticking_clock(), ids=counted_ids())


def sized(text: str, tokens: int) -> str:
    """A text filled up to so many tokens."""
    return text + " word" * (tokens - count(text))


def rule(n: int) -> str:
    return f"Rule {n} says that part {n} is never shipped before {1 + n % 28} May."


RULES = "\n".join(["## Facts / Constraints", *(f"- {rule(n)}" for n in range(12))])


def rules(tokens: int) -> str:
    """A summary of so many tokens: as many rules as fit, and some words."""
    text, n = "## Facts / Constraints", 0
    while count(f"{text}\n- {rule(n)}") <= tokens:
        text, n = f"{text}\n- {rule(n)}", n + 1
    return text + " word" * (tokens - count(text))


def ruled(n: int, size: int, number: int = 12) -> list[dict[str, Any]]:
    """A turn; the first one states the rules."""
    said = " ".join(f"The r{rule(at)[1:]}" for at in range(number))
    return [user(f"{said} {words(max(8, size - count(said)))}"), assistant(words(size))] if n == 0 else turn(n, size)


def folds(chat: Chat) -> list[tuple[Any, Any]]:
    return [(e.data["first"], e.data["last"]) for e in chat.events() if e.type == "summarization"]


def test_C1_a_turn_with_tools_counts_once_and_stays_whole(memory: Memory) -> None:
    chat = memory.chat("a", config=preset("chunked", chunk_tokens=400))
    agent = [user("Look."), user(words(80, "q")), call("x"), result("x", words(80)), assistant("Found it.")]
    chat.add(agent)
    for n in range(2):
        chat.add(turn(n, 120))
    assert chat.memory.cursor == 0  # three turns, though nine messages
    chat.add(turn(2, 120))
    assert chat.memory.cursor == len(agent)
    assert list(chat.records[0].original_message_ids) == [m.id for m in chat.messages()[:5]]


def test_C2_the_summary_never_exceeds_its_cap(memory: Memory) -> None:
    chat = memory.chat("a", config=preset("chunked", chunk_tokens=300))
    largest = 0
    for n in range(120):
        chat.add(
            [
                user(f"The deadline for crate {n} must be May {n % 28 + 1}, with at most {n * 3} bolts."),
                assistant("Noted."),
            ]
        )
        largest = max(largest, count(chat.summary))
    assert 400 < largest <= 500
    assert len(folds(chat)) > 5
    assert "crate 116" in chat.summary


@pytest.mark.parametrize("tokens", [499, 500])
def test_C2_a_summary_of_exactly_the_cap_is_kept_whole(url: str, tokens: int) -> None:
    with writing(url, rules(tokens)) as memory:
        chat = memory.chat("a", preset="chunked", wait=True)
        for n in range(4):
            chat.add(ruled(n, 800, 32))
        assert chat.summary == rules(tokens)


def test_C2_a_summary_over_the_cap_loses_its_least_lines(url: str) -> None:
    with writing(url, rules(540)) as memory:
        chat = memory.chat("a", preset="chunked", wait=True)
        for n in range(4):
            chat.add(ruled(n, 800, 40))
        assert 400 < count(chat.summary) <= 500
        assert set(chat.summary.splitlines()) < set(rules(540).splitlines())


def test_C2_a_summary_far_over_the_cap_is_refused(url: str) -> None:
    with writing(url, rules(2100)) as memory:
        chat = memory.chat("a", preset="chunked", wait=True)
        for n in range(4):
            chat.add(ruled(n, 800, 130))
        assert count(chat.summary) <= 500
        told = [e.type for e in chat.events()]
        assert told[:4] == ["chat_created", "gate", "summarization_failed", "summarization"]
        assert told[4:] == ["memory_summary_created"]


def test_C2_the_cursor_is_a_position_whatever_the_ids_look_like(memory: Memory) -> None:
    chat = memory.chat("a", preset="chunked")
    ids = ["zz", "b", "10", "9", "aa", "0", "Z", "m"]
    wires = [wire for n in range(4) for wire in turn(n, 800)]
    chat.add([{**wire, "id": id} for wire, id in zip(wires, ids, strict=True)])
    assert chat.memory.cursor == 2
    assert chat.memory.last_summarized_message_id == "b"
    assert [m.id for m in chat.memory.recent_messages] == ids[2:]


def test_C3_the_last_three_turns_are_verbatim_in_every_prompt(memory: Memory) -> None:
    chat = memory.chat("a", preset="chunked")
    said: list[dict[str, Any]] = []
    for n in range(40):
        said += turn(n, 300)
        chat.add(said[-2:])
        now = shown(chat.context("And now?"))
        assert now.question == "And now?"
        assert now.tail[-6:] == said[-6:]
    assert len(folds(chat)) >= 3
    assert chat.verify().ok


def shape(context: Context) -> tuple[int, int, bool]:
    """Turns begun in the tail, lines of the summary, and whether a message is cut."""
    now = shown(context)
    return now.turns, len(now.summary), "[…" in now.said


def with_rules(memory: Memory) -> Chat:
    """A chat with a summary of 12 lines and three turns of 160 tokens."""
    chat = memory.chat("a", config=preset("chunked", chunk_tokens=600), wait=True)
    for n in range(4):
        chat.add(ruled(n, 76))
    assert len(chat.memory.long) == 12
    assert len(chat.memory.recent_messages) == 6
    return chat


def test_C4_what_gives_way_and_in_which_order(url: str) -> None:
    with writing(url, RULES) as memory:
        chat = with_rules(memory)
        seen: list[tuple[int, int, bool]] = []
        for budget in range(900, 120, -1):
            context = chat.context("And now?", max_tokens=budget)
            assert context.tokens <= budget
            if shape(context) not in seen[-1:]:
                seen.append(shape(context))
    by_item = [(1, lines, False) for lines in range(12, -1, -1)]
    assert seen == [(3, 12, False), (2, 12, False), *by_item, (1, 0, True)]


def test_C4_the_tail_gives_way_in_whole_turns(url: str) -> None:
    with writing(url, RULES) as memory:
        chat = with_rules(memory)
        for budget in range(900, 240, -1):
            tail = shown(chat.context("And now?", max_tokens=budget)).spoken
            assert tail[0]["role"] == "user", budget


@pytest.mark.parametrize("sizes", [(350, 1200, 1200, 1275), (350, 1800, 1875)], ids=["three", "two"])
def test_C3_turns_stay_while_they_fit(memory: Memory, sizes: tuple[int, ...]) -> None:
    chat = memory.chat("a", config=preset("chunked", chunk_tokens=100_000))
    for n, size in enumerate(sizes):
        chat.add(turn(n, size - 4))
    context = chat.context("And now?", max_tokens=8000)  # all but the oldest fit
    assert context.bridge == (1, 2, 2)


def test_C4_the_prompt_budget_is_3000(memory: Memory) -> None:
    chat = memory.chat("a", preset="chunked", context_window=200_000)
    chat.add(turn(0, 400))
    for n in range(1, 4):
        chat.add(turn(n, 600))
    context = chat.context("And now?", sources=[words(2000)])
    now = shown(context)
    assert context.budget == 199_000
    assert 2400 < now.memory_tokens + now.tail_tokens <= 3000
    assert now.turns == 2
    assert context.tokens > 4400  # sources and the question come on top


@pytest.mark.parametrize("over", [0, 1])
def test_C5_folds_above_6000_tokens_and_not_at_6000(memory: Memory, over: int) -> None:
    chat = memory.chat("a", preset="chunked")
    wires = [*(w for n in range(3) for w in turn(n, 746)), user(words(746, "q")), assistant(words(746 + over, "a"))]
    assert sum(map(tokens_of, wires)) == 6000 + over
    chat.add(wires)
    assert folds(chat) == [(1, 2)] * over


@pytest.mark.parametrize("over", [0, 1])
def test_C5_the_summary_counts_too(url: str, over: int) -> None:
    with writing(url, RULES) as memory:
        chat = memory.chat("a", preset="chunked", wait=True)
        for n in range(4):
            chat.add(turn(n, 800))
        left = 6000 + over - block_tokens(chat.memory.long) - sum(m.tokens for m in chat.memory.recent_messages)
        chat.add([user(words(left - 4 - 504, "q")), assistant(words(500, "a"))])
        assert folds(chat) == [(1, 2), (3, 4)][: 1 + over]


def test_C5_three_turns_of_any_size_stay(memory: Memory) -> None:
    chat = memory.chat("a", preset="chunked")
    for n in range(3):
        chat.add(turn(n, 4000))
    assert folds(chat) == []
    chat.fold()
    assert chat.memory.cursor == 0
    chat.add(turn(3, 8))
    assert folds(chat)[-1] == (1, 2)


def test_C5_an_incomplete_turn_is_neither_folded_nor_counted(memory: Memory) -> None:
    chat = memory.chat("a", preset="chunked")
    for n in range(3):
        chat.add(turn(n, 900))
    chat.add([user(words(3000, "big")), call("x")])
    assert folds(chat) == []  # over 6000 tokens, but only three complete turns
    chat.add(result("x", words(2000)))
    assert folds(chat) == []
    chat.add(assistant("Done."))
    assert folds(chat) == [(1, 2)]
    assert [m.role for m in chat.memory.recent_messages[4:]] == ["user", "assistant", "tool", "assistant"]


def test_C5_a_fold_takes_everything_before_the_last_three_turns(memory: Memory) -> None:
    chat = memory.chat("a", preset="chunked")
    for n in range(7):
        chat.add(turn(n, 370))
    assert folds(chat) == []
    chat.add(turn(7, 500))
    assert folds(chat) == [(1, 10)]
    assert chat.memory.last_summarized_message_id == chat.messages()[9].id


def test_C9_models_are_treated_alike_and_kept(memory: Memory) -> None:
    mixed, plain = memory.chat("mixed", preset="chunked"), memory.chat("plain", preset="chunked")
    for n in range(9):
        asked = user(sized(f"The budget for crate {n} must be {n} euros.", 400))
        answer = assistant(words(400, f"a{n}"))
        mixed.add([asked, {**answer, "model_variant": ("arco", "deep-dive")[n % 2]}])
        plain.add([asked, answer])
        assert unmarked(mixed.context("And now?").messages) == unmarked(plain.context("And now?").messages)
    assert mixed.summary == plain.summary != ""
    assert folds(mixed) == folds(plain) != []
    assert [m.model_variant for m in mixed.messages()][1::2] == [("arco", "deep-dive")[n % 2] for n in range(9)]


KNOBS = {
    "MEMORY_K_RAW_TURNS": ("keep", 3),
    "MEMORY_SUMMARY_TOKEN_CAP": ("summary_cap", 500),
    "MEMORY_PROMPT_TOKEN_BUDGET": ("turns_budget", 3000),
    "MEMORY_CHUNK_SUMMARIZE_THRESHOLD": ("chunk_tokens", 6000),
}


@pytest.mark.parametrize("name", KNOBS)
def test_C11_argument_over_environment_over_preset(memory: Memory, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    field, default = KNOBS[name]
    argument: dict[str, Any] = {field: 88}
    monkeypatch.delenv(name, raising=False)
    assert getattr(memory.chat("default", preset="chunked").policy, field) == default
    monkeypatch.setenv(name, "")
    assert getattr(memory.chat("empty", preset="chunked").policy, field) == default
    monkeypatch.setenv(name, "77")
    assert getattr(memory.chat("environment", preset="chunked").policy, field) == 77
    assert getattr(memory.chat("argument", config=preset("chunked", **argument)).policy, field) == 88
    assert getattr(memory.chat("default", preset="chunked").policy, field) == default  # stored at creation
    assert getattr(memory.chat("other", preset="rolling").policy, field) != 77
    for bad in ("0", "-3", "three", "1.5"):
        monkeypatch.setenv(name, bad)
        with pytest.raises(ConfigError, match=name):
            memory.chat(f"bad {bad}", preset="chunked")


def test_C12_order_of_messages_and_text(url: str) -> None:
    with writing(url, "## Decisions Made\n- The hall is rented.") as memory:
        chat = memory.chat("a", config=preset("chunked", chunk_tokens=10, keep=1), wait=True)
        chat.add([user("Rent it."), assistant("Rented."), user("Who pays?"), assistant("Ann.")])
        context = chat.context("When?", sources=["Lease, page 2", "Calendar"])
        now = shown(context)
        assert now.order == ["memory", "user", "assistant", "recalled", "user"]
        assert now.memory is not None
        assert now.memory.rows == [BACKGROUND_HEADER, "## Decisions Made", "- The hall is rented."]
        assert now.recalled is not None
        assert now.recalled.rows[-2:] == ["> [1] Lease, page 2", "> [2] Calendar"]
        assert now.question == "When?"
        background, tail, sources, asked = context.to("text").split("\n\n")
    tag, heading, *rows, end = background.splitlines()
    assert (tag[:7], end) == ("<memory", "</memory>")
    assert heading.startswith("BACKGROUND – PRIOR CONVERSATION SUMMARY (use only if relevant):")
    assert rows == ["## Decisions Made", "- The hall is rented."]
    assert tail == "User: Who pays?\nAssistant: Ann."
    assert sources.splitlines()[-3:-1] == ["> [1] Lease, page 2", "> [2] Calendar"]
    assert asked == "User: When?"


def test_C12_the_text_of_a_short_chat_is_a_plain_window(memory: Memory) -> None:
    chat = memory.chat("a", preset="chunked")
    chat.add([user("Hi."), assistant("Hello."), user("Who?")])
    assert chat.summary == ""
    assert chat.memory.last_summarized_message_id is None
    assert chat.context().messages == [user("Hi."), assistant("Hello."), user("Who?")]
    assert chat.context().to("text") == "User: Hi.\nAssistant: Hello.\n\nUser: Who?"


def test_C2_older_facts_are_in_the_summary_after_a_chunk(memory: Memory) -> None:
    chat = memory.chat("a", preset="chunked")
    chat.add([user(sized("My bow is a Sartory and must stay under 62 grams.", 700)), assistant(words(700, "a"))])
    for n in range(5):
        chat.add(turn(n, 500))
    assert "62 grams" in chat.summary
    assert any("62 grams" in str(w["content"]) for w in chat.context("And now?").messages)


@pytest.mark.parametrize(
    "act",
    [lambda chat: chat.add(turn(9, 800)), lambda chat: chat.context("?", max_tokens=900)],
    ids=["fold", "dropped turn"],
)
def test_C10_folds_and_dropped_turns_are_logged(
    memory: Memory, caplog: pytest.LogCaptureFixture, act: Callable[[Chat], object]
) -> None:
    chat = memory.chat("a", preset="chunked")
    for n in range(3):
        chat.add(turn(n, 800))
    with caplog.at_level(logging.DEBUG, "infold"):
        chat.context("?", max_tokens=8000)
        assert caplog.records == []
        act(chat)
    assert {record.name.partition(".")[0] for record in caplog.records} == {"infold"}
