"""`infold forget` and `infold drift`, and their asyncio twins."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from infold import AsyncMemory, Memory, NotFoundError
from infold.cli.app import app
from tests.conftest import assistant, user

run = CliRunner()
SECRET = "My locker code is 8812-violet."


@pytest.fixture
def database(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'chats.db'}"
    with Memory(url) as memory:
        chat = memory.chat("a", user="ann", preset="rolling")
        chat.add([user(SECRET, id="m1"), assistant("Noted.")])
        for n in range(8):
            chat.add([user(f"We decided to use rope {n} for crate {n}."), assistant("Fine.")])
    return url


def test_F6_forget_prints_a_receipt(database: str) -> None:
    done = run.invoke(app, ["forget", "a", "m1", "--yes", "-d", database])
    assert done.exit_code == 0
    assert "1 messages" in done.stdout
    assert "folds" in done.stdout
    with Memory(database) as memory:
        assert "violet" not in memory.chat("a").summary
        assert memory.verify().ok
    again = run.invoke(app, ["forget", "a", "m1", "--yes", "-d", database])
    assert again.exit_code == 0
    assert "nothing was left to forget" in again.stdout


def test_F6_forget_asks_first(database: str) -> None:
    refused = run.invoke(app, ["forget", "--user", "ann", "-d", database], input="n\n")
    assert refused.exit_code == 1
    with Memory(database) as memory:
        assert [info.id for info in memory.chats()] == ["a"]
    done = run.invoke(app, ["forget", "--user", "ann", "--json", "-d", database], input="y\n")
    assert done.exit_code == 0
    assert json.loads(done.stdout[done.stdout.index("{") :])["chats"] == 1
    with Memory(database) as memory:
        assert memory.chats() == []


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["a"], 2, "ids"),
        (["a", "nope", "--yes"], 1, "no message 'nope'"),
        (["nowhere", "m1", "--yes"], 1, "no chat 'nowhere'"),
        (["--user", "bob", "--yes"], 1, "no user 'bob'"),
        (["a", "m1", "--user", "ann"], 2, "not both"),
    ],
)
def test_F6_what_cannot_be_forgotten_is_told(database: str, arguments: list[str], code: int, told: str) -> None:
    done = run.invoke(app, ["forget", *arguments, "-d", database])
    assert done.exit_code == code
    assert told in " ".join(f"{done.output} {done.exception}".split())


def test_D6_drift_of_a_chat(database: str) -> None:
    shown = run.invoke(app, ["drift", "a", "-d", database])
    assert shown.exit_code == 0
    assert "0%" in shown.stdout
    found = json.loads(run.invoke(app, ["drift", "a", "--json", "-d", database]).stdout)
    assert found[0]["first"] == 1
    assert found[0]["drift"] == 0


def test_F6_asyncio_forgets_too(database: str) -> None:
    async def go() -> tuple[int, int, int]:
        async with AsyncMemory(database) as memory:
            chat = await memory.chat("a")
            receipt = await chat.forget("m1")
            with pytest.raises(NotFoundError):
                await chat.forget("nope")
            drifted = await chat.drift()
            ann = await memory.user("ann")
            return receipt.messages, len(drifted), (await ann.forget()).chats

    messages, drifted, chats = asyncio.run(go())
    assert (messages, chats) == (1, 1)
    assert drifted > 0
