"""Train the model that tells whether a line reverses its sources: `python -m training.polarity`. Deterministic, about a minute.

The material: `polarity-*.txt` in this folder, the tuned half of `bench.gate` and the gate's corpus of tests. In a file, "#" begins a conversation; then
come what user (u) and assistant (a) say, and faithful lines (=) with the messages they rest on. [[right|wrong]] is a choice
that reverses a line when made wrongly, [[~right|wrong]] one that only makes it surer. `polarity-heldout.txt` is never
trained on: `--test` shows how well the model reads it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench import gate
from bench.gate_cases import CHOICE, negated, right
from numpy.typing import NDArray

from infold.folding.clauses import clauses_of
from infold.folding.grounding import Grounds
from infold.folding.polarity import NAMES, PAIRED, evidence
from infold.messages import Message, parse

HERE = Path(__file__).parent
TARGET = HERE.parent / "src" / "infold" / "folding" / "polarity.json"
CORPUS = HERE.parent / "tests" / "corpus" / "gate.toml"
HELD_OUT = "polarity-heldout"
FAITHFUL, MODALITY = "faithful", "modality"
SHARE_DROPPED, SHARE_DOUBTED = 0.03, 0.15
"""Of the faithful lines: how many may be taken for reversals, and how many doubted. They are lines about what is not so;
of others, fewer are."""
_CORPUS_WEIGHT = 4.0  # what the gate must get right
_TUNED_WEIGHT = 0.25  # the tuned half has many faithful lines that differ in their values only
_RIDGE, _STEPS, _FOLDS = 20.0, 25, 5
_PAIRS = list(combinations(PAIRED, 2))
_PLACES = [(NAMES.index(one), NAMES.index(two)) for one, two in _PAIRS]
Matrix = NDArray[np.float64]


class Case(NamedTuple):
    """One line of a case, and what the model sees of its clauses."""

    group: str
    kind: str
    weight: float
    seen: list[list[float]]
    reversed: list[bool]
    """Which of its clauses say something else than the faithful line."""


def conversations(path: Path) -> Iterator[tuple[str, list[str], list[tuple[tuple[int, ...], str]]]]:
    """Each conversation of a file: its topic, what is said, and lines with the positions they cite."""
    for part in path.read_text("utf-8").split("# ")[1:]:
        topic, *rows = part.strip().splitlines()
        said = [row[2:] for row in rows if row[:2] in ("u ", "a ")]
        lines = [re.fullmatch(r"= ([\d,]+) (.*)", row) for row in rows if row.startswith("=")]
        yield topic, said, [(tuple(int(one) - 1 for one in line[1].split(",")), line[2]) for line in lines if line]


def variants(text: str) -> Iterator[tuple[str, str]]:
    """A line as it should be, then spoilt in each way there is."""
    told = right(text)
    yield FAITHFUL, told
    for match in CHOICE.finditer(text):
        start, end = match.span()
        wrong = right(text[:start] + match[3] + text[end:])
        yield MODALITY if match[1] else "turned", wrong
    how, wrong = negated(told)
    if wrong:
        yield how, wrong


def written(path: Path) -> Iterator[Case]:
    """The cases of a file, each among messages of other conversations."""
    rng = random.Random(path.stem)
    every = list(conversations(path))
    for topic, said, lines in every:
        others = rng.sample([one for one in every if one[0] != topic], k=3)
        before = [text for _, texts, _ in others[:2] for text in texts]
        messages = list(map(_message, [*before, *said, *others[2][1]], range(1, 100)))
        grounds = Grounds(messages, ())
        for cites, text in lines:
            for kind, told in variants(text):
                cited = tuple(len(before) + at + 1 for at in cites)
                chance = rng.random()
                if chance < 0.2:
                    cited = ()
                elif chance < 0.4:
                    cited = (*cited, cited[-1] + 1)
                yield _case(f"{path.stem} {topic}", kind, 1.0, told, right(text), grounds, cited)


def _message(text: str, seq: int) -> Message:
    return parse({"role": "user", "content": text}).stored(f"m{seq}", seq, 1_767_268_800_000 + seq * 60_000, 0)


def tuned(seed: int) -> Iterator[Case]:
    """Cases of the benchmark's tuned half."""
    for case in gate.cases("tuned", seed, 0.6):
        if case.kind not in (FAITHFUL, "negations", "opposites", MODALITY):
            continue
        grounds = Grounds(case.draft.messages, [*case.draft.memory, *case.draft.obsolete, *case.draft.pins])
        wrong = {planted.wrong: planted for planted in case.planted}
        for line in case.lines:
            planted = wrong.get(line.text)
            if planted is None and case.kind != FAITHFUL:
                continue
            kind = FAITHFUL if planted is None else planted.how if planted.kind != MODALITY else MODALITY
            weight = 1.0 if planted else _TUNED_WEIGHT
            told = planted.right if planted else line.text
            yield _case(f"tuned {told[:16]}", kind, weight, line.text, told, grounds, line.sources)


def corpus() -> Iterator[Case]:
    """The single lines of the gate's corpus that are sound, or reversed."""
    for table in tomllib.loads(CORPUS.read_text("utf-8"))["case"]:
        kind = {"": FAITHFUL, "negation": "turned"}.get(table.get("fails", ""))
        if kind is None or not {"says", "line"} <= table.keys() or "pins" in table or "memory" in table:
            continue
        grounds = Grounds([_message(table["says"], 1)], ())
        told = "" if kind != FAITHFUL else table["line"]
        yield _case(f"corpus {table['says']}", kind, _CORPUS_WEIGHT, table["line"], told, grounds, (1,))


