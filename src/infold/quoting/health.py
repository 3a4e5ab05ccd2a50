"""Words of health, safety and law: what they stand in is shown before anything else that holds. Pure."""

from __future__ import annotations

import re

# Beginnings of words, in the languages that kinds are named in.
_WORDS = (
    "allerg", "anaphyla", "epipen", "asthma", "diabet", "insulin", "celiac", "coeliac", "gluten", "lactose", "intoleran",
    "pregnan", "epilep", "seizure", "pacemaker", "medication", "blood thinner", "warfarin", "penicillin", "hearing aid",
    "wheelchair", "deaf", "heart condition", "heart attack", "heart failure", "a stroke", "chemo", "ibuprofen", "aspirin", "blood pressure", "panic attack",
    "suicid", "self-harm", "restraining order", "probation", "parole", "visa expire", "work permit", "court order",
    "zöliak", "laktose", "unverträglich", "schwanger", "herzschrittmacher", "rollstuhl", "blutverdünn",
    "cœliaque", "intoléran", "enceinte", "fauteuil roulant", "épilep", "asthm",
    "alérgi", "alergi", "celiac", "celíac", "intoleran", "embarazad", "silla de ruedas", "asma", "marcapasos",
    "grávida", "cadeira de rodas", "diabét",
    "过敏", "糖尿病", "哮喘", "怀孕", "孕妇", "癫痫", "轮椅", "胰岛素", "乳糖不耐",
)  # fmt: skip
_VITAL = re.compile("|".join(rf"(?<!\w){re.escape(word)}" if word.isascii() else re.escape(word) for word in _WORDS))


def is_vital(text: str) -> bool:
    """Whether a sentence speaks of health, safety or law."""
    low = text.lower()
    return any(map(low.__contains__, _WORDS)) and _VITAL.search(low) is not None


_HAS = re.compile(
    r"\b(?:i['’]?m|i am|(?:my|our) [\w-]+(?:['’]s| is)|[A-Z]\w+(?:['’]s| is)) (?:\w+ ){0,2}(?:allergic|diabetic|asthmatic|c(?:o)?eliac|[\w-]* ?intolerant)\b"
    r"|\bich bin (?:\w+ ){0,3}allergisch|\bje suis (?:\w+ ){0,2}allergique|\bsoy (?:\w+ )?al[ée]rgic|\bsou (?:\w+ )?al[ée]rgic|我对\S{1,8}过敏",
    re.IGNORECASE,
)


def has_condition(text: str) -> bool:
    """Whether a sentence says outright what somebody's health does not bear."""
    return _HAS.search(text) is not None
