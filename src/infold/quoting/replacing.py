"""Which later line replaces, closes or repeats which earlier one. Whole lines only, and only where it is sure. Pure.

A line affects an earlier one where both speak of the same thing and give it other values, or where it takes the words of the
other back outright. Where that is not sure both stay: nothing here ever says that the later line is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice

from infold.quoting.alike import (
    CHOOSE,
    KIN,
    LIVES,
    SINGLE,
    but_for_one,
    chooses,
    differ,
    gives_name,
    meant,
    near_in_size,
    of_oneself,
    one_owner,
    restates,
)
from infold.quoting.closing import BOOKED, BOOKS, answers, asks, done, finished, ready
from infold.quoting.health import is_vital
from infold.quoting.saying import DROP, ENDED, SWAP, Said, Slot
from infold.quoting.telling import DOING

_REST = 8
"""Telling words of an earlier line that may be lost with what is replaced."""
_BESIDE = 1
"""Telling words of its other sentences that may be lost with it."""
_COMMON = 60
"""Lines that a word may stand in and still tell which are meant."""
_MOST = 100
"""Lines that are looked at for one word: a word of more lines tells nothing."""


class Effect(Enum):
    """What a later line does to an earlier one, the strongest first."""

    REPLACES = "replaces"  # it takes the other's place
    CLOSES = "closes"  # the other is done, answered or taken back
    REPEATS = "repeats"  # it says the same
    CONFLICTS = "conflicts"  # two people give one thing two values: both stay


_ORDER = {effect: at for at, effect in enumerate(Effect)}


@dataclass(slots=True)
class Index:
    """The lines that may be affected, found by what they speak of, their words and their sorts of value."""

    lines: dict[int, Said] = field(default_factory=dict)
    _next: int = 0
    _words: dict[object, dict[int, None]] = field(default_factory=dict)

    def add(self, said: Said) -> int:
        """Keep a line; the number it has from now on."""
        at = self._next
        self._next += 1
        self.lines[at] = said
        for key in _keys(said):
            self._words.setdefault(key, {})[at] = None
        return at

    def remove(self, at: int) -> None:
        """Let a line go."""
        said = self.lines.pop(at, None)
        for key in dict.fromkeys(_keys(said)) if said is not None else ():
            holders = self._words[key]
            holders.pop(at, None)
            if not holders:
                del self._words[key]

    def having(self, key: object) -> dict[int, None]:
        """Numbers of the lines that a key leads to, in the order they came."""
        return self._words.get(key, {})

    def having_all(self, words: Iterable[str]) -> list[int]:
        """Lines that have all these words."""
        holders = sorted((self.having(word) for word in sorted(words)), key=len)
        if not holders or len(holders[0]) > _MOST:
            return []
        return [at for at in holders[0] if all(at in other for other in holders[1:])]


def _keys(said: Said) -> Iterator[object]:
    """What a line is found by."""
    yield from said.core
    yield ("same", said.core, said.values, said.denies)
    for sort in {sort for sort, _ in said.values}:
        yield ("sort", sort)
    for value in set(said.values):
        yield ("value", value[1])
    if said.values:
        yield ("valued",)
    if said.slot is not None:
        yield ("slot", said.slot.of)
    if asks(said):
        for word in said.core:
            yield ("asks", word)


def effects(new: Said, known: Index) -> list[tuple[int, Effect]]:
    """What a line does to earlier ones: their numbers, ascending, each with one effect."""
    found: dict[int, Effect] = {}
    for one in (*new.parts, new) if new.parts else (new,):
        for at, effect in _hits(one, known):
            if effect is Effect.REPEATS and one is not new:
                continue  # it says more than that
            if at not in found or _ORDER[effect] < _ORDER[found[at]]:
                found[at] = effect
    return sorted(found.items())


def _hits(new: Said, known: Index) -> Iterator[tuple[int, Effect]]:
    """What a sentence does to earlier lines; of a line of several only whether it repeats one."""
    ways = [_repeats(new, known)]
    if new.sure and not new.parts:
        ways += [_same_slot(new, known), _taken_back(new, known), _closes(new, known), _reverses(new, known)]
        if new.changed:
            ways += [_same_words(new, known), _other_choice(new, known)]
        if new.brief or (new.changed and not new.core):
            ways.append(_brief(new, known))
    for way in ways:
        for at, effect in way:
            if _counts(new, known.lines[at], effect):
                yield at, effect


def _counts(new: Said, old: Said, effect: Effect) -> bool:
    """Whether a line may have this effect on that one."""
    return _before(old, new) and _may(new, old, effect) and not (effect is Effect.REPLACES and _says_more(new, old))


def _before(old: Said, new: Said) -> bool:
    """Whether a line was said before another one."""
    if old.said_at and new.said_at and old.said_at != new.said_at:
        return old.said_at < new.said_at
    return old.chat != new.chat or old.seq <= new.seq


def _says_more(new: Said, old: Said) -> bool:
    """Whether an earlier line says other things beside what the new one changes: only whole lines go, so it stays."""
    if not old.parts:
        return len(old.core - new.core) > _REST
    nearest = max(old.parts, key=lambda part: (len(part.core & new.core), bool(differ(new, part))))
    return len(old.core - new.core - nearest.core) > _BESIDE


def _may(new: Said, old: Said, effect: Effect) -> bool:
    """Whether the speaker's word counts for this."""
    ends = effect in (Effect.REPLACES, Effect.CLOSES)
    if ends and is_vital(old.text) and (not is_vital(new.text) or len(old.core - new.core) > 1):
        return False  # no word of anything else ends an allergy, or an illness that is named beside it
    if effect is Effect.REPEATS:
        return True
    if new.role != "user":
        if effect is Effect.CLOSES:
            return new.role == "assistant" and old.kind not in ("rule", "constraint", "preference", "who")
        return effect is Effect.REPLACES and old.role == new.role
    if old.role == "user" and old.said_by != new.said_by:
        return not (of_oneself(old) or of_oneself(new))
    return effect is not Effect.CONFLICTS


