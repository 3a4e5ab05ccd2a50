"""The words that tell what a line is about, in one form each. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

STOP = frozenset(
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
HAN = re.compile(r"[\u3400-\u9fff]+")
_HAN_SMALL = re.compile(r"[我你他她它的了是在把就吧们和也都很这那请为到新]|现在|不再|改成|改为|改用|换成|用")
WORD = re.compile(r"[^\W_]+(?:['’&-][^\W_]+)*[+#]*")
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
    found = {stem(word) for word in WORD.findall(text if text.isascii() else HAN.sub(" ", text)) if word not in STOP}
    for run in () if text.isascii() else HAN.findall(text):
        for part in _HAN_SMALL.split(run):
            found.update([part] if len(part) < 3 else (part[at : at + 2] for at in range(len(part) - 1)))
    found.discard("")
    return frozenset(found)
