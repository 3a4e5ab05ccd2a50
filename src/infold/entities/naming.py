"""What a sentence names: people, projects and files. Rather none than a wrong one. Pure."""

from __future__ import annotations

import re
import unicodedata

from infold.folding.calendar import MONTHS, WEEKDAYS
from infold.folding.names import identifiers
from infold.folding.proper import given, ordinary, plain

MOST = 8
"""Most people, and most files, of one message."""

# ---------------------------------------------------------------- people

_LARGE = r"[A-ZÀ-ÖØ-Þ](?:[^\W\d_A-ZÀ-ÖØ-Þ]|['’-](?=[^\W\d_])|(?<=Mc)[A-Z]|(?<=['’-])[A-Z])+"
_NAME = re.compile(
    rf"(?<![\w@#/.-]){_LARGE}(?: (?:(?:de|del|da|van|von|der|den|di|la|bin|al|el)\s)*{_LARGE}){{0,3}}(?![\w@/]|\.\w)"
)
_BENT = re.compile(r"['’]s?$|['’]s(?= |$)")
_RELATIVES = (
    "sister|brother|mother|mum|mom|father|dad|wife|husband|son|daughter|girlfriend|boyfriend|partner|fianc[ée]e?|uncle|aunt|cousin"
    "|niece|nephew|grandmother|grandma|grandfather|grandpa|grandson|granddaughter|stepson|stepdaughter|stepmother|stepfather|twin"
    "|sibling|(?:mother|father|brother|sister|son|daughter)-in-law|friend|buddy|colleague|coworker|co-worker|boss|manager|supervisor"
    "|teammate|team lead|mentor|intern|assistant|neighbou?r|landlord|landlady|roommate|flatmate|housemate|tenant|client|teacher"
    "|professor|tutor|coach|trainer|doctor|dentist|therapist|lawyer|accountant|plumber|electrician|babysitter|nanny|kid|child"
    "|baby|ex|advisor|adviser|recruiter|cofounder|co-founder|classmate|godmother|godfather|godson|goddaughter"
    "|schwester|bruder|mutter|vater|frau|mann|freund|freundin|chef|chefin|kollege|kollegin|tochter|sohn|onkel|tante|nachbar|nachbarin"
    "|sœur|soeur|frère|mère|père|femme|mari|ami|amie|collègue|fille|fils|patron|hermana|hermano|madre|padre|esposa|marido|amiga|amigo"
    "|jefe|jefa|hija|hijo|prima|primo"
)
# As often something else (a word, a city, a country, a product): a person only where somebody speaks, or is spoken to.
_EITHER = frozenset(
    "aria art austin bella bill brad brooke carol carter charlie charlotte chase chelsea christian claude cole daisy "
    "dakota dallas dawn dean drew eve faith flora florence frances frank gene gloria grace grant hope hunter "
    "iris ivy jack jade jasmine jay jordan joy juan julia kent lee lily logan lou luna madison marco mark "
    "mason max maya melody mercedes nelson noel nova olive oscar parker pat pearl pepper ray reed regina "
    "rich rob robin rod roman rose ruby rusty santiago sierra sky skyler sofia sue summer sydney taylor tyler venus "
    "victor victoria viola violet wade ward will winter".split()
)
# Behind a word for a relation or a title, any name is a person's.
_RELATED = re.compile(
    rf"\b(?:my|our|his|her|their|your|the|whose|['’]s|a|mein|meine[rmn]?|unsere?|ma|mon|mi|notre|nuestr[ao]|son|sa)"
    rf" (?:\w+ )?(?:{_RELATIVES})(?:,| is called| is named| called| named|['’]s name is| heißt| s['’]appelle| se llama)? $",
    re.IGNORECASE,
)
_TITLED = re.compile(r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Herrn?|Frau|Sr|Sra|Señora?|Mme|Madame|Monsieur)\.? $")
_TITLES = frozenset(
    "mr mrs ms miss dr prof professor herr herrn frau sr sra señor señora mme madame monsieur doctor".split()
)
_APPOSED = re.compile(
    rf",? (?:who is |is )?(?:my|our|his|her|their|mein|meine|ma|mon|mi) (?:\w+ )?(?:{_RELATIVES})\b", re.IGNORECASE
)
# Behind a word for speaking to somebody or giving to somebody, a given name is a person's, whatever else it may name.
_ADDRESSED = re.compile(
    r"\b(?:tell|told|ask|asked|asking|e-?mail|e-?mailed|remind|text|texted|thank|invite|invited|phone|phoned|call|called|calling|meet|met"
    r"|meeting|promised?|owes?|pays?|paid|pick up|informs?|informed|notify|interview|hire|hired|contact|message|messaged|ping|pinged"
    r"|(?:talk|talked|talking|speak|spoke|spoken|write|wrote|reply|replied|listen|apologi[sz]e) (?:to|with)|check with|hear(?:d)? from|helped?|visit) $",
    re.IGNORECASE,
)
_BESIDE = re.compile(
    r"\b(?:to|with|from|for|by|and|or|about|of|between|without|send|sent|give|gave|show|help|visit|see|saw|let|that|when|if|because|since|but|than"
    r"|an|mit|von|für|bei|und|dass|à|avec|pour|chez|et|que|a|con|para|y|an den|thanks|hi|hello|hey|dear|cc|both|only|maybe|wait for|for) $"
    r"|[,:;(–—@] ?$|^$",
    re.IGNORECASE,
)
_SPEAKS = re.compile(
    r"(?:,? who)?,? (?:also |just |already |then |really |still |never |always )?(?:said|says|told|tells|asked|asks|wrote|writes|called|calls|mentioned|suggested"
    r"|suggests|thinks|thought|wants|wanted|promised|replied|agreed|agrees|texted|e-?mailed|confirmed|recommended|recommends|prefers|likes"
    r"|loves|hates|hopes|knows|believes|offered|invited|phoned|complained|apologi[sz]ed|insists?|refused|claims|needs|met)\b"
)
_ACTS = re.compile(
    r"['’]s?\b|,? (?:and (?:I|me|we|User|[A-Z])|is|was|isn['’]t|will|won['’]t|would|has|had|hasn['’]t|can|can['’]t|could|should|must|may|might|does|doesn['’]t|did|didn['’]t"
    r"|lives|works|comes|came|went|goes|got|gets|moved|takes|took|gave|gives|sent|sends|made|makes|owes|joins|joined|leaves|left|arrives|turns|turned"
    r"|started|starts|handles|manages|leads|owns|runs|reviewed|reviews|signed|paid|pays|booked|fixed|found|about|by|on|at|before|after|from"
    r"|who|the|a|an|his|her|my|muss|ist|hat|wird|kommt|sagt|dit|est|dice|es|sagte)\b|[,.;:!?)]|$"
)
# Behind these a name is a place's, and before those it is a thing's.
_PLACED = re.compile(
    r"\b(?:in|at|near|to fly to|fly to|flight to|trip to|train to|drive to|moved to|move to|travel to|city of|the|st\.?|saint|san|santa|port) $",
    re.IGNORECASE,
)
_THING = re.compile(
    r"['’]?s? (?:street|avenue|road|airport|hotel|institute|university|college|bridge|park|square|prize|church|school|hospital|street|stadium|station"
    r"|gmbh|inc|ltd|llc|ag|corp|db|cup|foundation|museum|project|framework|library|api|server|code|app|bank|store|theorem|algorithm)\b",
    re.IGNORECASE,
)


