"""How much a proxied request may hold: windows of models, and chats whose window is that of the model they speak with."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from infold.arguments import RESERVE, RESERVE_SHARE
from infold.errors import InfoldError
from infold.ledger import prefixes, store
from infold.memory import CONTEXT_WINDOW
from infold.models import prices
from infold.models.spec import Model
from infold.service.wire import OPERATOR_SHARE, OWN
from infold.tokens import count_cached, tools_tokens

if TYPE_CHECKING:
    from infold.chat import Chat
    from infold.memory import Memory
    from infold.service.wire import Asked
    from infold.state import State

_FEWEST = 256  # tokens that a context always gets, however much a client wants for the reply
_OF_CLAUDE = 0.75  # of a window


class Room(NamedTuple):
    """What a request may hold, in tokens."""

    budget: int
    reserved: int
    """Of it, for the reply and the client's instructions."""
    tools: list[Mapping[str, Any]] | None
    """The request's tools, where they count."""
    fits: bool
    """Whether all that is not folded fits."""


def window_of(model: str | None) -> int | None:
    """The context window of a model, where the price list knows it."""
    if not model:
        return None
    provider = "anthropic" if model.startswith("claude") else "openai"
    with suppress(InfoldError, ValueError):
        return prices.window(Model(model, provider))
    return None


def follow(memory: Memory, chat: Chat, window: int) -> None:
    """Give a chat that nobody gave a window that of the model it speaks with now: folds make room for that one."""
    with chat.seen() as state:
        if state.row.context_window == window:
            return
    with chat.reading() as (connection, _):
        if not prefixes.follows_model(connection, chat.key):
            return
    with chat.writing() as (connection, state):
        if state.row.context_window == window or not prefixes.follows_model(connection, chat.key):
            return
        state.row.context_window = window
        store.set_chat(connection, state.row)
        event = chat.record(connection, "chat_updated", {"fields": ["context_window"]})
    memory.emit([event])


def room(state: State, asked: Asked, given: int | None) -> Room:
    """The room of a request to a chat; `given` is the window that the service was told."""
    policy, model = state.policy, window_of(asked.model)
    window = min(state.context_window, model or state.context_window)
    # Claude's own tokens are smaller than those that are counted here.
    most = int(_OF_CLAUDE * window) if (asked.model or "").startswith("claude") else window
    budget = min(policy.budget or most, most)
    own = model or given or (state.context_window if state.context_window != CONTEXT_WINDOW else None)
    # Of a window that is only guessed, or less than the model's, what a client would take for the reply says nothing.
    known = own is not None and window >= own
    wanted = asked.reserve_output or (0 if policy.budget else min(RESERVE, window * RESERVE_SHARE // 100))
    reserved = wanted if known else min(wanted, budget // 2)
    later = {message.text for message in asked.messages if message.role in OWN}
    reserved += count_cached(asked.system or "") + min(sum(map(count_cached, later)), budget // OPERATOR_SHARE)
    tokens = tools_tokens(asked.tools)
    fits = state.unfolded_tokens + reserved + tokens < budget
    most = max(0, budget - _FEWEST if known else budget // 2)
    if reserved + tokens > most:  # the provider decides whether that fits; a part is left for the chat
        return Room(budget, most, None, fits)
    return Room(budget, reserved, list(asked.tools) or None, fits)
