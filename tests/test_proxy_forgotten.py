"""F6: what was forgotten stays forgotten, though clients go on sending it again with their whole chat."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import assistant, user
from tests.proxied import CHAT, Proxied, Wire, start_proxied

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    with start_proxied(tmp_path_factory.mktemp("forgotten"), memory_timeout=30) as started:
        yield started
        started.sound()


class Talk:
    """A client that keeps its chat, of some turns, in which one will have to go."""

    def __init__(self, proxied: Proxied, *, named: bool, turns: int = 4, secret: int = 1) -> None:
        self.word = f"heron{next(_numbers)}"
        self.name = f"of {self.word}" if named else None
        self.history: list[Wire] = []
        self._proxied = proxied
        before = proxied.chats()
        for number in range(turns):
            about = f"The code is {self.word}." if number == secret else f"Question {number}, about something else."
            self.ask(f"{about} It belongs to the talk of {self.name or turns}.", number)
        self.chat = self.name or proxied.only_new(before, 2 * turns)
        self.said = proxied.kept(self.chat, 2 * turns)

    def ask(self, text: str, model: object = "", last: int = 0) -> None:
        self.history.append(user(text))
        headers = {"X_Infold_Chat": self.name} if self.name else {"X_Infold_User": self.word}
        body = {"model": "echo", "messages": self.history[-last:]}
        answer = self._proxied.post(CHAT, body, **headers)
        assert answer.status_code == 200, answer.text
        self.history.append(assistant(answer.json()["choices"][0]["message"]["content"]))

    def forget(self, *places: int) -> None:
        rows = self._proxied.api.get(f"/v1/chats/{self.chat}/messages").json()["items"]
        ids = [rows[place]["id"] for place in places]
        self._proxied.api.post(f"/v1/chats/{self.chat}/forget", json={"message_ids": ids}).raise_for_status()
        for place in places:
            self.said[place] = (self.said[place][0], "(forgotten)")

    def goes_on(self, turns: int = 2) -> None:
        """The chat has what was new, and nothing else; nowhere is there a word of what was forgotten."""
        chats = self._proxied.chats()
        for number in range(turns):
            self.ask(f"And further, number {number}?")
            self.said += [(one["role"], one["content"]) for one in self.history[-2:]]
            assert self._proxied.kept(self.chat, len(self.said)) == self.said
        assert self._proxied.chats() == chats
        self.nowhere()

    def nowhere(self) -> None:
        words = self.word.encode()
        folder = Path(self._proxied.server.database.removeprefix("sqlite:///")).parent
        for file in folder.glob("service.db*"):
            # The name of the chat, or of its user, is no part of what was said.
            assert b"The code is " + words not in file.read_bytes()


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    ("secret", "places"), [(0, (0, 1)), (1, (2, 3)), (1, (3, 2)), (3, (6, 7)), (3, (7, 6)), (1, (0, 3, 2, 6))]
)
def test_F6_what_was_forgotten_does_not_come_back(
    proxied: Proxied, named: bool, secret: int, places: tuple[int, ...]
) -> None:
    """The reply repeats what was said, so both have to go."""
    talk = Talk(proxied, named=named, secret=secret)
    for place in places:
        talk.forget(place)
    talk.goes_on()


def test_F6_nor_where_a_client_sends_only_the_end(proxied: Proxied) -> None:
    talk = Talk(proxied, named=True, turns=6, secret=3)
    talk.forget(6, 7)
    talk.history = talk.history[5:]
    talk.goes_on()
    talk = Talk(proxied, named=True, turns=6, secret=5)
    talk.forget(10, 11)
    talk.history = talk.history[8:]
    talk.goes_on()


@pytest.mark.parametrize("named", [True, False])
def test_F6_an_edited_message_is_a_branch_as_ever(proxied: Proxied, named: bool) -> None:
    talk = Talk(proxied, named=named)
    talk.forget(2, 3)
    before = proxied.chats()
    talk.history = talk.history[:2]
    talk.ask("Something else in the place of it.")
    branch = proxied.only_new(before, 4)
    assert proxied.kept(branch, 4) == talk.said[:2] + [(one["role"], one["content"]) for one in talk.history[2:]]
    proxied.kept(talk.chat, 8)


def test_F6_what_is_new_is_not_taken_for_what_was_forgotten(proxied: Proxied) -> None:
    talk = Talk(proxied, named=True, turns=2)
    talk.forget(2, 3)
    talk.history = []
    talk.ask("This is new.")
    assert proxied.kept(talk.chat, 6) == talk.said + [(one["role"], one["content"]) for one in talk.history]


def test_F6_another_chat_that_begins_alike_is_another(proxied: Proxied) -> None:
    """Without a name, nothing but a few words in common, as everybody says them, makes no chat the same."""
    headers = {"X_Infold_User": "greeter"}
    before = proxied.chats()
    greeting = [user("Hi, I am Rosalind."), assistant("Hello! How can I help you today?")]
    proxied.post(CHAT, {"model": "echo", "messages": [*greeting, user("Nothing, thanks.")]}, **headers)
    first = proxied.only_new(before, 4)
    rows = proxied.api.get(f"/v1/chats/{first}/messages").json()["items"]
    proxied.api.post(f"/v1/chats/{first}/forget", json={"message_ids": [rows[0]["id"]]}).raise_for_status()
    before = proxied.chats()
    greeting[0] = user("Good day.")
    proxied.post(CHAT, {"model": "echo", "messages": [*greeting, user("Where is my parcel?")]}, **headers)
    assert proxied.only_new(before, 4) != first
    proxied.kept(first, 4)
