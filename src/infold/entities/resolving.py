"""Entities from mentions: which mentions are of one thing, what they come to, what is over. Pure.

Whatever order the mentions come in, they are taken in the order in which they were said.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from infold.entities.model import TOLD, Entity, Mention
from infold.folding.likeness import GENERIC, alike, stem, words
from infold.lines.line import normal

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
_EVER: _When = (-1 << 63, False, "", 0)


@dataclass(slots=True)
class _Thing:
    """An entity in the making."""

    id: str
    kind: str
    name: str
    said: frozenset[str]
    """Its words, where it can be said in others."""
    number: int
    """How many were said before it."""
    first_at: int
    last_at: int = 0
    mentions: int = 0
    status: str = ""
    due: str = ""
    owner: str = ""
    sources: list[tuple[str, int, str]] = field(default_factory=list)
    relinked: _When = _EVER
    """When its links were last set by hand: older ones do not count."""
    edges: dict[str, _When] = field(default_factory=dict)
    """Ids of what it was said together with, and when it last was."""


def resolve(mentions: Iterable[Mention]) -> list[Entity]:
    """The entities of some mentions, the latest first.

    Equal keys are one entity, and so are tasks, goals or problems in words that say the same; the first to be said gives id
    and name. Field by field the latest mention that says something wins; at the same time, what was set by hand. Links add
    up, save that links set by hand take the place of all older ones. A mention of no kind changes the status of the one
    open task, problem or goal it names.
    """
    things = Things()
    found = [things.entity(id) for id in things.add(mentions)]
    return sorted(found, key=lambda one: (-one.last_at, one.id))


def _when(mention: Mention) -> _When:
    return (mention.at, mention.by_hand, mention.chat, mention.seq)


def _order(mention: Mention) -> tuple[object, ...]:
    """When it was said; the rest only keeps the order from depending on how they came."""
    return (
        mention.at, mention.by_hand, mention.chat, mention.seq,
        mention.id, mention.kind, mention.name, mention.status, mention.due, mention.owner, mention.links,
    )  # fmt: skip


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two texts say the same; a report and slides are two things, however common the word "report" is."""
    shared = len(one & other)
    every = len(one) + len(other) - shared
    return shared * 2 >= every and (shared in (len(one), len(other)) or shared * 4 >= 3 * every) and alike(one, other)


def _bare(text: str) -> frozenset[str]:
    """The words of a text as they are said of what is still to do: "sent" as "send"."""
    return frozenset(_BENT.get(word, word) for word in words(text))


