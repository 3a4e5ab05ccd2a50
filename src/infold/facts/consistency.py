"""Which lines of a summary contradict facts that hold. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from infold.facts.keys import base_key
from infold.facts.resolving import resolve
from infold.facts.slots import slots_in
from infold.facts.statements import CURRENT, Fact, Statement
from infold.facts.values import compatible


def stating(texts: Sequence[str], facts: Sequence[Fact]) -> list[int]:
    """Numbers of the texts that state one of some facts, in the same or in other words."""
    known = {fact.text for fact in facts}
    values = [base_key(fact.subject, fact.attribute, fact.value) for fact in facts if fact.attribute]
    found: list[int] = []
    for at, text in enumerate(texts):
        keys = [base_key(slot.subject, slot.attribute, slot.value) for _, slot in slots_in(text)]
        if text in known or any(
            one.slot == other.slot and one.denies == other.denies and compatible(one.value, other.value)
            for one in keys
            for other in values
        ):
            found.append(at)
    return found


def contradictions(texts: Sequence[str], statements: Iterable[Statement]) -> list[tuple[int, Fact]]:
    """Numbers of the texts that state another value than a fact that holds, each with that fact.

    Only what speaks of the same attribute of the same person or thing is resolved: a chat may have thousands of facts.
    """
    stated = [
        (at, base_key(slot.subject, slot.attribute, slot.value))
        for at, text in enumerate(texts)
        for _, slot in slots_in(text)
    ]
    wanted = {key.slot for _, key in stated}
    known = [
        one for one in statements if one.attribute and base_key(one.subject, one.attribute, one.value).slot in wanted
    ]
    found: list[tuple[int, Fact]] = []
    for fact in resolve(known):
        if fact.status != CURRENT:
            continue
        own = base_key(fact.subject, fact.attribute, fact.value)
        for at, key in stated:
            same = key.denies == own.denies and compatible(key.value, own.value)
            if key.slot == own.slot and not same and (at, fact) not in found:
                found.append((at, fact))
    return sorted(found, key=lambda one: (one[0], one[1].id))
