"""Which methods an address takes; and HEAD, wherever that is GET."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ALL = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


def allowed(scope: Scope) -> list[str]:
    """The methods that can be used at the address of a request."""
    found = [method for method in _ALL if _takes(scope, method)]
    return ["GET", "HEAD", *found[1:]] if found[:1] == ["GET"] and "HEAD" not in found else found


def _takes(scope: Scope, method: str) -> bool:
    app: Starlette = scope["app"]
    asked = {name: value for name, value in scope.items() if name in ("type", "path", "root_path")}
    return any(route.matches({**asked, "method": method})[0] is Match.FULL for route in app.routes)


class Heads:
    """ASGI middleware: HEAD is answered as GET would be, without the body. A route that takes HEAD itself gets it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD" or _takes(scope, "HEAD") or not _takes(scope, "GET"):
            await self._app(scope, receive, send)
            return
        done = False

        async def head(message: Message) -> None:
            nonlocal done
            if not done:
                done = message["type"] == "http.response.body"
                await send({"type": "http.response.body"} if done else message)

        asked = {**scope, "method": "GET"}  # the server goes on knowing that it is HEAD
        try:
            await self._app(asked, receive, head)
        finally:
            if "route" in asked:
                scope["route"] = asked["route"]
