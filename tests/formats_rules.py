"""What the three APIs accept: the rules of their documentation, and the types of their SDKs made strict."""

from __future__ import annotations

import collections.abc
import functools
import itertools
import re
import types
from collections.abc import Callable, Iterator
from typing import Any, Literal, Union, get_args, get_origin

import typing_extensions as te
from pydantic import ConfigDict, TypeAdapter

Wire = dict[str, Any]


# The SDKs' types ---------------------------------------------------------------------------------------

_typed_dict: Any = te.TypedDict  # types made at run time are no types to a type checker
_list: Any = list
_dict: Any = dict
_union: Any = Union


def _strict(kind: Any, inside: tuple[Any, ...] = ()) -> Any:
    """The same type with lists for iterables, which pydantic would not look into, and no unknown fields."""
    if te.is_typeddict(kind):
        if kind in inside:
            return Any
        fields = te.get_type_hints(kind, include_extras=True)
        made = {name: _strict(field, (*inside, kind)) for name, field in fields.items()}
        strict = _typed_dict(kind.__name__, made, total=False)
        strict.__pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
        return strict
    origin, args = get_origin(kind), get_args(kind)
    if origin is None or origin is Literal:
        return kind
    if origin in (te.Required, te.NotRequired):
        return origin[_strict(args[0], inside)]
    if origin in (Union, types.UnionType):
        return _union[tuple(_strict(arg, inside) for arg in args)]
    if origin is te.Annotated:
        return _strict(args[0], inside)
    if origin is dict:
        return _dict[args[0], _strict(args[1], inside)]
    if origin in (list, collections.abc.Iterable) or "Sequence" in str(origin):
        return _list[_strict(args[0], inside)]
    return kind


@functools.cache
def sdk(format: str) -> TypeAdapter[Any]:
    """The type of a request's messages, from the provider's own package."""
    from anthropic.types import MessageParam, TextBlockParam
    from openai.types.chat import ChatCompletionMessageParam
    from openai.types.responses import ResponseInputItemParam

    if format == "anthropic":
        fields = {"system": list[TextBlockParam], "messages": te.Required[list[MessageParam]]}
        return TypeAdapter(_strict(_typed_dict("Request", fields, total=False)))
    kind: Any = ChatCompletionMessageParam if format == "chat" else ResponseInputItemParam
    return TypeAdapter(_list[_strict(kind)])


def check(format: str, wire: Any) -> None:
    """Fail unless the API would take this."""
    RULES[format](wire)
    if format == "responses":  # the API lists input messages with their ids; the SDK's type for sending has none
        wire = [{k: v for k, v in i.items() if k != "id" or i.get("role", "assistant") == "assistant"} for i in wire]
    sdk(format).validate_python(wire, strict=True)


# The rules ---------------------------------------------------------------------------------------------


def chat_rules(messages: list[Wire]) -> None:
    at = 0
    while at < len(messages):
        message = messages[at]
        calls = message.get("tool_calls") or []
        content, role = message["content"], message["role"]
        assert role in ("system", "developer", "user", "assistant"), f"{role} at {at}"
        assert content is not None or calls, f"nothing said at {at}"
        known = {"user": ("text", "image_url", "input_audio", "file"), "assistant": ("text", "refusal")}
        if isinstance(content, list):
            assert all(part["type"] in known.get(role, ("text",)) for part in content), content
        assert "tool_calls" not in message or calls
        results = messages[at + 1 : at + 1 + len(calls)]
        assert [m["role"] for m in results] == ["tool"] * len(calls), f"results after {at}"
        assert sorted(m["tool_call_id"] for m in results) == sorted(call["id"] for call in calls)
        for m in results:
            assert isinstance(m["content"], str) or all(part["type"] == "text" for part in m["content"])
        at += 1 + len(calls)


def strict_rules(messages: list[Wire], systems: int = 1) -> None:
    """What strict chat templates want beside that: system messages first, then the user, and no neighbours of one role."""
    roles = [message["role"] for message in messages]
    first = next((at for at, role in enumerate(roles) if role not in ("system", "developer")), len(roles))
    assert first <= systems, roles
    spoken = roles[first:]
    assert spoken[:1] in ([], ["user"]), roles
    for role, after in itertools.pairwise(spoken):
        assert after in ("user", "assistant", "tool"), roles
        assert role != after or role == "tool", roles


CALLS = ("function_call", "custom_tool_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output")


def responses_rules(items: list[Wire]) -> None:
    open_calls: dict[str, str] = {}
    ids = [item["id"] for item in items if "id" in item and item.get("type") != "item_reference"]
    assert len(ids) == len(set(ids)), "an id occurs twice"
    for at, item in enumerate(items):
        kind = item.get("type", "message")
        if kind in OUTPUTS:
            assert open_calls.pop(item["call_id"], None) == kind.removesuffix("_output"), f"orphan output at {at}"
        elif kind in CALLS:
            open_calls[item["call_id"]] = kind
        elif kind == "message" and item["role"] != "assistant":
            assert not open_calls, f"the user speaks at {at} before {open_calls}"
        if kind == "reasoning" and at + 1 < len(items):
            after = items[at + 1]
            assert after.get("type", "message") not in OUTPUTS, f"reasoning at {at} without its item"
            assert after.get("role", "assistant") == "assistant", f"reasoning at {at} without its item"
            assert "id" in after, f"reasoning at {at} before an item that was changed"
        assert "excerpt" not in item
    assert not open_calls, f"no output for {open_calls}"


def blocks_of(message: Wire) -> list[Wire]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _texts(block: Wire) -> Iterator[str]:
    if block["type"] == "text":
        yield block["text"]
    if block["type"] == "tool_result" and isinstance(block.get("content"), list):
        for inner in block["content"]:
            yield from _texts(inner)


def anthropic_rules(request: Wire) -> None:
    assert request.keys() <= {"system", "messages"}
    assert "system" not in request or request["system"]
    assert all(text.strip() for block in request.get("system", ()) for text in _texts(block))
    messages = request["messages"]
    used: set[str] = set()
    waiting: list[str] = []
    for at, message in enumerate(messages):
        assert at or message["role"] == "user", "the first message must be the user's"
        blocks = blocks_of(message)
        assert blocks, f"nothing said at {at}"
        assert all(text.strip() for block in blocks for text in _texts(block)), f"empty text at {at}"
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert [block["type"] for block in blocks[: len(results)]] == ["tool_result"] * len(results), "results first"
        assert sorted(results) == sorted(waiting), f"results at {at}: {results}, not {waiting}"
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert message["role"] == ("assistant" if calls else "user" if results else message["role"])
        assert not used & set(calls), f"an id at {at} was used before"
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]+", id) for id in calls)
        used |= set(calls)
        waiting = calls
    assert not waiting, f"no results for {waiting}"
    if messages and messages[-1]["role"] == "assistant":
        last = blocks_of(messages[-1])[-1]
        assert last["type"] != "text" or last["text"] == last["text"].rstrip(), "white space at the end"


RULES: dict[str, Callable[[Any], None]] = {
    "chat": chat_rules,
    "responses": responses_rules,
    "anthropic": anthropic_rules,
}
FORMATS = tuple(RULES)
