"""The workers that `infold serve` starts beside itself: processes of their own, so that folding never slows a reply."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Self

from infold.service.settings import ServiceSettings

log = logging.getLogger("infold")

_LOOK = 1.0  # seconds between looks whether all are alive


class Crew:
    """So many workers, each started again if it dies."""

    def __init__(self, settings: ServiceSettings, size: int) -> None:
        self._settings = settings
        self._context = multiprocessing.get_context("spawn")
        self._stopping = threading.Event()
        self._workers: list[BaseProcess] = [self._hired() for _ in range(size)]
        self._watch = threading.Thread(target=self._look_after, name="infold-crew", daemon=True)

    def __enter__(self) -> Self:
        if self._workers:
            self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        if self._workers:
            self._watch.join()
        for worker in self._workers:
            worker.terminate()  # a worker that is told so finishes what it is at
        for worker in self._workers:
            worker.join(self._settings.grace)
            if worker.is_alive():
                worker.kill()
                worker.join()

    def _hired(self) -> BaseProcess:
        worker = self._context.Process(target=_work, args=(self._settings, os.getpid()), name="infold-worker")
        worker.start()
        return worker

    def _look_after(self) -> None:
        while not self._stopping.wait(_LOOK):
            for at, worker in enumerate(self._workers):
                if not worker.is_alive():
                    log.warning("a worker ended (%s); another takes its place", worker.exitcode)
                    worker.join()
                    self._workers[at] = self._hired()


def _work(settings: ServiceSettings, parent: int) -> None:
    from infold.service.telemetry import configure_logs
    from infold.service.worker import run

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes: the one that serves ends the others
    configure_logs(settings.log_level, settings.log_format)
    run(settings, parent)
