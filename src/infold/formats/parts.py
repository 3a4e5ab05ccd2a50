"""Content parts of every format, read once and written in each. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from infold.messages import ANTHROPIC, BOUND, Message, part_text

_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")  # what Anthropic can see
_LINES = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")  # what ends a line or turns it
_DETAILS = ("auto", "low", "high")


@dataclass(frozen=True, slots=True)
class Part:
    """What a part says, whatever its format. `text` is what is left where a format cannot have it."""

    kind: str  # text, image, file, audio
    text: str
    url: str | None = None
    """Where it is, or its data as a data: URL."""
    file_id: str | None = None
    """A file at OpenAI; other providers do not know it."""
    name: str | None = None
    detail: str | None = None
    native: Mapping[str, Any] | None = None


def read(part: Mapping[str, Any]) -> Part | None:
    """A part of any format; None for what has no place elsewhere: thinking, and calls, which stand apart."""
    kind = part["type"]
    if kind in BOUND or kind == "tool_use":
        return None
    if kind in ("image_url", "input_image"):
        image = part.get("image_url")
        inner = image if isinstance(image, Mapping) else {"url": image, "detail": part.get("detail")}
        return _media("image", _string(inner, "url"), _string(part, "file_id"), None, _string(inner, "detail"))
    if kind in ("file", "input_file"):
        file = part.get("file") if kind == "file" else part
        file = file if isinstance(file, Mapping) else {}
        data = _string(file, "file_data")
        if data and not data.startswith("data:"):
            data = f"data:application/pdf;base64,{data}"
        return _media("file", data or _string(file, "file_url"), _string(file, "file_id"), _string(file, "filename"))
    if kind in ("image", "document"):
        return _from_source(part, "image" if kind == "image" else "file")
    if kind == "search_result":
        said = [f"[search result: {part.get('title')} {part.get('source')}]", *texts(part.get("content"))]
        return Part("text", "\n".join(said))
    if kind == "input_audio" and isinstance(part.get("input_audio"), Mapping):
        return Part("audio", "[audio]", native=part)
    return Part("text", part_text(part))


def _string(value: Mapping[str, Any], key: str) -> str | None:
    found = value.get(key)
    return found if isinstance(found, str) else None


def _media(kind: str, url: str | None, file_id: str | None, name: str | None, detail: str | None = None) -> Part:
    shown = name or (url if url and not url.startswith("data:") else None) or file_id
    return Part(kind, f"[{kind}: {shown}]" if shown else f"[{kind}]", url, file_id, name, detail)


def _from_source(part: Mapping[str, Any], kind: str) -> Part:
    """An Anthropic image or document."""
    source, title = part.get("source"), _string(part, "title")
    source = source if isinstance(source, Mapping) else {}
    form, data = source.get("type"), _string(source, "data")
    if form == "base64" and data is not None:
        return _media(kind, f"data:{source.get('media_type')};base64,{data}", None, title)
    if form == "url":
        return _media(kind, _string(source, "url"), None, title)
    if form in ("text", "content"):
        said = [data] if data is not None else texts(source.get("content"))
        return Part("text", "\n".join([f"[document: {title}]", *said] if title else said))
    return Part(kind, f"[{kind}: {title or source.get('file_id')}]")


def texts(content: Any) -> list[str]:
    """What the parts of a content say; what is no text by a mark."""
    if isinstance(content, str):
        return [content]
    parts = (read(part) for part in content or () if isinstance(part, Mapping) and isinstance(part.get("type"), str))
    return [part.text for part in parts if part is not None]


def said(message: Message) -> list[str]:
    """All that a message says, as texts: content, else the fields that stand for it."""
    if message.content is not None:
        return texts(message.content)
    if item := message.item:
        return [] if message.tool_calls or item.get("type") in BOUND else [message.text]
    extra = message.extra
    found = [extra["refusal"]] if isinstance(extra.get("refusal"), str) else []
    if isinstance(call := extra.get("function_call"), Mapping):
        found.append(f"[function_call: {call.get('name')} {call.get('arguments')}]")
    return found or (["[audio]"] if extra.get("audio") and not message.tool_calls else [])


def failed(message: Message) -> bool:
    """Whether a tool result is an error; only Anthropic has a field for it."""
    return bool(message.extra and message.extra.get(ANTHROPIC, {}).get("is_error"))


def parts_of(content: str | list[dict[str, Any]] | None) -> list[Part]:
    """The content as parts."""
    if isinstance(content, str):
        return [Part("text", content)]
    return [part for part in map(read, content or ()) if part is not None]


def speaker(name: str) -> str:
    """A speaker's name on one line, as it stands before their words."""
    return " ".join(_LINES.sub(" ", name).split())


def prefixed(parts: Iterable[Part], prefix: str) -> list[Part]:
    """The parts with words before them."""
    found = list(parts)
    if not prefix:
        return found
    if found and found[0].kind == "text":
        return [Part("text", prefix + found[0].text), *found[1:]]
    return [Part("text", prefix.rstrip()), *found]


def for_chat(part: Part) -> dict[str, Any]:
    """A part of a Chat Completions user message."""
    if part.kind == "image" and part.url:
        detail = {"detail": part.detail} if part.detail in _DETAILS else {}
        return {"type": "image_url", "image_url": {"url": part.url, **detail}}
    if part.kind == "file" and part.file_id:
        return {"type": "file", "file": {"file_id": part.file_id}}
    if part.kind == "file" and part.url and part.url.startswith("data:"):
        return {"type": "file", "file": {"file_data": part.url, "filename": part.name or "document.pdf"}}
    if part.kind == "audio" and part.native:
        return dict(part.native)
    return {"type": "text", "text": part.text}


def for_responses(part: Part) -> dict[str, Any]:
    """A part of a Responses input message or output."""
    if part.kind == "image" and (part.url or part.file_id):
        place = {"image_url": part.url} if part.url else {"file_id": part.file_id}
        return {"type": "input_image", "detail": part.detail if part.detail in _DETAILS else "auto", **place}
    if part.kind == "file" and part.file_id:
        return {"type": "input_file", "file_id": part.file_id}
    if part.kind == "file" and part.url and part.url.startswith("data:"):
        return {"type": "input_file", "file_data": part.url, "filename": part.name or "document.pdf"}
    if part.kind == "file" and part.url:
        return {"type": "input_file", "file_url": part.url}
    return {"type": "input_text", "text": part.text}


def for_anthropic(part: Part) -> dict[str, Any]:
    """A block of an Anthropic user message or tool result."""
    head, _, data = (part.url or "").partition(",")
    media, _, coding = head.removeprefix("data:").partition(";")
    inline = head.startswith("data:") and coding == "base64"
    title = {"title": part.name} if part.name else {}
    if part.kind == "image" and inline and media in _IMAGES:
        return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}
    if part.kind == "file" and inline and media == "application/pdf":
        return {"type": "document", "source": {"type": "base64", "media_type": media, "data": data}, **title}
    if part.kind == "file" and inline and media == "text/plain" and (text := _decoded(data)):
        return {"type": "document", "source": {"type": "text", "media_type": media, "data": text}, **title}
    if part.kind in ("image", "file") and part.url and part.url.startswith(("https://", "http://")):
        source = {"type": "url", "url": part.url}
        return {"type": "image" if part.kind == "image" else "document", "source": source, **title}
    return {"type": "text", "text": part.text}


def _decoded(data: str) -> str | None:
    try:
        return base64.b64decode(data, validate=True).decode()
    except ValueError:
        return None
