"""What the benchmarks share: folders, preparation, percentiles, and writing results."""

from __future__ import annotations

import json
import math
import os
import platform
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from bench.talk import Talk
from infold import Chat

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
ORDER = (
    "turn",
    "size",
    "imports",
    "memory",
    "known",
    "obedience",
    "retention",
    "prefix",
    "gate",
    "models",
    "recall",
    "recall_ours",
    "recall_speed",
    "recall_large",
    "recall_large_postgresql",
    "postgres",
    "asking",
    "proxy",
    "service",
    "storage",
)
console = Console()
# Before the benchmark adds its own: on a busy machine every figure in time is larger.
LOAD = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number, and the most or the least it should be."""

    what: str
    value: float
    unit: str
    target: float | None = None
    least: float | None = None

    @property
    def verdict(self) -> str:
        if self.target is not None:
            return "ok" if self.value <= self.target else "over"
        if self.least is not None:
            return "ok" if self.value >= self.least else "under"
        return ""


@contextmanager
def folder() -> Iterator[Path]:
    """A folder on the project's disk: /tmp may be memory, which would flatter the figures."""
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=build) as name:
        yield Path(name)


def url(path: Path) -> str:
    return f"sqlite:///{quote(str(path))}"


def tracked(steps: Iterable[int], label: str, total: int) -> Iterator[int]:
    """The steps, with a progress bar where somebody is looking."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(label, total=total)
        for step in steps:
            yield step
            progress.advance(task)


def fill(chat: Chat, talk: Talk, number: int, label: str) -> None:
    """Add many messages the way an import would: lists of 500, each in one transaction."""
    lists = range(0, number, 500)
    for done in tracked(lists, label, len(lists)):
        chat.add(talk.messages(min(500, number - done)))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values do not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def machine() -> dict[str, str | int | float]:
    return {
        "cores": os.cpu_count() or 0,
        "cpu": _cpu(),
        "load": LOAD,
        "system": platform.system(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def report(name: str, figures: Sequence[Figure], details: Mapping[str, object], keep: bool = True) -> None:
    """Print the figures; write them to results, unless they are not to be kept, and bring the table of all results up to date."""
    table = Table(title=f"bench.{name}", title_justify="left")
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("target", justify="right")
    table.add_column("")
    for figure in figures:
        table.add_row(figure.what, _shown(figure.value, figure.unit), _target(figure), figure.verdict)
    console.print(table)
    if not keep:
        return
    RESULTS.mkdir(exist_ok=True)
    content = {
        "name": name,
        "command": f"python -m bench.{name}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": machine(),
        "figures": [{**asdict(f), "value": _rounded(f.value), "verdict": f.verdict} for f in figures],
        "details": details,
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    _write_readme()


def _write_readme() -> None:
    lines = [
        "# Benchmark results",
        "",
        "Written by `make bench`; each part also runs alone, with `.venv/bin/` before the command above its table.",
    ]
    for name in ORDER:
        path = RESULTS / f"{name}.json"
        if not path.exists():
            continue
        result = json.loads(path.read_text())
        on = result["machine"]
        versions = f"Python {on['python']}, SQLite {on['sqlite']}"
        lines += [
            "",
            f"## `{result['command']}`",
            "",
            f"{result['date']}, {on['cpu']}, {on['cores']} cores, {versions}, load at the start {on.get('load', '?')}.",
            "",
            "| figure | value | target | |",
            "|---|---:|---:|---|",
        ]
        for row in result["figures"]:
            figure = Figure(row["what"], row["value"], row["unit"], row["target"], row.get("least"))
            lines.append(
                f"| {figure.what} | {_shown(figure.value, figure.unit)} | {_target(figure)} | {figure.verdict} |"
            )
    (RESULTS / "README.md").write_text("\n".join(lines) + "\n")


def _target(figure: Figure) -> str:
    if figure.least is not None:
        return f"≥ {_shown(figure.least, figure.unit)}"
    return "" if figure.target is None else f"≤ {_shown(figure.target, figure.unit)}"


def _rounded(value: float) -> float:
    return float(f"{value:.4g}") if abs(value) < 1000 else round(value)


def _shown(value: float, unit: str) -> str:
    return (f"{_rounded(value):,g} {unit}" if abs(value) < 1000 else f"{value:,.0f} {unit}").rstrip()
