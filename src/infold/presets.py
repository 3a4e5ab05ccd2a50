"""The presets, as data that reads like the documents they come from. Pure."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from infold.errors import ConfigError, UnknownPresetError
from infold.policy import MEMORY_ROLES, Policy

# Rolling state: the summary is the state, rewritten whole.
ROLLING = Policy(
    name="rolling",
    unit="message",
    keep=6,  # K
    buffer=4,  # B
    triggers=("tokens", "overflow", "safety"),
    token_ratio=0.70,
    safety_turns=10,
    trim=(("sources", 0), ("recent", 0), ("summary", 0)),
)

# Summary chain: token ratio with hysteresis, at most three records deep.
CHAIN = Policy(
    name="chain",
    unit="message",
    keep=6,
    triggers=("emergency", "ratio", "refresh"),
    trigger_ratio=0.80,
    reset_ratio=0.70,
    min_messages=12,
    cooldown=4,
    max_depth=3,
    min_keep=2,
    fallback="none",
    trim=(("sources", 0), ("recent", 0), ("summary", 0)),
)

# Chunked global summary: turns, a hard cap, a prompt budget.
CHUNKED = Policy(
    name="chunked",
    unit="turn",
    keep=3,
    triggers=("chunk",),
    chunk_tokens=6000,
    summary_cap=500,
    turns_budget=3000,
    trim=(("recent", 3), ("recent", 2), ("recent", 1), ("summary", 0), ("sources", 0)),
)

# Layered memory: window, medium summaries, long summary, verbatim facts.
LAYERED = Policy(
    name="layered",
    unit="turn",
    keep=4,
    triggers=("batch",),
    batch_at=12,
    batch=8,
    leaf_cap=500,
    rollup_count=4,
    rollup_tokens=1500,
    summary_cap=500,
    facts_cap=500,
    trim=(("sources", 0), ("leaves", 0), ("summary", 0), ("recent", 0), ("facts", 0)),
    user_facts=True,
)

# Memory engine: a fixed policy snippet, one cumulative summary, hot turns.
ENGINE = Policy(
    name="engine",
    unit="turn",
    keep=8,
    triggers=("hot_turns",),
    summary_cap=500,
    budget=3000,
    entities=25,
    policy_text=True,
    trim=(("recent", 0), ("entities", 0), ("sources", 0), ("summary", 0)),
    user_facts=True,
)

# What a newcomer gets: tokens and whole turns, leaves and facts, and what a question asks for.
DEFAULT = Policy(
    name="default",
    unit="turn",
    keep=2,
    triggers=("emergency", "share"),
    keep_share=0.20,
    keep_range=(1000, 4000),
    chunk_share=0.30,
    chunk_range=(2000, 8000),
    leaf_cap=250,
    rollup_tokens=500,
    rollup_keep=1,
    max_rewrites=3,
    summary_cap=500,
    facts_cap=300,
    further_cap=2500,
    memory_share=0.60,
    user_facts=True,
    recall_cap=3000,
    entities=6,
)

PRESETS: dict[str, Policy] = {p.name: p for p in (DEFAULT, ROLLING, CHAIN, CHUNKED, LAYERED, ENGINE)}

# Environment names and the preset fields they set. An argument beats the environment, the environment the settings file,
# the file the preset.
ENVIRONMENT: dict[str, tuple[str, str]] = {
    "MEMORY_K_RAW_TURNS": ("chunked", "keep"),
    "MEMORY_SUMMARY_TOKEN_CAP": ("chunked", "summary_cap"),
    "MEMORY_PROMPT_TOKEN_BUDGET": ("chunked", "turns_budget"),
    "MEMORY_CHUNK_SUMMARIZE_THRESHOLD": ("chunked", "chunk_tokens"),
    "MEMORY_CONTEXT_MAX_TOKENS": ("engine", "budget"),
    "MEMORY_HOT_TURNS_LIMIT": ("engine", "keep"),
    "MEMORY_RELATED_ENTITIES_LIMIT": ("engine", "entities"),
}

_YES, _NO = ("1", "yes", "true", "on"), ("", "0", "no", "false", "off")

FROM_FILE: dict[str, str] = {}
"""What the settings file of this process says, under the environment's names."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits of the memory engine and their environment names in upper case."""

    memory_context_max_tokens: int = 3000
    memory_hot_turns_limit: int = 8
    memory_related_entities_limit: int = 25
    transcript_retention_days: int = 30

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        values = {f.name: whole_number(f.name.upper(), environ) for f in fields(cls)}
        return cls(**{name: value for name, value in values.items() if value is not None})


