"""Whether a message that a client sends is one that is known already. Pure.

Clients keep a chat themselves and send all of it each time, in their own words: with null fields or without, a text as a
string or as a part, arguments written anew, reasoning dropped, cache marks moved, a reply without the blanks around it. None
of that makes another message.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from infold.messages import ANTHROPIC, Message, canonical_json
from infold.once import Forgetful

_TEXTS = frozenset(("text", "input_text", "output_text"))
# What clients drop or keep as they like.
_REASONING = frozenset(("reasoning", "thinking", "redacted_thinking"))
# What a provider or a client writes beside a part or an item, and leaves out another time.
_BESIDE = frozenset(("id", "status", "cache_control", "annotations", "citations", "logprobs", "caller"))

# What some models write before they reply, which clients show apart and do not send again; of some templates only the end.
_THOUGHT = re.compile(
    r"\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)|(?:(?!<think).)*?\n</think(?:ing)?>[ \t]*(?:\n|\Z)", re.DOTALL
)

OWN = ("system", "developer")
"""Roles of what the client tells the model, before the chat or in its midst, where it moves along."""

_PLAIN = {"role", "content"}
_SHORT = 4096  # characters of a text whose hash is kept in mind
_CHATS, _FEW, _MOST = 64, 8, 128  # chats whose hashes are, from how many messages on, and of how many
START = hashlib.sha256(b"infold chat").digest()
"""The hash of no messages."""


def identity(message: Message) -> bytes:
    """A hash of what a message says; equal for the same message, sent again."""
    if message.body is None:  # the common case, much cheaper
        role, content = message.role, str(message.content)
        return _of_text(role, content) if len(content) <= _SHORT else _hash(f"{role} {_spoken(role, content)}")
    try:
        said = _said(message)
        content = said["content"]
        if said.keys() == _PLAIN and all(isinstance(one, str) for one in content):  # texts that stand together are one
            return _hash(f"{message.role} {_spoken(message.role, ''.join(content))}")
        return _hash(canonical_json(said))
    except RecursionError:  # nested so deeply that only the whole can be written
        return _hash(f"{message.role} {message.body}")


@functools.lru_cache(maxsize=8192)
def _of_text(role: str, content: str) -> bytes:
    """What a client sends again with every request is hashed once."""
    return _hash(f"{role} {_spoken(role, content)}")


def _spoken(role: str, content: str) -> str:
    """A text as clients keep it: a reply without the blanks around it, and without what was thought before it."""
    if role != "assistant":
        return content
    if "think" in content and (thought := _THOUGHT.match(content)):
        content = content[thought.end() :]
    return content.strip()


def spoken(message: Message) -> str:
    """The text of a message as clients keep it."""
    return _spoken(message.role, message.text)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def silent(message: Message) -> bool:
    """Whether a message says nothing by which a chat is known: a client may send it again or not, there or elsewhere."""
    return message.role in OWN or says_nothing(message)


def says_nothing(message: Message) -> bool:
    """Whether a message is reasoning, or nothing at all."""
    if message.role != "assistant" or message.tool_calls:
        return False
    if isinstance(message.content, str) and _spoken("assistant", message.content):  # the common case
        return False
    return reasoning(message) or not (message.opaque or _content("assistant", message.content) or _beyond(message))


def reasoning(message: Message) -> bool:
    """Whether a message is reasoning and nothing else."""
    if message.role != "assistant" or message.tool_calls or isinstance(message.content, str):
        return False
    if isinstance(message.content, list):
        return bool(message.content) and all(part["type"] in _REASONING for part in message.content)
    return message.opaque and (message.item or {}).get("type") in _REASONING


def prefixes(messages: Sequence[Message], start: bytes = START) -> list[bytes]:
    """For each message a hash of all up to it, after those that `start` stands for. A silent message has that of the one
    before."""
    if start != START or len(messages) < _FEW or not all(map(_is_short, messages[:2])):
        return _chained(messages, start)
    return _beginnings.chained(messages)


def _chained(messages: Sequence[Message], now: bytes) -> list[bytes]:
    result: list[bytes] = []
    for message in messages:
        if not silent(message):
            for part in _parts(message):
                now = hashlib.sha256(now + identity(part)).digest()
        result.append(now)
    return result


def _parts(message: Message) -> Sequence[Message]:
    """What one API has as one message and another as several: a reply's text, and each of its calls."""
    if not message.tool_calls or (len(message.tool_calls) == 1 and not message.text.strip()):
        return (message,)
    calls = [replace(message, content=None, tool_calls=(call,), extra={}) for call in message.tool_calls]
    text = replace(message, tool_calls=())
    return calls if silent(text) else [text, *calls]


