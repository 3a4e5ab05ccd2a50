"""Where a request goes on in the midst of a chat: some clients leave out what comes before, or have a summary for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from infold.ledger import prefixes as known
from infold.ledger import store
from infold.redaction import trace
from infold.service.matching import AHEAD, TELLING, Match, Walk, Words, compared, is_gone
from infold.service.wire import identity, silent

if TYPE_CHECKING:
    from infold.ledger.query import Connection
    from infold.messages import Message

_MOST_PART = 1000  # messages at the end of a chat among which a request may begin
_MOST_ALIKE = 32  # places of a chat where a reply may stand, if it was said often


def aligned(
    connection: Connection, chats: Sequence[known.Found], messages: Sequence[Message], begun: int, *, whole: bool
) -> Match | None:
    """Where a request goes on in one of these chats that it has not the whole of: by its last reply that the chat has, and what
    stands before that. Of a request of which so many messages begin like the chat, all must be in it. Else its head may be a
    client's own, such as a summary; or it was edited, where the client sends the whole chat each time. One without replies
    goes on where its messages were said and not answered."""
    if not any(message.role == "assistant" for message in messages):
        again = [_said_again(connection, chat, messages) for chat in chats]
        return max((match for match in again if match), key=lambda match: match.sent, default=None)
    near = 2 * min(len(messages), _MOST_PART) + AHEAD
    # Who goes back some turns sends replies that are further away.
    for far in sorted({near, max(near, _MOST_PART + AHEAD)}):
        found = [_aligned(connection, chat, far, messages, begun, whole=whole) for chat in chats]
        if best := max((match for match in found if match), key=lambda match: (match.sent, match.ends), default=None):
            return best
    return None


def _aligned(
    connection: Connection, chat: known.Found, far: int, messages: Sequence[Message], begun: int, *, whole: bool
) -> Match | None:
    stored = store.messages_between(connection, chat.key, max(1, chat.last - far), chat.last)
    ours = [message for message in stored if not silent(message)]
    said = [at for at, message in enumerate(messages) if not silent(message)]
    theirs = [messages[at] for at in said]
    words = Words(connection, chat.key)
    places: dict[bytes | int, list[int]] = defaultdict(list)
    cut = []
    for place, message in enumerate(ours):
        if words.is_cut(message):
            cut.append(place)
        elif not is_gone(message):
            places[identity(message)].append(place)
        elif message.seq in words.notes.traces:
            places[words.notes.traces[message.seq]].append(place)
    for last in range(len(theirs) - 1, -1, -1):
        if theirs[last].role != "assistant":
            continue
        some = [*places[identity(theirs[last])], *places[trace(theirs[last])], *cut[-_MOST_ALIKE:]]
        alike = [place for place in sorted(some) if words.same(ours[place], theirs[last])]
        length, place = _longest_run(words, ours, theirs, last, alike[-_MOST_ALIKE:])
        first = last - length + 1
        # One reply may well be said twice; with what it answers, hardly.
        if length > 1 or (length == 1 and (first == 0 or len(theirs[last].text) >= TELLING)):
            head = sum(at < begun for at in said)  # messages that are those at the chat's beginning
            if first > head > 0:
                return None  # something in between was changed
            if whole and first > 0 and not head and stored[0].seq == 1 and place - length < first:
                return Match(chat.key, chat.id, 0, 0, ends=False)
            start = known.Found(chat.key, ours[place].seq, chat.id, chat.last)
            found = compared(connection, start, messages, said[last] + 1)
            return replace(found, common=found.common + len(theirs[last].text), replied=True)
    return None


def _said_again(connection: Connection, chat: known.Found, messages: Sequence[Message]) -> Match | None:
    """Where a request begins among the last messages of a chat, which got no reply: it failed then, and is tried again."""
    first = max(1, chat.last - min(len(messages), _MOST_PART) - AHEAD)
    stored = store.messages_between(connection, chat.key, first, chat.last)
    answered = max((place for place, message in enumerate(stored, 1) if message.role == "assistant"), default=0)
    for place in range(answered, len(stored)):
        walk = Walk(Words(connection, chat.key), messages, 0, stored[place].seq - 1)
        if walk.goes_over(stored[place:]) and (match := walk.match(chat, ends=True)).ends and match.sent:
            return match
    return None


def _longest_run(
    words: Words, ours: Sequence[Message], theirs: Sequence[Message], last: int, places: Sequence[int]
) -> tuple[int, int]:
    """Of the places where a message may stand, that before which most is the same, the last of several: how much, and where."""
    best = (0, 0)
    for place in reversed(places):
        length = 1
        while length <= min(last, place) and words.same(ours[place - length], theirs[last - length]):
            length += 1
        if length > best[0]:
            best = (length, place)
        if length > last:  # it cannot be more
            break
    return best
