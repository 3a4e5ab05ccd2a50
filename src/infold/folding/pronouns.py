"""Who or what a line means by "she", "he", "it" or "they", where only one can be meant. Pure.

The name comes from the words right before: the same sentence, or the two sentences before it; `across` looks for it in
earlier messages. Where two could be meant, or nobody is known for sure, a line stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from infold.folding.judge import small

_WOMEN = "sister|mother|mum|mom|daughter|wife|girlfriend|aunt|niece|grandma|grandmother|landlady|granddaughter"
_MEN = "brother|father|dad|son|husband|boyfriend|uncle|nephew|grandpa|grandfather|grandson"
_HELPERS = "doctor|dentist|vet|nurse|therapist|surgeon|midwife"  # who come up because of somebody else
_ANYBODY = (
    "boss|manager|colleague|neighbou?r|friend|partner|cousin|accountant|lawyer|landlord|plumber|electrician|teacher|tutor|client"
    "|supervisor|trainer|coach|architect|designer|developer|photographer|caterer|builder|contractor|intern|roommate|flatmate"
    f"|professor|editor|painter|gardener|cleaner|babysitter|carpenter|baker|{_HELPERS}"
)
_SOMEBODY = re.compile(rf"\b(?:{_WOMEN}|{_MEN}|{_ANYBODY})\b", re.IGNORECASE)
_PERSON = re.compile(
    rf"\b(?P<whose>[Mm]y|[Oo]ur|[Tt]he|[Aa]n?) (?P<more>(?:(?!and\b|or\b)[a-z-]+ ){{0,2}}?)(?P<role>{_WOMEN}|{_MEN}|{_ANYBODY})\b"
    r"(?P<of>'s\b(?! name))?(?:(?:,? | is (?:called|named) |,? called |,? named |'s name is )(?P<name>[A-Z][a-zà-ÿ]+)\b)?"
)
_IS_ONE = re.compile(r"\b(?:is|was|be|as) $")  # "Jonas is my brother" speaks of one person

_NAME = re.compile(r"[A-Z][a-zà-ÿ]+(?:[ -][A-Z][a-zà-ÿ]+)*")
_TITLES = frozenset("mr mrs ms dr prof".split())
_LEAD = re.compile(r"(?:^|\s)([\w']+) $")
_PLACED = frozenset("in at near via around".split())  # what follows is a place
_MET = frozenset(
    "with asked ask told tell call met meet meeting invited invite remind reminded thank thanked hired hire texted "
    "text emailed email phoned phone rang ring pay paid owe saw see married visit visited said says that because".split()
)
_UNSURE = frozenset("to from of the a an this that my our on through into called named not isn't".split())
_SPOKEN = re.compile(
    r"\b(?:talk|talked|spoke|speak|spoken|wrote|write|gave|give|promised|lent|explained) (?:\w+ ){0,3}to $|\b(?:heard|hear) (?:back )?from $"
    r"|\b(?:[Ii]|[Ww]e) (?:just )?called $"
)
_DOES = re.compile(
    r"'ll | (?:is|was|will|has|had|can|can't|could|would|must|should|needs|wants|wanted|said|says|asked|told|thinks|prefers|likes"
    r"|loves|hates|lives|works|called|calls|wrote|agreed|promised|offered|texted|phoned|rang|replied|confirmed|joined|just|also"
    r"|now|still|won't|doesn't|didn't|isn't|wasn't)\b"
)
_CALENDAR = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september "
    "october november december easter christmas english german french spanish italian chinese user assistant".split()
)

_FIRST = re.compile(r"(?:(?:Now|As|Then|Because) )?(?P<pronoun>(?P<she>[Ss]he|[Hh]er)|(?P<he>[Hh]e|[Hh]is))\b")
_ANY = re.compile(r"\b(?P<pronoun>(?P<she>she|hers?)|(?P<he>he|him|his))\b", re.IGNORECASE)
_NO_NOUN = r"(?!(?:to|on|in|at|by|for|from|with|about|and|or|but|if|when|before|after|until|that|the|a|an|it|this|next|my|our|\d+)\b)"
_OWNS = re.compile(rf" {_NO_NOUN}\w")
_HAS_DONE = re.compile(
    r"(?:been|got|had|moved|changed|stopped|started|finished|booked|decided|agreed|promised|asked|switched|quit|left|become|joined|lost|found) "
)

# "It": what the sentence before is about, or what it says was got.
_THING = r"(?P<thing>(?:[a-z][\w-]* ){0,2}?[a-z][\w-]*)"
_ENDS = r"(?= (?:is|are|was|were|has|have|had|will|must|should|can|can't|won't|needs?|costs?|comes?|came|arrives?|arrived|broke|got|for|from|in|on|at|by|with|today|yesterday|last|this|next)\b|[.!]|$)"
_SUBJECT = re.compile(rf"(?P<whose>The|My|Our) {_THING}{_ENDS}")
_GOT = re.compile(
    rf"\b(?:bought|ordered|booked|rented|signed|sold|returned|received|got|installed|picked up|found|lost) (?P<whose>the|my|our|an?) {_THING}{_ENDS}"
)
_THINGS = re.compile(r"\b(?:the|my|our|an?|this|that|his|her|their) [a-z]", re.IGNORECASE)
_IT = re.compile(
    r"(?P<it>It|They|This one)(?P<rest>(?: (?:also |now |still |always |only )?(?:is|was|are|were|must|has to|have to|had to|needs?|should"
    r"|shouldn't|can't|cannot|can only|mustn't|won't|will|costs?|weighs?|expires?|belongs?|runs|uses|ships|arrives?|opens|closes|starts"
    r"|ends)\b|'s |'ll |'re ).*)"
)
# "It is clear that", "it was raining", "it's my turn to": nothing is meant.
_MEANS_NOTHING = re.compile(
    r"(?:'s| is| was| will be|'ll be)(?: \w+)? (?:that|to|clear|true|time|raining|snowing|cold|hot|worth|important|easy|hard|nice|good|better"
    r"|best|fine|ok|okay|up to|likely|possible|a (?:pity|shame|pleasure)|been|all|just|so|too|not|like|what|why|how|when|where|because"
    r"|about|un\w+ (?:who|what|when|where|whether|if|how)|on [A-Z]\w+|[A-Z]\w+'s (?:turn|job|task|aim|goal|plan|dream|wish|ambition|intention)"
    r"|\w+day)\b"
)


def named(line: str, said: str, before: Sequence[str], speaker: str) -> tuple[str, bool]:
    """A line with the name of whom its first pronoun means, where that is clear; and whether nobody was named so far, so that
    an earlier message may tell.

    `said` is the sentence it was made of, `before` what was said right before it.
    """
    pronoun = unnamed(line, speaker)
    if pronoun is None:
        return line, False
    own = _ANY.search(said)
    people = people_in((*before[-2:], said[: own.start()] if own else said), pronoun, speaker)
    if people and len(people) == 1:
        return put(line, pronoun, *people.values()), False
    return line, people == {} and len(before) < 2


def unnamed(line: str, speaker: str) -> re.Match[str] | None:
    """The first pronoun of a line, where the line names nobody before it."""
    pronoun = _FIRST.match(line) or (_ANY.search(line) if line.startswith((f"{speaker} ", "Remind ")) else None)
    if pronoun is None:
        return None
    head = line[: pronoun.start("pronoun")]
    return None if _SOMEBODY.search(head) or names_in(head, speaker) else pronoun


def people_in(texts: Sequence[str], pronoun: re.Match[str], speaker: str) -> dict[str, str] | None:
    """Everybody whom a pronoun may mean among those that some texts speak of; None where that cannot be told."""
    found: dict[str, str] = {}
    for text in texts:
        people = _people(text, _WOMEN if pronoun["he"] else _MEN, speaker)
        if people is None:
            return None
        found |= people
    return found


def thing_named(line: str, before: Sequence[str], speaker: str) -> tuple[str, bool]:
    """A line with the name of what its "it" or "they" means, where that is clear; and whether nothing was said before it."""
    pronoun = _IT.match(line)
    if pronoun is None or _MEANS_NOTHING.match(pronoun["rest"]):
        return line, False
    if not before:
        return line, True
    thing = thing_in(before[-1], pronoun, speaker)
    return (put_thing(thing, pronoun) if thing else line), False


def unnamed_thing(line: str) -> re.Match[str] | None:
    """The "it" or "they" that a line begins with."""
    return _IT.match(line)


def thing_in(text: str, pronoun: re.Match[str], speaker: str) -> str:
    """What a pronoun means of a text that speaks of one thing; empty where that cannot be told."""
    match = _SUBJECT.match(text) or _GOT.search(text)
    if match is None or len(_THINGS.findall(text)) > 1 or mentions_people(text, speaker):
        return ""
    noun = match["thing"].rpartition(" ")[2]
    many = noun.endswith("s") and not noun.endswith(("ss", "us", "is"))
    if many != (pronoun["it"] == "They") or noun.endswith(("ing", "ed", "ly", "one", "thing")):
        return ""
    return _belonging(match["whose"], match["thing"], speaker)


def mentions_things(text: str) -> bool:
    """Whether a text speaks of anything that "it" could mean."""
    return _THINGS.search(text) is not None


def mentions_people(text: str, speaker: str) -> bool:
    """Whether a text speaks of anybody, or of what may be somebody's name."""
    return _SOMEBODY.search(text) is not None or bool(names_in(text, speaker))


