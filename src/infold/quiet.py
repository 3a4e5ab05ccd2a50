"""What is done in the first quiet moment after a turn, so that nobody waits for it in the next one."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator

log = logging.getLogger("infold")

PAUSE = 0.01
"""Seconds in which nothing is added or asked for, anywhere in the process: whoever is at work comes first."""
GATHERED = 1.0
"""Seconds for which jobs are gathered before the first is done: a turn that comes after some is slower by up to a millisecond,
probably as they have filled the processor's caches, so they are done seldom, and many in one go."""
_MOMENT = 0.001
_MOST = 1024  # jobs that wait; of more, the oldest are left for when somebody needs what they would have made


class Quiet:
    """Small jobs that may also be left undone, on one thread, which the first of them starts. With it, somebody is at work."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._jobs: dict[int, tuple[float, Iterator[None]]] = {}
        """With the time when they came, oldest first."""
        self._gathered = False
        """Whether the jobs are being done; all of them, then."""
        self._working = 0
        self._last = 0.0
        self._lock = threading.Lock()
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        with self._lock:
            self._working += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._working -= 1
            self._last = self._clock()

    def now(self) -> float:
        """Seconds of its clock."""
        return self._clock()

    def give_way(self, until: float) -> None:
        """Wait while somebody is at work, but not beyond a time of the clock."""
        while self._working and self._clock() < until:
            time.sleep(_MOMENT)

    def soon(self, key: int, steps: Iterator[None]) -> None:
        """Do this when nothing else is going on; once for a key, however often it is asked for. Whoever comes meanwhile has to
        wait for one step at most."""
        with self._lock:
            self._jobs.pop(key, None)
            self._jobs[key] = self._clock(), steps
            if len(self._jobs) > _MOST:
                del self._jobs[next(iter(self._jobs))]
            if self._thread is None or not self._thread.is_alive():  # a forked process has none
                self._thread = threading.Thread(target=self._run, name="infold-quiet", daemon=True)
                self._thread.start()
        self._wanted.set()

    def clear(self) -> None:
        """Leave what was not done yet."""
        with self._lock:
            self._jobs.clear()

    def step(self) -> float | None:
        """Do one step of a job, or say how many seconds it is still too early; None where there is nothing to do."""
        with self._lock:
            if not self._jobs:
                self._gathered = False
                return None
            oldest = next(iter(self._jobs))
            came, steps = self._jobs[oldest]
            now = self._clock()
            early = PAUSE if self._working else self._last + PAUSE - now
            if not self._gathered:
                early = max(early, came + GATHERED - now)
            if early > 0:
                return early
            self._gathered = True
        try:
            done = next(steps, self) is self
        except Exception:  # it is done again by whoever needs it, who then learns what is wrong
            log.debug("something was not done ahead", exc_info=True)
            done = True
        with self._lock:
            if done and self._jobs.get(oldest) == (came, steps):  # nobody asked for it again
                del self._jobs[oldest]
        return 0.0

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            while (wait := self.step()) is not None:
                time.sleep(wait)  # also no time at all: whoever waits for the interpreter gets it


quiet = Quiet()
"""One for the process: its turns are quiet or not together."""
