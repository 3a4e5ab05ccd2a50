"""What a sentence says beside its score: whether it may hold elsewhere at all, tells a habit or a change, or holds a secret. Pure."""

from __future__ import annotations

import re

_READ_AT_MOST = 2000
_PARTS = re.compile(r"(?<=[.!?;:\n]) ")
_SECRET = re.compile(
    r"\b(?:sk|pk|rk)[-_][\w-]{8,}|\bgh[opsu]_\w{16,}|\bgithub_pat_\w+|\bglpat-[\w-]{12,}|\bxox[abps]-[\w-]+|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}"
    r"|\beyJ[\w-]{10,}\.[\w-]+|-----BEGIN [A-Z ]*PRIVATE KEY|\bBearer [\w.~+/-]{12,}|\b[a-f0-9]{32,}\b"
    r"|\b(?:password|passwd|passcode|passphrase|pass ?phrase|pwd|passwort|kennwort|mot de passe|contraseña|senha|密码|api[- _]?key|access key|cvv|cvc"
    r"|account (?:number|no\.?)|kontonummer|iban|routing number|sort code|social security|ssn|tan|otp|recovery (?:code|phrase)|seed phrase|security (?:code|answer|question))\b"
    r"|://[^\s/:@]+:[^\s@]+@|\b\w*(?:secret|token|passw\w*|api_?key)\w*\s?[=:]\s?\S+|\bpin\b[^.!?]{0,20}\d{3,}"
    r"|\bpass(?:phrase|code|word)?s?\b[^.!?]{0,40}\b(?:is|mine)\b|\blog(?:ged)? ?in\b[^.!?]{0,30}\b(?:with|as)\b|\bcombination\b"
    r"|\b(?:secret|token|pin|pin code|pin number)(?: for [\w ]{1,30})? ?(?:is|was|:|=)"
    r"|\b(?:code|combination|login|credentials|passport|licen[cs]e|card|account|konto|compte|cuenta|conta)\b[^.!?]{0,40}?\d{3,}"
    r"|\b(?:\d[ -]?){13,19}\b|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b|\b\d{3}-\d{2}-\d{4}\b|\b\d{8,12}\b",
    re.IGNORECASE,
)


def is_secret(text: str) -> bool:
    """Whether words may hold a key, a password, or the number of a card or an account: they never leave their chat."""
    return _SECRET.search(text) is not None


