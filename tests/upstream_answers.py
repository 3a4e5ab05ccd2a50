"""What the scripted server answers, built from the request by simple rules. Knows nothing of infold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

HEADINGS = {
    "facts": "Facts / Constraints",
    "goals": "Goals / Preferences",
    "decisions": "Decisions Made",
    "open": "Open Items / Pending Commitments",
    "artifacts": "Key Artifacts / References",
}
MOST_ITEMS = 40
MOST_POINTS = 30
"""Of one list in a record."""
RUN = 11
"""Most words in a row that an answer copies."""
HUGE_TOKENS = 100_000


@dataclass(frozen=True)
class Asked:
    """A request to any of the three APIs."""

    system: str
    user: str
    hosted: bool = False
    """Uses a prompt kept by the provider, and so gets plain text."""
    tool: str | None = None
    """The tool that must be called."""

    @property
    def layout(self) -> str | None:
        start = self.user.lstrip()
        if start.startswith("=== EXISTING_SUMMARY ==="):
            return "turns"
        if start.startswith("<meta "):
            return "chain"
        return "items" if start.startswith(("<memory>", "<messages>")) else None


@dataclass(frozen=True)
class Line:
    """A message, a turn's half, or a line of memory."""

    mark: str
    role: str
    """Of a line of memory, its section."""
    text: str
    whole: str = ""
    """As the transcript has it."""


@dataclass(frozen=True)
class Item:
    section: str
    text: str
    sources: tuple[str, ...]
    owner: str = ""
    kept: bool = False
    """Never left out for want of room: from memory, or with a marker."""


def asked(path: str, body: dict[str, Any]) -> Asked:
    if path.endswith("/responses"):
        turns = body.get("input") or ""
        user = turns if isinstance(turns, str) else _plain(turns[-1].get("content"))
        return Asked(str(body.get("instructions") or ""), user, hosted=bool(body.get("prompt")))
    messages = body.get("messages") or [{}]
    user = _plain(messages[-1].get("content"))
    if path.endswith("/messages"):
        choice = body.get("tool_choice") or {}
        return Asked(
            _plain(body.get("system")), user, tool=choice.get("name") if choice.get("type") == "tool" else None
        )
    first = messages[0]
    return Asked(_plain(first.get("content")) if first.get("role") in ("system", "developer") else "", user)


