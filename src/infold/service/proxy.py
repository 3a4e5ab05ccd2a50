"""The proxy: a provider's API with memory. Whatever memory does, the request goes through."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote
from weakref import WeakValueDictionary

import aiohttp
from starlette.datastructures import Headers
from starlette.routing import Route

from infold.errors import DatabaseBusyError, InfoldError, MessageError, MovedOnError
from infold.quiet import quiet
from infold.service.exchange import Exchange, upstream_client
from infold.service.failures import Failures
from infold.service.forwarding import address, is_apart, passed_on, remembers, text_of
from infold.service.problems import Problem
from infold.service.reconcile import (
    Caller,
    NothingSaidError,
    OtherUserError,
    Place,
    apart,
    receive,
    settle,
)
from infold.service.windows import follow, room, window_of
from infold.service.wire import APIS, identity, read_part

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp, Receive, Scope, Send

    from infold.chat import Chat
    from infold.memory import Memory
    from infold.service.core import Service
    from infold.service.wire import Api, Asked, Reply

log = logging.getLogger("infold")

T = TypeVar("T")

_Whose = tuple[str, str]
"""A tenant, and the scope of chats of its own."""

_MOST_NAME = 200
_MOST_LATE = 4  # threads that may be held by requests nobody waits for any more
_MOST_FOLD = (
    0.2  # seconds that a client's next request waits for the fold after its last reply: most take a tenth of it
)


def mount(app: FastAPI, service: Service) -> None:
    """Add the routes of the providers' APIs to the service."""
    proxy = Proxy(service)
    for api in APIS.values():
        route = Route(api.path, _Endpoint(proxy, api), methods=["POST"])
        app.router.routes.append(route)
        proxy.routes[api.path] = route
    for path, methods in (
        ("/v1/models", ["GET"]),
        ("/v1/models/{name:path}", ["GET"]),
        ("/v1/embeddings", ["POST"]),
        ("/v1/messages/count_tokens", ["POST"]),
    ):
        app.router.routes.append(Route(path, _Endpoint(proxy, None), methods=methods))
    service.proxy = proxy


class _Endpoint:
    """A route as a plain ASGI app: nothing stands between the upstream's bytes and the client."""

    def __init__(self, proxy: Proxy, api: Api | None) -> None:
        self._proxy = proxy
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._proxy.handle(scope, receive, send, self._api)


