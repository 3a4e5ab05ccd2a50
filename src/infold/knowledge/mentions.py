"""What one message says about entities. Pure.

Only what somebody says of themselves counts: a user's tasks, goals and problems, and whom and what they speak of. An assistant
may promise something for a day, and say that something is over. Most messages say nothing of the kind: words are looked at first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date

from infold.folding.calendar import dates, day_of
from infold.folding.likeness import words
from infold.folding.proper import given, plain
from infold.knowledge.entity import KINDS, Mention
from infold.knowledge.naming import files, may_name, people, projects
from infold.messages import Message
from infold.quoting.candidate import Candidate
from infold.quoting.cues import letters_of
from infold.quoting.dates import dated, undated
from infold.quoting.sentences import sentences

_LONGEST = 160  # characters of a name
_MOST_READ = 600  # characters of a sentence
_MOST = 8  # entities of one kind in a message

_LISTS = {
    # A sentence that states something has one of these words; they are looked for before its pattern, which is slow.
    "task": "remind forget todo todos task tasks need needs have has ve got must gotta will should ll ill going erinner erinnere rappelle recuérdame lembra lembre 提醒我",
    "goal": "goal aim dream objective ambition target resolution want hope plan like trying hoping planning aiming training working ziel objectif meta 目标是",
    "problem": "broken failing crashing hanging leaking offline down stuck blocked working work load loading start boot compile respond responding connect sync turn stopped fails crashes crashed times bug leak outage regression log sign funktioniert kaputt marche fonctionne funciona 坏了 不能用",
    "past": "watered painted mowed washed installed tested translated packed planted ironed recorded done finished fixed solved resolved sorted shipped merged deployed submitted delivered sent paid booked ordered bought called rang phoned texted mailed emailed asked wrote written signed filed registered renewed returned fetched collected picked repaired replaced prepared printed uploaded measured transferred scheduled brought reviewed updated cleaned confirmed completed posted chased built made took invited applied cancelled canceled",
    "over": "works work running longer",
    "dropped": "cancelled canceled called calling call scrap scrapped ditch ditched drop dropped mind forget longer gave giving given anymore",
    # What one says one will do, or has to do, is a task with one of these; what somebody else does, only with a day.
    "chores": "ask call ring phone text mail email e-mail write send chase invite confirm book order buy pay sign file register submit renew cancel return fetch collect pick fix finish prepare print post upload repair replace deploy measure transfer deliver schedule apply bring build review redo update clean paint water mow wash install test translate pack plant iron record",
    "no task": "not never be have say admit see know think wait want like love feel",
    "reached": "learn become finish run lose gain quit stop save build write publish launch start open own move pass reach improve win graduate lower raise grow earn retire master swim climb qualify reduce adopt",
    "before a day": "by due on before until for the this next end of in day days after tomorrow today tonight noon week weeks month morning afternoon evening monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun",
    "empty": "back again thing something anything everything up off out soon later then here there lunch weekend one two three four five six",
}
_WORDS = {name: frozenset(listed.split()) for name, listed in _LISTS.items()}
_EMPTY = words(f"{_LISTS['before a day']} {_LISTS['empty']}")
_OF_ASSISTANT = _WORDS["past"] | _WORDS["over"] | {"ll", "will"}
_ENDING = _WORDS["past"] | _WORDS["over"] | _WORDS["dropped"]
_OF_USER = _ENDING.union(_WORDS["task"], _WORDS["goal"], _WORDS["problem"])
_HAN_SIGNS = tuple(sorted(sign for sign in _OF_USER if sign[0] >= "一"))
_CLAUSE = r"(?:^|(?<=[,;:–—.(] )|(?<=\band )|(?<=\bbut )|(?<=\bso )|(?<=\bthen ))(?:(?:ok|okay|oh|and|so|but|also|then|yes|btw|well|please)\b[,.:!–-]* )*"
_ALSO = r"(?: (?:still|also|really|now|then|just|definitely|finally|probably|only|both))*"
_PAST = _LISTS["past"].replace(" ", "|")
_PATTERNS = {
    "task": (
        rf"(?i){_CLAUSE}(?:(?P<asked>(?:(?:can|could|will|would) you )?(?:please )?remind (?:me|us)(?: again)? (?:to|about)|(?:do not|don'?t) let (?:me|us) forget (?:to|about)|(?:todo|task)s?(?::| -)"
        r"|erinner\w* mich (?:daran|an)|rappelle-moi d(?:e |')|recuérdame|me lembr[ae] de)|(?:(?P<who>I|we|(?-i:[A-Z][\w'-]*\w))|(?<!\w )(?<!\w))"
        rf"(?:{_ALSO} ?(?:needs? to|ha(?:ve|s) to|(?:'ve |have |has )?got to|must|gotta|will|should)|(?:'|(?<=\bi))ll\b|(?:'m|'re|'s| am| are| is) going to)){_ALSO} (?P<what>\S.*)|提醒我(?P<zh>.+)"
    ),
    "goal": (
        rf"(?i){_CLAUSE}(?:(?:my|our|the)(?: \w+){{0,2}} (?:goal|aim|dream|objective|ambition|target|resolution)(?: for [\w ]{{2,20}}?)?(?: is|:)(?: now| still)?(?: to)?|goal:(?: to)?"
        rf"|(?:I|we)(?:'m| am|'re| are|'d| would)?{_ALSO} (?:want|hope|aim|plan|like|trying|hoping|planning|aiming|training|working) (?:to|towards?)(?= (?P<reach>\w+))"
        r"|(?:mein|unser) ziel ist(?: es)?,?|(?:mon|notre) objectif est d(?:e|')|mi meta es|(?:minha|nossa) meta é) ?(?P<what>\S.*)|目标是(?P<zh>.+)"
    ),
    "problem": (
        r"(?i)\b(?:is|are|'s|keeps?|has been)(?: (?:still|again|now|always|constantly))* (?:broken|failing|crashing|hanging|leaking|offline|down(?= again| since|[.,!]|$))\b|\b(?:am|'m|are|'re|still) stuck (?:with|on)\b|\bblocked by\b"
        r"|(?:n't|\bnot) (?:work(?:ing)?|load(?:ing)?|start|boot|compile|respond(?:ing)?|connect|sync|turn on)(?= anymore|[.,!?]|$| since| again| when| after)|\bstopped (?:working|responding|loading)\b"
        r"|(?<!never )(?<!longer )\b(?:fails|crash(?:es|ed)|times out)(?: (?:again|with|on|when|every|after|whenever)\b|[.,!?]|$)|\b(?:there(?:'s| is)|we have|i have) (?:a|an|another) (?:\w+ )?(?:bug|leak|outage|regression)\b"
        r"|\bi (?:can't|cannot) (?:log in|sign in|connect)\b|\bfunktioniert nicht\b|\bist kaputt\b|\bne (?:marche|fonctionne) (?:pas|plus)\b|\b(?:no|não) funciona\b|坏了|不能用"
    ),
    "over": (
        rf"(?i){_CLAUSE}(?:(?:good news|done|update)[,:!.–— -]+)*(?:(?!(?:not?|to|the|an?)\b)[\w-]+)?(?:'ve| have| has|'s)?(?: (?:already|just|finally|now|also))* ?\b(?:{_PAST})\b"
        rf"|\b(?:is|are|'s|was|were|got|been|all)(?: (?:now|all|finally|already|just))* (?:{_PAST})\b|\bworks?(?: \w+)? (?:again|now)\b|\bup and running\b|\bno longer (?:fails?|crash(?:es)?|broken|stuck|blocked|hangs|leaks)\b"
    ),
    "dropped": r"(?i)\b(?:cancel+ed|call(?:ed|ing)? off|scrap(?:ped)?|ditch(?:ed)?|dropped|drop (?:the|that|it)|never ?mind|(?<!n't )(?<!not )(?<!me )forget (?:about|the)|no longer (?:needs?|wants?|necessary|going)|gave up|given up|giving up|(?:don't|won't|not) [^.]*any ?more)\b",
    "unreal": r"(?i)\b(?:if|unless|in case|once|until|whether|would|could|should|might|may|said|says|told|suppose|used to|was|were|how (?:do|to))\b",
    "denied": r"(?i)\b(?:not|until|once|if|when|as soon as|will|should|to be|almost|nearly|half|needs?|must|have to|want)\b|n't\b|'ll\b|\basked .*\bto\b",
    "ends": r",? (?:because|since|so that|but|otherwise|if|unless|while|when|which|that's|thats|though)\b|[;–—，。；]|, (?:so|and|then|I|we|he|she|they|it|that)\b| \((?!\d+ \w{3} \d{4}\))|(?<=\w): | so (?:I|we|that)\b",
    "parts": r"(?=[,;:.–—(] | and | but | because | since | if | unless | when | while | until | once | as soon )",
}
_SAYS = {name: re.compile(pattern) for name, pattern in _PATTERNS.items()}
_BEFORE_DAY = re.compile(rf"(?i)[(,:]*(?:{_LISTS['before a day'].replace(' ', '|')}|\d+(?:st|nd|rd|th))[,:]*")
_SEVERAL = re.compile(r"\d (?:or|and|to|–|-) $")


def read(message: Message, candidates: Sequence[Candidate], chat: str) -> list[Mention]:
    """What a message says about entities, one mention of each, all linked; `candidates` are those that were read from it: what
    they call borrowed is nobody's own. A sentence that says only that something is over is of no kind; `resolve` finds what."""
    text, by_user = message.text, message.role == "user"
    if not by_user and message.role != "assistant":
        return []
    signs = _signs(text)
    stated = not signs.isdisjoint(_OF_USER if by_user else _OF_ASSISTANT)
    whom, what = may_name(text, signs) if by_user else (False, False)
    if not (stated or whom or what):
        return []
    borrowed = [place for one in candidates if one.borrowed for place in one.places if place.seq == message.seq]
    found: list[Mention] = []
    for start, end in sentences(text):
        if any(place.start <= start and end <= place.end for place in borrowed):
            continue
        sentence = " ".join(text[start : min(end, start + _MOST_READ)].split()).replace("’", "'")
        found += _stated(sentence, message) if stated else ()
        found += [Mention("person", name) for name in (people(sentence) if whom else ())]
        found += [Mention("project", name) for name in (projects(sentence) if what else ())]
        found += [Mention("file", name) for name in (files(sentence) if what else ())]
    return _linked(found, message, chat)


