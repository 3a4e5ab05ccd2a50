"""Whose attribute a told text states, and its value: "User lives in Berlin" as (User, home, Berlin). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from infold.facts.attributes import CHOICE, NOT, is_free, named, relation
from infold.folding.calendar import MONTHS
from infold.folding.likeness import telling, words

USER = "User"


@dataclass(frozen=True, slots=True)
class Slot:
    """A subject, an attribute and its value, as said."""

    subject: str
    """Empty for what belongs to nobody that was named: "the budget"."""
    attribute: str
    value: str


# Supposed, asked, wished for or told by others: none of it is so.
_UNSURE = re.compile(
    r"\b(?:if|maybe|perhaps|might|would|could|suppose|imagine|wish(?:es)?|whether|unless|probably|possibly|hopefully|should"
    r"|almost|pretend\w*|assum\w+|claims?|says|said|thinks?|thought|heard|dream\w*|joking|hypothetical\w*|once)\b|\?\s*$",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"^(?P<who>(?:\S+ ){1,4}?)(?:(?:has |have )?(?:now |just )?(?:(?P<be>is|are) (?:no longer|not(?! only)|never)"
    r"|(?P<bent>isn't|aren't)|no longer|doesn't|does not|don't|do not|didn't|never|used to|stopped|quit|lost|left|gave up))"
    r"(?: (?:really|even|actually))? (?=\w)"
)
_BYGONE = re.compile(r"\b(?:no longer|any ?more|any longer|used to|stopped|quit|gave up)\b")
_ADVERBS = r"(?:now|currently|also|just|still|already|recently|actually|really|finally|absolutely|usually|mostly|generally|always|definitely|only|strongly|much|very much|do|does)"
_WORKS = r"(?:works?|working|(?:is|am) (?:now |currently )?(?:working|employed))"
_COUNTED = "children|kids|siblings|brothers|sisters|sons|daughters|cats|dogs|grandchildren|employees"
# Attribute -> what is said for it between subject and value.
_VERBS = {
    "home": r"(?:lives?|living|resides?|(?:is|am) (?:now |currently )?(?:living|based|residing))(?: now)? (?:in|at|near)"
    r"|(?:has |have )?(?:just |recently |now )?(?:moved|relocated)(?: back| over)? to|wohn(?:e|t) (?:jetzt )?in|habite (?:à|en|au)",
    "employer": rf"{_WORKS} (?:now )?(?:at|for)|User's job at|arbeitet? (?:jetzt )?bei|travaille (?:chez|pour)",
    "occupation": rf"{_WORKS} as|arbeitet? als|travaille comme",
    "name": r"(?:is|am) (?:called|named)|heiß(?:e|t)",
    "spouse": r"(?:is|am|has been) (?:now )?(?:happily )?married to",
    "allergy": r"(?:is|am) (?:(?:very|severely|highly|deathly|badly|quite) )?allergic to|has an? (?:\w+ )?allergy to",
    "language": r"speaks?(?: fluent)?",
    "likes": r"(?:likes?|loves?|enjoys?|adores?|(?:is|am) (?:a )?(?:(?:big|huge|great|really) )?(?:fan of|fond of|into))",
    "dislikes": r"(?:hates?|dislikes?|detests?|loathes?|despises?|can't stand|cannot stand)",
    "prefers": r"prefers?",
    "birth": r"was born (?:in|on|at)",
    "origin": r"(?:is|am) (?:originally )?from",
    "age": r"(?:is|am)(?= \d+(?: years old)?$)",
    "marital status": r"(?:is|am)(?: now)?(?= (?:single|married|divorced|widowed|engaged)(?: now)?$)",
    "count": rf"has(?= [\w-]+ (?:{_COUNTED})\b)",
    "eats": r"eats?", "drinks": r"drinks?", "uses": r"uses?", "drives": r"drives?", "plays": r"plays?", "owns": r"owns?",
    "wears": r"wears?", "smokes": r"smokes?",
    "is": r"(?:is|am)(?: now)?(?= (?:an? )?(?:vegan|vegetarian|pescatarian|diabetic|coeliac|celiac|pregnant|left-handed|retired|unemployed|colou?r-?blind|deaf|blind|teetotal|lactose intolerant|nurse|teacher|student)\b)",
}  # fmt: skip
_TOLD = re.compile(
    rf"^(?P<who>\S+(?: \S+){{0,3}}?) (?:{_ADVERBS} )*(?:"
    + "|".join(f"(?P<_{at}>{verb})" for at, verb in enumerate(_VERBS.values()))
    + r")\s+(?P<value>\S.*)$"
)
_ATTRIBUTES = tuple(_VERBS)
_PLACED = frozenset(["home", "employer", "name", "spouse"])  # their values are names
_ELSEWHERE = (  # of those who are not told in the third person
    (re.compile(r"^(?:ahora )?vivo en (.+)$", re.IGNORECASE), "home"),
    (re.compile(r"^trabajo (?:en|para) (.+)$", re.IGNORECASE), "employer"),
    (re.compile(r"^me llamo (.+)$", re.IGNORECASE), "name"),
    (re.compile(r"^用户(?:现在)?(?:住在|搬到了?)(.+)$"), "home"),
    (re.compile(r"^用户(?:的名字)?叫(.+)$"), "name"),
)
_IS = re.compile(
    r"^(?P<head>.{2,60}?) (?:is|are|will be|becomes|=|has been set to|is set to|ist) (?:now |currently )?(?P<not>not |no longer )?(?P<value>\S.*)$"
)
_CHANGED = re.compile(
    r"^(?:\w+ )?(?:has |have |'ve )?(?:raised|lowered|cut|increased|moved|changed|set|reduced|extended|pushed|postponed|brought forward)"
    r"(?: back)? (?P<head>(?:User's |our |the |\w+'s )?[\w'-]+(?: [\w'-]+){0,4}?)(?: back)?(?: from [^,;]{1,40}?)? to (?P<value>\S.*)$"
)
_OWNED = re.compile(r"^(?P<owner>.+)'s (?P<attribute>[^']+)$")
_OF = re.compile(r"^(?P<attribute>[\w -]+?) (?:for|of) (?:the |our |User's )?(?P<thing>\S.*)$")
_ARTICLE = re.compile(r"^(?:the|our|an?) (?=\S)", re.IGNORECASE)
_VERSION = re.compile(r"\bversion (?P<value>v?\d[\w.-]*) of (?P<thing>[\w.-]+(?: [A-Z][\w.-]*)?)")
_WHEN = re.compile(
    r"^(?P<head>.{3,50}?) (?:is|starts|will be|takes place|has (?:been )?moved|was moved|is moved|is scheduled|is now|leaves|begins)"
    r" (?:now )?(?:for|at|on|to) (?P<value>\S.*)$"
)
_CALLED = re.compile(r"^Call User (?P<value>[A-Z]\w+)\b")
_CHOSE = re.compile(
    r"^(?:(?:Let's|We|We'll|We're|We will|We are|User|User will|User is|Team) )?"
    r"(?P<verb>(?:use|uses|using|go(?:ing)? with|went with|choose|chose|chosen|pick|picked|take|took|adopt|switch(?:ed)? to) )?"
    r"(?P<value>\S+(?: \S+){0,3}?) (?:for|as) (?P<own>the |our |User's )?(?P<topic>[a-z][\w'-]*(?: [\w'-]+){0,2})$"
)
_END = re.compile(
    r"(?:,? (?:and then|which|who|because|since|so|now|these days|nowadays|at the moment|currently|any ?more|any longer|instead|for now"
    r"|as of|from now|starting|after all|again|not|rather than|but|although|though|last|this|by the way|for (?:the )?(?:last|past|\d+|a)"
    r"|in (?:19|20)\d\d|with (?:User|her|his|their|a)|until|till)\b.*|\s*[;(–—].*| - .*|, (?=[a-z]).*)$"
)
_DAY = re.compile(rf"\b\d{{4}}-\d\d-\d\d\b|\b(?:{'|'.join(name for name in MONTHS if len(name) > 2)})\b", re.IGNORECASE)
_HOUR = re.compile(r"^\d{1,2}(?::\d\d|[ap]m| [ap]m| o'clock)", re.IGNORECASE)
_FIGURED = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|fifty|hundred|thousand)\b"
)
_NOBODY = frozenset(
    "we they it he she this that these those there everyone everybody nobody someone who what people team you all most some "
    "both no not one another".split()
)
_PLATFORMS = frozenset(
    "linux windows mac macos android ios iphone kubernetes docker aws azure gcp postgres mysql python rust go java vim emacs "
    "vscode slack github gitlab notion".split()
)


def slots_in(text: str, said: str = "", decides: bool = False) -> list[tuple[str, Slot]]:
    """The slots of a told text, each with the part of the text that states it. `said` is the sentence it was told from:
    what is written small there is no name."""
    if _UNSURE.search(text):
        return []
    found: list[tuple[str, Slot]] = []
    text = _BASE_FORM.sub(r"\1 \2s", text)
    for clause in _clauses(text):
        slots = _slots(clause, said, decides)
        if slots:
            found.extend(slots)
        elif not found and _MISSAID.match(clause):
            text = text[len(clause) :].lstrip(" ,;")
        elif found:  # says nothing of its own; it stays with what it was said with
            found[-1] = (f"{found[-1][0]}, {clause}", found[-1][1])
    if len(found) == 1:
        found = [(text, found[0][1])]
    return [(_FOR_NOW.sub("", told) if not slot.value.startswith(NOT) else told, slot) for told, slot in found]


# "User works for Bosch now" is, as soon as it is remembered, "User works for Bosch".
_FOR_NOW = re.compile(r",? (?:now|again|these days|nowadays|currently|at the moment|any ?more)$")
_BASE_FORM = re.compile(
    r"^(User(?: no longer)?) (live|work|speak|prefer|like|love|enjoy|hate|dislike|drink|eat|use|drive|play|own)(?= )"
)
_MISSAID = re.compile(r"^(?:Sorry, )?User (?:misspoke|was (?:wrong|mistaken)|made a mistake|got (?:it|that) wrong)$")
_PREDICATE = (
    r"(?:lives?|works?|working|is|am|are|has|have|speaks?|prefers?|likes?|loves?|enjoys?|hates?|dislikes?|moved|no longer|don't|doesn't"
    r"|drinks?|eats?|uses?|drives?|plays?)"
)
_JOINT = re.compile(
    rf",? (?:and|but) (?:also )?(?={_PREDICATE} \w)|[,;](?: and| but| so)? (?=User(?:'s|'s \w+)? \w)|,? and (?=User(?:'s \w+ (?:is|lives|works)| {_PREDICATE})\b)"
)
_SUBJECT = re.compile(rf"^(\S+(?: \S+){{0,3}}?) (?:{_ADVERBS} )*{_PREDICATE}\b")
_BENT = re.compile(
    r"^(live|work|speak|prefer|like|love|enjoy|hate|dislike|drink|eat|use|drive|play)(?= )|^(have|am|are)(?= )|^(don't)(?= )"
)


def _clauses(text: str) -> Iterator[str]:
    """The clauses of a text, each with its subject."""
    parts = _JOINT.split(text) if " and " in text or " but " in text or "," in text or ";" in text else [text]
    yield parts[0]
    leads = _SUBJECT.match(parts[0]) if len(parts) > 1 else None
    for part in parts[1:]:
        if leads and not part.startswith(USER):
            yield f"{leads[1]} {_BENT.sub(_bend, part)}"
        else:
            yield part


def _bend(match: re.Match[str]) -> str:
    if match[2]:
        return "has" if match[2] == "have" else "is"
    return "doesn't" if match[3] else f"{match[1]}s"


def _slots(clause: str, said: str, decides: bool) -> list[tuple[str, Slot]]:
    """What one clause states."""
    denied = _DENIED.match(clause)
    plain = clause
    if denied:
        plain = (
            denied["who"]
            + (f"{denied['be'] or 'is'} " if denied["be"] or denied["bent"] else "")
            + clause[denied.end() :]
        )
    told = _TOLD.match(plain)
    if told:
        who = _person(told["who"], said)
        if who:
            return list(_predicated(clause, plain, who, told, denied is not None))
    if denied:
        return []
    slot = _owned(clause, said) or (_chosen(clause) if decides else None)
    return [(clause, slot)] if slot else []


def _predicated(clause: str, plain: str, who: str, told: re.Match[str], denied: bool) -> Iterator[tuple[str, Slot]]:
    attribute = next(name for at, name in enumerate(_ATTRIBUTES) if told[f"_{at}"])
    value = _END.sub("", told["value"]).strip(" ,.!")
    if attribute == "count":
        number, attribute, *_ = value.split()
        attribute, value = named(attribute) or attribute, number
    elif attribute == "birth":
        attribute = (
            "birth year"
            if re.fullmatch(r"(?:19|20)\d\d", value)
            else "birthday"
            if _DAY.search(value)
            else "birthplace"
        )
    elif attribute == "dislikes" and denied:  # "no longer hates"
        attribute, denied = "likes", False
    elif attribute == "likes" and denied and not _BYGONE.search(clause):
        attribute, denied = "dislikes", False
    if attribute in _PLACED and not (value[:1].isupper() or not value.isascii()):
        return
    if attribute == "home" and " to" in told[0][: told.start("value")] and value.casefold() in _PLATFORMS:
        return
    if attribute in ("employer", "occupation"):
        value, other, more = _work(value, attribute)
        if more and not denied:
            text = f"{who} works {'as' if other == 'occupation' else 'at'} {more}"
            yield clause, Slot(who, attribute, value)
            yield text, Slot(who, other, more)
            return
    if not value or len(value.split()) > 8:
        return
    values = [value]
    if attribute in ("allergy", "language") and not denied:
        values = [one for one in re.split(r", (?:and )?| and ", value) if one]
        if len(values) > 1:
            lead = plain[: told.start("value")]
            for one in values:
                yield f"{lead}{one}", Slot(who, attribute, one)
            return
    yield clause, Slot(who, attribute, f"{NOT}{value}" if denied else value)


_WORK = re.compile(r"^(?P<first>.+?) (?:as|at|for) (?P<second>.+)$")
_JOB_END = re.compile(r" (?:in|on|from|with|near)\b.*$")


def _work(value: str, attribute: str) -> tuple[str, str, str]:
    """ "Siemens as a nurse" as where and what, each under its attribute."""
    both = _WORK.match(value)
    first, second = (both["first"], both["second"]) if both else (value, "")
    other = "employer" if attribute == "occupation" else "occupation"
    first = _JOB_END.sub("", _ARTICLE.sub("", first))
    second = _JOB_END.sub("", _ARTICLE.sub("", second))
    if second and other == "employer" and not second[0].isupper():
        second = ""
    return first, other, second


def _person(who: str, said: str) -> str:
    """The subject, if it is one person that can be told from others; else empty."""
    if who == USER:
        return who
    first, _, rest = who.partition("'s ")
    if rest:
        words_ = rest.split()
        name = [word for word in words_ if word[0].isupper()]
        kin = relation(words_[-1 - len(name)]) if len(words_) > len(name) else ""
        if (first == USER or _is_name(first, said)) and kin and words_[len(words_) - len(name) :] == name:
            return who if name or kin != "crowd" else ""
        return ""
    return who if _is_name(who, said) else ""


def _is_name(who: str, said: str) -> bool:
    parts = who.split()
    return (
        all(part[0].isupper() for part in parts)
        and parts[0].casefold() not in _NOBODY
        and who != "Assistant"
        and (not said or who in said)
        and bool(telling(words(who)))
    )


def _owned(clause: str, said: str) -> Slot | None:
    """A slot of the form "X's Y is Z", or of what a thing is dated, priced or numbered."""
    called = _CALLED.match(clause)
    if called:
        return Slot(USER, "form of address", called["value"])
    for pattern, attribute in () if clause.startswith("User ") else _ELSEWHERE:
        abroad = pattern.match(clause)
        if abroad:
            return Slot(USER, attribute, abroad[1].strip(" .。"))
    version = _VERSION.search(clause)
    if version:
        return Slot(version["thing"], "version", version["value"])
    stated = _IS.match(clause)
    if stated:
        slot = _attributed(stated["head"], stated["value"], bool(stated["not"]), said)
        if slot:
            return slot
    dated = _WHEN.match(clause)
    if dated:
        return _when(dated["head"], dated["value"], said)
    changed = _CHANGED.match(clause)
    if changed:
        return _attributed(changed["head"], changed["value"], False, said) or _when(
            changed["head"], changed["value"], said
        )
    return None


def _attributed(head: str, value: str, denied: bool, said: str) -> Slot | None:
    value = _END.sub("", value).strip(" ,.!")
    owned, of = _OWNED.match(head), _OF.match(head)
    if owned:
        owner, attribute = owned["owner"], named(owned["attribute"])
        person = _person(owner, said)
        if not attribute:
            kin = relation(owned["attribute"])
            if not (kin and owner == USER):
                return None
            for lead in ("called ", "named "):
                if value.startswith(lead):
                    return Slot(head, "name", value[len(lead) :])
            names = value.split()
            is_name = len(names) <= 3 and all(name[0].isupper() for name in names)
            return Slot(head, "name", value) if kin == "sole" and is_name and not denied else None
        subject = person or (owner if owner.startswith("User's ") or _is_name(owner, said) else _thing(owner, said))
        if owner.startswith("User's ") and not person and relation(owner.split()[-1]):
            return None  # one of many friends
    elif of:
        subject, attribute = _thing(of["thing"], said), named(of["attribute"])
        if not subject:
            return None
    else:
        subject, attribute = _split_head(_ARTICLE.sub("", head), said)
    if not attribute or not value or len(value.split()) > 8:
        return None
    if not (is_free(attribute) and len(value.split()) <= 4) and not _is_valued(value):
        return None
    return Slot(subject, attribute, f"{NOT}{value}" if denied else value)


def _is_valued(value: str) -> bool:
    """Whether a text has a figure or a name in it, rather than "tight" or "coming up"."""
    return (
        _FIGURED.search(value) is not None or value[0].isupper() or "@" in value or not value.isascii() or "/" in value
    )


def _split_head(head: str, said: str) -> tuple[str, str]:
    """ "Apollo launch date" as whose and what: the names at its beginning are the owner."""
    parts = head.split()
    at = 0
    while at < len(parts) - 1 and parts[at][0].isupper() and _is_name(parts[at], said):
        at += 1
    return " ".join(parts[:at]), named(" ".join(parts[at:]))


def _thing(phrase: str, said: str) -> str:
    """A thing that something is stated of; empty where it is too long or points to what was not said."""
    bare = _ARTICLE.sub("", phrase)
    parts = bare.split()
    if not parts or len(parts) > 5 or parts[0].casefold() in _NOBODY:
        return ""
    if said and bare not in said and bare[0].isupper():  # written large only because it comes first
        bare = bare[0].lower() + bare[1:]
    return bare


def _when(head: str, value: str, said: str) -> Slot | None:
    value = _END.sub("", value).strip(" ,.!")
    thing = head if head.startswith("User's ") else _thing(head, said)
    attribute = "time" if _HOUR.match(value) else "date" if _DAY.search(value) and len(value.split()) <= 4 else ""
    if not thing or thing == USER or not attribute or _person(head, said):
        return None
    return Slot(thing, attribute, value)


def _chosen(clause: str) -> Slot | None:
    """What was decided on for something: "Postgres for the backend"."""
    chose = _CHOSE.match(clause)
    if not chose:
        return None
    value, topic = _ARTICLE.sub("", chose["value"]), chose["topic"]
    outright = chose["verb"] or all(word[0].isupper() for word in value.split())
    if not outright or not telling(words(value)) or not words(topic) or (not chose["own"] and not value[0].isupper()):
        return None
    return Slot(topic, CHOICE, value)
