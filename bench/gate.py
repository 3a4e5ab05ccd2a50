"""What the gate catches of summaries that say something wrong, and what it lets through of those that do not.

One half of the material may be tuned against; the other stays unseen: of it only sums are ever shown.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from difflib import SequenceMatcher
from statistics import median

from rich.table import Table

from bench import gate_cases as material
from bench.common import Figure, console, report, tracked
from bench.gate_cases import Draft, MaterialError, Row, Value, Values, Writer, cited, filled, right, show
from infold.folding.gate import Verdict, judge, prepare
from infold.lines.kinds import PINNED
from infold.lines.line import Line

SEED = 1
KINDS = {
    "numbers": 170, "dates": 130, "identifiers": 130, "names": 130, "negations": 140, "opposites": 80, "modality": 70,
    "pins": 60, "invented lines": 80, "faithful": 260,
}  # fmt: skip
"""How many cases of each are made of each half."""
TARGETS = {"numbers": 99.0, "dates": 99.0, "identifiers": 99.0, "names": 95.0, "negations": 80.0, "pins": 99.0}
MOST_REJECTED, MOST_MS = 5.0, 5.0
SIZES = (6, 8, 10, 12, 15, 18, 22, 26, 30, 34)
TIMED, TIMED_PAIRS, PROPOSAL_TOKENS = 40, 55, 490
"""So many pairs are about 4,000 tokens."""
_NO = re.compile(r"(?i)\b(?:no|not|never|none|nothing|cannot|without|keine?n?|nicht|pas|sans)\b")


@dataclass(frozen=True, slots=True)
class Planted:
    kind: str
    how: str
    right: str = ""
    wrong: str = ""
    bad: str = ""
    """The wrong value, where it is one."""


@dataclass(slots=True)
class Case:
    kind: str
    draft: Draft
    lines: list[Line]
    planted: list[Planted] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        draft = self.draft
        return judge(self.lines, draft.messages, [*draft.memory, *draft.obsolete], pins=draft.pins)


def spoilt(line: Row, kind: str, rng: random.Random, draft: Draft) -> Planted | None:
    """A line with one thing in it made wrong: a thing of this kind, or any value where none is given."""
    told, said = line.told, draft.everything
    choices = [m for m in material.CHOICE.finditer(line.text) if _turns(m) == kind]
    types = material.CLASSES.get(kind, () if kind else sum(material.CLASSES.values(), ()))
    slots = [m for m in material.SLOT.finditer(right(line.text)) if line.values[m[1]].type in types]
    way, wrong = material.negated(told) if kind == "negations" and rng.random() < 0.5 else ("", "")
    if wrong:
        return Planted(kind, way, told, wrong)
    if choices and (not slots or rng.random() < 0.3):
        match = rng.choice(choices)
        start, end = match.span()
        wrong = filled(right(line.text[:start] + match[3] + line.text[end:]), line.values)
        how = "unit" if kind == "numbers" else "turned"
        return Planted(kind, how, told, wrong, filled(match[3], line.values))
    for _ in range(12 if slots else 0):
        match = rng.choice(slots)
        name, form = match[1], match[2] or ""
        how, value = _other(line.values, name, rng, draft)
        wrong = filled(right(line.text), {**line.values, name: value})
        bad = show(value, form)
        odd = bad.lstrip("$€£").startswith("0.") or bad == show(line.values[name], form)
        odd = odd or (how != "exchanged" and any(v.type == "date" and v.raw == value.raw for v in line.values.values()))
        if wrong != told and not odd and (how == "exchanged" or not _occurs(bad, value, said, how)):
            return Planted(kind, how, told, wrong, bad)
    return None


def _turns(choice: re.Match[str]) -> str:
    """What kind of wrong a choice makes; it negates where only one side has a word for "not"."""
    explicit = bool(_NO.search(choice[2])) != bool(_NO.search(choice[3]))
    return {"~": "modality", "#": "numbers"}.get(choice[1], "negations" if explicit else "opposites")


def _occurs(bad: str, value: Value, said: str, how: str) -> bool:
    """Whether a wrong value stands in the conversation after all, in any form."""
    forms = {bad}
    if value.type in ("int", "money") and how != "currency":
        number = value.raw if value.type == "int" else value.raw[0]
        if value.type == "int" or show(value, "") == bad:
            forms |= {f"{number:,}", str(number)}
        if number < 100:
            forms.add(show(Value("int", number), "w"))
    if value.type == "date":
        forms |= {show(value, form) for form in ("iso", "md", "dm", "de", "es", "fr", "num", "us")}
    if value.type == "time":
        forms |= {show(value, "ap"), show(value, "")}
    if value.type == "person" and "." in bad:
        forms.add(show(value, "last"))
    return any(re.search(rf"(?<![\w.,]){re.escape(f)}(?:st|nd|rd|th)?(?!\w)", said, re.IGNORECASE) for f in forms)


def _other(values: Values, name: str, rng: random.Random, draft: Draft) -> tuple[str, Value]:
    """A wrong value, and how it came about."""
    value = values[name]
    others = [v for n, v in values.items() if n != name and v.type == value.type]
    if value.type in ("person", "name"):  # of the whole conversation
        others = [v for x in draft.lines for v in x.values.values() if v.type == value.type and v.raw != value.raw]
    if others and value.type not in ("id", "ref", "dec") and rng.random() < 0.2:
        other = rng.choice(others)
        raw = (other.raw[0], value.raw[1]) if value.type == "money" else other.raw
        if value.type != "name" or other.spec == value.spec:
            return "exchanged", Value(value.type, raw, other.spec)
    match value.type:
        case "int":
            how, number = _wrong_number(value.raw, rng)
            return how, Value("int", number)
        case "money":
            amount, currency = value.raw
            if rng.random() < 0.25:
                return "currency", Value("money", (amount, rng.choice([c for c in material.MONEY if c != currency])))
            how, number = _wrong_number(amount, rng)
            return how, Value("money", (number, currency))
        case "dec":
            number, digits = value.raw
            if rng.random() < 0.3:
                return "tenfold", Value("dec", (number * 10, max(0, digits - 1)))
            return "digit", Value("dec", (number + rng.choice((-0.5, 0.3, 0.7, 1, 2)), digits))
        case "date":
            how = rng.choice(("day", "month", "year"))
            days = rng.choice({"day": (-3, -1, 1, 2, 7, 10), "month": (-61, -30, 31, 62), "year": (365,)}[how])
            return how, Value("date", value.raw + timedelta(days=days), value.spec)
        case "time":
            return "hour", Value("time", (value.raw + rng.choice((-60, 15, 30, 60, 120))) % 1440)
        case "id":
            return _wrong_id(value, rng)
        case "ref":
            refs = [x for x in value.spec.split("|") if x != value.raw]
            if rng.random() < 0.6:
                return "other", Value("ref", rng.choice(refs), value.spec)
            at = rng.choice([m.start() for m in re.finditer(r"\w(?!\w*$)", value.raw)])
            return "character", Value("ref", value.raw[:at] + rng.choice("abdeghkmnprtuvxz2357") + value.raw[at + 1 :])
        case "person":
            stranger = rng.choice(draft.pools["person"])
            if rng.random() < 0.25:
                return "first name", Value("person", " ".join([stranger.split()[0], *value.raw.split()[1:]]))
            return "other person", Value("person", stranger)
        case _:
            return "other name", Value("name", rng.choice(draft.pools[value.spec]), value.spec)


def _wrong_number(number: int, rng: random.Random) -> tuple[str, int]:
    if rng.random() < 0.25:
        return "tenfold", number // 10 if number % 10 == 0 and number >= 100 and rng.random() < 0.5 else number * 10
    digits = list(str(number))
    at = rng.randrange(len(digits))
    digits[at] = rng.choice([d for d in "123456789" if d != digits[at]])
    return "digit", int("".join(digits))


def _wrong_id(value: Value, rng: random.Random) -> tuple[str, Value]:
    places = [n for n, ch in enumerate(value.spec) if ch in material.WILD]
    at, raw = rng.choice(places), value.raw
    if at + 1 in places and raw[at] != raw[at + 1] and rng.random() < 0.2:
        return "transposed", Value("id", raw[:at] + raw[at + 1] + raw[at] + raw[at + 2 :], value.spec)
    wrong = rng.choice([ch for ch in material.WILD[value.spec[at]] if ch != raw[at]])
    return "character", Value("id", raw[:at] + wrong + raw[at + 1 :], value.spec)


def cases(half: str, seed: int, share: float) -> Iterator[Case]:
    rng = random.Random(f"{half} {seed}")
    writer = Writer(half, rng)
    for kind, number in KINDS.items():
        made = 0
        for _ in range(20 * number):
            case = _case(kind, writer, rng) if made < number * share else None
            if case is not None:
                made += 1
                yield case


def _case(kind: str, writer: Writer, rng: random.Random) -> Case | None:
    """A case of this kind; None where what was drawn does not allow one."""
    remembered = rng.choice((0, 0, 2, 3, 4))
    draft = writer.write(rng.choice(SIZES), remembered, int(kind == "pins" or rng.random() < 0.25))
    case = Case(kind, draft, [cited(rng, line, draft.messages) for line in draft.lines])
    wanted = 1 if rng.random() < 0.7 else rng.choice((2, 3))
    if kind == "invented lines":
        for line in rng.sample(draft.invented, k=min(wanted, len(draft.invented))):
            case.planted.append(Planted(kind, "invented", wrong=line.told))
            case.lines.append(Line("", line.section, line.told, line.sources if rng.random() < 0.7 else ()))
    elif kind == "pins":
        line, pin = draft.pinned[0], draft.pins[0]
        found = spoilt(line, "", rng, draft)
        if found is None:
            return None
        case.planted.append(Planted(kind, found.how, pin.text, found.wrong, found.bad))
        case.lines.append(Line("", rng.choice((PINNED, line.section)), found.wrong, pin.sources))
    elif kind != "faithful":
        for at in rng.sample(range(len(case.lines)), k=len(case.lines)):
            found = spoilt(draft.lines[at], kind, rng, draft) if len(case.planted) < wanted else None
            if found is not None:
                case.planted.append(found)
                case.lines[at] = replace(case.lines[at], text=found.wrong)
    if not case.lines or (kind != "faithful" and not case.planted):
        return None
    rng.shuffle(case.lines)
    if rng.random() < 0.7:
        order = [PINNED, *material.SECTIONS.values()]
        case.lines.sort(key=lambda c: order.index(c.section))
    return case


def survives(planted: Planted, lines: Sequence[str], given: set[str]) -> bool:
    """Whether what is wrong was committed: the line as it was, or one made of it."""
    for text in lines:
        if text == planted.wrong:
            return True
        if planted.bad and text not in given and re.search(rf"(?<!\w){re.escape(planted.bad)}(?!\w)", text):
            return SequenceMatcher(None, text, planted.wrong, autojunk=False).ratio() >= 0.75  # alike
    return False


def weigh(case: Case, sums: Counter[str]) -> Iterator[str]:
    """Judge a case and count what came of it; what went wrong is told, one thing a line."""
    verdict = case.verdict
    lines = [c.text for c in verdict.lines] if verdict.ok else []
    given = {c.text for c in case.lines} - {p.wrong for p in case.planted}
    for p in case.planted:
        caught = not survives(p, lines, given)
        for key in (p.kind, f"{p.kind}: {p.how}"):
            sums[key] += 1
            sums[f"{key} caught"] += caught
        if not caught:
            yield f"{p.kind}, {p.how} | {p.wrong or '(dropped)'} | right: {p.right or '(nothing)'}"
    what = "lines" if case.kind == "faithful" else "neighbours"
    for text in given:
        sums[what] += 1
        sums[f"{what} rejected"] += text not in lines
        if what == "lines" and text not in lines:
            cites = next(c.sources for c in case.lines if c.text == text)
            said = " / ".join(m.text for m in case.draft.messages if m.seq in cites)
            why = "; ".join(str(f) for f in verdict.findings if text[:40] in str(f)) or f"ok={verdict.ok}"
            yield f"faithful, rejected | {text} | said: {said} | {why}"
    if what == "lines":
        sums["summaries"] += 1
        sums["summaries rejected"] += not verdict.ok


def share(sums: Counter[str], part: str, whole: str) -> float:
    """Percent; 0 of nothing."""
    return 100 * sums[part] / sums[whole] if sums[whole] else 0.0


def rows(sums: Counter[str]) -> Iterator[tuple[str, float, str]]:
    """What is measured, the value in percent, and the target."""
    for kind in KINDS:
        if kind != "faithful":
            yield (
                f"{kind} caught",
                share(sums, f"{kind} caught", kind),
                f"≥ {TARGETS[kind]:g}" if kind in TARGETS else "",
            )
    yield "faithful summaries rejected", share(sums, "summaries rejected", "summaries"), f"≤ {MOST_REJECTED:g}"
    yield "faithful lines not taken as they are", share(sums, "lines rejected", "lines"), ""
    yield "faithful lines not taken beside wrong ones", share(sums, "neighbours rejected", "neighbours"), ""


def overview(halves: dict[str, Counter[str]]) -> Table:
    table = Table(title="bench.gate, percent", title_justify="left")
    table.add_column("measure")
    for name in (*halves, "target"):
        table.add_column(name, justify="right")
    for made in zip(*(rows(sums) for sums in halves.values()), strict=True):
        what = made[0][0]
        table.add_row(what, *(f"{value:.1f}" for _, value, _ in made), made[0][2])
        kind = what.removesuffix(" caught")
        ways = sorted(
            {key for sums in halves.values() for key in sums if re.fullmatch(f"{kind}: [^:]+(?<!caught)", key)}
        )
        for way in ways if len(ways) > 1 and kind != "pins" else ():
            shares = (f"{share(sums, f'{way} caught', way):.0f} of {sums[way]}" for sums in halves.values())
            table.add_row(f"–{way.partition(':')[2]}", *shares)
    return table


def timing() -> Figure:
    """A judgement of a fresh proposal over messages that were judged before."""
    rng = random.Random(SEED)
    writer, times = Writer("tuned", rng), list[float]()
    for _ in tracked(range(TIMED), "proposals", TIMED):
        draft = writer.write(0, 0, 0, PROPOSAL_TOKENS, TIMED_PAIRS)
        lines = [cited(rng, line, draft.messages) for line in draft.lines]
        prepare(draft.messages)
        started = time.perf_counter_ns()
        judge(lines, draft.messages)
        times.append((time.perf_counter_ns() - started) / 1e6)
    return Figure("500-token proposal over 4,000 tokens read before, p50", median(times), "ms", MOST_MS)


def shown(case: Case) -> str:
    said = [f"  {m.seq} {m.role}: {m.text}" for m in case.draft.messages]
    old = [f"  memory {i.sources} {i.text}" for i in (*case.draft.memory, *case.draft.pins)]
    lines = [f"  = {c.section} {c.sources} {c.text}" for c in case.lines]
    return "\n".join(
        [f"\n{case.kind}", *old, *said, *lines, *(f"  ! {p.how} | {p.wrong} | {p.right}" for p in case.planted)]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.gate", description=__doc__)
    parser.add_argument("--half", choices=("tuned", "unseen", "both"), default="both")
    parser.add_argument("--share", type=float, default=1.0, help="of the cases, for a quick look")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--misses", action="store_true", help="print what went wrong, one per line; tuned half only")
    parser.add_argument("--show", type=int, metavar="N", help="print N cases of the tuned half and stop")
    args = parser.parse_args()
    if (args.misses or args.show) and args.half != "tuned":
        parser.error("--misses and --show need --half tuned: the unseen half stays unseen")
    if args.show:
        made = list(cases("tuned", args.seed, args.share))
        print("\n".join(map(shown, random.Random(args.seed).sample(made, k=args.show))))
        return
    halves: dict[str, Counter[str]] = {}
    number = 0
    for half in ("tuned", "unseen") if args.half == "both" else (args.half,):
        sums = halves[half] = Counter()
        try:
            made = list(cases(half, args.seed, args.share))
            number += len(made)
            for at in tracked(range(len(made)), f"{half} cases", len(made)):
                for wrong in weigh(made[at], sums):
                    if args.misses:
                        print(wrong)
        except Exception as error:  # its text, and its traceback, might show what must stay unseen
            if half != "unseen" or isinstance(error, MaterialError):
                raise
            sys.exit(f"bench.gate: unseen half: {type(error).__name__}, details withheld")
    console.print(overview(halves))
    if args.half != "both" or (args.share, args.seed) != (1.0, SEED):
        console.print("Not the usual run: bench/results stays as it is.")
        return
    found = [timing()]
    for half, sums in halves.items():
        for what, value, target in rows(sums):
            limit = float(target.split()[1]) if target and half == "unseen" else None
            if what.endswith(" caught"):
                what, value, limit = f"{what[:-7]} missed", 100 - value, None if limit is None else 100 - limit
            found.append(Figure(f"{half}: {what}", value, "%", limit))
    ways = {
        half: {
            key[:-7]: f"{sums[key]} of {sums[key[:-7]]}"
            for key in sorted(sums)
            if ": " in key and key.endswith(" caught")
        }
        for half, sums in halves.items()
    }
    report("gate", found, {"cases": number, "caught, by what was done": ways})


if __name__ == "__main__":
    main()