def _told_by(said: frozenset[str]) -> list[str]:
    """Of two texts that share half of their words, each has one of these: more than half of its own, in an order that
    is the same for all, what tells most first."""
    return sorted(said, key=lambda word: (word in GENERIC, -len(word), word))[: len(said) // 2 + 1]


class Things:
    """The entities of mentions, which may come bit by bit."""

    def __init__(self) -> None:
        self._taken: list[Mention] = []
        self._clear()

    def _clear(self) -> None:
        self._every: dict[str, _Thing] = {}
        self._of_key: dict[str, _Thing] = {}
        self._likes: dict[tuple[str, str], list[_Thing]] = {}
        self._open: dict[str, dict[str, _Thing]] = {}
        """The open things that have a word, by word and id."""
        self._named: dict[str, dict[str, _Thing]] = {}
        """The things of a name."""
        self._linking: dict[str, dict[str, _When]] = {}
        """By name, ids of what was said together with whatever has that name, and when it last was."""
        self._changed: dict[str, None] = {}

    def add(self, mentions: Iterable[Mention]) -> list[str]:
        """Take mentions in the order in which they were said; ids of the entities that are not what they were.

        Where one was said before what is here already, everything is taken again. Entities may go then.
        """
        new = sorted(dict.fromkeys(mentions), key=_order)
        if self._taken and new and _order(new[0]) <= _order(self._taken[-1]):
            new = sorted(dict.fromkeys((*self._taken, *new)), key=_order)
            before = self._every
            self._taken = []
            self._clear()
            self._changed.update(dict.fromkeys(before))
        self._taken += new
        for mention in new:
            self._take(mention)
        changed = list(self._changed)
        self._changed.clear()
        return changed

    def __contains__(self, id: str) -> bool:
        return id in self._every

    def entity(self, id: str) -> Entity:
        """What all mentions of one thing come to."""
        thing = self._every[id]
        links = [
            other
            for other, when in thing.edges.items()
            if when >= thing.relinked and when >= self._every[other].relinked
        ]
        return Entity(
            id, thing.kind, thing.name, thing.status or "open", thing.due, thing.owner, tuple(sorted(links)),
            thing.first_at, thing.last_at, thing.mentions, tuple(thing.sources),
        )  # fmt: skip

    def _take(self, mention: Mention) -> None:
        """Let a mention say what it says."""
        status = mention.status
        if mention.kind:
            thing = self._of_key.get(mention.key) or self._know(mention)
            if mention.key == thing.id:
                thing.name = mention.name  # as it is spelled now
            self._link(thing, mention)
        else:
            over = self._over(_bare(mention.name))
            if over is None:
                return
            thing = over
            if status == "dropped" and "cancel" in thing.said:  # cancelling was the task
                status = "done"
        self._changed[thing.id] = None
        thing.last_at = mention.at
        thing.mentions += 1
        source = (mention.chat, mention.seq, mention.id)
        if not mention.by_hand and source not in thing.sources[-1:]:
            thing.sources = [*thing.sources[1 - MOST_SOURCES :], source]
        thing.due = mention.due or thing.due
        thing.owner = mention.owner or thing.owner
        thing.status = status or thing.status
        self._file(thing)

    def _know(self, mention: Mention) -> _Thing:
        """The thing of a key that was not said before: what is alike joins the first that was said."""
        said = words(mention.name) if mention.kind in TOLD else frozenset()
        telling = [(mention.kind, word) for word in _told_by(said)]
        near = {thing.id: thing for one in telling for thing in self._likes.get(one, ())}
        alikes = (thing for thing in near.values() if _same(said, thing.said))
        thing = min(alikes, key=lambda one: one.number, default=None)
        if thing is None:
            thing = _Thing(mention.key, mention.kind, mention.name, said, len(self._every), mention.at)
            self._every[thing.id] = thing
            for one in telling:
                self._likes.setdefault(one, []).append(thing)
        self._of_key[mention.key] = thing
        return thing

    def _file(self, thing: _Thing) -> None:
        """Keep in mind by its words what is open."""
        if thing.kind not in _CLOSES:
            return
        for word in thing.said:
            if thing.status in ("", "open"):
                self._open.setdefault(word, {})[thing.id] = thing
            elif word in self._open:
                self._open[word].pop(thing.id, None)

    def _weight(self, found: frozenset[str]) -> float:
        """How much some words tell one open thing from the others."""
        total = 0.0
        for word in sorted(found):
            total += (_GENERIC_WEIGHT if word in GENERIC else 1.0) / max(1, len(self._open.get(word, ())))
        return total

    def _over(self, said: frozenset[str]) -> _Thing | None:
        """The open thing whose rare words are said; none where it could be another."""
        telling = said - GENERIC - _SAYING_SO
        near: dict[str, _Thing] = {}
        for word in telling or said & GENERIC:  # "The report is done": nothing but what everybody says
            there = self._open.get(word, {})
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

    def _link(self, thing: _Thing, mention: Mention) -> None:
        """Link what was said together, at both ends; also with what gets its name only later."""
        when = _when(mention)
        if mention.by_hand and mention.links:
            thing.relinked = when
            self._changed.update(dict.fromkeys(thing.edges))
        name = normal(mention.name)
        known = self._named.setdefault(name, {})
        if thing.id not in known:
            known[thing.id] = thing
            for id, then in self._linking.get(name, {}).items():
                self._join(self._every[id], thing, then)
        for link in map(normal, mention.links):
            self._linking.setdefault(link, {})[thing.id] = when
            for other in self._named.get(link, {}).values():
                self._join(thing, other, when)

    def _join(self, one: _Thing, other: _Thing, when: _When) -> None:
        if one is not other:
            for this, that in ((one, other), (other, one)):
                this.edges[that.id] = max(when, this.edges.get(that.id, _EVER))
                self._changed[this.id] = None
