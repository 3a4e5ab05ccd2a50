"""A real service in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.forks import Fork, start

SOON = {"infold.service.keys:FRESH": 0.5, "infold.service.breaker:PAUSE": 1.0, "infold.service.failures:PAUSE": 1.0}
"""Constants for a service that looks again sooner: after keys, and after a database that did not answer."""


def serve() -> None:
    """The service alone, as the settings in the first argument say."""
    import uvicorn

    from infold.service.app import create_app
    from infold.service.server import Server
    from infold.service.settings import ServiceSettings

    settings = ServiceSettings(**json.loads(sys.argv[1]))
    app = create_app(settings)
    config = uvicorn.Config(
        app, host=settings.host, port=settings.port, log_level="warning", timeout_graceful_shutdown=5,
        server_header=False, date_header=False,
    )  # fmt: skip
    Server(config, app).run()


@dataclass(frozen=True, slots=True)
class Running:
    """A service that answers."""

    url: str
    database: str
    process: Fork
    log: Path

    def client(self, key: str | None = None) -> httpx2.Client:
        """A client for it, with a key."""
        return httpx2.Client(base_url=self.url, headers={"X-Infold-Key": key} if key else {}, timeout=30)


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


@contextmanager
def start_server(folder: Path, *, instead: Mapping[str, float] | None = None, **settings: Any) -> Iterator[Running]:
    """Start the service on a free port of this machine, and wait until it is ready; at the end it is stopped. `instead` has
    other values for constants of the code, "module:NAME"."""
    port = free_port()
    database = settings.setdefault("database", f"sqlite:///{folder / 'service.db'}")
    log = folder / f"service-{port}.log"
    root = Path(__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}", "MEMORY_SUMMARIZER_MODEL": ""}
    with log.open("wb") as output:
        process = start(
            "tests.servers:serve", json.dumps({"port": port, **settings}), environ=environment, cwd=folder,
            output=output.fileno(), instead=instead,
        )  # fmt: skip
    running = Running(f"http://127.0.0.1:{port}", database, process, log)
    try:
        _wait(running)
        yield running
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise


def _wait(running: Running) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if running.process.poll() is not None:
            break
        try:
            if httpx2.get(f"{running.url}/readyz", timeout=5).status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.05)
    raise AssertionError(f"the service did not start:\n{running.log.read_text()}")


def problem(response: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    """The problem document of an answer, which must have this status and code."""
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json"), (
        response.text
    )
    told: dict[str, Any] = response.json()
    assert (told["status"], told["code"], told["type"]) == (status, code, f"/problems/{code}")
    assert told["title"]
    assert told["detail"]
    assert "Traceback" not in response.text
    return told
