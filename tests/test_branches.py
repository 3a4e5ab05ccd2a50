"""Branches: chats that go on differently from some message on."""

from __future__ import annotations

import pytest

from infold import DuplicateIdError, Memory, NotFoundError
from infold.branching import branch
from tests.conftest import assistant, user


def talked(memory: Memory, id: str = "a", turns: int = 12) -> None:
    chat = memory.chat(id, preset="rolling")
    for number in range(turns):
        chat.add([user(f"I bought book {number} for {number}00 euros."), assistant("Noted.")])


def test_a_branch_has_the_messages_and_the_folds_before_it(memory: Memory) -> None:
    talked(memory)
    before = memory.chat("a").memory
    made = branch(memory, "a", 24, "a~1")
    assert [m.id for m in made.messages()] == [m.id for m in memory.chat("a").messages()]
    assert made.memory.summary == before.summary
    assert made.memory.cursor == before.cursor > 0
    assert memory.verify().ok


def test_a_branch_below_the_cursor_goes_back_to_what_was_known_then(memory: Memory) -> None:
    talked(memory, turns=4)
    then = memory.chat("a").memory.cursor
    talked(memory)
    made = branch(memory, "a", 8, "a~1")
    assert len(made.messages()) == 8
    assert made.memory.cursor == then
    made.add([user("I sold the car for 9000 euros."), assistant("Noted.")])
    assert "9000" not in "".join(m.text for m in memory.chat("a").messages())
    assert memory.verify().ok


def test_what_happens_to_a_branch_is_not_the_other_chats(memory: Memory) -> None:
    talked(memory)
    before = memory.chat("a").memory
    made = branch(memory, "a", 20, "a~1")
    for number in range(20):
        made.add([user(f"I lost {number} umbrellas in town."), assistant("Oh.")])
    made.pin("no umbrellas")
    made.delete()
    assert memory.chat("a").memory == before
    assert memory.verify().ok


def test_a_branch_tells_where_it_comes_from(memory: Memory) -> None:
    talked(memory)
    event = branch(memory, "a", 20, "a~1").events()[0]
    assert (event.type, event.data) == ("branched", {"from": "a", "at": 20})


def test_F6_forgetting_a_message_forgets_it_in_all_branches(memory: Memory) -> None:
    talked(memory)
    made = branch(memory, "a", 24, "a~1")
    gone = memory.chat("a").messages()[2]
    receipt = memory.chat("a").forget(gone.id)
    assert receipt.messages == 2
    for chat in (memory.chat("a"), made):
        assert "book 1 " not in "".join(m.text for m in chat.messages())
        assert "book 1 " not in chat.summary
    assert memory.verify().ok
    assert made.forget(gone.id).messages == 0


def test_F6_a_chat_of_a_name_that_only_looks_like_a_branch_is_left_alone(memory: Memory) -> None:
    talked(memory, "a")
    talked(memory, "a~1")
    made = branch(memory, "a", 24, "of any name")
    further = branch(memory, "of any name", 20, "further")
    gone = memory.chat("a").messages()[2]
    assert further.forget(gone.id).messages == 3
    assert "book 1 " in memory.chat("a~1").messages()[2].text
    for chat in (memory.chat("a"), made, further):
        assert "book 1 " not in chat.messages()[2].text
    memory.chat("a").delete()
    assert [chat.id for chat in memory.chats()] == ["a~1"]


def test_F6_a_chat_takes_its_branches_along_when_it_is_deleted(memory: Memory) -> None:
    talked(memory)
    for number in range(3):
        branch(memory, "a", 20, f"a~{number}")
    memory.chat("a~1").delete()
    assert [chat.id for chat in memory.chats()] == ["a", "a~0", "a~2"]
    memory.chat("a").delete()
    assert memory.chats() == []
    talked(memory)  # nothing of the former one is taken for a branch of it
    memory.chat("a").delete()
    assert memory.chats() == []


def test_F6_forgetting_a_person_forgets_branches_that_are_nobodys(memory: Memory) -> None:
    talked(memory)
    branch(memory, "a", 20, "a~1")
    memory.chat("a").update(user="ann")
    branch(memory, "a", 20, "a~2")
    memory.chat("b", user="bob").add(user("I bought a book."))
    assert memory.user("ann").forget().chats == 3
    assert [chat.id for chat in memory.chats()] == ["b"]


def test_there_is_no_branch_of_nothing_nor_twice(memory: Memory) -> None:
    with pytest.raises(NotFoundError, match="no chat 'a'"):
        branch(memory, "a", 1, "b")
    talked(memory, turns=1)
    branch(memory, "a", 1, "b")
    with pytest.raises(DuplicateIdError, match="there is a chat 'b' already"):
        branch(memory, "a", 1, "b")
