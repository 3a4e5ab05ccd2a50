"""Folding with a language model: two speeds, what it is asked, and what becomes of its answer."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest

from infold import Chat, Memory, Model, SummarizationConfig, preset
from infold.tokens import count
from tests import rawsql
from tests.conftest import assistant, call, result, user, words
from tests.test_model_crash import active, bodies, due
from tests.test_model_faults import assert_true, said, talk, verdicts
from tests.test_rolling import folds
from tests.test_summarizer import assert_nothing_lost, failures, fold_rows
from tests.upstream import Upstream, step

WINDOW = 400
CHUNKED = preset("chunked", {}, chunk_tokens=200)


def opened(url: str, upstream: Upstream) -> Memory:
    return Memory(url, model=f"{upstream.url}#gpt-test")


def label(upstream: Upstream, name: str = "gpt-test") -> str:
    return f"openai:{name}@{upstream.url}"


def asked(upstream: Upstream) -> list[str]:
    """What the model was asked: the user's part of each request."""
    return [request["body"]["messages"][-1]["content"] for request in upstream.requests()]


def written(url: str) -> list[tuple[Any, ...]]:
    return rawsql.rows(url, "SELECT author, model, prompt, notes FROM folds ORDER BY n")


def until_fold(chat: Chat, number: int, folds: int = 1) -> int:
    """Talk until there are so many records; returns the number of the last message."""
    while len(chat.records) < folds:
        number += 1
        talk(chat, number, number)
        chat.settle()
    return number


# Two speeds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "window"), [("rolling", 8192), ("default", WINDOW)])
def test_C6_the_instant_fold_is_there_at_once_and_the_models_supersedes_it(
    url: str, upstream: Upstream, kind: str, window: int
) -> None:
    last = due(kind, window)
    upstream.script([step("good:slow", seconds=1.5)])
    with opened(url, upstream) as memory:
        chat = memory.chat("c", preset=kind, context_window=window)
        talk(chat, 1, last)
        (instant,) = active(url)
        before = chat.summary
        chat.settle()
        assert instant[2] == "extractive"
        assert active(url) == [(*instant[:2], "summarizer")]
        (record,) = chat.records
        assert (record.depth, record.parent_id, len(record.original_message_ids)) == (0, None, instant[1])
        assert "FACT-1201" in before
        assert "FACT-1201" in chat.summary
        kinds = [event.type for event in chat.events() if event.type in ("gate", "summarization")]
        assert kinds[:3] == ["summarization", "gate", "summarization"]
        assert [row[5] for row in fold_rows(url)][:2] == [2, None]
        author, model, prompt, _ = written(url)[1]
        assert (author, model) == ("summarizer", label(upstream))
        assert re.fullmatch(r"items\.v1@[0-9a-f]{8}", prompt)
        (event,) = [data for data in folds(chat) if data["author"] == "summarizer"]
        assert (event["model"], event["prompt"]) == (model, prompt)
        assert verdicts(chat)[0]["author"] == model
        assert_nothing_lost(memory, chat, last)


@pytest.mark.parametrize(("kind", "window"), [("rolling", 8192), ("default", WINDOW), ("chain", WINDOW)])
def test_B7_waiting_folds_in_line_and_only_with_the_model(url: str, upstream: Upstream, kind: str, window: int) -> None:
    with opened(url, upstream) as memory:
        chat = memory.chat("c", preset=kind, context_window=window, wait=True)
        talk(chat, 1, due(kind, window))
        assert [row[0] for row in written(url)] == ["summarizer"]
        assert_true(chat.summary)


def test_C6_a_hanging_model_neither_delays_nor_breaks_the_reply(url: str, upstream: Upstream) -> None:
    upstream.script([step("timeout", forever=True)])
    with Memory(url, model=Model("gpt-test", base_url=upstream.url, timeout=0.3)) as memory:
        chat = memory.chat("c", config=CHUNKED)
        talk(chat, 1, 40)
        assert "FACT-1201" in chat.summary
        chat.settle()
        assert failures(chat)
        talk(chat, 41, 42)
        assert_nothing_lost(memory, chat, 42)


