"""Messages of every format, told apart by their shape, as checked Messages. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from infold import messages
from infold.errors import MessageError
from infold.formats.calls import arguments_of
from infold.messages import ANTHROPIC, RESPONSES, ROLES, Message

_RESPONSES_PARTS = frozenset(("input_text", "output_text", "input_image", "input_file"))
_ANTHROPIC_PARTS = frozenset(
    (
        "image",
        "document",
        "search_result",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "tool_result",
        "container_upload",
    )
)
_PARTS = _RESPONSES_PARTS | _ANTHROPIC_PARTS | {"text", "refusal", "image_url", "input_audio", "file"}
_META = ("id", "created_at", "model_variant")


def parse(
    value: Message | Mapping[str, Any],
    *,
    id: str | None = None,
    created_at: int | str | datetime | None = None,
    model_variant: str | None = None,
) -> list[Message]:
    """Checked Messages from a message or item of any format; one, unless an Anthropic message holds tool results."""
    if isinstance(value, Mapping) and ("type" in value or type(value.get("content")) is list):
        raws = _read(value)
    else:  # plain text is the same in all formats
        return [messages.parse(value, id=id, created_at=created_at, model_variant=model_variant)]
    own = id or value.get("id")
    result: list[Message] = []
    for number, raw in enumerate(raws, 1):
        named = id if number == 1 or not isinstance(own, str) else f"{own}.{number}"
        result.append(messages.parse(raw, id=named, created_at=created_at, model_variant=model_variant))
    return result


def _read(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The value in the skeleton's shape, with what it has beyond under its format's name."""
    kind, content = value.get("type"), value.get("content")
    if "role" in value and (kind is None or kind == "message" or ("content" in value and value["role"] in ROLES)):
        parts = [part.get("type") for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
        kinds = {kind for kind in parts if isinstance(kind, str)}
        responses = bool(kinds & _RESPONSES_PARTS)
        anthropic = any(map(_is_anthropic, content)) if isinstance(content, list) else False
        if responses and anthropic:
            raise MessageError("the message mixes content parts of the Responses and the Anthropic format; use one")
        if anthropic or (kind == "message" and "text" in kinds):
            return _from_anthropic(value)
        return [_from_message(value)] if responses or kind == "message" else [value]
    if not isinstance(kind, str) or not kind:
        raise MessageError(f'a message needs a "role" and an item a "type" that is a text, not {kind!r}')
    if kind in _PARTS:
        raise MessageError(
            f'{{"type": "{kind}"}} is a content part, not a message: put it into the "content" list of a message'
        )
    return [_from_item(value, kind)]


def _is_anthropic(part: object) -> bool:
    if not isinstance(part, Mapping):
        return False
    kind = part.get("type")
    if kind == "text":
        return "citations" in part
    return isinstance(kind, str) and (kind in _ANTHROPIC_PARTS or kind.endswith(("_tool_result", "_tool_use")))


def _beyond(value: Mapping[str, Any], *used: str) -> dict[str, Any]:
    """The fields that are neither in the skeleton nor about the message."""
    return {key: value[key] for key in value if key not in used and key not in _META[1:]}


def _meta(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value[key] for key in _META if key in value}


# Responses ---------------------------------------------------------------------------------------------


def _from_message(value: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(value.get("content"), str | list):
        raise MessageError("the message item has no content: give a string or a list of content parts")
    beyond = _beyond(value, "role", "content", RESPONSES)
    if value.get("type") != "message":
        beyond.pop("id", None)  # an id without a type is infold's, as in the Chat format
    for part in value["content"] if isinstance(value["content"], list) else ():
        if isinstance(part, Mapping) and part.get("type") in ("input_text", "output_text"):
            _text(part, "text", f'a content part of type "{part["type"]}"')
    if value.get("role") == "tool":
        raise MessageError('a Responses tool result is an item {"type": "function_call_output", …}, not a tool message')
    return {"role": value.get("role"), "content": value["content"], **_meta(value), RESPONSES: beyond}


def _from_item(value: Mapping[str, Any], kind: str) -> dict[str, Any]:
    meta = _meta(value)
    what = f"the {kind} item {value.get('id', '')}".rstrip()
    if kind in ("function_call", "custom_tool_call"):
        said = "arguments" if kind == "function_call" else "input"
        name, given = _text(value, "name", what), _text(value, said, what)
        inner = "function" if kind == "function_call" else "custom"
        call = {"id": _id(value, "call_id", what), "type": inner, inner: {"name": name, said: given}}
        beyond = _beyond(value, "call_id", "name", said)
        return {"role": "assistant", "content": None, "tool_calls": [call], **meta, RESPONSES: beyond}
    if kind in ("function_call_output", "custom_tool_call_output"):
        call_id, output = _id(value, "call_id", what), value.get("output")
        if not isinstance(output, str | list):
            raise MessageError(
                f'{what} needs an "output": a text or a list of content parts; write other values as JSON'
            )
        beyond = _beyond(value, "call_id", "output")
        return {"role": "tool", "tool_call_id": call_id, "content": output, **meta, RESPONSES: beyond}
    if kind == "item_reference":
        meta.pop("id", None)  # it is the id of another item
    return {"role": "assistant", "content": None, **meta, RESPONSES: _beyond(value)}


# Anthropic ---------------------------------------------------------------------------------------------


def _from_anthropic(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    role, meta = value.get("role"), _meta(value)
    # A response has fields that a request must not have (usage, stop_reason …): kept, not sent.
    fields = _beyond(value, "role", "content", "id", ANTHROPIC)
    if isinstance(fields.get("model"), str):
        meta.setdefault("model_variant", fields["model"])
    mark: dict[str, Any] = {"fields": fields} if fields else {}
    content, calls, results = [], [], []
    for block in value["content"]:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "tool_use":
            if role != "assistant":
                raise MessageError(f"only assistant messages have tool_use blocks, not {role} messages")
            calls.append(_tool_use(block))
            content.append({key: block[key] for key in block if key not in ("name", "input")})
        elif kind == "tool_result":
            if role != "user":
                raise MessageError(f"only user messages have tool_result blocks, not {role} messages")
            results.append({**_tool_result(block), **meta})
        else:
            content.append(block)
    if not results:
        raw = {"role": role, "content": content, **meta, ANTHROPIC: mark}
        return [{**raw, "tool_calls": calls} if calls else raw]
    results[0][ANTHROPIC].update(mark)
    if content:
        results.append({"role": role, "content": content, **meta, ANTHROPIC: {"joined": True}})
    return [*results]


def _tool_use(block: Mapping[str, Any]) -> dict[str, Any]:
    what = "a tool_use block"
    if not isinstance(block.get("input"), dict):
        raise MessageError(f'{what} needs an "input" that is a dict; {{}} for a call without arguments')
    arguments = arguments_of(block["input"])
    function = {"name": _text(block, "name", what), "arguments": arguments}
    return {"id": _id(block, "id", what), "type": "function", "function": function}


def _tool_result(block: Mapping[str, Any]) -> dict[str, Any]:
    content = block.get("content")
    beyond = {key: block[key] for key in block if key not in ("tool_use_id", "content")}
    if content is None:
        beyond["content"] = None  # it had none, which is not the same as an empty one
    raw = {"role": "tool", "tool_call_id": _id(block, "tool_use_id", "a tool_result block")}
    return {**raw, "content": "" if content is None else content, ANTHROPIC: beyond}


def _id(value: Mapping[str, Any], key: str, what: str) -> str:
    if not value.get(key):
        raise MessageError(f'{what} needs a "{key}"')
    return _text(value, key, what)


def _text(value: Mapping[str, Any], key: str, what: str) -> str:
    found = value.get(key)
    if not isinstance(found, str):
        raise MessageError(f'{what} needs a text under "{key}", not {type(found).__name__}')
    return found
