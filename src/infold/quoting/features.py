"""What a sentence shows: its words, their classes, its form, its place and its neighbours. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from infold.quoting.cues import WORD, classes

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+")
_DIGITS = re.compile(r"\d+")
_CODE = re.compile(r"\b(?=\w*\d)(?=\w*[A-Z])[A-Z0-9]{2,}(?:-[A-Z0-9]+)*\b|#\d+")
_MONEY = re.compile(r"[€$£¥]|\b(?:EUR|USD|GBP|CHF|R\$)\b|[元块]")
_CLOCK = re.compile(r"\b\d{1,2}(?:[:.h]\d\d|\s?(?:am|pm|Uhr|h)\b)|\d点")
_UNIT = re.compile(r"\d\s?(?:kg|km|cm|mm|m²|qm|ml|mg|g|l|m|%|GB|MB|min|weeks?|days?|hours?|people|nights?)\b")
_FILE = re.compile(
    r"[\w-]+\.(?:py|md|csv|pdf|json|toml|yml|yaml|ts|js|tsx|sql|txt|xlsx|docx|png|jpg|sh)\b|\w+/\w+/|https?://|\w@\w"
)
_CAPITAL = re.compile(r"(?<=[^\s.!?:–\-\"'(*])\s+[A-ZÀ-Þ][\w'-]+")
_ASKS = re.compile(r"[?？]\W*$")
_INSIDE = re.compile(r"[./@]\w")
_CLAUSE = re.compile(r"[,;:，；：、–—(]")


@dataclass(frozen=True, slots=True)
class Seen:
    """One sentence's own words, in the forms that its neighbours need too."""

    text: str
    words: tuple[str, ...]
    cues: tuple[str, ...]
    asks: bool
    plain: bool
    """No sign in it that a path, link or address has."""


NOTHING = Seen("", (), (), False, True)


@lru_cache(maxsize=512)
def seen(text: str) -> Seen:
    """The words of a sentence and what they belong to."""
    words = WORD.findall(text.lower().replace("’", "'"))
    return Seen(
        text, tuple(words), tuple(classes(words, text)), _ASKS.search(text) is not None, not _INSIDE.search(text)
    )


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a sentence stands."""

    role: str
    named: bool = False
    at: int = 0
    """Which of the message's sentences it is."""
    of: int = 1
    length: int = 0
    """Of the message, in characters."""
    item: bool = False
    heading: bool = False
    pair: bool = False
    answers: bool = False
    """Text is a question and its answer."""
    before: Seen = NOTHING
    after: Seen = NOTHING
    reply_to: Seen = NOTHING
    """Last sentence of the message before."""
    reply_role: str = ""


def _bin(value: int, *bounds: int) -> int:
    for at, bound in enumerate(bounds):
        if value < bound:
            return at
    return len(bounds)


def features(one: Seen, place: Setting) -> list[str]:
    """Everything that is true of a sentence, by name."""
    text, words = one.text, one.words
    role = place.role[0]
    found = [f"r:{role}", f"n:{place.named}"]
    # Its form.
    signs = sum(map(len, _CJK.findall(text)))
    size = len(words) if not signs else signs * 2 // 3
    long = _bin(size, 3, 5, 8, 12, 16, 22, 30, 45)
    found += (f"len:{long}", f"len:{long}{role}")
    digits = len(_DIGITS.findall(text))
    capitals = len(_CAPITAL.findall(text))
    marks = [
        ("dig", _bin(digits, 1, 2, 3, 5)),
        ("cap", _bin(capitals, 1, 2, 3, 5)),
        ("code", digits and _CODE.search(text) is not None),
        ("money", _MONEY.search(text) is not None),
        ("clock", digits and _CLOCK.search(text) is not None),
        ("unit", digits and _UNIT.search(text) is not None),
        ("file", not one.plain and _FILE.search(text) is not None),
        ("asks", one.asks),
        ("excl", text.endswith(("!", "！"))),
        ("label", text.endswith((":", "："))),
        ("clauses", _bin(len(_CLAUSE.findall(text)), 1, 2, 3, 5)),
        ("lower", text[:1].islower()),
        ("bold", "**" in text),
        ("quote", '"' in text or "“" in text or "「" in text),
        ("tick", "`" in text),
        ("item", place.item),
        ("heading", place.heading),
        ("pair", place.pair),
        ("qa", place.answers),
        ("first", place.at == 0),
        ("last", place.at == place.of - 1),
        ("of", _bin(place.of, 2, 3, 5, 8, 14)),
        ("msg", _bin(place.length, 60, 140, 300, 700, 1500)),
    ]
    for name, value in marks:
        if value:
            mark = f"{name}:{int(value)}"
            found += (mark, mark + role)
    # Classes of words, alone and with what stands beside them.
    for cue in one.cues:
        found += (f"k:{cue}", f"k:{cue}{role}")
    # The words themselves.
    found += [f"w:{word}" for word in words[:60]]
    found += [f"b:{a} {b}" for a, b in pairwise(words[:60])]
    found.append(f"s:{role}{' '.join(words[:2])}")
    plain = _DIGITS.sub("0", " ".join(text.lower()[:300].split()))
    found += [f"h:{plain[n : n + 4]}" for n in range(len(plain) - 3)]
    for run in _CJK.findall(text):
        found += [f"c:{run[n : n + 2]}" for n in range(min(len(run) - 1, 60))]
    # Neighbours.
    found += [f"<:{cue}" for cue in place.before.cues]
    found += [f">:{cue}" for cue in place.after.cues]
    if place.before.asks:
        found.append("<asks")
    if place.after.asks:
        found.append(">asks")
    reply = place.reply_role[:1]
    found.append(f"re:{reply}{role}{int(place.reply_to.asks)}")
    if place.reply_to.asks and place.at == 0:
        found += [f"re:{cue}{role}" for cue in place.reply_to.cues]
    return list(dict.fromkeys(found))
