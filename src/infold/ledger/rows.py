"""Rows of the ledger, as the rest of infold sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class ChatRow:
    """One row of `chats`."""

    key: int
    id: str
    user: str | None
    title: str | None
    system: str | None
    policy: str
    context_window: int
    created_at: int
    tools_tokens: int
    last_seq: int
    users: int
    cursor: int
    version: int
    folds: int
    head_hash: bytes
    marks: str
    read_to: int = 0
    epoch: int = 0
    origin: int | None = None
    remember: int = 1
    """0: what it says is known in no other chat."""
    away: int = 0
    """1: people went on in another branch."""

    @property
    def known_as(self) -> str | None:
        """The user whose other chats may know what is said here; None where it stays here."""
        return self.user if self.remember and not self.away else None

    @property
    def life(self) -> int:
        """Another one for a chat of the same name that was deleted and made anew."""
        return self.epoch >> 16

    @property
    def root(self) -> int:
        """Key of the chat that this one, or the one it branched off, began as."""
        return self.key if self.origin is None else self.origin


@dataclass(frozen=True, slots=True)
class FoldRow:
    """One row of `folds`."""

    chat: int
    n: int
    id: str
    kind: str
    first_seq: int | None
    last_seq: int | None
    head_seq: int
    depth: int
    parent: str | None
    superseded_by: int | None
    author: str
    reason: str
    created_at: int
    duration: int
    request_tokens: int
    context_window: int
    active: int
    tokens: int
    marks: str
    removed: str
    sources_sha256: bytes
    hash: bytes
    model: str | None = None
    prompt: str | None = None
    narrative: str | None = None
    notes: str | None = None
    nominal: bytes | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model: what it took and what came of it."""

    model: str
    created_at: int
    duration: int
    """Milliseconds."""
    tokens_in: int
    tokens_out: int
    cached: int
    """Tokens of the input that the provider had in its cache."""
    cost: int | None
    """Billionths of a US dollar; None where the price is not known."""
    outcome: str
    """"ok", "rejected" (by the gate), or what went wrong."""
    fold: int | None = None
    """Number of the fold that came of it."""
    asked: bytes | None = None
    """Hash of what the model was sent."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a chat."""

    type: str
    created_at: int
    data: dict[str, Any]
    chat: str
