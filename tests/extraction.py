"""What the tests of the extractive fold share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from infold import Message, preset, summarize_memory
from infold.folding.extractive import extract
from infold.folding.merge import fold_extractive
from infold.items import Item, render
from infold.policy import Policy
from tests.conftest import assistant, call, result, user

ROLLING = preset("rolling", {})
MONDAY = "2026-05-04T10:00:00Z"
MOST_WORDS = 40  # of an item


def ms(when: str) -> int:
    return int(datetime.fromisoformat(when).timestamp() * 1000)


def said(*texts: str, by: str = "user", at: str = MONDAY) -> list[Message]:
    return [Message(by, text, seq=n, created_at=ms(at)) for n, text in enumerate(texts, start=1)]


def remembered(*texts: str, known: str = "", at: str = MONDAY) -> str:
    """Memory after these words of a user."""
    return summarize_memory(known, said(*texts, at=at))


def bullets(summary: str, heading: str | None = None) -> list[str]:
    """The lines of a summary, all or those under one heading."""
    found, under = [], ""
    for line in summary.splitlines():
        if line.startswith("## "):
            under = line[3:]
        elif heading in (None, under):
            found.append(line.removeprefix("- "))
    return found


def fold_in_turn(groups: Iterable[Sequence[Message]], policy: Policy = ROLLING) -> tuple[Item, ...]:
    """Memory after one fold for each group of messages."""
    memory: tuple[Item, ...] = ()
    for number, group in enumerate(groups, start=1):
        memory = fold_extractive(memory, [c for m in group for c in extract(m)], policy, number).items
    return memory


def one_by_one(*texts: str, at: str = MONDAY) -> str:
    """Memory where each text is folded by itself."""
    return render(fold_in_turn([message] for message in said(*texts, at=at)))


# A conversation with all there is: facts, changes of mind, tools, filler, opinions.
WINDING = (
    "So the thing about the new warehouse in Rotterdam, which my colleague Femke has been talking about since the "
    "spring, is that its ramp takes no trucks above 12 tonnes and so invoice INV-20417 for the big lift must not be paid."
)
TALK: list[dict[str, Any]] = [
    user("Hi there! My name is Ada Brandt and I live in Ghent. How are you today?"),
    assistant("Hello Ada! I'm doing great, thanks. In my opinion Ghent is the loveliest city. How can I help you?"),
    user("My budget is 400 euros. I'm allergic to peanuts, and I prefer trains over planes."),
    assistant("Noted! I think trains are wonderful. I'll send you the timetable by Friday."),
    user("We decided on Lisbon for the offsite. Haha, I can't wait!"),
    call("t1", name="book", arguments='{"city": "Lisbon"}'),
    result("t1", '{"booking_id": "BK-77812", "status": "confirmed", "total": "389.50 EUR"}'),
    assistant("Your booking BK-77812 is confirmed. You're going to love it!"),
    user(WINDING),
    assistant("That sounds tricky. Perhaps you might consider another ramp, but honestly who knows?"),
    user("Scratch that, the offsite is in Porto. The contract is in contract_v3.pdf."),
    user("I need to renew my passport in two weeks. Thanks a lot!"),
]


def conversation() -> list[Message]:
    return [
        Message(
            m["role"],
            m["content"],
            tool_calls=tuple(m.get("tool_calls", ())),
            tool_call_id=m.get("tool_call_id"),
            seq=n,
            created_at=ms(MONDAY),
        )
        for n, m in enumerate(TALK, start=1)
    ]
