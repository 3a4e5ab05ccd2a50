"""What memory still holds after many folds: statements planted in generated chats, looked for in memory.

One half of the phrasings may be tuned against; the other stays unseen: of it only sums are ever shown.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from bench.common import console, folder, tracked, url
from bench.retention_chats import Planted, write
from bench.retention_measure import kept_in, lines_of, measure
from bench.retention_phrasings import LIVE, PHRASINGS, NotEnoughError
from infold import Event, Memory

CHATS, SEED = 60, 1
GRID = (1, 2, 4, 6, 9, 12, 16, 20, 25, 30, 40, 50, 60, 80, 100)
"""Numbers of folds after which memory is measured."""


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
        folds += event.type == "summarization"

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
    return Played(job.half, folds, curve, end.counts, end.wrong, shown)


def share(counts: Counter[str], part: str, whole: str) -> float:
    """Percent; 100 of nothing."""
    of = sum(n for key, n in counts.items() if key == whole or key.startswith(f"{whole} "))
    got = sum(n for key, n in counts.items() if key == part or key.startswith(f"{part} "))
    return 100 * got / of if of else 100.0


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
    table = Table(title="bench.retention, at the end", title_justify="left")
    table.add_column("measure")
    for half in halves:
        table.add_column(half.name, justify="right")

    def row(name: str, values: Sequence[str]) -> None:
        table.add_row(name, *values)

    ends = [half.end for half in halves]
    row("planted items kept", [_percent(share(e, "kept", "live")) for e in ends])
    for kind in LIVE:
        row(f"– {kind}", [_percent(share(e, f"kept {kind}", f"live {kind}")) for e in ends])
    row("reversals right", [_percent(share(e, "right", "overturned")) for e in ends])
    row("closed items gone", [_percent(share(e, "gone", "closed")) for e in ends])
    for kind in ("commitment", "question"):
        row(f"– {kind}", [_percent(share(e, f"gone {kind}", f"closed {kind}")) for e in ends])
    row("filler among the lines", [_percent(100 * e["leaked"] / max(1, e["lines"])) for e in ends])
    row("– tokens of a chat", [f"{e['leaked_tokens'] / e['chats']:.0f}" for e in ends])
    row("invented", [str(e["invented"]) for e in ends])
    row("pins present", [_percent(share(e, "pinned", "pins")) for e in ends])
    row("tokens of a memory", [f"{e['tokens'] / e['chats']:.0f}" for e in ends])
    row("lines of a memory", [f"{e['lines'] / e['chats']:.1f}" for e in ends])
    row("folds, fewest", [str(half.folds) for half in halves])
    return table


def _percent(value: float) -> str:
    return f"{value:.1f} %"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.retention", description=__doc__)
    parser.add_argument("--half", choices=("tuned", "unseen", "both"), default="both")
    parser.add_argument("--chats", type=int, default=CHATS, help="chats of each half")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--preset", default="rolling")
    parser.add_argument("--phrasings", type=Path, default=PHRASINGS, help="another folder of phrasings")
    parser.add_argument("--misses", action="store_true", help="print what is wrong, one per line; tuned half only")
    parser.add_argument("--dump", type=int, metavar="N", help="print the memory of tuned chat N")
    args = parser.parse_args()
    if (args.misses or args.dump is not None) and args.half != "tuned":
        parser.error("--misses and --dump show what chats say, so they need --half tuned: the unseen half stays unseen")
    names = ("tuned", "unseen") if args.half == "both" else (args.half,)
    numbers = range(args.chats) if args.dump is None else (args.dump,)
    with folder() as work:
        jobs = [
            Job(name, n, args.seed, args.preset, args.phrasings.resolve(), work, args.misses)
            for name in names
            for n in numbers
        ]
        try:
            played = list(results(jobs))
        except (NotEnoughError, UnseenError) as error:
            sys.exit(f"bench.retention: {error}")
    if args.dump is not None:
        print(played[0].summary)
        return
    halves = [Half(name, [p for p in played if p.half == name]) for name in names]
    if args.misses:
        for line in sorted((line for p in played for line in p.wrong), key=lambda line: line.split(" | ")[0]):
            print(line)
    console.print(overview(halves))


if __name__ == "__main__":
    main()
