"""Which embedder recall uses: the one inside, a server's, or one that was given."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from infold.errors import ConfigError
from infold.recaller import INSIDE

if TYPE_CHECKING:
    from infold.recall.vectors import Embedder


def chosen(wanted: Embedder | str | None) -> tuple[Callable[[], Embedder], str]:
    """How to make the embedder that was asked for, and the name its vectors are kept under."""
    if wanted is None:
        return _inside, INSIDE
    if isinstance(wanted, str):
        from infold.models.embedding import ServerEmbedder

        server = ServerEmbedder(wanted)
        return (lambda: server), server.label
    if not callable(getattr(wanted, "embed", None)) or not callable(getattr(wanted, "near", None)):
        raise ConfigError(
            'embedder must be a name such as "openai:text-embedding-3-small", or an object with embed(texts) and near(words)'
        )
    given: Embedder = wanted
    return (lambda: given), f"{type(wanted).__module__}.{type(wanted).__qualname__}"


@functools.cache  # its weights take 90 MiB: once a process is enough
def _inside() -> Embedder:
    from infold.recall.vectors import WordLlamaEmbedder

    return WordLlamaEmbedder()
