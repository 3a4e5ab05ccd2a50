"""The end of a context in the client's own words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from infold.context import Context
from infold.errors import MessageError
from infold.messages import Message
from infold.service.wire.base import Wire, parsed
from infold.service.wire.identity import OWN, identity, says_nothing
from infold.tokens import counted

STANDING_SHARE = 4
"""Part of a context's budget that instructions in the midst of a chat may take beside it."""
_CACHE = "cache_control"


def as_developer(own: Sequence[Any]) -> bool:
    """Whether what infold says itself takes the role that the client's own instructions have: some models take one only."""
    return bool(own) and all(value["role"] == "developer" for value in own)


def shown(context: Context, own: Sequence[Any]) -> list[Message]:
    """The messages of a context, in the roles that the client uses."""
    found = context.shown()
    if not as_developer(own):
        return found
    return [replace(m, role="developer") if m.role == "system" and not m.seq else m for m in found]


def standing(given: Sequence[Any], built: Sequence[Wire], budget: int) -> list[Any]:
    """What a client has told the model in the midst of its chat, where the context does not show it any more: it holds on. The
    newest, if that is very much."""
    shown = {said for value in built if value.get("role") in OWN for said in _says([value])}
    room = budget // STANDING_SHARE
    found: list[Any] = []
    for value in reversed(given):
        said = _says([value]) if isinstance(value, dict) and value.get("role") in OWN else []
        if said and shown.isdisjoint(said):
            room -= sum(message.tokens for message in counted(parsed([value])))
            if room < 0:
                break
            found.append(value)
            shown.update(said)
    return found[::-1]


def with_own_end(built: Sequence[Wire], given: Sequence[Any], words: Sequence[Any] = ()) -> list[Wire]:
    """Messages built from a context, with their end taken from the request as far as it says the same; in other `words`, where
    those of the client are not what is compared.

    The client knows best what its provider needs there: reasoning, signatures, marks for the cache. Before that, marks
    for the cache are left out: the ledger has them from many requests, and providers take few in one.
    """
    ours, theirs = len(built), len(given)
    for our, their in zip(_starts(built), _starts(given), strict=False):
        if built[our:ours] != given[their:theirs]:  # in the same words, as nearly always, it says the same
            said = _says(built[our:ours])
            if not said or said != _says(given[their:theirs]):
                break
        ours, theirs = our, their
    return [*map(_uncached, built[:ours]), *(words or given)[theirs:]]


def _starts(values: Sequence[Any]) -> Iterator[int]:
    """Where each message begins, the last one first: at the reasoning items before it."""
    start = len(values)
    while start:
        start -= 1
        while start and isinstance(before := values[start - 1], dict) and before.get("type") == "reasoning":
            start -= 1
        yield start


def _says(group: Sequence[Wire]) -> list[bytes]:
    """What a message says; nothing where it is not understood."""
    try:
        return [identity(message) for message in parsed(group) if not says_nothing(message)]
    except MessageError:
        return []


def _uncached(value: Any) -> Any:
    """A message or part without marks for the cache."""
    if not isinstance(value, dict):
        return value
    found = {key: inner for key, inner in value.items() if key != _CACHE}
    if isinstance(found.get("content"), list):  # of a message, or of a tool result in it
        found["content"] = [_uncached(part) for part in found["content"]]
    return found
