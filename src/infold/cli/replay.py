"""`infold replay`: put a transcript through infold and watch it fold."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.rule import Rule
from rich.text import Text

from infold.audit import Proof
from infold.chat import Chat
from infold.cli.options import DatabaseUrl, Json, Models, OfTenant, SettingsFile, asking, begun, in_force
from infold.cli.output import console, day, errors, fail, memory_text, print_json
from infold.cli.recalling import marked
from infold.cli.transcript import read_transcript, split_system
from infold.context import Context
from infold.ledger.rows import Event
from infold.messages import Message

_DEMO_QUESTION = "How wide is the freight door?"  # said once, long ago, and in no line of the summary
# Layer of a context -> colour in the picture of the budget.
_COLOURS = {
    "policy": "bright_black",
    "system": "bright_black",
    "pins": "magenta",
    "facts": "magenta",
    "summary": "cyan",
    "leaves": "blue",
    "bridge": "yellow",
    "recent": "green",
    "recalled": "bright_blue",
    "entities": "bright_magenta",
    "sources": "white",
    "query": "bright_green",
    "tools": "white",
}


def replay(
    file: Annotated[Path | None, typer.Argument(help="Transcript: JSON or JSONL of messages.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Replay the conversation that comes with infold.")] = False,
    chat: Annotated[str | None, typer.Option(help="Id of the chat; the file's name if not given.")] = None,
    user: Annotated[str | None, typer.Option(help="Whose chat it is: users are known across their chats.")] = None,
    preset: Annotated[
        str | None, typer.Option(help="Policy: default, rolling, chain, chunked, layered, engine.")
    ] = None,
    context_window: Annotated[int | None, typer.Option(help="Tokens the chat's model can read.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Budget of the context shown at the end.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Delete the chat first if it exists.")] = False,
    model: Models = None,
    tenant: OfTenant = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Put a transcript through infold: each fold as it happens, the memory at the end, and the proof."""
    if demo == (file is not None):
        fail("give a transcript, or --demo, and not both", 2)
    if demo:
        with as_file(files("infold") / "demo" / "conversation.jsonl") as path:
            messages, name = read_transcript(path), chat or "demo"
    else:
        assert file is not None
        messages, name = read_transcript(file), chat or file.stem
    system, messages = split_system(messages)
    settings = in_force(config, database, model)
    with asking(settings, tenant=tenant, create=True) as memory:
        if fresh and any(info.id == name for info in memory.chats()):
            memory.chat(name).delete()
        given = {"user": user, "preset": preset, "system": system, "context_window": context_window}
        with begun(memory, settings, name, **given) as handle:
            tokens = _feed(handle, messages, quiet=as_json)
        # The last question again, as if it were asked now: what would the model see?
        question = next((m for m in reversed(messages) if m.get("role") == "user"), None)
        context = (
            handle.context(_text(question), max_tokens=max_tokens)
            if question
            else handle.context(max_tokens=max_tokens)
        )
        proof = handle.verify()
        if as_json:
            print_json(_report(handle, context, proof, tokens))
        else:
            asked = _DEMO_QUESTION if demo else None
            _show(handle, context, proof, tokens, _same_place(database, config), asked)
    if not proof.ok:
        raise typer.Exit(1)


def _same_place(database: str | None, config: Path | None) -> str:
    """The options with which another command finds the same chat."""
    given = (("-d", database), ("--config", config))
    return "".join(f" {option} {shlex.quote(str(value))}" for option, value in given if value)


def _text(message: dict[str, Any] | None) -> str | None:
    content = message.get("content") if message else None
    return content if isinstance(content, str) and content else None


def _feed(chat: Chat, messages: list[dict[str, Any]], *, quiet: bool) -> int:
    """Add the messages one by one, showing progress and folds. Returns their tokens."""
    tokens = 0
    memory = chat._memory
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True, disable=quiet or not errors.is_terminal) as progress:
        task = progress.add_task("replaying", total=len(messages))

        def show(event: Event) -> None:
            if event.type == "summarization" and event.data["kind"] == "base":
                console.print(fold_line(event.data))

        memory.on_event = None if quiet else show
        for at, message in enumerate(messages, 1):
            # Stable ids make a replay resumable: what is there already is not added twice.
            id = None if "id" in message else f"{chat.id}-{at}"
            added: Message | list[Message] = chat.add(message, id=id, repair=True)
            tokens += sum(m.tokens for m in (added if isinstance(added, list) else [added]))
            progress.advance(task)
        chat.settle()
        memory.on_event = None
    return tokens


def fold_line(data: dict[str, Any]) -> Text:
    """One fold in one line."""
    if data["first"] is None:
        return Text.assemble((f"fold {data['fold']:>3}", "bold cyan"), f"  memory rewritten ({data['reason']})")
    number = data["last"] - data["first"] + 1
    return Text.assemble(
        (f"fold {data['fold']:>3}", "bold cyan"),
        f"  messages {data['first']}–{data['last']} ({number}), because of {data['reason']}:",
        f"  next request {data['tokens_before']:,} → ",
        (f"{data['tokens_after']:,} tokens", "bold"),
        f"  by {data['model']}" if data.get("model") else "",
    )


