"""F9 with models: killed while one thinks, killed while its answer is committed, two processes, clients that leave."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infold import Chat, Memory
from tests.databases import fresh
from tests.model_child import open_memory
from tests.test_crash import Child, children, line_of, tell
from tests.test_model_faults import assert_true, said, talk
from tests.test_summarizer import assert_nothing_lost, fold_rows
from tests.upstream import Upstream, step

KINDS = [("rolling", False, 8192), ("default", False, 400), ("chain", False, 400), ("chain", True, 400)]
IDS = ["rolling", "default", "chain", "chain in line"]
COMMIT = ("model.answered", "fold.proposed", "fold.written", "fold.lines", "fold.advanced", "fold.recorded")
PATIENCE = 30


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    yield from children("tests.model_child")


def job(url: str, server: str, preset: str = "rolling", window: int = 8192, **more: Any) -> dict[str, Any]:
    return {
        "url": url, "server": server, "preset": preset, "window": window, "wait": False, "prefix": "m", "failpoint": "",
        "alone": True, **more,
    }  # fmt: skip


def printed_until(child: Child, last: str) -> list[str]:
    return list(iter(lambda: line_of(child), last))


def wait_until(holds: Callable[[], object]) -> None:
    """Look again and again at what another process does."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never happened"
        threading.Event().wait(0.01)


@functools.cache
def due(preset: str, window: int) -> int:
    """How many messages there are when the first fold is due."""
    with tempfile.TemporaryDirectory() as folder, Memory(f"sqlite:///{folder}/c.db") as memory:
        chat, number = memory.chat("c", preset=preset, context_window=window), 0
        while not chat.memory.cursor:
            number += 1
            chat.add(said(number))
        return number


def active(url: str) -> list[tuple[Any, ...]]:
    """First, last and author of the folds that cover messages."""
    return [(row[1], row[2], row[4]) for row in fold_rows(url) if row[5] is None and row[1] is not None]


def assert_recovers(url: str, upstream: Upstream, preset: str, last: int) -> None:
    """As it was before the model's fold; and opening the chat is enough to have that made."""
    with Memory(url) as memory:
        chat = memory.chat("c")
        assert_nothing_lost(memory, chat, last)
        assert {author for _, _, author in active(url)} == (set() if preset == "chain" else {"extractive"})
    before = len(upstream.requests())
    with open_memory(job(url, upstream.url)) as memory:
        chat = memory.chat("c")
        chat.settle()
        assert [author for _, _, author in active(url)] == ["summarizer"]
        assert len(upstream.requests()) == before + 1
        assert_true(chat.summary)
        assert "FACT-1201" in chat.summary
        assert_nothing_lost(memory, chat, last)
        talk(chat, last + 1, last + 2)
        assert_nothing_lost(memory, chat, last + 2)


@pytest.mark.parametrize(("preset", "wait", "window"), KINDS, ids=IDS)
def test_F9_killed_while_the_model_thinks(
    child: Child, upstream: Upstream, url: str, preset: str, wait: bool, window: int
) -> None:
    last = due(preset, window)
    upstream.script(["timeout"])
    tell(child, job(url, upstream.url, preset, window, wait=wait, last=last))
    pid = int(line_of(child).removeprefix("pid "))
    wait_until(upstream.requests)
    os.kill(pid, signal.SIGKILL)
    printed = printed_until(child, "ended")
    assert printed == [f"m{number}" for number in range(1, last + 1 - wait)]  # in line, the last add never returned
    assert_recovers(url, upstream, preset, last)


@pytest.mark.parametrize(
    ("preset", "wait", "window", "point"),
    [
        (*kind, point)
        for kind, points in zip(KINDS, (COMMIT, COMMIT[::3], COMMIT[1::3], COMMIT), strict=True)
        for point in points
    ],
)
def test_F9_killed_between_the_answer_and_its_commit(
    child: Child, upstream: Upstream, url: str, preset: str, wait: bool, window: int, point: str
) -> None:
    last = due(preset, window)
    hits = 1 if preset == "chain" or point == "model.answered" else 2  # the first fold is the instant one
    tell(child, job(url, upstream.url, preset, window, wait=wait, last=last, failpoint=f"{point}:{hits}"))
    assert "done m" not in printed_until(child, "ended"), f"{point} was not reached"
    assert len(upstream.requests()) == 1
    assert_recovers(url, upstream, preset, last)


# Two processes -------------------------------------------------------------------------------------------


def bodies(upstream: Upstream) -> list[str]:
    return [json.dumps(request["body"]) for request in upstream.requests()]


def test_F9_while_one_process_waits_for_the_model_another_does_not_ask(
    child: Child, upstream: Upstream, url: str
) -> None:
    upstream.script([step("good:slow", seconds=2)])
    tell(child, job(url, upstream.url, last=12))
    wait_until(upstream.requests)
    with open_memory(job(url, upstream.url)) as memory:
        chat = memory.chat("c")
        talk(chat, 13, 14)
        chat.settle()
        assert len(upstream.requests()) == 1
        assert active(url) == [(1, 6, "extractive")]
        printed_until(child, "ended")
        assert active(url) == [(1, 6, "summarizer")]
        assert len(upstream.requests()) == 1
        assert_nothing_lost(memory, chat, 14)


