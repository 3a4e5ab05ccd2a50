"""F9: a process killed at any instant loses nothing that it reported, and leaves nothing half done."""

from __future__ import annotations

import functools
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infold import Memory
from infold.failpoints import POINTS

from . import rawsql
from .crash_child import numbered, write
from .databases import POSTGRES, fresh

LAST = 42
KINDS = [("rolling", False), ("chain", False), ("default", False), ("chain", True), ("rolling", True)]
HITS = (1, 2, 5)
INSTANTS = 50
Child = subprocess.Popen[str]


def children(module: str) -> Iterator[Child]:
    """A process that forks another for each job it is told."""
    process = subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent,
    )
    yield process
    process.communicate()


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    yield from children("tests.crash_child")


def tell(child: Child, job: dict[str, Any]) -> None:
    assert child.stdin is not None
    child.stdin.write(json.dumps(job) + "\n")
    child.stdin.flush()


def start(child: Child, url: str, preset: str, wait: bool, failpoint: str = "", apart: bool = False) -> int:
    job = {"url": url, "preset": preset, "wait": wait, "last": LAST, "failpoint": failpoint, "apart": apart}
    tell(child, job)
    return int(line_of(child).removeprefix("pid "))


def line_of(child: Child) -> str:
    assert child.stdout is not None
    line = child.stdout.readline().strip()
    assert line, "the child process is gone"
    assert not line.startswith("error"), json.loads(line.removeprefix("error "))
    return line


def printed_until_end(child: Child) -> list[str]:
    return list(iter(lambda: line_of(child), "ended"))


def tables(url: str, wait: bool) -> dict[str, list[tuple[object, ...]]]:
    """Everything in the database; where a model folds after the add, without when it did and under which id."""
    wanted = dict.fromkeys(("alembic_version", "chats", "messages", "folds", "items", "events", "pins"), "*")
    if wait:
        del wanted["events"]
        wanted["chats"] = "id, policy, last_seq, users, cursor, version, folds, marks"
        wanted["folds"] = (
            "n, kind, first_seq, last_seq, head_seq, depth, superseded_by, author, reason, tokens, removed"
        )
    found = {name: rawsql.rows(url, f"SELECT {of} FROM {name} ORDER BY 1") for name, of in wanted.items()}
    if POSTGRES:  # numbers of rows that a killed process wrote are not used again
        for name, of in wanted.items():
            first = 0 if of != "*" or name == "alembic_version" else 1 if name == "chats" else 2
            found[name] = [row[first:] for row in found[name]]
    return found


@functools.cache
def uncrashed(preset: str, wait: bool) -> dict[str, list[tuple[object, ...]]]:
    with fresh() as url:
        write(url, preset, 1, LAST, wait=wait, say=lambda _: None)
        return tables(url, wait)


def check_nothing_lost(url: str, preset: str, wait: bool, printed: list[str]) -> None:
    """Reopen after a crash: all is there, once, in order; going on leads to where an uncrashed run ends."""
    check_kept(url, printed)
    write(url, preset, max(1, len(printed)), LAST, wait=wait, say=lambda _: None)
    assert tables(url, wait) == uncrashed(preset, wait)


def check_kept(url: str, printed: list[str]) -> None:
    assert printed == [f"n{number}" for number in range(1, len(printed) + 1)]
    with Memory(url) as memory:
        proof = memory.verify()
        assert proof.ok, str(proof)
        kept = memory.chat("c").messages() if memory.chats() else []
    assert len(printed) <= len(kept) <= len(printed) + 1
    assert [{**m.wire, "id": m.id} for m in kept] == [numbered(number) for number in range(1, len(kept) + 1)]


@pytest.fixture
def nothing() -> Iterator[str]:
    """A database in which infold never was."""
    with fresh(migrated=False) as url:
        yield url


@pytest.mark.parametrize("hits", HITS)
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(("preset", "wait"), KINDS)
def test_F9_killed_at_a_failpoint(child: Child, url: str, preset: str, wait: bool, point: str, hits: int) -> None:
    start(child, url, preset, wait, f"{point}:{hits}")
    printed = printed_until_end(child)
    reached = len(uncrashed(preset, wait)["folds" if point.startswith("fold.") else "messages"])
    if hits <= reached:
        assert "done" not in printed, f"{point} was not reached {hits} times"
    else:
        assert printed.pop() == "done"
    if point.startswith("add."):
        assert len(printed) == hits - 1
    check_nothing_lost(url, preset, wait, printed)


@pytest.mark.parametrize("hits", HITS)
@pytest.mark.parametrize("point", POINTS)
def test_F9_killed_while_folds_are_made_apart(child: Child, url: str, point: str, hits: int) -> None:
    start(child, url, "default", False, f"{point}:{hits}", apart=True)
    printed = printed_until_end(child)
    assert "done" not in printed
    check_kept(url, printed)
    write(url, "default", max(1, len(printed)), LAST, wait=False, say=lambda _: None, apart=True)
    with Memory(url) as memory:
        chat = memory.chat("c")
        chat.settle()
        assert memory.verify().ok
        assert chat.memory.cursor > LAST // 2
    assert rawsql.rows(url, "SELECT read_to - cursor FROM chats") == [(0,)]  # all that was folded is noted


def test_F9_every_kind_of_run_folds_often_enough_to_be_killed_in_it() -> None:
    folds = {kind: len(uncrashed(*kind)["folds"]) for kind in KINDS}
    assert all(made >= (3 if preset == "chain" else 5) for (preset, _), made in folds.items()), folds


@pytest.mark.parametrize("instant", range(INSTANTS))
def test_F9_killed_at_any_instant(child: Child, nothing: str, instant: int) -> None:
    chance = random.Random(instant)
    preset, wait = KINDS[instant % len(KINDS)]
    pid = start(child, nothing, preset, wait)
    printed: list[str] = []
    wanted = chance.randrange(LAST)  # 0: while the database is being made
    while len(printed) < wanted:
        printed.append(line_of(child))
    for _ in range(chance.randrange(100_000)):
        pass
    os.kill(pid, signal.SIGKILL)
    printed += [line for line in printed_until_end(child) if line != "done"]
    check_nothing_lost(nothing, preset, wait, printed)
