"""Memory: the way in. Opens a database and hands out chats."""

from __future__ import annotations

import copy
import logging
import secrets
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

from infold.background import Background
from infold.errors import ConfigError, PolicyMismatchError, UnknownPresetError
from infold.messages import canonical_json
from infold.policy import Policy
from infold.presets import PRESETS, SummarizationConfig
from infold.presets import preset as find_preset
from infold.triggers import Marks

if TYPE_CHECKING:
    from infold.audit import Proof
    from infold.authors import Author, Summarizer
    from infold.chat import Chat
    from infold.ledger.mentions import Damaged
    from infold.ledger.query import Connection
    from infold.ledger.rows import Event
    from infold.models.caller import Caller
    from infold.models.spec import Model
    from infold.recall.vectors import Embedder
    from infold.retention import Compaction
    from infold.user import User

log = logging.getLogger("infold")

CONTEXT_WINDOW = 8192
"""Assumed for a model nobody described."""


@dataclass(frozen=True, slots=True)
class ChatInfo:
    """A chat in the list of chats."""

    id: str
    title: str | None
    user: str | None
    preset: str
    messages: int
    folded: int
    created_at: int


class Memory:
    """Conversation memory in one database.

    `url` is a SQLite file such as "sqlite:///chats.db"; without one, ./infold.db. `model` names the language model that
    writes summaries ("openai:gpt-5-nano", "anthropic:…", "ollama:…", "local", a base URL), or several in order of
    preference; without one, MEMORY_SUMMARIZER_MODEL does; without that, folds quote. `summarizer` is any callable
    with `summarize_memory`'s signature, instead of a model. `on_event` is called with each Event after it is committed.
    `embedder` makes the vectors of recall: by default one that needs nothing but this machine; "openai:NAME" or another
    address as for models; or any object with the methods of `infold.recall.vectors.Embedder`. `clock` (milliseconds) and `ids` can be given to make a run repeatable.
    Blocks of memory in requests are marked with `mark_key`, by default a random key of the database.
    With `queue`, on PostgreSQL, nothing is folded with a model or indexed in this process: `infold worker` does it.
    """

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
        from infold.committing import Clockwork
        from infold.embedders import chosen
        from infold.knowledge.known import Knowledge
        from infold.ledger.database import Database
        from infold.models.spec import models
        from infold.recaller import Recaller
        from infold.writing import Answers

        if summarizer is not None and not callable(summarizer):
            raise ConfigError("summarizer must be a function like summarize_memory(current_summary, messages)")
        if summarizer is not None and model is not None:
            raise ConfigError("give either a model or a summarizer, not both")
        self._models = models(model) if model is not None else None
        self._embedder = chosen(embedder)
        self._callers: dict[str, Caller] = {}
        self._authors: dict[tuple[str, ...], tuple[Author, ...]] = {}
        self.summarizer = summarizer
        self.on_event = on_event
        self.background = Background()
        self.clockwork = Clockwork(clock or _milliseconds, ids or new_id)
        self.answers = Answers()
        self.database = Database.open(url, create=create)
        self.recaller = Recaller(self.database, self._embedder.make, self._embedder.label)
        self.knowledge = Knowledge()
        self._mark_key = mark_key
        self.queued = queue
        if queue:
            self._install_queue()

    def tenant(self, name: str) -> Memory:
        """The chats of one tenant, in the same database: nothing of another tenant's can be seen through it, whatever is
        asked for. It is this memory's own: close that one, not this."""
        check_label(name, "a tenant")
        view = copy.copy(self)
        view.database = self.database.of(name)
        view.recaller = self.recaller.of(view.database)
        return view

    def mark_key(self, connection: Connection) -> bytes:
        """What blocks of memory in requests are marked with."""
        if self._mark_key is None:
            from infold.ledger import store

            self._mark_key = store.mark_key(connection)
        return self._mark_key

    def tenants(self) -> list[str]:
        """Everybody who has chats here; "" is who uses the library, or the service without keys."""
        from infold.ledger import store

        with self.database.read() as connection:
            return store.tenants(connection)

    def chat(
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
    ) -> Chat:
        """Open a chat, creating it on first use.

        Its policy (a preset, or a config of your own) is stored with it: opening it again with another one is an error,
        `chat.set_policy` changes it. `system`, `title`, `user` and `context_window` are updated where given. With
        `remember=False`, what is said in it is known in no other chat of its user.
        """
        return self.begin(
            id, user=user, preset=preset, system=system, context_window=context_window, title=title, config=config,
            wait=wait, remember=remember,
        )[0]  # fmt: skip

    def begin(
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
        new_preset: str = "default",
        new_window: int | None = None,
    ) -> tuple[Chat, bool]:
        """The same, and whether it is this call that created the chat. `new_preset` and `new_window` are for a new one that
        is told no others: a chat that is there keeps what it has."""
        from infold.chat import Chat
        from infold.ledger import store

        _check_name(id, "a chat id")
        for value, what in ((user, "user"), (title, "title")):
            if value is not None:
                _check_name(value, what)
        _check_system(system)
        if remember is not None and not isinstance(remember, bool):
            raise ConfigError(f"remember must be True or False, not {remember!r}")
        for window in (context_window, new_window):
            if window is not None:
                check_window(window)
        wanted = requested_policy(preset, config)
        _check_wait(wanted, wait)
        with self.database.read() as connection:
            row = store.chat_by_id(connection, id)
        if row is not None:
            key, new = row.key, False
        else:
            policy = wanted or find_preset(new_preset)
            key, new = self._create(id, policy, user, title, system, context_window or new_window)
        chat = Chat(self, key, id, wait)
        stored = self._stored(chat, wanted)
        if stored is not wanted:
            _check_same(id, stored, wanted, preset, config)
        _check_wait(stored, wait)
        chat.update(user=user, system=system, title=title, context_window=context_window, remember=remember)
        chat.resume()
        return chat, new

    def _stored(self, chat: Chat, wanted: Policy | None) -> Policy:
        """The policy of a chat. One that cannot be read is what its caller says it is."""
        with chat.reading() as (_, state):
            stored, damaged = state.stored, state.policy_damaged
        if not damaged or wanted is None:
            return stored
        if not self.database.read_only:
            chat.set_policy(wanted)
        return wanted

    def find(self, id: str) -> Chat | None:
        """A chat that is there; None where there is none. Nothing is created, and nothing left undone is gone on with."""
        from infold.chat import Chat
        from infold.ledger import store

        _check_name(id, "a chat id")
        with self.database.read() as connection:
            row = store.chat_by_id(connection, id)
        if row is None:
            return None
        chat = Chat(self, row.key, id, False)
        _check_wait(chat.policy, False)
        return chat

    def _create(
        self, id: str, policy: Policy, user: str | None, title: str | None, system: str | None, window: int | None
    ) -> tuple[int, bool]:
        """The key of a chat, and whether it is new."""
        from infold.ledger import journal, store
        from infold.ledger.rows import Event
        from infold.state import marks_json

        with self.database.write() as connection:
            connection.alone(f"chat {id}")
            row = store.chat_by_id(connection, id)
            if row is not None:  # another process was quicker
                return row.key, False
            now = self.clockwork.now()
            key = store.insert_chat(
                connection,
                id=id,
                user=user,
                title=title,
                system=system or None,
                policy=canonical_json(policy.to_json()),
                context_window=window or CONTEXT_WINDOW,
                created_at=now,
                tools_tokens=0,
                last_seq=0,
                users=0,
                cursor=0,
                version=0,
                folds=0,
                head_hash=b"\0" * 32,
                marks=marks_json(Marks()),
                read_to=0,
                # Keys of deleted chats are used again; what was cached of one must not be taken for another.
                epoch=zlib.crc32(f"{id}\0{now}".encode("utf-8", "surrogatepass")) << 16,
                origin=None,
                remember=1,
                away=0,
            )
            event = Event("chat_created", now, {"preset": policy.name}, id)
            journal.insert_event(connection, key, event)
        self.emit([event])
        return key, True

    def _install_queue(self) -> None:
        install = getattr(self.database.backend, "install_queue", None)
        if install is None:
            self.close()
            raise ConfigError("queue=True needs PostgreSQL; with SQLite this process does the work itself")
        install()

    @property
    def writes(self) -> bool:
        """Whether anybody but the extractive fold could write summaries."""
        return self.summarizer is not None or self._models != ()

    @property
    def written(self) -> int:
        """Which chats have a model that writes their summaries, as `jobs.due` asks."""
        from infold.ledger import jobs

        if not self.writes:
            return jobs.NOBODY
        return jobs.ANYBODY if any(map(self.authors, PRESETS.values())) else jobs.OWN

    def authors(self, policy: Policy) -> tuple[Author, ...]:
        """Who writes the summaries of a chat with this policy, in order of preference."""
        key = (policy.name, *policy.models)
        found = self._authors.get(key)
        if found is None:
            found = self._authors[key] = self._find_authors(policy)
        return found

    def _find_authors(self, policy: Policy) -> tuple[Author, ...]:
        if self.summarizer is not None:
            from infold.authors import FunctionAuthor

            return (FunctionAuthor(self.summarizer),)
        from infold.models.spec import from_environment, preferred

        chosen = from_environment(policy.name) if self._models is None else self._models
        return self._asking(preferred(policy.models, chosen))

    def authors_for(self, model: str | Model) -> tuple[Author, ...]:
        """The author that a model is."""
        from infold.models.spec import models

        return self._asking(models(model))

    def _asking(self, chosen: tuple[Model, ...]) -> tuple[Author, ...]:
        if not chosen:
            return ()
        from infold.authors import ModelAuthor
        from infold.models.caller import Caller

        for one in chosen:
            if one.label not in self._callers:
                self._callers[one.label] = Caller(one, self.clockwork.now)
        return tuple(ModelAuthor(self._callers[one.label]) for one in chosen)

    def chats(self) -> list[ChatInfo]:
        """All chats, oldest first."""
        from infold.ledger import store
        from infold.unreadable import policy_of

        with self.database.read() as connection:
            rows = store.all_chats(connection)
        return [ChatInfo(r.id, r.title, r.user, policy_of(r)[0].name, r.last_seq, r.cursor, r.created_at) for r in rows]

    def user(self, name: str) -> User:
        """Everything known of a user, over all chats that were opened with this `user`."""
        from infold.user import User

        _check_name(name, "user")
        return User(self, name)

    def repaired(self, damaged: Sequence[Damaged]) -> bool:
        """Make damaged facts and mentions anew from their messages; False where there are none, or nothing may be written."""
        from infold.knowledge.noting import repair

        if not damaged or self.database.read_only:
            return False
        with self.database.write() as connection:
            repair(connection, damaged)
        return True

    def verify(self) -> Proof:
        """The no-loss and integrity proof for every chat."""
        from infold.audit import verify

        with self.database.read() as connection:
            return verify(connection)

    def compact(self, days: int | None = None, mode: str = "archive", dry_run: bool = False) -> Compaction:
        """Archive what messages older than so many days said, or remove it ("remove"), where memory covers them.

        Without `days`, TRANSCRIPT_RETENTION_DAYS (30). Archived messages are read as before; of removed ones their places
        and hashes stay, and what memory knows from them. `dry_run` only counts.
        """
        from infold.presets import Settings
        from infold.retention import compact

        if days is None:
            days = Settings.from_environment().transcript_retention_days
        return compact(self, days=days, mode=mode, dry_run=dry_run, now=self.clockwork.now())

    def settle(self) -> None:
        """Wait for all background folds."""
        self.background.settle()

    def close(self) -> None:
        """Finish background folds and close the database."""
        self.background.close()
        for caller in self._callers.values():
            caller.close()
        self._embedder.close()
        self.database.close()

    def emit(self, events: Iterable[Event]) -> None:
        """Hand committed events to the callback; its errors are its own."""
        if self.on_event is None:
            return
        for event in events:
            try:
                self.on_event(event)
            except Exception:
                log.warning("the on_event callback failed on %s", event.type, exc_info=True)

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def requested_policy(preset: str | None, config: Policy | SummarizationConfig | None) -> Policy | None:
    """The policy that arguments ask for; None where they leave it open."""
    if preset is not None and (not isinstance(preset, str) or preset not in PRESETS):
        raise UnknownPresetError(f"unknown preset {preset!r}: use one of {', '.join(PRESETS)}")
    if config is None:
        return find_preset(preset) if preset else None
    if isinstance(config, SummarizationConfig):
        config = config.to_policy()
    if not isinstance(config, Policy):
        raise ConfigError(f"config must be a Policy or a SummarizationConfig, not {type(config).__name__}")
    if preset is not None and preset != config.name:
        raise ConfigError(f"the config is a {config.name!r} policy, but preset={preset!r}; give only one of them")
    return config


