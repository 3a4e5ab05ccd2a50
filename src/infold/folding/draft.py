"""Memory being rewritten by a fold. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from infold.folding.likeness import words
from infold.items import Item, line_tokens, normal


class Draft:
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
