"""Train the models that read sentences: `python -m training.train`. Pure Python, deterministic, about a minute.

The material: `*.tsv` in this folder (label, role, sentence) and the tuned half of the benchmark's phrasings.
`--test NAME` leaves one file out and shows how well the models read it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from infold.folding.cues import cue_names, weigh
from infold.folding.judge import ENDS, ZERO, tokens, words_of
from infold.folding.telling import lead_stripped

HERE = Path(__file__).parent
TARGET = HERE.parent / "src" / "infold" / "folding" / "weights.json.gz"
PASS = "pass"
# Kinds of the benchmark's phrasings that are one kind here.
_SAME = {
    "biography": "fact", "person": "fact", "amount": "fact", "date": "fact", "identifier": "artifact", "file": "artifact",
    "version": "artifact", "answer": "done", "filler_user": PASS, "filler_assistant": PASS,
}  # fmt: skip
_MADE = {
    "ref": ["ORD-48213", "PX7K2Q", "#5521", "INV/2026/118", "TKT-4471", "HX92LM"],
    "version": ["3.11.4", "v2.8", "4.2.1", "1.9.0"],
    "amount": ["€1,240", "75 GB", "12 %", "$3.5k", "£480"],
    "date": ["14 March 2027", "Tue 9 June", "2027-02-03 at 15:30", "3 May"],
}
Line = tuple[str, str, str]  # role, label, sentence
Example = tuple[str, list[str]]  # label, features


def lines() -> dict[str, list[Line]]:
    """All material, by file."""
    found: dict[str, list[Line]] = {}
    for path in sorted(HERE.glob("*.tsv")):
        rows = [row.split("\t") for row in path.read_text("utf-8").splitlines()]
        found[path.stem] = [(role, label, sentence) for label, role, sentence in rows]
    for path in sorted((HERE.parent / "bench" / "phrasings").glob("tuned-*.toml")):
        found[path.stem] = _phrasings(path)
    return found


def _phrasings(path: Path) -> list[Line]:
    book = tomllib.loads(path.read_text("utf-8"))
    chance = random.Random(path.name)
    found: list[Line] = []
    for kind in (k for k, v in book.items() if isinstance(v, list) and v and "say" in v[0] and k != "filler_tool"):
        for phrasing in book[kind]:
            task, question, topic = (chance.choice(book[pool]) for pool in ("tasks", "questions", "topics"))
            old, new = chance.sample(topic["options"], 2)
            given = {f"task.{k}": v for k, v in task.items()} | {f"question.{k}": v for k, v in question.items()}
            given |= {"topic": topic["name"], "old": old, "new": new}

            def filled(slot: re.Match[str], given: dict[str, str] = given) -> str:
                name = slot[1]
                if name not in given:
                    given[name] = chance.choice(_MADE.get(name) or book["pools"][name])
                return given[name]

            role = phrasing.get("by", "assistant" if kind == "filler_assistant" else "user")
            found.append((role, _SAME.get(kind, kind), re.sub(r"\{([a-z_.]+)\}", filled, phrasing["say"])))
    return found


def seen(sentence: str, cues: bool) -> list[str]:
    """What a model sees of a sentence: words, pairs of neighbours, and cues."""
    stripped = lead_stripped(sentence)
    found = tokens(stripped)
    names = {*found, *map(" ".join, pairwise(found))}.difference(ENDS)
    if cues:
        low = stripped.lower()
        names.update(cue_names(weigh(low, words_of(low))))
    return sorted(names)


class Model:
    """Multinomial logistic regression, trained by AdaGrad over sparse features."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = list(labels)
        self.bias = [0.0] * len(labels)
        self.weights: dict[str, list[float]] = {}

    def scores(self, names: Sequence[str]) -> list[float]:
        known = [self.weights[name] for name in names if name in self.weights]
        norm = (len(known) + 1) ** -0.5
        return [own + norm * sum(weights[at] for weights in known) for at, own in enumerate(self.bias)]

    def best(self, names: Sequence[str]) -> str:
        scores = self.scores(names)
        return self.labels[scores.index(max(scores))]

    def train(
        self, examples: Sequence[Example], epochs: int = 14, rate: float = 0.3, decay: float = 1e-3, seldom: int = 2
    ) -> None:
        counts = Counter(name for _, names in examples for name in names)
        data = [(self.labels.index(label), [n for n in names if counts[n] >= seldom]) for label, names in examples]
        self.weights = {name: [0.0] * len(self.labels) for name, count in sorted(counts.items()) if count >= seldom}
        steps = {name: [0.01] * len(self.labels) for name in self.weights}
        chance = random.Random(1)
        for _ in range(epochs):
            chance.shuffle(data)
            for target, names in data:
                scores = self.scores(names)
                top = max(scores)
                chances = [math.exp(score - top) for score in scores]
                total = sum(chances)
                norm = (len(names) + 1) ** -0.5
                for at in range(len(self.labels)):
                    error = chances[at] / total - (at == target)
                    if abs(error) < 0.01:
                        continue
                    self.bias[at] -= 0.1 * rate * error
                    for name in names:
                        weights, step = self.weights[name], steps[name]
                        slope = error * norm + decay * weights[at]
                        step[at] += slope * slope
                        weights[at] -= rate * slope / math.sqrt(step[at])


