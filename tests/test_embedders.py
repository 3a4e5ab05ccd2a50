"""Other embedders than the one inside: a server's, and the caller's own."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from infold import Chat, ConfigError, EmbedderError, Memory
from infold.quiet import quiet
from tests import rawsql
from tests.conftest import assistant, user
from tests.upstream import Upstream, step

FACT = "The spare key of the allotment hangs behind the blue barrel."


def filled(memory: Memory, turns: int = 140) -> Chat:
    chat = memory.chat("a", context_window=4000)
    chat.add([user(FACT), assistant("I see.")])
    for n in range(turns):
        chat.add(
            [user(f"Turn {n} speaks of harvest number {n} and of rain."), assistant(f"Reply {n} speaks of weather.")]
        )
    chat.settle()
    return chat


def name(upstream: Upstream) -> str:
    return f"{upstream.url}#small-vectors"


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    yield
    gc.collect()  # a connection that nobody closed is a warning now, and warnings are errors


def test_D8_a_server_can_make_the_vectors(url: str, upstream: Upstream) -> None:
    with Memory(url, embedder=name(upstream)) as memory:
        chat = filled(memory)
        hit = chat.recall("Where is the spare key?")[0]
        assert hit.text == FACT
        assert FACT in chat.context("Where is the spare key?", max_tokens=400).to("text")
    asked = [entry["body"] for entry in upstream.requests() if entry["path"] == "/v1/embeddings"]
    assert asked
    assert all(body["model"] == "small-vectors" and len(body["input"]) <= 128 for body in asked)
    makers = {maker for (maker,) in rawsql.rows(url, "SELECT maker FROM recall_blocks")}
    assert len(makers) == 1
    assert "small-vectors" in makers.pop()


def test_D8_another_embedder_makes_the_index_anew(url: str, upstream: Upstream) -> None:
    with Memory(url) as memory:
        filled(memory)
    with Memory(url, embedder=name(upstream)) as memory:
        chat = memory.chat("a")
        assert chat.recall("Where is the spare key?")[0].text == FACT
        chat.settle()
    with Memory(url) as memory:
        assert memory.chat("a").recall("Where is the spare key?")[0].text == FACT


@pytest.mark.parametrize("fault", ["500", "401", "html", "reset", "429"])
def test_D8_a_server_that_fails_leaves_contexts_without_quotations(
    url: str, upstream: Upstream, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Memory(url, embedder=name(upstream)) as memory:
        chat = filled(memory, turns=40)
        upstream.script([step(fault, forever=True)])
        with caplog.at_level(logging.WARNING, "infold"):
            context = chat.context("Where is the spare key?", max_tokens=400)
        assert context.sources["recalled"] == 0
        assert 0 < context.tokens <= 400
        assert "nothing is recalled" in caplog.text
        assert "barrel" not in caplog.text
        with pytest.raises(EmbedderError, match="small-vectors"):
            chat.recall("Where is the spare key?")
        upstream.script([])
        assert chat.recall("Where is the spare key?")[0].text == FACT
        assert chat.verify().ok


class Letters:
    """Counts letters: poor, but an embedder."""

    def embed(self, texts: list[str]) -> Any:
        found = np.zeros((len(texts), 26), np.float32)
        for row, text in enumerate(texts):
            for letter in text.lower():
                if "a" <= letter <= "z":
                    found[row, ord(letter) - 97] += 1
        return found

    def near(self, words: list[str]) -> list[list[tuple[str, float]]]:
        return [[] for _ in words]


def test_D8_any_object_with_two_methods_is_an_embedder(url: str) -> None:
    with Memory(url, embedder=Letters()) as memory:
        chat = filled(memory)
        assert chat.recall("Where is the spare key?")[0].text == FACT


def test_D8_an_embedder_of_ones_own_is_asked_for_what_is_needed_alone(url: str) -> None:
    class Noting(Letters):
        def embed(self, texts: list[str]) -> Any:
            asked.extend(texts)
            return super().embed(texts)

    asked: list[str] = []
    with Memory(url, embedder=Noting()) as memory:
        chat = filled(memory, 40)
        chat.recall("the spare key")
        added = chat.add([user("The heron nests on the old crane."), assistant("A heron's nest!")])
        assert isinstance(added, list)
        done = threading.Event()

        def tell() -> Iterator[None]:
            done.set()
            yield

        quiet.soon(id(done), tell())  # after all that was to be done ahead so far
        assert done.wait(60)
        assert added[0].text not in asked
        chat.recall("the heron")
        assert added[0].text in asked


@pytest.mark.parametrize("again", [0, 20])
def test_F9_messages_that_leave_while_they_are_searched_are_not_quoted(url: str, again: int) -> None:
    class Rewinds(Letters):
        """Takes messages back, and adds others in their place, while a question is searched for."""

        def embed(self, texts: list[str]) -> Any:
            if texts == [question] and chat.messages(after=heron):
                chat.rewind(chat.messages(after=heron - 1)[0].id)
                chat.add([user(f"No. {n}") for n in range(again)])
            return super().embed(texts)

    question, heron = "Where does the heron nest?", 1000
    with Memory(url, embedder=Rewinds()) as memory:
        chat = filled(memory)

        def ask() -> None:
            nonlocal heron
            heron = len(chat.messages())
            chat.add([user("The heron nests on the old crane."), assistant("A heron's nest!")])
            chat.add([user(f"Turn {n} speaks of the harvest and of rain, and of apples.") for n in range(20)])

        ask()
        context = chat.context(question, max_tokens=150)
        assert len(chat.messages()) == heron + again
        assert "crane" not in str(context.messages)
        assert "recalled" in context.sources
        ask()
        known = {message.text for message in chat.messages(limit=heron)}
        hits = chat.recall(question, kinds=["message"])
        assert len(chat.messages()) == heron + again
        assert {hit.text for hit in hits} <= known


@pytest.mark.parametrize("bad", [5, object(), "anthropic:claude", "nobody:x", "", "http://localhost:1/v1"])
def test_what_is_no_embedder_is_refused(url: str, bad: Any) -> None:
    with pytest.raises(ConfigError):
        Memory(url, embedder=bad)
