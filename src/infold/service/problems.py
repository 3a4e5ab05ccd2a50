"""Errors as `application/problem+json`: one table says which error is which status and code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from infold.errors import (
    BudgetError,
    ClosedError,
    ConfigError,
    DatabaseBusyError,
    DatabaseError,
    DatabaseFullError,
    DuplicateIdError,
    EmbedderError,
    InfoldError,
    MessageError,
    MovedOnError,
    NotFoundError,
    OrphanResultError,
    PolicyMismatchError,
    ReadOnlyDatabaseError,
    SummarizerError,
    UnknownPresetError,
)
from infold.service.methods import allowed

MEDIA_TYPE = "application/problem+json"
RETRY = {"Retry-After": "1"}


class LateError(InfoldError):
    """The service waited too long, and what was asked for may still be done."""

    def __init__(self, detail: str, work: Future[Any] | None) -> None:
        super().__init__(detail)
        self.work = work
        """What goes on meanwhile; None where it had not begun, and never will."""


class LateDatabaseError(LateError, DatabaseBusyError):
    """It is the database that it waited for. Says so without naming it."""


# The most special class first.
_ERRORS: tuple[tuple[type[InfoldError], int, str], ...] = (
    (DuplicateIdError, 409, "duplicate_id"),
    (OrphanResultError, 422, "orphan_result"),
    (MessageError, 422, "bad_message"),
    (PolicyMismatchError, 409, "policy_mismatch"),
    (UnknownPresetError, 422, "unknown_preset"),
    (ConfigError, 422, "bad_value"),
    (BudgetError, 422, "budget_too_small"),
    (NotFoundError, 404, "not_found"),
    (MovedOnError, 409, "moved_on"),
    (DatabaseBusyError, 503, "database_busy"),
    (DatabaseFullError, 507, "database_full"),
    (ReadOnlyDatabaseError, 503, "read_only"),
    (DatabaseError, 503, "database_unavailable"),
    (LateError, 504, "work_timeout"),
    (ClosedError, 503, "closing"),
    (SummarizerError, 502, "summarizer_failed"),
    (EmbedderError, 502, "embedder_failed"),
    (InfoldError, 500, "internal"),
)
# The errors of databases name the database, which is not for clients.
_OF_DATABASES = {
    "database_busy": "the database is busy or does not answer; try again",
    "database_full": "the database is full; nothing was written",
    "read_only": "the database is read-only; nothing was written",
    "database_unavailable": "the database cannot be used at the moment",
}
_CODES = {400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "no_route", 405: "method_not_allowed"}
_MOST_ERRORS = 20

SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "Problem",
    "description": "What went wrong (RFC 9457). `code` is stable; `detail` is for people.",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string", "examples": ["/problems/chat_not_found"]},
        "title": {"type": "string", "examples": ["Not Found"]},
        "status": {"type": "integer", "examples": [404]},
        "detail": {"type": "string", "examples": ["there is no chat 'x'"]},
        "code": {"type": "string", "examples": ["chat_not_found"]},
        "instance": {"type": "string", "description": "Names this one occurrence; the log has it too."},
        "errors": {
            "type": "array",
            "description": "What does not fit, place by place.",
            "items": {
                "type": "object",
                "required": ["where", "what"],
                "properties": {"where": {"type": "string"}, "what": {"type": "string"}},
            },
        },
    },
}


class StalledError(Exception):
    """A client does not take its answer: there is nobody to tell anything."""


class Problem(HTTPException):
    """An error with a code of its own, as a route raises it."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        errors: Sequence[Mapping[str, str]] = (),
        instance: str | None = None,
    ) -> None:
        super().__init__(status, detail, headers)
        self.code = code
        self.errors = errors
        self.instance = instance

    def response(self) -> Response:
        told: dict[str, Any] = {
            "type": f"/problems/{self.code}",
            "title": HTTPStatus(self.status_code).phrase,
            "status": self.status_code,
            "detail": self.detail,
            "code": self.code,
        }
        if self.instance is not None:
            told["instance"] = self.instance
        if self.errors:
            told["errors"] = list(self.errors)
        return Response(json.dumps(told).encode(), self.status_code, self.headers, MEDIA_TYPE)


def of_error(error: InfoldError) -> Problem:
    """The problem that an error of infold is."""
    status, code = next((status, code) for kind, status, code in _ERRORS if isinstance(error, kind))
    hidden = None if isinstance(error, LateError) else _OF_DATABASES.get(code)
    return Problem(status, code, hidden or str(error), headers=RETRY if status == 503 else None)


def of_validation(error: RequestValidationError) -> Problem:
    """What does not fit the description of a request: JSON that is none, or fields and types that are wrong."""
    found = error.errors()
    for one in found:
        if one["type"] == "json_invalid":
            reason = one.get("ctx", {}).get("error", "")
            return Problem(400, "malformed_json", f"the body is not JSON: {reason} at position {one['loc'][-1]}")
    errors = [
        {"where": ".".join(str(part)[:200] for part in one["loc"]), "what": str(one["msg"])[:500]}
        for one in found[:_MOST_ERRORS]
    ]
    first = errors[0]
    return Problem(422, "invalid_request", f"{first['where']}: {first['what']}", errors=errors)


async def _infold_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, InfoldError)
    return of_error(error).response()


async def _validation_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return of_validation(error).response()


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if not isinstance(error, Problem):
        code = _CODES.get(error.status_code, "bad_request")
        detail, headers = str(error.detail), error.headers
        if error.status_code == 404:
            detail = "there is nothing at this address; /openapi.json lists all routes"
        elif error.status_code == 405:
            detail = f"{request.method} cannot be used here; the header Allow lists what can"
            headers = {"Allow": ", ".join(allowed(request.scope))}  # the first route that fits knows its own alone
        error = Problem(error.status_code, code, detail, headers=headers)
    return error.response()


def install(app: FastAPI) -> None:
    """Let an app answer every error with a problem document."""
    app.add_exception_handler(InfoldError, _infold_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
