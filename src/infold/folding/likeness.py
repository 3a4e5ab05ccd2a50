"""Whether two lines of memory speak of the same thing. Pure."""

from __future__ import annotations

import functools
import re
from itertools import chain

from infold.lines.line import normal

_SMALL_WORDS = frozenset(
    "a an and are as at be been being but by can did do does for from had has have he her him his how i if in into "
    "is it its me my no not of off on or our out she so some than that the their them then there these they this "
    "those to too up us was we were what when where which while who will with would you your user user's assistant "
    "assistant's shall should could may might must am i'm i'll i've we'll we're we've it's that's let's let about "
    "all also any because still just yet now only more most much very one other such own same s t ll re ve d m don "
    "isn wasn aren couldn hasn haven doesn won wouldn didn weren shouldn".split()
)
# Too common in what people do to tell one task from another.
GENERIC = frozenset(
    "yes yeah yep nope noted understood thanks thank okay send sent call booke book pay paid order buy bought get got make made check finish done complete ask write "
    "wrote e-mail email prepare review take took bring pick set sort handle need go went come give look work use "
    "put keep new week month day morning evening afternoon night today tomorrow tonight end date time next mon tue "
    "wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday january february march april june "
    "july august september october november december jan feb mar apr jun jul aug sep oct nov dec before after until "
    "due latest plan decide decision decided choose choice option final instead change switch first last already "
    "finally yesterday question answer open know knew find found whether confirm confirmed settle sorted clear "
    "unclear thing stuff bit swap plan result issue straight try again info nothing know news update spoke great "
    "good myself official colleague responsible takes leave quick still remains step commitment action next side "
    "between report unresolved pending side stage website silent flag park point mark behind written nowhere "
    "everywhere number told tell people consider word latest deadline job court ball unnecessary become happen "
    "establish ring rang phone phoned sat yesterday treat say said mistake wrong right actual current ignore former "
    "earlier overrule veto vote stand void reverse decision mind move handy easier tick strike cross off wrap "
    "forget worry complete finished cancelled dealt care taken mark remove anymore longer reply replied mystery "
    "solved turn learn mail couldn't hasn't haven't doesn't don't isn't nobody anything something everything "
    "going promise remind remember list task item waiting pending hear heard back".split()
)


@functools.lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A word without the endings that only bend it."""
    if word.endswith("'s"):
        word = word[:-2]
    if not word.isalpha() or len(word) < 5:
        return (
            word[:-1] if word.endswith("s") and len(word) == 4 and word.isalpha() and not word.endswith("ss") else word
        )
    for ending, put in (("ies", "y"), ("ing", ""), ("ied", "y"), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and not word.endswith(("ss", "us", "is")) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + put
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "sle":
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


@functools.lru_cache(maxsize=2048)
def words(text: str) -> frozenset[str]:
    """The words of a text that tell it from another, bent forms alike."""
    return frozenset(_stemmed(text))


def _stemmed(text: str) -> chain[str]:
    return chain.from_iterable(map(_stems, normal(text).replace("/", " / ").split()))


@functools.lru_cache(maxsize=8192)
def _stems(word: str) -> list[str]:
    return [stem(part) for part in _parts(word) if (part not in _SMALL_WORDS and len(part) > 1) or part.isdigit()]


def _parts(word: str) -> list[str]:
    if word.isalnum():
        return [word]
    return [word] if any(ch.isdigit() for ch in word) else [part for part in re.split(r"[-./:]", word) if part]


GENERIC = frozenset(stem(word) for word in GENERIC)


@functools.lru_cache(maxsize=2048)
def figures(found: frozenset[str]) -> frozenset[str]:
    """The words with a digit."""
    return frozenset(word for word in found if any(ch.isdigit() for ch in word))


def alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two lines say the same: equal figures, and one has nothing to add, or hardly a word differs."""
    if figures(one) != figures(other) or len(one & other) * 2 < len(one | other):
        return False
    first, second = one - GENERIC or one, other - GENERIC or other
    return first <= second or second <= first or len(one & other) * 100 >= 85 * len(one | other)
