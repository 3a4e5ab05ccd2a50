"""Single cases of the formats: ids, errors, marks, and what each API is particular about."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from infold import AsyncMemory, DuplicateIdError, Memory, MessageError, OrphanResultError, formats
from infold.formats import STUB, parse
from infold.formats.anthropic import EMPTY
from infold.messages import Message
from infold.units import NO_RESULT, ORPHAN_MARK, Unit, awaited, question, repair, turns, units
from tests.conftest import assistant, call, result, user, words
from tests.formats_rules import FORMATS, blocks_of, check

Wire = dict[str, Any]


def reasoning(id: str, **more: Any) -> Wire:
    return {"type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAAAAB" * 10, **more}


def function_call(id: str, arguments: str = "{}") -> Wire:
    item = {"type": "function_call", "id": f"fc_{id}", "call_id": id, "status": "completed"}
    return {**item, "name": "look_up", "arguments": arguments}


def output(id: str, text: str = "found") -> Wire:
    return {"type": "function_call_output", "id": f"fco_{id}", "call_id": id, "output": text}


def message(id: str, text: str = "Done.") -> Wire:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": id, "role": "assistant", "status": "completed", "content": [part]}


def asked(id: str, text: str = "Go.") -> Wire:
    return {"type": "message", "id": id, "role": "user", "content": [{"type": "input_text", "text": text}]}


HISTORY = [
    asked("msg_1"),
    reasoning("rs_1"),
    function_call("a"),
    function_call("b"),
    output("b"),
    output("a"),
    reasoning("rs_2"),
    message("msg_2"),
]


def said(*wires: Wire) -> list[Message]:
    return [message for wire in wires for message in parse(wire)]


# Units -------------------------------------------------------------------------------------------------


def test_F2_a_run_of_items_is_one_unit_with_its_results() -> None:
    assert units(said(*HISTORY)) == [Unit(0, 0), Unit(1, 5), Unit(6, 7)]
    assert units(said(*HISTORY[:5])) == [Unit(0, 0), Unit(1, 4, pending=True)]
    assert units(said(*HISTORY[:3], user("Well?"))) == [Unit(0, 0), Unit(1, 3, pending=True)]


def test_F2_the_second_call_of_a_run_does_not_pass_over_the_first() -> None:
    messages = said(*HISTORY[:4], output("b"))
    assert awaited(messages) == ["a"]
    assert units(messages)[-1].pending
    spoken = said(*HISTORY[:4], output("b"), message("msg_9"))  # but a new reply does
    assert not any(unit.pending for unit in units(spoken))


@pytest.mark.parametrize("end", range(2, len(HISTORY)))
def test_F2_a_turn_is_open_until_the_last_item_of_its_reply(end: int) -> None:
    messages = said(*HISTORY[:end])
    assert not turns(messages)[-1].complete
    assert question(messages) == (0, 1)
    assert turns(said(*HISTORY))[-1].complete


def test_F2_a_call_before_the_words_of_a_run_keeps_the_turn_open() -> None:
    messages = said(asked("msg_1"), function_call("a"), message("msg_2", "Looking."))
    assert not turns(messages)[-1].complete


def test_F2_repair_keeps_runs_together() -> None:
    messages = said(*HISTORY)
    assert repair(messages) == messages
    late = said(*HISTORY[:4], user("Well?"), output("a"), message("msg_9"))
    fixed = repair(late)
    assert [m.role for m in fixed] == [
        "user",
        "assistant",
        "assistant",
        "assistant",
        "tool",
        "tool",
        "user",
        "assistant",
    ]
    assert [m.text for m in fixed[4:6]] == ["found", NO_RESULT]
    assert repair(fixed) == fixed


def test_F2_rolling_counts_items_and_never_splits_a_run(memory: Memory) -> None:
    chat = memory.chat("a", preset="rolling")
    for n in range(6):
        for item in deepcopy(HISTORY):
            for key in ("id", "call_id"):
                if key in item:
                    item[key] += f"_{n}"
            chat.add(item)
            context = chat.context(max_tokens=5000)
            for format in FORMATS:
                check(format, context.to(format))
    assert chat.memory.cursor > 0
    assert chat.verify().ok


# Ids ---------------------------------------------------------------------------------------------------


def test_F2_sending_a_whole_history_again_changes_nothing(memory: Memory) -> None:
    chat = memory.chat("a")
    chat.add(HISTORY)
    once = chat.messages()
    assert [m.id for m in once] == [item["id"] for item in HISTORY]
    for item in HISTORY:
        chat.add(item)
    chat.add(HISTORY)
    assert chat.messages() == once
    assert chat.context().to("responses") == HISTORY
    with pytest.raises(DuplicateIdError, match="msg_2"):
        chat.add(message("msg_2", "Something else."))


def test_F2_an_id_given_apart_leaves_the_item_its_own(memory: Memory) -> None:
    chat = memory.chat("a")
    chat.add(asked("msg_0"))
    chat.add(message("msg_1"), id="mine")
    assert chat.messages()[1].id == "mine"
    assert chat.context().to("responses") == [asked("msg_0"), message("msg_1")]


def test_F2_a_reference_does_not_take_the_id_of_its_item(memory: Memory) -> None:
    chat = memory.chat("a")
    items = [asked("msg_0"), message("msg_1"), {"type": "item_reference", "id": "msg_1"}]
    chat.add(items)
    assert chat.context().to("responses") == items


def test_F2_a_message_with_results_is_several_and_comes_back_as_a_list(memory: Memory) -> None:
    chat = memory.chat("a")
    uses: list[Wire] = [{"type": "tool_use", "id": id, "name": "f", "input": {}} for id in ("x", "y")]
    results = [{"type": "tool_result", "tool_use_id": id, "content": id} for id in ("x", "y")]
    wires = [user("Go."), assistant(uses), user([*results, {"type": "text", "text": "And?"}])]
    chat.add(wires[:2])
    for _ in range(2):  # the second time it is there already
        added: Any = chat.add(wires[2], id="r")
        assert [(m.id, m.role) for m in added] == [("r", "tool"), ("r.2", "tool"), ("r.3", "user")]
    assert chat.context().to("anthropic") == {"messages": wires}
    assert len(chat.messages()) == 5


def test_F2_an_anthropic_response_can_be_added_as_it_is(memory: Memory) -> None:
    chat = memory.chat("a")
    said = [{"type": "text", "text": "Hello.", "citations": None}]
    response = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": said}
    chat.add([user("Hi."), {**response, "stop_reason": "end_turn", "usage": {"input_tokens": 3}}])
    assert (chat.messages()[1].id, chat.messages()[1].model_variant) == ("msg_1", "claude")
    assert chat.context().to("anthropic") == {"messages": [user("Hi."), assistant(said)]}
    assert chat.context().messages == [user("Hi."), assistant("Hello.")]


def test_F2_stored_messages_can_be_added_to_another_chat(memory: Memory) -> None:
    first, second = memory.chat("first"), memory.chat("second")
    first.add(HISTORY)
    second.add(first.messages())
    assert second.messages() == first.messages()


def test_F2_async_chats_take_every_format(url: str) -> None:
    async def run() -> Any:
        async with AsyncMemory(url) as memory:
            chat = await memory.chat("a")
            await chat.add(HISTORY)
            return (await chat.context()).to("responses")

    assert asyncio.run(run()) == HISTORY


# Errors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"type": "function_call", "name": "f", "arguments": "{}"}, "call_id"),
        ({"type": "function_call", "call_id": "x", "arguments": "{}"}, "name"),
        ({"type": "function_call", "call_id": "x", "name": "f", "arguments": {}}, "arguments"),
        ({"type": "custom_tool_call", "call_id": "x", "name": "f"}, "input"),
        ({"type": "function_call_output", "output": "x"}, "call_id"),
        ({"type": "function_call_output", "call_id": "x", "output": {"a": 1}}, "JSON"),
        ({"type": "message", "role": "assistant"}, "no content"),
        ({"type": "message", "role": "robot", "content": "x"}, "robot"),
        ({"type": "text", "text": "Hi."}, "content part"),
        ({"type": "tool_result", "tool_use_id": "x"}, "content part"),
        ({"type": 7}, "type"),
        ({"type": ""}, "type"),
        (user([{"type": "input_text"}]), "text"),
        (user([{"type": "input_text", "text": "x"}, {"type": "document"}]), "mixes"),
        (user([{"type": "tool_use", "id": "x", "name": "f", "input": {}}]), "assistant"),
        (assistant([{"type": "tool_result", "tool_use_id": "x"}]), "user"),
        (assistant([{"type": "tool_use", "id": "x", "name": "f", "input": "{}"}]), "dict"),
        (assistant([{"type": "tool_use", "id": "x", "input": {}}]), "name"),
        (assistant([{"type": "tool_use", "name": "f", "input": {}}]), "id"),
        (assistant([{"type": "tool_use", "id": "x", "name": "f", "input": {"a": float("nan")}}]), "JSON"),
        (user([{"type": "tool_result", "content": "x"}]), "tool_use_id"),
        (user([{"type": "tool_result", "tool_use_id": "x", "content": 7}]), "content"),
        (user([{"type": "thinking"}, "text"]), "content part"),
        (user("Hi.", responses=1), "infold"),
        ({"type": "reasoning", "id": "rs", "summary": [{"text": "nul \0"}]}, "NUL"),
    ],
)
def test_F2_what_is_malformed_is_refused_with_a_sentence(memory: Memory, bad: Any, says: str) -> None:
    chat = memory.chat("a")
    with pytest.raises(MessageError, match=says):
        chat.add([user("A good one."), bad])
    assert chat.messages() == []


@pytest.mark.parametrize(
    "orphan", [output("x"), user([{"type": "tool_result", "tool_use_id": "x", "content": "found"}])]
)
def test_F2_a_result_without_its_call_is_refused_in_every_format(memory: Memory, orphan: Wire) -> None:
    chat = memory.chat("a")
    with pytest.raises(OrphanResultError, match="'x'"):
        chat.add([user("Go."), orphan])
    assert chat.messages() == []
    chat.add([user("Go."), orphan], repair=True)
    for format in FORMATS:
        check(format, chat.context().to(format))
    assert chat.context().messages == [user(f"Go.\n\n{ORPHAN_MARK} found")]


def test_F2_letters_that_look_like_a_nul_are_letters(memory: Memory) -> None:
    chat = memory.chat("a")
    wires = [user([{"type": "input_text", "text": r"Write \u0000 and \\u0000."}])]
    chat.add(wires)
    assert chat.context().to("responses") == wires


# What each API is particular about ---------------------------------------------------------------------


KIND = {"role": "developer", "content": "Be kind."}


@pytest.mark.parametrize("format", FORMATS)
def test_F12_the_user_begins_and_the_operator_speaks_once(memory: Memory, format: str) -> None:
    chat = memory.chat("a", system="Be brief.")
    chat.add([assistant("Hello."), user("Hi."), KIND, assistant("Yes? \n")])
    found: Any = chat.context().to(format)
    check(format, found)
    spoken = [user(STUB), assistant("Hello."), user("Hi.")]
    if format == "anthropic":
        assert found["system"] == [{"type": "text", "text": "Be brief.\n\nBe kind."}]
        assert found["messages"] == [*spoken, assistant("Yes?")]
    else:
        assert found == [{"role": "system", "content": "Be brief.\n\nBe kind."}, *spoken, assistant("Yes? \n")]


@pytest.mark.parametrize("format", FORMATS)
def test_F12_memory_is_the_users_and_what_the_operator_pinned_is_not(memory: Memory, format: str) -> None:
    chat = memory.chat("a", system="Be brief.")
    chat.pin("I want no prices.")
    chat.pin("Never name a colleague.", by="operator")
    chat.add([assistant("Hello."), user("Hi."), KIND])
    found: Any = chat.context().to(format)
    check(format, found)
    system = found["system"][0]["text"] if format == "anthropic" else found.pop(0)["content"]
    assert system == "Be brief.\n\nNever name a colleague.\n\nBe kind."
    first, *rest = found["messages"] if format == "anthropic" else found
    assert first["role"] == "user"
    assert first["content"].startswith('<memory mark="')
    assert "\n> I want no prices.\n" in first["content"]
    assert "colleague" not in str((first, rest))
    assert rest == [assistant("Hello."), user("Hi.")]


def test_F12_neighbours_of_one_role_are_one_message(memory: Memory) -> None:
    chat = memory.chat("a")
    seen = user(
        [{"type": "text", "text": "Look."}, {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}]
    )
    chat.add([user("Hi."), seen, assistant("Yes?"), call("x"), result("x"), user("Well?", name="Ann"), user("So?")])
    context = chat.context()
    for format in FORMATS:
        check(format, context.to(format))
    first, said, _, last = context.messages
    assert first == user([{"type": "text", "text": "Hi."}, *seen["content"]])
    assert said == {**call("x"), "content": "Yes?"}
    assert last == user("Ann: Well?\n\nSo?")
    assert context.to("responses")[-1] == user("Ann: Well?\n\nSo?")
    blocks = [{"type": "text", "text": text} for text in ("Ann: Well?", "So?")]
    assert context.to("anthropic")["messages"][-1]["content"][-2:] == blocks


@pytest.mark.parametrize("names", [("Ann", "Bob"), ("Ann", None), ("Ann", "Ann")])
def test_F12_merged_speakers_keep_their_names(memory: Memory, names: tuple[str, str | None]) -> None:
    chat = memory.chat("a")
    chat.add([user(f"I am {at}.", **({"name": name} if name else {})) for at, name in enumerate(names)])
    said = "\n\n".join(f"{name}: I am {at}." if name else f"I am {at}." for at, name in enumerate(names))
    assert chat.context().messages == [user(said)]
    assert chat.context().to("responses") == [user(said)]
    found = chat.context().to("anthropic")["messages"]
    assert [block["text"] for block in found[0]["content"]] == said.split("\n\n")


def test_F7_breakpoints_for_a_cache_stand_after_memory_and_the_newest_reply(memory: Memory) -> None:
    chat = memory.chat("a", system="Be brief.")
    mark = {"cache_control": {"type": "ephemeral"}}
    for at in range(6):  # as a client does that marks its newest message
        chat.add([user([{"type": "text", "text": f"q{at}", **mark}]), assistant(f"a{at}")])
    chat.pin("I want no prices.")
    chat.add(user("And now?"))
    plain, found = chat.context().to("anthropic"), chat.context().to("anthropic", cache=True)
    check("anthropic", found)
    assert json.dumps(found).count("cache_control") == 2, "providers take few of them"
    first, *_, last, question = found["messages"]
    assert first["content"][0]["text"].startswith('<memory mark="')
    assert first["content"][0]["cache_control"] == mark["cache_control"]
    assert last == assistant([{"type": "text", "text": "a5", **mark}])
    assert question == user("And now?")
    assert [[block["text"] for block in blocks_of(m)] for m in found["messages"]] == [
        [block["text"] for block in blocks_of(m)] for m in plain["messages"]
    ]


def test_F2_anthropic_gets_no_empty_texts(memory: Memory) -> None:
    chat = memory.chat("a")
    chat.add([user(""), assistant("Yes?"), user([]), call("x", content=""), result("x", ""), assistant("\n")])
    found = chat.context().to("anthropic")
    check("anthropic", found)
    assert [m["content"] for m in found["messages"][:3]] == [EMPTY, "Yes?", EMPTY]
    chat = memory.chat("b")
    chat.add([user(""), assistant(" "), user("Hi.")])
    found = chat.context().to("anthropic")
    check("anthropic", found)
    assert found["messages"] == [user([{"type": "text", "text": text} for text in (EMPTY, "Hi.")])]


def test_F2_anthropic_call_ids_are_clean_and_never_used_twice(memory: Memory) -> None:
    chat = memory.chat("a")
    for id in ("x", "x", "a.b", "a_b", "ü|1"):
        chat.add([user("Go."), call(id), result(id, f"of {id}"), assistant("Done.")])
    check("anthropic", chat.context().to("anthropic"))


def test_F2_names_and_errors_are_told_in_words_where_a_format_has_no_field(memory: Memory) -> None:
    chat = memory.chat("a")
    failed = {"type": "tool_result", "tool_use_id": "x", "content": "no route", "is_error": True}
    chat.add([user("Hi.", name="Ann"), call("x"), user([failed]), assistant("Sorry.", name="bot")])
    context = chat.context()
    assert context.messages[2]["content"] == "[error] no route"
    items = context.to("responses")
    assert [items[0]["content"], items[2]["output"], items[3]["content"]] == [
        "Ann: Hi.",
        "[error] no route",
        "bot: Sorry.",
    ]
    messages = context.to("anthropic")["messages"]
    assert messages[0] == user([{"type": "text", "text": "Ann: Hi."}])
    assert messages[2] == user([failed])


def test_F2_arguments_that_are_no_json_object_survive_anthropic(memory: Memory) -> None:
    there, back = memory.chat("there"), memory.chat("back")
    for at, broken in enumerate(['{"a": ', "[]", "7", '{"a": NaN}', '{"a": "\\ud800"}', "{" * 5000]):
        there.add([user("Go."), call(f"c{at}", arguments=broken), result(f"c{at}"), assistant("Done.")])
    found = there.context(max_tokens=90_000)
    check("anthropic", found.to("anthropic"))
    back.add(found.to("anthropic")["messages"])
    again = back.context(max_tokens=90_000).messages
    assert [m.get("tool_calls") for m in again] == [m.get("tool_calls") for m in found.messages]


def test_F2_a_run_that_had_to_be_cut_goes_without_reasoning_and_ids(memory: Memory) -> None:
    chat = memory.chat("a")
    long = f'{{"text": "{words(600)}"}}'
    chat.add([asked("msg_1"), reasoning("rs_1"), function_call("a", long), output("a", words(600))])
    items = chat.context(max_tokens=400).to("responses")
    check("responses", items)
    assert [item.get("type") for item in items] == ["message", "function_call", "function_call_output"]
    assert "id" not in items[1]
    assert chat.context(max_tokens=4000).to("responses")[1] == reasoning("rs_1")


def test_F2_hosted_tools_are_a_short_mark_elsewhere_and_reasoning_is_not_there(memory: Memory) -> None:
    chat = memory.chat("a")
    hosted = {
        "type": "mcp_call",
        "id": "mcp_1",
        "server_label": "docs",
        "name": "find",
        "arguments": "{}",
        "output": "x",
    }
    chat.add([asked("msg_1"), reasoning("rs_1"), hosted, message("msg_2")])
    context = chat.context()
    assert context.messages[1:] == [assistant("[mcp_call: find]\n\nDone.")]
    blocks = [{"type": "text", "text": text} for text in ("[mcp_call: find]", "Done.")]
    assert context.to("anthropic")["messages"][1:] == [assistant(blocks)]


def test_F2_a_context_in_one_format_can_be_changed_without_harm(memory: Memory) -> None:
    chat = memory.chat("a")
    chat.add(HISTORY)
    for format in FORMATS:
        before = deepcopy(chat.context().to(format))
        changed: Any = chat.context().to(format)
        for message in changed["messages"] if format == "anthropic" else changed:
            for value in message.values():
                if isinstance(value, list):
                    value[:] = []
        assert chat.context().to(format) == before


def test_F2_a_transcript_of_items_can_be_replayed_twice(tmp_path: Path) -> None:
    file = tmp_path / "items.json"
    items = [user("Go."), *[{k: v for k, v in item.items() if k != "id"} for item in HISTORY[2:6]], message("msg_2")]
    file.write_text(json.dumps(items))
    url = f"sqlite:///{tmp_path / 'chats.db'}"
    for _ in range(2):
        command = [sys.executable, "-c", "from infold.cli import main; main()", "replay", str(file)]
        subprocess.run([*command, "--chat", "a", "--database", url], check=True, capture_output=True)
    with Memory(url) as memory:
        assert memory.chat("a").context().to("responses") == items


@pytest.mark.parametrize("type", [[], {}, ["text"], 1, None], ids=repr)
def test_a_part_whose_type_is_no_text_is_refused(type: object) -> None:
    with pytest.raises(MessageError):
        formats.parse({"role": "user", "content": [{"type": type}]})


@pytest.mark.parametrize("said", ["", "I write it. "])
@pytest.mark.parametrize("budget", [250, 400, 800])
def test_F2_calls_that_are_cut_keep_the_thinking_before_them(memory: Memory, said: str, budget: int) -> None:
    """The Anthropic API takes no calls of a turn that goes on without it."""
    thinking = {"type": "thinking", "thinking": "I should write the file.", "signature": "c2ln"}
    spoken = [{"type": "text", "text": said * 40}] if said else []
    written = {"type": "tool_use", "id": "t1", "name": "write", "input": {"path": "a.txt", "content": "word " * 900}}
    chat = memory.chat("a", context_window=8192)
    chat.add(
        [
            {"role": "user", "content": "Write the file."},
            {"role": "assistant", "content": [thinking, *spoken, written]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]},
        ]
    )
    context = chat.context(max_tokens=budget)
    assert context.tokens <= budget
    (step,) = [one["content"] for one in context.to("anthropic")["messages"] if one["role"] == "assistant"]
    assert step[0] == thinking
    assert (step[-1]["type"], step[-1]["id"]) == ("tool_use", "t1")
    assert len(str(step[-1]["input"])) < 4000
