"""What belongs together: units (never split), turns, the trailing question, and the repair of orphans. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from infold.messages import RESPONSES, Message

NO_RESULT = "[no result was recorded for this call]"
ORPHAN_MARK = "[tool result without its call]"
# Whatever some reader takes for the end of a line.
_LINE_ENDS = re.compile("\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Unit:
    """Positions first..last (both inclusive) that only travel together."""

    first: int
    last: int
    pending: bool = False
    """A call is still waiting for a result, and the chat has not gone on without it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Positions first..last of one exchange."""

    first: int
    last: int
    complete: bool


def follows(before: Message, message: Message) -> bool:
    """Whether two neighbours are Responses items that the model produced together, such as reasoning and its call."""
    return message.role == before.role == "assistant" and RESPONSES in message.extra and RESPONSES in before.extra


def quoted(text: str) -> str:
    """The words of a tool where they have no role of their own: no line after the first reads as somebody else's."""
    return _LINE_ENDS.sub(lambda end: f"{end[0]}> ", text)


def runs(messages: Sequence[Message]) -> list[list[Message]]:
    """What the model said in one go, as one list; every other message alone."""
    result: list[list[Message]] = []
    for message in messages:
        if result and follows(result[-1][-1], message):
            result[-1].append(message)
        else:
            result.append([message])
    return result


def units(messages: Sequence[Message]) -> list[Unit]:
    """Split messages into units: a run or a call with everything up to its last result, else one message.

    A call with missing results is pending, and reaches to the end, until the assistant speaks again.
    """
    waiting: dict[str, int] = {}  # call id -> position of its latest unanswered call, or where its run starts
    reach: dict[int, int] = {}  # that position -> position of the run's end or last result so far
    last_assistant = -1
    for at, message in enumerate(messages):
        if message.role == "assistant":
            if not message.extra or not at or not follows(messages[at - 1], message):
                last_assistant = at
            reach[last_assistant] = at
            for made in message.tool_calls:
                waiting[made["id"]] = last_assistant
        elif message.role == "tool" and message.tool_call_id is not None:
            call = waiting.pop(message.tool_call_id, None)
            if call is not None:
                reach[call] = at
    pending = last_assistant if last_assistant in waiting.values() else None
    if pending is not None:
        reach[pending] = len(messages) - 1
    result: list[Unit] = []
    at = 0
    while at < len(messages):
        last = at
        scan = at
        while scan <= last:  # a unit grows while a call inside it reaches further
            last = max(last, reach.get(scan, scan))
            scan += 1
        result.append(Unit(at, last, pending is not None and at <= pending <= last))
        at = last + 1
    return result


def splits_unit(messages: Sequence[Message], seq: int) -> bool:
    """Whether a cut right after position `seq` of the chat would split a unit of these messages."""
    return any(messages[unit.first].seq <= seq < messages[unit.last].seq for unit in units(messages))


def unit_slices(messages: Sequence[Message]) -> list[list[Message]]:
    """The messages of each unit."""
    if not any(message.tool_calls or message.extra for message in messages):  # the common case, much cheaper
        return [[message] for message in messages]
    return [list(messages[unit.first : unit.last + 1]) for unit in units(messages)]


def awaited(messages: Sequence[Message]) -> list[str]:
    """Ids of calls in these messages that have no result yet, in order."""
    waiting: dict[str, None] = {}
    for message in messages:
        for call_id in message.call_ids:
            waiting[call_id] = None
        if message.role == "tool" and message.tool_call_id is not None:
            waiting.pop(message.tool_call_id, None)
    return list(waiting)


def turn_starts(messages: Sequence[Message]) -> list[int]:
    """Where turns begin. A user message opens one unless it joins user messages of the same speaker."""
    starts = [0] if messages else []
    role: str | None = None
    name: str | None = None
    for at, message in enumerate(messages):
        now = message.role
        if now == "user":
            if role is not None and (role != "user" or message.name != name):
                starts.append(at)
        elif now in ("system", "developer"):
            continue
        role, name = now, message.name
    return starts


def turns(messages: Sequence[Message]) -> list[Turn]:
    """Split messages into turns; only the last one can be incomplete."""
    starts = turn_starts(messages)
    ends = [start - 1 for start in starts[1:]] + [len(messages) - 1]
    result = [Turn(first, last, True) for first, last in zip(starts, ends, strict=False)]
    if result and not answered(messages):
        result[-1] = Turn(result[-1].first, result[-1].last, False)
    return result


def answered(messages: Sequence[Message]) -> bool:
    """Whether the last word is the assistant's and no call is open."""
    at = len(messages) - 1
    while at >= 0 and messages[at].role in ("system", "developer"):
        at -= 1
    if at < 0 or messages[at].role != "assistant" or (messages[at].extra and messages[at].opaque):
        return False
    while not messages[at].tool_calls:
        if not messages[at].extra or not at or not follows(messages[at - 1], messages[at]):
            return True
        at -= 1
    return False


def trailing(messages: Sequence[Message]) -> int:
    """Position where the unanswered user messages at the end begin (their number if there are none)."""
    at = len(messages)
    while at and messages[at - 1].role == "user" and messages[at - 1].name == messages[-1].name:
        at -= 1
    return at


def question(messages: Sequence[Message]) -> tuple[int, int]:
    """Positions [first, end) of the user messages that the open turn answers; empty at the end if none is open."""
    if not messages or answered(messages):
        return len(messages), len(messages)
    end = len(messages)
    while end and messages[end - 1].role != "user":
        end -= 1
    return (trailing(messages[:end]), end) if end else (len(messages), len(messages))


def repair(messages: Sequence[Message]) -> list[Message]:
    """The same messages with every run of calls directly followed by exactly one result for each id.

    Results come right after their calls; a missing one is replaced by a fixed mark; a result whose call
    is not here becomes a marked user message. Repairing twice changes nothing.
    """
    if not any(message.tool_calls or message.role == "tool" for message in messages):
        return list(messages)
    result_of: dict[tuple[int, str], int] = {}
    waiting: dict[str, int] = {}
    matched: set[int] = set()
    for at, message in enumerate(messages):
        for call_id in message.call_ids:
            waiting[call_id] = at
        if message.role == "tool" and message.tool_call_id is not None:
            call = waiting.pop(message.tool_call_id, None)
            if call is not None:
                result_of[call, message.tool_call_id] = at
                matched.add(at)
    repaired: list[Message] = []
    calls: list[tuple[int, str]] = []  # those of the run so far
    for at, message in enumerate(messages):
        if at in matched:
            continue
        if message.role == "tool":
            repaired.append(Message("user", f"{ORPHAN_MARK} {quoted(message.text)}", id=message.id, seq=message.seq))
            continue
        repaired.append(message)
        calls += [(at, call_id) for call_id in message.call_ids]
        if calls and not (at + 1 < len(messages) and follows(message, messages[at + 1])):
            places = sorted(result_of.get(call, -1) for call in calls)
            if places == list(range(at + 1, at + 1 + len(calls))):  # all here, in an order of their own
                repaired += messages[at + 1 : at + 1 + len(calls)]
            else:
                found = ((call_id, result_of.get((call, call_id))) for call, call_id in calls)
                repaired += [
                    messages[place] if place is not None else Message("tool", NO_RESULT, tool_call_id=call_id)
                    for call_id, place in found
                ]
            calls = []
    return repaired
