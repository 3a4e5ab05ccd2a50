"""Routes of the API: bodies are JSON, and a write with an Idempotency-Key happens once."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from infold.errors import InfoldError
from infold.ledger import service as statements
from infold.ledger.service import Answered
from infold.service.core import Desk, Service
from infold.service.keys import Principal
from infold.service.problems import LateError, Problem, of_error, of_validation

log = logging.getLogger("infold")

KEPT = 24 * 3600 * 1000
"""Milliseconds that an answer can be asked for again."""
STALE = 15 * 1000
"""Milliseconds without a sign of life after which an answer that was being made is given up: its process is gone."""
_ALIVE = 5.0  # seconds between two signs of life
HEADER = "idempotency-key"
_TIDY = 600  # seconds between two looks for what is too old
_DEEPEST = 100  # levels of a body
_HEADERS = ("content-type", "location", "etag")

Handler = Callable[[Request], Awaitable[Response]]


class Route(APIRoute):
    """A route of infold's own API."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        reads_body = self.body_field is not None
        known = _query_names(self.dependant)
        ours = self.path.startswith("/v1/")  # probes may ask for their pages as they like

        async def asked(request: Request) -> Response:
            if ours:
                _check_query(request, known)
            return await handle(request)

        if "GET" in (self.methods or ()):
            return asked

        async def checked(request: Request) -> Response:
            _check_query(request, known)
            if reads_body:
                _check_type(request)
                await _check_body(request)
            else:
                await _check_no_body(request)
            token = request.headers.get(HEADER)
            return await handle(request) if token is None else await _once(request, token, handle)

        return checked


def _query_names(dependant: Dependant) -> list[str]:
    inner = [name for one in dependant.dependencies for name in _query_names(one)]
    return [*(field.alias for field in dependant.query_params), *inner]


def _check_query(request: Request, known: Sequence[str]) -> None:
    """Refuse what this route does not know: a `dry_run` that is not understood must not become the real thing."""
    for name in request.query_params:
        if name not in known:
            told = f"unknown parameter; this route takes {', '.join(known)}" if known else "this route takes none"
            raise RequestValidationError([{"type": "extra_forbidden", "loc": ("query", name), "msg": told}])


async def _check_no_body(request: Request) -> None:
    """The same of a body; an empty one, as clients like to send it, says nothing."""
    try:
        body = await request.body()
    except ClientDisconnect:
        raise Problem(400, "hung_up", "the request ended before its body did") from None
    if body.strip() not in (b"", b"{}", b"null"):
        raise RequestValidationError([{"type": "extra_forbidden", "loc": ("body",), "msg": "this route takes no body"}])


def _check_type(request: Request) -> None:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json")):
        return
    if request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers:
        raise Problem(415, "unsupported_type", f"the body must be application/json, not {kind[:80] or 'unnamed'}")


async def _check_body(request: Request) -> None:
    """Refuse what is JSON by its grammar alone: numbers without end, and what no recursion could walk through."""
    try:
        fits = _fits(await request.json(), _DEEPEST)  # kept by the request: it is parsed once
    except json.JSONDecodeError:
        return  # FastAPI says where
    except RecursionError:
        fits = False
    except ValueError as error:
        raise Problem(400, "malformed_json", f"the body is not JSON: {str(error)[:200]}") from None
    except ClientDisconnect:
        raise Problem(400, "hung_up", "the request ended before its body did") from None
    if not fits:
        raise Problem(400, "malformed_json", f"the body is nested more than {_DEEPEST} deep")