def test_C6_one_fold_at_a_time_per_chat(url: str, upstream: Upstream) -> None:
    upstream.script([step("good:slow", seconds=0.3, forever=True)])
    with opened(url, upstream) as memory:
        chat = memory.chat("c", preset="rolling")
        talk(chat, 1, 13)
        other = memory.chat("c")  # another handle on the same chat
        talk(other, 14, 40)
        chat.settle()
        at = [request["at"] for request in upstream.requests()]
        assert len(at) >= 2
        assert all(later - earlier >= 0.3 for earlier, later in itertools.pairwise(at))
        assert_nothing_lost(memory, chat, 40)


# Passes --------------------------------------------------------------------------------------------------


def long_talk(chat: Chat, last: int, size: int) -> None:
    for number in range(1, last + 1):
        message = said(number)
        chat.add({**message, "content": f"{message['content']} {words(size)}"}, id=f"m{number}")
    chat.settle()


PASSES = pytest.mark.parametrize(("kind", "wait", "window"), [("rolling", False, 60_000), ("chain", True, 45_000)])


@PASSES
def test_B9_a_range_over_8000_tokens_is_read_in_passes_and_committed_once(
    url: str, upstream: Upstream, kind: str, wait: bool, window: int
) -> None:
    with opened(url, upstream) as memory:
        chat = memory.chat("c", preset=kind, context_window=window, wait=wait)
        long_talk(chat, 12, 3000)
        (fold,) = [data for data in folds(chat) if data["author"] == "summarizer"]
        assert (fold["first"], fold["last"], fold["passes"]) == (1, 6, 3)
        transcripts = [re.sub(r"<memory>.*</memory>", "", text, flags=re.DOTALL) for text in asked(upstream)]
        assert len(transcripts) == 3
        assert [count(text) <= 8000 for text in transcripts] == [True] * 3
        assert [int(number) for text in transcripts for number in re.findall(r"^\[(\d+)\] ", text, re.MULTILINE)] == [
            *range(1, 7)
        ]
        assert all("FACT-1201" in text for text in asked(upstream)[1:])  # each pass folds into the one before
        assert json.loads(written(url)[-1][3])["passes"] == 3
        assert all(f"FACT-{1200 + number}" in chat.summary for number in (1, 3, 5))
        assert_true(chat.summary)
        assert_nothing_lost(memory, chat, 12)


@PASSES
def test_B9_when_a_later_pass_fails_what_was_read_is_committed(
    url: str, upstream: Upstream, kind: str, wait: bool, window: int
) -> None:
    upstream.script(["good", step("malformed", forever=True)])
    with opened(url, upstream) as memory:
        chat = memory.chat("c", preset=kind, context_window=window, wait=wait)
        long_talk(chat, 12, 3000)
        assert active(url)[0] == (1, 2, "summarizer")
        assert active(url)[1:] == ([] if wait else [(3, 6, "extractive")])
        assert failures(chat)[0]["error"] == "AnswerError"
        assert "FACT-1201" in chat.summary
        assert_nothing_lost(memory, chat, 12)
        upstream.script([])
        talk(chat, 13, 14)
        assert chat.fold()
        chat.settle()
        assert chat.memory.cursor >= 6
        assert {author for _, _, author in active(url)} == {"summarizer"}
        assert_nothing_lost(memory, chat, 14)


@pytest.mark.parametrize("fault", ["malformed", "flipped"])
def test_F9_messages_that_nobody_writes_well_do_not_keep_the_rest_from_being_written(
    url: str, upstream: Upstream, fault: str
) -> None:
    """A pass that everybody failed at is not asked for again: it is read extractively, as part of the next fold."""
    upstream.script([fault])
    with opened(url, upstream) as memory:
        chat = memory.chat("c", preset="rolling", context_window=60_000)
        long_talk(chat, 12, 3000)
        assert active(url) == [(1, 6, "extractive")]
        talk(chat, 13, 18)
        chat.settle()
        assert {author for _, _, author in active(url)} == {"summarizer"}
        assert len(set(bodies(upstream))) == len(bodies(upstream))
        (fold,) = [data for data in folds(chat) if data["author"] == "summarizer" and data["first"] == 1]
        assert fold["extracted"] == [[1, 2]]
        assert all(f"FACT-{1200 + number}" in chat.summary for number in (1, 3, 5))
        assert_true(chat.summary)
        assert_nothing_lost(memory, chat, 18)


