"""Other languages than English: read by their explicit marks alone, in the words they were said in. Pure."""

from __future__ import annotations

import re
from collections.abc import Set

from infold.folding.cues import weigh
from infold.folding.dates import resolve
from infold.folding.names import identifiers
from infold.folding.telling import shorten

_ORDER = ("question", "reversal", "decision", "constraint", "preference", "goal", "commitment", "biography")
_THIRD_PERSON = [
    (re.compile(pattern, re.IGNORECASE), put)
    for pattern, put in (
        (r"\bich bin\b", "User ist"), (r"\bich habe\b", "User hat"), (r"\bich\b", "User"), (r"\bmeine?\b", "Users"),
        (r"\bje suis\b", "User est"), (r"\bj'ai\b", "User a"), (r"\bj'", "User "), (r"\bje\b", "User"),
        (r"^soy\b", "User es"), (r"^tengo\b", "User tiene"), (r"^prefiero\b", "User prefiere"), (r"\byo\b", "User"),
        (r"我们|我", "用户"),
    )
]  # fmt: skip


def read_abroad(text: str, low: str, said: Set[str], asks: bool, at: int) -> tuple[str, str]:
    """Kind and line of a sentence; both empty for what is not kept."""
    weights = weigh(low, said, abroad=True)
    known = [kind for kind in _ORDER if weights.get(kind, 0) >= 3 and (not asks or kind == "question")]
    kind = known[0] if known else "artifact" if identifiers(text) and not asks else ""
    if not kind:
        return "", ""
    told = text
    for pattern, put in _THIRD_PERSON:
        told = pattern.sub(put, told)
    return kind, shorten(resolve(told.strip(" .!。！"), at), text)
