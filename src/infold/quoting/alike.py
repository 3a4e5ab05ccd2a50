"""Whether two lines speak of the same thing, and whether one gives it another value. Pure."""

from __future__ import annotations

import re

from infold.quoting.closing import reports
from infold.quoting.saying import DROP, ENDED, FREE, READ, Said, Slot, Taken
from infold.quoting.telling import stem

LIVES = frozenset(("live", "work", "name", "age"))
SINGLE = LIVES | frozenset(
    stem(word)
    for word in """deadline budget address phone number name e-mail email job employer birthday age limit cap ceiling maximum minimum price rent salary
    favourite favorite boss manager title due password pin weight height frist abgabetermin adresse telefonnummer miete gehalt geburtstag name obergrenze lieblingsfarbe
    échéance délai loyer prénom anniversaire plazo presupuesto dirección alquiler cumpleaños prazo orçamento endereço aluguel aniversário live work
    预算 截止 地址 电话""".split()
)
"""Things that have one value at a time: another value replaces it with no word of change."""
KIN = {
    stem(word): at
    for at, group in enumerate(
        """postgresql postgres sqlite mysql mariadb mongodb oracle|aws azure gcp|python java rust go kotlin ruby php c++|react vue svelte angular|
        jenkins github gitlab circleci|train bus car plane ferry bike zug bus auto flugzeug|hotel hostel apartment|coffee tea kaffee tee|
        english german french spanish portuguese italian dutch chinese polish swedish russian japanese korean turkish greek deutsch englisch|tabs spaces|pytest unittest|slack teams discord zoom|arq celery procrastinate|docker podman|vim emacs vscode|npm yarn pnpm|uv pip poetry""".split(
            "|"
        )
    )
    for word in group.split()
}
"""Things of which people choose one: which group each is of."""
_TIMES = frozenset(("date", "day", "clock"))
_CONTRAST = frozenset(
    stem(word) for word in "old former previous other first second third last alt ancien viejo antiguo velho".split()
)
CHOOSE = frozenset(
    stem(word)
    for word in "use take book choose pick buy order prefer try want nehmen buchen prendre usar tomar switch decide migrate answer write reply speak talk".split()
)
_FROM_NOW = re.compile(
    r"\b(?:from now on|in (?:the )?future|from here on|ab jetzt|ab sofort|désormais|a partir de a[hg]ora)\b|今后|以后"
)


def of_oneself(said: Said) -> bool:
    """Whether people say something of themselves, where nobody else's word counts."""
    return said.mine or (said.slot is not None and said.slot.owner == "me")


def differ(new: Said, old: Said) -> bool | None:
    """Whether two lines give other values of one sort; None where they have no sort in common."""
    mine, theirs = {sort for sort, _ in new.values}, {sort for sort, _ in old.values}
    common = sorted(mine & theirs)
    if common:
        return any(new.given(sort) != old.given(sort) for sort in common)
    if mine and theirs and ("number" in mine or "number" in theirs) and not (mine | theirs) & _TIMES:
        return {value for _, value in new.values} != {value for _, value in old.values}
    return None


def one_owner(new: Said, slot: Slot, old: Said) -> bool:
    """Whether two lines of the same name can mean the same person's thing."""
    if old.slot is None or (old.denies != new.denies and not (new.changed or slot.of & LIVES)):
        return False
    if slot.owner == old.slot.owner:
        return slot.owner == "" or new.said_by == old.said_by or new.role != old.role
    return new.said_by == old.said_by


def gives_name(said: Said, slot: Slot) -> bool:
    """Whether what a line gives is a name."""
    return any(
        word[:1].isupper() and word.strip(".,;!?").lower() in slot.gives.split()
        for word in said.text[:READ].split()[1:]
    )


