"""What folding with models took: every call, its tokens and its price."""

from __future__ import annotations

from typing import Any

import pytest

from infold import Memory, Model
from infold.ledger.rows import Call
from infold.models import caller
from infold.reports import usage
from tests import rawsql
from tests.test_model_faults import talk
from tests.upstream import Upstream, step

REPLY = '{"items": [{"section": "facts", "text": "Leg 1 runs on ticket FACT-1201", "sources": ["1"]}]}'


def reply(tokens_in: int, tokens_out: int, cached: int) -> dict[str, Any]:
    """A good answer that took so much."""
    message = {"role": "assistant", "content": REPLY}
    used = {
        "prompt_tokens": tokens_in,
        "completion_tokens": tokens_out,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"status": 200, "body": {"choices": [choice], "usage": used}}


def test_usage_calls_tokens_and_cache_are_summed_up(url: str, upstream: Upstream) -> None:
    upstream.script([reply(1000, 50, 0), reply(1200, 70, 896)])
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        assert chat.usage().calls == ()
        talk(chat, 1, 18)
        used = chat.usage()
        (model,) = used.models
        assert (model.model, model.calls, model.failed) == (f"openai:gpt-test@{upstream.url}", 2, 0)
        assert (model.tokens_in, model.tokens_out, model.cached) == (2200, 120, 896)
        assert model.duration == sum(call.duration for call in used.calls)
        assert (model.cost, used.cost) == (None, None)  # a server's own models have no price
        assert [(call.outcome, call.fold) for call in used.calls] == [("ok", 1), ("ok", 2)]
        assert all(call.created_at > 0 for call in used.calls)


@pytest.mark.parametrize(("name", "provider"), [("gpt-5-nano", "openai"), ("claude-haiku-4-5", "anthropic")])
def test_usage_a_known_model_has_a_price(
    url: str, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, name: str, provider: str
) -> None:
    pytest.importorskip("genai_prices")
    monkeypatch.setenv("OPENAI_BASE_URL", upstream.url)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", upstream.root)
    monkeypatch.setenv("OPENAI_API_KEY", "a key of nobody")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a key of nobody")
    with Memory(url, model=f"{provider}:{name}") as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        talk(chat, 1, 18)
        used = chat.usage()
        (model,) = used.models
        assert (model.model, model.calls, model.failed) == (f"{provider}:{name}", 2, 0)
        assert used.cost is not None
        assert 0 < used.cost < 0.1
        assert used.cost == pytest.approx(sum(call.cost or 0 for call in used.calls) / 1e9)
        assert used.calls[1].cached > 0


def test_usage_a_model_that_nobody_has_heard_of_has_no_price(
    url: str, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", upstream.url)
    monkeypatch.setenv("OPENAI_API_KEY", "a key of nobody")
    with Memory(url, model="openai:nobody-has-heard-of-it") as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        talk(chat, 1, 12)
        assert len(chat.usage().calls) == 1
        assert chat.usage().cost is None


def test_B7_calls_that_failed_are_recorded_too(
    url: str, upstream: Upstream, nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caller, "BACKOFF", 0.01)
    upstream.script(["503", "503", "malformed", "flipped", "401"])
    models = [
        Model("dead", base_url=nobody),
        *(Model(name, base_url=upstream.url) for name in ("a", "b", "c", "d", "e")),
    ]
    with Memory(url, model=models) as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        talk(chat, 1, 12)
        used = chat.usage()
        assert [(call.model.split(":")[1].split("@")[0], call.outcome, call.fold) for call in used.calls] == [
            ("dead", "transport", 1),
            ("dead", "transport", 1),
            ("a", "transport", 1),
            ("a", "transport", 1),
            ("b", "bad answer", 1),
            ("c", "rejected", 1),
            ("d", "denied", 1),
            ("e", "ok", 1),
        ]
        assert [(model.calls, model.failed) for model in used.models] == [
            (2, 2),
            (2, 2),
            (1, 1),
            (1, 1),
            (1, 1),
            (1, 0),
        ]
        spent = {call.outcome: call.tokens_in for call in used.calls}
        assert spent["bad answer"] > 0  # it had to be paid
        assert spent["rejected"] > 0
        assert spent["denied"] == spent["transport"] == 0


def test_B7_calls_of_a_fold_that_came_to_nothing_are_kept(url: str, upstream: Upstream) -> None:
    upstream.script(["malformed"])
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        talk(chat, 1, 12)
        assert [(call.outcome, call.fold) for call in chat.usage().calls] == [("bad answer", None)]


def test_usage_an_answer_from_the_cache_costs_nothing(url: str, upstream: Upstream) -> None:
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        talk(chat, 1, 12)
        chat.rewind("m11")
        talk(chat, 12, 12)
        assert chat.memory.cursor == 6
        assert len(chat.usage().calls) == len(upstream.requests()) == 1


def test_usage_survives_a_rewind_and_a_new_process(url: str, upstream: Upstream) -> None:
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        talk(chat, 1, 18)
        before = chat.usage()
        chat.rewind("m3")
        after = chat.usage()
        assert after.models == before.models
        assert [call.fold for call in after.calls] == [None, None]  # their folds are gone
        talk(chat, 4, 12)
        total = len(chat.usage().calls)
        assert [call.fold for call in chat.usage().calls][:2] == [None, None]
        assert memory.verify().ok
    with Memory(url) as memory:
        assert len(memory.chat("c").usage().calls) == total


def test_F6_deleting_a_chat_takes_its_calls_along_and_no_others(url: str, upstream: Upstream) -> None:
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chats = [memory.chat(name, preset="rolling", wait=True) for name in ("gone", "kept")]
        for chat in chats:
            talk(chat, 1, 12)
        kept = chats[1].usage()
        assert kept.calls
        chats[0].delete()
        assert chats[1].usage() == kept
        assert memory.chat("gone", preset="rolling").usage().calls == ()
    assert rawsql.rows(url, "SELECT count(*) FROM calls") == [(len(kept.calls),)]


def test_C6_calls_made_in_the_background_are_counted_as_well(url: str, upstream: Upstream) -> None:
    upstream.script([step("503"), step("good")])
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = memory.chat("c", preset="rolling")
        talk(chat, 1, 30)
        chat.settle()
        assert len(chat.usage().calls) == len(upstream.requests())
        assert chat.usage().models[0].failed == 1


def made(model: str, outcome: str, cost: int | None) -> Call:
    return Call(model, 1, 10, 100, 10, 5, cost, outcome)


def test_usage_sums_by_model_in_the_order_of_appearance() -> None:
    calls = [
        made("b", "ok", 3_000_000_000),
        made("a", "ok", 1),
        made("b", "transport", None),
        made("b", "rejected", 500_000_000),
    ]
    used = usage(calls)
    assert [model.model for model in used.models] == ["b", "a"]
    assert [model.cost for model in used.models] == [3.5, 1e-9]
    assert used.models[0].failed == 2
    assert used.cost == pytest.approx(3.5 + 1e-9)
    assert usage([*calls, made("a", "ok", None)]).cost is None
    assert usage([]).cost == 0
