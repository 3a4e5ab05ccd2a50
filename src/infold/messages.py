"""Messages: a Chat Completions skeleton with native content, kept without loss. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from infold.errors import MessageError

ROLES = ("system", "developer", "user", "assistant", "tool")

# Keys of an incoming message that are about it, not part of it.
_META = ("id", "created_at", "model_variant")
_KNOWN = {"role", "content", "name", "tool_calls", "tool_call_id", *_META}
# An assistant message may leave out its content when it carries one of these instead.
_INSTEAD_OF_CONTENT = ("refusal", "audio", "function_call", "reasoning", "reasoning_content", "responses")

# What a format needs beyond the skeleton is kept in `extra` under the format's name: see `formats`.
RESPONSES, ANTHROPIC = "responses", "anthropic"
CUT = "excerpt"  # marks a Responses item that was cut to fit: it is no longer the one its id names
# Items and parts that only their own provider can read; elsewhere they are left out.
BOUND = frozenset(("reasoning", "compaction", "compaction_trigger", "thinking", "redacted_thinking"))
_UNSEEN = BOUND | {"tool_use"}  # parts without words: a tool_use marks the place of one of the tool_calls

# A NUL as JSON writes it; after an odd number of backslashes these are letters.
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")

_NO_EXTRA: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Message:
    """One message. What the provider sends and gets is `wire`; the rest is what infold knows about it."""

    role: str
    content: str | list[dict[str, Any]] | None
    name: str | None = None
    tool_calls: tuple[dict[str, Any], ...] = ()
    tool_call_id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=lambda: _NO_EXTRA)
    """Fields infold does not know, kept as they came."""
    id: str = ""
    seq: int = 0
    """Position in the chat, from 1; 0 while the message is not in a ledger."""
    created_at: int = 0
    """Milliseconds since 1970."""
    model_variant: str | None = None
    tokens: int = 0

    @property
    def wire(self) -> dict[str, Any]:
        """The message as a provider sees it."""
        wire: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.name is not None:
            wire["name"] = self.name
        if self.tool_calls:
            wire["tool_calls"] = list(self.tool_calls)
        if self.tool_call_id is not None:
            wire["tool_call_id"] = self.tool_call_id
        wire.update(self.extra)
        return wire

    @property
    def plain(self) -> bool:
        """Whether the message is text and nothing more: nothing in it can be changed from outside."""
        return not self.tool_calls and not self.extra and not isinstance(self.content, list)

    @property
    def sha256(self) -> bytes:
        """Hash of the wire form and what is kept beside it."""
        plain = self.content if isinstance(self.content, str) else ""
        variant = self.model_variant or ""
        # No text holds a NUL, so nothing can slip from one field into the next.
        parts = (self.role, plain, self.body or "", self.id, str(self.seq), str(self.created_at), variant)
        return hashlib.sha256("\0".join(parts).encode()).digest()

    @property
    def text(self) -> str:
        """What a person would read of the content; other parts than text by a short mark."""
        if isinstance(self.content, str):
            return self.content
        if self.content is None and (item := self.item):
            return "" if self.tool_calls else item_text(item)
        return "\n".join(part_text(part) for part in self.content or () if part["type"] not in _UNSEEN)

    @property
    def item(self) -> dict[str, Any] | None:
        """What a Responses item has beyond the skeleton; the whole item where the skeleton has no place for it."""
        return self.extra.get(RESPONSES) if self.extra else None

    @property
    def foreign(self) -> bool:
        """Whether the message came in another format than Chat Completions."""
        return bool(self.extra) and (RESPONSES in self.extra or ANTHROPIC in self.extra)

    @property
    def opaque(self) -> bool:
        """Whether this is a Responses item that is no message, call or result."""
        return self.content is None and not self.tool_calls and RESPONSES in self.extra

    def stored(self, id: str, seq: int, created_at: int, tokens: int) -> Message:
        """The message as it stands in a ledger."""
        return Message(
            self.role,
            self.content,
            self.name,
            self.tool_calls,
            self.tool_call_id,
            self.extra,
            id,
            seq,
            created_at,
            self.model_variant,
            tokens,
        )

    @property
    def call_ids(self) -> tuple[str, ...]:
        return tuple(call["id"] for call in self.tool_calls)

    @property
    def body(self) -> str | None:
        """Everything but role and plain text content, as JSON; None for a plain message."""
        if self.name is None and self.tool_call_id is None and isinstance(self.content, str) and self.plain:
            return None
        rest = self.wire
        del rest["role"]
        if isinstance(self.content, str):
            del rest["content"]
        return canonical_json(rest) if rest else None


def part_text(part: Mapping[str, Any]) -> str:
    """A content part as text: its words, or a mark that says what it is."""
    kind = str(part.get("type"))
    if isinstance(part.get("text"), str):
        return str(part["text"])
    if isinstance(part.get("refusal"), str):
        return str(part["refusal"])
    inner = part.get(kind)
    names = (
        inner.get("filename") if isinstance(inner, Mapping) else None,
        *map(part.get, ("title", "filename", "name")),
    )
    name = next((name for name in names if name), None)
    return f"[{kind}: {name}]" if name else f"[{kind}]"


def item_text(item: Mapping[str, Any]) -> str:
    """A Responses item that is no message, call or result, as a short mark."""
    action = item.get("action")
    query = action.get("query") if isinstance(action, Mapping) else None
    name = item.get("name") or query or item.get("server_label")
    return f"[{item.get('type')}: {name}]" if isinstance(name, str) and len(name) <= 200 else f"[{item.get('type')}]"


def canonical_json(value: object) -> str:
    """The one JSON text of a value: sorted keys, no spaces, no escapes that are not needed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def load(
    role: str,
    content: str | None,
    body: str | None,
    *,
    id: str,
    seq: int,
    created_at: int,
    model_variant: str | None,
    tokens: int,
) -> Message:
    """Rebuild a message from its stored columns; the inverse of `body`. Columns that hold no message raise ValueError."""
    if body is None:
        return Message(role, content, None, (), None, _NO_EXTRA, id, seq, created_at, model_variant, tokens)
    rest = json.loads(body)
    if not isinstance(rest, dict):
        raise ValueError("the body of a message is an object")
    content = rest.pop("content", None) if content is None else content
    name, calls, call_id = rest.pop("name", None), rest.pop("tool_calls", ()), rest.pop("tool_call_id", None)
    _check_shapes(content, name, calls, call_id, rest)
    return Message(
        role,
        content,
        name,
        tuple(calls),
        call_id,
        rest,
        id,
        seq,
        created_at,
        model_variant,
        tokens,
    )


