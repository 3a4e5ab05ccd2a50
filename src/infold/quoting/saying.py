"""What a line says, as far as comparing lines needs it: its telling words, its values, what it speaks of, what it takes back. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import or_

from infold.quoting.gates import Gated, signs_of
from infold.quoting.telling import STOP, WORD, stem, telling
from infold.quoting.values import DAYS, Values, values

NEAR = 4
"""Messages back that "make that 700" may mean among several."""
READ = 600
"""Characters of a line that are read."""

_CHANGED = Gated(
    "now from in ab new update updated changed move moved rescheduled postponed pushed delayed extended raised cut lowered instead actually "
    "correction corrected change make set better become becomes goes went rather longer anymore more switch switched switching scrap wait "
    "meant won say jetzt doch neue neuen neuer neues geändert passt draus mieux verschoben stattdessen statt anstatt lieber mehr korrektur "
    "maintenant désormais nouveau nouvelle nouvel plutôt lieu place déplacé déplacée reporté reportée finalement ahora nuevo nueva mejor vez "
    "lugar cambiado cambiada ya agora novo nova melhor mudou passou",
    r"\b(?:now|from now on|in future|from here on|ab sofort|new|updated?|changed|moved?|rescheduled|postponed|pushed|delayed|extended|raised|cut|lowered|instead|actually|correction|corrected|change of plans?|"
    r"make (?:it|that|them|the|our|my)|set|(?:works?|is|would be) better|becomes?|(?:goes|went) (?:up |down )?to|rather|no longer|any ?more|switch(?:ed|ing)?|scrap|no,? wait|meant|won't do|won't work|let's say|"
    r"jetzt|doch (?:lieber|am|um|erst|schon)|neue[rsn]?|geändert|passt besser|draus|mieux|verschoben|stattdessen|statt|anstatt|lieber|nicht mehr|korrektur|"
    r"maintenant|désormais|nouve(?:au|lle|l)|plutôt|au lieu|à la place|déplacée?|reportée?|finalement|"
    r"ahora|nuev[oa]|mejor|en vez|en lugar|cambiad[oa]|ya no|agora|nov[oa]|melhor|em vez|mudou|passou)\b|改成|改为|改到|改用|换成|不再|现在|改(?=\d)",
)
_TOO = Gated(
    "too also well either besides auch aussi también também",
    r"\b(?:too|also|as well|either|besides|auch|aussi|también|também)\b|也",
)
_BRIEF = Gated(
    "make better instead rather actually correction wait change meant passt mieux let lieber stattdessen plutôt finalement mejor melhor",
    r"\b(?:make (?:it|that|them)|(?:works?|is|would be) better|instead|rather|actually|correction|no,? wait|change of plans?|i meant|passt besser|mieux|let's (?:say|do)|lieber|stattdessen|plutôt|"
    r"finalement|mejor|melhor)\b|改成|改为|改到|改用|换成",
)
_UNSURE = Gated(
    "if whether maybe perhaps might unless what wondering suppose wenn falls ob vielleicht si peut quizá quizás tal se talvez",
    r"\?\W*$|？|^(?:should|could|can|would|shall|do|does|did|is|are|what|which|who|when|where|why|how|soll|könn|est-ce|qué|cuál|qual)\b(?=.*\?)|"
    r"\b(?:if|whether|maybe|perhaps|might|unless|what about|wondering|suppose|wenn|falls|ob|vielleicht|si|peut-être|quizás?|tal vez|se|talvez)\b|如果|也许|可能",
)
_DENIES = Gated(
    "not no never without t dont doesnt didnt isnt arent wasnt wont cant wouldnt shouldnt cannot nicht nie kein keine keinem keinen keiner "
    "keinerlei keines keinesfalls keineswegs ne n pas jamais nunca não sin sem",
    r"\b(?:not|no|never|without|(?:do|does|did|is|are|was|wo|ca|would|should)n['’]?t|cannot|nicht|nie|kein\w*|ne|n['’]\w+|pas|jamais|nunca|não|sin|sem)\b|不|没|别",
)
_PAST_TIME = Gated(
    "yesterday last ago used back gestern hier ayer ontem",
    r"\b(?:yesterday|last (?:week|month|year|night)|ago|used to|back then|gestern|hier|ayer|ontem)\b",
)


# FREE: a day of the week is free again. What a line says of the words it takes back: SWAP puts something in their place, DROP takes them back, ENDED says that they no longer hold.
SWAP, DROP, ENDED, FREE = "swap", "drop", "ended", "free"
_X = r"([^,.;:!?—–(]{2,60}(?:[.,]\d[^,.;:!?—–(]{0,20})?)"
_TAKEN = (
    (SWAP, Gated(
        "instead place rather statt anstatt anstelle lieu plutôt vez lugar invés",
        rf"(?:\b(?:instead of|in place of|rather than|statt|anstatt|anstelle von|au lieu (?:de|d')|plutôt que|à la place (?:de|du)|en (?:vez|lugar) del?|"
        rf"em (?:vez|lugar) d[eao]|ao invés d[eao])\b|而不是) ?{_X}")),
    (SWAP, Gated("from", r"\b(?:switch|mov|chang|went|going|migrat)(?:ed|ing|e|es)?\b[^,.;]{0,30}? from ([^,.;:!?]{2,40}?) to\b")),
    (SWAP, Gated("not", r"(?:,|\.|;|—|–|-) ?(?:and )?not (?:on |at |the )?([^,.;:!?—–(]{1,30}(?:[.,:]\d{2,3})?)\W*$")),
    (DROP, Gated(
        "scrap ditch shelve abandon forget mind nevermind ignore take vergiss streich oublie oubliez oublies laisse olvida olvídate esquece esqueca",
        r"(?:^|[,.;:!?)] |\b(?:please|let's|so|ok|okay|and|then|we|i|can|just|btw) )(?:scrap|ditch|shelve|abandon|forget(?: about)?|never ?mind|ignore|take back|vergiss|streich|oublie[zs]?|laisse tomber|olvida|olvídate de|"
        rf"esquec[ea]) (?:what (?:i|we) said (?:about|on) |that (?:i|we)\b |lo de(?:l)? |das mit de[rmn] |about )?(?:(?:the|my|our|that|die|den|das|le|la|el|o|a) )?{_X}")),
    (SWAP, Gated("do work", r"\b((?:the )?[^,.;:!?\s]*\d[^,;:!?]{0,15}?) (?:won't|doesn't|wouldn't|isn't going to|will not) (?:do|work)\b")),
    (DROP, Gated("more", r"\bno more (?!than\b)([^,.;:!?]{2,40})")),
    (DROP, Gated("out off dead needed cancelled canceled",
        r"(?:^|[.;:!?] |, (?:so|and|but) )(?:so |and |ok |then |well |right )*((?:[^,.;:!?]|,(?=\d)){2,40}?) (?:is|are) (?:out|off|cancelled|canceled|dead|off the table|no longer needed)\W*$")),
    (DROP, Gated("", r"(?:忘了|忘掉|取消)([^，。；！？]{1,20})")),
    (DROP, Gated("stop", r"(?:^|[.;:!?] |\b(?:please|can|so|and) )stop (\w+ing\b[^,.;:!?]{2,50})")),
    (FREE, Gated(
        "ya free ok okay fine normal good possible libre libres frei livre livres wieder out",
        rf"\b((?:{DAYS})s?)\b[^,.;!?]{{0,20}}? (?:(?:free|ok|okay|fine|normal|good|possible|libres?|frei|livres?)(?: again| now| wieder| de nouveau)|"
        r"wieder|(?:no good|out) (?:any ?more|now)|(?:ya|já|agora) (?:est[áã]\w*|fica) (?:libres?|livres?))\b|ya (?:están?|es) libres?")),
    (ENDED, Gated("longer ya já", rf"\b(?:no longer|ya no|já não)\b {_X}")),
    (ENDED, Gated(
        "anymore more",
        r"((?:\b(?:i|we) )?\b(?:don['’]?t|doesn['’]?t|do not|am not|is not|isn['’]?t|are not|i['’]m not|can['’]?t)\b [^,.;:!?]{2,60}?) any ?more\b")),
    (ENDED, Gated("stopped quit gave given", rf"\b(?:i|we|i['’]ve|we['’]ve) (?:have )?(?:stopped|quit|gave up|given up) {_X}")),
    (ENDED, Gated("mehr", r"\b(ich [^,.;:!?]{2,60}? (?:nicht|keine[nmr]?|kein)(?: [^,.;:!?]{1,40}?)?) mehr\b")),
    (ENDED, Gated("plus", r"((?:\bje )?\b(?:ne |n['’])[^,.;:!?]{1,30}? plus\b[^,.;:!?]{0,40})")),
    (ENDED, Gated("mais", r"\bnão ([^,.;:!?]{2,40}? mais\b[^,.;:!?]{0,40})")),
    (ENDED, Gated("", r"不再([^，。；！？]{1,20})")),
)  # fmt: skip
_TAKES = reduce(or_, (pattern.bit for _, pattern in _TAKEN))
_CLAUSE = re.compile(r",(?!\d)| (?:we|i|let's|and|but|because|since|for now|from|it|now|any ?more)\b")

# What a line speaks of, and the value it gives it: "the deadline for the report is | May 1".
_LEAD = r"(?:(?:ok|okay|so|and|but|also|well|oh|btw|actually|correction|korrektur|change of plans?|update|please|alright|then|got it|noted|no,? wait)\b[\s,:.!–—-]*)*"
_NAMED = re.compile(
    rf"^{_LEAD}(?P<of>(?:[^\W\d_][\w'’-]*\s){{0,6}}?[^\W\d_][\w'’-]*)\s?(?:(?:is|are|was|were|has been|got|will be|stays?|becomes?|ist|sind|war|wird|beträgt|"
    r"est|sera|es|será|é|fica|went|(?:has |was )?(?:changed|moved|raised|cut) to|(?:mudou|passou) para|cambió a)\b|[:=](?=\s)|'s(?= (?:now|at|on|in|an?|the|\d)))(?: (?:now|jetzt|maintenant|plutôt|ahora|agora|moved|changed|pushed|delayed|doch|cut|raised|postponed|extended|verschoben|"
    r"not|back|up|down|to|at|on|at most|set|bei|auf))*\s?(?P<gives>.*)$"
)
_SHIFTED = re.compile(
    rf"^{_LEAD}(?:(?:we|i|let's|they|he|she|wir|ich|\w+)(?:'ve| have| had to|'re| haben)? )?(?:moved?|pushed?|changed?|rescheduled?|postponed?|extended?|raised?|lowered?|cut|shifted?)"
    r" (?P<of>(?:the|our|my|a) (?:[^\W\d_][\w'’-]*\s){0,3}?[^\W\d_][\w'’-]*) (?:back |up |down |out )?(?:to|till|until|by) (?P<gives>.*)$"
)
_HAN_NAMED = re.compile(r"^(?P<of>[\u3400-\u9fff]{2,10}?)(?:现在)?(?:是|为|在|改成|改为|改到|换成|：)(?P<gives>.+)$")
_END = re.compile(r"[.!?;。！？] |, (?:and|but|so|und|et|y|e) ")
_SENTENCE = re.compile(r" (?:(?<=[^\W\d_][^\W\d_][^\W\d_][.!?] )|(?<=[\d)][!?] ))")
_HAN_SENTENCE = re.compile(rf"{_SENTENCE.pattern}|(?<=[。！？])(?=.)")
_ANEW = re.compile(
    r",? (?:and|but|und|aber|et|mais|y|pero|e|mas) (?=(?:I|I['’]\w+|my|we|we['’]\w+|our|she|he|they|ich|mein\w*|wir|je|j['’]\w+|mon|ma|nous|yo|mi|eu|meu|minha)\b)"
)
_NOT_OF = re.compile(
    r"^(?:it|that|this|there|here|what|who|which|he|she|they|we|i|you|all|das|es|c['’]est|ce|il|elle|on|ich|er|wir|je)$|^i['’]|['’]ll$"
)
_MINE, _YOURS = (
    re.compile(r"\b(?:my|mein\w*|mon|ma|mes|mi|mis|meu|minha)\b|我的"),
    re.compile(r"\b(?:your|dein\w*|ihr\w*|votre|ton|ta|tu|su|seu|sua)\b|你的"),
)
_OF = re.compile(
    r"\b(?:for|of|on|in|at|with|per|to|für|bei|von|pour|de|du|dans|para|en|em|no|na|do|da)\s+(?:(?:the|a|an|my|our|der|die|das|le|la|el|o)\s+)?([^\W\d_][\w'’-]*)"
)
_LIFE = (
    ("live", Gated("live living based moved relocated wohne lebe bin habite ai vivo mudé moro mudei", r"\b(?:i|we)(?:['’]m|['’]re| am| are)? (?:now )?(?:live|living|based) in|\b(?:i|we)(?:['’]ve| have)? (?:just |now |recently )?(?:moved|relocated) to(?! (?:the|an?|my|our|another|bed|next|\d)\b)|\bich (?:wohne|lebe) (?:jetzt )?in|"
     r"\bich bin nach|\bj['’](?:habite|ai déménagé) (?:maintenant )?(?:à|en|au)|\bvivo en|\bme mudé a|\b(?:eu )?moro (?:em|no|na)|\bme mudei para|我住在|我搬到")),
    ("work", Gated("work started joined arbeite travaille trabajo trabalho", r"\bi (?:now )?work (?:at|for)|\bi(?:['’]ve| have)? (?:just |now )?(?:started (?:working )?(?:at|for)|joined(?! (?:the|an?|my|our|in)\b))|\bich arbeite (?:jetzt )?(?:bei|für)|\bje travaille (?:maintenant )?"
     r"chez|\btrabajo (?:ahora )?(?:en|para)|\btrabalho (?:agora )?(?:na|no|em)")),
    ("name", Gated("name heiße appelle llamo chamo call", r"\bmy name is|\bich heiße|\bje m['’]appelle|\bme llamo|\bme chamo|^(?:please )?call me(?= [a-z]+(?: from now on| please)?\W*$)|我叫")),
    ("age", Gated("m am turned", r"\bi(?:['’]m| am)(?: now)?(?= \d{1,3}(?: years old| now)?\W*$)|\bi (?:just )?turned(?= \d)")),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Taken:
    """Words that a line takes back."""

    how: str
    words: frozenset[str]
    values: Values
    alone: bool
    """Whether the line says nothing else."""


@dataclass(frozen=True, slots=True)
class Slot:
    """What a line speaks of, and what it gives it."""

    owner: str
    """"me" for what is the speaker's own, "" for what is shared."""
    of: frozenset[str]
    """With the words that narrow it: "for the sofa"."""
    gives: str


