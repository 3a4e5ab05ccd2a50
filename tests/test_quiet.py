"""Messages are read, and laid out for recall, in the quiet after the turn that added them."""

from __future__ import annotations

from functools import partial

import pytest

from infold import Memory
from infold.folding import extractive
from infold.messages import parse
from infold.quiet import _MOST, PAUSE, Quiet
from tests.conftest import Clock, assistant, turn, user
from tests.proxied import eventually


@pytest.fixture
def quiet(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Quiet:
    """Without its thread."""
    monkeypatch.setattr(Quiet, "_run", lambda _: None)
    return Quiet(clock)


def test_nothing_is_done_while_somebody_is_at_work(quiet: Quiet, clock: Clock) -> None:
    done: list[int] = []
    for number in range(3):
        with quiet:
            quiet.soon(number, partial(done.append, number))
            clock.now += 10 * PAUSE  # however long it takes
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


def test_a_job_is_done_once_fails_alone_and_the_oldest_give_way(quiet: Quiet, clock: Clock) -> None:
    done: list[int] = []

    def fail() -> None:
        raise ValueError("no")

    for number in range(-1, _MOST):
        for _ in range(2):
            quiet.soon(number, partial(done.append, number) if number % 2 else fail)
    clock.now += 1
    while quiet.step() is not None:
        pass
    assert done == [*range(1, _MOST, 2)]
    quiet.soon(0, fail)
    quiet.clear()
    assert quiet.step() is None


def test_messages_of_a_chat_that_is_folded_are_read_before_anybody_asks(memory: Memory) -> None:
    chat = memory.chat("a", context_window=2000)
    for number in range(60):
        chat.add([*turn(number)])
    assert chat.memory.cursor
    chat.context("What did I say about my sister?")
    extractive.forget_read()
    added = chat.add([user("My sister Marta moved to Porto in May."), assistant("Good to know.")])
    assert isinstance(added, list)

    def read() -> set[object]:
        return {key[-1] for key in [*extractive._read]}

    eventually(read, lambda found: {message.text for message in added} <= found)


def test_of_too_many_readings_the_oldest_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extractive, "_MOST_READ", 3)
    extractive.forget_read()
    for number in range(1, 6):
        extractive.extract(parse(user(f"I prefer tea number {number}.")).stored(f"m{number}", number, 1, 9))
    assert [key[-1] for key in extractive._read] == [f"I prefer tea number {number}." for number in (3, 4, 5)]