def _check_shapes(content: Any, name: Any, calls: Any, call_id: Any, extra: Mapping[str, Any]) -> None:
    """Refuse what no message that was added has: its row was changed since."""
    sound = (
        (isinstance(content, str | None) or _all_dicts(content))
        and isinstance(name, str | None)
        and (not calls or _all_dicts(calls))
        and all(
            isinstance(call.get("id"), str) and _is_named(call.get("function", call.get("custom"))) for call in calls
        )
        and isinstance(call_id, str | None)
        and all(isinstance(extra.get(key, {}), dict) for key in (RESPONSES, ANTHROPIC))
        and not {"role", "content"} & extra.keys()
    )
    if not sound:
        raise ValueError("the body of a message has a field of another type")


def _all_dicts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _is_named(function: Any) -> bool:
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def parse(
    value: Message | Mapping[str, Any],
    *,
    id: str | None = None,
    created_at: int | str | datetime | None = None,
    model_variant: str | None = None,
) -> Message:
    """A checked Message from a Chat Completions dict (or a Message). Raises MessageError with a helpful sentence."""
    if isinstance(value, Message):
        raw: Mapping[str, Any] = value.wire
        id = id or value.id or None
        created_at = value.created_at or None if created_at is None else created_at
        model_variant = model_variant or value.model_variant
    elif isinstance(value, Mapping):
        raw = value
    else:
        raise MessageError(f'a message is a dict like {{"role": "user", "content": "…"}}, not {type(value).__name__}')
    role = raw.get("role")
    if role not in ROLES:
        raise MessageError(f"unknown role {role!r}: use one of {', '.join(ROLES)}")
    content = _content(raw, role)
    name = _string(raw, "name")
    calls = _tool_calls(raw, role)
    call_id = _string(raw, "tool_call_id")
    if role == "tool" and not call_id:
        raise MessageError("a tool message needs the tool_call_id of the call it answers")
    if role != "tool" and call_id is not None:
        raise MessageError(f"only tool messages have a tool_call_id, not {role} messages")
    extra = {key: raw[key] for key in raw if key not in _KNOWN} if len(raw) > 2 or "content" not in raw else _NO_EXTRA
    if any(not isinstance(key, str) for key in extra):
        raise MessageError("field names of a message must be strings")
    if any(not isinstance(extra.get(key, {}), dict) for key in (RESPONSES, ANTHROPIC)):
        raise MessageError('the fields "responses" and "anthropic" of a message are infold\'s own; use other names')
    id = _string(raw, "id") if id is None else id
    if id is not None and (not isinstance(id, str) or not 0 < len(id) <= 200):
        raise MessageError("a message id is a string of 1 to 200 characters")
    model_variant = _string(raw, "model_variant") if model_variant is None else model_variant
    when = raw.get("created_at") if created_at is None else created_at
    message = Message(
        role,
        content,
        name,
        calls,
        call_id,
        extra,
        id or "",
        0,
        0 if when is None else milliseconds(when),
        model_variant,
    )
    _check_text(message)
    if message.plain:
        return message
    # The caller may go on changing what it gave us.
    return replace(message, content=deepcopy(content), tool_calls=deepcopy(calls), extra=deepcopy(extra))


