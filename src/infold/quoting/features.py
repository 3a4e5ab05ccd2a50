"""What a sentence shows: its words, their classes, its form, its place and its neighbours. Pure.

`seen` reads a sentence, `features` names all that is true of one where it stands.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from infold.quoting.cues import classes, words_of

MOST_WORDS = 60
MOST_LETTERS = 300
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+")
_DIGITS = re.compile(r"\d+")
_CODE = re.compile(  # by its first sign, which is much faster to try
    r"[A-Z0-9](?<=\b.)(?:(?<=\d)|(?=\w*\d))(?:(?<=[A-Z])|(?=\w*[A-Z]))[A-Z0-9]+(?:-[A-Z0-9]+)*\b"
)
_NUMBERED = re.compile(r"#\d")
_MONEY = re.compile(r"[€$£¥]|\b(?:EUR|USD|GBP|CHF|R\$)\b|[元块]")
_CLOCK = re.compile(r"\d(?:点|(?:(?<=\b\d)|(?<=\b\d\d))(?:[:.h]\d\d|\s?(?:am|pm|Uhr|h)\b))")
_UNIT = re.compile(r"\d\s?(?:kg|km|cm|mm|m²|qm|ml|mg|g|l|m|%|GB|MB|min|weeks?|days?|hours?|people|nights?)\b")
_INSIDE = re.compile(r"[./@]\w")
_FILE = re.compile(
    r"[\w-]+\.(?:py|md|csv|pdf|json|toml|yml|yaml|ts|js|tsx|sql|txt|xlsx|docx|png|jpg|sh)\b|\w+/\w+/|https?://|\w@\w"
)
_CAPITAL = re.compile(r"\s(?<=[^\s.!?:–\-\"'(*].)\s*[A-ZÀ-Þ][\w'-]+", re.DOTALL)
_ASKS = re.compile(r"[?？]\W*$")
_CLAUSES = ",;:(，；：、–—"
ITEM, HEADING, PAIR, ANSWER, FIRST, LAST = (f"{name}:1" for name in ("item", "heading", "pair", "qa", "first", "last"))
BEGIN = ((), ("lower:1",))
_COINS = ("EUR", "USD", "GBP", "CHF", "€", "£", "¥", "元", "块")


def _bins(name: str, *bounds: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Bounds, and the mark of what lies between two of them."""
    return bounds, tuple(f"{name}:{at}" for at in range(len(bounds) + 1))


_LEN = _bins("len", 3, 5, 8, 12, 16, 22, 30, 45)
_DIG, _CAP, _PARTS = (_bins(name, 1, 2, 3, 5) for name in ("dig", "cap", "clauses"))
_OF = _bins("of", 2, 3, 5, 8, 14)
_MSG = _bins("msg", 60, 140, 300, 700, 1500)


def _bin(bins: tuple[tuple[int, ...], tuple[str, ...]], value: int) -> str:
    return bins[1][bisect_right(bins[0], value)]


@dataclass(slots=True, eq=False)
class Seen:
    """What one sentence shows by itself. Nothing changes it."""

    text: str
    plain: str
    """Its beginning in small letters, every figure a nought."""
    words: list[str]
    doubles: list[str]
    """Words that stand beside each other, two by two."""
    cues: list[str]
    """Classes that its words belong to, each once."""
    cjk: list[str]
    """Stretches of Chinese or Japanese signs."""
    digits: int
    """How many figures there are; so for the next two."""
    capitals: int
    clauses: int
    inside: list[str]
    """Marks of what stands somewhere in it: "file:1"."""
    ends: list[str]
    """Marks of how it ends."""
    asks: bool
    lower: bool
    """Whether it begins with a small letter."""

    @property
    def figures(self) -> bool:
        """Whether there is any figure, raised ones too."""
        return self.digits > 0 or (not self.text.isascii() and any(map(str.isdigit, self.text)))

    @property
    def size(self) -> int:
        """Its length in words."""
        return sum(map(len, self.cjk)) * 2 // 3 if self.cjk else len(self.words)

    @property
    def marks(self) -> list[str]:
        """All marks of its form."""
        return [
            *counted(self.size, self.digits, self.capitals, self.clauses),
            *self.inside,
            *self.ends,
            *BEGIN[self.lower],
        ]

    @property
    def signs(self) -> list[str]:
        """Chinese or Japanese signs that stand beside each other, two by two."""
        return [run[n : n + 2] for run in self.cjk for n in range(min(len(run) - 1, 60))]


NOTHING = Seen("", "", [], [], [], [], 0, 0, 0, [], [], False, False)


