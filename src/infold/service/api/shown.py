"""What infold knows, as JSON values."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from infold.context.view import Context
from infold.knowledge.entity import Entity
from infold.ledger.rows import ChatRow, Event
from infold.lines.line import Line
from infold.messages import Message
from infold.recall.hits import Hit
from infold.reports import MemoryState, Usage
from infold.unreadable import policy_of


def chat(row: ChatRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "user": row.user,
        "title": row.title,
        "preset": policy_of(row)[0].name,
        "system": row.system,
        "context_window": row.context_window,
        "messages": row.last_seq,
        "folded": row.cursor,
        "created_at": row.created_at,
        "remember": bool(row.remember),
    }


def message(stored: Message) -> dict[str, Any]:
    return {
        "id": stored.id,
        "seq": stored.seq,
        "created_at": stored.created_at,
        "model_variant": stored.model_variant,
        "tokens": stored.tokens,
        "message": stored.wire,
    }


def line(one: Line) -> dict[str, Any]:
    return asdict(one)


def memory(state: MemoryState) -> dict[str, Any]:
    return {
        "summary": state.summary,
        "pins": [line(one) for one in state.pins],
        "facts": [line(one) for one in state.facts],
        "long": [line(one) for one in state.long],
        "leaves": [line(one) for one in state.leaves],
        "further": [line(one) for one in state.further],
        "cursor": state.cursor,
        "last_summarized_message_id": state.last_summarized_message_id,
        "recent_messages": [message(one) for one in state.recent_messages],
    }


def pin(one: Line) -> dict[str, Any]:
    return {"id": one.id, "text": one.text, "tokens": one.tokens, "by": one.said_by}


def entity(one: Entity) -> dict[str, Any]:
    return {**asdict(one), "sources": [source._asdict() for source in one.sources]}


def hit(one: Hit) -> dict[str, Any]:
    return {**asdict(one), "sources": [source._asdict() for source in one.sources]}


def event(id: str, one: Event) -> dict[str, Any]:
    return {"id": id, "type": one.type, "created_at": one.created_at, "chat": one.chat, "data": one.data}


def context(made: Context, format: str, *, cache: bool, tool_text: bool) -> dict[str, Any]:
    """A context in one of the formats: `messages` as its API takes them, `system` beside them, or `text`."""
    given: Any = (
        made.messages if format == "chat" and not tool_text else made.to(format, cache=cache, tool_text=tool_text)
    )
    system = text = None
    if format == "text":
        given, text = [], given
    elif format == "anthropic":
        system, given = given.get("system"), given["messages"]
    why = made.explain()
    return {
        "format": format,
        "messages": given,
        "system": system,
        "text": text,
        "tokens": made.tokens,
        "budget": made.budget,
        "sources": made.sources,
        "bridge": list(made.bridge) if made.bridge else None,
        "explanation": {
            "items": [asdict(piece) for piece in why.items],
            "left_out": [asdict(piece) for piece in why.left_out],
        },
        "hash": made.hash,
    }


def usage(used: Usage) -> dict[str, Any]:
    return {"models": [asdict(one) for one in used.models], "calls": len(used.calls), "cost": used.cost}