@dataclass(frozen=True, slots=True)
class Said:
    """What is known of a line for comparing it: made once a line."""

    text: str
    role: str
    said_by: str
    seq: int
    said_at: int
    kind: str
    chat: str
    parts: tuple[Said, ...]
    """Its sentences, where there are several."""
    low: str
    """Its beginning, in small letters, white space folded."""
    core: frozenset[str]
    values: Values
    slot: Slot | None
    taken: tuple[Taken, ...]
    changed: bool
    """Whether it says that something changed."""
    brief: bool
    """Whether it names a new value and leaves open of what: "make that 700"."""
    sure: bool
    """Whether it states something: no question, no condition."""
    denies: bool
    past: bool
    mine: bool
    """Whether the speaker speaks of "I"."""

    @classmethod
    def of(
        cls, text: str, role: str, said_by: str = "", seq: int = 0, said_at: int = 0, kind: str = "fact", chat: str = ""
    ) -> Said:
        """Read a line."""
        shown = " ".join(unicodedata.normalize("NFC", text[:READ]).replace("’", "'").split())
        read = _read(shown, role)
        parts = tuple(cls.of(cut, role, said_by, seq, said_at, kind, chat) for cut in read[-1])
        return cls(text, role, said_by or role, seq, said_at, kind, chat, parts, *read[:-1])

    def beside(self, other: Said) -> bool:
        """Whether both stand in one message."""
        return self.chat == other.chat and self.seq == other.seq

    def soon_after(self, other: Said) -> bool:
        """Whether the other one stands in one of the messages right before."""
        return self.chat == other.chat and 0 < self.seq - other.seq <= NEAR

    def given(self, sort: str) -> frozenset[str]:
        """Its values of a sort."""
        return frozenset(value for kind, value in self.values if kind == sort)


