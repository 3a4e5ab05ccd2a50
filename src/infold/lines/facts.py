"""Which of what people stated still holds. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from infold.lines.line import CONFLICTING, CURRENT, SUPERSEDED, Line
from infold.lines.merging import said_of
from infold.quoting.replacing import Effect, Index, effects


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
    """Lines in the order they were said, each with what became of it: it holds, another one took its place, or it contradicts
    another one. What is only said again is one line with all its sources."""
    found: dict[str, Line] = {}
    index, ids = Index(), dict[int, str]()
    for line in lines:
        line = replace(line, status=CURRENT, valid_to=None, superseded_by=None, conflicts_with=())
        repeated = False
        for at, effect in effects(said_of(line), index):
            old = found[ids[at]]
            if effect is Effect.REPEATS:
                sources = old.sources if old.chat != line.chat else tuple(sorted({*old.sources, *line.sources}))
                found[old.id] = replace(old, sources=sources)
                repeated = True
                break
            if effect is Effect.CONFLICTS:
                found[old.id] = replace(old, status=CONFLICTING, conflicts_with=(*old.conflicts_with, line.id))
                line = replace(line, status=CONFLICTING, conflicts_with=(*line.conflicts_with, old.id))
                continue
            found[old.id] = replace(
                old, status=SUPERSEDED, valid_to=line.said_at, superseded_by=line.id, conflicts_with=()
            )
            index.remove(at)
            for rival in old.conflicts_with:  # settled for those it contradicted, too
                _settle(found, rival, old.id)
        if not repeated:
            found[line.id] = line
            ids[index.add(said_of(line))] = line.id
    return list(found.values())


def _settle(found: dict[str, Line], rival: str, gone: str) -> None:
    line = found[rival]
    left = tuple(id for id in line.conflicts_with if id != gone)
    status = CURRENT if line.status == CONFLICTING and not left else line.status
    found[rival] = replace(line, conflicts_with=left, status=status)
