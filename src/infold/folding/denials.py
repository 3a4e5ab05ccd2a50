"""Words by which a text denies, limits, supposes or demands, in the languages the gate reads. Pure."""

from __future__ import annotations

import re

from infold.folding.likeness import stem

SMALL = frozenset(
    "a an and are as at be been being but by did do does for from had has have he her hers him his how i if in into is "
    "it its me my of off on or our out she so some than that the their them then there these they this those to too up "
    "us was we were what when where which while who will with would you your user users assistant shall should could "
    "may might must am can let about all also any because still just yet now only more most much very one other such own same "
    "der die das ein eine einen einem und oder ist sind war wird werden den dem des im zu zum zur für mit von auf an bei "
    "le la les un une des et ou est sont du de à au aux pour avec sur dans que qui el los las uno y o es son en por con "
    "para se su sus lo al del ich wir er sie es je nous il elle yo me mi".split()
)
NEGATORS = frozenset(
    "not n't never no none nobody nothing neither cannot cant dont wont without nowhere noone non minus unlike "
    "nicht kein keine keinen keinem keiner nie niemals ohne niemand nichts pas jamais sans aucun aucune rien "
    "nunca sin ningún ninguna ninguno jamás tampoco nadie".split()
)
# Words that deny by themselves, with what they deny.
DENYING = {
    word: base
    for base, words in (
        ("accept", "refuse refused refuses refusing decline declined declines reject rejected rejects rejecting deny denied denies forbid forbidden forbids prohibit prohibited prohibits ban banned bans disallow disallowed disallows veto vetoed disapprove disapproved unacceptable"),
        ("able", "unable incapable impossible"), ("like", "dislike dislikes disliked hate hates hated loathe detest detests"),
        ("enabl", "disable disabled disables disabling deactivate deactivated deactivates off"), ("includ", "exclude excluded excludes excluding"),
        ("continu", "stop stops stopped stopping cease ceased discontinue discontinued quit quits halt halted pause paused postpone postponed postpones defer deferred"),
        ("keep", "cancel cancels cancelled canceled cancelling drop dropped drops scrap scrapped abandon abandoned remove removed removes discard discarded delete deleted ditch ditched"),
        ("agre", "disagree disagreed disagrees"), ("availabl", "unavailable"), ("valid", "invalid"), ("safe", "unsafe"),
        ("paid", "unpaid"), ("possibl", "impossible"), ("certain", "uncertain"), ("succe", "fail failed fails failing failure"),
        ("use", "avoid avoids avoided avoiding skip skipped skips"), ("requir", "optional unnecessary"),
        ("hav", "lack lacks lacking lacked"), ("support", "unsupported"), ("complet", "incomplete"), ("open", "closed"),
        ("trust", "distrust"), ("remember", "forget forgets forgot forgotten"), ("increas", "decrease decreased decreases lower lowered reduce reduced reduces"),
        ("want", "unwilling reluctant"), ("likely", "unlikely"),
        ("accept", "abgelehnt ablehnen verboten refusé refusée interdit interdite rechazado rechazada prohibido"),
        ("keep", "storniert gekündigt annulé annulée supprimé cancelado cancelada"), ("approv", "unapproved"), ("fresh", "stale"),
    )
    for word in words.split()
}  # fmt: skip
BASES = {
    stem(word): base
    for base, words in (
        ("accept", "accept approve allow permit agree agreed agrees authorize authorise welcome accepted approved allowed permitted allows accepts permits approves"),
        ("able", "able can"), ("like", "like love enjoy likes loves enjoys"), ("enabl", "enable activate enabled activated"),
        ("includ", "include cover included covered"), ("continu", "continue resume keep start begin continued resumed started"),
        ("keep", "keep retain confirm proceed kept retained add added adds"), ("use", "use eat take used uses"), ("requir", "require mandatory compulsory required requires necessary"),
        ("succe", "succeed pass succeeded passed work"), ("increas", "increase raise increased raised raises increases"),
        ("hav", "has"), ("open", "open"),
    )
    for word in words.split()
}  # fmt: skip
# Where it cannot be told what is denied.
UNCLEAR = frozenset(
    "allergic allergy intolerant hardly barely rarely seldom except unless until only too otherwise either whether "
    "substitute substitutes replace replaces replaced replacing swap swapped swaps switch switched "
    "despite although though against nor kaum selten außer sauf excepto salvo".split()
)
IDIOMS = re.compile(
    r"\b(?:not only|not just|no more than|no later than|no less than|no fewer than|no earlier than|not later than|not more than|not to exceed|no problem|no worries|no doubt|no matter|"
    r"why not|whether or not|or not|if not|not sure|not certain|not decided|not yet (?:sure|decided|clear|settled)|(?:have|has|had)(?:n't| not) (?:yet )?(?:decided|settled|made up)|unresolved|don't know|doesn't know|does not know|do not know|can't wait|not until|nothing but|no\. ?\d+|not to mention|no thanks|no need to worry|"
    r"can't help|no wonder|not necessarily|not bad|why don't (?:we|you|i)|on and off|(?:struck|ticked|crossed|checked|signed|paid|set|kicked|showed|finished|take|took|cut) off|(?:cut|drop|kick|day|time|days|log|sign|trade|hand)[- ]offs?|(?!stay|keep|kept|is\b|are\b|be\b|turn|switch)\b\w+ off(?= (?:the|on|from|in|at|to)\b)|no idea|undecided|not too \w+|not that \w+|oder nicht|ou non)\b",
    re.IGNORECASE,
)
STARTERS = frozenset(
    "but however because since so while whereas if when which who where though although aber sondern weil wenn mais parce pero sino porque".split()
)
AFTER_AND = frozenset(
    "i we he she it they you user is are was were has have had will would can could must should may might does do did needs wants plans uses likes prefers then also please don't doesn't not no never".split()
)
VERBAL = frozenset(
    "is are was were be will would can could must should may might has have had do does did needs need wants want uses use likes like prefers prefer "
    "it's that's he's she's there's who's what's here's got went came took made won left gave said kept ran goes takes ist sind est sont es son".split()
)
SUBJECTS = frozenset("i we he she they it it's that's let's i'd we'd i'll we'll i'm we're wir ich nous je".split())
HEDGES = frozenset(
    "might maybe perhaps possibly considering consider considers tentative tentatively unsure undecided wonder wondering "
    "toying exploring could potentially probably may vielleicht eventuell könnte quizás weighing mulling proposed "
    "suggested provisional provisionally leaning".split()
)
FIRM = frozenset(
    "decided decides will must definitely confirmed agreed chosen chose settled committed final finally finalised "
    "finalized certain certainly shall approved signed booked determined resolved opted selected beschlossen décidé "
    "decidido muss doit debe".split()
)
MUST = frozenset("must required requires mandatory obligatory compulsory shall muss müssen doit debe".split())
MAY = frozenset("may might can could optional optionally kann peut puede".split())
# Two words that mean the same as one of the above.
PAIRS = {
    "thinking about": "considering", "thinking of": "considering", "think about": "considering", "what if": "maybe",
    "tal vez": "maybe", "has to": "must", "have to": "must", "needs to": "must", "need to": "must", "going to": "will",
    "going with": "decided", "free to": "may", "allowed to": "may",
}  # fmt: skip
PAIRED = frozenset(pair.split()[0] for pair in PAIRS)
# Words that deny or limit without a "not": after these a plain "not" may say the same in other words.
IMPLICIT = frozenset(
    "away stay stays keep keeps kept remain remains only sold out too instead rather miss missing missed lose lost late wrong "
    "problem problems issue fail broken dead gone hard difficult less few fewer little limit limited max maximum most min "
    "minimum least under below above over until before after from since hate afraid empty full closed outstanding overdue "
    "pending unless except allergic allergy vegetarian vegan free bare alone still exclude excluded end ends ended finish "
    "expired due open waiting against contrary averse definitive permanent fixed binding final stop otherwise but unlike different mind avoid without sick ill defekt kaputt "
    "nur solo seulement zu trop weniger moins menos leer aus off lacks lack needs waived already enough".split()
)
# Of these, words that rather say when, where and how much.
NEUTRAL = frozenset(
    "before after from since over above most still already but due open final fixed needs full min max maximum "
    "minimum end ends mind under below little pending binding zu".split()
)
PREFIXED = re.compile(
    r"non-?\w{4,}|un(?!til|der|it|ion|iv|ique|cle)\w{4,}|dis(?!cuss|play|tan|tri|cover|coun|h)\w{4,}|mis(?!s|ter)\w{4,}"
    r"|in(?:valid|complete|correct|capable|sufficient|eligible|accurate|adequate|accessible|compatible|active|appropriate)\w*"
    r"|im(?:possible|proper)|irrelevant|irregular|illeg\w+|\w+(?:less|-free|-averse|-proof)$"
)
CHOOSING = frozenset(
    "prefer prefers preferred choose chose chosen pick picks picked favour favours favor favors like likes wins won voted "
    "agreed decided went going settled opted selected hired hire take takes took prioritise prioritize".split()
)
SHORT = {
    f"{word}n't": (word, "n't")
    for word in "do does did is are was were has have had would could should must need ai".split()
} | {"can't": ("can", "n't"), "won't": ("will", "n't"), "cannot": ("can", "n't")}
FITTING = frozenset(
    "free open available safe valid ready sure possible yet here there in on for to a the an at of so as by my our too part due".split()
)
