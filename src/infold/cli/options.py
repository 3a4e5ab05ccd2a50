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
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        envvar="MEMORY_SUMMARIZER_MODEL",
        help="Model that writes the summaries, such as openai:gpt-5-nano; several are tried in turn.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def opened(database: str, *, create: bool = False, model: list[str] | None = None) -> Memory:
    """The memory in a database; only commands that write create a missing one, or ask a model."""
    named = [name if ":" in name or name == "local" else f"openai:{name}" for name in model or ()]
    return Memory(database or DEFAULT_DATABASE, create=create, model=named)
