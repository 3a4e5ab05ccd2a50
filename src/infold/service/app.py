"""The app: routes, gate and description put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from infold import __version__
from infold.service import problems, proxy
from infold.service.api import ROUTERS
from infold.service.core import Service
from infold.service.gate import Gate
from infold.service.methods import Heads
from infold.service.settings import ServiceSettings

_DESCRIPTION = """Conversation memory over HTTP: add messages, ask for a context that fits.

Errors are `application/problem+json` with a stable `code`. Ids in paths are URL-encoded. Writes take an
`Idempotency-Key`: the same request again within a day gets the same answer and changes nothing. Lists come in pages."""
_IDEMPOTENCY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A text of your own for this request; sent again with it, the request happens once.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
}
_ETAG = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The ETag of what you have: nothing is sent while that is still right.",
    "schema": {"type": "string", "pattern": "^[!-~]+$"},
}


def create_app(settings: ServiceSettings) -> FastAPI:
    """The service as an ASGI app. `app.state.service.end()` ends its event streams before a shutdown."""
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.open()
        try:
            yield
        finally:
            await service.close()

    app = FastAPI(
        title="infold", version=__version__, lifespan=lifespan, redirect_slashes=False, docs_url=None, redoc_url=None
    )
    app.state.service = service
    problems.install(app)
    for routes in ROUTERS:
        app.include_router(routes)
    proxy.mount(app, service)
    app.add_middleware(Heads)
    app.add_middleware(Gate, service=service)  # the outer one
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    return app


def _described(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, description=_DESCRIPTION, routes=app.routes)
        components = schema.setdefault("components", {})
        components.setdefault("schemas", {})["Problem"] = problems.SCHEMA
        components["securitySchemes"] = {
            "key": {"type": "apiKey", "in": "header", "name": "X-Infold-Key"},
            "bearer": {"type": "http", "scheme": "bearer"},
        }
        for path, methods in schema["paths"].items():
            if not path.startswith("/v1/"):
                continue
            for method, operation in methods.items():
                operation["security"] = [{}, {"key": []}, {"bearer": []}]
                parameters = operation.setdefault("parameters", [])
                if method != "get":
                    parameters.append(_IDEMPOTENCY)
                elif "304" in operation["responses"]:
                    parameters.append(_ETAG)
        app.openapi_schema = schema
    return app.openapi_schema
