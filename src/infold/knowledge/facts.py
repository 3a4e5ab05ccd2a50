"""Which of what people stated still holds. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from infold.knowledge.standing import KNOWN, rank_of
from infold.lines.line import CONFLICTING, CURRENT, PERSON, SUPERSEDED, Line, is_standing
from infold.lines.merging import said_of
from infold.quoting import replacing
from infold.quoting.alike import LIVES
from infold.quoting.closing import finished

_OWED = ("goal", "open")


class Facts(tuple[Line, ...]):
    """Facts that hold, or are in conflict, oldest first; called with `all=True`, also the superseded ones."""

    _every: tuple[Line, ...]

    def __new__(cls, every: Iterable[Line]) -> Facts:
        known = tuple(every)
        facts = super().__new__(cls, (fact for fact in known if fact.status != SUPERSEDED))
        facts._every = known
        return facts

    def __call__(self, *, all: bool = False) -> tuple[Line, ...]:
        return self._every if all else tuple(self)


def resolve(lines: Iterable[Line]) -> list[Line]:
    """The facts among what was stated, in the order it was said, each with what became of it: it holds, another one took its
    place, or it contradicts another one. What is only said again is one fact with all its sources."""
    every = list(lines)
    found = replacing.resolve(map(said_of, every))
    facts = {at: replace(line, status=CURRENT) for at, line in enumerate(every) if lasts(line)}

    def told(at: int) -> int:
        """Where what a line says was said first, if that holds still."""
        first = found.repeats.get(at, at)
        return first if first in facts and first not in found.gone else at

    for at, by in sorted(found.gone.items(), key=lambda one: (one[1], one[0])):
        if at not in facts:
            continue
        if at in found.replaced and by not in facts:  # the new value holds as the old one did
            facts[by] = replace(every[by], status=CURRENT, standing=max(every[by].standing, every[at].standing))
        place = every[told(by)].id if by in facts else None  # what only closes it is no fact itself
        facts[at] = replace(facts[at], status=SUPERSEDED, valid_to=every[by].said_at, superseded_by=place)
    for one, other in found.conflicts:
        if one in facts and other in facts:
            for here, there in ((one, other), (other, one)):
                rivals = (*facts[here].conflicts_with, every[there].id)
                facts[here] = replace(facts[here], status=CONFLICTING, conflicts_with=rivals)
    for at, first in found.repeats.items():
        if at in facts and first in facts and at not in found.gone and facts[first].chat == every[at].chat:
            sources = tuple(sorted({*facts[first].sources, *every[at].sources}))
            facts[first] = replace(facts[first], sources=sources)
        if first in facts and first not in found.gone:
            facts.pop(at, None)
    return [facts[at] for at in sorted(facts)]


def lasts(line: Line) -> bool:
    """Whether a line is a fact: a user's own words that hold, or say what they want or owe; what a model wrote of them, or a
    person put right."""
    if line.rewrites or not line.places or line.author == PERSON:
        return True
    return line.own and (is_standing(line.kind, line.standing) or rank_of(line) >= KNOWN or line.kind in _OWED)


def notable(line: Line) -> bool:
    """Whether a line is worth noting beside memory: a fact, or a word of change or of what is done, which may overrule one."""
    if not line.own:
        return bool(line.rewrites)
    holds = is_standing(line.kind, line.standing) or line.kind in _OWED
    return holds or overrules(line) or finished(said_of(line))


def overrules(line: Line) -> bool:
    """Whether a person's line says that something is not so any more."""
    if not line.own:
        return False
    said = said_of(line)
    lives = said.slot is not None and said.slot.owner == "me" and bool(said.slot.of & LIVES)
    return said.changed or said.brief or bool(said.taken) or lives
