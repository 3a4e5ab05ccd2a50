"""C9: a chat whose replies come from different models, and what may differ between them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infold import Chat, Memory, preset
from tests.conftest import assistant, counted_ids, ticking_clock, user, words
from tests.databases import fresh
from tests.test_model_crash import active
from tests.test_model_faults import assert_true, said
from tests.test_rolling import folds, reasons
from tests.test_summarizer import assert_nothing_lost
from tests.upstream import Upstream, step

MODELS = ("gpt-5", "claude-x", "llama", None)
PRESETS = ("default", "rolling", "chain", "chunked", "layered", "engine")


def mixed(chat: Chat, last: int, models: tuple[str | None, ...] = MODELS, first: int = 1) -> None:
    for number in range(first, last + 1):
        model = models[number // 2 % len(models)] if number % 2 == 0 else None
        chat.add(said(number), id=f"m{number}", model_variant=model)


def told(context: Any) -> list[Any]:
    return [[m["role"], m["content"]] for m in context.messages]


@pytest.mark.parametrize("name", PRESETS)
def test_C9_turns_of_different_models_are_treated_alike(name: str) -> None:
    """Who replied changes nothing: not what is folded, nor when, nor what is remembered or shown."""
    seen: list[Any] = []
    for models in (MODELS, ("only",), (None,)):
        with fresh() as url, Memory(url, clock=ticking_clock(), ids=counted_ids()) as memory:
            config = preset(name, {}, **({"chunk_tokens": 300} if name == "chunked" else {}))
            chat = memory.chat("c", config=config, context_window=500 if name in ("chain", "default") else 8192)
            mixed(chat, 40, models)
            assert folds(chat)
            ranges = [(fold["first"], fold["last"], fold["reason"]) for fold in folds(chat)]
            seen.append((ranges, chat.summary, told(chat.context())))
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("name", PRESETS)
def test_C9_the_model_of_each_reply_is_kept(url: str, name: str) -> None:
    with Memory(url) as memory:
        chat = memory.chat("c", preset=name, context_window=500)
        mixed(chat, 24)
    with Memory(url) as memory:
        kept = [(m.role, m.model_variant) for m in memory.chat("c").messages()]
    assert kept == [
        ("user", None) if number % 2 else ("assistant", MODELS[number // 2 % len(MODELS)]) for number in range(1, 25)
    ]


def test_C9_a_summarizer_reads_all_of_them_alike(url: str, upstream: Upstream) -> None:
    """Who spoke is a role, not a model: no name of a model is sent or remembered."""
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = memory.chat("c", config=preset("chunked", {}, chunk_tokens=200))
        mixed(chat, 40)
        chat.settle()
        sent = json.dumps([request["body"]["messages"] for request in upstream.requests()])
        assert sent.count("Assistant: I must not book") >= 10
        assert not [model for model in MODELS if model and (model in sent or model in chat.summary)]
        assert {author for _, _, author in active(url)} == {"summarizer"}
        assert_true(chat.summary)
        assert_nothing_lost(memory, chat, 40)


def test_C9_the_text_form_can_name_who_replied(memory: Memory) -> None:
    chat = memory.chat("c")
    mixed(chat, 4)
    context = chat.context()
    assert "claude-x" in context.to("text", models=True)
    assert not [model for model in MODELS if model and model in context.to("text")]


def test_C9_the_model_may_also_stand_in_the_message(memory: Memory) -> None:
    chat = memory.chat("c")
    chat.add([user("Hi."), {**assistant("Hello."), "model_variant": "claude-x"}])
    chat.add(user("And?"))
    chat.add(assistant("Well."), model_variant="llama")
    assert [m.model_variant for m in chat.messages()] == [None, "claude-x", None, "llama"]


# B15: other values for single models ---------------------------------------------------------------------


def sized(chat: Chat, count: int, tokens: int, model: str | None) -> None:
    last = len(chat.messages())
    for number in range(last + 1, last + count + 1):
        role = user if number % 2 else assistant
        chat.add(role(words(tokens, f"w{number}")), id=f"m{number}", model_variant=None if number % 2 else model)


@pytest.mark.parametrize(("model", "due"), [("small", True), ("large", False), (None, False)])
def test_B15_a_small_model_folds_sooner(memory: Memory, model: str | None, due: bool) -> None:
    config = preset("chain", {}, overrides={"small": {"context_window": 1000}, "large": {"context_window": 100_000}})
    chat = memory.chat("c", config=config, context_window=10_000)
    sized(chat, 14, 60, model)
    assert bool(folds(chat)) == due
    assert chat.context().budget == {"small": 850, "large": 99_000, None: 9000}[model], "less the reply"


def test_B15_the_window_is_that_of_the_newest_reply(memory: Memory) -> None:
    config = preset("chain", {}, overrides={"small": {"context_window": 1000}})
    chat = memory.chat("c", config=config, context_window=10_000)
    sized(chat, 14, 60, "large")
    assert not folds(chat)
    assert chat.context().budget == 9000
    sized(chat, 2, 60, "small")
    assert len(folds(chat)) == 1
    assert chat.context().budget == 850
    sized(chat, 2, 60, "large")
    assert chat.context().budget == 9000
    assert memory.verify().ok


def test_B15_triggers_of_their_own(memory: Memory) -> None:
    config = preset("rolling", {}, overrides={"forgetful": {"keep": 2, "buffer": 0}, "patient": {"buffer": 20}})
    seen = {}
    for model in ("forgetful", "patient", "usual"):
        chat = memory.chat(model, config=config)
        sized(chat, 18, 20, model)
        seen[model] = (chat.memory.cursor, len(chat.memory.recent_messages))
        assert set(reasons(chat)) <= {"overflow"}
    assert seen["forgetful"] == (16, 2)
    assert seen["patient"] == (0, 18)
    assert seen["usual"] == (12, 6)


def test_B15_overrides_hold_in_the_background_too(url: str, upstream: Upstream) -> None:
    """The cap of a summary is that of the model in use when it is asked for."""
    config = preset("rolling", {}, overrides={"tiny": {"summary_cap": 60}})
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        for model, cap in (("tiny", 60), ("usual", 500)):
            upstream.reset()
            chat = memory.chat(model, config=config)
            mixed(chat, 12, (model,))
            chat.settle()
            assert f"At most {cap} tokens" in upstream.requests()[0]["body"]["messages"][0]["content"]
            assert active(url)
            assert sum(item.tokens for item in chat.memory.items) <= cap
        assert memory.verify().ok


def test_B15_another_model_takes_over_while_a_summarizer_thinks(url: str, upstream: Upstream) -> None:
    upstream.script([step("good:slow", seconds=0.5)])
    config = preset("rolling", {}, overrides={"tiny": {"summary_cap": 60, "keep": 4}})
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = memory.chat("c", config=config)
        mixed(chat, 12, ("usual",))
        mixed(chat, 14, ("tiny",), first=13)
        chat.settle()
        assert {author for _, _, author in active(url)} == {"summarizer"}
        assert sum(item.tokens for item in chat.memory.items) <= 60
        assert_true(chat.summary)
        assert_nothing_lost(memory, chat, 14)
