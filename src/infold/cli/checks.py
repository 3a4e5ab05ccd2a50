"""`infold verify`, `infold trace` and `infold rebuild`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from infold.cli.options import ChatName, DatabaseUrl, Json, OfTenant, SettingsFile, existing, opened
from infold.cli.output import console, day, moment, print_json, working

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


def trace(
    chat: ChatName,
    line: Annotated[
        str, typer.Argument(help="Id of a line or a fact; infold summary and infold facts show them with --json.")
    ],
    tenant: OfTenant = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Show the messages that a line of memory rests on: who said what when, and the hash of each."""
    with opened(database, config, tenant=tenant) as memory:
        found = existing(memory, chat).trace(line)
    if as_json:
        print_json([{**asdict(one), "said_at": moment(one.said_at)} for one in found])
        return
    for one in found:
        words = Text("its words were removed", "yellow") if one.removed else Text(one.quote)
        console.print(Text.assemble((f"{one.seq}  {one.said_by}, {day(one.said_at)}: ", "bold"), words))
        console.print(Text(f"   message {one.id}, sha256 {one.sha256}", "dim"))


def rebuild(
    chat: ChatName,
    force: Annotated[
        bool, typer.Option("--force", help="Also where messages were removed or a model wrote memory.")
    ] = False,
    tenant: OfTenant = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Write the lines of a chat anew from its messages, without a model: what an earlier version wrote becomes quotations."""
    with opened(database, config, tenant=tenant) as memory, working("reading every message …"):
        folds = existing(memory, chat).rebuild(force=force)
    if as_json:
        print_json({"folds": folds})
    else:
        console.print(f"{folds} folds were made again" if folds else "nothing is folded yet")
