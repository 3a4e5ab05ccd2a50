"""`infold verify` and `infold doctor`."""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version

import typer
from rich.table import Table
from rich.text import Text

from infold.cli.options import DEFAULT_DATABASE, DatabaseUrl, Json, opened
from infold.cli.output import console, print_json
from infold.errors import InfoldError, NotFoundError


def verify(database: DatabaseUrl = "", as_json: Json = False) -> None:
    """Prove that no message is lost and nothing was changed; exit code 1 if that does not hold."""
    with opened(database) as memory, console.status("checking every message …"):
        proof = memory.verify()
    if as_json:
        print_json(asdict(proof))
    else:
        console.print(Text(str(proof), style="green" if proof.ok else "red"))
    if not proof.ok:
        raise typer.Exit(1)


def doctor(database: DatabaseUrl = "", as_json: Json = False) -> None:
    """Check that everything infold needs is there and works; exit code 1 if not."""
    checks: list[tuple[str, Callable[[], str]]] = [
        ("python", _python),
        ("sqlite", _sqlite),
        ("tokenizer", _tokenizer),
        ("embedder", _embedder),
        ("settings", _settings),
        ("database", lambda: _database(database or DEFAULT_DATABASE)),
    ]
    rows: list[tuple[str, bool, str]] = []
    for name, check in checks:
        try:
            rows.append((name, True, check()))
        except (InfoldError, RuntimeError, ImportError, OSError) as error:
            rows.append((name, False, str(error)))
    if as_json:
        print_json([{"check": name, "ok": ok, "detail": detail} for name, ok, detail in rows])
    else:
        table = Table(box=None, show_header=False, pad_edge=False)
        for name, ok, detail in rows:
            table.add_row(Text("ok" if ok else "!!", style="green" if ok else "bold red"), name, detail)
        console.print(table)
    if not all(ok for _, ok, _ in rows):
        raise typer.Exit(1)


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

    make, label = chosen(None)
    near, far = make().embed(["a small boat", "a little ship"]) @ make().embed(["a small boat", "tax law"]).T
    if not near[0] > far[0] > near[1]:
        raise RuntimeError("recall's embedder gives vectors that make no sense; reinstall wordllama")
    return f"{label}, offline"


def _settings() -> str:
    from infold.presets import PRESETS, Settings, preset

    for name in PRESETS:
        preset(name)
    settings = Settings.from_environment()
    changed = [f"{k.upper()}={v}" for k, v in asdict(settings).items() if v != getattr(Settings(), k)]
    return ", ".join(changed) if changed else "defaults"


def _database(url: str) -> str:
    try:
        memory = opened(url)
    except NotFoundError:
        return f"{url} is not there yet; the first message creates it"
    with memory:
        told = memory.database.backend.describe()
        proof = memory.verify()
    if not proof.ok:
        raise RuntimeError(str(proof))
    return f"{memory.database.backend.name}: {told}; {proof}"
