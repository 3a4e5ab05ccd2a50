"""Naming models: arguments, the environment, a chat's own preference (B10, C11)."""

from __future__ import annotations

from typing import Any

import pytest

from infold import ConfigError, Memory, Model, SummarizationConfig
from infold.models.spec import from_environment, models, preferred

HOSTED = "pmpt_6917ebe9367c819396fe4840cf0f0e050c18a965a3366120"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("openai:gpt-5-nano", Model("gpt-5-nano")),
        ("anthropic:claude-haiku-4-5", Model("claude-haiku-4-5", "anthropic")),
        ("openai:small@http://h:1/v1/", Model("small", base_url="http://h:1/v1")),
        ("http://h:1/v1#small", Model("small", base_url="http://h:1/v1")),
        ("http://h:1/v1/", Model("", base_url="http://h:1/v1")),
        ("ollama:llama3.2:1b", Model("llama3.2:1b", base_url="http://localhost:11434/v1", api_key="ollama")),
        ("local", Model("", "local")),
        ("prompt:pmpt_1@3", Model("pmpt_1", "prompt", version="3")),
    ],
)
def test_B10_names(monkeypatch: pytest.MonkeyPatch, given: str, wanted: Model) -> None:
    monkeypatch.delenv("OLLAMA_BASE_URL", raising=False)
    assert models(given) == (wanted,)


def test_B10_a_list_keeps_its_order() -> None:
    assert [model.name for model in models(["openai:b", Model("a"), "openai:c"])] == ["b", "a", "c"]
    assert models(None) == models([]) == ()


@pytest.mark.parametrize("given", ["", " ", "gpt", "openai:", "nobody:x", 5, ["openai:a", None], {"a"}])
def test_B10_what_is_no_model_is_refused_with_examples(url: str, given: Any) -> None:
    with pytest.raises(ConfigError, match='"openai:gpt-5-nano"'):
        Memory(url, model=given)


@pytest.mark.parametrize(
    "values", [{"provider": "x"}, {"timeout": 0}, {"timeout": True}, {"timeout": "5"}, {"name": ""}]
)
def test_B10_a_model_with_senseless_values_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Model(**{"name": "a", **values})


def test_a_key_is_never_shown() -> None:
    assert "s3cret" not in repr(Model("a", api_key="s3cret"))
    assert "s3cret" not in Model("a", api_key="s3cret").label


def test_C11_the_environment_names_a_model_and_a_hosted_prompt() -> None:
    assert from_environment("chunked", {}) == ()
    named = {"MEMORY_SUMMARIZER_MODEL": "gpt-5-nano"}
    assert from_environment("rolling", named) == (Model("gpt-5-nano"),)
    hosted = {**named, "PROMPT_VERSION_SUMMARY_GLOBAL": "7"}
    assert from_environment("chunked", hosted) == (Model(HOSTED, "prompt", version="7"), Model("gpt-5-nano"))
    assert from_environment("rolling", hosted) == (Model("gpt-5-nano"),)
    own = {"PROMPT_VERSION_SUMMARY_GLOBAL": "7", "PROMPT_ID_SUMMARY_GLOBAL": "pmpt_mine"}
    assert from_environment("chunked", own) == (Model("pmpt_mine", "prompt", version="7"),)
    assert from_environment("chunked", {"PROMPT_ID_SUMMARY_GLOBAL": "pmpt_mine"}) == ()


def test_C11_an_argument_beats_the_environment(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_SUMMARIZER_MODEL", "openai:env")

    def labels(**given: Any) -> list[str]:
        with Memory(url, **given) as memory:
            return [author.label for author in memory.authors(memory.chat("c", preset="rolling").policy)]

    assert labels() == ["openai:env"]
    assert labels(model="openai:mine") == ["openai:mine"]
    assert labels(model=[]) == []
    assert labels(summarizer=lambda summary, messages: "- a") == ["summarizer"]


def test_B10_a_chats_preference_uses_the_memorys_server() -> None:
    given = (Model("a", base_url="http://h:1/v1", api_key="k", timeout=5),)
    small, large = preferred(("small", "anthropic:large"), given)
    assert small == Model("small", base_url="http://h:1/v1", api_key="k", timeout=5)
    assert large == Model("large", "anthropic")
    assert preferred((), given) == given
    assert preferred(("small",), ()) == (Model("small"),)


def test_B10_a_chats_preference_comes_first(url: str) -> None:
    with Memory(url, model=Model("a", base_url="http://127.0.0.1:9/v1")) as memory:
        chat = memory.chat("c", config=SummarizationConfig(summarizer_model_preference=["small", "large"]))
        assert [author.label.split("@")[0] for author in memory.authors(chat.policy)] == [
            "openai:small",
            "openai:large",
        ]


def test_a_model_and_a_summarizer_are_too_much(url: str) -> None:
    with pytest.raises(ConfigError, match="either a model or a summarizer"):
        Memory(url, model="openai:a", summarizer=lambda summary, messages: "- a")
