"""How the command line speaks: tables and colour for people, JSON for machines, errors in one sentence."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any, NoReturn

from rich.console import Console
from rich.status import Status
from rich.text import Text

from infold.lines.line import Line
from infold.lines.rendering import by_section, heading, is_quoted

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)
UNCLEAN = "old pages are left: in a file until other programs close it, on a server until it uses them again"
"""Where `clean` is False."""


def fail(sentence: str, code: int = 1) -> NoReturn:
    """Say what is wrong and end."""
    errors.print(Text.assemble(("error: ", "bold red"), sentence))
    sys.exit(code)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def memory_text(lines: tuple[Line, ...]) -> Text:
    """Memory as headings and bullets, each line with the numbers of the messages it comes from."""
    text = Text()
    for section, group in by_section(lines):
        text.append(heading(section, is_quoted(group)) + "\n", "bold cyan")
        for line in group:
            text.append("  • " + line.shown)
            if line.sources:
                shown = ", ".join(str(seq) for seq in line.sources[:4]) + (" …" if len(line.sources) > 4 else "")
                text.append(f"  [{shown}]", "dim")
            text.append("\n")
    text.rstrip()
    return text


def day(at: int | None) -> str:
    """The day of a moment in milliseconds, in UTC as everything infold shows; empty where it is not known."""
    try:
        return datetime.fromtimestamp(at / 1000, UTC).date().isoformat() if at else ""
    except (OverflowError, ValueError, OSError):
        return ""


def moment(at: int) -> str:
    """A moment as ISO text for machines, in UTC."""
    try:
        return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return ""


def working(what: str) -> Status:
    """A spinner on standard error, while something takes its time; nothing where nobody watches."""
    return errors.status(what)
