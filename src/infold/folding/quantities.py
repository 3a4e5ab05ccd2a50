"""Numbers as values: 12,000 = 12.000 = 12k, with their unit and what they count. Pure."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field

from infold.folding.calendar import LETTERS
from infold.folding.likeness import words


def _table(*rows: tuple[str, str, float]) -> dict[str, tuple[str, float]]:
    return {word: (dimension, factor) for words, dimension, factor in rows for word in words.split()}


POUNDS = "pounds"  # of money or of weight
# Unit -> what it measures, and how much of the base unit it is.
UNITS = _table(
    ("second seconds sec secs sekunde sekunden seconde secondes segundos 秒", "time", 1),
    ("minute minutes min mins minuten minuto minutos 分钟", "time", 60),
    ("hour hours hr hrs h stunde stunden std heure heures hora horas 小时", "time", 3600),
    ("day days d tag tage tagen jour jours día días dia dias 天", "time", 86400),
    ("week weeks wk wks woche wochen semaine semaines semana semanas 周", "time", 604800),
    ("month months monat monate monaten mois mes meses 个月", "time", 2629800),
    ("year years yr yrs jahr jahre jahren an ans année années año años", "time", 31557600),
    ("€ eur euro euros 欧元", "eur", 1),
    ("$ us$ usd dollar dollars bucks dólares 美元", "usd", 1),
    ("£ gbp quid sterling", "gbp", 1),
    ("¥ jpy yen cny yuan rmb 元 人民币", "yen", 1),
    ("chf franken", "chf", 1),
    ("₹ inr rupee rupees rs", "inr", 1),
    ("sek nok dkk kr kronor kroner", "kr", 1),
    ("% percent percents pct prozent", "%", 1),
    ("mg milligram milligrams milligramm", "mass", 0.001),
    ("mcg µg μg microgram micrograms", "mass", 0.000001),
    ("g gram grams gramme grammes gramm gramos", "mass", 1),
    ("kg kgs kilo kilos kilogram kilograms kilogramm 公斤", "mass", 1000),
    ("lb lbs", "mass", 453.592),
    ("oz ounce ounces", "mass", 28.3495),
    ("tonne tonnes tons", "mass", 1_000_000),
    ("mm millimetre millimetres millimeters", "length", 0.001),
    ("cm centimetre centimetres centimeters", "length", 0.01),
    ("metre metres meter meters mètres metros 米", "length", 1),
    ("km kilometre kilometres kilometer kilometers kilomètres 公里", "length", 1000),
    ("mile miles mi", "length", 1609.344),
    ("ft feet foot", "length", 0.3048),
    ("inch inches", "length", 0.0254),
    ("ml millilitre millilitres milliliters", "volume", 0.001),
    ("l litre litres liter liters litros", "volume", 1),
    ("cup cups", "cups", 1),
    ("tbsp tablespoon tablespoons", "spoons", 3),
    ("tsp teaspoon teaspoons", "spoons", 1),
    ("gal gallon gallons", "volume", 3.78541),
    ("sqm", "area", 1),
    ("sqft", "area", 0.092903),
    ("sqkm hectare hectares", "land", 1),
    ("acre acres", "land", 0.404686),
    ("cbm", "space", 1),
    ("cbft", "space", 0.0283168),
    ("pound pounds pfund", POUNDS, 1),
    ("m", "length", 1),
    ("kb kib", "data", 1e3),
    ("mb mib megabytes", "data", 1e6),
    ("gb gib gigs gigabytes", "data", 1e9),
    ("tb tib terabytes", "data", 1e12),
    ("ms millisecond milliseconds", "time", 0.001),
    ("°c celsius", "°c", 1),
    ("°f fahrenheit", "°f", 1),
    ("kw kilowatt", "kw", 1),
    ("kwh", "kwh", 1),
)
_KINDS = {POUNDS: frozenset([POUNDS, "gbp"])}
CURRENCIES = frozenset(["eur", "usd", "gbp", "yen", "chf", "inr", "kr"])
_SCALES = {
    "k": 1e3, "thousand": 1e3, "tsd": 1e3, "tausend": 1e3, "mille": 1e3, "mil": 1e3, "千": 1e3, "grand": 1e3,
    "m": 1e6, "mn": 1e6, "mio": 1e6, "million": 1e6, "millions": 1e6, "millionen": 1e6, "millones": 1e6, "mm": 1e6,
    "bn": 1e9, "billion": 1e9, "billions": 1e9, "mrd": 1e9, "milliarden": 1e9, "milliards": 1e9, "万": 1e4, "亿": 1e8,
    "hundred": 1e2, "dozen": 12, "lakh": 1e5, "crore": 1e7,
}  # fmt: skip
_WORDS = {
    word: value
    for value, written in (
        (1, "one first"), (2, "two second twice double both couple zwei zweite deux deuxième dos segundo 两 二"),
        (3, "three third thrice triple drei dritte trois troisième tres tercero 三"), (4, "four fourth vier vierte quatre cuatro 四"),
        (5, "five fifth fünf cinq cinco 五"), (6, "six sixth sechs seis 六"), (7, "seven seventh sieben sept siete 七"),
        (8, "eight eighth acht huit ocho 八"), (9, "nine ninth neun neuf nueve 九"), (10, "ten tenth zehn dix diez 十"),
        (11, "eleven eleventh elf onze once"), (12, "twelve twelfth zwölf douze doce dozen"), (13, "thirteen thirteenth dreizehn treize trece"),
        (14, "fourteen fourteenth fortnight vierzehn quatorze catorce"), (15, "fifteen fifteenth fünfzehn quinze quince"),
        (16, "sixteen sixteenth"), (17, "seventeen seventeenth"), (18, "eighteen eighteenth"), (19, "nineteen nineteenth"),
        (20, "twenty twentieth zwanzig vingt veinte"), (30, "thirty thirtieth dreißig trente treinta"), (40, "forty vierzig quarante cuarenta"),
        (50, "fifty fünfzig cinquante cincuenta"), (60, "sixty sechzig soixante sesenta"), (70, "seventy siebzig setenta"),
        (80, "eighty achtzig ochenta"), (90, "ninety neunzig noventa"), (100, "hundred hundert cent cien"),
        (0.5, "half"), (0.25, "quarter"), (0, "zero"), (1000, "thousand tausend mille mil"), (1e6, "million"),
    )
    for word in written.split()
}  # fmt: skip
_UNSURE = frozenset("once second double both couple sept first third quarter half".split())  # words before numbers

_ASIDE = frozenset("lol pls please thanks tho though haha btw left already total max daily now then instead".split())
_NUMBER = re.compile(
    r"(?P<sign>[$€£¥₹]|(?<!\d )\b(?:US\$|EUR|USD|GBP|CHF|INR)(?=\s?\d))?\s?"
    r"(?P<number>(?<![\d.,])\d{1,3}(?:(?P<sep>[ .,'’\u00a0\u202f])\d{3})(?:(?P=sep)\d{3})*(?:[.,]\d{1,2})?(?![\d])|\d+(?:[.,]\d+)*)"
    r"(?P<nth>st\b|nd\b|rd\b|th\b)?"
    r"(?P<tail>[^\W\d_]+|%|°[CF]?|[$€£¥])?",
    re.IGNORECASE,
)
_NEXT = re.compile(r"\+?[\s-]{0,2}(%|€|\$|£|°[CF]?|[^\W\d_]+\.?(?:['’-][^\W\d_]+)*)", re.IGNORECASE)
_HAN_COUNT = re.compile(r"[两二三四五六七八九十]+(?=[个天年周月元人点次小分位间])")
_BEFORE = re.compile(r"([^\W\d_]+)\s$")
_RANGE = re.compile(r"\s?(?:-|–|—|to|or|and|bis|à|a)\s?[$€£¥]?")
_DIGIT = re.compile(r"\d")
_LEAD = 4
_HAN = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Number:
    """A number as a text writes it."""

    text: str
    values: tuple[float, ...]
    """What it may mean: 12.000 is twelve thousand, or twelve."""
    unit: str
    """What its unit measures; empty where it has none."""
    factor: float
    nouns: frozenset[str]
    """The stems of the one or two words after it."""
    start: int
    end: int
    words: bool = False
    """Written in words."""
    nth: bool = False
    label: str = ""
    """The stem of the word right before it: page 12, dock 3."""

    kinds: frozenset[str] = field(init=False)
    """What it measures or counts."""
    bases: tuple[float, ...] = field(init=False)
    """The values in the base unit."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", _KINDS.get(self.unit) or frozenset([self.unit]) if self.unit else self.nouns)
        scaled = self.values if self.factor == 1 else tuple(round(value * self.factor, 6) for value in self.values)
        object.__setattr__(self, "bases", scaled)


