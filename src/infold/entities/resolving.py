"""Entities from mentions: which mentions are of one thing, what they come to, what is over. Pure.

Whatever order the mentions come in, they are taken in the order in which they were said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from infold.entities.model import TOLD, Entity, Mention
from infold.folding.likeness import GENERIC, alike, stem, words
from infold.items import normal

MOST_SOURCES = 20
_CLOSES = frozenset(["task", "problem", "goal"])
_ENOUGH = 0.25  # of an open thing's words, by weight, have to be said to close it
_MOSTLY = 0.6  # and so many where something else is said besides, or nothing telling at all
_COMMON = 50  # a word that more open things have tells none of them
_CLEARLY = 0.75  # of the likest one's share is too much for the second likest
_GENERIC_WEIGHT = 0.25

_BENT = {
    stem(bent): stem(word)
    for word, *forms in map(
        str.split,
        "send sent;buy bought;pay paid;write wrote written;make made;take took taken;give gave given;tell told;speak spoke spoken"
        ";meet met;find found;bring brought;build built;ring rang;sell sold;choose chose chosen;go went gone;get got;drive drove driven"
        ";leave left;teach taught;hold held;run ran;begin began begun;draw drew drawn;feed fed;see saw seen".split(";"),
    )
    for bent in forms
}
# How it is said that something is over: nothing that tells what.
_SAYING_SO = frozenset(
    map(
        stem,
        "fixed solved resolved shipped merged deployed submitted delivered closed dropped ditched scrapped abandoned fine works again running idea".split(),
    )
)

_When = tuple[int, bool, str, int]


@dataclass(slots=True)
class _Thing:
    """An entity in the making."""

    id: str
    kind: str
    name: str
    said: frozenset[str]
    """Its words, where it can be said in others."""
    log: list[Mention] = field(default_factory=list)
    status: str = ""
    due: str = ""
    owner: str = ""
    relinked: _When = (-1 << 63, False, "", 0)
    """When its links were last set by hand: older ones do not count."""
    links: set[str] = field(default_factory=set)


def resolve(mentions: Iterable[Mention]) -> list[Entity]:
    """The entities of some mentions, the latest first.

    Equal keys are one entity, and so are tasks, goals or problems in words that say the same; the first to be said gives id
    and name. Field by field the latest mention that says something wins; at the same time, what was set by hand. Links add
    up, save that links set by hand take the place of all older ones. A mention of no kind changes the status of the one
    open task, problem or goal it names.
    """
    ordered = sorted(dict.fromkeys(mentions), key=_order)
    things = _Things(ordered)
    for mention in ordered:
        things.take(mention)
    things.link(ordered)
    found = [_entity(thing) for thing in things.every.values()]
    return sorted(found, key=lambda one: (-one.last_at, one.id))


def _when(mention: Mention) -> _When:
    return (mention.at, mention.by_hand, mention.chat, mention.seq)


def _order(mention: Mention) -> tuple[object, ...]:
    """When it was said; the rest only keeps the order from depending on how they came."""
    return (
        mention.at, mention.by_hand, mention.chat, mention.seq,
        mention.id, mention.kind, mention.name, mention.status, mention.due, mention.owner, mention.links,
    )  # fmt: skip


def _entity(thing: _Thing) -> Entity:
    sources = dict.fromkeys((one.chat, one.seq, one.id) for one in thing.log if not one.by_hand)
    return Entity(
        thing.id,
        thing.kind,
        thing.name,
        thing.status or "open",
        thing.due,
        thing.owner,
        tuple(sorted(thing.links)),
        thing.log[0].at,
        thing.log[-1].at,
        len(thing.log),
        tuple(sources)[-MOST_SOURCES:],
    )


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two texts say the same; a report and slides are two things, however common the word "report" is."""
    shared = len(one & other)
    every = len(one) + len(other) - shared
    return shared * 2 >= every and (shared in (len(one), len(other)) or shared * 4 >= 3 * every) and alike(one, other)


def _bare(text: str) -> frozenset[str]:
    """The words of a text as they are said of what is still to do: "sent" as "send"."""
    return frozenset(_BENT.get(word, word) for word in words(text))


