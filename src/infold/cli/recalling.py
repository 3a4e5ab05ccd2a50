"""`infold recall`: search what was said."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.padding import Padding
from rich.text import Text

from infold.cli.options import DatabaseUrl, Json, OfChat, OfTenant, OfUser, SettingsFile, chosen, opened
from infold.cli.output import console, day, fail, moment, print_json, working
from infold.recall.hits import KINDS, Hit
from infold.user import User

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def recall(
    query: Annotated[str, typer.Argument(help="A question, or words to look for.", show_default=False)],
    chat: OfChat = None,
    user: OfUser = None,
    limit: Annotated[int, typer.Option(help="How much to show at most.")] = 8,
    kind: Annotated[
        list[str] | None, typer.Option(help=f"Only this kind: {', '.join(KINDS)}; may be given again.")
    ] = None,
    since: Annotated[str | None, typer.Option(help="Said on this date or later, such as 2026-05-01.")] = None,
    until: Annotated[str | None, typer.Option(help="Said on this date or earlier.")] = None,
    tenant: OfTenant = "",
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Find what was said that answers a question: in a chat, with --user in all chats of a user, with both in one of them."""
    if chat is None and user is None:
        fail("give --chat ID or --user NAME", 2)
    first, end = _date(since, "--since"), _date(until, "--until", whole_day=True)
    with opened(database, config, tenant=tenant) as memory:
        place = chosen(memory, *((None, user) if user else (chat, None)))
        with working("searching …"):  # the first search loads the embedder, and indexes what is not indexed yet
            if isinstance(place, User):
                hits = place.recall(query, limit=limit, kinds=kind or KINDS, chat=chat, since=first, until=end)
            else:
                hits = place.recall(query, limit=limit, kinds=kind or KINDS, since=first, until=end)
    if as_json:
        print_json(
            [{**asdict(hit), "at": moment(hit.at), "sources": [one._asdict() for one in hit.sources]} for hit in hits]
        )
        return
    if not hits:
        console.print("nothing was found")
    for hit in hits:
        console.print(hit_text(hit))
        console.print(Padding(marked(hit, query), (0, 0, 0, 2), expand=False))
        console.print()


def _date(text: str | None, option: str, *, whole_day: bool = False) -> datetime | None:
    """A moment as it was typed, in UTC where no zone is named; with `whole_day`, a bare date is its end."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text.strip())
        if whole_day and ":" not in text and "T" not in text:
            found += timedelta(days=1)
    except (ValueError, OverflowError):
        fail(f"{option} must be a date such as 2026-05-01 or 2026-05-01T12:00, not {text!r}")
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def hit_text(hit: Hit) -> Text:
    """Who said it, when and where, in one line."""
    who = hit.speaker if hit.kind == "message" else hit.kind
    place = f"{hit.chat} {hit.seq}" if hit.seq else hit.chat
    ids = ", ".join(source.id for source in hit.sources[-3:]) or hit.id
    parts = (day(hit.at), place, f"score {hit.score:.1f}", ids)
    return Text.assemble((who, "bold cyan"), ("  " + "  ".join(part for part in parts if part), "dim"))


def marked(hit: Hit, query: str) -> Text:
    """The text of a hit with the words of a query marked, in whatever form they stand there."""
    from infold.recall.words import term, words

    text = hit.text.strip()
    wanted = {term(word) for word in words(query)}
    found = Text("" if hit.whole else "… ")
    end = 0
    for match in _WORD.finditer(text):
        if any(term(word) in wanted for word in words(match[0])):
            found.append(text[end : match.start()])
            found.append(match[0], "bold yellow")
            end = match.end()
    found.append(text[end:])
    return found if hit.whole else found.append(" …")
