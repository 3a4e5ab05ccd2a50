"""`infold verify`."""

from __future__ import annotations

from dataclasses import asdict

import typer
from rich.text import Text

from infold.cli.options import DatabaseUrl, Json, opened
from infold.cli.output import console, print_json


def verify(database: DatabaseUrl = "", as_json: Json = False) -> None:
    """Prove that no message is lost and nothing was changed, whoever's it is; exit code 1 if that does not hold."""
    from infold.audit import verify_all

    with opened(database) as memory, console.status("checking every message …"):
        proof = verify_all(memory.database)
    if as_json:
        print_json(asdict(proof))
    else:
        console.print(Text(str(proof), style="green" if proof.ok else "red"))
    if not proof.ok:
        raise typer.Exit(1)
