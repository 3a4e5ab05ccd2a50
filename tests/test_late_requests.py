"""A request that memory is too slow for goes on without it; what memory does for it later makes no branch of the chat."""

from __future__ import annotations

from typing import Any

import pytest

from infold import Chat, Memory
from infold.errors import MovedOnError
from infold.service.reconcile import Caller, apart, receive
from infold.service.wire import APIS
from tests.conftest import assistant, user

TALK = [user("one"), assistant("two"), user("three"), assistant("four"), user("five")]


def caller(memory: Memory) -> Caller:
    return Caller("chat a", "a", None, "rolling", None, lambda name, _: memory.find(name))


def ask(memory: Memory, whose: Caller, count: int, *end: dict[str, Any]) -> None:
    receive(memory, whose, APIS["chat"].read({"model": "echo", "messages": [*TALK[:count], *end]}))


def chats(memory: Memory) -> list[tuple[str, int]]:
    return [(chat.id.partition("~")[0] + "~" * ("~" in chat.id), chat.messages) for chat in memory.chats()]


@pytest.mark.parametrize("sent", [2, 4])
def test_a_request_that_is_too_late_begins_nothing(memory: Memory, sent: int) -> None:
    ask(memory, caller(memory), 5)
    late = caller(memory)
    late.given_up.set()
    with pytest.raises(MovedOnError):
        ask(memory, late, sent, user("other"))
    assert chats(memory) == [("a", 5)]
    ask(
        memory, caller(memory), sent, user("other")
    )  # one that somebody waits for goes on differently: that is a branch
    assert chats(memory) == [("a", 5), ("a~", sent + 1)]


def test_a_request_that_becomes_too_late_leaves_nothing(memory: Memory) -> None:
    ask(memory, caller(memory), 5)

    def find(id: str, _: int | None) -> Chat | None:
        late.given_up.set()
        return memory.find(id)

    late = Caller("chat a", "a", None, "rolling", None, find)
    with pytest.raises(MovedOnError):
        ask(memory, late, 2, user("other"))
    assert chats(memory) == [("a", 5)]


def test_a_request_that_is_seen_too_late_begins_no_chat_of_its_own(memory: Memory) -> None:
    """Sent once more, found where the chat has gone on and folded since; but nobody waits for it by now."""
    late = caller(memory)
    asked = APIS["chat"].read({"model": "echo", "messages": TALK})
    place = receive(memory, late, asked)
    assert apart(place, late).chat.id != "a"
    late.given_up.set()
    before = chats(memory)
    with pytest.raises(MovedOnError):
        apart(place, late)
    assert chats(memory) == before
