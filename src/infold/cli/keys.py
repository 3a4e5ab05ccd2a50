"""`infold keys`: who may use the service."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Column, Table
from rich.text import Text

from infold.cli.options import DatabaseUrl, Json, SettingsFile, opened
from infold.cli.output import console, moment, print_json

keys = typer.Typer(name="keys", help="Keys of the service: make, list and revoke them.", no_args_is_help=True)


@keys.command("create")
def create(
    tenant: Annotated[
        str,
        typer.Option(
            help="Whose chats it opens: each tenant sees its own alone. Without it, the chats made without keys.",
            show_default=False,
        ),
    ] = "",
    role: Annotated[
        str, typer.Option(help="read: look and ask; write: also add and change; admin: also delete and forget.")
    ] = "write",
    name: Annotated[str, typer.Option(help="What it is for, as a note.")] = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Make a key. It is shown this once: only its hash is stored."""
    from infold.service.keys import create_key

    with opened(database, config, create=True) as memory:
        key, row = create_key(memory, tenant, role, name)
    if as_json:
        print_json({"key": key, "id": row.id, "tenant": row.tenant, "role": row.role, "name": row.name})
        return
    console.print(Text(key, "bold"), soft_wrap=True)
    console.print(
        Text(
            f"{row.role} key {row.id} of {row.tenant or 'the default tenant'}; keep it now, it cannot be shown again",
            "dim",
        )
    )


@keys.command("list")
def list_all(database: DatabaseUrl = None, config: SettingsFile = None, as_json: Json = False) -> None:
    """List the keys, revoked ones too; never the keys themselves."""
    from infold.service.keys import list_keys

    with opened(database, config) as memory:
        found = list_keys(memory)
    if as_json:
        print_json(
            [
                {
                    "id": row.id,
                    "tenant": row.tenant,
                    "role": row.role,
                    "name": row.name,
                    "created_at": moment(row.created_at),
                    "revoked_at": moment(row.revoked_at) if row.revoked_at is not None else None,
                }
                for row in found
            ]
        )
        return
    table = Table(Column("id", no_wrap=True), "tenant", "role", "name", "created", "revoked")
    for row in found:
        revoked = moment(row.revoked_at) if row.revoked_at is not None else ""
        table.add_row(*map(Text, (row.id, row.tenant, row.role, row.name, moment(row.created_at), revoked)))
    console.print(table if found else "no keys: the service is open, and binds to this machine only")


@keys.command("revoke")
def revoke(
    id: Annotated[str, typer.Argument(help="Id of the key, as `infold keys list` shows it.", show_default=False)],
    database: DatabaseUrl = None,
    config: SettingsFile = None,
) -> None:
    """Let a key open nothing any more; running services notice within seconds."""
    from infold.service.keys import revoke_key

    with opened(database, config) as memory:
        revoke_key(memory, id)
    console.print(f"revoked {id}")
