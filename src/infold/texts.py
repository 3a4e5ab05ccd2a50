"""Searching short texts, such as facts and lines of summaries: laid out as they are needed, and kept for the next time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infold.recall.corpus import Corpus
    from infold.recall.vectors import Embedder

_NOTES = 16  # lists of short texts laid out for searching
_KNOWN = 20_000  # vectors of short texts kept in memory


class Texts:
    """What is kept of short texts. One thread at a time."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, Any] = OrderedDict()
        self._notes: OrderedDict[tuple[tuple[str, int], ...], Corpus] = OrderedDict()

    def clear(self) -> None:
        self._texts.clear()
        self._notes.clear()

    def search(
        self, question: str, texts: Sequence[tuple[str, int]], embedder: Embedder, at: int, most: int
    ) -> list[tuple[int, float]]:
        """Which texts, each with its time, answer a question best: their numbers and scores."""
        from infold.recall.pointing import points_at
        from infold.recall.query import read
        from infold.recall.rank import rank

        corpus = self._corpus(texts, embedder)
        query = read(question, (), at)
        ranked = rank(corpus, query, embedder, most) if points_at(corpus, query, embedder) else []
        while len(self._texts) > _KNOWN:
            self._texts.popitem(last=False)
        return [(one.seq, one.score) for one in ranked]

    def _corpus(self, texts: Sequence[tuple[str, int]], embedder: Embedder) -> Corpus:
        from infold.recall.corpus import Corpus
        from infold.recall.segment import Said, segment

        key = tuple(texts)
        corpus = self._notes.get(key)
        if corpus is None:
            fresh = list(dict.fromkeys(text for text, _ in texts if text not in self._texts))
            if fresh:
                for text, vector in zip(fresh, embedder.embed(fresh), strict=True):
                    self._texts[text] = vector
            corpus = self._notes[key] = Corpus()
            known = _Known(embedder, self._texts)
            made = segment([Said(number, text, "", when) for number, (text, when) in enumerate(texts)], known)
            corpus.extend(made, alone=True)
            while len(self._notes) > _NOTES:
                self._notes.popitem(last=False)
        return corpus


class _Known:
    """An embedder that remembers."""

    def __init__(self, embedder: Embedder, known: OrderedDict[str, Any]) -> None:
        self._embedder = embedder
        self._known = known

    def embed(self, texts: list[str]) -> Any:
        import numpy as np

        vectors = [self._known.get(text) for text in texts]
        missing = [at for at, vector in enumerate(vectors) if vector is None]
        for at, vector in zip(missing, self._embedder.embed([texts[at] for at in missing]), strict=True):
            vectors[at] = vector
        return np.stack(vectors) if vectors else self._embedder.embed([])  # type: ignore[arg-type]

    def near(self, words: list[str]) -> list[list[tuple[str, float]]]:
        return self._embedder.near(words)
