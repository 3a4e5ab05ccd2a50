"""What all requests share: the memory, threads to use it in, open chats, keys, limits, the feed of events."""

from __future__ import annotations

import asyncio
import functools
import gc
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from starlette.responses import Response

from infold.chat import Chat
from infold.errors import NotFoundError
from infold.ledger.addresses import is_postgres
from infold.ledger.rows import Event
from infold.memory import Memory
from infold.messages import parse
from infold.quoting.reading import read
from infold.service.breaker import Breaker
from infold.service.feed import Feed
from infold.service.keys import Keyring, Principal
from infold.service.limits import Limits
from infold.service.problems import LateDatabaseError, LateError, Problem
from infold.service.settings import ServiceSettings
from infold.service.telemetry import Metrics, log_event, tracing
from infold.service.upkeep import upkeep
from infold.tokens import count

if TYPE_CHECKING:
    from infold.service.proxy import Proxy

log = logging.getLogger("infold")

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 8
_SLOW_THREADS = 4
_AFTER = 4
"""Replies that are kept at the same time; in a file it is one, for there they would only wait for each other."""
_MOST_TENANTS = 1024
_LEAST_GRACE = 1.0
"""Seconds for the replies that were cut off at the end of the grace: what clients got of them is kept."""
_MOST_CHATS, _IDLE = 1024, 120.0
"""Chats that are kept open, and seconds after which one that nobody uses is not."""


