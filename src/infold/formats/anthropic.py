"""Messages as an Anthropic request has them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from infold.formats.calls import AnthropicIds, anthropic_name, input_of
from infold.formats.joining import STUB, joined_anthropic
from infold.formats.parts import for_anthropic, parts_of, prefixed, said, speaker, texts
from infold.messages import ANTHROPIC, Message
from infold.units import runs

EMPTY = "[empty message]"  # the API refuses texts without a word

Block = dict[str, Any]


def to_anthropic(messages: Sequence[Message], *, join: bool = True) -> dict[str, Any]:
    """The messages as arguments of a Messages request: `system`, where there is one, and `messages`; neighbours of one role
    are one message, unless they are not to `join` yet."""
    system: list[Block] = []
    result: list[dict[str, Any]] = []
    ids = AnthropicIds()
    results: list[Block] | None = None  # those of the calls just made
    for run in runs(messages):
        first = run[0]
        if first.role == "tool":
            if results is None:
                results = []
                result.append({"role": "user", "content": results})
            results.append(_tool_result(first, ids))
            continue
        if first.role == "assistant":
            content = _assistant(run, ids)
            if content:
                result.append({"role": "assistant", "content": content})
        elif first.role in ("system", "developer") and not result:
            system += _blocks(first)
        elif results is not None and _mark(first).get("joined"):
            results += _blocks(first)
        else:
            result.append({"role": "user", "content": _user(first)})
        results = None
    if join:
        result = joined_anthropic(result)
    if result and result[-1]["role"] == "assistant":
        _trim(result)
    if result and result[0]["role"] != "user":
        result.insert(0, {"role": "user", "content": STUB})
    return {"system": system, "messages": result} if system else {"messages": result}


def _mark(message: Message) -> dict[str, Any]:
    mark: dict[str, Any] = message.extra.get(ANTHROPIC, {})
    return mark


def _user(message: Message) -> str | list[Block]:
    if isinstance(message.content, str) and message.content.strip() and not message.name:
        return message.content
    return _blocks(message) or EMPTY


def _blocks(message: Message) -> list[Block]:
    """The content as blocks; a speaker's name has no place but the text."""
    prefix = f"{speaker(message.name)}: " if message.name else ""
    if isinstance(message.content, list) and not prefix:
        found = [_block(part, message) for part in message.content]
    else:
        found = [for_anthropic(part) for part in prefixed(parts_of(message.content), prefix)]
    return [block for block in found if block is not None and _says(block)]


def _block(part: dict[str, Any], message: Message) -> Block | None:
    """A native block as it came, any other converted."""
    if ANTHROPIC in message.extra:
        return deepcopy(part)
    if part["type"] == "text":
        return {key: deepcopy(part[key]) for key in ("type", "text", "cache_control") if key in part}
    found = parts_of([part])
    return for_anthropic(found[0]) if found else None


def _says(block: Block) -> bool:
    return block["type"] != "text" or bool(block["text"].strip())


def _assistant(run: Sequence[Message], ids: AnthropicIds) -> str | list[Block]:
    """What the model said in one go, calls last unless they have their place."""
    first = run[0]
    if isinstance(first.content, str) and len(run) == 1 and not first.tool_calls and not first.name:
        return first.content if first.content.strip() else []
    blocks: list[Block] = []
    for message in run:
        calls = {call["id"]: call for call in message.tool_calls}
        if message.name:
            blocks.append({"type": "text", "text": f"{speaker(message.name)}:"})
        for part in message.content if isinstance(message.content, list) else ():
            if part["type"] == "tool_use":
                if part["id"] in calls:
                    blocks.append({**_tool_use(calls.pop(part["id"]), ids), **_without_id(part)})
            elif part["type"] == "text" or ANTHROPIC in message.extra:
                blocks += [block for block in (_block(part, message),) if block]
            else:
                blocks += [{"type": "text", "text": text} for text in texts([part])]
        if not isinstance(message.content, list):
            blocks += [{"type": "text", "text": text} for text in said(message)]
        blocks += [_tool_use(call, ids) for call in calls.values()]
    return [block for block in blocks if _says(block)]


def _without_id(part: dict[str, Any]) -> Block:
    return {key: deepcopy(value) for key, value in part.items() if key != "id"}


def _tool_use(call: dict[str, Any], ids: AnthropicIds) -> Block:
    name = (call.get("function") or call["custom"])["name"]
    return {"type": "tool_use", "id": ids.call(call["id"]), "name": anthropic_name(name), "input": input_of(call)}


def _tool_result(message: Message, ids: AnthropicIds) -> Block:
    mark = {key: deepcopy(value) for key, value in _mark(message).items() if key not in ("fields", "joined")}
    block = {"type": "tool_result", "tool_use_id": ids.result(message.tool_call_id or ""), **mark}
    if "content" in mark and not message.content:
        del block["content"]  # it came without
    else:
        block["content"] = message.content if isinstance(message.content, str) else _blocks(message)
    return block


def _trim(result: list[dict[str, Any]]) -> None:
    """Without the white space at the end of a final assistant message, which the API refuses."""
    content = result[-1]["content"]
    if isinstance(content, str):
        result[-1]["content"] = content.rstrip()
    elif content[-1]["type"] == "text":
        content[-1]["text"] = content[-1]["text"].rstrip()
