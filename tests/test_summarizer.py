"""Folding with a summarizer: in line or in the background, and whatever it does, nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from infold import Chat, Memory, Message, preset
from tests import rawsql
from tests.conftest import assistant, call, counted_ids, result, ticking_clock, user, words
from tests.test_chain import fill
from tests.test_rolling import folds, reasons, talk

PATIENCE = 20  # seconds before a test that waits for another thread gives up


def newest(seq: int) -> str:
    """What an honest summarizer says of messages "m1 word word", "m2 word word" up to a position."""
    return f"## Facts / Constraints\n- The newest word is m{seq}"


class Summarizer:
    """Answers with what it is told to (a value, or a function of the call's number), else honestly.

    Remembers what it was asked.
    """

    def __init__(self, answer: Any = ...) -> None:
        self.answer = self.honest if answer is ... else answer
        self.asked: list[tuple[str, list[int]]] = []

    def honest(self, number: int) -> str:
        return newest(max(seq for _, seqs in self.asked for seq in seqs))

    def __call__(self, summary: str, messages: list[Message], /) -> Any:
        self.asked.append((summary, [message.seq for message in messages]))
        answer = self.answer(len(self.asked)) if callable(self.answer) else self.answer
        if isinstance(answer, Exception):
            raise answer
        return answer


def open_memory(url: str, summarizer: Callable[[str, list[Message]], Any]) -> Memory:
    return Memory(url, summarizer=summarizer, clock=ticking_clock(), ids=counted_ids())


def failures(chat: Chat) -> list[dict[str, Any]]:
    return [event.data for event in chat.events() if event.type == "summarization_failed"]


def fold_rows(url: str) -> list[tuple[Any, ...]]:
    """Number, range, depth, who wrote it and what superseded it, of every fold ever made."""
    return rawsql.rows(url, "SELECT n, first_seq, last_seq, depth, author, superseded_by FROM folds ORDER BY n")


def assert_nothing_lost(memory: Memory, chat: Chat, last: int) -> None:
    covered = [id for record in chat.records for id in record.original_message_ids]
    assert [*covered, *(m.id for m in chat.memory.recent_messages)] == [f"m{n}" for n in range(1, last + 1)]
    assert len(chat.messages()) == last
    assert memory.verify().ok


# A5, A6: rolling, in line and in the background ----------------------------------------------------------


def test_A6_wait_folds_in_line_with_the_summarizer(url: str) -> None:
    summarizer = Summarizer()
    with open_memory(url, summarizer) as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        talk(chat, 1, 11)
        assert summarizer.asked == []
        talk(chat, 12, 12)
        assert summarizer.asked == [("", [1, 2, 3, 4, 5, 6])]
        assert chat.summary == newest(6)
        talk(chat, 13, 18)
        assert summarizer.asked[1:] == [(newest(6), [7, 8, 9, 10, 11, 12])]
        assert chat.summary == newest(12)  # rewritten, not appended
        assert_nothing_lost(memory, chat, 18)
    assert [row[4:] for row in fold_rows(url)] == [("summarizer", None)] * 2


@pytest.mark.parametrize("wait", [True, False])
def test_A6_safety_asks_the_summarizer_to_rewrite_with_no_messages(url: str, wait: bool) -> None:
    summarizer = Summarizer()
    with open_memory(url, summarizer) as memory:
        chat = memory.chat("c", preset="rolling", wait=wait)
        for number in range(1, 20):
            talk(chat, number, number)
            chat.settle()
        assert [fold["reason"] for fold in folds(chat) if fold["kind"] == "rewrite"][:1] == ["safety"]
        assert summarizer.asked[-1] == (newest(12), [])
        assert chat.summary == newest(12)
        assert_nothing_lost(memory, chat, 19)


def test_A6_one_fold_a_cycle_though_the_summary_is_larger_than_planned(url: str) -> None:
    summarizer = Summarizer(
        "\n".join(f"- Word m{1 + at % 3} comes up as point {chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(40))
    )
    with open_memory(url, summarizer) as memory:
        chat = memory.chat("c", preset="rolling", context_window=1500, wait=True)
        fill(chat, [215] * 5)  # 1,078 of at most 1,050
        assert len(summarizer.asked) == 1
        assert reasons(chat) == ["tokens"]
        assert_nothing_lost(memory, chat, 5)


def test_A5_without_waiting_the_instant_fold_holds_until_the_rewrite_is_there(url: str) -> None:
    free = threading.Event()

    def slow(number: int) -> str:
        assert free.wait(PATIENCE)
        return f"## Facts / Constraints\n- User is called Ada Lovelace and goes on about some word until m{number + 5}"

    with open_memory(url, Summarizer(slow)) as memory:
        chat = memory.chat("c", preset="rolling")
        chat.add(user("My name is Ada Lovelace."), id="m1")
        talk(chat, 2, 12)
        instant = chat.memory
        free.set()
        chat.settle()
        assert instant.cursor == chat.memory.cursor == 6
        assert "Ada Lovelace" in instant.summary
        assert chat.summary.endswith("until m6")
        assert_nothing_lost(memory, chat, 12)
    assert fold_rows(url) == [(1, 1, 6, 0, "extractive", 2), (2, 1, 6, 0, "summarizer", None)]


def test_A5_superseded_folds_stand_outside_the_partition(url: str) -> None:
    with open_memory(url, Summarizer()) as memory:
        chat = memory.chat("c", preset="rolling")
        for last in (12, 18, 24):
            talk(chat, len(chat.messages()) + 1, last)
            chat.settle()
        made = fold_rows(url)
        proof = memory.verify()
        active = [row for row in made if row[5] is None and row[1] is not None]
        assert [row[1:3] for row in active] == [(1, 6), (7, 12), (13, 18)]
        assert {row[4] for row in active} == {"summarizer"}
        assert (proof.folds, proof.folded) == (3, 18)
        assert len(made) > len(active)
        assert_nothing_lost(memory, chat, 24)


def test_A5_three_extractive_folds_of_an_outage_become_one_upgrade(url: str) -> None:
    """The model reads its own last words and everything since; depth and parent are those of the first fold."""
    summarizer = Summarizer()
    config = preset("rolling", {}, safety_turns=1000)
    with open_memory(url, summarizer) as memory:
        chat = memory.chat("c", config=config)
        talk(chat, 1, 12)
        chat.settle()
        summarizer.answer = OSError("no route")
        for last in (18, 24):
            talk(chat, last - 5, last)
            chat.settle()
        assert [data["error"] for data in failures(chat)] == ["OSError", "OSError"]
        summarizer.answer = summarizer.honest
        talk(chat, 25, 30)
        chat.settle()
        assert summarizer.asked[-1] == (newest(6), list(range(7, 25)))
        first, upgrade = chat.records
        assert (upgrade.depth, upgrade.parent_id) == (1, first.id)
        assert upgrade.original_message_ids == tuple(f"m{number}" for number in range(7, 25))
        assert_nothing_lost(memory, chat, 30)
    rows = fold_rows(url)
    assert rows[2:5] == [(n, 7 + 6 * at, 12 + 6 * at, 1 + at, "extractive", 6) for at, n in enumerate((3, 4, 5))]
    assert rows[5] == (6, 7, 24, 1, "summarizer", None)


def test_A5_folds_made_while_the_summarizer_works_are_part_of_the_upgrade(url: str) -> None:
    began, free = threading.Event(), threading.Event()

    def slow(number: int) -> str:
        began.set()
        assert free.wait(PATIENCE)
        return summarizer.honest(number)

    summarizer = Summarizer(slow)
    with open_memory(url, summarizer) as memory:
        chat = memory.chat("c", preset="rolling")
        talk(chat, 1, 12)
        assert began.wait(PATIENCE)
        talk(chat, 13, 18)  # an instant fold overtakes the answer, which still counts for what it read
        free.set()
        chat.settle()
        assert summarizer.asked == [("", list(range(1, 7))), (newest(6), list(range(7, 13)))]
        assert [len(record.original_message_ids) for record in chat.records] == [6, 6]
        assert_nothing_lost(memory, chat, 18)


def test_F1_a_rewrite_of_nothing_that_a_fold_overtakes_leaves_its_messages_covered(url: str) -> None:
    began, free = threading.Event(), threading.Event()

    def slow(number: int) -> str:
        if not summarizer.asked[-1][1]:
            began.set()
            assert free.wait(PATIENCE)
        return summarizer.honest(number)

    summarizer = Summarizer(slow)
    with open_memory(url, summarizer) as memory:
        chat = memory.chat("c", preset="rolling")
        for last in (12, 18, 19):  # the tenth user message is a safety point with nothing to fold
            talk(chat, len(chat.messages()) + 1, last)
            if last < 19:
                chat.settle()
        assert began.wait(PATIENCE)
        talk(chat, 20, 24)
        assert chat.memory.cursor == 18
        free.set()
        chat.settle()
        assert_nothing_lost(memory, chat, 24)
        assert chat.summary == newest(18)
    active = [row for row in fold_rows(url) if row[5] is None and row[1] is not None]
    assert [row[1:3] for row in active] == [(1, 6), (7, 12), (13, 18)]


def test_A5_closing_waits_for_the_rewrite(url: str) -> None:
    with open_memory(url, Summarizer()) as memory:
        talk(memory.chat("c", preset="rolling"), 1, 12)
    with Memory(url) as memory:
        assert memory.chat("c").summary == newest(6)


# A5: garbage ---------------------------------------------------------------------------------------------

GARBAGE = {
    "empty": "",
    "blank": " \n\t\n",
    "headings only": "## Facts / Constraints\n## Decisions Made",
    "none": None,
    "number": 42,
    "list": ["- a"],
    "bytes": b"- a",
    "nul": "\x00",
    "nul inside": "- a\x00b",
    "half a surrogate": "- \ud800",
    "too long": "- " + words(5000),
    "raises": RuntimeError("boom"),
    "times out": TimeoutError(),
}


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("answer", GARBAGE.values(), ids=GARBAGE.keys())
def test_A5_garbage_is_recorded_and_the_extractive_fold_stands(url: str, answer: Any, wait: bool) -> None:
    with open_memory(url, Summarizer(answer)) as memory:
        chat = memory.chat("c", preset="rolling", wait=wait)
        chat.add(user("My name is Ada Lovelace."), id="m1")
        talk(chat, 2, 12)
        chat.settle()
        assert "Ada Lovelace" in chat.summary
        assert chat.memory.cursor == 6
        assert [data["reason"] for data in failures(chat)] == ["overflow"]
        assert_nothing_lost(memory, chat, 12)
        talk(chat, 13, 18)
        chat.settle()
        assert chat.memory.cursor == 12
        assert_nothing_lost(memory, chat, 18)


def test_A5_after_a_failure_in_line_the_next_fold_reads_what_the_summarizer_missed(url: str) -> None:
    summarizer = Summarizer(ValueError("down"))
    with open_memory(url, summarizer) as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        talk(chat, 1, 12)
        summarizer.answer = summarizer.honest
        talk(chat, 13, 18)
        assert summarizer.asked[-1] == ("", list(range(1, 13)))
        assert [record.depth for record in chat.records] == [0]
        assert_nothing_lost(memory, chat, 18)


def test_F2_a_result_that_comes_while_its_call_is_being_folded_is_not_split_from_it(url: str) -> None:
    late: list[Chat] = []

    def summarizer(summary: str, messages: list[Message]) -> str:
        if late:  # the result of a call that was given up, while the call is on its way into memory
            late.pop().add(result("slow"))
        return "- User wants words"

    with Memory(url, summarizer=summarizer) as memory:
        chat = memory.chat("c", preset="chain", context_window=1000)
        chat.add([user(words(100, "q")), call("slow"), *(assistant(words(60, f"a{n}")) for n in range(9))])
        late.append(memory.chat("c"))
        chat.add(assistant(words(100, "last")))
        chat.settle()
        assert not late
        assert memory.verify().ok, str(memory.verify())


def test_A6_after_forgetting_and_rewinding_a_summarizer_is_not_asked_again_and_again(url: str) -> None:
    asked: list[int] = []

    def summarizer(_: str, messages: list[Message]) -> str:
        asked.append(len(messages))
        return "- We decided to use rope."

    with Memory(url, summarizer=summarizer) as memory:
        chat = memory.chat("c", preset="default", context_window=1024)
        for n in range(24):
            told = f"We decided to use rope {n}. My budget is {n + 1} EUR. {words(40, f'q{n}')}"
            chat.add([user(told, id=f"u{n}"), assistant(words(20, f"a{n}"), id=f"a{n}")])
        chat.fold()
        chat.settle()
        chat.set_policy("rolling")
        chat.settle()
        chat.forget("u3")
        chat.rewind("a20")
        before = len(asked)
        chat.settle()
        assert len(asked) - before <= 2
