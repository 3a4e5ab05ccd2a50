"""Words by which a text denies, limits, supposes or demands, in the languages the gate reads. Pure."""

from __future__ import annotations

import functools
import re
from importlib.resources import files
from typing import NamedTuple

from infold.folding.likeness import GENERIC, stem

SMALL = frozenset(
    "a an and are as at be been being but by did do does for from had has have having he her hers him his how i if in into is "
    "it its me my of on or our she so some than that the their them then there these they this those to too up "
    "us was we were what when where which while who will with would you your user users assistant shall should could "
    "may might must am can let about any because still just yet now only most much very one other such own "
    "also please really quite actually anyway ever even here been both again already currently get gets got getting per etc since therefore though although despite far hi hello either else doing th "
    "not no it's i'm i'd i've that's there's don user's "
    "der die das ein eine einen einem und oder ist sind war wird werden den dem des im zu zum zur für mit von auf an bei "
    "le la les un une des et ou est sont du de à au aux pour avec sur dans que qui el los las uno y o es son en por con "
    "para se su sus lo al del ich wir er sie es je nous il elle yo me mi mon ma mes mein meine sich auch hat haben ha he".split()
)
NEGATORS = frozenset(
    "not n't never no none nobody nothing neither nor cannot without nowhere noone non minus unlike nope nah hardly barely "
    "scarcely rarely seldom nicht kein keine keinen keinem keiner nie niemals ohne niemand nichts nein kaum ne n' jamais sans aucun aucune "
    "nunca sin ningún ninguna ninguno jamás tampoco nadie".split()
)
# Words that deny what stands after them, too.
_EMBEDDING = (
    "refuse refused refuses refusing refusal decline declined declines reject rejects rejecting deny denies forbid forbids "
    "prohibit prohibits ban bans avoid avoids avoided avoiding skip skips skipped stop stops stopped stopping quit "
    "cease ceased lack lacks lacked lacking unable unwilling reluctant fail fails failed failing prevent prevents "
    "prevented exclude excludes excluding omit omits oppose opposes opposed hate hates hated dislike dislikes "
    "disliked forget forgot forgets forgotten miss misses missing cancel cancels ditch ditched drop drops dropped "
    "abandon abandoned scrap scrapped incapable impossible loathe except excepting doubt doubts doubted allergic "
    "intolerant afraid terrified scared fears"
)
SHADES = frozenset(
    "only too instead rather until unless except otherwise either whether few fewer little less despite although though "
    "away out alone different hard late limit limited max maximum most least minimum enough alternative against wrong "
    "unfortunately sadly problem issue trouble exclusively solely merely former formerly nur solo seulement zu trop weniger "
    "moins menos bis außer sauf salvo off wait waits waiting waited low dry without before after beyond outside".split()
)
HEDGES = frozenset(
    "might maybe perhaps possibly considering consider considers considered tentative tentatively unsure undecided wonder wondering "
    "toying exploring could potentially probably may vielleicht eventuell könnte quizás peut-être weighing mulling proposed possible possibility "
    "suggested provisional provisionally leaning option candidate idea presumably likely appears seems apparently assume assumes assumed "
    "thinks believes expected hopes hopefully unconfirmed uncertain suspect suspected suspects discussed planned seem appear".split()
)
FIRM = frozenset(
    "decided decides will must definitely confirmed agreed chosen chose settled committed final finally finalised "
    "finalized certain certainly shall approved signed booked determined resolved opted selected beschlossen décidé "
    "decidido muss doit debe definite proven fixed surely guaranteed sure 'll is are required decision exactly".split()
)
MUST = frozenset(
    "must required requires require mandatory obligatory compulsory shall needs need muss müssen doit debe essential necessary".split()
)
MAY = frozenset("may might can could optional optionally kann peut puede optional voluntary".split())
MODAL = frozenset("can must need could may".split())
HEDGED, FIRMLY, OBLIGED, FREE = 1, 2, 4, 8
STARTERS = frozenset(
    "but however because since so while whereas if when which who where though although despite unless except aber sondern weil wenn mais parce pero sino porque".split()
)
AFTER_AND = frozenset(
    "i we he she it they you user is are was were has have had will would can could must should may might does do did needs wants plans uses likes prefers then also please not no never je nous il elle on ich wir er sie yo".split()
)
VERBAL = frozenset(
    "is are was were be will would can could must should may might has have had do does did needs need wants want uses use likes like prefers prefer "
    "it's that's he's she's there's who's what's here's got went came took made won left gave said kept ran goes takes ist sind est sont es son".split()
)
SUBJECTS = frozenset("i we he she they it it's that's let's i'd we'd i'll we'll i'm we're wir ich nous je".split())
CHOOSING = frozenset(
    "prefer prefers preferred choose chose chosen pick picks picked favour favours favor favors like likes wins won voted "
    "agreed decided went going settled opted selected hired hire take takes took prioritise prioritize".split()
)
SHORT = {
    f"{word}n't": (word, "n't")
    for word in "do does did is are was were has have had would could should must need ai".split()
} | {
    f"{word}nt": (word, "n't") for word in "do does did is are was were has have had would could should".split()
} | {
    "can't": ("can", "n't"), "won't": ("will", "n't"), "cannot": ("can", "n't"), "cant": ("can", "n't"),
    "wont": ("will", "n't"), "shan't": ("shall", "n't"), "mustnt": ("must", "n't"), "needn't": ("need", "n't"),
}  # fmt: skip
FITTING = frozenset(
    "free open available safe valid ready sure possible yet here there in on for to a the an at of so as by my our too part due".split()
)
# Phrases by what they say: nothing, "not", a sense that is affirmed or denied ("-"), or several of these.
_PHRASES = {
    "": "i'm afraid;we're afraid;am afraid;not only;not just;no doubt;no matter;no worries;why not;whether or not;or not;if not;not to mention;no wonder;"
    "can n't wait;n't help but;any more;anymore;any longer;at all;whatsoever;no need to worry;nothing but;why do n't;"
    "on and off;ticked off;signed off;signs off;sign off;sign-off;cut off;drop off;day off;days off;time off;trade off;"
    "oder nicht;ou non;no question;set off;kick off;hand off;not necessarily;paid off;pay off;better off;"
    "log off;as long as;as soon as;as well as;pick up;set up;make up;in case",
    "not": "used to;decided against;decide against;decision against;opted against;voted against;advised against;advises against;advise against;not that;no longer;no more;no one;no way;not yet;by no means;far from;instead of;rather than;in place of;in lieu of;"
    "as opposed to;n't yet;auf keinen fall;under no circumstances;anything but;none of;no such;not any;n't any",
    "not -possible": "can never;can n't;can not;could n't;could not",
    "not -accept": "must not;must n't;may not;must never;may never",
    "not -need": "need not;need n't;n't have to;not have to;no need;n't need to;not need to",
    "accept": "n't mind;not mind",
    "-like": "n't stand;n't bear;not stand;not bear;can n't stand;can n't bear;can not stand",
    "easy": "no problem;no trouble",
    "at_most": "no later than;no more than;not more than;n't more than;not exceed;n't exceed;not longer than;no longer than;"
    "not above;n't above;n't go above;not go above",
    "-at_most": "no less than;no fewer than;not less than",
    "-before": "no earlier than;not until;n't until;not earlier;not earlier than",
    "-certain": "not sure;n't sure;not certain;n't certain;n't decided;not decided;not clear;n't clear",
    "-good": "could have been better;could be better",
    "-know": "n't know;not know;no idea",
}


