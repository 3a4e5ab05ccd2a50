"""Proper names: which words of a line are some, and whether other texts know them. Pure."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Collection
from importlib.resources import files

from infold.folding.calendar import MONTHS, WEEKDAYS
from infold.folding.quantities import UNITS
from infold.tokens import rank

_WORD = re.compile(r"[^\W\d_](?:[^\W_]|['’&.-](?=[^\W_]))*", re.UNICODE)
_STARTS = re.compile(r"(?:^|[.!?:;•–—(\"“„«\[/|→=]|\s-)\s*$")
# Written large without being anyone's name.
_PLAIN = frozenset(
    "user users assistant user's assistant's i i'm i'd ok tbd tba tbc eta asap n/a na id ids url urls api apis pdf csv json ui ux db faq vat "
    "am pm utc cet gmt usd eur gbp chf ai it hr ceo cto qa ci cd pr prs kpi kpis roi sla sql html css http https ssh "
    "gps dob sms tv pc usb cpu gpu ram ssd os app crud rest sdk cli iban bic swift pin pins otp mfa sso ip dns tls ssl "
    "mr mrs ms dr prof sr jr vs etc re nb ps fyi todo goal goals fact facts decision decisions open english yes no "
    "q1 q2 q3 q4 h1 h2 max min approx incl excl no. nr kunde nutzer client utilisateur usuario cliente benutzer "
    "internet web online earth christmas easter email e-mail wifi wi-fi gdpr covid arr mrr nps ltv gmv okr okrs rfp nda poc mvp sow".split()
)
_ALIASES = {
    "kubernetes": "k8s", "javascript": "js", "typescript": "ts", "france": "french", "french": "france", "spain": "spanish",
    "spanish": "spain", "dutch": "netherlands", "netherlands": "dutch", "greek": "greece", "greece": "greek", "swiss": "switzerland",
    "switzerland": "swiss", "danish": "denmark", "denmark": "danish", "turkish": "turkey", "welsh": "wales", "british": "uk",
    "britain": "uk", "england": "english", "german": "deutsch", "germany": "deutschland", "munich": "münchen", "vienna": "wien",
    "cologne": "köln", "zurich": "zürich", "geneva": "genf", "rome": "roma", "milan": "mailand", "lisbon": "lisboa",
    "america": "us", "american": "us", "usa": "us", "us": "usa", "uk": "britain", "chinese": "china", "polish": "poland",
    "nyc": "york", "la": "angeles", "mongo": "mongodb", "google": "gmail", "austria": "österreich", "paris": "parís",
    "prague": "prag", "warsaw": "warschau", "florence": "florenz", "venice": "venedig", "brussels": "brüssel", "spaniard": "spain",
    "excel": "xlsx", "word": "docx", "beijing": "北京", "shanghai": "上海", "shenzhen": "深圳", "mum": "mother", "mom": "mother", "dad": "father",
}  # fmt: skip
_PREFIXES = ("re", "un", "pre", "non", "over", "out", "sub", "co", "mid", "de", "under", "mis", "post", "anti", "up")
_SUFFIXES = (
    "ed", "ing", "tion", "sion", "ment", "able", "ible", "ness", "less", "ful", "ive", "ous", "ly", "ity", "ical", "ized",
    "ised", "izes", "ises", "ers", "ors", "ists", "ships", "ance", "ence", "ology", "graphy", "itis", "ectomy", "otomy", "emia", "osis", "opathy", "scopy", "gram", "proof",
    "ware", "free", "wise", "work", "time", "book", "board", "room", "fied", "fies", "ize", "ise", "ate", "ates", "ated",
    "ant", "ent", "ary", "ory", "al", "ic", "ish", "like", "ward", "down", "back", "line", "load", "let",
)  # fmt: skip
_LAST_NAME = re.compile(r" ([^\W\d_]+)(?=\W|$)")
_HARDLY = 2  # times as frequent as the same word written large
_BENT = re.compile(r"['’](?:s|d|ll|m|ve|re)$")
_GERMAN = frozenset(
    "der die das und ist nicht ein eine einen mit für auf den dem bis zum zur wird soll möchte will kein keine am im ab von oder bei nach sind hat".split()
)
_TITLES = re.compile(r"\b(?:herrn?|frau|fr\.|hr\.|dr\.|prof\.|mrs?\.?|ms\.?|sra?\.|mme\.?)\s*$", re.IGNORECASE)
_HAN_NAME = re.compile(r"[\u3400-\u9fff](?=先生|女士|小姐|医生|老师|经理|教授|总监|主任)")
_HAN = re.compile(r"[\u3400-\u9fff]{2,}")


@functools.cache
def common() -> frozenset[str]:
    """Words that are said about everything."""
    return _listed("common.txt")


@functools.cache
def given() -> frozenset[str]:
    """Given names that are hardly ever anything but a person, plain ones."""
    return _listed("given.txt")


def _listed(name: str) -> frozenset[str]:
    rows = (files("infold.folding") / name).read_text("utf-8").splitlines()
    return frozenset(word for row in rows if not row.startswith("#") for word in row.split())


@functools.lru_cache(maxsize=4096)
def plain(word: str) -> str:
    """A text without case and accents."""
    low = word.casefold().replace("’", "'").replace("ß", "ss")
    if low.isascii():
        return low
    return "".join(ch for ch in unicodedata.normalize("NFKD", low) if not unicodedata.combining(ch))


def spelled(word: str) -> str:
    """A word with its umlauts in two letters: Mueller of Müller."""
    for letter, letters in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ø", "oe"), ("å", "aa")):
        word = word.replace(letter, letters)
    return plain(word)


@functools.lru_cache(maxsize=8192)
def ordinary(word: str) -> bool:
    """Whether a word is more often written small than large, as far as the tokenizer's ranks tell."""
    low = word.lower()
    if low in common():
        return True
    if "-" in low:
        return all(map(ordinary, filter(None, low.split("-"))))
    try:
        large, small = rank(f" {low[:1].upper()}{low[1:]}"), rank(f" {low}")
    except UnicodeError:
        return True
    if small[0] == 1:
        return small < large
    if large[0] < small[0]:
        return False
    if low.endswith(_SUFFIXES) and len(low) > 5:
        return True
    for prefix in _PREFIXES:
        rest = low.removeprefix(prefix)
        if rest != low and len(rest) > 3 and rank(f" {rest}")[0] == 1 and ordinary(rest):
            return True
    for ending in ("s", "es", "'s"):
        rest = low.removesuffix(ending)
        if rest != low and len(rest) > 3 and rank(f" {rest}")[0] == 1 and ordinary(rest):
            return True
    return False


