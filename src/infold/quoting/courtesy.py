"""Sentences that say nothing to keep: thanks, greetings, apologies, cheers, the mark of an attachment. Pure."""

from __future__ import annotations

import re

from infold.quoting.cues import CLASSES
from infold.quoting.features import Seen

_SHORT = 9
"""Words of a sentence that a courtesy may fill."""


def _words(*names: str) -> frozenset[str]:
    return frozenset(" ".join(CLASSES[name].split("|")[0] for name in names).split())


_THANKS = _words("thanks") | frozenset("appreciate appreciated agradeço agradezco".split())
_KIND = (
    _THANKS
    | _words("sorry", "praise")
    | frozenset("hi hey hello hallo hola bonjour salut olá oi bye goodbye ciao tschüss".split())
)
_FILLING = (
    _KIND
    | _words("yes", "please")
    | frozenset(
        "you so much very a the that that's is it it's for all of and what oh ah good morning night day luck no problem well done too my me i'm "
        "welcome help helping time support assistance patience alright idea sounds looks really such always love this to hear".split()
    )
)
_CHEER = re.compile(
    r"\b(?:you(?:'ve)? got this|you can do (?:it|this)|here for you|proud of you|keep (?:it up|going|up the|pushing|at it)|hang in there|stay (?:strong|positive|safe)"
    r"|take care|good luck|well done|don'?t give up|one step at a time|every (?:little )?(?:bit|step) (?:counts|helps|matters)|rooting for you|believe in your?|cheering (?:you )?on"
    r"|have (?:fun|a (?:great|nice|good|lovely))|enjoy your|sounds (?:great|good|lovely|amazing|fun|awesome)|viel (?:glück|erfolg|spaß)|du schaffst das|halt durch|gute besserung"
    r"|bon courage|bonne (?:chance|journée|soirée)|tu vas y arriver|buena suerte|tú puedes|que vaya bien|mucho ánimo|boa sorte|você consegue|vai dar certo)\b"
    r"|加油|保重|祝你",
    re.IGNORECASE,
)
# What those begin with; a word with an apostrophe or a hyphen may hold one of them.
_CHEERFUL = frozenset(
    "you here proud keep hang stay take good well dont one every rooting believe cheering have enjoy sounds viel du halt gute bon bonne tu buena tú "
    "que mucho boa você vai".split()
)
_COMPOUND = re.compile("['-]")


def idle(one: Seen) -> bool:
    """Whether a sentence is courtesy and nothing more."""
    text, words = one.text, one.words
    if text.startswith("[") and text.endswith("]") and text.count("[") == 1:
        return True  # "[image: cat.png]" stands for a part that is no text
    if one.figures:
        return False
    if one.cjk:
        return len(text) < 10 and _CHEER.search(text) is not None
    if len(words) > 2 * _SHORT:
        return False
    if _FILLING.issuperset(words):
        return bool(words)
    if len(words) <= 6 and not _THANKS.isdisjoint(words):
        return True
    if len(words) > _SHORT and not text.endswith("!"):
        return False
    if (not _CHEERFUL.isdisjoint(words) or not text.isascii() or _COMPOUND.search(text)) and _CHEER.search(text):
        return True
    return len(words) <= _SHORT and text.endswith("!") and not _KIND.isdisjoint(words)
