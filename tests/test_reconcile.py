"""Which chat a request goes on with, where clients do what is usual and inconvenient."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from infold import Memory
from infold.service.reconcile import Place, receive, settle
from infold.service.wire import APIS
from tests.conftest import assistant, counted_ids, ticking_clock, user
from tests.test_proxy_cut import ask, caller, sizes, talked, told

Wire = dict[str, Any]


def turn(memory: Memory, chat: str | None, history: list[Wire], question: str, answer: str) -> str:
    """One more turn of somebody who sends all; the chat it is kept in."""
    history += [user(question)]
    place = ask(memory, chat, *history)
    history += [assistant(answer)]
    return settle(place, told(history[-1])).id


def said(memory: Memory, chat: str) -> list[str]:
    found = memory.find(chat)
    assert found is not None
    return [message.text for message in found.messages()]


def forget(memory: Memory, chat: str, *places: int) -> None:
    found = memory.find(chat)
    assert found is not None
    messages = found.messages()
    found.forget(*(messages[place].id for place in places))


# Clients of a named chat that send only what is new ----------------------------------------------------


def only_new(memory: Memory, *questions: str) -> None:
    for question in questions:
        settle(ask(memory, "n", user(question)), told(assistant(f"Answer to {question}")))


def test_what_was_said_at_the_beginning_may_be_said_again(memory: Memory) -> None:
    only_new(memory, "Hello", "My order is A-1042.", "Hello", "Hello", "What is my order?")
    assert sizes(memory) == [10]


def test_a_first_turn_that_is_tried_again_is_a_branch(memory: Memory) -> None:
    settle(ask(memory, "n", user("Hello")), told(assistant("Hi")))
    settle(ask(memory, "n", user("Hello")), told(assistant("Good day")))
    assert sorted(sizes(memory)) == [2, 2]


def test_F9_two_that_speak_at_once_are_both_heard(memory: Memory) -> None:
    """The reply to the first one comes late; what follows has all of it."""
    for _ in range(2):
        ann = ask(memory, "n", user("Ann: I am allergic to peanuts."))
        bob = ask(memory, "n", user("Bob: The meeting is on May 3."))
        settle(bob, told(assistant("Noted, Bob.")))
        settle(ann, told(assistant("Noted, Ann.")))
    place = ask(memory, "n", user("When is the meeting?"))
    assert place.chat.id == "n"
    assert sizes(memory) == [9]
    assert said(memory, "n")[:4] == [
        "Ann: I am allergic to peanuts.", "Bob: The meeting is on May 3.", "Noted, Bob.", "Noted, Ann.",
    ]  # fmt: skip


def test_a_reply_that_is_made_beside_a_chat_takes_nothing_of_it(memory: Memory) -> None:
    """A client that sends all, two requests at once: a branch, which later words are not said in."""
    history = talked(memory, "n", 3)
    one = ask(memory, "n", *history, user("One"))
    settle(ask(memory, "n", *history, user("Two")), told(assistant("Of two")))
    settle(one, told(assistant("Of one")))
    before = sizes(memory)
    settle(ask(memory, "n", *history[-2:], user("One"), assistant("Of one"), user("And now?")), told(assistant("Now.")))
    assert [after - size for after, size in zip(sizes(memory), before, strict=True)].count(2) == 1


def test_many_branches_do_not_hide_their_chat(memory: Memory) -> None:
    history = talked(memory, "n", 4)
    for number in range(20):
        turn(memory, "n", history[:4], f"Edited {number}", f"Other {number}")
    place = ask(memory, "n", *history[-4:], user("On the first one"))
    assert place.chat.id == "n"
    assert said(memory, "n") == [*(one["content"] for one in history), "On the first one"]


# Clients that leave something out, or change it --------------------------------------------------------


@pytest.mark.parametrize("kept", [1, 2])
def test_the_middle_may_be_left_out(memory: Memory, kept: int) -> None:
    """As agents do whose window is full: the first message or turn, then the last ones."""
    history = talked(memory, "n", 8)
    for number in range(6):
        request = [*history[:kept], *history[-4:], user(f"Further {number}")]
        place = ask(memory, "n", *request)
        assert (place.chat.id, place.whole) == ("n", False)
        history += [request[-1], assistant(f"Gladly {number}")]
        settle(place, told(history[-1]))
    assert sizes(memory) == [len(history)]
    assert said(memory, "n") == [one["content"] for one in history]


def test_a_client_may_write_a_summary_of_its_own(memory: Memory) -> None:
    """In place of what it has let go: it is not what somebody has said, nor an edited message."""
    history = talked(memory, "n", 8)
    for number in range(4):
        request = [user("So far we spoke of many things."), *history[-5:], user(f"Further {number}")]
        assert ask(memory, "n", *request).chat.id == "n"
        history += [request[-1], assistant(f"Gladly {number}")]
        settle(ask(memory, "n", *request), told(history[-1]))
    assert said(memory, "n") == [one["content"] for one in history]


def test_without_a_name_only_the_whole_tells(memory: Memory) -> None:
    history = talked(memory, None, 8)
    ask(memory, None, *history[:2], *history[-4:], user("Further"))
    assert sorted(sizes(memory)) == [7, len(history)]


def test_an_edit_is_not_taken_for_something_left_out(memory: Memory) -> None:
    history = talked(memory, "n", 4)
    ask(memory, "n", *history[:2], user("Question 1, in other words"))
    assert sorted(sizes(memory)) == [3, 8]


@pytest.mark.parametrize("chat", ["n", None])
def test_a_reply_that_says_nothing_makes_no_branch(memory: Memory, chat: str | None) -> None:
    history = talked(memory, chat, 2)
    for _ in range(3):
        history.append(user("Well?"))
        settle(ask(memory, chat, *history), told(assistant("")))
    turn(memory, chat, history, "And now?", "Now I say something.")
    assert len(sizes(memory)) == 1


@pytest.mark.parametrize("chat", ["n", None])
@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_reminder_may_move_along(memory: Memory, chat: str | None, role: str) -> None:
    """Some clients end, or begin, every request with instructions of the moment, and keep none of them."""
    history: list[Wire] = []
    for number in range(6):
        history.append(user(f"Question {number}?"))
        reminder = {"role": role, "content": f"It is {number} o'clock. Be brief."}
        place = ask(memory, chat, *history[:-1], reminder, history[-1], reminder)
        if chat or number:  # tried again; without name and reply, that would be another chat
            ask(memory, chat, *history[:-1], reminder, history[-1], reminder)
        history.append(assistant(f"Answer {number}."))
        settle(place, told(history[-1]))
    assert len(sizes(memory)) == 1
    found = memory.find(place.chat.id)
    assert found is not None
    spoken = [message.text for message in found.messages() if message.role != role]
    assert spoken == [one["content"] for one in history]


def test_texts_that_were_looked_up_for_a_question_may_go(memory: Memory) -> None:
    """Clients put what they have found into the last message, and keep the message without it."""
    history: list[Wire] = []
    for number in range(6):
        question = f"Question {number}?"
        place = ask(memory, "n", *history, user(f"Found for you: page {number}, page {number + 1}.\n\n{question}"))
        assert place.chat.id == "n"
        history += [user(question), assistant(f"Answer {number}.")]
        settle(place, told(history[-1]))
    assert sizes(memory) == [12]
    turn(memory, "n", history[:4], "Edited?", "Indeed.")
    assert sorted(sizes(memory)) == [6, 12]


@pytest.mark.parametrize("chat", ["n", None])
def test_a_reply_that_its_client_has_begun_is_one_with_it(memory: Memory, chat: str | None) -> None:
    history: list[Wire] = []
    for number in range(4):
        history.append(user(f"Question {number}, as JSON"))
        place = ask(memory, chat, *history, assistant('{"answer":'))
        settle(place, told(assistant(f" {number}}}")))
        history.append(assistant(f'{{"answer": {number}}}'))
    assert said(memory, place.chat.id)[-3:] == ["Question 3, as JSON", '{"answer":', " 3}"]
    assert sizes(memory) == [12]


CALLS = [("c1", '{"city": "Lisbon"}'), ("c2", '{"city": "Porto"}')]
AS_CHAT: list[Wire] = [
    {"role": "assistant", "content": "I look it up.", "tool_calls": [
        {"id": id, "type": "function", "function": {"name": "trains", "arguments": given}} for id, given in CALLS
    ]},
    *({"role": "tool", "tool_call_id": id, "content": "at nine"} for id, _ in CALLS),
]  # fmt: skip
AS_RESPONSES: list[Wire] = [
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look it up."}]},
    *({"type": "function_call", "call_id": id, "name": "trains", "arguments": given} for id, given in CALLS),
    *({"type": "function_call_output", "call_id": id, "output": "at nine"} for id, _ in CALLS),
]
AS_ANTHROPIC: list[Wire] = [
    {"role": "assistant", "content": [
        {"type": "text", "text": "I look it up."},
        *({"type": "tool_use", "id": id, "name": "trains", "input": json.loads(given)} for id, given in CALLS),
    ]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "at nine"} for id, _ in CALLS]},
]  # fmt: skip
FORMS: dict[str, tuple[str, list[Wire]]] = {
    "chat": ("messages", AS_CHAT),
    "responses": ("input", AS_RESPONSES),
    "anthropic": ("messages", AS_ANTHROPIC),
}


@pytest.mark.parametrize("chat", ["n", None])
@pytest.mark.parametrize(("first", "second"), [*permutations(FORMS, 2)])
def test_a_client_that_goes_on_over_another_api_has_the_same_chat(
    memory: Memory, chat: str | None, first: str, second: str
) -> None:
    def asked(api: str, *end: Wire) -> Place:
        name, between = FORMS[api]
        body = {"model": "echo", "max_tokens": 9, name: [user("Which trains?"), *between, *end]}
        return receive(memory, caller(memory, chat), APIS[api].read(body))

    settle(asked(first), told(assistant("Both leave at nine.")))
    before = sizes(memory)
    place = asked(second, assistant("Both leave at nine."), user("And back?"))
    settle(place, told(assistant("At ten.")))
    assert sizes(memory) == [before[0] + 2]


def test_an_edit_is_not_taken_for_what_comes_after_the_same_words_said_later(memory: Memory) -> None:
    history: list[Wire] = []
    for question, answer in [("Go on", "OK."), ("My budget is 600 euros", "Noted."), ("Go on", "OK.")]:
        turn(memory, "n", history, question, answer)
    place = ask(memory, "n", *history[:2], user("My budget is 900 euros"))
    assert place.whole
    assert said(memory, place.chat.id) == ["Go on", "OK.", "My budget is 900 euros"]
    assert sizes(memory) == [6, 3]


def test_who_names_a_response_goes_on_after_that(memory: Memory) -> None:
    def respond(question: str, previous: str | None, answer: str, id: str) -> Place:
        body = {"model": "echo", "input": question} | ({"previous_response_id": previous} if previous else {})
        place = receive(memory, caller(memory, "n"), APIS["responses"].read(body))
        settle(place, replace(told(assistant(answer)), id=id))
        return place

    respond("One", None, "Answer to one", "resp_1")
    respond("Two", "resp_1", "Answer to two", "resp_2")
    receive(memory, caller(memory, "n"), APIS["responses"].read(
        {"model": "echo", "input": "Yes", "previous_response_id": "resp_2"}
    ))  # fmt: skip
    place = respond("Yes", "resp_1", "Answer after one", "resp_3")
    assert said(memory, place.chat.id) == ["One", "Answer to one", "Yes", "Answer after one"]
    assert sizes(memory) == [5, 4]


def test_a_longer_question_is_another_one(memory: Memory) -> None:
    history = talked(memory, "n", 3)
    ask(memory, "n", *history[:4], user("Question 2 was not what I meant."))
    assert sorted(sizes(memory)) == [5, 6]


# The same words in several chats -----------------------------------------------------------------------


def test_F9_of_many_chats_that_begin_alike_each_goes_on_with_its_own(memory: Memory) -> None:
    chats = set()
    for number in range(12):
        history: list[Wire] = []
        first = turn(memory, None, history, "Hello", "Hi! How can I help?")
        assert turn(memory, None, history, f"I am customer {number}.", "Welcome.") == first
        chats.add(first)
    assert len(chats) == 12
    assert sizes(memory) == [4] * 12


@pytest.mark.parametrize(
    "given",
    [[assistant("Welcome! How can I help?")], [user("2 + 2"), assistant("4"), user("3 + 3"), assistant("6")]],
    ids=["a greeting", "examples"],
)
def test_F6_what_only_begins_alike_is_another_chat(memory: Memory, given: list[Wire]) -> None:
    """Nothing tells that it is the same person: what is pinned, forgotten or deleted in one is nothing to the others."""
    chats = []
    for name in ("Ann", "Bob", "Cyd"):
        history = list(given)
        first = turn(memory, None, history, f"I am {name}.", f"Hello {name}.")
        assert turn(memory, None, history, "What else?", "Nothing.") == first
        chats.append(first)
    assert sizes(memory) == [len(given) + 4] * 3
    memory.chat(chats[0]).delete()
    memory.chat(chats[1]).update(user="bob")
    assert memory.user("bob").forget().chats == 1
    assert [chat.id for chat in memory.chats()] == [chats[2]]


def test_an_edit_that_may_be_of_several_chats_is_a_new_one(memory: Memory) -> None:
    for number in range(2):
        history: list[Wire] = []
        for question, answer in [("Hello", "Hi!"), (f"I am customer {number}.", "Welcome."), ("Well?", "Yes?")]:
            turn(memory, None, history, question, answer)
    place = ask(memory, None, *history[:2], user("I am customer 7."))
    assert "~" not in place.chat.id
    assert sizes(memory) == [6, 6, 3]
    place = ask(memory, None, *history[:4], user("Well, well?"))
    assert place.chat.id.startswith(f"{memory.chats()[1].id}~")
    assert sorted(sizes(memory)) == [3, 5, 6, 6]


def test_F9_of_many_chats_that_begin_alike_none_is_begun_twice(memory: Memory) -> None:
    given = [assistant("Welcome! How can I help?")]
    for number in range(12):
        turn(memory, None, list(given), f"I am customer {number}.", "Welcome.")
    for _ in range(3):  # tried again, without any answer
        ask(memory, None, *given, user("It is urgent"))
    assert sizes(memory) == [3] * 12 + [2]


# What was forgotten ------------------------------------------------------------------------------------


def secretive(memory: Memory, chat: str | None) -> tuple[list[Wire], str]:
    history: list[Wire] = []
    turn(memory, chat, history, "Hi", "Hello! How can I help you?")
    return history, turn(memory, chat, history, "My code is heron seven.", "Noted: heron seven.")


@pytest.mark.parametrize("chat", ["n", None])
def test_F6_another_history_is_not_swallowed_by_what_was_forgotten(memory: Memory, chat: str | None) -> None:
    history, id = secretive(memory, chat)
    forget(memory, id, 2, 3)
    other = [*history[:2], user("Book a flight to Rome."), assistant("Booked AZ 123."), user("And the hotel?")]
    place = ask(memory, chat, *other)
    assert said(memory, place.chat.id)[-3:] == ["Book a flight to Rome.", "Booked AZ 123.", "And the hotel?"]


def test_F6_what_is_forgotten_at_the_end_is_known_again(memory: Memory) -> None:
    history, id = secretive(memory, "n")
    forget(memory, id, 2, 3)
    turn(memory, "n", history, "And now?", "Now it is gone.")
    assert said(memory, "n")[2:] == ["(forgotten)", "(forgotten)", "And now?", "Now it is gone."]


@pytest.mark.parametrize("chat", ["n", None])
def test_F6_a_client_may_have_forgotten_the_end_too(memory: Memory, chat: str | None) -> None:
    history, id = secretive(memory, chat)
    forget(memory, id, 2, 3)
    del history[2:]
    assert turn(memory, chat, history, "And now?", "Now it is gone.") == id
    assert turn(memory, chat, history, "My code is heron seven.", "You say it again.") == id
    assert said(memory, id)[2:6] == ["(forgotten)", "(forgotten)", "And now?", "Now it is gone."]
    assert sizes(memory) == [8]


def test_F6_a_client_may_have_forgotten_too(memory: Memory) -> None:
    history, id = secretive(memory, "n")
    turn(memory, "n", history, "What else?", "Nothing else.")
    forget(memory, id, 2, 3)
    del history[2:4]
    turn(memory, "n", history, "And now?", "Now it is gone.")
    assert sizes(memory) == [8]


def test_F6_a_chat_that_begins_alike_and_was_left_does_not_bring_it_back(memory: Memory) -> None:
    history, id = secretive(memory, None)
    turn(memory, None, history, "Thanks a lot for that, and for the rest.", "You are welcome, always.")
    turn(memory, None, [], "Hi", "Hello! How can I help you?")
    forget(memory, id, 2, 3)
    assert turn(memory, None, history, "Next", "Go on.") == id
    forget(memory, id, 0, 1)
    assert turn(memory, None, history, "Once more", "Go on.") == id
    assert sorted(sizes(memory)) == [2, 10]


def test_F6_all_of_a_chat_may_be_forgotten(memory: Memory) -> None:
    history, id = secretive(memory, "n")
    forget(memory, id, 0, 1, 2, 3)
    turn(memory, "n", history, "And now?", "Now it is gone.")
    assert said(memory, "n") == ["(forgotten)"] * 4 + ["And now?", "Now it is gone."]


def test_F6_a_response_is_gone_on_with_after_something_was_forgotten(memory: Memory) -> None:
    """Its id says nothing of what was said."""
    _, id = secretive(memory, None)
    forget(memory, id, 2, 3)
    asked = APIS["responses"].read({"model": "echo", "input": "And now?", "previous_response_id": "chatcmpl-1"})
    assert receive(memory, caller(memory, None), asked).chat.id == id
    assert said(memory, id)[2:] == ["(forgotten)", "(forgotten)", "And now?"]


def test_F6_E4_what_retention_has_removed_is_no_hindrance(url: str) -> None:
    with Memory(url, clock=ticking_clock(step=86_400_000), ids=counted_ids()) as memory:
        history = talked(memory, "n", 12)
        memory.chat("n").fold()
        assert memory.compact(days=2, mode="remove").messages > 0
        place = len(history) - 4
        forget(memory, "n", place, place + 1)
        turn(memory, "n", history, "And now?", "Now it is gone.")
        assert sizes(memory) == [26]
