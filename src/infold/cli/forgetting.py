"""`infold forget` and `infold drift`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from infold.cli.options import (
    ChatName,
    ChatOrUser,
    DatabaseUrl,
    Json,
    OfTenant,
    OfUser,
    SettingsFile,
    chosen,
    existing,
    one_of,
    opened,
)
from infold.cli.output import UNCLEAN, console, fail, print_json, working
from infold.user import User


def forget(
    chat: ChatOrUser = None,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of the messages to forget.", show_default=False)] = None,
    user: OfUser = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    tenant: OfTenant = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Forget messages of a chat, or a user with all chats: in the ledger and in everything made of them.

    Cannot be undone. Prints a receipt of what was removed and made again.
    """
    one_of(chat, user)
    if chat is not None and not ids:
        fail("name the messages to forget by their ids (infold recall QUERY --chat CHAT --json shows them)", 2)
    with opened(database, config, tenant=tenant) as memory:
        target = chosen(memory, chat, user)
        what = (
            f"the user {user} and all chats" if isinstance(target, User) else f"{len(ids or ())} of {chat}'s messages"
        )
        if not yes and not typer.confirm(f"Forget {what} for good?", err=True):
            fail("nothing was forgotten")
        with working("forgetting …"):
            receipt = target.forget() if isinstance(target, User) else target.forget(*(ids or ()))
    if as_json:
        print_json(asdict(receipt))
        return
    told = {name: value for name, value in asdict(receipt).items() if name not in ("at", "clean") and value}
    for name, value in told.items():
        console.print(Text(f"{value:>6} {name}"))
    if not told:
        console.print("nothing was left to forget")
    if not receipt.clean:
        console.print(UNCLEAN)


def drift(
    chat: ChatName,
    tenant: OfTenant = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Write every fold again from its messages and show how far what is remembered has moved; nothing is stored."""
    with opened(database, config, tenant=tenant) as memory, working("writing again …"):
        found = existing(memory, chat).drift()
    if as_json:
        print_json([asdict(one) for one in found])
        return
    table = Table("messages", "drift", "lines then", "lines now")
    for one in found:
        lines = [text.count("\n- ") + text.startswith("- ") for text in (one.then, one.now)]
        table.add_row(f"{one.first}–{one.last}", f"{one.drift:.0%}", *map(str, lines))
    console.print(table if found else "nothing is folded yet")
