"""Which statements hold: the latest of each slot, the superseded, and those nobody has settled. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from infold.facts.keys import Key, keys_of
from infold.facts.overruling import overruled
from infold.facts.statements import ASSISTANT, CONFLICTING, CURRENT, SUPERSEDED, TOOL, Fact, Saying, Statement, merged
from infold.facts.values import compatible


@dataclass(slots=True)
class Fate:
    """What became of a statement."""

    since: int
    until: int | None = None
    by: str | None = None
    against: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Event:
    """One saying of a statement, as it bears on a slot."""

    saying: Saying
    statement: Statement
    key: Key
    authority: int
    """2 for a user who may know, 1 for a user who speaks of another, 0 for everybody else."""

    @property
    def value(self) -> str:
        return self.key.value

    @property
    def corrects(self) -> bool:
        return bool(self.statement.replaces)


@dataclass(slots=True, eq=False)
class _Hold:
    """A value that holds, or that is said to have ended, and who says so."""

    value: str
    denied: bool
    teller: _Event
    """The saying whose statement stands for it."""
    speakers: set[str]
    authority: int
    since: dict[str, int] = field(default_factory=dict)
    """Id of a statement -> when it was first said, since the value holds."""

    def contradicts(self, value: str, denied: bool) -> bool:
        """ "Berlin" contradicts "Rome" and "not Berlin", not "not Rome"."""
        return self.value == value if self.denied != denied else not denied and self.value != value


def resolve(statements: Iterable[Statement]) -> list[Fact]:
    """All statements as facts, the oldest first. Their order makes no difference."""
    known = merged(statements)
    fates = {one.id: Fate(one.sayings[0].at if one.sayings else 0) for one in known}
    named = {saying.speaker.casefold() for one in known for saying in one.sayings} - {"user", ASSISTANT, TOOL}
    slots: dict[tuple[str, ...], list[_Event]] = {}
    for one, keys in keys_of(known):
        for saying, key in zip(one.sayings, keys, strict=True):
            event = _Event(saying, one, key, _authority(saying.speaker, key.whose, named))
            slots.setdefault(key.slot, []).append(event)
    for events in slots.values():
        _Slot(fates).settle(sorted(events, key=_order))
    standing = [one for one in known if fates[one.id].until is None and not fates[one.id].against]
    for old, new, at in overruled(known, standing):
        fates[old.id] = Fate(fates[old.id].since, at, new.id)
    standing_fates = {id: fate for id, fate in fates.items() if fate.until is None}
    for id, fate in fates.items():  # a conflict has two sides, both of which still stand
        rivals = (standing_fates.get(other) for other in fate.against)
        both = [other for other, rival in zip(fate.against, rivals, strict=True) if rival and id in rival.against]
        fate.against = tuple(both) if fate.until is None else ()
    facts = [_fact(one, fates[one.id]) for one in known]
    return sorted(facts, key=lambda fact: (fact.valid_from, fact.id))


def _order(event: _Event) -> tuple[int, str, int, str, str, str]:
    saying = event.saying
    return saying.at, saying.chat, saying.seq, saying.id, saying.speaker, event.statement.id


def _authority(speaker: str, whose: str, named: set[str]) -> int:
    if speaker in (ASSISTANT, TOOL):
        return 0
    mine = speaker.casefold()
    return 1 if whose != mine and (whose in named or whose == "user") else 2


def _fact(one: Statement, fate: Fate) -> Fact:
    status = SUPERSEDED if fate.until is not None else CONFLICTING if fate.against else CURRENT
    return Fact(
        one.id, one.kind, one.text, one.subject, one.attribute, one.value, one.quote, one.confidence, one.speaker,
        one.sayings, fate.since, fate.until, status, fate.by, fate.against,
    )  # fmt: skip


class _Slot:
    """Follows one slot through time."""

    def __init__(self, fates: dict[str, Fate]) -> None:
        self.fates = fates
        self.holds: list[_Hold] = []
        """More than one where they conflict, or beside values that have ended."""

    def settle(self, events: Sequence[_Event]) -> None:
        """Work out the fates of all statements of the slot."""
        for _, group in groupby(events, key=lambda event: event.saying.at):
            for step in _steps(list(group)):
                self._take(step)
        for hold in self.holds:
            id = hold.teller.statement.id
            against = [other.teller.statement.id for other in self.holds if other.contradicts(hold.value, hold.denied)]
            self.fates[id] = Fate(hold.since[id], against=tuple(sorted(against)))

    def _take(self, events: list[_Event]) -> None:
        """Take in what was said at the same moment. What ends is taken before what begins."""
        if len(events) == 1:
            self._state(events[0], [])
            return
        stated = [event for event in events if not event.key.denies]
        sure = {event.value for event in stated if event.corrects}
        values = sorted({event.value for event in stated}, key=lambda value: (value in sure, len(value), value))
        # A correction comes after what it corrects, and what is more exact after what is less.
        settled = len(sure) == 1 or all(compatible(one, other) for one, other in pairwise(values))
        place = {value: at for at, value in enumerate(values)}
        fresh: list[_Hold] = []
        for event in sorted(events, key=lambda event: -1 if event.key.denies else place[event.value]):
            fresh.append(self._state(event, [] if settled and not event.key.denies else fresh))

    def _state(self, event: _Event, beside: list[_Hold]) -> _Hold:
        """Take in one saying; what was said at the same moment (`beside`) is not ended by it."""
        value, denied = event.value, event.key.denies
        same = next((hold for hold in self.holds if hold.denied == denied and _same(event, hold)), None)
        for hold in [hold for hold in self.holds if hold is not same and hold not in beside]:
            if hold.contradicts(value, denied):
                if _beats(event, hold, again=same is not None):
                    self._end(hold, event)
            elif hold.denied and not denied and (event.authority >= hold.authority or _is_among(event, hold)):
                self._end(hold, event)  # what holds now says it better
        if same:
            self._tell_again(same, event)
            return same
        new = _Hold(value, denied, event, {event.saying.speaker}, event.authority)
        new.since[event.statement.id] = event.saying.at
        self.holds.append(new)
        return new

    def _tell_again(self, hold: _Hold, event: _Event) -> None:
        """The same value once more: the newest words for it stand, unless somebody else than who should know said them."""
        old, new = hold.teller.statement.id, event.statement.id
        at = event.saying.at
        hold.since.setdefault(new, at)
        if old != new and event.authority >= hold.authority:
            self.fates[old] = Fate(hold.since[old], at, new)
            hold.teller = event
        elif old != new:
            self.fates[new] = Fate(hold.since[new], at, old)
        hold.speakers.add(event.saying.speaker)
        hold.authority = max(hold.authority, event.authority)

    def _end(self, hold: _Hold, event: _Event) -> None:
        id = hold.teller.statement.id
        self.fates[id] = Fate(hold.since[id], event.saying.at, event.statement.id)
        self.holds.remove(hold)


def _same(event: _Event, hold: _Hold) -> bool:
    """Whether a saying only repeats what holds; others than who should know add nothing to it."""
    if event.value == hold.value:
        return True
    return event.authority < hold.authority and not hold.denied and compatible(event.value, hold.value)


def _is_among(event: _Event, hold: _Hold) -> bool:
    return event.saying.speaker in hold.speakers


def _steps(events: list[_Event]) -> Iterable[list[_Event]]:
    """What was said at one time, in the order it was said: known within a chat, not between chats."""
    if len({event.saying.chat for event in events}) == 1:
        for _, step in groupby(events, key=lambda event: (event.saying.seq, event.saying.id)):
            yield list(step)
        return
    last = {event.saying.chat: (event.saying.seq, event.saying.id) for event in events}
    for event in events:
        if (event.saying.seq, event.saying.id) != last[event.saying.chat]:
            yield [event]
    yield [event for event in events if (event.saying.seq, event.saying.id) == last[event.saying.chat]]


def _beats(event: _Event, hold: _Hold, again: bool) -> bool:
    """Whether a saying takes the place of what it contradicts; else the two conflict. `again`: it was said before."""
    if event.key.fixed and not event.corrects and not event.key.denies:
        return compatible(event.value, hold.value) and not again
    if _is_among(event, hold) or event.authority == 2:
        return event.corrects or event.key.denies or hold.denied or not event.key.vague
    return event.corrects and hold.authority < 2
