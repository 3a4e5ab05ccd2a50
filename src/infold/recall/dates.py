"""The times a question names, as spans of days. Pure."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# "may" and "march" are months only where they are written large.
_MONTH = (
    r"(?:[Jj]an(?:uary)?|[Ff]eb(?:ruary)?|Mar(?:ch)?|[Aa]pr(?:il)?|May|[Jj]une?|[Jj]uly?|[Aa]ug(?:ust)?|"
    r"[Ss]ept?(?:ember)?|[Oo]ct(?:ober)?|[Nn]ov(?:ember)?|[Dd]ec(?:ember)?)"
)
_YEAR = r"(?:19|20)\d\d"
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "couple of": 2,
    "few": 3,
}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_TIMES = re.compile(
    rf"\b(?P<iso>{_YEAR}-\d\d(?:-\d\d)?)\b"
    rf"|\b(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ?(?P<m1>{_MONTH})\b(?:,? ?(?P<y1>{_YEAR}))?"
    rf"|\b(?P<m2>{_MONTH})\.? (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d)(?:,? (?P<y2>{_YEAR}))?"
    rf"|\b(?:(?P<which>[Ll]ast|[Tt]his|[Nn]ext) )?(?P<m3>{_MONTH})\b(?:,? (?:of )?(?P<y3>{_YEAR}))?"
    rf"|\b(?:(?P<swhich>[Ll]ast|[Tt]his|[Ii]n|[Tt]he) (?:the )?)(?P<season>spring|summer|autumn|fall|winter)\b(?:,? (?:of )?(?P<ys>{_YEAR}))?"
    rf"|\b(?P<y4>{_YEAR})\b"
    r"|\b(?P<n>\d{1,3}|a couple of|a few|an?|one|two|three|four|five|six|seven|eight|nine|ten) (?P<unit>day|week|month|year)s? ago\b"
    r"|\b(?P<span>[Ll]ast|[Tt]his|[Pp]ast) (?P<of>week|weekend|month|year)\b"
    r"|\b(?P<yesterday>[Yy]esterday|[Ll]ast night)\b|\b(?P<today>[Tt]oday|[Tt]onight|[Tt]his morning)\b"
    rf"|\b(?:[Ll]ast|[Oo]n|[Tt]his) (?P<day>{'|'.join(day.title() for day in _DAYS)})\b"
)


@dataclass(frozen=True, slots=True)
class Span:
    """Days that a question names, both ends included."""

    first: date
    last: date


@dataclass(frozen=True, slots=True)
class Times:
    """What a question says about time."""

    spans: tuple[Span, ...] = ()
    months: tuple[int, ...] = ()
    """Months named without a year: any year's will do."""
    text: str = ""
    """The question without those words."""


def times(question: str, at: int = 0) -> Times:
    """The times a question names; `at` is when it is asked, in milliseconds (0: not known, "last week" means nothing)."""
    asked = _day(at)
    spans: list[Span] = []
    months: list[int] = []
    rest: list[str] = []
    end = 0
    for match in _TIMES.finditer(question):
        try:
            found = _span(match, asked)
        except (ValueError, OverflowError):
            continue
        if found is None and not match["m3"]:
            continue
        if found is None:
            months.append(_month(match["m3"]))
        else:
            spans.append(found)
        rest.append(question[end : match.start()])
        end = match.end()
    return Times(tuple(dict.fromkeys(spans)), tuple(dict.fromkeys(months)), " ".join([*rest, question[end:]]))


def _day(at: int) -> date | None:
    try:
        return datetime.fromtimestamp(at / 1000, UTC).date() if at else None
    except (OverflowError, ValueError, OSError):
        return None


def _month(name: str) -> int:
    return _NAMES.index(name[:3].lower()) + 1


def _whole_month(year: int, month: int) -> Span:
    return Span(date(year, month, 1), date(year, month, monthrange(year, month)[1]))


def _span(match: re.Match[str], asked: date | None) -> Span | None:
    if match["iso"]:
        parts = [int(part) for part in match["iso"].split("-")]
        return Span(day := date(*parts), day) if len(parts) == 3 else _whole_month(parts[0], parts[1])
    if match["d1"] or match["d2"]:
        return _on(
            int(match["d1"] or match["d2"]), _month(match["m1"] or match["m2"]), match["y1"] or match["y2"], asked
        )
    if match["m3"]:
        return _in_month(_month(match["m3"]), match["y3"], (match["which"] or "").lower(), asked)
    if match["season"]:
        return _in_season(_SEASONS[match["season"]], match["ys"], asked)
    if match["y4"]:
        return Span(date(int(match["y4"]), 1, 1), date(int(match["y4"]), 12, 31))
    return _relative(match, asked) if asked else None


def _on(day: int, month: int, year: str | None, asked: date | None) -> Span | None:
    if year:
        found = date(int(year), month, day)
    elif asked:  # the last such day
        found = date(asked.year, month, day)
        found = found if found <= asked else date(asked.year - 1, month, day)
    else:
        return None
    return Span(found, found)


def _in_month(month: int, year: str | None, which: str, asked: date | None) -> Span | None:
    if year:
        return _whole_month(int(year), month)
    if not which or asked is None:
        return None
    if which == "next":
        return _whole_month(asked.year + (month <= asked.month), month)
    before = month > asked.month or (which == "last" and month == asked.month)
    return _whole_month(asked.year - before, month)


def _in_season(first: int, year: str | None, asked: date | None) -> Span | None:
    if not year and asked is None:
        return None
    start = date(int(year) if year else asked.year if asked else 0, first, 1)
    if not year and asked and start > asked:
        start = start.replace(year=start.year - 1)
    last = _whole_month(start.year + (first + 2 > 12), (first + 1) % 12 + 1).last
    return Span(start, last)


def _relative(match: re.Match[str], asked: date) -> Span:
    if match["today"]:
        return Span(asked, asked)
    if match["yesterday"]:
        return Span(asked - timedelta(days=1), asked - timedelta(days=1))
    if match["day"]:
        back = (asked.weekday() - _DAYS.index(match["day"].lower())) % 7 or 7
        return Span(asked - timedelta(days=back), asked - timedelta(days=back))
    if match["n"]:
        word = match["n"].lower().removeprefix("a ") or "a"
        count = _NUMBERS[word] if word in _NUMBERS else int(word)
        days, slack = {"day": (1, 0), "week": (7, 3), "month": (30, 15), "year": (365, 182)}[match["unit"]]
        middle = asked - timedelta(days=count * days)
        return Span(middle - timedelta(days=slack), middle + timedelta(days=slack))
    monday = asked - timedelta(days=asked.weekday())
    last = match["span"].lower() != "this"
    if match["of"] == "week":
        return Span(monday - timedelta(days=7), monday - timedelta(days=1)) if last else Span(monday, asked)
    if match["of"] == "weekend":
        return (
            Span(monday - timedelta(days=2), monday - timedelta(days=1))
            if last
            else Span(monday + timedelta(days=5), monday + timedelta(days=6))
        )
    if match["of"] == "month":
        return (
            _whole_month(asked.year - (asked.month == 1), (asked.month - 2) % 12 + 1)
            if last
            else _whole_month(asked.year, asked.month)
        )
    return Span(date(asked.year - last, 1, 1), date(asked.year - last, 12, 31))