def _show(chat: Chat, context: Context, proof: Proof, tokens: int, place: str, asked: str | None) -> None:
    state = chat.memory
    console.print()
    console.print(Rule(f"What chat “{chat.id}” remembers", align="left", style="cyan"))
    console.print(memory_text(state.items) if state.items else "nothing was folded: the whole chat still fits")
    console.print(Text("[n] is the message a line comes from", style="dim"))
    console.print()
    console.print(Rule("What the model sees next", align="left", style="cyan"))
    console.print(_picture(context))
    total = proof.messages
    share = f", {tokens / context.tokens:.1f} times less" if context.tokens and tokens > context.tokens else ""
    console.print(
        f"The whole chat is {total} messages, {tokens:,} tokens. The next request has {context.tokens:,} tokens "
        f"of at most {context.budget:,}{share}."
    )
    console.print()
    _show_known(chat, asked)
    console.print(Rule("The proof", align="left", style="cyan"))
    bridged = context.sources["bridged"]
    if proof.ok:
        console.print(
            Text.assemble(
                ("✓ ", "bold green"),
                f"{total} of {total} messages accounted for: {proof.folded} folded once each by {proof.folds} folds, "
                f"{proof.unfolded - bridged} verbatim, {bridged} bridged, ",
                ("0 lost", "bold green"),
                ". Every hash and the chain of folds match.",
            )
        )
    else:
        console.print(Text(str(proof), style="red"))
    console.print()
    command = Path(sys.argv[0])
    name = command.name if shutil.which(command.name) else os.path.relpath(command)
    id, question = shlex.quote(chat.id), shlex.quote(asked or "…")
    tenant = chat._memory.database.tenant
    whose = f" --tenant {shlex.quote(tenant)}" if tenant else ""
    own = (f"context {id} --explain", f"facts {id}", f"recall {question} --chat {id}")
    more = (*(one + whose for one in own), "verify")
    console.print(Text("\n".join(["Look closer:", *(f"  {name} {one}{place}" for one in more)]), style="dim"))


def _show_known(chat: Chat, asked: str | None) -> None:
    """How many facts and entities there are, and what one question finds."""
    facts = chat.facts
    every = facts(all=True)
    if not every and not asked:
        return
    console.print(Rule("What can be found again", align="left", style="cyan"))
    gone = len(every) - len(facts)
    console.print(
        f"{len(facts)} facts hold, {gone} {'was' if gone == 1 else 'were'} overtaken by later ones; "
        f"{len(chat.entities)} tasks, people, files and the like{'; and every message:' if asked else '.'}"
    )
    if asked:
        for hit in chat.recall(asked, limit=1, kinds=("message",)):
            console.print(Text.assemble(("? ", "bold cyan"), asked))
            console.print(Padding(marked(hit, asked), (0, 0, 0, 2), expand=False))
            console.print(Text(f"  {hit.speaker}, {day(hit.at)}, message {hit.seq}", style="dim"))
    console.print()


def _picture(context: Context) -> Text:
    """The budget as a bar, and what each colour is."""
    layers: dict[str, int] = {}
    for piece in context.explain().items:
        layers[piece.layer] = layers.get(piece.layer, 0) + piece.tokens
    width = min(console.width, 100)
    bar, legend = Text(), Text()
    for layer, tokens in layers.items():
        colour = _COLOURS.get(layer, "white")
        bar.append("█" * max(1, round(width * tokens / context.budget)), colour)
        legend.append("■ ", colour)
        legend.append(f"{layer} {tokens:,}   ")
    free = width - len(bar)
    bar.append("░" * max(0, free), "bright_black")
    legend.append("░ free ", "bright_black")
    legend.append(f"{context.budget - context.tokens:,}", "bright_black")
    return Text.assemble(bar, "\n", legend)


def _report(chat: Chat, context: Context, proof: Proof, tokens: int) -> dict[str, Any]:
    state = chat.memory
    return {
        "chat": chat.id,
        "messages": proof.messages,
        "tokens": tokens,
        "folds": [event.data for event in chat.events() if event.type == "summarization"],
        "summary": state.summary,
        "items": [{"id": i.id, "section": i.section, "text": i.text, "sources": i.sources} for i in state.items],
        "facts": len(chat.facts),
        "entities": len(chat.entities),
        "context": {"tokens": context.tokens, "budget": context.budget, "sources": context.sources},
        "proof": {
            "ok": proof.ok,
            "folded": proof.folded,
            "unfolded": proof.unfolded,
            "problems": [f"{p.chat}: {p.what}" for p in proof.problems],
        },
    }
