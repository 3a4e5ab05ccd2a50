"""Train the two scores of a sentence: `python -m training.quoting`. Deterministic, about a minute.

The material: `training/data/` holds 24 chats of our own, six of tau-bench, what a careful reader of them would want known
(`key-facts.jsonl`) and every sentence of ours that holds until it is taken back (`standing.jsonl`). Both models are logistic
regressions over the features of `infold.quoting.features`, rounded to whole numbers. `train(leave_out=…)` trains without some
chats: figures count only on chats that were left out.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack
from sklearn.linear_model import LogisticRegression

from infold.messages import Message
from infold.quoting.candidate import MOST
from infold.quoting.features import features
from infold.quoting.reading import REACH, Draft, drafts
from infold.quoting.scoring import STANDING, WORTH, Model, from_json
from training.data import chats

HERE = Path(__file__).parent
TARGET = HERE.parent / "src" / "infold" / "quoting" / "weights.json.gz"
UNIT = 1000
"""A weight of 1 in whole numbers."""
LIGHT = 0.3
"""What a run of four characters counts beside other features: there are many of them in a sentence."""
MARKS = ((0.4, 0.12), (0.15, 0.05))
"""What a standing sentence is worth that no key fact rests on; and one that holds no more."""
STRENGTH = {WORTH: 0.04, STANDING: 0.08}
SHARE_OF_WORTH = 0.15
UNSURE = 0.5
"""How far a mark counts that is not sure."""
FOLDS = 8
LASTING = ("rule", "preference", "constraint", "who")


@dataclass(frozen=True, slots=True)
class Example:
    """One candidate, its features, and what it should score."""

    chat: str
    draft: Draft
    features: tuple[str, ...]
    facts: tuple[str, ...]
    """Key facts its line holds."""
    read: bool
    """Whether a reader noted key facts of this part of the chat."""
    stands: float
    """1 for a standing sentence, 0.5 for one that is not sure, else 0."""
    outdated: bool

    def worth(self, mark: float, outdated: float) -> float:
        """The aim of the first score."""
        return 1.0 if self.facts else 0.0 if not self.stands else outdated if self.outdated else mark

    @property
    def user(self) -> bool:
        return self.draft.setting.role == "user"


def line_of(role: str, name: str | None, text: str) -> str:
    """A line of memory as it is shown."""
    who = {"assistant": "Assistant", "tool": "Tool"}.get(role, name)
    return f"- {who}: {text}" if who else f"- {text}"


def holds(fact: Mapping[str, Any], line: str) -> bool:
    """Whether a line holds a key fact."""
    return all(re.search(p, line, re.I) for p in fact["find"]) and not any(
        re.search(p, line, re.I) for p in fact["not"] or ()
    )


@cache
def examples() -> tuple[Example, ...]:
    """Every candidate of every chat."""
    facts = defaultdict(list)
    for fact in chats.rows("key-facts.jsonl"):
        facts[fact["chat"]].append(fact)
    marks = defaultdict(list)
    for mark in chats.rows("standing.jsonl"):
        marks[mark["chat"], mark["seq"]].append(mark)
    return tuple(
        one
        for name, chat in ((name, chats.load(name)) for name in chats.names())
        for one in _of_chat(name, chat, facts[name], marks)
    )


def _of_chat(
    name: str, chat: list[Message], facts: list[dict[str, Any]], marks: Mapping[tuple[str, int], list[dict[str, Any]]]
) -> Iterator[Example]:
    upto = facts[0]["upto"] if facts else 0
    for at, message in enumerate(chat):
        for draft in drafts(message, chat[max(0, at - REACH) : at]):
            line = line_of(message.role, message.name, draft.text)
            read = message.seq <= upto
            held = tuple(fact["id"] for fact in facts if read and holds(fact, line))
            stands, outdated = _standing(draft, marks[name, message.seq]) if message.role == "user" else (0.0, False)
            if name.startswith("tau:") and any(fact["id"] in held and fact["kind"] in LASTING for fact in facts):
                stands = UNSURE  # nobody marked these chats, but a reader noted what lasts
            if read or (not upto and message.role == "user" and not name.startswith("tau")):
                yield Example(name, draft, tuple(features(draft.words, draft.setting)), held, read, stands, outdated)


def _standing(draft: Draft, marks: Sequence[Mapping[str, Any]]) -> tuple[float, bool]:
    """Whether most of a candidate's words are marked as standing, and whether they were taken back."""
    place = draft.places[-1]
    sure = unsure = 0
    outdated = False
    for mark in marks:
        shared = min(place.end, mark["end"]) - max(place.start, mark["start"])
        if shared > 0:
            sure += shared * mark["sure"]
            unsure += shared
            outdated = outdated or mark["changed"] is not None
    whole = place.end - place.start
    return (1.0 if 2 * sure >= whole else UNSURE if 2 * unsure >= whole else 0.0), outdated


Floats = NDArray[np.float64]
Curve = tuple[tuple[int, int], ...]


def matrix_of(data: Sequence[Example]) -> tuple[csr_matrix, list[str], Floats]:
    """The examples' features as numbers, the features' names, and what each counts."""
    spread: defaultdict[str, set[str]] = defaultdict(set)
    often: Counter[str] = Counter()
    for one in data:
        often.update(one.features)
        for feature in one.features:
            spread[feature].add(one.chat)
    known = sorted(f for f, n in often.items() if n >= 5 and len(spread[f]) >= 3)
    at = {f: n for n, f in enumerate(known)}
    cells = [[at[f] for f in one.features if f in at] for one in data]
    ends = np.cumsum([0, *map(len, cells)])
    places = np.array([cell for row in cells for cell in row])
    size = np.array([LIGHT if f.startswith("h:") else 1.0 for f in known])
    return csr_matrix((size[places], places, ends), shape=(len(data), len(known))), known, size


