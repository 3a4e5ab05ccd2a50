"""Changes of mind meeting memory: which lines they overturn, and what is left to say. Pure, deterministic."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from infold.folding.draft import Draft
from infold.folding.likeness import (
    GENERIC,
    about,
    figures,
    nouns,
    pairs,
    segments,
    subject,
    telling,
    topics,
    value_of,
    without,
    words,
)
from infold.folding.reversals import anew, bygone, outcome
from infold.items import CLOSING, Candidate, Item

_OVERTURNED = ("decisions", "goals", "facts", "artifacts", "open")
_NOT_TOLD = GENERIC | words("chose chosen picked picking going goes gets getting want wants like taking booked")
# What speaks against a thing.
_AGAINST = re.compile(
    r"\b(?:too(?= \w)|would|could|never|hat(?:es?|ed)|full|closed?|lost|ill|sick|flu|brok\w+|insane|madness|mad|costs?|price\w*|expensive|stuck|stolen|froze"
    r"|overkill|stains?|crash\w*|kill\w*|tired|away|booked|busy|complain\w*|problems?|trouble|fail\w*|refus\w*|denied|forbid\w*|banned|allergic"
    r"|rots?|leaks?|terrible|awful|horrible|ugly|boring|chaos|nightmare|impossible|quit|left|stopped|sold|ran out)\b"
)
# What says that a thing stays as it is.
_STANDS = re.compile(
    r"\b(?:works? (?:well|fine|great|nicely|perfectly)|(?:is|are|was) (?:fine|great|good|fast|perfect)|stays?|remains?|(?:we|i)(?:'ll| will)? keep)\b"
)
_FIGURED = frozenset("is are be at to until from by on costs cost spend".split())
_CHANGES = re.compile(r"\b(?:new|chang\w+|moved|switch\w+|updat\w+|tired of|too \w+|since)\b")
_CHOOSING = frozenset(["decision", "reversal", "goal", "preference", "commitment"])
_FEW = 4  # words that name one thing outright


@dataclass(frozen=True, slots=True)
class Claim:
    """What a line states something of, so that it may take the place of another."""

    attribute: str
    topic: frozenset[str]
    """What it decides about, as it says first; empty for what is no decision."""
    subjects: list[frozenset[str]]
    """All that it may decide about, where that takes more than one word."""
    figured: bool
    """Whether it has a figure beside those."""
    said: int
    """The last message that says so."""

    @classmethod
    def of(cls, candidate: Candidate) -> Claim:
        text, decides = candidate.text, candidate.section == "decisions"
        subjects = _subjects(text) if decides else []
        last = text.rpartition(", ")[2]  # "We moved house, User lives in Leipzig"
        return cls(
            subject(text) or subject(last) if candidate.section != "open" else "",
            words(about(text)) if decides else frozenset(),
            subjects,
            bool(figures(words(text).difference(*subjects))),
            max(candidate.sources, default=0),
        )

    def takes_place(self, item: Item, known: frozenset[str]) -> bool:
        """Whether an item states the same attribute, or is what was decided on the same topic."""
        if item.section == "open":
            return False
        if self.attribute and self.attribute == subject(item.text):
            return True
        if not self.topic:
            return False
        if item.section == "decisions":
            return self.topic == words(about(item.text)) or any(found <= known for found in self.subjects)
        # Filed elsewhere before, but about just that. A figure is another matter than a name: a budget, not a choice.
        same = [found for found in self.subjects if found <= known]
        figured = bool(figures(known.difference(*same)))
        earlier = max(item.sources, default=0) <= self.said
        return earlier and figured == self.figured and any(found in same for found in _subjects(item.text))

    def instead(self, text: str, item: Item) -> str:
        """The line's text without what the item, whose place it takes, had decided."""
        if item.section != "decisions":
            return text
        value = value_of(item.text).difference(*self.subjects)
        shorter = without(text, value) if telling(value & words(text)) else text
        return shorter if telling(words(shorter) - words(item.text)) else text


def _subjects(text: str) -> list[frozenset[str]]:
    """What a text may be about, as far as that takes more than one word."""
    return [found for topic in topics(text) if len(found := words(topic) - GENERIC) > 1]


def displaced(draft: Draft, candidate: Candidate) -> Candidate:
    """A statement may say of something new what memory says of something else, which the message names apart: "Pine would
    rot. We build the garden table out of ash." Or it says the same but for one word, and speaks of a change. What memory says
    goes then."""
    if candidate.section == CLOSING:
        return candidate
    mine = words(candidate.text) - GENERIC
    if not any(map(draft.spread.get, mine)):
        return candidate
    said = mine | words(candidate.beside)
    parts: list[str] = []
    for id, item in list(draft.items.items()):
        if mine.isdisjoint(draft.words[id]):
            continue
        told = draft.words[id] - _NOT_TOLD
        if len(told) < 2 or len(told - said) > 1 or item.section not in _OVERTURNED:
            continue
        parts = parts or segments(candidate.text)
        text = _in_its_place(candidate, parts, told, draft.words[id]) if told <= said else ""
        text = text or next((part for part in parts if _but_for_one(part, item.text, candidate, parts)), "").strip()
        if text:
            draft.remove(id)
            candidate = replace(candidate, text=text[:1].upper() + text[1:], replaces="", doubts="")
            parts = []
    return candidate


