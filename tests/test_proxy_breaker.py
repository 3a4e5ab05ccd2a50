"""When the database is left alone, and when it is tried again."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from infold.errors import DatabaseBusyError, NotFoundError
from infold.service.breaker import FAILURES, PAUSE, Breaker
from tests.conftest import Clock


def ask(breaker: Breaker, error: BaseException | None = None) -> bool:
    """Whether somebody was let in, who then met this error."""
    try:
        breaker.check()
    except DatabaseBusyError:
        return False
    with suppress(BaseException), breaker.watching():
        if error is not None:
            raise error
    return True


@pytest.mark.parametrize("error", [DatabaseBusyError("away"), TimeoutError(), asyncio.CancelledError()])
def test_after_some_failures_in_a_row_nobody_waits(error: BaseException) -> None:
    clock = Clock()
    breaker = Breaker(clock)
    assert [ask(breaker, error) for _ in range(FAILURES + 3)] == [True] * FAILURES + [False] * 3
    clock.now += PAUSE - 0.1
    assert not ask(breaker)
    clock.now += 0.2
    breaker.check()
    with breaker.watching():  # one tries, and the others wait for what it finds
        assert not ask(breaker)
    assert [ask(breaker) for _ in range(3)] == [True] * 3


def test_a_try_that_fails_begins_another_pause() -> None:
    clock = Clock()
    breaker = Breaker(clock)
    for _ in range(FAILURES):
        ask(breaker, TimeoutError())
    for _ in range(5):
        clock.now += PAUSE + 0.1
        assert [ask(breaker, TimeoutError()), ask(breaker)] == [True, False]
    clock.now += PAUSE + 0.1
    assert [ask(breaker), ask(breaker)] == [True, True]


@pytest.mark.parametrize("answer", [None, NotFoundError("there is no such chat"), ZeroDivisionError()])
def test_a_database_that_answers_in_between_is_not_away(answer: Exception | None) -> None:
    breaker = Breaker(Clock())
    for _ in range(5):
        for _ in range(FAILURES - 1):
            assert ask(breaker, TimeoutError())
        assert ask(breaker, answer)


def test_who_cannot_do_without_it_finds_out_too() -> None:
    breaker = Breaker(Clock())
    for _ in range(FAILURES):
        ask(breaker, TimeoutError())
    assert not ask(breaker)
    with breaker.watching():
        pass
    assert ask(breaker)