def test_B6_messages_that_were_filtered_or_cut_are_listed(url: str, upstream: Upstream) -> None:
    with opened(url, upstream) as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        chat.add(
            [said(1), call("a", "b"), result("a"), result("b", f"BK-4711 {words(2000)}"), *map(said, range(6, 15))]
        )
        (fold,) = folds(chat)
        assert fold["filtered"] == [2, 3]
        assert fold["capped"] == [4]
        assert json.loads(written(url)[0][3]) == {"filtered": [2, 3], "capped": [4]}
        assert memory.verify().ok


# What the model is asked ---------------------------------------------------------------------------------


def test_B8_the_next_fold_compresses_the_synthetic_message_and_the_earlier_tail(url: str, upstream: Upstream) -> None:
    with opened(url, upstream) as memory:
        chat = memory.chat("c", preset="chain", context_window=WINDOW, wait=True)
        last = until_fold(chat, 0)
        tags = [str(m["content"]) for m in chat.context().messages if "[summary-depth:" in str(m["content"])]
        assert [tag[:17] for tag in tags] == ["[summary-depth:0]"]
        lines = [item.text for item in chat.memory.items]
        tail = [message.seq for message in chat.memory.recent_messages]
        until_fold(chat, last, 2)
        second = asked(upstream)[-1]
        assert re.findall(r"^\[M\d+\] \w+: (.*)$", second, re.MULTILINE) == lines
        assert [int(mark) for mark in re.findall(r"^\[(\d+)\] ", second, re.MULTILINE)][: len(tail)] == tail
        assert [record.depth for record in chat.records] == [0, 1]
        assert sum("[summary-depth:1]" in str(m["content"]) for m in chat.context().messages) == 1
        assert not any("[summary-depth:0]" in str(m["content"]) for m in chat.context().messages)


def test_B9_prompt_has_a_header_labelled_roles_and_asks_for_strict_json(url: str, upstream: Upstream) -> None:
    with opened(url, upstream) as memory:
        chat = memory.chat("c", preset="chain", context_window=WINDOW, wait=True)
        until_fold(chat, until_fold(chat, 0), 2)
        for depth, (request, record) in enumerate(zip(upstream.requests(), chat.records, strict=True)):
            system, text = (message["content"] for message in request["body"]["messages"])
            covered = [m for m in chat.messages() if m.id in record.original_message_ids]
            tokens = sum(m.tokens for m in covered)
            header = f"<meta total_messages={len(covered)} total_tokens={tokens} depth={depth} />"
            assert text.splitlines()[0] == header
            transcript = [line for line in text.splitlines() if re.match(r"\[\d+\] ", line)]
            assert transcript == [f"[{m.seq}] {m.role}: {m.text}" for m in covered]
            wanted = request["body"]["response_format"]
            assert (wanted["type"], wanted["json_schema"]["strict"]) == ("json_schema", True)
            assert all(word in system for word in ("STRICT JSON", "no markdown", "verbatim", "empty array"))


@pytest.mark.parametrize(
    ("script", "models"),
    [
        ([], ["small"]),
        (["malformed"], ["small", "large"]),
        (["503", "503"], ["small", "small", "large"]),
        (["401"], ["small", "large"]),
        (["flipped"], ["small", "large"]),
    ],
    ids=["well", "malformed", "503", "401", "flipped"],
)
def test_B10_models_are_tried_in_order_of_preference(
    url: str, upstream: Upstream, script: list[str], models: list[str]
) -> None:
    """Bare names are models of the memory's server."""
    upstream.script(script)
    config = SummarizationConfig(summarizer_model_preference=("small", "large"))
    with opened(url, upstream) as memory:
        chat = memory.chat("c", config=config, context_window=WINDOW, wait=True)
        until_fold(chat, 0)
        assert [request["body"]["model"] for request in upstream.requests()] == models
        assert written(url)[0][1] == label(upstream, models[-1])
        assert not failures(chat)
        assert_true(chat.summary)


