"""Replies that were cut short: whatever a client has of one, it is the same message."""

from __future__ import annotations

from typing import Any

import pytest

from infold import Memory
from infold.service.reconcile import Caller, NothingSaidError, Place, receive, settle
from infold.service.wire import APIS, Reply
from tests.conftest import assistant, call, user

SAID = "The ferry leaves at nine and"


def caller(memory: Memory, chat: str | None) -> Caller:
    return Caller(
        f"chat {chat}" if chat else "key of ann", chat, None, "rolling", None, lambda name, _: memory.find(name)
    )


def ask(memory: Memory, chat: str | None, *messages: dict[str, Any]) -> Place:
    return receive(memory, caller(memory, chat), APIS["chat"].read({"model": "echo", "messages": list(messages)}))


def told(*messages: dict[str, Any], complete: bool = True) -> Reply:
    return Reply(messages, "echo", "chatcmpl-1", complete)


def talked(memory: Memory, chat: str | None, turns: int) -> list[dict[str, Any]]:
    """Whole turns to begin with."""
    history: list[dict[str, Any]] = []
    for number in range(turns):
        history.append(user(f"Question {number}"))
        place = ask(memory, chat, *history)
        history.append(assistant(f"Answer {number}"))
        settle(place, told(history[-1]))
    return history


def sizes(memory: Memory) -> list[int]:
    """How many messages each chat has."""
    return [chat.messages for chat in memory.chats()]


@pytest.mark.parametrize("chat", ["ferry", None], ids=["named", "by what is said"])
@pytest.mark.parametrize("before", [0, 2], ids=["first", "later"])
def test_a_client_goes_on_after_several_cut_replies(memory: Memory, chat: str | None, before: int) -> None:
    history = talked(memory, chat, before)
    for number in range(4):  # the client has a little less of each than was sent
        history.append(user(f"When does ferry {number} leave?"))
        settle(ask(memory, chat, *history), told(assistant(f"{SAID} {number}"), complete=False))
        history.append(assistant(SAID))
    for number in range(2):
        history.append(user(f"Go on {number}"))
        place = ask(memory, chat, *history)
        history.append(assistant(f"And on {number}"))
        settle(place, told(history[-1]))
    assert sizes(memory) == [len(history)]


@pytest.mark.parametrize("chat", ["ferry", None], ids=["named", "by what is said"])
@pytest.mark.parametrize("kept", ["The ferry leaves", "", SAID], ids=["less", "none", "same"])
@pytest.mark.parametrize("before", [0, 2], ids=["first", "later"])
def test_a_client_goes_on_with_another_part_of_a_cut_reply(
    memory: Memory, chat: str | None, kept: str, before: int
) -> None:
    history = talked(memory, chat, before)
    history.append(user("When does the ferry leave?"))
    settle(ask(memory, chat, *history), told(assistant(SAID), complete=False))
    history.append(assistant(kept))
    for number in range(3):  # it goes on saying so
        history.append(user(f"Go on {number}"))
        place = ask(memory, chat, *history)
        history.append(assistant(f"And on {number}"))
        settle(place, told(history[-1]))
    assert sizes(memory) == [len(history)]
    found = memory.find(memory.chats()[0].id)
    assert found is not None
    assert found.messages()[2 * before + 1].text == SAID
    # What is said otherwise from there on is a branch, as ever; and both go on.
    ask(memory, chat, *history[:-1], assistant("Something else"), user("Otherwise"))
    assert sizes(memory) == [len(history), len(history) + 1]
    ask(memory, chat, *history, user("As it was"))
    assert sizes(memory) == [len(history) + 1, len(history) + 1]


@pytest.mark.parametrize(
    "kept",
    [assistant("A boat leaves at nine"), assistant("the ferry"), assistant(f"{SAID} again at ten"), call("c1")],
)
def test_another_reply_is_a_branch(memory: Memory, kept: dict[str, Any]) -> None:
    question = user("When does the ferry leave?")
    settle(ask(memory, "ferry", question), told(assistant(SAID), complete=False))
    ask(memory, "ferry", question, kept, user("Go on"))
    assert sizes(memory) == [2, 3]


@pytest.mark.parametrize("chat", ["ferry", None], ids=["named", "by what is said"])
@pytest.mark.parametrize("again", [True, False], ids=["the question", "what it has of it"])
def test_F9_a_reply_that_begins_like_one_that_was_cut_is_kept_whole(
    memory: Memory, chat: str | None, again: bool
) -> None:
    history = [*talked(memory, chat, 1), user("When does the ferry leave?")]
    settle(ask(memory, chat, *history), told(assistant("The"), complete=False))
    if again:
        settle(ask(memory, chat, *history), told(assistant(f"{SAID} again at ten")))
    history.append(assistant(f"{SAID} again at ten"))
    place = ask(memory, chat, *history, user("Thanks"))
    settle(place, told(assistant("Welcome")))
    assert [message.text for message in place.chat.messages()][2:] == [
        "When does the ferry leave?", f"{SAID} again at ten", "Thanks", "Welcome",
    ]  # fmt: skip
    assert sizes(memory) == [4, 6]


def test_the_beginning_of_a_whole_reply_is_a_branch(memory: Memory) -> None:
    question = user("When does the ferry leave?")
    settle(ask(memory, "ferry", question), told(assistant(SAID)))
    ask(memory, "ferry", question, assistant("The ferry"), user("Go on"))
    assert sizes(memory) == [2, 3]


def test_a_cut_reply_that_comes_after_the_client_has_gone_on(memory: Memory) -> None:
    question = user("When does the ferry leave?")
    place = ask(memory, "ferry", question)
    ask(memory, "ferry", question, assistant("The ferry"), user("Go on"))
    settle(place, told(assistant(SAID), complete=False))
    assert sizes(memory) == [3]
    settle(place, told(assistant("A boat"), complete=False))
    assert sizes(memory) == [3, 2]


def test_words_that_several_chats_have_cut_are_nobodys(memory: Memory) -> None:
    question = user("When does the ferry leave?")
    for _ in range(2):
        settle(ask(memory, None, question), told(assistant(SAID), complete=False))
    assert sizes(memory) == [2, 2]
    ask(memory, None, question, assistant("The ferry"), user("Go on"))
    assert sizes(memory) == [2, 2, 3]


@pytest.mark.parametrize("chat", ["empty", None])
def test_a_request_without_messages_begins_no_chat(memory: Memory, chat: str | None) -> None:
    for messages in ([], [{"role": "system", "content": "You are a pirate."}]):
        with pytest.raises(NothingSaidError):
            ask(memory, chat, *messages)
    assert sizes(memory) == []
    ask(memory, chat, user("Ahoy"))
    assert sizes(memory) == [1]
    assert chat is None or ask(memory, chat).seq == 1  # a chat that is there goes on with nothing new
    assert sizes(memory) == [1]


def test_a_first_request_that_cannot_be_added_leaves_nothing(url: str) -> None:
    """There are no ids for its messages, say: whatever it is, the chat goes too."""

    def none() -> str:
        raise OverflowError

    with Memory(url, ids=none) as memory:
        with pytest.raises(OverflowError):
            ask(memory, "refused", user("Hello"))
        assert sizes(memory) == []
