"""How a summary may not speak: as a transcript, a reply, a refusal, a prompt or a copy. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

from infold.context.block import opening
from infold.context.escaping import TAGS
from infold.folding.calendar import said_in
from infold.marks import BACKGROUND, POLICY_SNIPPET, PROMPT_MARK

MAX_RUN = 12  # words of a source in a row that a summary may repeat
_PROMPT_RUN = 6  # words of our own prompts in a row
_TRANSCRIPT = re.compile(
    r"\W*(?:\[?#?\d{1,6}[\]):.]?\s*)?(?:\*\*)?(?:user|assistant|human|system|tool|ai|bot|customer|agent|me|you|nutzer|utilisateur|usuario|用户|助手)(?:\*\*)?"
    r"\s*(?:\(\w+\)\s*)?(?:[:：]\s*(?:\*\*)?\s*\S|>\s)|\s*(?:role|content)\s*[:=]|\s*\{\s*\"role\"",
    re.IGNORECASE,
)
"""How a transcript begins."""
_TAG = re.compile(r"<\|?(?:im_start|im_end|user|assistant|system)\|?>", re.IGNORECASE)
_REFUSAL = re.compile(
    r"\bas an? (?:ai|artificial|large language|language)\b|\bi(?:'m| am) (?:just )?an? (?:ai|language model|assistant)\b"
    r"|^\W*(?:i'?m |i am )?(?:very |so |really )?sorry\b(?:,| but)|\bi(?:'m| am) sorry\b|\bi apologi[sz]e\b"
    r"|\bi (?:cannot|can'?t|can not|am unable to|'m unable to|am not able to|'m not able to|won'?t|will not|must decline) (?:\w+ ){0,2}?(?:help|assist|provide|summari[sz]e|comply|fulfil|do that|answer|continue|create|process|access)"
    r"|\bunable to (?:summari[sz]e|comply|assist with)\b|\bno (?:conversation|messages?|content|information) (?:was|were|is|to)\b.{0,20}(?:provided|given|summari[sz]e)"
    r"|\bes tut mir leid\b|\bje suis désolé|\blo siento\b|抱歉",
    re.IGNORECASE,
)
_REPLY = re.compile(
    r"^\W*(?:sure|certainly|of course|absolutely|thanks|thank you|no problem|here(?:'s| is| are)|below is|i hope|hope this|happy to|glad to)\b(?:[,!.:]|\s(?:the|your|a|an|this|summary|to|thing|for)\b)"
    r"|\bi(?:'d| would)(?: be)? (?:happy|glad|love|recommend|suggest|like) to\b|\bi (?:recommend|suggest|hope|think you)\b|\blet me know\b|\bfeel free to\b|\bplease (?:let me|note that|don't hesitate|feel free|provide)\b"
    r"|\b(?:do|would|can|could|should|will|did|are|have) you\b.*\?|\byou (?:should|can|could|may|might|need|must|will|want|have|are|asked|said|mentioned|told|prefer|would)\b|\byou(?:'re|'ll|'ve|'d)\b"
    r"|\bi(?:'ve| have) (?:summari[sz]ed|updated|created|written|included|added)\b|\bi(?:'ll| will) (?:now |also )?(?:help|summari[sz]e|update|provide|assist)\b|\byour\b(?! (?:turn|mom)\b)|\bhere is (?:the|a|your)\b|\bin summary,|\bthis summary\b|\bthe (?:above|following) (?:summary|conversation)\b",
    re.IGNORECASE,
)
# Words in quotation marks are someone's, not the summary's own.
_QUOTED = re.compile(
    r"\"[^\"]{0,200}\"|“[^”]{0,200}”|«[^»]{0,200}»|„[^“”]{0,200}[“”]|`[^`]{0,200}`|(?<!\w)'[^']{0,120}'(?!\w)"
)
# Whatever speaks to someone has one of these; "no problem" and "no content" go by their second word.
_SPEAKING = frozenset(
    "i you your sorry ai unable sure certainly course absolutely great okay ok got understood thanks thank here below "
    "hope happy glad alright let feel please summary above following es je lo "
    "problem conversation message messages content information".split()
)
_OWN = re.compile(
    "|".join(
        (
            *(re.escape(opening(tag).partition('"')[0]) for tag in TAGS),
            *(re.escape(one.partition("]")[0]) for one in (POLICY_SNIPPET, PROMPT_MARK)),
            re.escape(BACKGROUND.partition("SUMMARY")[0]),
        )
    )
    + r"|\[summary-depth:\d",
    re.IGNORECASE,
)
"""What marks text of infold."""


def _may_be_own(text: str) -> bool:
    """Whether a text has what all marks have: the pattern is slow."""
    return "[" in text or "<" in text or "summary" in text.lower()


def manner(text: str) -> str:
    """The reason why a line cannot be memory by the way it speaks; empty where it can."""
    if _may_be_own(text) and _OWN.search(text):
        return "prompt"
    text = text.replace("’", "'")
    if _TRANSCRIPT.match(text) or ("<" in text and _TAG.search(text)):
        return "transcript"
    if said_in(text).isdisjoint(_SPEAKING) and text.isascii():
        return ""
    own = _QUOTED.sub(" ", text)
    if _REFUSAL.search(own):
        return "refusal"
    if _REPLY.search(own):
        return "reply"
    return ""


def _said(text: str) -> list[str]:
    return [word.strip(".,;:!?\"'()*") for word in text.casefold().split()]


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    said = _said(text)
    return zip(*(said[at:] for at in range(_PROMPT_RUN)), strict=False)


@functools.lru_cache(maxsize=8)
def _prompt_runs(prompts: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    return frozenset(run for prompt in prompts for run in _runs(prompt))


def prompted(text: str, prompts: Sequence[str]) -> bool:
    """Whether a line repeats words of our own prompts."""
    return bool(prompts) and not _prompt_runs(tuple(prompts)).isdisjoint(_runs(text))


def long_runs(text: str) -> frozenset[int]:
    """Every run of more than MAX_RUN words that could be a copy, by its hash: half of the words different, half of them words."""
    if len(text.split()) <= MAX_RUN:
        return frozenset()
    said = _said(text)
    runs = (said[at : at + MAX_RUN + 1] for at in range(len(said) - MAX_RUN))
    return frozenset(
        hash(tuple(run)) for run in runs if len(set(run)) > MAX_RUN // 2 and sum(map(str.isalpha, run)) > MAX_RUN // 2
    )
