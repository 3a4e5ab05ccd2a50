"""Whether a question asks for anything that a chat holds. Pure."""

from __future__ import annotations

from infold.recall.corpus import Corpus
from infold.recall.query import Query
from infold.recall.vectors import Embedder

_CLOSE = 0.7


def points_at(corpus: Corpus, query: Query, embedder: Embedder) -> bool:
    """Whether a chat has a word of the question, or one that means nearly the same; or the question names a time or a
    speaker. Where nothing is shared, what is nearest in meaning is chance."""
    if query.speakers or query.times.spans or query.times.months:
        return True
    corpus.settle()
    asked = query.asked(embedder)
    close = [number for weight, _, number in asked.others if weight >= _CLOSE]
    return any(len(held) for held in corpus.holders([*asked.terms, *close]))
