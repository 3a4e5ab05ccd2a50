"""Whether two numbers, dates or times are the same. Pure."""

from __future__ import annotations

from datetime import date

from infold.folding.calendar import Day
from infold.folding.evidence import Evidence
from infold.folding.quantities import CURRENCIES, POUNDS, Number


def measures_alike(one: Number, other: Number) -> bool:
    """Whether two numbers can be the same amount; one without a unit fits any."""
    if POUNDS in (one.unit, other.unit) and one.unit and other.unit:
        return {one.unit, other.unit} <= {POUNDS, "gbp", "mass"} and bool(set(one.values) & set(other.values))
    if one.unit and other.unit:
        return one.unit == other.unit and bool(set(one.bases) & set(other.bases))
    return bool(set(one.values) & set(other.values))


def counts_alike(one: Number, other: Number) -> bool:
    """Whether two numbers that agree also count the same, or at least not something else."""
    if one.unit:
        return bool(other.unit) or not other.nouns or other.nth
    if not one.nouns or not other.nouns or other.nth or one.nth:
        return not (one.nouns and other.unit and other.unit not in CURRENCIES)
    return bool(one.nouns & other.nouns)


def named_alike(one: Number, other: Number) -> bool:
    """Whether two numbers are figures for the same: they count or measure alike, or have the same label."""
    if one.kinds & other.kinds or (one.label and one.label == other.label):
        return True
    return one.nth and other.nth and not one.words and not other.words


def is_hour(value: int, evidence: Evidence) -> bool:
    return value % 24 * 60 in evidence.minutes or (value + 12) % 24 * 60 in evidence.minutes


def is_bare_hour(minute: int, evidence: Evidence) -> bool:
    hour = minute // 60
    return not minute % 60 and (hour in evidence.hours or (hour - 1) % 12 + 1 in evidence.hours)


def is_dated(day: Day, evidence: Evidence) -> bool:
    """Whether a text dates something so: what the line leaves out may be said, what it says must be."""
    year, month, number = day
    for other in evidence.days:
        if (
            other[1] == month
            and (not number or other[2] == number)
            and (not year or other[0] == year or (not other[0] and likely(day, evidence.said)))
        ):
            return True
    if number and any(one.nth and number in one.values and not one.words for one in evidence.numbers):  # "on the 14th"
        said = evidence.said
        near = (
            said is None or (month - said.month) % 12 in (0, 1, 11) or any(other[1] == month for other in evidence.days)
        )
        return near and (not year or said is None or abs(year - said.year) <= 1)
    return False


def likely(day: Day, said: date | None) -> bool:
    """Whether a year fits a day that was said without one."""
    if said is None or day[0] == said.year:
        return True
    passed = day[1:] < (said.month, said.day)
    return day[0] == said.year + 1 if passed else day[0] == said.year - 1