class _Things:
    """All entities of some mentions, and which of them are open."""

    def __init__(self, ordered: Sequence[Mention]) -> None:
        self.every: dict[str, _Thing] = {}
        self.of_key: dict[str, _Thing] = {}
        self.open: dict[str, dict[str, _Thing]] = {}
        """The open things that have a word, by word and id."""
        self._know(ordered)

    def _know(self, ordered: Sequence[Mention]) -> None:
        """Tell which keys are one thing: what is alike joins the first that was said."""
        first = {mention.key: mention for mention in reversed(ordered) if mention.kind}
        spread: dict[str, int] = {}
        for mention in first.values():
            if mention.kind in TOLD:
                for word in words(mention.name):
                    spread[word] = spread.get(word, 0) + 1
        likes: dict[tuple[str, str], list[_Thing]] = {}
        for key, mention in reversed(first.items()):
            said = words(mention.name) if mention.kind in TOLD else frozenset()
            # Of two texts that share half of their words, each has one of these among its rarer half.
            rare = sorted(said, key=lambda word: (spread[word], word))[: len(said) // 2 + 1]
            near = (thing for word in rare for thing in likes.get((mention.kind, word), ()))
            same = next((thing for thing in near if _same(said, thing.said)), None)
            if same is None:
                same = self.every[key] = _Thing(key, mention.kind, mention.name, said)
                for word in rare:
                    likes.setdefault((mention.kind, word), []).append(same)
            self.of_key[key] = same

    def take(self, mention: Mention) -> None:
        """Let a mention say what it says."""
        status = mention.status
        if mention.kind:
            thing = self.of_key[mention.key]
            if mention.key == thing.id:
                thing.name = mention.name  # as it is spelled now
        else:
            over = self._named(_bare(mention.name))
            if over is None:
                return
            thing = over
            if status == "dropped" and "cancel" in thing.said:  # cancelling was the task
                status = "done"
        thing.log.append(mention)
        thing.due = mention.due or thing.due
        thing.owner = mention.owner or thing.owner
        if mention.by_hand and mention.links:
            thing.relinked = max(thing.relinked, _when(mention))
        thing.status = status or thing.status
        self._file(thing)

    def _file(self, thing: _Thing) -> None:
        """Keep in mind by its words what is open."""
        if thing.kind not in _CLOSES:
            return
        for word in thing.said:
            if thing.status in ("", "open"):
                self.open.setdefault(word, {})[thing.id] = thing
            elif word in self.open:
                self.open[word].pop(thing.id, None)

    def _weight(self, found: frozenset[str]) -> float:
        """How much some words tell one open thing from the others."""
        total = 0.0
        for word in sorted(found):
            total += (_GENERIC_WEIGHT if word in GENERIC else 1.0) / max(1, len(self.open.get(word, ())))
        return total

    def _named(self, said: frozenset[str]) -> _Thing | None:
        """The open thing whose rare words are said; none where it could be another."""
        telling = said - GENERIC - _SAYING_SO
        near: dict[str, _Thing] = {}
        for word in telling or said & GENERIC:  # "The report is done": nothing but what everybody says
            there = self.open.get(word, {})
            if len(there) <= _COMMON:
                near.update(there)
        shares: list[tuple[float, str]] = []
        for id, thing in near.items():
            shared = thing.said & said
            if len(shared) < 2 and not telling <= thing.said:
                continue
            whole = telling <= thing.said or thing.said - GENERIC <= said
            if not whole and len(shared) * 2 < len(thing.said):
                continue
            share = self._weight(shared) / self._weight(thing.said)
            if share >= (_ENOUGH if whole and telling else _MOSTLY):
                shares.append((share, id))
        shares.sort(reverse=True)
        if not shares or (len(shares) > 1 and shares[1][0] > _CLEARLY * shares[0][0]):
            return None
        return near[shares[0][1]]

    def link(self, ordered: Sequence[Mention]) -> None:
        """Link what was said together, at both ends."""
        named: dict[str, dict[str, _Thing]] = {}
        for mention in ordered:
            if mention.kind:
                thing = self.of_key[mention.key]
                named.setdefault(normal(mention.name), {})[thing.id] = thing
        for mention in ordered:
            if not mention.kind:
                continue
            thing, when = self.of_key[mention.key], _when(mention)
            for name in mention.links:
                for other in named.get(normal(name), {}).values():
                    if other is not thing and when >= thing.relinked and when >= other.relinked:
                        thing.links.add(other.id)
                        other.links.add(thing.id)