def test_F9_the_lease_of_a_dead_process_is_taken_over(child: Child, upstream: Upstream, url: str) -> None:
    upstream.script(["timeout"])
    tell(child, job(url, upstream.url, last=12))
    pid = int(line_of(child).removeprefix("pid "))
    wait_until(upstream.requests)
    with open_memory(job(url, upstream.url)) as memory:
        chat = memory.chat("c")
        chat.settle()
        assert active(url) == [(1, 6, "extractive")]  # it lives, and has the lease for another two minutes
        os.kill(pid, signal.SIGKILL)
        printed_until(child, "ended")
        talk(chat, 13, 13)
        chat.settle()
        assert active(url) == [(1, 6, "summarizer")]
        assert_nothing_lost(memory, chat, 13)


@pytest.mark.parametrize(("preset", "wait", "window"), KINDS, ids=IDS)
def test_F9_two_processes_fold_one_chat(
    child: Child, upstream: Upstream, url: str, preset: str, wait: bool, window: int
) -> None:
    with Memory(url) as memory:
        memory.chat("c", preset=preset, context_window=window)
    for prefix in "ab":
        tell(child, job(url, upstream.url, preset, window, wait=wait, prefix=prefix, last=40, alone=False))
    printed: list[str] = []
    while sum(line.startswith("done") for line in printed) < 2:
        printed.append(line_of(child))
    with open_memory(job(url, upstream.url)) as memory:
        chat = memory.chat("c")
        chat.settle()
        assert memory.verify().ok, str(memory.verify())
        ids = [message.id for message in chat.messages()]
        assert sorted(ids) == sorted(f"{prefix}{number}" for prefix in "ab" for number in range(1, 41))
        covered = [id for record in chat.records for id in record.original_message_ids]
        assert [*covered, *(message.id for message in chat.memory.recent_messages)] == ids
        assert covered
    assert {author for _, _, author in active(url)} == {"summarizer"}
    asked = bodies(upstream)
    assert wait or len(asked) == len(set(asked))  # who waits in line does not wait for a lease, too


# Messages that come meanwhile, clients that go --------------------------------------------------------------


@pytest.mark.parametrize(("preset", "wait", "window"), KINDS, ids=IDS)
def test_F9_messages_added_while_the_model_thinks_survive(
    upstream: Upstream, url: str, preset: str, wait: bool, window: int
) -> None:
    last = due(preset, window)
    upstream.script([step("good:slow", seconds=0.5)])
    with open_memory(job(url, upstream.url)) as memory:
        chat = memory.chat("c", preset=preset, context_window=window, wait=wait)
        thread = threading.Thread(target=talk, args=(chat, 1, last))
        thread.start()
        wait_until(upstream.requests)
        talk(memory.chat("c"), last + 1, last + 4)
        thread.join()
        chat.settle()
        assert chat.records
        assert_true(chat.summary)
        assert_nothing_lost(memory, chat, last + 4)


@pytest.mark.parametrize(("preset", "wait", "window"), KINDS[:3], ids=IDS[:3])
def test_C6_the_fold_goes_on_when_the_client_is_gone(
    upstream: Upstream, url: str, preset: str, wait: bool, window: int
) -> None:
    """The thread that added ends before the model has answered; closing finishes what it began."""
    upstream.script([step("good:slow", seconds=0.3)])
    last = due(preset, window)
    with open_memory(job(url, upstream.url)) as memory:
        chat: Chat = memory.chat("c", preset=preset, context_window=window, wait=wait)
        client = threading.Thread(target=talk, args=(chat, 1, last))
        client.start()
        client.join()
    assert [author for _, _, author in active(url)] == ["summarizer"]


def test_F9_a_forked_process_can_call_models(upstream: Upstream, url: str) -> None:
    """As workers of a server that was loaded before it forked; threads do not come along."""
    with fresh() as second:
        jobs = [json.dumps(job(each, upstream.url, last=12)) for each in (url, second)]
        done = subprocess.run(
            [sys.executable, "-m", "tests.model_child", *jobs],
            cwd=Path(__file__).parent.parent,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert [active(each) for each in (url, second)] == [[(1, 6, "summarizer")]] * 2


def test_C6_a_process_that_ends_without_closing_finishes_its_fold(upstream: Upstream, url: str) -> None:
    upstream.script([step("good:slow", seconds=0.3)])
    only = json.dumps(job(url, upstream.url, last=12))
    done = subprocess.run(
        [sys.executable, "-m", "tests.model_child", only],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    assert done.stderr == b""
    assert active(url) == [(1, 6, "summarizer")]