class Proxy:
    """Forwards requests, with memory where a chat needs it."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._client: aiohttp.ClientSession | None = None
        self.routes: dict[str, Route] = {}
        """By path, those that memory belongs to."""
        self._settling: dict[asyncio.Task[None], _Whose] = {}
        """Replies that are being kept."""
        self._folding: dict[asyncio.Task[None], _Whose] = {}
        """The same of what is folded after them."""
        self._closing = False
        self._turns: WeakValueDictionary[_Whose, asyncio.Lock] = WeakValueDictionary()
        """Of named chats: whose request is with memory."""
        self._late: dict[Future[Any], _Whose] = {}
        """What memory still does for requests that have gone on without it."""
        self._failures = Failures(service)

    def app(self, scope: Scope) -> ASGIApp | None:
        """What answers a request, if that needs memory."""
        route = self.routes.get(scope["path"]) if scope["method"] == "POST" else None
        if route is not None:
            scope["route"] = route  # as a router would tell it
        return route and route.app

    def open(self) -> None:
        """Make the connections to the upstream; in the event loop that will use them."""
        self._client = upstream_client(self._service.settings)

    async def close(self) -> None:
        """Keep the replies that are still to be kept, then let go of the upstream."""
        self._failures.close()
        self._closing = True
        while self._settling or self._folding:
            await asyncio.wait([*self._settling, *self._folding])
        if self._client is not None:
            await self._client.close()

    async def handle(self, scope: Scope, receive: Receive, send: Send, api: Api | None) -> None:
        """Forward one request and its answer."""
        settings, began = self._service.settings, time.perf_counter()
        upstream = settings.anthropic_upstream if is_apart(scope, settings) else settings.upstream
        if upstream is None:
            raise Problem(404, "no_upstream", "this service has no upstream; start it with --upstream URL")
        principal = scope["state"]["principal"]
        if not principal.may("read" if scope["method"] in ("GET", "HEAD") else "write"):
            raise Problem(403, "forbidden", "this key may only read")
        if any(part in (".", "..") for part in re.split(r"[/\\]", unquote(scope["path"]))):
            raise Problem(400, "bad_path", "a path to the upstream may not go up or stay")
        raw = await _body(receive)
        headers = Headers(scope=scope)
        keep: Callable[[Reply], None] | None = None
        body = raw
        url, sent = address(scope, upstream), passed_on(scope, headers, settings)
        with self._service.limits.stream(principal.id):  # before memory: what is refused was never said
            if api is not None:
                keep, body = await self._remembered(api, principal, headers, raw)
            assert self._client is not None, "it is opened with the service"
            exchange = Exchange(self._client, api, self._service.metrics, began, keep)
            await exchange.run(scope["method"], url, sent, body, receive, send)

    # Memory ------------------------------------------------------------------------------------------------

    async def _remembered(
        self, api: Api, principal: Any, headers: Headers, raw: bytes
    ) -> tuple[Callable[[Reply], None] | None, bytes]:
        """What to do with the reply, and the body to send. If memory fails, the body is the client's own."""
        service = self._service
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):  # the upstream says what is wrong with it
            return None, raw
        if not isinstance(body, dict):
            return None, raw
        chat, user = _name(headers, "x-infold-chat"), _name(headers, "x-infold-user")
        given_up = threading.Event()
        caller = self._caller(principal, headers, body, chat, user, given_up)
        whose = principal.tenant, caller.scope
        goes_without = partial(self._goes_without, api, principal.tenant, caller)
        try:
            asked = api.read(body)
        except MessageError as error:  # where the upstream understands it, we should have
            return partial(goes_without, read_part(api, body), error), raw
        if len(asked.messages) > service.settings.max_messages:
            most = service.settings.max_messages
            raise Problem(413, "too_many_messages", f"the request has more than {most:,} messages; send fewer")
        memory = service.tenant(principal.tenant)
        try:
            service.breaker.check()
            async with asyncio.timeout(service.settings.memory_timeout):
                # A client that is quick to go on: the reply that it answers to comes first.
                if before := [task for task, of in self._settling.items() if of == whose]:
                    await asyncio.wait(before)
                if before := [task for task, of in self._folding.items() if of == whose]:
                    await asyncio.wait(before, timeout=_MOST_FOLD)
                with quiet:
                    work = partial(self._context, memory, api, caller, body, asked)
                    place, written = await self._worked(whose, caller, work)
            self._failures.begun(principal.tenant, caller, asked.messages, place.chat.id)
            return partial(self._keep, whose, place), raw if written is None else _json(written)
        except OtherUserError as error:
            raise Problem(403, "other_user", str(error)) from None
        except NothingSaidError:
            return None, raw
        except Exception as error:  # fail open: a chat without memory beats no chat
            given_up.set()
            goes_without(asked, error)
            return None, raw

    def _goes_without(
        self, api: Api, tenant: str, caller: Caller, asked: Asked | None, error: Exception, _: Reply | None = None
    ) -> None:
        """Tell that a request has no memory."""
        self._service.metrics.memory_failed(api.name)
        told = "it took too long" if isinstance(error, TimeoutError) else type(error).__name__
        log.warning("a request goes without memory: %s", told, extra={"event": "without_memory", "error": told})
        log.debug("memory failed", exc_info=error)
        self._failures.add(tenant, caller, asked, told)

    async def _worked(self, whose: _Whose, caller: Caller, work: Callable[[], T]) -> T:
        """What memory does for a request. Threads that wait for one chat, or a hanging database, must not become so many
        that all others wait behind them: a named chat gets one, and those that nobody waits for any more are few."""
        turn = nullcontext() if caller.chat is None else self._turns.setdefault(whose, asyncio.Lock())
        async with turn:
            self._late = {late: of for late, of in self._late.items() if not late.done()}
            if len(self._late) >= _MOST_LATE or (caller.chat is not None and whose in self._late.values()):
                raise DatabaseBusyError("earlier requests still wait for the database")
            with self._service.breaker.watching():
                future = self._service.submit(work)
                try:
                    return await asyncio.wrap_future(future)
                finally:
                    if not future.done():
                        self._late[future] = whose

    def _caller(
        self, principal: Any, headers: Headers, body: Mapping[str, Any], chat: str | None, user: str | None,
        given_up: threading.Event,
    ) -> Caller:  # fmt: skip
        service = self._service
        if chat is not None:
            scope = f"chat {chat}"
        else:
            # Somebody who shares neither key nor user never goes on with this chat, even with the same words.
            owner = principal.id or headers.get("authorization", "") + headers.get("x-api-key", "")
            whose = json.dumps([owner, user, *_end_user(body)])
            scope = f"key {hashlib.sha256(whose.encode()).hexdigest()}"
        tenant = principal.tenant

        def find(id: str, key: int | None) -> Chat | None:
            return service.known_chat(service.tenant(tenant), tenant, id, key)

        return Caller(
            scope,
            chat,
            user,
            service.settings.preset,
            service.settings.context_window,
            find,
            given_up,
            remember=remembers(headers),
        )

    def _context(
        self, memory: Memory, api: Api, caller: Caller, body: Mapping[str, Any], asked: Asked
    ) -> tuple[Place, dict[str, Any] | None]:
        """Add what is new to its chat; then the body with memory in it, or None where the client's own will do."""
        model = window_of(asked.model)
        place = receive(memory, replace(caller, model_window=model), asked)
        if model is not None and caller.context_window is None:
            with suppress(InfoldError):  # the next request tries again
                follow(memory, place.chat, model)
        if asked.previous is not None:  # the upstream has the history
            return place, None
        with place.chat.seen() as state:  # just now, as the request was added
            budget, reserved, tools, fits = room(state, asked, caller.context_window)
            if fits and place.whole and not (state.row.cursor or state.row.user or state.pins):
                return place, None
        try:
            context = place.chat.build(None, None, reserved, within=budget, tools=tools, upto=place.seq)
        except MovedOnError:  # sent once more, and folded since
            place = apart(place, caller)
            context = place.chat.build(None, None, reserved, within=budget, tools=tools)
        shown = context.shown()
        same = zip(shown, asked.messages, strict=False)
        if len(shown) == len(asked.messages) and all(identity(ours) == identity(theirs) for ours, theirs in same):
            return place, None
        return place, api.write(body, context)

    def _keep(self, whose: _Whose, place: Place, reply: Reply) -> None:
        """Add a reply to its chat after the client has it, and fold what is due; nobody waits for it."""
        task = asyncio.create_task(self._kept(whose, place, reply))
        self._settling[task] = whose
        task.add_done_callback(self._settling.pop)

    async def _kept(self, whose: _Whose, place: Place, reply: Reply) -> None:
        try:
            chat = await self._service.run_after(settle, place, reply)
        except Exception as error:  # the client sends it again, with its next message
            log.warning("a reply was not kept: %s", type(error).__name__, extra={"event": "reply_lost"})
            log.debug("reply not kept", exc_info=True)
            return
        task = asyncio.create_task(self._folded(chat))
        self._folding[task] = whose
        task.add_done_callback(self._folding.pop)

    async def _folded(self, chat: Chat) -> None:
        """Fold what is due, of a long history part after part: in between, it is another chat's turn."""
        try:
            while await self._service.run_fold(chat.fold_due) and not self._closing:
                pass
        except Exception as error:  # the reply is kept; the next one brings the fold
            log.warning("a fold was put off: %s", type(error).__name__, extra={"event": "fold_put_off"})
            log.debug("fold put off", exc_info=True)


def _end_user(body: Mapping[str, Any]) -> list[Any]:
    """What a request says of the person it is for; other metadata may change with every request."""
    metadata = body.get("metadata")
    named = metadata.get("user_id") if isinstance(metadata, dict) else None
    return [body.get("user"), body.get("safety_identifier"), named]


def _json(value: Any) -> bytes:
    def write(**how: Any) -> bytes:
        return json.dumps(value, separators=(",", ":"), allow_nan=False, **how).encode()

    try:
        return write(ensure_ascii=False)
    except UnicodeEncodeError:  # half a character, which only an escape can write
        return write()


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "hung_up", "the request ended before its body did")
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def _name(headers: Headers, header: str) -> str | None:
    """What a header names, as it was sent: UTF-8, where it is more than ASCII."""
    value = text_of(headers.get(header, "").encode("latin-1"))
    if not value.strip():
        return None
    value = value.strip()
    if len(value) > _MOST_NAME or "\0" in value:
        raise Problem(400, "bad_name", f"{header} must be a text of 1 to {_MOST_NAME} characters")
    return value