_IRREGULAR = dict(
    pair.split(":")
    for pair in "shown:show went:go goes:go came:come gave:give given:give took:take taken:take ran:run kept:keep  lost:lose "
    "sold:sell bought:buy sent:send paid:pay told:tell said:say knew:know known:know found:find held:hold ate:eat eaten:eat "
    "drove:drive driven:drive flew:fly flown:fly flies:fly wrote:write written:write spoke:speak spoken:speak chose:choose "
    "chosen:choose began:begin begun:begin threw:throw thrown:throw tore:tear torn:tear wore:wear worn:wear slept:sleep "
    "met:meet built:build fell:fall fallen:fall grew:grow grown:grow rose:rise risen:rise drank:drink drunk:drink sang:sing swam:swim "
    "rang:ring stood:stand brought:bring made:make had:have has:have dies:die died:die children:child used:use using:use uses:use goods:wares understood:understand meant:mean lets:let letting:let note:memo notes:memo noted:memo fed:feed logged:log logging:log".split()
)
_ENDINGS = re.compile(
    r"(?:ational|isation|ization|ication|ation|ition|ement|ment|ance|ence|ancy|ency|ness|ably|ibly|able|abl|ible|ibl|ion|ity|ous|ive|ally|ly|al|at|er|or|iv|y)$"
)


