"""Folds that are worked out before the database is locked for them, and what is done for the file while nobody waits."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from infold import Chat, Memory, Message, formats, summarize_memory
from infold.folder import fold_written
from infold.folding import merge
from infold.foreseeing import MOST_AT_ONCE, Due, Foreseen, planned
from infold.ledger.rows import Event
from infold.messages import parse
from infold.quiet import Quiet, quiet
from infold.state import State
from tests import proxied
from tests.conftest import assistant, ticking_clock, user, words

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


def much(n: int, length: int) -> list[dict[str, object]]:
    told = (
        f"My colleague Anna{n} lives in Town{n}. The deadline of project P{n} is May {n % 28 + 1}. We decided to use tool T{n} "
        f"for module M{n}. The budget of trip {n} is {n * 111} euros. {words(length, f'q{n}')}"
    )
    return [user(told), assistant(f"Noted, ticket TK-{n}99 is booked for flight LH{n}4.")]


@pytest.mark.parametrize(
    ("preset", "window", "length"),
    [("default", WINDOW, 0), ("rolling", WINDOW, 0), ("chain", WINDOW, 0), ("rolling", 700, 60), ("chain", 900, 20)],
)  # the last two make more room than was planned, as memory has grown
def test_B6_a_fold_made_apart_is_the_same_fold(memory: Memory, preset: str, window: int, length: int) -> None:
    inside, apart = (memory.chat(name, preset=preset, context_window=window) for name in ("inside", "apart"))
    folds = 0
    for n in range(60):
        turn = much(n, length) if length else said(n)
        inside.add(turn)
        before = apart.memory.cursor
        for one in turn:
            apart.append([parse(one)], apart=True)
            apart.fold_due()
        folds += apart.memory.cursor > before
        assert told(apart) == told(inside)
    assert folds > 1
    assert apart.verify().ok


@pytest.mark.parametrize("preset", ["default", "chunked", "layered", "engine"])
def test_B6_a_reply_of_several_messages_is_folded_as_often(memory: Memory, preset: str) -> None:
    inside, apart = (memory.chat(name, preset=preset, context_window=4096) for name in ("inside", "apart"))
    for chat in (inside, apart):
        chat.append(formats.parse(user("Please do all of it.")), fold=False)
        for n in range(60):
            text = [{"type": "output_text", "text": words(120, f"a{n}")}]
            reply = [
                *formats.parse({"type": "message", "role": "assistant", "content": text}),
                *formats.parse({"type": "function_call", "call_id": f"k{n}", "name": "go", "arguments": "{}"}),
            ]
            chat.append(reply, repair=True, apart=chat is apart)
            chat.fold_due()
            result = {"type": "function_call_output", "call_id": f"k{n}", "output": "done " * 20}
            chat.append([*formats.parse(result), *formats.parse(user(words(40, f"q{n}")))], repair=True, fold=False)
    assert inside.memory.cursor > 60
    assert told(apart) == told(inside)


def due(memory: Memory, name: str = "a", chat: Chat | None = None) -> Chat:
    """A chat with a fold that is due."""
    chat = chat or memory.chat(name, context_window=WINDOW)
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
            one.cache, _ = one._rewriter._decided(connection, state, *planned(state), known)
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


def test_F6_what_is_forgotten_while_a_fold_is_worked_out_stays_forgotten(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = memory.chat("a", context_window=WINDOW)
    chat.add([user("My colleague Zebulon lives in Quito.", id="secret"), assistant("Noted.")])
    due(memory, chat=chat)
    foreseen = Due.foreseen

    def forgetting(self: Due) -> Foreseen:
        found = foreseen(self)
        assert memory.chat("a").forget("secret")
        return found

    monkeypatch.setattr(Due, "foreseen", forgetting)
    chat.fold_due()
    assert chat.memory.cursor
    assert not [fact for fact in chat.facts if "Zebulon" in fact.text]
    assert not [entity for entity in chat.entities if "Zebulon" in entity.name]
    assert "Zebulon" not in chat.summary


def test_B9_an_answer_does_not_set_back_what_was_decided_since(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tick, turns = ticking_clock(), iter(range(1000))

    def turn(chat: Chat, folds: bool = True) -> None:
        for one in said(next(turns)):
            chat.append([parse(one)], apart=True)
            if folds:
                chat.fold_due()

    with Memory(url, clock=tick) as memory:
        chat = memory.chat("a", preset="rolling", context_window=100_000)
        while not chat.memory.cursor:
            turn(chat)
        while chat.cache is None or chat.cache.marks.seen == chat.cache.row.last_seq:
            turn(chat, folds=False)
    seen: list[int] = []
    after: list[int] = []

    def spied(*args: Any) -> tuple[State, list[Event]]:
        state, events = fold_written(*args)
        after.append(state.marks.seen)
        return state, events

    monkeypatch.setattr("infold.rewriter.fold_written", spied)

    def summarizer(summary: str, messages: Sequence[Message]) -> str:
        if not seen:  # messages come and are decided on while it thinks
            for _ in range(12):
                turn(chat)
            assert chat.cache is not None
            seen.append(chat.cache.marks.seen)
        return summarize_memory(summary, messages)

    with Memory(url, clock=tick, summarizer=summarizer) as memory:
        chat = memory.chat("a")
        chat._rewriter.work()
        memory.settle()
        assert seen
        assert after
        assert min(after) >= seen[0]
        assert chat.verify().ok


def test_the_first_jobs_start_one_thread() -> None:
    for _ in range(10):
        before, own, together = threading.enumerate(), Quiet(), threading.Barrier(8)

        def ask(number: int, own: Quiet = own, together: threading.Barrier = together) -> None:
            together.wait(60)
            own.soon(number, iter(()))

        asking = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for one in asking:
            one.start()
        for one in asking:
            one.join(60)
        started = [one for one in threading.enumerate() if one not in before and one.name == "infold-quiet"]
        assert len(started) == 1


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


@pytest.mark.sqlite
def test_who_closes_the_file_waits_for_what_is_written_to_it(
    memory: Memory, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.chat("a").add(user("The gate code is 4711#."))
    quiet.clear()
    began, goes_on = threading.Event(), threading.Event()
    connect = sqlite3.connect

    def slowly(*args: object, **options: object) -> sqlite3.Connection:
        began.set()
        assert goes_on.wait(60)
        return connect(*args, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr("infold.ledger.sqlite.sqlite3.connect", slowly)
    tidying = threading.Thread(target=lambda: [*memory.database.backend.tidy()])
    tidying.start()
    assert began.wait(60)
    closing = threading.Thread(target=memory.close)
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    goes_on.set()
    closing.join(60)
    tidying.join(60)
    assert not Path(f"{url.removeprefix('sqlite:///')}-wal").exists()


@pytest.mark.parametrize("preset", ["default", "chunked", "engine"])
def test_B6_a_long_history_is_folded_part_by_part(memory: Memory, preset: str) -> None:
    chat = memory.chat("a", preset=preset, context_window=4000)
    history = [parse(one) for n in range(500) for one in said(n)]
    chat.append(history, fold=False)
    chat.append([parse(user("And now?"))], fold=False)
    chat.append([parse(assistant("Now we go on."))], apart=True)
    while (cursor := chat.memory.cursor) >= 0 and chat.fold_due():
        assert 0 < chat.memory.cursor - cursor <= MOST_AT_ONCE
        assert chat.verify().ok
    assert len(history) - chat.memory.cursor < MOST_AT_ONCE
    assert not chat.fold_due()
    with chat.reading() as (_, state):
        assert planned(state)[0] is None
    assert chat.verify().ok
