"""Words in a user's message that are somebody else's: quotations and pasted letters. Pure."""

from __future__ import annotations

import re

_LETTER = re.compile(
    r"^[ \t]{0,8}(?:(?:dear|hello|hi|hallo|hej|liebe[rs]?|sehr geehrte[rs]?|guten tag|bonjour|chère?s?|madame|monsieur|hola|estimad[oa]s?|querid[oa]s?|olá|prezad[oa]s?|caro|cara)"
    r"\b[^\n]{0,40}[,!:]|(?:from|von|de|subject|betreff|objet|asunto|assunto|fwd?|wg): ?[^\n]{1,120}|[^\n]{0,20}(?:您好|你好)[：:，,])[ \t]{0,8}$",
    re.IGNORECASE | re.MULTILINE,
)
_OPENS, _CLOSES = "“„«「『", "”»」』"


def letter_from(text: str) -> int:
    """Where a pasted letter begins; the length of the text where there is none. A greeting at the top is the user's own."""
    for found in _LETTER.finditer(text):
        if text[: found.start()].strip():
            return found.start()
    return len(text)


def in_quotes(text: str, start: int, end: int) -> bool:
    """Whether most of the words stand between quotation marks that open in their line."""
    line = text.rfind("\n", 0, start) + 1
    third = (end - start) // 3
    return all(_open(text[line:at]) for at in (start + third, end - third))


def _open(before: str) -> bool:
    """Whether a quotation is open at the end of a text."""
    return before.count('"') % 2 == 1 or sum(map(before.count, _OPENS)) > sum(map(before.count, _CLOSES))


_ROLE = re.compile(
    r"(?:^|(?<=[\r\v\f\x1c-\x1e\x85\u2028\u2029]))[ \t]{0,8}[*_#\[<|]{0,3}(?:user|human|assistant|system|developer|operator|tool|model|bot|ai)\b[\w |>\]*_]{0,20}:",
    re.IGNORECASE | re.MULTILINE,
)
_RULE = re.compile(r"^[ \t]*(?:-{3,}|={3,}|\*{3,}|_{3,}|~{3,}|#{3,}|[\"]{3}|[']{3})[ \t]*$", re.MULTILINE)
_TAG = re.compile(r"<([a-z][\w:-]{0,40})(?:\s[^<>]{0,200})?>", re.IGNORECASE)
_SPAN = re.compile(
    r"“[^“”]{0,4000}”|„[^„“”]{0,4000}[“”]|«[^«»]{0,4000}»|「[^「」]{0,4000}」|『[^『』]{0,4000}』"
    r"|(?<!\w)‘[^‘\n]{0,1000}’(?!\w)|(?<![\w'])'(?=\S)(?:[^'\n]|(?<=\w)'(?=\w)){0,1000}'(?![\w'])|`[^`\n]{1,1000}`"
    r'|(?<![^\s(:])"(?=\S)[^"]{0,4000}(?<=\S)"(?!\w)'
)
_SIGNS = frozenset("“„«「『‘'`\"<")


def borrowed(text: str) -> list[tuple[int, int]]:
    """Where a text has the words of somebody else: between quotation marks, tags or rules, and behind the name of a role, as in
    a pasted conversation."""
    found: list[tuple[int, int]] = []
    if ":" in text:
        ends = ((one.end(), text.find("\n", one.end())) for one in _ROLE.finditer(text))
        found += [(start, end if end >= 0 else len(text)) for start, end in ends]
    if not _SIGNS.isdisjoint(text):
        found += [one.span() for one in _SPAN.finditer(text)]
        found += _tagged(text) if "</" in text else []
    if "\n" in text:
        rules = [one.start() for one in _RULE.finditer(text)]
        found += zip(rules[::2], rules[1::2], strict=False)
    return found


def _tagged(text: str) -> list[tuple[int, int]]:
    """What stands between a tag and its end."""
    found = []
    for one in _TAG.finditer(text):
        end = text.find(f"</{one[1]}", one.end())
        if end >= 0:
            found.append((one.end(), end))
    return found


def within(spans: list[tuple[int, int]], start: int, end: int) -> bool:
    """Whether most of the words from `start` to `end` stand in one of the spans."""
    third = (end - start) // 3
    return any(first <= start + third and end - third <= last for first, last in spans)


_PASSING = re.compile(
    r"\b(?:right now|at the moment|just now|for now|this time|today|tonight|tomorrow|yesterday|no,? wait|(?:he|she|they) (?:said|asked|wrote|tried|rang)"
    r"|says (?:it|that|he|she|they)|gerade|im moment|heute|morgen|gestern|en ce moment|aujourd['’]hui|demain|hier|ahora mismo|hoy|mañana|ayer"
    r"|agora mesmo|hoje|amanhã|ontem)\b|今天|明天|昨天|刚才",
    re.IGNORECASE,
)


def passing(text: str) -> bool:
    """Whether a sentence speaks of the moment, or tells what somebody said: it may stand, but not for sure."""
    return _PASSING.search(text) is not None
