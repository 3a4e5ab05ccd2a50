"""Folds that are worked out before the database is locked for them, and what is done for the file while nobody waits."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from infold import Chat, Memory
from infold.folder import finish_fold, fold_messages
from infold.folding import merge
from infold.foreseeing import Due
from infold.messages import parse
from infold.quiet import Quiet, quiet
from tests import proxied
from tests.conftest import assistant, user, words

WINDOW = 2048


def said(n: int) -> list[dict[str, object]]:
    told = f"My sister Marta moved to number {n}. She decided on plan {n}. The budget is {n * 111} euros."
    return [user(told), assistant(words(30, f"a{n}"))]


def told(chat: Chat) -> tuple[object, ...]:
    """What a chat holds, whatever it was called and whenever it was made."""
    memory, row = chat.memory, chat.cache
    assert row is not None
    items = [(item.layer, item.section, item.text, item.sources) for item in row.items]
    folds = [(fold.kind, fold.first_seq, fold.last_seq, fold.author, fold.reason) for fold in row.folds]
    return memory.cursor, items, folds, row.marks, [fact.text for fact in chat.facts]


@pytest.mark.parametrize("preset", ["default", "rolling", "chain"])
def test_B6_a_fold_made_apart_is_the_same_fold(memory: Memory, preset: str) -> None:
    inside, apart = (memory.chat(name, preset=preset, context_window=WINDOW) for name in ("inside", "apart"))
    folds = 0
    for n in range(60):
        inside.add(said(n))
        before = apart.memory.cursor
        for one in said(n):
            apart.append([parse(one)], apart=True)
            apart.fold_due()
        folds += apart.memory.cursor > before
        assert told(apart) == told(inside)
    assert folds > 1
    assert apart.verify().ok


def due(memory: Memory, name: str = "a") -> Chat:
    """A chat with a fold that is due."""
    chat = memory.chat(name, context_window=WINDOW)
    for n in range(60):
        chat.append([parse(one) for one in said(n)], apart=True)
        assert chat.cache is not None
        if chat.cache.marks.seen < chat.cache.row.last_seq:
            return chat
    raise AssertionError("nothing was ever due")


def _add(chat: Chat) -> None:
    chat.add(said(99))


def _pin(chat: Chat) -> None:
    chat.pin("The gate code is 4711#.")


def _forget(chat: Chat) -> None:
    chat.forget(chat.messages()[0].id)


def _rewind(chat: Chat) -> None:
    chat.rewind(chat.messages()[3].id)


@pytest.mark.parametrize("change", [_add, _pin, _forget, _rewind])
def test_B9_what_was_foreseen_is_used_only_for_what_it_was_made_of(
    memory: Memory, change: Callable[[Chat], None]
) -> None:
    chat, plain = due(memory), due(memory, "b")
    with chat.reading() as (connection, state):
        foreseen = (Due.of(connection, state) or pytest.fail("nothing is due")).foreseen()
        assert foreseen.holds(state, len(foreseen.due.messages))
        assert not foreseen.holds(state, len(foreseen.due.messages) - 1)
    for one, known in ((chat, foreseen), (plain, None)):
        change(one)
        with one.writing() as (connection, state):
            assert not foreseen.holds(state, len(foreseen.due.messages)) or change is _pin
            state, _ = one._rewriter.decide(connection, state, partial(fold_messages, foreseen=known))
            one.cache, _ = finish_fold(connection, state, (), memory.clockwork)
    assert told(chat) == told(plain)
    assert chat.verify().ok


def test_B6_other_chats_go_on_while_a_fold_is_worked_out(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    chat, other = due(memory), memory.chat("b")
    began, goes_on = threading.Event(), threading.Event()
    fold = merge.fold_extractive

    def slowly(*args: object) -> object:
        began.set()
        assert goes_on.wait(60)
        return fold(*args)  # type: ignore[arg-type]

    monkeypatch.setattr("infold.foreseeing.fold_extractive", slowly)
    folding = threading.Thread(target=chat.fold_due)
    folding.start()
    assert began.wait(60)
    other.add(user("Meanwhile, in another chat."))
    assert other.context().messages
    chat.add(said(99))  # which makes the fold itself
    cursor = chat.memory.cursor
    assert cursor
    goes_on.set()
    folding.join(60)
    assert chat.memory.cursor == cursor
    assert chat.verify().ok


def test_who_folds_gives_way_for_a_while() -> None:
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += 1
        return now

    own = Quiet(clock)
    own.give_way(100)
    assert now == 0
    with own:
        own.give_way(5)
    assert now >= 5


@pytest.mark.sqlite
def test_what_is_in_the_log_is_written_to_the_file_while_nobody_waits(memory: Memory, url: str, tmp_path: Path) -> None:
    chat = memory.chat("a")
    chat.add(user("The gate code is 4711#."))

    def written() -> int:
        alone = shutil.copy(url.removeprefix("sqlite:///"), tmp_path / "alone.db")  # without its log
        with sqlite3.connect(alone) as copied:
            return int(copied.execute("SELECT count(*) FROM messages").fetchone()[0])

    assert proxied.eventually(written, bool) == 1
    memory.close()
    steps = memory.database.backend.tidy()  # too late: nothing is opened any more
    assert [*steps] == [None]
    assert not Path(f"{url.removeprefix('sqlite:///')}-wal").exists()
    quiet.clear()
