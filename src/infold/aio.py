"""AsyncMemory, AsyncChat and AsyncUser: the same methods, awaited. The work runs in one thread, off the event loop."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from infold.memory import ChatInfo, Memory
from infold.recall.hits import KINDS, Hit

if TYPE_CHECKING:
    from infold.arguments import MessageLike
    from infold.audit import Proof
    from infold.authors import Summarizer
    from infold.chat import Chat
    from infold.context import Context
    from infold.drifting import Drift
    from infold.forgetting import Receipt
    from infold.knowledge.entity import Entity
    from infold.knowledge.facts import Facts
    from infold.ledger.rows import Event
    from infold.lines.line import Line
    from infold.messages import Message
    from infold.models.spec import Model
    from infold.policy import Policy
    from infold.presets import SummarizationConfig
    from infold.recall.vectors import Embedder
    from infold.records import SummaryRecord
    from infold.reports import FoldStats, LastSummarization, MemoryState, Usage
    from infold.retention import Compaction
    from infold.sources import Source
    from infold.user import User

P = ParamSpec("P")
T = TypeVar("T")


class _Hop:
    """One thread; every public method is one trip there and back."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="infold-async")

    async def __call__(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, functools.partial(work, *args, **kwargs))

    def close(self) -> None:
        self._executor.shutdown()


class AsyncMemory:
    """`Memory` for asyncio. The database opens on first use."""

    def __init__(
        self,
        url: str = "sqlite:///infold.db",
        *,
        model: str | Model | Iterable[str | Model] | None = None,
        summarizer: Summarizer | None = None,
        on_event: Callable[[Event], None] | None = None,
        embedder: Embedder | str | None = None,
        clock: Callable[[], int] | None = None,
        ids: Callable[[], str] | None = None,
        create: bool = True,
        queue: bool = False,
        mark_key: bytes | None = None,
    ) -> None:
        self._open = functools.partial(
            Memory,
            url,
            model=model,
            summarizer=summarizer,
            on_event=on_event,
            embedder=embedder,
            clock=clock,
            ids=ids,
            create=create,
            queue=queue,
            mark_key=mark_key,
        )
        self._memory: Memory | None = None
        self._hop = _Hop()

    def _sync(self) -> Memory:
        if self._memory is None:
            self._memory = self._open()
        return self._memory

    async def chat(
        self,
        id: str,
        *,
        user: str | None = None,
        preset: str | None = None,
        system: str | None = None,
        context_window: int | None = None,
        title: str | None = None,
        config: Policy | SummarizationConfig | None = None,
        wait: bool = False,
        remember: bool | None = None,
    ) -> AsyncChat:
        """Open a chat, creating it on first use; see `Memory.chat`."""

        def work() -> Chat:
            return self._sync().chat(
                id,
                user=user,
                preset=preset,
                system=system,
                context_window=context_window,
                title=title,
                config=config,
                wait=wait,
                remember=remember,
            )

        return AsyncChat(await self._hop(work), self._hop)

    async def chats(self) -> list[ChatInfo]:
        """All chats, oldest first."""
        return await self._hop(lambda: self._sync().chats())

    async def user(self, name: str) -> AsyncUser:
        """Everything known of a user; see `Memory.user`."""
        return AsyncUser(await self._hop(lambda: self._sync().user(name)), self._hop)

    async def verify(self) -> Proof:
        """The no-loss and integrity proof for every chat."""
        return await self._hop(lambda: self._sync().verify())

    async def compact(self, days: int | None = None, mode: str = "archive", dry_run: bool = False) -> Compaction:
        """Archive or remove what old messages said; see `Memory.compact`."""
        return await self._hop(lambda: self._sync().compact(days, mode, dry_run))

    async def settle(self) -> None:
        """Wait for all background folds."""
        # Not through the hop: waiting there would keep every other call waiting too.
        await asyncio.to_thread((await self._hop(self._sync)).settle)

    async def close(self) -> None:
        """Finish background folds and close the database."""
        if self._memory is not None:
            await asyncio.to_thread(self._memory.background.settle)
            await self._hop(self._memory.close)
        self._hop.close()

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class _Knowing:
    """What chats and users share."""

    def __init__(self, of: Chat | User, hop: _Hop) -> None:
        self._of = of
        self._hop = hop

    def _get(self, name: str) -> Awaitable[Any]:
        return self._hop(getattr, self._of, name)

    @property
    def facts(self) -> Awaitable[Facts]:
        return self._get("facts")

    @property
    def entities(self) -> Awaitable[list[Entity]]:
        return self._get("entities")

    async def correct(self, line: str | Line, text: str, *, by: str = "user") -> Line:
        """See `Chat.correct`."""
        return await self._hop(self._of.correct, line, text, by=by)

    async def retract(self, line: str | Line, *, by: str = "user") -> None:
        """See `Chat.retract`."""
        await self._hop(self._of.retract, line, by=by)

    async def confirm(self, line: str | Line, *, by: str = "user") -> Line:
        """See `Chat.confirm`."""
        return await self._hop(self._of.confirm, line, by=by)

    async def set_entity(
        self, kind: str, name: str, *, status: str = "", due: str = "", owner: str = "", links: Sequence[str] = ()
    ) -> Entity:
        """See `Chat.set_entity`."""
        return await self._hop(self._of.set_entity, kind, name, status=status, due=due, owner=owner, links=links)

    async def remove_entity(self, id: str) -> None:
        """See `Chat.remove_entity`."""
        await self._hop(self._of.remove_entity, id)


