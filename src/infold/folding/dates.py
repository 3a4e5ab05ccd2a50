"""Relative dates, resolved against the day they were said. Pure."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY = "|".join(_DAYS)
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}
_RELATIVE = re.compile(
    r"\b(?P<after>(?:the )?day after tomorrow)\b"
    r"|\b(?P<tomorrow>tomorrow)\b|\b(?P<today>today|tonight)\b"
    rf"|\b(?P<which>this coming |this |next |coming |last )?(?P<day>{_DAY})\b(?!,? (?:the )?\d|s\b| (?:morning|afternoon|evening|night)s)"
    rf"|\bin (?P<n>\d{{1,2}}|{'|'.join(_NUMBERS)}) (?P<unit>days?|weeks?)\b"
    r"|\b(?P<end>(?:the )?end of (?:the |this )?(?P<span>week|month|year)|(?P<eow>eow|eom))\b",
    re.IGNORECASE,
)
# What recurs has no date; what is over is not the next such day.
_RECURS = re.compile(
    rf"\b(?:every|each|weekly|monthly|always|usually|most|any)\b|(?:{_DAY}) ?(?:to|through|–|-) ?(?:{_DAY})"
)
_AHEAD = re.compile(
    r"\b(?:will|shall|is|are|be|must|should|has to|have to|needs? to|by|before|until|till|due|next|this|coming|going to|starts?|begins?|opens?|closes?|leaves?|arrives?|departs?|deadline|due|'ll)\b|'ll\b"
)
_NAMED = re.compile(
    r"(?:\b(?:Good|Black|Cyber|Easter|Whit|Ash|Blue|Holy|Super|Bloody|Palm|Red)|[a-z,] (?!On|By|This|Next|Last|Until|Before|Due)[A-Z][a-z]+) $"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
_DAY_OF_MONTH = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH})\b(?!,? \d{{4}})|\b(?P<before>{_MONTH}) (?P<after>\d{{1,2}})(?:st|nd|rd|th)?\b(?!,? \d{{4}})",
    re.IGNORECASE,
)
# Whatever _RELATIVE finds has one of these in it.
_SIGNS = ("day", "tonight", "tomorrow", "week", "end of", "eow", "eom")


def resolve(text: str, at: int, due: bool = False) -> str:
    """The text with its relative dates as calendar dates; `at` is when it was said, in milliseconds (0: not known).

    With `due`, a day without a year ("by 18 May") is the next such day.
    """
    low = text.lower()
    if not at or not (due or any(sign in low for sign in _SIGNS)):
        return text
    try:
        said = datetime.fromtimestamp(at / 1000, UTC).date()
    except (OverflowError, ValueError, OSError):
        return text
    weekdays = (due or _AHEAD.search(low) is not None) and not _RECURS.search(low)
    if due:
        text = _DAY_OF_MONTH.sub(lambda match: _next(match, said), text)
    return _RELATIVE.sub(lambda match: match[0] if match["day"] and not weekdays else _resolved(match, said), text)


def _next(match: re.Match[str], said: date) -> str:
    month = _MONTHS.index((match["month"] or match["before"])[:3].lower()) + 1
    day = int(match["day"] or match["after"])
    for year in (said.year, said.year + 1):
        try:
            found = date(year, month, day)
        except ValueError:
            return match[0]
        if found >= said:
            return found.isoformat()
    return match[0]


def _resolved(match: re.Match[str], said: date) -> str:
    if match["day"] and _NAMED.search(match.string[: match.start("day")]):
        return match[0]  # Good Friday is not this Friday
    try:
        day = _day(match, said)
    except OverflowError:
        return match[0]
    if day is None:
        return match[0]
    return f"{_DAYS[day.weekday()][:3].title()} {day.isoformat()}" if match["day"] else day.isoformat()


def _day(match: re.Match[str], said: date) -> date | None:
    if match["after"]:
        return said + timedelta(days=2)
    if match["tomorrow"]:
        return said + timedelta(days=1)
    if match["today"]:
        return said
    if match["day"]:
        ahead = (_DAYS.index(match["day"].lower()) - said.weekday()) % 7 or 7
        which = (match["which"] or "").strip().lower()
        if which == "last":
            return said + timedelta(days=ahead - 7 if ahead < 7 else -7)
        if which == "next":  # of the next calendar week
            return said + timedelta(days=7 - said.weekday() + _DAYS.index(match["day"].lower()))
        return said + timedelta(days=ahead)
    if match["n"]:
        word = match["n"].lower()
        number = _NUMBERS[word] if word in _NUMBERS else int(word)
        return said + timedelta(days=number * (7 if match["unit"].startswith("w") else 1))
    span = (match["span"] or {"eow": "week", "eom": "month"}[match["eow"].lower()]).lower()
    if span == "week":  # the working week, or what is left of the weekend
        return said + timedelta(days=max(4 - said.weekday(), 0) if said.weekday() < 5 else 6 - said.weekday())
    if span == "month":
        return (said.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
    return said.replace(month=12, day=31)