def _linked(found: Sequence[Mention], message: Message, chat: str) -> list[Mention]:
    """One mention of each entity of a message, with what else is said there."""
    every: dict[tuple[str, str], Mention] = {}
    for one in found:
        known = every.get((one.kind, one.key), one)
        every[one.kind, one.key] = replace(known, status=one.status or known.status, due=one.due or known.due)
    kept = [one for kind in (*KINDS, "") for one in [one for one in every.values() if one.kind == kind][:_MOST]]
    names = sorted({one.name for one in kept if one.kind})
    at, seq, id = message.created_at, message.seq, message.id
    linked = ((one, tuple(name for name in names if one.kind and name != one.name)) for one in kept)
    return [replace(one, links=links, at=at, chat=chat, seq=seq, id=id) for one, links in linked]


def _signs(text: str) -> set[str]:
    """The words of a text; of one in Chinese, the signs it has."""
    found = set(letters_of(text.lower()))
    return found if text.isascii() else found.union(sign for sign in _HAN_SIGNS if sign in text)


def _stated(sentence: str, message: Message) -> Iterator[Mention]:
    """The task, the goal or the problem a sentence states, or else what it says is over."""
    signs, by_user, asks = _signs(sentence), message.role == "user", sentence.endswith(("?", "？"))
    found = None if signs.isdisjoint(_WORDS["task"]) else _task(sentence, message, asks)
    if by_user and not (asks or found or signs.isdisjoint(_WORDS["goal"])):
        found = _goal(sentence, message)
    if by_user and not (asks or found or signs.isdisjoint(_WORDS["problem"])):
        broken = _SAYS["problem"].search(sentence) and not _SAYS["unreal"].search(sentence)
        found = _told("problem", sentence, "open") if broken else None
    if found:
        yield found
        if found.owner and (found.owner == message.name or plain(found.owner) in given()):
            yield Mention("person", found.owner)
    elif not (asks or signs.isdisjoint(_ENDING)):
        for part in _SAYS["parts"].split(sentence):
            drops = by_user and _SAYS["dropped"].search(part) and not _SAYS["unreal"].search(part)
            over = drops or (_SAYS["over"].search(part) and not _SAYS["denied"].search(part))
            if over and (told := _told("", part, "dropped" if drops else "done")):
                yield told