def _fits(value: Any, deepest: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return deepest > 0 and all(_fits(one, deepest - 1) for one in inner)


async def _once(request: Request, token: str, handle: Handler) -> Response:
    if not 0 < len(token) <= 200 or not token.isprintable():
        raise Problem(400, "bad_idempotency_key", "an Idempotency-Key is a text of 1 to 200 printable characters")
    service: Service = request.app.state.service
    principal: Principal = request.state.principal
    desk = Desk(service, principal)
    body = await request.body()
    asked = f"{request.method} {request.url.path}?{request.url.query}\0".encode() + body
    fingerprint = hashlib.sha256(asked).digest()
    service.breaker.check()
    known = await service.run_in_time(_reserve, desk, token, fingerprint)
    if known is not None:
        if known.fingerprint != fingerprint:
            raise Problem(
                422, "idempotency_conflict", "this Idempotency-Key was used for another request; use a new one"
            )
        if known.status is None:
            told = "the same request is being answered at the moment; ask again soon"
            raise Problem(409, "in_progress", told, headers={"Retry-After": "1"})
        if known.headers is None:
            told = f"this was done, and answered with {known.status}; the answer is not kept, as something was forgotten since"
            raise Problem(410, "answer_gone", told, headers={"Idempotency-Replayed": "true"})
        return Response(known.body, known.status, {**known.headers, "Idempotency-Replayed": "true"})
    late: asyncio.Future[LateError] = asyncio.get_running_loop().create_future()
    request.state.late = late
    answering = asyncio.create_task(_answered(desk, token, request, handle))
    await asyncio.wait((answering, late), return_when=asyncio.FIRST_COMPLETED)
    if answering.done():
        return answering.result()
    # It goes on, and until it is done nobody begins with the same.
    service.late.add(answering)
    answering.add_done_callback(functools.partial(_over, service))
    return of_error(late.result()).response()


def _over(service: Service, answering: asyncio.Task[Response]) -> None:
    service.late.discard(answering)
    if not answering.cancelled() and (error := answering.exception()) is not None:
        log.warning("an answer that came late was not kept (%s)", type(error).__name__)


async def _answered(desk: Desk, token: str, request: Request, handle: Handler) -> Response:
    """The answer, and it is kept, unless the service could not give one."""
    service = desk.service
    alive = asyncio.create_task(_show_life(desk, token))
    try:
        answer = await _answer(request, handle)
    except Exception:
        await service.run_in_time(_release, desk, token)
        raise
    finally:
        alive.cancel()
    if answer.status_code < 500:
        kept = {name: answer.headers[name] for name in _HEADERS if name in answer.headers}
        quotes = bool(answer.body) and not request.url.path.endswith("/forget")  # a receipt has numbers only
        keep = functools.partial(_keep, quotes=quotes)
        await service.run_in_time(keep, desk, token, answer.status_code, kept, bytes(answer.body))
    else:
        await service.run_in_time(_release, desk, token)
    return answer


async def _answer(request: Request, handle: Handler) -> Response:
    """The answer, errors that belong to the request among them."""
    try:
        return await handle(request)
    except Problem as problem:
        return problem.response()
    except InfoldError as error:
        return of_error(error).response()
    except RequestValidationError as error:
        return of_validation(error).response()


def _reserve(desk: Desk, token: str, fingerprint: bytes) -> Answered | None:
    """What was answered before; or nothing, and then this request is the one that is answered."""
    owner, now = desk.principal.id, desk.memory.clockwork.now()
    with desk.memory.database.write() as connection:
        connection.alone(f"idempotent {owner} {token}")
        if time.monotonic() - desk.service.tidied > _TIDY:
            desk.service.tidied = time.monotonic()
            statements.expire_answers(connection, now - KEPT)
        known = statements.answered(connection, owner, token)
        if known is not None and now - known.created_at < (STALE if known.status is None else KEPT):
            return known
        statements.reserve_answer(connection, owner, token, fingerprint, now)
        return None


async def _show_life(desk: Desk, token: str) -> None:
    """Let nobody else begin with the same, however long this takes."""
    while True:
        await asyncio.sleep(_ALIVE)
        with suppress(InfoldError):
            await desk.service.run_in_time(_renew, desk, token)


def _renew(desk: Desk, token: str) -> None:
    with desk.memory.database.write() as connection:
        statements.renew_answer(connection, desk.principal.id, token, desk.memory.clockwork.now())


def _release(desk: Desk, token: str) -> None:
    with desk.memory.database.write() as connection:
        statements.release_answer(connection, desk.principal.id, token)


def _keep(desk: Desk, token: str, status: int, headers: dict[str, str], body: bytes, *, quotes: bool) -> None:
    with desk.memory.database.write() as connection:
        statements.keep_answer(connection, desk.principal.id, token, status, headers, body, quotes=quotes)
