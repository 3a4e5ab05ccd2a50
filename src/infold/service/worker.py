"""The worker: does what chats need done after their replies are sent. As many as you like, on one PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from infold.errors import DatabaseError, NotFoundError
from infold.ledger import jobs
from infold.messages import canonical_json
from infold.service.leaving import leave
from infold.service.upkeep import compact

if TYPE_CHECKING:
    from asyncpg.pool import Pool
    from pgqueuer import PgQueuer
    from pgqueuer.models import Job, Schedule

    from infold.ledger.query import Connection
    from infold.ledger.rows import Event
    from infold.memory import Memory
    from infold.service.settings import ServiceSettings

log = logging.getLogger("infold.worker")

AT_ONCE = 8
"""Chats that one worker folds at a time: most of it is waiting for a model."""
SWEEP = 15.0
"""Seconds between looks for chats that are due and have no job; of all workers, one does it."""
STRETCH = 10_000
"""Chats that such a look takes in, beside those with new messages."""
STALE = 10.0
"""Seconds without a sign of life after which another worker takes a job over."""
_AGAIN = 2.0  # seconds before a lost database is tried again
# A worker whose machine is gone holds its locks no longer than a minute.
_ALIVE = {"tcp_keepalives_idle": "30", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "3"}
_PRUNE = 3600.0  # seconds between looks for old lines of the queue's log, which nobody else removes
_OLD = timedelta(days=7)
_SWEEPER = 0x1F01E  # the advisory lock of whoever looks


def summarize(memory: Memory, tenant: str, chat: str) -> None:
    """`memory.summarize`: do what is left to do for a chat."""
    with suppress(NotFoundError):  # deleted meanwhile
        found = memory.tenant(tenant).find(chat)
        if found is not None:
            found.work()


class Sweeper:
    """Wakes somebody for chats that are due and have no job: those with new messages at every look, and by and by all."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._after = 0
        """All chats up to this one were looked at, in this round."""
        self._begun = False

    def look(self) -> int:
        """How many chats are due; those that have a job already keep it. The first look is at all of them."""
        memory, now = self._memory, self._memory.clockwork.now()
        found, after, upto = 0, self._after, jobs.END
        if self._begun:
            upto = after + STRETCH
            with memory.database.write() as connection:
                found += _wake(connection, jobs.due_lately(connection, models=memory.written, now=now))
        while True:
            with memory.database.write() as connection:
                some = jobs.due(connection, models=memory.written, now=now, after=after, upto=upto)
                found += _wake(connection, some)
                more = jobs.any_beyond(connection, upto)
            if not some:
                break
            after = some[-1][2]
        self._after, self._begun = upto if more else 0, True
        return found


def _wake(connection: Connection, chats: list[jobs.Due]) -> int:
    for tenant, chat, key in chats:
        payload = canonical_json({"tenant": tenant, "chat": chat})
        connection.enqueue(jobs.SUMMARIZE, payload.encode(), f"{jobs.SUMMARIZE} {key}")
    return len(chats)


def _often(seconds: float) -> str:
    """How often that is, as cron says it: doing it too often does no harm."""
    return "0 3 * * *" if seconds >= 86_400 else "0 * * * *" if seconds >= 3600 else "* * * * *"


