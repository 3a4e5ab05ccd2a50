"""A message's text as sentences and clauses, without code, quotations and list marks. Pure."""

from __future__ import annotations

import re

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
# Words of others: a quotation of more than a name.
_QUOTATION = re.compile(r"[\"“«„](?:[^\"”»“\n]{28,600})[\"”»“]")
_MINE = re.compile(r"^[ \t]*(?:user|human|me)[ \t]*:[ \t]+", re.IGNORECASE | re.MULTILINE)
_THEIRS = re.compile(r"^[ \t]*(?:assistant|ai|bot|system)[ \t]*:.*$", re.IGNORECASE | re.MULTILINE)
_END = re.compile(r"[.!?\n。！？；][\"')\]\s]*")
_ABBREVIATIONS = frozenset(
    "e.g i.e mr mrs ms dr prof no nr st vs etc approx ca max min tel ref inc ltd z.b d.h bzw usw sr sra p.s".split()
).union("abcdefghijklmnopqrstuvwxyz")
_LONGEST = 8  # characters; every abbreviation is shorter
_LIST_MARK = re.compile(r"^\s*(?:[-*•–]|\d{1,2}[.)])\s+|\*\*|`|^#+\s")
_MARKS = frozenset("-*•–#0123456789")
# Where a clause may end. What follows keeps its joining word. It starts with a set of characters, for which the engine
# looks fast; spaces before it are stripped with the part they end.
_JOINT = re.compile(
    r"[\s;—….,)](?:(?<=[;—…])|(?<=\s)(?:[–—-]{1,2}\s|(?=(?:because|although|though|whereas|'?cause|cos)\s)|\((?=[^)]{12,}\)))"
    r"|(?<=,) ?(?=(?:but|so|and|yet|because|since|although|though|while|whereas|which|who|cause|cos|as|however|plus|hence)\b)"
    r"|(?<=\.)\.\.|(?<=\S\))(?=\s\S))\s*",
    re.IGNORECASE,
)
# Whatever _JOINT finds has one of these in it.
_JOINS = (",", ";", "—", "…", "...", "–", " -", "(", ")", "cause", "though", "whereas", "cos")
_PHRASE = re.compile(
    r"[,;:]\s+|\s[–—-]{1,2}\s|\s+(?=(?:when|which|because|after|since|while|where|who|with|together|and|is|that (?:i|we|it|he|she|they|its|the|my|our))\b)",
    re.IGNORECASE,
)


def clean(text: str) -> str:
    """The text in the writer's own words: code, quotations and typographic apostrophes gone."""
    text = text.replace("’", "'")
    if "```" in text:
        text = _CODE.sub("\n", text)
    if ":" in text:  # a pasted transcript: what the user said in it, without the label
        text = _THEIRS.sub("", _MINE.sub("", text))
    if ">" in text:
        text = _QUOTED_LINE.sub("", text)
    if '"' in text or "“" in text or "«" in text or "„" in text:
        text = _QUOTATION.sub(lambda quoted: ". " if quoted[0][-2] in ".!?" else " ", text)
    return text


def sentences(text: str) -> list[str]:
    """The sentences of a text, with their final mark; a point inside a number, a name or an abbreviation ends none."""
    found: list[str] = []
    start = 0
    for mark in _END.finditer(text):
        at, end = mark.span()
        sign = text[at]
        if sign in ".!?" and end < len(text):
            if end - at == 1:
                continue
            if sign == "." and "\n" not in mark[0] and _abbreviates(text[max(0, at - _LONGEST) : at].lower()):
                continue
        found.append(text[start:end].strip())
        start = end
    found.append(text[start:].strip())
    return [unmarked(sentence) for sentence in found if len(sentence) > 3]


def _abbreviates(before: str) -> bool:
    """Whether what stands before a point ends with an abbreviation."""
    words = before.replace("(", " ").split()
    return bool(words) and words[-1] in _ABBREVIATIONS and before.endswith(words[-1])


def unmarked(sentence: str) -> str:
    """A sentence without list marks and emphasis."""
    if sentence[0] in _MARKS or "**" in sentence or "`" in sentence:
        return _LIST_MARK.sub("", sentence).strip() or sentence
    return sentence


def phrases(sentence: str) -> list[str]:
    """The smaller parts of a winding sentence."""
    return [part for part in (part.strip(" ,()") for part in _PHRASE.split(sentence)) if part]


def clauses(sentence: str) -> list[str]:
    """The parts of a sentence that can stand alone."""
    if not any(map(sentence.lower().__contains__, _JOINS)):
        return [sentence]
    parts = [part.strip().strip(" ,()") for part in _JOINT.split(sentence)]
    return [part for part in parts if part] or [sentence]
