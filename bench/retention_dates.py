"""Dates as people write them: those a text shows, and those its words mean on the day they are said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_WEEKDAY = r"(?:(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? )?"
_YEAR = r"(?:,? (?P<year>\d{4}))?"
_SHOWN = [
    re.compile(rf"\b{_WEEKDAY}(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d)\b", re.IGNORECASE),
    re.compile(rf"\b{_WEEKDAY}(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>\d{{4}})\b", re.IGNORECASE),
    re.compile(rf"\b{_WEEKDAY}{_DAY} (?:of )?{_MONTH}{_YEAR}(?!\w)", re.IGNORECASE),
    re.compile(rf"\b{_WEEKDAY}{_MONTH} {_DAY}{_YEAR}(?!\w)", re.IGNORECASE),
]
_NAMED = re.compile(
    r"\b(?:(next|this|last|coming) )?(mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b", re.I
)
_IN = re.compile(r"\bin (?:about )?(a|an|one|two|three|four|five|six|seven|ten|\d{1,2}) (day|week)s?\b", re.I)
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}


def dates_in(text: str) -> Iterator[tuple[str, set[date]]]:
    """The dates a text shows, each as it stands there and as the days it may be."""
    for pattern in _SHOWN:
        for match in pattern.finditer(text):
            month = match["month"].lower()
            number = int(month) if month.isdigit() else _MONTHS.index(month[:3]) + 1
            years = [int(match["year"])] if match["year"] else [2026, 2027, 2028]
            days = {d for year in years if (d := _date(year, number, int(match["day"])))}
            weekday = match.groupdict().get("weekday")
            if weekday:
                days = {d for d in days if d.weekday() == _DAYS.index(weekday.lower())}
            if days:
                yield match[0].replace(",", ""), days


def dates_meant(text: str, milliseconds: int) -> set[date]:
    """The days that the words of a text may mean when they are said at that time."""
    today = datetime.fromtimestamp(milliseconds / 1000, UTC).date()
    low = text.lower()
    found: set[date] = set()
    for words, days in (
        ("today", 0), ("tonight", 0), ("this evening", 0), ("this afternoon", 0), ("end of the day", 0), ("eod", 0),
        ("tomorrow", 1), ("day after tomorrow", 2), ("yesterday", -1), ("next week", 7), ("in a fortnight", 14),
    ):  # fmt: skip
        if re.search(rf"\b{words}\b", low):
            found.add(today + timedelta(days))
    for match in _NAMED.finditer(low):
        ahead = (_DAYS.index(match[2][:3]) - today.weekday()) % 7
        following = {today + timedelta(ahead or 7)}
        if ahead == 0:
            following.add(today)
        if match[1] == "next":
            following.add(today + timedelta((ahead or 7) + 7))
        found |= {today + timedelta(ahead - 7)} if match[1] == "last" else following
    for match in _IN.finditer(low):
        number = _NUMBERS.get(match[1]) or int(match[1])
        found.add(today + timedelta(number * (7 if match[2] == "week" else 1)))
    if "week" in low:  # the end of this one: Friday, or Sunday; of the next one
        monday = today - timedelta(today.weekday())
        found |= {monday + timedelta(d) for d in (4, 5, 6, 7, 11, 12, 13)}
    if "month" in low:
        first = (today.replace(day=1) + timedelta(32)).replace(day=1)
        found |= {first - timedelta(1), first, (first + timedelta(32)).replace(day=1) - timedelta(1)}
    if "year" in low:
        found |= {date(today.year, 12, 31), date(today.year + 1, 1, 1), date(today.year + 1, 12, 31)}
    for shown, may_be in dates_in(text):
        year = re.search(r"\d{4}", shown)
        ahead_of = sorted(d for d in may_be if d >= today)
        found |= may_be if year else set(ahead_of[:1])
    return found


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
