"""The token-bounded view handed to a model, and what it says about itself. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, overload

from infold import formats
from infold.errors import BudgetError, ConfigError
from infold.lines.line import Line
from infold.messages import Message, canonical_json
from infold.policy import Policy

MAX_BUDGET = 100_000_000


@dataclass(frozen=True, slots=True)
class Quotation:
    """A message of the past, or the passage of it that matters, as it is shown."""

    seq: int
    text: str
    reason: Callable[[], str] = field(compare=False, repr=False)

    @property
    def why(self) -> str:
        """Why it is quoted; worked out when somebody asks."""
        return self.reason()


class Quotations(Protocol):
    """Earlier messages, ranked by what they say to a question."""

    @property
    def likely(self) -> bool:
        """Whether the best of them is probably what is asked for."""
        ...

    def pack(self, room: int, visible: Container[int], sure: bool = False) -> tuple[str, int, list[Quotation]]:
        """As much as fits so many tokens, as text, its tokens, and piece by piece; nothing that is visible anyway. With
        `sure`, nothing that is far behind the best."""
        ...

    def tokens(self, room: int, sure: bool = False) -> int:
        """What `pack` would take if nothing else were visible, about."""
        ...


@dataclass(frozen=True, slots=True)
class View:
    """What a context is made from: a chat at one moment."""

    policy: Policy
    system: str | None
    pins: tuple[Line, ...]
    lines: tuple[Line, ...]
    messages: Sequence[Message]
    """The unfolded messages, oldest first."""
    depth: int = -1
    """Depth of the newest record; -1 without one."""
    asked: tuple[Message, ...] = ()
    """The question of the open turn, where a long agent loop has already folded it."""
    older: tuple[int, int] | None = None
    """First and last position of unfolded messages too old to be worth loading; they are bridged unseen."""
    cache: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """Rendered texts, kept as long as memory does not change."""
    known: tuple[Line, ...] = ()
    """Facts beside those of memory: of the same user in other chats, and what is in conflict."""
    outdated: frozenset[str] = frozenset()
    """Ids of items that were overtaken in another chat."""
    recalled: Quotations | None = None
    """What earlier messages say to the question, where it asks for them."""
    related: tuple[tuple[str, str], ...] = ()
    """Entities that may matter: a line and the reason for it, most relevant first."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing in a context, or left out of it."""

    layer: str
    what: str
    tokens: int
    reason: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a context looks the way it does."""

    budget: int
    tokens: int
    items: tuple[Piece, ...]
    left_out: tuple[Piece, ...]

    def __str__(self) -> str:
        lines = [f"{self.tokens} of {self.budget} tokens"]
        for title, pieces in (("in the context", self.items), ("left out", self.left_out)):
            if pieces:
                lines.append(f"{title}:")
                lines += [f"  {p.layer:<8} {p.tokens:>6}  {p.what}  ({p.reason})" for p in pieces]
        return "\n".join(lines)


class Origin(Protocol):
    """What a context was made by, and can ask about itself."""

    def explain(self) -> Explanation: ...

    def text(self, models: bool = False) -> str: ...

    def shown(self) -> list[Message]: ...


@dataclass(frozen=True, slots=True)
class Context:
    """A request's messages, ready to send, and what is known about them."""

    messages: list[dict[str, Any]]
    tokens: int
    """Everything the request holds: messages, their scaffolding, tool definitions."""
    budget: int
    sources: dict[str, int]
    """How many pieces of each kind are in it, after trimming."""
    bridge: tuple[int, int, int] | None
    """First and last position and number of the messages that are only named, not shown; None if there are none."""
    _origin: Origin = field(repr=False, compare=False)

    @property
    def hash(self) -> str:
        """Hash of the messages: equal contexts, equal hash."""
        return hashlib.sha256(canonical_json(self.messages).encode()).hexdigest()

    def explain(self) -> Explanation:
        """For each piece its layer, tokens and reason; and what was left out, and why."""
        return self._origin.explain()

    def shown(self) -> list[Message]:
        """The messages as infold sees them, before they take a format."""
        return self._origin.shown()

    @overload
    def to(self, format: Literal["text"], *, models: bool = False) -> str: ...

    @overload
    def to(self, format: Literal["chat", "responses"]) -> list[dict[str, Any]]: ...

    @overload
    def to(self, format: Literal["anthropic"]) -> dict[str, Any]: ...

    @overload
    def to(self, format: str) -> str | list[dict[str, Any]] | dict[str, Any]: ...

    def to(self, format: str, *, models: bool = False) -> str | list[dict[str, Any]] | dict[str, Any]:
        """The context for another API: "chat" messages, "responses" input items, "anthropic" system and messages.

        "text" is the plain prompt text; with `models`, each reply names the model that wrote it, where it is known.
        """
        if format == "text":
            return self._origin.text(models)
        if format == "chat":
            return formats.to_chat(self._origin.shown())
        if format == "responses":
            return formats.to_responses(self._origin.shown())
        if format == "anthropic":
            return formats.to_anthropic(self._origin.shown())
        raise ConfigError(f'unknown context format {format!r}: use "chat", "responses", "anthropic" or "text"')


def check_budget(value: object, what: str = "max_tokens") -> int:
    """A budget that is a sensible number of tokens."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MAX_BUDGET:
        raise BudgetError(f"{what} must be a whole number from 1 to {MAX_BUDGET:,}, not {value!r}")
    return value
