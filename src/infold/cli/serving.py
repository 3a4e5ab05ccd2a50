"""`infold serve`, `infold worker` and `infold config`."""

from __future__ import annotations

import math
import os
import socket
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from infold import __version__
from infold.cli.options import Json
from infold.cli.output import console, fail, print_json
from infold.errors import masked
from infold.ledger.addresses import is_postgres
from infold.memory import Memory
from infold.service.leaving import leave
from infold.service.settings import FILE, ServiceSettings

if TYPE_CHECKING:
    from fastapi import FastAPI

    from infold.service.crew import Crew

_ARENAS = -8  # M_ARENA_MAX of glibc's malloc.h


def _option(help: str, *names: str) -> Any:
    # The environment is not typer's business here: `infold config` must be able to tell it from an argument.
    return typer.Option(*names, help=help, show_default=False)


Config = Annotated[Path | None, _option(f"Settings file (default: {FILE}, where there is one).", "--config")]
Database = Annotated[str | None, _option("Database: sqlite:///chats.db or postgresql://…", "--database", "-d")]
Model = Annotated[list[str] | None, _option("Model that writes the summaries; several are tried in turn.", "--model")]
LogLevel = Annotated[str | None, _option("debug, info, warning or error.", "--log-level")]
LogFormat = Annotated[str | None, _option("json or text.", "--log-format")]


def serve(
    host: Annotated[str | None, _option("Address to listen on (default: 127.0.0.1).", "--host")] = None,
    port: Annotated[int | None, _option("Port; 0 takes a free one (default: 8765).", "--port")] = None,
    database: Database = None,
    upstream: Annotated[
        str | None, _option("Provider that the proxy forwards to, such as https://api.openai.com/v1.", "--upstream")
    ] = None,
    anthropic_upstream: Annotated[
        str | None, _option("Provider of Anthropic's API, where it is another one.", "--anthropic-upstream")
    ] = None,
    model: Model = None,
    preset: Annotated[str | None, _option("Policy of new chats (default: default).", "--preset")] = None,
    context_window: Annotated[
        int | None, _option("Tokens that the model of a new chat can read.", "--context-window")
    ] = None,
    workers: Annotated[
        int | None, _option("Workers to start beside it, on PostgreSQL (default: 1).", "--workers")
    ] = None,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
    config: Config = None,
) -> None:
    """Serve the HTTP API, and the proxy where there is an upstream. `infold config` shows all settings."""
    _calculate_alone()
    _share_memory()
    settings = ServiceSettings.resolve(
        config=config, host=host, port=port, database=database, upstream=upstream, model=model, preset=preset,
        anthropic_upstream=anthropic_upstream, context_window=context_window, workers=workers,
        log_level=log_level, log_format=log_format,
    )  # fmt: skip
    try:
        from infold.service.app import create_app
        from infold.service.crew import Crew
        from infold.service.telemetry import configure_logs
    except ModuleNotFoundError as error:
        fail(f'the service needs the package {error.name}; install it with: pip install "infold[service]"')
    locked = _has_keys(settings)
    if not locked and not settings.loopback:
        fail(
            f"there are no API keys, so only this machine may be served, not {settings.host}: "
            "run `infold keys create` first, or use --host 127.0.0.1"
        )
    configure_logs(settings.log_level, settings.log_format)
    size = settings.workers if is_postgres(settings.database) else 0  # a file has its worker inside
    with _listening(settings) as listening, Crew(settings, size) as crew:
        _announce(settings, listening.getsockname()[1], locked)
        _run(create_app(settings), settings, listening, crew)
    leave()  # a request may still wait for the database, or a fold for its model


def worker(
    database: Database = None,
    model: Model = None,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
    config: Config = None,
) -> None:
    """Do the folding and the retention of a service, beside `infold serve`; as many of these as are needed."""
    _calculate_alone()
    _share_memory()
    settings = ServiceSettings.resolve(
        config=config, database=database, model=model, log_level=log_level, log_format=log_format
    )
    if not is_postgres(settings.database):
        fail("a worker needs PostgreSQL (--database postgresql://…); on SQLite `infold serve` does this work itself")
    try:
        from infold.service.telemetry import configure_logs
        from infold.service.worker import run
    except ModuleNotFoundError as error:
        fail(f'a worker needs the package {error.name}; install it with: pip install "infold[service]"')
    configure_logs(settings.log_level, settings.log_format)
    run(settings)


def config(file: Config = None, as_json: Json = False) -> None:
    """Show every setting of the service: its value, and where that comes from."""
    rows = ServiceSettings.resolve(config=file).shown()
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("setting", "value", "origin"):
        table.add_column(heading, no_wrap=heading == "setting", overflow="fold")
    for row in rows:
        value = "–" if row.value is None else f"{row.value:g}" if isinstance(row.value, float) else str(row.value)
        style = "dim" if row.origin == "default" else "bold"
        table.add_row(Text(row.name), Text(value, style), Text(row.origin, style))
    console.print(table)


def _has_keys(settings: ServiceSettings) -> bool:
    """Whether anybody needs a key; makes the database, or brings it to the newest schema, on the way."""
    from infold.ledger import service

    with Memory(settings.database, model=()) as memory, memory.database.read() as connection:
        return service.any_key(connection)


def _calculate_alone() -> None:
    """Small sums take longer on several cores than on one, and keep the others from other requests. What is done ahead must
    let those go first that somebody waits for, many times a request."""
    sys.setswitchinterval(0.0005)
    for name, value in (("OPENBLAS_NUM_THREADS", "1"), ("TOKENIZERS_PARALLELISM", "false")):
        os.environ.setdefault(name, value)  # read when numpy and the embedder are loaded


def _share_memory() -> None:
    """Threads shall not keep memory that they have freed to themselves: of many, that is tens of megabytes. Only glibc does."""
    import ctypes

    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_ARENAS, 2)


def _listening(settings: ServiceSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as error:
        fail(f"cannot listen on {settings.host} port {settings.port}: {error.strerror}; choose another with --port")


def _announce(settings: ServiceSettings, port: int, locked: bool) -> None:
    """One line that tells what is served, and to whom."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    parts = (
        f"infold {__version__} on http://{host}:{port}",
        f"database {masked(settings.database)}",
        f"upstream {settings.upstream or 'none (no proxy)'}",
        "keys required" if locked else "no keys: this machine only",
    )
    console.print(Text(", ".join(parts)), soft_wrap=True)


def _run(app: FastAPI, settings: ServiceSettings, listening: socket.socket, crew: Crew) -> None:
    """Serve until a signal says to end; then finish what was begun, within the grace."""
    import uvicorn

    from infold.service.server import Server

    server = Server(
        uvicorn.Config(
            app,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,  # the gate sets it, unless an upstream did
            timeout_keep_alive=75,  # longer than clients keep them: nobody is to write to one that is just being closed
            timeout_graceful_shutdown=math.ceil(settings.grace),
        ),
        app,
        crew,
    )
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:  # before it began
        return
    if not server.started:
        fail("the service did not start; the log says why", 3)