def roles_in(text: str) -> set[str]:
    """What people are called in a text who are not named: "sister", "plumber"."""
    return {role.lower() for role in _SOMEBODY.findall(text)}


def _people(text: str, others: str, speaker: str) -> dict[str, str] | None:
    """Everybody a text speaks of who is not one of the `others`; None where that cannot be told."""
    found: dict[str, str] = {}
    for match in _PERSON.finditer(text):
        role = match["role"]
        if match["of"] or (re.fullmatch(_HELPERS, role) and match["whose"].lower() != "my"):
            return None  # somebody's somebody
        if re.fullmatch(others, role) or _IS_ONE.search(text[: match.start()]):
            continue
        name = match["name"] or _belonging(match["whose"], f"{match['more']}{role}", speaker)
        found[match["name"] or role] = name
    for name, sure in names_in(text, speaker).items():
        if not sure:
            return None
        found[name] = name
    return found


def _belonging(whose: str, thing: str, speaker: str) -> str:
    return {"my": f"{speaker}'s ", "our": "our "}.get(whose.lower(), "the ") + thing


def names_in(text: str, speaker: str) -> dict[str, bool]:
    """Names that may be a person's, each with whether it can hardly be anything else."""
    introduced = {match["name"] for match in _PERSON.finditer(text)}
    found: dict[str, bool] = {}
    for match in _NAME.finditer(text):
        name, start, end = match[0], match.start(), match.end()
        first = re.split("[ -]", name)[0].lower()
        if name == speaker or name in introduced or first in _CALENDAR:
            continue
        lead = _LEAD.search(text[:start])
        word = lead[1].lower() if lead else ""
        if (first in small() and not word) or word in _PLACED:
            continue  # what every sentence begins with, or a place
        sure = word in _MET or _SPOKEN.search(text[:start]) is not None
        sure = sure or (word not in _UNSURE and _DOES.match(text, end) is not None)
        sure = first in _TITLES or (sure and first not in small())
        several = word in ("and", "or") or text.startswith((" and ", " or ", "'s", ", "), end)
        found[name] = found.get(name, True) and sure and not several
    return found


def put(line: str, pronoun: re.Match[str], name: str) -> str:
    """The line with a name in the pronoun's place."""
    word, rest = pronoun["pronoun"].lower(), line[pronoun.end("pronoun") :]
    if word in ("his", "hers") or (word == "her" and _OWNS.match(rest)):
        name = f"{name}'s"
    elif word in ("he", "she"):
        rest = _written(rest)
    return _begun(line[: pronoun.start("pronoun")], name, rest)


def put_thing(thing: str, pronoun: re.Match[str]) -> str:
    """The line of a pronoun with a thing in its place."""
    return _begun("", thing, _written(pronoun["rest"]))


def _written(rest: str) -> str:
    """What follows a pronoun, with the verb that was drawn together with it written out."""
    for short, full in (("'ll ", " will "), ("'re ", " are ")):
        if rest.startswith(short):
            return full + rest[len(short) :]
    if rest.startswith("'s "):
        return (" has " if _HAS_DONE.match(rest, 3) else " is ") + rest[3:]
    return rest


def _begun(head: str, name: str, rest: str) -> str:
    if not head:
        name = name.removeprefix("the ")
        name = name[:1].upper() + name[1:]
    return f"{head}{name}{rest}"
