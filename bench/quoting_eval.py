"""Key facts held by chosen quotations, beside plain density: `python -m bench.quoting_eval FOLDER`. Every chat is left out of training."""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from training import quoting as training
from training.data import chats

from infold.lines.kinds import KINDS, SECTIONS
from infold.quoting.candidate import Candidate
from infold.quoting.choosing import choose
from infold.quoting.reading import REACH, read_with
from infold.quoting.scoring import from_json
from infold.tokens import count

RULES = ("rule", "preference", "constraint")


def line(one: Candidate) -> str:
    return training.line_of(one.role, one.said_by if one.said_by != one.role else None, one.text)


def render(kept: list[Candidate]) -> str:
    out = []
    for key, heading in SECTIONS.items():
        inside = [line(one) for one in kept if KINDS[one.kind].section == key]
        if inside:
            out += [f"## {heading} (quoted)", *inside]
    return "\n".join(out)


def summary(found: list[Candidate], budget: int) -> list[Candidate]:
    tokens = [count(line(one)) + 1 for one in found]
    cap = budget - 9
    while True:
        kept = [found[at] for at in choose(found, tokens, cap)]
        size = count(render(kept))
        if size <= budget or not kept:
            return kept
        cap -= size - budget


def density_of(ms, budget, m):
    return m["density"](ms, budget)


def folded(per_message: list[list[Candidate]], budget: int, step: int = 12) -> list[Candidate]:
    """A summary that was chosen anew every few messages, from what it held and what came."""
    kept: list[Candidate] = []
    for at in range(0, len(per_message), step):
        kept = summary([*kept, *(one for found in per_message[at : at + step] for one in found)], budget)
    return kept


def measures(folder: Path):
    """`density` and `holds` as the reference has them."""
    text = (folder / "measure.py").read_text().replace("from infold import Memory", "")
    head = (
        text[text.index("def text_of") : text.index("def feed")] + text[text.index("def flat") : text.index("def last")]
    )
    space: dict = {}
    exec("import collections, json, math, os, random, re, sys\n" + head, space)
    return space


def main(folder: Path, budgets=(510, 1000, 1500), verbose=False, write=False) -> None:
    sys.path.insert(0, str(folder))
    import chats as shared

    facts = defaultdict(list)
    for row in (folder / "key-facts.jsonl").read_text().splitlines():
        f = json.loads(row)
        facts[f["chat"], f["upto"]].append(f)
    space = measures(folder)
    data = training.examples()
    began = time.time()
    blind = training.blind(data)
    curves = training.curves_of(data, sums := training.left_out(data, blind))
    drawn = tuple(tuple(map(tuple, curves[name])) for name in ("worth", "standing"))
    models = {name: replace(model, curves=drawn) for name, model in blind.items()}
    kept = training.train((), curves)
    if write:
        training.write(kept)
    whole = from_json(kept)
    print(f"training {time.time() - began:.0f} s")
    tiers(data, sums, curves)
    tally = defaultdict(list)
    for (name, upto), fs in facts.items():
        raw = shared.load(name, demo=chats.DEMO)["messages"][:upto]
        ms = chats.messages(raw)
        model = models.get(name, whole)
        each = [list(read_with(model, m, ms[max(0, at - REACH) : at])) for at, m in enumerate(ms)]
        found = [one for some in each for one in some]
        for b in budgets:
            kept = summary(found, b)
            for what, text in ((f"quoted {b}", render(kept)), (f"folded {b}", render(folded(each, b))), (f"density {b}", space["density"](raw, b))):
                hits = [space["holds"](f, text) for f in fs]
                rules = [h for h, f in zip(hits, fs) if f["kind"] in RULES]
                lang = (
                    name[4:]
                    if name in ("own:de", "own:fr", "own:es", "own:zh", "own:pt")
                    else "en"
                    if name[:3] in ("own", "dem")
                    else ""
                )
                for key in ("all", name.split(":")[0], lang, name):
                    tally[what, key] += hits
                    tally[what, key, "r"] += rules
            if b == 510 and verbose:
                print(
                    "=====",
                    name,
                    f"{100 * sum(space['holds'](f, render(kept)) for f in fs) / len(fs):.0f} %",
                    count(render(kept)),
                )
                print(render(kept))
                for f in fs:
                    if not space["holds"](f, render(kept)):
                        print("   missing", f["kind"], f["says"])
    p = lambda v: f"{100 * sum(v) / max(1, len(v)):.0f}"
    for b in budgets:
        for what in (f"quoted {b}", f"folded {b}", f"density {b}"):
            print(
                f"{what:14s}",
                f"{100 * sum(tally[what, 'all']) / len(tally[what, 'all']):.1f} / {100 * sum(tally[what, 'all', 'r']) / len(tally[what, 'all', 'r']):.1f} |",
                "  ".join(
                    f"{k} {p(tally[what, k])}/{p(tally[what, k, 'r'])}"
                    for k in ("own", "demo", "tau", "locomo", "en", "de", "fr", "es", "zh", "pt")
                ),
            )
    print(" ".join(f"{k[1]} {p(v)}" for k, v in tally.items() if k[0] == "quoted 510" and len(k) == 2 and ":" in k[1]))


def tiers(data, sums, curves) -> None:
    from infold.quoting.scoring import read_off

    curve = tuple(map(tuple, curves["standing"]))
    rows = [
        (read_off(curve, two), one)
        for one, (_, two) in zip(data, sums)
        if one.user and one.marked and not one.draft.setting.pair
    ]
    every = len({one.chat for _, one in rows})
    total = sum(one.stands == 1 for _, one in rows)
    for tier in (900, 800, 700):
        got = [one for score, one in rows if score >= tier]
        if got:
            if tier == 900:
                import random

                for o in random.Random(1).sample(got, min(110, len(got))):
                    print("sure", {1: "+", 0.5: "?", 0: "-"}[o.stands], o.chat, o.draft.text[:200])
            print(
                f"tier {tier}: precision {sum(o.stands == 1 for o in got) / len(got):.2f} / {sum(o.stands > 0 for o in got) / len(got):.2f}, {len(got) / every:.1f} a chat, finds {sum(o.stands == 1 for o in got) / total:.2f}"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]), verbose="-v" in sys.argv, write="-w" in sys.argv)
