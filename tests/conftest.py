"""What the tests share: a repeatable memory on a real file, and messages of a given size."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from infold import Memory
from infold.messages import parse
from infold.tokens import count, message_tokens
from tests.databases import POSTGRES
from tests.postgres import Server
from tests.postgres import server as running
from tests.upstream import Upstream

START = 1_767_225_600_000  # 2026-01-01, in milliseconds
MARK_KEY = b"the key of a database is drawn once"
"""Marks of memory blocks are random digits otherwise, and may hold a number that a test looks for."""

# The same examples every time, unless somebody is hunting for new ones.
settings.register_profile("repeatable", derandomize=not os.environ.get("INFOLD_FUZZ"), deadline=None)
settings.load_profile("repeatable")


class Clock:
    """Seconds, moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def ticking_clock(start: int = START, step: int = 1000) -> Callable[[], int]:
    """A clock that moves one step each time it is read."""
    return itertools.count(start, step).__next__


def counted_ids(prefix: str = "id") -> Callable[[], str]:
    """Ids that depend only on how many were drawn."""
    numbers = itertools.count(1)
    return lambda: f"{prefix}-{next(numbers)}"


def words(tokens: int, salt: str = "") -> str:
    """A text of exactly so many tokens, different for each salt; no statement that memory would keep."""
    text = f"{salt} " if salt else ""
    text += "word " * max(0, tokens - count(text.strip()))
    text = text.strip()
    while count(text) > tokens and " " in text:
        text = text.rsplit(" ", 1)[0]
    assert count(text) == tokens or not salt, f"the salt {salt!r} alone has more than {tokens} tokens"
    return text


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def call(*ids: str, name: str = "lookup", arguments: str = "{}", content: str | None = None) -> dict[str, Any]:
    calls = [{"id": id, "type": "function", "function": {"name": name, "arguments": arguments}} for id in ids]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def result(id: str, content: str = '{"ok": true}') -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


def tokens_of(message: dict[str, Any]) -> int:
    return message_tokens(parse(message))


def turn(number: int, size: int = 8) -> list[dict[str, Any]]:
    """A user message and its answer, each of about `size` tokens."""
    return [user(words(size, f"q{number}")), assistant(words(size, f"a{number}"))]


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database without chats: copying it is much quicker than making one for each test."""
    path = tmp_path_factory.mktemp("empty") / "chats.db"
    Memory(f"sqlite:///{path}").close()
    return path


@pytest.fixture(scope="session")
def postgres() -> Server:
    """The PostgreSQL server of this process."""
    return running()


@pytest.fixture
def postgres_url(postgres: Server) -> Iterator[str]:
    """A PostgreSQL database without chats."""
    with postgres.database() as address:
        yield address


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    """A database without chats: a SQLite file, or what INFOLD_TEST_DATABASE says."""
    if POSTGRES:
        if request.node.get_closest_marker("sqlite"):
            pytest.skip("looks into a SQLite file")
        return str(request.getfixturevalue("postgres_url"))
    tmp_path = request.getfixturevalue("tmp_path")
    return f"sqlite:///{shutil.copy(request.getfixturevalue('empty'), tmp_path / 'chats.db')}"


@pytest.fixture
def memory(url: str) -> Iterator[Memory]:
    with Memory(url, clock=ticking_clock(), ids=counted_ids(), mark_key=MARK_KEY) as opened:
        yield opened


@pytest.fixture(scope="module")
def server() -> Iterator[Upstream]:
    """A scripted provider, one for all tests of a module."""
    with Upstream() as started:
        yield started


@pytest.fixture
def upstream(server: Upstream) -> Upstream:
    """The provider without script and without requests."""
    server.reset()
    return server


@pytest.fixture
def nobody() -> Iterator[str]:
    """The address of a server that is not there."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/v1"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On PostgreSQL, only tests that have a database: the others would say the same again."""
    if os.environ.get("INFOLD_TEST_DATABASE") != "postgresql":
        return
    wanted: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        names = {"url", "memory", "postgres_url"} & set(getattr(item, "fixturenames", ()))
        (wanted if names or hasattr(getattr(item, "module", None), "fresh") else left).append(item)
    items[:] = wanted
    config.hook.pytest_deselected(items=left)
