"""Merging candidates into memory: duplicates, supersession, caps, layers. Pure, deterministic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from infold.folding.cues import asks
from infold.folding.likeness import GENERIC, about, alike, figures, subject, telling, topics, value_of, without, words
from infold.folding.reversals import anew, bygone, outcome
from infold.items import CLOSING, FACT, LEAF, LONG, PINNED, Candidate, Item, block_tokens, line_tokens, normal, render
from infold.tokens import count, excerpt

if TYPE_CHECKING:
    from infold.policy import Policy

# What gives way last when a layer is over its cap.
_OVERTURNED = ("decisions", "goals", "facts", "artifacts", "open")
_WEIGHT = {"facts": 2.0, "decisions": 2.0, "open": 1.8, "goals": 1.8, "artifacts": 1.6}


@dataclass(frozen=True, slots=True)
class Change:
    """What a fold does to memory: which items go, which come, and the whole that results."""

    removed: tuple[str, ...]
    added: tuple[Item, ...]
    items: tuple[Item, ...]


class _Draft:
    """Memory being rewritten; new items carry a running id until the fold has its number."""

    def __init__(self, memory: Sequence[Item], fold: int) -> None:
        self.items: dict[str, Item] = {}
        self.normals: dict[str, str] = {}
        self.words: dict[str, frozenset[str]] = {}
        self.spread: dict[str, int] = {}
        """In how many items a word occurs."""
        self.fold = fold
        # A fold in several passes goes on numbering.
        self.made = max((int(item.id.split(".")[1]) for item in memory if item.fold == fold), default=0)
        for item in memory:
            self.restore(item)

    def add(
        self, section: str, text: str, sources: Iterable[int], layer: str, confidence: float, rewrites: int = 0
    ) -> None:
        self.made += 1
        id, sources, sure = f"{self.fold}.{self.made}", tuple(sorted(set(sources))), round(confidence, 2)
        self.restore(Item(id, section, text, sources, layer, self.fold, line_tokens(text), sure, rewrites))

    def _know(self, id: str, text: str) -> None:
        self.words[id] = found = words(text)
        for word in found:
            self.spread[word] = self.spread.get(word, 0) + 1

    def rarity(self, word: str) -> float:
        """How much a word tells one item from the others."""
        return 1 / max(1, self.spread.get(word, 1))

    def weight(self, found: frozenset[str]) -> float:
        """How much some words tell together."""
        return math.fsum(map(self.rarity, found))

    def restore(self, item: Item) -> None:
        self.items[item.id] = item
        self.normals[normal(item.text)] = item.id
        self._know(item.id, item.text)

    def remove(self, id: str) -> None:
        item = self.items.pop(id)
        for word in self.words.pop(id):
            self.spread[word] -= 1
        if self.normals.get(normal(item.text)) == id:
            del self.normals[normal(item.text)]


def fold_extractive(memory: Sequence[Item], candidates: Sequence[Candidate], policy: Policy, fold: int) -> Change:
    """Merge what messages say into memory. Later statements win over earlier ones."""
    draft = _Draft(memory, fold)
    _conform(draft, policy)
    for candidate in candidates:
        layer = FACT if candidate.fact and policy.facts_cap else LEAF if policy.leaf_cap else LONG
        _absorb(draft, candidate, layer)
    return _finish(draft, memory, policy)


def fold_text(
    memory: Sequence[Item],
    lines: Sequence[Candidate],
    facts: Sequence[Candidate],
    policy: Policy,
    fold: int,
    whole: bool,
) -> Change:
    """Memory rewritten by a summarizer: its lines replace the whole summary, leaves and all, or become a new leaf."""
    layer = LONG if whole else LEAF
    draft = _Draft(memory, fold)
    _conform(draft, policy)
    replaced = tuple(item for item in draft.items.values() if item.layer != FACT) if whole else ()
    sources_of = {normal(item.text): item for item in replaced}
    for item in replaced:
        draft.remove(item.id)
    for line in lines:
        key = normal(line.text)
        if line.section == PINNED or not key or key in draft.normals:
            continue
        known = sources_of.get(key)
        if known is not None and known.section == line.section:
            draft.restore(known)  # said again in the same words: the same item
        elif (twin := _twin(draft, line)) is not None:  # two ways of saying one thing: the fuller one stays
            if len(words(line.text)) > len(draft.words[twin]):
                draft.remove(twin)
                draft.add(line.section, line.text, line.sources, layer, line.confidence, line.rewrites)
        else:
            draft.add(line.section, line.text, line.sources, layer, line.confidence, line.rewrites)
    for candidate in facts:
        if candidate.fact and policy.facts_cap:
            _absorb(draft, candidate, FACT)
    return _finish(draft, memory, policy)


def _twin(draft: _Draft, line: Candidate) -> str | None:
    """A line of the same fold that says the same."""
    mine = words(line.text)
    return next(
        (id for id, item in draft.items.items() if item.fold == draft.fold and alike(mine, draft.words[id])), None
    )


def roll_up(memory: Sequence[Item], folds: Sequence[int], policy: Policy, fold: int) -> Change:
    """Merge the leaves of the given folds into the long summary."""
    leaves = [item for item in memory if item.layer == LEAF and item.fold in folds]
    draft = _Draft(memory, fold)
    for item in leaves:
        draft.remove(item.id)
    for item in leaves:
        _absorb(draft, _again(item), LONG)
    return _finish(draft, memory, policy)


def rebuild(memory: Sequence[Item], leaves: Sequence[Item], policy: Policy, fold: int) -> tuple[Item, ...]:
    """The long summary made anew from the summaries of all folds, oldest first; facts stay."""
    draft = _Draft([item for item in memory if item.layer == FACT], fold)
    for item in leaves:
        _absorb(draft, _again(item), LONG)
    return _finish(draft, (), policy).items


def _again(item: Item) -> Candidate:
    return Candidate(item.section, item.text, item.sources, confidence=item.confidence, rewrites=item.rewrites)


def _conform(draft: _Draft, policy: Policy) -> None:
    """After a change of policy: what layers it does not have held joins the long summary."""
    gone = [layer for layer, cap in ((LEAF, policy.leaf_cap), (FACT, policy.facts_cap)) if not cap]
    moved = [item for item in draft.items.values() if item.layer in gone]
    for item in moved:
        draft.remove(item.id)
    for item in moved:
        _absorb(draft, _again(item), LONG)


def _absorb(draft: _Draft, candidate: Candidate, layer: str) -> None:
    if candidate.section == "artifacts":  # what memory names already needs no line of its own
        known = [item.text for item in draft.items.values()]
        parts = [part for part in candidate.text.split(", ") if not any(part in text for text in known)]
        candidate = replace(candidate, text=", ".join(parts))
    key = normal(candidate.text)
    if not key:
        return
    mine = words(candidate.text)
    closed = candidate.section != "open" and _close(draft, mine | words(candidate.replaces), candidate)
    if candidate.section == CLOSING or (closed and candidate.tentative):
        return
    if candidate.replaces:
        candidate = replace(candidate, text=_overturn(draft, candidate))
    elif candidate.doubts:
        candidate = _doubt(draft, candidate)
    text, mine = candidate.text, words(candidate.text)
    same = draft.normals.get(normal(text))
    if same is not None:
        return
    sources, confidence, rewrites = candidate.sources, candidate.confidence, candidate.rewrites
    mark = subject(text) if candidate.section != "open" else ""
    decided = words(about(text)) if candidate.section == "decisions" else frozenset()
    for id, item in list(draft.items.items()):
        other = draft.words[id]
        if alike(mine, other):
            if len(mine) < len(other):  # the fuller wording stays
                text, mine, rewrites = item.text, other, item.rewrites
            sources += item.sources
            confidence = max(confidence, item.confidence)
            draft.remove(id)
        elif _takes_place(item, mark, decided):
            draft.remove(id)
    draft.add(candidate.section, text, sources, layer, confidence, rewrites)


def _takes_place(item: Item, mark: str, decided: frozenset[str]) -> bool:
    """Whether a line on the same attribute, or a decision on the same topic, takes the place of an item."""
    if mark and item.section != "open" and mark == subject(item.text):
        return True
    if not decided or item.section != "decisions":
        return False
    topic = decided - GENERIC
    return decided == words(about(item.text)) or (len(topic) > 1 and topic <= words(item.text))


def _close(draft: _Draft, said: frozenset[str], candidate: Candidate) -> bool:
    """Let the open item go that a statement says is done or answered."""
    said -= GENERIC
    best: tuple[float, int, str] | None = None
    for id, item in draft.items.items():
        if item.section != "open":
            continue
        key = draft.words[id] - GENERIC
        shared = key & said
        if not shared:
            continue
        share = draft.weight(shared) / draft.weight(key)
        named = telling(shared)
        several = len(shared) > 1
        if candidate.tentative:  # said outright
            enough = share >= 0.25 or any(draft.rarity(word) == 1 for word in shared)
        elif candidate.section == CLOSING:  # said in passing
            enough = (several and share >= 0.25) or (bool(named) and share >= 0.34)
        elif candidate.closes:
            enough = share >= 0.5 or (several and share >= 0.25) or any(draft.rarity(word) == 1 for word in named)
        else:
            enough = several and bool(named) and share >= 0.34 and asks(item.text)
        if enough and (best is None or (share, item.fold, id) > best):
            best = (share, item.fold, id)
    if best:
        draft.remove(best[2])
    return best is not None


def _doubt(draft: _Draft, candidate: Candidate) -> Candidate:
    """A statement that names a decision as bygone, and something else in its place, overturns it."""
    if candidate.section == "open":
        return candidate
    said, mine = words(candidate.doubts), words(candidate.text)
    decided = [item for item in draft.items.values() if item.section == "decisions"]
    subjects = [found for topic in topics(candidate.text) if len(found := words(topic) - GENERIC) > 1]
    for item in decided:
        known = draft.words[item.id]
        named = telling(value_of(item.text)) & said and telling(mine - known)
        if named or (anew(candidate.doubts) and any(found <= known for found in subjects)):
            holds, _ = outcome(candidate.text)
            text = holds if named and bygone(candidate.doubts) and telling(words(holds) - known) else candidate.text
            turned = replace(candidate, section="decisions", text=text, replaces=candidate.doubts)
            return replace(turned, text=_overturn(draft, turned))
    _retell(draft, candidate)
    return candidate


def _retell(draft: _Draft, candidate: Candidate) -> None:
    """A sentence that goes over all of a decision, and is remembered by other words, takes its place."""
    said, mine = words(candidate.doubts), words(candidate.text)
    for id, item in list(draft.items.items()):
        known = draft.words[id] - GENERIC
        if item.section != "decisions" or len(known) < 3 or len(known & said) * 4 < 3 * len(known):
            continue
        if len(known & mine) * 4 < 3 * len(known) and known & mine and telling(mine - known):
            draft.remove(id)


def _overturn(draft: _Draft, candidate: Candidate) -> str:
    """Let go of what a reversal overturns; the text of its outcome, without the old value, with the topic it left unsaid."""
    gone = words(candidate.replaces)
    mine = words(candidate.text)
    hit: list[Item] = []
    sections = ("decisions",) if candidate.section == "facts" else _OVERTURNED
    if gone and len(gone) <= 4:
        hit = [
            item for id, item in draft.items.items() if gone <= draft.words[id] and item.section in (*sections, "open")
        ]
    if not hit:
        said = frozenset(word for word in (gone | mine) - GENERIC if not word.isdigit())
        best: tuple[float, int, str] | None = None
        for id, item in draft.items.items():
            shared = (draft.words[id] & said) - GENERIC
            decided = item.section == "decisions"
            score = draft.weight(shared if decided else telling(shared))
            least = 0.5 if decided else 1.0 if item.section in sections else 99
            if score >= least and (best is None or (score + decided, item.fold, id) > best):
                best = (score + decided, item.fold, id)
        if best:
            hit = [draft.items[best[2]]]
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
    for item in hit:
        draft.remove(item.id)
    text = candidate.text
    for item in hit:
        text = without(text, gone if 0 < len(gone) <= 4 else value_of(item.text))
    known = (
        topic
        for item in hit
        for topic in topics(item.text)
        if topic.islower() and len(words(topic)) > 1 and not words(topic) & words(text)
    )
    carried = next(known, "")
    return f"{text} ({carried})" if carried else text


def _finish(draft: _Draft, memory: Sequence[Item], policy: Policy) -> Change:
    for layer, cap in ((FACT, policy.facts_cap), (LONG, policy.summary_cap), (LEAF, policy.leaf_cap)):
        if cap:
            _cap(draft, layer, cap)
    before = {item.id for item in memory}
    items = tuple(draft.items.values())
    return Change(
        tuple(item.id for item in memory if item.id not in draft.items),
        tuple(item for item in items if item.id not in before),
        items,
    )


def _cap(draft: _Draft, layer: str, cap: int) -> None:
    """Let the least durable lines of a layer go until it fits; a leaf is capped by itself."""
    mine = [item for item in draft.items.values() if item.layer == layer]
    groups = [mine]
    if layer == LEAF:
        groups = [[item for item in mine if item.fold == fold] for fold in sorted({item.fold for item in mine})]
    for group in groups:
        kept = list(group)
        if block_tokens(kept) <= cap:
            continue
        for item in rank(group)[::-1]:
            if count(render(kept)) <= cap:
                break
            if len(kept) == 1:  # a single line longer than the cap is cut, not lost
                _cut(draft, item, cap)
                break
            kept.remove(item)
            draft.remove(item.id)


def _cut(draft: _Draft, item: Item, cap: int) -> None:
    text = excerpt(item.text, max(8, cap - 16), " … ")
    draft.remove(item.id)
    draft.add(item.section, text, item.sources, item.layer, item.confidence, item.rewrites)


def rank(items: Sequence[Item]) -> list[Item]:
    """Items by how much they deserve their place: durability and use first, then brevity, then newer over older."""
    last = max((max(item.sources, default=0) for item in items), default=0) or 1

    def worth(item: Item) -> tuple[float, int, str]:
        age = 1 - max(item.sources, default=0) / last
        use = min(len(item.sources), 4) * 0.25 + min(len(figures(words(item.text))), 2) * 0.25
        durable = _WEIGHT.get(item.section, 2) + 5 * item.confidence
        return (-(durable + use - age - item.tokens / 40), -item.fold, item.id)

    return sorted(items, key=worth)
