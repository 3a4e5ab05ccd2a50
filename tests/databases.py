"""Fresh databases of the kind that INFOLD_TEST_DATABASE names: SQLite files, or those of a PostgreSQL server."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from infold import Memory
from tests.postgres import server

POSTGRES = os.environ.get("INFOLD_TEST_DATABASE") == "postgresql"


@functools.cache
def _empty() -> tuple[tempfile.TemporaryDirectory[str], Path]:
    """A file without chats: copying it is much quicker than making one for each test."""
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "empty.db"
    Memory(f"sqlite:///{path}").close()
    return folder, path


@contextmanager
def file() -> Iterator[str]:
    """The address of a SQLite file without chats, whatever tests run on; afterwards it is gone."""
    with tempfile.TemporaryDirectory(prefix="infold") as folder:
        yield f"sqlite:///{shutil.copy(_empty()[1], Path(folder) / 'chats.db')}"


@contextmanager
def fresh(*, migrated: bool = True) -> Iterator[str]:
    """The address of a database without chats, or without anything; afterwards it is gone."""
    if POSTGRES:
        with server().database("empty" if migrated else "template1") as address:
            yield address
        return
    with tempfile.TemporaryDirectory(prefix="infold") as folder:
        path = Path(folder) / "chats.db"
        if migrated:
            shutil.copy(_empty()[1], path)
        yield f"sqlite:///{path}"


@contextmanager
def copied(url: str) -> Iterator[str]:
    """The address of a copy of a database that nobody has open; afterwards it is gone."""
    if POSTGRES:
        with server().database(urlsplit(url).path[1:]) as address:
            yield address
        return
    with tempfile.TemporaryDirectory(prefix="infold") as folder:
        yield f"sqlite:///{shutil.copy(url.removeprefix('sqlite:///'), Path(folder) / 'copy.db')}"
