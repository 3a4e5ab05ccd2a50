"""Requests of the three APIs: what is asked, and the body that goes upstream with memory in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infold import Memory, preset
from infold.context import Context
from infold.errors import MessageError
from infold.service.wire import APIS, Asked, identity
from tests.conftest import assistant, call, counted_ids, result, ticking_clock, user, words
from tests.databases import file
from tests.formats_rules import check
from tests.wire_streams import REASONING, SAID, THOUGHT, Wire

EPHEMERAL = {"type": "ephemeral"}
TOOL = {"type": "function", "function": {"name": "lookup", "parameters": {}}}
KEY = {"chat": "messages", "responses": "input", "anthropic": "messages"}


def text(words: str, **more: Any) -> Wire:
    return {"type": "text", "text": words, **more}


def read(api: str, **body: Any) -> Asked:
    return APIS[api].read(body)


def shape(asked: Asked) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in asked.messages]


# Reading -----------------------------------------------------------------------------------------------


def test_names_and_paths() -> None:
    assert {name: (api.name, api.path) for name, api in APIS.items()} == {
        "chat": ("chat", "/v1/chat/completions"),
        "responses": ("responses", "/v1/responses"),
        "anthropic": ("anthropic", "/v1/messages"),
    }


def test_a_chat_request() -> None:
    asked = read(
        "chat",
        model="m",
        messages=[
            {"role": "system", "content": "Be brief."},
            {"role": "developer", "content": [text("Be"), text("kind.")]},
            user("hello", id="x"),
            {"role": "system", "content": "It is late."},
            call("a"),
            result("a"),
            assistant("hi"),
        ],
        tools=[TOOL, "odd"],
        functions=[{"name": "old"}],
        stream=True,
        max_tokens=5,
        max_completion_tokens=7,
    )
    assert asked.system == "Be brief.\n\nBe\nkind."
    assert [message.role for message in asked.messages] == ["user", "system", "assistant", "tool", "assistant"]
    assert asked.messages[2].call_ids == ("a",)
    assert not any(message.id for message in asked.messages)
    assert (asked.tools, asked.model, asked.stream) == ((TOOL, {"name": "old"}), "m", True)
    assert (asked.reserve_output, asked.previous) == (7, None)


def test_a_responses_request() -> None:
    items = [{"role": "developer", "content": "Be kind."}, user("hello"), REASONING, SAID]
    asked = read(
        "responses", input=items, instructions="Be brief.", max_output_tokens=9, tools=[{"type": "web_search"}]
    )
    assert asked.system == "Be brief.\n\nBe kind."
    assert [message.role for message in asked.messages] == ["user", "assistant", "assistant"]
    assert not any(message.id for message in asked.messages), "ids of items stay with the items"
    assert (asked.messages[2].item or {})["id"] == "msg_1"
    assert (asked.reserve_output, asked.stream, asked.model, asked.previous) == (9, False, None, None)
    assert shape(read("responses", input="hello")) == [("user", "hello")]
    assert read("responses", prompt={"id": "p"}).messages == ()


@pytest.mark.parametrize(
    "body", [{"previous_response_id": "r"}, {"conversation": "r"}, {"conversation": {"id": "r"}, "instructions": "x"}]
)
def test_a_response_that_goes_on(body: Wire) -> None:
    assert read("responses", input="hello", **body).previous == "r"


def test_an_anthropic_request() -> None:
    tool_use = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    results = [{"type": "tool_result", "tool_use_id": "t", "content": "x"}, text("and now?")]
    messages = [user("hello"), assistant([THOUGHT, text("hm"), tool_use]), user(results)]
    asked = read("anthropic", messages=messages, max_tokens=3, system=[text("Be brief.", cache_control=EPHEMERAL)])
    assert asked.system == "Be brief."
    assert [message.role for message in asked.messages] == ["user", "assistant", "tool", "user"]
    assert asked.reserve_output == 3
    assert read("anthropic", messages=[], system="Be kind.").system == "Be kind."
    assert read("anthropic", messages=[]).system is None


@pytest.mark.parametrize(
    ("api", "body"),
    [
        ("chat", {}),
        ("chat", {"messages": None}),
        ("chat", {"messages": "hello"}),
        ("chat", {"messages": ["hello"]}),
        ("chat", {"messages": [None]}),
        ("chat", {"messages": [{"role": "function", "content": "x"}]}),
        ("chat", {"messages": [{"role": "system", "content": 5}]}),
        ("chat", {"messages": [user([{"type": []}])]}),
        ("responses", {"input": 5}),
        ("responses", {"input": [{"id": "msg_1"}]}),
        ("responses", {"input": [[]]}),
        ("anthropic", {"messages": {}}),
        ("anthropic", {"messages": [], "system": 5}),
        ("anthropic", {"messages": [], "system": ["x"]}),
        ("anthropic", {"messages": [], "system": [{"type": "text", "text": 5}]}),
    ],
)
def test_what_is_not_understood_is_a_message_error(api: str, body: Wire) -> None:
    with pytest.raises(MessageError):
        APIS[api].read(body)


FIELDS = st.sampled_from(
    "role content type text id name input output call_id tool_calls tool_call_id function arguments custom source "
    "tool_use_id is_error summary cache_control created_at responses anthropic refusal audio function_call".split()
)
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.text(max_size=3)
    | st.sampled_from(
        "user assistant system tool message text tool_use tool_result thinking function_call reasoning item_reference".split()
    )
)
ODD = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=6), max_leaves=25
)


@pytest.mark.parametrize("api", APIS)
@settings(max_examples=80)
@given(messages=st.lists(st.dictionaries(FIELDS, ODD, max_size=6) | ODD, max_size=3) | ODD, more=ODD)
def test_no_body_raises_anything_else(api: str, messages: Any, more: Any) -> None:
    rest = dict.fromkeys(("system", "instructions", "tools", "model", "max_tokens", "conversation", "stream"), more)
    try:
        asked = APIS[api].read({KEY[api]: messages, **rest})
    except MessageError:
        return
    assert asked.reserve_output >= 0
    assert all(len(identity(message)) == 32 for message in asked.messages)


# Writing -----------------------------------------------------------------------------------------------

HISTORY = [message for at in range(12) for message in (user(words(60, f"q{at}")), assistant(words(60, f"a{at}")))]
QUESTION = user("What did we decide?")
MARK = '<memory mark="'


@pytest.fixture
def memory() -> Iterator[Memory]:
    with file() as url, Memory(url, clock=ticking_clock(), ids=counted_ids()) as memory:
        yield memory


def folded(memory: Memory, messages: list[Any], **more: Any) -> Context:
    """A context with memory, a bridge and only the newest messages."""
    chat = memory.chat("a", context_window=2000, **more)
    chat.pin("The launch is on 2026-05-01.")
    chat.add(messages)
    context = chat.context(max_tokens=700)
    assert any(is_ours(message) for message in context.messages)
    return context


def is_ours(message: Wire) -> bool:
    """Whether a message opens with the block of memory, in the user's role."""
    content = message["content"]
    said = content if isinstance(content, str) else content[0]["text"]
    return message["role"] == "user" and said.startswith(MARK)


