"""How long a fresh interpreter takes to import infold, and to store its first message."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from bench.common import ROOT, Figure, folder, report, tracked, url

RUNS = 15
TARGETS = {"import infold": 0.3}  # seconds

# Timed inside the child: starting Python is not what is measured.
_TIMED = """
import sys, time
started = time.perf_counter()
{code}
print(time.perf_counter() - started)
"""
_IMPORT = "import infold"
_OPEN = """
from infold import Memory
memory = Memory(sys.argv[1])
"""
_FIRST = f"""{_OPEN}
memory.chat("first").add({{"role": "user", "content": "Hello, my budget is 400 euros."}})
"""


def seconds(code: str, path: Path) -> float:
    # Bytecode is used and written, whatever the caller's environment says.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", _TIMED.format(code=code), url(path)]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout)


def main() -> None:
    parts = {"import infold": _IMPORT, "open, new file": _OPEN, "open and first add, new file": _FIRST}
    found: dict[str, list[float]] = {name: [] for name in (*parts, "open and first add, old file")}
    with folder() as work:
        old = work / "old.db"
        seconds(_FIRST, old)  # compiles the bytecode, and makes the old file
        for run in tracked(range(RUNS), "fresh interpreters", RUNS):
            for name, code in parts.items():
                found[name].append(seconds(code, work / f"{run}-{len(found[name])}-{len(code)}.db"))
            found["open and first add, old file"].append(seconds(_FIRST, old))
    figures: list[Figure] = []
    for name, times in found.items():
        figures.append(Figure(f"{name}, median", median(times), "s", TARGETS.get(name)))
        figures.append(Figure(f"{name}, best", min(times), "s"))
    report("imports", figures, {"runs": RUNS})


if __name__ == "__main__":
    main()
