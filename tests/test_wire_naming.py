"""Calls without ids of their own are told apart, and come out as the client wrote them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infold import Memory
from infold.service.wire import APIS, identity
from infold.service.wire.naming import named, unnamed
from infold.units import repair, units
from tests.conftest import assistant, call, result, user
from tests.wire_streams import Wire, sse

CHAT = APIS["chat"]
OLD_CALL: Wire = {"role": "assistant", "content": None, "function_call": {"name": "look_up", "arguments": '{"q":1}'}}
OLD_RESULT: Wire = {"role": "function", "name": "look_up", "content": "42"}
LOOPS: dict[str, list[Wire]] = {
    "of old": [OLD_CALL, OLD_RESULT],
    "without ids": [call("", ""), result("", "first"), result("", "second")],
    "null ids": [call(None, None), result(None, "first"), result(None, "second")],  # type: ignore[arg-type]
    "the same id twice": [call("x", "x"), result("x", "first"), result("x", "second")],
    "one id missing": [call("x", ""), result("", "second"), result("x", "first")],
    "a result without an id": [call("x"), {"role": "tool", "content": "first"}],
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_F2_a_call_and_its_results_are_a_unit(loop: list[Wire]) -> None:
    history = [user("Look it up"), *loop, assistant("Done."), user("Again"), *loop, assistant("Done.")]
    read = CHAT.read({"messages": history}).messages
    assert [(unit.first, unit.last) for unit in units(read)] == [
        (0, 0), (1, len(loop)), (len(loop) + 1,) * 2, (len(loop) + 2,) * 2, (len(loop) + 3, 2 * len(loop) + 2),
        (2 * len(loop) + 3,) * 2,
    ]  # fmt: skip
    assert repair(read) == list(read)  # no call without a result, no result without a call
    assert read == CHAT.read({"messages": history}).messages


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_F2_a_folded_chat_sends_them_as_the_client_does(loop: list[Wire]) -> None:
    history = [user("My seat is 14C."), assistant("Noted.")]
    for number in range(30):
        history += [user(f"Look up {number} " + f"thing{number} " * 40), *loop, assistant("Done.")]
    history += [user("Once more"), *loop]
    body: Wire = {"model": "m", "messages": history}
    asked = CHAT.read(body)
    with Memory("sqlite://") as memory:
        chat = memory.chat("a", context_window=2000)
        chat.append(asked.messages, repair=True)
        written = CHAT.write(body, chat.context())
    assert len(written["messages"]) < len(history) // 2
    assert "14C" in str(written["messages"])
    assert written["messages"][-len(loop) :] == loop  # the end is the client's own
    kept = [one for one in written["messages"][: -len(loop)] if one["role"] != "system"]
    assert any(one["role"] in ("tool", "function") for one in kept)
    assert {one["role"] for one in kept} - {"user", "assistant"} == {loop[1]["role"]}
    assert any("function_call" in one for one in kept) == (loop[0] is OLD_CALL)
    assert "infold function" not in str(written)
    again = CHAT.read({"messages": kept}).messages
    assert repair(again) == list(again)


@pytest.mark.parametrize("ids", [("", ""), (None, None), ("x", "x"), ("a", "b")])
def test_A3_a_reply_is_known_again(ids: tuple[str | None, ...]) -> None:
    message = call(*ids)  # type: ignore[arg-type]
    whole = CHAT.replies(b'{"choices": [{"message": %s}]}' % json.dumps(message).encode(), 200, "application/json")
    stream = CHAT.stream()
    pieces = [{"tool_calls": [{"index": at, **one}]} for at, one in enumerate(message["tool_calls"])]
    stream.feed(sse([{"choices": [{"index": 0, "delta": piece}]} for piece in pieces] + ["[DONE]"], named=False))
    streamed = stream.reply()
    assert whole is not None
    assert streamed is not None
    (sent,) = CHAT.read({"messages": [message]}).messages
    assert len(sent.call_ids) == len(set(sent.call_ids)) == 2
    assert {identity(sent)} == {identity(*whole.parsed), identity(*streamed.parsed)}


_IDS = st.sampled_from(["", "a", "a_2", "b", None, 5])
_CALLS = st.lists(_IDS, min_size=1, max_size=4).map(lambda ids: call(*ids))  # type: ignore[arg-type]
_ANY = st.one_of(_CALLS, _IDS.map(result), st.just(OLD_CALL), st.just(OLD_RESULT), st.just(user("x")))  # type: ignore[arg-type]


@given(st.lists(_ANY, max_size=12))
def test_F2_names_are_once_in_a_message_and_stay(history: list[Wire]) -> None:
    found = named(history)
    assert len(found) == len(history)
    assert named(found) == found
    for one in found:
        ids = [made["id"] for made in one.get("tool_calls") or ()]
        assert all(ids)
        assert len(ids) == len(set(ids))
    for before, after in zip(history, map(unnamed, found), strict=True):
        assert before["role"] == after["role"]
        assert before.get("function_call") == after.get("function_call")
