"""Processes of the service as people start them: `infold serve` and `infold worker`, to be killed and started again."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx2

from tests.forks import Fork, start
from tests.servers import free_port

ROOT = Path(__file__).parent.parent
_OURS = ("INFOLD_", "MEMORY_", "PROMPT_", "TRANSCRIPT_", "OPENAI_")


def environment() -> dict[str, str]:
    """What a child may know: this checkout, and no settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return {**kept, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OPENAI_API_KEY": "none"}


class Process:
    """A child that can be started again: a function, "module:name", with arguments. Its output goes to a file; constants of
    the code, "module:NAME", may have other values there."""

    def __init__(
        self, name: str, folder: Path, target: str, *arguments: str, instead: Mapping[str, float] | None = None
    ) -> None:
        self.name = name
        self._instead = instead
        self.log = folder / f"{name}.log"
        self._folder = folder
        self._target = target
        self._arguments = arguments
        self._child: Fork | None = None

    @property
    def pid(self) -> int:
        assert self._child is not None, "it was started"
        return self._child.pid

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def start(self) -> None:
        with self.log.open("ab") as output:
            self._child = start(
                self._target, *self._arguments, environ=environment(), cwd=self._folder, output=output.fileno(),
                instead=self._instead,
            )  # fmt: skip

    def kill(self) -> None:
        """End it without a warning."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()

    def stop(self, seconds: float = 120) -> int:
        """Tell it to end; its exit code."""
        assert self._child is not None, "it was started"
        self._child.send_signal(signal.SIGTERM)
        return self._child.wait(seconds)

    def said(self) -> str:
        """All that it wrote so far."""
        return self.log.read_text() if self.log.exists() else ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


def command(name: str, folder: Path, *arguments: str) -> Process:
    """`infold …`."""
    return Process(name, folder, "infold.cli:main", *arguments)


class Api(Process):
    """An `infold serve` on a port of its own, which it keeps when it is started again."""

    def __init__(self, name: str, folder: Path, *arguments: str, instead: Mapping[str, float] | None = None) -> None:
        port = free_port()
        super().__init__(name, folder, "infold.cli:main", "serve", "--port", str(port), *arguments, instead=instead)
        self.url = f"http://127.0.0.1:{port}"

    @property
    def ready(self) -> bool:
        try:
            return httpx2.get(f"{self.url}/readyz", timeout=5).status_code == 200
        except httpx2.TransportError:
            return False

    def wait(self, seconds: float = 60) -> None:
        """Until it answers."""
        end = time.monotonic() + seconds
        while not self.ready:
            assert self.running, f"it ended:\n{self.said()}"
            assert time.monotonic() < end, f"it does not answer:\n{self.said()}"
            time.sleep(0.1)
