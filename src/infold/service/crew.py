"""The workers that `infold serve` starts beside itself: processes of their own, so that folding never slows a reply."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Self

from infold.ledger.rows import Event
from infold.service.settings import ServiceSettings

log = logging.getLogger("infold")

_LOOK = 1.0  # seconds between looks whether all are alive
FIRST_PAUSE, MOST_PAUSE = 1.0, 30.0
"""Seconds before a worker that ended is replaced: doubled each time that one does not live for as long as the longest."""


class _Post:
    """The place of one worker, whoever has it."""

    def __init__(self, worker: BaseProcess) -> None:
        self.worker = worker
        self._began = time.monotonic()
        self._pause = 0.0
        self._until: float | None = None

    def pause(self) -> float:
        """Its worker has ended: how long it stays empty."""
        lived = time.monotonic() - self._began
        self._pause = FIRST_PAUSE if lived >= MOST_PAUSE else min(MOST_PAUSE, max(FIRST_PAUSE, 2 * self._pause))
        self._until = time.monotonic() + self._pause
        return self._pause

    @property
    def empty(self) -> bool:
        return self._until is not None

    @property
    def open(self) -> bool:
        """Whether it is time for another worker."""
        return self._until is not None and time.monotonic() >= self._until

    def fill(self, worker: BaseProcess) -> None:
        self.worker, self._began, self._until = worker, time.monotonic(), None


class Crew:
    """So many workers, each replaced if it ends; at longer and longer intervals where they cannot even begin."""

    def __init__(self, settings: ServiceSettings, size: int) -> None:
        self._settings = settings
        self._context = multiprocessing.get_context("spawn")
        self._stopping = threading.Event()
        self._count: Future[Callable[[Event], None]] = Future()
        self._until = 0.0
        self._posts = [_Post(self._hired()) for _ in range(size)]
        self._watch = threading.Thread(target=self._look_after, name="infold-crew", daemon=True)

    def __enter__(self) -> Self:
        if self._posts:
            self._watch.start()
        return self

    def count_with(self, count: Callable[[Event], None]) -> None:
        """Who counts what happens in the workers: their metrics are those of the server."""
        self._count.set_result(count)

    def end(self) -> None:
        """Tell the workers to finish what they are at, within the grace, and wait for nothing."""
        if not self._stopping.is_set():
            self._until = time.monotonic() + self._settings.grace
            self._stopping.set()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        if self._posts:
            self._watch.join()
        for worker in [post.worker for post in self._posts]:
            worker.join(max(0.0, self._until - time.monotonic()))
            if worker.is_alive():
                worker.kill()
                worker.join()

    def _hired(self) -> BaseProcess:
        heard, told = self._context.Pipe(duplex=False)
        worker = self._context.Process(target=_work, args=(self._settings, os.getpid(), told), name="infold-worker")
        worker.start()
        told.close()  # the worker has it: what it says ends when it does
        threading.Thread(target=self._hear, args=(heard,), name="infold-crew-hearing", daemon=True).start()
        return worker

    def _hear(self, worker: Connection) -> None:
        with worker, suppress(EOFError, OSError):
            count = self._count.result()
            while True:
                count(worker.recv())

    def _look_after(self) -> None:
        while not self._stopping.wait(_LOOK):
            for post in self._posts:
                if post.open:
                    post.fill(self._hired())
                elif not post.empty and not post.worker.is_alive():
                    post.worker.join()
                    log.warning(
                        "a worker ended (%s); another takes its place in %g s", post.worker.exitcode, post.pause()
                    )
        for post in self._posts:
            post.worker.terminate()  # a worker that is told so finishes what it is at


def _work(settings: ServiceSettings, parent: int, server: Connection) -> None:
    from infold.service.telemetry import configure_logs
    from infold.service.worker import run

    alone = threading.Lock()

    def tell(event: Event) -> None:
        with alone, suppress(OSError):  # the server is gone, and its metrics with it
            server.send(event)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes: the one that serves ends the others
    configure_logs(settings.log_level, settings.log_format)
    run(settings, parent, tell)
