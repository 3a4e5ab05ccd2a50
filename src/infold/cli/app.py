"""The commands that work on one chat, and the options they share."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from infold import __version__
from infold.cli import checks, compacting, doctor, forgetting, knowing, recalling, replay, serving
from infold.cli.keys import keys
from infold.cli.options import (
    ChatName,
    DatabaseUrl,
    Json,
    Models,
    OfTenant,
    SettingsFile,
    asking,
    begun,
    existing,
    in_force,
    opened,
)
from infold.cli.output import console, errors, fail, memory_text, print_json
from infold.cli.transcript import read_transcript

app = typer.Typer(
    name="infold",
    help="Conversation memory for LLM chats: fits the window, loses nothing, shows its sources.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command()(replay.replay)
app.command()(recalling.recall)
app.command()(knowing.facts)
app.command()(knowing.correct)
app.command()(knowing.retract)
app.command()(knowing.confirm)
app.add_typer(knowing.entities)
app.command()(forgetting.forget)
app.command()(forgetting.drift)
app.command()(compacting.compact)
app.command()(checks.verify)
app.command()(checks.trace)
app.command()(checks.rebuild)
app.command()(doctor.doctor)
app.command()(serving.serve)
app.command()(serving.worker)
app.command()(serving.config)
app.add_typer(keys)


def _version(value: bool) -> None:
    if value:
        console.print(f"infold {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Conversation memory for LLM chats: fits the window, loses nothing, shows its sources."""


@app.command()
def add(
    chat: ChatName,
    content: Annotated[str | None, typer.Argument(help="The text; '-' or nothing reads standard input.")] = None,
    role: Annotated[str, typer.Option(help="Who speaks: user, assistant, system, developer.")] = "user",
    file: Annotated[Path | None, typer.Option(help="Add all messages of a JSON or JSONL file instead.")] = None,
    id: Annotated[str | None, typer.Option(help="Id of the message; adding it again changes nothing.")] = None,
    preset: Annotated[str | None, typer.Option(help="Policy of a new chat.")] = None,
    user: Annotated[str | None, typer.Option(help="Whose chat it is: users are known across their chats.")] = None,
    system: Annotated[str | None, typer.Option(help="System prompt of the chat.")] = None,
    context_window: Annotated[int | None, typer.Option(help="Tokens the chat's model can read.")] = None,
    model: Models = None,
    tenant: OfTenant = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Add a message (or a file of messages) to a chat; the chat is created on first use."""
    messages: list[Any]
    if file is not None:
        if content is not None or id is not None:
            fail("give either a text or --file, not both", 2)
        messages = read_transcript(file)
    else:
        text = sys.stdin.read() if content in (None, "-") else content
        messages = [{"role": role, "content": text, **({"id": id} if id else {})}]
    settings = in_force(config, database, model)
    with asking(settings, tenant=tenant, create=True) as memory:
        given = {"user": user, "preset": preset, "system": system, "context_window": context_window}
        with begun(memory, settings, chat, **given) as handle:
            folds = len(handle.events())
            added = handle.add(messages, repair=file is not None)
        handle.settle()
        made = [event for event in handle.events()[folds:] if event.type == "summarization"]
    if as_json:
        shown = [{"id": m.id, "seq": m.seq, "tokens": m.tokens} for m in added]
        print_json({"chat": chat, "messages": shown, "folds": [event.data for event in made]})
        return
    for message in added[-20:]:
        console.print(f"message {message.seq} ({message.role}, {message.tokens} tokens), id {message.id}")
    for event in made:
        console.print(replay.fold_line(event.data))


@app.command()
def context(
    chat: ChatName,
    query: Annotated[str | None, typer.Argument(help="The question; without it, the last user message.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Budget of the whole request.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show why each piece is there, and what is not.")] = False,
    text: Annotated[bool, typer.Option("--text", help="The plain prompt text instead of messages.")] = False,
    tenant: OfTenant = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Show the request infold would send next."""
    with opened(database, config, tenant=tenant) as memory:
        found = existing(memory, chat).context(query, max_tokens=max_tokens)
    if as_json:
        print_json(
            {
                "messages": found.messages,
                "tokens": found.tokens,
                "budget": found.budget,
                "sources": found.sources,
                "bridge": found.bridge,
                "hash": found.hash,
            }
        )
    elif explain:
        console.print(Text(str(found.explain())))
    elif text:
        console.print(Text(found.to("text")))
    else:
        for message in found.messages:
            console.print(Text(str(message["role"]), style="bold cyan"))
            body = message.get("content")
            console.print(Text(body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)))
            for call in message.get("tool_calls", ()):
                console.print(Text(f"→ {json.dumps(call, ensure_ascii=False)}", style="dim"))
        console.print(Text(f"{found.tokens} of {found.budget} tokens", style="dim"))


