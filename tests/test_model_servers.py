"""Servers and their ways: models by name or by list, no schemas, keys that stay secret; and every preset with a model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from infold import AsyncMemory, Memory, Model, preset
from infold.tokens import count
from tests import rawsql
from tests.conftest import words
from tests.test_model_crash import active
from tests.test_model_faults import assert_true, said, talk, verdicts
from tests.test_model_folds import written
from tests.test_summarizer import assert_nothing_lost, failures
from tests.upstream import Upstream, step

PRESETS = ("default", "rolling", "chain", "chunked", "layered", "engine")


@pytest.mark.parametrize("wait", [False, True])
@pytest.mark.parametrize("name", PRESETS)
def test_F9_every_preset_folds_with_a_model(url: str, upstream: Upstream, name: str, wait: bool) -> None:
    config = preset(name, {}, **({"chunk_tokens": 200} if name == "chunked" else {}))
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = memory.chat("c", config=config, context_window=500 if name in ("chain", "default") else 8192, wait=wait)
        talk(chat, 1, 60)
        chat.settle()
        assert {author for _, _, author in active(url)} == {"summarizer"}
        assert not failures(chat)
        assert_true(chat.summary)
        assert_nothing_lost(memory, chat, 60)


def test_C7_without_a_name_the_first_model_of_the_server_is_used(url: str, upstream: Upstream) -> None:
    with Memory(url, model=upstream.url) as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        talk(chat, 1, 12)
        assert active(url) == [(1, 6, "summarizer")]
        assert [request["body"]["model"] for request in upstream.requests()] == ["scripted"]


def test_C7_options_go_into_the_request(url: str, upstream: Upstream) -> None:
    model = Model("gpt-test", base_url=upstream.url, options={"reasoning_effort": "low", "max_tokens": 77})
    with Memory(url, model=model) as memory:
        talk(memory.chat("c", preset="rolling", wait=True), 1, 12)
    body = upstream.requests()[0]["body"]
    assert (body["reasoning_effort"], body["max_tokens"]) == ("low", 77)


@pytest.mark.parametrize("window", [2048, 4096, 8192, 16_384])
def test_B14_prompt_and_answer_fit_the_summarizers_window(url: str, upstream: Upstream, window: int) -> None:
    """Servers refuse a request whose prompt and max_tokens together exceed the window."""
    with Memory(url, model=Model("gpt-test", base_url=upstream.url, context_window=window)) as memory:
        chat = memory.chat("c", preset="rolling", context_window=60_000, wait=True)
        for number in range(1, 19):
            chat.add({**said(number), "content": f"{said(number)['content']} {words(1500)}"}, id=f"m{number}")
        assert {author for _, _, author in active(url)} == {"summarizer"}
        sizes = [
            sum(count(message["content"]) for message in request["body"]["messages"]) + request["body"]["max_tokens"]
            for request in upstream.requests()
        ]
        assert max(sizes) <= window
        assert min(request["body"]["max_tokens"] for request in upstream.requests()) >= 400
        assert_nothing_lost(memory, chat, 18)


NO_SCHEMA = {"status": 400, "body": {"error": {"message": "response_format of type json_schema is not supported"}}}


def test_C7_a_server_without_schemas_is_asked_without_them(url: str, upstream: Upstream) -> None:
    upstream.script([NO_SCHEMA])
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        talk(chat, 1, 18)
        assert [author for _, _, author in active(url)] == ["summarizer"] * 2
        assert ["response_format" in request["body"] for request in upstream.requests()] == [True, False, False]


def test_C7_a_server_that_goes_on_about_schemas_is_not_asked_forever(url: str, upstream: Upstream) -> None:
    upstream.script([{**NO_SCHEMA, "forever": True}])
    with Memory(url, model=Model("gpt-test", base_url=upstream.url, timeout=1)) as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        talk(chat, 1, 12)
        assert len(upstream.requests()) <= 4
        assert failures(chat)
        assert active(url) == [(1, 6, "extractive")]


@pytest.mark.parametrize("fault", ["good", "401", "malformed"])
def test_F6_keys_are_neither_stored_nor_shown(
    url: str, upstream: Upstream, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "infold")
    upstream.script([fault])
    model = Model("gpt-test", base_url=upstream.url.replace("//", "//ada:hunter2@"), api_key="sk-secret")
    with Memory(url, model=model) as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        talk(chat, 1, 12)
        assert upstream.requests()[0]["authorized"]
        shown = f"{model.label} {chat.events()} {chat.usage()} {caplog.text}"
    assert "sk-secret" not in repr(model)
    stored = str([rawsql.rows(url, f'SELECT * FROM "{table}"') for table in rawsql.tables(url)])
    for secret in ("sk-secret", "hunter2"):
        assert secret not in shown
        assert secret not in stored


def test_F4_no_model_touches_a_pin(url: str, upstream: Upstream) -> None:
    content = (
        '{"items": [{"section": "facts", "text": "User may spend 900 euros on hotels", "sources": ["1"]},'
        '{"section": "facts", "text": "Leg 1 runs on ticket FACT-1201", "sources": ["1"]},'
        '{"section": "facts", "text": "Leg 3 runs on ticket FACT-1203", "sources": ["3"]}]}'
    )
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    upstream.script([{"status": 200, "body": {"choices": [choice]}}])
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        chat.pin("User may spend 500 euros on hotels, never more")
        talk(chat, 1, 12)
        assert [item.text for item in chat.memory.pins] == ["User may spend 500 euros on hotels, never more"]
        assert chat.summary.count("hotels") == 1
        assert "900" not in chat.summary
        assert "Leg 1 runs on ticket FACT-1201" in chat.summary
        assert verdicts(chat)[0]["verdict"] == "mended"


def test_C6_while_a_model_thinks_the_event_loop_goes_on(url: str, upstream: Upstream) -> None:
    upstream.script([step("good:slow", seconds=0.5)])

    async def run() -> int:
        ticks = 0
        async with AsyncMemory(url, model=f"{upstream.url}#gpt-test") as memory:
            chat = await memory.chat("c", preset="rolling", wait=True)
            for number in range(1, 12):
                await chat.add(said(number), id=f"m{number}")
            adding = asyncio.ensure_future(_added(chat))
            while not adding.done():
                await asyncio.sleep(0.01)
                ticks += 1
            await adding
        return ticks

    async def _added(chat: Any) -> None:
        await chat.add(said(12), id="m12")

    assert asyncio.run(run()) >= 5
    assert active(url) == [(1, 6, "summarizer")]
    assert written(url)[0][0] == "summarizer"


def test_C6_many_chats_fold_side_by_side_and_closing_waits_for_all(url: str, upstream: Upstream) -> None:
    upstream.script([step("good:slow", seconds=0.2, forever=True)])
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        for name in range(12):
            talk(memory.chat(f"c{name}", preset="rolling"), 1, 12)
    assert active(url) == [(1, 6, "summarizer")] * 12
    assert len(upstream.requests()) == 12
    with Memory(url) as memory:
        assert memory.verify().ok