def names(text: str, german: bool = False) -> list[str]:
    """The words of a line that name someone or something, in order; in `german`, where all nouns are large, given names and
    those after a title."""
    if not any(map(str.isupper, text)) and not _HAN.search(text):
        return []
    found: list[str] = []
    every = list(_WORD.finditer(text))
    large = [match for match in every if not match[0].islower()]
    german = german or sum([match[0].lower() in _GERMAN for match in every]) >= 2
    headline = len(every) > 5 and sum([match[0][0].isupper() for match in large]) * 10 >= 7 * len(every)
    for match in large:
        word, at = match[0], match.start()
        if "'" in word or "’" in word:
            word = _BENT.sub("", word)
        if word.islower() or len(word) < 2:
            continue
        low = word.lower()
        if (
            low == word
            or low in _PLAIN
            or low in UNITS
            or low in MONTHS
            or low in WEEKDAYS
            or low.removesuffix("s") in WEEKDAYS
        ):
            continue
        before = text[max(0, at - 8) : at]
        person = plain(word) in given()
        if german and not person and not _TITLES.search(before):
            continue
        first = headline or _STARTS.search(before[-4:]) or not text[:at].strip()
        if (
            first
            and word[1:].islower()
            and not person
            and ordinary(word)
            and (headline or not (_TITLES.search(before) or _first_name(word, text[match.end() : match.end() + 24])))
        ):
            continue
        found.append(word)
    return found


def _first_name(word: str, after: str) -> bool:
    """Whether a word that can be an everyday one is a first name: "Tom" of "Tom Pearce"."""
    last = _LAST_NAME.match(after)
    if last is None or word.lower() in common() or ordinary(last[1]):
        return False
    large, small = rank(f" {word}"), rank(f" {word.lower()}")
    return large[0] == small[0] == 1 and large[1] < _HARDLY * small[1]


def known(name: str, said: Collection[str], folded: str) -> bool:
    """Whether texts with these words (plain ones) and this folded text know a name."""
    low = plain(name)
    if low in said or low.replace("-", "") in said or ((not low.isalpha() or _HAN.match(low)) and low in folded):
        return True
    if not name.isascii() and spelled(name.casefold()) in said:
        return True
    return all(_known(part.removesuffix("'s"), name, said, folded) for part in re.split(r"[-&.]", low))


def _known(low: str, name: str, said: Collection[str], folded: str) -> bool:
    if len(low) < 2 or low in said or low in _PLAIN:
        return True
    alias = _ALIASES.get(low)
    if alias and (plain(alias) in said or alias in folded):
        return True
    for ending in ("s", "es", "n", "ian", "an", "ese", "ish") if len(low) > 4 else ("s",):
        if low.removesuffix(ending) in said or low + ending in said:
            return True
    if name.isupper() and len(name) <= 6:
        return _initials(low, folded) or any(word[len(low) :].isdigit() and word.startswith(low) for word in said)
    if len(low) < 4:
        return False
    # Postgres and PostgreSQL, Italy and Italian: one begins like the other.
    head = low[:-2] if len(low) > 6 else low
    return any(word.startswith(head) or (len(word) > 3 and low.startswith(word)) for word in said)


def _initials(low: str, folded: str) -> bool:
    """Whether the letters of an acronym begin words that follow each other."""
    joint = r"\w*(?:[\s-]+(?:of|and|the|for|&)[\s-]+|[\s-]+)"
    return re.search(r"\b" + joint.join(map(re.escape, low)), folded) is not None


def spelled_out(group: list[str], said: Collection[str]) -> bool:
    """Whether names in a row spell out an acronym that is known."""
    letters = "".join(plain(word)[:1] for word in group)
    return len(letters) > 2 and letters in said and letters not in common()


def han_names(line: str) -> list[str]:
    """Names in Chinese script that can be told from other words: before a title, or alone in a text in Latin script."""
    found = [f"{match[0]}{line[match.end() : match.end() + 2]}" for match in _HAN_NAME.finditer(line)]
    runs = _HAN.findall(line)
    if runs and sum(map(len, runs)) * 3 < sum("a" <= ch <= "z" for ch in line):
        found += runs
    return found
