"""The gate: what every request passes. Who it is, how much it may send, and what becomes of it if all fails."""

from __future__ import annotations

import asyncio
import functools
import logging
import secrets
import time
from email.utils import formatdate
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from infold.errors import DatabaseBusyError, DatabaseError, InfoldError
from infold.service.keys import Principal, given_key
from infold.service.kinds import is_loopback
from infold.service.limits import bounded
from infold.service.problems import RETRY, Problem, StalledError, of_error

if TYPE_CHECKING:
    from infold.service.core import Service

log = logging.getLogger("infold")


class Gate:
    """ASGI middleware: authentication, limits, metrics, and an answer to errors nobody expected."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if all(name != b"date" for name, _ in message["headers"]):  # an upstream's stays as it is
                    message["headers"] = [*message["headers"], (b"date", formatdate(usegmt=True).encode())]
            try:
                async with asyncio.timeout(self._service.settings.upstream_timeout):
                    await send(message)
            except TimeoutError:
                raise StalledError from None

        try:
            try:
                app = self._app
                if scope["path"].startswith("/v1/"):
                    receive = await self._let_in(scope, receive)
                    # Most requests are for the proxy, which needs no router to be found, nor what stands before one.
                    app = self._service.proxy.app(scope) or app
                await app(scope, receive, noted)
            except (Problem, InfoldError) as error:
                if status:  # half an answer is out
                    raise
                problem = error if isinstance(error, Problem) else of_error(error)
                await problem.response()(scope, receive, noted)
        except asyncio.CancelledError:
            if status or not self._service.ending:  # else the grace is over
                raise
            told = "the service ends; what was asked for may still be done, so look before you try again"
            await Problem(503, "closing", told, headers=RETRY).response()(scope, receive, noted)
        except StalledError:
            log.info("a client took nothing for too long; its answer is broken off", extra={"event": "client_stalled"})
        except Exception as error:
            name = secrets.token_hex(8)
            log.error("internal error %s: %s", name, type(error).__name__)
            log.debug("internal error %s", name, exc_info=True)  # a traceback may quote messages
            if status:
                raise  # half an answer is out: the connection must break
            detail = "something went wrong in the service; its log names this occurrence"
            await Problem(500, "internal", detail, instance=name).response()(scope, receive, noted)
        finally:
            route = getattr(scope.get("route"), "path_format", "other")
            self._service.metrics.request(route, scope["method"], status, time.perf_counter() - began)

    async def _let_in(self, scope: Scope, receive: Receive) -> Receive:
        principal = await self.principal(scope)
        self._service.limits.take(principal.id)
        scope.setdefault("state", {})["principal"] = principal
        # Routed as it was sent, so that an id may hold any character: each is decoded on its own.
        scope["path"] = scope["raw_path"].decode("latin-1")
        return bounded(scope, receive, self._service.settings.max_body)

    async def principal(self, scope: Scope) -> Principal:
        """Whom a request speaks for."""
        service = self._service
        headers = Headers(scope=scope)
        key = given_key(headers)
        principal = await known(service, key)
        if principal is None:
            raise unauthorized(key)
        if not principal.id and not service.settings.loopback:
            raise Problem(403, "no_keys", "this service has no keys yet; make one with `infold keys create`")
        if not principal.id:
            _check_origin(headers)
        return principal


async def known(service: Service, key: str | None) -> Principal | None:
    """Whom a key speaks for; None for nobody."""
    remembered, principal = service.keys.remembered(key)
    return principal if remembered else await _found(service, key)


async def _found(service: Service, key: str | None) -> Principal | None:
    """The same by the database; while that is away, whoever was known goes on being known."""
    try:
        service.breaker.check()
        with service.breaker.watching():
            async with asyncio.timeout(service.settings.memory_timeout):
                return await service.run(service.keys.find, key)
    except (DatabaseError, TimeoutError) as error:
        principal = service.keys.last_known(key)
        if principal is not None:
            return principal
        if isinstance(error, DatabaseError):
            raise
        raise DatabaseBusyError("the database is too busy to look up a key; try again") from None


def _check_origin(headers: Headers) -> None:
    """Refuse what a page of another site has a browser send: without keys, nothing else tells it from its user."""
    origin = headers.get("origin")
    if not _is_here("//" + headers.get("host", "")) or (origin is not None and not _is_here(origin)):
        told = (
            "without keys, only pages and programs of this machine are answered; make a key with `infold keys create`"
        )
        raise Problem(403, "other_site", told)


@functools.lru_cache(maxsize=64)
def _is_here(address: str) -> bool:
    try:
        return is_loopback(urlsplit(address).hostname or "")
    except ValueError:
        return False


def unauthorized(key: str | None) -> Problem:
    """The problem of a request that speaks for nobody."""
    told = "this key opens nothing here" if key else "send a key in the header X-Infold-Key"
    return Problem(401, "unauthorized", told, headers={"WWW-Authenticate": "Bearer"})
