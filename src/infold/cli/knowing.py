"""`infold facts` and `infold entities`: what is known of a chat or a user."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from infold.chat import Chat
from infold.cli.options import (
    ChatOrUser,
    DatabaseUrl,
    Json,
    OfChat,
    OfTenant,
    OfUser,
    SettingsFile,
    chosen,
    one_of,
    opened,
)
from infold.cli.output import console, day, fail, moment, print_json, working
from infold.knowledge.entity import KINDS, STATUSES, Entity
from infold.lines.line import Line
from infold.user import User

_STYLE = {"superseded": "dim", "conflicting": "yellow", "done": "dim", "dropped": "dim"}


def facts(
    chat: ChatOrUser = None,
    user: OfUser = None,
    every: Annotated[bool, typer.Option("--all", help="Also facts that others took the place of.")] = False,
    tenant: OfTenant = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Show what was stated and holds, with its sources: of a chat, or of a user over all chats."""
    one_of(chat, user)
    with opened(database, config, tenant=tenant) as memory, working("reading …"):
        found = chosen(memory, chat, user).facts(all=every)
    if as_json:
        print_json([_fact(fact) for fact in found])
        return
    if not found:
        console.print("no facts are known yet")
        return
    table = Table("id", "status", "kind", "fact", "since", "until", "source")
    table.columns[0].no_wrap = True  # to be copied
    for fact in found:
        more = f" + {len(fact.sources) - 1}" if len(fact.sources) > 1 else ""
        last = max(fact.sources, default=0)
        place = f"{fact.chat} {last}" if user else f"{last}"
        cells = (fact.id, fact.status, fact.kind, fact.shown, day(fact.said_at), day(fact.valid_to), place + more)
        table.add_row(*map(Text, cells), style=_STYLE.get(fact.status))
    console.print(table)
    console.print(
        Text(
            "source: position of the message in its chat; infold correct, retract and confirm take the id", style="dim"
        )
    )


def _fact(fact: Line) -> dict[str, Any]:
    until = None if fact.valid_to is None else moment(fact.valid_to)
    return {**asdict(fact), "said_at": moment(fact.said_at), "valid_to": until}


LineId = Annotated[
    str,
    typer.Argument(help="Id of a fact or a line; infold facts shows it, or infold summary --json.", show_default=False),
]


