"""Key facts held by chosen quotations, beside plain density: `python -m bench.quoting_eval FOLDER [-v]`.

FOLDER holds the chats and gold data (its README says what they are). Every chat that was trained on is left out of the
training of the models that read it. `-v` prints each summary, what it misses, and lines of the tier "sure"; `-w` writes the
weights file.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from training import quoting as training
from training.data import chats

from infold.lines.kinds import KINDS, SECTIONS
from infold.messages import Message
from infold.quoting.candidate import LIKELY, STANDING, SURE, Candidate
from infold.quoting.choosing import choose
from infold.quoting.reading import REACH, read_with
from infold.quoting.scoring import Model, from_json, read_off
from infold.tokens import count

RULES = ("rule", "preference", "constraint")
BUDGETS = (510, 1000, 1500)
OTHERS = ("de", "fr", "es", "zh", "pt")
SHOWN = ("own", "demo", "tau", "locomo", "en", *OTHERS)
_HEADING = 9  # tokens of one heading; the exact count follows
Tally = defaultdict[tuple[str, ...], list[bool]]


def line(one: Candidate) -> str:
    """A line as a summary shows it."""
    return training.line_of(one.role, one.said_by if one.said_by != one.role else None, one.text)


def render(kept: list[Candidate]) -> str:
    """A summary: lines under the headings of their kinds."""
    out: list[str] = []
    for key, heading in SECTIONS.items():
        if inside := [line(one) for one in kept if KINDS[one.kind].section == key]:
            out += [f"## {heading} (quoted)", *inside]
    return "\n".join(out)


def summary(found: list[Candidate], budget: int) -> list[Candidate]:
    """What is chosen for a summary of at most `budget` tokens with its headings."""
    tokens = [count(line(one)) + 1 for one in found]
    cap = budget - _HEADING
    while True:
        kept = [found[at] for at in choose(found, tokens, cap)]
        size = count(render(kept))
        if size <= budget or not kept:
            return kept
        cap -= size - budget


def folded(each: list[list[Candidate]], budget: int, step: int = 12) -> list[Candidate]:
    """A summary that was chosen anew every few messages, from what it held and what came."""
    kept: list[Candidate] = []
    for at in range(0, len(each), step):
        kept = summary([*kept, *(one for found in each[at : at + step] for one in found)], budget)
    return kept


def reference(folder: Path) -> dict[str, Any]:
    """`density` and `holds` as the folder's own measure has them."""
    text = (folder / "measure.py").read_text("utf-8")
    head = (
        text[text.index("def text_of") : text.index("def feed")] + text[text.index("def flat") : text.index("def last")]
    )
    space: dict[str, Any] = {}
    exec("import collections, json, math, os, random, re, sys\n" + head, space)
    return space


def group_of(name: str) -> list[str]:
    """The groups a chat counts in."""
    kind, _, key = name.partition(":")
    tongue = key if key in OTHERS else "en" if kind in ("own", "demo") else ""
    return ["all", kind, name, *([tongue] if tongue else [])]


def percent(hits: list[bool]) -> float:
    return 100 * sum(hits) / max(1, len(hits))


def measure(folder: Path, model_of: dict[str, Model], whole: Model, verbose: bool) -> Tally:
    """For every summary and group: which key facts it holds."""
    sys.path.insert(0, str(folder))
    shared = importlib.import_module("chats")
    asked: defaultdict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in (folder / "key-facts.jsonl").read_text("utf-8").splitlines():
        fact = json.loads(row)
        asked[fact["chat"], fact["upto"]].append(fact)
    own = reference(folder)
    tally: Tally = defaultdict(list)
    for (name, upto), facts in asked.items():
        raw = shared.load(name, demo=chats.DEMO)["messages"][:upto]
        told: list[Message] = chats.messages(raw)
        model = model_of.get(name, whole)
        each = [list(read_with(model, one, told[max(0, at - REACH) : at])) for at, one in enumerate(told)]
        for budget in BUDGETS:
            kept = render(summary([one for some in each for one in some], budget))
            texts = {"quoted": kept, "folded": render(folded(each, budget)), "density": own["density"](raw, budget)}
            for what, text in texts.items():
                hits = [own["holds"](fact, text) for fact in facts]
                for group in group_of(name):
                    tally[f"{what} {budget}", group] += hits
                    rules = [hit for hit, fact in zip(hits, facts, strict=True) if fact["kind"] in RULES]
                    tally[f"{what} {budget}", group, "rules"] += rules
            if verbose and budget == BUDGETS[0]:
                print(f"===== {name} {percent(tally['quoted 510', name]):.0f} %, {count(kept)} tokens\n{kept}")
                for fact in facts:
                    if not own["holds"](fact, kept):
                        print("   missing", fact["kind"], fact["says"])
    return tally


def tiers(
    data: tuple[training.Example, ...], sums: list[tuple[int, int]], curve: training.Curve, verbose: bool
) -> None:
    """How many sentences of each tier of standing are marked as standing."""
    asked = [
        (read_off(curve, two), one)
        for one, (_, two) in zip(data, sums, strict=True)
        if one.user and one.marked and not one.draft.setting.pair
    ]
    every = len({one.chat for _, one in asked})
    total = sum(one.stands == 1 for _, one in asked)
    for tier in (SURE, STANDING, LIKELY):
        got = [one for score, one in asked if score >= tier]
        sure, marked = sum(one.stands == 1 for one in got), sum(one.stands > 0 for one in got)
        size = max(1, len(got))
        if verbose and tier == SURE:
            for one in random.Random(1).sample(got, min(100, len(got))):
                print("sure", {1.0: "+", training.UNSURE: "?", 0.0: "-"}[one.stands], one.chat, one.draft.text)
        print(
            f"tier {tier}: precision {sure / size:.2f} / {marked / size:.2f}, {len(got) / every:.1f} a chat, finds {sure / total:.2f}"
        )


def main(folder: Path, verbose: bool, write: bool) -> None:
    """Train, measure, print."""
    data = training.examples()
    blind = training.blind(data)
    sums = training.left_out(data, blind)
    curves = training.curves_of(data, sums)
    kept = training.train(curves=curves)
    if write:
        training.write(kept)
    whole = from_json(kept)
    tiers(data, sums, whole.curves[1], verbose)
    tally = measure(
        folder, {name: replace(model, curves=whole.curves) for name, model in blind.items()}, whole, verbose
    )
    for budget in BUDGETS:
        for what in ("quoted", "folded", "density"):
            key = f"{what} {budget}"
            parts = [f"{g} {percent(tally[key, g]):.0f}/{percent(tally[key, g, 'rules']):.0f}" for g in SHOWN]
            print(
                f"{key:13}{percent(tally[key, 'all']):.1f} / {percent(tally[key, 'all', 'rules']):.1f} | {'  '.join(parts)}"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]), "-v" in sys.argv, "-w" in sys.argv)
