"""What becomes of a model's answer: lines that hold, with their sources; nothing else."""

from __future__ import annotations

import json
import logging
import re
from typing import Any

import pytest

from infold import Chat, Memory, Model, Policy, SummarizationConfig, SummarizerError, preset
from infold.models import caller
from tests.test_model_crash import active, due, wait_until
from tests.test_model_faults import assert_true, talk, verdicts
from tests.test_model_folds import CHUNKED, opened, until_fold, written
from tests.test_summarizer import assert_nothing_lost, failures
from tests.upstream import Upstream, step


def assert_cites_its_sources(chat: Chat) -> None:
    """Every line of memory names messages that exist, among them the one that says what it says."""
    said = {message.seq: message.text for message in chat.messages()}
    items = chat.memory.items
    assert items
    for item in items:
        assert item.sources
        assert set(item.sources) <= said.keys()
        (sign,) = re.findall(r"FACT-\d+|seat \d+", item.text)
        assert any(sign in said[seq] for seq in item.sources), item


@pytest.mark.parametrize("answer", ["good", "extra_sources"])
@pytest.mark.parametrize("config", [preset("rolling", {}), preset("default", {}), CHUNKED], ids=lambda c: c.name)
def test_F5_every_line_a_model_wrote_cites_the_messages_it_comes_from(
    url: str, upstream: Upstream, config: Policy, answer: str
) -> None:
    upstream.script([step(answer, forever=True)])
    with opened(url, upstream) as memory:
        chat = memory.chat("c", config=config, context_window=600)
        talk(chat, 1, 40)
        chat.settle()
        assert {author for _, _, author in active(url)} == {"summarizer"}
        assert_cites_its_sources(chat)


def answer(*lines: tuple[str, str, str]) -> dict[str, Any]:
    items = [{"section": section, "text": text, "sources": [mark]} for section, text, mark in lines]
    message = {"role": "assistant", "content": json.dumps({"items": items})}
    return {"status": 200, "body": {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}}


def test_F3_wrong_lines_of_an_answer_are_never_committed(url: str, upstream: Upstream) -> None:
    upstream.script(
        [
            answer(
                ("facts", "User holds ticket FACT-1201 for leg 1", "1"),
                ("facts", "The ticket of leg 3 has the number FACT-9999", "3"),
                ("decisions", "User decided to marry Margaret in Reykjavik", "5"),
                ("open", "Seat 702 must not be booked until Anna agrees", "2"),
                ("open", "Seat 704 must not be booked until Anna agrees", "4"),
            )
        ]
    )
    with opened(url, upstream) as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        talk(chat, 1, 12)
        assert "User holds ticket FACT-1201 for leg 1" in chat.summary
        assert "FACT-1203" not in chat.summary  # nothing is put in a line's place
        assert not re.search("FACT-9999|Margaret|Reykjavik|marry", chat.summary)
        (verdict,) = verdicts(chat)
        assert verdict["verdict"] == "mended"
        assert sum(action == "dropped" for _, action, _ in verdict["findings"]) == 2
        assert chat.usage().calls[0].outcome == "ok"


def test_F3_lines_know_how_often_a_model_rewrote_them(url: str, upstream: Upstream) -> None:
    def rewrites() -> dict[str, int]:
        return {item.text: item.rewrites for item in chat.memory.items}

    upstream.script(
        [
            answer(("facts", "Leg 1 runs on ticket FACT-1201", "1")),
            answer(
                ("facts", "FACT-1201 is what leg 1 runs on", "M1"), ("facts", "Leg 7 runs on ticket FACT-1207", "7")
            ),
        ]
    )
    with opened(url, upstream) as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        talk(chat, 1, 12)
        assert rewrites()["Leg 1 runs on ticket FACT-1201"] == 1
        assert all(times == 0 for text, times in rewrites().items() if "FACT-1201" not in text)
        talk(chat, 13, 18)
        assert rewrites()["FACT-1201 is what leg 1 runs on"] == 2
        assert rewrites()["Leg 7 runs on ticket FACT-1207"] == 1


def test_C7_a_model_behind_the_anthropic_api(url: str, upstream: Upstream) -> None:
    with Memory(url, model=Model("claude-x", "anthropic", base_url=upstream.root)) as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        talk(chat, 1, 12)
        (request,) = upstream.requests()
        assert (request["path"], request["body"]["model"]) == ("/v1/messages", "claude-x")
        assert written(url)[0][1] == f"anthropic:claude-x@{upstream.root}"
        assert not failures(chat)
        assert_true(chat.summary)
        assert_cites_its_sources(chat)