@functools.lru_cache(maxsize=4096)
def readings(written: str) -> tuple[float, ...]:
    """The values that a number in digits may mean."""
    text = written.replace("\u00a0", " ").replace("\u202f", " ").replace("’", "'")
    marks = {mark for mark in ".,' " if mark in text}
    digits = text.replace("'", "").replace(" ", "")
    if len(digits) > 40:
        return ()
    if not marks & {".", ","}:
        return (float(digits),)
    if marks >= {".", ","}:
        decimal = "." if digits.rfind(".") > digits.rfind(",") else ","
        whole = digits.replace("," if decimal == "." else ".", "")
        return (float(whole.replace(decimal, ".")),) if whole.count(decimal) == 1 else ()
    mark = "." if "." in digits else ","
    parts = digits.split(mark)
    grouped = all(len(part) == 3 for part in parts[1:]) and len(parts[0]) <= 3 and not digits.startswith("0")
    if len(parts) > 2:
        return (float("".join(parts)),) if grouped else ()
    plain = float(".".join(parts)) if parts[1] else float(parts[0])
    return (float("".join(parts)), plain) if grouped else (plain,)


def numbers(text: str) -> list[Number]:
    """The numbers of a text in digits, with unit and noun."""
    found: list[Number] = []
    digit, end = _DIGIT.search(text), 0
    while digit:  # a number begins at most a currency and a space before its first digit
        match = _NUMBER.search(text, max(end, digit.start() - _LEAD))
        if match is None:
            break
        number = _read(text, match)
        if number.values:
            found.append(number)
        end = match.end()
        digit = _DIGIT.search(text, end)
    for at in range(len(found) - 1, 0, -1):  # "3-5 days": both are days
        left, right = found[at - 1], found[at]
        if right.unit and not left.unit and _RANGE.fullmatch(text, left.end, right.start):
            found[at - 1] = Number(left.text, left.values, right.unit, right.factor, right.nouns, left.start, left.end)
    return found


