"""A provider that is dead for a long time, and then comes back."""

from __future__ import annotations

import pytest

from infold import Chat, Memory, Model
from infold.models import caller
from tests.test_model_crash import active
from tests.test_model_faults import assert_true, said
from tests.test_summarizer import assert_nothing_lost, failures
from tests.upstream import Upstream, step

KINDS = [("rolling", False, 8192), ("rolling", True, 8192), ("default", False, 400), ("chain", True, 400)]
IDS = ["rolling", "rolling in line", "default", "chain in line"]
TURNS = 30


@pytest.fixture(autouse=True)
def no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caller, "BACKOFF", 0.001)


def turns(chat: Chat, first: int, last: int, wait: bool) -> None:
    for number in range(2 * first - 1, 2 * last + 1):
        chat.add(said(number), id=f"m{number}")
        if not wait:
            chat.settle()  # as if there were time between the messages
        context = chat.context()
        assert context.tokens <= context.budget


@pytest.mark.parametrize(("preset", "wait", "window"), KINDS, ids=IDS)
def test_F9_thirty_turns_without_a_provider_and_then_it_is_back(
    upstream: Upstream, url: str, monkeypatch: pytest.MonkeyPatch, preset: str, wait: bool, window: int
) -> None:
    upstream.script([step("503", forever=True)])
    with Memory(url, model=Model("gpt-test", base_url=upstream.url)) as memory:
        chat = memory.chat("c", preset=preset, context_window=window, wait=wait)
        turns(chat, 1, TURNS, wait)
        assert failures(chat)
        assert {author for _, _, author in active(url)} == (set() if preset == "chain" else {"extractive"})
        assert_nothing_lost(memory, chat, 2 * TURNS)
        asked = len(upstream.requests())
        assert 2 <= asked <= 6  # three times with one retry each, and then it is left alone

        upstream.script([])
        (known,) = memory._callers.values()
        later = known.breaker._clock() + caller.PAUSE + 1
        monkeypatch.setattr(known.breaker, "_clock", lambda: later)
        turns(chat, TURNS + 1, TURNS + 7, wait)
        chat.settle()
        assert {author for _, _, author in active(url)} == {"summarizer"}
        assert active(url)[0][0] == 1
        assert chat.memory.cursor > 2 * TURNS - 12
        assert_true(chat.summary)
        assert_nothing_lost(memory, chat, 2 * TURNS + 14)


def test_F9_an_outage_seen_by_one_process_is_made_good_by_the_next(upstream: Upstream, nobody: str, url: str) -> None:
    """The dead provider is forgotten with the process; opening the chat is enough to catch up."""
    with Memory(url, model=Model("gpt-test", base_url=nobody)) as memory:
        chat = memory.chat("c", preset="rolling")
        turns(chat, 1, TURNS, False)
        assert [data["error"] for data in failures(chat)] == ["TransportError"] * 3
        assert {author for _, _, author in active(url)} == {"extractive"}
        assert len(active(url)) > 3
    with Memory(url, model=Model("gpt-test", base_url=upstream.url)) as memory:
        chat = memory.chat("c")
        chat.settle()
        assert [author for _, _, author in active(url)] == ["summarizer"]  # many instant folds, one upgrade
        assert_true(chat.summary)
        assert_nothing_lost(memory, chat, 2 * TURNS)


def test_F9_a_probe_that_fails_makes_the_pause_longer_and_asks_no_more(
    upstream: Upstream, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.script([step("503", forever=True)])
    with Memory(url, model=Model("gpt-test", base_url=upstream.url)) as memory:
        chat = memory.chat("c", preset="rolling")
        turns(chat, 1, 15, False)
        before = len(upstream.requests())
        (known,) = memory._callers.values()
        later = known.breaker._clock() + caller.PAUSE + 1
        monkeypatch.setattr(known.breaker, "_clock", lambda: later)
        turns(chat, 16, TURNS, False)
        assert len(upstream.requests()) == before + 2  # one probe, tried twice
        assert_nothing_lost(memory, chat, 2 * TURNS)


def test_B10_with_a_second_provider_an_outage_of_the_first_is_not_noticed(
    upstream: Upstream, nobody: str, url: str
) -> None:
    models = [Model("first", base_url=nobody), Model("second", base_url=upstream.url)]
    with Memory(url, model=models) as memory:
        chat = memory.chat("c", preset="rolling")
        turns(chat, 1, TURNS, False)
        assert not failures(chat)
        assert {author for _, _, author in active(url)} == {"summarizer"}
        by_model = {model.model: (model.calls, model.failed) for model in chat.usage().models}
        dead, alive = by_model[models[0].label], by_model[models[1].label]
        assert dead == (6, 6)  # three times with one retry each, and then it is left alone
        assert alive[0] > 3
        assert alive[1] == 0
        assert_nothing_lost(memory, chat, 2 * TURNS)
