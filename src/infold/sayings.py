"""Messages as recall sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infold.messages import Message

if TYPE_CHECKING:
    from infold.recall.segment import Said


def said(message: Message) -> Said:
    """A message as recall sees it."""
    from infold.recall.segment import Said

    return Said(message.seq, text_of(message), speaker_of(message), message.created_at)


def text_of(message: Message) -> str:
    """What is searched and shown of a message: its text, unless it is the operator's."""
    return "" if message.role in ("system", "developer") else message.text


def speaker_of(message: Message) -> str:
    return message.name or message.role