def _repeats(new: Said, known: Index) -> Iterator[tuple[int, Effect]]:
    """Lines of the same words and values."""
    if new.core or new.values:
        for at in known.having(("same", new.core, new.values, new.denies)):
            old = known.lines[at]
            if old.sure == new.sure and (old.said_by == new.said_by or old.role != new.role or not of_oneself(old)):
                yield at, Effect.REPEATS


def _same_slot(new: Said, known: Index) -> Iterator[tuple[int, Effect]]:
    """Lines that speak of the same thing: with another value they give way, with the same one they are repeated."""
    slot = new.slot
    if slot is None:
        return
    for at in sorted(islice(reversed(known.having(("slot", slot.of))), _COMMON)):
        old = known.lines[at]
        if old.slot is None or not old.sure or not one_owner(new, slot, old):
            continue
        yield from ((at, effect) for effect in _against(new, slot, old, old.slot))


def _against(new: Said, slot: Slot, old: Said, other: Slot) -> Iterator[Effect]:
    """What a line does to one that speaks of the same thing."""
    other_value = differ(new, old)
    single = bool(slot.of & SINGLE)
    if other_value is None:
        named = single or (new.changed and gives_name(new, slot) and gives_name(old, other))
        words = bool(slot.of & LIVES) or (named and not new.values and not old.values)
        if not slot.gives or not other.gives or not (words or "address" in slot.of):
            return
        mine, theirs = f"{slot.gives} ", f"{other.gives} "
        other_value = not mine.startswith(theirs) and not theirs.startswith(mine)
    if not other_value:
        if set(old.values) <= set(new.values) and (new.values or slot.gives == other.gives):
            yield Effect.REPEATS
    elif new.role == old.role == "user" and new.said_by != old.said_by and not new.changed:
        yield Effect.CONFLICTS
    elif new.changed or (single and new.role == "user" and not new.beside(old)):
        yield Effect.REPLACES


def _taken_back(new: Said, known: Index) -> Iterator[tuple[int, Effect]]:
    """Lines whose words are taken back outright."""
    for taken in new.taken if new.role == "user" else ():
        if taken.words:
            near = known.having_all(taken.words)
        else:
            near = sorted({at for value in taken.values for at in known.having(("value", value[1]))})
        fit = [at for at in near if meant(new, taken, known.lines[at])]
        sure = [at for at in fit if taken.words and 2 * len(taken.words) >= len(known.lines[at].core)]
        effect = Effect.CLOSES if taken.how == DROP and taken.alone else Effect.REPLACES
        if (taken.how == ENDED and sure) or (taken.how == SWAP and sure):
            yield from ((at, effect) for at in sure)
        else:
            own = [at for at in fit if known.lines[at].role == "user"] or fit
            if len(own) == 1:
                yield own[0], effect


def _same_words(new: Said, known: Index) -> Iterator[tuple[int, Effect]]:
    """Lines that give another value in the same words, where the new one says that something changed."""
    if not new.values or not new.core or new.past:
        return
    shared: dict[int, int] = {}
    for word in sorted(new.core):
        holders = known.having(word)
        for at in holders if len(holders) <= _COMMON else ():
            shared[at] = shared.get(at, 0) + 1
    fit = [at for at, words in sorted(shared.items()) if restates(new, known.lines[at], words)]
    if len(fit) == 1:
        yield fit[0], Effect.REPLACES