def _task(sentence: str, message: Message, asks: bool) -> Mention | None:
    """The first task a sentence states: a chore of the user's, or what anybody has to do by some day."""
    by_user = message.role == "user"
    if _SAYS["task"].search(sentence) is None:
        return None
    for match in _SAYS["task"].finditer(dated(sentence, message.created_at)):
        asked, who = match["asked"] or match["zh"], (match["who"] or "I").lower()
        own = who in ("i", "we")
        if (asks and not asked) or not (by_user if asked else own or (by_user and plain(who) in given())):
            continue
        due, what = _due(match["what"] or match["zh"], message.created_at)
        verb, _, rest = what.lower().partition(" ")
        firm = (due or (by_user and own and verb in _WORDS["chores"])) and verb not in _WORDS["no task"] and _says(rest)
        if (asked or firm) and not _SAYS["unreal"].search(match.string, 0, match.start()):
            speaker = (message.name or "User") if by_user else "Assistant"
            return _told("task", what, "open", due, "" if who == "we" else speaker if own else match["who"])
    return None


def _goal(sentence: str, message: Message) -> Mention | None:
    """What a sentence says that the user wants to reach."""
    match = _SAYS["goal"].search(dated(sentence, message.created_at)) if _SAYS["goal"].search(sentence) else None
    if match is None or (match["reach"] and match["reach"].lower() not in _WORDS["reached"]):
        return None
    due, what = _due(match["what"] or match["zh"], message.created_at)
    return _told("goal", what, "open", due) if match["zh"] or _says(what.partition(" ")[2]) else None


