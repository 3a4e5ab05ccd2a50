"""The LLM-free reading of a message: its durable statements, and its one-line digest. Pure, deterministic."""

from __future__ import annotations

import json
import re
from typing import Any

from infold.items import Candidate
from infold.messages import Message

# What is read of one message. Tool output is capped harder: its dump is not memory.
READ_CHARS = 6000
TOOL_CHARS = 8000
MAX_ITEMS = 8
MAX_RUN = 12  # longest run of consecutive source words an item may repeat

_FLAGS = re.IGNORECASE


def _rx(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, _FLAGS)


class _Cue:
    """A pattern, and words of which it needs one: most sentences have none, and looking for words is cheap."""

    __slots__ = ("pattern", "words")

    def __init__(self, words: str, pattern: str) -> None:
        self.words = frozenset(words.split())
        self.pattern = _rx(pattern)

    def search(self, sentence: str, words: frozenset[str]) -> re.Match[str] | None:
        return None if self.words.isdisjoint(words) else self.pattern.search(sentence)


_EDGES = " .,;:!?()[]{}\"“”«»'…"
_MARKS = frozenset("-*•–#0123456789")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_END = re.compile(r"[.!?\n。！？][\"')\]\s]*")
_LIST_MARK = re.compile(r"^\s*(?:[-*•–]|\d{1,2}[.)])\s+|\*\*|`|^#+\s")
# Openings and politeness that carry nothing.
_FILLER = _rx(
    r"^(?:(?:well|ok(?:ay)?|so|and|but|also|oh|ah|hm+|yes|yeah|yep|no|sure|right|great|perfect|thanks|thank you"
    r"|hi|hello|hey|by the way|btw|actually|anyway|in fact|of course|good|alright|fine|cool|nice|please|listen|look"
    r"|one more thing|fyi|just so you know|for the record|to be clear|remember|note)\b[\s,:;!.–—-]*)+"
)
_DROP = _rx(r"\b(?:the|a|an|please|really|just|very|quite|actually|basically|simply|kind of|sort of)\s+")

_HYPOTHETICAL = _Cue(
    "if suppose imagine hypothetically maybe perhaps might wonder wondering sure could would theory think guess joking kidding",
    r"\b(?:what if|suppose|imagine|hypothetically|maybe|perhaps|might|wonder(?:ing)?|not sure|could be|would it|if i were"
    r"|if we were|in theory|let me think|i guess|joking|just kidding)\b",
)
_DECISION = _Cue(
    "let's lets use go take keep stick switch switching switched decided chose chosen agreed settled picked approved booked ordered signed cancelled canceled decision going change scrap instead rather longer more anymore final",
    r"\b(?:let'?s (?:go|use|book|take|pick|do|keep|stick|switch|make|drop|cancel|move|order|buy|hire|set|call it)"
    r"|we(?:'ll| will|'re going to| are going to)? (?:use|go with|take|keep|stick (?:with|to)|switch)"
    r"|(?:i|we)(?:'ve| have)? (?:decided|chose|chosen|agreed|settled|picked|approved|booked|ordered|signed|cancell?ed)"
    r"|decision:|decided (?:on|to|against)|go(?:ing)? with|change of plans?|scrap (?:that|the)|instead of|rather than"
    r"|switch(?:ing|ed)? (?:to|from)|no longer|not .{2,40} any ?more|final (?:choice|decision|answer)|agreed:)\b",
)
_COMMITMENT = _Cue(
    "will shall i'll we'll you'll he'll she'll they'll going remind todo to-do action due still owe owes promised pending waiting",
    r"\b(?:(?:i|we|you|he|she|they|[A-Z][a-z]+)(?:'ll| will| shall| is going to| am going to|'m going to) "
    r"(?:send|call|e-?mail|write|check|review|prepare|deliver|finish|pay|book|order|update|fix|get back|follow up"
    r"|let you know|bring|draft|submit|share|confirm|ask|talk|sign|pick up|drop off|upload|deploy|merge|test|look into"
    r"|arrange|schedule|print|measure|post|file|return|collect|ring|meet|visit|handle|take care)"
    r"|remind me|to-?do:?|action item|(?:is|are) due|still (?:need|have|has) to|owes?|promised|pending"
    r"|waiting (?:for|on))\b",
)
_CONSTRAINT = _Cue(
    "must mustn't cannot can't may never no most least budget ceiling deadline has have allergic allergy allergies allergen intolerant intolerance require required requires need needs allowed only maximum minimum limit limited unless under forbidden",
    r"\b(?:must(?:n't| not)?|cannot|can't|may not|never|no (?:more|later|less|fewer) than|at (?:most|least)|budget"
    r"|ceiling|deadline|ha(?:s|ve) to be|allerg\w+|intoleran\w+|require[sd]?|needs? to be|not allowed|only (?:if|when|on|at)"
    r"|no \w+ (?:after|before|on)|maximum|minimum|limit(?:ed)?(?: to| of| is)|unless|under (?:[$€£]|\d)|is forbidden)\b",
)
_BIOGRAPHY = _Cue(
    "name name's call i'm am live work born moved own study speak run grew my our located address",
    r"\b(?:my name(?:'s| is)|call me|i(?:'m| am) (?:a|an|the|from|in|based|allergic|vegetarian|vegan|married|\d+)\b"
    r"|i (?:live|work|was born|moved|own|study|speak|run|grew up)|(?:my|our) [\w'-]+(?: [\w'-]+){0,2} (?:is|are|has|was|lives|works|starts)"
    r"|(?:is|are) located|address is)\b",
)
_PREFERENCE = _Cue(
    "prefer prefers preferred like love hate dislike enjoy favor favour stand avoid favorite favourite don't dont",
    r"\b(?:i(?:'d| would)? (?:really |always |usually |much |rather |strongly )?"
    r"(?:prefer|like|love|hate|dislike|enjoy|favou?r|can't stand|avoid)\b(?! to (?:know|ask))|favou?rite|i don'?t (?:like|want|eat|drink|use)"
    r"|prefer(?:s|red)?)\b",
)
_GOAL = _Cue(
    "want need plan planning hope hoping aim aiming try trying looking goal target like",
    r"\b(?:(?:i|we)(?:'m| am|'re| are)? (?:want|need|plan(?:ning)?|hope|hoping|aim(?:ing)?|try(?:ing)?|looking)(?: to| for)?"
    r"|i(?:'d| would) like to|(?:the|my|our) (?:goal|aim|plan|target) is)\b",
)
_SAID_DONE = _Cue(
    "confirmed booked reserved scheduled ordered sent filed created cancelled canceled approved deployed merged refunded",
    r"\b(?:confirmed|booked|reserved|scheduled|ordered|sent|filed|created|cancell?ed|approved|deployed|merged|refunded)\b",
)