def people(sentence: str) -> list[str]:
    """Names of people, in order, each once: only such as are spoken of as people."""
    if not sentence.isascii():  # an accent that stands apart would end a name
        sentence = unicodedata.normalize("NFC", sentence)
    found: dict[str, None] = {}
    for match in _NAME.finditer(sentence):
        if not match.start() and not _may_open(match[0], sentence[match.end() : match.end() + 4]):
            continue
        for name in _person(sentence, match.start(), match[0]):
            found[name] = None
    return [*found]


def _may_open(run: str, after: str) -> bool:
    """Whether the first words of a sentence may be a name; most are one ordinary word."""
    low = plain(run)
    return " " in run or low in given() or low in _EITHER or "'" in low or after.startswith((",", " is", " who"))


def _person(sentence: str, start: int, run: str) -> list[str]:
    """The person of a run of capitalised words: without what begins the sentence, without the 's."""
    bent = _BENT.search(run)
    words = (run[: bent.start()] if bent else run).split()
    titled = False
    while words and (
        words[0].lower() in _TITLES
        or (plain(words[0]) not in given() and words[0].lower() not in _EITHER and _opens(words[0]))
    ):
        titled = titled or words[0].lower() in _TITLES
        start += len(words.pop(0)) + 1
    if not words or not all(map(_nameable, words)):
        return []
    before = sentence[max(0, start - 48) : start]
    end = start + len(" ".join(words))
    after = sentence[end : end + 32]
    if _THING.match(after):
        return []
    name, first = " ".join(words), plain(words[0])
    if titled or _TITLED.search(before):
        return [name]
    if _RELATED.search(before) and (first in given() or first in _EITHER or not ordinary(words[0])):
        return [name]
    if first not in given() and first not in _EITHER:
        return [name] if _APPOSED.match(after) and not ordinary(words[0]) else []
    if _APPOSED.match(after) or _ADDRESSED.search(before):
        return [name]
    if _PLACED.search(before):
        return []
    if _SPEAKS.match(after):
        return [name]
    if first in _EITHER:
        return []
    return [name] if _BESIDE.search(before) or _ACTS.match(after) else []


