"""Fields of a tool's result: `key: value` places, a few a message. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from infold.quoting.sentences import split

MOST_READ = 6000
MOST_FIELDS = 8
"""Candidates of one result."""
_LONG = 160  # characters of neighbouring fields that stand in one candidate
_TOKEN = re.compile(r'"((?:[^"\\]|\\.){0,400})"(\s*:)?|([{}\[\]])|(-?\d[\d.eE+-]*|true|false|null)')
_JSON = re.compile(r'\s{0,200}(?:\{\s*(?:["}]|\Z)|\[\s*(?:["\[\]{]|-?\d[\d.]*\s*[,\]]|true|false|null|\Z))')
_LINE = re.compile(r"[ \t]*([^\W\d_][\w .()/-]{0,40}?)[ \t]*[:=][ \t]+(\S.{0,200})")
_PROSE = re.compile(r"(?:[^\W\d_]{2,}[,;:]? ){2,}|[\u3400-\u9fff]{4,}")


@dataclass(frozen=True, slots=True)
class Field:
    """Neighbouring fields of one object."""

    start: int
    end: int
    text: str


def fields(text: str) -> list[Field]:
    """The fields of a result, or the sentences of one that is prose; little of a listing."""
    if _JSON.match(text):
        return _json(text)[:MOST_FIELDS]
    return _plain(text)


def _json(text: str) -> list[Field]:
    """Fields of a JSON text. It need not be whole: long ones are cut."""
    found: list[Field] = []
    parts: list[str] = []
    start = end = 0
    key: tuple[str, int] | None = None
    path: list[str] = []

    def close() -> None:
        if parts:
            found.append(Field(start, end, ", ".join(parts)))
            parts.clear()

    for mark in _TOKEN.finditer(text, 0, MOST_READ):
        string, colon, bracket, scalar = mark.groups()
        if colon is not None:
            key = (string, mark.start())
            continue
        if bracket is not None:
            if bracket in "{[":
                path.append(key[0] if key else "")
                if bracket == "{":
                    close()
                elif key is not None:  # a list of plain values is one field
                    continue
            else:
                if path:
                    path.pop()
                if bracket == "}":
                    close()
            key = None
            continue
        value = _decoded(string) if string is not None else scalar
        if not value or value in ("null",):
            key = None if not (path and mark.end() < len(text)) else key
            continue
        where = mark.start() if key is None else key[1]
        said = value if key is None else f"{_decoded(key[0])}: {value}"
        if parts and (mark.end() - start > _LONG or (key is None and not parts)):
            close()
        if not parts:
            start = where
        parts.append(said)
        end = mark.end()
        key = None
    close()
    return [one for one in found if any(map(str.isalpha, one.text))]


def _decoded(string: str) -> str:
    """A JSON string's words on one line; as it stands where it is broken, or stands for what no text may hold."""
    if "\\" not in string:
        return string
    try:
        words = str(json.loads(f'"{string}"', strict=False))
        words.encode()
    except ValueError:
        return string
    return string if "\0" in words else " ".join(words.split())


def _plain(text: str) -> list[Field]:
    """Sentences of a short result, `key: value` lines, and the last line of a long one."""
    lines = text.count("\n", 0, MOST_READ) + 1
    found = [
        Field(one.start, one.end, " ".join(text[one.start : one.end].split()))
        for one in split(text)
        if lines <= 12 or _LINE.match(text, one.start, one.end)
    ]
    kept = [one for one in found if len(one.text) <= 300 and (_PROSE.search(one.text) or _LINE.match(one.text))]
    if not kept and found:
        kept = [one for one in found[-1:] if len(one.text) <= 300 and any(map(str.isalpha, one.text))]
    return kept[:MOST_FIELDS]
