"""The proxy with real clients, unmodified: what they get is what the provider says, and the ledger has it all."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI, InternalServerError, NotFoundError

from tests.proxied import CHAT, KEY, MESSAGES, RESPONSES, Proxied, Wire, start_proxied
from tests.servers import problem

TOOL: Any = {
    "type": "function",
    "function": {"name": "look_up", "description": "Look up", "parameters": {"type": "object", "properties": {}}},
}
FLAT: Any = {"type": "function", "strict": None, **TOOL["function"]}
BLOCK: Any = {"name": "look_up", "description": "Look up", "input_schema": {"type": "object", "properties": {}}}
IMAGE = "data:image/png;base64,iVBORw0KGgo="


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    with start_proxied(tmp_path_factory.mktemp("clients"), memory_timeout=30) as started:
        yield started
        started.sound()


def _calls(message: Wire) -> list[tuple[str, str, str]]:
    calls = message.get("tool_calls") or ()
    return [(one["id"], one["function"]["name"], one["function"]["arguments"]) for one in calls]


# OpenAI, Chat Completions ------------------------------------------------------------------------------


def test_openai(proxied: Proxied) -> None:
    asked: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello, it is me."}]
    with proxied.openai(X_Infold_Chat="plain") as client, proxied.direct.openai() as direct:
        for number in range(1, 4):
            answer = client.chat.completions.create(model="echo", messages=asked)
            assert answer.to_dict() == direct.chat.completions.create(model="echo", messages=asked).to_dict()
            reply = answer.choices[0].message.content
            assert reply == f"Reply to: {asked[-1]['content']} ({len(asked)} messages)"
            asked += [{"role": "assistant", "content": reply}, {"role": "user", "content": f"And then? {number}"}]
        ledger = [(one["role"], one["content"]) for one in asked[1:-1]]
    assert proxied.kept("plain", 6) == ledger  # the client's instructions are not part of the chat


def test_openai_streaming(proxied: Proxied) -> None:
    asked: list[Any] = [{"role": "user", "content": "Tell me, in pieces."}]
    with proxied.openai(X_Infold_Chat="stream") as client, proxied.direct.openai() as direct:
        given: Wire = {"model": "echo", "messages": asked, "stream_options": {"include_usage": True}}
        chunks: list[Any] = [chunk.to_dict() for chunk in client.chat.completions.create(**given, stream=True)]
        assert chunks == [chunk.to_dict() for chunk in direct.chat.completions.create(**given, stream=True)]
        reply = "".join(one["choices"][0]["delta"].get("content") or "" for one in chunks)
        asked += [{"role": "assistant", "content": reply}, {"role": "user", "content": "More."}]
        with client.chat.completions.stream(model="echo", messages=asked) as stream:
            events = [event.type for event in stream]
            more = stream.get_final_completion().choices[0].message.content
        with direct.chat.completions.stream(model="echo", messages=asked) as stream:
            assert events == [event.type for event in stream]
    assert proxied.kept("stream", 4) == [(one["role"], one["content"]) for one in asked] + [("assistant", more)]


def test_openai_async(proxied: Proxied) -> None:
    async def talk(number: int) -> None:
        url = f"{proxied.server.url}/v1"
        async with AsyncOpenAI(
            base_url=url, api_key=KEY, max_retries=0, default_headers={"X-Infold-Chat": f"async {number}"}
        ) as client:
            asked: list[Any] = []
            for turn in range(4):
                asked.append({"role": "user", "content": f"Question {turn} of {number}"})
                if number % 2:
                    stream = await client.chat.completions.create(model="echo", messages=asked, stream=True)
                    reply = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
                else:
                    answer = await client.chat.completions.create(model="echo", messages=asked)
                    reply = answer.choices[0].message.content or ""
                asked.append({"role": "assistant", "content": reply})
        assert proxied.kept(f"async {number}", 8) == [(one["role"], one["content"]) for one in asked]

    async def all_at_once() -> None:
        await asyncio.gather(*(talk(number) for number in range(6)))

    asyncio.run(all_at_once())


@pytest.mark.parametrize("streaming", [False, True])
def test_openai_tools(proxied: Proxied, streaming: bool) -> None:
    chat = f"tools {streaming}"
    asked: list[Any] = [{"role": "user", "content": "Look it up, thoroughly."}]
    given: Wire = {"model": "tools-3-2", "tools": [TOOL], "parallel_tool_calls": True}
    with proxied.openai(X_Infold_Chat=chat) as client, proxied.direct.openai() as direct:
        for _ in range(4):
            if streaming:
                with client.chat.completions.stream(**given, messages=asked) as stream:
                    answer: Any = stream.get_final_completion()
                with direct.chat.completions.stream(**given, messages=asked) as stream:
                    assert answer.to_dict() == stream.get_final_completion().to_dict()
            else:
                answer = client.chat.completions.create(**given, messages=asked)
                assert answer.to_dict() == direct.chat.completions.create(**given, messages=asked).to_dict()
            message = answer.choices[0].message
            asked.append(message.to_dict())  # as the library gives it back, null fields and all
            for call in message.tool_calls or ():
                asked.append({"role": "tool", "tool_call_id": call.id, "content": f"found {call.function.arguments}"})
    assert len(asked) == 1 + 3 * 3 + 1
    proxied.kept(chat, 11)
    ledger = proxied.messages(chat)
    assert [one["role"] for one in ledger] == [one["role"] for one in asked]
    for ours, theirs in zip(ledger, asked, strict=True):
        assert _calls(ours) == _calls(theirs)
        assert ours.get("tool_call_id") == theirs.get("tool_call_id")
        assert ours["content"] == theirs.get("content")


def test_openai_parts_choices_and_formats(proxied: Proxied) -> None:
    parts: Any = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": IMAGE, "detail": "low"}},
    ]
    schema: Any = {"type": "json_schema", "json_schema": {"name": "it", "schema": {"type": "object"}, "strict": True}}
    asked: list[Any] = [{"role": "user", "content": parts}]
    given: Wire = {"model": "echo", "n": 2, "response_format": schema, "extra_body": {"odd": [1, None]}}
    with proxied.openai(X_Infold_Chat="parts") as client, proxied.direct.openai() as direct:
        answer = client.chat.completions.create(**given, messages=asked)
        assert answer.to_dict() == direct.chat.completions.create(**given, messages=asked).to_dict()
        assert len(answer.choices) == 2
        through, straight = proxied.provider.requests()[-2:]
        assert through["raw"] == straight["raw"]
        assert through["body"]["response_format"] == schema
        asked += [answer.choices[0].message.to_dict(), {"role": "user", "content": "Sure?"}]
        chunks = list(client.chat.completions.create(**given, messages=asked, stream=True))
        assert {chunk.choices[0].index for chunk in chunks} == {0, 1}
        first = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices[0].index == 0)
    proxied.kept("parts", 4)
    ledger = proxied.messages("parts")
    assert [one["role"] for one in ledger] == ["user", "assistant", "user", "assistant"]
    assert ledger[0]["content"] == parts
    assert ledger[3]["content"] == first


def test_openai_errors_and_models(proxied: Proxied) -> None:
    with proxied.openai(X_Infold_Chat="errors") as client, proxied.direct.openai() as direct:
        told = []
        for one in (client, direct):
            with pytest.raises(InternalServerError) as caught:
                one.chat.completions.create(model="error-503", messages=[{"role": "user", "content": "x"}])
            told.append((caught.value.body, caught.value.request_id, caught.value.response.headers["retry-after"]))
        assert told[0] == told[1]
        assert [one.to_dict() for one in client.models.list()] == [one.to_dict() for one in direct.models.list()]
        with pytest.raises(NotFoundError, match="no /v1/embeddings here"):
            client.embeddings.create(model="e", input="x")
        # The question is kept once, however often it takes.
        answer = client.chat.completions.create(model="echo", messages=[{"role": "user", "content": "x"}])
    assert proxied.kept("errors", 2) == [("user", "x"), ("assistant", answer.choices[0].message.content)]


# OpenAI, Responses -------------------------------------------------------------------------------------


def test_responses(proxied: Proxied) -> None:
    items: list[Any] = [{"role": "user", "content": "Hello, responses."}]
    with proxied.openai(X_Infold_Chat="items") as client, proxied.direct.openai() as direct:
        for number in range(3):
            given: Wire = {"model": "echo", "instructions": "Be brief.", "input": items}
            if number == 1:
                with client.responses.stream(**given) as stream:
                    seen = [(event.type, getattr(event, "delta", None)) for event in stream]
                with direct.responses.stream(**given) as stream:
                    assert seen == [(event.type, getattr(event, "delta", None)) for event in stream]
                answer = direct.responses.create(**given)
            else:
                answer = client.responses.create(**given)
                assert answer.to_dict() == direct.responses.create(**given).to_dict()
            assert answer.output_text == f"Reply to: {items[-1]['content']} ({len(items)} messages)"
            items += [*(item.to_dict() for item in answer.output), {"role": "user", "content": f"And {number}?"}]
    found = proxied.kept("items", 6)
    assert [role for role, _ in found] == ["user", "assistant"] * 3
    assert [text for role, text in found if role == "user"] == ["Hello, responses.", "And 0?", "And 1?"]
    assert proxied.messages("items")[5]["content"] == items[-2]["content"]


@pytest.mark.parametrize("streaming", [False, True])
def test_responses_tools(proxied: Proxied, streaming: bool) -> None:
    chat = f"items tools {streaming}"
    items: list[Any] = [{"role": "user", "content": "Look it up."}]
    given: Wire = {"model": "tools-2-2", "tools": [FLAT]}
    with proxied.openai(X_Infold_Chat=chat) as client, proxied.direct.openai() as direct:
        for _ in range(3):
            if streaming:
                with client.responses.stream(**given, input=items) as stream:
                    answer: Any = stream.get_final_response()
            else:
                answer = client.responses.create(**given, input=items)
            straight = direct.responses.create(**given, input=items)
            assert [item.type for item in answer.output] == [item.type for item in straight.output]
            items += [item.to_dict() for item in straight.output]
            for item in answer.output:
                if item.type == "function_call":
                    items.append({"type": "function_call_output", "call_id": item.call_id, "output": item.arguments})
    assert len(items) == 1 + 2 * 4 + 1
    proxied.kept(chat, 10)
    ledger = proxied.messages(chat)
    assert [one["role"] for one in ledger] == ["user", *["assistant", "assistant", "tool", "tool"] * 2, "assistant"]
    made = [call["id"] for one in ledger for call in one.get("tool_calls", ())]
    assert made == [one["call_id"] for one in items if one.get("type") == "function_call"]
    assert made == [one["tool_call_id"] for one in ledger if one["role"] == "tool"]


def test_responses_that_the_upstream_keeps(proxied: Proxied) -> None:
    """A client that names the last response, or a conversation, sends nothing twice; both are one chat each."""
    before = proxied.chats()
    with proxied.openai() as client:
        first = client.responses.create(model="echo", input="I live in Faro.")
        chat = proxied.only_new(before, 2)
        second = client.responses.create(model="echo", input="And work in Lagos.", previous_response_id=first.id)
        proxied.kept(chat, 4)
        third = client.responses.create(model="echo", input="Where?", previous_response_id=second.id)
        found = proxied.kept(chat, 6)
        assert found[4:] == [("user", "Where?"), ("assistant", third.output_text)]
        assert proxied.last_sent()["body"]["input"] == "Where?"
        # Going on from an earlier response is a branch.
        before = proxied.chats()
        client.responses.create(model="echo", input="Or in Loulé.", previous_response_id=first.id)
        branch = proxied.only_new(before, 4)
        assert branch.startswith(f"{chat}~")
        proxied.kept(chat, 6)

        before = proxied.chats()
        for number in range(3):
            client.responses.create(model="echo", input=f"Point {number}", conversation="conv_1")
            chat = proxied.only_new(before, 2 * number + 2)
        client.responses.create(model="echo", input="Point 3", conversation={"id": "conv_1"})
        found = proxied.kept(chat, 8)
        assert [text for role, text in found if role == "user"] == [f"Point {number}" for number in range(4)]


# Anthropic ---------------------------------------------------------------------------------------------


def test_anthropic(proxied: Proxied) -> None:
    system: Any = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    asked: list[Any] = [{"role": "user", "content": "Hello, Claude."}]
    with proxied.anthropic(X_Infold_Chat="claude") as client, proxied.direct.anthropic() as direct:
        for number in range(3):
            given: Wire = {"model": "echo", "max_tokens": 100, "system": system, "messages": asked}
            if number == 1:
                with client.messages.stream(**given) as stream:
                    answer: Any = stream.get_final_message()
                with direct.messages.stream(**given) as stream:
                    assert answer.to_dict() == stream.get_final_message().to_dict()
            else:
                answer = client.messages.create(**given)
                assert answer.to_dict() == direct.messages.create(**given).to_dict()
            through, straight = proxied.provider.requests()[-2:]
            assert through["raw"] == straight["raw"]
            # The mark for the cache wanders, as clients let it.
            blocks = [block.to_dict() for block in answer.content]
            more = [{"type": "text", "text": f"And {number}?", "cache_control": {"type": "ephemeral"}}]
            for message in asked:
                if isinstance(message["content"], list) and message["role"] == "user":
                    message["content"] = [{"type": "text", "text": message["content"][0]["text"]}]
            asked += [{"role": "assistant", "content": blocks}, {"role": "user", "content": more}]
    found = proxied.kept("claude", 6)
    assert [role for role, _ in found] == ["user", "assistant"] * 3
    assert [text for role, text in found if role == "user"] == ["Hello, Claude.", "And 0?", "And 1?"]


@pytest.mark.parametrize("streaming", [False, True])
def test_anthropic_tools(proxied: Proxied, streaming: bool) -> None:
    chat = f"claude tools {streaming}"
    asked: list[Any] = [{"role": "user", "content": "Look it up."}]
    given: Wire = {"model": "tools-2-2", "max_tokens": 100, "tools": [BLOCK]}
    with proxied.anthropic(X_Infold_Chat=chat) as client, proxied.direct.anthropic() as direct:
        for _ in range(3):
            if streaming:
                with client.messages.stream(**given, messages=asked) as stream:
                    answer: Any = stream.get_final_message()
            else:
                answer = client.messages.create(**given, messages=asked)
            straight = direct.messages.create(**given, messages=asked)
            assert [block.to_dict() for block in answer.content] == [block.to_dict() for block in straight.content]
            asked.append({"role": "assistant", "content": [block.to_dict() for block in straight.content]})
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": f"found {block.input}"}
                for block in answer.content
                if block.type == "tool_use"
            ]
            if results:
                asked.append({"role": "user", "content": results})
    assert len(asked) == 1 + 2 * 2 + 1
    proxied.kept(chat, 1 + 2 * 3 + 1)  # each result is a message of its own
    ledger = proxied.messages(chat)
    made = [(call["id"], call["function"]["arguments"]) for one in ledger for call in one.get("tool_calls", ())]
    assert [one["tool_call_id"] for one in ledger if one["role"] == "tool"] == [id for id, _ in made]
    assert [json.loads(given)["query"] for _, given in made] == ["0.0", "0.1", "1.0", "1.1"]


def test_anthropic_async(proxied: Proxied) -> None:
    async def talk() -> str:
        async with (
            AsyncAnthropic(
                base_url=proxied.server.url,
                api_key=KEY,
                max_retries=0,
                default_headers={"X-Infold-Chat": "claude async"},
            ) as client,
            client.messages.stream(
                model="echo", max_tokens=10, messages=[{"role": "user", "content": "Olá"}]
            ) as stream,
        ):
            return "".join([text async for text in stream.text_stream])

    reply = asyncio.run(talk())
    assert proxied.kept("claude async", 2) == [("user", "Olá"), ("assistant", reply)]


# curl --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES])
@pytest.mark.parametrize("streaming", [False, True])
def test_curl(proxied: Proxied, path: str, streaming: bool) -> None:
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("there is no curl here")
    chat = f"curl {path} {streaming}"
    field = "input" if path == RESPONSES else "messages"
    body = json.dumps(
        {"model": "echo", field: [{"role": "user", "content": "Hi é \U0001f600"}], "stream": streaming}, indent=1
    )

    def fetched(root: str) -> tuple[bytes, set[bytes]]:
        out = subprocess.run(
            [curl, "-sS", "-N", "-i", f"{root}{path}", "-H", "Content-Type: application/json", "-H",
             f"X-Infold-Chat: {chat}", "-H", f"Authorization: Bearer {KEY}", "--data-binary", "@-"],
            input=body.encode(), capture_output=True, timeout=30, check=True,
        ).stdout  # fmt: skip
        head, _, rest = out.partition(b"\r\n\r\n")
        return rest, {line for line in head.lower().split(b"\r\n") if not line.startswith(b"date:")}

    through, head = fetched(proxied.server.url)
    straight, expected = fetched(proxied.provider.root)
    assert (through, head) == (straight, expected)
    assert [role for role, _ in proxied.kept(chat, 2)] == ["user", "assistant"]


def test_a_proxy_without_upstream(proxied: Proxied, tmp_path: Any) -> None:
    from tests.servers import start_server

    with start_server(tmp_path) as running, running.client() as api:
        problem(api.post(CHAT, json={"messages": []}), 404, "no_upstream")
