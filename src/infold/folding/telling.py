"""A clause told in the third person, compact, without lead-ins, and without repeating its source. Pure."""

from __future__ import annotations

import re

from infold.folding.dates import resolve
from infold.folding.names import FIGURE, identifiers

MAX_RUN = 12  # longest run of consecutive source words an item may repeat
_LONGEST = 20  # words of an item

# Openings and politeness that carry nothing.
_LEAD = re.compile(
    r"^(?:(?:well|haha|lol|ugh|wow|phew|you know|sorry(?: about that)?|ok(?:ay)?|so|and|but|also|oh|ah|hm+|yes|yeah|yep|no|nope|sure|right|great|perfect|thanks(?: a lot| so much| again)?|thank you(?: so much)?"
    r"|hi(?: there| again| all)?|hello|hey|by the way|btw|anyway|in fact|of course|good|alright|fine|cool|nice|please|pls|listen|look|fyi|ps|p\.s|nb|then|plus|now"
    r"|(?:just )?(?:a |one )?(?:quick|small|little|last|final|important|brief|another|minor|side) (?:note|one|update|heads[- ]up|thing|point|correction|reminder|question|addition|detail|fact|aside)"
    r"|one (?:more|other|last|final) (?:thing|point|detail)|another thing|heads[- ]up|note to self|before i forget(?: it)?|lest i forget"
    r"|for (?:the|your|our) (?:records?|information|reference|files?|notes?)|for what it'?s worth|just (?:so|for) (?:you know|you're aware|you have it|we're clear|the record)|so you know"
    r"|(?:just )?to (?:be (?:clear|honest|fair|safe|on the safe side|precise|sure)|recap|sum up|confirm|clarify|add|repeat)|as (?:i|we) (?:said|mentioned|told you|agreed|discussed)(?: before| earlier)?|like i said"
    r"|(?:please |just |and |also )*(?:keep|bear) in mind(?: that)?|(?:please )?(?:remember|note|be aware)(?: that|:)|(?:i|we) (?:should|must|have to|ought to) (?:mention|add|say|note|point out)(?: that)?"
    r"|(?:i|we) (?:forgot|meant|wanted|want|need) to (?:say|mention|add|tell you|let you know|note|point out)(?: that)?|it'?s worth (?:mentioning|noting|knowing)(?: that)?|worth (?:noting|mentioning|knowing)(?: that)?"
    r"|let me (?:just )?(?:add|mention|tell you|say)(?: that)?|(?:you|we) should (?:also )?know(?: that)?|in case (?:it matters|you need it|you need to know|you were wondering|you wonder|it helps|it comes up|anyone asks)"
    r"|if it helps|while (?:i|we)(?:'m| am|'re)? (?:remember|at it|think of it|here)|speaking of (?:which|that)|(?:on|in) (?:that|another|a different|an unrelated|a side|other) (?:note|news)|update|good news|bad news"
    r"|i can confirm(?: that)?|i(?:'m| am) (?:happy|pleased|afraid|sorry) (?:to (?:say|report|tell you)(?: that)?|that)|the thing is|long story short|fun fact|truth be told|honestly|frankly|importantly|actually|basically|obviously|luckily|sadly|unfortunately|fortunately"
    r"|(?:(?:duly |well )?noted|got (?:it|that)|gotcha|understood|makes sense|sounds good|will do|copy that|absolutely|certainly|i see)(?=\s*[,:;!.–—])"
    r"|small world but|anyhow|incidentally|again|first(?:ly)?|second(?:ly)?|finally|lastly|oh and|not sure i said|did i mention(?: that)?|for context|context|background|some background|about me|reminder|correction|important|attention|careful|everyone|team|guys|folks)"
    r"(?:\s*[,:;!.–—-]+\s*|\s+(?=\S)|$))+",
)
_FIRST = re.compile(r"[\w'.]+")
_LEADS = frozenset(
    "well haha lol ugh wow phew you sorry ok okay so and but also oh ah hm hmm hmmm yes yeah yep no nope sure right great perfect thanks thank hi "
    "hello hey by btw anyway in of good alright fine cool nice please pls listen look fyi ps p.s nb then plus now "
    "just a one quick small little last final important brief another minor side heads note before lest for to as "
    "like keep bear remember be i we it's its worth let you if while speaking on update bad i'm the long fun truth "
    "honestly frankly importantly actually basically obviously luckily sadly unfortunately fortunately anyhow "
    "incidentally again first firstly second secondly finally lastly not did context background some about reminder "
    "correction attention careful everyone team guys folks "
    "duly noted got gotcha understood makes sounds will copy absolutely certainly".split()
)
# The same words can open a statement as part of it: "no meat", "now that", "first class", "please call".
_LEAD_KEEP = re.compile(
    r"^(?:no|now|first|second|good|right|fine|then|team|finally|again|important|background|context|reminder)\s+(?!,|:|-|–|—)",
)
_TAIL = re.compile(
    r"(?:[\s,.;–—-]+(?:thanks?(?: you)?(?: a lot| so much| in advance)?|cheers|please|pls|ok(?:ay)?|right|by the way|btw|fyi|though|as (?:i|we) (?:said|mentioned|agreed)|like i said|if that'?s (?:ok(?:ay)?|all right|fine|alright)"
    r"|you know|of course|obviously|honestly|i think|i guess|for the record|just so you know|in case (?:it matters|you need it|you were wondering|it helps|it comes up|anyone asks)|if you need it|lol|haha|anyway|too|as well|so far|at the moment|then"
    r"|keep that in mind|please (?:note|remember|keep that in mind|remember that)|remember|note that|don't forget|for now|for what it'?s worth|fwiw|no worries|sorry|promise|thank god|finally))+[\s.!,)]*$",
    re.IGNORECASE,
)
_TAILS = frozenset(
    "thanks thank you lot much advance cheers please pls ok okay right way btw fyi though said mentioned agreed "
    "fine alright know course obviously honestly think guess record matters it wondering helps up asks lol haha "
    "anyway too well far moment then mind note remember that forget now worth fwiw worries sorry promise god "
    "finally".split()
)
_ARTICLE = re.compile(r"^(?:the|a|an)\s+", re.IGNORECASE)
_ARTICLES = frozenset(["the", "a", "an"])
_SMALL = frozenset("that of is are was were has have been we so and then there it to also".split())
_IDLE_WORDS = (
    "please", "really", "just", "very", "quite", "actually", "basically", "simply", "kind of", "sort of", "absolutely",
    "definitely", "certainly", "honestly", "literally", "pretty", "totally", "completely", "also", "though", "anyway",
    "by the way", "of course", "so far",
)  # fmt: skip
_IDLE = re.compile(rf"\b(?:{'|'.join(_IDLE_WORDS)})\s+", re.IGNORECASE)