def _read(text: str, match: re.Match[str]) -> Number:
    values = readings(match["number"].rstrip(".,"))
    tail, end, unit = (match["tail"] or "").lower(), match.end(), ""
    if match["sign"]:
        unit = match["sign"].lower()
    scaled = 1.0
    if tail and _HAN.match(tail):
        tail, end = "", match.start("tail")
    if tail in _SCALES and (tail != "mm" or unit):
        scaled = 1.0 if tail == "m" and match["tail"] == "m" and not unit else _SCALES[tail]
        tail = ""
    after = _next_word(text, end)
    if not tail and scaled == 1.0 and after[0].rstrip(".") in _SCALES and len(after[0]) > 1 and after[0] != "mm":
        scaled = _SCALES[after[0].rstrip(".")]
        after = _next_word(text, after[1])
    elif not tail and after[0][:1] in ("万", "亿", "千"):
        scaled, after = _SCALES[after[0][0]], (after[0][1:], after[1])
    word = tail or after[0].rstrip(".")
    if not unit:
        unit, word = _unit(word, text, tail, after)
    dimension, factor = UNITS.get(unit, ("", 1.0))
    nouns = _nouns(word, text, after[1]) if not tail else _nouns(word, text, end)
    if scaled != 1.0:
        values = tuple(round(value * scaled, 6) for value in values)
    return Number(
        match[0].strip(),
        values,
        dimension,
        factor,
        nouns,
        match.start(),
        match.end(),
        nth=bool(match["nth"]),
        label=label_at(text, match.start()),
    )


