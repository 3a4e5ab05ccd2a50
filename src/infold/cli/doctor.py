"""`infold doctor`: is everything there that infold needs, and does it work?"""

from __future__ import annotations

import difflib
import os
import platform
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import typer
from rich.table import Table
from rich.text import Text

from infold.cli.options import Json
from infold.cli.output import console, print_json
from infold.cli.serving import Config, Database
from infold.errors import ConfigError, InfoldError, NotFoundError, OlderDatabaseError, masked
from infold.ledger.addresses import is_postgres
from infold.service.settings import ServiceSettings

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}
_PATIENCE = 3.0  # seconds for others to answer
_OTHERS = ("INFOLD_CONFIG", "INFOLD_FAILPOINT", "INFOLD_LOCAL_MODEL")  # variables that are no settings

Check = Callable[[], str]


class _DoubtError(Exception):
    """It works, but somebody should look at it."""


def doctor(database: Database = None, config: Config = None, as_json: Json = False) -> None:
    """Check that everything infold needs is there and works; exit code 1 if not."""
    rows = [(name, *_tried(check)) for name, check in _checks(database, config)]
    if as_json:
        print_json([{"check": name, "status": s, "ok": s != "fail", "detail": detail} for name, s, detail in rows])
    else:
        table = Table(box=None, show_header=False, pad_edge=False)
        for name, status, detail in rows:
            table.add_row(Text(status, style=_STYLES[status]), name, Text(detail))
        console.print(table)
    if any(status == "fail" for _, status, _ in rows):
        raise typer.Exit(1)


def _tried(check: Check) -> tuple[str, str]:
    try:
        return "ok", check()
    except _DoubtError as warning:
        return "warn", str(warning)
    except (InfoldError, RuntimeError, ImportError, OSError) as error:
        return "fail", str(error)


def _checks(database: str | None, config: Path | None) -> Iterator[tuple[str, Check]]:
    yield from (("python", _python), ("sqlite", _sqlite), ("tokenizer", _tokenizer), ("embedder", _embedder))
    try:
        settings = ServiceSettings.resolve(config=config, database=database)
    except ConfigError as error:
        wrong = error  # what follows would be about other settings than the ones meant

        def settings_fail() -> str:
            raise wrong

        yield "settings", settings_fail
        return
    yield "settings", lambda: _settings(settings)
    yield "database", lambda: _database(settings.database)
    if is_postgres(settings.database):
        yield "workers", lambda: _workers(settings.database)
    folder = _folder(settings.database)
    if folder is not None:
        yield "disk", lambda: disk(folder, shutil.disk_usage(folder).free)
    yield "model", lambda: _model(settings)
    yield "upstream", lambda: _upstream(settings.upstream, "upstream")
    if settings.anthropic_upstream != settings.upstream:
        yield "anthropic upstream", lambda: _upstream(settings.anthropic_upstream, "anthropic_upstream")


def _python() -> str:
    return f"Python {platform.python_version()}, infold {version('infold')}"


def _sqlite() -> str:
    if sqlite3.sqlite_version_info < (3, 35):  # for RETURNING
        raise RuntimeError(f"SQLite {sqlite3.sqlite_version}; infold needs 3.35 or newer")
    return f"SQLite {sqlite3.sqlite_version}"


def _tokenizer() -> str:
    from infold.tokens import count

    found = count("Fold it, and nothing is lost.")
    if found != 8:
        raise RuntimeError(f"the tokenizer counts {found} tokens where it should count 8; reinstall tiktoken")
    return "o200k, offline"


def _embedder() -> str:
    from infold.embedders import chosen

    choice = chosen(None)
    embed = choice.make().embed
    near, far = embed(["a small boat", "a little ship"]) @ embed(["a small boat", "tax law"]).T
    if not near[0] > far[0] > near[1]:
        raise RuntimeError("recall's embedder gives vectors that make no sense; reinstall wordllama")
    return f"{choice.label}, offline"


