"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from infold.memory import Memory

DEFAULT_DATABASE = "sqlite:///infold.db"

ChatName = Annotated[str, typer.Argument(help="Id of the chat.", show_default=False)]
DatabaseUrl = Annotated[
    str,
    typer.Option(
        "--database",
        "-d",
        envvar="INFOLD_DATABASE",
        help=f"Database, such as sqlite:///chats.db.  [default: {DEFAULT_DATABASE}]",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def opened(database: str, *, create: bool = False) -> Memory:
    """The memory in a database; only commands that write create a missing one."""
    return Memory(database or DEFAULT_DATABASE, create=create)
