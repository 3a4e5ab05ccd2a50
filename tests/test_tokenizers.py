"""Models that count in other tokens: their windows and budgets are in their own (C9)."""

from __future__ import annotations

import pytest

from infold import Chat, ConfigError, Memory, preset
from infold.messages import parse
from infold.tokens import REQUEST_OVERHEAD, TOKENIZERS, count, counting, message_tokens
from tests.conftest import assistant, user

CHINESE = "我想預訂一個靠近火車站的房間，預算是六百歐元。" * 6


def talk(memory: Memory, tokenizer: str, turns: int) -> Chat:
    policy = preset("rolling", {}, overrides={"other": {"tokenizer": tokenizer, "context_window": 3000}})
    chat = memory.chat(tokenizer, config=policy, context_window=3000)
    for number in range(turns):
        chat.add(user(f"{number} {CHINESE}"))
        chat.add(assistant(f"{number} {CHINESE}", model_variant="other"))
    return chat


def test_C9_counts_of_the_tokenizers_differ_and_bytes_bound_them() -> None:
    counts = {}
    for name in TOKENIZERS:
        with counting(name):
            counts[name] = count(CHINESE)
    assert counts["o200k"] == count(CHINESE) < counts["cl100k"] < counts["bytes"] == len(CHINESE.encode())


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("budget", [900, 2500])
def test_C9_a_context_fits_a_budget_of_the_models_own_tokens(memory: Memory, tokenizer: str, budget: int) -> None:
    chat = talk(memory, tokenizer, 6)
    context = chat.context("Und jetzt?", max_tokens=budget)
    shown = context.shown()
    with counting(tokenizer):
        own = REQUEST_OVERHEAD + sum(message_tokens(parse(wire)) for wire in context.messages)
        apart = REQUEST_OVERHEAD + sum(map(message_tokens, shown))
    # Messages that are joined take the tokens of one frame less for each; a block of memory keeps one for the blank line.
    assert own <= apart <= context.tokens <= apart + 2
    assert apart - own <= 5 * (len(shown) - len(context.messages))
    assert context.tokens <= context.budget == budget


def test_C9_a_hungrier_tokenizer_folds_sooner(memory: Memory) -> None:
    folded = {name: talk(memory, name, 4).memory.cursor for name in TOKENIZERS}
    assert folded["bytes"] > folded["o200k"] == 0


def test_C9_an_unknown_tokenizer_is_refused() -> None:
    with pytest.raises(ConfigError, match="tokenizer must be one of o200k, cl100k, bytes"):
        preset("rolling", {}, overrides={"other": {"tokenizer": "abacus"}})


def test_C9_a_text_context_names_the_model_of_each_reply_where_asked(memory: Memory) -> None:
    chat = memory.chat("c", preset="chunked")
    for name in ("small", "large"):
        chat.add([user(f"Ask {name}."), assistant("Done.", model_variant=name)])
    chat.add(user("And now?"))
    context = chat.context()
    assert "Assistant (small): Done." in context.to("text", models=True)
    assert "Assistant (large): Done." in context.to("text", models=True)
    assert context.to("text").count("Assistant: Done.") == 2
