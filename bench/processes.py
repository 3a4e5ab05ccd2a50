"""Real processes to measure: a service, what it takes of the machine, and a client that adds as little as it can."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.servers import free_port

from bench.common import ROOT

_TICKS = os.sysconf("SC_CLK_TCK")


def stolen() -> float:
    """Seconds of processor time that this machine's host gave to others while it was wanted here; 0 where nobody can tell."""
    try:
        fields = Path("/proc/stat").read_text().partition("\n")[0].split()
    except OSError:
        return 0.0
    return int(fields[8]) / _TICKS if len(fields) > 8 else 0.0


def environment() -> dict[str, str]:
    """For child processes: this checkout's code, and no settings from outside."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("INFOLD_", "MEMORY_", "TRANSCRIPT_"))
    }
    return {**kept, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}


@contextmanager
def serving(work: Path, database: str, *options: str) -> Iterator[Served]:
    """`infold serve` in a process of its own, from when it is ready."""
    port = free_port()
    command = [sys.executable, "-c", "from infold.cli import main; main()", "serve", "--port", str(port)]
    command += ["--database", database, "--log-level", "warning", *options]
    log = work / f"serve-{port}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment(), cwd=work)
    served = Served(f"http://127.0.0.1:{port}", process)
    try:
        _wait(served, log)
        yield served
    finally:
        process.terminate()
        process.wait(60)


def _wait(served: Served, log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and served.process.poll() is None:
        try:
            urllib.request.urlopen(f"{served.url}/readyz", timeout=5).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"the service did not start:\n{log.read_text()}")


@dataclass(frozen=True, slots=True)
class Served:
    """A service that answers."""

    url: str
    process: subprocess.Popen[bytes]

    @property
    def cpu(self) -> float:
        """Seconds of processor time so far."""
        return cpu(self.process.pid)

    def metric(self, name: str) -> float:
        """The sum of a metric over its labels."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.partition("{")[0].split(" ")[0] == name)


def cpu(process: int) -> float:
    """Seconds of processor time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def resident(process: int) -> int:
    """Bytes of memory that a process holds."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))


class Line:
    """One connection that is kept open, and asks one thing at a time."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[int, float, bytes]:
        """Status, when the first byte of the body came, and the body."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self._host}:{self._port}", f"Content-Length: {len(body)}"]
        if body:
            lines.append("Content-Type: application/json")
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        request = ("\r\n".join(lines) + "\r\n\r\n").encode() + body
        try:
            reader, head = await self._sent(request)
        except (ConnectionError, asyncio.IncompleteReadError):  # closed for being idle, just as it was to be used
            self._reader = None
            reader, head = await self._sent(request)
        status = int(head.split(" ", 2)[1])
        if "transfer-encoding: chunked" in head:
            return status, *await self._chunks(reader)
        size = int(head.partition("content-length:")[2].partition("\r\n")[0] or 0)
        found = await reader.readexactly(size)
        return status, time.perf_counter(), found

    async def _sent(self, request: bytes) -> tuple[asyncio.StreamReader, str]:
        if self._reader is None or self._writer is None or self._reader.at_eof():
            self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        self._writer.write(request)
        return self._reader, (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()

    async def _chunks(self, reader: asyncio.StreamReader) -> tuple[float, bytes]:
        first, parts = 0.0, []
        while size := int(await reader.readuntil(b"\r\n"), 16):
            first = first or time.perf_counter()
            parts.append((await reader.readexactly(size + 2))[:-2])
        await reader.readuntil(b"\r\n")
        return first, b"".join(parts)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class Lines:
    """As many connections as are needed at once."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: list[Line] = []

    async def ask(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[int, float, bytes]:
        line = self._idle.pop() if self._idle else Line(self._url)
        answer = await line.ask(method, path, body, headers)
        self._idle.append(line)
        return answer

    def close(self) -> None:
        for line in self._idle:
            line.close()
