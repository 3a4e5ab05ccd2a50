"""Preset `chain`: the records of the chain, the synthetic message, and what is reported."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from statistics import mean
from typing import Any

import pytest

from infold import Chat, Event, Memory, Message
from infold.marks import BACKGROUND_HEADER
from infold.records import ActionItem, SummaryContext
from tests.conftest import START, assistant, user, words
from tests.shown import shown
from tests.test_chain import WINDOW, fill, until
from tests.test_rolling import folds

SAID = [
    user("My budget is 400 euros.", name="Ada"),
    assistant(words(90, "a2")),
    user("We decided to use PostgreSQL 16.2 for the ledger.", name="Ada"),
    user("I will send the contract by Friday.", name="Ada"),
    user("It is still open who reviews the security plan.", name="Ada"),
    assistant(words(90, "a6"), name="Helper"),
    user("The parser lives at src/app/main.py.", name="Bea"),
    user("My budget is 500 euros.", name="Ada"),  # not in the first fold; the second supersedes the first line with it
]


def folded(memory: Memory, **more: Any) -> Chat:
    """A chat with one fold of its first seven messages, made by its 13th at exactly 80 %."""
    chat = memory.chat("c", preset="chain", context_window=WINDOW, **more)
    for number, message in enumerate(SAID, 1):
        chat.add(message, id=f"m{number}")
    fill(chat, [50] * 4)
    fill(chat, [800 - chat.context(max_tokens=WINDOW).tokens])
    assert len(folds(chat)) == 1
    return chat


def fold_again(chat: Chat) -> None:
    """Five messages, and with them the next fold."""
    fill(chat, [60] * 5)
    assert len(folds(chat)) == 2


def longest_run(text: str, messages: Sequence[Message]) -> int:
    """Most consecutive words of one message that a text repeats."""

    def plain(value: str) -> list[str]:
        return [word.strip(".,;:!?()-#").lower() for word in value.split()]

    found, best = plain(text), 0
    for message in messages:
        said = f" {' '.join(plain(message.text))} "
        for first in range(len(found)):
            while first + best < len(found) and f" {' '.join(found[first : first + best + 1])} " in said:
                best += 1
    return best


# B5: records ---------------------------------------------------------------------------------------------


def test_B5_a_record_has_every_field_of_the_document(memory: Memory) -> None:
    chat = folded(memory)
    (record,) = chat.records
    lines = (
        "My budget is 400 euros.",
        "We decided to use PostgreSQL 16.2 for the ledger.",
        "I will send the contract by Friday (2 Jan 2026).",
        "It is still open who reviews the security plan.",
        "The parser lives at src/app/main.py.",
    )
    assert (record.depth, record.parent_id) == (0, None)
    assert record.timestamp > START
    assert all(line in record.summary for line in lines)
    assert record.key_points == lines
    assert record.context == SummaryContext(
        participants=("Ada", "assistant", "Helper", "Bea"),
        decisions=(lines[1],),
        action_items=(ActionItem(task=lines[2], owner="Ada", due="Friday (2 Jan 2026)"),),
        unresolved=(lines[3],),
        domain_entities=(lines[4],),
        raw=None,
    )
    assert record.original_message_ids == tuple(f"m{number}" for number in range(1, 8))
    assert record.token_estimate == sum(item.tokens for item in chat.memory.items)


def test_B5_ids_are_uuids(url: str) -> None:
    with Memory(url) as memory:
        chat = folded(memory)
        fold_again(chat)
        first, second = chat.records
    assert uuid.UUID(first.id) != uuid.UUID(second.id)


def test_B5_the_chain_is_chronological_and_complete(memory: Memory) -> None:
    chat = folded(memory)
    fold_again(chat)
    first, second = chat.records
    assert (first.depth, second.depth) == (0, 1)
    assert (first.parent_id, second.parent_id) == (None, first.id)
    assert first.timestamp < second.timestamp
    covered = [*first.original_message_ids, *second.original_message_ids]  # the second names only what is new
    assert covered == [f"m{number}" for number in range(1, 13)]
    assert "budget is 400 euros" in first.summary
    assert "budget is 500 euros" in second.summary
    assert "400" not in second.summary


@pytest.mark.parametrize("name", [None, "Ada"])
@pytest.mark.parametrize(
    ("before", "after"),
    [("My name is Ada Lovelace.", "My name is Ada King."), ("I live in Lisbon.", "I live in Porto.")],
)
def test_B5_what_a_speaker_says_later_wins(memory: Memory, before: str, after: str, name: str | None) -> None:
    chat = memory.chat("c", preset="chain", context_window=WINDOW)
    chat.add([user(text, **({"name": name} if name else {})) for text in (before, after)])
    fill(chat, [20] * 10 + [600])
    (record,) = chat.records
    old, new = (text.rstrip(".").split()[-1] for text in (before, after))
    assert new in record.summary
    assert old not in record.summary


def test_B5_arrays_are_empty_and_the_summary_is_not_where_nothing_was_durable(memory: Memory) -> None:
    chat = memory.chat("c", preset="chain", context_window=WINDOW)
    fill(chat, until(800, *[20] * 11))
    (record,) = chat.records
    assert record.summary.strip()
    assert record.key_points == ()
    assert record.context == SummaryContext(participants=("user", "assistant"))


@pytest.mark.parametrize(
    "heading", ["Facts / Constraints", "Decisions Made", "Open Items / Pending Commitments", "Key Artifacts"]
)
def test_B5_no_array_has_more_than_30_entries(url: str, heading: str) -> None:
    text = f"## {heading}\n" + "\n".join(f"- T{number}" for number in range(40))
    with Memory(url, summarizer=lambda summary, messages: text) as memory:
        chat = memory.chat("c", preset="chain", context_window=WINDOW, wait=True)
        chat.add([user(words(12, f"T{number}"), name=f"u{number}") for number in range(50)])
        (record,) = chat.records
    context = record.context
    assert len(record.key_points) == 30
    arrays = (context.decisions, context.action_items, context.unresolved, context.domain_entities)
    assert max(map(len, arrays)) == (0 if heading.startswith("Facts") else 30)
    assert len(context.participants) == 30


LONG = (
    "We decided to move the nightly billing export from the old cron host in Frankfurt to the managed scheduler in "
    "Dublin before the end of the third quarter because the old host loses its support contract then."
)


def test_B5_a_record_repeats_no_raw_message_text_but_as_quotations(memory: Memory) -> None:
    chat = memory.chat("c", preset="chain", context_window=WINDOW)
    chat.add(user(LONG))
    fill(chat, [20] * 10 + [600])
    (record,) = chat.records
    assert record.key_points == (LONG,)
    assert record.summary == f"## Decisions Made (quoted)\n- {LONG}"


def test_B5_a_record_repeats_no_raw_message_text_when_the_summarizer_does(url: str) -> None:
    """The echo is refused (nothing is folded) or shortened; it never becomes a record as it is."""
    with Memory(url, summarizer=lambda summary, messages: f"- {LONG}") as memory:
        chat = memory.chat("c", preset="chain", context_window=WINDOW, wait=True)
        chat.add(user(LONG))
        fill(chat, [20] * 10 + [600])
        assert any(event.type.startswith("summarization") for event in chat.events())
        assert all(longest_run(record.summary, chat.messages()) <= 12 for record in chat.records)


def test_B5_last_summarization_tells_the_chat_before_its_newest_fold(memory: Memory) -> None:
    assert memory.chat("new", preset="chain").last_summarization is None
    chat = folded(memory)
    last = chat.last_summarization
    assert last is not None
    assert (last.depth, last.message_count, last.token_ratio) == (0, 13, 0.8)
    fold_again(chat)
    last = chat.last_summarization
    assert last is not None
    assert (last.depth, last.message_count) == (1, 12)  # the synthetic message and eleven more
    assert last.token_ratio == pytest.approx(folds(chat)[1]["ratio"], abs=1e-4)


def test_B5_chats_have_a_title(url: str) -> None:
    with Memory(url) as memory:
        chat = memory.chat("c", preset="chain", title="Ledger move")
        assert chat.title == "Ledger move"
        chat.title = "Ledger moved"
    with Memory(url) as memory:
        assert memory.chat("c").title == "Ledger moved"
        assert [info.title for info in memory.chats()] == ["Ledger moved"]


# B8: the synthetic message -------------------------------------------------------------------------------


def test_B8_a_fold_replaces_the_prefix_by_one_tagged_system_message(memory: Memory) -> None:
    chat = folded(memory)
    for depth in (0, 1):
        if depth:
            fold_again(chat)
        context = chat.context(max_tokens=WINDOW)
        now = shown(context)
        assert now.order[0] == "tagged"
        assert "memory" not in now.order  # nothing of it stands twice
        assert now.depth == depth
        assert any("PostgreSQL 16.2" in row for row in now.summary)
        assert [m.wire for m in context.shown()[1:]] == [m.wire for m in chat.messages()[-6:]]


@pytest.mark.parametrize("merge", [False, True])
def test_F12_the_tagged_message_stands_right_after_the_operators(memory: Memory, merge: bool) -> None:
    """Its content is quoted as everywhere; `merge` makes one message of both."""
    chat = folded(memory, system="Be brief.")
    chat.pin("Call me Ada.")
    chat.add({"role": "system", "content": "Use British spelling."})
    chat.add(user("So?"))
    context = chat.context(max_tokens=WINDOW, merge=merge)
    system = [str(wire["content"]) for wire in context.messages if wire["role"] == "system"]
    assert len(system) == 2 - merge
    assert [wire["role"] for wire in context.messages[: len(system)]] == ["system"] * len(system)
    assert system[0].startswith("Be brief.\n\nUse British spelling.")
    tagged = system[-1][system[-1].index("[summary-depth:0]\n<memory mark=") :]
    rows = tagged.splitlines()
    assert rows[2] == BACKGROUND_HEADER
    assert all(row.startswith(("> ", "- ", "## ")) for row in rows[3:-1])
    assert "Call me Ada." not in tagged  # a wish of the user, not of the operator
    assert "> Call me Ada." in str(context.messages[len(system)]["content"]).splitlines()


def test_B8_there_is_a_tagged_message_even_where_nothing_was_durable(memory: Memory) -> None:
    chat = memory.chat("c", preset="chain", context_window=WINDOW)
    fill(chat, until(800, *[20] * 11))
    assert "summary-depth:0" in str(chat.context(max_tokens=WINDOW).messages[0]["content"])


def test_B8_the_next_fold_compresses_that_message_and_the_earlier_tail(url: str) -> None:
    asked: list[tuple[str, list[int]]] = []

    def summarizer(summary: str, messages: list[Message]) -> str:
        asked.append((summary, [message.seq for message in messages]))
        return f"## Decisions Made\n- Version {len(asked)} it is"

    with Memory(url, summarizer=summarizer) as memory:
        chat = memory.chat("c", preset="chain", context_window=WINDOW, wait=True)
        fill(chat, until(800, *[110] * 6, *[20] * 5))
        fill(chat, [130] * 5)
    assert asked == [("", [1, 2, 3, 4, 5, 6]), ("## Decisions Made\n- Version 1 it is", [7, 8, 9, 10, 11])]


# B11: events, log, statistics ----------------------------------------------------------------------------


def test_B11_every_fold_is_an_event_with_the_documents_data(url: str) -> None:
    heard: list[Event] = []
    with Memory(url, on_event=heard.append) as memory:
        chat = folded(memory)
        fold_again(chat)
        data = folds(chat)
        assert heard == chat.events()
    wanted = [{key: fold[key] for key in ("reason", "depth", "tokens_before", "ratio")} for fold in data]
    assert wanted[0] == {"reason": "ratio", "depth": 0, "tokens_before": 800, "ratio": 0.8}
    assert (wanted[1]["reason"], wanted[1]["depth"]) == ("ratio", 1)
    assert wanted[1]["ratio"] == pytest.approx(wanted[1]["tokens_before"] / WINDOW)


def test_B11_a_failing_callback_harms_nothing(url: str, caplog: pytest.LogCaptureFixture) -> None:
    def broken(event: Event) -> None:
        raise RuntimeError("callback")

    with Memory(url, on_event=broken) as memory:
        assert len(folded(memory).records) == 1
        assert memory.verify().ok
    assert "on_event callback failed on summarization" in caplog.text


def test_B11_the_debug_line_has_the_documents_fields(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "infold")
    chat = folded(memory)
    (line,) = [entry.getMessage() for entry in caplog.records if "compressed_messages" in entry.getMessage()]
    after = folds(chat)[0]["tokens_after"]
    assert "depth=0 compressed_messages=7 turns=3 ratio_before=0.800" in line  # the documents' fields, and C10's
    assert f"tokens_before=800 estimate_after={after} author=extractive call_ms=0 write_ms=1000" in line


def test_B11_success_rate_and_mean_latency_can_be_read(url: str) -> None:
    failures = [ValueError("down")]

    def summarizer(summary: str, messages: list[Message]) -> str:
        if failures:
            raise failures.pop()
        return f"- The newest word is m{messages[-1].seq}"

    with Memory(url, summarizer=summarizer) as memory:
        chat = memory.chat("c", preset="chain", context_window=WINDOW, wait=True)
        assert (chat.stats().folds, chat.stats().failures) == (0, 0)
        fill(chat, until(800, *[110] * 6, *[20] * 5))
        fill(chat, [20, 150, 150, 150, 150, 150])
        stats = chat.stats()
        assert (stats.folds, stats.failures) == (2, 1)
        assert stats.success_rate == pytest.approx(2 / 3)
        assert stats.mean_latency == mean(fold["duration"] for fold in folds(chat))