def _says(rest: str) -> bool:
    """Whether the words behind a verb say what it is done to."""
    return bool(words(rest.partition(",")[0]) - _EMPTY) and not rest.startswith(("it ", "that "))


def _told(kind: str, name: str, status: str, due: str = "", owner: str = "") -> Mention | None:
    name = name.strip(" ,;:.!?–—-(。！？")
    if not words(name) or (kind and len(name) > _LONGEST):
        return None
    return Mention(kind, (name[:1].upper() + name[1:])[:_LONGEST], status, due, owner)


def _due(text: str, at: int) -> tuple[str, str]:
    """The one day that the first clause of a text names, as an ISO date, and the clause without it; none where it names two."""
    end = _SAYS["ends"].search(text, 1)
    text = text[: end.start()] if end else text
    found = [(one, _coming(one.days[0], at)) for one in dates(text) if len(one.days) == 1]
    due = found[0][1] if len({day for _, day in found}) == 1 and not _SEVERAL.search(text[: found[0][0].start]) else ""
    for one, _ in reversed(found) if due else ():
        before = text[: one.start].rstrip("( ").split(" ")
        while before and _BEFORE_DAY.fullmatch(before[-1]):
            before.pop()
        text = f"{' '.join(before)} {text[one.end :].lstrip(')').removeprefix(' at the latest')}"
    return due, " ".join(undated(text).split())


def _coming(day: tuple[int, int, int], at: int) -> str:
    """A day as an ISO date; one without a year is the next such day."""
    year, month, number = day
    said = day_of(at)
    try:
        if not year and said:
            year = said.year + (date(said.year, month, number) < said)
        return date(year, month, number).isoformat()
    except ValueError:
        return ""