def correct(
    line: LineId,
    text: Annotated[str, typer.Argument(help="What it should say.", show_default=False)],
    chat: OfChat = None,
    user: OfUser = None,
    tenant: OfTenant = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Correct what is remembered: it holds, whatever is folded, until somebody says something new."""
    one_of(chat, user)
    with opened(database, config, tenant=tenant) as memory:
        found = chosen(memory, chat, user).correct(line, text)
    _say(found, as_json, "corrected")


def retract(
    line: LineId,
    chat: OfChat = None,
    user: OfUser = None,
    tenant: OfTenant = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Take back what is remembered; the messages stay (infold forget removes those)."""
    one_of(chat, user)
    with opened(database, config, tenant=tenant) as memory:
        chosen(memory, chat, user).retract(line)
    if as_json:
        print_json({"retracted": line})
    else:
        console.print(Text(f"retracted {line}"))


def confirm(
    line: LineId,
    chat: OfChat = None,
    user: OfUser = None,
    tenant: OfTenant = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Say that what is remembered is so: it is sure from now on."""
    one_of(chat, user)
    with opened(database, config, tenant=tenant) as memory:
        found = chosen(memory, chat, user).confirm(line)
    _say(found, as_json, "confirmed")


def _say(found: Line, as_json: bool, what: str) -> None:
    if as_json:
        print_json(_fact(found))
    else:
        console.print(Text.assemble((f"{what}: ", "dim"), found.shown))


class _Listing(TyperGroup):
    """A group whose first word may be missing: `infold entities CHAT` lists."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["list", *args]
        return super().parse_args(ctx, args)


entities = typer.Typer(
    name="entities",
    cls=_Listing,
    help="Tasks, goals, problems, people, projects and files of a chat or a user: list, set and remove them.\n\n"
    "[bold]infold entities CHAT[/bold] lists those of a chat, [bold]infold entities --user NAME[/bold] those of a user.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
Kind = Annotated[str, typer.Argument(help=f"One of {', '.join(KINDS)}.", show_default=False)]


@entities.command("list")
def list_entities(
    chat: ChatOrUser = None,
    user: OfUser = None,
    kind: Annotated[list[str] | None, typer.Option(help=f"Only this kind: {', '.join(KINDS)}.")] = None,
    tenant: OfTenant = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """List entities, newest first; the word `list` may be left out."""
    one_of(chat, user)
    for wanted in kind or ():
        if wanted not in KINDS:
            fail(f"unknown kind {wanted!r}: use one of {', '.join(KINDS)}")
    with opened(database, config, tenant=tenant) as memory, working("reading …"):
        every = chosen(memory, chat, user).entities
    found = [entity for entity in every if not kind or entity.kind in kind]
    if as_json:
        print_json([_entity(entity) for entity in found])
        return
    if not found:
        kinds = f" of kind {' or '.join(kind)}" if kind and every else ""
        console.print(f"no entities{kinds} are known yet")
        return
    names = {entity.id: entity.name for entity in every}
    table = Table("id", "kind", "name", "status", "due", "owner", "linked to")
    table.columns[0].no_wrap = True  # to be copied
    for entity in found:
        links = "; ".join(names.get(link, link) for link in entity.links)
        status = entity.status if entity.kind in ("task", "goal", "problem") or entity.status != "open" else ""
        cells = (
            entity.id,
            entity.kind,
            entity.name,
            status,
            entity.due,
            entity.owner,
            links,
        )
        table.add_row(*map(Text, cells), style=_STYLE.get(entity.status))
    console.print(table)


@entities.command("set")
def set_entity(
    kind: Kind,
    name: Annotated[str, typer.Argument(help="What it is called, such as 'Send the report to Anna'.")],
    chat: OfChat = None,
    user: OfUser = None,
    status: Annotated[str, typer.Option(help=f"One of {', '.join(STATUSES)}.", show_default=False)] = "",
    due: Annotated[str, typer.Option(help="Date such as 2026-12-01.", show_default=False)] = "",
    owner: Annotated[str, typer.Option(help="Who has to do it.", show_default=False)] = "",
    link: Annotated[list[str] | None, typer.Option(help="Name of another entity; may be given again.")] = None,
    tenant: OfTenant = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Add an entity by hand, or change what is known of it. What is not given stays."""
    one_of(chat, user)
    with opened(database, config, tenant=tenant) as memory:
        place = chosen(memory, chat, user)
        entity = place.set_entity(kind, name, status=status, due=due, owner=owner, links=link or ())
        _show(place, entity, as_json)


@entities.command("remove")
def remove_entity(
    id: Annotated[str, typer.Argument(help="Id of the entity; `infold entities CHAT` shows it.", show_default=False)],
    chat: OfChat = None,
    user: OfUser = None,
    tenant: OfTenant = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Let an entity go: what was set by hand for it, and what chats say of it so far."""
    one_of(chat, user)
    with opened(database, config, tenant=tenant) as memory:
        chosen(memory, chat, user).remove_entity(id)
    if as_json:
        print_json({"removed": id})
    else:
        console.print(Text(f"removed {id}"))


def _show(place: Chat | User, entity: Entity, as_json: bool) -> None:
    if as_json:
        print_json(_entity(entity))
        return
    from infold.knowledge.entity import line

    names = {one.id: one.name for one in place.entities} if entity.links else {}
    console.print(Text.assemble((entity.id, "dim"), "  ", line(entity, names)))


def _entity(entity: Entity) -> dict[str, Any]:
    sources = [source._asdict() for source in entity.sources]
    when = {"first_at": moment(entity.first_at), "last_at": moment(entity.last_at)}
    return {**asdict(entity), **when, "sources": sources}