_I = Gated("i ich je j yo eu", r"\b(?:i|i['’]\w+|ich|je|j['’]\w+|yo|eu)\b|我")


_Read = tuple[
    str, frozenset[str], Values, Slot | None, tuple[Taken, ...], bool, bool, bool, bool, bool, bool, list[str]
]


@lru_cache(maxsize=4096)
def _read(shown: str, role: str) -> _Read:
    """What `Said` holds of a text by itself, in its order, and at last its sentences."""
    low = shown.lower()
    signs = signs_of(low)
    found, rest = values(low, signs)
    cuts = _cut(shown)
    slots = (_read(cut.strip(), role)[3] for cut in cuts) if cuts else (_slot(low, role, signs, found),)
    return (
        low, telling(rest), found, next(filter(None, slots), None), _taken(low, signs),
        _CHANGED(low, signs) and not _TOO(low, signs), _BRIEF(low, signs),
        not (_UNSURE.search(low) if "?" in low or "？" in low else _UNSURE(low, signs)),
        _DENIES(low, signs), _PAST_TIME(low, signs), _I(low, signs), cuts,
    )  # fmt: skip


def _cut(shown: str) -> list[str]:
    """The sentences of a text, and clauses that speak of somebody anew; none where it is only one."""
    cuts = (_SENTENCE if shown.isascii() else _HAN_SENTENCE).split(shown)
    cuts = [part for cut in cuts for part in _ANEW.split(cut)]
    return cuts if len(cuts) > 1 else []


