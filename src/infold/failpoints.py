"""Named places where a test can make the process die, to prove that a crash there loses nothing."""

from __future__ import annotations

import os
import signal

POINTS = (
    "add.begun",
    "add.inserted",
    "add.noted",
    "add.committed",
    "fold.proposed",
    "fold.written",
    "fold.lines",
    "fold.advanced",
    "fold.recorded",
)

_name, _, _hits = os.environ.get("INFOLD_FAILPOINT", "").partition(":")
_hits_left = [int(_hits or 1)]


def reach(point: str) -> None:
    """Die here at once, with no clean-up, if INFOLD_FAILPOINT names this point (`point:3`: the third time)."""
    if point == _name:
        _hits_left[0] -= 1
        if not _hits_left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
