"""Whatever is sent: no error of our own, and the answer is the upstream's own answer to the same bytes."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.proxied import CHAT, MESSAGES, RESPONSES, Proxied, Wire, start_proxied
from tests.test_proxy_clients import BLOCK, FLAT, TOOL

PATHS = [CHAT, RESPONSES, MESSAGES]
FUZZ = settings(max_examples=60, suppress_health_check=list(HealthCheck))

_leaves = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
    | st.sampled_from(["user", "assistant", "system", "tool", "text", "echo", "\ud83d", "\0", ""])
)  # fmt: skip
_keys = st.sampled_from(
    "role content type text model messages input system tools tool_calls id name function arguments call_id output "
    "tool_call_id stream max_tokens previous_response_id conversation user metadata cache_control".split()
) | st.text(max_size=5)
ANYTHING = st.recursive(
    _leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_keys, inner, max_size=4), max_leaves=12
)

_call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
VALID: dict[str, Wire] = {
    CHAT: {
        "model": "echo", "stream": False, "n": 1, "user": "u", "metadata": {"a": "b"}, "max_tokens": 10, "tools": [TOOL],
        "messages": [
            {"role": "system", "content": "Be brief"},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "x"}}]},
            {"role": "assistant", "content": None, "tool_calls": [_call]},
            {"role": "tool", "tool_call_id": "c1", "content": "r"},
            {"role": "assistant", "content": "b", "refusal": None, "audio": None, "function_call": None},
            {"role": "user", "name": "n", "content": "c"},
        ],
    },
    RESPONSES: {
        "model": "echo", "stream": False, "instructions": "Be brief", "max_output_tokens": 10, "tools": [FLAT],
        "previous_response_id": None, "conversation": None, "store": False,
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
            {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"},
            {"type": "function_call", "id": "fc", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "r"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "b"}]},
            {"type": "item_reference", "id": "i"},
            {"role": "user", "content": "c"},
        ],
    },
    MESSAGES: {
        "model": "echo", "stream": False, "max_tokens": 10, "tools": [BLOCK], "metadata": {"user_id": "u"},
        "system": [{"type": "text", "text": "Be brief", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "a"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "t", "signature": "s"},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "r"}], "is_error": True},
                {"type": "text", "text": "b"},
            ]},
        ],
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    with start_proxied(tmp_path_factory.mktemp("fuzz"), context_window=2000, memory_timeout=30) as started:
        yield started
        assert "internal error" not in started.server.log.read_text()
        started.sound()


@pytest.fixture(scope="module")
def http() -> Iterator[httpx2.Client]:
    with httpx2.Client(timeout=30, headers={"content-type": "application/json"}) as client:
        yield client


def check(proxied: Proxied, http: httpx2.Client, path: str, body: bytes, chat: str | None = None) -> None:
    headers = {"X-Infold-Chat": chat} if chat else {}
    through = http.post(f"{proxied.server.url}{path}", content=body, headers=headers)
    straight = http.post(f"{proxied.provider.root}{path}", content=body)
    assert (through.status_code, through.content) == (straight.status_code, straight.content), body[:2000]
    assert through.status_code < 500


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a value, deepest last."""
    found = [at] if at else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return found + [place for key, one in inner for place in places(one, (*at, key))]


def changed(value: Wire, at: tuple[Any, ...], new: Any, how: str) -> Wire:
    """The value with something else at a place, or nothing, or the same twice."""
    result = copy.deepcopy(value)
    holder: Any = result
    for key in at[:-1]:
        holder = holder[key]
    if how == "gone":
        del holder[at[-1]]
    elif how == "twice" and isinstance(holder, list):
        holder.insert(at[-1], copy.deepcopy(holder[at[-1]]))
    else:
        holder[at[-1]] = new
    return result


@pytest.mark.parametrize("path", PATHS)
def test_any_json(proxied: Proxied, http: httpx2.Client, path: str) -> None:
    field = "input" if path == RESPONSES else "messages"

    @FUZZ
    @given(ANYTHING, st.lists(ANYTHING, max_size=4), st.booleans())
    def run(value: Any, messages: list[Any], whole: bool) -> None:
        body = value if whole else {"model": "echo", field: messages}
        check(proxied, http, path, json.dumps(body).encode())

    run()


