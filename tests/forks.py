"""Processes without the second that Python takes to load the service: they are forked from one that has loaded it.

    process = start("infold.cli:main", "serve", "--port", "8765", cwd=folder, environ={…}, output=log)

The process is one of its own as any other: it can be signalled, killed and waited for. One nursery serves a test process, and
ends with it. What is loaded is in `_load`; nothing is opened and no thread runs there.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infold import failpoints

ROOT = Path(__file__).parent.parent
_MOST = 200_000  # bytes of a request for a process


class Fork:
    """A process, with what `subprocess.Popen` can do."""

    def __init__(self, nursery: _Nursery, pid: int) -> None:
        self.pid = pid
        self._nursery = nursery

    def poll(self) -> int | None:
        """Its exit code; None while it runs."""
        self._nursery.listen(0)
        return self._nursery.ended.get(self.pid)

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, when it has ended."""
        until = time.monotonic() + (timeout if timeout is not None else float("inf"))
        while (code := self.poll()) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
            self._nursery.listen(0.02)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start(
    target: str,
    *arguments: str,
    environ: Mapping[str, str],
    cwd: Path = ROOT,
    output: int | None = None,
    keep: Sequence[int] = (),
    instead: Mapping[str, float] | None = None,
) -> Fork:
    """Call a function, "module:name", in a new process: what it prints goes to the file `output`. The open files `keep` are
    there under the numbers 3, 4, …; the constants `instead`, "module:NAME", have other values there."""
    with Path(os.devnull).open("wb") as nothing:
        files = [nothing.fileno() if output is None else output, *keep]
        wanted = {
            "target": target, "arguments": arguments, "environ": dict(environ), "cwd": str(cwd),
            "instead": dict(instead or {}),
        }  # fmt: skip
        return _nursery().start(json.dumps(wanted).encode(), files)


# The side of the tests ---------------------------------------------------------------------------------------


class _Nursery:
    """The process that forks the others."""

    def __init__(self) -> None:
        self.ended: dict[int, int] = {}
        self._begun = 0
        self._lock = threading.RLock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            code = f"from tests.forks import main; main({theirs.fileno()})"
            self._process = subprocess.Popen(
                [sys.executable, "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=ROOT,
                env=_own_environment(), pass_fds=[theirs.fileno()],
            )  # fmt: skip

    def start(self, wanted: bytes, files: Sequence[int]) -> Fork:
        with self._lock:
            self._begun = 0
            socket.send_fds(self._control, [wanted], files)
            while not self._begun:
                self.listen(None)
            self.ended.pop(self._begun, None)  # somebody had this number before
            return Fork(self, self._begun)

    def listen(self, seconds: float | None) -> None:
        """Take in what the nursery tells within so many seconds."""
        with self._lock:
            if not select.select([self._control], [], [], seconds)[0]:
                return
            told = self._control.recv(1000)
            assert told, "the nursery has ended"
            pid, code = json.loads(told)
            if code is None:
                self._begun = pid
            else:
                self.ended[pid] = code

    def close(self) -> None:
        self._control.close()
        self._process.wait()


def _own_environment() -> dict[str, str]:
    ours = ("INFOLD_", "MEMORY_", "PROMPT_", "TRANSCRIPT_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OPENBLAS_NUM_THREADS": "1"}


@functools.cache
def _nursery() -> _Nursery:
    found = _Nursery()
    atexit.register(found.close)
    return found


# The side of the nursery -------------------------------------------------------------------------------------


def main(number: int) -> None:
    """Fork a process for each request, and tell of each that ends, until nobody is there any more."""
    _load()
    control = socket.socket(fileno=number)
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests; they end what they started
    while True:
        ready = select.select([control.fileno(), woken], [], [])[0]
        if woken in ready:
            os.read(woken, 1000)
            _tell_of_the_ended(control)
        if control.fileno() not in ready:
            continue
        wanted, files, _, _ = socket.recv_fds(control, _MOST, 10)
        if not wanted:
            return
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            for one in (woken, waking):
                os.close(one)
            control.close()
            break
        control.send(json.dumps([pid, None]).encode())
        for one in files:
            os.close(one)
    _become(json.loads(wanted), files)


def _tell_of_the_ended(control: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        control.send(json.dumps([pid, os.waitstatus_to_exitcode(status)]).encode())


def _become(wanted: dict[str, Any], files: list[int]) -> None:
    """Do what this process is there for."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kept = [os.dup(one) for one in files]  # now none of them is in the way of another
    top = 2 + len(files)
    kept = [one if one > top else os.dup(one) for one in kept]
    for number, one in enumerate([kept[0], kept[0], *kept[1:]], start=1):
        os.dup2(one, number, inheritable=number <= 2)
    os.closerange(top, max(*files, *kept, top) + 1)
    os.chdir(wanted["cwd"])
    os.environ.clear()
    os.environ.update(wanted["environ"])
    importlib.reload(failpoints)  # it reads the environment when it is loaded
    for constant, value in wanted["instead"].items():
        module, _, name = constant.partition(":")
        assert hasattr(importlib.import_module(module), name), f"there is no {constant}"
        setattr(sys.modules[module], name, value)
    module, _, name = wanted["target"].partition(":")
    sys.argv = [wanted["target"], *wanted["arguments"]]
    getattr(importlib.import_module(module), name)()


def _load() -> None:
    """Load what the service and the provider need sooner or later."""
    for name in (
        "alembic.command", "asyncpg", "httptools", "infold.aio", "infold.cli.app", "infold.embedders",
        "infold.models.clients", "infold.service.app", "infold.service.server", "infold.service.worker", "numpy", "openai",
        "pgqueuer", "psycopg_pool", "tests.provider", "uvicorn", "uvloop", "wordllama",
    ):  # fmt: skip
        importlib.import_module(name)
    from infold.tokens import count

    count("a")  # loads the tokenizer
    assert threading.active_count() == 1, "a thread would be missing in the forks"
    gc.collect()
    gc.freeze()
