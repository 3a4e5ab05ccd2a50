"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from infold.chat import Chat
from infold.cli.output import fail
from infold.memory import Memory
from infold.service.beginning import beginning
from infold.service.settings import FILE, ServiceSettings
from infold.user import User

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
# What these say may be said by the environment and the settings file, too: `ServiceSettings` reads them all.
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database",
        "-d",
        help="Database, such as sqlite:///chats.db (default: INFOLD_DATABASE, sqlite:///infold.db).",
        show_default=False,
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help="Model that writes the summaries, such as openai:gpt-5-nano; several are tried in turn "
        "(default: MEMORY_SUMMARIZER_MODEL).",
        show_default=False,
    ),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help=f"Settings file that names the database (default: {FILE}, where there is one).",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def in_force(config: Path | None, database: str | None, model: list[str] | None = None) -> ServiceSettings:
    """The settings of a command, and with them the knobs of memory."""
    return ServiceSettings.resolve(config=config, database=database or None, model=model or None)


def opened(database: str | None, config: Path | None, *, tenant: str = "", create: bool = False) -> Memory:
    """A tenant's memory for commands that ask no model; only those that write create a missing database."""
    return Memory(in_force(config, database).database, create=create, model=()).tenant(tenant)


def asking(settings: ServiceSettings, *, tenant: str = "", create: bool = False) -> Memory:
    """The same for commands that may ask the models of the settings, or have to know which those are."""
    return Memory(settings.database, create=create, model=settings.memory_model).tenant(tenant)


@contextmanager
def begun(memory: Memory, settings: ServiceSettings, name: str, **given: Any) -> Iterator[Chat]:
    """A chat to write in; a new one is made as the settings say where nothing else is given. If its first messages cannot be
    added, there is none."""
    chat, new = memory.begin(name, new_preset=settings.preset, new_window=settings.context_window, **given)
    with beginning(chat, new=new):
        yield chat


def existing(memory: Memory, name: str) -> Chat:
    """A chat that must be there already: looking at one must not create it."""
    known = [info.id for info in memory.chats()]
    if name not in known:
        near = f"there are {', '.join(known[:8])}" if known else _none(memory)
        fail(f"no chat {name!r}; {near}")
    return memory.chat(name)


def _none(memory: Memory) -> str:
    """Where a tenant has no chats: whether anybody has."""
    if not memory.tenants():
        return "the database has no chats"
    tenant = memory.database.tenant
    whose = f"the tenant {tenant!r}" if tenant else "the default tenant"
    return f"{whose} has no chats, others have: --tenant NAME says whose are meant"


def one_of(chat: str | None, user: str | None) -> None:
    """A command is about a chat or about a user: exactly one of them."""
    if (chat is None) == (user is None):
        fail("give a chat, or --user NAME, and not both", 2)


def chosen(memory: Memory, chat: str | None, user: str | None) -> Chat | User:
    """The chat or the user that a command is about; one that is there."""
    if chat is not None:
        return existing(memory, chat)
    assert user is not None
    chats = memory.chats()
    known = list(dict.fromkeys(info.user for info in chats if info.user))
    if user not in known:
        near = f"there are {', '.join(known[:8])}" if known else "no chat has one" if chats else _none(memory)
        fail(f"no user {user!r}; {near} (infold add CHAT --user NAME tells whose chat it is)")
    return memory.user(user)
