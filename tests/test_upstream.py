"""The scripted provider does what the other tests rely on."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest

from tests.upstream import STATUSES, Upstream, step

ITEMS = """<memory>
[M1] decisions: The team uses PostgreSQL 16.
[M2] open: User will send the report.
</memory>
<messages>
[12] user (2026-03-01): Hello there. I'm allergic to peanuts since 1999, and
my sister lives in Lyon.
[13] assistant (2026-03-01): Noted: FACT-0123 holds. We decided on Redis 7.
[14] tool: the rows are in report.md, all 41 of them, and whatever happens to the others we must not delete a single one
</messages>"""
CHAIN = """<meta total_messages=3 total_tokens=90 depth=1 />
<memory>
[M1] facts: User lives in Lyon.
</memory>
[5] user: We decided to move to Berlin on 2026-05-01.
[6] assistant: I will book the van by 3 May. Do you have 20 boxes?
several lines, also 12 of them"""
TURNS = """=== EXISTING_SUMMARY ===
## Decisions Made
- The team uses PostgreSQL 16.
=== END_EXISTING_SUMMARY ===

=== NEW_TURNS ===
Turn 1:
User: My budget is 600 euros.
Assistant: I will not go over 600.

Turn 2:
User: Let's meet Anna on 4 June.
=== END_NEW_TURNS ==="""


def post(
    upstream: Upstream, path: str, body: dict[str, Any], timeout: float = 30
) -> tuple[int, http.client.HTTPMessage, str]:
    connection = http.client.HTTPConnection("127.0.0.1", upstream.port, timeout=timeout)
    try:
        connection.request("POST", f"/v1{path}", json.dumps(body), {"Authorization": "Bearer secret"})
        response = connection.getresponse()
        return response.status, response.headers, response.read().decode()
    finally:
        connection.close()


def chat(upstream: Upstream, user: str, system: str = "You keep the memory of a conversation.") -> dict[str, Any]:
    body = {"model": "m", "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}]}
    status, _, text = post(upstream, "/chat/completions", body)
    assert status == 200
    data: dict[str, Any] = json.loads(text)
    return data


def items(upstream: Upstream, user: str = ITEMS) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(chat(upstream, user)["choices"][0]["message"]["content"])["items"]
    return found


def test_items_are_told_in_the_third_person_with_their_sources(upstream: Upstream) -> None:
    found = items(upstream)
    assert found[:2] == [
        {"section": "decisions", "text": "The team uses PostgreSQL 16.", "sources": ["M1"]},
        {"section": "open", "text": "User will send the report.", "sources": ["M2"]},
    ]
    texts = {item["text"]: (item["section"], item["sources"]) for item in found[2:]}
    assert texts == {
        "User is allergic to peanuts since 1999, and User's sister lives in.": ("facts", ["12"]),
        "Noted: FACT-0123 holds.": ("facts", ["13"]),
        "We decided on Redis 7.": ("decisions", ["13"]),
        "Report.md, all 41 of them, … must not delete a single.": ("facts", ["14"]),
    }


def test_records(upstream: Upstream) -> None:
    answer = json.loads(chat(upstream, CHAIN)["choices"][0]["message"]["content"])
    context = answer["context"]
    assert answer["key_points"][0] == {"text": "User lives in Lyon.", "sources": ["M1"]}
    assert answer["summary"].startswith("User lives in Lyon. Apart from that: We decided")
    assert context["participants"] == ["assistant", "user"]
    assert context["decisions"] == [{"text": "We decided to move to Berlin on 2026-05-01.", "sources": ["5"]}]
    assert context["action_items"] == [
        {"owner": "Assistant", "task": "Assistant will book the van by 3 May.", "due": "3 May", "sources": ["6"]}
    ]
    assert context["unresolved"] == [{"text": "Do you have 20 boxes?", "sources": ["6"]}]


def test_turns_as_items_and_for_a_hosted_prompt_as_text(upstream: Upstream) -> None:
    found = items(upstream, TURNS)
    assert found == [
        {"section": "decisions", "text": "The team uses PostgreSQL 16.", "sources": []},
        {"section": "facts", "text": "User's budget is 600 euros.", "sources": ["1"]},
        {"section": "open", "text": "Assistant will not go over 600.", "sources": ["1"]},
        {"section": "decisions", "text": "Let's meet Anna on 4 June.", "sources": ["2"]},
    ]
    _, _, text = post(upstream, "/responses", {"prompt": {"id": "pmpt_1", "version": "2"}, "input": TURNS})
    assert json.loads(text)["output"][0]["content"][0]["text"].splitlines()[:2] == [
        "## Facts / Constraints",
        "- User's budget is 600 euros.",
    ]


def test_anthropic_answers_with_the_tool_it_must_use(upstream: Upstream) -> None:
    body: dict[str, Any] = {"model": "m", "system": [{"type": "text", "text": "s"}], "max_tokens": 9}
    body["messages"] = [{"role": "user", "content": ITEMS}]
    plain = json.loads(post(upstream, "/messages", body)[2])
    forced = json.loads(post(upstream, "/messages", {**body, "tool_choice": {"type": "tool", "name": "write"}})[2])
    assert forced["content"][0]["input"] == json.loads(plain["content"][0]["text"])
    assert (plain["stop_reason"], forced["stop_reason"]) == ("end_turn", "tool_use")


def test_a_plain_chat_gets_a_reply_and_the_second_prompt_is_cached(upstream: Upstream) -> None:
    first, second = (chat(upstream, "Hi!", "You help. " * 100) for _ in range(2))
    assert first["choices"][0]["message"]["content"] == "ok"
    assert first["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
    assert 0 < second["usage"]["prompt_tokens_details"]["cached_tokens"] <= second["usage"]["prompt_tokens"]


def test_a_script_is_taken_step_by_step_and_requests_are_recorded_without_keys(upstream: Upstream) -> None:
    upstream.script(["503", step("429", retry_after=7), {"status": 418, "body": {"tea": 1}}, step("500", forever=True)])
    answers = [post(upstream, "/chat/completions", {"messages": []}) for _ in range(5)]
    assert [status for status, _, _ in answers] == [503, 429, 418, 500, 500]
    assert answers[1][1]["retry-after"] == "7"
    assert json.loads(answers[2][2]) == {"tea": 1}
    seen = upstream.requests()
    assert [request["step"] for request in seen] == ["503", "429", 418, "500", "500"]
    assert all(request["authorized"] and "authorization" not in request["headers"] for request in seen)
    upstream.reset()
    assert upstream.requests() == []
    assert items(upstream)


def test_an_unknown_step_is_an_error(upstream: Upstream) -> None:
    with pytest.raises(AssertionError, match="no such step"):
        upstream.script(["goood"])


@pytest.mark.parametrize("name", STATUSES)
def test_statuses(upstream: Upstream, name: str) -> None:
    upstream.script([name])
    status, _, text = post(upstream, "/chat/completions", {"messages": []})
    assert status == STATUSES[name][0]
    assert json.loads(text)["error"]["code"] == STATUSES[name][1]


def test_faults_of_the_line(upstream: Upstream) -> None:
    body = {"messages": [{"role": "user", "content": ITEMS}]}
    upstream.script(["timeout", "drip", "reset", step("good:slow", seconds=0.01), "html"])
    with pytest.raises(TimeoutError):
        post(upstream, "/chat/completions", body, timeout=0.3)
    connection = http.client.HTTPConnection("127.0.0.1", upstream.port, timeout=30)
    connection.request("POST", "/v1/chat/completions", json.dumps(body))
    assert connection.getresponse().read(2) == b"  "
    connection.close()
    with pytest.raises((ConnectionResetError, http.client.IncompleteRead)):
        post(upstream, "/chat/completions", body)
    assert post(upstream, "/chat/completions", body)[0] == 200
    assert post(upstream, "/chat/completions", body)[2].startswith("<!DOCTYPE html>")


def test_faults_of_the_answer(upstream: Upstream) -> None:
    def first(name: str) -> dict[str, Any]:
        upstream.script([name])
        choice: dict[str, Any] = chat(upstream, ITEMS)["choices"][0]
        return choice

    said = {name: first(name)["message"]["content"] for name in ("empty", "null", "text", "fenced", "wrong_schema")}
    assert (said["empty"], said["null"]) == ("", None)
    assert "{" not in said["text"]
    assert "```json\n{" in said["fenced"]
    assert "items" not in json.loads(said["wrong_schema"])
    assert first("refusal")["message"]["refusal"]
    for name, reason in (("malformed", "stop"), ("truncated", "length")):
        choice = first(name)
        assert choice["finish_reason"] == reason
        with pytest.raises(json.JSONDecodeError):
            json.loads(choice["message"]["content"])
    assert 300_000 < len(first("huge")["message"]["content"]) < 800_000


def test_answers_that_are_wrong(upstream: Upstream) -> None:
    def told(name: str) -> list[dict[str, Any]]:
        upstream.script([name])
        return items(upstream)

    good = items(upstream)
    assert "The team uses PostgreSQL 49." in [item["text"] for item in told("invented_numbers")]
    flipped = [item["text"] for item in told("flipped")]
    assert "User will not send the report." in flipped
    assert not {item["text"] for item in good} & set(flipped)
    assert len(told("lost")) == 1
    assert told("echo")[1]["text"].startswith("assistant (2026-03-01): Noted: FACT-0123")
    assert told("extra_sources")[0]["sources"] == ["999999", "M999"]
    assert told("prompt_echo")[0]["text"] == "You keep the memory of a conversation."


def test_connections_are_refused_once_it_is_closed() -> None:
    with Upstream() as upstream:
        assert items(upstream)
    with pytest.raises(ConnectionRefusedError):
        post(upstream, "/chat/completions", {})
