"""What is done in the first quiet moment after a turn, so that nobody waits for it in the next one."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

log = logging.getLogger("infold")

PAUSE = 0.01
"""Seconds in which nothing is added or asked for, anywhere in the process: whoever is at work comes first."""
_MOST = 1024  # jobs that wait; of more, the oldest are left for when somebody needs what they would have made


class Quiet:
    """Small jobs that may also be left undone, on one thread. It is started by the first of them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._jobs: deque[Callable[[], object]] = deque(maxlen=_MOST)
        self._last = 0.0
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None

    def soon(self, job: Callable[[], object]) -> None:
        """Something was added; do this when nothing else is going on."""
        self._jobs.append(job)
        self.interrupt()
        if self._thread is None or not self._thread.is_alive():  # a forked process has none
            self._thread = threading.Thread(target=self._run, name="infold-quiet", daemon=True)
            self._thread.start()
        self._wanted.set()

    def interrupt(self) -> None:
        """Somebody is at work."""
        self._last = self._clock()

    def clear(self) -> None:
        """Leave what was not done yet: it holds messages that may have been forgotten."""
        self._jobs.clear()

    def step(self) -> float | None:
        """Do one job, or say how many seconds it is still too early; None where there is nothing to do."""
        early = self._last + PAUSE - self._clock()
        if early > 0 and self._jobs:
            return early
        try:
            job = self._jobs.popleft()
        except IndexError:
            return None
        try:
            job()
        except Exception:  # it is done again by whoever needs it, who then learns what is wrong
            log.debug("something was not done ahead", exc_info=True)
        return 0.0

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            while (wait := self.step()) is not None:
                if wait:
                    time.sleep(wait)


quiet = Quiet()
"""One for the process: its turns are quiet or not together."""
