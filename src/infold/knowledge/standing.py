"""What is known of people in all their chats: which lines, in what order, and by which words they are found. Pure."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from infold.lines.line import MOST, PERSON, STANDING, Line, is_standing
from infold.lines.merging import is_vital_line, said_of
from infold.quoting.replacing import resolve
from infold.quoting.telling import stem, telling

if TYPE_CHECKING:
    from infold.ledger.stated import Held
    from infold.quoting.candidate import Candidate

VITAL = 10_000
"""Added to the rank of health, safety and law: they come first."""
KNOWN, FAINT = 450, 350
"""The least score for standing of what is known elsewhere, and of what is so where a question is near to it."""
_HINTS = 10
"""Words by which a line is found."""
_READ = 2000
"""Characters of a question that are read."""

_RARE, _PLAIN, _TOPIC, _FEW = 4, 2, 1, 3
"""What words and topics in common count, and how many lines a rare word is in."""

_TOPICS = {
    "food": """eat food meal dinner lunch breakfast brunch supper dessert cook cooking recipe restaurant dish snack vegetarian vegan
        nut peanut gluten lactose dairy milk meat beef pork fish seafood shellfish sugar spicy drink coffee tea wine beer alcohol taste bake
        menu hungry cake cuisine diet kosher halal cheese egg bread fruit vegetable chicken rice pasta soup salad cilantro garlic onion mushroom
        celiac coeliac grill barbecue picnic kitchen serve starving feast groceries grocery ingredient""",
    "health": """allergy allergic allergies diabetic diabetes asthma medicine medication doctor pill sick ill illness pain health danger dangerous
        pregnant knee hearing deaf blind wheelchair migraine blood injury exercise safe unsafe disease condition therapy sleep insomnia harm harmful
        poison celiac coeliac intolerant anxiety inhaler epipen hospital hurt gym workout run yoga fitness nurse vision eyesight glasses dizzy""",
    "time": """morning evening noon night early late wake clock hour schedule meeting appointment weekend weekday calendar available busy routine
        monday tuesday wednesday thursday friday saturday sunday afternoon midnight deadline shift sleep awake bed alarm pm am oclock call""",
    "place": """live living city home town country address move moved flat house apartment located neighborhood neighbourhood based hometown street
        region village where local district relocate resident weather timezone zone berlin london paris""",
    "money": """budget cost price pay payment spend afford cheap expensive euro dollar pound money salary rent save saving limit currency cent fee bill
        invoice tip cash tax gift present purchase buy income earn""",
    "family": """wife husband son daughter kid child children mother father mum mom dad partner family brother sister parent married birthday relative
        twin baby niece nephew uncle aunt grandmother grandfather fiancee girlfriend boyfriend toddler teenager marriage relation spouse""",
    "work": """job work working boss company office employer career profession colleague team engineer teacher nurse employed occupation business
        freelance manager industry client project living code programming""",
    "pets": "dog cat pet animal hamster rabbit puppy kitten vet bird parrot fur furry feed walk horse creature companion",
    "travel": """trip travel flight fly flying hotel seat train airport vacation holiday plane drive driving journey aisle window luggage visit
        transport bus ferry car ride commute bike cycle route accommodation book""",
    "style": """answer reply respond response emoji tone formal short brief concise long bullet list language format write writing text message jargon
        explain explanation swear style sentence wording email mail draft paragraph markdown exclamation headline chatty casual polite english german
        french spanish summary summarize icon smiley symbol speak talk tell""",
    "name": "name call called nickname address greet pronoun refer introduce",
    "learn": "learn study course exam language practice lesson teach school university degree class student",
    "play": "hobby sport music band song guitar piano game play watch film movie read book series team football tennis chess garden weekend fun spare",
}  # fmt: skip
_TOPICS_OF: dict[str, tuple[str, ...]] = {}
for _topic, _words in _TOPICS.items():
    for _word in dict.fromkeys(stem(word) for word in _words.split()):
        _TOPICS_OF[_word] = (*_TOPICS_OF.get(_word, ()), f" {_topic}")

_PERSON = frozenset((" food", " health", " family"))
_SECRET = re.compile(
    r"\b(?:sk|pk|rk)[-_][\w-]{8,}|\bgh[opsu]_\w{16,}|\bgithub_pat_\w+|\bglpat-[\w-]{12,}|\bxox[abps]-[\w-]+|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}"
    r"|\beyJ[\w-]{10,}\.[\w-]+|-----BEGIN [A-Z ]*PRIVATE KEY|\bBearer [\w.~+/-]{12,}|\b[a-f0-9]{32,}\b"
    r"|\b(?:password|passwd|passcode|passphrase|pass ?phrase|pwd|passwort|kennwort|mot de passe|contraseña|senha|密码|api[- _]?key|access key|cvv|cvc"
    r"|account (?:number|no\.?)|kontonummer|iban|routing number|sort code|social security|ssn|tan|otp|recovery (?:code|phrase)|seed phrase|security (?:code|answer|question))\b"
    r"|\b(?:secret|token|pin|pin code|pin number)(?: for [\w ]{1,30})? ?(?:is|was|:|=)"
    r"|\b(?:code|combination|login|credentials|passport|licen[cs]e|card|account|konto|compte|cuenta|conta)\b[^.!?]{0,40}?\d{3,}"
    r"|\b(?:\d[ -]?){13,19}\b|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b|\b\d{3}-\d{2}-\d{4}\b|\b\d{8,12}\b",
    re.IGNORECASE,
)


def is_secret(text: str) -> bool:
    """Whether words may hold a key, a password, or the number of a card or an account: they never leave their chat."""
    return _SECRET.search(text) is not None


_LASTING = re.compile(
    r"\b(?:always|never|ever|from now on|in future|in general|generally|every|whenever|anything|any ?more|usually|all my|i prefer|i like|i love|i hate"
    r"|i['’]?m|i am|we['’]?re|we are|my name|call me|i (?:do not|don['’]?t|can['’]?t|cannot|only|live|work|have|use|take|drive|speak|eat|drink|cook|read|wear)"
    r"|immer|nie|niemals|toujours|jamais|siempre|nunca|sempre)\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|hi|hey|hello|so|and|now|then|right|also|please|pls|plz|just|well|good|thanks|first|next|btw)\b[ ,.!:]*)*"
    r"(?:(?:can|could|will|would) (?:you|u)|help me|(?:i|we) (?:need|want|would like|have to|must|am looking|['’]?m looking)|i['’]d like|let['’]?s|do a|need|looking for"
    r"|(?:re)?write|draft|make(?! sure)|create|translate|summari[sz]e|sum up|fix|find|book|plan|suggest|give me (?:an?|the|some|\d)|list|compare|explain|describe|draw|calculate|check|review|rephrase|build|refactor|convert|design|come up|put together"
    r"|prepare|generate|look up|tell me|show me|proofread|shorten|turn (?:this|that|it)|schreib|übersetz|écris|traduis|escribe|traduce|escreva)\b",
    re.IGNORECASE,
)
_WISH = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|and|but|so|please|pls|plz|also|just|only)\b[ ,]*)*"
    r"(?:do not|don['’]?t|no|not|without|with|use|keep|put|add|leave|make|include|mention|skip|avoid|nothing|only|shorter|longer|in|max(?:imum)?|at most|less|more)\b",
    re.IGNORECASE,
)
_JUST_ONCE = re.compile(
    r"\b(?:just (?:this )?once|this (?:time|once)|for now|(?:the|my) next (?:one|question|answer|message|reply))\b",
    re.IGNORECASE,
)
_ONCE = re.compile(
    r"\b(?:here|this (?!is\b)\w+|just (?:this )?once|for now|(?:the|my) next (?:one|question|answer|message|reply)|today|tonight|tomorrow"
    r"|(?:under|in|max(?:imum)?|about|at most) (?:\d+|one|two|three|four|five|ten) (?:words?|sentences?|lines?|paragraphs?|bullets?|verses?))\b",
    re.IGNORECASE,
)
_UNREAL = re.compile(
    r"\b(?:maybe|perhaps|suppose|imagine|pretend|role ?-?play|let['’]?s say|should (?:i|we)|who knows|wondering)\b",
    re.IGNORECASE,
)
_IF = re.compile(
    r"^\W*(?:(?:and|but|so|also|well|ok) )?if\b|\b(?:if (?:i|we|you|it|only)|might|thinking (?:of|about))\b",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"\b(?:he|she|they|it|who|one|boss|manager|friend|colleague|mother|mum|mom|father|dad|wife|husband|partner|sister|brother|doctor|teacher|neighbou?r) (?:always |once |just |also |used to )?"
    r"(?:says?|said|told|keeps? saying|insists?|claims?|wrote|writes|asks?|asked|thinks?|wants?)\b|\baccording to\b"
    r"|\b(?:note|sign|e-?mail|letter|text|post|review|lyrics?|slogan|motto|tweet|article|label|manual|policy|poster|recipe|comment|bio|profile)\b[^.!?]{0,40}?(?:\b(?:says?|said|reads?|goes|wrote)\b|:)",
    re.IGNORECASE,
)
_QUOTE = re.compile(r"[\"“„«][^\s\"”“»]+(?:\s+[^\s\"”“»]+){3,}")
_HABIT = re.compile(
    r"\b(?:i|we) (?:always|never|usually|only ever|prefer|avoid|can['’]?t stand|hate|love)\b", re.IGNORECASE
)


def stays(line: Line, said: str, borrowed: bool) -> bool:
    """Whether a line of a message belongs to its chat alone: somebody else's words, what may be, a wish for one piece of work,
    a secret."""
    words = line.quote
    before = said[: line.places[-1].start].rstrip() if line.places else ""
    if (
        before.endswith(":")
        or borrowed
        or is_secret(words)
        or _QUOTE.search(words)
        or _UNREAL.search(words)
        or _TOLD.search(words)
    ):
        return True
    if _IF.search(words) and (words.lower().startswith("if") or not _LASTING.search(words)):
        return True
    if words.endswith(("?", "？")):  # "We're vegan, is that a problem?" states something
        statement, comma, _ = words.rpartition(", ")
        if not comma or _ORDER.search(statement):
            return True
    if _JUST_ONCE.search(words):
        return True
    if _LASTING.search(words):
        return _ORDER.search(words) is not None and _ONCE.search(words) is not None
    if _ONCE.search(words) or _ORDER.search(words):
        return True
    return _WISH.search(words) is not None and any(_ORDER.search(part) for part in _PARTS.split(said[:_READ]))


_PARTS = re.compile(r"(?<=[.!?;:\n]) ")


_CUE = re.compile(
    r"\b(?:always|never|prefer|avoid|hate|love|usually|stand|allerg|celiac|coeliac|diabet|vegan|vegetarian|intoleran|pregnan|asthma|epilep|wheelchair|call me|my name|immer|nie|nenn|heiße"
    r"|toujours|jamais|appelle|siempre|nunca|llam|sempre|chamo)|过敏|不要|别|叫我"
)


_CHANGE = re.compile(
    r"\b(?:now|new|mov(?:ed|ing)|chang\w+|no longer|any ?more|instead|switch\w*|stopp?(?:ed)?|quit|g[ai]ve up|given up|scrap|actually|correction|make (?:it|that|them)|better|updated?|forget"
    r"|jetzt|neue\w*|umgezogen|nicht mehr|statt\w*|maintenant|déménagé|plus|ahora|mudé|ya no|agora|mudei|mais)\b|现在|不再|改|搬"
)


def may_overrule(one: Candidate) -> bool:
    """Whether a sentence may say that something is not so any more."""
    return _CHANGE.search(one.words.lower()) is not None


def may_be_known(one: Candidate) -> bool:
    """Whether a sentence may be worth knowing elsewhere: most are not, and nothing else is asked of them."""
    return one.standing >= FAINT or is_standing(one.kind, 0) or _CUE.search(one.words.lower()) is not None


def is_known(line: Line) -> bool:
    """Whether a line may be known elsewhere: in any chat, or where a question is near to it."""
    return is_personal(line) and rank_of(line) >= FAINT


def rank_of(line: Line) -> int:
    """What is shown first, where not all of what holds is: health, safety and law, then the surest."""
    lasting = line.own or bool(line.rewrites) or line.author == PERSON
    standing = max(line.standing, STANDING if is_standing(line.kind, 0) else KNOWN if _HABIT.search(line.words) else 0)
    standing = MOST if line.author == PERSON else standing
    return (VITAL if is_vital_line(line) else 0) + standing if lasting else 0


def is_personal(line: Line) -> bool:
    """Whether a line is about the person, not about what the chat is about: then it is known in their other chats."""
    if line.kind == "constraint":
        return is_vital_line(line) or not _PERSON.isdisjoint(topics(_stems(line.words)))
    return line.kind in ("rule", "preference", "who", "fact", "")


def topics(stems: Iterable[str]) -> frozenset[str]:
    """What some words are about, of the few things that people say in many ways."""
    return frozenset(topic for word in stems for topic in _TOPICS_OF.get(word, ()))


@lru_cache(maxsize=4096)
def asked_about(question: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a question by which lines are found, and what it is about."""
    stems = telling(question[:_READ].lower())
    return stems, topics(stems)


