"""Whether two texts disagree: one denies what the other affirms, or is surer than it. Pure.

What points to a reversal is put in figures (`evidence`) and weighed by a small linear model, whose weights are trained by
`python -m training.polarity` from the cases in `training/polarity-*.txt` and shipped beside this file.
"""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

from infold.folding.clauses import Clause, Unit, clauses_of
from infold.folding.denials import FIRMLY, FREE, HEDGED, OBLIGED

__all__ = ["Clause", "clauses_of", "evidence", "opposed"]

_AWAY = 0.75  # how much a text tells that a line does not cite
_OPEN = 0.6  # and a clause that asks or supposes
_ALIKE = 0.6  # a word that only means the same
_NEXT = 0.35  # a word of the clause next to it
_MOST = 6  # clauses that a line's clause is compared with
_NEAR = 0.8  # of the nearest one's closeness: how close those are whose mood counts, too


class _Match(NamedTuple):
    """A source's clause that speaks of what a line's clause does."""

    closeness: float
    clause: Clause
    shared: float
    """How much of the line's clause it has."""
    hits: list[tuple[Unit, float]]
    """The words they have in common, and how much of each."""
    trust: float


def opposed(line: Sequence[Clause], sources: Sequence[Clause], others: Sequence[Clause] = ()) -> str:
    """ "negation" or "modality" where a line says the opposite of its sources, or is surer than they are; "doubt" where it
    may well say the opposite; else empty.

    `sources` are the clauses it rests on, `others` those of texts that only speak of the same.
    """
    model, doubt = _model(), ""
    for clause in line:
        matches = _matches(clause, sources, others)
        if not matches:
            continue
        denied = clause.denies or any(match.clause.denies for match in matches)
        if not clause.denies and _with(clause, matches):
            return "negation"
        if denied and not _agree(clause, matches):
            weighed = _weighed(_evidence(clause, matches))
            if weighed > model.limit:
                return "negation"
            if weighed > model.doubt:
                doubt = "doubt"
        if _surer(clause, matches):
            return "modality"
    return doubt


def _agree(clause: Clause, matches: Sequence[_Match]) -> bool:
    """Whether nothing that speaks of the same is denied where a clause affirms it, or the other way round."""
    how = (clause.odd, clause.turned, clause.full)
    for match in matches:
        other = match.clause
        if (other.odd, other.turned, other.full) != how:
            return False
        if any(sign * other.signs.get(name, 0) < 0 for name, sign in clause.signs.items()):
            return False
    return True


def _with(clause: Clause, matches: Sequence[_Match]) -> bool:
    """Whether a clause has what its sources only ever leave out: "pasta with cheese" for "pasta without cheese"."""
    for match in matches:
        lacking = match.clause
        if (
            lacking.lacking
            and lacking.mass >= 1
            and lacking.keys <= clause.keys
            and len(clause.units) > len(lacking.units)
        ):
            others = [one.clause for one in matches if not one.clause.lacking]
            if others and all(lacking.keys.isdisjoint(one.keys) for one in others):
                return True
    return False


def evidence(clause: Clause, sources: Sequence[Clause], others: Sequence[Clause] = ()) -> list[float]:
    """What points to a clause being the reverse of its sources, as the model sees it; empty where nothing can be told."""
    matches = _matches(clause, sources, others)
    if not matches or not (clause.denies or any(match.clause.denies for match in matches)):
        return []
    return _evidence(clause, matches)


class _Model(NamedTuple):
    bias: float
    limit: float
    """Above which a clause is taken for the reverse of its sources."""
    doubt: float
    """Above which it may be."""
    weights: list[float]
    pairs: list[list[float]]
    """Of each two figures of `PAIRED`: the weight of their product."""


@functools.cache
def _model() -> _Model:
    told = json.loads((files("infold.folding") / "polarity.json").read_text("utf-8"))
    weights, pairs = told["weights"], told["pairs"]
    return _Model(
        told["bias"],
        told["limit"],
        told["doubt"],
        [weights.get(name, 0.0) for name in NAMES],
        [[pairs.get(f"{one} x {two}", 0.0) for two in PAIRED] for one in PAIRED],
    )


def _weighed(seen: Sequence[float]) -> float:
    model = _model()
    total: float = model.bias + sum(map(operator.mul, model.weights, seen))
    live = [(at, seen[place]) for at, place in enumerate(_PLACES) if seen[place]]
    for number, (at, one) in enumerate(live):
        row = model.pairs[at]
        total += one * sum([row[other] * two for other, two in live[number + 1 :]])
    return total


def _matches(clause: Clause, sources: Sequence[Clause], others: Sequence[Clause]) -> list[_Match]:
    """What speaks of the same, nearest first."""
    found: list[_Match] = []
    keys = clause.keys
    for ones, trust in ((sources, 1.0), (others, _AWAY)):
        for other in ones:
            if not keys.isdisjoint(other.keys):
                found.append(_match(clause, other, trust))
    found.sort(key=_closeness, reverse=True)
    return found[:_MOST]


def _closeness(match: _Match) -> float:
    return match.closeness


def _match(clause: Clause, other: Clause, trust: float) -> _Match:
    shared = 0.0
    hits: list[tuple[Unit, float]] = []
    keys, around = other.keys, other.around
    for unit in clause.units:
        stem, weight, senses = unit
        if stem in keys:
            shared += weight
            hits.append((unit, 1.0))
            continue
        for name, _ in senses:
            if name in keys:
                shared += _ALIKE * weight
                hits.append((unit, _ALIKE))
                break
        else:
            if stem in around:
                shared += _NEXT * weight
    share = shared / clause.mass
    if (other.asks or other.supposes) and not clause.asks:
        trust *= _OPEN
    return _Match(shared * (0.5 + 0.5 * share) * trust, other, shared, hits, trust)


