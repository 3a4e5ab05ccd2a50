"""Dates and times of day as values, however they are written. Pure."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

_MONTH_NAMES = (
    "january jan januar jänner janvier janv enero ene",
    "february feb februar février fevrier févr fevr febrero",
    "march mar märz maerz mars marzo",
    "april apr avril avr abril abr",
    "may mai mayo",
    "june jun juni juin junio",
    "july jul juli juillet juil julio",
    "august aug août aout agosto ago",
    "september sep sept septembre septiembre set",
    "october oct oktober okt octobre octubre",
    "november nov novembre noviembre",
    "december dec dezember dez décembre decembre diciembre dic",
)
MONTHS = {name: at for at, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()}
_WEEKDAY_NAMES = (
    "monday mon montag lundi lunes 周一 星期一",
    "tuesday tue tues dienstag mardi martes 周二 星期二",
    "wednesday wed mittwoch mercredi miércoles miercoles 周三 星期三",
    "thursday thu thur thurs donnerstag jeudi jueves 周四 星期四",
    "friday fri freitag vendredi viernes 周五 星期五",
    "saturday sat samstag sonnabend samedi sábado sabado 周六 星期六",
    "sunday sun sonntag dimanche domingo 周日 星期日 周天 星期天",
)
WEEKDAYS = {name: at for at, names in enumerate(_WEEKDAY_NAMES) for name in names.split()}
# Also everyday words: taken for a month or a day only where they are written as one.
_DOUBTFUL = frozenset("may mar mars set ago sun sat mon wed ene dic fri thu mai march".split())

_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_NTH = r"(?:st|nd|rd|th|er|º|ª|\.)?"
_TO = r"\s*(?:-|–|—|to|through|until|till|and|&|or|/|bis|und|au|et|al|y|a)\s*"
_NUMERIC = (
    r"(?<![\d./-])(?P<iso>(?P<y1>\d{4})[-/.](?P<m1>\d{1,2})(?:[-/.](?P<d1>\d{1,2}))?)(?![\d/-]|\.\d)(?:T(?=\d))?"
    r"|(?<![\d./-])(?P<a2>\d{1,2})[./-](?P<b2>\d{1,2})[./-](?P<y2>\d{4}|\d{2})(?![\d/-]|\.\d)"
    r"|(?P<y7>\d{4})\s?年(?:\s?(?P<m7>\d{1,2})\s?月(?:\s?(?P<d7>\d{1,2})\s?[日号])?)?"
    r"|(?<!\d)(?P<m8>\d{1,2})\s?月(?:\s?(?P<d8>\d{1,2})\s?[日号])?"
    r"|(?<![\d.,])(?P<d9>\d{1,2})\.\s?(?P<m9>\d{1,2})\.(?!\d)"
    r"|(?<![\d./])(?P<a0>\d{1,2})/(?P<b0>\d{1,2})(?![\d/])"
)
_NAMED = (
    rf"(?<![\d.,/-])(?P<d3>\d{{1,2}}){_NTH}(?:{_TO}(?P<e3>\d{{1,2}}){_NTH})?\s*(?:of\s+|de\s+|-)?(?P<m3>{_MONTH})\b\.?"
    r"(?:,?\s*(?:de\s+|of\s+|-)?(?P<y3>\d{4}))?"
    rf"|\b(?P<m4>{_MONTH})\b\.?\s+(?:the\s+)?(?P<d4>\d{{1,2}})(?![\d:%]|[.,]\d|\s?(?:am|pm)\b)(?:st|nd|rd|th)?"
    rf"(?:{_TO}(?P<e4>\d{{1,2}})(?!\d)(?:st|nd|rd|th)?)?(?:,?\s+(?P<y4>\d{{4}}))?"
    rf"|\b(?P<m5>{_MONTH})\b\.?,?\s*(?:of\s+|de\s+)?(?P<y5>(?:19|20)\d{{2}})(?!\d)"
    rf"|\b(?P<m6>{_MONTH})\b"
)
_DATES = re.compile(f"{_NAMED}|{_NUMERIC}", re.IGNORECASE)
_BARE_DATES = re.compile(_NUMERIC)
_MAY_DATE = re.compile(r"\d(?:[./-]\d|\s?[年月]|\.\s\d)")  # whatever looks like a date in figures
LETTERS = re.compile(r"[^\W\d_]+")
_DIGIT = re.compile(r"\d")
_WEEKDAY = re.compile(
    rf"\b(?:{'|'.join(sorted((name for name in WEEKDAYS if name.isascii() or name[0] < '㐀'), key=len, reverse=True))})(?:s|')?\b|(?:周|星期)[一二三四五六日天]",
    re.IGNORECASE,
)
_DAY_WORDS = frozenset(word for name in WEEKDAYS for word in (name, f"{name}s"))
_SURE_MONTHS = frozenset(MONTHS) - _DOUBTFUL
_RELATIVES = frozenset(
    "tomorrow tmrw tmr morgen übermorgen demain mañana today tonight this heute aujourd hoy yesterday night gestern hier ayer in within "
    "ago earlier from later time next last coming end eow eom eoy nächste nächster nächsten nächstes kommende kommenden prochain prochaine "
    "próximo próxima".split()
)
_BEFORE_MAY = re.compile(
    r"(?:\b(?:in|by|of|from|since|until|till|before|after|this|next|last|mid|early|late|end|for|on|during|through|to|and|de|en|im|ab|bis|seit|ende|anfang|mitte|begin(?:ning)?)[\s-]+|[–-]\s?)$",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?<![\d.,:/-])(?P<h>\d{1,2})(?::(?P<m>\d{2})(?::\d{2})?|h(?P<hm>\d{2})?(?![a-z])|\.(?P<dm>\d{2})(?=\s?(?:uhr|[ap]\.?m\b)))?\s?(?P<half>[ap]\.?\s?m\b\.?|uhr\b|o'?clock\b|点|heures?\b|horas\b|hrs\b|h\b)?",
    re.IGNORECASE,
)
_NOON = re.compile(r"\b(noon|midday|midnight|mittags?|mitternacht|midi|minuit|mediodía|medianoche)\b", re.IGNORECASE)
_NOONS = frozenset("noon midday midnight mittag mittags mitternacht midi minuit mediodía medianoche".split())
_MAY_TIME = re.compile(r"\d(?::|\s?(?:h|[ap]\.?\s?m|uhr|o'?c|点)|\.\d)", re.IGNORECASE)
_RELATIVE = re.compile(
    r"\b(?P<two>(?:the )?day after tomorrow|übermorgen|après-demain|pasado mañana)\b|后天(?P<two2>)"
    r"|\b(?P<one>tomorrow|tmrw|tmr|morgen|demain|mañana)\b|明天(?P<one2>)|\b(?P<now>today|tonight|this (?:morning|afternoon|evening)|heute|aujourd'hui|hoy)\b|今天(?P<now2>)"
    r"|\b(?P<ago1>yesterday|last night|gestern|hier|ayer)\b|昨天(?P<ago2>)"
    r"|\b(?:in|within) (?:about |the next )?(?P<n>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve) (?P<unit>day|week|fortnight|month|year)s?\b"
    r"|\b(?P<back>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten) (?P<bunit>day|week|month|year)s? (?:ago|earlier)\b"
    r"|\b(?P<n2>\d{1,3}|an?|one|two|three|four|five|six|seven|ten) (?P<unit2>day|week|month)s? (?:from (?:now|today)|later|time)\b"
    r"|\b(?P<which>this|next|last|coming|nächste[rns]?|kommende[rns]?|prochaine?|próxim[oa]) (?P<span>week(?:end)?|month|year|quarter|woche|monat|jahr|semaine|mois|semana|mes|año)\b"
    r"|\b(?P<end>(?:the )?end of (?:the |this |next )?(?:week|month|year)|eow|eom|eoy)\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?P<part>half|quarter) (?P<way>past|to) (?P<hour>\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b",
    re.IGNORECASE,
)
_MONTH_END = re.compile(rf"\b(?:last day|end) of ({_MONTH})\b", re.IGNORECASE)
_DOTTED = re.compile(r"\b(?:at|um|by|from|until|till|to|@) (\d{1,2})\.([0-5]\d)(?!\d|\.\d)", re.IGNORECASE)
_MAY_DOT = re.compile(r"\d\.\d")
_COUNT = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12}  # fmt: skip
_DAYS_OF = {"day": 1, "week": 7, "fortnight": 14}

Day = tuple[int, int, int]
"""Year, month and day; 0 for what is not said."""


@dataclass(frozen=True, slots=True)
class Dated:
    """A date as a text writes it: what it may mean, and where it stands."""

    text: str
    days: tuple[Day, ...]
    start: int
    end: int


def dates(text: str, said: frozenset[str] | None = None) -> list[Dated]:
    """The calendar dates of a text, months alone among them; `said` are its words in small letters, where known."""
    pattern = _BARE_DATES
    if _may_name_month(text, said_in(text) if said is None else said):
        pattern = _DATES
    elif not _MAY_DATE.search(text):
        return []
    return [
        Dated(match[0], days, match.start(), match.end())
        for match in pattern.finditer(text)
        for days in _readings(match)
        if days
    ]


@functools.lru_cache(maxsize=256)
def said_in(text: str) -> frozenset[str]:
    """The words of a text, in small letters."""
    return frozenset(LETTERS.findall(text.lower()))


def _may_name_month(text: str, low: frozenset[str]) -> bool:
    """Whether a text has a word that can be a month: most have none, and the patterns are slow."""
    if not low.isdisjoint(_SURE_MONTHS):
        return True
    return not low.isdisjoint(_DOUBTFUL) and any(
        word.lower() in _DOUBTFUL and (word[0].isupper() or _DIGIT.search(text)) for word in LETTERS.findall(text)
    )


_NO_GROUPS: dict[str, str] = dict.fromkeys(_DATES.groupindex, "")


def _readings(match: re.Match[str]) -> list[tuple[Day, ...]]:
    """What a match names: one date, or the two ends of a range, each with its possible readings."""
    if match["iso"]:
        return [_valid((int(match["y1"]), int(match["m1"]), int(match["d1"] or 0)))]
    get = {**_NO_GROUPS, **match.groupdict()}

    def number(key: str) -> int:
        return int(get[key] or 0)

    if get["a2"]:
        year = number("y2") + (2000 if len(get["y2"]) == 2 else 0)
        return [_daily((year, number("b2"), number("a2")), (year, number("a2"), number("b2")))]
    for at in "34":
        if get[f"m{at}"]:
            if not _a_month(match, get[f"m{at}"], True):
                return []
            month, year = MONTHS[get[f"m{at}"].lower()], number(f"y{at}")
            return [_valid((year, month, number(key))) for key in (f"d{at}", f"e{at}") if get[key]]
    for at in "56":
        if get[f"m{at}"]:
            if not _a_month(match, get[f"m{at}"], at == "5"):
                return []
            return [((number("y5"), MONTHS[get[f"m{at}"].lower()], 0),)]
    if get["y7"] or get["m8"]:
        return [_valid((number("y7"), number("m7") or number("m8"), number("d7") or number("d8")))]
    if get["d9"]:
        return [_valid((0, number("m9"), number("d9")))]
    return [_daily((0, number("b0"), number("a0")), (0, number("a0"), number("b0")))]


def _daily(*days: Day) -> tuple[Day, ...]:
    """The possible ones of some days in figures; 2.0.81 is a version."""
    return _valid(*days) if days[0][1] and days[0][2] else ()


def _valid(*days: Day) -> tuple[Day, ...]:
    return tuple(dict.fromkeys(day for day in days if day[1] <= 12 and day[2] <= 31 and (day[1] or not day[2])))


def _a_month(match: re.Match[str], name: str, with_number: bool) -> bool:
    """Whether a word that can be a month is one here: "May 5" and "in May", not "may 5 people come"."""
    if name.lower() not in _DOUBTFUL:
        return True
    if not name[0].isupper():
        return with_number and name.lower() in ("may", "mar", "mai", "march", "mars") and match[0][:1].isdigit()
    if with_number:
        return True
    return name.lower() in ("may", "march", "mai", "mars") and (
        _BEFORE_MAY.search(match.string[max(0, match.start() - 14) : match.start()]) is not None
    )


def weekdays(text: str, said: frozenset[str] | None = None) -> set[int]:
    """The days of the week that a text names; `said` are its words in small letters, where known."""
    found: set[int] = set()
    if _DAY_WORDS.isdisjoint(said_in(text) if said is None else said) and "周" not in text and "星期" not in text:
        return found
    for match in _WEEKDAY.finditer(text):
        name = match[0].lower().rstrip("'")
        at = WEEKDAYS.get(name, WEEKDAYS.get(name.removesuffix("s")))
        if at is not None and (name not in _DOUBTFUL or match[0][0].isupper()):
            found.add(at)
    return found


def times(text: str, said: frozenset[str]) -> list[tuple[str, frozenset[int], int, int]]:
    """Times of day: as written, the minutes of the day they may mean, start and end; `said` are the text's words."""
    found: list[tuple[str, frozenset[int], int, int]] = []
    for match in () if said.isdisjoint(_NOONS) else _NOON.finditer(text):
        night = match[1].lower() in ("midnight", "mitternacht", "minuit", "medianoche")
        found.append((match[0], frozenset([0 if night else 720]), match.start(), match.end()))
    if "half" in said or "quarter" in said:
        found += map(_past, _PAST.finditer(text))
    for match in _TIME.finditer(text) if _MAY_TIME.search(text) else ():
        hour, half = int(match["h"]), (match["half"] or "").lower().replace(".", "").replace(" ", "")
        minute = match["m"] or match["hm"] or match["dm"]
        if (
            hour > 24
            or (minute and int(minute) > 59)
            or not (match["m"] or match["hm"] or half[:1] in ("a", "p", "u", "o", "点"))
        ):
            continue
        if half in ("heures", "heure", "horas", "hrs", "h") and not minute:
            continue  # rather a duration
        if half[:1] in ("a", "p") and hour > 12:
            half = ""
        found.append((match[0].strip(), _minutes(hour % 24, int(minute or 0), half), match.start(), match.end()))
    return found


