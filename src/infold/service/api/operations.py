"""Whether the service is up, and how it does."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from starlette.responses import Response

from infold.errors import InfoldError
from infold.ledger import service as statements
from infold.service.api import answers
from infold.service.api.common import PROBLEMS, answer
from infold.service.core import Service
from infold.service.gate import unauthorized
from infold.service.keys import given_key
from infold.service.kinds import is_loopback
from infold.service.problems import RETRY, Problem

routes = APIRouter(tags=["operations"], responses=PROBLEMS)
READY = 2.0
"""Seconds in which the database must answer."""


@routes.get("/healthz", response_model=answers.Health)
async def health() -> Response:
    """The process is up."""
    return answer({"status": "ok"})


@routes.get("/readyz", response_model=answers.Health)
async def ready(request: Request) -> Response:
    """The database answers."""
    service: Service = request.app.state.service

    def ask() -> None:
        with service.memory.database.read() as connection:
            statements.any_key(connection)

    try:
        await asyncio.wait_for(service.run(ask), READY)
    except (TimeoutError, InfoldError):
        raise Problem(503, "not_ready", "the database does not answer", headers=RETRY) from None
    return answer({"status": "ok"})


@routes.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request) -> Response:
    """Prometheus metrics. From another machine, an admin's key is needed."""
    service: Service = request.app.state.service
    if request.client is None or not is_loopback(request.client.host):
        key = given_key(request.headers)
        principal = await service.run_in_time(service.keys.find, key)
        if principal is None:
            raise unauthorized(key)
        if not principal.may("admin"):
            raise Problem(403, "forbidden", f"this key may {principal.role}; admin is needed here")
    body, kind = service.metrics.render()
    return Response(body, 200, media_type=kind)