class Worker:
    """Takes jobs from the queue until it is told to stop."""

    def __init__(
        self,
        memory: Memory,
        settings: ServiceSettings,
        parent: int | None = None,
        *,
        sweep_every: float = SWEEP,
        stale: float = STALE,
    ) -> None:
        self._memory = memory
        self._settings = settings
        self._parent = parent
        self._sweep_every = sweep_every
        self._stale = timedelta(seconds=stale)
        self._stop = asyncio.Event()
        self._queue: PgQueuer | None = None

    def stop(self) -> None:
        """Finish what is being done, and begin nothing new."""
        self._stop.set()
        if self._queue is not None:
            self._queue.shutdown.set()

    async def run(self) -> None:
        """Work until stopped; a database that goes away is waited for."""
        async with _beside(self._end_with_parent()):
            while not self._stop.is_set():
                try:
                    await self._once()
                except (OSError, DatabaseError) as error:
                    log.warning("the database is away (%s); trying again", type(error).__name__)
                except Exception as error:  # whatever the queue's driver makes of a lost connection
                    log.warning("the queue failed (%s); starting it again", type(error).__name__)
                    log.debug("queue failed", exc_info=True)
                if not self._stop.is_set():
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._stop.wait(), _AGAIN)

    async def _once(self) -> None:
        import asyncpg
        from pgqueuer import PgQueuer
        from pgqueuer.adapters.persistence import qb
        from pgqueuer.domain.settings import DBSettings
        from pgqueuer.queries import Queries

        from infold.ledger.postgres import SCHEMA
        from infold.service.listening import ListeningDriver, connecting

        names = DBSettings(db_schema=SCHEMA)
        settings = {"search_path": f"{SCHEMA},public", **_ALIVE}
        try:
            pool = await asyncpg.create_pool(
                **connecting(self._settings.database), min_size=2, max_size=5, server_settings=settings
            )
        except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            # Nothing was asked yet that could be quoted.
            log.warning("a worker cannot open the database: %s; trying again", error)
            return
        async with pool:
            driver = ListeningDriver(pool)
            queries = Queries(
                driver, qb.QueryBuilderEnvironment(names), qb.QueryQueueBuilder(names), qb.QuerySchedulerBuilder(names)
            )
            queue = self._queue = PgQueuer(driver, queries=queries)
            self._register(queue)
            if self._stop.is_set():
                return
            async with _beside(self._sweep(pool)):
                await queue.run(
                    dequeue_timeout=timedelta(seconds=5), batch_size=AT_ONCE // 2, max_concurrent_tasks=AT_ONCE,
                    heartbeat_timeout=self._stale, shutdown_on_listener_failure=True,
                )  # fmt: skip

    def _register(self, queue: PgQueuer) -> None:
        @queue.entrypoint(jobs.SUMMARIZE)
        async def _(job: Job) -> None:
            told: dict[str, Any] = json.loads(job.payload or b"{}")
            try:
                await asyncio.to_thread(summarize, self._memory, told["tenant"], told["chat"])
            except Exception as error:
                # The queue would keep the traceback, and it may quote messages. The sweep finds the chat again.
                log.warning("a chat was left undone (%s); it is tried again", type(error).__name__)
                log.debug("chat left undone", exc_info=True)

        if self._settings.retention == "keep":
            return

        @queue.schedule(jobs.COMPACT, _often(self._settings.compact_every))
        async def _(_: Schedule) -> None:
            await asyncio.to_thread(compact, self._memory, self._settings)

    async def _end_with_parent(self) -> None:
        while self._parent is not None and os.getppid() == self._parent:
            await asyncio.sleep(1)
        if self._parent is not None:
            self.stop()

    async def _sweep(self, pool: Pool) -> None:
        while True:
            try:
                async with pool.acquire() as connection:  # its end is the end of its lock
                    await self._sweep_alone(connection)
            except Exception as error:
                log.warning("no look for chats that are due (%s); the next one follows", type(error).__name__)
                log.debug("no look for chats that are due", exc_info=True)
            await asyncio.sleep(self._sweep_every)

    async def _sweep_alone(self, connection: Any) -> None:
        """Look again and again, once no other worker does."""
        while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", _SWEEPER):
            await asyncio.sleep(self._sweep_every)
        sweeper, now = Sweeper(self._memory), asyncio.get_running_loop().time
        prune_at = now()
        while True:
            found = await asyncio.to_thread(sweeper.look)
            log.debug("%d chats are due", found)
            if now() >= prune_at:
                await connection.execute("DELETE FROM pgqueuer_log WHERE created < now() - $1::interval", _OLD)
                prune_at = now() + _PRUNE
            await asyncio.sleep(self._sweep_every)
            await connection.fetchval("SELECT 1")  # raises where the connection, and with it the lock, is lost


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Something that goes on beside the block, and ends with it."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


def run(
    settings: ServiceSettings,
    parent: int | None = None,
    count: Callable[[Event], None] | None = None,
    *,
    sweep_every: float = SWEEP,
    stale: float = STALE,
) -> None:
    """Be a worker until the process is told to end, or the one that started it is gone. What happens is for `count`, or for
    metrics of its own: each event is counted in one place, so that sums over all processes are true."""
    from infold.memory import Memory
    from infold.service.telemetry import Metrics, log_event, tracing

    spans = tracing(settings)
    if count is None:
        metrics = Metrics()
        count = metrics.on_event
        if settings.worker_metrics is not None:
            metrics.serve(settings.worker_metrics)

    def happened(event: Event) -> None:
        log_event(event)
        spans.on_event(event)
        count(event)

    with Memory(settings.database, model=settings.memory_model, on_event=happened, queue=True) as memory:
        worker = Worker(memory, settings, parent, sweep_every=sweep_every, stale=stale)
        asyncio.run(_until_told(worker, settings.grace))
    spans.close()


async def _until_told(worker: Worker, grace: float) -> None:
    loop = asyncio.get_running_loop()

    def told() -> None:
        worker.stop()
        loop.call_later(grace, leave)  # whoever waits for a model then is not waited for

    # Its own threads: a machine with few cores has fewer by default, and the sweep would wait for models.
    loop.set_default_executor(ThreadPoolExecutor(AT_ONCE + 1, thread_name_prefix="infold-worker"))
    for name in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(name) is not signal.SIG_IGN:
            loop.add_signal_handler(name, told)
    log.info("a worker began")
    await worker.run()