class Service:
    """One process of the service. Opened and closed with its app."""

    memory: Memory
    keys: Keyring
    proxy: Proxy
    tenant: Callable[[str], Memory]
    """The chats of one tenant; those of whom something was wanted last are kept at hand."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.tracing = tracing(settings)
        self.limits = Limits(settings.rate, settings.streams)
        self.breaker = Breaker()
        self.feed = Feed()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="infold-service")
        after = _AFTER if is_postgres(settings.database) else 1
        self._after = ThreadPoolExecutor(after, thread_name_prefix="infold-after")
        self._folds = ThreadPoolExecutor(after, thread_name_prefix="infold-folds")
        self._slow = ThreadPoolExecutor(_SLOW_THREADS, thread_name_prefix="infold-slow")
        self._chats: OrderedDict[tuple[str, str], tuple[Chat, float]] = OrderedDict()
        self._lock = threading.Lock()
        self._tasks: list[asyncio.Task[None]] = []
        self.late: set[asyncio.Task[Response]] = set()
        """Answers that nobody waits for any more, and that are kept for whoever asks again."""
        self.tidied = 0.0
        """When answers that are too old to be asked for were last looked for."""
        self._ends: float | None = None

    async def open(self) -> None:
        """Open the database and begin to watch it."""
        settings = self.settings
        queue = is_postgres(settings.database)
        self.memory = await self.run(
            Memory, settings.database, model=settings.memory_model, on_event=self._happened, queue=queue
        )
        await self.run(count, "a")  # loads the tokenizer: the first request must not wait for it, or go without memory
        self.tenant = functools.lru_cache(_MOST_TENANTS)(self.memory.tenant)
        self.keys = Keyring(self.memory)
        self.feed.open(self)
        self.proxy.open()
        self._tasks = [asyncio.create_task(self.run_slowly(self._warm_up))]
        if not queue:
            self._tasks.append(asyncio.create_task(upkeep(self)))

    def _warm_up(self) -> None:
        """Load what the first requests would wait for; without the embedder, recall says what is wrong."""
        read(parse({"role": "user", "content": "I prefer tea."}), ())
        with suppress(Exception):
            self.memory.recaller.embedder.near(["first"])
        # What is loaded stays, and is not looked through again: that takes tens of milliseconds, in the middle of a request.
        gc.collect()
        gc.freeze()
        gc.set_threshold(5000, 10, 10)  # a request makes more than the usual 700 things, none of them in circles

    @property
    def ending(self) -> bool:
        """Whether it was told to end."""
        return self._ends is not None

    def end(self) -> None:
        """Begin to end: streams of events stop, and the time of grace runs, once for all that is still to be done."""
        self._ends = time.monotonic() + self.settings.grace
        self.feed.end()

    async def close(self) -> None:
        """Keep the last replies, finish background folds, within the time of grace, and close the database."""
        left = self.settings.grace if self._ends is None else max(_LEAST_GRACE, self._ends - time.monotonic())
        await self.feed.close()
        for task in self._tasks:
            task.cancel()
        try:
            async with asyncio.timeout(left):
                await self.proxy.close()
                while self.late:
                    await asyncio.wait(self.late)
                await self.run_slowly(self.memory.close)
        except TimeoutError:
            told = "folds were still being written after %g s; they are finished later"
            if self.late:
                told += f". {len(self.late)} answers that came late are given up; ask again"
            log.warning(told, self.settings.grace)
        self.tracing.close()
        for threads in (self._threads, self._after, self._folds, self._slow):
            threads.shutdown(wait=False)

    async def run(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Do something with the memory in a thread, off the event loop."""
        return await asyncio.wrap_future(self.submit(work, *args, **kwargs))

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The same for whoever wants to know what becomes of it after giving up on it."""
        return self._threads.submit(work, *args, **kwargs)

    async def run_after(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for what nobody waits for; a few at a time, as they all take from those that somebody waits for."""
        return await self._run_in(self._after, work, *args, **kwargs)

    async def run_fold(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for folds, which take longer: no reply waits behind them."""
        return await self._run_in(self._folds, work, *args, **kwargs)

    async def run_in_time(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for a request of the API, which has nothing to answer without the database."""
        patience = self.settings.api_timeout
        future = self.submit(work, *args, **kwargs)
        try:
            with self.breaker.watching():
                async with asyncio.timeout(patience):
                    return await asyncio.wrap_future(future)
        except TimeoutError:
            told = f"the database did not answer within {patience:g} s; what was asked for may still be done"
            raise LateDatabaseError(told, None if future.cancel() else future) from None

    async def run_slowly(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for what may take long, such as a model's answer: it keeps no quick request waiting."""
        return await self._run_in(self._slow, work, *args, **kwargs)

    async def run_slowly_in_time(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for a request. What has not begun by then is not done; what has is done, though nobody hears of it."""
        patience = self.settings.work_timeout
        future = self._slow.submit(work, *args, **kwargs)
        with self.breaker.watching():
            try:
                async with asyncio.timeout(patience):
                    return await asyncio.wrap_future(future)
            except TimeoutError:  # a model may be what it waits for, so it says nothing of the database
                told = f"this was not done within {patience:g} s; it may still be done, so look before you try again"
                raise LateError(told, None if future.cancel() else future) from None

    async def _run_in(
        self, threads: ThreadPoolExecutor, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await asyncio.get_running_loop().run_in_executor(threads, functools.partial(work, *args, **kwargs))

    def find_chat(self, memory: Memory, tenant: str, id: str) -> tuple[Chat, bool]:
        """A chat that is there, and whether it was open before. Never creates one."""
        with self._lock:
            kept = self._chats.pop((tenant, id), None)
            if kept is not None:
                self._chats[tenant, id] = (kept[0], time.monotonic())
                return kept[0], True
        found = memory.find(id) if 0 < len(id) <= 200 and "\0" not in id else None
        if found is None:
            raise Problem(404, "chat_not_found", f"there is no chat {id[:200]!r}; add a message to create it")
        self.keep_chat(tenant, found)
        return found, False

    def known_chat(self, memory: Memory, tenant: str, id: str, key: int | None = None) -> Chat | None:
        """A chat that is there at this moment, as whoever has just read its key knows it is; None where there is none."""
        try:
            chat, cached = self.find_chat(memory, tenant, id)
            if cached and chat.key != key:
                with chat.reading():  # it may have been deleted since it was opened
                    pass
            return chat
        except NotFoundError:
            self.drop_chat(tenant, id)
            return memory.find(id)
        except Problem:
            return None

    def keep_chat(self, tenant: str, chat: Chat) -> None:
        """Remember an open chat: opening one costs several reads."""
        now = time.monotonic()
        idle: list[Chat] = []
        with self._lock:
            self._chats.pop((tenant, chat.id), None)
            self._chats[tenant, chat.id] = (chat, now)
            while len(self._chats) > _MOST_CHATS or next(iter(self._chats.values()))[1] < now - _IDLE:
                idle.append(self._chats.popitem(last=False)[1][0])
        for one in idle:  # what was made of it is made again when it is used again
            self.memory.recaller.release(one.key)
            self.memory.knowledge.release(one.key)

    def drop_chat(self, tenant: str, id: str) -> None:
        """Forget an open chat; it was deleted."""
        with self._lock:
            self._chats.pop((tenant, id), None)

    def _happened(self, event: Event) -> None:
        self.metrics.on_event(event)
        self.tracing.on_event(event)
        log_event(event)
        self.feed.wake()


class Desk:
    """Where one request is served: the memory of its tenant, and nothing of another's."""

    __slots__ = ("_late", "_tenant", "memory", "principal", "service")

    def __init__(self, service: Service, principal: Principal, late: asyncio.Future[LateError] | None = None) -> None:
        """With `late`, that is told when something takes too long, and what was begun is waited for all the same."""
        self.service = service
        self.principal = principal
        self._late = late
        self._tenant = principal.tenant
        self.memory = service.tenant(principal.tenant)

    async def run(self, work: Callable[[Memory], T], *, slow: bool = False) -> T:
        """Do something with the tenant's memory."""
        return await self._run(slow, work, self.memory)

    async def with_chat(self, id: str, work: Callable[[Chat], T], *, slow: bool = False) -> T:
        """Do something with a chat that is there."""
        return await self._run(slow, self._with_chat, id, work)

    async def _run(self, slow: bool, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        self.service.breaker.check()
        run = self.service.run_slowly_in_time if slow else self.service.run_in_time
        try:
            return await run(work, *args, **kwargs)
        except LateError as error:
            if self._late is None or error.work is None:
                raise
            if not self._late.done():
                self._late.set_result(error)
            done: T = await asyncio.wrap_future(error.work)
            return done

    def _with_chat(self, id: str, work: Callable[[Chat], T]) -> T:
        chat, cached = self.service.find_chat(self.memory, self._tenant, id)
        try:
            return work(chat)
        except NotFoundError:
            # It may have been deleted, and even made anew, since it was opened; or something in it is not there.
            self.service.drop_chat(self._tenant, id)
            if not cached:
                raise
        chat, _ = self.service.find_chat(self.memory, self._tenant, id)
        return work(chat)

    def drop_chat(self, id: str) -> None:
        self.service.drop_chat(self._tenant, id)
