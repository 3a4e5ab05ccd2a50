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


_PASSING = re.compile(
    r"\b(?:right now|at the moment|just now|for now|this time|today|tonight|tomorrow|yesterday|no,? wait|(?:he|she|they) (?:said|asked|wrote|tried|rang)"
    r"|says (?:it|that|he|she|they)|gerade|im moment|heute|morgen|gestern|en ce moment|aujourd['’]hui|demain|hier|ahora mismo|hoy|mañana|ayer"
    r"|agora mesmo|hoje|amanhã|ontem)\b|今天|明天|昨天|刚才",
    re.IGNORECASE,
)


def passing(text: str) -> bool:
    """Whether a sentence speaks of the moment, or tells what somebody said: it may stand, but not for sure."""
    return _PASSING.search(text) is not None
