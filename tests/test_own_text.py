"""F8: memory does not feed on itself. What infold put into a request is never read when it comes back in a message."""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from infold import Chat, Context, Memory, Message, preset
from infold.folding.prompting import ITEMS, RECORD, TURNS, Task, build
from infold.lines.line import Line
from infold.marks import without_own
from infold.messages import parse
from infold.quoting.digest import digest
from infold.quoting.reading import read as quotable
from tests.conftest import assistant, call, result, user, words
from tests.test_model_faults import said
from tests.upstream import Upstream

PRESETS = ("default", "rolling", "chain", "chunked", "layered", "engine")
LAYOUTS = (ITEMS, RECORD, TURNS)
OWN = ("FACT-", "seat", "Lyon", "Anna", "[infold", "BACKGROUND", "EXISTING_SUMMARY", "<meta", "schema", "Bob")
BEFORE, AFTER = "I prefer tea over coffee.", "My name is Ada Lovelace."


@functools.cache
def injected(name: str, pin: str = "Never call Bob") -> Context:
    """A context with memory, a pin, a bridge and sources."""
    with tempfile.TemporaryDirectory() as folder, Memory(f"sqlite:///{folder}/c.db") as memory:
        config = preset(name, {}, **({"chunk_tokens": 200} if name == "chunked" else {}))
        chat = memory.chat("c", config=config, context_window=400 if name in ("chain", "default") else 8192)
        chat.pin(pin)
        for number in range(1, 32):
            chat.add(said(number))
        context = chat.context(sources=["Anna moved to Lyon."], max_tokens=300 if name == "chain" else 500)
        assert "FACT-1201" in chat.summary
        assert name != "chain" or context.bridge is not None
        return context


def asked(layout: str) -> tuple[str, str]:
    """A summarizer's prompt and its input."""
    messages = tuple(replace(parse(said(number)), seq=number, tokens=20) for number in (3, 4))
    known = (Line("1.1", "facts", "User lives in Lyon", (1,)), Line("1.2", "open", "Anna calls Bob back", (2,)))
    prompt = build(Task(known, (), messages, 500, 1, layout, 40))
    return prompt.system, prompt.user


def own_texts() -> dict[str, str]:
    """Everything that infold writes into requests."""
    texts: dict[str, str] = {}
    for name in PRESETS:
        for at, message in enumerate(injected(name).messages):
            if message["role"] == "system":
                texts[f"{name} {at}"] = str(message["content"])
    for layout in LAYOUTS:
        texts[f"{layout} prompt"], texts[f"{layout} input"] = asked(layout)
        texts[f"{layout} both"] = "\n\n".join(asked(layout))
    return texts


def message(text: str, role: str = "user") -> Message:
    more = {"tool_call_id": "a"} if role == "tool" else {}
    return replace(parse({"role": role, "content": text, **more}), seq=1, tokens=20)


def read(text: str, role: str) -> str:
    """All that would be read of a message: for quotations, by the bridge, by a model."""
    said = message(text, role)
    return "\n".join(
        [*(line.text for line in quotable(said, ())), digest(said), build(Task((), (), (said,), 500)).user]
    )


def owned(text: str) -> list[str]:
    return [sign for sign in OWN if sign in text]


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
@pytest.mark.parametrize("text", own_texts().values(), ids=own_texts().keys())
def test_F8_own_text_is_not_read_and_what_stands_around_it_is(text: str, role: str) -> None:
    assert without_own(text) == ""
    assert owned(read(text, role)) == []
    around = read(f"{BEFORE}\n\n{text}\n\n{AFTER}", role)
    assert owned(around) == []
    assert "tea" in around
    assert "Ada Lovelace" in around


@pytest.mark.parametrize("name", PRESETS)
def test_F8_a_pin_of_several_lines_does_not_let_memory_out(name: str) -> None:
    texts = [
        str(m["content"]) for m in injected(name, "Never call Bob\nnor Anna in Lyon").messages if m["role"] == "system"
    ]
    for text in texts:
        assert owned(read(text, "user")) == []


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
@pytest.mark.parametrize("name", PRESETS)
def test_F8_a_request_quoted_as_json_is_not_read(name: str, role: str) -> None:
    blocks = [m for m in injected(name).messages if m["role"] == "system"]
    quoted = f"{BEFORE}\n{json.dumps(blocks)}\n{AFTER}"
    found = [line.text for line in quotable(message(quoted, role), ())]
    assert owned("\n".join(found)) == []
    assert role != "user" or any("Ada Lovelace" in line for line in found)


