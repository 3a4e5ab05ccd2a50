"""The memory engine's context: fixed policy, latest summary, hot turns, related entities, query, within a budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from infold.arguments import layout_of, question_of
from infold.context.assembly import assemble
from infold.context.view import Context, View, check_budget
from infold.errors import NotFoundError
from infold.knowledge.entity import Entity
from infold.knowledge.relevance import Entities
from infold.lines.line import FURTHER, Line
from infold.messages import Message
from infold.presets import Settings, preset
from infold.units import turns

if TYPE_CHECKING:
    from infold.chat import Chat
    from infold.ledger.query import Connection
    from infold.memory import Memory
    from infold.state import State


NAMED = "named, or linked to what is"
"""Why an entity is shown that a query points to."""


def assemble_context(
    user_id: str | None, chat_id: str, query: str, max_tokens: int | None = None, *, memory: Memory | None = None
) -> dict[str, Any]:
    """What to send for a query about a user's chat, with its budget and what it was made of. Reads only; never folds.

    Limits come from the environment (MEMORY_CONTEXT_MAX_TOKENS, MEMORY_HOT_TURNS_LIMIT, MEMORY_RELATED_ENTITIES_LIMIT).
    Without `memory`, the default store ./infold.db.
    """
    if memory is None:
        from infold.memory import Memory

        with Memory(create=False) as default:
            return assemble_context(user_id, chat_id, query, max_tokens, memory=default)
    if max_tokens is not None:
        check_budget(max_tokens)
    return _assembled(*_read(memory, user_id, chat_id), query, max_tokens)


def assemble_open(chat: Chat, query: str, max_tokens: int | None = None) -> dict[str, Any]:
    """`assemble_context` for a chat that is open: what it has read before is not read again."""
    if max_tokens is not None:
        check_budget(max_tokens)
    chat.read_up()
    with chat.reading() as (connection, state):
        view, entities = _view(chat._memory, connection, state), chat.entities_known(connection, state).entities
    return _assembled(view, entities, query, max_tokens)


def _assembled(view: View, entities: Entities, query: str, max_tokens: int | None) -> dict[str, Any]:
    settings = Settings.from_environment()
    cap = settings.memory_context_max_tokens
    applied = cap if max_tokens is None else min(max_tokens, cap)
    context = enforce_budget(
        view,
        select_hot_turns(view.messages, settings.memory_hot_turns_limit),
        select_warm_summaries(view.lines),
        select_related_entities(entities, query, settings.memory_related_entities_limit),
        query,
        applied,
    )
    return {
        "budget": {"requested": max_tokens, "applied": applied, "estimated_used": context.tokens},
        "sources": {name: context.sources[name] for name in ("hot_turns", "summaries", "entities")},
        "context": context.messages,
    }


def _read(memory: Memory, user: str | None, chat: str) -> tuple[View, Entities]:
    from infold.knowledge.noting import read_up
    from infold.ledger import store
    from infold.state import load

    read_up(memory.database, None, user)
    with memory.database.read() as connection:
        row = store.chat_by_id(connection, chat)
        if row is None or row.user != user:
            raise NotFoundError(f"there is no chat {chat!r} of the user {user!r}; add a message to it first")
        state = load(connection, row.key, None)
        assert state is not None, "it is read in the same transaction"
        return _view(memory, connection, state), memory.knowledge.entities_for(connection, row).entities


def _view(memory: Memory, connection: Connection, state: State) -> View:
    from infold.knowledge.known import beside_memory

    role, merge = layout_of(state.policy, None, None)
    view = replace(state.view(), key=memory.mark_key(connection), memory_role=role, merge=merge)
    return beside_memory(memory.knowledge, connection, state, view)


def select_hot_turns(messages: Sequence[Message], limit: int) -> list[Message]:
    """The messages of the newest turns, at most so many, and of the one that is open."""
    found = turns(messages)
    complete = [turn for turn in found if turn.complete]
    if len(complete) <= limit:
        return list(messages)
    return list(messages[complete[-limit].first :]) if limit else []


def select_warm_summaries(items: Sequence[Line]) -> tuple[Line, ...]:
    """The latest summary of a chat: all lines of its memory."""
    return tuple(line for line in items if line.layer != FURTHER)


def select_related_entities(entities: Iterable[Entity], query: str, limit: int) -> list[tuple[str, str]]:
    """Tasks, goals, problems and others by recency and by how near they are to what the query names, best first."""
    known = entities if isinstance(entities, Entities) else Entities(entities)
    # Recency alone is at most 1.
    return [(line, NAMED if score > 1 else "recent") for line, score in known.lines(query, limit)]


def enforce_budget(
    view: View,
    hot: Sequence[Message],
    summary: Sequence[Line],
    related: Sequence[tuple[str, str]],
    query: str,
    max_tokens: int,
) -> Context:
    """Everything in order within a budget: hot turns give way first, oldest first, then entities, then the summary."""
    unloaded = view.unloaded
    if hot and view.messages and hot[0].seq > view.messages[0].seq:
        unloaded = (unloaded[0] if unloaded else view.messages[0].seq, hot[0].seq - 1)
    selected = replace(
        view,
        policy=preset("engine"),
        lines=tuple(summary),
        messages=tuple(hot),
        related=tuple(related),
        asked=(),
        unloaded=unloaded,
        given=False,
        cache={},
    )
    return assemble(selected, max_tokens, query=question_of(query))
