"""`infold verify`."""

from __future__ import annotations

from dataclasses import asdict

import typer
from rich.text import Text

from infold.cli.options import DatabaseUrl, Json, opened
from infold.cli.output import console, print_json


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