def check_window(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 256 <= value <= 100_000_000:
        raise ConfigError(f"context_window must be a whole number of tokens from 256 to 100,000,000, not {value!r}")
    return value


def check_label(value: object, what: str) -> None:
    """A name that is shown in lists and logs; it may be empty."""
    if not isinstance(value, str) or len(value) > 200 or not value.isprintable():
        raise ConfigError(f"{what} must be a text of at most 200 printable characters, not {str(value)[:40]!r}")


def new_id() -> str:
    """A UUID that sorts by time (version 7)."""
    now, chance = time.time_ns() // 1_000_000, secrets.randbits(74)
    low = 0x8000 | chance & 0x3FFF  # the variant's two bits, then 14 random ones
    return f"{now >> 16:08x}-{now & 0xFFFF:04x}-7{chance >> 62:03x}-{low:04x}-{chance >> 14 & 0xFFFFFFFFFFFF:012x}"


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000


def _check_name(value: object, what: str) -> None:
    if not isinstance(value, str) or not 0 < len(value) <= 200 or "\0" in value or not _is_unicode(value):
        raise ConfigError(f"{what} must be a text of 1 to 200 characters, not {str(value)[:40]!r}")


def _check_system(system: object) -> None:
    if system is not None and (not isinstance(system, str) or "\0" in system or not _is_unicode(system)):
        raise ConfigError("system must be a text without NUL characters")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_wait(policy: Policy | None, wait: bool) -> None:
    if policy is not None and policy.abort_on_failure and not wait:
        raise ConfigError("abort_on_failure needs wait=True: a background fold has nobody to raise its error to")


def _check_same(
    id: str, stored: Policy, wanted: Policy | None, preset: str | None, config: Policy | SummarizationConfig | None
) -> None:
    """A preset must have the stored one's name; a config all of its values."""
    if wanted is None or stored == wanted or (config is None and stored.name == preset):
        return
    old, new = stored.to_json(), wanted.to_json()
    differs = [f"{key} {old[key]!r} → {new[key]!r}" for key in old if old[key] != new[key]]
    raise PolicyMismatchError(
        f"chat {id!r} was created with another policy ({'; '.join(differs[:4])}); open it without preset and config, "
        "or change it with chat.set_policy(…)"
    )
