"""Calling one model with patience: a deadline, one retry, a circuit breaker, and a note of what it cost."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable

from infold.errors import ConfigError
from infold.folding.prompting import prompt_hash
from infold.ledger.rows import Call
from infold.models import loop
from infold.models.clients import Answer, Ask, Client, client
from infold.models.errors import BadAnswerError, DeniedError, ModelError, TransportError
from infold.models.prices import cost, window
from infold.models.spec import Model

log = logging.getLogger("infold")

BACKOFF = 0.25
"""Seconds before the second try; doubled for each one before."""
TRIES = 2
MOST_WAIT = 5.0
"""A provider that asks for more patience is left alone until then."""
FAILURES = 3
"""In a row, before a provider is left alone."""
PAUSE, MOST_PAUSE = 30.0, 600.0
MOST_WISH = 3600.0
"""Of a provider's own wish; whatever it says, it is asked again within the hour."""
LOCAL_WINDOW = 2048


class Breaker:
    """Leaves a dead provider alone for a while, longer each time, and then lets one call through."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._pauses = 0
        self._until = 0.0

    @property
    def closed(self) -> bool:
        """Whether a call may be made now."""
        return self._clock() >= self._until

    def enter(self) -> bool:
        """Ask to make a call; of several that wait for a provider to come back, one may."""
        with self._lock:
            now = self._clock()
            if now < self._until:
                return False
            if self._pauses:  # a probe: others wait for what it finds
                self._until = now + PAUSE
            return True

    def succeeded(self) -> None:
        with self._lock:
            self._failures = self._pauses = 0
            self._until = 0.0

    def failed(self, wait: float | None = None, *, at_once: bool = False) -> None:
        """Note a failure; after some in a row, or a wish of the provider, calls pause."""
        with self._lock:
            self._failures += 1
            if wait is not None and wait > MOST_WAIT:
                self._until = self._clock() + min(wait, MOST_WISH)
                self._pauses += 1
            elif at_once or self._pauses or self._failures >= FAILURES:
                self._until = self._clock() + min(PAUSE * 2**self._pauses, MOST_PAUSE)
                self._pauses += 1


class Caller:
    """One model, as the folds use it. Safe to share between threads."""

    def __init__(self, model: Model, clock: Callable[[], int]) -> None:
        self.model = model
        self.breaker = Breaker()
        self._clock = clock
        self._client: Client | None = None
        self._lock = threading.Lock()

    @property
    def context_window(self) -> int | None:
        if self.model.provider == "local":
            return self.model.context_window or LOCAL_WINDOW
        return self.model.context_window or window(self.model)

    @property
    def patience(self) -> float:
        """Seconds that asking may take at most."""
        return TRIES * self.model.timeout + MOST_WAIT

    def ready(self) -> Client:
        """The client, made on first use."""
        with self._lock:
            if self._client is None:
                self._client = client(self.model)
            return self._client

    def ask(self, ask: Ask, calls: list[Call]) -> Answer:
        """The model's answer; each try is added to `calls`. Raises a ModelError."""
        if not self.breaker.enter():
            raise TransportError(f"{self.model.label} is left alone for a while after it failed")
        try:
            made = self.ready()  # here, and not on the loop: importing a provider's library takes its time
        except ConfigError as error:
            self.breaker.failed(at_once=True)
            raise DeniedError(str(error)) from None
        return loop.run(self._ask(made, ask, calls))

    async def _ask(self, made: Client, ask: Ask, calls: list[Call]) -> Answer:
        for attempt in range(TRIES):
            try:
                answer = await self._once(made, ask, calls)
            except DeniedError:
                self.breaker.failed(at_once=True)
                raise
            except TransportError as error:
                again = attempt + 1 < TRIES and not (error.wait and error.wait > MOST_WAIT)
                if not again:
                    self.breaker.failed(error.wait)
                    raise
                await asyncio.sleep(max(BACKOFF * 2**attempt, error.wait or 0))
            except ModelError:
                self.breaker.succeeded()  # it does answer
                raise
            else:
                self.breaker.succeeded()
                return answer
        raise AssertionError("unreachable: the last try returns or raises")

    async def _once(self, made: Client, ask: Ask, calls: list[Call]) -> Answer:
        started, at = time.monotonic(), self._clock()
        answer, outcome = Answer(""), "ok"
        try:
            # The provider's own timeout is for a silent connection; this one also ends an answer that only drips.
            async with asyncio.timeout(self.model.timeout):
                answer = await made.complete(ask)
        except TimeoutError:
            outcome = "transport"
            raise TransportError("the model did not answer in time", late=True) from None
        except ModelError as error:
            outcome = error.kind
            raise
        except Exception as error:  # whatever a client library does, it is this call that failed
            outcome = "failed"
            log.debug("a call of %s failed", self.model.label, exc_info=True)
            raise BadAnswerError(f"{type(error).__name__}: {error}"[:200]) from error
        finally:
            taken = int((time.monotonic() - started) * 1000)
            price = cost(self.model, answer) if outcome == "ok" else None
            calls.append(
                Call(
                    self.model.label,
                    at,
                    taken,
                    answer.tokens_in,
                    answer.tokens_out,
                    answer.cached,
                    price,
                    outcome,
                    asked=prompt_hash(ask.user),
                )
            )
        return answer

    def close(self) -> None:
        with self._lock:
            made, self._client = self._client, None
        if made is not None:
            loop.run(made.close())
