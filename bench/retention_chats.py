"""Generated chats with planted statements: what a memory should still hold at the end, and what it should not.

The phrasings come from bench/phrasings/*.toml; the same half, seed and number give the same chat.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

from bench.retention_phrasings import (
    LIVE,
    PHRASINGS,
    START,
    Book,
    NotEnoughError,
    Phrasing,
    any_of,
    books,
    even,
    holds,
    made,
)

REVERSED, DONE, ANSWERED = 2, 4, 2
LENGTH = (200, 400)
TAIL, GAP = 12, 6
TRIES = 400
PINS = (
    "Write in British English.",
    "Keep replies below one page.",
    "Never mention competitors by name.",
    "Show sums before taxes.",
    "Ask before sending anything.",
    "Use the metric system.",
)

_SLOT = re.compile(r"\{([a-z_]+(?:\.[a-z]+)?\d?)\}")
_START_SLOT = re.compile(r"(?:^|(?<=[.!?] ))\{(?:task|question)\.[a-z]+\}")


@dataclass(frozen=True, slots=True)
class Planted:
    """One statement in a chat. `ends` is the position of what overturned or closed it; 0: it lives."""

    kind: str
    say: str
    keep: tuple[str, ...]
    at: int
    group: str
    """What statements about the same thing share: a decision's topic, a task, a question."""
    ends: int = 0
    closing: bool = False
    """It says that something is done or answered; it is no item itself."""


@dataclass(slots=True)
class Script:
    """A chat to be played."""

    name: str
    messages: list[dict[str, object]]
    times: list[int]
    planted: list[Planted]
    pins: tuple[str, ...]


@dataclass(slots=True)
class _Draft:
    kind: str
    say: str
    keep: tuple[str, ...]
    role: str
    values: tuple[str, ...] = ()
    """All that its slots were filled with."""
    phrasing: str = ""
    closing: bool = False
    at: int = -1


@dataclass(slots=True)
class _Slot:
    role: str
    extra: dict[str, object] = field(default_factory=dict)
    content: str | None = None
    call: bool = False


def write(half: str, number: int, seed: int, folder: Path = PHRASINGS) -> Script:
    """The chat of that number."""
    shelf = books(half, folder)
    return _Writer(shelf[number % len(shelf)], random.Random(f"{seed}/{half}/{number}")).script(f"{half} {number}")


