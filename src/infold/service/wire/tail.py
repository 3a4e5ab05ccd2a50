"""The end of a context in the client's own words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from infold.context.layout import is_tagged
from infold.context.view import Context
from infold.errors import MessageError
from infold.formats import without_breakpoints
from infold.messages import Message
from infold.service.wire.base import Wire, parsed
from infold.service.wire.identity import OWN, identity, says_nothing
from infold.tokens import counted

OPERATOR_SHARE = 4
"""Part of a context's budget that instructions in the midst of a chat may take beside it."""


def split(context: Context) -> tuple[str, list[Message], list[Message]]:
    """What a context says for the operator, a chain's tagged message, and the rest."""
    found = context.shown()
    first = 0
    while first < len(found) and found[first].role in OWN:
        first += 1
    system = [m for m in found[:first] if not is_tagged(m)]
    return "\n\n".join(m.text for m in system), [m for m in found[:first] if is_tagged(m)], found[first:]


def instructions(
    own: Sequence[Any], midst: Sequence[Any], system: str, tagged: Sequence[Message], budget: int
) -> list[Any]:
    """The client's own instructions and those in the midst of its chat, with those that the chat remembers, as one message: the
    newest, if that is very much. Then a chain's tagged message, in the same role: providers want no two of them."""
    texts = [message.text for message in parsed(own)]
    remembered = [system] if system else []
    room = budget // OPERATOR_SHARE
    later: list[str] = []
    for message in reversed(counted(parsed(midst))):
        if message.text and not any(message.text in known for known in (*texts, *remembered, *later)):
            room -= message.tokens
            if room < 0:
                break
            later.append(message.text)
    more = [*remembered, *reversed(later)]
    said = own or midst
    role = "developer" if said and all(value["role"] == "developer" for value in said) else "system"
    behind = [{"role": role, "content": message.text} for message in tagged]
    if len(own) <= 1 and not more:
        return [*own, *behind]
    return [{"role": role, "content": "\n\n".join(text for text in (*texts, *more) if text)}, *behind]


def spoken(values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The messages of a client's chat, and its instructions in their midst."""

    def own(value: Any) -> bool:
        return isinstance(value, dict) and value.get("role") in OWN

    return [value for value in values if not own(value)], [value for value in values if own(value)]


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
    return [*map(without_breakpoints, built[:ours]), *(words or given)[theirs:]]


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
