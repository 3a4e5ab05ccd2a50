"""Policies: when to fold and what, how memory is laid out, what gives way. Data, checked. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from infold.errors import ConfigError
from infold.tokens import TOKENIZERS

TRIGGERS = ("tokens", "overflow", "safety", "emergency", "ratio", "refresh", "chunk", "batch", "hot_turns", "share")
"""Reasons to fold; `infold.triggers` says what each means."""
SECTIONS = ("recent", "sources", "entities", "leaves", "summary", "facts")
"""Parts of a context that may give way."""


@dataclass(frozen=True, slots=True)
class Policy:
    """One complete way of folding. The presets are its values; see `infold.presets`."""

    name: str
    triggers: tuple[str, ...]
    """Reasons to fold, highest priority first; names of TRIGGERS."""
    unit: str = "message"
    """What `keep` counts: "message" or "turn"."""
    keep: int = 6
    """Messages or complete turns that a fold leaves verbatim."""
    buffer: int = 0
    """Messages that may come on top of `keep` before a fold is due."""
    enabled: bool = True
    token_ratio: float = 0.70
    """`tokens` fires when the next request is more than this share of the context window."""
    safety_turns: int = 10
    """`safety` fires every so many user messages."""
    trigger_ratio: float = 0.80
    reset_ratio: float = 0.70
    """`ratio` fires at trigger_ratio and is armed again below reset_ratio."""
    min_messages: int = 12
    cooldown: int = 4
    max_depth: int = 0
    """Most active records in a chain; 0 for no limit."""
    max_rewrites: int = 0
    """Most rewrites by a model between a line and its messages, where there are leaves to rebuild from; 0: no limit."""
    refresh_after: int = 0
    """`refresh` fires after so many messages at any ratio; 0 for never."""
    min_keep: int = 2
    """The tail may shrink to this many messages when a fold alone does not make enough room; 0: it never shrinks."""
    chunk_tokens: int = 6000
    """`chunk` fires when summary and unfolded turns exceed this."""
    batch_at: int = 12
    batch: int = 8
    """`batch` fires at batch_at unfolded turns and folds the oldest `batch`."""
    keep_share: float = 0.20
    keep_range: tuple[int, int] = (1000, 4000)
    chunk_share: float = 0.30
    chunk_range: tuple[int, int] = (2000, 8000)
    """`share`: unfolded tokens may exceed the kept share of the window by a chunk, each within its range."""
    summary_cap: int = 500
    """Most tokens of the long summary."""
    leaf_cap: int = 0
    """Most tokens of one fold's own summary (a leaf); 0: folds rewrite the long summary directly."""
    rollup_count: int = 0
    rollup_tokens: int = 0
    """Leaves merge into the long summary at this many of them, or above this many tokens."""
    rollup_keep: int = 0
    """Newest leaves that a roll-up leaves alone."""
    facts_cap: int = 0
    """Most tokens of the fact layer; 0: facts are lines of the summary."""
    further_cap: int = 0
    """Most tokens of further quotations, which no summary holds: contexts show them where they have room."""
    user_facts: bool = False
    """Whether the facts of a chat's user from other chats are shown, within the cap of the fact layer."""
    recall_cap: int = 0
    """Most tokens of what is quoted from earlier messages for a question that asks for them; 0: nothing is."""
    entities: int = 0
    """Most entities that are shown."""
    budget: int = 0
    """Tokens of a context when the caller names none; 0: the context window less what the reply may take."""
    turns_budget: int = 0
    """Tokens that memory and the turns before the question may take together then; 0: nothing but the budget counts."""
    memory_share: float = 0.0
    """Of a budget, what memory gets before the tail gets the rest; 0: what gives way is what `trim` says."""
    memory_role: str = ""
    """Role that memory has in a context: "user" or "system"; empty: as the environment says, else "user"."""
    merge: bool = False
    """Whether the system prompt and a chain's tagged message are one message."""
    policy_text: bool = False
    """Whether the system message opens with a fixed text about memory."""
    trim: tuple[tuple[str, int], ...] = (("recent", 0), ("sources", 0), ("summary", 0))
    """What gives way when the budget is short, in order: a section and how many of its pieces stay."""
    fallback: str = "extractive"
    """When the summarizer fails: "extractive", or "none" (nothing is folded, the bridge makes room)."""
    abort_on_failure: bool = False
    models: tuple[str, ...] = ()
    """Models to summarize with, in order of preference."""
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Other values for single models, by model name; also their `context_window` and `tokenizer`."""

    def __post_init__(self) -> None:
        _validate(self)

    def with_values(self, values: Mapping[str, Any]) -> Policy:
        """The same policy with some fields changed; unknown fields are an error."""
        known = [f.name for f in fields(self)]
        for name in values:
            if name not in known:
                raise ConfigError(f"a policy has no field {name!r}; it has {', '.join(known)}")
        return replace(self, **{name: _frozen(value) for name, value in values.items()})

    def for_model(self, model: str | None) -> Policy:
        """The policy as it applies to a model."""
        values = self.overrides.get(model or "")
        return self.with_values({k: v for k, v in values.items() if k not in _OF_MODELS}) if values else self

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Policy:
        return cls(**{name: _frozen(value) for name, value in values.items()})


def _frozen(value: Any) -> Any:
    """Lists as tuples, all the way down, so that a policy read back from JSON equals the one that was stored."""
    if isinstance(value, Mapping):
        return {key: _frozen(inner) for key, inner in value.items()}
    return tuple(_frozen(inner) for inner in value) if isinstance(value, list | tuple) else value


_OF_MODELS = ("context_window", "tokenizer")  # what an override may say beside the fields of a policy
_RATIOS = ("token_ratio", "trigger_ratio", "reset_ratio", "keep_share", "chunk_share")
MEMORY_ROLES = ("user", "system")
_COUNTS = {
    "keep": 0, "buffer": 0, "safety_turns": 1, "min_messages": 1, "cooldown": 0, "max_depth": 0, "max_rewrites": 0, "refresh_after": 0,
    "min_keep": 0, "chunk_tokens": 1, "batch_at": 1, "batch": 1, "summary_cap": 16, "leaf_cap": 0, "rollup_count": 0,
    "rollup_tokens": 0, "rollup_keep": 0, "facts_cap": 0, "further_cap": 0, "recall_cap": 0, "entities": 0, "budget": 0,
    "turns_budget": 0,
}  # fmt: skip


def _is_count(value: Any, least: int = 0) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= 10_000_000


def _is_text(value: Any) -> bool:
    """Whether a database can keep it as a name."""
    return isinstance(value, str) and value.isprintable()


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2


def _is_range(value: Any) -> bool:
    return _is_pair(value) and all(map(_is_count, value)) and bool(value[0] <= value[1])


def _check_shapes(policy: Policy) -> None:
    """Refuse what is not even of the right type, before anything looks into it."""
    if not _is_text(policy.name):
        raise ConfigError(f"name must be a text, not {policy.name!r}")
    for name in ("triggers", "models"):
        value = getattr(policy, name)
        if not isinstance(value, list | tuple) or not all(map(_is_text, value)):
            raise ConfigError(f"{name} must be a list of names, not {value!r}")
    for name in ("keep_range", "chunk_range"):
        value = getattr(policy, name)
        if not _is_range(value):
            raise ConfigError(f"{name} must be two whole numbers, the least and the most, not {value!r}")
    trim = policy.trim
    if not isinstance(trim, list | tuple) or not all(_is_pair(one) and _is_count(one[1]) for one in trim):
        raise ConfigError(f"trim must be a list of a section and how many of its pieces stay, not {trim!r}")
    if not isinstance(policy.overrides, Mapping):
        raise ConfigError("overrides must map model names to values, such as {'small': {'keep': 4}}")


def _validate(policy: Policy) -> None:
    _check_shapes(policy)
    for name in _RATIOS:
        value = getattr(policy, name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
            raise ConfigError(f"{name} must be above 0 and at most 1, not {value!r}")
    for name, least in _COUNTS.items():
        value = getattr(policy, name)
        if not _is_count(value, least):
            raise ConfigError(f"{name} must be a whole number of at least {least}, not {value!r}")
    share = policy.memory_share
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
        raise ConfigError(f"memory_share must be at least 0 and below 1, not {share!r}")
    if policy.memory_role not in ("", *MEMORY_ROLES):
        raise ConfigError(f'memory_role must be "user" or "system", not {policy.memory_role!r}')
    for name in ("enabled", "abort_on_failure", "user_facts", "policy_text", "merge"):
        if not isinstance(getattr(policy, name), bool):
            raise ConfigError(f"{name} must be True or False, not {getattr(policy, name)!r}")
    if policy.reset_ratio >= policy.trigger_ratio:
        raise ConfigError(
            f"reset_ratio ({policy.reset_ratio}) must be below trigger_ratio ({policy.trigger_ratio}), "
            "or the trigger could never be armed again"
        )
    if policy.unit not in ("message", "turn"):
        raise ConfigError(f'unit must be "message" or "turn", not {policy.unit!r}')
    if policy.batch > policy.batch_at:
        raise ConfigError(f"batch ({policy.batch}) cannot be more than batch_at ({policy.batch_at})")
    if policy.fallback not in ("extractive", "none"):
        raise ConfigError(f'fallback must be "extractive" or "none", not {policy.fallback!r}')
    for model, values in policy.overrides.items():
        if not isinstance(model, str) or not isinstance(values, Mapping):
            raise ConfigError("overrides must map model names to values, such as {'small': {'keep': 4}}")
        window = values.get("context_window", 256)
        if isinstance(window, bool) or not isinstance(window, int) or window < 256:
            raise ConfigError(f"context_window must be a whole number of at least 256, not {window!r}")
        if values.get("tokenizer", TOKENIZERS[0]) not in TOKENIZERS:
            raise ConfigError(f"tokenizer must be one of {', '.join(TOKENIZERS)}, not {values['tokenizer']!r}")
        own = {name: value for name, value in values.items() if name not in _OF_MODELS}
        replace(policy, overrides={}).with_values(own)
    unknown = [name for name in policy.triggers if name not in TRIGGERS]
    if unknown:
        raise ConfigError(f"unknown trigger {unknown[0]!r}: use some of {', '.join(TRIGGERS)}")
    unknown = [name for name, _ in policy.trim if name not in SECTIONS]
    if unknown:
        raise ConfigError(f"unknown section {unknown[0]!r}: use some of {', '.join(SECTIONS)}")
