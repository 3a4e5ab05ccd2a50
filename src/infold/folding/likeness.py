"""Whether two lines of memory speak of the same thing. Pure."""

from __future__ import annotations

import functools
import re
from itertools import chain, pairwise

from infold.lines.line import normal

_SMALL_WORDS = frozenset(
    "a an and are as at be been being but by can did do does for from had has have he her him his how i if in into "
    "is it its me my no not of off on or our out she so some than that the their them then there these they this "
    "those to too up us was we were what when where which while who will with would you your user user's assistant "
    "assistant's shall should could may might must am i'm i'll i've we'll we're we've it's that's let's let about "
    "all also any because still just yet now only more most much very one other such own same s t ll re ve d m don "
    "isn wasn aren couldn hasn haven doesn won wouldn didn weren shouldn".split()
)
# Too common in what people do to tell one task from another.
GENERIC = frozenset(
    "yes yeah yep nope noted understood thanks thank okay send sent call booke book pay paid order buy bought get got make made check finish done complete ask write "
    "wrote e-mail email prepare review take took bring pick set sort handle need go went come give look work use "
    "put keep new week month day morning evening afternoon night today tomorrow tonight end date time next mon tue "
    "wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday january february march april june "
    "july august september october november december jan feb mar apr jun jul aug sep oct nov dec before after until "
    "due latest plan decide decision decided choose choice option final instead change switch first last already "
    "finally yesterday question answer open know knew find found whether confirm confirmed settle sorted clear "
    "unclear thing stuff bit swap plan result issue straight try again info nothing know news update spoke great "
    "good myself official colleague responsible takes leave quick still remains step commitment action next side "
    "between report unresolved pending side stage website silent flag park point mark behind written nowhere "
    "everywhere number told tell people consider word latest deadline job court ball unnecessary become happen "
    "establish ring rang phone phoned sat yesterday treat say said mistake wrong right actual current ignore former "
    "earlier overrule veto vote stand void reverse decision mind move handy easier tick strike cross off wrap "
    "forget worry complete finished cancelled dealt care taken mark remove anymore longer reply replied mystery "
    "solved turn learn mail couldn't hasn't haven't doesn't don't isn't nobody anything something everything "
    "going promise remind remember list task item waiting pending hear heard back".split()
)


@functools.lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A word without the endings that only bend it."""
    if word.endswith("'s"):
        word = word[:-2]
    if not word.isalpha() or len(word) < 5:
        return (
            word[:-1] if word.endswith("s") and len(word) == 4 and word.isalpha() and not word.endswith("ss") else word
        )
    for ending, put in (("ies", "y"), ("ing", ""), ("ied", "y"), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and not word.endswith(("ss", "us", "is")) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + put
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "sle":
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


@functools.lru_cache(maxsize=2048)
def words(text: str) -> frozenset[str]:
    """The words of a text that tell it from another, bent forms alike."""
    return frozenset(_stemmed(text))


def _stemmed(text: str) -> chain[str]:
    return chain.from_iterable(map(_stems, normal(text).replace("/", " / ").split()))


@functools.lru_cache(maxsize=8192)
def _stems(word: str) -> list[str]:
    return [stem(part) for part in _parts(word) if (part not in _SMALL_WORDS and len(part) > 1) or part.isdigit()]


def _parts(word: str) -> list[str]:
    if word.isalnum():
        return [word]
    return [word] if any(ch.isdigit() for ch in word) else [part for part in re.split(r"[-./:]", word) if part]


GENERIC = frozenset(stem(word) for word in GENERIC)


@functools.lru_cache(maxsize=2048)
def figures(found: frozenset[str]) -> frozenset[str]:
    """The words with a digit."""
    return frozenset(word for word in found if any(ch.isdigit() for ch in word))


def alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two lines say the same: equal figures, and one has nothing to add, or hardly a word differs."""
    if figures(one) != figures(other) or len(one & other) * 2 < len(one | other):
        return False
    first, second = one - GENERIC or one, other - GENERIC or other
    return first <= second or second <= first or len(one & other) * 100 >= 85 * len(one | other)


# ---------------------------------------------------------------- old: goes with the modules that rewrite

