"""What is read of a message is read once, and kept while there is room."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Generic, TypeVar

V = TypeVar("V")


class Forgetful:
    """What keeps messages, or what was made of them, in memory: who forgets one clears all of these in the package's modules."""

    def clear(self) -> None:
        """Drop all of it."""
        raise NotImplementedError


class Once(Forgetful, Generic[V]):
    """Keeps what was made, the newest `most` of it. Threads may share it: at worst something is made twice."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[Hashable, V] = {}

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """What is kept under a key, or is made now."""
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= self._most:
                with suppress(KeyError, RuntimeError, StopIteration):  # another thread was quicker
                    del self._kept[next(iter(self._kept))]
            found = self._kept[key] = make()
        return found

    def clear(self) -> None:
        """Drop all of it."""
        self._kept.clear()