def test_F8_ordinary_text_is_untouched() -> None:
    for text in (
        "", "plain", "- a bullet\n- another", "## Facts / Constraints\n- mine", "<memory>of you</memory>", "[1] user: hi",
        "=== NOTES ===", "[infold] is a library", "<meta charset=utf-8 />", "BACKGROUND: none", "a\n\n\nb ",
    ):  # fmt: skip
        assert without_own(text) == text


def test_F8_what_the_user_writes_after_a_quoted_block_is_read(memory: Memory) -> None:
    """A bullet list of the user's own, set off from the block by a line of text."""
    block = next(str(m["content"]) for m in injected("rolling").messages if m["role"] == "system")
    text = f"{block}\n\nThat is right, but:\n- my budget is 900 euros\n- I moved to Oslo"
    assert without_own(text) == "That is right, but:\n- my budget is 900 euros\n- I moved to Oslo"


# In a chat -----------------------------------------------------------------------------------------------


def blocks(context: Context) -> str:
    return "\n\n".join(str(m["content"]) for m in context.messages if m["role"] == "system")


def plain(context: Context) -> str:
    return context.to("text")


@pytest.mark.parametrize("form", [blocks, plain])
@pytest.mark.parametrize("name", PRESETS)
def test_F8_twenty_turns_of_memory_coming_back_add_no_line_to_it(
    memory: Memory, name: str, form: Callable[[Context], str]
) -> None:
    config = preset(name, {}, **({"chunk_tokens": 300} if name == "chunked" else {}))
    # A block that was cut is text like any other: there is room for whole ones.
    chat = memory.chat("c", config=config, context_window=8000 if name == "chunked" else 2000)
    chat.pin("Never call Bob")
    for number in range(1, 27):
        chat.add(said(number))
    for number in range(20):
        chat.add([user(f"{form(chat.context())}\n\nGo on, please."), assistant(words(40, f"a{number}"))])
    texts = [item.text for item in chat.memory.items]
    assert len(set(texts)) == len(texts)
    true = {f"My ticket number for leg {number} is FACT-{1200 + number}." for number in range(1, 27, 2)}
    facts = [
        text.removeprefix("User: ") for text in texts if "FACT-" in text
    ]  # the text form names the speakers of its tail
    assert facts
    assert set(facts) <= true
    assert not [text for text in texts if "infold" in text or "BACKGROUND" in text or "##" in text]
    assert memory.verify().ok


@pytest.mark.parametrize("name", ["rolling", "chain", "default"])
def test_F8_own_text_is_never_sent_to_a_model(url: str, upstream: Upstream, name: str) -> None:
    own = [*map(str, own_texts().values())]
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat: Chat = memory.chat("c", preset=name, context_window=8192, wait=True)
        for number, text in enumerate(own):
            chat.add(user(f"My desk is D-{number + 100}.\n\n{text}"))
            chat.add(call(f"c{number}", content=text))
            chat.add([result(f"c{number}", text), assistant(f"Noted.\n\n{text}")])
        chat.fold()
        chat.settle()
        sent = [request["body"]["messages"][-1]["content"] for request in upstream.requests()]
    assert sent
    assert "My desk is D-100." in sent[0]
    for text in sent:
        assert not [sign for sign in ("FACT-", "Lyon", "Bob", "[infold", "At most 500", "BACKGROUND") if sign in text]


def test_F8_own_text_is_never_given_to_a_summarizer_function(url: str) -> None:
    given: list[str] = []

    def summarizer(summary: str, messages: list[Message]) -> str:
        given.extend(m.text for m in messages)
        return "- User's desk is D-100"

    block = next(str(m["content"]) for m in injected("rolling").messages if m["role"] == "system")
    contents: list[Any] = [
        block,
        [{"type": "text", "text": block}],
        [{"type": "text", "text": "So:"}, {"type": "text", "text": block}],
    ]
    with Memory(url, summarizer=summarizer) as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        for content in contents:
            chat.add([user("My desk is D-100."), assistant(content)])
        chat.add([user("More."), assistant("Yes.")] * 4)
        assert any("D-100" in text for text in given)
        assert not [text for text in given if "[infold" in text or "FACT-" in text]
