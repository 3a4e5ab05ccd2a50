"""What memory still holds after many folds: statements planted in generated chats, looked for in memory.

One half of the phrasings may be tuned against; the other stays unseen: of it only sums are ever shown.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.table import Table

from bench.common import RESULTS, Figure, console, folder, report, tracked, url
from bench.retention_chart import Panel, Points, chart
from bench.retention_chats import Planted, write
from bench.retention_measure import kept_in, lines_of, measure
from bench.retention_phrasings import LIVE, PHRASINGS, NotEnoughError
from bench.retention_speed import folding, reading
from infold import Event, Memory
from infold.tokens import count

CHATS, SEED, PRESET = 60, 1, "rolling"
LEAST_FOLDS = 20
"""Targets are for chats that were folded this often."""
GRID = (1, 2, 4, 6, 9, 12, 16, 20, 25, 30, 40, 50, 60, 80, 100)
"""Numbers of folds after which memory is measured."""
LEAST_CASES = 20
"""A curve has no point where fewer were counted."""


@dataclass(frozen=True, slots=True)
class Job:
    half: str
    number: int
    seed: int
    preset: str
    phrasings: Path
    work: Path
    words: bool
    """Whether what is wrong shall be told in words; never for the unseen half."""


@dataclass(frozen=True, slots=True)
class Played:
    """One chat after its last message."""

    half: str
    messages: int
    folds: int
    curve: dict[int, Counter[str]]
    end: Counter[str]
    wrong: list[str]
    summary: str
    """Of a tuned chat; empty for an unseen one."""


class UnseenError(Exception):
    """Something failed in the unseen half; the text holds nothing of it."""


def play(job: Job) -> Played:
    if job.half != "unseen":
        return _play(job)
    try:
        return _play(job)
    except NotEnoughError as error:
        raise UnseenError(f"unseen chat {job.number}: not enough phrasings or values for {error}") from None
    except Exception as error:  # its text, and its traceback, might show what must stay unseen
        raise UnseenError(f"unseen chat {job.number}: {type(error).__name__}, details withheld") from None


def _play(job: Job) -> Played:
    script = write(job.half, job.number, job.seed, job.phrasings)
    folds = 0

    def noted(event: Event) -> None:
        nonlocal folds
        folds += event.type == "summarization" and event.data["kind"] == "base"

    curve: dict[int, Counter[str]] = {}
    fates: dict[Planted, str] = {}
    path = job.work / f"{job.half}-{job.number}.db"
    ids = iter(range(1, 1_000_000))
    times = iter(script.times)
    with Memory(url(path), on_event=noted, ids=lambda: f"id-{next(ids)}") as memory:
        chat = memory.chat("c", preset=job.preset)
        for at, (message, created) in enumerate(zip(script.messages, times, strict=True)):
            before = folds
            chat.add(message, created_at=created)
            if at == 3:
                for pin in script.pins:
                    chat.pin(pin)
            if folds == before:
                continue
            reached = [n for n in GRID if before < n <= folds]
            if not reached and not job.words:
                continue
            state = chat.memory
            if job.words:
                lines = lines_of(state)
                for p in script.planted:
                    if p.at <= state.cursor and kept_in(lines, p):
                        fates[p] = f"lost after fold {folds}"
            for n in reached:
                curve[n] = measure(script, state).counts
        state = chat.memory
        end = measure(script, state, fates if job.words else None)
    path.unlink()
    shown = state.summary if job.half != "unseen" else ""
    return Played(job.half, len(script.messages), folds, curve, end.counts, end.wrong, shown)


def total(counts: Counter[str], name: str) -> int:
    """Of all kinds, or of the kind that the name ends in."""
    return sum(number for key, number in counts.items() if key == name or key.startswith(f"{name} "))


def share(counts: Counter[str], part: str, whole: str) -> float:
    """Percent; 100 of nothing."""
    of = total(counts, whole)
    return 100 * total(counts, part) / of if of else 100.0


def leaked(counts: Counter[str]) -> float:
    """Percent of the lines."""
    return 100 * counts["leaked"] / max(1, counts["lines"])


def results(jobs: Sequence[Job]) -> Iterator[Played]:
    """The chats, played on all cores, in their order."""
    with multiprocessing.get_context("fork").Pool(min(multiprocessing.cpu_count(), 4)) as pool:
        played = pool.imap(play, jobs)
        for _ in tracked(range(len(jobs)), "chats", len(jobs)):
            yield next(played)


@dataclass(slots=True)
class Half:
    """All chats of one half, added up."""

    name: str
    played: list[Played]

    @property
    def end(self) -> Counter[str]:
        return sum((p.end for p in self.played), Counter())

    @property
    def folds(self) -> int:
        """The fewest that a chat has."""
        return min(p.folds for p in self.played)

    def at(self, folds: int) -> Counter[str] | None:
        """After that many folds; None where fewer than half of the chats got there."""
        found = [p.curve[folds] for p in self.played if folds in p.curve]
        return sum(found, Counter()) if len(found) * 2 >= len(self.played) else None


def overview(halves: Sequence[Half]) -> Table:
    """All measures by half; the targets are for the unseen half after enough folds."""
    judged = next((h.end for h in halves if h.name == "unseen" and h.folds >= LEAST_FOLDS), None)
    table = Table(title="bench.retention, at the end", title_justify="left")
    table.add_column("measure")
    for name in (*(half.name for half in halves), "target"):
        table.add_column(name, justify="right")
    table.add_column("")

    def row(what: str, value: Callable[[Counter[str]], float], unit: str = "%", target: str = "") -> None:
        shown = [f"{value(half.end):.{0 if unit == '' else 1}f} {unit}".rstrip() for half in halves]
        verdict = ""
        if target and judged is not None:
            limit = float(target.split()[1])
            good = value(judged) >= limit if target.startswith("≥") else value(judged) <= limit
            verdict = "ok" if good else "missed"
        table.add_row(what, *shown, target if judged is not None else "", verdict)

    def mean(key: str) -> Callable[[Counter[str]], float]:
        return lambda counts: counts[key] / counts["chats"]

    row("planted items kept", lambda c: share(c, "kept", "live"), target="≥ 90 %")
    for kind in LIVE:
        row(f"– {kind}", partial(share, part=f"kept {kind}", whole=f"live {kind}"))
    row("reversals right", lambda c: share(c, "right", "overturned"), target="≥ 95 %")
    row("closed items gone", lambda c: share(c, "gone", "closed"), target="≥ 85 %")
    for kind in ("commitment", "question"):
        row(f"– {kind}", partial(share, part=f"gone {kind}", whole=f"closed {kind}"))
    row("filler among the lines", leaked, target="≤ 5 %")
    row("– tokens of a chat", mean("leaked_tokens"), "")
    row("figures and names invented", lambda c: c["invented"], "", "≤ 0")
    row("pins present", lambda c: share(c, "pinned", "pins"), target="≥ 100 %")
    row("tokens of a memory", mean("tokens"), "")
    row("lines of a memory", mean("lines"), "")
    table.add_row("folds of a chat, fewest", *(str(half.folds) for half in halves), "", "")
    return table


def figures(halves: Sequence[Half]) -> list[Figure]:
    """Each as what went wrong, so that less is better; the targets are for the unseen half."""
    found: list[Figure] = []
    for half in halves:
        end = half.end
        for what, value, unit, target in (
            ("live items lost", 100 - share(end, "kept", "live"), "%", 10.0),
            ("reversals wrong", 100 - share(end, "right", "overturned"), "%", 5.0),
            ("closed items still open", 100 - share(end, "gone", "closed"), "%", 15.0),
            ("filler among the lines", leaked(end), "%", 5.0),
            ("figures and names invented", end["invented"], "", 0.0),
            ("pins lost", 100 - share(end, "pinned", "pins"), "%", 0.0),
        ):
            judged = half.name == "unseen" and half.folds >= LEAST_FOLDS
            found.append(Figure(f"{half.name}: {what}", value, unit, target if judged else None))
    return found


def details(half: Half) -> dict[str, object]:
    end = half.end
    return {
        "chats": end["chats"],
        "messages": sum(p.messages for p in half.played),
        "folds, fewest": half.folds,
        "folds, mean": round(sum(p.folds for p in half.played) / len(half.played), 1),
        "tokens of a memory, mean": round(end["tokens"] / end["chats"]),
        "lines of a memory, mean": round(end["lines"] / end["chats"], 1),
        "tokens of filler, mean": round(end["leaked_tokens"] / end["chats"], 1),
        "kept, %": {kind: round(share(end, f"kept {kind}", f"live {kind}"), 1) for kind in LIVE},
        "gone, %": {k: round(share(end, f"gone {k}", f"closed {k}"), 1) for k in ("commitment", "question")},
    }


def curves(halves: Sequence[Half]) -> str:
    def lines(value: Callable[[Counter[str]], float], whole: str) -> dict[str, Points]:
        found: dict[str, Points] = {}
        for half in halves:
            measured = [(folds, counts) for folds in GRID if (counts := half.at(folds)) is not None]
            found[half.name] = [(folds, value(c)) for folds, c in measured if total(c, whole) >= LEAST_CASES]
        return found

    return chart(
        "What memory holds after many folds",
        [
            Panel("Planted items kept", lines(lambda c: share(c, "kept", "live"), "live"), 90),
            Panel("Reversals right", lines(lambda c: share(c, "right", "overturned"), "overturned"), 95),
            Panel("Closed items gone", lines(lambda c: share(c, "gone", "closed"), "closed"), 85),
            Panel("Filler among the lines", lines(leaked, "lines"), 5, at_most=True),
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.retention", description=__doc__)
    parser.add_argument("--half", choices=("tuned", "unseen", "both"), default="both")
    parser.add_argument("--chats", type=int, default=CHATS, help="chats of each half")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--preset", default=PRESET)
    parser.add_argument("--phrasings", type=Path, default=PHRASINGS, help="another folder of phrasings")
    parser.add_argument("--misses", action="store_true", help="print what is wrong, one per line; tuned half only")
    parser.add_argument("--dump", type=int, metavar="N", help="print the memory of tuned chat N")
    args = parser.parse_args()
    if (args.misses or args.dump is not None) and args.half != "tuned":
        parser.error("--misses and --dump show what chats say, so they need --half tuned: the unseen half stays unseen")
    names = ("tuned", "unseen") if args.half == "both" else (args.half,)
    numbers = range(args.chats) if args.dump is None else (args.dump,)
    phrasings = args.phrasings.resolve()
    count("")  # loads the tokenizer before the processes part
    with folder() as work:
        jobs = [Job(name, n, args.seed, args.preset, phrasings, work, args.misses) for name in names for n in numbers]
        try:
            played = list(results(jobs))
            if args.dump is not None:
                print(played[0].summary)
                return
            if args.misses:
                wrong = (line for p in played for line in p.wrong)
                print("\n".join(sorted(wrong, key=lambda line: line.partition(" | ")[0])))
            halves = [Half(name, [p for p in played if p.half == name]) for name in names]
            console.print(overview(halves))
            if args.half != "both":
                return
            fold, folds = folding([write("tuned", n, args.seed, phrasings) for n in range(8)], work)
        except (NotEnoughError, UnseenError) as error:
            sys.exit(f"bench.retention: {error}")
    found = [*figures(halves), reading(), fold]
    usual = (args.chats, args.seed, args.preset, phrasings) == (CHATS, SEED, PRESET, PHRASINGS)
    if not usual:
        console.print("Not the usual run: bench/results stays as it is.")
        return
    report("retention", found, {**{half.name: details(half) for half in halves}, "folds timed": folds})
    (RESULTS / "retention.svg").write_text(curves(halves))


if __name__ == "__main__":
    main()