_REPLACES = _Cue(
    "instead rather longer scrap scrapping drop dropping cancel cancelling canceling not switching switched switch replace replaces replacing forget out off cancelled canceled dead",
    r"\b(?:instead of|rather than|no longer|scrap(?:ping)?|drop(?:ping)?|cancel(?:ling)?|not going with"
    r"|switch(?:ing|ed)? from|replac(?:e|es|ing)|forget(?: about)?|now,? not)\s+(?:the |a |an |our |my )?"
    r"([^,.;:!?]{3,60}?)(?=\s(?:we|i|let's|and|but|because|so|for|then|as|since)\b|[,.;:!?]|$)"
    r"|(?:^|[:,;.] )(?:the )?([^,.;:!?]{3,40}) (?:is|are) (?:out|off|cancell?ed|dead)\b",
)

_USER_CUES = frozenset[str]().union(
    *(cue.words for cue in (_DECISION, _COMMITMENT, _CONSTRAINT, _BIOGRAPHY, _PREFERENCE, _GOAL))
)
_ASSISTANT_CUES = _COMMITMENT.words | _SAID_DONE.words

_IDENTIFIER = re.compile(
    r"https?://[^\s<>\")\]]+"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?:[\w.-]+/)*[\w-]+\.(?:py|js|ts|tsx|md|txt|json|jsonl|ya?ml|toml|csv|pdf|docx?|xlsx?|sql|sh|html|css|go|rs|java|png|jpe?g|svg|log|ini|cfg|conf|lock|zip)\b"
    r"|\bv?\d+\.\d+(?:\.\d+)+\b"
    r"|\b[A-Z]{2,}[-_#]?\d[\w-]*\b"
    r"|\b(?=[A-Z0-9]{6}\b)(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{6}\b"
    r"|#\d{2,}\b"
)
# Whatever _IDENTIFIER finds has one of these in it, and most texts have none.
_MAY_NAME = re.compile(r"[@#/]|[A-Z][A-Z]|\d[A-Z]|[A-Z]\d|\.\w")
_FIGURE = re.compile(r"[$€£]\s?\d[\d,.]*\d?|\b\d[\d,.:/-]*\d\b|\b\d+\s?%|\b\d+\b")
_KEY = _rx(
    r"^(?:\w+_)?(?:id|number|code|status|total|amount|price|cost|date|due|deadline|version|name|error|url|email|path)$"
)