_LASTING = re.compile(
    r"\b(?:always|never|ever|from now on|in future|in general|generally|every|whenever|anything|any ?more|usually|all my|i prefer|i like|i love|i hate"
    r"|i['’]?m|i am|we['’]?re|we are|my name|call me|i (?:do not|don['’]?t|can['’]?t|cannot|only|live|work|have|use|take|drive|speak|eat|drink|cook|read|wear)"
    r"|immer|nie|niemals|toujours|jamais|siempre|nunca|sempre)\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|hi|hey|hello|so|and|now|then|right|also|please|pls|plz|just|well|good|thanks|first|next|btw)\b[ ,.!:]*)*"
    r"(?:(?:can|could|will|would) (?:you|u)|help me|(?:i|we) (?:need|want|would like|have to|must|am looking|['’]?m looking)|i['’]d like|let['’]?s|do a|need|looking for"
    r"|(?:re)?write|draft|make(?! sure)|create|translate|summari[sz]e|sum up|fix|find|book|plan|suggest|give me (?:an?|the|some|\d)|list|compare|explain|describe|draw|calculate|check|review|rephrase|build|refactor|convert|design|come up|put together"
    r"|prepare|generate|look up|tell me|show me|proofread|shorten|turn (?:this|that|it)|schreib|übersetz|écris|traduis|escribe|traduce|escreva)\b",
    re.IGNORECASE,
)
_WISH = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|and|but|so|please|pls|plz|also|just|only)\b[ ,]*)*"
    r"(?:do not|don['’]?t|no|not|without|with|use|keep|put|add|leave|make|include|mention|skip|avoid|nothing|only|shorter|longer|in|max(?:imum)?|at most|less|more)\b",
    re.IGNORECASE,
)
_JUST_ONCE = re.compile(
    r"\b(?:just (?:this )?once|this (?:time|once)|for now|(?:the|my) next (?:one|question|answer|message|reply))\b",
    re.IGNORECASE,
)
_ONCE = re.compile(
    r"\b(?:here|this (?!is\b)\w+|just (?:this )?once|for now|(?:the|my) next (?:one|question|answer|message|reply)|today|tonight|tomorrow"
    r"|(?:under|in|max(?:imum)?|about|at most) (?:\d+|one|two|three|four|five|ten) (?:words?|sentences?|lines?|paragraphs?|bullets?|verses?))\b",
    re.IGNORECASE,
)
_UNREAL = re.compile(
    r"\b(?:hypothetically|assume|assuming|test sentence|persona|example|first[- ]person|for the (?:logo|story|character|sake|article|poster)|maybe|perhaps|suppose|imagine|pretend|role ?-?play|let['’]?s say|should (?:i|we)|who knows|wondering)\b",
    re.IGNORECASE,
)
_IF = re.compile(
    r"^\W*(?:(?:and|but|so|also|well|ok) )?if\b|\b(?:if (?:i|we|you|it|only)|might|thinking (?:of|about))\b",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"\b(?:he|she|they|it|who|one|boss|manager|friend|colleague|mother|mum|mom|father|dad|wife|husband|partner|sister|brother|doctor|teacher|neighbou?r) (?:always |once |just |also |used to )?"
    r"(?:says?|said|told|keeps? saying|insists?|claims?|wrote|writes|asks?|asked|thinks?|wants?)\b|\baccording to\b"
    r"|\b(?:note|sign|e-?mail|letter|text|post|review|lyrics?|slogan|motto|tweet|article|label|manual|policy|poster|recipe|comment|bio|profile|cv|r[eé]sum[eé]|template|sample|story)\b[^.!?]{0,40}?(?:\b(?:says?|said|reads?|goes|wrote)\b|:)",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\b[A-Z][a-zà-ÿ]+ (?:told|says|said|wrote|writes|claims|thinks|asked)\b")
_SPEAKER = re.compile(
    r"^\W*(?!(?:ps|btw|fyi|note|also|so|and|but|oh|update)\b)(?:[A-Z][\w.]*|my \w+)(?: \w+){0,2}: ", re.IGNORECASE
)
_QUOTE = re.compile(r"[\"“„«][^\s\"”“»]+(?:\s+[^\s\"”“»]+){3,}")
_HABIT = re.compile(
    r"\b(?:i|we) (?:always|never|usually|only ever|prefer|avoid|can['’]?t stand|hate|love)\b"
    r"|\b(?:i['’]?m|i am|we['’]?re|we are|as an?) (?:an? |strictly |mostly )?(?:vegan|vegetarian|pescatarian|muslim|jewish|hindu|pregnant|diabetic|deaf|(?:colou?r-?)?blind|dyslexic|autistic"
    r"|left-?handed|hard of hearing|c(?:o)?eliac|[\w-]*intolerant|allergic|learning \w+)\b"
    r"|\bi (?:have (?:adhd|asthma|diabetes|epilepsy|arthritis|migraines?|an? (?:daughter|son|dog|cat|wife|husband|twin)|\w+ \w+ pain)|take (?!an?\b|the\b|this\b|it\b)\w+|speak [a-zà-ÿ]+"
    r"|use an? \w+ reader|was diagnosed with|(?:don['’]?t|do not) eat|can['’]?t (?:swim|drive|hear|see|eat|drink))\b|\bwe keep (?:kosher|halal)\b|\bmy pronouns are\b",
    re.IGNORECASE,
)


_WORKED_ON = re.compile(
    r"\b(?:write|draft|compose|create|invent)\b[^.!?\n]{0,40}\b(?:story|poem|song|novel|scene|script|dialogue|monologue|cv|r[eé]sum[eé]|cover letter|persona|character)\b|"
    r"\b(?:proofread|translate|summari[sz]e|rewrite|rephrase|polish|shorten|improve|edit|correct|fix|review|check)\b[^.!?\n]{0,40}\b(?:this|these|above|below|following|text|e?-?mail|letter|draft|note|post|paragraph)\b",
    re.IGNORECASE,
)
_REPORTED = re.compile(r"\b(?:told|said|says|wrote|writes|asked|goes|answered|replied)\b[^.!?\n]{0,30}:", re.IGNORECASE)
_STORY = re.compile(
    r"\bin (?:the|my|our|a|this) (?:story|novel|scene|script|play|game|poem|song|book|chapter)\b|\b(?:hero|heroine|protagonist|narrator|villain)\b",
    re.IGNORECASE,
)


_ASKS = re.compile(
    r"^\W*(?:do|does|did|is|are|am|was|were|can|could|would|should|shall|will|have|has|what|which|who|when|where|why|how|any|if)\b",
    re.IGNORECASE,
)


def stays(words: str, before: str, said: str) -> bool:
    """Whether words of a message belong to its chat alone: somebody else's words, what may be, a wish for one piece of work, a
    secret. `before` is what stands before them in the message, `said` all of it."""
    if (
        before.rstrip().endswith(":")
        or _REPORTED.search(before.rpartition("\n\n")[2])
        or _STORY.search(words)
        or _SPEAKER.match(words)
        or _NAMED.search(words)
        or _REPORTED.search(words)
        or _WORKED_ON.search(said[:_READ_AT_MOST])
        or is_secret(words)
        or _QUOTE.search(words)
        or _UNREAL.search(words)
        or _TOLD.search(words)
    ):
        return True
    if _IF.search(words) and (words.lower().startswith("if") or not _LASTING.search(words)):
        return True
    if words.endswith(("?", "？")):  # "We're vegan, is that a problem?" states something
        statement, comma, _ = words.partition(", ")
        if not comma or _ORDER.search(statement) or _ASKS.match(statement):
            return True
    if _JUST_ONCE.search(words):
        return True
    if _LASTING.search(words):
        return _ORDER.search(words) is not None and _ONCE.search(words) is not None
    if _ONCE.search(words) or _ORDER.search(words):
        return True
    return _WISH.search(words) is not None and any(_ORDER.search(part) for part in _PARTS.split(said[:_READ_AT_MOST]))


_CUE = re.compile(
    r"\b(?:always|never|prefer|avoid|hate|love|usually|stand|allerg|celiac|coeliac|diabet|vegan|vegetarian|intoleran|pregnan|asthma|epilep|wheelchair|call me|my name|immer|nie|nenn|heiße"
    r"|toujours|jamais|appelle|siempre|nunca|llam|sempre|chamo)|过敏|不要|别|叫我"
)


_CHANGE = re.compile(
    r"\b(?:now|new|mov(?:ed|ing)|chang\w+|no longer|any ?more|instead|switch\w*|stopp?(?:ed)?|quit|started|turned|relocated|joined|live|work|g[ai]ve up|given up|scrap|actually|correction|make (?:it|that|them)|better|updated?|forget"
    r"|jetzt|neue\w*|gezogen|umgezogen|wohne|arbeite|nicht mehr|statt\w*|maintenant|déménagé|plus|ahora|mudé|ya no|agora|mudei|mais)\b|现在|不再|改|搬"
)


def is_habit(text: str) -> bool:
    """Whether somebody says outright what they always or never do, or what they like."""
    return _HABIT.search(text) is not None


def tells_habit(text: str) -> bool:
    """Whether a sentence has a word that a lasting one may have, whatever its score."""
    return _CUE.search(text.lower()) is not None


def tells_change(text: str) -> bool:
    """Whether a sentence has a word that says that something is not so any more."""
    return _CHANGE.search(text.lower()) is not None
