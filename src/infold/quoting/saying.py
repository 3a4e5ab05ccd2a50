"""What a line says, as far as comparing lines needs it: its telling words, its values, what it speaks of, what it takes back. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import groupby
from operator import or_
from typing import ClassVar

NEAR = 4
"""Messages back that "make that 700" may mean among several."""
READ = 600
"""Characters of a line that are read."""

Values = tuple[tuple[str, str], ...]
"""What a text names that can change: each with its sort, such as "money" or "day"."""

_STOP = frozenset(
    """a an the this that these those i you he she it we they me him her us them my your his its our their mine is are am was were be been being do does
did have has had will would shall can could to of in on at by for with from as and or but so if than then there here just only also too very not no don't
doesn't didn't isn't aren't won't can't i'm i've i'll we're we've we'll i'd we'd you're they're he's she's there's what's they've it's that's let's lets please ok okay oh hi hey well yes yeah got noted
before after until till during between over under more less other tomorrow today tonight yesterday what which when where who how why may let
se te por pra até tem têm seu sua só entre porque quando hay está están estão vai foi
hmm hm ah aha haha lol btw sorry thanks ugh nah yep nope
one thing idea plan rule option stuff part said say about all any some up out off over into each now new newest current updated instead actually correction
make makes rather longer anymore again still better works work's become becomes go goes going get moved changed today really change turns turned wieder finalement mach draus
der die das den dem des ein eine einen einem einer und oder aber ist sind ich du er sie es wir ihr mich mir mein meine meinen meiner meinem unser unsere
zu im am auf für mit von bei um jetzt neu neue neuer neues neuen doch lieber statt stattdessen nicht mehr kein keine keinen noch schon habe haben hab hat wird passt besser uhr uns bitte auch nur
le la les un une des du de et ou mais est sont je tu il elle nous vous ils mon ma mes notre nos au aux en sur pour avec dans par à ne pas plus plutôt
maintenant nouveau nouvelle nouvel j'ai c'est aussi désormais mieux convient serait me
el los las una unos y o pero es yo él mi mis tu su sus nuestro nuestra al del por para con que se me lo ya no ahora nuevo nueva mejor también vez
os as um uma e ou mas é são eu meu minha nosso nossa do da dos das ao na nos num em com sem que não mais agora novo nova melhor também""".split()
)
_HAN = re.compile(r"[\u3400-\u9fff]+")
_HAN_SMALL = re.compile(r"[我你他她它的了是在把就吧们和也都很这那请为到新]|现在|不再|改成|改为|改用|换成|用")
_WORD = re.compile(r"[^\W_]+(?:['’&-][^\W_]+)*[+#]*")
_PAST = dict(
    pair.split("/")
    for pair in """bought/buy paid/pay sent/send wrote/write written/write done/do made/make took/take taken/take told/tell gave/give given/give drank/drink
    ate/eat eaten/eat drove/drive chose/choose chosen/choose met/meet found/find built/build left/leave ran/run swore/swear sold/sell rang/call rung/call
    gekauft/kauf gebucht/buch bezahlt/bezahl geschickt/schick geschrieben/schreib bestellt/bestell angerufen/anruf unterschrieben/unterschreib repariert/reparier
    acheté/achet réservé/réserv payé/pay envoyé/envoy appelé/appel signé/sign acheter/achet réserver/réserv payer/pay envoyer/envoy appeler/appel
    comprado/comprar compré/comprar comprei/comprar reservado/reservar reservé/reservar reservei/reservar pagado/pagar pagué/pagar paguei/pagar pago/pagar
    enviado/enviar envié/enviar enviei/enviar llamado/llamar llamé/llamar liguei/ligar""".split()
)
DOING = frozenset(
    """buy pay send write sign call book order fix return submit renew measur finish cancel install deploy fil upload clean pick deliver print ship merg
    register reserv mail email repair replac collect kauf buch bezahl schick schreib bestell anruf unterschreib reparier achet réserv envoy appel
    comprar reservar pagar enviar llamar ligar""".split()
)
"""Stems of what people do once, and report when it is done."""

_MONTH = {
    name: at
    for at, names in enumerate(
        """jan january januar janvier enero janeiro|feb february februar février febrero fevereiro|mar march märz mars marzo março|
        apr april avril abril|may mai mayo maio|jun june juni juin junio junho|jul july juli juillet julio julho|aug august août agosto|
        sep sept september septembre septiembre setembro|oct october oktober octobre octubre outubro|nov november novembre noviembre novembro|
        dec december dezember décembre diciembre dezembro""".split("|"),
        1,
    )
    for name in names.split()
}
_DAY = {
    name: at
    for at, names in enumerate(
        """monday montag lundi lunes segunda|tue tues tuesday dienstag mardi martes terça|wednesday mittwoch mercredi miércoles quarta|
        thu thur thurs thursday donnerstag jeudi jueves quinta|fri friday freitag vendredi viernes sexta|saturday samstag samedi sábado|
        sunday sonntag dimanche domingo""".split("|")
    )
    for name in names.split()
}
_SHORT = {"mon": "monday", "wed": "wednesday", "sat": "saturday", "sun": "sunday"}
_months, _days = "|".join(sorted(_MONTH, key=len, reverse=True)), "|".join(sorted(_DAY, key=len, reverse=True))
_COUNT = {
    word: str(at) for at, word in enumerate("two three four five six seven eight nine ten eleven twelve".split(), 2)
}
_counts = "|".join(_COUNT)
_N = r"\d{1,9}(?:[.,\u202f' ]\d{3}(?!\d)){0,3}(?:[.,]\d{1,2})?"
_B, _E = r"(?<![^\W\u3400-\u9fff])", r"(?![^\W\u3400-\u9fff])"  # edges of a word, between Chinese letters too
_VALUE = re.compile(
    rf"(?P<date>\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}(?:st|nd|rd|th|\.|º|er)?\s?(?:of |de )?(?:{_months})\b\.?|\b(?:{_months})\.? \d{{1,2}}(?:st|nd|rd|th)?\b|\b(?:in|im|en|em|until|till|by|since) (?:{_months})\b(?! \d)"
    r"|\d{1,2}月\d{1,2}[日号]|\b\d{1,2}\.\d{1,2}\.|\b\d{1,2}(?:st|nd|rd|th)\b)"
    r"|(?P<clock>\b\d{1,2}(?:[:.]\d\d)?\s?(?:am\b|pm\b|a\.m\.|p\.m\.|uhr\b)|\b\d{1,2}[:h]\d\d\b|\b\d{1,2}\s?h\b|\d{1,2}点|\b(?:noon|midnight)\b)"
    rf"|(?P<money>[€$£¥]\s?{_N}k?|{_B}{_N}k?\s?(?:(?:[€$£¥元块]|欧元|美元)|(?:euros?|eur|usd|dollars?|bucks|quid|pounds?|reais|pesos|yuan|chf)\b))"
    rf"|(?P<share>{_B}{_N}\s?(?:%|percent\b|prozent\b))"
    rf"|(?P<amount>{_B}{_N}\s?(?P<unit>mg|g|kg|km|m|cm|mm|ml|l|mb|gb|min(?:ute)?(?:s|n|os)?|h(?:ou)?rs?|hours?|stunden?|days?|tage?n?|jours?|d[ií]as?|weeks?|"
    r"months?|years?|people|guests?|pages?|slides?)\b)"
    rf"|(?P<day>\b(?:{_days})s?\b|(?:星期|周)[一二三四五六日天]|\b(?:mon|wed|sat|sun)(?=\.?,? \d))"
    rf"|(?P<number>{_B}{_N}{_E}|\b(?:{_counts})\b)"
)
_VALUE_WORDS = [*_MONTH, *_DAY, *(f"{day}s" for day in _DAY), *_SHORT, *_COUNT, "noon", "midnight"]
_FIGURE_AT = re.compile(r"[\d€$£¥]")
_spelled = "|".join(  # by their first letters, which is much faster to try
    f"{first}(?:{'|'.join(word[1:] for word in words)})"
    for first, words in groupby(sorted(set(_VALUE_WORDS)), key=lambda word: word[0])
)
_VALUE_AT = re.compile(rf"[\d€$£¥周]|星期|\b(?:{_spelled})\b|\b(?:in|im|en|em|until|till|by|since) (?=[^\W\d_])")
"""Where a value may begin: without a word for a day, a month or a number, only where a figure stands."""
_FIGURE, _NUMBER, _GROUPED = re.compile(r"\d+"), re.compile(_N), re.compile(r"[.,\u202f' ](?=\d{3}(?!\d))")

_SIGNS: dict[str, int] = {}
"""Words -> the patterns that may find something beside them, a bit each."""
_TOKEN = re.compile(r"\w+")
_EVERY = -1


class _Gated:
    """A pattern that is tried only where one of some words stands, or Chinese."""

    __slots__ = ("bit", "search")

    def __init__(self, words: str, pattern: str) -> None:
        self.bit = 1 << _Gated.made
        self.search = re.compile(pattern).search
        _Gated.made += 1
        for word in words.split():
            _SIGNS[word] = _SIGNS.get(word, 0) | self.bit

    made: ClassVar[int] = 0

    def __call__(self, low: str, signs: int) -> bool:
        """Whether it finds something in text with these signs."""
        return signs & self.bit != 0 and self.search(low) is not None


def signs_of(low: str) -> int:
    """The patterns that may find something in lower-case text."""
    signs = 0
    for word in _TOKEN.findall(low):
        signs |= _SIGNS.get(word, 0)
    return signs if low.isascii() or not _HAN.search(low) else _EVERY


_CHANGED = _Gated(
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
_TOO = _Gated(
    "too also well either besides auch aussi también também",
    r"\b(?:too|also|as well|either|besides|auch|aussi|también|também)\b|也",
)
_BRIEF = _Gated(
    "make better instead rather actually correction wait change meant passt mieux let lieber stattdessen plutôt finalement mejor melhor",
    r"\b(?:make (?:it|that|them)|(?:works?|is|would be) better|instead|rather|actually|correction|no,? wait|change of plans?|i meant|passt besser|mieux|let's (?:say|do)|lieber|stattdessen|plutôt|"
    r"finalement|mejor|melhor)\b|改成|改为|改到|改用|换成",
)
_UNSURE = _Gated(
    "if whether maybe perhaps might unless what wondering suppose wenn falls ob vielleicht si peut quizá quizás tal se talvez",
    r"\?\W*$|？|^(?:should|could|can|would|shall|do|does|did|is|are|what|which|who|when|where|why|how|soll|könn|est-ce|qué|cuál|qual)\b(?=.*\?)|"
    r"\b(?:if|whether|maybe|perhaps|might|unless|what about|wondering|suppose|wenn|falls|ob|vielleicht|si|peut-être|quizás?|tal vez|se|talvez)\b|如果|也许|可能",
)
_DENIES = _Gated(
    "not no never without t dont doesnt didnt isnt arent wasnt wont cant wouldnt shouldnt cannot nicht nie kein keine keinem keinen keiner "
    "keinerlei keines keinesfalls keineswegs ne n pas jamais nunca não sin sem",
    r"\b(?:not|no|never|without|(?:do|does|did|is|are|was|wo|ca|would|should)n['’]?t|cannot|nicht|nie|kein\w*|ne|n['’]\w+|pas|jamais|nunca|não|sin|sem)\b|不|没|别",
)
_PAST_TIME = _Gated(
    "yesterday last ago used back gestern hier ayer ontem",
    r"\b(?:yesterday|last (?:week|month|year|night)|ago|used to|back then|gestern|hier|ayer|ontem)\b",
)

_VALUED = _Gated(" ".join(_VALUE_WORDS), r"")

# FREE: a day of the week is free again. What a line says of the words it takes back: SWAP puts something in their place, DROP takes them back, ENDED says that they no longer hold.
SWAP, DROP, ENDED, FREE = "swap", "drop", "ended", "free"
_X = r"([^,.;:!?—–(]{2,60}(?:[.,]\d[^,.;:!?—–(]{0,20})?)"
_TAKEN = (
    (SWAP, _Gated(
        "instead place rather statt anstatt anstelle lieu plutôt vez lugar invés",
        rf"(?:\b(?:instead of|in place of|rather than|statt|anstatt|anstelle von|au lieu (?:de|d')|plutôt que|à la place (?:de|du)|en (?:vez|lugar) del?|"
        rf"em (?:vez|lugar) d[eao]|ao invés d[eao])\b|而不是) ?{_X}")),
    (SWAP, _Gated("from", r"\b(?:switch|mov|chang|went|going|migrat)(?:ed|ing|e|es)?\b[^,.;]{0,30}? from ([^,.;:!?]{2,40}?) to\b")),
    (SWAP, _Gated("not", r"(?:,|\.|;|—|–|-) ?(?:and )?not (?:on |at |the )?([^,.;:!?—–(]{1,30}(?:[.,:]\d{2,3})?)\W*$")),
    (DROP, _Gated(
        "scrap ditch shelve abandon forget mind nevermind ignore take vergiss streich oublie oubliez oublies laisse olvida olvídate esquece esqueca",
        r"(?:^|[,.;:!?)] |\b(?:please|let's|so|ok|okay|and|then|we|i|can|just|btw) )(?:scrap|ditch|shelve|abandon|forget(?: about)?|never ?mind|ignore|take back|vergiss|streich|oublie[zs]?|laisse tomber|olvida|olvídate de|"
        rf"esquec[ea]) (?:what (?:i|we) said (?:about|on) |that (?:i|we)\b |lo de(?:l)? |das mit de[rmn] |about )?(?:(?:the|my|our|that|die|den|das|le|la|el|o|a) )?{_X}")),
    (SWAP, _Gated("do work", r"\b((?:the )?[^,.;:!?\s]*\d[^,;:!?]{0,15}?) (?:won't|doesn't|wouldn't|isn't going to|will not) (?:do|work)\b")),
    (DROP, _Gated("more", r"\bno more (?!than\b)([^,.;:!?]{2,40})")),
    (DROP, _Gated("out off dead needed cancelled canceled",
        r"(?:^|[.;:!?] |, (?:so|and|but) )(?:so |and |ok |then |well |right )*((?:[^,.;:!?]|,(?=\d)){2,40}?) (?:is|are) (?:out|off|cancelled|canceled|dead|off the table|no longer needed)\W*$")),
    (DROP, _Gated("", r"(?:忘了|忘掉|取消)([^，。；！？]{1,20})")),
    (DROP, _Gated("stop", r"(?:^|[.;:!?] |\b(?:please|can|so|and) )stop (\w+ing\b[^,.;:!?]{2,50})")),
    (FREE, _Gated(
        "ya free ok okay fine normal good possible libre libres frei livre livres wieder out",
        rf"\b((?:{_days})s?)\b[^,.;!?]{{0,20}}? (?:(?:free|ok|okay|fine|normal|good|possible|libres?|frei|livres?)(?: again| now| wieder| de nouveau)|"
        r"wieder|(?:no good|out) (?:any ?more|now)|(?:ya|já|agora) (?:est[áã]\w*|fica) (?:libres?|livres?))\b|ya (?:están?|es) libres?")),
    (ENDED, _Gated("longer ya já", rf"\b(?:no longer|ya no|já não)\b {_X}")),
    (ENDED, _Gated(
        "anymore more",
        r"((?:\b(?:i|we) )?\b(?:don['’]?t|doesn['’]?t|do not|am not|is not|isn['’]?t|are not|i['’]m not|can['’]?t)\b [^,.;:!?]{2,60}?) any ?more\b")),
    (ENDED, _Gated("stopped quit gave given", rf"\b(?:i|we|i['’]ve|we['’]ve) (?:have )?(?:stopped|quit|gave up|given up) {_X}")),
    (ENDED, _Gated("mehr", r"\b(ich [^,.;:!?]{2,60}? (?:nicht|keine[nmr]?|kein)(?: [^,.;:!?]{1,40}?)?) mehr\b")),
    (ENDED, _Gated("plus", r"((?:\bje )?\b(?:ne |n['’])[^,.;:!?]{1,30}? plus\b[^,.;:!?]{0,40})")),
    (ENDED, _Gated("mais", r"\bnão ([^,.;:!?]{2,40}? mais\b[^,.;:!?]{0,40})")),
    (ENDED, _Gated("", r"不再([^，。；！？]{1,20})")),
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
    ("live", _Gated("live living based moved relocated wohne lebe bin habite ai vivo mudé moro mudei", r"\b(?:i|we)(?:['’]m|['’]re| am| are)? (?:now )?(?:live|living|based) in|\b(?:i|we)(?:['’]ve| have)? (?:just |now |recently )?(?:moved|relocated) to(?! (?:the|an?|my|our|another|bed|next|\d)\b)|\bich (?:wohne|lebe) (?:jetzt )?in|"
     r"\bich bin nach|\bj['’](?:habite|ai déménagé) (?:maintenant )?(?:à|en|au)|\bvivo en|\bme mudé a|\b(?:eu )?moro (?:em|no|na)|\bme mudei para|我住在|我搬到")),
    ("work", _Gated("work started joined arbeite travaille trabajo trabalho", r"\bi (?:now )?work (?:at|for)|\bi(?:['’]ve| have)? (?:just |now )?(?:started (?:working )?(?:at|for)|joined(?! (?:the|an?|my|our|in)\b))|\bich arbeite (?:jetzt )?(?:bei|für)|\bje travaille (?:maintenant )?"
     r"chez|\btrabajo (?:ahora )?(?:en|para)|\btrabalho (?:agora )?(?:na|no|em)")),
    ("name", _Gated("name heiße appelle llamo chamo call", r"\bmy name is|\bich heiße|\bje m['’]appelle|\bme llamo|\bme chamo|^(?:please )?call me(?= [a-z]+(?: from now on| please)?\W*$)|我叫")),
    ("age", _Gated("m am turned", r"\bi(?:['’]m| am)(?: now)?(?= \d{1,3}(?: years old| now)?\W*$)|\bi (?:just )?turned(?= \d)")),
)  # fmt: skip


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """One form for the forms of a word, roughly, in the languages we know."""
    word = word.replace("’", "'")
    word = word[:-2] if word.endswith("'s") else word
    if known := _PAST.get(word):
        return known
    if word[:2] in ("d'", "l'", "j'", "n'", "m'"):
        word = word[2:]
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        word = word[:-1]
    for end in ("ing", "ed", "en"):
        if word.endswith(end) and len(word) > len(end) + 2:
            word = word[: -len(end)]
            return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl" else word
    return word[:-1] if word.endswith("e") and len(word) > 2 else word


def telling(text: str) -> frozenset[str]:
    """The stems of the words that say something, of lower-case text."""
    found = {stem(word) for word in _WORD.findall(text if text.isascii() else _HAN.sub(" ", text)) if word not in _STOP}
    for run in () if text.isascii() else _HAN.findall(text):
        for part in _HAN_SMALL.split(run):
            found.update([part] if len(part) < 3 else (part[at : at + 2] for at in range(len(part) - 1)))
    found.discard("")
    return frozenset(found)


def values(text: str, signs: int) -> tuple[Values, str]:
    """The values of lower-case text with these signs, each with its sort, and the text without them."""
    found, between, end = [], [], 0
    for start in (_VALUE_AT if signs & _VALUED.bit else _FIGURE_AT).finditer(text):
        match = _VALUE.match(text, start.start()) if start.start() >= end else None
        if match is None:
            continue
        between.append(text[end : match.start()])
        end = match.end()
        sort, said = match.lastgroup or "number", match.group()
        if match["amount"]:
            sort = "n:" + match["unit"][:2]
        if said in _COUNT:
            said = _COUNT[said]
        if sort == "day":
            said = str(
                _DAY.get(said, _DAY.get(said[:-1], _DAY.get(_SHORT.get(said[:3], ""), "一二三四五六日".find(said[-1]))))
            )
        elif sort == "date":
            names = [str(_MONTH[word]) for word in _WORD.findall(_FIGURE.sub(" ", said)) if word in _MONTH]
            said = "/".join(names[:1] + _FIGURE.findall(said))
        elif sort == "clock" and said[:1].isdigit():
            hour, *rest = (int(one) for one in _FIGURE.findall(said))
            said = str((hour % 12 + (12 if "p" in said else 0) if "m" in said else hour) * 60 + sum(rest))
        elif sort != "clock":
            said = _GROUPED.sub("", "".join(_NUMBER.findall(said)[:1])).replace(",", ".") + (
                "000" if "k" in said and sort == "money" else ""
            )
            said = said.rstrip("0").rstrip(".") if "." in said else said
        found.append((sort, said))
    return tuple(found), " ".join([*between, text[end:]]) if found else text


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


_I = _Gated("i ich je j yo eu", r"\b(?:i|i['’]\w+|ich|je|j['’]\w+|yo|eu)\b|我")


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
    """The sentences of a text; none where it is only one."""
    cuts = (_SENTENCE if shown.isascii() else _HAN_SENTENCE).split(shown)
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
    return Slot(owner, of.union(stem(word) for word in _OF.findall(rest) if word not in _STOP), _tail(gives))


def _tail(text: str) -> str:
    """What a slot is given, for comparing it letter by letter."""
    return " ".join(_WORD.findall(text)[:8])


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
