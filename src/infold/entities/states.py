"""Whether a sentence says that something is broken, done or dropped. Pure."""

from __future__ import annotations

import re
from itertools import groupby


class _Signs:
    """Pieces of words without one of which a pattern finds nothing: faster to look for than the pattern."""

    def __init__(self, signs: str) -> None:
        by_letter = groupby(sorted(set(signs.split())), key=lambda sign: sign[0])
        self._found = re.compile(
            "|".join(f"{first}(?:{'|'.join(one[1:] for one in some)})" for first, some in by_letter)
        ).search

    def __call__(self, low: str) -> bool:
        return self._found(low) is not None


# All patterns and functions are for lower-cased text.

# ---------------------------------------------------------------- problems

_BROKEN = re.compile(
    r"\b(?:(?:is|are|'s|'re|'m|am|been|got|gets?|keeps?|seems?|looks?|remains?|became|goes|went)(?: \w+ly| still| again| now| currently| also| all| totally| constantly| always)*"
    r" (?:broken|stuck|blocked|failing|crashing|hanging|leaking|frozen|unreachable|corrupt(?:ed)?|offline|down(?= again| since| for| right|[.,!]|$)|out of (?:memory|disk|space)|jammed|unresponsive|not (?:working|responding|loading|starting|building|compiling|syncing))"
    r"|(?:isn't|aren't|is not|are not|not) (?:working|responding|loading|starting|building|compiling|syncing|charging|printing)(?! on\b| at\b| for\b| as\b)"
    r"|(?:doesn't|don't|does not|do not|won't|didn't) (?:work(?! out)|start|load|build|compile|boot|respond|connect|open|sync|charge|turn on|print)(?= |[.,!?]|$)(?! (?:on|at|for|as|in) (?:weekend|monday|friday|night|holiday))"
    r"|stopped (?:working|responding|loading)|keeps? (?:failing|crashing|hanging|freezing|disconnecting|dropping|timing out|throwing|restarting|breaking)"
    r"|(?:fails?|failed|crash(?:es|ed)|hangs|freezes|breaks)(?: (?:again|with|on|when|because|since|for|at|during|to|after|every|in|whenever|silently|always|randomly)\b|[.,!?]|$)|times? out|timed out|throws? (?:an? )?(?:\w+ )?(?:error|exception)"
    r"|(?:there(?:'s| is)|has|have|found|hit|get|getting|got|see|seeing) (?:a|an|another|this|some)(?: \w+){0,2} (?:bug|errors?|memory leak|leak|deadlock|crash|outage|regression|race condition)\b(?! bounty)"
    r"|can(?:'t|not) (?:log in|login|sign in|connect|build|deploy|start|open the|reach|install|upload|download)|(?:blocked|held up) by|no funciona|ne (?:marche|fonctionne) (?:pas|plus)|funktioniert nicht|geht nicht|ist kaputt)"
    r"|坏了|不能用|لا يعمل",
)
_BROKE = _Signs(
    "brok stuck block fail crash hang leak froz freez unrea corrupt offline down out jam unresp n't not stopped keep break throws bug error "
    "lock regress race funcion fonction marche funktion geht kaputt 坏了 不能用 يعمل"
)
# Said of what may be, what was, and what people say of themselves.
_UNREAL = re.compile(
    r"(?:^|[,;:–] ?)(?:(?:and|but|so|please) )?(?:don't|do not|if|unless|in case|suppose|imagine|whenever|when|once|until)\b|\b(?:if (?:it|the|this|that|they|you|something|anything|we|i|one)|would|could|might|may|in case|unless|should|used to|whether|or else|so that|otherwise"
    r"|no longer|never|isn't (?:broken|stuck|blocked)|not (?:broken|stuck|blocked)|was (?:broken|stuck|blocked|down)|were (?:broken|stuck|down)|anymore|any longer|nothing|what happens|how (?:do|to|can)"
    r"|stuck (?:in traffic|at home|in a meeting|with me|to)|(?:heart|word|silence|record) is broken|out of (?:scope|time)|calm down|slow(?:ed)? down|breaks? (?:my heart|even|the ice|for)|crash(?:ed)? (?:course|at|on (?:my|the) (?:couch|sofa))|failed (?:attempt|state))\b",
)
_WHY = re.compile(r"^(?:any (?:idea|clue) )?why (?:is|are|does|do|did|has|have|won't|can't|doesn't|isn't)\b")

