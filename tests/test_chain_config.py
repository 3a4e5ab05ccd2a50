"""Preset `chain`: its settings under the document's names, checked before anything is stored."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

from infold import ConfigError, Memory, PolicyMismatchError, SummarizationConfig, preset

DEFAULTS: dict[str, Any] = {
    "enabled": True,
    "trigger_token_ratio": 0.8,
    "reset_token_ratio": 0.7,
    "min_messages": 12,
    "preserve_recent": 6,
    "max_summary_chain_depth": 3,
    "force_refresh_after_messages": None,
    "summarizer_model_preference": (),
    "cooldown_messages": 4,
    "abort_on_failure": False,
}

LEAST_AND_MOST: list[dict[str, Any]] = [
    {"enabled": False},
    {"trigger_token_ratio": 1},
    {"trigger_token_ratio": 1.0},
    {"reset_token_ratio": 0.001},
    {"trigger_token_ratio": 0.002, "reset_token_ratio": 0.001},
    {"min_messages": 1},
    {"preserve_recent": 2},
    {"max_summary_chain_depth": 1},
    {"force_refresh_after_messages": 1},
    {"summarizer_model_preference": ["small", "large"]},
    {"cooldown_messages": 0},
]

BAD_VALUES: dict[str, list[Any]] = {
    "enabled": [None, 1, "yes"],
    "trigger_token_ratio": [0, -0.1, 1.01, float("nan"), float("inf"), "0.8", None, True],
    "reset_token_ratio": [0, -0.1, 1.01, float("nan"), "0.7", None, True],
    "min_messages": [0, -1, 1.5, "12", None, True],
    "preserve_recent": [1, 0, -6, 2.0, "6", None, True],
    "max_summary_chain_depth": [0, -1, 1.5, "3", None, True],
    "force_refresh_after_messages": [0, -1, 1.5, "30", True],
    "summarizer_model_preference": ["gpt", [1], [""], None, {"a": "b"}],
    "cooldown_messages": [-1, 0.5, "4", None, True],
    "abort_on_failure": [None, 0, "no"],
}


def test_B1_every_field_and_default_of_the_document() -> None:
    config = SummarizationConfig()
    assert {field.name: getattr(config, field.name) for field in fields(config)} == DEFAULTS


def test_B1_config_cannot_be_changed_in_place() -> None:
    config, field = SummarizationConfig(), "enabled"
    with pytest.raises(FrozenInstanceError):
        setattr(config, field, False)


@pytest.mark.parametrize("values", LEAST_AND_MOST, ids=str)
def test_B1_the_ends_of_each_range_are_accepted(memory: Memory, values: dict[str, Any]) -> None:
    chat = memory.chat("c", config=SummarizationConfig(**values))
    assert chat.policy.name == "chain"


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD_VALUES.items() for value in values], ids=repr
)
def test_B1_a_bad_value_is_named_in_the_error(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"^{name} must be .*, not ") as caught:
        SummarizationConfig(**{name: value})
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(("trigger", "reset"), [(0.8, 0.8), (0.7, 0.8), (0.5, 0.7)])
def test_B1_reset_must_be_below_trigger(trigger: float, reset: float) -> None:
    with pytest.raises(ConfigError, match=r"reset_token_ratio \(.*\) must be below trigger_token_ratio"):
        SummarizationConfig(trigger_token_ratio=trigger, reset_token_ratio=reset)


def test_B1_an_unknown_field_is_an_error() -> None:
    values: dict[str, Any] = {"triggerTokenRatio": 0.8}
    with pytest.raises(TypeError, match="triggerTokenRatio"):
        SummarizationConfig(**values)


def test_B1_defaults_are_the_preset() -> None:
    assert SummarizationConfig().to_policy() == preset("chain", {})


def test_B1_every_field_reaches_the_stored_policy(url: str) -> None:
    config = SummarizationConfig(
        enabled=False,
        trigger_token_ratio=0.9,
        reset_token_ratio=0.5,
        min_messages=20,
        preserve_recent=4,
        max_summary_chain_depth=2,
        force_refresh_after_messages=30,
        summarizer_model_preference=("small", "large"),
        cooldown_messages=7,
        abort_on_failure=True,
    )
    with Memory(url) as memory:
        memory.chat("c", config=config, wait=True)
    with Memory(url) as memory:
        policy = memory.chat("c", wait=True).policy
    stored = (
        policy.enabled, policy.trigger_ratio, policy.reset_ratio, policy.min_messages, policy.keep, policy.max_depth,
        policy.refresh_after, policy.models, policy.cooldown, policy.abort_on_failure,
    )  # fmt: skip
    assert stored == (False, 0.9, 0.5, 20, 4, 2, 30, ("small", "large"), 7, True)


def test_B1_reopening_with_another_config_is_an_error(memory: Memory) -> None:
    memory.chat("c", config=SummarizationConfig(preserve_recent=4))
    memory.chat("c", config=SummarizationConfig(preserve_recent=4))
    with pytest.raises(PolicyMismatchError, match="keep 4 → 6"):
        memory.chat("c", config=SummarizationConfig())


def test_B1_a_bad_chat_is_not_created(memory: Memory) -> None:
    with pytest.raises(ConfigError, match="give only one"):
        memory.chat("c", preset="rolling", config=SummarizationConfig())
    assert memory.chats() == []


def test_B7_abort_on_failure_needs_wait(memory: Memory) -> None:
    config = SummarizationConfig(abort_on_failure=True)
    with pytest.raises(ConfigError, match="abort_on_failure needs wait=True"):
        memory.chat("c", config=config)
    assert memory.chats() == []
    chat = memory.chat("c", config=config, wait=True)
    with pytest.raises(ConfigError, match="abort_on_failure needs wait=True"):
        memory.chat("c")
    chat.set_policy(SummarizationConfig())
    with pytest.raises(ConfigError, match="abort_on_failure needs wait=True"):
        memory.chat("c").set_policy(config)
    assert chat.policy == SummarizationConfig().to_policy()
