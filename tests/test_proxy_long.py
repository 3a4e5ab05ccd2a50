"""Long chats through the proxy, with clients that send everything each time: nothing twice, nothing lost, never too much."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from infold import formats
from infold.tokens import count, message_tokens
from tests.provider import said
from tests.proxied import Proxied, Wire, start_proxied
from tests.test_proxy_clients import BLOCK, FLAT, TOOL

WINDOW = 3000
REPLY = WINDOW * 15 // 100  # what a reply may take, where the client does not say
BUDGET = WINDOW - REPLY
SYSTEM = "You plan journeys. Be brief."
FACTS = {2: "My name is Marisol Teixeira.", 3: "I am allergic to peanuts.", 5: "The invoice number is INV-20931."}
Ask = Callable[[str], int]
"""Asks a question; returns how many messages that made."""


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    with start_proxied(tmp_path_factory.mktemp("long"), context_window=WINDOW, memory_timeout=30) as started:
        yield started
        started.sound()


def question(number: int) -> str:
    more = " ".join(f"place{number * 7 + n}" for n in range(25))
    return f"{FACTS.get(number, f'Question {number}.')} What about {more}?"


def streaming(proxied: Proxied, held: ExitStack, **headers: str) -> Ask:
    client = held.enter_context(proxied.openai(**headers))
    history: list[Any] = [{"role": "system", "content": SYSTEM}]

    def ask(text: str) -> int:
        history.append({"role": "user", "content": text})
        # Beside the library's own look at each message, which takes far longer than all the rest.
        given = {"messages": history}
        stream = client.chat.completions.create(model="echo", messages=[], extra_body=given, stream=True)
        reply = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        history.append({"role": "assistant", "content": reply})
        return 2

    return ask


def items(proxied: Proxied, held: ExitStack, **headers: str) -> Ask:
    client = held.enter_context(proxied.openai(**headers))
    history: list[Any] = []

    def ask(text: str) -> int:
        history.append({"role": "user", "content": text})
        before = len(history) - 1
        while True:
            # Given as `input`, the client looks at each item for what it could rewrite: seconds in all.
            sent = {"input": history}
            answer = client.responses.create(model="tools-1-2", instructions=SYSTEM, tools=[FLAT], extra_body=sent)
            history.extend(item.to_dict() for item in answer.output)
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                return len(history) - before
            for call in calls:
                history.append({"type": "function_call_output", "call_id": call.call_id, "output": "found nothing"})

    return ask


def claude(proxied: Proxied, held: ExitStack, **headers: str) -> Ask:
    client = held.enter_context(proxied.anthropic(**headers))
    history: list[Any] = []

    def ask(text: str) -> int:
        history.append({"role": "user", "content": text})
        added = 1
        while True:
            with client.messages.stream(
                model="tools-1-2", max_tokens=REPLY, system=SYSTEM, messages=history, tools=[BLOCK]
            ) as stream:
                answer = stream.get_final_message()
            history.append({"role": "assistant", "content": [block.to_dict() for block in answer.content]})
            calls = [block for block in answer.content if block.type == "tool_use"]
            added += 1 + len(calls)
            if not calls:
                return added
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": "found nothing"} for call in calls]
            history.append({"role": "user", "content": results})

    return ask


def agent(proxied: Proxied, held: ExitStack, **headers: str) -> Ask:
    client = held.enter_context(proxied.openai(**headers))
    history: list[Any] = [{"role": "developer", "content": SYSTEM}]

    def ask(text: str) -> int:
        before = len(history)
        history.append({"role": "user", "content": text})
        while True:
            given = {"messages": history}  # as above
            answer = client.chat.completions.create(model="tools-3-1", messages=[], extra_body=given, tools=[TOOL])
            message = answer.choices[0].message
            history.append(message.to_dict())
            if not message.tool_calls:
                return len(history) - before
            for call in message.tool_calls:
                history.append({"role": "tool", "tool_call_id": call.id, "content": "found nothing of that kind"})

    return ask


def size(body: Wire) -> int:
    """Tokens of a request, its tools aside."""
    own = said(body.get("system")) + str(body.get("instructions") or "")
    given = body.get("messages") or body["input"]
    return count(own) + sum(_tokens(json.dumps(value)) for value in given)


@functools.cache
def _tokens(written: str) -> int:
    return sum(message_tokens(message) for message in formats.parse(json.loads(written)))


def talk(proxied: Proxied, ask: Ask, turns: int) -> tuple[int, list[Wire]]:
    """Have a chat; how many messages it has then, and what the provider got."""
    proxied.provider.forget()
    made = sum(ask(question(number)) for number in range(turns))
    return made, [one["body"] for one in proxied.provider.requests()]


def check(proxied: Proxied, chat: str, made: int, requests: list[Wire], turns: int, folds: int) -> None:
    assert max(size(body) for body in requests) <= BUDGET
    found = proxied.kept(chat, made)
    asked = [text for role, text in found if role == "user"]
    assert asked == [question(number) for number in range(turns)]  # each once, in order
    assert proxied.events(chat).count("summarization") >= folds
    last = str(requests[-1])
    for fact in ("Marisol Teixeira", "peanuts", "INV-20931"):
        assert fact in last, f"{fact} is not in what the model saw last"
    assert len(last) < sum(len(text) for _, text in found)  # though not by sending everything
    assert SYSTEM in last
    assert question(turns - 1) in last
    proxied.sound()


def test_300_turns_with_a_client_that_sends_everything_each_time(proxied: Proxied) -> None:
    before = proxied.chats()
    with ExitStack() as held:
        made, requests = talk(proxied, streaming(proxied, held, X_Infold_Chat="long"), 300)
    assert made == 600
    assert len(requests) == 300
    check(proxied, "long", 600, requests, 300, 20)
    assert [chat for chat in proxied.chats() if chat not in before] == ["long"]
    replies = [text for role, text in proxied.kept("long", 600) if role == "assistant"]
    assert all(reply.startswith(f"Reply to: {question(n)[:20]}") for n, reply in enumerate(replies))


@pytest.mark.parametrize(("way", "named"), [(streaming, False), (items, True), (claude, False), (agent, True)])
def test_40_turns(proxied: Proxied, way: Callable[..., Ask], named: bool) -> None:
    before = proxied.chats()
    headers = {"X_Infold_Chat": f"{way.__name__} 40"} if named else {"X_Infold_User": f"{way.__name__}"}
    with ExitStack() as held:
        made, requests = talk(proxied, way(proxied, held, **headers), 40)
    chat = proxied.only_new(before, made)
    check(proxied, chat, made, requests, 40, 3)
