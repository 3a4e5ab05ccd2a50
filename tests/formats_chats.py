"""Conversations in each of the three formats, as hypothesis draws them, and what is said in them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

Wire = dict[str, Any]
Draw = Callable[..., Any]

PIXEL = "iVBORw0KGgoAAAANSUhEUg=="
PDF = "JVBERi0xLjQK"
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.dictionaries(WORDS, JSON, max_size=3)


@dataclass
class Chat:
    """A conversation, and everything in it that no format may lose."""

    format: str
    wire: list[Wire] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """What users, assistants and tools said."""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    """Names, and arguments: an object, or a text that is none."""


class _Maker:
    """Draws what the formats have in common."""

    def __init__(self, draw: Draw, format: str, start: int) -> None:
        self.draw = draw
        self.chat = Chat(format)
        self.numbers = itertools.count(start)

    def number(self) -> int:
        return next(self.numbers)

    def text(self) -> str:
        """A text that occurs once, with anything inside but no white space at its ends."""
        text = f"t{self.number()}{self.draw(WORDS)}."
        self.chat.texts.append(text)
        return text

    def maybe(self) -> bool:
        return bool(self.draw(st.booleans()))

    def one_of(self, *values: Any) -> Any:
        return self.draw(st.sampled_from(values))

    def object(self) -> Wire:
        return dict(self.draw(OBJECTS))

    def arguments(self) -> tuple[str, Any]:
        """The text of arguments, and what it means."""
        if self.one_of(True, True, False):
            found = self.object()
            return json.dumps(found, ensure_ascii=self.maybe()), found
        broken = self.one_of('{"a": ', "[1, 2]", "not json", '{"a": NaN}', '"text"', '{"a": 1e999}')
        return broken, broken

    def turns(self) -> range:
        return range(self.draw(st.integers(1, 4)))

    def steps(self) -> range:
        return range(self.draw(st.integers(0, 2)))

    def calls(self) -> range:
        return range(self.draw(st.integers(1, 3)))

    def name(self) -> str:
        return str(self.one_of("look_up", "get-time", "f", "Search2"))


@st.composite
def chat_completions(draw: Draw, start: int = 1) -> Chat:
    make = _Maker(draw, "chat", start)
    wire = make.chat.wire
    for _ in make.turns():
        user: Wire = {"role": "user", "content": make.text()}
        if make.maybe():
            user["content"] = [{"type": "text", "text": user["content"]}]
            media = [
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
                {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PDF}", "filename": "a.pdf"}},
                {"type": "file", "file": {"file_id": "file-1"}},
                {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
            ]
            user["content"] += draw(st.lists(st.sampled_from(media), max_size=2))
        wire.append({**user, "name": "Ann"} if make.maybe() else user)
        if make.one_of(True, False, False):
            wire.append({"role": make.one_of("system", "developer"), "content": make.text()})
        for _ in make.steps():
            calls = []
            for _ in make.calls():
                id = make.one_of("call_", "call.") + str(make.number())
                text, meaning = make.arguments()
                name = make.name()
                if make.one_of(True, True, False):
                    calls.append({"id": id, "type": "function", "function": {"name": name, "arguments": text}})
                else:
                    calls.append({"id": id, "type": "custom", "custom": {"name": name, "input": text}})
                    meaning = text
                make.chat.calls.append((name, meaning))
            wire.append({"role": "assistant", "content": make.text() if make.maybe() else None, "tool_calls": calls})
            for call in draw(st.permutations(calls)):
                text = make.text()
                content = text if make.maybe() else [{"type": "text", "text": text}]
                wire.append({"role": "tool", "tool_call_id": call["id"], "content": content})
        last = make.text()
        wire.append({"role": "assistant", "content": last if make.maybe() else [{"type": "text", "text": last}]})
    return make.chat


@st.composite
def responses(draw: Draw, start: int = 1) -> Chat:
    make = _Maker(draw, "responses", start)
    wire = make.chat.wire

    def reasoning() -> None:
        if make.maybe():
            summary = [{"type": "summary_text", "text": "private"}] if make.maybe() else []
            item = {"type": "reasoning", "id": f"rs_{make.number()}", "summary": summary}
            wire.append({**item, "encrypted_content": "gAAAAB" * 20} if make.maybe() else item)

    def message(phase: str) -> None:
        content = [{"type": "output_text", "text": make.text(), "annotations": []}]
        if make.one_of(True, False, False):
            content.append({"type": "refusal", "refusal": make.text()})
        item = {"type": "message", "role": "assistant", "id": f"msg_{make.number()}", "status": "completed"}
        wire.append({**item, "content": content, **({"phase": phase} if make.maybe() else {})})

    for _ in make.turns():
        kind = make.one_of("easy", "parts", "item")
        if kind == "easy":
            wire.append({"role": "user", "content": make.text()})
        else:
            media = [
                {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "low"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "original"},
                {"type": "input_image", "file_id": "file-1", "detail": "auto"},
                {"type": "input_file", "file_url": "https://example.org/a.pdf"},
                {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
                {"type": "input_file", "file_id": "file-2"},
            ]
            parts = [{"type": "input_text", "text": make.text()}, *draw(st.lists(st.sampled_from(media), max_size=2))]
            user: Wire = {"role": "user", "content": parts}
            wire.append({**user, "type": "message", "status": "completed"} if kind == "item" else user)
        for _ in make.steps():
            reasoning()
            if make.one_of(True, False, False):
                message("commentary")
            calls = []
            for _ in make.calls():
                id, name = f"call_{make.number()}", make.name()
                text, meaning = make.arguments()
                item = {"call_id": id, "name": name, **({"id": f"fc_{make.number()}"} if make.maybe() else {})}
                if wire[-1].get("type") == "reasoning":
                    item["id"] = f"fc_{make.number()}"
                if make.one_of(True, True, False):
                    calls.append({**item, "type": "function_call", "arguments": text, "status": "completed"})
                else:
                    calls.append({**item, "type": "custom_tool_call", "input": text})
                    meaning = text
                wire.append(calls[-1])
                make.chat.calls.append((name, meaning))
            for call in draw(st.permutations(calls)):
                text = make.text()
                output: Any = text
                if make.maybe():
                    output = [{"type": "input_text", "text": text}]
                    if make.maybe():
                        output.append(
                            {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"}
                        )
                wire.append({"type": f"{call['type']}_output", "call_id": call["call_id"], "output": output})
        reasoning()
        if make.one_of(True, False, False):
            action = {"type": "search", "query": "depots", "queries": ["depots"]}
            search = {"type": "web_search_call", "id": f"ws_{make.number()}", "status": "completed", "action": action}
            wire.append(search)
        message("final_answer")
        if make.one_of(True, False, False, False, False):
            wire.append({"type": "compaction", "id": f"cmp_{make.number()}", "encrypted_content": "gAAAAC" * 9})
    return make.chat


@st.composite
def anthropic(draw: Draw, start: int = 1) -> Chat:
    make = _Maker(draw, "anthropic", start)
    wire = make.chat.wire

    def cached(block: Wire) -> Wire:
        return {**block, "cache_control": {"type": "ephemeral"}} if make.one_of(True, False, False) else block

    def text() -> Wire:
        return cached({"type": "text", "text": make.text()})

    def said() -> Any:
        if make.maybe():
            return make.text()
        documents = [
            {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
                "title": "A",
            },
            {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
        ]
        blocks = [text(), *draw(st.lists(st.sampled_from(documents), max_size=2))]
        if make.one_of(True, False, False):
            plain = {"type": "text", "media_type": "text/plain", "data": make.text()}
            blocks.append({"type": "document", "source": plain, "citations": {"enabled": True}})
        return blocks

    def thinking() -> list[Wire]:
        kinds: list[Wire] = [
            {"type": "thinking", "thinking": "private", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "c2VjcmV0"},
        ]
        return [dict(block) for block in draw(st.lists(st.sampled_from(kinds), max_size=2))]

    for _ in make.turns():
        wire.append({"role": "user", "content": said()})
        for _ in make.steps():
            blocks = [*thinking(), *([text()] if make.maybe() else [])]
            results = []
            for _ in make.calls():
                id, name, input = f"toolu_{make.number()}", make.name(), make.object()
                if make.one_of(False, False, False, True):
                    input = {"_raw_arguments": make.one_of("{}", "broken {", "[]")}
                    kept = input if input["_raw_arguments"] == "{}" else input["_raw_arguments"]
                    make.chat.calls.append((name, kept))
                else:
                    make.chat.calls.append((name, input))
                blocks.append(cached({"type": "tool_use", "id": id, "name": name, "input": input}))
                if make.one_of(True, False, False):
                    blocks.append(text())
                result: Wire = {"type": "tool_result", "tool_use_id": id}
                form = make.one_of("none", "empty", "text", "blocks")
                if form != "none":
                    result["content"] = "" if form == "empty" else make.text() if form == "text" else said()
                if make.maybe():
                    result["is_error"] = make.maybe()
                results.append(cached(result))
            wire.append({"role": "assistant", "content": blocks})
            more = [text()] if make.one_of(True, False, False) else []
            wire.append({"role": "user", "content": [*draw(st.permutations(results)), *more]})
        if make.maybe():
            wire.append({"role": "assistant", "content": make.text()})
        else:
            use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "depots"}}
            searched = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
            server = [use, searched] if make.one_of(True, False, False) else []
            wire.append({"role": "assistant", "content": [*thinking(), *server, text()]})
    return make.chat


def any_format(start: int = 1) -> st.SearchStrategy[Chat]:
    """A conversation whose ids count from `start`."""
    return st.one_of(chat_completions(start), responses(start), anthropic(start))


CHATS = any_format()
MIXED = st.tuples(any_format(), any_format(1001), any_format(2001))
BY_FORMAT = {"chat": chat_completions(), "responses": responses(), "anthropic": anthropic()}