@functools.lru_cache(maxsize=8192)
def bare(word: str) -> str:
    """A word without the endings that only bend it."""
    found = stem(_IRREGULAR.get(word, word))
    return found[:-1] if len(found) == 4 and found.endswith("e") else found


@functools.lru_cache(maxsize=8192)
def root_of(word: str) -> str:
    """What the bent and derived forms of a word share: "inspect" of "inspection"."""
    root = bare(word)
    if len(root) > 5 and root.isalpha():
        for _ in range(2):
            short = _ENDINGS.sub("", root)
            if len(short) >= 4:
                root = short
    return root[:-1] if len(root) > 4 and root.endswith(("e", "i")) else root


class Sense(NamedTuple):
    """What a word or a phrase stands for, and whether it affirms or denies it."""

    name: str
    side: int
    starred: bool


class Lexicon(NamedTuple):
    """What words and phrases stand for."""

    senses: dict[str, tuple[Sense, ...]]
    """By stem."""
    roots: dict[str, tuple[Sense, ...]]
    """By root, for words that are derived from them."""
    phrases: dict[str, tuple[tuple[list[str], bool, tuple[Sense, ...]], ...]]
    """By the first stem, longest first: the other stems, whether it says "not", and its senses."""


@functools.cache
def lexicon() -> Lexicon:
    """The words of opposites.txt, and the phrases above."""
    senses: dict[str, dict[str, Sense]] = {}
    roots: dict[str, dict[str, Sense]] = {}
    phrases: dict[tuple[str, ...], tuple[bool, dict[str, Sense]]] = {}
    stars: dict[str, bool] = {}
    told = (files("infold.folding") / "opposites.txt").read_text("utf-8")
    for row in told.splitlines():
        if not row.strip() or row.startswith("#"):
            continue
        starred = row.startswith("* ")
        affirming, bar, denying = row.removeprefix("* ").partition(" | ")
        name = "=" + affirming.split()[0]
        stars[name] = starred
        for side, words in ((1 if bar else 0, affirming), (-1, denying)):
            for word in words.split():
                sense = Sense(name, side, starred)
                parts = tuple(map(bare, word.split("_")))
                if len(parts) > 1:
                    phrases.setdefault(parts, (False, {}))[1].setdefault(name, sense)
                else:
                    senses.setdefault(parts[0], {}).setdefault(name, sense)
                    if len(root := root_of(word)) > 4:
                        roots.setdefault(root, {}).setdefault(name, sense)
    for meaning, ones in _PHRASES.items():
        denies = meaning.startswith("not")
        meant = meaning.removeprefix("not").strip()
        name = "=" + meant.removeprefix("-")
        for one in ones.split(";"):
            found = {name: Sense(name, -1 if meant[0] == "-" else 1, stars[name])} if meant else {}
            phrases[tuple(map(bare, one.split()))] = (denies, found)
    first: dict[str, list[tuple[list[str], bool, tuple[Sense, ...]]]] = {}
    for parts, (denies, found) in sorted(phrases.items(), key=lambda one: (-len(one[0]), one[0])):
        first.setdefault(parts[0], []).append((list(parts[1:]), denies, tuple(found.values())))
    return Lexicon(
        {word: tuple(ones.values()) for word, ones in senses.items()},
        {root: tuple(ones.values()) for root, ones in roots.items()},
        {word: tuple(ones) for word, ones in first.items()},
    )


EMBEDDING = frozenset(map(bare, _EMBEDDING.split()))
PREFIXED = re.compile(
    r"(?:un(?!der|til|it|ion|iv|iq|cle|less)|non)(?P<inner>[a-z]{4,})|(?:dis|in|im)(?P<known>[a-z]{5,})|(?P<lacked>[a-z]{4,})less"
)
ANSWERS = {
    **dict.fromkeys("yes yeah yep yup sure absolutely definitely correct exactly ja oui sí right".split(), 1),
    **dict.fromkeys("no nope nah never nein non not impossible unfortunately neither".split(), -1),
}
RELEASING = frozenset(
    "for because since as over with by in at on until due from about of after before during because".split()
)
PALE = frozenset(map(root_of, GENERIC)) | {"use", "hav", "like", "want", "keep", "day", "week"}
