"""`infold verify`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from infold.cli.options import DatabaseUrl, Json, SettingsFile, opened
from infold.cli.output import console, print_json

if TYPE_CHECKING:
    from infold.memory import Memory


def verify(
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Make memory that is damaged again from the messages first.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Prove that no message is lost and nothing was changed, whoever's it is; exit code 1 if that does not hold."""
    from infold.audit import verify_all

    with opened(database, config) as memory, console.status("checking every message …"):
        if repair:
            _repair(memory)
        proof = verify_all(memory.database)
    if as_json:
        print_json(asdict(proof))
    else:
        console.print(Text(str(proof), style="green" if proof.ok else "red"))
    if not proof.ok:
        raise typer.Exit(1)


def _repair(memory: Memory) -> None:
    """Repair every chat of every tenant."""
    from infold.ledger import store

    for tenant in memory.tenants():
        own = memory.tenant(tenant)
        with own.database.read() as connection:
            names = [row.id for row in store.all_chats(connection)]
        for chat in map(own.find, names):
            if chat is not None:
                chat.repair()
