"""The proxy: a provider's API with memory. Whatever memory does, the request goes through."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import threading
import time
from collections.abc import Awaitable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import aiohttp
from multidict import CIMultiDict
from starlette.datastructures import Headers
from starlette.routing import Route
from yarl import URL

from infold.errors import InfoldError, MessageError, MovedOnError
from infold.models import prices
from infold.models.spec import Model
from infold.service.keys import PREFIX
from infold.service.problems import Problem
from infold.service.reader import Reader
from infold.service.reconcile import Caller, OtherUserError, Place, apart, note_failure, receive, settle
from infold.service.wire import APIS, identity
from infold.tokens import count_cached, tools_tokens

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import Receive, Scope, Send

    from infold.chat import Chat
    from infold.memory import Memory
    from infold.service.core import Service
    from infold.service.wire import Api, Asked, Reply

log = logging.getLogger("infold")

# Of one connection, not of the message; or set anew for the next.
_HOP = frozenset(
    "connection keep-alive proxy-authenticate proxy-authorization te trailer trailers transfer-encoding upgrade "
    "proxy-connection".split()
)
_NOT_FORWARDED = _HOP | {"host", "content-length", "accept-encoding", "expect"}
_CREDENTIALS = frozenset(("authorization", "x-api-key"))
_IDLE = 4.0  # seconds after which a connection is not used again: the upstream may be about to close it
_FEWEST = 256  # tokens that a context always gets, however much a client wants for the reply
_MOST_NAME = 200
_MOST_NOTING = 4  # failures that are noted at a time: while the database is away, they would only wait for each other


def mount(app: FastAPI, service: Service) -> None:
    """Add the routes of the providers' APIs to the service."""
    proxy = Proxy(service)
    for api in APIS.values():
        app.router.routes.append(Route(api.path, _Endpoint(proxy, api), methods=["POST"]))
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
        self._settling: dict[asyncio.Task[None], str] = {}
        """Replies that are being kept, and the scope of their chats."""
        self._noting: set[str] = set()
        """Chats that are being told of a failure."""

    def open(self) -> None:
        """Make the connections to the upstream; in the event loop that will use them."""
        settings = self._service.settings
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE),
            timeout=aiohttp.ClientTimeout(sock_connect=settings.connect_timeout, sock_read=settings.upstream_timeout),
            cookie_jar=aiohttp.DummyCookieJar(),  # one client's cookies are not another's
            skip_auto_headers=("accept", "content-type", "user-agent"),
            auto_decompress=False,
        )

    async def close(self) -> None:
        """Keep the replies that are still to be kept, then let go of the upstream."""
        while self._settling:
            await asyncio.wait(self._settling)
        if self._client is not None:
            await self._client.close()

    async def handle(self, scope: Scope, receive: Receive, send: Send, api: Api | None) -> None:
        """Forward one request and its answer."""
        settings, began = self._service.settings, time.perf_counter()
        upstream = settings.upstream
        if _is_anthropic(scope):
            upstream = settings.anthropic_upstream or upstream
        if upstream is None:
            raise Problem(404, "no_upstream", "this service has no upstream; start it with --upstream URL")
        principal = scope["state"]["principal"]
        if not principal.may("write" if api is not None else "read"):
            raise Problem(403, "forbidden", "this key may only read")
        if any(unquote(part) in (".", "..") for part in scope["path"].split("/")):
            raise Problem(400, "bad_path", "a path to the upstream may not go up or stay")
        raw = await _body(receive)
        headers = Headers(scope=scope)
        place: Place | None = None
        body = raw
        url, sent = self._address(scope, upstream), self._headers(scope, headers)
        name = api.name if api is not None else "other"
        with self._service.limits.stream(principal.id):  # before memory: what is refused was never said
            if api is not None:
                place, body = await self._remembered(api, principal, headers, raw)
            answer = self.client.request(scope["method"], url, headers=sent, data=body or None, allow_redirects=False)
            await _Exchange(self, api, name, place, began).run(answer, receive, send)

    # Memory ------------------------------------------------------------------------------------------------

    async def _remembered(self, api: Api, principal: Any, headers: Headers, raw: bytes) -> tuple[Place | None, bytes]:
        """Where the reply goes, and the body to send. If memory fails, the body is the client's own."""
        service = self._service
        try:
            body = json.loads(raw)
            if not isinstance(body, dict):
                return None, raw
            asked = api.read(body)
        except (ValueError, RecursionError, MessageError):  # the upstream says what is wrong with it
            return None, raw
        if len(asked.messages) > service.settings.max_messages:
            most = service.settings.max_messages
            raise Problem(413, "too_many_messages", f"the request has more than {most:,} messages; send fewer")
        chat, user = _name(headers, "x-infold-chat"), _name(headers, "x-infold-user")
        memory = service.memory.tenant(principal.tenant)
        given_up = threading.Event()
        try:
            caller = self._caller(principal, headers, body, chat, user, given_up)
            async with asyncio.timeout(service.settings.memory_timeout):
                # A client that is quick to go on: the reply that it answers to comes first.
                before = [task for task, scope in self._settling.items() if scope == caller.scope]
                if before:
                    await asyncio.wait(before)
                place, written = await service.run(self._context, memory, api, caller, body, asked)
            return place, raw if written is None else _json(written)
        except OtherUserError as error:
            raise Problem(403, "other_user", str(error)) from None
        except Exception as error:  # fail open: a chat without memory beats no chat
            given_up.set()
            service.metrics.memory_failed(api.name)
            told = "it took too long" if isinstance(error, TimeoutError) else type(error).__name__
            log.warning("a request goes without memory: %s", told, extra={"event": "without_memory", "error": told})
            log.debug("memory failed", exc_info=True)
            if chat is not None and chat not in self._noting and len(self._noting) < _MOST_NOTING:
                self._later(self._noted(memory, chat, told), f"chat {chat}")
            return None, raw

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

        def find(id: str) -> Chat | None:
            return service.known_chat(service.memory.tenant(tenant), tenant, id)

        return Caller(scope, chat, user, service.settings.preset, service.settings.context_window, find, given_up)

    def _context(
        self, memory: Memory, api: Api, caller: Caller, body: Mapping[str, Any], asked: Asked
    ) -> tuple[Place, dict[str, Any] | None]:
        """Add what is new to its chat; then the body with memory in it, or None where the client's own will do."""
        window = caller.context_window or _window(asked.model)
        place = receive(memory, replace(caller, context_window=window), asked)
        if asked.previous is not None:  # the upstream has the history
            return place, None
        with place.chat.reading() as (_, state):
            policy = state.policy
            window = min(state.context_window, _window(asked.model) or state.context_window)
            budget = min(policy.budget or int(policy.budget_share * window), window)
            reserved = asked.reserve_output + count_cached(asked.system or "")
            plain = place.whole and not (state.row.cursor or state.row.user or state.pins)
            if plain and state.unfolded_tokens + reserved + tools_tokens(asked.tools) < budget:
                return place, None
        reserved = max(0, min(reserved, budget - _FEWEST))
        tools = list(asked.tools) or None
        try:
            context = place.chat.context(max_tokens=budget, tools=tools, reserve_output=reserved, upto=place.seq)
        except MovedOnError:  # sent once more, and folded since
            place = apart(place)
            context = place.chat.context(max_tokens=budget, tools=tools, reserve_output=reserved)
        if [identity(message) for message in context.shown()] == [identity(message) for message in asked.messages]:
            return place, None
        return place, api.write(body, context)

    def keep(self, place: Place, reply: Reply) -> None:
        """Add a reply to its chat after the client has it, and fold what is due; nobody waits for it."""
        self._later(self._kept(place, reply), place.scope)

    def _later(self, work: Coroutine[Any, Any, None], scope: str) -> None:
        task = asyncio.create_task(work)
        self._settling[task] = scope
        task.add_done_callback(self._settling.pop)

    async def _noted(self, memory: Memory, chat: str, why: str) -> None:
        """An event for a request that went without memory, where the chat can be written to."""
        self._noting.add(chat)
        with suppress(InfoldError):
            await self._service.run(note_failure, memory, chat, why)
        self._noting.discard(chat)

    async def _kept(self, place: Place, reply: Reply) -> None:
        try:
            await self._service.run(settle, place, reply)
        except Exception as error:  # the client sends it again, with its next message
            log.warning("a reply was not kept: %s", type(error).__name__, extra={"event": "reply_lost"})
            log.debug("reply not kept", exc_info=True)

    # Forwarding --------------------------------------------------------------------------------------------

    def _address(self, scope: Scope, upstream: str) -> URL:
        """The upstream's address for one of our paths: below its own path, or below /v1 where it has none."""
        base, path = upstream.rstrip("/"), scope["path"]
        own = base.partition("://")[2].partition("/")[2]
        query = scope.get("query_string", b"").decode("latin-1")
        url = base + (path if not own else path.removeprefix("/v1")) + (f"?{query}" if query else "")
        return URL(url, encoded=True)

    def _headers(self, scope: Scope, headers: Headers) -> CIMultiDict[str]:
        """What the upstream is told: all that the client says, but for what is between it and us."""
        key = self._service.settings.upstream_key
        sent: CIMultiDict[str] = CIMultiDict()
        for raw, value in headers.raw:
            name, text = raw.decode("latin-1"), _text(value)
            # Our own keys are nobody else's business.
            ours = name in _CREDENTIALS and (key is not None or text.split(" ")[-1].startswith(PREFIX))
            if not ours and name not in _NOT_FORWARDED and not name.startswith("x-infold-"):
                sent.add(name, text)
        if key is not None:
            sent.add(*(("x-api-key", key) if _is_anthropic(scope) else ("authorization", f"Bearer {key}")))
        sent["accept-encoding"] = "identity"
        return sent

    @property
    def client(self) -> aiohttp.ClientSession:
        assert self._client is not None, "it is opened with the service"
        return self._client

    @property
    def service(self) -> Service:
        return self._service


