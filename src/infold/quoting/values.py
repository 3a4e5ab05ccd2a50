"""What a line names that can change: dates, times, money and other figures. Pure."""

from __future__ import annotations

import re
from itertools import groupby

from infold.quoting.gates import Gated
from infold.quoting.telling import WORD

Values = tuple[tuple[str, str], ...]
"""What a text names that can change: each with its sort, such as "money" or "day"."""

_MONTH = {
    name: at
    for at, names in enumerate(
        """jan january januar janvier enero janeiro|feb february februar février febrero fevereiro|mar march märz mars marzo março|
        apr april avril abril|may mai mayo maio|jun june juni juin junio junho|jul july juli juillet julio julho|aug august août agosto|
        sep sept september septembre septiembre setembro|oct october oktober octobre octubre outubro|nov november novembre noviembre novembro|
        dec december dezember décembre diciembre dezembro""".split("|"),
        1,
    )
    for name in names.split()
}
_DAY = {
    name: at
    for at, names in enumerate(
        """monday montag lundi lunes segunda|tue tues tuesday dienstag mardi martes terça|wednesday mittwoch mercredi miércoles quarta|
        thu thur thurs thursday donnerstag jeudi jueves quinta|fri friday freitag vendredi viernes sexta|saturday samstag samedi sábado|
        sunday sonntag dimanche domingo""".split("|")
    )
    for name in names.split()
}
_SHORT = {"mon": "monday", "wed": "wednesday", "sat": "saturday", "sun": "sunday"}
_months, DAYS = "|".join(sorted(_MONTH, key=len, reverse=True)), "|".join(sorted(_DAY, key=len, reverse=True))
_COUNT = {
    word: str(at) for at, word in enumerate("two three four five six seven eight nine ten eleven twelve".split(), 2)
}
_counts = "|".join(_COUNT)
_N = r"\d{1,9}(?:[.,\u202f' ]\d{3}(?!\d)){0,3}(?:[.,]\d{1,2})?"
_B, _E = r"(?<![^\W\u3400-\u9fff])", r"(?![^\W\u3400-\u9fff])"  # edges of a word, between Chinese letters too
_VALUE = re.compile(
    rf"(?P<date>\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}(?:st|nd|rd|th|\.|º|er)?\s?(?:of |de )?(?:{_months})\b\.?|\b(?:{_months})\.? \d{{1,2}}(?:st|nd|rd|th)?\b|\b(?:in|im|en|em|until|till|by|since) (?:{_months})\b(?! \d)"
    r"|\d{1,2}月\d{1,2}[日号]|\b\d{1,2}\.\d{1,2}\.|\b\d{1,2}(?:st|nd|rd|th)\b)"
    r"|(?P<clock>\b\d{1,2}(?:[:.]\d\d)?\s?(?:am\b|pm\b|a\.m\.|p\.m\.|uhr\b)|\b\d{1,2}[:h]\d\d\b|\b\d{1,2}\s?h\b|\d{1,2}点|\b(?:noon|midnight)\b)"
    rf"|(?P<money>[€$£¥]\s?{_N}k?|{_B}{_N}k?\s?(?:(?:[€$£¥元块]|欧元|美元)|(?:euros?|eur|usd|dollars?|bucks|quid|pounds?|reais|pesos|yuan|chf)\b))"
    rf"|(?P<share>{_B}{_N}\s?(?:%|percent\b|prozent\b))"
    rf"|(?P<amount>{_B}{_N}\s?(?P<unit>mg|g|kg|km|m|cm|mm|ml|l|mb|gb|min(?:ute)?(?:s|n|os)?|h(?:ou)?rs?|hours?|stunden?|days?|tage?n?|jours?|d[ií]as?|weeks?|"
    r"months?|years?|people|guests?|pages?|slides?)\b)"
    rf"|(?P<day>\b(?:{DAYS})s?\b|(?:星期|周)[一二三四五六日天]|\b(?:mon|wed|sat|sun)(?=\.?,? \d))"
    rf"|(?P<number>{_B}{_N}{_E}|\b(?:{_counts})\b)"
)
_VALUE_WORDS = [*_MONTH, *_DAY, *(f"{day}s" for day in _DAY), *_SHORT, *_COUNT, "noon", "midnight"]
_FIGURE_AT = re.compile(r"[\d€$£¥]")
_spelled = "|".join(  # by their first letters, which is much faster to try
    f"{first}(?:{'|'.join(word[1:] for word in words)})"
    for first, words in groupby(sorted(set(_VALUE_WORDS)), key=lambda word: word[0])
)
_VALUE_AT = re.compile(rf"[\d€$£¥周]|星期|\b(?:{_spelled})\b|\b(?:in|im|en|em|until|till|by|since) (?=[^\W\d_])")
"""Where a value may begin: without a word for a day, a month or a number, only where a figure stands."""
_FIGURE, _NUMBER, _GROUPED = re.compile(r"\d+"), re.compile(_N), re.compile(r"[.,\u202f' ](?=\d{3}(?!\d))")
VALUED = Gated(" ".join(_VALUE_WORDS), r"")


def values(text: str, signs: int) -> tuple[Values, str]:
    """The values of lower-case text with these signs, each with its sort, and the text without them."""
    found, between, end = [], [], 0
    for start in (_VALUE_AT if signs & VALUED.bit else _FIGURE_AT).finditer(text):
        match = _VALUE.match(text, start.start()) if start.start() >= end else None
        if match is None:
            continue
        between.append(text[end : match.start()])
        end = match.end()
        sort, said = match.lastgroup or "number", match.group()
        if match["amount"]:
            sort = "n:" + match["unit"][:2]
        if said in _COUNT:
            said = _COUNT[said]
        if sort == "day":
            said = str(
                _DAY.get(said, _DAY.get(said[:-1], _DAY.get(_SHORT.get(said[:3], ""), "一二三四五六日".find(said[-1]))))
            )
        elif sort == "date":
            names = [str(_MONTH[word]) for word in WORD.findall(_FIGURE.sub(" ", said)) if word in _MONTH]
            said = "/".join(names[:1] + _FIGURE.findall(said))
        elif sort == "clock" and said[:1].isdigit():
            hour, *rest = (int(one) for one in _FIGURE.findall(said))
            said = str((hour % 12 + (12 if "p" in said else 0) if "m" in said else hour) * 60 + sum(rest))
        elif sort != "clock":
            said = _GROUPED.sub("", "".join(_NUMBER.findall(said)[:1])).replace(",", ".") + (
                "000" if "k" in said and sort == "money" else ""
            )
            said = said.rstrip("0").rstrip(".") if "." in said else said
        found.append((sort, said))
    return tuple(found), " ".join([*between, text[end:]]) if found else text
