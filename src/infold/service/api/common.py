"""What the routes share: ids in paths, the desk of a request, answers, pages."""

from __future__ import annotations

import binascii
import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import quote, unquote_to_bytes

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.convertors import Convertor, register_url_convertor
from starlette.responses import Response

from infold.service.core import Desk
from infold.service.keys import Principal
from infold.service.once import Route
from infold.service.problems import MEDIA_TYPE, Problem

PROBLEM = {"content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request cannot be served; `code` says why.", **PROBLEM},
    "5XX": {"description": "The service or its database cannot serve it now.", **PROBLEM},
}
NOT_CHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "Still what If-None-Match names."}}


class _IdConvertor(Convertor[str]):
    """One segment of a path, decoded on its own: an id may hold any character, "/" as %2F too."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return unquote_to_bytes(value.encode("latin-1")).decode("utf-8", "replace")

    def to_string(self, value: str) -> str:
        return quote(value, safe="")


register_url_convertor("id", _IdConvertor())


def router(tag: str) -> APIRouter:
    """A router for routes of the API."""
    return APIRouter(tags=[tag], route_class=Route, responses=PROBLEMS)


def _desk(role: str) -> Callable[[Request], Coroutine[Any, Any, Desk]]:
    async def desk(request: Request) -> Desk:
        principal: Principal = request.state.principal
        if not principal.may(role):
            raise Problem(403, "forbidden", f"this key may {principal.role}; {role} is needed here")
        return Desk(request.app.state.service, principal, getattr(request.state, "late", None))

    return desk


# The one way from a request to a memory: that of its key's tenant.
Reads = Annotated[Desk, Depends(_desk("read"))]
Writes = Annotated[Desk, Depends(_desk("write"))]
Admin = Annotated[Desk, Depends(_desk("admin"))]

ChatId = Annotated[str, Path(description="Id of the chat, URL-encoded.", examples=["trip"])]
UserName = Annotated[str, Path(description="Name of the user, URL-encoded.", examples=["ann"])]
By = Annotated[str, Query(description="Who says so.", min_length=1, max_length=200)]
Limit = Annotated[int, Query(ge=1, le=1000, description="Most entries of a page.")]
Cursor = Annotated[str | None, Query(description="`next_cursor` of the page before.")]


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A value as JSON."""
    return Response(_json(value), status, headers, "application/json")


def no_content() -> Response:
    return Response(status_code=204)


def tagged(request: Request, value: Any) -> Response:
    """A value with its ETag; nothing but that where the client has it already."""
    body = _json(value)
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    known = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
    if tag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(body, 200, headers, "application/json")


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


# Pages -------------------------------------------------------------------------------------------------


def cursor_of(what: str, position: int, id: str = "") -> str:
    """A position in a list, with an id where several have the same, as a text that fits no other list."""
    text = f"{position} {id}".encode()
    return urlsafe_b64encode(_check(what, text) + text).decode().rstrip("=")


def position_of(what: str, cursor: str | None) -> int | None:
    """The position that a cursor names; None without one."""
    return None if cursor is None else _place_of(what, cursor)[0]


def _place_of(what: str, cursor: str) -> tuple[int, str]:
    try:
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        check, text = raw[:_CHECK], raw[_CHECK:]
        position, _, id = text.partition(b" ")
        if check == _check(what, text) and position.isdigit() and len(position) <= _DIGITS:
            return int(position), id.decode()
    except (ValueError, binascii.Error):
        pass
    raise Problem(400, "bad_cursor", "this cursor belongs to no page of this list; begin without one")


_CHECK = 6
_DIGITS = 18  # more fit no database


def _check(what: str, text: bytes) -> bytes:
    return hashlib.blake2b(what.encode() + b"\0" + text, digest_size=_CHECK).digest()


def listed(what: str, every: Sequence[Any], cursor: str | None, limit: int) -> dict[str, Any]:
    """A page of a list that is at hand as a whole."""
    first = position_of(what, cursor) or 0
    end = first + limit
    return page(every[first:end], cursor_of(what, end) if end < len(every) else None)


def newest_first(what: str, every: Sequence[dict[str, Any]], cursor: str | None, limit: int) -> dict[str, Any]:
    """The same of entities, which come and go meanwhile: a page begins after the last one shown, be that there or not."""
    if cursor is not None:
        at, id = _place_of(what, cursor)
        every = [one for one in every if (-one["last_at"], one["id"]) > (-at, id)]
    shown = every[:limit]
    more = cursor_of(what, shown[-1]["last_at"], shown[-1]["id"]) if len(every) > limit else None
    return page(shown, more)


def page(items: Sequence[Any], next_cursor: str | None = None) -> dict[str, Any]:
    return {"items": list(items), "next_cursor": next_cursor}
