"""What a text affirms, denies, supposes or demands, clause by clause, and whether two texts disagree. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from infold.folding.calendar import MONTHS, WEEKDAYS
from infold.folding.likeness import GENERIC, stem

_TOKEN = re.compile(r"n't\b|[^\W\d_](?:[^\W_]|['._/@-](?=[^\W_]))*|\d[\d.,:]*\d|\d|[,;:.!?()\n–—]|[。！？；，]")
_SMALL = frozenset(
    "a an and are as at be been being but by did do does for from had has have he her hers him his how i if in into is "
    "it its me my of off on or our out she so some than that the their them then there these they this those to too up "
    "us was we were what when where which while who will with would you your user users assistant shall should could "
    "may might must am can let about all also any because still just yet now only more most much very one other such own same "
    "der die das ein eine einen einem und oder ist sind war wird werden den dem des im zu zum zur für mit von auf an bei "
    "le la les un une des et ou est sont du de à au aux pour avec sur dans que qui el los las uno y o es son en por con "
    "para se su sus lo al del ich wir er sie es je nous il elle yo me mi".split()
)
_NEGATORS = frozenset(
    "not n't never no none nobody nothing neither cannot cant dont wont without nowhere noone non minus unlike "
    "nicht kein keine keinen keinem keiner nie niemals ohne niemand nichts pas jamais sans aucun aucune rien "
    "nunca sin ningún ninguna ninguno jamás tampoco nadie".split()
)
# Words that deny by themselves, with what they deny.
_DENYING = {
    word: base
    for base, words in (
        ("accept", "refuse refused refuses refusing decline declined declines reject rejected rejects rejecting deny denied denies forbid forbidden forbids prohibit prohibited prohibits ban banned bans disallow disallowed disallows veto vetoed disapprove disapproved unacceptable"),
        ("able", "unable incapable impossible"), ("like", "dislike dislikes disliked hate hates hated loathe detest detests"),
        ("enabl", "disable disabled disables disabling deactivate deactivated deactivates off"), ("includ", "exclude excluded excludes excluding"),
        ("continu", "stop stops stopped stopping cease ceased discontinue discontinued quit quits halt halted pause paused"),
        ("keep", "cancel cancels cancelled canceled cancelling drop dropped drops scrap scrapped abandon abandoned remove removed removes discard discarded delete deleted ditch ditched"),
        ("agre", "disagree disagreed disagrees"), ("availabl", "unavailable"), ("valid", "invalid"), ("safe", "unsafe"),
        ("paid", "unpaid"), ("possibl", "impossible"), ("certain", "uncertain"), ("succe", "fail failed fails failing failure"),
        ("use", "avoid avoids avoided avoiding skip skipped skips"), ("requir", "optional unnecessary"),
        ("hav", "lack lacks lacking lacked"), ("support", "unsupported"), ("complet", "incomplete"), ("open", "closed"),
        ("trust", "distrust"), ("remember", "forget forgets forgot forgotten"), ("increas", "decrease decreased decreases lower lowered reduce reduced reduces"),
        ("want", "unwilling reluctant"), ("likely", "unlikely"),
        ("accept", "abgelehnt ablehnen verboten refusé refusée interdit interdite rechazado rechazada prohibido"),
        ("keep", "storniert gekündigt annulé annulée supprimé cancelado cancelada"), ("approv", "unapproved"), ("fresh", "stale"),
    )
    for word in words.split()
}  # fmt: skip
_BASES = {
    stem(word): base
    for base, words in (
        ("accept", "accept approve allow permit agree authorize authorise welcome accepted approved allowed permitted allows accepts permits approves"),
        ("able", "able can"), ("like", "like love enjoy likes loves enjoys"), ("enabl", "enable activate enabled activated"),
        ("includ", "include cover included covered"), ("continu", "continue resume keep start begin continued resumed started"),
        ("keep", "keep retain confirm proceed kept retained add added adds"), ("use", "use eat take used uses"), ("requir", "require mandatory compulsory required requires necessary"),
        ("succe", "succeed pass succeeded passed work"), ("increas", "increase raise increased raised raises increases"),
        ("hav", "has"), ("open", "open"),
    )
    for word in words.split()
}  # fmt: skip
# Where it cannot be told what is denied.
_UNCLEAR = frozenset(
    "allergic allergy intolerant hardly barely rarely seldom except unless until only too otherwise either whether "
    "despite although though nor kaum selten außer sauf excepto salvo".split()
)
_IDIOMS = re.compile(
    r"\b(?:not only|not just|no more than|no later than|no less than|no fewer than|no earlier than|not later than|not more than|not to exceed|no problem|no worries|no doubt|no matter|"
    r"why not|whether or not|or not|if not|not sure|not certain|not decided|not yet (?:sure|decided|clear|settled)|(?:have|has|had)(?:n't| not) (?:yet )?(?:decided|settled|made up)|unresolved|don't know|doesn't know|does not know|do not know|can't wait|not until|nothing but|no\. ?\d+|not to mention|no thanks|no need to worry|"
    r"can't help|no wonder|not necessarily|not bad|why don't (?:we|you|i)|on and off|(?:cut|drop|kick|day|time|days|log|sign|trade|hand)[- ]offs?|(?!stay|keep|kept|is\b|are\b|be\b|turn|switch)\b\w+ off(?= (?:the|on|from|in|at|to)\b)|no idea|undecided|not too \w+|not that \w+|oder nicht|ou non)\b",
    re.IGNORECASE,
)
_STARTERS = frozenset(
    "but however because since so while whereas if when which who where though although aber sondern weil wenn mais car parce pero sino porque".split()
)
_AFTER_AND = frozenset(
    "i we he she it they you user is are was were has have had will would can could must should may might does do did needs wants plans uses likes prefers then also please don't doesn't not no never".split()
)
_VERBAL = frozenset(
    "is are was were be will would can could must should may might has have had do does did needs need wants want uses use likes like prefers prefer "
    "it's that's he's she's there's who's what's here's got went came took made won left gave said kept ran goes takes ist sind est sont es son".split()
)
_SUBJECTS = frozenset("i we he she they it it's that's let's i'd we'd i'll we'll i'm we're wir ich nous je".split())
_AGAINST = re.compile(
    r"\b(?:(?<=decided )against|(?<=voted )against|(?<=decide )against|(?<=opted )against|(?<=advised )against|(?<=advises )against|(?<=decision )against|instead of|rather than|in place of|in lieu of|as opposed to)\b",
    re.IGNORECASE,
)
_HEDGES = frozenset(
    "might maybe perhaps possibly considering consider considers tentative tentatively unsure undecided wonder wondering "
    "toying exploring could potentially probably may vielleicht eventuell könnte quizás weighing mulling proposed "
    "suggested provisional provisionally leaning".split()
)
_FIRM = frozenset(
    "decided decides will must definitely confirmed agreed chosen chose settled committed final finally finalised "
    "finalized certain certainly shall approved signed booked determined resolved opted selected beschlossen décidé "
    "decidido muss doit debe".split()
)
_MUST = frozenset("must required requires mandatory obligatory compulsory shall muss müssen doit debe".split())
_MAY = frozenset("may might can could optional optionally kann peut puede".split())
# Two words that mean the same as one of the above.
_PAIRS = {
    "thinking about": "considering", "thinking of": "considering", "think about": "considering", "what if": "maybe",
    "tal vez": "maybe", "has to": "must", "have to": "must", "needs to": "must", "need to": "must", "going to": "will",
    "going with": "decided", "free to": "may", "allowed to": "may",
}  # fmt: skip
_PAIRED = frozenset(pair.split()[0] for pair in _PAIRS)
# Words that deny or limit without a "not": after these a plain "not" may say the same in other words.
_IMPLICIT = frozenset(
    "stay stays keep keeps kept remain remains only sold out too instead rather miss missing missed lose lost late wrong "
    "problem problems issue fail broken dead gone hard difficult less few fewer little limit limited max maximum most min "
    "minimum least under below above over until before after from since hate afraid empty full closed outstanding overdue "
    "pending unless except allergic allergy vegetarian vegan free bare alone still exclude excluded end ends ended finish "
    "expired due open waiting against contrary averse stop otherwise but unlike different mind avoid without sick ill defekt kaputt "
    "nur solo seulement zu trop weniger moins menos leer aus off lacks lack needs waived already enough".split()
)
_PREFIXED = re.compile(r"(?:un|in|im|non|dis|ir|il|mis|anti|de)-?[a-z]{4,}$|[a-z]+(?:less|-free|-averse|-proof)$")
_HAN_HEDGE, _HAN_FIRM = re.compile("可能|也许|考虑"), re.compile("决定|必须")
_OPEN = re.compile(
    r"(?:n't|\bnot) (?:yet )?(?:sure|certain|decided|clear|settled)\b|\b(?:not (?:yet )?(?:sure|certain|decided|clear)|undecided)\b"
)
_IDIOMATIC = frozenset("no not n't nothing off offs whether undecided oder non why or day cut drop time nor".split())
_TO = re.compile(r"(\bprefer\w* (?!to\b)(?:\S+ ){1,5}?)to\b")
_THAN = re.compile(r"\bthan\b")
_OVER = re.compile(r"\bover\b")
_CHOOSING = frozenset(
    "prefer prefers preferred choose chose chosen pick picks picked favour favours favor favors like likes wins won voted "
    "agreed decided went going settled opted selected".split()
)
_OPPOSING = frozenset("prefer prefers preferred instead rather against over place lieu opposed".split())
_SHORT = {
    f"{word}n't": (word, "n't")
    for word in "do does did is are was were has have had would could should must need ai".split()
} | {"can't": ("can", "n't"), "won't": ("will", "n't"), "cannot": ("can", "n't")}
_UNDATED = frozenset((*MONTHS, *WEEKDAYS, "today", "tomorrow", "tonight", "yesterday")) - {"may", "set", "sun", "sat"}
_ISO = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_SENTENCE = re.compile(
    r"(?<=[.!?。！？；])(?<!\bdr\.)(?<!\bmr\.)(?<!\bms\.)(?<!\bmrs\.)(?<!\bvs\.)(?<!\bprof\.)(?<!\bno\.)(?<!\bst\.)\s+|\n+|(?<=[。！？；])"
)
_TWICE, _DANGLING = frozenset(["twice"]), frozenset(["dangling"])
_OPENING = frozenset("sure undecided decided certain clear settled".split())
_ASIDE = re.compile(r"\([^()]{0,24}\)")
_FITTING = frozenset(
    "free open available safe valid ready sure possible yet here there in on for to a the an at of so as by my our too part due".split()
)
_HAN = re.compile(r"[\u3400-\u9fff]+")
_HAN_NOT = re.compile(r"不(?!过|错|仅|同|久|但|少|断|管|论)|没(?!事)|无(?!论)|别(?!的|人)|未(?!来)|勿|禁止")


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause: what it speaks of, and how."""

    stems: frozenset[str]
    mass: float
    """How much the stems tell."""
    negative: bool
    denied: frozenset[str]
    """Bases of the words that deny by themselves."""
    stated: frozenset[str]
    """Bases of the words that such words deny."""
    unclear: frozenset[str]
    """Words that leave open what is denied."""
    implicit: bool
    """Whether its sentence has words that deny or limit without a "not"."""
    head: str
    """The stem right after a plain negation: what it denies."""
    asks: bool
    hedged: bool
    firm: bool
    must: bool
    may: bool


