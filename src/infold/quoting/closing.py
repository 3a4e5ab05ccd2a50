"""Which open line a later one closes: a task that is reported done, a question that is answered. Pure."""

from __future__ import annotations

import re

from infold.quoting.saying import Said
from infold.quoting.telling import DOING, stem

_OPEN = re.compile(
    r"\b(?:i'll|i (?:still )?(?:need|have|must|want)|need to|must|to ?do|remind me|don't forget|remember to|please|can you|could you|will|"
    r"still (?:to|have|need)|going to|by (?:next |this |the |end of )?(?:\w{3,6}day|mon|tue|wed|thu|fri|sat|sun|\d|tomorrow|tonight|noon)|"
    r"muss|müssen|nicht vergessen|il faut|je dois|n'oublie|tengo que|hay que|preciso|tenho que)\b|要|得"
)
_AGAIN = re.compile(
    r"\b(?:every|each|always|never|daily|weekly|monthly|yearly|jede[nrsm]?|immer|chaque|toujours|cada|siempre|sempre|once a|"
    r"whenever)\b"
)
_TODO = frozenset(
    stem(word)
    for word in "need remind remember forget todo do still want must muss müssen vergessen have faut dois tengo hay preciso tenho later".split()
)
_REPORTS = re.compile(
    r"\b(?:(?!need|feed|speed|indeed)\w{2,}ed|bought|paid|sent|wrote|written|built|told|sold|rang|done|gekauft|gebucht|bezahlt|"
    r"geschickt|geschrieben|bestellt|angerufen|acheté|réservé|payé|envoyé|appelé|comprado|compr[eé]i?|reservado|reserv[eé]i?|"
    r"pag(?:ado|ué|uei|o)|envi(?:ado|é|ei)|liguei|llamado|llamé)\b|了"
)
_NOT_YET = re.compile(
    r"\b(?:will|to be|need|needs|must|should|going to|please|can you|could you|not|yet|want|wants|plan|almost|nearly|"
    r"unless|until)\b|n't\b|'ll\b"
)
_READY = re.compile(
    r"\b(?:is|are|all|s) (?:done|finished|ready|sorted|live|fertig|erledigt|terminé|fait|hecho|listo|feito|pronto)\b"
)
_ASKS = re.compile(
    r"^\W*(?:(?:and|so|but) )?(which|what|where|when|how much|how many|who|welche[rs]?|wann|wo|"
    r"quel(?:le)?s?|quand|où|cuál|cuándo|dónde|qual|quando|onde)\b"
)
_TIME, _SUM = frozenset(("date", "day", "clock")), frozenset(("money", "number"))
_SORTS_ASKED = {
    "when": _TIME,
    "wann": _TIME,
    "quand": _TIME,
    "cuándo": _TIME,
    "quando": _TIME,
    "how much": _SUM,
    "how many": frozenset(["number"]),
}
BOOKED = frozenset(
    stem(word) for word in "hotel flight restaurant room table train airline campsite hostel venue".split()
)
BOOKS = frozenset(stem(word) for word in "book reserve".split())


def asks(said: Said) -> bool:
    """Whether a line asks for something that a later one may answer."""
    return not said.sure and _ASKS.match(said.low) is not None


def reports(said: Said) -> bool:
    """Whether a line says that somebody did something."""
    return _REPORTS.search(said.low) is not None


def ready(said: Said) -> bool:
    """Whether a line says that something is done."""
    return _READY.search(said.low) is not None


def finished(said: Said) -> bool:
    """Whether a line says that something is done, or that somebody did it, and not that it has still to be."""
    return (ready(said) or (not said.core.isdisjoint(DOING) and reports(said))) and _NOT_YET.search(said.low) is None


def done(new: Said, old: Said) -> bool:
    """Whether a line reports what another one has still to be done."""
    first = stem(old.low.split()[0]) if old.low.split() else ""
    if old.kind != "open" and not (_OPEN.search(old.low) or first in DOING):
        return False
    if old.kind in ("rule", "preference", "who") or _AGAIN.search(old.low) or old.beside(new):
        return False
    if not ready(new) and reports(old) and old.kind != "open":
        return False
    if not ready(new) and old.core.isdisjoint(new.core & DOING):
        return False
    things, told = old.core - DOING - _TODO, new.core - DOING
    shared = len(things & told) + len(set(old.values) & set(new.values))
    return shared > 0 and (2 * shared > len(things) or shared > 2)


def answers(new: Said, old: Said) -> bool:
    """Whether a line answers a question."""
    asked = _ASKS.match(old.low)
    if asked is None or not old.core or old.beside(new):
        return False
    sorts = _SORTS_ASKED.get(asked[1].lower())
    if sorts is not None:
        if (len(old.core) < 2 and not new.soon_after(old)) or "," in old.low:
            return False
        return old.core <= new.core and any(sort in sorts for sort, _ in new.values) and not _OPEN.search(new.low)
    if new.core & BOOKS and old.core & BOOKED and len(old.core) <= 2 and len(new.core) >= 2:
        return reports(new) and not new.core & (BOOKED - old.core)
    return len(old.core) >= 2 and old.core < new.core and len(new.core) <= len(old.core) + 3
