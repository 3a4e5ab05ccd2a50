"""Which chat a request goes on with: by name, by what it says; branches where it says something else."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import httpx2
import pytest

from tests.proxied import CHAT, RESPONSES, Proxied, Wire, eventually, start_proxied
from tests.servers import problem


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    with start_proxied(tmp_path_factory.mktemp("identity"), context_window=2000, memory_timeout=30) as started:
        yield started
        started.sound()


class Client:
    """A client that keeps its chat itself, as all do."""

    def __init__(self, proxied: Proxied, history: Sequence[Wire] = (), /, **headers: str) -> None:
        self.proxied = proxied
        self.history = list(history)
        self.headers = headers
        self.more: Wire = {}

    def ask(self, text: str, model: str = "echo") -> str:
        self.history.append({"role": "user", "content": text})
        return self.again(model)

    def again(self, model: str = "echo") -> str:
        answer = self.proxied.post(
            CHAT, {"model": model, "messages": self.history, **self.more}, **self.headers
        )  # fmt: skip
        assert answer.status_code == 200, answer.text
        message = answer.json()["choices"][0]["message"]
        self.history.append({"role": "assistant", "content": message["content"]})
        return str(message["content"])

    @property
    def said(self) -> list[tuple[str, str]]:
        return [(one["role"], one["content"]) for one in self.history]


def new_chats(proxied: Proxied, before: list[str], number: int) -> list[str]:
    """The chats that came since, which must be so many."""
    found = eventually(lambda: [id for id in proxied.chats() if id not in before], lambda ids: len(ids) >= number)
    assert len(found) == number
    return found


# The same chat, or not ---------------------------------------------------------------------------------


def test_without_a_name_the_same_words_go_on(proxied: Proxied) -> None:
    before = proxied.chats()
    client = Client(proxied, X_Infold_User="finder")
    for number in range(4):
        client.ask(f"Going on, number {number}")
        chat = proxied.only_new(before, 2 * number + 2)
    assert proxied.kept(chat, 8) == client.said
    assert proxied.api.get(f"/v1/chats/{chat}").json()["user"] == "finder"


@pytest.mark.parametrize(
    ("headers", "more"),
    [
        ({"authorization": "Bearer sk-other"}, {}),
        ({"x_api_key": "sk-other"}, {}),
        ({"X_Infold_User": "bob"}, {}),
        ({}, {"user": "bob"}),
        ({}, {"safety_identifier": "bob"}),
    ],
)
def test_another_key_or_user_never_goes_on(proxied: Proxied, headers: dict[str, str], more: Wire) -> None:
    first = Client(proxied)
    before = proxied.chats()
    first.ask(f"Mine alone {headers} {more}")
    chat = proxied.only_new(before, 2)
    other = Client(proxied, first.history, **headers)
    other.more = more
    before = proxied.chats()
    other.ask("Theirs")
    theirs = proxied.only_new(before, 4)
    assert proxied.kept(theirs, 4) == other.said
    first.ask("And mine")
    assert proxied.kept(chat, 4) == first.said
    proxied.kept(theirs, 4)


def test_the_same_words_in_two_chats_are_ambiguous(proxied: Proxied) -> None:
    before = proxied.chats()
    one, two = Client(proxied), Client(proxied)
    for client in (one, two):
        client.ask("The very same words")
        proxied.kept(proxied.chats()[-1], 2)
    first, second = new_chats(proxied, before, 2)
    one.ask("And then?")
    third = new_chats(proxied, before, 3)[2]
    assert proxied.kept(third, 4) == one.said
    proxied.kept(first, 2)
    proxied.kept(second, 2)
    one.ask("Now it is clear")  # only one chat goes like this
    assert proxied.kept(third, 6) == one.said


def test_a_reply_must_be_known_not_only_the_question(proxied: Proxied) -> None:
    before = proxied.chats()
    client = Client(proxied)
    client.ask("Half known")
    other = Client(proxied, [client.history[0], {"role": "assistant", "content": "Something else"}])
    other.ask("Go on")
    first, second = new_chats(proxied, before, 2)
    assert proxied.kept(first, 2) == client.said
    assert proxied.kept(second, 4) == other.said


def test_a_chat_that_began_elsewhere_is_taken_over_whole(proxied: Proxied) -> None:
    """A client comes with a long history that nobody has seen: it is in the ledger, and the model gets what fits."""
    history = [
        {"role": role, "content": f"{role} {number}: " + "word " * 60}
        for number in range(40)
        for role in ("user", "assistant")
    ]
    client = Client(proxied, history, X_Infold_Chat="moved in")
    client.ask("And now?")
    assert proxied.kept("moved in", 82) == client.said
    assert len(str(proxied.last_sent()["body"])) < 2000 * 6
    client.ask("And now, again?")
    assert proxied.kept("moved in", 84) == client.said


# Branches ----------------------------------------------------------------------------------------------


def branch_of(proxied: Proxied, chat: str, before: list[str]) -> str:
    (found,) = new_chats(proxied, before, 1)
    assert found.startswith(f"{chat}~")
    return found


@pytest.mark.parametrize("named", [True, False])
def test_an_edited_message_is_a_branch(proxied: Proxied, named: bool) -> None:
    before = proxied.chats()
    headers = {"X_Infold_Chat": "edited"} if named else {"X_Infold_User": "editor"}
    client = Client(proxied, [], **headers)
    for number in range(3):
        client.ask(f"Step {number} (named: {named})")
    chat = proxied.only_new(before, 6)
    original = client.said
    before = proxied.chats()
    edited = Client(proxied, client.history[:2], **headers)
    edited.ask("Step 1, but otherwise")
    branch = branch_of(proxied, chat, before)
    assert proxied.kept(branch, 4) == edited.said
    assert proxied.kept(chat, 6) == original
    # Both go on, each where it belongs.
    edited.ask("Further, otherwise")
    client.ask("Further, as it was")
    assert proxied.kept(branch, 6) == edited.said
    assert proxied.kept(chat, 8) == client.said
    assert len([id for id in proxied.chats() if id not in before]) == 1
    assert "branched" in proxied.events(branch)


@pytest.mark.parametrize("turns", [2, 6])
def test_an_edited_first_message_is_a_branch(proxied: Proxied, turns: int) -> None:
    name = f"first edited {turns}"
    client = Client(proxied, X_Infold_Chat=name)
    client.ask("Plan a weekend in Rome for two of us")
    for number in range(turns - 1):
        client.ask(f"And what about {number}?")
    proxied.kept(name, 2 * turns)
    before = proxied.chats()
    edited = Client(proxied, X_Infold_Chat=name)
    edited.ask("Plan a weekend in Lisbon for two of us")
    branch = branch_of(proxied, name, before)
    assert proxied.kept(branch, 2) == edited.said
    assert "Rome" not in str(proxied.last_sent()["body"])
    edited.ask("By train?")  # it goes on there
    assert proxied.kept(branch, 4) == edited.said
    client.ask("Which hotel?")  # and the other goes on as well
    assert proxied.kept(name, 2 * turns + 2) == client.said
    # Who begins anew with something else, history lost, has a chat that knows what was said.
    lost = Client(proxied, X_Infold_Chat=name)
    lost.ask("Remind me where we were going.")
    assert proxied.kept(name, 2 * turns + 4) == client.said + lost.said
    assert "Rome" in str(proxied.last_sent()["body"])
    assert len(proxied.chats()) == len(before) + 1


def test_who_sends_only_what_is_new_may_say_it_much_as_before(proxied: Proxied) -> None:
    for number, city in enumerate(("Rome", "Lisbon", "Oslo"), 1):
        Client(proxied, X_Infold_Chat="much alike").ask(f"What is the weather like in {city} today?")
        proxied.kept("much alike", 2 * number)
    assert "Rome" in str(proxied.last_sent()["body"])
    assert not [id for id in proxied.chats() if id.startswith("much alike~")]


def test_a_regenerated_reply_is_a_branch(proxied: Proxied) -> None:
    client = Client(proxied, X_Infold_Chat="regenerated")
    client.ask("First")
    client.ask("Tell me something")
    proxied.kept("regenerated", 4)
    before = proxied.chats()
    again = Client(proxied, client.history[:3], X_Infold_Chat="regenerated")
    again.again("long-5")
    branch = branch_of(proxied, "regenerated", before)
    assert proxied.kept(branch, 4) == again.said
    assert proxied.kept("regenerated", 4) == client.said
    again.ask("I like that one better")
    assert proxied.kept(branch, 6) == again.said
    proxied.kept("regenerated", 4)


def test_a_branch_below_the_cursor_shares_the_folds_before(proxied: Proxied) -> None:
    client = Client(proxied, X_Infold_Chat="deep")
    facts = {1: "I am allergic to peanuts.", 2: "My dog is called Bruno.", 22: "I moved to Setúbal."}
    for number in range(26):
        client.ask(f"{facts.get(number, f'Question {number}.')} What of " + f"thing{number} " * 40)
    proxied.kept("deep", 52)
    folded = eventually(lambda: proxied.folded("deep"), lambda n: n > 20)
    before = proxied.chats()
    at = 2 * (folded // 2 - 2)  # well below the cursor, after the first folds
    edited = Client(proxied, client.history[:at], X_Infold_Chat="deep")
    edited.ask("Something else: I sold the car.")
    branch = branch_of(proxied, "deep", before)
    assert proxied.kept(branch, at + 2) == edited.said
    assert proxied.folded(branch) <= at
    assert proxied.folded(branch) > 0
    sent = str(proxied.last_sent()["body"])
    assert "peanuts" in sent
    assert "Bruno" in sent
    assert "Setúbal" not in sent  # it has not been said, in this branch
    for number in range(20):
        edited.ask(f"Afterwards {number} " + f"other{number} " * 40)
    assert proxied.kept(branch, at + 42) == edited.said
    sent = str(proxied.last_sent()["body"])
    assert "peanuts" in sent
    assert "Setúbal" not in sent
    assert proxied.kept("deep", 52) == client.said
    proxied.sound()
    client.ask("As it was")
    assert proxied.kept("deep", 54) == client.said
    assert "Setúbal" in str(proxied.last_sent()["body"])


# At the same time --------------------------------------------------------------------------------------


def at_once(*calls: Any) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_identical_requests_at_the_same_time(proxied: Proxied) -> None:
    clients = [Client(proxied, X_Infold_Chat="twins") for _ in range(6)]
    for turn in range(3):
        at_once(*(partial(client.ask, f"At once {turn}") for client in clients))
    assert proxied.kept("twins", 6) == clients[0].said
    assert not [id for id in proxied.chats() if id.startswith("twins~")]


def test_the_same_request_again_is_no_branch_unless_the_reply_differs(proxied: Proxied) -> None:
    client = Client(proxied, X_Infold_Chat="retried")
    client.ask("Once")
    client.ask("Twice")
    proxied.kept("retried", 4)
    for _ in range(2):  # as libraries do by themselves, when a connection breaks
        Client(proxied, client.history[:3], X_Infold_Chat="retried").again()
    client.ask("And on")
    assert proxied.kept("retried", 6) == client.said
    assert not [id for id in proxied.chats() if id.startswith("retried~")]


def test_different_requests_at_the_same_time(proxied: Proxied) -> None:
    """Each is somebody's next message to the same chat: nothing is lost, and none answers another's."""
    first = Client(proxied, X_Infold_Chat="forks")
    first.ask("Together")
    proxied.kept("forks", 2)
    clients = [Client(proxied, first.history, X_Infold_Chat="forks") for _ in range(4)]
    at_once(*(partial(client.ask, f"Apart {number}") for number, client in enumerate(clients)))
    ids = eventually(
        lambda: [id for id in proxied.chats() if id == "forks" or id.startswith("forks~")], lambda ids: len(ids) == 4
    )
    found = sorted(proxied.kept(id, 4) for id in ids)
    assert found == sorted(client.said for client in clients)


def test_a_client_that_goes_on_at_once(proxied: Proxied) -> None:
    """It sends its next message when it has read the last word, before the answer has ended."""
    history: list[Wire] = []
    with httpx2.Client(base_url=proxied.server.url, headers={"X-Infold-Chat": "hasty"}, timeout=30) as http:
        for number in range(15):
            history.append({"role": "user", "content": f"Quick {number}"})
            body: Any = {"model": "echo", "messages": history, "stream": True}
            with proxied.openai(X_Infold_Chat="hasty") as client:
                reply = ""
                for chunk in client.chat.completions.create(**body):
                    reply += chunk.choices[0].delta.content or ""
                    if chunk.choices[0].finish_reason:
                        history.append({"role": "assistant", "content": reply})
                        more = [*history, {"role": "user", "content": f"Quicker {number}"}]
                        answer = http.post(CHAT, json={"model": "echo", "messages": more})
                        history = [*more, answer.json()["choices"][0]["message"]]
    found = proxied.kept("hasty", 60)
    assert found == [(one["role"], one["content"]) for one in history]
    assert not [id for id in proxied.chats() if id.startswith("hasty~")]


# Clients that send less --------------------------------------------------------------------------------


def test_a_client_that_sends_only_what_is_new(proxied: Proxied) -> None:
    said: list[tuple[str, str]] = []

    def ask(text: str) -> Wire:
        client = Client(proxied, X_Infold_Chat="only new")
        client.ask(text)
        said.extend(client.said)
        proxied.kept("only new", len(said))
        sent: Wire = proxied.last_sent()["body"]
        return sent

    ask("I am allergic to peanuts.")
    sent = ask("What can I eat?")  # long before anything is folded
    assert [one["content"] for one in sent["messages"]] == [text for _, text in said[:-1]]
    for number in range(15):
        sent = ask(f"And thing {number}? " + f"thing{number} " * 50)
    assert "peanuts" in str(sent)
    assert len(sent["messages"]) < 30
    assert proxied.kept("only new", 34) == said
    # A request that failed and comes again is the same message.
    body = {"model": "error-500", "messages": [{"role": "user", "content": "Again and again"}]}
    for _ in range(2):
        assert proxied.post(CHAT, body, X_Infold_Chat="only new").status_code == 500
    ask("Again and again")
    assert proxied.kept("only new", 36) == said
    assert not [id for id in proxied.chats() if id.startswith("only new~")]


def test_a_client_with_a_window_of_its_own(proxied: Proxied) -> None:
    """It sends the last few messages only; the model knows the rest all the same."""
    client = Client(proxied, X_Infold_Chat="window")
    every: list[tuple[str, str]] = []
    for number in range(20):
        client.ask("I am allergic to peanuts." if number == 0 else f"Question {number} " + f"thing{number} " * 30)
        every += client.said[-2:]
        client.history = client.history[-6:]
    assert proxied.kept("window", 40) == every
    assert "peanuts" in str(proxied.last_sent()["body"])
    assert not [id for id in proxied.chats() if id.startswith("window~")]
    # What it edits there is a branch with all that came before.
    before = proxied.chats()
    edited = Client(proxied, client.history[:4], X_Infold_Chat="window")
    edited.ask("Otherwise")
    branch = branch_of(proxied, "window", before)
    assert proxied.kept(branch, 40) == every[:38] + edited.said[-2:]
    assert "peanuts" in str(proxied.last_sent()["body"])
    # The branch goes on like any chat, and makes no other.
    said = every[:38] + edited.said[-2:]
    for number in range(8):
        edited.ask(f"And further {number} " + f"more{number} " * 30)
        said += edited.said[-2:]
        edited.history = edited.history[-6:]
    assert proxied.kept(branch, 56) == said
    assert "peanuts" in str(proxied.last_sent()["body"])
    proxied.kept("window", 40)
    # So does the first one, if its client goes back there.
    client.ask("Back to what was")
    assert proxied.kept("window", 42) == every + client.said[-2:]
    # From far back, where no request of late has begun.
    back = Client(proxied, [{"role": role, "content": text} for role, text in said[2:5]], X_Infold_Chat="window")
    back.history = back.history[:2]
    back.ask("Once more, from the beginning")
    third = next(id for id in new_chats(proxied, before, 2) if id != branch)
    assert proxied.kept(third, 6) == every[:4] + back.said[-2:]


def test_what_shares_nothing_with_a_named_chat_goes_on_with_it(proxied: Proxied) -> None:
    """Such as what a client makes of its history itself, or is left with after some requests without memory."""
    client = Client(proxied, X_Infold_Chat="compacted")
    for number in range(3):
        client.ask("I am allergic to peanuts." if number == 0 else f"Question {number}")
    said = list(client.said)
    client.history = [
        {"role": "user", "content": "Summary: we spoke of food."},
        {"role": "assistant", "content": "Understood."},
    ]
    client.ask("What now?")
    assert proxied.kept("compacted", 10) == said + client.said
    assert "peanuts" in str(proxied.last_sent()["body"])
    client.ask("And then?")
    assert proxied.kept("compacted", 12) == said + client.said
    assert not [id for id in proxied.chats() if id.startswith("compacted~")]


def test_an_agent_that_sends_only_its_last_turn(proxied: Proxied) -> None:
    tool = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}
    made = 0
    for number in range(4):
        turn: list[Wire] = [{"role": "user", "content": f"Look up {number}"}]
        while turn[-1].get("content") is None or turn[-1]["role"] != "assistant":
            body = {"model": "tools-2-1", "messages": turn, "tools": [tool]}
            message = proxied.post(CHAT, body, X_Infold_Chat="last turn").json()["choices"][0]["message"]
            turn.append(message)
            turn += [
                {"role": "tool", "tool_call_id": call["id"], "content": "nothing"}
                for call in message.get("tool_calls") or ()
            ]
        made += len(turn)
        proxied.kept("last turn", made)
    assert "Look up 0" in str(proxied.last_sent()["body"])
    assert not [id for id in proxied.chats() if id.startswith("last turn~")]


# Names -------------------------------------------------------------------------------------------------


def test_a_chat_of_another_user(proxied: Proxied) -> None:
    ann = Client(proxied, X_Infold_Chat="of ann", X_Infold_User="ann")
    ann.ask("I am Ann")
    proxied.kept("of ann", 2)
    before = proxied.chats()
    proxied.provider.forget()
    bob = {"X_Infold_Chat": "of ann", "X_Infold_User": "bob"}
    more = {"role": "user", "content": "more"}
    for messages in (
        [{"role": "user", "content": "I am Bob"}],
        [*ann.history, more],
        ann.history[:1],
        [*ann.history, more, {"role": "assistant", "content": "yes"}, more],
    ):
        answer = proxied.post(CHAT, {"model": "echo", "messages": messages}, **bob)
        problem(answer, 403, "other_user")
        assert "I am Ann" not in answer.text
    ann.ask("Still me")
    problem(proxied.post(CHAT, {"model": "echo", "messages": [*ann.history[:2], more]}, **bob), 403, "other_user")
    assert proxied.chats() == before
    assert len(proxied.provider.requests()) == 1
    assert proxied.kept("of ann", 4) == ann.said


def test_a_chat_learns_whose_it_is(proxied: Proxied) -> None:
    client = Client(proxied, X_Infold_Chat="whose")
    client.ask("Nobody yet")
    client.headers = {"X_Infold_Chat": "whose", "X_Infold_User": "zoe"}
    client.ask("I am Zoe")
    proxied.kept("whose", 4)
    assert proxied.api.get("/v1/chats/whose").json()["user"] == "zoe"


@pytest.mark.parametrize("name", ["çhat 日本 \U0001f600", "with/slash?and#more%20", "x" * 200, "~", "a~b"])
def test_names(proxied: Proxied, name: str) -> None:
    body = {"model": "echo", "messages": [{"role": "user", "content": "named"}]}
    headers = {"X-Infold-Chat": name.encode(), "X-Infold-User": "jürgen".encode()}
    answer = httpx2.post(f"{proxied.server.url}{CHAT}", json=body, headers=headers, timeout=30)  # type: ignore[arg-type]
    assert answer.status_code == 200
    assert [role for role, _ in proxied.kept(name, 2)] == ["user", "assistant"]


def test_names_that_are_none(proxied: Proxied) -> None:
    body = {"model": "echo", "messages": [{"role": "user", "content": "badly named"}]}
    proxied.provider.forget()
    for header in ("X_Infold_Chat", "X_Infold_User"):
        problem(proxied.post(CHAT, body, **{header: "x" * 201}), 400, "bad_name")
    assert proxied.provider.requests() == []
    before = proxied.chats()
    empty = {"X_Infold_Chat": "", "X_Infold_User": ""}  # as good as none
    assert proxied.post(RESPONSES, {"model": "echo", "input": "x"}, **empty).status_code == 200
    (chat,) = new_chats(proxied, before, 1)
    assert proxied.api.get(f"/v1/chats/{chat}").json()["user"] is None