def label_at(text: str, at: int) -> str:
    """The stem of the word right before a place; empty where that is a small one."""
    start = max(0, at - 24)
    match = _BEFORE.search(text, max(start, text.rfind(" ", start, max(0, at - 2))), at)
    return _noun(match[1].lower()) if match else ""


def _nouns(word: str, text: str, at: int) -> frozenset[str]:
    """What is counted: "wet cartons" of "2 wet cartons"."""
    first = _noun(word)
    if not first:
        return frozenset()
    second = _noun(_next_word(text, at)[0])
    return frozenset([first, second]) if second else frozenset([first])


@functools.lru_cache(maxsize=4096)
def _noun(word: str) -> str:
    """The stem of a word that can be counted; empty for "has" and "of"."""
    if not word.isalpha() or len(word) < 3 or word in UNITS or word in _ASIDE:
        return ""
    return next(iter(words(word)), "")


def _next_word(text: str, at: int) -> tuple[str, int]:
    match = _NEXT.match(text, at)
    return (match[1].lower(), match.end()) if match else ("", at)


def _unit(word: str, text: str, tail: str, after: tuple[str, int]) -> tuple[str, str]:
    """The unit after a number, and the noun after that."""
    if _HAN.match(word):
        for size in (3, 2, 1):
            if word[:size] in UNITS:
                return word[:size], ""
        return "", ""
    if word == "per" and _next_word(text, after[1])[0] == "cent":
        return "%", ""
    if word in ("pour", "por") and _next_word(text, after[1])[0] in ("cent", "ciento"):
        return "%", ""
    head = word.partition("-")[0]
    if head in UNITS and (len(head) > 1 or (tail and head != "m") or head in "€$£%"):
        return head, ""
    if head in ("h", "g", "l") or (head == "m" and not tail):
        return head, ""
    return "", head


def in_words(text: str, said: frozenset[str]) -> list[Number]:
    """The numbers of a text in words; neighbours taken together ("two hundred and fifty", "twenty-five").

    `said` are its words in small letters.
    """
    found: list[Number] = []
    if said.isdisjoint(_WORDS) and text.isascii():
        return found
    total, value, start, end = 0.0, 0.0, -1, -1
    for match in _counting(text):
        part = _han_value(match[0]) if _HAN.match(match[0]) else _WORDS[match[0].lower()]
        if start >= 0 and text[end : match.start()].lower() in (" ", "-", " and ", " und "):
            if part >= 100:
                value = max(value, 1) * part
                if part >= 1000:
                    total, value = total + value, 0.0
            elif part < 1 or (value % 100 and (part >= 10 or value % 10)):
                found.append(_worded(text, start, end, total + value))
                total, value, start = 0.0, part, match.start()
            else:
                value += part
        else:
            if start >= 0:
                found.append(_worded(text, start, end, total + value))
            total, value, start = 0.0, part, match.start()
        end = match.end()
    if start >= 0:
        found.append(_worded(text, start, end, total + value))
    return [one for one in found if one.text.lower() != "one" or one.kinds]  # "the one we saw" counts nothing


def _counting(text: str) -> list[re.Match[str]]:
    """The words of a text that count."""
    found = [match for match in LETTERS.finditer(text) if match[0].lower() in _WORDS and not _HAN.match(match[0])]
    return found if text.isascii() else [*found, *_HAN_COUNT.finditer(text)]


def _han_value(word: str) -> float:
    ten = word.find("十")
    if ten < 0:
        return _WORDS[word[0]]
    return 10 * (_WORDS[word[ten - 1]] if ten else 1) + (_WORDS[word[ten + 1]] if ten + 1 < len(word) else 0)


def _worded(text: str, start: int, end: int, value: float) -> Number:
    word, after = _next_word(text, end)
    unit, noun = _unit(word.rstrip("."), text, "", (word, after))
    dimension, factor = UNITS.get(unit, ("", 1.0))
    nouns = _nouns(noun, text, after)
    unsure = text[start:end].lower() in _UNSURE
    return Number(text[start:end], (value,), dimension, factor, nouns, start, end, words=True, nth=unsure)