def clauses_of(text: str) -> list[Clause]:
    """The clauses of a text, each with its polarity and mood."""
    found: list[Clause] = []
    for sentence in _SENTENCE.split(text.replace("’", "'").lower()):
        if sentence.strip():
            found.extend(_clauses(sentence))
    return found


def _clauses(sentence: str) -> list[Clause]:
    asks = sentence.rstrip().endswith(("?", "？"))
    pieces = _pieces(sentence)
    said = set(pieces)
    hedged = not said.isdisjoint(_OPENING) and _OPEN.search(sentence) is not None
    implicit = not said.isdisjoint(_IMPLICIT) or any(map(_PREFIXED.match, said))
    if not said.isdisjoint(_IDIOMATIC) or not said.isdisjoint(_OPPOSING):
        pieces = _pieces(_plain(sentence, said))
    found: list[Clause] = []
    words: list[str] = []
    for at, part in enumerate(pieces):
        if _breaks(part, pieces[at + 1 : at + 5], words):
            if words:
                found.append(_clause(words, asks, hedged, implicit))
            words = []
        if (part[0].isalnum() or part == "n't") and part not in _UNDATED:
            words.append(part)
    if words:
        found.append(_clause(words, asks, hedged, implicit))
    if len(found) > 1 and any(clause.negative and clause.mass < 1 for clause in found):
        # "…, but we don't have one": what it denies stands in another clause
        found = [replace(clause, unclear=clause.unclear | _DANGLING) for clause in found]
    return found