def _settings(settings: ServiceSettings) -> str:
    rows = settings.shown()
    known = [*_OTHERS, *(name for row in rows for name in row.environment)]
    for name in sorted(os.environ):
        if name.startswith("INFOLD_") and name not in known:
            near = difflib.get_close_matches(name, known, 1)
            meant = f"did you mean {near[0]}?" if near else "`infold config` lists all there are"
            raise _DoubtError(f"the environment variable {name} means nothing to infold; {meant}")
    changed = [f"{row.name}={row.value} ({row.origin})" for row in rows if row.origin != "default"]
    return ", ".join(changed) or "defaults"


def _folder(url: str) -> Path | None:
    """Where the file of a SQLite database is; None of one that is not on this machine's disk, or has no folder yet."""
    from infold.ledger.sqlite import parse_url

    if url.startswith("postgres"):
        return None
    path, _ = parse_url(url)
    folder = Path(path).absolute().parent
    return folder if path != ":memory:" and folder.is_dir() else None


def _database(url: str) -> str:
    from infold.audit import verify_all
    from infold.ledger.database import Database
    from infold.ledger.schema import HEAD

    try:
        database = Database.open(url, create=False, migrate=False)  # a doctor only looks
    except OlderDatabaseError as error:
        raise _DoubtError(str(error)) from None
    except NotFoundError:
        if _folder(url) is None and not url.startswith("postgres"):
            raise
        return f"{masked(url)} is not there yet; the first message creates it"
    with closing(database):
        told = database.backend.describe()
        proof = verify_all(database)
    if not proof.ok:
        raise RuntimeError(str(proof))
    return f"{database.backend.name}: {told}, schema {HEAD}; {proof}"


def _workers(url: str) -> str:
    """Workers have a driver of their own, and all who fold have to write."""
    import asyncio

    try:
        import asyncpg

        from infold.ledger.postgres import SCHEMA
        from infold.service.listening import connecting
    except ModuleNotFoundError as error:
        return f'none without the package {error.name}; they need: pip install "infold[service]"'

    asked = f"""
        SELECT has_table_privilege(c.oid, 'INSERT') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = '{SCHEMA}' AND c.relname = 'messages'
    """  # noqa: S608  a constant

    async def may_write() -> bool | None:
        connection = await asyncpg.connect(**{"timeout": _PATIENCE, **connecting(url)})
        try:
            found: bool | None = await connection.fetchval(asked)
        finally:
            await connection.close()
        return found

    try:
        may = asyncio.run(may_write())
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise RuntimeError(f"workers cannot open the database: {error}") from None
    if may is False:
        raise RuntimeError(
            "this role may not write to the database; give it the rights of the one that owns its tables"
        )
    return "they can open the database"


def disk(folder: Path, free: int) -> str:
    """What so many free bytes mean for a database."""
    told = f"{free / 1e9:.1f} GB free in {folder}"
    if free < 100_000_000:
        raise RuntimeError(f"{told}; make room before the database is full")
    if free < 1_000_000_000:
        raise _DoubtError(f"{told}; make room soon")
    return told


def _model(settings: ServiceSettings) -> str:
    import asyncio

    from infold.models.clients import client
    from infold.models.spec import from_environment, models

    chosen = from_environment("chunked") if settings.memory_model is None else models(settings.memory_model)
    for model in chosen:
        try:
            asyncio.run(client(model).close())  # making it needs its package and its key, and asks nobody
        except ConfigError as error:
            raise _DoubtError(f"{str(error).rstrip('.')}; until then folds quote") from None
    return ", ".join(model.label for model in chosen) or "none: folds quote"


def _upstream(address: str | None, name: str) -> str:
    import urllib.error
    import urllib.request

    if address is None:
        return "none: no proxy"
    # Any answer will do, also that a key is needed.
    request = urllib.request.Request(f"{address}/models", headers={"User-Agent": "infold"})  # noqa: S310  http, checked
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310  as above
            status = answer.status
    except urllib.error.HTTPError as error:
        error.close()
        status = error.code
    except (urllib.error.URLError, OSError) as error:
        raise RuntimeError(f"{address} cannot be reached ({getattr(error, 'reason', error)}); check {name}") from None
    if status >= 500:
        raise _DoubtError(f"{address} answers with status {status}; look at the provider")
    return f"{address} answers"