def _in_its_place(candidate: Candidate, parts: list[str], told: frozenset[str], known: frozenset[str]) -> str:
    """The part of a statement that says of something new what was said of another thing, where the rest names that."""
    if candidate.section == "open":
        return ""
    _, at = max((len(words(part) & known), at) for at, part in enumerate(parts))
    mine = words(parts[at])
    shared, value = told & mine, told - mine
    if not telling(value) or not telling(mine - known) or not (telling(shared) or len(shared) > 1):
        return ""
    others = [other for other in (*parts[:at], *parts[at + 1 :], candidate.beside) if words(other) & value]
    if any(words(other) & shared for other in others):
        return ""
    beside = candidate.beside in others and _AGAINST.search(candidate.beside.lower()) is None
    choosing = candidate.kind in _CHOOSING and not beside
    return parts[at].strip() if choosing or any(map(bygone, others)) else ""


def _but_for_one(part: str, text: str, candidate: Candidate, parts: list[str]) -> bool:
    """Whether a part of a statement is an older line but for one word or date, and what is said beside it speaks of a change."""
    new, old = part.lower().split(), text.lower().split()
    start = next((at for at, (one, other) in enumerate(zip(new, old, strict=False)) if one != other), 0)
    end = next((at for at, (one, other) in enumerate(zip(new[::-1], old[::-1], strict=False)) if one != other), 0)
    gone, now = old[start : len(old) - end], new[start : len(new) - end]
    if not (0 < len(gone) < 3 and 0 < len(now) < 3) or start + end < 3:
        return False
    old_value, value = words(" ".join(gone)), words(" ".join(now))
    if figures(old_value) and (not start or old[start - 1] not in _FIGURED):  # room 11 and room 12 are two
        return False
    if bool(figures(old_value)) != bool(figures(value)) or not all(
        telling(one) | figures(one) for one in (old_value, value)
    ):
        return False
    beside = " ".join([candidate.beside, *(other for other in parts if other != part)]).lower()
    if old_value & words(beside):
        return True
    return candidate.section != "open" and (
        bool(candidate.doubts) or bygone(beside) or _CHANGES.search(beside) is not None or anew(part)
    )


def doubted(draft: Draft, candidate: Candidate) -> Candidate:
    """A statement that names what was decided, and something else in its place, overturns it."""
    if candidate.section == "open":
        return candidate
    for item in reversed(draft.items.values()):
        known = draft.words[item.id]
        if item.section == "decisions":
            named = _names_value(item, known, candidate)
            turns = named or _names_topic(item, known, candidate)
        else:
            turns = named = item.section in _OVERTURNED[1:4] and _names_all(item, known, candidate)
        if turns:
            holds, _ = outcome(candidate.text)
            text = holds if named and bygone(candidate.doubts) and telling(words(holds) - known) else candidate.text
            turned = replace(candidate, section="decisions", text=text, replaces=candidate.doubts)
            return replace(turned, text=overturned(draft, turned, item))
    _retell(draft, candidate)
    return candidate


def _names_value(item: Item, known: frozenset[str], candidate: Candidate) -> bool:
    """Whether a statement names what an item decided, and something new beside it."""
    named = telling(value_of(item.text)) & words(candidate.doubts)
    if not named or not telling(words(candidate.text) - known):
        return False
    stands = [part for part in segments(candidate.doubts) if _STANDS.search(part.lower()) and named & words(part)]
    return not stands or bygone(candidate.doubts)


def _names_topic(item: Item, known: frozenset[str], candidate: Candidate) -> bool:
    """Whether a statement says something new of what an item decided about."""
    mine = _subjects(candidate.text)
    if anew(candidate.doubts) and any(found <= known for found in mine):
        return True
    if not words(candidate.text) - known - GENERIC:
        return False
    if candidate.section not in ("decisions", CLOSING):
        return any(found in mine for found in _subjects(item.text))
    if words(about(item.text)) and words(about(item.text)) in map(words, topics(candidate.doubts)):
        return True
    wider = [found for found in _subjects(candidate.doubts) if not found <= known]  # "dog food" is not "dog food tin"
    shared = _shared_pairs(item, candidate)
    return any(not any(pair <= found for found in wider) for pair in shared)


def _names_all(item: Item, known: frozenset[str], candidate: Candidate) -> bool:
    """Whether a statement calls bygone what was filed as something else than a decision, or decides on its very topic."""
    if candidate.section not in ("decisions", CLOSING) or not telling(words(candidate.text) - known):
        return False
    if bygone(candidate.doubts) and len(telling(words(candidate.doubts) & known)) > 1:
        return bool(_shared_pairs(item, candidate))
    return anew(candidate.doubts) and any(found in _subjects(item.text) for found in _subjects(candidate.text))