def _opens(word: str) -> bool:
    """Whether a capitalised word may be large only because a sentence begins with it."""
    return ordinary(word) or word in ("Remind", "Email", "User", "Assistant")


def _nameable(word: str) -> bool:
    low = word.lower().partition("'")[0]
    return low not in MONTHS and low not in WEEKDAYS and low not in ("user", "assistant", "i", "yum", "collins", "db")


def is_given(name: str) -> bool:
    """Whether a name begins with a given name that is hardly anything else."""
    return plain(name.split(" ", 1)[0]) in given()


# ---------------------------------------------------------------- projects

_TITLE = r"(?:[A-ZÀ-ÖØ-Þ][\w'’&-]*|\d[\w.-]*)"
_QUOTED = r"[\"“„«'](?P<quoted{0}>[^\"”“»']{{2,40}})[\"”“»']"
_PROJECT = re.compile(
    rf"\b(?:[Pp]roject|[Pp]rojekt|[Pp]rojet|[Pp]royecto) (?:called |named |code-?named )?(?:(?P<after>(?!I\b){_TITLE}(?: {_TITLE}){{0,2}})|{_QUOTED.format(1)})"
    rf"|\b(?:the|our|my|their|your|The|Our|My|this|das|le|el) (?:(?P<before>{_TITLE}(?: {_TITLE}){{0,2}})|{_QUOTED.format(2)})[ -](?:project|Projekt)\b"
)
# What stands beside the word "project" without naming one.
_NO_PROJECT = frozenset(
    "manager management plan lead leader owner board team euler gutenberg office charter scope budget timeline status update review "
    "manager's runway i ii iii structure settings id name type "
    "python java javascript typescript react rust django flask node rails ruby go kotlin swift c php vue angular github gitlab maven "
    "gradle npm next new old big first second last next whole current monday tuesday wednesday thursday friday saturday sunday "
    "docker kubernetes terraform unity xcode android ios firebase supabase google aws azure jira web".split()
)


def projects(sentence: str) -> list[str]:
    """Names of projects that are called so, without the word itself."""
    if "roje" not in sentence and "royecto" not in sentence:
        return []
    found: dict[str, None] = {}
    for match in _PROJECT.finditer(sentence):
        name = _bare(match["after"] or match["before"] or match["quoted1"] or match["quoted2"])
        if name and not {*name.lower().split()} & _NO_PROJECT:
            found[name] = None
    return [*found]


def _bare(name: str) -> str:
    return _BENT.sub("", name).strip(" .,-'’")


# ---------------------------------------------------------------- files

_EXTENDED = re.compile(r"(?:.*/)?[^/]*[^\W\d_][^/]*\.[A-Za-z]\w{0,7}|(?:.*/)?[\w-]+\.[A-Za-z]{2,7}")
_ROOTED = re.compile(r"(?:~|\.{1,2})/[\w.-]+.*|/(?:etc|var|opt|usr|home|srv|tmp|data|mnt|Users)/[\w.-].*")
_MAY_BE_FILED = re.compile(r"\.\w|/")
_VERSION = re.compile(r"v?\d+(?:\.\d+)+(?:[.-]?\w+)*", re.IGNORECASE)
_BUILD = re.compile(r"(?<![\w./-])(?:Makefile|Dockerfile|Jenkinsfile|Procfile|Gemfile|Vagrantfile)(?![\w-])")
# Libraries and sites are written like files.
_LIBRARY = re.compile(
    r"(?:node|next|vue|nuxt|react|three|d3|express|chart|ember|angular|backbone|alpine|p5|moment|discord|socket|nest|day|anime|knockout|meteor|require|solid|ext|tensorflow|brain)\.js",
    re.IGNORECASE,
)


def files(text: str) -> list[str]:
    """Names and paths of files, in order, each once."""
    found: dict[str, None] = {}
    for name in identifiers(text) if _MAY_BE_FILED.search(text) else ():
        if _is_file(name):
            found[name.removeprefix("./")] = None
    if "file" in text:
        found.update(dict.fromkeys(_BUILD.findall(text)))
    return [*found]


def _is_file(name: str) -> bool:
    if "://" in name or "@" in name or _VERSION.fullmatch(name) or _LIBRARY.fullmatch(name):
        return False
    if _ROOTED.fullmatch(name):
        return len(name) > 4
    site = name.endswith(".ai") and "/" not in name
    return _EXTENDED.fullmatch(name) is not None and not site