def regression(matrix: csr_matrix, aim: Floats, weight: Floats, strength: float) -> Floats:
    """Weights of the columns, and the bias at the end. A soft aim is the same example twice, with two weights."""
    model = LogisticRegression(C=strength, solver="liblinear", tol=1e-4, max_iter=300, random_state=1)
    aims = np.r_[np.ones(len(aim)), np.zeros(len(aim))]
    model.fit(vstack([matrix, matrix]), aims, sample_weight=np.r_[aim * weight, (1 - aim) * weight])
    found: Floats = np.r_[model.coef_[0], model.intercept_]
    return found


def fit(data: Sequence[Example]) -> dict[str, Any]:
    """What the weights file holds, the curves aside.

    Worth is the mean of two models, which think more or less of marks that no key fact rests on. Standing is the mean of three models, which take a mark that is not sure for half true, for no mark, and for no example,
    and a little of worth. Such a sum ranks better, and is still one weight a feature.
    """
    matrix, known, size = matrix_of(data)
    aims = [np.array([one.worth(*marks) for one in data]) for marks in MARKS]
    worth = sum(regression(matrix, aim, np.ones(len(data)), STRENGTH[WORTH]) for aim in aims) / len(aims)
    rows = np.array([n for n, one in enumerate(data) if one.user])
    marks = np.array([data[n].stands for n in rows])
    sure, every = np.floor(marks), np.ones(len(rows))
    ways = ((marks, every), (sure, every), (sure, 1.0 * (marks != UNSURE)))
    standing = sum(regression(matrix[rows], aim, weight, STRENGTH[STANDING]) for aim, weight in ways) / len(ways)
    standing = standing + SHARE_OF_WORTH * worth
    both = np.rint(np.c_[worth, standing] * np.r_[size, 1.0][:, None] * UNIT).astype(int).tolist()
    return {
        "about": "weights of the features of a sentence, thousandths: [worth, standing]; written by python -m training.quoting",
        "bias": both[-1],
        "weights": {name: pair for name, pair in zip(known, both, strict=False) if any(pair)},
    }


_FLAT = {WORTH: [[-1000, 0], [1000, MOST]], STANDING: [[-1000, 0], [1000, MOST]]}


def train(leave_out: Collection[str] = (), curves: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The weights file's content, trained without some chats. Without curves they are worked out by leaving chats out."""
    data = [one for one in examples() if one.chat not in leave_out]
    return {**fit(data), "curves": dict(curves or calibrated(data))}


def folds(data: Sequence[Example]) -> list[set[str]]:
    """The chats in groups to leave out together."""
    names = sorted({one.chat for one in data})
    return [set(names[n::FOLDS]) for n in range(FOLDS)]


def blind(data: Sequence[Example]) -> dict[str, Model]:
    """For every chat a model that did not see it; without curves."""
    found: dict[str, Model] = {}
    for group in folds(data):
        rest = [one for one in data if one.chat not in group]
        model = from_json({**fit(rest), "curves": _FLAT})
        found.update(dict.fromkeys(sorted(group), model))
    return found


def left_out(data: Sequence[Example], models: Mapping[str, Model]) -> list[tuple[int, int]]:
    """The sums of every example by a model that did not see its chat."""
    return [models[one.chat].sums(one.features) for one in data]


def calibrated(data: Sequence[Example]) -> dict[str, list[list[int]]]:
    """Curves from sums to scores: worth as a chance, standing by precision on chats left out."""
    return curves_of(data, left_out(data, blind(data)))


TIERS = ((900, 0.92), (800, 0.80), (700, 0.70))


def curves_of(data: Sequence[Example], sums: Sequence[tuple[int, int]]) -> dict[str, list[list[int]]]:
    """The curves for sums that were worked out on chats left out."""
    grid = range(-7 * UNIT, 7 * UNIT + 1, UNIT // 4)
    chance = {x: MOST / (1 + math.exp(-x / UNIT)) for x in grid}
    single = [
        (two, one.stands) for one, (_, two) in zip(data, sums, strict=True) if one.user and not one.draft.setting.pair
    ]
    right, places, best = 0.0, dict[int, int](), (0.0, 0)
    for n, (score, good) in enumerate(sorted(single, reverse=True), 1):
        right += good
        places.update({tier: score for tier, precision in TIERS if n >= 20 and right >= precision * n})
        best = max(best, (right / n, score)) if n >= 60 else best
    places.setdefault(TIERS[0][0], best[1])  # with few chats: as sure as can be
    likely = min(places.values())
    ratio = TIERS[-1][0] / (MOST / (1 + math.exp(-likely / UNIT)))
    standing = [[x, round(chance[x] * ratio)] for x in grid if x < likely]
    standing += [[places[tier], tier] for tier, _ in reversed(TIERS)]
    top = max(score for score, _ in single)
    standing.append([max(top, places[TIERS[0][0]]) + 1, MOST])
    return {WORTH: [[x, round(chance[x])] for x in grid], STANDING: standing}


def write(found: Mapping[str, Any], path: Path = TARGET) -> None:
    """The weights file, one feature a line."""
    weights = ",\n".join(f"{json.dumps(n, ensure_ascii=False)}: {json.dumps(w)}" for n, w in found["weights"].items())
    rest = json.dumps({k: v for k, v in found.items() if k != "weights"}, ensure_ascii=False)
    text = f'{rest[:-1]},\n"weights": {{\n{weights}\n}}}}\n'
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    write(train())
