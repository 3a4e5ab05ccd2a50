"""Sentences of a message worth reading: where each begins and ends. Pure.

Code, quoted mail, tables, logs, long listings and infold's own blocks are left out. Places are code points of the text as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

MOST_READ = 6000
"""Characters of a message that are read, what is left out not counted."""
MOST_LINES = 400
MOST_SENTENCES = 60
_LONGEST_LINE = 6000
_LONGEST_HEADING = 70
_KEPT = 20_000  # characters of a message whose sentences are kept for a while
_WRAPPED = 60  # a line this long without an end goes on in the next one

_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_ITEM = re.compile(r"\s*(?:(?:[-*–]|\d{1,2}[.)]|\(?[a-zA-Z]\))[ \t]+|[•·][ \t]*|[一二三四五六七八九十]、)(?=\S)")
_TITLE = re.compile(r"\s{0,3}#{1,6} +")
_LOG = re.compile(
    r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\d+\.\d+\.\d+\.\d+ |(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|Traceback)\b"
    r"|at [\w.$]+\(|File \"|\+\+\+ |--- |@@ |[+-]{1}\s{2,}\S|\$ |>>> |diff --git)"
)
_CODE = re.compile(
    r"\s*(?:def |class |import |from \S+ import|return\b|function\b|const |let |var |public |private |#include|SELECT |INSERT |UPDATE "
    r"|CREATE |<\/?[a-zA-Z][^>]*>\s*$|[}\])]+[;,]?\s*$|@\w+(?:\(|$)|//|/\*|if \(|for \(|while \()"
)
_CODE_ENDS = (";", "{", "=>", "):")
_ASSIGNED = re.compile(r"\s*[\w.\[\]\"']+ ?[:+-]?= ?\S+$")
_RULE = re.compile(r"\s*(?:[-=*_~]\s*){3,}$")
_LABEL = re.compile(r"[^.!?。！？]{2,70}[:：]\s*$")
# The end of a sentence: marks, then quotes and brackets that close it. The first mark is looked for, then what it is.
_END = re.compile(
    r"[.!?…。！？；](?<![.!?…].)(?:(?<![。！？；])[.!?…]*+[\"'”’»)\]*_]*+(?=\s)|(?<=[。！？；])[。！？；]*[”’」』）\"]*"
    r"|(?<=[!?])[!?]*+[\"'”’»)\]]*+(?=[\u3400-\u9fff]))"
)
_BEFORE = re.compile(r"[^\s(\[\"'“„«]{1,12}$")
_SHORT = frozenset(
    "mr mrs ms dr prof st jr sr vs etc e.g i.e eg ie approx no nr tel p pp vol fig inc ltd co corp dept est a.m p.m am pm jan feb mar apr jun jul "
    "aug sep sept oct nov dec mon tue wed thu fri sat sun z.b d.h u.a bzw ca ggf evtl usw inkl zzgl str abs art bspw vgl hr fr sog max min "
    "mio mrd m mme mlle env av bd cf ex sr sra srta dra ud uds av avda pág núm aprox depto dpto sto sta eng exmo art cap ref ext incl excl u.s u.k".split()
)
_MONTH = re.compile(
    r"\s+(?:[a-zäöüéû]|Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Jahrhundert|Stock|OG|Etage)"
)


class Sentence(NamedTuple):
    """One sentence, and the heading of the list it is an item of."""

    start: int
    end: int
    heading: tuple[int, int] | None = None
    item: bool = False
    paragraph: int = 0
    """Sentences of one line or wrapped paragraph share a number."""


def sentences(text: str) -> list[tuple[int, int]]:
    """Where the sentences worth reading stand."""
    return [(one.start, one.end) for one in split(text)]


def split(text: str) -> tuple[Sentence, ...]:
    """The sentences worth reading, in order. A message's are asked for again: by the message after it, and for entities."""
    return _split(text) if len(text) <= _KEPT else tuple(_found(text))


@lru_cache(maxsize=128)
def _split(text: str) -> tuple[Sentence, ...]:
    return tuple(_found(text))