def _shared_pairs(item: Item, candidate: Candidate) -> list[frozenset[str]]:
    return [pair for pair in pairs(candidate.doubts) & pairs(item.text) if not pair & GENERIC]


def _retell(draft: Draft, candidate: Candidate) -> None:
    """A sentence that goes over all of a decision, and is remembered by other words, takes its place."""
    said, mine = words(candidate.doubts), words(candidate.text)
    if candidate.section == CLOSING:
        return
    for id, item in list(draft.items.items()):
        known = draft.words[id] - GENERIC
        if item.section != "decisions" or len(known) < 3 or len(known & said) * 4 < 3 * len(known):
            continue
        if len(known & mine) * 4 < 3 * len(known) and known & mine and telling(mine - known):
            draft.remove(id)


def overturned(draft: Draft, candidate: Candidate, sure: Item | None = None) -> str:
    """Let go of what a reversal overturns; the text of its outcome, without the old value, with the topic it left unsaid."""
    gone = words(candidate.replaces)
    hit = _hit(draft, candidate, gone, [sure] if sure else [])
    for item in hit:
        draft.remove(item.id)
    text = candidate.text
    subjects = [*_subjects(candidate.replaces), *_subjects(text)]
    for item in hit:
        known = words(item.text)
        named = [words(run) for run in nouns(candidate.replaces, known)]
        topic = frozenset[str]().union(*named, *(found for found in subjects if found <= known))
        shorter = without(text, gone if outright(candidate) else value_of(item.text) - topic)
        left = words(shorter)
        if left - known - GENERIC and left - figures(left):  # a figure alone says nothing
            text = shorter
    # Not with a figure: that would be one its own source does not have.
    carried = next((topic for topic in _unsaid(candidate, hit, text) if not figures(words(topic))), "").lower()
    return f"{text} ({carried})" if carried else text


def outright(candidate: Candidate) -> bool:
    """Whether a reversal names the old thing and nothing else; else all that it said stands for it."""
    gone = words(candidate.replaces)
    return 0 < len(gone) <= _FEW and not gone & words(candidate.text)


def _hit(draft: Draft, candidate: Candidate, gone: frozenset[str], hit: list[Item]) -> list[Item]:
    """The items that a reversal overturns, beside those that are known to be."""
    mine = words(candidate.text)
    sections = ("decisions",) if candidate.section == "facts" else _OVERTURNED
    if not hit and outright(candidate):
        hit = [
            item for id, item in draft.items.items() if gone <= draft.words[id] and item.section in (*sections, "open")
        ]
    if not hit:
        hit = _nearest(draft, gone | mine, sections)
    named = gone - mine  # all that is named as bygone, and not again in what holds
    for id, item in draft.items.items():
        if item.section in sections and item not in hit and len(telling(draft.words[id] & named)) > 1:
            hit.append(item)
    for topic in map(words, (*topics(candidate.replaces), *topics(candidate.text))):
        if len(topic - GENERIC) > 1:  # all that was decided about it
            same = [
                item for id, item in draft.items.items() if topic <= draft.words[id] and item.section in sections[:3]
            ]
            hit += [item for item in same if item not in hit]
    return hit


def _nearest(draft: Draft, said: frozenset[str], sections: Sequence[str]) -> list[Item]:
    """The item that shares the rarest words with a reversal, a decision first."""
    said = frozenset(word for word in said - GENERIC if not word.isdigit())
    best: tuple[float, int, str] | None = None
    for id, item in draft.items.items():
        shared = draft.words[id] & said
        decided = item.section == "decisions"
        score = draft.weight(telling(shared))
        if decided:  # where words that are said of everything count, too
            score = (score + draft.weight(shared)) / 2
        least = 0.5 if decided else 1.0 if item.section in sections else 99
        if score >= least and (best is None or (score + decided, item.fold, id) > best):
            best = (score + decided, item.fold, id)
    return [draft.items[best[2]]] if best else []


def _opens(topic: str, candidate: Candidate) -> bool:
    """Whether a topic is written large as the first word only, and is not the old thing itself."""
    return topic[1:].islower() and not words(topic) & words(candidate.replaces)


def _unsaid(candidate: Candidate, hit: Sequence[Item], text: str) -> Iterator[str]:
    """What a reversal is about, as it or what it overturns has said, and its outcome has not: the next one will name it."""
    said = words(text)
    for item in hit:
        told = [topic for topic in topics(item.text) if topic.islower() or _opens(topic, candidate)]
        told = sorted(told, key=lambda topic: len(words(topic)) == 1) or nouns(item.text)[::-1]
        if told and words(told[0]) & said:
            return
        yield from told
    for topic in topics(candidate.replaces):
        if not words(topic) & said and re.search(rf"\b(?:the|our|my) {re.escape(topic)}\b", candidate.replaces):
            yield topic