_CHANGED = re.compile(
    r"^(?:(?:scratch|scrap|forget|strike|ignore) (?:that|this|it)|on (?:second thoughts?|reflection)|change of plans?(?: again)?|(?:small |quick )?correction|(?:i|we)(?:'ve| have)? changed (?:my|our) minds?|never ?mind(?: that)?|new plan|after all|plans? (?:has|have)? ?changed)\s*[,:;.–—-]*\s+",
    re.IGNORECASE,
)
# "We have decided to take the train" is "take train" under its heading.
_DECIDED = re.compile(
    r"^(?:(?:(?:we|team|the team|everyone|everybody|all of us|both of us)(?:'ve| have|'re| are|'m| am|'ll| will|'s| has)?(?: all| both| now| just| then| finally| both| also| officially| definitely| unanimously)*"
    r" (?:decided|agreed|settled|opted|plumped|gone|went|going|go|chosen|committed)(?: together)? (?:to go (?:with|for)|to use|to|on|for|with|that))|let'?s (?:just )?(?:go|stick|run) (?:ahead )?with|let'?s (?:just )?|decision(?: made| is| taken)?:?(?: to)?|decided(?: on|:)?|agreed:|final (?:decision|choice|answer|call|pick):?|going with|go with)\s+",
    re.IGNORECASE,
)

_YOU_DECIDED = re.compile(r"^you(?:'ve| have)? (?:decided|agreed|settled|opted) (?:to|on|for|that) ", re.IGNORECASE)

