"""F7: recall says the same in every process, however a chat grew, whatever became of its index."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from infold import Chat, Memory
from infold.ledger.derived import BLOCK
from infold.messages import canonical_json
from tests.conftest import START, counted_ids, ticking_clock, user
from tests.test_recall import QUESTIONS, chatter, long_chat, long_path, needles, opened, small

__all__ = ["long_chat", "long_path"]


def views(chat: Chat, questions: Iterable[str] = QUESTIONS) -> str:
    """What a chat answers, byte for byte."""
    asked = list(questions)
    contexts = [chat.context(question, max_tokens=size).messages for question in asked for size in (400, 3000)]
    return canonical_json([contexts, [repr(chat.recall(question, limit=20)) for question in asked]])


def blocks(path: Path) -> list[tuple[int, bytes]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT first_seq, data FROM recall_blocks ORDER BY chat, first_seq").fetchall()


def change(path: Path, sql: str, *values: Any) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql, values)


@pytest.fixture
def path(long_path: Path, tmp_path: Path) -> Path:
    """The long chat, to be changed."""
    return Path(shutil.copy(long_path, tmp_path / "long.db"))


def test_F7_indexed_or_not_is_no_difference(long_chat: Chat, path: Path) -> None:
    expected = views(long_chat)
    change(path, "DELETE FROM recall_blocks")
    with opened(path, "?mode=ro") as memory:
        assert views(memory.chat("a")) == expected
    assert blocks(path) == []
    with opened(path) as memory:
        assert views(memory.chat("a")) == expected
    change(path, "DELETE FROM recall_blocks WHERE first_seq % 3 = 0")  # there are none; then a gap in the middle
    with opened(path) as memory:
        memory.recaller.index(1)
    change(path, "DELETE FROM recall_blocks WHERE first_seq = ?", 2 * BLOCK + 1)
    with opened(path) as memory:
        assert views(memory.chat("a")) == expected


def damage(path: Path, number: int) -> None:
    first, data = blocks(path)[number]
    flipped = data[:7] if number == 3 else bytes([*data[:200], data[200] ^ 0xFF, *data[201:]])
    change(path, "UPDATE recall_blocks SET data = ? WHERE first_seq = ?", flipped, first)


def later(chat: Chat) -> None:
    chat.add([{**message, "id": f"new-{at}"} for at, message in enumerate(chatter(1500, 1700))])


@pytest.mark.parametrize("number", [0, 3, 9, -1])
def test_D7_a_damaged_block_is_made_again(
    long_chat: Chat, path: Path, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    expected, whole = views(long_chat), blocks(path)
    assert len(whole) > 15
    damage(path, number)
    with opened(path, "?mode=ro") as memory:
        assert views(memory.chat("a")) == expected
    with caplog.at_level(logging.WARNING, "infold"), opened(path) as memory:
        chat = memory.chat("a")
        assert views(chat) == expected
        assert "damaged" in caplog.text
        later(chat)
    assert blocks(path)[: len(whole)] == whole  # repaired with the next fold


def test_D7_every_damaged_block_is_made_again(path: Path) -> None:
    whole = blocks(path)
    for number in (2, 3, 9):
        damage(path, number)
    with opened(path) as memory:
        memory.chat("a").recall(QUESTIONS[0])
    assert blocks(path) == whole


def test_F7_growing_with_questions_in_between_is_no_difference(tmp_path: Path) -> None:
    said = [*needles(), *chatter(0, 200)]
    with opened(tmp_path / "chats.db") as memory:
        chat = memory.chat("a", config=small())
        chat.add(said)
        memory.settle()
        expected = views(chat)
    (tmp_path / "grown").mkdir()
    with opened(tmp_path / "grown" / "chats.db") as memory:
        chat = memory.chat("a", config=small())
        for at, message in enumerate(said):
            chat.add(message)
            if at % 23 == 7:
                chat.context(QUESTIONS[at % len(QUESTIONS)], max_tokens=500)
                chat.recall("which part of the piano?")
        assert views(chat) == expected
        memory.settle()
        assert views(chat) == expected


def test_F7_after_a_rewind_only_the_new_words_are_found(tmp_path: Path) -> None:
    kept, gone, new = chatter(0, 100), chatter(100, 250), chatter(300, 420)
    secret = user("The otter is called Bartholomew.", created_at=START)
    with opened(tmp_path / "one.db") as memory:
        chat = memory.chat("a", config=small())
        stored = chat.add([*needles(), *kept])
        chat.add([secret, *gone])
        memory.settle()
        assert "Bartholomew" in chat.recall("What is the otter called?")[0].text
        chat.rewind(stored[-1].id)
        assert not any("Bartholomew" in hit.text for hit in chat.recall("What is the otter called?"))
        chat.add(new)
        memory.settle()
        found = views(chat, [*QUESTIONS, "What is the otter called?", "What of drawer 3 and the lecture?"])
        places = [repr(one)[:60] for one in chat.recall("otter Bartholomew", kinds=["message"])]
    assert places == []
    with opened(tmp_path / "other.db") as memory:
        chat = memory.chat("a", config=small())
        chat.add([*needles(), *kept])
        chat.add(new)
        other = views(chat, [*QUESTIONS, "What is the otter called?", "What of drawer 3 and the lecture?"])
    plain = [json.loads(text)[0] for text in (found, other)]
    assert plain[0] == plain[1]  # ids of messages differ, so hits are not compared


def test_F7_another_process_says_the_same(long_chat: Chat, long_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom tests.test_recall import opened\nfrom tests.test_recall_same import views\n"
        "sys.stdout.reconfigure(encoding='utf-8')\n"
        "with opened(Path(sys.argv[1]), '?mode=ro') as memory:\n    print(views(memory.chat('a')), end='')"
    )
    root = Path(__file__).parent.parent
    run = subprocess.run(
        [sys.executable, "-c", code, str(long_path)], capture_output=True, cwd=root, timeout=60, check=False,
        # Of the environment, what says how numpy calculates must be the same: kernels round differently in the sixth digit.
        env={**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}", "PYTHONHASHSEED": "77", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert run.stderr.decode() == ""
    assert run.stdout.decode() == views(long_chat)


def test_D8_the_clock_is_read_only_for_words_like_yesterday(url: str) -> None:
    with Memory(url, clock=ticking_clock(), ids=counted_ids()) as memory:
        chat = memory.chat("a", config=small())
        chat.add([*needles(), *chatter(0, 60)])
        assert views(chat) == views(chat)
