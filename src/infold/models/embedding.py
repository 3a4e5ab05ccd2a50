"""Vectors from a server that speaks OpenAI's API."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from infold.errors import ConfigError, EmbedderError
from infold.models.spec import models

if TYPE_CHECKING:
    from infold.recall.vectors import Floats

TIMEOUT = 15.0
"""Seconds for one call: somebody may be waiting for a context."""
_AT_ONCE = 128
_LONGEST = 8000  # characters of a text that are sent


class ServerEmbedder:
    """An embedding model, named like a language model: "openai:text-embedding-3-small", "http://localhost:8000/v1#name"."""

    def __init__(self, name: str) -> None:
        (self._model,) = models(name)
        if self._model.provider != "openai" or not self._model.name:
            raise ConfigError(
                'an embedder must speak OpenAI\'s API and have a name, such as "openai:text-embedding-3-small", '
                '"ollama:nomic-embed-text" or "http://localhost:8000/v1#name"'
            )
        self.label = self._model.label
        self._client: Any = None

    def embed(self, texts: list[str]) -> Floats:
        """One row a text, of whatever length the model gives."""
        import numpy as np

        rows: list[list[float]] = []
        for first in range(0, len(texts), _AT_ONCE):
            rows += self._call([text[:_LONGEST] or " " for text in texts[first : first + _AT_ONCE]])
        if len({len(row) for row in rows}) > 1:
            raise EmbedderError(f"the embedder {self.label} gave vectors of different lengths")
        return np.array(rows, np.float32) if rows else np.zeros((0, 1), np.float32)

    def near(self, words: list[str]) -> list[list[tuple[str, float]]]:
        """No words: a server is not asked for each of them."""
        return [[] for _ in words]

    def close(self) -> None:
        """End the connections to the server; the next call opens them anew."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _call(self, texts: list[str]) -> list[list[float]]:
        try:
            import openai
        except ImportError:
            raise ConfigError('the openai package is missing; install it with: pip install "infold[openai]"') from None
        try:
            if self._client is None:
                key = self._model.api_key or ("none" if self._model.base_url else None)
                self._client = openai.OpenAI(api_key=key, base_url=self._model.base_url, max_retries=0, timeout=TIMEOUT)
            answer = self._client.embeddings.create(model=self._model.name, input=texts, encoding_format="float")
            rows = [list(map(float, row.embedding)) for row in sorted(answer.data, key=lambda row: row.index)]
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
            raise EmbedderError(f"the embedder {self.label} failed: {type(error).__name__}") from None
        if len(rows) != len(texts) or not all(map(_sound, rows)):
            raise EmbedderError(f"the embedder {self.label} gave no usable vectors")
        return rows


def _sound(row: list[float]) -> bool:
    return bool(row) and all(map(math.isfinite, row))
