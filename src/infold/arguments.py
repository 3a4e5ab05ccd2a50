"""What callers hand to a chat, checked. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from infold import formats
from infold.errors import DuplicateIdError, MessageError
from infold.messages import Message, parse
from infold.redaction import redacted
from infold.tokens import message_tokens

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
