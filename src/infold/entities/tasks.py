"""Tasks and goals as people state them: who has to do what. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from infold.entities.naming import is_given, people
from infold.folding.likeness import words

_CLAUSE = r"(?:^|(?<=[,;:–—] )|(?<=\band )|(?<=\bbut )|(?<=\bso ))(?:(?i:ok|okay|oh|and|so|but|also|then|yes|yeah|right|btw|well|anyway|please|first|next)\b[,.:!–-]* )*"
_ALSO = r"(?: (?:still|also|really|now|then|just|definitely|finally|probably|only|both|all))*"
_TASK = re.compile(
    rf"{_CLAUSE}(?:"
    r"(?P<asked>(?i:(?:(?:can|could|will|would) you )?(?:please )?remind (?P<whom>me|us|[\w'-]+)(?: again)? (?:to|about|that)"
    r"|(?:please )?(?:don't|do not) (?:let (?:me|us) )?forget (?:to|about)|(?P<listed>to-?do|task|action item|next step)s?(?::| -)))"
    rf"|(?P<who>(?i:I|we)|[A-Z][\w'-]*[a-z](?: [A-Z][\w'-]*[a-z])?)?{_ALSO} ?(?:"
    r"(?P<must>(?i:needs? to|ha(?:ve|s) to|(?:'ve|'s|have|has)? ?got to|must|gotta"
    r"|(?:'ve |have |has )?promised(?: [\w'-]+){0,2}? (?:to|(?:that )?(?:I|we)(?:'d|'ll| would| will))))"
    r"|(?i:will|'ll|shall|should|(?:'m|am|'re|are|'s|is) (?:going|supposed|planning) to|plans? to|(?:is|am|are) to)))"
    rf"{_ALSO} (?P<what>.+)"
)
# Words of which a sentence that states a task has one; some of them only before "to".
_SIGNS = frozenset(
    "remind forget todo todos do dos task tasks action next gotta must promised will ll shall should".split()
)
_BEFORE_TO = frozenset("need needs has have got going supposed planning plan plans is am are".split())
_TOKEN = re.compile(r"\w+")
# Said of what may be, not of what is to be done.
_UNREAL = re.compile(r"\b(?:if|unless|in case|when|once|until|whether|would|could|might)\b", re.IGNORECASE)
# What one has to do without its being a task; "I must not" is a rule.
_NO_TASK = frozenset(
    "not never be have say admit see know think wonder mention stop wait live stay keep need want like love miss hate feel believe "
    "agree sleep no always".split()
)
_NO_GOAL = frozenset("know hear see say ask tell mention add point proceed be have make".split())
# "I'll" is a promise only with one of these, or with a day.
_CHORES = frozenset(
    "ask call ring phone text mail email e-mail write send reply tell talk speak chase remind invite check confirm book order buy pay "
    "sign file register submit renew cancel return bring pick fetch collect fix finish review prepare print post upload update clean "
    "paint repair replace deploy merge test draft apply visit schedule arrange organise organize measure transfer sell deliver scan "
    "install water wash".split()
)
_EMPTY = words(
    "back again thing something anything everything up off out soon later then tonight tomorrow today morning lunch week"
)
_ENDS = re.compile(
    r",? (?:because|since|so that|but|otherwise|if|unless|while|when|which|that's|thats)\b|[;–—]|, (?:so|and|then|I|we|he|she|they|it)\b| \(|\)(?=,)|(?<=\w): "
)
_AIM = re.compile(
    rf"{_CLAUSE}(?i:(?:(?:I|we)(?:'m| am|'re| are|'d| would)?{_ALSO}"
    r" (?:want|hope|aim|plan|intend|dream|wish|try|trying|hoping|planning|aiming|working|determined|like|love) (?:to|of|towards?)"
    r"|(?:my|our|the)(?: \w+){0,2} (?:goal|aim|dream|objective|ambition|target|resolution|plan|mission)(?: for [\w ]{2,20}?)?(?: is| remains|:)(?: now| still)?(?: to)?"
    r"|goal:(?: to)?)) (?P<what>.+)"
)


class Task(NamedTuple):
    """What somebody has to do."""

    what: str
    who: str
    """As it is said: a name, or "I" for who speaks; empty where it is not one person."""
    firm: bool
    """Whether it is a task without a day, too."""


def may_be_task(low: str) -> bool:
    """Whether a sentence in small letters has a word that states a task: most have none."""
    words = _TOKEN.findall(low)
    return not _SIGNS.isdisjoint(words) or ("to" in words and not _BEFORE_TO.isdisjoint(words))


def task_in(said: str) -> Task | None:
    """The first task a sentence states; a question states none, but for a request to be reminded."""
    at = 0
    while match := _TASK.search(said, at):
        at = match.start("what")
        what = clause(match["what"])
        verb, _, rest = what.partition(" ")
        asked = match["asked"] is not None
        if _UNREAL.search(said, 0, match.start()) or (said.endswith("?") and not match["whom"]):
            continue
        who = "" if match["listed"] else _owner(match["whom"] or match["who"] or "I")
        if who is not None and words(what if asked else rest) - _EMPTY and (asked or verb.lower() not in _NO_TASK):
            return Task(what, who, bool(asked or match["must"] or verb.lower() in _CHORES))
    return None


def goal_in(said: str) -> str:
    """What a sentence says that somebody wants to reach; empty where it says none."""
    found = None if said.endswith(("?", "？")) else _AIM.search(said)
    what = clause(found["what"]) if found else ""
    verb, _, rest = what.partition(" ")
    return what if words(rest) - _EMPTY and verb.lower() not in _NO_GOAL else ""


def clause(text: str) -> str:
    """The first clause of a text."""
    end = _ENDS.search(text, 1)
    return text[: end.start()] if end else text


def _owner(who: str) -> str | None:
    """Who is meant by a subject: somebody, not something."""
    if who.lower() in ("i", "me"):
        return "I"
    if who.lower() in ("we", "us"):
        return ""
    return who if is_given(who) and people(f"{who} said") else None
