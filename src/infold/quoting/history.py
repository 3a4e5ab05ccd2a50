"""Reading messages in their order, each once. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from infold.messages import Message
from infold.once import Once
from infold.quoting.candidate import Candidate
from infold.quoting.reading import REACH, read

_ENDLESS = 80  # characters
_MANY = 8  # words
_read: Once[tuple[Candidate, ...]] = Once(4096)


def read_all(messages: Sequence[Message], before: Sequence[Message]) -> list[tuple[Candidate, ...]]:
    """What each of some messages, which follow each other, may be quoted for; `before` are those right before them. It does
    not depend on where a run of messages begins or ends."""
    every = [*before, *messages]
    start = len(before)
    return [_once(message, every[max(0, start + at - REACH) : start + at]) for at, message in enumerate(messages)]


def says_nothing(text: str) -> bool:
    """Whether a text is a few words over and over, or one endless word: no statement."""
    words = text.split()
    endless = len(words) == 1 and len(text) > _ENDLESS and text.isascii()
    return endless or (len(words) >= _MANY and len(set(words)) * 4 <= len(words))


def _once(message: Message, before: Sequence[Message]) -> tuple[Candidate, ...]:
    said = tuple((one.seq, one.role, one.name, one.text) for one in before)
    key = (message.seq, message.role, message.name, message.created_at, message.text, said)
    return _read.get(key, lambda: tuple(one for one in read(message, before) if not says_nothing(one.text)))
