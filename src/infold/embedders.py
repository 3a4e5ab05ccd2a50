"""Which embedder recall uses: the one inside, a server's, or one that was given."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from infold.errors import ConfigError
from infold.recaller import INSIDE

if TYPE_CHECKING:
    from infold.recall.vectors import Embedder


class Choice(NamedTuple):
    """The embedder that was asked for."""

    make: Callable[[], Embedder]
    label: str
    """The name its vectors are kept under."""
    close: Callable[[], None] = lambda: None
    """Let go of what was opened for it; one that was given is its owner's to close."""


def chosen(wanted: Embedder | str | None) -> Choice:
    """How to come by an embedder."""
    if wanted is None:
        return Choice(_inside, INSIDE)
    if isinstance(wanted, str):
        from infold.models.embedding import ServerEmbedder

        server = ServerEmbedder(wanted)
        return Choice(lambda: server, server.label, server.close)
    if not callable(getattr(wanted, "embed", None)) or not callable(getattr(wanted, "near", None)):
        raise ConfigError(
            'embedder must be a name such as "openai:text-embedding-3-small", or an object with embed(texts) and near(words)'
        )
    given: Embedder = wanted
    return Choice(lambda: given, f"{type(wanted).__module__}.{type(wanted).__qualname__}")


@functools.cache  # its weights take 90 MiB: once a process is enough
def _inside() -> Embedder:
    from infold.recall.vectors import WordLlamaEmbedder

    return WordLlamaEmbedder()