class _Beginnings(Forgetful):
    """How chats begin: what a client sends again with every request is hashed once."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, ...], tuple[tuple[Message, ...], list[bytes]]] = OrderedDict()
        self._lock = threading.Lock()

    def chained(self, messages: Sequence[Message]) -> list[bytes]:
        """The hashes of a chat from its start on."""
        key = tuple(str(message.content) for message in messages[:2])
        with self._lock:
            before, hashes = self._known.pop(key, ((), []))
        if before != tuple(messages[: len(before)]):
            before, hashes = (), []
        hashes = [*hashes, *_chained(messages[len(before) :], hashes[-1] if hashes else START)]
        end = len(before)
        while end < min(len(messages), _MOST) and _is_short(messages[end]):
            end += 1
        with self._lock:
            self._known[key] = tuple(messages[:end]), hashes[:end]
            if len(self._known) > _CHATS:
                self._known.popitem(last=False)
        return hashes

    def clear(self) -> None:
        with self._lock:
            self._known.clear()


_beginnings = _Beginnings()


def _is_short(message: Message) -> bool:
    """Whether a message is a text that is equal to another only if both are the same."""
    return message.body is None and isinstance(message.content, str) and len(message.content) <= _SHORT


def _said(message: Message) -> dict[str, Any]:
    said: dict[str, Any] = {"role": message.role, "content": _content(message.role, message.content)}
    if message.name is not None:
        said["name"] = message.name
    if message.tool_calls:
        said["calls"] = [_call(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        said["answers"] = message.tool_call_id
    if message.extra:
        said.update(_beyond(message))
    return said


def _content(role: str, content: str | list[dict[str, Any]] | None) -> list[Any]:
    """Texts that stand together as one, everything else as it is."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    found: list[Any] = []
    for part in content or ():
        kind = part["type"]
        if kind in _TEXTS and isinstance(part.get("text"), str):
            if found and isinstance(found[-1], str):
                found[-1] += part["text"]
            elif part["text"]:
                found.append(part["text"])
        elif kind == "refusal":
            found.append({"refusal": part.get("refusal")})
        elif kind not in _REASONING and kind != "tool_use":  # the calls stand apart
            found.append(_bare(part))
    found = [_spoken(role, one) if isinstance(one, str) else one for one in found]
    return [one for one in found if one != ""]


def _beyond(message: Message) -> dict[str, Any]:
    """Of the other fields, those that say something."""
    said: dict[str, Any] = {}
    if isinstance(refusal := message.extra.get("refusal"), str) and refusal:
        said["refusal"] = refusal
    if isinstance(call := message.extra.get("function_call"), Mapping):
        said["function_call"] = _call({"function": call})
    if isinstance(audio := message.extra.get("audio"), Mapping):
        said["audio"] = audio.get("id")  # only the provider's own answer holds the sound
    if (message.extra.get(ANTHROPIC) or {}).get("is_error"):
        said["failed"] = True
    if message.opaque and message.item:
        reference = message.item.get("type") == "item_reference"
        said["item"] = message.item if reference else _bare(message.item)
    return said


def _call(call: Mapping[str, Any]) -> list[Any]:
    inner = call.get("function") or call.get("custom") or {}
    return [call.get("id"), inner.get("name"), inner.get("input"), _arguments(inner.get("arguments"))]


def _arguments(given: object) -> Any:
    """Arguments by their value, where they have one."""
    if not isinstance(given, str):
        return None
    if not given.strip():
        return {}  # no arguments
    try:
        value = json.loads(given, parse_float=_number)
        canonical_json(value).encode()
    except (ValueError, RecursionError):
        return given
    return given if isinstance(value, str) else value  # a text in quotes is not the text


def _number(text: str) -> float | int:
    value = float(text)
    return int(value) if value.is_integer() else value


def _bare(value: Any) -> Any:
    """A part or an item without nulls and what only stands beside it."""
    if isinstance(value, Mapping):
        return {key: _bare(inner) for key, inner in value.items() if inner is not None and key not in _BESIDE}
    return [_bare(inner) for inner in value] if isinstance(value, list) else value