def _plain(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def content(request: Asked, variant: str = "good") -> str:
    """The text of an answer; a chat that asks for no summary gets "ok"."""
    if variant in PLAIN:
        return PLAIN[variant]
    if request.layout is None:
        return "ok"
    if variant == "huge":
        return _huge(request)
    text = _write(VARIANTS.get(variant, _good)(items_of(request), request), request)
    if variant == "fenced":
        return f"Here you are:\n```json\n{text}\n```\n"
    if variant == "malformed":
        middle = len(text) // 2
        return f'{text[:middle]}",,]{{ {text[middle:]}'
    return text[: len(text) * 3 // 5] if variant == "truncated" else text


PLAIN = {
    "empty": "",
    "text": "The people in this conversation talked about several things and will come back to them later.",
    "wrong_schema": '{"memory": [{"kind": "fact", "value": "They talked."}], "confidence": 0.9}',
    "refusal": "I'm sorry, but I can't help with that.",
}


# Reading the request -----------------------------------------------------------------------------------

_MEMORY = re.compile(r"^\[(M\d+)\] (\w+): (.*)$", re.MULTILINE)
_MESSAGE = re.compile(r"^\[(?P<mark>\d+)\] (?P<label>(?P<role>user|assistant|tool)[^:\n]*): ", re.MULTILINE)
_TURN = re.compile(r"^Turn (?P<mark>\d+):$", re.MULTILINE)
_SPEAKER = re.compile(r"^(?P<label>(?P<role>User|Assistant|Tool)): ", re.MULTILINE)


def memory_of(request: Asked) -> list[Line]:
    if request.layout == "turns":
        section, lines = "facts", []
        for line in _between(request.user, "=== EXISTING_SUMMARY ===", "=== END_EXISTING_SUMMARY ===").splitlines():
            if line.startswith("#"):
                section = next(
                    (key for key, title in HEADINGS.items() if title == line.strip("# ").removesuffix(" (quoted)")),
                    "facts",
                )
            elif line.startswith("- "):
                lines.append(Line("", section, line[2:]))
        return lines
    known = _between(request.user, "<memory>", "</memory>") if "<memory>" in request.user else ""
    return [Line(*found) for found in _MEMORY.findall(known)]


def messages_of(request: Asked) -> list[Line]:
    if request.layout == "turns":
        turns = _between(request.user, "=== NEW_TURNS ===", "=== END_NEW_TURNS ===")
        return [
            _line(said, text, turn["mark"]) for turn, both in _cut(_TURN, turns) for said, text in _cut(_SPEAKER, both)
        ]
    transcript = request.user.partition("</memory>")[2] if "<memory>" in request.user else request.user
    if "<messages>" in transcript:
        transcript = _between(transcript, "<messages>", "</messages>")
    elif request.layout == "items":
        transcript = ""
    return [_line(said, text, said["mark"]) for said, text in _cut(_MESSAGE, transcript)]


def _line(said: re.Match[str], text: str, mark: str) -> Line:
    return Line(mark, said["role"].lower(), text, f"{said['label']}: {text}")


def _cut(start: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each beginning that is found, and the text up to the next one."""
    found = list(start.finditer(text))
    ends = [*(later.start() for later in found[1:]), len(text)]
    for match, end in zip(found, ends, strict=False):
        yield match, text[match.end() : end].strip()


def _between(text: str, start: str, end: str) -> str:
    return text[text.index(start) + len(start) : text.rindex(end) if end in text else len(text)]


# Good answers ------------------------------------------------------------------------------------------

_MARKER = re.compile(r"[A-Z]+-\d{3,}")
_LIST_MARK = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=[A-Z])")
_TURNS_IT = re.compile(
    r"\b(?:not|no|never|cannot|without|none|neither|maybe|might|perhaps|unless|if)\b|n't\b", re.IGNORECASE
)
_FIRST_PERSON = (
    (r"\bI(?:['’]m| am)\b", "{} is"), (r"\bI(?:['’]ve| have)\b", "{} has"), (r"\bI['’]ll\b", "{} will"),
    (r"\bI['’]d\b", "{} would"), (r"\bI\b", "{}"), (r"\b[Mm](?:y|ine)\b", "{}'s"), (r"\b(?:me|myself)\b", "{}"),
)  # fmt: skip
_SECTIONS = (
    ("facts", r"\b(?:must|cannot|can['’]t)\b"),
    ("decisions", r"\b(?:decided|let['’]s|we['’]ll use)\b"),
    ("open", r"\b(?:will|by|todo)\b|\?$"),
    ("artifacts", r"\.(?:py|md)\b|https?:"),
)


def items_of(request: Asked) -> list[Item]:
    """Memory as it is, then an item for each sentence with a figure or a name."""
    found = [Item(line.role, line.text, (line.mark,) if line.mark else (), kept=True) for line in memory_of(request)]
    seen = {item.text for item in found}
    for line in messages_of(request):
        for sentence in _SENTENCE.split(_LIST_MARK.sub("\n\n", line.text)):
            item = _item(line, sentence.strip())
            if item and item.text not in seen:
                seen.add(item.text)
                found.append(item)
    return _within(found, request)


def _within(items: list[Item], request: Asked) -> list[Item]:
    """At most so many items, and about as many tokens as the prompt allows; oldest of the rest first."""
    cap = re.search(r"At most (\d+) tokens", request.system)
    kept = [item for item in items if item.kept]
    places = MOST_ITEMS - len(kept)
    room = (int(cap[1]) * 3 if cap else 1_000_000) - sum(len(item.text) + 12 for item in kept)
    chosen = []
    for item in items:
        if not item.kept:
            places, room = places - 1, room - len(item.text) - 12
        if item.kept or (places >= 0 and room >= 0):
            chosen.append(item)
    return chosen


def _item(line: Line, sentence: str) -> Item | None:
    words = sentence.split()
    marker = next((at for at, word in enumerate(words) if _MARKER.search(word)), None)
    figure = next((at for at, word in enumerate(words) if re.search(r"\d", word)), None)
    name = next((at for at, word in enumerate(words) if at and re.match(r"[A-Z](?!['’]|\b)", word)), None)
    focus = next((at for at in (marker, figure, name) if at is not None), None)
    if focus is None:
        return None
    who = "Assistant" if line.role == "assistant" else "User"
    text = _window(words, focus)
    for pattern, instead in _FIRST_PERSON:
        text = re.sub(pattern, instead.format(who), text)
    text = text.strip(" ,;:-*#>|")
    text = text if text.endswith((".", "!", "?")) else f"{text}."
    section = next((key for key, pattern in _SECTIONS if re.search(pattern, sentence, re.IGNORECASE)), "facts")
    return Item(section, text[0].upper() + text[1:], (line.mark,), who, kept=marker is not None)


def _window(words: list[str], focus: int) -> str:
    """The words around one of them; a negation or doubt farther off is brought along."""
    if len(words) <= RUN:
        return " ".join(words)
    start = max(0, min(focus - RUN // 2, len(words) - RUN))
    near = words[start : start + RUN]
    turned = [at for at, word in enumerate(words) if _TURNS_IT.search(word)]
    far = [at for at in turned if not start <= at < start + RUN]
    if not far:
        return " ".join(near)
    at = far[0]
    begin = max(0, focus - 2)
    beside = range(max(0, at - 1), min(at + 4, len(words)))
    if set(beside) & set(range(begin, begin + 5)):
        return " ".join(words[max(0, min(at, focus) - 1) :][:RUN])
    parts = sorted([(at, [words[i] for i in beside]), (focus, words[begin : begin + 5])])
    return " … ".join(" ".join(part) for _, part in parts)


# Answers that are wrong --------------------------------------------------------------------------------


def _good(items: list[Item], request: Asked) -> list[Item]:
    return items


def _other_digits(items: list[Item], request: Asked) -> list[Item]:
    other = str.maketrans("0123456789", "3456789012")
    return [replace(item, text=item.text.translate(other)) for item in items]


_FLIPS = (
    (r"\bcannot\b", "can"), (r"\bno longer\b", "still"), (r"\bnever\b", "always"), (r"\bnot ", ""), (r"n['’]t\b", ""),
    (r"\bwithout\b", "with"), (r"\b(is|are|was|were|will|must|can|should|has|have)\b", r"\1 not"), (r"^", "It is not true: "),
)  # fmt: skip


def _flipped(items: list[Item], request: Asked) -> list[Item]:
    """What was denied is stated, what was stated is denied."""
    return [replace(item, text=_flip(item.text)) for item in items]


def _flip(text: str) -> str:
    pattern, instead = next(flip for flip in _FLIPS if re.search(flip[0], text))
    return re.sub(pattern, instead, text, count=1)


def _lost(items: list[Item], request: Asked) -> list[Item]:
    return items[: max(1, len(items) // 10)]


def _echo(items: list[Item], request: Asked) -> list[Item]:
    return [Item("facts", " ".join(line.whole.split()), (line.mark,)) for line in messages_of(request)]


def _extra_sources(items: list[Item], request: Asked) -> list[Item]:
    return [replace(item, sources=("999999", "M999")) for item in items]


def _prompt_echo(items: list[Item], request: Asked) -> list[Item]:
    prompt = request.system or "You keep the running summary of a long conversation. The turns are material."
    quoted = [sentence for sentence in _SENTENCE.split(prompt) if len(sentence.split()) > 5]
    return [Item("facts", sentence, item.sources) for item, sentence in zip(items or [_NOBODY], quoted, strict=False)]


_NOBODY = Item("facts", "", ())
VARIANTS: dict[str, Callable[[list[Item], Asked], list[Item]]] = {
    "invented_numbers": _other_digits,
    "flipped": _flipped,
    "lost": _lost,
    "echo": _echo,
    "extra_sources": _extra_sources,
    "prompt_echo": _prompt_echo,
}


def _huge(request: Asked) -> str:
    items = items_of(request)
    source = items[0].sources if items else ()
    more = HUGE_TOKENS // (15 if request.hosted else 29)
    items += [
        Item("facts", f"Number {at} of many more statements that nobody has asked for.", source) for at in range(more)
    ]
    return _write(items, request, most=len(items))


# Writing -----------------------------------------------------------------------------------------------


def _write(items: list[Item], request: Asked, most: int = MOST_POINTS) -> str:
    if request.hosted:
        return "\n".join(
            "\n".join((f"## {title}", *(f"- {item.text}" for item in items if item.section == section)))
            for section, title in HEADINGS.items()
            if any(item.section == section for item in items)
        )
    if request.layout == "chain":
        return json.dumps(_record(items, request, most), ensure_ascii=False)
    listed = [{"section": item.section, "text": item.text, "sources": list(item.sources)} for item in items]
    return json.dumps({"items": listed}, ensure_ascii=False)


def _record(items: list[Item], request: Asked, most: int) -> dict[str, Any]:
    def of(*sections: str, tasks: bool = False) -> list[dict[str, Any]]:
        chosen = [item for item in items if item.section in sections and _is_task(item) == tasks]
        chosen = sorted(chosen, key=lambda item: not item.kept)[:most]
        if not tasks:
            return [{"text": item.text, "sources": list(item.sources)} for item in chosen]
        due = [re.search(r"\bby ([^.?!,;]+)", item.text) for item in chosen]
        return [
            {"owner": item.owner, "task": item.text, "due": by[1] if by else None, "sources": list(item.sources)}
            for item, by in zip(chosen, due, strict=True)
        ]

    said = [item.text for item in items[:2]] or ["The conversation went on."]
    return {
        "summary": " Apart from that: ".join(said),
        "key_points": of("facts", "goals"),
        "context": {
            "participants": sorted({line.role for line in messages_of(request)}),
            "decisions": of("decisions"),
            "action_items": of("open", tasks=True),
            "unresolved": of("open"),
            "domain_entities": of("artifacts"),
        },
    }


def _is_task(item: Item) -> bool:
    return item.section == "open" and bool(item.owner) and not item.text.endswith("?")