def extract(message: Message) -> list[Candidate]:
    """The durable statements of one message, in the order they stand there."""
    if message.role in ("system", "developer"):
        return []
    sources = (message.seq,) if message.seq else ()
    if message.role == "tool":
        return _from_tool(message.text[:TOOL_CHARS], sources)
    text = message.text[:READ_CHARS].replace("’", "'")
    if "```" in text:
        text = _CODE.sub(" ", text)
    if ">" in text:
        text = _QUOTE.sub(" ", text)
    by_user = message.role == "user"
    cues = _USER_CUES if by_user else _ASSISTANT_CUES
    names = _MAY_NAME.search(text) is not None
    if not (by_user or names) and cues.isdisjoint([token.strip(_EDGES) for token in text.lower().split()]):
        return []  # most replies: nothing in them can be a statement
    speaker = message.name or "User" if by_user else "Assistant"
    found: list[Candidate] = []
    named: list[str] = []
    for sentence in _sentences(text):
        if len(sentence) < 8:
            continue
        if sentence[0] in _MARKS or "**" in sentence or "`" in sentence:
            sentence = _LIST_MARK.sub("", sentence).strip()
        if names:
            named.extend(_IDENTIFIER.findall(sentence))
        words = frozenset([token.strip(_EDGES) for token in sentence.lower().split()])
        if cues.isdisjoint(words):
            continue
        section, fact = _classify(sentence, words, message.role)
        if not section or len(found) >= MAX_ITEMS:
            continue
        line = _third_person(sentence, speaker)
        if line:
            gone = _REPLACES.search(sentence, words)
            found.append(Candidate(section, line, sources, fact, (gone[1] or gone[2]).strip() if gone else ""))
    said = " ".join(candidate.text for candidate in found)
    loose = [name for name in dict.fromkeys(map(_trim_identifier, named)) if name and name not in said]
    if loose:
        found.append(Candidate("artifacts", ", ".join(loose[:6]), sources))
    return found


def _sentences(text: str) -> list[str]:
    """The sentences of a text, with their final mark; a point inside a number or a name ends none."""
    found: list[str] = []
    start = 0
    for mark in _END.finditer(text):
        end = mark.end()
        if end - mark.start() == 1 and text[end - 1] in ".!?" and end < len(text):
            continue
        found.append(text[start:end].strip())
        start = end
    found.append(text[start:].strip())
    return found


def digest(message: Message, chars: int = 110) -> str:
    """One line that tells a reader what the message was."""
    if message.tool_calls:
        names = ", ".join(str((c.get("function") or c.get("custom") or {}).get("name")) for c in message.tool_calls)
        text = f"{message.text[: chars * 2]} [calls {names}]" if message.content else f"[calls {names}]"
    else:
        text = message.text[: chars * 3]
    text = " ".join(text.split())
    if len(text) > chars:
        text = text[:chars].rsplit(" ", 1)[0].rstrip(" ,;:.-") + " …"
    return f"{message.name or message.role}: {text}" if text else f"{message.name or message.role}: (empty)"


def _classify(sentence: str, words: frozenset[str], role: str) -> tuple[str, bool]:
    """Section of a sentence ("" for none), and whether it is a lasting fact."""
    if sentence.endswith(("?", "？")):
        return "", False
    section, fact = (_said_by_assistant if role == "assistant" else _said_by_user)(sentence, words)
    if section and _HYPOTHETICAL.search(sentence, words):
        return "", False
    return section, fact


def _said_by_assistant(sentence: str, words: frozenset[str]) -> tuple[str, bool]:
    # An assistant's opinions are not memory; what it did or promised is.
    if _COMMITMENT.search(sentence, words) and _SPEAKER_ACTS.match(sentence):
        return "open", False
    if _SAID_DONE.search(sentence, words) and (_FIGURE.search(sentence) or _IDENTIFIER.search(sentence)):
        return "decisions", False
    return "", False


def _said_by_user(sentence: str, words: frozenset[str]) -> tuple[str, bool]:
    if _COMMITMENT.search(sentence, words):
        return "open", False
    if _DECISION.search(sentence, words):
        return "decisions", False
    if _CONSTRAINT.search(sentence, words) or _BIOGRAPHY.search(sentence, words):
        return "facts", True
    if _PREFERENCE.search(sentence, words):
        return "goals", True
    return ("goals" if _GOAL.search(sentence, words) else ""), False


