"""The times a question names, as spans of days. Pure."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

# "may", "march" and "mars" are months only as their languages write them.
_MONTHS = (
    r"[Jj]an(?:uary|uar|vier)?|[Ee]nero",
    r"[Ff]eb(?:ruary|ruar|rero)?|[Ff]évrier",
    r"Mar(?:ch)?|[Mm]ärz|mars|[Mm]arzo",
    r"[Aa]pr(?:il)?|[Aa]vril|[Aa]bril",
    r"May|Mai|mai|[Mm]ayo",
    r"[Jj]un(?:e|i|io)?|[Jj]uin",
    r"[Jj]ul(?:y|i|io)?|[Jj]uillet",
    r"[Aa]ug(?:ust)?|[Aa]oût|[Aa]gosto",
    r"[Ss]ept?(?:ember|embre|iembre)?",
    r"[Oo]ct(?:ober|obre|ubre)?|[Oo]ktober",
    r"[Nn]ov(?:ember|embre|iembre)?",
    r"[Dd]ec(?:ember)?|[Dd]ezember|[Dd]écembre|[Dd]iciembre",
)
_MONTH = f"(?:{'|'.join(_MONTHS)})"
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
    rf"|\b(?P<d1>\d{{1,2}})(?:st|nd|rd|th|er|\.)?(?: of| de)? ?(?P<m1>{_MONTH})\b(?:,?(?: de)? ?(?P<y1>{_YEAR}))?"
    rf"|\b(?P<m2>{_MONTH})\.? (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d)(?:,? (?P<y2>{_YEAR}))?"
    rf"|\b(?:(?P<which>[Ll]ast|[Tt]his|[Nn]ext) )?(?P<m3>{_MONTH})\b(?:,? (?:of |de )?(?P<y3>{_YEAR}))?"
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
class Event:
    """A time told by something that happened: "two weeks before the trip", "since the move"."""

    text: str
    """What happened."""
    first: int
    last: int
    """Days from it, both ends included; with some slack, for it may have been told of a little later."""
    until_now: bool = False

    def span(self, day: date, asked: date | None) -> Span | None:
        """The days that are meant, once it is known when it happened."""
        try:
            if self.until_now:
                return Span(day, asked) if asked and asked >= day else None
            return Span(day + timedelta(days=self.first), day + timedelta(days=self.last))
        except OverflowError:
            return None


@dataclass(frozen=True, slots=True)
class Times:
    """What a question says about time."""

    spans: tuple[Span, ...] = ()
    months: tuple[int, ...] = ()
    """Months named without a year: any year's will do."""
    text: str = ""
    """The question without those words."""
    event: Event | None = None
    """Something a time is told by."""


def times(question: str, at: int = 0) -> Times:
    """The times a question names; `at` is when it is asked, in milliseconds (0: not known, "last week" means nothing)."""
    asked = day(at)
    spans: list[Span] = []
    months: list[int] = []
    rest: list[str] = []
    start = end = 0
    before: Span | int | None = None
    for match in _TIMES.finditer(question):
        try:
            found = _span(match, asked)
        except (ValueError, OverflowError):
            continue
        if found is None and not match["m3"]:
            continue
        here = found or _month(match["m3"])
        joined = _range(before, here) if _joins(question, start, end, match.start()) else None
        if isinstance(joined, Span):  # from one to the other
            spans = [*spans[:-1], joined] if isinstance(before, Span) else [*spans, joined]
            months = months if isinstance(before, Span) else months[:-1]
        elif joined is not None:
            months += joined
        elif isinstance(here, int):
            months.append(here)
        else:
            spans.append(_open(question[end : match.start()], here, asked))
        before, start = here, match.start()
        rest.append(question[end : match.start()])
        end = match.end()
    text = " ".join([*rest, question[end:]])
    event = None if spans or months else _event(question)
    if event:
        text = _EVENT.sub(lambda match: " " + match["event"], text)
    return Times(tuple(dict.fromkeys(spans)), tuple(dict.fromkeys(months)), text, event)


_TO = re.compile(r"\s*(?:to|until|till|through|–|-|bis|à|hasta)\s*(?:the )?")
_AND = re.compile(r"\s*(?:and|und|et|y)\s*(?:the )?")
_BETWEEN = re.compile(r"\b(?:[Bb]etween|[Zz]wischen|[Ee]ntre)(?: the)?\s*$")
_SINCE = re.compile(r"(?:\b[Ss]ince|\b[Ss]eit|\b[Dd]epuis|\b[Dd]esde|\b[Aa]fter)(?: the)?\s*$")
_BEFORE = re.compile(r"\b[Bb]efore(?: the)?\s*$")
_LONG = timedelta(days=3650)
_EVENT = re.compile(
    r"\b(?:(?P<n>\d{1,3}|a couple of|a few|an?|the|one|two|three|four|five|six|seven|eight|nine|ten) "
    r"(?P<unit>day|week|month|year)s? (?P<side>before|after)|(?P<since>since)) "
    r"(?P<event>(?:the|my|our|your|his|her|their|\w+['’]s) [^,;.?!]+)",
    re.IGNORECASE,
)


def _joins(question: str, start: int, end: int, to: int) -> bool:
    """Whether what stands between two times, from `end` to `to`, makes them one; the first begins at `start`."""
    words = question[end:to]
    return bool(_TO.fullmatch(words) or (_AND.fullmatch(words) and _BETWEEN.search(question[:start])))


def _range(first: Span | int | None, last: Span | int) -> Span | list[int] | None:
    """From one time to another: days, or months of any year; None where that makes no sense."""
    if isinstance(last, int):
        return (
            [(first + step - 1) % 12 + 1 for step in range(1, (last - first) % 12 + 1)]
            if isinstance(first, int)
            else None
        )
    if isinstance(first, int):  # "between March and May 2023": the year counts for both
        first = _whole_month(last.first.year - (first > last.first.month), first)
    return Span(first.first, last.last) if first and first.first <= last.last else None


def _open(words: str, found: Span, asked: date | None) -> Span:
    """A time after "since" lasts until now; what is before it began long ago."""
    if _SINCE.search(words) and asked and asked >= found.first:
        return Span(found.first, asked)
    if _BEFORE.search(words) and found.first - date.min > _LONG:
        return Span(found.first - _LONG, found.first - timedelta(days=1))
    return found


def _event(question: str) -> Event | None:
    match = _EVENT.search(question)
    if match is None:
        return None
    if match["since"]:
        return Event(match["event"], 0, 0, until_now=True)
    days, slack = {"day": (1, 2), "week": (7, 5), "month": (30, 15), "year": (365, 120)}[match["unit"].lower()]
    away = _count("a" if match["n"].lower() == "the" else match["n"]) * days
    away = away if match["side"].lower() == "after" else -away
    return Event(match["event"], away - slack, away + slack)


def _count(text: str) -> int:
    word = text.lower().removeprefix("a ") or "a"
    return _NUMBERS[word] if word in _NUMBERS else int(word)


def day(at: int) -> date | None:
    """The day of a time in milliseconds; None where it is not known."""
    try:
        return datetime.fromtimestamp(at / 1000, UTC).date() if at else None
    except (OverflowError, ValueError, OSError):
        return None


def _month(name: str) -> int:
    return next(number for number, pattern in enumerate(_MONTHS, 1) if re.fullmatch(pattern, name))


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
        days, slack = {"day": (1, 0), "week": (7, 3), "month": (30, 15), "year": (365, 182)}[match["unit"]]
        middle = asked - timedelta(days=_count(match["n"]) * days)
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