_STOP = r"(?=$|[,.;:()–—→=]| (?:is|are|was|will|because|since|so|and|but|from|at|on|by|in|now|then|instead|after|we|i|it|has|have|question|debate|discussion|thing|decision|front|issue|matter|topic|options?|when|where|if|up|with|seven|to|last|this|again|any|today|yesterday|amended|revised|updated|changed|throughout|suits|now|full|goes|falls|fell|slot|\d{4}-[\d-]+)\b)"
_NOUNS = r"(?P<own>our |the |my |user's )?(?:new )?(?P<topic>[a-z][\w'-]*(?: (?!\d{4}-)[\w'-]+){0,3}?)"
_TOPICS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<own>\()(?P<topic>[a-z][\w '-]{2,30})\)$",
        rf"(?:(?<!go )(?<!went )(?<!gone )(?<!going )(?<!down )(?<!opted )(?<!settled )(?<!opting )\bfor|\b(?:as|(?<!['’])re|regarding|concerning|about|com(?:es|ing)(?: to)?|came(?: to)?|as regards|with regard to|as far as|choice of|pick of)) {_NOUNS}{_STOP}",
        rf"(?<!off )(?<!sold )(?<!hands )(?<!fell )(?<!settled )(?<!agreed )(?<!landed )(?<!decided )(?<!voted )(?<!set )\b(?:on|won|closes|close) {_NOUNS}{_STOP}",
        r"^(?:topic )?(?P<own>the |our |user's )?(?P<topic>[a-z][\w'-]*(?: [\w'-]+){0,2}?)(?::| =| →| –)\s",
        r"(?:^|[:,;–] |\bthat )(?P<own>the |our |user's )?(?P<topic>[a-z][\w'-]*(?: [\w'-]+){0,2}?) (?:is|are|will be|shall be|becomes?|became|ends? up|ended up|stands|reads|goes to|went to|moves?|moved|changes?|changed|switched|has been|question|decision|thing|debate)\b",
    )
]
_NO_TOPIC = re.compile(
    r"^(?:far|much|well|soon|long|of|so|it|that|this|we|i|they|everything|nothing)\b| (?:it|we|so|that)$", re.IGNORECASE
)
_IS = re.compile(
    r"^((?:user's |our |the )?[a-z][\w'-]*(?: [\w'-]+){0,3}?) (?:is|are|will be|shall be|was) (?:now |going to be |to be )?(.*)",
    re.IGNORECASE,
)
# "User raised User's budget to 600 euros" says what the budget is.
_MOVED = re.compile(
    r"^(?:\w+ )?(?:has |have |'ve )?(?:had to )?(?:raised?|lower(?:ed)?|cut|increased?|moved?|changed?|set|reduced?|extend(?:ed)?|push(?:ed)?|postponed?|(?:bring|brought) forward) ((?:user's |our |the |\w+'s )?[a-z][\w'-]*(?: [\w'-]+){0,4}?) to (.*)",
    re.IGNORECASE,
)
_FIGURED = re.compile(r"(?:at |on |about |around |up to |max )?[$€£#]?\w*\d")
_NAMED = re.compile(r"^(?:called|named) ", re.IGNORECASE)
_OWN = re.compile(r"^(?:user's |user |our |the )", re.IGNORECASE)
_ATTRIBUTES = (
    (
        "home",
        re.compile(
            r"^(\w+) (?:lives?|is living|moved|has moved|is based|resides|now lives|relocated|is) (?:now )?(?:in|to|at|near)\b"
        ),
    ),
    ("job", re.compile(r"^(\w+) (?:works|is working|now works) (?:as|at|for|in)\b")),
    ("name", re.compile(r"^(\w+)'s (?:last )?name is\b")),
)


@functools.lru_cache(maxsize=2048)
def pairs(text: str) -> frozenset[frozenset[str]]:
    """Words of a text that stand side by side, small ones passed over: a name of two words is one of them."""
    return frozenset(frozenset(pair) for pair in pairwise(_stemmed(text)) if pair[0] != pair[1])


@functools.cache
def _common() -> frozenset[str]:
    from infold.folding.proper import common

    return frozenset(map(stem, common()))


@functools.lru_cache(maxsize=2048)
def telling(found: frozenset[str]) -> frozenset[str]:
    """The words that name a thing rather than say something about it."""
    return frozenset(word for word in found - GENERIC - _common() if not word.isdigit())


def about(text: str) -> str:
    """What a decision is about, where it says so: "database" of "PostgreSQL for database"."""
    return next(iter(topics(text)), "")


@functools.lru_cache(maxsize=4096)
def topics(text: str) -> tuple[str, ...]:
    """What a decision may be about, likeliest first."""
    every = [match for pattern in _TOPICS for match in pattern.finditer(text)]
    found = [
        match
        for match in every
        if words(match["topic"]) - GENERIC
        and not _NO_TOPIC.search(match["topic"])
        and (match["own"] or not match.start("topic") or not _is_name(match["topic"]))  # a name is what was chosen
    ]
    return tuple(
        match["topic"] for match in sorted(found, key=lambda match: not match["own"])
    )  # "the budget" before "budget"