@lru_cache(maxsize=128)
def seen(text: str) -> Seen:
    """What a sentence shows. A pattern is tried only where a sign stands that it needs."""
    low = text.lower()
    wide = not text.isascii()
    plain, digits = _DIGITS.subn("0", " ".join(low[:MOST_LETTERS].split()))
    if len(low) > MOST_LETTERS:
        digits = len(_DIGITS.findall(text))
    words = words_of(low)
    doubles = [f"{a} {b}" for a, b in pairwise(words)]
    cjk = _CJK.findall(text) if wide else []
    capital = text[1:] != low[1:] or (wide and "×" in text)
    asks = ("?" in text or "？" in text) and _ASKS.search(text) is not None
    return Seen(
        text,
        plain,
        words,
        doubles,
        classes(words, doubles, text if cjk else ""),
        cjk,
        digits,
        len(_CAPITAL.findall(text)) if capital else 0,
        sum(map(text.count, _CLAUSES if wide else _CLAUSES[:4])),
        _inside(text, capital, wide, digits),
        _ends(text, asks),
        asks,
        text[:1].islower(),
    )


def runs(plain: str) -> list[str]:
    """All runs of four characters."""
    return [plain[n : n + 4] for n in range(len(plain) - 3)]


def counted(size: int, digits: int, capitals: int, clauses: int) -> list[str]:
    """The marks of some counts; nought of a thing is no mark."""
    found = [_bin(_LEN, size)]
    if digits:
        found.append(_bin(_DIG, digits))
    if capitals:
        found.append(_bin(_CAP, capitals))
    if clauses:
        found.append(_bin(_PARTS, clauses))
    return found


def _inside(text: str, capitals: bool, wide: bool, digits: int) -> list[str]:
    found = []
    if digits:
        if _CODE.search(text) or ("#" in text and _NUMBERED.search(text)):
            found.append("code:1")
        if _CLOCK.search(text):
            found.append("clock:1")
        if _UNIT.search(text):
            found.append("unit:1")
    if "$" in text or (
        (wide or capitals) and any(map(text.__contains__, _COINS if wide else _COINS[:4])) and _MONEY.search(text)
    ):
        found.append("money:1")
    if ("." in text[:-1] or "/" in text or "@" in text) and _INSIDE.search(text) and _FILE.search(text):
        found.append("file:1")
    if '"' in text or (wide and ("“" in text or "「" in text)):
        found.append("quote:1")
    if "**" in text:
        found.append("bold:1")
    if "`" in text:
        found.append("tick:1")
    return found


def _ends(text: str, asks: bool) -> list[str]:
    found = ["asks:1"] if asks else []
    if text.endswith(("!", "！")):
        found.append("excl:1")
    elif text.endswith((":", "：")):
        found.append("label:1")
    return found


def seam(one: Seen, two: Seen, text: str) -> tuple[str, list[str], int] | None:
    """What a text of two sentences shows beyond what each of them shows: two words, runs of characters, and how many
    capitals; None where it is not as simple as that."""
    if (
        text != f"{one.text} {two.text}"
        or one.cjk
        or two.cjk
        or one.text[-1].isdigit()
        or not (one.words and two.words)
        or len(one.words) + len(two.words) > MOST_WORDS
        or len(text) > MOST_LETTERS
        or not (text.isascii() or len(text.lower()) <= MOST_LETTERS)
    ):
        return None
    capital = _CAPITAL.match(text, len(one.text)) is not None
    return f"{one.words[-1]} {two.words[0]}", runs(f"{one.plain[-3:]} {two.plain[:3]}"), capital


@dataclass(slots=True)
class Setting:
    """Where a sentence stands."""

    role: str
    named: bool
    marks: list[str]
    """Of its place: "first:1", "item:1"."""
    before: Seen
    after: Seen
    reply: str
    """By whom the message before is, by whom this one is, and whether that ends with a question: "au1"."""
    answers: Sequence[str]
    """Classes of words of the question that it may answer."""

    @property
    def pair(self) -> bool:
        """Whether these are two sentences."""
        return PAIR in self.marks


def size_of(sentences: int, length: int) -> list[str]:
    """The marks of a message of so many sentences and characters."""
    return [_bin(bins, n) for bins, n in ((_OF, sentences), (_MSG, length)) if n >= bins[0][0]]


def features(one: Seen, place: Setting) -> list[str]:
    """Everything that is true of a sentence, by name."""
    role = place.role[0]
    found = [f"r:{role}", f"n:{place.named}"]
    for name in (*one.marks, *place.marks, *(f"k:{cue}" for cue in one.cues)):
        found += (name, name + role)
    found += [f"w:{word}" for word in one.words[:MOST_WORDS]]
    found += [f"b:{double}" for double in one.doubles[: MOST_WORDS - 1]]
    found.append(f"s:{role}{' '.join(one.words[:2])}")
    found += [f"h:{run}" for run in runs(one.plain)]
    found += [f"c:{two}" for two in one.signs]
    # Neighbours.
    found += [f"<:{cue}" for cue in place.before.cues]
    found += [f">:{cue}" for cue in place.after.cues]
    if place.before.asks:
        found.append("<asks")
    if place.after.asks:
        found.append(">asks")
    found.append(f"re:{place.reply}")
    found += [f"re:{cue}{role}" for cue in place.answers]
    return list(dict.fromkeys(found))
