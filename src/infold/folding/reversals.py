"""Changes of mind: what holds now, and what it overturns. Pure."""

from __future__ import annotations

import functools
import re

from infold.folding.likeness import GENERIC, words
from infold.folding.telling import without_change

# Where the name of the old thing ends.
_NEXT = r"(?=\s+(?:we|i|let's|and|but|because|so|for|then|as|since|in favou?r|with|to|on|at|it|now|any ?more|the|they|our|he|she)\b|[,;:!?)]|\.(?!\w)|\s[–—-]|$)"
_OLD = re.compile(
    rf"(?:\b(?:instead of|rather than|in place of|in lieu of|and not|but not|away from|(?<!more )(?<!less )(?<!later )(?<!longer )(?<!fewer )(?<!earlier )(?<!bigger )(?<!better )than)|, (?:now )?not|(?<!is)(?<!are)(?<!was)(?<!'s)(?<!'re)(?<!'m)(?<!do)(?<!does)(?<!will)(?<!can)(?<!must)(?<!may) not(?! to\b)(?= [\w .'’-]{{2,30}}$))\s+(?:the |our |my |using |going with |a )?(\w(?:[^,.;:!?()–—]|\.(?=\w)){{1,40}}?){_NEXT}",
    re.IGNORECASE,
)
_FROM_TO = re.compile(r"\bfrom\s+(?:the )?(\w(?:[^,.;:!?()–—]|\.(?=\w)){1,40}?)\s+(?:over )?to\s+", re.IGNORECASE)
_SWAP = re.compile(
    r"\b(?:(?:swap|replac|trad|substitut)(?:e|es|ed|ing|ped|ping)?\s+(?:out )?(?:the |our |my )?(?!to\b|over\b|from\b|back\b)(\w(?:[^,.;:!?()–—]|\.(?=\w)){1,40}?)\s+(?:for|with|by)"
    r"|(?:ditch|drop|scrap|abandon|shelv|axe|bin)\w*\s+(?:the |our |my )?(\w(?:[^,.;:!?()–—]|\.(?=\w)){1,40}?)\s+(?:for|in favou?r of))\s+",
    re.IGNORECASE,
)
_FEW = 4  # words of a thing that is named outright
_FAVOURED = re.compile(r"\b(?:in favou?r of|given way to) (.+)$", re.IGNORECASE)
# "Y replaces X" and "X makes way for Y".
_OUSTS = re.compile(
    r"^(.{2,60}?)\s+(?:(?:now |just |has |have |is |will )*(?:replac(?:es|ed|ing)|supersed(?:es|ed|ing)|tak(?:es?|ing) over from|took over from|oust(?:s|ed)|beats?|displac(?:es?|ed)|overtakes?|overtaken|outranks?|trumps?|edg(?:es?|ed) out|stands? in for|steps? in for))\s+(?:the |our )?(.+)$",
    re.IGNORECASE,
)
_YIELDS = re.compile(
    r"^(.{2,60}?)\s+(?:(?:now |has |have |had to |is |was |been |being |will |must )*(?:mak(?:es?|ing) way for|made way for|giv(?:es?|ing) way to|gave way to|los(?:es|t) out to|replaced (?:by|with)|beaten by|superseded by|yield(?:s|ed) to|turn(?:s|ed) into|swapped (?:out )?for|exchanged for|ousted by|dropped for|traded for|bumped for))\s+(.+)$",
    re.IGNORECASE,
)
_FIRST_OLD = re.compile(r"^(?:rather than|instead of|not|no(?: more)?) ([^,;–—]{3,60})[,;–—] *(.{4,})$", re.IGNORECASE)
_ANEW = re.compile(
    r"\b(?:now|instead|after all|from now on|from here on|as of (?:today|now)|henceforth|this time|current(?:ly)?|latest|these days|nowadays|going forward)\b"
)
_NOW = re.compile(
    r"\b(?:now|instead|it is|it's|it'll be|after all|from now on|becomes?|gets|makes? (?:it|that)|will be|back to)\b",
    re.IGNORECASE,
)
_PIECE = re.compile(
    r"\s*(?:[,;:()](?!\d)|\s->\s|→|\s[–—-]{1,2}\s|—|\b(?:and|so(?! far)|but|hence|therefore|then)\b|\s&\s)\s*",
    re.IGNORECASE,
)
# How people speak of what is no longer meant.
_BYGONE = re.compile(
    r"\b(?:no(?! (?:one|problem|contest|questions?|doubt|need|idea|matter|discussion|worries|wonder|less|other|further|more|longer|alternative|objections?)\b)|not|n't|no longer|isn't|wasn't|aren't|weren't|didn't|doesn't|don't|won't|can't|too (?:expensive|slow|small|big|late|heavy|loud|pricey)|fell through|vetoed|is out|are out|'s out|out of|(?<!-)off(?!-| to)|dead|gone(?! (?:for|with|over|to|back))|back(?:ed|ing) out|talked|let (?:us|me) down|mistake"
    r"|wrong|forget|i said|we said|told you|remember|tak(?:e|ing) back|goodbye|bye|cancel\w*|scrap\w*|scratch\w*|drop\w*|ditch\w*|strike|ignore|disregard|said no|went badly|badly|void|revers\w+|nobody|original(?:ly)?|earlier|former|(?:the |our |my )?old (?:plan|decision|choice|pick|one|idea)|previous|initially|was going|were going|used to|away from"
    r"|flopped|failed|ruled out|second thoughts|minds?|rethink|no more(?! than)|axed|thr[eo]wn?|tore|torn|collapsed|given up|gave up|withdrew|pulled out|used to|formerly|had (?:decided|planned|settled|told|picked|booked|agreed|the)|(?:we|i|they)'d (?:settled|decided|planned|agreed|picked|booked|said)|were for|changed tack|over(?<!taking over)(?<!take over)(?<!takes over)(?<!took over) the|sold out|discontinued|unavailable|no good|make the cut|lost out|outvoted|bumped|rejected|declined|turned down|(?:was|were) (?:the|our|my|to be|meant|supposed|too|going)|had been|at first|no-go|knocked|kicked|benched|part(?:ed|ing) (?:ways|company)|moved on from|walked away|jumped ship"
    r"|farewell|adieu|undo|undone|retract\w*|withdraw\w*|my earlier|previously|erase|delete|cross(?:ed)? out|cooled on|soured on|lost (?:faith|interest)|fed up|thing of the past|obsolete|stale|hates?|hated|returned|sent back|reassigned|unsuitable|impractical|(?:bad|wrong) call|regret\w*|retired|sunset|phased out|dump\w*|binn?(?:ed|ing)?|cann?(?:ed|ing)|shelv\w+|abandon\w*|history|wasn't|out the window|off the (?:table|menu|list)|up in smoke|came to nothing|let go"
    r"|loses?|lost|last (?:week|time|month)'s|first (?:choice|pick|idea|plan)|reopened|overruled|contrary|disappointed|disappointing|instead of|rather than|over with)\b|n't\b",
)


