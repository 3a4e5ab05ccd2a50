"""What a server on a SQLite file does by itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from infold import Memory
from infold.service.app import create_app
from infold.service.settings import ServiceSettings
from tests import rawsql
from tests.conftest import user


def test_E4_retention_goes_on_after_an_error_nobody_expected(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with Memory(url) as memory:
        memory.chat("a").add(user("hello"))
    rawsql.change(url, "UPDATE messages SET created_at = 1")
    rawsql.change(url, "UPDATE chats SET policy = 'no JSON'")
    app = create_app(ServiceSettings(database=url, retention="archive", compact_every=1.0))

    async def run() -> None:
        async with app.router.lifespan_context(app), asyncio.timeout(60):
            while caplog.text.count("chat 'a' was not compacted (ConfigError)") < 2:
                await asyncio.sleep(0.05)

    asyncio.run(run())
