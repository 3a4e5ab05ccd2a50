"""What a model is asked when it folds, and reading what it answers. Pure."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from infold.folding.text import cite, written
from infold.lines.kinds import PINNED, SECTIONS
from infold.lines.line import Line
from infold.lines.rendering import render
from infold.messages import Message
from infold.records import MOST
from infold.tokens import excerpt
from infold.units import turns, unit_slices

CALL_TOKENS = 8000
"""Most tokens of messages in one call; a longer range is folded in passes."""
TOOL_TOKENS = 300
"""What is read of a tool result: its beginning and end."""
_BRACES = 50  # places in an answer where its JSON may begin
ITEMS, RECORD, TURNS = "items", "record", "turns"
_VERSION = {ITEMS: "items.v1", RECORD: "record.v1", TURNS: "turns.v1"}
_SIGNS = ("[infold summarizer]", "<meta total_messages=", "<memory>\n", "<messages>\n", "=== EXISTING_SUMMARY ===")
_CUT = " … "
_ACKNOWLEDGED = re.compile(
    r"""[\s{}\[\]"']*(?:(?:"?(?:ok|success|status|result|done)"?\s*[:=]\s*)?"?(?:ok|okay|true|done|success(?:ful(?:ly)?)?|null|none|200)"?)?[\s{}\[\]"'.!]*""",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Task:
    """One pass of a fold: some messages to fold into some memory."""

    memory: tuple[Line, ...]
    """The lines to be rewritten; empty where only the messages are summarised."""
    pins: tuple[Line, ...]
    messages: tuple[Message, ...]
    cap: int
    """Most tokens of the answer, as memory shows it."""
    depth: int = 0
    layout: str = ITEMS
    tokens: int = 0
    """Of the whole conversation slice, for the header."""

    @property
    def summary(self) -> str:
        """The memory so far as headings and bullets."""
        return render([*self.pins, *self.memory])

    @property
    def key(self) -> str:
        """Equal tasks, equal key: messages and their tokens, and the memory they are folded into."""
        said = [[m.seq, m.sha256.hex(), m.tokens] for m in self.messages]
        content = json.dumps([said, self.summary, self.cap, self.layout, self.depth])
        return hashlib.sha256(content.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Prompt:
    """A task as text, and what is needed to read the answer."""

    system: str
    user: str
    schema: dict[str, Any]
    version: str
    marks: Mapping[str, tuple[int, ...]]
    """What the answer may cite -> positions of messages."""
    filtered: tuple[int, ...] = ()
    """Messages without words for a summary: calls and mere acknowledgements of tools."""
    capped: tuple[int, ...] = ()
    """Messages of which the middle was left out."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a summarizer wrote, before the gate."""

    lines: tuple[Line, ...]
    narrative: str | None = None
    """The record's own prose, where it has one."""
    filtered: tuple[int, ...] = ()
    capped: tuple[int, ...] = ()
    model: str | None = None
    prompt: str | None = None
    """Version of the prompt file."""


class AnswerError(ValueError):
    """An answer that cannot be read as a proposal."""


def prompt_hash(text: str) -> bytes:
    """Hash of what a model is sent beside its instructions."""
    return hashlib.sha256(text.strip().encode("utf-8", "replace")).digest()


def without_instructions(text: str) -> str:
    """A text less the instructions of a prompt of ours that it begins with."""
    text = text.strip()
    for instructions in map(_instructions, _VERSION):
        if found := instructions.match(text):
            return text[found.end() :].strip()
    return text


@functools.cache
def _instructions(layout: str) -> re.Pattern[str]:
    """A layout's prompt with any cap."""
    return re.compile(re.escape(prompt_file(layout)[0]).replace(re.escape("{cap}"), r"\d+"))


def may_be_prompt(text: str) -> bool:
    """Whether a text has what every prompt of ours has."""
    return any(map(text.__contains__, _SIGNS))


@functools.cache
def prompt_file(layout: str) -> tuple[str, str]:
    """The text of a layout's prompt and its version: the file's name and a hash of its content."""
    name = _VERSION[layout]
    text = (files("infold.folding") / "prompts" / f"{name}.md").read_text(encoding="utf-8")
    return text.strip(), f"{name}@{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def prompts() -> list[str]:
    """The texts of all prompts, for recognising them."""
    return [prompt_file(layout)[0] for layout in _VERSION]


def passes(messages: Sequence[Message], room: int = CALL_TOKENS) -> list[tuple[Message, ...]]:
    """Messages in runs of whole units that each fit one call; a unit too large for any is alone."""
    parts: list[list[Message]] = []
    used = 0
    for unit in unit_slices(messages):
        tokens = sum(_read_tokens(message) for message in unit)
        if not parts or (used and used + tokens > room):
            parts.append([])
            used = 0
        parts[-1].extend(unit)
        used += tokens
    return [tuple(part) for part in parts]


def _read_tokens(message: Message) -> int:
    return min(message.tokens, TOOL_TOKENS + 20) if message.role == "tool" else message.tokens + 12


def build(task: Task, room: int = CALL_TOKENS) -> Prompt:
    """The prompt of a task. Messages that are too long for the room are cut to their beginning and end."""
    system, version = prompt_file(task.layout)
    system = system.replace("{cap}", str(task.cap))
    filtered: list[int] = []
    capped: list[int] = []
    if task.layout == TURNS:
        body, marks = _turns(task, room, capped)
        return Prompt(system, body, ITEMS_SCHEMA, version, marks, (), tuple(capped))
    marks = {f"M{at}": item.sources for at, item in enumerate(task.memory, 1)}
    lines: list[str] = []
    today = ""
    for message in task.messages:
        text, cut = _said(message, room)
        if not text:
            filtered.append(message.seq)
            continue
        if cut:
            capped.append(message.seq)
        day = _day(message.created_at) if task.layout == ITEMS else ""
        lines.append(f"[{message.seq}] {_speaker(message)}{day if day != today else ''}: {text}")
        today = day
        marks[str(message.seq)] = (message.seq,)
    parts = []
    if task.layout == RECORD:
        parts.append(f"<meta total_messages={len(task.messages)} total_tokens={task.tokens} depth={task.depth} />")
    if task.memory:
        known = [f"[M{at}] {item.section}: {item.shown}" for at, item in enumerate(task.memory, 1)]
        parts.append("\n".join(("<memory>", *known, "</memory>")))
    if lines:
        parts.append("\n".join(("<messages>", *lines, "</messages>")))
    schema = RECORD_SCHEMA if task.layout == RECORD else ITEMS_SCHEMA
    return Prompt(system, "\n".join(parts), schema, version, marks, tuple(filtered), tuple(capped))


def _turns(task: Task, room: int, capped: list[int]) -> tuple[str, dict[str, tuple[int, ...]]]:
    """The layout of the chunked summary's document, to the letter."""
    marks: dict[str, tuple[int, ...]] = {}
    shown: list[str] = []
    for number, turn in enumerate(turns(task.messages), 1):
        mine = task.messages[turn.first : turn.last + 1]
        lines = [f"Turn {number}:"]
        for message in mine:
            text, cut = _said(message, room)
            if cut:
                capped.append(message.seq)
            if text:
                label = {"user": "User", "assistant": "Assistant"}.get(message.role, message.role.title())
                lines.append(f"{label}: {text}")
        shown.append("\n".join(lines))
        marks[str(number)] = tuple(message.seq for message in mine)
    existing = render(task.memory) or "NONE"
    body = (
        f"=== EXISTING_SUMMARY ===\n{existing}\n=== END_EXISTING_SUMMARY ===\n\n"
        "=== NEW_TURNS ===\n" + "\n\n".join(shown) + "\n=== END_NEW_TURNS ==="
    )
    return body, marks


def _speaker(message: Message) -> str:
    return f"{message.role} {message.name}" if message.name and message.role == "user" else message.role


def _day(created_at: int) -> str:
    if not created_at:
        return ""
    try:
        return f" ({datetime.fromtimestamp(created_at / 1000, UTC).date().isoformat()})"
    except (OverflowError, ValueError, OSError):
        return ""


def _said(message: Message, room: int) -> tuple[str, bool]:
    """What a summarizer reads of a message, and whether something was left out; nothing for mechanical noise."""
    text = message.text.strip()
    if message.role in ("system", "developer"):
        return "", False
    if message.role == "tool" and _ACKNOWLEDGED.fullmatch(text):
        return "", False
    if not text and message.tool_calls:
        return "", False
    cap = TOOL_TOKENS if message.role == "tool" else room
    short = excerpt(text, cap, _CUT)
    return short, short != text


# Answers -----------------------------------------------------------------------------------------------


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


def _array(items: dict[str, Any], most: int | None = None) -> dict[str, Any]:
    return {"type": "array", "items": items, **({"maxItems": most} if most else {})}


_TEXT = {"type": "string"}
_SOURCES = _array(_TEXT)
_STATED = _object(text=_TEXT, sources=_SOURCES)
_MAYBE = {"type": ["string", "null"]}
ITEMS_SCHEMA = _object(
    items=_array(_object(section={"type": "string", "enum": list(SECTIONS)}, text=_TEXT, sources=_SOURCES))
)
RECORD_SCHEMA = _object(
    summary=_TEXT,
    key_points=_array(_STATED, MOST),
    context=_object(
        participants=_array(_TEXT, MOST),
        decisions=_array(_STATED, MOST),
        action_items=_array(_object(owner=_MAYBE, task=_TEXT, due=_MAYBE, sources=_SOURCES), MOST),
        unresolved=_array(_STATED, MOST),
        domain_entities=_array(_STATED, MOST),
    ),
)


def read(answer: str, task: Task, prompt: Prompt) -> Proposal:
    """A model's JSON as a proposal; AnswerError where it is none."""
    data = _json(answer, "summary" if task.layout == RECORD else "items")
    narrative = None
    if task.layout == RECORD:
        narrative = data.get("summary")
        if not isinstance(narrative, str) or not narrative.strip():
            raise AnswerError("the answer has no summary")
        lines = list(_record_lines(data))
        narrative = _words(narrative)
    else:
        entries = data.get("items")
        if not isinstance(entries, list):
            raise AnswerError("the answer has no list of items")
        lines = [_line(entry, None) for entry in entries]
    if not lines:
        raise AnswerError("the answer is empty")
    cited = [_cited(line, marks, task, prompt) for line, marks in lines if line.section != PINNED]
    return Proposal(tuple(cited), narrative, prompt.filtered, prompt.capped, prompt=prompt.version)


def read_text(answer: str, task: Task, prompt: Prompt) -> Proposal:
    """A plain text answer: split into items, sources assigned by the words they share."""
    lines = written(answer)
    if not lines:
        raise AnswerError("the answer is empty")
    cited = tuple(cite(lines, task.messages, task.memory))
    return Proposal(cited, None, prompt.filtered, prompt.capped, prompt=prompt.version)


def _json(answer: str, key: str) -> dict[str, Any]:
    """The JSON object with a key in an answer, whatever stands around it: a fence, reasoning, a remark."""
    decoder, at, wrong = json.JSONDecoder(), answer.find("{"), "it is not JSON"
    for _ in range(_BRACES):
        if at < 0:
            break
        try:
            data, end = decoder.raw_decode(answer, at)
        except ValueError as error:
            wrong, end = str(error.args[0]), at + 1
        except RecursionError:
            wrong, end = "it is nested too deeply", len(answer)
        else:
            if isinstance(data, dict) and key in data:
                return data
            wrong = f"it has no {key}"
        at = answer.find("{", end)
    raise AnswerError(f"the answer cannot be read: {wrong}")


def _line(entry: Any, section: str | None) -> tuple[Line, list[str]]:
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
        raise AnswerError("an item of the answer has no text")
    section = section or entry.get("section")
    if not isinstance(section, str) or section not in SECTIONS:
        raise AnswerError(f"an item of the answer is in an unknown section {str(section)[:40]!r}")
    text = _words(entry["text"])
    marks = entry.get("sources") or []
    if not isinstance(marks, list):
        raise AnswerError("the sources of an item must be a list")
    return Line("", section, text, ()), [str(mark).strip(" []#") for mark in marks]


def _record_lines(data: Mapping[str, Any]) -> Iterator[tuple[Line, list[str]]]:
    context = data.get("context")
    if not isinstance(context, dict):
        raise AnswerError("the answer has no context")
    for entry in _listed(context, "action_items"):
        if not isinstance(entry, dict) or not isinstance(entry.get("task"), str):
            raise AnswerError("an action item of the answer has no task")
        said = entry["task"].strip().rstrip(".")
        told = [
            f"{name} {value.strip()}"
            for name in ("owner", "due")
            if isinstance(value := entry.get(name), str)
            and value.strip()
            and value.strip().casefold() not in said.casefold()
        ]
        text = f"{said} ({', '.join(told)})" if told else said
        yield _line({"text": text, "sources": entry.get("sources")}, "open")
    seen: set[str] = set()
    groups = (
        (_listed(context, "decisions"), "decisions"),
        (_listed(context, "unresolved"), "open"),
        (_listed(data, "key_points"), "facts"),
        (_listed(context, "domain_entities"), "artifacts"),
    )
    for entries, section in groups:
        for entry in entries:
            line, marks = _line({"text": entry} if isinstance(entry, str) else entry, section)
            if line.text.casefold() not in seen:
                seen.add(line.text.casefold())
                yield line, marks


def _cited(line: Line, marks: Sequence[str], task: Task, prompt: Prompt) -> Line:
    """A line with the positions its marks stand for; without any, the ones it shares most words with."""
    found = sorted({seq for mark in marks for seq in prompt.marks.get(mark, ())})
    if not found:
        return cite([line], task.messages, task.memory)[0]
    return replace(line, sources=tuple(found))


def _listed(data: Mapping[str, Any], name: str) -> list[Any]:
    entries = data.get(name) or []
    if not isinstance(entries, list):
        raise AnswerError(f"{name} of the answer is not a list")
    return entries[:MOST]


def _words(text: str) -> str:
    """A text on one line; AnswerError where no database could keep it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise AnswerError("the answer is not valid text") from None
    if "\0" in text:
        raise AnswerError("the answer is not valid text")
    return " ".join(text.split())
