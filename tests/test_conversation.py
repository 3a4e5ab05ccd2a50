"""B6: summarizing a slice of a conversation on its own."""

from __future__ import annotations

import asyncio
import re
from typing import Any
from uuid import UUID

import pytest

from infold import Model, SummarizationConfig, SummarizationInput, SummarizeResult, summarize_conversation
from infold.messages import parse
from infold.models import caller
from infold.records import ActionItem, SummaryContext, SummaryRecord
from infold.tokens import count
from tests.conftest import assistant, call, result, user, words
from tests.test_model_faults import assert_true, said
from tests.upstream import Step, Upstream, step

TALK = [said(number) for number in range(1, 9)]


def summarize(messages: Any, model: Any, **more: Any) -> SummarizeResult:
    return asyncio.run(summarize_conversation(SummarizationInput(messages, model=model, **more)))


def asked(upstream: Upstream) -> list[str]:
    return [request["body"]["messages"][-1]["content"] for request in upstream.requests()]


def test_B6_ok_is_a_record(upstream: Upstream) -> None:
    outcome = summarize(TALK, f"{upstream.url}#gpt-test")
    assert outcome.ok
    assert (outcome.error, outcome.retryable) == (None, False)
    record = outcome.record
    assert record is not None
    assert UUID(record.id)
    assert (record.depth, record.parent_id) == (0, None)
    assert record.original_message_ids == tuple("12345678")
    assert record.context.participants == ("user", "assistant")
    assert "User's ticket number for leg 1 is FACT-1201." in record.key_points
    assert_true("\n".join(record.key_points))
    assert 0 < record.token_estimate <= 500
    assert [call.outcome for call in outcome.calls] == ["ok"]