def _case(
    group: str, kind: str, weight: float, text: str, faithful: str, grounds: Grounds, cited: Sequence[int]
) -> Case:
    shared = grounds.support(text, cited).shared
    own = {at for seq in cited for at in grounds.by_seq.get(seq, ())}
    sources, others = grounds.told(own, shared)
    sound = [(clause.units, clause.negations) for clause in clauses_of(faithful)]
    clauses = clauses_of(text)
    seen = [evidence(clause, sources, others) for clause in clauses]
    seen = [one and [*one, *(one[first] * one[second] for first, second in _PLACES)] for one in seen]
    changed = [(clause.units, clause.negations) not in sound for clause in clauses]
    kept = [at for at, one in enumerate(seen) if one]
    return Case(group, kind, weight, [seen[at] for at in kept], [changed[at] for at in kept])


def fit(cases: Sequence[Case]) -> tuple[float, Matrix]:
    """The bias and the weights that tell reversed clauses from faithful ones: logistic regression with a ridge."""
    rows: list[list[float]] = []
    labels: list[bool] = []
    weights: list[float] = []
    for case in cases:
        if case.kind == MODALITY:
            continue
        for seen, changed in zip(case.seen, case.reversed, strict=True):
            if changed or case.kind == FAITHFUL:
                rows.append(seen)
                labels.append(case.kind != FAITHFUL)
                weights.append(case.weight)
    table, wanted, trust = np.array(rows), np.array(labels, float), np.array(weights)
    mean, spread = table.mean(0), table.std(0) + 1e-6
    scaled = np.c_[np.ones(len(table)), (table - mean) / spread]
    found = np.zeros(scaled.shape[1])
    ridge = _RIDGE * np.r_[0.0, np.ones(scaled.shape[1] - 1)]
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-scaled @ found))
        slope = scaled.T @ ((likely - wanted) * trust) + ridge * found
        bend = (scaled * (likely * (1 - likely) * trust)[:, None]).T @ scaled + np.diag(ridge + 1e-9)
        found -= np.linalg.solve(bend, slope)
    plain = found[1:] / spread
    return float(found[0] - plain @ mean), plain


def score(case: Case, bias: float, weights: Matrix) -> float:
    """How much the worst clause of a line looks reversed."""
    return max((bias + float(weights @ np.array(seen)) for seen in case.seen), default=-9.0)


def table(cases: Sequence[Case], scores: Sequence[float], limit: float) -> str:
    """Percent taken for reversals, by kind."""
    every = Counter(case.kind for case in cases)
    caught = Counter(case.kind for case, one in zip(cases, scores, strict=True) if one > limit)
    return ", ".join(f"{kind} {100 * caught[kind] / every[kind]:.1f} of {every[kind]}" for kind in sorted(every))


def limit_of(cases: Sequence[Case], scores: Sequence[float], dropped: float) -> float:
    """Above which score so many of the faithful lines lie."""
    faithful = sorted((one for case, one in zip(cases, scores, strict=True) if case.kind == FAITHFUL), reverse=True)
    return faithful[int(len(faithful) * dropped)]


def crossed(cases: Sequence[Case]) -> list[float]:
    """The score of each case by a model that was not trained on its conversation."""
    groups = sorted({case.group for case in cases})
    random.Random(1).shuffle(groups)
    fold = {group: at % _FOLDS for at, group in enumerate(groups)}
    scores = [0.0] * len(cases)
    for number in range(_FOLDS):
        bias, weights = fit([case for case in cases if fold[case.group] != number])
        for at, case in enumerate(cases):
            if fold[case.group] == number:
                scores[at] = score(case, bias, weights)
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.polarity", description=__doc__)
    parser.add_argument("--test", action="store_true", help="show how well the model reads polarity-heldout.txt")
    args = parser.parse_args()
    paths = sorted(path for path in HERE.glob("polarity-*.txt") if path.stem != HELD_OUT)
    own = [case for path in paths for case in written(path)] + list(corpus())
    bench = [case for seed in (1, 2) for case in tuned(seed)]
    cases = own + bench
    scores = crossed(cases)
    limit, doubt = (limit_of(own, scores[: len(own)], share) for share in (SHARE_DROPPED, SHARE_DOUBTED))
    bias, weights = fit(cases)
    for dropped in (0.01, 0.03, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2):
        print(f"{dropped:.2f}: {table(own, scores[: len(own)], limit_of(own, scores[: len(own)], dropped))}")
    held = list(written(HERE / f"{HELD_OUT}.txt")) if args.test else []
    for name, least in (("taken for reversed", limit), ("doubted", doubt)):
        print(f"{name}, written:", table(own, scores[: len(own)], least))
        print(f"{name}, tuned half:", table(bench, scores[len(own) :], least))
        if held:
            print(f"{name}, held out:", table(held, [score(case, bias, weights) for case in held], least))
    rounded = [round(float(weight), 3) for weight in weights]
    told = {
        "bias": round(bias, 3),
        "limit": round(limit, 3),
        "doubt": round(doubt, 3),
        "weights": dict(zip(NAMES, rounded, strict=False)),
        "pairs": {f"{one} x {two}": weight for (one, two), weight in zip(_PAIRS, rounded[len(NAMES) :], strict=True)},
    }
    TARGET.write_text(json.dumps(told, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