def fit(material: Sequence[Line], role: str, labels: Sequence[str]) -> tuple[Model, Model]:
    """The gate (keep or pass) and the kinds, for one speaker."""
    mine = [(label, sentence) for by, label, sentence in material if by == role]
    gate = Model(["keep", PASS])
    gate.train([(PASS if label == PASS else "keep", seen(sentence, False)) for label, sentence in mine])
    kinds = Model(labels)
    kinds.train([(label, seen(sentence, True)) for label, sentence in mine if label != PASS])
    return gate, kinds


def common_words(material: Sequence[Line]) -> list[str]:
    """What is said about everything, and tells no two things apart."""
    counts = Counter(word for _, _, sentence in material for word in set(tokens(sentence)) if word.isalpha())
    return sorted(word for word, count in counts.items() if count >= 40)


def shipped(models: dict[str, tuple[Model, Model]], labels: Sequence[str], common: Sequence[str]) -> dict[str, object]:
    """What the reader loads: whole hundredths, small weights left out."""
    told: dict[str, object] = {"labels": list(labels), "common": list(common)}
    for role, (gate, kinds) in models.items():
        margins = {name: round(100 * (w[0] - w[1])) for name, w in gate.weights.items()}
        rounded = {
            name: [round(100 * weight) if abs(weight) >= 0.5 else 0 for weight in w]
            for name, w in kinds.weights.items()
        }
        told[role] = {
            "gate_bias": round(gate.bias[0] - gate.bias[1], 3),
            "kinds_bias": [round(own, 3) for own in kinds.bias],
            **packed(
                {name: margin for name, margin in margins.items() if abs(margin) >= 20},
                {name: weights for name, weights in rounded.items() if any(weights)},
                len(labels),
            ),
        }
    return told


def packed(gate: Mapping[str, int], kinds: Mapping[str, Sequence[int]], size: int) -> dict[str, object]:
    """The weights of both models, one hexadecimal number for each name, as `judge` tells them apart again."""
    words: dict[str, str] = {}
    pairs: dict[str, dict[str, str]] = {}
    cues: dict[str, str] = {}
    for name in sorted({*gate, *kinds}):
        fields = [1, ZERO + gate[name]] if name in gate else [0, 0]
        fields += [1, *(ZERO + weight for weight in kinds[name])] if name in kinds else [0] * (1 + size)
        number = "".join(f"{field:08x}" for field in fields).lstrip("0")
        first, _, second = name.partition(" ")
        if first == "cue":  # which is no word of the material
            cues[name] = number
        elif second:
            pairs.setdefault(first, {})[second] = number
        else:
            words[first] = number
    return {"words": words, "pairs": pairs, "cues": cues}


def show(models: dict[str, tuple[Model, Model]], material: Sequence[Line]) -> None:
    """How well sentences that were left out are read."""
    for role, (gate, kinds) in models.items():
        right: Counter[str] = Counter()
        all_of: Counter[str] = Counter()
        kind: Counter[str] = Counter()
        for by, label, sentence in material:
            if by != role:
                continue
            all_of[label] += 1
            right[label] += (gate.best(seen(sentence, False)) == PASS) == (label == PASS)
            kind[label] += label != PASS and kinds.best(seen(sentence, True)) == label
        for label in sorted(all_of):
            print(
                f"{role:10} {label:11} {all_of[label]:5} kept or passed {right[label] / all_of[label]:6.1%}  kind {kind[label] / all_of[label]:6.1%}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--test", help="leave this file out, and show how it is read; nothing is written")
    asked = parser.parse_args()
    found = lines()
    held = found.pop(asked.test) if asked.test else []
    material = [line for rows in found.values() for line in rows]
    labels = sorted({label for _, label, _ in material} - {PASS})
    models = {role: fit(material, role, labels) for role in ("user", "assistant")}
    if asked.test:
        show(models, held)
        return
    told = json.dumps(shipped(models, labels, common_words(material)), ensure_ascii=False, separators=(",", ":"))
    TARGET.write_bytes(gzip.compress(told.encode(), mtime=0))  # the same material, the same bytes
    print(f"{len(material)} sentences, {TARGET.stat().st_size // 1024} KiB of weights")


if __name__ == "__main__":
    main()
