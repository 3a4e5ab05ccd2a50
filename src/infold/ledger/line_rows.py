"""What the tables `lines` and `stated` have in common: a line's evidence, as columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Table

from infold.ledger.sealing import seal, whole
from infold.lines.line import Line, Place, section_of
from infold.messages import canonical_json

NAMES = (
    "kind", "text", "quote", "sources", "places", "role", "said_by", "said_at", "author", "worth", "standing", "rewrites",
)  # fmt: skip


def columns(table: Table) -> list[ColumnElement[Any]]:
    """The columns, in the order that `read` wants."""
    return [table.c[name] for name in NAMES]


def values(line: Line) -> dict[str, Any]:
    """A line's evidence as values of the columns."""
    found = {name: getattr(line, name) for name in NAMES}
    places = [[place.seq, place.start, place.end] for place in line.places]
    return {**found, "sources": canonical_json(line.sources), "places": canonical_json(places)}


def sealed(row: dict[str, Any], beside: Sequence[str]) -> dict[str, Any]:
    """A row with its checksum, over its evidence and the columns `beside` it."""
    return {**row, "seal": seal(row[name] for name in (*NAMES, *beside))}


def read(
    row: Sequence[Any],
    beside: Sequence[Any],
    check: int | None,
    chat: str = "",
    named: Callable[..., str] | None = None,
) -> Line | None:
    """A line of a row; None where the row is not what was written. `named` makes its id of chat, places and text."""
    kind, text, quote, sources, places, role, said_by, said_at, author, worth, standing, rewrites = row
    try:
        if not whole((*row, *beside), check):
            return None
        where = tuple(Place(*map(int, place)) for place in json.loads(places))
        line = Line(
            named(chat, where, text) if named else "", section_of(kind), text, tuple(map(int, json.loads(sources))), kind=kind, quote=quote, places=where, role=role,
            said_by=said_by, said_at=said_at, author=author, worth=worth, standing=standing, rewrites=rewrites, chat=chat,
        )  # fmt: skip
        said_by + text + quote  # anything but text is damage
    except (ValueError, TypeError, AttributeError):
        return None
    return line