_AUXILIARY = {
    "am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "was": "was", "were": "was", "go": "goes",
}  # fmt: skip
_ADVERBS = "always|never|usually|really|still|also|only|strongly|now|already|then|just|currently|mostly|generally|normally|typically|often|both|all|mainly|actually|definitely|absolutely|simply|especially|particularly|honestly|truly|finally|recently|sometimes|rarely|hardly|almost always"
_BASE_FORMS = frozenset(
    # Verbs that take an -s in the third person; whatever is not here stays as it was said.
    "accept add adore agree aim allow answer appreciate arrange ask assume attend avoid bake bear believe belong "
    "book bring build buy call care carry change charge check choose clean climb collect come commute consider "
    "contact cook count cover crave cycle dance deal decide deliver depend deserve design detest develop dislike "
    "draw dream dress drink drive earn eat edit enjoy expect favour favor fear feel file find finish fix fly follow "
    "forget get give go grow handle hate head hear help hire hold hope host insist intend invest keep know lead "
    "learn leave lend like listen live loathe look lose love maintain make manage mean meet mind miss move need "
    "offer open order organise organize owe own paint park pay plan play practise practice prefer prepare promise "
    "pull push raise read reckon rely remember rent report require resent respect return ride run say schedule see "
    "sell send serve set share show sing sit skip sleep smoke speak spend stand start stay steer stick stop store "
    "study suffer support suspect swear swim take talk teach tell tend think track train travel treat trust try "
    "turn type understand use value visit volunteer wait wake walk want wash watch wear wish wonder work worry "
    "write hail reside commit coach freelance garden knit sew specialise specialize sponsor swap tolerate translate "
    "tutor vote".split()
)
_CONTRACTION = re.compile(r"\bI'(m|ve|ll|d)\b", re.IGNORECASE)
_CONTRACTED = {"m": "is", "ve": "has", "ll": "will", "d": "would"}
# Each starts with a letter, for which the engine looks fast, and looks back from there.
_NUMERAL = "".join(f"(?<!{name} {{0}})" for name in ("Level", "Part", "Phase", "Type", "Class"))  # not "Part I"
_I_VERB = re.compile(rf"[Ii] (?<!\w[Ii] ){_NUMERAL.format('[Ii] ')}((?:(?:{_ADVERBS}) )*)([\w']+)")
_I = re.compile(rf"I\b(?<!\wI){_NUMERAL.format('I')}(?!\.)|i(?![\w'.-])(?<![\w'.-]i)")
_MY = re.compile(r"My\b(?:(?<=^My)|(?<=[.:;,–—] My))|m(?:y|ine)\b(?<!\wmy)(?<!\wmine)")
_ME = re.compile(r"m(?:e|yself)\b(?<!\wme)(?<!\wmyself)")
_OWN = re.compile(r"[im](?<!\w[im])(?:(?<=i)|(?<=m)(?:y|e|ine|yself))\b")
_YOU_VERB = re.compile(  # where it is who does something: not "help you find"
    rf"(?:^|(?<=[,;:.–—] )|(?<=\band )|(?<=\bbut )|(?<=\bthat )|(?<=\bas )|(?<=\bsince )|(?<=\bbecause )|(?<=\bif )|(?<=\bwhether )|(?<=\bwhen ))you ((?:(?:{_ADVERBS}) )*)([\w']+)",
    re.IGNORECASE,
)
_YOUR = ((re.compile(r"\byou're\b", re.IGNORECASE), "{} is"), (re.compile(r"\byou've\b", re.IGNORECASE), "{} has"), (re.compile(r"\byou'll\b", re.IGNORECASE), "{} will"), (re.compile(r"\byour\b", re.IGNORECASE), "{}'s"), (re.compile(r"(?<![\w-])you(?![\w-])(?! know| can't)", re.IGNORECASE), "{}"))  # fmt: skip


