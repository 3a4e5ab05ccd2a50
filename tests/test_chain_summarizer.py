"""Preset `chain` with a summarizer: failures, the second pass, and the cache."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from infold import Message, SummarizationConfig, SummarizerError, preset
from tests.conftest import words
from tests.test_chain import WINDOW, fill, until
from tests.test_rolling import folds, seqs, sized, talk
from tests.test_summarizer import (
    GARBAGE,
    PATIENCE,
    Summarizer,
    assert_nothing_lost,
    failures,
    fold_rows,
    newest,
    open_memory,
)

DUE = until(800, *[110] * 6, *[20] * 5)  # a chain's first fold, at the twelfth message


# B7: failures --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("answer", GARBAGE.values(), ids=GARBAGE.keys())
def test_B7_in_a_chain_garbage_leaves_the_messages_unchanged(url: str, answer: Any, wait: bool) -> None:
    with open_memory(url, Summarizer(answer)) as memory:
        chat = memory.chat("c", preset="chain", context_window=WINDOW, wait=wait)
        fill(chat, DUE)
        chat.settle()
        assert not folds(chat)
        assert not chat.records
        assert seqs(chat.memory.recent_messages) == list(range(1, 13))
        assert failures(chat)
        assert_nothing_lost(memory, chat, 12)
        fill(chat, [300] * 3)  # the chat goes on, the bridge makes room
        chat.settle()
        context = chat.context()
        assert context.bridge is not None
        assert context.tokens <= context.budget
        assert_nothing_lost(memory, chat, 15)


def test_B7_the_diagnostic_event_says_why_and_is_sanitized(url: str) -> None:
    with open_memory(url, Summarizer(RuntimeError("bad\x1b[31m\nthing " + "x" * 500))) as memory:
        chat = memory.chat("c", preset="chain", context_window=WINDOW, wait=True)
        fill(chat, DUE)
        (data,) = failures(chat)
        assert (data["reason"], data["error"]) == ("ratio", "RuntimeError")
        assert data["message"].startswith("bad [31m thing xxx")
        assert len(data["message"]) <= 200


def test_B7_abort_on_failure_raises_and_loses_nothing(url: str) -> None:
    summarizer = Summarizer(OSError("no route"))
    with open_memory(url, summarizer) as memory:
        config = SummarizationConfig(abort_on_failure=True)
        chat = memory.chat("c", config=config, context_window=WINDOW, wait=True)
        fill(chat, DUE[:-1])
        with pytest.raises(SummarizerError, match="every message is stored") as caught:
            chat.add(sized(12, DUE[-1]), id="m12")
        assert isinstance(caught.value.__cause__, OSError)
        assert len(failures(chat)) == 1
        assert chat.records == []
        assert_nothing_lost(memory, chat, 12)
        summarizer.answer = summarizer.honest
        fill(chat, [10])
        assert [len(record.original_message_ids) for record in chat.records] == [7]
        assert_nothing_lost(memory, chat, 13)


def test_B7_abort_on_failure_in_rolling_folds_nothing_extractively(url: str) -> None:
    config = preset("rolling", {}, abort_on_failure=True)
    with open_memory(url, Summarizer("")) as memory:
        chat = memory.chat("c", config=config, wait=True)
        talk(chat, 1, 11)
        with pytest.raises(SummarizerError):
            talk(chat, 12, 12)
        assert chat.memory.cursor == 0
        assert_nothing_lost(memory, chat, 12)


# B3, B13: second pass, fallback, cache -------------------------------------------------------------------


def test_B7_a_chain_with_a_summarizer_never_folds_extractively(url: str) -> None:
    """Its fallback is "none": until the model has answered, all messages stay."""
    free = threading.Event()

    def slow(number: int) -> str:
        assert free.wait(PATIENCE)
        return newest(6)

    with open_memory(url, Summarizer(slow)) as memory:
        chat = memory.chat("c", preset="chain", context_window=WINDOW)
        fill(chat, DUE)
        before = chat.memory.cursor
        free.set()
        chat.settle()
        assert (before, chat.memory.cursor) == (0, 6)
    assert fold_rows(url) == [(1, 1, 6, 0, "summarizer", None)]


LONG = "\n".join(
    f"- The word of m{1 + at % 6} comes up, as thing {chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(44)
)
SHORT = "- Word after word from m1 to m6"


def test_B3_a_summary_over_its_cap_gets_a_second_pass_at_the_next_depth(url: str) -> None:
    summarizer = Summarizer(lambda number: LONG if number == 1 else SHORT)
    with open_memory(url, summarizer) as memory:
        chat = memory.chat("c", preset="chain", context_window=WINDOW, wait=True)
        fill(chat, DUE)
        assert summarizer.asked == [("", [1, 2, 3, 4, 5, 6]), (f"## Facts / Constraints\n{LONG}", [])]
        first, second = chat.records
        assert (first.depth, second.depth) == (0, 1)
        assert second.parent_id == first.id
        assert second.original_message_ids == ()
        assert first.token_estimate <= 500
        assert chat.summary == f"## Facts / Constraints\n{SHORT}"
        assert_nothing_lost(memory, chat, 12)


@pytest.mark.parametrize(("cap", "calls"), [(1, 1), (3, 2)])
def test_B3_without_a_second_pass_that_fits_nothing_is_folded(url: str, cap: int, calls: int) -> None:
    summarizer = Summarizer(LONG)
    with open_memory(url, summarizer) as memory:
        config = SummarizationConfig(max_summary_chain_depth=cap)
        chat = memory.chat("c", config=config, context_window=WINDOW, wait=True)
        fill(chat, DUE)
        assert len(summarizer.asked) == calls
        assert chat.records == []
        assert len(failures(chat)) == 1
        assert_nothing_lost(memory, chat, 12)


def test_B13_an_identical_request_is_answered_from_the_cache(url: str) -> None:
    summarizer = Summarizer()
    with open_memory(url, summarizer) as memory:
        chat = memory.chat("c", preset="chain", context_window=WINDOW, wait=True)
        fill(chat, DUE)
        chat.rewind("m11")
        assert chat.records == []
        fill(chat, DUE[-1:])  # the same message under the same id: the same request
        assert len(summarizer.asked) == 1
        assert chat.summary == newest(6)
        chat.rewind("m5")
        fill(chat, [110, 20, 20, 20, 20, 20, DUE[-1] - 1])
        fill(chat, [10])
        assert len(summarizer.asked) == 2  # other messages: asked again
        assert_nothing_lost(memory, chat, 13)


def test_B13_a_lost_race_does_not_ask_again(url: str) -> None:
    """Something else changes the chat while the summarizer works; its answer is still good."""
    summarizer = Summarizer()
    with open_memory(url, summarizer) as memory:
        chat = memory.chat("c", preset="chain", context_window=WINDOW, wait=True)

        def disturbed(number: int) -> str:
            chat.update(title="meanwhile")
            return newest(6)

        summarizer.answer = disturbed
        fill(chat, DUE)
        assert len(summarizer.asked) == len(chat.records) == 1
        assert chat.title == "meanwhile"


def test_B13_a_failed_request_is_not_cached(url: str) -> None:
    summarizer = Summarizer(lambda number: OSError("down") if number == 1 else newest(6))
    with open_memory(url, summarizer) as memory:
        chat = memory.chat("c", preset="chain", context_window=WINDOW, wait=True)
        fill(chat, DUE)
        chat.rewind("m11")
        fill(chat, DUE[-1:])
        assert len(summarizer.asked) == 2
        assert chat.summary == newest(6)


def test_B13_the_cache_never_answers_for_another_chat(url: str) -> None:
    """Equal ids and sizes, other words: ids are only unique within a chat."""

    def quoting(summary: str, messages: list[Message]) -> str:
        return f"- {messages[0].text.split()[0]} it is"

    with open_memory(url, quoting) as memory:
        for name in ("alpha", "bravo"):
            chat = memory.chat(name, preset="chain", context_window=WINDOW, wait=True)
            said = [{**sized(n, size), "content": words(size - 4, name)} for n, size in enumerate(DUE, 1)]
            for number, message in enumerate(said, 1):
                chat.add(message, id=f"m{number}")
        assert [memory.chat(name).summary.split()[-3] for name in ("alpha", "bravo")] == ["alpha", "bravo"]
