"""The end of a context in the client's own words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from infold.context import Context
from infold.errors import MessageError
from infold.messages import Message
from infold.service.wire.base import Wire, parsed
from infold.service.wire.identity import identity, silent

_CACHE = "cache_control"


def shown(context: Context, own: Sequence[Any]) -> list[Message]:
    """The messages of a context. What infold says itself has the role that the client uses: some models take one only."""
    found = context.shown()
    if not own or any(value["role"] != "developer" for value in own):
        return found
    return [replace(m, role="developer") if m.role == "system" and not m.seq else m for m in found]


def with_own_end(built: Sequence[Wire], given: Sequence[Any]) -> list[Wire]:
    """Messages built from a context, with their end taken from the request as far as it says the same.

    The client knows best what its provider needs there: reasoning, signatures, marks for the cache. Before that, marks
    for the cache are left out: the ledger has them from many requests, and providers take few in one.
    """
    ours, theirs = _groups(built), _groups(given)
    same = 0
    for our, their in zip(reversed(ours), reversed(theirs), strict=False):
        if our != their:  # in the same words, as nearly always, it says the same
            said = _says(our)
            if not said or said != _says(their):
                break
        same += 1
    kept = [_uncached(value) for group in ours[: len(ours) - same] for value in group]
    return kept + [value for group in theirs[len(theirs) - same :] for value in group]


def _groups(values: Sequence[Any]) -> list[list[Any]]:
    """Each message with the reasoning items before it."""
    groups: list[list[Any]] = [[]]
    for value in values:
        groups[-1].append(value)
        if not (isinstance(value, dict) and value.get("type") == "reasoning"):
            groups.append([])
    return groups if groups[-1] else groups[:-1]


def _says(group: Sequence[Wire]) -> list[bytes]:
    """What a message says; nothing where it is not understood."""
    try:
        return [identity(message) for message in parsed(group) if not silent(message)]
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