def test_C7_the_input_has_the_documents_exact_layout(url: str, upstream: Upstream) -> None:
    with opened(url, upstream) as memory:
        chat = memory.chat("c", config=CHUNKED)
        number = until_fold(chat, 0)
        summary, (first,) = chat.summary, chat.records
        until_fold(chat, number, 2)
        second = chat.records[1]
    for text, existing, record in zip(asked(upstream), ("NONE", summary), (first, second), strict=True):
        ids = [int(id.removeprefix("m")) for id in record.original_message_ids]
        turns = [
            f"Turn {at}:\nUser: {said(of)['content']}\nAssistant: {said(of + 1)['content']}"
            for at, of in enumerate(ids[::2], 1)
        ]
        assert text == (
            f"=== EXISTING_SUMMARY ===\n{existing}\n=== END_EXISTING_SUMMARY ===\n\n"
            "=== NEW_TURNS ===\n" + "\n\n".join(turns) + "\n=== END_NEW_TURNS ==="
        )


def test_B13_an_identical_request_is_answered_from_the_cache(url: str, upstream: Upstream) -> None:
    with opened(url, upstream) as memory:
        chat = memory.chat("c", preset="chain", context_window=WINDOW, wait=True)
        last = until_fold(chat, 0)
        before = chat.summary
        chat.rewind(f"m{last - 1}")
        assert chat.records == []
        talk(chat, last, last)
        assert (chat.summary, len(chat.records)) == (before, 1)
        assert len(bodies(upstream)) == 1


# B14: drift and edges ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "wait"), [("chain", True), ("rolling", False), ("default", False)])
def test_B14_an_early_technical_term_is_still_there_after_the_second_fold(
    url: str, upstream: Upstream, kind: str, wait: bool
) -> None:
    with opened(url, upstream) as memory:
        chat = memory.chat("c", preset=kind, context_window=WINDOW, wait=wait)
        chat.add([user("We decided to index with HNSW in PostgreSQL 16."), assistant("Fine.")])
        number = 2
        while len([data for data in folds(chat) if data["author"] == "summarizer"]) < 2:
            number += 1
            chat.add(said(number))
            chat.settle()
        assert "HNSW" in chat.summary
        assert "PostgreSQL 16" in chat.summary
        assert "HNSW" in chat.context(max_tokens=2000).to("text")


@pytest.mark.parametrize(("kind", "wait"), [("chain", True), ("rolling", False), ("default", False)])
def test_B14_one_extremely_long_message(url: str, upstream: Upstream, kind: str, wait: bool) -> None:
    with opened(url, upstream) as memory:
        chat = memory.chat("c", preset=kind, context_window=20_000, wait=wait)
        chat.add(user(f"My ticket number for leg 1 is FACT-1201. {words(50_000)}"), id="m1")
        talk(chat, 2, 16)
        chat.settle()
        assert active(url)[0][2] == "summarizer"
        assert "FACT-1201" in chat.summary
        assert max(count(text) for text in asked(upstream)) <= 8600
        assert_nothing_lost(memory, chat, 16)


def test_B14_tool_output_does_not_bloat_prompt_or_summary(url: str, upstream: Upstream) -> None:
    with opened(url, upstream) as memory:
        chat = memory.chat("c", preset="chain", context_window=20_000, wait=True)
        log = "\n".join(
            f"2026-01-01T00:00:{at % 60:02d} INFO worker-{at} handled request {at * 7} in {at}ms" for at in range(800)
        )
        chat.add([said(1), call("a"), result("a", log), *map(said, range(4, 16))])
        (text,) = asked(upstream)
        assert count(text) < 900
        assert count(chat.summary) <= 500
        assert "FACT-1201" in chat.summary
