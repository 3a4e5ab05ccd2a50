"""Naming a model: "openai:gpt-5-nano", "anthropic:…", "ollama:…", "local", a base URL, or a Model."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from infold.errors import ConfigError
from infold.presets import variable

OLLAMA = "http://localhost:11434/v1"
TIMEOUT = 60.0
HOSTED_PROMPT = "pmpt_6917ebe9367c819396fe4840cf0f0e050c18a965a3366120"
_EXAMPLES = (
    '"openai:gpt-5-nano", "anthropic:claude-haiku-4-5", "ollama:llama3.2", "local", "http://localhost:8000/v1#name"'
)


@dataclass(frozen=True, slots=True)
class Model:
    """A language model to fold with.

    Without an api_key the provider's own environment variable is used (OPENAI_API_KEY, ANTHROPIC_API_KEY).
    """

    name: str
    """As the provider calls it; empty: the first that a server lists."""
    provider: str = "openai"
    """openai (or any server that speaks its API), anthropic, local, or prompt (hosted at OpenAI; `name` is its id)."""
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    version: str | None = None
    """Of a hosted prompt."""
    timeout: float = TIMEOUT
    """Seconds for one call, from sending it to the last byte of the answer."""
    context_window: int | None = None
    """Where it is not known by the model's name."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """More fields for the request body, such as {"reasoning_effort": "low"}."""

    def __post_init__(self) -> None:
        if self.provider not in ("openai", "anthropic", "local", "prompt"):
            raise ConfigError(f"unknown provider {self.provider!r}: use openai, anthropic, local or prompt")
        if not isinstance(self.name, str) or not (self.name or self.base_url or self.provider == "local"):
            raise ConfigError(f"a model needs a name, such as {_EXAMPLES}")
        if isinstance(self.timeout, bool) or not isinstance(self.timeout, int | float) or not 0 < self.timeout <= 3600:
            raise ConfigError(f"timeout must be a number of seconds above 0 and at most 3600, not {self.timeout!r}")

    @property
    def label(self) -> str:
        """How events, folds and the cost ledger call it."""
        if self.provider == "local":
            return f"local:{self.name}" if self.name else "local"
        # Credentials may stand in an address; they are nobody's business.
        where = "@" + re.sub(r"(?<=://)[^/@]*@", "", self.base_url) if self.base_url else ""
        return f"{self.provider}:{self.name}{where}"


def models(value: str | Model | Iterable[str | Model] | None) -> tuple[Model, ...]:
    """The models that an argument names, in order of preference."""
    if value is None:
        return ()
    if isinstance(value, str | Model):
        return (_model(value),)
    if not isinstance(value, Iterable):
        raise ConfigError(f"model must be a name or a list of names, such as {_EXAMPLES}")
    return tuple(_model(one) for one in value)


def _model(value: str | Model) -> Model:
    if isinstance(value, Model):
        return value
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"model must be a name such as {_EXAMPLES}, not {value!r}")
    value = value.strip()
    if re.match(r"https?://", value):
        base, _, name = value.partition("#")
        return Model(name, base_url=base.rstrip("/"))
    provider, _, name = value.partition(":")
    if value == "local":
        return Model("", "local")
    if provider == "local" and name:
        return Model(name, "local")
    if provider == "prompt" and name:
        id, _, version = name.partition("@")
        return Model(id, "prompt", version=version or None)
    if provider in ("openai", "anthropic", "ollama") and name:
        name, _, base = name.partition("@") if "@http" in name else (name, "", "")
        if provider == "ollama":
            return Model(name, base_url=base or os.environ.get("OLLAMA_BASE_URL", OLLAMA), api_key="ollama")
        return Model(name, provider, base_url=base.rstrip("/") or None)
    raise ConfigError(f"cannot tell the provider of the model {value!r}; write it as one of {_EXAMPLES}")


def from_environment(preset: str, environ: Mapping[str, str] | None = None) -> tuple[Model, ...]:
    """The models that the environment names: a hosted prompt for `chunked`, and those of MEMORY_SUMMARIZER_MODEL."""
    version = variable("PROMPT_VERSION_SUMMARY_GLOBAL", environ)
    found: list[Model] = []
    if version and preset == "chunked":
        found.append(Model(variable("PROMPT_ID_SUMMARY_GLOBAL", environ) or HOSTED_PROMPT, "prompt", version=version))
    return (*found, *models(listed(variable("MEMORY_SUMMARIZER_MODEL", environ))))


def listed(text: str) -> tuple[str, ...]:
    """The names in a list with commas; a bare one is a model of OpenAI."""
    names = filter(None, (name.strip() for name in text.split(",")))
    return tuple(name if ":" in name or name == "local" else f"openai:{name}" for name in names)


def preferred(names: Iterable[str], given: tuple[Model, ...]) -> tuple[Model, ...]:
    """The models of a policy's preference: bare names are models of the first one's server, or of OpenAI."""
    found: list[Model] = []
    for name in names:
        if ":" in name or name == "local":
            found.append(_model(name))
        elif given and given[0].provider in ("openai", "anthropic"):
            found.append(replace(given[0], name=name, context_window=None))
        else:
            found.append(Model(name))
    return tuple(found) or given
