"""Merging candidates into memory: duplicates, supersession, caps, layers. Pure, deterministic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from infold.items import FACT, LEAF, LONG, PINNED, Candidate, Item, block_tokens, line_tokens, normal, render
from infold.tokens import count, excerpt

if TYPE_CHECKING:
    from infold.policy import Policy

# What gives way last when a layer is over its cap.
_WEIGHT = {"facts": 4, "decisions": 4, "open": 3, "goals": 3, "artifacts": 1}
_SMALL_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "for",
        "from",
        "has",
        "have",
        "i",
        "in",
        "is",
        "it",
        "its",
        "of",
        "on",
        "or",
        "our",
        "so",
        "that",
        "the",
        "their",
        "there",
        "this",
        "to",
        "user",
        "user's",
        "was",
        "we",
        "will",
        "with",
        "would",
        "you",
        "your",
        "assistant",
        "not",
        "do",
        "does",
        "did",
    ]
)


def words(text: str) -> frozenset[str]:
    """The words of a text that tell it from another."""
    return frozenset(word for word in normal(text).replace("-", " ").split() if word not in _SMALL_WORDS)


@dataclass(frozen=True, slots=True)
class Change:
    """What a fold does to memory: which items go, which come, and the whole that results."""

    removed: tuple[str, ...]
    added: tuple[Item, ...]
    items: tuple[Item, ...]


class _Draft:
    """Memory being rewritten; new items carry a running id until the fold has its number."""

    def __init__(self, memory: Sequence[Item], fold: int) -> None:
        self.items = {item.id: item for item in memory}
        self.normals = {normal(item.text): item.id for item in memory}
        self.words = {item.id: words(item.text) for item in memory}
        self.fold = fold
        self.made = 0

    def add(self, section: str, text: str, sources: Iterable[int], layer: str) -> None:
        self.made += 1
        item = Item(
            f"{self.fold}.{self.made}", section, text, tuple(sorted(set(sources))), layer, self.fold, line_tokens(text)
        )
        self.items[item.id] = item
        self.normals[normal(text)] = item.id
        self.words[item.id] = words(text)

    def remove(self, id: str) -> None:
        item = self.items.pop(id)
        del self.words[id]
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
    memory: Sequence[Item], lines: Sequence[Candidate], facts: Sequence[Candidate], policy: Policy, fold: int
) -> Change:
    """Memory rewritten by a summarizer: its lines replace the summary, or become a new leaf."""
    layer = LEAF if policy.leaf_cap else LONG
    draft = _Draft(memory, fold)
    _conform(draft, policy)
    replaced = () if layer == LEAF else tuple(item for item in draft.items.values() if item.layer == LONG)
    sources_of = {normal(item.text): item for item in replaced}
    for item in replaced:
        draft.remove(item.id)
    for line in lines:
        key = normal(line.text)
        if line.section == PINNED or not key or key in draft.normals:
            continue
        known = sources_of.get(key)
        if known is not None and known.section == line.section:
            draft.items[known.id] = known  # said again in the same words: the same item
            draft.normals[key] = known.id
            draft.words[known.id] = words(known.text)
        else:
            draft.add(line.section, line.text, line.sources, layer)
    for candidate in facts:
        if candidate.fact and policy.facts_cap:
            _absorb(draft, candidate, FACT)
    return _finish(draft, memory, policy)


def roll_up(memory: Sequence[Item], folds: Sequence[int], policy: Policy, fold: int) -> Change:
    """Merge the leaves of the given folds into the long summary."""
    leaves = [item for item in memory if item.layer == LEAF and item.fold in folds]
    draft = _Draft(memory, fold)
    for item in leaves:
        draft.remove(item.id)
    for item in leaves:
        _absorb(draft, Candidate(item.section, item.text, item.sources), LONG)
    return _finish(draft, memory, policy)


def _conform(draft: _Draft, policy: Policy) -> None:
    """After a change of policy: what layers it does not have held joins the long summary."""
    gone = [layer for layer, cap in ((LEAF, policy.leaf_cap), (FACT, policy.facts_cap)) if not cap]
    moved = [item for item in draft.items.values() if item.layer in gone]
    for item in moved:
        draft.remove(item.id)
    for item in moved:
        _absorb(draft, Candidate(item.section, item.text, item.sources), LONG)


def _absorb(draft: _Draft, candidate: Candidate, layer: str) -> None:
    if candidate.section == "artifacts":  # what memory names already needs no line of its own
        known = [item.text for item in draft.items.values()]
        parts = [part for part in candidate.text.split(", ") if not any(part in text for text in known)]
        candidate = replace(candidate, text=", ".join(parts))
    key = normal(candidate.text)
    if not key:
        return
    mine = words(candidate.text)
    if candidate.replaces:
        gone = words(candidate.replaces)
        for id, item in list(draft.items.items()):
            if gone and gone <= draft.words[id] and item.section in ("decisions", "goals", "facts", "open"):
                draft.remove(id)
    same = draft.normals.get(key)
    if same is not None:
        return
    subject = _subject(candidate.text)
    sources: tuple[int, ...] = candidate.sources
    for id, item in list(draft.items.items()):
        if item.section != candidate.section:
            continue
        other = draft.words[id]
        alike = len(mine & other) * 10 >= 8 * len(mine | other) and _figures(mine) == _figures(other)
        if alike:
            sources += item.sources
            draft.remove(id)
        elif subject and subject == _subject(item.text):
            draft.remove(id)
    draft.add(candidate.section, candidate.text, sources, layer)


def _figures(found: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in found if any(ch.isdigit() for ch in word))


def _subject(text: str) -> str:
    """ "User's budget" of "User's budget is 400 euros"; "" where no attribute is named."""
    head, verb, _ = text.partition(" is ")
    if verb and "'s " in head and len(head.split()) <= 5:
        return normal(head)
    return ""


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
    draft.add(item.section, text, item.sources, item.layer)


def rank(items: Sequence[Item]) -> list[Item]:
    """Items by how much they deserve their place: durability of the section first, then newer over older."""
    last = max((max(item.sources, default=0) for item in items), default=0) or 1

    def worth(item: Item) -> tuple[float, int, str]:
        age = 1 - max(item.sources, default=0) / last
        return (-(_WEIGHT.get(item.section, 2) + min(len(item.sources), 3) * 0.25 - 2 * age), -item.fold, item.id)

    return sorted(items, key=worth)
