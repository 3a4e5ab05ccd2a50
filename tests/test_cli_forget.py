"""`infold forget` and `infold drift`, and their asyncio twins."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from infold import AsyncMemory, Memory, NotFoundError
from tests.conftest import assistant, user
from tests.test_cli import Run, in_folder

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


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    return in_folder(tmp_path, monkeypatch, capfd)


def test_F6_forget_prints_a_receipt(run: Run, database: str) -> None:
    code, out, _ = run("forget", "a", "m1", "--yes", "-d", database)
    assert code == 0
    assert "1 messages" in out
    assert "folds" in out
    with Memory(database) as memory:
        assert "violet" not in memory.chat("a").summary
        assert memory.verify().ok
    code, out, _ = run("forget", "a", "m1", "--yes", "-d", database)
    assert code == 0
    assert "nothing was left to forget" in out


def test_F6_forget_asks_first(run: Run, database: str) -> None:
    code, _, err = run("forget", "--user", "ann", "-d", database, stdin="n\n")
    assert code == 1
    assert "for good?" in err
    with Memory(database) as memory:
        assert [info.id for info in memory.chats()] == ["a"]
    code, out, _ = run("forget", "--user", "ann", "--json", "-d", database, stdin="y\n")
    assert code == 0
    assert json.loads(out[out.index("{") :])["chats"] == 1
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
def test_F6_what_cannot_be_forgotten_is_told(
    run: Run, database: str, arguments: list[str], code: int, told: str
) -> None:
    ended, _, err = run("forget", *arguments, "-d", database)
    assert ended == code
    assert told in " ".join(err.split())


def test_D6_drift_of_a_chat(run: Run, database: str) -> None:
    code, out, _ = run("drift", "a", "-d", database)
    assert code == 0
    assert "0%" in out
    found = json.loads(run("drift", "a", "--json", "-d", database)[1])
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
