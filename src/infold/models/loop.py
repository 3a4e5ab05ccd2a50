"""One event loop in a thread of its own, for calls that must end when their time is up."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
_STARTING = threading.Lock()


@functools.cache
def _start() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="infold-models", daemon=True).start()
    return loop


def _forget() -> None:
    """In a forked process: the loop's thread stayed behind."""
    global _STARTING  # noqa: PLW0603  a lock may have been held by a thread that is gone
    _STARTING = threading.Lock()
    _start.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Start a coroutine on the loop."""
    with _STARTING:
        loop = _start()
    return asyncio.run_coroutine_threadsafe(work, loop)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop and wait for it."""
    return submit(work).result()
