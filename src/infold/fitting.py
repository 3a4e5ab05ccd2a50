"""A context for a model that counts tokens in its own way. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from infold.assembly import assemble
from infold.context import Context, View
from infold.messages import Message
from infold.tokens import O200K, REQUEST_OVERHEAD, counting, message_tokens, tools_tokens


def assemble_for(
    tokenizer: str,
    view: View,
    budget: int,
    *,
    query: Message | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    sources: Sequence[str] = (),
) -> Context:
    """A context within a budget of a tokenizer's own tokens."""
    usual = tools_tokens(tools)
    if tokenizer == O200K:
        return assemble(view, budget, query=query, tools_tokens=usual, sources=sources)
    with counting(tokenizer):
        own_tools = tools_tokens(tools)
    room = budget
    while True:  # what is stored is counted in the usual tokens, so the room is narrowed until the other count fits
        context = assemble(view, room, query=query, tools_tokens=usual, sources=sources)
        with counting(tokenizer):
            own = REQUEST_OVERHEAD + own_tools + sum(map(message_tokens, context.shown()))
        if own <= budget:
            return replace(context, tokens=own, budget=budget)
        room = min(room - 1, room * budget // own)
