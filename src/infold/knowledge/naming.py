"""What a sentence names: people, projects and files. Rather none than a wrong one. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Set

from infold.folding.calendar import MONTHS, WEEKDAYS
from infold.folding.proper import given, ordinary, plain

_LARGE = r"[A-ZÀ-ÖØ-Þ](?:[^\W\d_]|['’-](?=[^\W\d_]))*[^\W\d_]"
_CAPITALISED = re.compile(r"[A-ZÀ-ÖØ-Þ][^\W\d_]+")
_NAME = re.compile(rf"(?<![\w@#/.'’-]){_LARGE}(?![\w@/])(?!\.\w)")
_MORE = re.compile(rf" (?:(?:de|del|da|van|von|der|den|di|la|bin) )*({_LARGE})(?![\w@/])")
_BENT = re.compile(r"['’]s$")
_TITLES = frozenset("mr mrs ms miss dr prof herr herrn frau sr sra señor señora dona mme madame monsieur".split())
_RELATIVES = "sister brother mother mum mom father dad wife husband son daughter girlfriend boyfriend partner fiancé fiancée uncle aunt cousin niece nephew grandmother grandma grandfather grandpa friend colleague coworker boss manager neighbour neighbor landlord landlady flatmate roommate teacher tutor coach doctor dentist therapist lawyer schwester bruder mutter vater mann freundin freund chefin chef kollegin kollege tochter sohn sœur frère mère père femme mari amie ami collègue fille fils hermana hermano madre padre esposa marido amiga amigo jefa jefe hija hijo irmão irmã mãe pai filha filho".split()
_KIN = rf"(?i:\b(?:my|our|his|her|their|[\w-]+['’]s|meine?[mnr]?|unsere?|ma|mon|notre|mi|minha|meu) (?:[\w-]+ )?(?:{'|'.join(_RELATIVES)})(?:-in-law)?\b)"
_RELATED = re.compile(rf"{_KIN}(?:,|['’]s name is| is called| called| named| heißt| s['’]appelle| se llama)? $")
_APPOSED = re.compile(rf" is {_KIN}|, {_KIN},")
_THING = re.compile(r"(?:['’]s)? (?i:street|road|avenue|airport|hotel|university|bridge|park|square|school|hospital)\b")
_PLACED = re.compile(
    r"\b(?:the|st\.?|saint|san|santa|port|lake|mount|in|at|near|north|south|west|new) $", re.IGNORECASE
)
_TITLE = r"((?!(?:I|The|This|That|Manager|Management|Lead|Plan|Board)\b)[A-ZÀ-ÖØ-Þ][\w'’&-]*(?: [A-ZÀ-ÖØ-Þ][\w'’&-]*){0,2}|[\"“„«][^\"”“»]{2,40}[\"”“»])"
_PROJECT = re.compile(rf"\b(?:[Pp]roje(?:ct|kt|t|to)|[Pp]royecto) (?:called )?{_TITLE}|\b[Tt]he {_TITLE} project\b")
_ENDINGS = r"py|jsx?|tsx?|md|txt|jsonl?|ya?ml|toml|csv|tsv|pdf|docx?|xlsx?|pptx?|odt|ods|sql|sh|html?|css|go|rs|java|kt|rb|cpp|png|jpe?g|gif|svg|mp[34]|mov|wav|log|ini|cfg|conf|env|zip|gz|ipynb|db|sqlite|key|pem|ics|tex|xml|tf|vue|swift|php"
_FILE = re.compile(rf"(?a)(?!self\.|this\.)[~.]{{0,2}}/?(?:[\w.-]+/)*[\w.-]*\w\.(?:{_ENDINGS})|Makefile|Dockerfile")
_LIBRARY = re.compile(r"(?i)(?:node|next|vue|nuxt|react|three|d3|express|chart)\.js")
_DOTTED = re.compile(r"\w\.[A-Za-z]")
_CALLED = frozenset("project projekt projet proyecto projeto makefile dockerfile".split())
_NEAR = _TITLES.union(_RELATIVES)
_EDGES = "()[]{}<>\"'“”„«»‘’`*,;:!?。，"


def may_name(text: str, signs: Set[str]) -> tuple[bool, bool]:
    """Whether a text, with these words in small letters, may name people; and whether files or projects. Most name none."""
    whom = not _NEAR.isdisjoint(signs) or any(plain(word) in given() for word in _CAPITALISED.findall(text))
    return whom, _DOTTED.search(text) is not None or not _CALLED.isdisjoint(signs)


def people(sentence: str) -> list[str]:
    """Names of people, in order, each once: given names, and any name after a title or a word like "my sister"."""
    sentence = unicodedata.normalize("NFC", sentence)  # an accent that stands apart would end a name
    found: dict[str, None] = {}
    end = 0
    for match in _NAME.finditer(sentence):
        start, name = match.start(), _BENT.sub("", match[0])
        if start < end or name.lower() in _TITLES or name.lower() in MONTHS or name.lower() in WEEKDAYS:
            continue
        end = start + len(name)
        before = sentence[max(0, start - 48) : start]
        if plain(name) not in given() and before.rstrip(". ").rpartition(" ")[2].lower() not in _TITLES:
            apposed = not ordinary(name) and _APPOSED.match(sentence, end)
            if not apposed and not _RELATED.search(before):
                continue
        while (more := _MORE.match(sentence, end)) and (
            more.start(1) > end + 1 or not ordinary(_BENT.sub("", more[1]))
        ):
            end = more.start(1) + len(_BENT.sub("", more[1]))
        if not _THING.match(sentence, end) and not _PLACED.search(before):
            found[sentence[start:end]] = None
    return [*found]


def projects(sentence: str) -> list[str]:
    """Names of projects that are called so, without the word itself."""
    every = (_BENT.sub("", one or other) for one, other in _PROJECT.findall(sentence))
    return [*dict.fromkeys(name.strip(" .,-" + _EDGES) for name in every)]


def files(sentence: str) -> list[str]:
    """Names and paths of files, in order, each once."""
    tokens = (token.lstrip(_EDGES).rstrip("." + _EDGES) for token in sentence.split())
    found = (token for token in tokens if _FILE.fullmatch(token) and not _LIBRARY.fullmatch(token))
    return [*dict.fromkeys(name.removeprefix("./") for name in found)]