# ---------------------------------------------------------------- what is over

_OVER = re.compile(
    r"\b(?:is|are|'s|was|were|got|been|all) (?:now |all |finally |already |just |officially )*(?:done|finished|fixed|solved|resolved|completed|shipped|merged|deployed|submitted|delivered|sent(?: off)?|sorted(?: out)?|paid|booked|cancel+ed|called off)\b"
    r"|\bworks? (?:again|now|fine now)\b|\bno longer (?:fails?|crash(?:es)?|broken|stuck|blocked|hangs?|leak(?:s|ing)?)\b|\bup and running\b",
)
# "I've called the plumber": who says so did it.
_DID = re.compile(
    r"^(?:(?:ok|okay|yes|update|good news|btw|and|so|also|well|done)[,:!.]? )*(?:(?!(?:the|an?|my|our|your|this|that|his|her|no|not|nobody|nothing) )[\w-]+)?(?:'ve| have| has|'s)?(?: already| just| finally| now| also)* ?"
    r"(?:(?!need|want|seem|tri|plann|decid|promis|hop|wish|offer|start|miss|fail|us|lik|lov|not|agre|list|(?:ask|remind)ed [^,]* to )\w{2,}(?<!e)ed|sent|bought|paid|wrote|written|made|took|taken|gave|given|told"
    r"|spoke|spoken|met|found|brought|built|rang|sold|chose|chosen|got|did)\b(?! to\b)",
)
_DROPPED = re.compile(
    r"\b(?:cancel+(?:ed|ing)?|call(?:ed|ing)? off|drop(?:ped|ping)?|scrap(?:ped|ping)?|ditch(?:ed|ing)?|abandon(?:ed|ing)?|(?<!n't )(?<!not )(?<!never )(?<!me )(?<!to )(?<!i )(?<!always )forget(?: about)?|never ?mind|no longer (?:needs?|wants?|necessary|going|planning|required|have|has)"
    r"|won't be|(?:am|'m|is|are|'re) not going to|(?:not|don't|doesn't) (?:need|want|bother)[^.]*(?:any ?more|any longer|after all)|gave up|giving up|give up|not (?:happening|going to happen)|obsolete|off the table|moot"
    r"|(?:won't|will not|not) [^.]*(?:after all|any ?more))\b",
)
_ENDS = _Signs(
    "done finish fixed solved complet shipped merged deployed submitted delivered sent sorted paid booked cancel called works running longer"
)
_DROPS = _Signs("cancel call drop scrap ditch abandon forget mind longer n't not gave giv obsolete table moot")
_DENIED = re.compile(
    r"\b(?:not yet|hasn't|haven't|has not|have not|isn't|aren't|wasn't|weren't|not (?:done|finished|fixed|solved|resolved)|until|once|if|when|as soon as|will be|should be|almost|nearly|half)\b|\?\s*$",
)


def broken(low: str) -> bool:
    """Whether a sentence says that something does not work, or asks why it does not."""
    if not _BROKE(low) or not _BROKEN.search(low) or _UNREAL.search(low):
        return False
    return not low.rstrip().endswith(("?", "？")) or _WHY.match(low) is not None


def done(low: str) -> bool:
    """Whether a sentence says outright that something is done or works again, or that somebody did it."""
    return (_ENDS(low) and _OVER.search(low) is not None) or _DID.match(low) is not None


def dropped(low: str) -> bool:
    """Whether a sentence says that something will not be done."""
    return _DROPS(low) and _DROPPED.search(low) is not None


def denied(low: str) -> bool:
    """Whether a sentence that sounds as if something were over says the opposite, or only hopes or asks so."""
    return _DENIED.search(low) is not None