def hints_of(line: Line) -> list[int]:
    """Numbers of the words that a line can be found by."""
    words = _stems(line.words)
    slot = said_of(line).slot
    return numbers(sorted(words, key=lambda word: (-len(word), word))[:_HINTS] + (sorted(slot.of) if slot else []))


def numbers_near(question: str) -> tuple[list[int], list[int]]:
    """Numbers of the words of a question, and of others that are about the same."""
    stems, about = asked_about(question)
    return numbers(stems), numbers(word for word, topics in _TOPICS_OF.items() if not about.isdisjoint(topics))


def numbers(words: Iterable[str]) -> list[int]:
    """The numbers that words are stored under."""
    return sorted({zlib.crc32(word.encode("utf-8", "surrogatepass")) & 0x7FFFFFFF for word in words})


@lru_cache(maxsize=4096)
def _stems(words: str) -> frozenset[str]:
    return telling(words.lower())


def holding(found: Sequence[Held]) -> list[Held]:
    """Those of some lines that no other one of them overrules."""
    rows = sorted(found, key=lambda one: (one.line.said_at, one.chat, max(one.line.sources), one.key))
    gone = resolve([said_of(one.line) for one in rows]).gone
    return [one for at, one in enumerate(rows) if at not in gone]


def bearing(question: str, found: Sequence[Held], least: int) -> list[Held]:
    """Those of some lines that bear on a question, the nearest first: by the words they share, and by what both are about, which
    counts `least` together."""
    stems, about = asked_about(question)
    every = [(one, _stems(one.line.words)) for one in found]
    holders = Counter(stem for _, words in every for stem in words)
    scored: list[tuple[int, int, int, int, Held]] = []
    for one, words in every:
        shared = sum(_RARE if holders[word] <= _FEW else _PLAIN for word in words & stems)
        near = shared + _TOPIC * len(topics(words) & about)
        if near >= least:
            scored.append((-near, -one.rank, -one.line.said_at, one.key, one))
    return [one for *_, one in sorted(scored, key=lambda item: item[:4])]
