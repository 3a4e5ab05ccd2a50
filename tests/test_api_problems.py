"""What nobody expected: an answer without details, a log without content."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from infold import errors
from infold.service.app import create_app
from infold.service.problems import of_error
from infold.service.settings import ServiceSettings
from tests.servers import problem, start_server

WORDS = "my locker code is 8812"


def test_an_error_nobody_expected_leaks_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    app = create_app(ServiceSettings(database=f"sqlite:///{tmp_path / 'a.db'}"))

    @app.get("/v1/broken")
    async def broken() -> None:
        raise RuntimeError(WORDS)

    async def ask() -> httpx2.Response:
        client = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost")
        async with app.router.lifespan_context(app), client:
            return await client.get("/v1/broken")

    with caplog.at_level(logging.INFO):
        answer = asyncio.run(ask())
    told = problem(answer, 500, "internal")
    assert WORDS not in answer.text
    assert told["instance"] in caplog.text
    assert "RuntimeError" in caplog.text
    assert WORDS not in caplog.text


def test_every_error_of_infold_has_a_status_and_a_code() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.InfoldError)]
    codes = {kind.__name__: of_error(kind("x")) for kind in kinds}
    assert {name for name, one in codes.items() if one.status_code == 500} == {"InfoldError"}
    assert (codes["DatabaseBusyError"].status_code, codes["DatabaseBusyError"].code) == (503, "database_busy")
    assert codes["DatabaseBusyError"].headers == {"Retry-After": "1"}
    assert (codes["DatabaseFullError"].status_code, codes["DatabaseFullError"].code) == (507, "database_full")
    assert (codes["ReadOnlyDatabaseError"].status_code, codes["ReadOnlyDatabaseError"].code) == (503, "read_only")


DEEP = [b"[" * n + b"]" * n for n in (101, 900, 50_000)]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    with start_server(tmp_path_factory.mktemp("api")) as running, running.client() as client:
        yield client


@pytest.mark.parametrize("value", [*DEEP, b"9" * 5000, b'"\xff"'], ids=["101", "900", "50000", "digits", "bytes"])
def test_E5_json_that_cannot_be_used(api: httpx2.Client, value: bytes) -> None:
    bodies = {
        "/v1/chats/a/messages": b'{"role": "user", "content": "hello", "more": %s}',
        "/v1/chats/a/context": b'{"tools": [{"name": %s}]}',
        "/v1/chats": b'{"config": {"overrides": %s}}',
    }
    for path, body in bodies.items():
        answer = api.post(path, content=body % value, headers={"Content-Type": "application/json"})
        problem(answer, 400, "malformed_json")
    assert api.get("/v1/chats").json()["items"] == []


@pytest.mark.parametrize(
    "kind",
    [errors.DatabaseBusyError, errors.DatabaseFullError, errors.ReadOnlyDatabaseError, errors.DatabaseError],
)
def test_E5_no_problem_names_the_database(kind: type[errors.DatabaseError]) -> None:
    assert "db.internal" not in of_error(kind("postgresql://ann:***@db.internal/x does not answer")).detail


def test_a_database_that_is_full(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'full.db'}?max_page_count=90"
    with start_server(tmp_path, database=url) as running, running.client() as api:
        large = {"role": "user", "content": "word " * 100_000}
        problem(api.post("/v1/chats/a/messages", json=large), 507, "database_full")
        assert api.get("/readyz").status_code == 200
        assert api.get("/v1/chats").status_code == 200


def test_a_database_that_is_only_read(tmp_path: Path) -> None:
    with start_server(tmp_path) as running, running.client() as api:
        api.post("/v1/chats/a/messages", json={"role": "user", "content": "hello"})
    with start_server(tmp_path, database=f"{running.database}?mode=ro") as running, running.client() as api:
        problem(api.post("/v1/chats/a/messages", json={"role": "user", "content": "more"}), 503, "read_only")
        assert len(api.get("/v1/chats/a/messages").json()["items"]) == 1


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("DELETE", "/v1/chats/a?dry_run=true", b""),
        ("POST", "/v1/users/ann/forget?dry_run=true", b""),
        ("POST", "/v1/users/ann/forget", b'{"dry_run": true}'),
        ("POST", "/v1/chats/a/fold", b"{nope"),
        ("POST", "/v1/chats/a/messages?usr=ann", b'{"role": "user", "content": "hello"}'),
        ("GET", "/v1/chats?Limit=1", b""),
        ("GET", "/v1/memory/context?chat_id=a&query=q&max_token=9", b""),
        ("GET", "/v1/verify?chat=a", b""),
    ],
)
def test_E5_what_a_route_does_not_know_is_refused(tmp_path: Path, method: str, path: str, body: bytes) -> None:
    app = create_app(ServiceSettings(database=f"sqlite:///{tmp_path / 'a.db'}"))

    async def ask() -> tuple[httpx2.Response, httpx2.Response]:
        client = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost")
        async with app.router.lifespan_context(app), client:
            await client.post("/v1/chats/a/messages?user=ann", json={"role": "user", "content": "My seat is 14C."})
            answer = await client.request(method, path, content=body, headers={"content-type": "application/json"})
            return answer, await client.get("/v1/chats/a/messages")

    answer, messages = asyncio.run(ask())
    told = problem(answer, 422, "invalid_request")
    assert told["errors"][0]["where"].startswith(("query.", "body"))
    assert len(messages.json()["items"]) == 1
    assert messages.json()["items"][0]["message"]["content"] == "My seat is 14C."