def _verb(word: str) -> str:
    low = word.lower()
    if low in _AUXILIARY:
        return _AUXILIARY[low]
    if low not in _BASE_FORMS:
        return word
    if low.endswith(("s", "x", "z", "ch", "sh", "o")):
        return word + "es"
    if low.endswith("y") and low[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


_YOURS = {"are": "is", "aren't": "isn't", "were": "was", "weren't": "wasn't"}
_PAST_TOO = frozenset("set read put cut let hit cost quit".split())


def _you_do(match: re.Match[str], listener: str) -> str:
    """What "you" do, told of the listener; as it is where that is not sure."""
    before, verb = match.string[: match.start()].lower(), match[2].lower()
    if before.endswith("and ") and "you" not in before:  # "Petra and you live in Bergen"
        return match[0]
    bent = _YOURS.get(verb) or (match[2] if verb in _PAST_TOO else _verb(match[2]))
    return f"{listener} {match[1]}{bent}" if bent != match[2] else match[0]


def lead_stripped(text: str) -> str:
    """A sentence without its opening filler."""
    first = text.partition(" ")[0].lower()
    if first not in _LEADS:
        word = _FIRST.match(first) if not first.isalpha() else None  # "ok," and "so:" are leads, too
        if word is None or word[0] not in _LEADS:
            return text
    low = text.lower()
    if (low.startswith("the ") and not low.startswith("the thing is")) or _LEAD_KEEP.match(low):
        return text
    lead = _LEAD.match(low)  # as long in the text itself: no letter of a lead changes its length
    return text[lead.end() if lead else 0 :].lstrip(" ,:;–—-")


def without_change(text: str) -> str:
    """A reversal without the words that only announce it."""
    return _CHANGED.sub("", text, count=1)


def tell(text: str, source: str, speaker: str, listener: str, kind: str, at: int) -> str:
    """The statement told about its speaker; an empty text where too little is left to stand alone."""
    text = lead_stripped(text)
    if text.rstrip(" .!,)").rpartition(" ")[2].lower() in _TAILS:
        text = _TAIL.sub("", text)
    if kind in ("decision", "reversal"):
        text = without_change(text)
        text = _DECIDED.sub("", text, count=1)
        if listener == "User":
            text = _YOU_DECIDED.sub("", text)
    low = text.lower()
    own = {*_OWN.findall(low)}
    if "i" in own:
        if "'" in text:
            text = _CONTRACTION.sub(lambda m: f"{speaker} {_CONTRACTED[m[1].lower()]}", text)
        text = _I_VERB.sub(lambda m: f"{speaker} {m[1]}{_verb(m[2])}", text)
        text = _I.sub(speaker, text)
    if own:
        text = _MY.sub(f"{speaker}'s", text)
        text = _ME.sub(speaker, text)
    if "you" in text or "You" in text:
        text = _YOU_VERB.sub(lambda m: _you_do(m, listener), text)
        for pattern, said in _YOUR:
            text = pattern.sub(said.format(listener), text)
    if any(map(low.__contains__, _IDLE_WORDS)):
        text = _IDLE.sub("", text)
    text = _ARTICLE.sub("", text, count=1)
    text = " ".join(text.split()).strip(" ,;:!.–—-\"'")
    return shorten(resolve(text, at, due=kind == "commitment"), source)


def shorten(text: str, source: str) -> str:
    """Cut a text that is long or repeats more than MAX_RUN source words in a row; figures behind the cut are kept."""
    words = text.split()
    said = f" {' '.join(_bare(source.split()))} " if len(words) > MAX_RUN else ""
    cut = _copied(words, said)
    for idle in (_ARTICLES, _SMALL):  # without one of these little is lost, and the run is broken
        while cut < len(words):
            place = next(
                (at for at in range(cut - 1, 0, -1) if words[at].lower() in idle and words[at - 1] != "half"), 0
            )
            if not place:
                break
            del words[place]
            cut = _copied(words, said)
    cut = min(cut, _LONGEST)
    text = " ".join(words)
    if cut < len(words):
        rest = " ".join(words[cut:])
        figures = [*dict.fromkeys(identifiers(rest) + FIGURE.findall(rest))][:4]
        head = " ".join(words[:cut]).rstrip(" ,;:")
        text = f"{head} … ({', '.join(figures)})" if figures else f"{head} …"
    return (
        text[:1].upper() + text[1:] if text[:1].islower() and not text[:3].startswith(("i18", "iOS", "http")) else text
    )


def _bare(words: list[str]) -> list[str]:
    return [word.strip(".,;:!?\"'()").lower() for word in words]


def _copied(words: list[str], said: str) -> int:
    """Where a text has repeated MAX_RUN words of its source, in bare words; its length where it nowhere does."""
    bare = _bare(words)
    for at in range(MAX_RUN, len(bare)):
        if f" {' '.join(bare[at - MAX_RUN : at + 1])} " in said:
            return at
    return len(bare)