def test_C7_a_hosted_prompt_gets_one_input_and_its_text_becomes_items(
    url: str, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPT_VERSION_SUMMARY_GLOBAL", "7")
    monkeypatch.setenv("OPENAI_API_KEY", "a key of nobody")
    monkeypatch.setenv("OPENAI_BASE_URL", upstream.url)
    with Memory(url) as memory:
        chat = memory.chat("c", config=CHUNKED)
        last = until_fold(chat, 0)
        (request, *_) = upstream.requests()
        assert request["path"] == "/v1/responses"
        assert set(request["body"]) == {"prompt", "input"}
        assert request["body"]["prompt"] == {
            "id": "pmpt_6917ebe9367c819396fe4840cf0f0e050c18a965a3366120", "version": "7"
        }  # fmt: skip
        assert request["body"]["input"].startswith("=== EXISTING_SUMMARY ===\nNONE\n")
        assert active(url)[0][2] == "summarizer"
        assert_cites_its_sources(chat)
        assert_nothing_lost(memory, chat, last)


def test_C7_the_hosted_prompt_is_for_chunked_alone(
    url: str, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPT_VERSION_SUMMARY_GLOBAL", "7")
    monkeypatch.setenv("OPENAI_BASE_URL", upstream.url)
    with Memory(url) as memory:
        chat = memory.chat("c", preset="rolling")
        talk(chat, 1, 12)
        chat.settle()
        assert active(url) == [(1, 6, "extractive")]
        assert upstream.requests() == []


def test_B7_the_beginning_of_a_bad_answer_is_logged_sanitized(
    url: str, upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "infold")
    raw = "Sure!\x1b[31m\nThe ticket is FACT-1201 " + "x" * 500
    upstream.script([{"status": 200, "body": completion(raw)}])
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        talk(chat, 1, 12)
        assert [data["error"] for data in failures(chat)] == ["AnswerError"]
    (line,) = [entry for entry in caplog.records if "Sure!" in entry.getMessage()]
    assert line.levelno == logging.DEBUG
    said = line.getMessage()
    assert "The ticket is FACT-1201 xxx" in said
    assert said.isprintable()
    assert 100 < said.count("x") <= 200


def test_B7_a_model_that_gave_a_bad_answer_is_not_asked_the_same_again(url: str, upstream: Upstream) -> None:
    upstream.script([step("malformed", forever=True)])
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = memory.chat("c", preset="rolling")
        talk(chat, 1, 12)
        chat.settle()
        for number in range(13, 17):  # nothing new is due
            talk(chat, number, number)
            chat.settle()
        assert len(upstream.requests()) == 1
        talk(chat, 17, 18)
        chat.settle()
        assert len(upstream.requests()) == 2  # another range is another request
        assert len(failures(chat)) == 2


def test_B7_abort_on_failure_raises_and_loses_nothing(url: str, upstream: Upstream) -> None:
    upstream.script(["malformed"])
    config = SummarizationConfig(abort_on_failure=True)
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = memory.chat("c", config=config, context_window=400, wait=True)
        number = 0
        with pytest.raises(SummarizerError, match="every message is stored"):
            while not chat.records:
                number += 1
                talk(chat, number, number)
        assert_nothing_lost(memory, chat, number)
        assert len(failures(chat)) == len(chat.usage().calls) == 1
        talk(chat, number + 1, number + 1)  # and the next fold covers them all
        assert len(chat.records) == 1
        assert_nothing_lost(memory, chat, number + 1)


@pytest.mark.parametrize(("kind", "wait", "window"), [("rolling", False, 8192), ("chain", False, 400)])
def test_F9_what_is_taken_back_while_the_model_reads_it_is_not_remembered(
    url: str, upstream: Upstream, kind: str, wait: bool, window: int
) -> None:
    upstream.script([step("good:slow", seconds=0.5)])
    last = due(kind, window)
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = memory.chat("c", preset=kind, context_window=window, wait=wait)
        talk(chat, 1, last)
        wait_until(upstream.requests)
        chat.rewind("m2")
        chat.settle()
        assert chat.records == []
        assert chat.summary == ""
        assert_nothing_lost(memory, chat, 2)
        talk(chat, 3, last)
        chat.settle()
        assert [author for _, _, author in active(url)] == ["summarizer"]
        assert_nothing_lost(memory, chat, last)


@pytest.mark.parametrize("change", ["pin", "policy", "title"])
def test_F9_what_changes_while_the_model_reads_holds_afterwards(url: str, upstream: Upstream, change: str) -> None:
    upstream.script([step("good:slow", seconds=0.5)])
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = memory.chat("c", preset="rolling")
        talk(chat, 1, 12)
        wait_until(upstream.requests)
        if change == "pin":
            chat.pin("Never call Bob")
        elif change == "policy":
            chat.set_policy(preset("rolling", {}, summary_cap=40))
        else:
            chat.title = "Tickets"
        chat.settle()
        assert active(url) == [(1, 6, "summarizer")]
        assert ("Never call Bob" in chat.summary) == (change == "pin")
        assert change != "policy" or sum(item.tokens for item in chat.memory.items) <= 40
        assert_nothing_lost(memory, chat, 12)


# Strange but possible ------------------------------------------------------------------------------------


def completion(content: str, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return {"choices": [choice], **more}


GOOD = json.dumps({"items": [{"section": "facts", "text": "Leg 1 runs on ticket FACT-1201", "sources": ["1"]}]})
EMPTY: dict[str, list[str]] = {
    "participants": [],
    "decisions": [],
    "action_items": [],
    "unresolved": [],
    "domain_entities": [],
}
TICKET = "User's ticket number for leg 1 is FACT-1201"


def record(narrative: str) -> str:
    return json.dumps({"summary": narrative, "key_points": [{"text": TICKET, "sources": ["1"]}], "context": EMPTY})


STRANGE: dict[str, dict[str, Any]] = {
    "huge usage": {"status": 200, "body": completion(GOOD, usage={"prompt_tokens": 10**30, "completion_tokens": 10**30})},
    "negative usage": {"status": 200, "body": completion(GOOD, usage={"prompt_tokens": -5, "completion_tokens": 1.5})},
    "usage of text": {"status": 200, "body": completion(GOOD, usage="many")},
    "model of another kind": {"status": 200, "body": completion(GOOD, model=["\ud800"])},
    "no choices": {"status": 200, "body": {"choices": []}},
    "choices of text": {"status": 200, "body": {"choices": "x"}},
    "message of text": {"status": 200, "body": {"choices": [{"message": "x"}]}},
    "a list": {"status": 200, "body": []},
    "a number": {"status": 200, "body": "42"},
    "no body": {"status": 200, "body": ""},
    "no content": {"status": 204, "body": ""},
    "redirect": {"status": 302, "body": "", "headers": {"Location": "/elsewhere"}},
    "teapot": {"status": 418, "body": "short and stout"},
    "half a surrogate in the error": {"status": 400, "body": {"error": {"message": "bad \ud800\u0000\u001b[31m", "code": "x"}}},
    "error of another kind": {"status": 400, "body": {"error": ["x"]}},
    "waits for nan": {"status": 503, "body": {}, "headers": {"retry-after": "nan"}},
    "waits forever": {"status": 503, "body": {}, "headers": {"retry-after": "inf"}},
    "waits for yesterday": {"status": 503, "body": {}, "headers": {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}},
    "waits for less than nothing": {"status": 503, "body": {}, "headers": {"retry-after-ms": "-5000"}},
    "half a surrogate in the prose": {"status": 200, "body": completion(record(f"{TICKET} \ud800"))},
    "nul in the prose": {"status": 200, "body": completion(record(f"{TICKET}.\0"))},
}  # fmt: skip


@pytest.mark.parametrize(("kind", "wait", "window"), [("rolling", False, 8192), ("chain", True, 400)])
@pytest.mark.parametrize("reply", STRANGE.values(), ids=STRANGE.keys())
def test_F9_strange_replies_break_nothing(
    url: str,
    upstream: Upstream,
    monkeypatch: pytest.MonkeyPatch,
    reply: dict[str, Any],
    kind: str,
    wait: bool,
    window: int,
) -> None:
    """Either they are used, or a failure is recorded; in both cases the chat goes on."""
    monkeypatch.setattr(caller, "BACKOFF", 0.01)
    upstream.script([{**reply, "forever": True}])
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = memory.chat("c", preset=kind, context_window=window, wait=wait)
        talk(chat, 1, 20)
        chat.settle()
        assert upstream.requests()
        assert failures(chat) or {author for _, _, author in active(url)} == {"summarizer"}
        assert len(chat.usage().calls) == len(upstream.requests())
        assert_nothing_lost(memory, chat, 20)
        upstream.script([])
        talk(chat, 21, 24)
        chat.settle()
        assert_nothing_lost(memory, chat, 24)
