"""What a text names exactly: references, files, versions, amounts, dates, proper names. Pure."""

from __future__ import annotations

import re

_EXTENSIONS = (
    "py|js|ts|tsx|jsx|md|txt|jsonl|json|ya?ml|toml|csv|tsv|pdf|docx?|xlsx?|pptx?|odt|ods|sql|sh|html?|css|go|rs|java|kt|rb|c|h|cpp"
    "|png|jpe?g|gif|svg|webp|heic|mp[34]|mov|wav|log|ini|cfg|conf|env|lock|zip|tar|gz|tgz|ipynb|parquet|db|sqlite|key|pem|ics|eml"
    "|psd|ai|fig|sketch|xd|dwg|stl|step|tex|bib|rtf|epub|xml|plist|gradle|tf|proto|graphql|vue|svelte|swift|dart|php|pl|lua|ex|exs"
)
# Whatever tells one thing from all others: addresses, files, versions, references.
IDENTIFIER = re.compile(
    r"https?://[^\s<>\")\]，。]+"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    rf"|(?:~?/)?(?:[\w.~-]+/)*[\w-]+(?:\.[\w-]+)*\.(?:{_EXTENSIONS})\b"
    r"|(?<![\w/])(?:~|\.{1,2})?/(?:[\w.-]+/)+[\w.-]*|(?<![\w/])/(?:etc|var|opt|usr|home|srv|tmp|data|mnt)(?:/[\w.-]+)*"
    r"|\bv\d+(?:\.\d+)*(?:-[\w.]+)?\b|\b\d+\.\d+\.\d+(?:[.-]?\w+)*\b"
    r"|\b[A-Z]{1,6}\d*[-_/#]\d[\w/-]*\b|\b[A-Z]{2,}\d[\w-]*\b|\b[A-Z]{2,}(?:-[A-Z0-9]+)*-\d[\w-]*\b"
    r"|\b(?=[A-Z0-9]{5,12}\b)(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]+\b"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f-]+\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b"
    r"|#\d{2,}\b|\b\d{6,}\b|\b\d{2,}(?:-\d{2,}){2,}\b"
)
# Whatever IDENTIFIER finds has one of these in it, and most texts have none.
MAY_IDENTIFY = re.compile(r"[@#/]|[A-Z][A-Z\d]|\d[A-Z]|[A-Z][-_]\d|\.\w|v\d|\d{6}|[0-9a-f]{7}")

_MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
    "|januar|februar|märz|mai|juni|juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre"
    "|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
)
DATE = re.compile(
    rf"\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b\d{{1,2}}(?:st|nd|rd|th)?\.?(?: of| de)? (?:{_MONTHS})\b\.?(?:,? (?:de )?\d{{4}})?"
    rf"|\b(?:{_MONTHS})\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?|\b(?:{_MONTHS}) \d{{4}}\b"
    r"|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b\d{1,2}:\d{2}\b|\b\d{1,2} ?(?:am|pm)\b|\d{4}年|\d{1,2}月\d{1,2}[日号]",
    re.IGNORECASE,
)
AMOUNT = re.compile(
    r"[$€£¥] ?\d[\d,.]*\d?(?: ?(?:k|m|bn|million|thousand)\b)?|\b\d[\d,.]* ?(?:[$€£¥%]|k\b)"
    r"|\b\d[\d,.]*(?:-| )?(?:euros?|eur|dollars?|usd|pounds?|gbp|francs?|chf|yen|kronor|percent|per cent|prozent|[kmgt]i?b|ghz|mhz|kwh?|watts?"
    r"|kg|g|grams?|lbs?|tons?|km|cm|mm|m|m²|sqm|miles?|metres?|meters?|litres?|liters?|ml|inch(?:es)?|ft|feet|minutes?|mins?|hours?|hrs?|h|days?|weeks?"
    r"|months?|years?|people|persons?|guests?|seats?|users?|rooms?|nights?|pages?|words?|items?|units?|licen[cs]es?|degrees?|calories|kcal|mg|°c)\b"
    r"|\d+ ?(?:元|块|万|欧元|美元|人)",
    re.IGNORECASE,
)
FIGURE = re.compile(r"[$€£]\s?\d[\d,.]*\d?|\b\d[\d,.:/-]*\d\b|\b\d+\s?%|\b\d+\b")
# Capitalised words inside a sentence; what only opens one is no name.
NAME = re.compile(r"(?<=[\w,;:)\"'’(–—-] )(?:[A-Z][\w'’&-]*[a-zà-ÿ][\w'’&-]*|[A-Z]{2,})(?: (?:[A-Z][\w'’&-]+|[A-Z]\b))*")
NO_NAMES = frozenset(
    "I I'm I'd I'll I've OK Ok Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August"
    " September October November December Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec FYI BTW ASAP TBD TBC"
    " PS NB User Assistant".split()
)


def identifiers(text: str) -> list[str]:
    """References, files, versions and addresses, in order, each once."""
    if not MAY_IDENTIFY.search(text):
        return []
    return [*dict.fromkeys(found.rstrip(".,;:!?)'") for found in IDENTIFIER.findall(text))]


def names(text: str) -> list[str]:
    """Proper names, in order; a capital at the start alone makes none."""
    return [found for found in dict.fromkeys(NAME.findall(text)) if found.split()[0] not in NO_NAMES]
