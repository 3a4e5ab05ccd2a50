"""`infold compact`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from infold.cli.options import DatabaseUrl, Json, Models, OfTenant, SettingsFile, asking, in_force
from infold.cli.output import UNCLEAN, console, errors, fail, print_json, working
from infold.retention import ARCHIVE, REMOVE, Compaction


def compact(
    days: Annotated[
        int | None,
        typer.Option(help="Age in days of what is compacted (default: TRANSCRIPT_RETENTION_DAYS, 30).", min=1),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove it for good instead of archiving it.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    tenant: OfTenant = "",
    model: Models = None,
    database: DatabaseUrl = None,
    config: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Archive what old messages said, or remove it, where memory covers them; hashes, memory and facts stay.

    Shows what would be done and asks first. What a model has still to read stays: it is the one of the settings, or --model.
    """
    mode = REMOVE if remove else ARCHIVE
    with asking(in_force(config, database, model), tenant=tenant) as memory:
        with working("counting …"):
            found = memory.compact(days, mode, dry_run=True)
        asks = not (dry_run or yes) and found.messages > 0
        if asks and sys.stdin.isatty():
            errors.print(_told(found))
            if not typer.confirm("Go on?", err=True):
                fail("nothing was changed")
            asks = False
        if not dry_run and not asks and found.messages:
            with working("compacting …"):
                found = memory.compact(days, mode)
    if as_json:
        print_json(asdict(found))
        return
    console.print(_told(found))
    if asks:
        console.print("nothing was changed; --yes does it")


def _told(found: Compaction) -> Text:
    verb = {ARCHIVE: "archived", REMOVE: "removed"}[found.mode]
    lines = [f"no message is older than {found.days} days and covered"]
    if found.messages:
        would = "would be " if found.dry_run else ""
        size = f"{found.bytes_before:,} bytes"
        size += f" become {found.bytes_after:,}" if found.mode == ARCHIVE else ""
        lines = [f"{found.messages:,} messages of {found.chats:,} chats {would}{verb}: {size}"]
    if found.skipped_unfolded:
        lines.append(f"{found.skipped_unfolded:,} old ones stay: they are not folded yet")
    if found.skipped_upgrade:
        lines.append(f"{found.skipped_upgrade:,} old ones stay: a model has still to read them")
    if found.failed:
        lines.append(f"{found.failed:,} chats failed; the log says why, and the next run tries them again")
    if not found.clean:
        lines.append(UNCLEAN)
    return Text("\n".join(lines))