REST = {
    "model": "m",
    "temperature": 0.1,
    "tools": [TOOL],
    "metadata": {"a": None},
    "x_unknown": {"deep": [1, {"b": 2}]},
    "stream": True,
}


@pytest.mark.parametrize("api", APIS)
def test_everything_but_the_chat_stays(api: str, memory: Memory) -> None:
    context = folded(memory, [*HISTORY, QUESTION])
    body: Wire = {**REST, KEY[api]: [*HISTORY, QUESTION], "after": 1}
    before = deepcopy(body)
    written = APIS[api].write(body, context)
    assert body == before, "the client's body is not touched"
    assert {key: written[key] for key in body if key != KEY[api]} == {key: body[key] for key in body if key != KEY[api]}
    assert set(written) == set(body)
    json.dumps(written)
    assert len(written[KEY[api]]) < len(body[KEY[api]])
    assert written[KEY[api]][-1] == QUESTION
    check(api, {"messages": written["messages"]} if api == "anthropic" else written[KEY[api]])


OWN_CACHED = {"role": "system", "content": [text("Be brief.", cache_control=EPHEMERAL)], "x": 1}


@pytest.mark.parametrize(
    ("own", "first"),
    [
        ([], []),
        ([OWN_CACHED], [OWN_CACHED]),
        ([OWN_CACHED, {"role": "system", "content": "!"}], [{"role": "system", "content": "Be brief.\n\n!"}]),
    ],
)
def test_F12_the_clients_system_comes_first_then_memory_in_the_users_role(
    own: list[Wire], first: list[Wire], memory: Memory
) -> None:
    given = [*own, *HISTORY, QUESTION]
    written = APIS["chat"].write({"messages": given}, folded(memory, [*HISTORY, QUESTION]))["messages"]
    assert written[: len(first)] == first, "one message, and word for word where it is one already"
    memory_block, *rest = written[len(first) :]
    assert is_ours(memory_block)
    assert rest == given[-len(rest) :]
    assert 1 < len(rest) < len(given) - 2
    check("chat", [{key: value for key, value in message.items() if key != "x"} for message in written[len(first) :]])


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("role", ["system", "developer"])
@pytest.mark.parametrize("begins", [True, False])
def test_F12_what_the_client_says_later_joins_its_first_message(
    api: str, role: str, begins: bool, memory: Memory
) -> None:
    own = [{"role": role, "content": "Be brief."}] if begins else []
    first, last = {"role": role, "content": "It is late."}, {"role": role, "content": "It is night."}
    chat = [*HISTORY[:4], first, *HISTORY[4:], last, QUESTION]
    written = APIS[api].write({KEY[api]: [*own, *chat]}, folded(memory, chat))[KEY[api]]
    said = "\n\n".join([*(["Be brief."] if begins else []), "It is late.", "It is night."])
    assert written[0] == {"role": role, "content": said}
    assert is_ours(written[1])
    assert [message["role"] for message in written[1:]] == ["user", "assistant"] * (len(written) // 2 - 1) + ["user"]


@pytest.mark.parametrize("role", ["system", "developer"])
def test_F12_a_chain_keeps_its_tagged_message_behind_the_clients(role: str, memory: Memory) -> None:
    chat = memory.chat("a", preset="chain", context_window=1500)
    chat.pin("The launch is on 2026-05-01.")
    chat.add(HISTORY)
    assert len(chat.records) == 1
    chat.add(QUESTION)
    context = chat.context()
    own = {"role": role, "content": "Be brief."}
    for api in ("chat", "responses"):
        first, tagged, second, *rest = APIS[api].write({KEY[api]: [own, *HISTORY, QUESTION]}, context)[KEY[api]]
        assert first == own
        assert tagged["role"] == role, "providers want one of the two roles in a request"
        assert tagged["content"].startswith(f"[summary-depth:0]\n{MARK}")
        assert is_ours(second)
        assert rest[-1] == QUESTION
        tagged, second, *_ = APIS[api].write({KEY[api]: [*HISTORY, QUESTION]}, context)[KEY[api]]
        assert tagged["role"] == "system"
        assert is_ours(second)
    body = {"system": "Be brief.", "messages": [*HISTORY, QUESTION]}
    assert APIS["anthropic"].write(body, context)["system"] == [text("Be brief."), text(tagged["content"])]


def test_F12_responses_instructions_stay_and_memory_opens_the_input(memory: Memory) -> None:
    body = {"instructions": "Be brief.", "input": "What did we decide?"}
    written = APIS["responses"].write(body, folded(memory, [*HISTORY, QUESTION]))
    assert written["instructions"] == "Be brief."
    assert is_ours(written["input"][0])
    assert written["input"][-1] == QUESTION


def test_responses_reasoning_that_the_upstream_cannot_know_is_left_out(memory: Memory) -> None:
    unknown = {"id": "rs_0", "type": "reasoning", "summary": []}
    chat = memory.chat("a")
    chat.add([user("a"), unknown, {**SAID, "id": "msg_0"}, user("b"), REASONING, SAID, QUESTION])
    context = chat.context()
    sent = [user("a"), user("b"), QUESTION]  # a client that keeps no replies
    kept = APIS["responses"].write({"input": sent, "store": False}, context)["input"]
    assert [item["id"] for item in kept if item.get("type") == "reasoning"] == ["rs_1"]
    assert APIS["responses"].write({"input": sent}, context)["input"] == context.to("responses")


SYSTEMS: list[tuple[Wire, list[Wire]]] = [
    ({"system": "Be brief."}, [text("Be brief.")]),
    ({"system": [text("Be brief.", cache_control=EPHEMERAL)]}, [text("Be brief.", cache_control=EPHEMERAL)]),
    ({"system": ""}, []),
    ({"system": None}, []),
    ({}, []),
]


@pytest.mark.parametrize(("system", "_"), SYSTEMS)
def test_F12_anthropic_memory_is_in_the_users_role(system: Wire, _: list[Wire], memory: Memory) -> None:
    body = {**system, "messages": [*HISTORY, QUESTION]}
    written = APIS["anthropic"].write(body, folded(memory, [*HISTORY, QUESTION]))
    assert {**written, "messages": body["messages"]} == body, "nothing of memory is in system"
    assert is_ours(written["messages"][0])
    check("anthropic", {"messages": written["messages"]})


@pytest.mark.parametrize(("system", "first"), SYSTEMS)
def test_F12_anthropic_what_the_operator_pinned_follows_the_clients_system(
    system: Wire, first: list[Wire], memory: Memory
) -> None:
    body = {**system, "messages": [*HISTORY, QUESTION]}
    memory.chat("a", context_window=2000).pin("Never name a price.", by="operator")
    written = APIS["anthropic"].write(body, folded(memory, [*HISTORY, QUESTION]))
    assert written["system"] == [*first, text("Never name a price.")]
    check("anthropic", {key: written[key] for key in ("system", "messages")})


@pytest.mark.parametrize("system", [{"system": "Be brief."}, {}])
def test_anthropic_without_memory_the_system_is_untouched(system: Wire, memory: Memory) -> None:
    chat = memory.chat("a")
    chat.add(QUESTION)
    body = {**system, "messages": [QUESTION]}
    assert APIS["anthropic"].write(body, chat.context()) == body


# The end in the client's own words ---------------------------------------------------------------------


def marks(value: Any) -> int:
    """Cache marks in a body."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(marks, inner)) + (isinstance(value, dict) and "cache_control" in value)


@pytest.mark.parametrize("api", ["chat", "anthropic"])
def test_cache_marks_do_not_pile_up(api: str, memory: Memory) -> None:
    chat = memory.chat("a", config=preset("default", enabled=False))
    bodies: list[Wire] = []
    for at in range(8):  # a client that always marks its newest message
        newest = user([text(f"question {at}", cache_control=EPHEMERAL)])
        chat.add(newest)
        written = APIS[api].write({"messages": [*bodies, newest]}, chat.context())
        assert marks(written) == 1
        assert written["messages"][-1] == newest
        assert len(written["messages"]) == 2 * at + 1
        chat.add(assistant(f"answer {at}"))
        bodies += [user([text(f"question {at}")]), assistant(f"answer {at}")]


@pytest.mark.parametrize("api", ["chat", "anthropic"])
def test_F12_neighbours_of_one_role_are_one_message_and_keep_the_newest_mark(api: str, memory: Memory) -> None:
    chat = memory.chat("a", config=preset("default", enabled=False))
    newest = user([text("And where?", cache_control=EPHEMERAL)])
    chat.add([user([text("When is it?", cache_control=EPHEMERAL)]), newest])
    written = APIS[api].write({"messages": [user("When is it?"), newest]}, chat.context())
    assert written["messages"] == [user([text("When is it?"), *newest["content"]])]


def test_a_tools_own_field_is_no_cache_mark(memory: Memory) -> None:
    given = {
        "type": "tool_use",
        "id": "t",
        "name": "f",
        "input": {"cache_control": "no-store"},
        "cache_control": EPHEMERAL,
    }
    answer = {"type": "tool_result", "tool_use_id": "t", "content": [text("x", cache_control=EPHEMERAL)]}
    chat = memory.chat("a")
    chat.add([user("q"), assistant([given]), user([answer]), assistant("done"), QUESTION])
    written = APIS["anthropic"].write({"messages": [user("other")]}, chat.context())["messages"]
    assert written[1]["content"] == [{key: given[key] for key in ("type", "id", "name", "input")}]
    assert marks(written[2]) == 0


def test_the_clients_words_win_where_they_say_the_same(memory: Memory) -> None:
    chat = memory.chat("a")
    chat.add([user("q"), call("a"), result("a")])
    mine = {**call("a", arguments="{ }"), "reasoning_content": "needed by this provider"}
    given = [user([text("q")]), mine, {**result("a"), "x": 1}]
    assert APIS["chat"].write({"messages": given}, chat.context())["messages"] == given
    edited = [user("other"), *given[1:]]
    written = APIS["chat"].write({"messages": edited}, chat.context())["messages"]
    assert written == [user("q"), *given[1:]], "where it says something else, the ledger decides"


def test_responses_reasoning_follows_the_client(memory: Memory) -> None:
    chat = memory.chat("a")
    chat.add([user("q"), REASONING, SAID, QUESTION])
    for sent in ([user("q"), SAID, QUESTION], [user("q"), REASONING, SAID, QUESTION]):
        assert APIS["responses"].write({"input": sent}, chat.context())["input"] == sent