def milliseconds(when: int | str | datetime) -> int:
    """A point in time as milliseconds since 1970; ISO text and datetimes without a zone are UTC."""
    if isinstance(when, bool) or not isinstance(when, int | str | datetime):
        raise MessageError(f"created_at must be milliseconds, ISO text or a datetime, not {type(when).__name__}")
    if isinstance(when, str):
        try:
            when = datetime.fromisoformat(when)
        except ValueError:
            raise MessageError(f"created_at {when!r} is not an ISO date such as 2026-05-01T12:00:00Z") from None
    if isinstance(when, datetime):
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        when = int(when.timestamp() * 1000)
    if not -(1 << 53) < when < 1 << 53:
        raise MessageError("created_at is out of range; give milliseconds since 1970")
    return when


def _content(raw: Mapping[str, Any], role: str) -> str | list[dict[str, Any]] | None:
    content = raw.get("content")
    if isinstance(content, str):
        return content
    if content is None:
        if role == "assistant" and (raw.get("tool_calls") or any(raw.get(key) for key in _INSTEAD_OF_CONTENT)):
            return None
        raise MessageError(f"the {role} message has no content: give a string or a list of content parts")
    if not isinstance(content, list):
        hint = "; decode it first" if isinstance(content, bytes) else ""
        raise MessageError(f"content must be a string or a list of parts, not {type(content).__name__}{hint}")
    for part in content:
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise MessageError('each content part is a dict with a "type", such as {"type": "text", "text": "…"}')
        if part["type"] == "text" and not isinstance(part.get("text"), str):
            raise MessageError('a content part of type "text" needs a string under "text"')
    return content


def _tool_calls(raw: Mapping[str, Any], role: str) -> tuple[dict[str, Any], ...]:
    calls = raw.get("tool_calls")
    if not calls and (calls is None or isinstance(calls, list | tuple)):
        return ()
    if role != "assistant":
        raise MessageError(f"only assistant messages have tool_calls, not {role} messages")
    if not isinstance(calls, list | tuple):
        raise MessageError(f"tool_calls must be a list, not {type(calls).__name__}")
    seen: list[str] = []
    for call in calls:
        if not isinstance(call, dict) or not isinstance(call.get("id"), str) or not call["id"]:
            raise MessageError('each tool call is a dict with an "id" and a "function"')
        function = call.get("function", call.get("custom"))
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise MessageError(f'tool call {call["id"]!r} needs a "function" with a "name"')
        if "function" in call and not isinstance(function.get("arguments", ""), str):
            raise MessageError(
                f"the arguments of tool call {call['id']!r} must be a JSON string, as the API sends them"
            )
        if call["id"] in seen:
            raise MessageError(f"tool call id {call['id']!r} occurs twice in one message")
        seen.append(call["id"])
    return tuple(calls)


def _string(raw: Mapping[str, Any], key: str) -> str | None:
    value = raw.get(key)
    if value is not None and not isinstance(value, str):
        raise MessageError(f"{key} must be a string, not {type(value).__name__}")
    return value


def _check_text(message: Message) -> None:
    """Only what any database can store and any provider accept: valid Unicode, no NUL, JSON values."""
    try:
        body = message.body
        plain = message.content if isinstance(message.content, str) else ""
        for text in (plain, body or "", message.id, message.model_variant or ""):
            text.encode()
    except UnicodeEncodeError:
        raise MessageError(
            "the message holds half a surrogate pair, which is not valid Unicode; clean it first"
        ) from None
    except (TypeError, ValueError) as error:
        raise MessageError(f"the message cannot be written as JSON: {error}") from None
    if "\0" in plain or (body and _NUL.search(body)) or "\0" in message.id or "\0" in (message.model_variant or ""):
        raise MessageError("the message holds a NUL character; remove it first")


def participants(messages: Iterable[Message]) -> list[str]:
    """Who speaks, by name where given, in order of appearance."""
    return list(dict.fromkeys(m.name or m.role for m in messages if m.role in ("user", "assistant")))
