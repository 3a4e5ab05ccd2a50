"""A checksum in each row that was made of messages: one that other hands or a bad disk changed is made again."""

from __future__ import annotations

import zlib
from collections.abc import Iterable


def seal(values: Iterable[object]) -> int:
    """The checksum of what a row holds. Against accidents: who forges a row is found out by the chain of folds."""
    return zlib.crc32("\x1f".join(map(str, values)).encode()) & 0x7FFFFF  # three bytes in SQLite


def whole(values: Iterable[object], sealed: int | None) -> bool:
    """Whether a row still holds what was written; one of an earlier version has no seal, and is believed."""
    return sealed is None or sealed == seal(values)
