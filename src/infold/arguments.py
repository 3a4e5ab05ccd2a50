"""What callers hand to a chat, checked. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from infold import formats, presets
from infold.context.view import check_budget
from infold.errors import ConfigError, DuplicateIdError, MessageError
from infold.messages import Message, parse
from infold.policy import MEMORY_ROLES, Policy
from infold.redaction import redacted
from infold.tokens import message_tokens

RESERVE, RESERVE_SHARE = 1000, 15
"""Tokens that are left for the reply where the caller does not say, and percent of the window that they are at most."""

MessageLike = Message | Mapping[str, Any]


def question_of(query: str | MessageLike | None) -> Message | None:
    """The caller's question as a user message."""
    if query is None:
        return None
    if isinstance(query, str):
        query = {"role": "user", "content": query}
    question, *more = formats.parse(query)
    if more or question.role != "user":
        raise MessageError(f"the question must be a user message, not a {question.role} message")
    return replace(question, tokens=message_tokens(question))


def budget_of(policy: Policy, window: int, max_tokens: int | None, reserve_output: int | None) -> int:
    """Tokens of a context: as the caller says, else the policy's own, else the window less what the reply may take."""
    if max_tokens is not None:
        return check_budget(max_tokens - (reserve_output or 0), "max_tokens less reserve_output")
    reserve = min(RESERVE, window * RESERVE_SHARE // 100) if reserve_output is None else reserve_output
    most = check_budget(window - reserve, "context_window less reserve_output")
    return min(policy.budget, most) if policy.budget else most


def check_layout(memory_role: object, merge: object) -> None:
    """Refuse values of `memory_role` and `merge` that mean nothing."""
    if memory_role is not None and memory_role not in MEMORY_ROLES:
        raise ConfigError(f'memory_role must be "user" or "system", not {memory_role!r}')
    if merge is not None and not isinstance(merge, bool):
        raise ConfigError(f"merge must be True or False, not {merge!r}")


def layout_of(policy: Policy, memory_role: str | None, merge: bool | None) -> tuple[str, bool]:
    """The role of memory, and whether a chain's system messages are one: argument over chat over environment over file."""
    role = memory_role or policy.memory_role or presets.memory_role()
    return role, (policy.merge or presets.merges()) if merge is None else merge


def same(given: Message, stored: Message, sha256: bytes | None = None) -> Message:
    """The stored message, if what was given under its id is the same, or was forgotten: then it stays so. One whose words
    are gone is known by its hash."""
    if sha256 is not None:
        given = replace(
            given, seq=stored.seq, created_at=stored.created_at, model_variant=stored.model_variant, id=stored.id
        )
        known = sha256 in (given.sha256, redacted(given).sha256)
    else:
        known = stored.wire in (given.wire, redacted(given).wire)
    if not known:
        raise DuplicateIdError(
            f"message id {given.id!r} is taken by another message (number {stored.seq}) of this chat; use a new id"
        )
    return stored


def check_extras(tools: Any, sources: Any) -> None:
    """Tool definitions that can be sent, and sources that can be shown."""
    if sources is not None:
        if isinstance(sources, str) or not all(isinstance(source, str) for source in sources):
            raise MessageError("sources must be a list of texts")
        for source in sources:
            parse({"role": "user", "content": source})
    if tools is not None:
        if isinstance(tools, str | Mapping) or not all(isinstance(tool, Mapping) for tool in tools):
            raise MessageError("tools must be a list of tool definitions, each a dict")
        parse({"role": "user", "content": "", "tools": [dict(tool) for tool in tools]})