@app.command()
def summary(
    chat: ChatName,
    tenant: OfTenant = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Show what a chat remembers, with the messages each line comes from."""
    with opened(database, config, tenant=tenant) as memory:
        state = existing(memory, chat).memory
    if as_json:
        items = [{"id": i.id, "section": i.section, "text": i.text, "sources": i.sources} for i in state.items]
        print_json({"chat": chat, "cursor": state.cursor, "summary": state.summary, "items": items})
    elif state.items:
        console.print(memory_text(state.items))
    else:
        console.print(f"nothing is remembered yet: all {len(state.recent_messages)} messages are still verbatim")


@app.command()
def fold(
    chat: ChatName,
    model: Models = None,
    tenant: OfTenant = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Fold now all that the chat's policy lets go; with nothing to fold, memory is rewritten."""
    with asking(in_force(config, database, model), tenant=tenant) as memory:
        handle = existing(memory, chat)
        before = len(handle.events())
        folded = handle.fold()
        handle.settle()
        made = handle.events()[before:]
        cursor = handle.memory.cursor
    events = [event.data for event in made if event.type == "summarization"]
    failed = [event.data for event in made if event.type == "summarization_failed"]
    if as_json:
        print_json({"chat": chat, "folded": folded, "event": events[-1] if folded else None, "failed": failed})
    elif folded:
        console.print(replay.fold_line(events[-1]))
    else:
        console.print("nothing was folded: the policy's depth limit is reached")
    if not cursor and not as_json:
        console.print("no message is folded yet: the newest stay word for word (keep in the chat's policy)")
    for failure in failed if not as_json else ():
        errors.print(Text(f"the model did not write it ({failure['message']}); the extractive fold stands", "yellow"))


@app.command()
def usage(
    chat: ChatName,
    tenant: OfTenant = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Show what folding a chat with models took: calls, tokens, cost."""
    with opened(database, config, tenant=tenant) as memory:
        found = existing(memory, chat).usage()
    if as_json:
        print_json({"chat": chat, "models": [asdict(used) for used in found.models], "cost": found.cost})
        return
    if not found.models:
        console.print("no model was asked for this chat")
        return
    table = Table("model", "calls", "failed", "tokens in", "cached", "tokens out", "seconds", "US dollars")
    for used in found.models:
        cost = "unknown" if used.cost is None else f"{used.cost:.6f}"
        numbers = (used.calls, used.failed, used.tokens_in, used.cached, used.tokens_out)
        table.add_row(used.model, *(f"{number:,}" for number in numbers), f"{used.duration / 1000:.1f}", cost)
    console.print(table)


@app.command()
def chats(
    tenant: OfTenant = "", database: DatabaseUrl = None, config: SettingsFile = None, as_json: Json = False
) -> None:
    """List the chats of a database."""
    with opened(database, config, tenant=tenant) as memory:
        found = memory.chats()
    if as_json:
        keys = ("id", "title", "user", "preset", "messages")
        print_json([{key: getattr(info, key) for key in keys} for info in found])
        return
    for info in found:
        whose = f", {info.user}" if info.user else ""
        console.print(Text(f"{info.id}  {info.messages} messages, {info.folded} folded  ({info.preset}{whose})"))
    if not found:
        console.print("no chats yet")