def _slot(low: str, role: str, signs: int, found: Values) -> Slot | None:
    """What lower-case text with these values speaks of."""
    for name, pattern in _LIFE:
        if signs & pattern.bit and (match := pattern.search(low)):
            return Slot("me", frozenset([name]), _tail(low[match.end() :]))
    match = _SHIFTED.match(low) or _NAMED.match(low) or _HAN_NAMED.match(low)
    if match is None:
        return None
    named = match["of"]
    if any(_NOT_OF.match(word) for word in named.split()):
        return None
    of = telling(named)
    owner = "me" if (_YOURS if role == "assistant" else _MINE).search(named) else ""
    if not of:
        return None
    gives = match["gives"]
    rest = _END.split(values(gives, signs)[1] if found else gives)[0]
    return Slot(owner, of.union(stem(word) for word in _OF.findall(rest) if word not in STOP), _tail(gives))


def _tail(text: str) -> str:
    """What a slot is given, for comparing it letter by letter."""
    return " ".join(WORD.findall(text)[:8])


def _taken(low: str, signs: int) -> tuple[Taken, ...]:
    """What lower-case text takes back."""
    if not signs & _TAKES:
        return ()
    found = []
    for how, pattern in _TAKEN:
        match = pattern.search(low) if signs & pattern.bit else None
        if match is None:
            continue
        said = match[1] or ""
        if how != ENDED:
            cut = _CLAUSE.search(said, 1)
            said = said[: cut.start()] if cut else said
        old, rest = values(said, signs)
        left = low[: match.start()] + " " + low[match.start(1) + len(said) :]
        words = telling(rest)
        if words or old:
            found.append(Taken(how, words, old, how == DROP and len(telling(left) - words) <= 2))
    return tuple(found)
