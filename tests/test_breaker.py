"""Patience with one model: the breaker, retries and their pauses."""

from __future__ import annotations

import threading
from itertools import pairwise

import pytest

from infold.ledger.rows import Call
from infold.models.caller import BACKOFF, FAILURES, MOST_PAUSE, MOST_WAIT, PAUSE, TRIES, Breaker, Caller
from infold.models.clients import Ask
from infold.models.errors import BadAnswerError, DeniedError, ModelError, TooLargeError, TransportError
from infold.models.spec import Model
from tests.conftest import Clock
from tests.upstream import Step, Upstream, step

ASK = Ask("You keep the memory.", "<messages>\n[1] user: My ticket is FACT-1201.\n</messages>", {}, "items.v1@0", 500)


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(clock)


def fail(breaker: Breaker, times: int = FAILURES) -> None:
    for _ in range(times):
        assert breaker.enter()
        breaker.failed()


def test_B7_some_failures_in_a_row_open_it(breaker: Breaker, clock: Clock) -> None:
    seen = []
    for _ in range(FAILURES):
        seen.append(breaker.closed)
        fail(breaker, 1)
    assert seen == [True] * FAILURES
    seen = []
    for seconds in (0, PAUSE - 0.01, 0.01):
        clock.now += seconds
        seen.append(breaker.closed)
    assert seen == [False, False, True]


def test_B7_a_success_between_them_starts_the_count_anew(breaker: Breaker) -> None:
    fail(breaker, FAILURES - 1)
    breaker.succeeded()
    fail(breaker, FAILURES - 1)
    assert breaker.closed


def test_B7_after_the_pause_one_probe_is_let_through(breaker: Breaker, clock: Clock) -> None:
    fail(breaker)
    clock.now += PAUSE
    assert [breaker.enter() for _ in range(5)] == [True, False, False, False, False]
    breaker.succeeded()
    assert [breaker.enter() for _ in range(5)] == [True] * 5


