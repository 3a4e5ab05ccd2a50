"""Merging candidates into memory: duplicates, supersession, caps, layers. Pure, deterministic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from infold.folding.cues import asks
from infold.folding.draft import Draft
from infold.folding.likeness import GENERIC, alike, figures, telling, words
from infold.folding.overturning import Claim, displaced, doubted, outright, overturned
from infold.folding.repeating import of_others, said_again, same_sentence
from infold.items import CLOSING, FACT, LEAF, LONG, PINNED, Candidate, Item, block_tokens, normal, render
from infold.tokens import count, excerpt

if TYPE_CHECKING:
    from infold.policy import Policy

# What gives way last when a layer is over its cap.
_WEIGHT = {"facts": 2.0, "decisions": 2.0, "open": 1.8, "goals": 1.8, "artifacts": 1.6}


@dataclass(frozen=True, slots=True)
class Change:
    """What a fold does to memory: which items go, which come, and the whole that results."""

    removed: tuple[str, ...]
    added: tuple[Item, ...]
    items: tuple[Item, ...]


def fold_extractive(memory: Sequence[Item], candidates: Sequence[Candidate], policy: Policy, fold: int) -> Change:
    """Merge what messages say into memory. Later statements win over earlier ones."""
    draft = Draft(memory, fold)
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
    draft = Draft(memory, fold)
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


def _twin(draft: Draft, line: Candidate) -> str | None:
    """A line of the same fold that says the same."""
    mine = words(line.text)
    same = (id for id, item in draft.items.items() if item.fold == draft.fold and alike(mine, draft.words[id]))
    return next(same, None)


def roll_up(memory: Sequence[Item], folds: Sequence[int], policy: Policy, fold: int) -> Change:
    """Merge the leaves of the given folds into the long summary."""
    leaves = [item for item in memory if item.layer == LEAF and item.fold in folds]
    draft = Draft(memory, fold)
    for item in leaves:
        draft.remove(item.id)
    for item in leaves:
        _absorb(draft, _again(item), LONG)
    return _finish(draft, memory, policy)


def rebuild(memory: Sequence[Item], leaves: Sequence[Item], policy: Policy, fold: int) -> tuple[Item, ...]:
    """The long summary made anew from the summaries of all folds, oldest first; facts stay."""
    draft = Draft([item for item in memory if item.layer == FACT], fold)
    for item in leaves:
        _absorb(draft, _again(item), LONG)
    return _finish(draft, (), policy).items


def _again(item: Item) -> Candidate:
    return Candidate(item.section, item.text, item.sources, confidence=item.confidence, rewrites=item.rewrites)


def _conform(draft: Draft, policy: Policy) -> None:
    """After a change of policy: what layers it does not have held joins the long summary."""
    gone = [layer for layer, cap in ((LEAF, policy.leaf_cap), (FACT, policy.facts_cap)) if not cap]
    moved = [item for item in draft.items.values() if item.layer in gone]
    for item in moved:
        draft.remove(item.id)
    for item in moved:
        _absorb(draft, _again(item), LONG)


def _absorb(draft: Draft, candidate: Candidate, layer: str) -> None:
    if candidate.section == "artifacts":  # what memory names already needs no line of its own
        known = [item.text for item in draft.items.values()]
        every = candidate.text.split(", ")
        parts = [part for part in every if not any(part in text for text in known)]
        candidate = replace(candidate, text=", ".join(parts))
        if len(parts) < len(every) and any(words(candidate.text) <= told for told in draft.words.values()):
            return
    key = normal(candidate.text)
    if not key:
        return
    said = words(candidate.text) | words(candidate.replaces)
    if candidate.section == CLOSING:
        said |= words(candidate.doubts)
    may_close = candidate.section != "open" and (candidate.section != CLOSING or candidate.closes)
    closed = may_close and _close(draft, said, candidate)
    if closed and (candidate.tentative or candidate.section == CLOSING):
        return
    if candidate.section != CLOSING and not outright(candidate) and said_again(draft, candidate):
        return
    candidate = displaced(draft, candidate)
    if candidate.replaces:
        candidate = replace(candidate, text=overturned(draft, candidate))
    elif candidate.doubts:
        candidate = doubted(draft, candidate)
    if candidate.section == CLOSING:
        return
    text, mine = candidate.text, words(candidate.text)
    if normal(text) in draft.normals:
        return
    sources, confidence, rewrites = candidate.sources, candidate.confidence, candidate.rewrites
    claim = Claim.of(candidate)
    for id, item in list(draft.items.items()):
        other = draft.words[id]
        if of_others(candidate.text, item.text):
            continue
        if alike(mine, other):
            if len(mine) < len(other):  # the fuller wording stays
                text, mine, rewrites = item.text, other, item.rewrites
            sources += item.sources
            confidence = max(confidence, item.confidence)
            draft.remove(id)
        elif claim.takes_place(item, other):
            text = claim.instead(text, item)
            draft.remove(id)
    draft.add(candidate.section, text, sources, layer, confidence, rewrites)


def _close(draft: Draft, said: frozenset[str], candidate: Candidate) -> bool:
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
        if enough and (best is None or (share, item.fold, id) > best) and not same_sentence(candidate.said, item.text):
            best = (share, item.fold, id)
    if best:
        draft.remove(best[2])
    return best is not None


def _finish(draft: Draft, memory: Sequence[Item], policy: Policy) -> Change:
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


def _cap(draft: Draft, layer: str, cap: int) -> None:
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


def _cut(draft: Draft, item: Item, cap: int) -> None:
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
