"""Which lines of memory a context shows within a room. Pure, whole numbers only.

First what people surely want to hold, within its share; then what was written on purpose; then the quotations that tell
most beside these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from infold.lines.line import STANDING, Line, is_standing, normal
from infold.lines.merging import is_vital_line, overlap, rank
from infold.quoting.choosing import choose, stems

STANDING_MOST = 600
STANDING_SHARE, STANDING_BESIDE_RECALL = 5, 10
"""Parts of a budget that standing lines get: of one without a question, and of one with a question that asks back."""

NEAR_MOST, NEAR_SHARE = 300, 10
"""Tokens of lines near a question, and the part of a budget that they get at most."""


def standing_room(budget: int, asks_back: bool) -> int:
    """Tokens that standing lines get in a context, whatever else would like to be there."""
    return min(STANDING_MOST, budget // (STANDING_BESIDE_RECALL if asks_back else STANDING_SHARE))


def stands(line: Line) -> bool:
    """Whether a line holds until somebody takes it back."""
    return is_standing(line.kind, 0) if not line.quoted else line.own and line.standing >= STANDING


def standing_first(lines: Sequence[Line], question: str = "") -> list[Line]:
    """Standing lines in the order in which they get their share: health, safety and law, then what is near the question, then
    the surest, then the newest."""
    asked = stems(question)

    def order(line: Line) -> tuple[object, ...]:
        near = len(stems(line.words) & asked)
        return (not is_vital_line(line), -near, -line.standing, -max(line.sources, default=0), line.id)

    return sorted(filter(stands, lines), key=order)


def chosen(
    own: Sequence[Line],
    others: Sequence[Line],
    room: int,
    share: int,
    cost: Mapping[str, int],
    question: str = "",
    told: Iterable[str] = (),
    pins: Sequence[Line] = (),
) -> list[Line]:
    """The lines to show within a room of tokens, in their order: `own` are those of memory, which go before the `others` where
    all of them fit; `share` is the part of the room for what stands; `cost` has the tokens of each line by its id; `told` are
    stems of what stands beside them anyway. What one line or a pin says, no other line says again."""
    every = [*own, *others]
    taken = _Taken(room, cost, (normal(pin.words) for pin in pins))
    taken.take(standing_first(every, question), min(share, room))
    taken.take(rank([line for line in own if not line.quoted]), room)
    rest = [line for line in own if taken.may_take(line)]
    if sum(cost[line.id] for line in rest) <= taken.left:
        taken.take(rest, room)
    first = {normal(line.words): line.id for line in reversed(every)}
    pool = [line for line in every if taken.may_take(line) and first[normal(line.words)] == line.id]
    known = {*told, *(stem for line in taken.lines.values() for stem in stems(line.words))}
    for at in choose(pool, [cost[line.id] for line in pool], taken.left, known):
        taken.lines[pool[at].id] = pool[at]
    return [line for line in every if line.id in taken.lines]


class _Taken:
    """Lines that were taken, and the tokens that are left."""

    def __init__(self, room: int, cost: Mapping[str, int], said: Iterable[str]) -> None:
        self.lines: dict[str, Line] = {}
        self.left = room
        self._cost = cost
        self._said = set(said)
        self._by_seq: dict[int, list[Line]] = {}

    def may_take(self, line: Line) -> bool:
        """Whether it is neither taken nor quotes words that are."""
        if line.id in self.lines or normal(line.words) in self._said:
            return False
        return not (line.quoted and any(overlap(line, other) for other in self._by_seq.get(_seq(line), ())))

    def take(self, lines: Iterable[Line], most: int) -> None:
        """Take lines in their order, as far as there is room."""
        for line in lines:
            tokens = self._cost[line.id]
            if tokens <= min(self.left, most) and self.may_take(line):
                self.lines[line.id] = line
                self._said.add(normal(line.words))
                self.left -= tokens
                most -= tokens
                if line.quoted:
                    self._by_seq.setdefault(_seq(line), []).append(line)


def _seq(line: Line) -> int:
    return line.places[-1].seq if line.places else 0
