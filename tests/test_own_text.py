"""F8: memory does not feed on itself. What infold put into a request is taken out when it comes back; nothing else is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from infold import Chat, Context, Memory, Message, preset
from infold.presets import PRESETS
from tests.conftest import assistant, call, counted_ids, result, ticking_clock, user, words
from tests.databases import fresh
from tests.shown import BLOCK, shown
from tests.test_model_faults import said
from tests.upstream import Upstream

Wire = dict[str, Any]
NAMES = sorted(PRESETS)
FORMATS = ("chat", "responses", "anthropic")
SYSTEM = "You book trips. Be brief."
TRUE = {f"My ticket number for leg {number} is FACT-{1200 + number}." for number in range(1, 27, 2)}
QUESTION = "Which ticket did I say is for leg 3?"


def remembering(memory: Memory, name: str, id: str = "c", **more: Any) -> Chat:
    """A chat that has folded most of 26 messages."""
    config = preset(name, {}, **({"chunk_tokens": 300} if name == "chunked" else {}))
    window = 8000 if name == "chunked" else 2000
    chat = memory.chat(id, config=config, context_window=window, system=SYSTEM, **more)
    chat.pin("Never call Bob.")
    for number in range(1, 27):
        chat.add(said(number))
    chat.fold()
    assert "FACT-12" in chat.summary
    return chat


def blocks(context: Context) -> list[str]:
    """The blocks of a context, as text."""
    found = [match[0] for wire in context.messages for match in BLOCK.finditer(str(wire["content"]))]
    assert found
    return found


def items(context: Context, format: str) -> list[Wire]:
    """What a client of a format sends of a context, as it would add it."""
    if format != "anthropic":
        return [*context.to(format)]
    built = context.to("anthropic")
    return [*({"role": "system", "content": one} for one in [built["system"]] if one), *built["messages"]]


def text_of(wire: Wire) -> str:
    content = wire.get("content") or ""
    return content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)


def lines(chat: Chat) -> list[str]:
    """The texts of everything that memory holds."""
    state = chat.memory
    return [line.text for line in (*state.items, *state.further)]


def nothing(added: object) -> bool:
    """Whether a message was not added."""
    return added == []


# What is taken out ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_F8_blocks_are_taken_out_in_every_format_and_what_stands_around_them_stays(
    memory: Memory, name: str, format: str
) -> None:
    chat = remembering(memory, name)
    for query in (QUESTION, "And now?"):
        for max_tokens in (800, 1900):
            context = chat.context(query, max_tokens=max_tokens, sources=["Anna moved to Lyon."])
            made = blocks(context)
            carriers = [
                wire for wire in items(context, format) if BLOCK.search(text_of(wire)) and wire["role"] == "user"
            ]
            assert carriers
            for wire in carriers:
                added = chat.add({**wire, "role": "user"})
                kept = [added] if isinstance(added, Message) else added
                text = "\n".join(message.text for message in kept)
                assert not any(block in text for block in made)
                assert "<memory" not in text
                assert "<recalled" not in text
                rest = BLOCK.sub("", text_of(wire))
                assert [row for row in text.splitlines() if row.strip()] == [
                    row for row in rest.splitlines() if row.strip()
                ]


@pytest.mark.parametrize("where", ["user", "assistant", "result", "parts", "arguments are none"])
def test_F8_blocks_are_taken_out_wherever_they_are_quoted(memory: Memory, where: str) -> None:
    chat = remembering(memory, "default")
    block = blocks(chat.context(QUESTION, max_tokens=1900))[0]
    text = f"I prefer tea over coffee.\n\n{block}\n\nMy name is Ada Lovelace."
    kept = "I prefer tea over coffee.\n\nMy name is Ada Lovelace."
    wires: dict[str, tuple[list[Wire], Any]] = {
        "user": ([user(text)], kept),
        "assistant": ([assistant(text)], kept),
        "result": ([call("x"), result("x", text)], kept),
        "parts": (
            [user([{"type": "text", "text": "So:"}, {"type": "text", "text": block}, {"type": "text", "text": text}])],
            [{"type": "text", "text": "So:"}, {"type": "text", "text": kept}],
        ),
        "arguments are none": ([call("x", content=text), result("x")], kept),
    }
    given, expected = wires[where]
    added = chat.add(given)
    message = added[0 if where == "arguments are none" else -1]
    assert message.content == expected
    assert "<memory" not in str(chat.messages(after=26)[-1].wire)


def test_F8_several_blocks_and_what_stands_between_them(memory: Memory) -> None:
    chat = remembering(memory, "default")
    contexts = [chat.context(query, max_tokens=size) for query in (QUESTION, "And now?") for size in (500, 1900)]
    made = [block for context in contexts for block in blocks(context)]
    assert {block[:4] for block in made} == {"<mem", "<rec"}
    text = "\n\n".join(part for number, block in enumerate(made) for part in (f"Part {number}.", block))
    (added,) = chat.add([user(f"{text}\n\nThat was it.")])
    expected = [*(f"Part {number}." for number in range(len(made))), "That was it."]
    assert added.text == "\n\n".join(expected)


def test_F8_a_message_of_nothing_but_memory_is_not_added(memory: Memory) -> None:
    chat = remembering(memory, "default")
    context = chat.context(QUESTION, max_tokens=1900)
    number = len(chat.messages())
    for block in blocks(context):
        for given in (user(block), user(f"\n{block}\n"), assistant(block), user([{"type": "text", "text": block}])):
            assert nothing(chat.add(given))
    made = [user(block) for block in blocks(context)]
    added = chat.add([user("One."), *made, assistant("Two.")])
    assert [message.text for message in added] == ["One.", "Two."]
    assert len(chat.messages()) == number + 2
    chat.add(call("x"))  # a result is waited for: it stays, of nothing
    assert chat.add(result("x", blocks(context)[0])).text == ""
    assert chat.verify().ok


def test_F8_a_message_with_a_block_that_comes_twice_is_the_same_message(memory: Memory) -> None:
    chat = remembering(memory, "default")
    block = blocks(chat.context(QUESTION, max_tokens=1900))[0]
    first = chat.add(user(f"{block}\n\nGo on."), id="once")
    assert isinstance(first, Message)
    assert first.text == "Go on."
    assert chat.add(user(f"{block}\n\nGo on."), id="once") == chat.add(user("Go on."), id="once") == first


# Twenty turns --------------------------------------------------------------------------------------------


def one_by_one(format: str) -> Callable[[Chat, Context], None]:
    """The messages that hold a block, as the format has them, the rest of their words replaced."""

    def add(chat: Chat, context: Context) -> None:
        for wire in items(context, format):
            if wire["role"] == "system":
                chat.add(wire)
            elif BLOCK.search(text_of(wire)):
                chat.add({**wire, "content": _with_other_words(wire["content"])})

    return add


def _with_other_words(content: Any) -> Any:
    if isinstance(content, str):
        return "\n\n".join([*(match[0] for match in BLOCK.finditer(content)), "Go on, please."])
    parts = [part for part in content if BLOCK.search(part.get("text", ""))]
    return [{**part, "text": _with_other_words(part["text"])} for part in parts]


def whole(chat: Chat, context: Context) -> None:
    chat.add(context.messages)


def quoted(chat: Chat, context: Context) -> None:
    made = "\n\nAnd then?\n\n".join(blocks(context))
    chat.add(user(f"What is this?\n\n{made}\n\nGo on, please."))


def plain(chat: Chat, context: Context) -> None:
    made = "\n\n".join(match[0] for match in BLOCK.finditer(context.to("text")))
    chat.add(user(f"{made}\n\nGo on, please."))


FORMS: dict[str, Callable[[Chat, Context], None]] = {
    **{f"one by one, {format}": one_by_one(format) for format in FORMATS},
    "all at once": whole,
    "quoted": quoted,
    "as text": plain,
}


HEARD = {"Go on, please.", "What is this?", "And then?", QUESTION}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_F8_twenty_turns_of_memory_coming_back_add_no_line_to_it(memory: Memory, name: str, form: str) -> None:
    chat = remembering(memory, name)
    before, system = set(lines(chat)), shown(chat.context("So?")).system
    for number in range(20):
        query = QUESTION if number % 3 == 1 else None
        FORMS[form](chat, chat.context(query, max_tokens=(None, 1800, 600)[number % 3]))
        chat.add(assistant(words(40, f"a{number}")))
    chat.fold()
    texts = lines(chat)
    assert len(set(texts)) == len(texts)
    # Each line is one that was there, or words that the application has said again itself.
    told = {*TRUE, *HEARD, *(str(said(number)["content"]) for number in range(1, 27))}
    for text in set(texts) - before:
        assert re.match(r"a\d+ word", text) or all(part in told for part in re.split(r"(?<=[.?]) ", text)), text
    assert not any(sign in text for text in texts for sign in ("<memory", "<recalled", "[infold", "Standing wishes"))
    assert shown(chat.context("So?")).system == system  # nor does the operator say it twice
    assert memory.verify().ok


@pytest.mark.parametrize("name", NAMES)
def test_F8_requests_that_are_added_do_not_make_the_operator_say_things_again(memory: Memory, name: str) -> None:
    chat = remembering(memory, name)
    chat.pin("Never quote a price.", by="operator")
    chat.add({"role": "developer", "content": "Use British spelling."})
    for number in range(12):
        if number == 6:
            chat.add({"role": "system", "content": "The shop is closed today."})
        before = shown(chat.context(max_tokens=1800)).system
        chat.add(chat.context(max_tokens=1800).messages)
        chat.add(assistant(words(40, f"a{number}")))
        assert shown(chat.context(max_tokens=1800)).system == before
    (system,) = before
    assert system.endswith(f"{SYSTEM}\n\nNever quote a price.\n\nUse British spelling.\n\nThe shop is closed today.")


# What is ordinary text -----------------------------------------------------------------------------------

FOUND = "The heron nests at the old mill."


def altered(block: str) -> str:
    return re.sub(r"FACT-12\d\d", "FACT-9999", block, count=1)


def cut(block: str) -> str:
    return "\n".join(block.splitlines()[:-2])


def without_its_end(block: str) -> str:
    return block.removesuffix(">")


def longer(block: str) -> str:
    rows = block.splitlines()
    return "\n".join([*rows[:-1], f"> {FOUND}", rows[-1]])


def made_up(block: str) -> str:
    return re.sub(r"\d{18}", "123456789012345678", block, count=1)


def of_the_other_kind(block: str) -> str:
    return block.replace("<memory", "<recalled").replace("</memory", "</recalled")


CHANGES: Sequence[Callable[[str], str]] = (altered, cut, without_its_end, longer, made_up, of_the_other_kind)


@pytest.mark.parametrize("change", CHANGES)
def test_F8_altered_cut_and_imitated_blocks_are_text_like_any_other(url: str, change: Callable[[str], str]) -> None:
    given: list[str] = []

    def summarizer(summary: str, messages: list[Message]) -> str:
        given.extend(message.text for message in messages)
        return "- User's desk is D-100"

    with Memory(url) as memory:
        block = blocks(remembering(memory, "default").context(max_tokens=1900))[0]
    assert "FACT-12" in block
    text = f"{FOUND}\n\n{change(block)}\n\nMy desk is D-100."
    assert change(block) != block
    with Memory(url, summarizer=summarizer) as memory:
        chat = memory.chat("c", wait=True)
        added = chat.add(user(text))
        assert isinstance(added, Message)
        assert added.content == text
        chat.add(
            [assistant("I see."), *(wire for n in range(12) for wire in (user(words(60, f"q{n}")), assistant("So.")))]
        )
        chat.set_policy(preset("rolling"))
        chat.fold()
        assert text in given
        assert chat.recall("Where does the heron nest?", kinds=["message"])[0].id == added.id


@pytest.mark.parametrize("name", NAMES)
def test_F8_blocks_of_another_chat_are_text_like_any_other(memory: Memory, name: str) -> None:
    """What was said there is remembered here, once it was pasted."""
    block = blocks(remembering(memory, name, "other").context(max_tokens=1900))[0]
    chat = memory.chat("c", config=preset(name), context_window=4000)
    assert "FACT-12" in block
    added = chat.add(user(f"Look what I have found.\n\n{block}"))
    assert isinstance(added, Message)
    assert added.content == f"Look what I have found.\n\n{block}"
    chat.add(assistant("I see."))
    chat.add([wire for n in range(30) for wire in (user(words(40, f"q{n}")), assistant(words(40, f"a{n}")))])
    chat.fold()
    assert chat.memory.cursor > 2
    assert chat.recall("Which ticket number?", kinds=["message"])[0].id == added.id


def test_F8_blocks_of_another_installation_are_text_like_any_other() -> None:
    """Unless it has the same key."""
    made: list[str] = []
    for key in (b"one", b"another", b"one", None):
        with fresh() as url, Memory(url, clock=ticking_clock(), ids=counted_ids(), mark_key=key) as memory:
            chat = remembering(memory, "default")
            for block, known in zip(made, (key == b"one", key == b"another"), strict=False):
                added = chat.add(user(f"{block}\n\nGo on."))
                assert isinstance(added, Message)
                assert added.text == ("Go on." if known else f"{block}\n\nGo on.")
            made.append(blocks(chat.context("So?", max_tokens=1900))[0])


@pytest.mark.parametrize(
    "text",
    [
        "plain", "- a bullet\n- another", "## Facts / Constraints\n- mine", "<memory>of you</memory>", "[1] user: hi",
        '<memory mark="12">\n> short\n</memory>', "[infold] is a library", "<meta charset=utf-8 />", "BACKGROUND: none",
        "a\n\n\nb ", 'mark="', ' mark="690231649848141600">', "[summary-depth:0]\nI am here.", "=== NOTES ===",
        "[infold summarizer] is what it begins with", "=== EXISTING_SUMMARY ===\nmine",
    ],
)  # fmt: skip
def test_F8_ordinary_text_is_untouched(memory: Memory, text: str) -> None:
    chat = remembering(memory, "rolling")
    for role in ("user", "assistant"):
        added = chat.add({"role": role, "content": text})
        assert isinstance(added, Message)
        assert added.content == text


# Models --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rolling", "chain", "default"])
def test_F8_own_text_is_never_sent_to_a_model(url: str, upstream: Upstream, name: str) -> None:
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = remembering(memory, name, wait=True)
        for number in range(6):
            for block in blocks(chat.context(QUESTION, max_tokens=1900)):
                chat.add(user(f"My desk is D-{number + 100}.\n\n{block}"))
                chat.add(call(f"c{number}", content=block))
                chat.add([result(f"c{number}", block), assistant(f"Noted.\n\n{block}")])
        chat.fold()
        chat.settle()
        sent = [request["body"]["messages"][-1]["content"] for request in upstream.requests()]
    assert any("My desk is D-100." in text for text in sent)
    for text in sent:
        assert "<memory mark" not in text
        assert "<recalled" not in text
        assert "Standing wishes" not in text


@pytest.mark.parametrize("name", ["rolling", "chain", "default", "chunked"])
def test_F8_what_a_model_was_asked_for_a_chat_is_no_part_of_it(url: str, upstream: Upstream, name: str) -> None:
    with Memory(url, model=f"{upstream.url}#gpt-test") as memory:
        chat = remembering(memory, name, wait=True)
        chat.settle()
        asked = [request["body"]["messages"] for request in upstream.requests()]
        assert asked
        number = len(chat.messages())
        for messages in asked:
            system, *_, question = [str(message["content"]) for message in messages]
            for text in (question, f"{system}\n\n{question}", system):
                assert nothing(chat.add(user(text)))
        assert len(chat.messages()) == number
        other = memory.chat("other")
        assert isinstance(other.add(user(str(asked[0][-1]["content"]))), Message)  # there it is somebody's words


def test_F8_own_text_is_never_given_to_a_summarizer_function(url: str) -> None:
    given: list[str] = []

    def summarizer(summary: str, messages: list[Message]) -> str:
        given.extend(message.text for message in messages)
        return "- User's desk is D-100"

    with Memory(url, summarizer=summarizer) as memory:
        chat = remembering(memory, "rolling", wait=True)
        for block in blocks(chat.context("So?")):
            contents: list[Any] = [block, [{"type": "text", "text": "So:"}, {"type": "text", "text": block}]]
            for content in contents:
                chat.add([user("My desk is D-100."), assistant(content)])
        chat.add([user("More."), assistant("Yes.")] * 6)
        chat.fold()
        assert any("D-100" in text for text in given)
        assert not [text for text in given if "<memory" in text or "Standing wishes" in text]