def test_B7_of_many_threads_one_probes(breaker: Breaker, clock: Clock) -> None:
    fail(breaker)
    clock.now += PAUSE
    entered: list[bool] = []
    barrier = threading.Barrier(8)

    def probe() -> None:
        barrier.wait()
        entered.append(breaker.enter())

    threads = [threading.Thread(target=probe) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(entered) == 1


def test_B7_each_failed_probe_doubles_the_pause_up_to_a_limit(breaker: Breaker, clock: Clock) -> None:
    fail(breaker)
    pauses = []
    for _ in range(8):
        before = clock.now
        while not breaker.closed:
            clock.now += 1
        pauses.append(clock.now - before)
        assert breaker.enter()
        breaker.failed()
    assert pauses == [min(PAUSE * 2**at, MOST_PAUSE) for at in range(8)]
    assert pauses[-1] == MOST_PAUSE


def test_B7_a_probe_that_never_reports_does_not_block_for_good(breaker: Breaker, clock: Clock) -> None:
    fail(breaker)
    clock.now += PAUSE
    assert breaker.enter()  # and its thread dies
    clock.now += PAUSE
    assert breaker.enter()


def test_B7_what_nobody_can_repair_by_waiting_opens_it_at_once(breaker: Breaker) -> None:
    assert breaker.enter()
    breaker.failed(at_once=True)
    assert not breaker.closed


def test_B7_a_long_wish_to_wait_is_granted(breaker: Breaker, clock: Clock) -> None:
    assert breaker.enter()
    breaker.failed(90)
    clock.now += 89
    assert not breaker.closed
    clock.now += 1
    assert breaker.closed


def test_B7_a_short_wish_counts_as_a_failure_like_others(breaker: Breaker) -> None:
    for at in range(FAILURES):
        assert breaker.closed, at
        breaker.failed(MOST_WAIT / 2)
    assert not breaker.closed


@pytest.mark.parametrize("wait", [1e12, float("inf"), float("nan")])
def test_B7_an_absurd_wish_to_wait_is_bounded(breaker: Breaker, clock: Clock, wait: float) -> None:
    fail(breaker, FAILURES - 1)
    breaker.failed(wait)
    clock.now += 24 * 60 * 60
    assert breaker.closed


# A caller ------------------------------------------------------------------------------------------------


def caller_of(upstream: Upstream, timeout: float = 20) -> Caller:
    return Caller(Model("gpt-test", base_url=upstream.url, timeout=timeout), lambda: 1)


def outcomes(caller: Caller) -> list[str]:
    calls: list[Call] = []
    try:
        caller.ask(ASK, calls)
    except ModelError:
        pass
    finally:
        caller.close()
    return [call.outcome for call in calls]


@pytest.mark.parametrize(
    ("script", "made"),
    [
        ([], ["ok"]),
        (["503"], ["transport", "ok"]),
        (["503", "503"], ["transport"] * 2),
        (["500", "reset"], ["transport"] * 2),
        (["timeout", "good"], ["transport", "ok"]),
        ([step("429", retry_after=0.1)], ["transport", "ok"]),
        ([step("429", retry_after=MOST_WAIT + 1)], ["transport"]),
        (["401"], ["denied"]),
        (["404"], ["denied"]),
        (["context_length"], ["too large"]),
        (["truncated"], ["too large"]),
        (["empty"], ["bad answer"]),
        (["html"], ["bad answer"]),
    ],
    ids=str,
)
def test_B7_transport_is_tried_twice_and_everything_else_once(
    upstream: Upstream, script: list[str | Step], made: list[str]
) -> None:
    upstream.script(script)
    assert outcomes(caller_of(upstream, 0.5 if "timeout" in script else 20)) == made
    assert len(upstream.requests()) == len(made) <= TRIES


def test_B7_the_retry_comes_after_a_quarter_of_a_second(upstream: Upstream) -> None:
    upstream.script(["503"])
    assert outcomes(caller_of(upstream)) == ["transport", "ok"]
    first, second = (request["at"] for request in upstream.requests())
    assert BACKOFF == 0.25
    assert second - first >= BACKOFF


def test_B7_a_dead_provider_is_left_alone(upstream: Upstream) -> None:
    upstream.script([step("503", forever=True)])
    caller = caller_of(upstream)
    for _ in range(10):
        with pytest.raises(TransportError):
            caller.ask(ASK, [])
    caller.close()
    assert len(upstream.requests()) == FAILURES * TRIES


@pytest.mark.parametrize(
    ("name", "error"),
    [("401", DeniedError), ("context_length", TooLargeError), ("empty", BadAnswerError)],
)
def test_B7_only_those_who_do_not_answer_are_left_alone(upstream: Upstream, name: str, error: type[ModelError]) -> None:
    upstream.script([step(name, forever=True)])
    caller = caller_of(upstream)
    for _ in range(5):
        with pytest.raises(ModelError):
            caller.ask(ASK, [])
    caller.close()
    assert len(upstream.requests()) == (1 if error is DeniedError else 5)


def test_B7_a_provider_is_left_alone_for_as_long_as_it_wishes(upstream: Upstream) -> None:
    upstream.script([step("429", retry_after=30)])
    caller, clock = caller_of(upstream), Clock()
    caller.breaker = Breaker(clock)
    for _ in range(3):
        with pytest.raises(TransportError):
            caller.ask(ASK, [])
    assert len(upstream.requests()) == 1
    clock.now += 30
    assert caller.ask(ASK, []).text
    caller.close()


def test_B7_calls_of_several_threads_share_one_client(upstream: Upstream) -> None:
    upstream.script([step("good:slow", seconds=0.6, forever=True)])
    caller = caller_of(upstream)
    threads = [threading.Thread(target=caller.ask, args=(ASK, [])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    caller.close()
    at = sorted(request["at"] for request in upstream.requests())
    assert len(at) == 4
    assert any(later - earlier < 0.6 for earlier, later in pairwise(at))  # side by side, not one after the other


def test_B7_nobody_there(nobody: str) -> None:
    caller = Caller(Model("gpt-test", base_url=nobody), lambda: 1)
    assert outcomes(caller) == ["transport"] * TRIES
