"""The last thing that a process does, where it cannot wait for its threads."""

from __future__ import annotations

import logging
import os
import sys


def leave() -> None:
    """End now: Python would wait for threads that wait for a model, however long after the grace. Nothing is lost by it."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)