class AsyncUser(_Knowing):
    """`User` for asyncio; properties are awaited too: `await user.facts`."""

    def __init__(self, user: User, hop: _Hop) -> None:
        super().__init__(user, hop)
        self._user = user

    @property
    def name(self) -> str:
        return self._user.name

    async def recall(
        self,
        query: str,
        *,
        limit: int = 8,
        kinds: Sequence[str] = KINDS,
        chat: str | None = None,
        since: int | str | datetime | None = None,
        until: int | str | datetime | None = None,
    ) -> list[Hit]:
        """See `User.recall`."""
        return await self._hop(self._user.recall, query, limit=limit, kinds=kinds, chat=chat, since=since, until=until)

    @property
    def remember(self) -> Awaitable[bool]:
        return self._get("remember")

    async def set_remember(self, value: bool) -> None:
        """Sets `User.remember`."""
        await self._hop(setattr, self._user, "remember", value)

    async def forget(self) -> Receipt:
        """See `User.forget`."""
        return await self._hop(self._user.forget)


class AsyncChat(_Knowing):
    """`Chat` for asyncio; properties are awaited too: `await chat.summary`."""

    def __init__(self, chat: Chat, hop: _Hop) -> None:
        super().__init__(chat, hop)
        self._chat = chat

    @property
    def id(self) -> str:
        return self._chat.id

    @overload
    async def add(
        self,
        message: MessageLike,
        *,
        id: str | None = None,
        created_at: int | str | datetime | None = None,
        model_variant: str | None = None,
        repair: bool = False,
        fold: bool = True,
        remember: bool = True,
    ) -> Message: ...

    @overload
    async def add(
        self,
        message: Iterable[MessageLike],
        *,
        created_at: int | str | datetime | None = None,
        model_variant: str | None = None,
        repair: bool = False,
        fold: bool = True,
        remember: bool = True,
    ) -> list[Message]: ...

    async def add(
        self,
        message: MessageLike | Iterable[MessageLike],
        *,
        id: str | None = None,
        created_at: int | str | datetime | None = None,
        model_variant: str | None = None,
        repair: bool = False,
        fold: bool = True,
        remember: bool = True,
    ) -> Message | list[Message]:
        """See `Chat.add`."""
        add: Callable[..., Message | list[Message]] = self._chat.add
        return await self._hop(
            add,
            message,
            id=id,
            created_at=created_at,
            model_variant=model_variant,
            repair=repair,
            fold=fold,
            remember=remember,
        )

    async def context(
        self,
        query: str | MessageLike | None = None,
        *,
        max_tokens: int | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        reserve_output: int | None = None,
        sources: Sequence[str] | None = None,
        memory_role: str | None = None,
        merge: bool | None = None,
    ) -> Context:
        """See `Chat.context`."""
        return await self._hop(
            self._chat.context,
            query,
            max_tokens=max_tokens,
            tools=tools,
            reserve_output=reserve_output,
            sources=sources,
            memory_role=memory_role,
            merge=merge,
        )

    async def recall(
        self,
        query: str,
        *,
        limit: int = 8,
        kinds: Sequence[str] = KINDS,
        since: int | str | datetime | None = None,
        until: int | str | datetime | None = None,
    ) -> list[Hit]:
        """See `Chat.recall`."""
        return await self._hop(self._chat.recall, query, limit=limit, kinds=kinds, since=since, until=until)

    @property
    def summary(self) -> Awaitable[str]:
        return self._get("summary")

    @property
    def memory(self) -> Awaitable[MemoryState]:
        return self._get("memory")

    @property
    def records(self) -> Awaitable[list[SummaryRecord]]:
        return self._get("records")

    @property
    def last_summarization(self) -> Awaitable[LastSummarization | None]:
        return self._get("last_summarization")

    @property
    def policy(self) -> Awaitable[Policy]:
        return self._get("policy")

    @property
    def title(self) -> Awaitable[str | None]:
        return self._get("title")

    async def messages(self, *, after: int = 0, limit: int = 1000) -> list[Message]:
        """See `Chat.messages`."""
        return await self._hop(self._chat.messages, after=after, limit=limit)

    async def events(self) -> list[Event]:
        """See `Chat.events`."""
        return await self._hop(self._chat.events)

    async def stats(self) -> FoldStats:
        """See `Chat.stats`."""
        return await self._hop(self._chat.stats)

    async def usage(self) -> Usage:
        """See `Chat.usage`."""
        return await self._hop(self._chat.usage)

    async def verify(self) -> Proof:
        """See `Chat.verify`."""
        return await self._hop(self._chat.verify)

    async def repair(self) -> int:
        """See `Chat.repair`."""
        return await self._hop(self._chat.repair)

    async def rebuild(self, *, force: bool = False) -> int:
        """See `Chat.rebuild`."""
        return await self._hop(self._chat.rebuild, force=force)

    async def trace(self, line: str | Line) -> list[Source]:
        """See `Chat.trace`."""
        return await self._hop(self._chat.trace, line)

    async def fold(self) -> bool:
        """See `Chat.fold`."""
        return await self._hop(self._chat.fold)

    async def settle(self) -> None:
        """See `Chat.settle`."""
        await asyncio.to_thread(self._chat.settle)

    async def pin(self, text: str, *, by: str = "user") -> str:
        """See `Chat.pin`."""
        return await self._hop(lambda: self._chat.pin(text, by=by))

    async def unpin(self, id: str) -> None:
        """See `Chat.unpin`."""
        await self._hop(self._chat.unpin, id)

    async def set_policy(self, policy: str | Policy | SummarizationConfig) -> None:
        """See `Chat.set_policy`."""
        await self._hop(self._chat.set_policy, policy)

    async def update(
        self,
        *,
        user: str | None = None,
        system: str | None = None,
        title: str | None = None,
        context_window: int | None = None,
        remember: bool | None = None,
    ) -> None:
        """See `Chat.update`."""
        await self._hop(
            self._chat.update, user=user, system=system, title=title, context_window=context_window, remember=remember
        )

    async def rewind(self, message_id: str) -> int:
        """See `Chat.rewind`."""
        return await self._hop(self._chat.rewind, message_id)

    async def forget(self, *message_ids: str) -> Receipt:
        """See `Chat.forget`."""
        return await self._hop(self._chat.forget, *message_ids)

    async def drift(self, model: str | Model | None = None) -> list[Drift]:
        """See `Chat.drift`."""
        return await self._hop(self._chat.drift, model)

    async def delete(self) -> None:
        """See `Chat.delete`."""
        await self.settle()
        await self._hop(self._chat.delete)