def _plain(sentence: str, said: set[str]) -> str:
    """A sentence without idioms that only look like denials, and with "X instead of Y" as "X; unlike Y"."""
    plain = _AGAINST.sub(" ; unlike ", _IDIOMS.sub(" ", sentence))
    if "than" in said and ("rather" in said or "prefer" in said or "sooner" in said):
        plain = _THAN.sub(" ; unlike ", plain)
    if "to" in said and not said.isdisjoint(("prefer", "prefers", "preferred")):
        plain = _TO.sub(r"\1 ; unlike ", plain)
    if "over" in said and (sum(map(str.isalpha, said)) < 8 or not said.isdisjoint(_CHOOSING)):
        plain = _OVER.sub(" ; unlike ", plain)
    return plain.replace("no longer", "not").replace("any longer", "").replace("no one", "nobody")


def _pieces(sentence: str) -> list[str]:
    """Words and marks; "can't" as two words, dates left out: they are claims, and written in too many ways."""
    if "(" in sentence:
        sentence = _ASIDE.sub(lambda aside: aside[0].strip("()") if aside.end() == len(sentence) else " ", sentence)
    if "-" in sentence:
        sentence = _ISO.sub(" ", sentence)
    pieces: list[str] = []
    for piece in _TOKEN.findall(sentence):
        if piece in _SHORT:
            pieces.extend(_SHORT[piece])
        else:
            pieces.append(piece)
    return pieces


