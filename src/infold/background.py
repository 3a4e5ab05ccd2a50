"""Work that must not keep anybody waiting: a few threads, one job at a time per key, run again if asked meanwhile."""

from __future__ import annotations

import atexit
import logging
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

log = logging.getLogger("infold")

THREADS = 4
"""Chats that can be folded at once: most of the time of a fold is waiting for a model."""


class Background:
    """Runs jobs after the caller has gone on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._running: dict[str, Future[None]] = {}
        self._again: set[str] = set()

    def submit(self, key: str, job: Callable[[], object]) -> None:
        """Run a job soon. While one with this key waits or runs, it is run once more instead."""
        with self._lock:
            if key in self._running:
                self._again.add(key)
                return
            if self._executor is None:
                self._executor = ThreadPoolExecutor(THREADS, thread_name_prefix="infold")
                # A program that ends without closing still finishes: before its threads may start nothing new.
                getattr(threading, "_register_atexit", atexit.register)(_settle, weakref.ref(self))
            self._running[key] = self._executor.submit(self._run, key, job)

    def _run(self, key: str, job: Callable[[], object]) -> None:
        while True:
            try:
                job()
            except Exception:
                # The traceback may quote messages, so it is for debugging only.
                log.warning("a background fold of chat %s failed; the chat goes on as it is", key)
                log.debug("background fold failed", exc_info=True)
            with self._lock:
                if key not in self._again:
                    del self._running[key]
                    return
                self._again.discard(key)

    def settle(self, key: str | None = None) -> None:
        """Wait until the jobs of a key (or all jobs) are done."""
        while True:
            with self._lock:
                waiting = [future for name, future in self._running.items() if key in (None, name)]
            if not waiting:
                return
            for future in waiting:
                future.result()

    def close(self) -> None:
        self.settle()
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown()


def _settle(background: weakref.ref[Background]) -> None:
    left = background()
    if left is not None:
        left.settle()