class _Exchange:
    """One request and its answer, as it goes from the upstream to the client."""

    def __init__(self, proxy: Proxy, api: Api | None, name: str, place: Place | None, began: float) -> None:
        self._proxy = proxy
        self._api = api
        self._name = name
        self._place = place
        self._began = began
        self._metrics = proxy.service.metrics

    async def run(self, answer: Awaitable[aiohttp.ClientResponse], receive: Receive, send: Send) -> None:
        try:
            response = await answer
        except TimeoutError:
            self._metrics.upstream_error(self._name, "timeout")
            raise _late() from None
        except (aiohttp.ClientError, OSError) as error:
            self._metrics.upstream_error(self._name, "unreachable")
            raise Problem(
                502, "upstream_unreachable", f"the upstream cannot be reached ({type(error).__name__})"
            ) from None
        gone = asyncio.create_task(_disconnected(receive))
        reading = asyncio.create_task(self._pass_on(response, send))
        try:
            await asyncio.wait({gone, reading}, return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():  # the client has hung up: what it got is kept, the rest is not asked for
                reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading
        finally:
            for task in (gone, reading):
                task.cancel()
            response.close()  # a connection that has nothing left to say is kept, whatever this says

    async def _pass_on(self, response: aiohttp.ClientResponse, send: Send) -> None:
        headers = [(name.lower(), value) for name, value in response.raw_headers]
        kept = [(name, value) for name, value in headers if name.decode("latin-1") not in _HOP]
        media = response.headers.get("content-type", "")
        reader = Reader(self._api, response.status, media, response.headers.get("content-encoding", ""))
        outcome = "ok" if response.ok else "error"
        if not response.ok:
            self._metrics.upstream_error(self._name, f"{response.status // 100}xx")
        first = True
        try:
            async for chunk in response.content.iter_any():
                if first:
                    self._metrics.first_byte(self._name, time.perf_counter() - self._began)
                    await send({"type": "http.response.start", "status": response.status, "headers": kept})
                    first = False
                reader.feed(chunk)
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            if first:
                await send({"type": "http.response.start", "status": response.status, "headers": kept})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (aiohttp.ClientError, OSError) as error:
            outcome = "broken"
            self._metrics.upstream_error(self._name, "broken")
            if first and isinstance(error, TimeoutError):
                raise _late() from None
            if first:
                raise Problem(
                    502, "upstream_broken", f"the upstream broke off before it answered ({type(error).__name__})"
                ) from None
            # The answer stays unfinished, and the server breaks the connection, as it broke for us.
        except asyncio.CancelledError:
            outcome = "hung_up"
            raise
        finally:
            self._metrics.proxied(self._name, outcome)
            reply = reader.reply()
            if reply is not None and self._place is not None:
                self._proxy.keep(self._place, reply)


def _is_anthropic(scope: Scope) -> bool:
    return str(scope["path"]).startswith(APIS["anthropic"].path)


def _end_user(body: Mapping[str, Any]) -> list[Any]:
    """What a request says of the person it is for; other metadata may change with every request."""
    metadata = body.get("metadata")
    named = metadata.get("user_id") if isinstance(metadata, dict) else None
    return [body.get("user"), body.get("safety_identifier"), named]


def _late() -> Problem:
    return Problem(504, "upstream_timeout", "the upstream did not answer in time; try again")


def _text(value: bytes) -> str:
    """A header's value: UTF-8, which is how it is written again, or else what HTTP once had."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _json(value: Any) -> bytes:
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return written.encode()
    except UnicodeEncodeError:  # half a character, which only an escape can write
        return json.dumps(value, separators=(",", ":")).encode()


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "hung_up", "the request ended before its body did")
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _name(headers: Headers, header: str) -> str | None:
    """What a header names, as it was sent: UTF-8, where it is more than ASCII."""
    value = _text(headers.get(header, "").encode("latin-1"))
    if not value.strip():
        return None
    value = value.strip()
    if len(value) > _MOST_NAME or "\0" in value:
        raise Problem(400, "bad_name", f"{header} must be a text of 1 to {_MOST_NAME} characters")
    return value


def _window(model: str | None) -> int | None:
    """The context window of a model, where the price list knows it."""
    if not model:
        return None
    provider = "anthropic" if model.startswith("claude") else "openai"
    with suppress(InfoldError, ValueError):
        return prices.window(Model(model, provider))
    return None