@pytest.mark.parametrize("path", PATHS)
def test_valid_requests_with_something_wrong(proxied: Proxied, http: httpx2.Client, path: str) -> None:
    every = [place for place in places(VALID[path]) if place != ("model",)]

    @FUZZ
    @given(st.lists(st.tuples(st.sampled_from(every), ANYTHING, st.sampled_from(["new", "gone", "twice"])), max_size=3))
    def run(changes: list[tuple[tuple[Any, ...], Any, str]]) -> None:
        body = VALID[path]
        for at, new, how in changes:
            try:
                body = changed(body, at, new, how)
            except (LookupError, TypeError, AttributeError):  # an earlier change took the place away
                continue
        check(proxied, http, path, json.dumps(body).encode())

    run()


@pytest.mark.parametrize("path", PATHS)
def test_every_place_with_every_wrong_type(proxied: Proxied, http: httpx2.Client, path: str) -> None:
    every = [place for place in places(VALID[path]) if place != ("model",)]
    wrong: list[Any] = [None, 7, "x", [], {}, [[]], {"a": {}}, True, "\ud83d"]
    random.Random(7).shuffle(every)
    for number, at in enumerate(every):
        check(proxied, http, path, json.dumps(changed(VALID[path], at, wrong[number % len(wrong)], "new")).encode())
        check(proxied, http, path, json.dumps(changed(VALID[path], at, None, "gone")).encode())


@pytest.mark.parametrize("path", PATHS)
def test_bytes_that_are_no_json(proxied: Proxied, http: httpx2.Client, path: str) -> None:
    field = b"input" if path == RESPONSES else b"messages"
    valid = json.dumps(VALID[path]).encode()
    deep = [(b"[" * n, b"]" * n) for n in (100, 900, 990, 1000, 5000, 100_000)]
    deep += [(b'{"a":' * n, b"1" + b"}" * n) for n in (100, 900, 990, 1000, 5000)]
    for start, end in deep:
        check(proxied, http, path, start + end)
        for key in (field, b"user", b"metadata", b"odd"):
            said = b"" if key == field else b'"' + field + b'":[{"role":"user","content":"deep"}],'
            check(proxied, http, path, b'{"model":"echo",' + said + b'"' + key + b'":' + start + end + b"}")
    for body in (b"", b" ", b"\xff\xfe", b"NaN", b'{"model":NaN}', b'"', b"{", valid[:-1], valid + b"x", valid[::-1]):
        check(proxied, http, path, body)
    chance = random.Random(11)
    for _ in range(40):
        broken = bytearray(valid)
        for _ in range(chance.randint(1, 4)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        if b'"model": "echo"' in broken:
            check(proxied, http, path, bytes(broken))


@pytest.mark.parametrize("path", PATHS)
def test_odd_requests_to_a_chat_with_memory(proxied: Proxied, http: httpx2.Client, path: str) -> None:
    """The same where memory is put in: then the upstream may get something else, but never is it an error of ours."""
    field = "input" if path == RESPONSES else "messages"
    history: list[Any] = [
        {"role": role, "content": f"{role} {number} " + "word " * 60}
        for number in range(15)
        for role in ("user", "assistant")
    ]
    chat = f"odd {path}"

    @FUZZ
    @given(st.lists(ANYTHING, max_size=2), st.dictionaries(_keys, ANYTHING, max_size=3))
    def run(messages: list[Any], more: Wire) -> None:
        body = {**more, "model": "echo", field: [*history, *messages, {"role": "user", "content": "And now?"}]}
        url, headers = f"{proxied.server.url}{path}", {"X-Infold-Chat": chat}
        through = http.post(url, content=json.dumps(body).encode(), headers=headers)
        assert through.status_code < 500
        assert "problem" not in through.headers["content-type"]

    run()