def test_B6_messages_keep_their_own_ids_and_may_be_of_any_format(upstream: Upstream) -> None:
    messages = [
        {**TALK[0], "id": "first"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": TALK[1]["content"]}]},
        parse({**TALK[2], "id": "third"}),
    ]
    record = summarize(messages, f"{upstream.url}#gpt-test").record
    assert record is not None
    assert record.original_message_ids == ("first", "2", "third")
    assert "FACT-1203" in "".join(record.key_points)


@pytest.mark.parametrize(
    ("script", "error", "retryable"),
    [
        ([step("503", forever=True)], "TransportError", True),
        ([step("429", retry_after=60)], "TransportError", True),
        ([step("timeout", forever=True)], "TransportError", True),
        ([step("reset", forever=True)], "TransportError", True),
        (["401"], "DeniedError", False),
        (["404"], "DeniedError", False),
        (["empty"], "BadAnswerError", False),
        (["refusal"], "BadAnswerError", False),
        (["html"], "BadAnswerError", False),
        (["malformed"], "AnswerError", False),
        (["wrong_schema"], "AnswerError", False),
        (["text"], "AnswerError", False),
        (["flipped"], "RejectedError", False),
        (["invented_numbers"], "RejectedError", False),
        ([step("truncated", forever=True)], "TooLargeError", False),
    ],
    ids=str,
)
def test_B6_an_error_says_whether_trying_again_may_help(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch, script: list[str | Step], error: str, retryable: bool
) -> None:
    monkeypatch.setattr(caller, "BACKOFF", 0.01)
    upstream.script(script)
    outcome = summarize(TALK, Model("gpt-test", base_url=upstream.url, timeout=0.3 if "timeout" in str(script) else 20))
    assert not outcome.ok
    assert outcome.record is None
    assert (type(outcome.error).__name__, outcome.retryable) == (error, retryable)
    assert outcome.calls
    assert all(call.outcome != "ok" for call in outcome.calls)


def test_B6_nobody_there_is_retryable(nobody: str) -> None:
    outcome = summarize(TALK, f"{nobody}#gpt-test")
    assert (type(outcome.error).__name__, outcome.retryable) == ("TransportError", True)


def test_B7_one_retry_is_enough_where_the_second_answer_is_good(upstream: Upstream) -> None:
    upstream.script(["503"])
    outcome = summarize(TALK, f"{upstream.url}#gpt-test")
    assert outcome.ok
    assert [call.outcome for call in outcome.calls] == ["transport", "ok"]


def test_B10_models_are_tried_in_turn(upstream: Upstream) -> None:
    upstream.script(["malformed"])
    config = SummarizationConfig(summarizer_model_preference=("small", "large"))
    outcome = summarize(TALK, f"{upstream.url}#ignored", config=config)
    assert outcome.ok
    assert [request["body"]["model"] for request in upstream.requests()] == ["small", "large"]


def test_B6_the_environment_names_a_model(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORY_SUMMARIZER_MODEL", raising=False)
    assert not summarize(TALK, None).ok
    monkeypatch.setenv("MEMORY_SUMMARIZER_MODEL", f"{upstream.url}#env")
    assert summarize(TALK, None).ok
    assert upstream.requests()[0]["body"]["model"] == "env"


def test_B6_nothing_to_summarize_is_an_error_and_nobody_is_asked(upstream: Upstream) -> None:
    outcome = summarize([], f"{upstream.url}#gpt-test")
    assert (outcome.ok, outcome.retryable) == (False, False)
    assert upstream.requests() == []


def test_B6_mechanical_noise_is_filtered(upstream: Upstream) -> None:
    noise = [
        {"role": "system", "content": "Be terse-4711."},
        call("a", "b"),
        result("a"),
        result("b", f"BK-4711 {words(3000)}"),
    ]
    assert summarize([TALK[0], *noise, *TALK[1:]], f"{upstream.url}#gpt-test").ok
    (text,) = asked(upstream)
    assert "terse-4711" not in text
    assert '{"ok": true}' not in text
    assert "BK-4711" in text
    assert count(text) < 800


def test_B6_prompt_and_schema(upstream: Upstream) -> None:
    summarize(TALK, f"{upstream.url}#gpt-test", depth=2)
    (request,) = upstream.requests()
    text = asked(upstream)[0]
    header = re.match(r"<meta total_messages=(\d+) total_tokens=(\d+) depth=(\d+) />\n", text)
    assert header is not None
    assert (header[1], header[3]) == ("8", "2")
    assert int(header[2]) > 100
    schema = request["body"]["response_format"]["json_schema"]["schema"]
    assert set(schema["properties"]) == {"summary", "key_points", "context"}
    context = schema["properties"]["context"]["properties"]
    assert set(context) == {"participants", "decisions", "action_items", "unresolved", "domain_entities"}
    assert all(array["maxItems"] == 30 for array in (schema["properties"]["key_points"], *context.values()))


def parent(**more: Any) -> SummaryRecord:
    context = SummaryContext(
        participants=("user",),
        decisions=("PostgreSQL 16 stays",),
        action_items=(ActionItem("Anna calls the plumber back", "Anna", "3 May"),),
        unresolved=("Which seat is free?",),
        domain_entities=("schema.sql",),
    )
    points = (
        "User lives in Lyon", "PostgreSQL 16 stays", "Anna calls the plumber back (owner Anna, due 3 May)",
        "Which seat is free?", "schema.sql",
    )  # fmt: skip
    return SummaryRecord("p-1", 1, 0, None, "Some prose.", points, context, ("x",), 60, **more)


def test_B8_the_record_before_is_compressed_along(upstream: Upstream) -> None:
    outcome = summarize(TALK, f"{upstream.url}#gpt-test", depth=1, parent=parent())
    record = outcome.record
    assert record is not None
    assert (record.depth, record.parent_id) == (1, "p-1")
    assert record.original_message_ids == tuple("12345678")  # only what is newly covered
    known = "\n".join(record.key_points)
    assert all(word in known for word in ("Lyon", "PostgreSQL 16", "plumber", "schema.sql", "FACT-1207"))
    assert "PostgreSQL 16 stays" in record.context.decisions
    assert "Which seat is free?" in record.context.unresolved


def test_B8_each_line_of_the_record_before_is_given_once_and_whole(upstream: Upstream) -> None:
    summarize(TALK, f"{upstream.url}#gpt-test", depth=1, parent=parent())
    given = re.findall(r"^\[M\d+\] (\w+): (.*)$", asked(upstream)[0], re.MULTILINE)
    assert sorted(given) == sorted(
        [
            ("facts", "User lives in Lyon"),
            ("decisions", "PostgreSQL 16 stays"),
            ("open", "Anna calls the plumber back (owner Anna, due 3 May)"),
            ("open", "Which seat is free?"),
            ("artifacts", "schema.sql"),
        ]
    )


def test_B8_the_record_before_can_be_compressed_alone(upstream: Upstream) -> None:
    record = summarize([], f"{upstream.url}#gpt-test", depth=1, parent=parent()).record
    assert record is not None
    assert record.original_message_ids == ()
    assert "User lives in Lyon" in record.key_points


def test_B9_a_long_slice_is_read_in_passes(upstream: Upstream) -> None:
    messages = [{**m, "content": f"{m['content']} {words(3000)}"} for m in TALK]
    outcome = summarize(messages, f"{upstream.url}#gpt-test")
    assert len(asked(upstream)) == len(outcome.calls) == 4
    record = outcome.record
    assert record is not None
    assert record.original_message_ids == tuple("12345678")
    assert all(f"FACT-{1200 + number}" in "".join(record.key_points) for number in (1, 3, 5, 7))


def test_B6_a_later_pass_that_fails_gives_no_record(upstream: Upstream) -> None:
    """A record that claims all messages and read only some would be a lie."""
    upstream.script(["good", step("503", forever=True)])
    messages = [{**m, "content": f"{m['content']} {words(3000)}"} for m in TALK]
    outcome = summarize(messages, f"{upstream.url}#gpt-test")
    assert (outcome.ok, outcome.retryable) == (False, True)


def test_B6_several_run_at_once(upstream: Upstream) -> None:
    async def three() -> list[SummarizeResult]:
        inputs = [SummarizationInput(TALK[: 2 + 2 * at], model=f"{upstream.url}#gpt-test") for at in range(3)]
        return list(await asyncio.gather(*map(summarize_conversation, inputs)))

    outcomes = asyncio.run(three())
    assert [len(outcome.record.original_message_ids) for outcome in outcomes if outcome.record] == [2, 4, 6]


def test_B6_assistant_words_count_as_well(upstream: Upstream) -> None:
    record = summarize([user("And?"), assistant("We decided on gate B712.")], f"{upstream.url}#gpt-test").record
    assert record is not None
    assert any("B712" in line for line in record.key_points)