def meant(new: Said, taken: Taken, old: Said) -> bool:
    """Whether a line is one that is taken back."""
    if (old.taken and any(other.words & taken.words for other in old.taken)) or old.beside(new):
        return False
    if not all(
        any(value == other and _alike(sort, kind) for kind, other in old.values) for sort, value in taken.values
    ):
        return False
    size, rest = len(taken.words), new.core - taken.words
    if taken.how == ENDED:
        if (
            old.denies
            or not old.sure
            or old.role != "user"
            or (old.mine != new.mine and len(old.core - taken.words) > 1)
        ):
            return False
        return size > 1 or (size == 1 and len(old.core) <= 3 and old.mine == new.mine)
    if taken.how == DROP:
        return 8 * size >= len(old.core)
    if taken.how == FREE:
        return old.sure and _own_day(new, old)
    if not old.sure or old.denies:
        return False
    if not taken.words:
        return bool(new.core & old.core) or len(new.core) <= 1
    return 2 * size >= len(old.core) or bool(rest & old.core)


def restates(new: Said, old: Said, shared: int) -> bool:
    """Whether a line gives another value in words of which so many are the same."""
    if new.role != "user" or old.role != "user" or old.beside(new):
        return False
    if (old.core ^ new.core) & _CONTRAST:
        return False
    if (
        not old.sure
        or (old.mine != new.mine and not of_oneself(old))
        or old.denies != new.denies
        or not differ(new, old)
    ):
        return False
    typed = {sort for sort, _ in new.values if sort != "number" and old.given(sort)}
    if typed and old.given("number") and new.given("number") and old.given("number") != new.given("number"):
        return False  # "room 104" is not "room 106"
    if new.slot is not None and old.slot is not None and old.slot.of < new.slot.of:
        return False  # it may be of something narrower
    small, large = sorted((len(new.core), len(old.core)))
    if shared == small and (large == small or (small > 1 and large <= small + 1)):
        return True
    if shared + 1 == small == large:
        return False  # the one word that differs tells two things apart
    named = (old.slot is not None and old.slot.of <= new.core) or (new.slot is not None and new.slot.of <= old.core)
    if {sort in _TIMES for sort, _ in old.values} - {sort in _TIMES for sort, _ in new.values}:
        return False
    return bool(typed) and ((shared >= 2 and 2 * shared >= small) or named)


def but_for_one(new: Said, old: Said) -> bool:
    """Whether a line makes the same choice but for one word: "I prefer aisle seats now"."""
    if (
        len(new.core) != len(old.core)
        or len(new.core & old.core) != len(new.core) - 1
        or old.values != new.values
        or not old.sure
    ):
        return False
    return (
        old.mine == new.mine
        and old.denies == new.denies
        and (len(new.core) > 2 or _FROM_NOW.search(new.low) is not None or (new.brief and new.soon_after(old)))
    )


def chooses(old: Said, chosen: str, rest: frozenset[str]) -> bool:
    """Whether a line chose something else, for the same use."""
    if reports(old) and not old.core & CHOOSE:
        return False
    return (
        old.sure
        and not old.denies
        and not old.past
        and chosen not in old.core
        and rest <= old.core
        and len(old.core) <= 4 + len(rest)
    )


def near_in_size(new: Said, old: Said) -> bool:
    """Whether a bare number can stand for the only value of a line."""
    if len(old.values) != 1 or not old.core or old.values[0][0] in _TIMES:
        return False
    mine, theirs = float(new.values[0][1] or 0), float(old.values[0][1] or 0)
    return theirs <= 5 * mine and mine <= 5 * theirs


def _alike(sort: str, other: str) -> bool:
    """Whether values of two sorts can be the same one: a bare number may be an amount, but no date."""
    return sort == other or ("number" in (sort, other) and not _TIMES & {sort, other})


def _own_day(new: Said, old: Said) -> bool:
    """Whether a line says what its speaker does on a day of every week."""
    return old.said_by == new.said_by and not old.given("date") and len(old.given("day")) == 1 and old.role == "user"
