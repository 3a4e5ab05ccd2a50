"""What is left of a message that was forgotten, and of what may quote it. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from infold.folding.names import identifiers
from infold.folding.proper import common, names, plain
from infold.marks import FORGOTTEN
from infold.messages import ANTHROPIC, CUT, RESPONSES, Message
from infold.quoting.telling import telling
from infold.quoting.values import VALUED, values
from infold.tokens import message_tokens

_SHORTEST = 8  # characters: a shorter text without figures stands in others by chance
_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"\d(?:[ ()./-]{0,2}\d){4,}")  # of telephones, accounts, dates, however they are grouped
_COMPARED = ("date", "clock")  # sorts of values that are alike only within their sort
_YEAR = re.compile(r"20\d\d")  # any message may name this one
_EMPTY = frozenset("user assistant always alway never must should".split())  # a pin says them of everything
_STEM = 6  # letters that forms of a word share: "allergy", "allergic"
_LANGUAGES = frozenset(
    "english french german spanish italian portuguese dutch polish russian ukrainian turkish arabic hebrew greek chinese japanese "
    "korean hindi swedish norwegian danish finnish czech hungarian romanian".split()
)


def redacted(message: Message) -> Message:
    """The message without anything that was said in it. Calls keep ids and names, so that their results belong to them."""
    extra = _structure(message)
    silent = message.content is None and message.item is not None  # its mark is that it was cut
    bare = replace(
        message,
        content=None if silent else FORGOTTEN,
        name=None,
        tool_calls=tuple(map(_bare_call, message.tool_calls)),
        extra=extra,
    )
    return replace(bare, tokens=message_tokens(bare))


def is_redacted(message: Message) -> bool:
    """Whether nothing is left of what a message said."""
    left = message.content == FORGOTTEN or (message.content is None and message.item is not None)
    return left and redacted(message) == message


def trace(message: Message) -> int:
    """One byte of a hash of what a message says: enough to know it at its place when it comes again, and far too little to find
    out what it was."""
    return hashlib.sha256("".join(message.text.split()).encode()).digest()[0]


def _structure(message: Message) -> dict[str, Any]:
    """What a format needs to write the message among its neighbours: no words."""
    if message.item is not None and message.role in ("assistant", "tool"):
        kept = {"type": message.item["type"]} if isinstance(message.item.get("type"), str) else {}
        return {RESPONSES: {**kept, CUT: True}}  # its id would name an item that the provider still has
    if message.extra.get(ANTHROPIC, {}).get("joined") is True:
        return {ANTHROPIC: {"joined": True}}
    return {}


def _bare_call(call: Mapping[str, Any]) -> dict[str, Any]:
    if "function" in call:
        return {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["function"]["name"], "arguments": "{}"},
        }
    return {"id": call["id"], "type": "custom", "custom": {"name": call["custom"]["name"], "input": ""}}


def all_text(message: Message) -> str:
    """Everything that a message said: its text and the arguments of its calls."""
    given = [call.get("function") or call.get("custom") or {} for call in message.tool_calls]
    return "\n".join([message.text, *(str(one.get("arguments", one.get("input", ""))) for one in given)])


def quotes(text: str, said: str) -> bool:
    """Whether a text stands in what was said, or what was said in it, word for word."""
    short, long = sorted((_words(text), _words(said)), key=len)
    if short == long:
        return True
    telling = len(short.strip()) >= _SHORTEST or any(ch.isdigit() for ch in short)
    return telling and short in long


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def retold(texts: Iterable[str], gone: Sequence[str], kept: Iterable[str]) -> set[str]:
    """Those of some texts that tell, in whatever words, what was forgotten, unless a message that stays tells the same.
    `kept` is read only as far as it is needed."""
    left: dict[str, list[_Told]] = {}
    for text in texts:
        found = [told for said in gone if (told := _tells(text, said)) is not None]
        if found:
            left[text] = found
    if not left:
        return set()
    for said in kept:
        told = _Told(said)
        left = {text: more for text, found in left.items() if (more := [one for one in found if not one.within(told)])}
        if not left:
            break
    return set(left)


class _Told:
    """What a text tells: figures, dates and identifiers; names; and its other words in one form each."""

    def __init__(self, text: str) -> None:
        low = text.casefold()
        self.exact = {one.casefold() for one in identifiers(text)} | {
            "".join(filter(str.isdigit, found)) for found in _DIGITS.findall(text)
        }
        for sort, value in values(low, VALUED.bit)[0]:
            if sort == "date":  # with its year or without
                value = "/".join(part.lstrip("0") for part in value.removesuffix("/").split("/")[-2:])
            if sort in _COMPARED:
                self.exact.add(f"{sort} {value}")
            elif sort != "day" and len(value) > 1 and not _YEAR.fullmatch(value):
                self.exact.add(value)
        self.words = set(_WORD.findall(plain(text)))
        self.names = {part for name in names(text) for part in _WORD.findall(plain(name)) if len(part) > 1} - _LANGUAGES
        self.stems = {stem[:_STEM] for stem in telling(low) - _EMPTY}

    def within(self, other: _Told) -> bool:
        """Whether another text tells all of this, and it is anything."""
        if not (self.exact or self.names or self.stems):
            return False
        return self.exact <= other.exact and self.names <= other.words and self.stems <= other.stems


def _tells(text: str, said: str) -> _Told | None:
    """What a text tells of what was said; None where that is nothing, or next to nothing."""
    one, other = _Told(text), _Told(said)
    shared = _Told("")
    shared.exact = one.exact & other.exact
    shared.names = (one.names | other.names) & one.words & other.words
    shared.stems = one.stems & other.stems
    most = 2 * len(shared.stems) > len(one.stems) or (bool(other.stems) and other.stems <= one.stems)
    telling_words = len(shared.stems) > 1 or any(stem not in common() for stem in shared.stems)
    if quotes(text, said) or shared.exact or shared.names or (most and telling_words):
        return shared
    return None


def without_quotations(data: Mapping[str, Any]) -> dict[str, Any]:
    """What an event tells, less what may quote messages: the words of errors, and details of what the gate found."""
    kept = {key: value for key, value in data.items() if key != "message"}
    if isinstance(kept.get("findings"), list):
        kept["findings"] = [finding[:2] for finding in kept["findings"] if isinstance(finding, list)]
    if "contradicted" in kept:  # ids of facts are made of their words
        kept["contradicted"] = []
    return kept
