"""Vectors of texts, and words near each other in meaning. Loads its weights at first use; nothing is downloaded."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


class Embedder(Protocol):
    """What recall needs of an embedder."""

    def embed(self, texts: list[str]) -> Floats:
        """One row a text, of any length."""
        ...

    def near(self, words: list[str]) -> list[list[tuple[str, float]]]:
        """For each word, others that mean something alike, with a weight between 0 and 1, nearest first; may be none."""
        ...


def packed(vectors: Floats) -> NDArray[np.int8]:
    """Vectors as they are stored: one byte a number, the largest of each row 127 or -127; zeros stay zeros."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
    return np.asarray(np.rint(vectors * (127 / np.maximum(largest, 1e-9))), np.int8)


def unit(vectors: Floats) -> Floats:
    """Vectors of length 1; zeros stay zeros."""
    length = np.sqrt(np.einsum("...i,...i->...", vectors, vectors))[..., None]
    return np.asarray(vectors / np.maximum(length, 1e-9), np.float32)


class WordLlamaEmbedder:
    """256 numbers a text from the static vectors that wordllama carries in its wheel."""

    _CLOSE = 0.5
    _MOST = 32
    _NUMBERS = 64  # the first ones carry most: the model was trained so
    _REMEMBERED = 8192
    _FEW = 8

    def __init__(self) -> None:
        import logging

        # It sets up logging for the whole program as it is imported, which is not its business.
        root = logging.getLogger()
        before = root.level, [*root.handlers]
        import wordllama

        root.setLevel(before[0])
        root.handlers[:] = before[1]
        folder = Path(wordllama.__file__).parent
        model: Any = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
        self._tokenizer: Any = model.tokenizer
        self._tokenizer.no_padding()
        self._pieces: Floats = model.embedding
        self._found: dict[str, list[tuple[str, float]]] = {}

    def embed(self, texts: list[str]) -> Floats:
        """One row a text, the mean of its pieces; an empty text is a row of zeros."""
        found = np.zeros((len(texts), self._pieces.shape[1]), np.float32)
        encode = functools.partial(self._tokenizer.encode_batch_fast, add_special_tokens=False)
        # Of several it makes threads, which take longer to wake than a few texts.
        few = len(texts) <= self._FEW
        pieces = [piece for text in texts for piece in encode([text])] if few else encode(texts)
        for row, text, piece in zip(found, texts, pieces, strict=True):
            if text.strip():  # of blanks alone there are pieces, too
                row[:] = self._pieces[piece.ids].sum(axis=0) / np.float32(len(piece.ids))
        return found

    def near(self, words: list[str]) -> list[list[tuple[str, float]]]:
        """Whole words of the vocabulary near each word."""
        fresh = [word for word in dict.fromkeys(words) if word not in self._found]
        if len(self._found) + len(fresh) > self._REMEMBERED:
            self._found.clear()
            fresh = list(dict.fromkeys(words))
        for word in fresh:  # of several at once numpy makes threads, which on a busy machine wait long for each other
            self._found[word] = self._close(word)
        return [self._found[word] for word in words]

    def _close(self, word: str) -> list[tuple[str, float]]:
        known, vectors, middle = self._vocabulary
        place = known.get(word)
        own = vectors[place] if place is not None else self._small(self.embed([word]) - middle)[0]
        values = vectors @ own
        close = np.flatnonzero(values > self._CLOSE)
        close = close[np.argsort(-values[close], kind="stable")][: self._MOST]
        return [(self._words[at], float(values[at])) for at in close]

    def _small(self, vectors: Floats) -> Floats:
        return unit(unit(vectors)[:, : self._NUMBERS])

    @functools.cached_property
    def _words(self) -> list[str]:
        return [*self._vocabulary[0]]

    @functools.cached_property
    def _vocabulary(self) -> tuple[dict[str, int], Floats, Floats]:
        """The whole words the model knows with their places, their vectors around their middle, and that middle."""
        every: dict[str, int] = self._tokenizer.get_vocab()
        whole = sorted(
            (piece[1:], at) for piece, at in every.items() if piece[0] == "▁" and piece[1:].islower() and len(piece) > 3
        )
        vectors = self._pieces[[at for _, at in whole]]
        middle = vectors.mean(axis=0)
        return {word: place for place, (word, _) in enumerate(whole)}, self._small(vectors - middle), middle