_RUN = re.compile(
    r"\b(?:the|our|my|user's) ((?:[a-z][\w'-]*[ ,;:.)]?)(?:(?<= )[a-z][\w'-]*[ ,;:.)]?){0,2})", re.IGNORECASE
)


def nouns(text: str, known: frozenset[str] | None = None) -> list[str]:
    """What a text points at with "the" or "our", as far as another knows the words."""
    found: list[str] = []
    for match in _RUN.finditer(text):
        run: list[str] = []
        for word in match[1].rstrip(" ,;:.)").split():
            mine = words(word)
            if not mine or word[0].isupper() or (known is not None and not mine <= known):
                break
            run.append(word)
        if len(run) > 1 and words(" ".join(run)) - GENERIC:
            found.append(" ".join(run))
    return found


def _is_name(phrase: str) -> bool:
    return all(word[0].isupper() for word in phrase.split())


_SEGMENT = re.compile(
    r"(,(?!\d)|;|:(?!\d)| – | — | - | -> | → |\(|\)|\b(?:but|so(?! far)|and|hence|therefore|then|which|instead of|rather than|in favou?r of|over to|because|after all)\b)",
    re.IGNORECASE,
)
_SPACES = re.compile(r"\s+(?=[\s,;:])")
_WANT_MORE = frozenset("for with to at by up in on of a an as into onto under like via between through".split())
_LINKS = frozenset(
    "instead of rather than not no longer from over drop dropped ditch ditched scrap scrapped replace replaces "
    "replaced replacing swap swapped forget away switch switched moved goodbye swapping dropping ditching scrapping "
    "replacing cancelled cancel remember about isn't wasn't is was are were out off dead gone earlier old previous "
    "original former the our my in place lieu and but so said beats".split()
)


def segments(text: str) -> list[str]:
    """The parts of a line that say something each."""
    return [part for part in _SEGMENT.split(text)[::2] if words(part)]


def value_of(decision: str) -> frozenset[str]:
    """The words of a decision beside its topic."""
    return words(decision) - words(about(decision)) - GENERIC


def without(text: str, value: frozenset[str]) -> str:
    """A reversal's text without the value it overturns, which is what it shares with the old line beside the topic."""
    parts = _SEGMENT.split(text)
    pieces = [at for at in range(0, len(parts), 2) if words(parts[at])]
    holds = [at for at in pieces if not words(parts[at]) & telling(value)]
    if len(holds) < len(pieces) and telling(words(" ".join(parts[at] for at in holds))):
        # Pieces that stood side by side keep what stood between them.
        joints = [parts[at - 1] if before == at - 2 else ", " for before, at in pairwise(holds)]
        rest = "".join(map("".join, zip(["", *joints], (parts[at] for at in holds), strict=True))).strip(" ,;:-–—")
        rest = _SPACES.sub("", rest) + ")" * (rest.count("(") - rest.count(")"))
        return rest[:1].upper() + rest[1:]
    kept: list[str] = []
    left: list[str] = []  # out since the last word that was kept
    new = newly = False  # whether the word right before belongs to the new value, and is written large
    for word in text.split():
        mine = words(word)
        if mine and mine <= value and not (new and newly == word[:1].isupper()):
            while kept and kept[-1].strip(",;:()").lower() in _LINKS:  # what led up to it goes, too
                kept.pop()
            left.append(word)
            continue
        kept.append(word)
        left.clear()
        new = bool(mine - GENERIC - value) and word[-1] not in ",;:." and word.strip("(").lower() not in _LINKS
        newly = word[:1].isupper()
    if kept and kept[-1].lower() in _WANT_MORE:  # "booked for": nobody could tell for whom
        kept += left
    rest = " ".join(kept).strip(" ,;:-–—")
    # What is left of the clause that named the old value says nothing.
    parts = [part for part in _SEGMENT.split(rest) if part]
    full = [at for at, part in enumerate(parts) if words(part) - GENERIC]
    if not full:
        return text
    rest = "".join(parts[full[0] : full[-1] + 1]).strip(" ,;:-–—)")
    return rest[:1].upper() + rest[1:] if rest else text


@functools.lru_cache(maxsize=2048)
def subject(text: str) -> str:
    """Whose attribute a line states; a later line with the same one takes its place. Empty where it cannot be told."""
    for name, pattern in _ATTRIBUTES:
        found = pattern.match(text)
        if found:
            return f"{name} of {found[1].casefold()}"
    stated = _IS.match(text) or _MOVED.match(text)
    if not stated:
        return ""
    head = " ".join(sorted(words(_OWN.sub("", stated[1]))))
    kind = "name" if _NAMED.match(stated[2]) else "figure" if _FIGURED.match(stated[2]) else ""
    return f"{head}: {kind}" if head and kind else ""