def variable(name: str, environ: Mapping[str, str] | None = None) -> str:
    """The text of an environment variable; the settings file's where this process has none; else empty."""
    if environ is not None:
        return environ.get(name, "").strip()
    return os.environ.get(name, "").strip() or FROM_FILE.get(name, "")


def memory_role(environ: Mapping[str, str] | None = None) -> str:
    """The role of memory in contexts, where neither the caller nor the chat says."""
    role = variable("INFOLD_MEMORY_ROLE", environ) or "user"
    if role not in MEMORY_ROLES:
        raise ConfigError(f'INFOLD_MEMORY_ROLE must be "user" or "system", not {role!r}')
    return role


def merges(environ: Mapping[str, str] | None = None) -> bool:
    """Whether a chain's system messages are one, where neither the caller nor the chat says so."""
    said = variable("INFOLD_MERGE", environ)
    if said.lower() not in (*_YES, *_NO):
        raise ConfigError(f'INFOLD_MERGE must be "yes" or "no", not {said!r}')
    return said.lower() in _YES


def whole_number(name: str, environ: Mapping[str, str] | None = None) -> int | None:
    """The value of an environment variable, None where it is not set."""
    text = variable(name, environ)
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"the environment variable {name} must be a whole number of at least 1, not {text!r}")
    return int(text)


def preset(name: str, /, environ: Mapping[str, str] | None = None, **values: Any) -> Policy:
    """The policy of a preset: its own values, then the file's, then the environment's, then the ones given here."""
    if name not in PRESETS:
        raise UnknownPresetError(f"unknown preset {name!r}: use one of {', '.join(PRESETS)}")
    from_environment = {
        field: value
        for variable, (owner, field) in ENVIRONMENT.items()
        if owner == name and (value := whole_number(variable, environ)) is not None
    }
    return PRESETS[name].with_values({**from_environment, **values})


@dataclass(frozen=True, slots=True)
class SummarizationConfig:
    """The settings of a summary chain, under its document's names."""

    enabled: bool = True
    """Master switch."""
    trigger_token_ratio: float = 0.80
    """Share of the context window at which a fold is due."""
    reset_token_ratio: float = 0.70
    """Below this share the trigger is armed again."""
    min_messages: int = 12
    """Never fold with fewer active messages."""
    preserve_recent: int = 6
    """Messages kept verbatim."""
    max_summary_chain_depth: int = 3
    """Most active records."""
    force_refresh_after_messages: int | None = None
    """Fold after so many messages at any ratio."""
    summarizer_model_preference: Sequence[str] = ()
    """Models to summarize with, tried in turn."""
    cooldown_messages: int = 4
    """Messages after a fold before the next one is considered."""
    abort_on_failure: bool = False
    """Raise when the summarizer fails; needs wait=True."""

    def __post_init__(self) -> None:
        checks: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
            ("enabled", lambda v: isinstance(v, bool), "True or False"),
            ("abort_on_failure", lambda v: isinstance(v, bool), "True or False"),
            ("trigger_token_ratio", _is_ratio, "a ratio above 0 and at most 1"),
            ("reset_token_ratio", _is_ratio, "a ratio above 0 and at most 1"),
            ("min_messages", _at_least(1), "a whole number of at least 1"),
            ("preserve_recent", _at_least(2), "a whole number of at least 2"),
            ("max_summary_chain_depth", _at_least(1), "a whole number of at least 1"),
            (
                "force_refresh_after_messages",
                lambda v: v is None or _at_least(1)(v),
                "None or a whole number of at least 1",
            ),
            ("cooldown_messages", _at_least(0), "a whole number of at least 0"),
            ("summarizer_model_preference", _is_names, "a list of model names"),
        )
        for name, holds, wanted in checks:
            if not holds(getattr(self, name)):
                raise ConfigError(f"{name} must be {wanted}, not {getattr(self, name)!r}")
        if self.reset_token_ratio >= self.trigger_token_ratio:
            raise ConfigError(
                f"reset_token_ratio ({self.reset_token_ratio}) must be below trigger_token_ratio "
                f"({self.trigger_token_ratio}), or the trigger could never be armed again"
            )

    def to_policy(self) -> Policy:
        """The chain policy with these values."""
        return CHAIN.with_values(
            {
                "enabled": self.enabled,
                "trigger_ratio": self.trigger_token_ratio,
                "reset_ratio": self.reset_token_ratio,
                "min_messages": self.min_messages,
                "keep": self.preserve_recent,
                "max_depth": self.max_summary_chain_depth,
                "refresh_after": self.force_refresh_after_messages or 0,
                "models": tuple(self.summarizer_model_preference),
                "cooldown": self.cooldown_messages,
                "abort_on_failure": self.abort_on_failure,
            }
        )


def _is_ratio(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1


def _at_least(least: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) and name for name in value)