NAMES = (
    "denies", "sided", "shades", "tells", "plain", "mass", "asks", "doubled", "near", "share", "back", "away", "not", "sign",
    "it denies", "it is sided", "it has shades", "it asks", "it tells", "it is plain",
    "sense against", "sense for", "senses", "sense only for", "strong sense against", "strong sense for", "no sense",
    "not against", "not on the whole", "nots", "not on the whole, denied", "not on the whole, plain", "new not", "lost not",
    "things against", "things on the whole", "full against", "full on the whole", "full and sense against",
    "head against", "head for", "stems",
)  # fmt: skip
PAIRED = (
    "denies", "sided", "shades", "plain", "share", "away", "not", "sign", "it denies", "it is sided", "it has shades",
    "it is plain", "sense against", "sense for", "strong sense against", "not on the whole", "things on the whole",
    "full on the whole", "head against", "head for", "stems", "near",
)  # fmt: skip
"""Figures that also count two by two."""
_PLACES = [NAMES.index(name) for name in PAIRED]


def _evidence(clause: Clause, matches: Sequence[_Match]) -> list[float]:
    nearest = matches[0]
    other = nearest.clause
    denies = clause.negations > 0
    plain = not denies and not clause.sided and not clause.shades
    its_plain = not (other.negations or other.sided or other.shades)
    senses, stems = _compared(clause, matches)
    against = [(one[1] - one[0]) * one[2] for one in senses.values()]
    strong = [one[1] - one[0] for one in senses.values() if one[2] >= 1]
    weight = sum(one[6] for one in stems.values())
    turned = [[(one[at + 1] - one[at]) * one[6] for one in stems.values()] for at in (0, 2, 4)]
    whole = [sum(ones) / max(1.0, weight) for ones in turned]
    most = [max(ones, default=0.0) for ones in turned]
    sense = max(against, default=0.0)
    heads = [0.0, 0.0]
    for match in matches:
        share = match.shared / clause.mass * match.trust
        if clause.head and clause.head in match.clause.keys:
            heads[match.clause.negations > 0] = max(heads[match.clause.negations > 0], share)
        if match.clause.head and match.clause.head in clause.keys:
            heads[denies] = max(heads[denies], share)
    lost = max(0.0, whole[0])
    return [
        float(denies), float(min(clause.sided, 2)), float(min(clause.shades, 2)), float(clause.tells), float(plain),
        min(clause.mass, 4.0), float(clause.asks or clause.supposes), float(clause.negations > 1),
        min(nearest.closeness, 2.5), nearest.shared / clause.mass, min(1.2, nearest.shared / max(other.mass, 0.5)),
        float(nearest.trust <= _AWAY), float(clause.odd != other.odd), float(clause.full != other.full),
        float(other.negations > 0), float(min(other.sided, 2)), float(min(other.shades, 2)),
        float(other.asks or other.supposes), float(other.tells), float(its_plain),
        sense, max((-one for one in against), default=0.0), sum(against),
        max((one[0] * one[2] for one in senses.values() if not one[1]), default=0.0),
        max(strong, default=0.0), max((-one for one in strong), default=0.0), float(not senses),
        most[0], whole[0], max(-3.0, min(3.0, sum(turned[0]))), whole[0] if denies else 0.0,
        whole[0] if plain or (denies and its_plain) else 0.0, lost if denies and its_plain else 0.0, lost if plain else 0.0,
        most[1], whole[1], most[2], whole[2], max(0.0, whole[2]) if sense > 0 else 0.0,
        heads[0], heads[1], min(3.0, weight),
    ]  # fmt: skip


_Senses = dict[str, list[float]]
_Stems = dict[str, list[float]]


def _compared(clause: Clause, matches: Sequence[_Match]) -> tuple[_Senses, _Stems]:
    """Of each sense and each stem how much speaks for it and against it, and its weight; of stems for each kind of sign."""
    senses: _Senses = {}
    stems: _Stems = {}
    for match in matches:
        _, other, shared, hits, trust = match
        signs = other.signs
        differs = (clause.odd != other.odd, 2 + (clause.turned != other.turned), 4 + (clause.full != other.full))
        for (stem, weight, meant), how in hits:
            rest = clause.mass - weight
            context = (shared - weight * how) / rest if rest > 0.4 else 0.5
            much = trust * (0.35 + 0.65 * (0.0 if context < 0 else 1.0 if context > 1 else context))
            for name, sign in meant:
                if sign and (its := signs.get(name)):
                    found = senses.get(name)
                    if found is None:
                        found = senses[name] = [0.0, 0.0, weight]
                    found[sign != its] = max(found[sign != its], much)
            if how == 1:
                found = stems.get(stem)
                if found is None:
                    found = stems[stem] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, weight]
                for at in differs:
                    found[at] = max(found[at], much)
    return senses, stems


def _surer(clause: Clause, matches: Sequence[_Match]) -> bool:
    """Whether a clause settles what its sources leave open, or leaves open what they demand."""
    if not clause.moods & (FIRMLY | FREE) or matches[0].shared < 0.5 * clause.mass or matches[0].shared < 1:
        return False
    least = _NEAR * matches[0].closeness
    near = [match.clause for match in matches if match.closeness >= least]
    return all(_firmer(clause, other) for other in near)


def _firmer(one: Clause, other: Clause) -> bool:
    mine, its = one.moods, other.moods
    if other.asks:
        return False
    if mine & FIRMLY and not mine & HEDGED and its & HEDGED and not its & FIRMLY:
        return "=accept" not in one.signs  # what is allowed is not more or less sure
    return bool(its & OBLIGED and not its & FREE and mine & FREE and not mine & OBLIGED and not one.negations)