def _found(text: str) -> list[Sentence]:
    found: list[Sentence] = []
    heading: tuple[int, int] | None = None
    for number, (start, end) in enumerate(_paragraphs(text)):
        line = text[start:end]
        if title := _TITLE.match(line):
            heading = _within(text, start + title.end(), end)
            continue
        mark = _ITEM.match(line)
        if mark is None and not line.strip():
            continue
        if mark is None:
            heading = None
        for at, (first, last) in enumerate(_split_line(text, start + (mark.end() if mark else 0), end)):
            found.append(Sentence(first, last, heading if mark and at == 0 else None, mark is not None, number))
        if mark is None and found and end - start <= _LONGEST_HEADING and _LABEL.match(line):
            heading = (found[-1].start, found[-1].end)
    return found[:MOST_SENTENCES]


def _within(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The span without white space around it; none where nothing is left or it is too long for a heading."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if 0 < end - start <= _LONGEST_HEADING else None


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Lines to read; a wrapped line and the next one are one."""
    if "\n" not in text and len(text) <= MOST_READ:
        if text and not _FENCE.match(text) and not _no_prose(text[:300]):
            yield 0, len(text)
        return
    budget = MOST_READ
    open_at = -1
    last = -1
    for start, end in _prose(text):
        line = text[start : min(end, start + budget)]
        budget -= len(line)
        end = start + len(line)
        wrapped = (
            open_at >= 0
            and last - open_at >= _WRAPPED
            and start - last == 1
            and line[:1].islower()
            and text[last - 1] not in ".!?:;。！？；："
        )
        if not wrapped:
            if open_at >= 0:
                yield open_at, last
            open_at = start
        last = end
        if budget <= 0:
            break
    if open_at >= 0:
        yield open_at, last


def _prose(text: str) -> Iterator[tuple[int, int]]:
    """Lines that are neither code, quotation, table nor log."""
    lines = _lines(text)
    kinds = [_left_out(text[start : min(end, start + 300)]) for start, end in lines]
    fenced = False
    for at, (start, end) in enumerate(lines):
        if _FENCE.match(text, start, end):
            fenced = not fenced
            continue
        if fenced or kinds[at] == 2 or start == end:
            continue
        # One line that looks like code may be prose; two neighbours are code.
        if kinds[at] == 1 and ((at and kinds[at - 1]) or (at + 1 < len(kinds) and kinds[at + 1])):
            continue
        yield start, end


def _lines(text: str) -> list[tuple[int, int]]:
    """The first lines of a text."""
    found: list[tuple[int, int]] = []
    at = 0
    while at <= len(text) and len(found) < MOST_LINES * 4:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        found.append((at, min(end, at + _LONGEST_LINE)))
        at = end + 1
    return found[:MOST_LINES]


def _left_out(line: str) -> int:
    """2 for a line that is surely no prose, 1 for one that looks like code, 0 for the rest."""
    if _no_prose(line):
        return 2
    if line.rstrip().endswith(_CODE_ENDS) or ("=" in line and _ASSIGNED.match(line)):
        return 1
    return 1 if _CODE.match(line) and line.strip() else 0


def _no_prose(line: str) -> bool:
    bare = line.strip()
    if not bare:
        return False
    return (
        (bare[0] == ">" and not bare.startswith(">>> "))
        or bare.count("|") >= 2
        or _RULE.match(line) is not None
        or _LOG.match(line) is not None
    )


def _split_line(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The sentences of one paragraph."""
    at = start
    for mark in _END.finditer(text, start, end):
        stop = mark.end()
        if stop < end and mark.group()[0] == "." and not _ends(text, at, mark.start(), stop, end):
            continue
        if mark.group()[0] == "…" and stop < end and text[stop : stop + 2].strip()[:1].islower():
            continue
        if span := _trimmed(text, at, stop):
            yield span
        at = stop
    if at < end and (span := _trimmed(text, at, end)):
        yield span


def _ends(text: str, start: int, dot: int, stop: int, end: int) -> bool:
    """Whether a full stop ends a sentence, and no abbreviation or ordinal."""
    if dot - start >= 6 and text[dot - 6 : dot].isalpha():
        return True  # too long a word
    before = _BEFORE.search(text, max(start, dot - 12), dot)
    word = before.group().lower() if before else ""
    if text[dot : dot + 2] == ".." or len(word) > 5:
        return True
    word = word.lstrip("*_#")
    if word.isdigit() and len(word) <= 2:
        if not text[start : dot - len(word)].strip("*_# "):
            return False  # the number of a point
        return _MONTH.match(text, stop, end) is None
    return not (word in _SHORT or (len(word) == 1 and word.isalpha() and word != "i" and text[dot - 1].isupper()))


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The span without white space around it, if it has a letter or digit."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if any(map(str.isalnum, text[start:end])) else None
