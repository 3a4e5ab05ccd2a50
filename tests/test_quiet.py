"""Folded messages are laid out for recall, and the log is written to the file, in the quiet after the turn that added them."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from infold import Memory
from infold.once import Once
from infold.quiet import _MOST, GATHERED, PAUSE, Quiet
from infold.quiet import quiet as everywhere
from tests.conftest import Clock, turn, user
from tests.proxied import eventually


def steps(*ones: Callable[[], object]) -> Iterator[None]:
    for number, one in enumerate(ones):
        if number:
            yield
        one()


@pytest.fixture
def quiet(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Quiet:
    """Without its thread."""
    monkeypatch.setattr(Quiet, "_run", lambda _: None)
    return Quiet(clock)


def test_nothing_is_done_while_somebody_is_at_work(quiet: Quiet, clock: Clock) -> None:
    done: list[int] = []
    for number in range(3):
        with quiet:
            quiet.soon(number, steps(partial(done.append, number)))
            clock.now += 2 * GATHERED  # however long it takes
            assert quiet.step() == PAUSE
        clock.now += PAUSE / 2
        wait = quiet.step()
        assert wait is not None
        assert 0 < wait <= PAUSE
    assert done == []
    clock.now += PAUSE
    assert [quiet.step() for _ in range(2)] == [0.0, 0.0]
    with quiet:
        assert quiet.step() == PAUSE
    assert quiet.step() == pytest.approx(PAUSE)
    clock.now += PAUSE
    assert [quiet.step() for _ in range(2)] == [0.0, None]
    assert done == [0, 1, 2]


def test_jobs_are_gathered_and_then_done_in_one_go(quiet: Quiet, clock: Clock) -> None:
    done: list[int] = []
    quiet.soon(0, steps(partial(done.append, 0)))
    assert quiet.step() == pytest.approx(GATHERED)
    clock.now += GATHERED / 2
    quiet.soon(1, steps(partial(done.append, 1)))
    assert quiet.step() == pytest.approx(GATHERED / 2)
    clock.now += GATHERED / 2
    assert [quiet.step() for _ in range(3)] == [0.0, 0.0, None]  # the younger one goes with the older
    quiet.soon(2, steps(partial(done.append, 2)))
    assert quiet.step() == pytest.approx(GATHERED)
    assert done == [0, 1]


def test_a_job_is_done_once_fails_alone_and_the_oldest_give_way(quiet: Quiet, clock: Clock) -> None:
    done: list[int] = []

    def fail() -> None:
        raise ValueError("no")

    for number in range(-1, _MOST):
        for _ in range(2):
            quiet.soon(number, steps(partial(done.append, number) if number % 2 else fail))
    clock.now += GATHERED
    while quiet.step() is not None:
        pass
    assert done == [*range(1, _MOST, 2)]
    quiet.soon(0, steps(fail))
    quiet.clear()
    assert quiet.step() is None


def test_who_comes_between_the_steps_of_a_job_goes_first(quiet: Quiet, clock: Clock) -> None:
    done: list[int] = []
    add = done.append
    quiet.soon(1, steps(partial(add, 1), partial(add, 2), partial(add, 3)))
    quiet.soon(2, steps(partial(add, 4)))
    clock.now += GATHERED
    assert quiet.step() == 0.0
    with quiet:
        assert quiet.step() == PAUSE
    assert quiet.step() == pytest.approx(PAUSE)
    assert done == [1]
    clock.now += PAUSE
    assert [quiet.step() for _ in range(4)] == [0.0, 0.0, 0.0, None]
    assert done == [1, 2, 3, 4]


def test_a_job_that_is_asked_for_again_meanwhile_is_begun_again(quiet: Quiet, clock: Clock) -> None:
    done: list[int] = []
    add = done.append
    quiet.soon(
        1, steps(partial(add, 1), lambda: quiet.soon(1, steps(partial(add, 3), partial(add, 4))), partial(add, 2))
    )
    clock.now += GATHERED
    while quiet.step() is not None:
        pass
    assert done == [1, 3, 4]
    quiet.soon(1, steps(partial(add, 5), quiet.clear, partial(add, 6)))
    clock.now += GATHERED
    while quiet.step() is not None:
        pass
    assert done == [1, 3, 4, 5]


@pytest.mark.parametrize("turns", [70, 200])
def test_D8_a_chat_that_is_folded_is_laid_out_before_anybody_asks(memory: Memory, url: str, turns: int) -> None:
    chat = memory.chat("a", context_window=2000)
    for number in range(turns):
        chat.add([*turn(number)])
    chat.settle()

    def laid_out() -> int:
        kept = memory.recaller._chats.get(chat.key)
        return kept.upto if kept else 0

    if turns < 100:  # nothing is indexed and nobody has asked for anything: the embedder is not loaded for this
        assert not laid_out()
        assert not memory.recaller.at_hand
    other = memory.chat("b")
    other.add(user("My brother lives in Ghent."))
    assert other.recall("brother")
    chat.add(user("My sister Marta moved to Porto in May."))
    eventually(laid_out, lambda upto: upto == 2 * turns)  # the question itself is not searched for
    with Memory(url) as fresh:
        for question in ("What is said of number 17?", "my sister Marta"):
            assert chat.recall(question) == fresh.chat("a").recall(question)
            assert chat.context(question).hash == fresh.chat("a").context(question).hash


def test_of_too_many_things_the_oldest_give_way() -> None:
    made: list[int] = []

    def make(number: int) -> str:
        made.append(number)
        return f"tea {number}"

    once: Once[str] = Once(3)
    for number in (1, 2, 3, 2, 4, 5, 4, 1):
        assert once.get(number, partial(make, number)) == f"tea {number}"
    assert made == [1, 2, 3, 4, 5, 1]
    once.clear()
    once.get(1, partial(make, 1))
    assert made[-2:] == [1, 1]


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

    assert eventually(written, bool) == 1
    memory.close()
    steps = memory.database.backend.tidy()  # too late: nothing is opened any more
    assert [*steps] == [None]
    assert not Path(f"{url.removeprefix('sqlite:///')}-wal").exists()
    everywhere.clear()


@pytest.mark.sqlite
def test_who_closes_the_file_waits_for_what_is_written_to_it(
    memory: Memory, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.chat("a").add(user("The gate code is 4711#."))
    everywhere.clear()
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
