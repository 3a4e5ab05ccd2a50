"""Reading messages in their order: whom or what a line means may have been said in the message before. Pure.

A message is read by itself (`extract`). Where a line begins with "she" or "it" and nothing in its message explains that, the
last words of the speaker's own message before it may, or a short message of the other side right before it, or a question
that asks after one person. What a line comes to depends on its message and the REACH messages before it, however they are cut into folds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

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

REACH = 4
"""Messages before a message that may tell whom it speaks of."""
Earlier = Callable[[int], Sequence[Message]]
"""The REACH messages before a position, as far as there are any."""

_SILENCE = 3 * 3600 * 1000  # after so many milliseconds a talk begins anew
_SHORT = 300  # characters; a longer reply brings up something else
_MINE = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)
_OUR = re.compile(r"\bour\b", re.IGNORECASE)
_SAYS_YES = re.compile(
    r"\b(?:Noted|Understood|Congratulations|Congrats|Perfect|Alright|Absolutely|Certainly|Wonderful|Glad|Awesome|Fantastic|Excellent"
    r"|Ah|Duly|Exciting|Sweet|Cute|Added|Remembered|[A-Z][a-z]+(?:able|ible|ous|ful))\b"
)  # how replies begin: no names
_ASKS_AFTER = re.compile(
    r"\b(?i:how(?:'s| is| was| did| does| has)|(?:what|how) about|where(?:'s| is)|wh(?:at|en|ere|y) (?:is|does|did|has|will)|is|does|did|has|will)"
    r" (?P<name>[A-Z][a-zà-ÿ]+)(?: (?!and\b|or\b|[A-Z])[^?]*)?\?"
)
_SHE = re.compile(r"\b(?:she|hers?)\b", re.IGNORECASE)
_HE = re.compile(r"\b(?:he|him|his)\b", re.IGNORECASE)


class _Meant(NamedTuple):
    """Who or what is meant."""

    key: str
    """The word that texts have for it."""
    name: str
    """As a line calls it."""
    source: Message
    """Where it was named."""


def extract_each(messages: Sequence[Message], earlier: Earlier | None = None) -> list[list[Candidate]]:
    """The durable statements of each of some messages. `earlier` is asked for what comes before a message where the messages
    themselves do not tell."""
    found: list[list[Candidate]] = []
    for at, message in enumerate(messages):
        read = extract(message)
        for place, one in enumerate(read):
            if one.unnamed:
                read[place] = _explained(one, message, _before(messages, at, earlier))
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
    if earlier and (len(near) < REACH or near[0].seq != seq - REACH):
        near = earlier(seq)
    return [message for place, message in enumerate(near, start=seq - len(near)) if message.seq == place]


def _explained(candidate: Candidate, message: Message, before: Sequence[Message]) -> Candidate:
    """A line with the name of whom or what it means, where the messages before tell; it then rests on that one too."""
    line = ""
    if pronoun := unnamed(candidate.text, speaker_of(message)):
        if meant := _person(pronoun, message, before):
            line = put(candidate.text, pronoun, meant.name)
    elif it := unnamed_thing(candidate.text):
        if meant := _thing(it, message, before):
            line = put_thing(meant.name, it)
    else:
        meant = None
    if meant is None:
        return candidate
    sources = (meant.source.seq, *candidate.sources) if candidate.sources else ()
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


def _person(pronoun: re.Match[str], message: Message, before: Sequence[Message]) -> _Meant | None:
    """Whom a pronoun means, where that is clear."""
    asked, heard = _asked_after(message, before), _heard(message, before)
    if asked or not heard:
        return asked
    last, own = heard[0], _own(message, heard)
    said, same = sentences_of(own) if own else [], _HE if pronoun["he"] else _SHE
    mine = people_in(said[-2:], pronoun, speaker_of(message))
    if mine is None or len(mine) > 1:
        return None
    meant = _Meant(*mine.popitem(), own) if own and mine else None
    if own and not meant and same.search(own.text):  # it goes on about somebody
        named_there = people_in(said, pronoun, speaker_of(message)) != {}
        meant = None if named_there else _person(pronoun, own, before[: -len(heard)])
        if meant is None:
            return None
    if own is last:
        return meant
    speaker, reply = speaker_of(last), _SAYS_YES.sub("", last.text)
    if meant:  # a reply may speak of the same one, and of nobody else
        reply = re.sub(rf"\b{re.escape(meant.key)}\b(?!'s|,? and\b|,? or\b)", "", reply)
        known = roles_in(" ".join(sentences_of(meant.source)[-2:]))
        other = names_in(reply, speaker) or not roles_in(reply) <= known
        return None if other or ("?" in reply and not same.search(reply)) else meant
    theirs = people_in([reply], pronoun, speaker)
    if not theirs or len(theirs) > 1 or len(roles_in(reply)) > 1 or _is_theirs(last):
        return None
    return _Meant(*theirs.popitem(), last)


def _asked_after(message: Message, before: Sequence[Message]) -> _Meant | None:
    """The one person after whom the message right before asks in the end, whoever asks."""
    last = before[-1] if before else None
    if last is None or "?" not in last.text[-_SHORT:] or not _speaks(last, message) or _same(last, message):
        return None
    end = " ".join(sentences_of(last)[-2:])
    asked = _ASKS_AFTER.search(end) if end.endswith("?") and not roles_in(end) else None
    if asked is None or [*names_in(end, speaker_of(last))] != [asked["name"]]:
        return None
    return _Meant(asked["name"], asked["name"], last)


def _thing(it: re.Match[str], message: Message, before: Sequence[Message]) -> _Meant | None:
    """What "it" means, where that is clear."""
    heard = _heard(message, before)
    if not heard:
        return None
    last, own = heard[0], _own(message, heard)
    source = own
    if own is not last:
        reply = _SAYS_YES.sub("", last.text)
        if mentions_things(reply):
            source = last
        elif "?" in reply or mentions_people(reply, speaker_of(last)):
            return None
    said = sentences_of(source) if source else []
    if not source or not said or (source is not own and (len(said) > 1 or _is_theirs(source))):
        return None
    thing = thing_in(said[-1], it, speaker_of(source))
    return _Meant(thing, thing, source) if thing else None


def _own(message: Message, heard: Sequence[Message]) -> Message | None:
    return next((one for one in heard if _same(one, message)), None)


def _is_theirs(message: Message) -> bool:
    """Whether a message speaks of what only its speaker calls so."""
    return (_MINE if message.role == "assistant" else _OUR).search(message.text) is not None