_SPEAKER_ACTS = _rx(r"\W*(?:\w+[,.!]?\s+){0,3}(?:i|we)\b")
_AUXILIARY = {
    "am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "was": "was", "were": "was",
}  # fmt: skip
_UNCHANGED = _rx(
    r"^(?:can|can't|cannot|could|will|won't|would|must|mustn't|should|shall|may|might|had|did|didn't|has|is|was|always|never"
    r"|also|really|still|already|usually|currently|recently|only|just|actually|\w+ed|\w+ly|got|went|chose|paid|sent|made|bought"
    r"|said|told|found|met|spoke|wrote|took|left|lost|kept|and|or|who|now|then|too|not|to|in|on|at|of|for)$"
)


def _verb(word: str) -> str:
    low = word.lower()
    if low in _AUXILIARY:
        return _AUXILIARY[low]
    if _UNCHANGED.match(low) or not low.isalpha():
        return word
    if low.endswith(("s", "x", "z", "ch", "sh", "o")):
        return word + "es"
    if low.endswith("y") and low[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


_CONTRACTIONS = [
    (_rx(rf"\bI{short}\b"), long)
    for short, long in (("'m", " is"), ("'ve", " has"), ("'ll", " will"), ("'d", " would"))
]
_I_VERB = re.compile(r"\bI ((?:always|never|usually|really|still|also|only|strongly|now|already|then) )?([\w']+)")
_I = re.compile(r"\bI\b")
_MY = _rx(r"\b(?:my|mine)\b")
_ME = _rx(r"\b(?:me|myself)\b")


def _third_person(sentence: str, speaker: str) -> str:
    """The statement told about its speaker, compact, repeating no long run of source words."""
    text = _FILLER.sub("", sentence).strip()
    # Two letters are enough for a name; less is noise.
    if len(text.split()) < 3:
        return ""
    for pattern, long in _CONTRACTIONS:
        text = pattern.sub(speaker + long, text)
    text = _I_VERB.sub(lambda m: f"{speaker} {m[1] or ''}{_verb(m[2])}", text)
    text = _I.sub(speaker, text)
    text = _MY.sub(f"{speaker}'s", text)
    text = _ME.sub(speaker, text)
    text = _DROP.sub("", text)
    text = " ".join(text.split()).strip(" ,;:!.–—-\"'")
    return _shorten(text, sentence)


def _shorten(text: str, source: str) -> str:
    """Cut a text that repeats more than MAX_RUN source words in a row; figures behind the cut are kept."""
    said = [word.strip(".,;:!?\"'()").lower() for word in source.split()]
    words = text.split()
    following: dict[str, list[int]] = {}
    for at, word in enumerate(said):
        following.setdefault(word, []).append(at)
    run, previous = 0, -2
    for at, word in enumerate(words):
        places = following.get(word.strip(".,;:!?\"'()").lower(), ())
        run = run + 1 if previous + 1 in places else (1 if places else 0)
        previous = previous + 1 if run > 1 else (places[0] if places else -2)
        if run > MAX_RUN:
            kept, rest = words[:at], " ".join(words[at:])
            figures = [*dict.fromkeys(_IDENTIFIER.findall(rest) + _FIGURE.findall(rest))][:4]
            head = " ".join(kept).rstrip(" ,;:")
            return f"{head} … ({', '.join(figures)})" if figures else f"{head} …"
    return text[0].upper() + text[1:] if text else text


def _trim_identifier(text: str) -> str:
    return text.rstrip(".,;:!?)")


def _from_tool(text: str, sources: tuple[int, ...]) -> list[Candidate]:
    """The few values of a tool result that matter: ids, states, amounts, dates."""
    try:
        value: Any = json.loads(text)
    except ValueError:
        names = list(dict.fromkeys(map(_trim_identifier, _IDENTIFIER.findall(text))))[:4]
        return [Candidate("artifacts", ", ".join(names), sources)] if names else []
    pairs: list[str] = []
    _walk(value, pairs, 0)
    # Without anything to refer to, states and dates alone are noise.
    if not any(_IDENTIFIER.search(pair) for pair in pairs):
        return []
    return [Candidate("artifacts", "; ".join(pairs), sources)]


def _walk(value: Any, pairs: list[str], depth: int) -> None:
    if depth > 2 or len(pairs) >= 5:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, str | int | float) and not isinstance(inner, bool):
                shown = " ".join(str(inner).split())
                if len(pairs) < 5 and _KEY.match(key) and 0 < len(shown) <= 60 and "@" not in shown:
                    pairs.append(f"{key.replace('_', ' ')} {shown}")
            else:
                _walk(inner, pairs, depth + 1)
    elif isinstance(value, list):
        for inner in value[:2]:
            _walk(inner, pairs, depth + 1)