class _Writer:
    def __init__(self, book: Book, chance: random.Random) -> None:
        self.book = book
        self.chance = chance
        self.used: set[str] = set()
        self.said: set[str] = set()
        self.groups: dict[str, list[_Draft]] = {}
        self.decks: dict[str, list[Phrasing]] = {}
        self.planted = any_of([])

    def script(self, name: str) -> Script:
        self._plan()
        slots = self._layout(self.chance.randint(*LENGTH))
        self._place(slots)
        planted = self._planted()
        self._fill(slots, planted)
        pins = tuple(self.chance.sample(PINS, 2))
        messages = [{"role": s.role, "content": s.content, **s.extra} for s in slots]
        return Script(name, messages, self._times(slots), planted, pins)

    # What is said ----------------------------------------------------------------------------------------

    def _plan(self) -> None:
        for at in range(LIVE["decision"]):
            links = self.chance.choice((1, 2)) if at < REVERSED else 0
            self._chain(links)
        for closed in (True,) * DONE + (False,) * LIVE["commitment"]:
            self._thing("commitment", "done", self.book.tasks, "task", closed)
        for closed in (True,) * ANSWERED + (False,) * LIVE["question"]:
            self._thing("question", "answer", self.book.questions, "question", closed)
        for kind in ("preference", "constraint", "biography", "goal", "file", "version", "person", "date"):
            for _ in range(LIVE[kind]):
                self._single(kind)
        for kind in ("identifier", "amount"):
            for _ in range(LIVE[kind]):
                if self.chance.random() < 1 / 3:
                    self._from_tool(kind)
                else:
                    self._single(kind)

    def _chain(self, links: int) -> None:
        """A decision, and the decisions that overturn it."""
        for _ in range(TRIES):
            topic = self.chance.choice(self.book.topics)
            name = topic.name
            values = self.chance.sample(topic.options, links + 1)
            given = {"topic": name, "new": values[0]}
            drafts = [self._sentence("decision", given)]
            for old, new in pairwise(values):
                drafts.append(self._sentence("reversal", {"topic": name, "old": old, "new": new}))
            if f"decision {name}" not in self.groups and self._accept(f"decision {name}", drafts):
                return
        raise NotEnoughError("decision")

    def _thing(self, kind: str, end: str, things: Sequence[Mapping[str, str]], slot: str, closed: bool) -> None:
        """A commitment or a question, and what closes it."""
        for _ in range(TRIES):
            thing = self.chance.choice(things)
            given = {f"{slot}.{form}": words for form, words in thing.items()}
            drafts = [self._sentence(kind, given)]
            if closed:
                drafts.append(self._sentence(end, given))
                if drafts[-1] is not None:
                    drafts[-1].closing = True
            group = f"{kind} {thing['key']}"
            if group not in self.groups and self._accept(group, drafts):
                return
        raise NotEnoughError(kind)

    def _single(self, kind: str) -> None:
        for _ in range(TRIES):
            draft = self._sentence(kind, {})
            if draft is not None and self._accept(f"{kind} {' / '.join(draft.keep)}", [draft]):
                return
        raise NotEnoughError(kind)

    def _from_tool(self, kind: str) -> None:
        """An identifier or an amount in the result of a tool."""
        for _ in range(TRIES):
            ref, total = made("ref", self.chance), f"€{self.chance.randint(110, 4900):,}"
            days, when = self.chance.randint(2, 9), START + timedelta(minutes=self.chance.randint(0, 90_000))
            stamp = when.strftime("%Y-%m-%dT%H:%M:%SZ")
            shapes: list[dict[str, object]] = [
                {"status": "confirmed", "order_number": ref, "placed_at": stamp, "eta_days": days},
                {"ok": True, "booking": {"reference": ref, "seats": days, "created": stamp}, "warnings": []},
                {"ticket": {"id": ref, "state": "open", "queue": "second level"}, "took_ms": 40 + days},
            ]
            if kind == "amount":
                shapes = [
                    {"status": "ok", "quote": {"total": total, "valid_days": days, "vat_included": True}},
                    {"result": "success", "amount_due": total, "lines": days, "generated_at": stamp},
                ]
            value = self.chance.choice(shapes)
            keep = (ref if kind == "identifier" else total,)
            draft = _Draft(
                kind, json.dumps(value, ensure_ascii=False, indent=self.chance.choice((None, 2))), keep, "tool"
            )
            if self._accept(f"{kind} {keep[0]}", [draft]):
                return
        raise NotEnoughError(kind)

    def _sentence(self, kind: str, given: Mapping[str, str]) -> _Draft | None:
        phrasings = [p for p in self.book.kinds[kind] if p.say not in self.said] or self.book.kinds[kind]
        if not phrasings:
            raise NotEnoughError(kind)
        phrasing = self.chance.choice(phrasings)
        values = dict(given)
        text = self._filled(phrasing.say, values)
        if text is None or any(slot not in values for slot in phrasing.keep):
            return None
        drawn = tuple(value for slot, value in values.items() if slot not in given and slot != "due")
        return _Draft(kind, text, tuple(values[slot] for slot in phrasing.keep), phrasing.by, drawn, phrasing.say)

    def _accept(self, group: str, drafts: Sequence[_Draft | None]) -> bool:
        """Take the statements of one group, unless they could be mistaken for another group's."""
        mine = [d for d in drafts if d is not None]
        if len(mine) < len(drafts) or len({d.say for d in mine}) < len(mine):
            return False
        others = [d for known in self.groups.values() for d in known]
        for draft in mine:
            text = even(draft.say)
            if any(even(value) in self.used for value in draft.keep):
                return False
            if any(holds(text, value) for other in others for value in other.keep):
                return False
        if any(holds(even(other.say), value) for other in others for d in mine for value in d.keep):
            return False
        self.groups[group] = mine
        self.used.update(even(value) for d in mine for value in (*d.keep, *d.values))
        self.said.update(d.phrasing for d in mine)
        return True

    # Slots -----------------------------------------------------------------------------------------------

    def _filled(self, say: str, values: dict[str, str], loose: bool = False) -> str | None:
        """The phrasing with its slots filled; what was drawn is noted in `values`. None where a slot cannot be."""
        capital = {match.start() for match in _START_SLOT.finditer(say)}
        parts: list[str] = []
        end = 0
        for match in _SLOT.finditer(say):
            slot = match[1]
            value = values.get(slot) or self._drawn(slot, values)
            if value is None:
                if not loose:
                    return None
                value = match[0]
            values[slot] = value
            shown = value[0].upper() + value[1:] if match.start() in capital else value
            parts += [say[end : match.start()], shown]
            end = match.end()
        return "".join([*parts, say[end:]])

    def _drawn(self, slot: str, values: dict[str, str]) -> str | None:
        pool = self.book.pools.get(slot) or self.book.pools.get(slot.rstrip("0123456789"))
        if pool:
            free = [v for v in pool if even(v) not in self.used and v not in values.values()]
            return self.chance.choice(free) if free else None
        if slot.startswith(("task.", "question.")):
            name = slot.partition(".")[0]
            thing = self.chance.choice(self.book.tasks if name == "task" else self.book.questions)
            values.update({f"{name}.{form}": words for form, words in thing.items()})  # the same one in all slots
            return values.get(slot)
        if slot == "topic":
            return self.chance.choice(self.book.topics).name
        if slot in ("old", "new"):
            return self.chance.choice(self.chance.choice(self.book.topics).options)
        value = made(slot.rstrip("0123456789"), self.chance)
        return value if value and even(value) not in self.used else None

    # Where it is said ------------------------------------------------------------------------------------

    def _layout(self, length: int) -> list[_Slot]:
        slots: list[_Slot] = []
        while len(slots) < length:
            slots.append(_Slot("user"))
            if self.chance.random() < 0.14:
                id = f"call_{len(slots)}"
                name = self.chance.choice(("search", "fetch_page", "run_query", "list_files", "calendar", "shop_api"))
                function = {"name": name, "arguments": json.dumps({"limit": self.chance.randint(3, 20)})}
                calls = [{"id": id, "type": "function", "function": function}]
                slots.append(_Slot("assistant", {"tool_calls": calls}, call=True))
                slots.append(_Slot("tool", {"tool_call_id": id}))
            slots.append(_Slot("assistant"))
        return slots

    def _place(self, slots: Sequence[_Slot]) -> None:
        last = len(slots) - TAIL
        free = {role: [i for i, s in enumerate(slots[:last]) if s.role == role and not s.call] for role in _ROLES}
        taken: set[int] = set()
        for group in sorted(self.groups.values(), key=lambda drafts: -len(drafts)):
            for _ in range(TRIES * 10):
                spots = [self.chance.choice(free[d.role]) for d in group]
                apart = all(b - a >= GAP for a, b in pairwise(spots))
                if apart and taken.isdisjoint(spots):
                    break
            else:
                raise NotEnoughError("room")
            taken.update(spots)
            for draft, spot in zip(group, spots, strict=True):
                draft.at = spot

    def _planted(self) -> list[Planted]:
        found: list[Planted] = []
        for name, group in self.groups.items():
            for draft, after in zip(group, [*group[1:], None], strict=True):
                kind = "decision" if draft.kind == "reversal" else draft.kind
                ends = after.at + 1 if after else 0
                found.append(Planted(kind, draft.say, draft.keep, draft.at + 1, name, ends, draft.closing))
        return sorted(found, key=lambda p: p.at)

    def _fill(self, slots: Sequence[_Slot], planted: Sequence[Planted]) -> None:
        at = {p.at - 1: p for p in planted}
        values = sorted({value for p in planted for value in p.keep})
        self.planted = any_of(values)
        for number, slot in enumerate(slots):
            statement = at.get(number)
            if slot.call:
                continue
            if slot.role == "tool":
                slot.content = statement.say if statement else self._filler("filler_tool")
                continue
            kind = f"filler_{slot.role}"
            if statement is None:
                slot.content = _joined([self._filler(kind) for _ in range(self.chance.choice((1, 2, 2, 3, 4)))])
            else:
                around = self.chance.choice((1, 2)) if self.chance.random() < 0.5 else 0
                parts = [self._filler(kind) for _ in range(around)]
                parts.insert(self.chance.randint(0, around), statement.say)
                slot.content = _joined(parts)

    def _filler(self, kind: str) -> str:
        """A filler that holds no planted value; none comes again before all have come."""
        for _ in range(TRIES):
            deck = self.decks.setdefault(kind, [])
            if not deck:
                deck += self.book.kinds[kind]
                self.chance.shuffle(deck)
            text = self._filled(deck.pop().say, {}, loose=kind == "filler_tool")
            if text is not None and not self.planted.search(even(text)):
                return text.strip()
        raise NotEnoughError(kind)

    def _times(self, slots: Sequence[_Slot]) -> list[int]:
        now = START + timedelta(days=self.chance.randint(0, 27))
        times: list[int] = []
        for slot in slots:
            if slot.role == "user":
                now += timedelta(seconds=self.chance.randint(40, 900))
                if self.chance.random() < 0.07 or now.hour >= 21:  # the next day's session
                    now = now.replace(hour=8) + timedelta(days=self.chance.choice((1, 1, 1, 2, 3)))
            else:
                now += timedelta(seconds=self.chance.randint(2, 20))
            times.append(int(now.timestamp() * 1000))
        return times


def _joined(sentences: Sequence[str]) -> str:
    """One message; after a sentence without a final mark comes a new line, as people write it."""
    ended = (s + (" " if s.rstrip("\"')”’").endswith((".", "!", "?", "…")) else "\n") for s in sentences)
    return "".join(ended).rstrip()


_ROLES = ("user", "assistant", "tool")
