"""The description of the API is true: generated requests, good and bad, get answers that it describes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.conftest import assistant, user
from tests.servers import Running, start_server
from tests.test_api_keys import CASES, OPEN

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
KNOWN = {"chat_id": "known", "user": "ann"}
# Streams do not end (their tests are elsewhere); what removes the chat would leave nothing to ask the others about.
STREAM = ("get", "/v1/chats/{chat_id}/events/stream")
REMOVING = {("delete", "/v1/chats/{chat_id}"), ("post", "/v1/users/{user}/forget")}
GOOD, BAD = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
ROUTES = sorted({*CASES, *OPEN} - {STREAM})
# Bad requests can be made where there is a body, or a query with a limit or a budget.
LISTS = ("/chats", "/messages", "/records", "/facts", "/entities", "/events", "/context")
ASKED = [(route, GOOD) for route in ROUTES] + [
    (route, BAD)
    for route in ROUTES
    if route not in OPEN and (CASES[route].body is not None or (route[0] == "get" and route[1].endswith(LISTS)))
]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with start_server(tmp_path_factory.mktemp("api")) as started, started.client() as client:
        for n in range(7):
            turn = [user(f"We decided to use rope {n}; I live in Berlin.", id=f"u{n}"), assistant("Fine.", id=f"a{n}")]
            client.post("/v1/chats/known/messages", json=turn, params={"preset": "rolling", "user": "ann"})
        client.post("/v1/chats/known/pins", json={"text": "Keep this."})
        client.put("/v1/chats/known/entities", json={"kind": "task", "name": "Buy rope"})
        yield started


@pytest.fixture(scope="module")
def described(running: Running) -> Any:
    return schemathesis.openapi.from_url(f"{running.url}/openapi.json")


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as opened:
        yield opened


@pytest.mark.parametrize(("route", "mode"), ASKED, ids=[f"{' '.join(route)} {mode.value}" for route, mode in ASKED])
def test_answers_are_as_described(
    described: Any, session: requests.Session, route: tuple[str, str], mode: GenerationMode
) -> None:
    method, path = route
    operation = described[path][method.upper()]

    @seed(6)
    @settings(
        max_examples=8,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(mode), st.booleans())
    def ask(case: Case[Any], known: bool) -> None:
        if known and route not in REMOVING:
            for place in (case.path_parameters, case.query):
                for name, value in KNOWN.items():
                    if isinstance(place, dict) and name in place:
                        place[name] = value
        case.call_and_validate(session=session, checks=CHECKS)

    ask()


def test_the_chat_is_still_there_and_sound(running: Running) -> None:
    with running.client() as client:
        proof = client.get("/v1/verify").json()
        assert proof["ok"], proof["problems"]
