"""How much of a request is a byte prefix of the next one, which provider prompt caches need; preset default.

A request is made before each reply, of the conversations that were written for infold, and of the demo. Folds rewrite memory,
questions that ask back put recalled words before themselves, and budgets that are too small trim in steps: requests around
those are counted apart.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.prefixes import Step, conversations, steps

from bench.common import Figure, folder, report, tracked, url
from infold import Memory

WINDOW, SMALL = 32_768, 8_192
RUNS = ((WINDOW, None), (SMALL, None), (SMALL, 3_000), (SMALL, 12_000), (SMALL, 100_000))
LEAST = 0.9


def play(place: Path, window: int, max_tokens: int | None) -> list[Step]:
    """Every request but the first of each conversation."""
    found: list[Step] = []
    with Memory(url(place / f"{window}-{max_tokens}.db")) as memory:
        for name, wires in conversations().items():
            found += steps(memory.chat(name, context_window=window), wires, max_tokens)
    return found


def cached(found: list[Step]) -> float:
    """Of all tokens that were sent before, how many the next request begins with."""
    return 100 * sum(step.shared for step in found) / max(1, sum(step.tokens for step in found))


def figures(found: list[Step], window: int, max_tokens: int | None) -> list[Figure]:
    what = f"window of {window:,}" + (f", max_tokens {max_tokens:,}" if max_tokens else "")
    quiet = [step for step in found if not (step.folded or step.asks_back)]
    if max_tokens is None:
        low = min(step.share for step in quiet)
        return [
            Figure(f"{what}: least share of a request in the next one, between folds", low, "", least=LEAST),
            Figure(f"{what}: of all tokens, those that the next request begins with", cached(found), "%"),
        ]
    whole = [step for step in quiet if not step.trimmed]
    return [
        Figure(f"{what}: requests that share less than {LEAST}, nothing trimmed", _few(whole), "%"),
        Figure(f"{what}: of all tokens, those that the next request begins with", cached(found), "%"),
    ]


def _few(found: list[Step]) -> float:
    return 100 * sum(step.share < LEAST for step in found) / max(1, len(found))


def main() -> None:
    argparse.ArgumentParser(prog="python -m bench.prefix", description=__doc__).parse_args()
    told: list[Figure] = []
    details: dict[str, object] = {"conversations": len(conversations())}
    with folder() as place:
        for at in tracked(range(len(RUNS)), "budgets", len(RUNS)):
            found = play(place, *RUNS[at])
            told += figures(found, *RUNS[at])
            details[f"window {RUNS[at][0]}, max_tokens {RUNS[at][1]}"] = {
                "requests": len(found),
                "after a fold": sum(step.folded for step in found),
                "asking back": sum(step.asks_back and not step.folded for step in found),
                "trimmed": sum(step.trimmed for step in found),
            }
    report("prefix", told, details)


if __name__ == "__main__":
    main()
