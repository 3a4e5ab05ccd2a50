"""What processes do that are killed in the middle of it: INFOLD_FAILPOINT says where."""

from __future__ import annotations

import sys

from infold import Memory


def compact() -> None:
    url, now, mode = sys.argv[1:]
    with Memory(url, clock=lambda: int(now)) as memory:
        memory.compact(mode=mode)


def forget() -> None:
    (url,) = sys.argv[1:]
    with Memory(url) as memory:
        memory.chat("c").forget("secret")
