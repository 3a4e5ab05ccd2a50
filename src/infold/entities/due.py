"""The day something is due, as a sentence tells it. Pure."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may(?! (?:be|not|have|well|need|also)\b)|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b"
)
# Words before a date, or before the date that was noted beside them: "the end of next week (15 May 2026)".
_WHEN = (
    r"(?:the|this|next|coming|last|early|mid|late|end|of|in|day|after|an?|one|two|three|four|five|six|ten|\d{1,2}(?:st|nd|rd|th)?|tomorrow|tmrw|today"
    r"|tonight|days?|weeks?|weekend|months?|year|eow|eom|noon|morning|afternoon|evening|night"
    r"|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?)"
)
_DUE = re.compile(
    r"[\s,;:(–-]*(?:\b(?:(?:and )?(?:it's |it is |is )?(?P<last>by|due(?: on| by)?|before|until|till|deadline(?: is)?|no later than)"
    rf"|on|for)[ :]+)?(?<!\d)(?:\b{_WHEN},? ){{0,6}}\(?(?:\b{_WHEN},? )?(?:(?P<iso>\d{{4}}-\d\d-\d\d)"
    rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH})(?:,? (?P<year>\d{{4}}))?"
    rf"|\b(?P<month2>{_MONTH}) (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,? (?P<year2>\d{{4}}))?)\)?(?: at the latest)?",
    re.IGNORECASE,
)
_MAY_BE = re.compile(rf"\d{{4}}-\d\d-|\d(?:st|nd|rd|th)?(?: of)? {_MONTH}|\b{_MONTH} \d", re.IGNORECASE)
_FIGURE, _ISO, _TOKEN = re.compile(r"\d"), re.compile(r"\d{4}-\d\d-"), re.compile(r"\w+")
_NAMES = frozenset(
    "january february march april june july august september sept october november december".split() + _MONTHS
)
_LONGEST = 120  # characters of the words before a date
# "8 or 9 May", "18-25 July": the second day alone is not when it is due.
_OF_SEVERAL = re.compile(r"\d(?:st|nd|rd|th)? ?(?:or|and|to|till|until|-|–|/) ?$")


def due_in(text: str, at: int) -> tuple[str, str]:
    """The one day by which a sentence says something is due, as an ISO date, and the sentence without it.

    A day without a year is the next such day after `at`, when it was said. The day is empty where there is none, or several.
    """
    names_day = _FIGURE.search(text) and (_ISO.search(text) or not _NAMES.isdisjoint(_TOKEN.findall(text.lower())))
    first = _MAY_BE.search(text) if names_day else None
    if first is None:
        return "", text
    matches = _DUE.finditer(text, max(0, first.start() - _LONGEST))
    found = [(match, day) for match in matches if (day := _day(match, at))]
    firm = [day for match, day in found if match["last"]] or [day for _, day in found]
    if len(set(firm)) != 1:
        return "", text
    due = firm[0]
    for match, day in reversed(found):
        if day == due:
            text = text[: match.start()] + text[match.end() :]
    return due, text


def _day(match: re.Match[str], at: int) -> str:
    """The ISO date of a match; empty where there is no such day."""
    try:
        if match["iso"]:
            return date.fromisoformat(match["iso"]).isoformat()
        if _OF_SEVERAL.search(match.string[: match.start("day" if match["day"] else "month2")][-12:]):
            return ""
        month = 1 + _MONTHS.index((match["month"] or match["month2"])[:3].lower())
        day, year = int(match["day"] or match["day2"]), match["year"] or match["year2"]
        if year:
            return date(int(year), month, day).isoformat()
        said = datetime.fromtimestamp(at / 1000, UTC).date()
        coming = date(said.year, month, day)
        return (coming if coming >= said else date(said.year + 1, month, day)).isoformat() if at else ""
    except (OverflowError, ValueError, OSError):
        return ""
