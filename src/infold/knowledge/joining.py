"""Entities from mentions, in any order: which are of one thing, what they come to, what is over. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from operator import attrgetter

from infold.folding.likeness import GENERIC, alike, stem, words
from infold.knowledge.entity import TOLD, Entity, Mention, Reference
from infold.lines.line import normal

MOST_SOURCES = 20
_NAMED = 0.25  # of the telling words of an open thing: so many close it where all that is said is of it
_MOSTLY = 0.6  # and so many where something else is said besides
_CLEARLY = 0.75  # of the likest one's share is too much for the second likest
_IRREGULAR = "sent:send bought:buy paid:pay wrote:write written:write made:make took:take taken:take rang:ring brought:bring built:build"
_BENT = {stem(bent): stem(word) for bent, _, word in (pair.partition(":") for pair in _IRREGULAR.split())}
# How it is said that something is over: nothing that tells what.
_SAYING_SO = frozenset(map(stem, "fixed resolved shipped merged submitted dropped scrapped never longer again".split()))
_FINISHED = frozenset(
    map(stem, "done finished completed sorted".split())
)  # without them what was done must be said, too
_When = tuple[int, bool, str, int]
_EVER: _When = (-1 << 63, False, "", 0)
_when: Callable[[Mention], _When] = attrgetter("at", "by_hand", "chat", "seq")
# The rest only keeps the order from depending on how mentions came.
_order = attrgetter("at", "by_hand", "chat", "seq", "id", "kind", "name", "status", "due", "owner", "links")


@dataclass(slots=True)
class _Thing:
    """An entity in the making."""

    entity: Entity  # its links are worked out when it is asked for
    said: frozenset[str]  # its words, where it can be told in others
    number: int  # how many were said before it
    relinked: _When = _EVER  # when its links were last set by hand: older ones do not count
    edges: dict[str, _When] = field(default_factory=dict)  # what it was said together with, and when it last was


def resolve(mentions: Iterable[Mention]) -> list[Entity]:
    """The entities of some mentions, the latest first.

    Equal keys are one entity, and so are tasks, goals or problems in words that say the same; the first to be said gives id
    and name. Field by field the latest mention that says something wins; at the same time, what was set by hand. Links add
    up, but links set by hand take the place of all older ones. A mention of no kind changes the status of the one open
    task, problem or goal it names.
    """
    things = Things()
    found = [things.entity(id) for id in things.add(mentions)]
    return sorted(found, key=lambda one: (-one.last_at, one.id))


class Things:
    """The entities of mentions, which may come bit by bit."""

    def __init__(self) -> None:
        self._taken: list[Mention] = []
        self._clear()

    def _clear(self) -> None:
        self._every: dict[str, _Thing] = {}
        self._of_key: dict[str, _Thing] = {}
        self._by_word: dict[str, dict[str, _Thing]] = {}  # what is told in a sentence
        self._by_name: dict[str, dict[str, _Thing]] = {}
        # By name, ids of what was said together with whatever has that name, and when it last was.
        self._linking: dict[str, dict[str, _When]] = {}
        self._changed: dict[str, None] = {}

    def add(self, mentions: Iterable[Mention]) -> list[str]:
        """Take mentions in the order in which they were said; ids of the entities that are not what they were.

        Where one was said before what is here already, everything is taken again. Entities may go then.
        """
        new = sorted(dict.fromkeys(mentions), key=_order)
        if self._taken and new and _order(new[0]) <= _order(self._taken[-1]):
            new = sorted(dict.fromkeys((*self._taken, *new)), key=_order)
            before, self._taken = self._every, []
            self._clear()
            self._changed.update(dict.fromkeys(before))
        self._taken += new
        for mention in new:
            self._take(mention)
        changed, self._changed = list(self._changed), {}
        return changed

    def __contains__(self, id: str) -> bool:
        return id in self._every

    def entity(self, id: str) -> Entity:
        """What all mentions of one thing come to."""
        thing = self._every[id]
        links = (one for one, when in thing.edges.items() if when >= max(thing.relinked, self._every[one].relinked))
        return replace(thing.entity, links=tuple(sorted(links)))

    def _take(self, mention: Mention) -> None:
        """Let a mention say what it says."""
        thing = (self._of_key.get(mention.key) or self._know(mention)) if mention.kind else self._over(mention)
        if thing is None:
            return
        if mention.kind:
            self._link(thing, mention)
        one, status, source = thing.entity, mention.status, Reference(mention.chat, mention.seq, mention.id)
        if not mention.kind and status == "dropped" and "cancel" in thing.said:  # cancelling was the task
            status = "done"
        sources = one.sources
        if not mention.by_hand and source not in sources[-1:]:
            sources = (*sources[1 - MOST_SOURCES :], source)
        name = mention.name if mention.key == one.id else one.name  # as it is spelled now
        status, due, owner = status or one.status, mention.due or one.due, mention.owner or one.owner
        counted = (one.first_at, mention.at, one.mentions + 1)
        thing.entity = Entity(one.id, one.kind, name, status, due, owner, (), *counted, sources)
        self._changed[one.id] = None

    def _know(self, mention: Mention) -> _Thing:
        """The thing of a key that is new: what is alike joins the first that was said."""
        said = words(mention.name) if mention.kind in TOLD else frozenset()
        near = (one for one in self._with(said - GENERIC or said) if one.entity.kind == mention.kind)
        thing = min((one for one in near if _same(said, one.said)), key=lambda one: one.number, default=None)
        if thing is None:
            new = Entity(mention.key, mention.kind, mention.name, "open", "", "", (), mention.at, mention.at, 0, ())
            thing = self._every[new.id] = _Thing(new, said, len(self._every))
            for word in said:
                self._by_word.setdefault(word, {})[new.id] = thing
        self._of_key[mention.key] = thing
        return thing

    def _with(self, said: frozenset[str]) -> Iterable[_Thing]:
        """What is told with any of some words."""
        return {id: one for word in said for id, one in self._by_word.get(word, {}).items()}.values()

    def _over(self, mention: Mention) -> _Thing | None:
        """The open thing that a sentence names by its telling words; none where it could be another. Goals are only dropped."""
        said = frozenset(_BENT.get(word, word) for word in words(mention.name))
        telling = said - GENERIC - _SAYING_SO
        shares: list[tuple[float, str]] = []
        for thing in self._with(telling or said):
            shared, own = thing.said & said, thing.said - GENERIC or thing.said
            whole, share = telling <= thing.said, len(own & shared) / len(own)
            over = thing.entity.status != "open" or (thing.entity.kind == "goal" and mention.status == "done")
            alone = whole and (thing.entity.kind != "task" or mention.status == "dropped" or _FINISHED & said)
            if not over and (alone or len(shared) > 1) and share >= (_NAMED if whole and telling else _MOSTLY):
                shares.append((share, thing.entity.id))
        shares.sort(reverse=True)
        clear = shares and (len(shares) == 1 or shares[1][0] <= _CLEARLY * shares[0][0])
        return self._every[shares[0][1]] if clear else None

    def _link(self, thing: _Thing, mention: Mention) -> None:
        """Link what was said together, at both ends; also with what gets its name only later."""
        when = _when(mention)
        if mention.by_hand and mention.links:
            thing.relinked = when
            self._changed.update(dict.fromkeys(thing.edges))
        name = normal(mention.name)
        known = self._by_name.setdefault(name, {})
        if thing.entity.id not in known:
            known[thing.entity.id] = thing
            for id, then in self._linking.get(name, {}).items():
                self._join(self._every[id], thing, then)
        for link in map(normal, mention.links):
            self._linking.setdefault(link, {})[thing.entity.id] = when
            for other in self._by_name.get(link, {}).values():
                self._join(thing, other, when)

    def _join(self, one: _Thing, other: _Thing, when: _When) -> None:
        if one is not other:
            for this, that in ((one, other), (other, one)):
                this.edges[that.entity.id] = max(when, this.edges.get(that.entity.id, _EVER))
                self._changed[this.entity.id] = None


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two texts say the same; a report and slides are two things, however common the word "report" is."""
    shared = len(one & other)
    every = len(one) + len(other) - shared
    return shared * 2 >= every and (shared in (len(one), len(other)) or shared * 4 >= 3 * every) and alike(one, other)
