"""A database that does not answer is left alone for some seconds, and then tried by one request."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from infold.errors import DatabaseBusyError

log = logging.getLogger("infold")

FAILURES = 3
"""In a row, before the database is left alone."""
PAUSE = 5.0
"""Seconds that it is."""


class Breaker:
    """What the requests of a process have learnt about the database. For one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._until = 0.0

    def check(self) -> None:
        """Raises while the database is left alone: whoever can do without it need not wait."""
        if self._failures < FAILURES:
            return
        now = self._clock()
        if now < self._until:
            raise DatabaseBusyError("the database does not answer; try again in a few seconds")
        self._until = now + PAUSE  # one request tries; the others wait for what it finds

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Around whatever needs the database: what comes of it is noted."""
        try:
            yield
        except (DatabaseBusyError, TimeoutError, asyncio.CancelledError):  # or nobody would wait any longer
            self._failed()
            raise
        except BaseException:
            self._answered()  # with a refusal
            raise
        else:
            self._answered()

    def _failed(self) -> None:
        self._failures += 1
        if self._failures >= FAILURES:
            self._until = self._clock() + PAUSE
        if self._failures == FAILURES:
            log.warning("the database does not answer; requests go without it", extra={"event": "database_away"})

    def _answered(self) -> None:
        if self._failures >= FAILURES:
            log.info("the database answers again", extra={"event": "database_back"})
        self._failures = 0