@functools.lru_cache(maxsize=256)
def bygone(text: str) -> bool:
    """Whether a text speaks of something that is no longer meant."""
    return _BYGONE.search(text.lower()) is not None


@functools.lru_cache(maxsize=256)
def anew(text: str) -> bool:
    """Whether a text says that something holds from now on."""
    return _ANEW.search(text.lower()) is not None


def _tail_topic(holds: str, rest: str) -> str:
    """What holds, with the topic that stands behind the old thing: "Y replaces X as the venue"."""
    found = re.search(r"\s((?:as|for|on|in) .+)$", rest)
    return f"{holds} {found[1]}" if found else holds


# "X, which we had agreed on, is out"
_ASIDE = re.compile(r", (?:which|who) [^,]{3,60},(\s(?=(?:is|are|was|were|has|have|had|will|did|does|got|can)\b))?")


# Whatever _FAVOURED, _FROM_TO, _SWAP and _OLD find has one of these in it: most texts have none.
_FAVOURS = ("favo", "given way")
_MOVES = ("from",)
_SWAPS = ("swap", "replac", "trad", "substitut", "ditch", "drop", "scrap", "abandon", "shelv", "axe", "bin")
_NAMES_OLD = ("not", "than", "instead", "place", "lieu", "away")


def outcome(told: str) -> tuple[str, str]:
    """A reversal as what holds now, and the old thing where it is named outright. The text as it is where they cannot be told apart."""
    told = _ASIDE.sub(lambda aside: aside[1] or ",", without_change(told))
    said = told.lower().__contains__
    favoured = _FAVOURED.search(told) if any(map(said, _FAVOURS)) else None
    if favoured:
        return favoured[1], ""
    yields = _YIELDS.match(told)
    if yields:
        return yields[2], ""
    ousts = _OUSTS.match(told)
    if ousts and not bygone(ousts[1]) and not _SWAP.search(told):
        return _tail_topic(ousts[1], ousts[2]), ""
    for pattern, signs, put in ((_FROM_TO, _MOVES, "to "), (_SWAP, _SWAPS, "")):
        found = pattern.search(told) if any(map(said, signs)) else None
        if found and len((old := found[found.lastindex or 1]).split()) <= _FEW:
            return told[: found.start()] + put + told[found.end() :], old
    found = _OLD.search(told) if any(map(said, _NAMES_OLD)) else None
    first = _FIRST_OLD.match(told)
    if first and (not found or found[1].endswith("ing") or len(told[found.end() : first.start(2)].split()) < 3):
        return first[2], first[1] if len(first[1].split()) <= _FEW else ""
    if found:
        rest = f"{told[: found.start()]} {told[found.end() :]}".strip(" ,;:.")
        if len(rest.split()) >= 2:
            return rest, found[1]
    pieces = [piece for piece in _PIECE.split(told) if piece and words(piece)]
    holds = [piece for piece in pieces if not bygone(piece) and words(piece) - GENERIC]
    if holds and len(holds) == len(pieces):  # nothing is called bygone: what holds is what is said to hold now
        holds = next((pieces[at:] for at, piece in enumerate(pieces) if at and _NOW.search(piece)), pieces)
    if not holds or len(holds) == len(pieces):
        return told, ""
    return outcome(", ".join(holds))  # which may name the old thing once more
