"""Options that several commands share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from infold.chat import Chat
from infold.cli.output import fail
from infold.memory import Memory
from infold.service.settings import FILE, ServiceSettings
from infold.user import User

DEFAULT_DATABASE = "sqlite:///infold.db"

ChatName = Annotated[str, typer.Argument(help="Id of the chat.", show_default=False)]
ChatOrUser = Annotated[str | None, typer.Argument(metavar="CHAT", help="Id of the chat.", show_default=False)]
OfChat = Annotated[str | None, typer.Option("--chat", help="Id of the chat.", show_default=False)]
OfUser = Annotated[
    str | None, typer.Option("--user", help="Name of a user: all chats of that user.", show_default=False)
]
OfTenant = Annotated[
    str,
    typer.Option(
        "--tenant", help="Whose chats (default: those made without keys, or by keys without one).", show_default=False
    ),
]
DatabaseUrl = Annotated[
    str,
    typer.Option(
        "--database",
        "-d",
        envvar="INFOLD_DATABASE",
        help=f"Database, such as sqlite:///chats.db (default: {DEFAULT_DATABASE}).",
        show_default=False,
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        envvar=["MEMORY_SUMMARIZER_MODEL", "INFOLD_MODEL"],
        help="Model that writes the summaries, such as openai:gpt-5-nano; several are tried in turn.",
        show_default=False,
    ),
]


def _file_defaults(context: typer.Context, config: Path | None) -> Path | None:
    """Let the settings file speak to a command, below its options and the environment."""
    if config is None and not os.environ.get("INFOLD_CONFIG", "").strip() and not Path(FILE).is_file():
        return config
    settings = ServiceSettings.resolve(config=config)
    found: dict[str, Any] = {"database": settings.database, "model": list(settings.model)}
    context.default_map = {name: value for name, value in found.items() if settings.origin(name).startswith("file ")}
    return config


SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        callback=_file_defaults,
        is_eager=True,  # before the options that it has defaults for
        help=f"Settings file that names the database (default: {FILE}, where there is one).",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def opened(database: str, *, tenant: str = "", create: bool = False, model: list[str] | None = None) -> Memory:
    """A tenant's memory in a database; only commands that write create a missing one, or ask a model."""
    named = [name if ":" in name or name == "local" else f"openai:{name}" for name in model or ()]
    return Memory(database or DEFAULT_DATABASE, create=create, model=named).tenant(tenant)


def existing(memory: Memory, name: str) -> Chat:
    """A chat that must be there already: looking at one must not create it."""
    known = [info.id for info in memory.chats()]
    if name not in known:
        near = f"; there are {', '.join(known[:8])}" if known else "; the database has no chats"
        fail(f"no chat {name!r}{near}")
    return memory.chat(name)


def one_of(chat: str | None, user: str | None) -> None:
    """A command is about a chat or about a user: exactly one of them."""
    if (chat is None) == (user is None):
        fail("give a chat, or --user NAME, and not both", 2)


def chosen(memory: Memory, chat: str | None, user: str | None) -> Chat | User:
    """The chat or the user that a command is about; one that is there."""
    if chat is not None:
        return existing(memory, chat)
    assert user is not None
    known = list(dict.fromkeys(info.user for info in memory.chats() if info.user))
    if user not in known:
        near = f"there are {', '.join(known[:8])}" if known else "no chat has one"
        fail(f"no user {user!r}; {near} (infold add CHAT --user NAME tells whose chat it is)")
    return memory.user(user)