def _other_choice(new: Said, known: Index) -> Iterator[tuple[int, Effect]]:
    """Lines that chose another thing of the same kind: "SQLite instead"."""
    gone = frozenset(word for taken in new.taken for word in taken.words)
    chosen = [word for word in sorted(new.core - gone) if word in KIN]
    if len(chosen) == 1 and not new.denies and (new.brief or new.changed or gone or "switch" in new.core):
        others = [word for word, group in KIN.items() if group == KIN[chosen[0]] and word != chosen[0]]
        rest = new.core - gone - CHOOSE - {chosen[0]}
        fit = sorted({at for word in others for at in known.having(word) if chooses(known.lines[at], chosen[0], rest)})
        if len(fit) == 1:
            yield fit[0], Effect.REPLACES
    elif 1 < len(new.core) <= 4:
        near = {
            at
            for word in new.core
            if new.brief or word in CHOOSE
            for at in islice(reversed(known.having(word)), _COMMON)
        }
        fit = [at for at in sorted(near) if but_for_one(new, known.lines[at])]
        if len(fit) == 1:
            yield fit[0], Effect.REPLACES


def _brief(new: Said, known: Index) -> Iterator[tuple[int, Effect]]:
    """The line whose value "make that 700" or "5 pm works better" changes: the one right before, or the only one."""
    sorts = {sort for sort, _ in new.values}
    if len(sorts) != 1 or len(new.core) > 1 or len(new.values) > 2:
        return
    sort = sorts.pop()
    keys = known.having(("valued",) if sort == "number" else ("sort", sort))
    fit = []
    for at in islice(reversed(keys), _MOST):
        old = known.lines[at]
        if not old.past and old.sure and old.role == new.role and not old.beside(new) and _before(old, new):  # noqa: SIM102
            if (
                new.core <= old.core
                and not set(new.values) & set(old.values)
                and (sort != "number" or near_in_size(new, old))
            ):
                fit.append(at)
        if len(fit) == 2:
            break
    if len(fit) == 1 or (
        len(fit) == 2 and new.soon_after(known.lines[fit[0]]) and not new.soon_after(known.lines[fit[1]])
    ):
        yield fit[0], Effect.REPLACES


def _reverses(new: Said, known: Index) -> Iterator[tuple[int, Effect]]:
    """Lines of the same words and values that say the opposite."""
    if len(new.core) >= 2:
        for at in known.having(("same", new.core, new.values, not new.denies)):
            old = known.lines[at]
            if old.sure and old.said_by == new.said_by and old.seq != new.seq and old.mine == new.mine:
                yield at, Effect.REPLACES


def _closes(new: Said, known: Index) -> Iterator[tuple[int, Effect]]:
    """The one open line that is done or answered now."""
    if finished(new):
        words = new.core if ready(new) else new.core & DOING
        near = sorted({at for word in words for at in islice(reversed(known.having(word)), _MOST)})
        closed = [at for at in near if done(new, known.lines[at])]
        if len(closed) == 1:
            yield closed[0], Effect.CLOSES
    words = new.core | BOOKED if new.core & BOOKS else new.core
    asked = sorted({at for word in words for at in islice(reversed(known.having(("asks", word))), _MOST)})
    answered = [at for at in asked if answers(new, known.lines[at])]
    if len(answered) == 1:
        yield answered[0], Effect.CLOSES


@dataclass(frozen=True, slots=True)
class Resolved:
    """What holds of lines in the order they were said; lines are named by their places in it."""

    gone: dict[int, int]
    """A line that holds no longer, and the later one that says so."""
    replaced: frozenset[int]
    """Those of them whose place the later one has taken; the others are done, answered or taken back."""
    repeats: dict[int, int]
    """A line that says what an earlier one says, and that one."""
    conflicts: tuple[tuple[int, int], ...]


def resolve(lines: Iterable[Said]) -> Resolved:
    """Which of these lines hold, and what became of the others."""
    known = Index()
    gone: dict[int, int] = {}
    replaced: set[int] = set()
    repeats: dict[int, int] = {}
    conflicts = []
    for said in lines:
        hits = effects(said, known)
        at = known.add(said)
        for other, effect in hits:
            if effect in (Effect.REPLACES, Effect.CLOSES):
                known.remove(other)
                gone[other] = at
                replaced.update([other] if effect is Effect.REPLACES else ())
            elif effect is Effect.REPEATS:
                repeats.setdefault(at, other)
            else:
                conflicts.append((other, at))
    left = tuple(conflict for conflict in conflicts if not gone.keys() & set(conflict))
    return Resolved(gone, frozenset(replaced), repeats, left)
