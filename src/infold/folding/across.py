"""Reading messages in their order: whom or what a line means may have been said in the message before. Pure.

A message is read by itself (`extract`). Where a line begins with "she" or "it" and nothing in its message explains that, the
last words of the speaker's own message before it may, or a short message of the other side right before it. What a line
comes to depends on its message and the REACH messages before it, however they are cut into folds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from infold.folding.extractive import READ_CHARS, extract, sentences_of, speaker_of
from infold.folding.pronouns import (
    mentions_people,
    mentions_things,
    names_in,
    people_in,
    put,
    put_thing,
    roles_in,
    thing_in,
    unnamed,
    unnamed_thing,
)
from infold.items import Candidate
from infold.messages import Message
from infold.redaction import FORGOTTEN

REACH = 2
"""Messages before a message that may tell whom it speaks of."""
Earlier = Callable[[int], Sequence[Message]]
"""The REACH messages before a position, as far as there are any."""

_SILENCE = 3 * 3600 * 1000  # after so many milliseconds a talk begins anew
_SHORT = 300  # characters; a longer reply brings up something else
_MINE = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)
_OUR = re.compile(r"\bour\b", re.IGNORECASE)
_SAYS_YES = re.compile(
    r"\b(?:Noted|Understood|Congratulations|Congrats|Perfect|Alright|Absolutely|Certainly|Wonderful|Glad|Awesome|Fantastic|Excellent"
    r"|Ah|Duly|Exciting|Sweet|Cute|Added|Remembered)\b"
)  # how replies begin: no names
_SHE = re.compile(r"\b(?:she|hers?)\b", re.IGNORECASE)
_HE = re.compile(r"\b(?:he|him|his)\b", re.IGNORECASE)


def extract_each(messages: Sequence[Message], earlier: Earlier | None = None) -> list[list[Candidate]]:
    """The durable statements of each of some messages. `earlier` is asked for what comes before a message where the messages
    themselves do not tell."""
    found: list[list[Candidate]] = []
    for at, message in enumerate(messages):
        read = extract(message)
        if any(one.unnamed for one in read):
            before = _before(messages, at, earlier)
            read = [_explained(one, message, before) if one.unnamed else one for one in read]
        found.append(read)
    return found


def extract_all(messages: Sequence[Message], earlier: Earlier | None = None) -> list[Candidate]:
    """The durable statements of some messages, one after the other."""
    return [one for read in extract_each(messages, earlier) for one in read]


def _before(messages: Sequence[Message], at: int, earlier: Earlier | None) -> Sequence[Message]:
    """What was said right before a message, oldest first."""
    seq, near = messages[at].seq, messages[max(0, at - REACH) : at]
    if not seq:
        return near
    near = [message for message in near if message.seq >= seq - REACH]
    if earlier and len(near) < REACH:
        near = earlier(seq)
    return near if near and near[-1].seq == seq - 1 else []


def _explained(candidate: Candidate, message: Message, before: Sequence[Message]) -> Candidate:
    """A line with the name of whom or what it means, where the messages before tell; it then rests on that one too."""
    speaker = speaker_of(message)
    pronoun = unnamed(candidate.text, speaker)
    it = None if pronoun else unnamed_thing(candidate.text)
    heard = _heard(message, before)
    if not heard:
        return candidate
    if pronoun:
        name, source = _person(pronoun, message, heard)
        line = put(candidate.text, pronoun, name) if name else ""
    else:
        assert it is not None, "a line that lacks a name has a pronoun"
        name, source = _thing(it, message, heard)
        line = put_thing(name, it) if name else ""
    if not line:
        return candidate
    sources = (source.seq, *candidate.sources) if source.seq else candidate.sources
    return replace(candidate, text=line, sources=sources, unnamed=False)


def _heard(message: Message, before: Sequence[Message]) -> list[Message]:
    """The messages before that a message can go on from, newest first: its speaker's last one, and the reply to that."""
    last = before[-1] if before else None
    if last is None or not _speaks(last, message):
        return []
    if _same(last, message):
        return [last]
    if last.role == message.role or len(last.text) > _SHORT:
        return []  # another user, or too much in between
    older = before[-2] if len(before) > 1 else None
    return [last, older] if older and _speaks(older, last) and _same(older, message) else [last]


def _speaks(message: Message, then: Message) -> bool:
    """Whether a message is somebody's words, and the next one came soon after."""
    return (
        message.role in ("user", "assistant")
        and not message.tool_calls
        and message.content not in (None, FORGOTTEN)
        and 0 < len(message.text) <= READ_CHARS
        and then.created_at - message.created_at <= _SILENCE
    )


def _same(one: Message, other: Message) -> bool:
    return one.role == other.role and one.name == other.name


def _person(pronoun: re.Match[str], message: Message, heard: Sequence[Message]) -> tuple[str, Message]:
    """Whom a pronoun means, and where that was said; an empty name where it is not clear."""
    last = heard[0]
    own = _own(message, heard)
    tail = sentences_of(own)[-2:] if own else []
    mine = people_in(tail, pronoun, speaker_of(message))
    if mine is None or len(mine) > 1:
        return "", last
    if own is last:
        return "".join(mine.values()), last
    speaker, reply = speaker_of(last), _SAYS_YES.sub("", last.text)
    if own and mine:  # a reply may speak of the same one, and of nobody else
        ((key, name),) = mine.items()
        reply = re.sub(rf"\b{re.escape(key)}\b(?!'s|,? and\b|,? or\b)", "", reply)
        other = names_in(reply, speaker) or not roles_in(reply) <= roles_in(" ".join(tail))
        asks = "?" in reply and not (_HE if pronoun["he"] else _SHE).search(reply)
        return "" if other or asks else name, own
    theirs = people_in([reply], pronoun, speaker)
    clear = theirs and len(theirs) == 1 and len(roles_in(reply)) < 2 and not _is_theirs(last)
    return "".join(theirs.values()) if theirs and clear else "", last


def _thing(it: re.Match[str], message: Message, heard: Sequence[Message]) -> tuple[str, Message]:
    """What "it" means, and where that was said; empty where it is not clear."""
    last = heard[0]
    source = own = _own(message, heard)
    if own is not last:
        reply = _SAYS_YES.sub("", last.text)
        if mentions_things(reply):
            source = last
        elif "?" in reply or mentions_people(reply, speaker_of(last)):
            return "", last
    said = sentences_of(source) if source else []
    if not source or not said or (source is not own and (len(said) > 1 or _is_theirs(source))):
        return "", last
    return thing_in(said[-1], it, speaker_of(source)), source


def _own(message: Message, heard: Sequence[Message]) -> Message | None:
    return next((one for one in heard if _same(one, message)), None)


def _is_theirs(message: Message) -> bool:
    """Whether a message speaks of what only its speaker calls so."""
    return (_MINE if message.role == "assistant" else _OUR).search(message.text) is not None
