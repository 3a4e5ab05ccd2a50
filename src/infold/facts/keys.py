"""Which statements are about the same: the slot of each, as it is compared. Pure."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from infold.facts.attributes import FIXED, MANY, NOT, relation
from infold.facts.slots import USER
from infold.facts.statements import Statement, evened
from infold.facts.values import compared
from infold.folding.likeness import words


@dataclass(frozen=True, slots=True)
class Key:
    """What a saying of a statement is about, and what it says of it."""

    slot: tuple[str, ...]
    value: str
    whose: str
    """The person, casefolded; empty for things."""
    denies: bool = False
    """Says that the value ends."""
    fixed: bool = False
    """Nothing changes it but a correction."""
    vague: bool = False
    """It may be about another one: people have several brothers."""


def keys_of(statements: Sequence[Statement]) -> list[tuple[Statement, list[Key]]]:
    """The statements that have a slot, each with a key for each of its sayings."""
    bases = [(one, base_key(one.subject, one.attribute, one.value)) for one in statements if one.attribute]
    # "The budget" is the user's where the user speaks of "my budget" in the same chat.
    mine = {(one.attribute, saying.chat) for one, _ in bases if one.subject == USER for saying in one.sayings}
    return [
        (
            one,
            [_in_chat(base, one, saying.chat, mine) for saying in one.sayings]
            if base.slot[0] == "here"
            else [base] * len(one.sayings),
        )
        for one, base in bases
    ]


def _in_chat(base: Key, one: Statement, chat: str, mine: set[tuple[str, str]]) -> Key:
    """The key of something without a name, which is another thing in another chat."""
    if not one.subject and (one.attribute, chat) in mine:
        return Key(("user", one.attribute), base.value, "user", base.denies)
    return Key((*base.slot, chat), base.value, base.whose, base.denies)


@functools.lru_cache(maxsize=32768)
def base_key(subject: str, attribute: str, value: str) -> Key:
    denies = value.startswith(NOT)
    value = value[len(NOT) :] if denies else value
    if attribute == "dislikes":
        attribute, denies = "likes", not denies
    whose, vague = _whose(subject)
    said = compared(value)
    if attribute in MANY or (attribute == "name" and vague):
        # Each value is a slot of its own, which holds or does not.
        return Key((whose or evened(subject), attribute, said), "no" if denies else "yes", whose)
    if whose:
        return Key((whose, attribute), said, whose, denies, attribute in FIXED, vague)
    about = " ".join(sorted(words(f"{subject} {attribute}"))) or f"{evened(subject)} {attribute}"
    return Key(("there" if _is_named(subject) else "here", about), said, "", denies, attribute in FIXED)


def _whose(subject: str) -> tuple[str, bool]:
    """The person a subject names, and whether it may be one of several; empty for a thing."""
    owner, of, rest = subject.rpartition("'s ")
    if not of:
        return (evened(subject), False) if subject and subject[0].isupper() and " " not in subject else ("", False)
    parts = rest.split()
    names = [part for part in parts if part[0].isupper()]
    if names and len(names) < len(parts) and relation(parts[-1 - len(names)]):
        return evened(" ".join(names)), False
    kin = relation(parts[-1]) if parts else ""
    return (evened(f"{owner}'s {parts[-1]}"), kin == "few") if kin else ("", False)


def _is_named(subject: str) -> bool:
    """Whether it can be only one thing, in whatever chat it is spoken of."""
    bare = subject.removeprefix(f"{USER}'s ")
    return any(part[0].isupper() or part[0].isdigit() for part in bare.split())