def _breaks(part: str, coming: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a clause ends before a word or at a mark, given the words so far and those to come."""
    after = coming[0] if coming else ""
    if part in (",", "，"):
        if after in _NEGATORS or after in _STARTERS or after in _DENYING:
            return True
        return len(words) > 4 or any(_verbal(word) or word in _NEGATORS or word in _DENYING for word in words)
    if part == ":":
        return len(coming) > 3 and (len(words) > 3 or any(word in _NEGATORS for word in words))
    if part in _ENDS:
        return part != "." or not words or words[-1] not in _TITLES
    if words and words[0] == "unlike" and len(words) > 1 and part in _SUBJECTS:  # "instead of X we take Y"
        return True
    if part == "not" and words and not _verbal(words[-1]) and words[-1] not in _SMALL:
        # "train not car", but "pets not allowed"
        return not (after in _FITTING or after in _DENYING or after.endswith(_PARTICIPLES))
    if part in _AND:
        return after in _AFTER_AND or _verbal(after) or _new_subject(coming)
    return part in _STARTERS


_TITLES = frozenset("dr mr ms mrs vs prof no st".split())
_AND = frozenset(["and", "und", "et", "y"])
_ENDS = frozenset(".;()–—\n!?。！？；")
_PARTICIPLES = ("ed", "en", "ing", "able", "ible", "t", "ly", "ary", "ous", "ive", "ful", "ial", "happy")


def _verbal(word: str) -> bool:
    return word in _VERBAL or word.endswith(("'m", "'re", "'ve", "'ll", "'d"))


def _new_subject(coming: Sequence[str]) -> bool:
    """Whether what follows an "and" is a clause of its own: "and Priya takes the room"."""
    return len(coming) > 3 and (_verbal(coming[1]) or coming[1].endswith(("s", "ed"))) and coming[2].isalpha()


def _clause(words: Sequence[str], asks: bool, hedged: bool, implicit: bool) -> Clause:
    strong = 0
    head = ""
    denied: list[str] = []
    stems: set[str] = set()
    stated: set[str] = set()
    for word in words:
        if word in _NEGATORS:
            strong += 1
        elif word in _DENYING:
            denied.append(_DENYING[word])
        elif not word.isascii() and _HAN.match(word):
            stems.update(word[at : at + 2] for at in range(len(word) - 1) or (0,))
            strong += len(_HAN_NOT.findall(word))
        elif word not in _SMALL:
            for piece in word.split("-") if "-" in word else (word,):
                root = stem(piece.removesuffix("'s"))
                base = _BASES.get(root)
                if base:
                    stated.add(base)
                if len(root) > 1 or root.isdigit():
                    stems.add(base or root)
                    if strong and not head:
                        head = base or root
    stems.update(denied)
    moods = _moods(words)
    unclear = _UNCLEAR.intersection(words)
    return Clause(
        frozenset(stems),
        weight(stems),
        (strong + len(denied)) % 2 == 1,
        frozenset(denied),
        frozenset(stated),
        unclear | _TWICE if strong > 1 or len(denied) > 1 else unclear,
        implicit,
        head,
        asks,
        hedged or not moods.isdisjoint(_HEDGES),
        not moods.isdisjoint(_FIRM),
        not moods.isdisjoint(_MUST),
        not moods.isdisjoint(_MAY),
    )


def _moods(words: Sequence[str]) -> set[str]:
    """The words of a clause with pairs like "have to" as one."""
    found = set(words)
    if not found.isdisjoint(_PAIRED):
        found.update(_PAIRS[pair] for one, two in pairwise(words) if (pair := f"{one} {two}") in _PAIRS)
    if any(word.endswith("'ll") for word in found):
        found.add("will")
    for word in [word for word in found if not word.isascii()]:
        if _HAN_HEDGE.search(word):
            found.add("maybe")
        if _HAN_FIRM.search(word):
            found.add("decided")
    return found


def weight(stems: Iterable[str]) -> float:
    """How much some stems tell; words that are said about everything tell less."""
    return sum([0.5 if one in _PALE else 1.0 for one in stems])


_PALE = GENERIC | {"accept", "keep", "continu", "use", "hav", "able", "want", "like", "open"}


def opposed(line: Sequence[Clause], sources: Sequence[Clause]) -> str:
    """ "negation" or "modality" where a line says the opposite of its sources, or is surer than they are; else empty."""
    for clause in line:
        near = _nearest(clause, sources)
        if not near:
            continue
        if all(_denies(clause, other) for other in near):
            return "negation"
        if all(_firmer(clause, other) for other in near):
            return "modality"
    return ""


def _nearest(clause: Clause, sources: Sequence[Clause]) -> list[Clause]:
    """The source clauses that speak of the same; none where too little is shared to tell."""
    mine = clause.mass
    if not mine:
        return []
    scored = []
    for other in sources:
        common = clause.stems & other.stems
        if common:
            shared = weight(common)
            if shared >= 0.5 * mine or (shared >= 2 and shared >= 0.75 * other.mass):
                scored.append((shared, other))
    best = max((score for score, _ in scored), default=0.0)
    least = 1.5 if clause.negative or clause.implicit else 1.0  # a denial that was lost shows sooner than an added one
    if best < least and best < 0.99 * mine:
        return []
    near = [other for score, other in scored if score >= 0.8 * best]
    if any(other.asks for other in near) and not clause.asks:
        stating = [other for other in near if not other.asks]
        return stating if any(weight(clause.stems & other.stems) >= best - 0.01 for other in stating) else []
    return near


def _denies(one: Clause, other: Clause) -> bool:
    if (
        one.unclear != other.unclear
        or "twice" in one.unclear
        or one.negative == other.negative
        or one.asks
        or other.asks
    ):
        return False
    if one.denied == other.denied:  # the difference is a plain "not"; can it be told what it denies?
        head, plain = (one.head, other) if one.negative else (other.head, one)
        return not head or (_has(one, head) and _has(other, head)) or not plain.implicit
    if one.denied & other.stated or other.denied & one.stated:
        return True
    denying, plain = (one, other) if one.denied else (other, one)
    return not plain.denied and not plain.implicit and plain.mass >= 1.5 and plain.stems <= denying.stems


def _has(clause: Clause, head: str) -> bool:
    """Whether a clause has a stem, or one that begins like it: quiero, quiere."""
    return head in clause.stems or (len(head) > 4 and any(word.startswith(head[:4]) for word in clause.stems))


def _firmer(one: Clause, other: Clause) -> bool:
    if one.unclear and other.unclear:
        return False
    if one.firm and not one.hedged and other.hedged and not other.firm:
        return True
    return other.must and not other.may and one.may and not one.must and not one.negative
