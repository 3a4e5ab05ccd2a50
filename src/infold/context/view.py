"""The token-bounded view handed to a model, and what it says about itself. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, overload

from infold import formats
from infold.context.block import unmarked
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

    def pack(self, room: int, visible: Container[int], sure: bool = False) -> tuple[list[str], int, list[Quotation]]:
        """As much as fits so many tokens: as lines of a block, their tokens, and piece by piece; nothing that is visible
        anyway. With `sure`, nothing that is far behind the best."""
        ...

    def tokens(self, room: int, sure: bool = False) -> int:
        """What `pack` would take if nothing else were visible, about."""
        ...


@dataclass(frozen=True, slots=True)
class View:
    """What a context is made from: a chat at one moment."""

    policy: Policy
    system: str | None = None
    pins: tuple[Line, ...] = ()
    lines: tuple[Line, ...] = ()
    messages: Sequence[Message] = ()
    """The unfolded messages, oldest first."""
    depth: int = -1
    """Depth of the newest record; -1 without one."""
    cursor: int = 0
    """Everything up to this position is folded."""
    head: int = 0
    """The newest message when memory last changed."""
    folds: int = 0
    """Number of the newest fold."""
    asked: tuple[Message, ...] = ()
    """The question of the open turn, where a long agent loop has already folded it."""
    unloaded: tuple[int, int] | None = None
    """First and last position of unfolded messages too old to be worth loading; they are bridged unseen."""
    operator: tuple[Message, ...] = ()
    """What the operator said in the midst of the chat and is folded."""
    earlier: tuple[Message, ...] = ()
    """The newest folded messages, for the room that a given budget leaves."""
    fill: int = 0
    """Tokens that those may take: what stays free until the next fold, whatever comes."""
    given: bool = False
    """Whether the caller named the budget: then it is used."""
    known: tuple[Line, ...] = ()
    """Facts beside those of memory: of the same user in other chats."""
    more: int = 0
    """How much else the user stated in other chats, for which there is no room."""
    outdated: frozenset[str] = frozenset()
    """Ids of lines that were overtaken in another chat."""
    near: tuple[Line, ...] = ()
    """What was stated that bears on the question, best first."""
    recalled: Quotations | None = None
    """What earlier messages say to the question, where it asks for them."""
    related: tuple[tuple[str, str], ...] = ()
    """Entities that may matter: a line and the reason for it, most relevant first."""
    chat: str = ""
    key: bytes = b""
    """What blocks are marked with."""
    memory_role: str = "user"
    merge: bool = False
    cache: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """What was worked out from memory, kept as long as memory does not change."""

    @property
    def variant(self) -> int:
        """A number for what is known beside memory, as part of a key of the cache: comparing all of it would take too long."""
        met: list[tuple[object, object]] = self.cache.setdefault("variants", [])
        for at, (known, outdated) in enumerate(met):
            if known is self.known and outdated is self.outdated:
                return at
        met.append((self.known, self.outdated))
        return len(met) - 1


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


@dataclass(frozen=True, slots=True, eq=False)
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
    _origin: Origin = field(repr=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Context):
            return NotImplemented
        same = (self.tokens, self.budget, self.sources, self.bridge) == (
            other.tokens, other.budget, other.sources, other.bridge,
        )  # fmt: skip
        return same and bool(unmarked(self.messages) == unmarked(other.messages))

    __hash__ = None  # type: ignore[assignment]

    @property
    def hash(self) -> str:
        """Hash of the messages, marks left out: equal contexts, equal hash."""
        return hashlib.sha256(canonical_json(unmarked(self.messages)).encode()).hexdigest()

    def explain(self) -> Explanation:
        """For each piece its layer, tokens and reason; and what was left out, and why."""
        return self._origin.explain()

    def shown(self) -> list[Message]:
        """The messages as infold sees them, before neighbours of one role are joined and they take a format."""
        return self._origin.shown()

    @overload
    def to(self, format: Literal["text"], *, models: bool = False) -> str: ...

    @overload
    def to(self, format: Literal["chat"], *, tool_text: bool = False) -> list[dict[str, Any]]: ...

    @overload
    def to(self, format: Literal["responses"]) -> list[dict[str, Any]]: ...

    @overload
    def to(self, format: Literal["anthropic"], *, cache: bool = False) -> dict[str, Any]: ...

    @overload
    def to(
        self, format: str, *, models: bool = False, cache: bool = False, tool_text: bool = False
    ) -> str | list[dict[str, Any]] | dict[str, Any]: ...

    def to(
        self, format: str, *, models: bool = False, cache: bool = False, tool_text: bool = False
    ) -> str | list[dict[str, Any]] | dict[str, Any]:
        """The context for another API: "chat" messages, "responses" input items, "anthropic" system and messages.

        "text" is the plain prompt text; with `models`, each reply names the model that wrote it, where it is known. With
        `cache`, an Anthropic request carries breakpoints for the provider's prompt cache: after memory, and at the end of
        what does not change with the next message. With `tool_text`, calls and results of "chat" messages are text, for
        models whose chat template knows no tools; that takes about as many tokens as `tokens` says.
        """
        if format == "text":
            return self._origin.text(models)
        if format == "chat":
            messages = formats.to_chat(self._origin.shown())
            return formats.joined_chat(formats.worded(messages) if tool_text else messages)
        if format == "responses":
            return formats.joined_responses(formats.to_responses(self._origin.shown()))
        if format == "anthropic":
            built = formats.to_anthropic(self._origin.shown())
            return formats.with_breakpoints(built) if cache else built
        raise ConfigError(f'unknown context format {format!r}: use "chat", "responses", "anthropic" or "text"')


def check_budget(value: object, what: str = "max_tokens") -> int:
    """A budget that is a sensible number of tokens."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MAX_BUDGET:
        raise BudgetError(f"{what} must be a whole number from 1 to {MAX_BUDGET:,}, not {value!r}")
    return value