def dotted_times(text: str) -> list[int]:
    """Minutes of the day that figures like "at 10.30" may mean; they may be prices as well."""
    if not _MAY_DOT.search(text):
        return []
    return [minute for match in _DOTTED.finditer(text) for minute in _minutes(int(match[1]) % 24, int(match[2]), "")]


def _past(match: re.Match[str]) -> tuple[str, frozenset[int], int, int]:
    """Half past five, a quarter to nine."""
    word = match["hour"].lower()
    minutes = (_COUNT.get(word) or int(word)) * 60
    step = 30 if match["part"].lower() == "half" else 15
    at = (minutes - step if match["way"].lower() == "to" else minutes + step) % 1440
    return match[0], _minutes(at // 60, at % 60, ""), match.start(), match.end()


def _minutes(hour: int, minute: int, half: str) -> frozenset[int]:
    if half[:1] in ("a", "p"):
        return frozenset([(hour % 12 + 12 * (half[0] == "p")) * 60 + minute])
    if 0 < hour <= 12:  # morning or afternoon: not said
        return frozenset([hour % 24 * 60 + minute, (hour + 12) % 24 * 60 + minute])
    return frozenset([hour * 60 + minute])


def day_of(at: int) -> date | None:
    """The day of a time in milliseconds; None where it is not known."""
    try:
        return datetime.fromtimestamp(at / 1000, UTC).date() if at else None
    except (OverflowError, ValueError, OSError):
        return None


def relative(text: str, said: date, spoken: frozenset[str]) -> set[Day]:
    """The days that "tomorrow", "next Friday", "in two weeks" may mean when said on a day; `spoken` are the words."""
    found: set[Day] = set()
    for match in _MONTH_END.finditer(text) if "of" in text else ():
        month = MONTHS[match[1].lower()]
        found.update((0, month, day) for day in range(28 if month == 2 else 30, 32))
    try:
        hasty = not text.isascii() or not _RELATIVES.isdisjoint(spoken)
        for match in _RELATIVE.finditer(text) if hasty else ():
            found |= _related(match, said)
        for day in weekdays(text, spoken):
            ahead = (day - said.weekday()) % 7
            monday = said - timedelta(days=said.weekday())
            reach = [ahead, ahead - 7] if ahead else [0, 7, -7]
            found |= {_whole(said + timedelta(days=days)) for days in reach}
            if re.search(r"\bnext\b|nächst|prochain|próxim|下", text, re.IGNORECASE):
                found.add(_whole(monday + timedelta(days=7 + day)))
    except OverflowError:
        pass
    return found


def _related(match: re.Match[str], said: date) -> set[Day]:
    get = match.groupdict()
    for key, days in (("two", 2), ("one", 1), ("now", 0), ("ago", -1)):
        if get.get(key) or get.get(f"{key}1") or get.get(f"{key}2") is not None:
            return {_whole(said + timedelta(days=days))}
    for number, unit, way in (("n", "unit", 1), ("n2", "unit2", 1), ("back", "bunit", -1)):
        if get[number]:
            word = get[number].lower()
            return _after(said, way * (_COUNT.get(word) or int(word)), get[unit].lower())
    monday = said - timedelta(days=said.weekday())
    if get["span"]:
        return _span(get["which"].lower(), get["span"].lower(), said, monday)
    span = get["end"].lower()
    if "month" in span or span == "eom":
        ends = [_month_end(said, 0), _month_end(said, 1)] if "next" in span else [_month_end(said, 0)]
        return {_whole(day) for day in ends}
    if "year" in span or span == "eoy":
        return {(said.year, 12, 31)}
    return {_whole(monday + timedelta(days=days)) for days in (4, 6)}


def _after(said: date, number: int, unit: str) -> set[Day]:
    if unit in _DAYS_OF:
        return {_whole(said + timedelta(days=number * _DAYS_OF[unit]))}
    months = said.year * 12 + said.month - 1 + number * (12 if unit == "year" else 1)
    return {(months // 12, months % 12 + 1, day) for day in (0, said.day)} if 0 < months < 119_000 else set()


def _span(which: str, span: str, said: date, monday: date) -> set[Day]:
    step = -1 if which == "last" else 0 if which == "this" else 1
    if span.startswith(("week", "woche", "sem")):
        days = (5, 6) if span == "weekend" else (0, 4)  # the week of Monday, or by its end
        return {_whole(monday + timedelta(days=7 * step + day)) for day in days}
    if span.startswith(("month", "monat", "mois", "mes")):
        return _after(said, step, "month")
    return {(said.year + step, 0, 0)}


def _month_end(said: date, months: int) -> date:
    first = (said.replace(day=28) + timedelta(days=4)).replace(day=1)
    for _ in range(months):
        first = (first.replace(day=28) + timedelta(days=4)).replace(day=1)
    return first - timedelta(days=1)


def _whole(day: date) -> Day:
    return (day.year, day.month, day.day)


def weekday_of(day: Day) -> int | None:
    """The day of the week of a full date."""
    try:
        return date(*day).weekday()
    except ValueError:
        return None
