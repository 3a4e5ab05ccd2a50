"""Statements for what a database keeps beside each block of recall, to say which may answer a question.

On PostgreSQL these are passages, which belong to their block and are deleted with it, by the database itself; in a SQLite
file, rows of `full_text`.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from sqlalchemy import and_, bindparam, func, select

from infold.ledger import full_text
from infold.ledger.query import Connection, Query
from infold.ledger.schema import chats, recall_blocks

if TYPE_CHECKING:
    from infold.ledger.sqlite import SqliteConnection
    from infold.recall.nominees import Look, Looked
    from infold.recall.segment import Segment

P = bindparam
LAID_OUT = full_text.LAID_OUT
"""Ends the maker of a block that can be nominated."""
MOST = 1 << 13
"""Stretches that a block can have on PostgreSQL."""
NUMBERS = 64
"""Of a vector, the first so many are kept: those that a first look over a long chat takes in memory too."""

_COLUMNS = """
    SELECT to_regclass('infold.recall_passages') IS NOT NULL,
           (SELECT quote_ident(n.nspname)
              FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_namespace n ON n.oid = t.typnamespace
             WHERE a.attrelid = to_regclass('infold.recall_passages') AND a.attname = 'vector' AND NOT a.attisdropped)"""
_CLEAR = """
    DELETE FROM infold.recall_passages
     WHERE block = (SELECT key FROM infold.recall_blocks WHERE chat = %(of)s AND first_seq = %(first)s)"""
_PUT = """
    INSERT INTO infold.recall_passages (block, place, seq, at, speaker, words{column})
    SELECT b.key, u.place, u.seq, u.at, u.speaker, u.words::tsvector{value}
      FROM infold.recall_blocks b,
           unnest(%(places)s::integer[], %(seqs)s::integer[], %(times)s::bigint[], %(speakers)s::text[],
                  %(words)s::text[], %(vectors)s::text[]) AS u (place, seq, at, speaker, words, vector)
     WHERE b.chat = %(of)s AND b.first_seq = %(first)s"""
_COPY = """
    INSERT INTO infold.recall_passages (block, place, seq, at, speaker, words{column})
    SELECT t.key, p.place, p.seq, p.at, p.speaker, p.words{column}
      FROM infold.recall_blocks b
      JOIN infold.recall_blocks t ON t.chat = %(to)s AND t.first_seq = b.first_seq
      JOIN infold.recall_passages p ON p.block = b.key
     WHERE b.chat = %(of)s"""
_places = (
    select(chats.c.key, chats.c.epoch, chats.c.last_seq, recall_blocks.c.first_seq, recall_blocks.c.key)
    .outerjoin(recall_blocks, and_(recall_blocks.c.chat == chats.c.key, recall_blocks.c.maker == P("maker")))
    .order_by(chats.c.key, recall_blocks.c.first_seq)
)
_of_chat = Query(_places.where(chats.c.key == P("of")))
_SHARED = (chats.c.user == P("of"), chats.c.remember == 1, chats.c.away == 0)
_of_user = Query(_places.where(chats.c.tenant == P("tenant"), *_SHARED))
_size = select(func.coalesce(func.sum(chats.c.last_seq), 0))
_size_of_chat = Query(_size.where(chats.c.key == P("of")))
_size_of_user = Query(_size.where(chats.c.tenant == P("tenant"), *_SHARED))
_data = Query(
    select(recall_blocks.c.data).where(
        recall_blocks.c.chat == P("of"), recall_blocks.c.first_seq == P("first"), recall_blocks.c.maker == P("maker")
    )
)
_BLOCKS = """
    SELECT b.chat, b.first_seq, b.data
      FROM unnest(%(chats)s::bigint[], %(firsts)s::integer[]) AS u (chat, first_seq)
      JOIN infold.recall_blocks b ON b.chat = u.chat AND b.first_seq = u.first_seq
     WHERE b.maker = %(maker)s ORDER BY b.chat, b.first_seq"""
_SPEAKERS = """
    SELECT b.chat, array_agg(DISTINCT p.speaker)
      FROM unnest(%(chats)s::bigint[], %(after)s::integer[]) AS u (chat, after)
      JOIN infold.recall_blocks b ON b.chat = u.chat AND b.first_seq > u.after AND b.maker = %(maker)s
      JOIN infold.recall_passages p ON p.block = b.key
     GROUP BY b.chat"""
# OFFSET 0: the bits and the nearness are worked out once a row, before anything is sorted.
_LOOK = """
    SELECT chat, first_seq, stretch, bits, count(*), max(near), sum(near), sum(near * near)
      FROM (SELECT b.chat, b.first_seq, p.place / {size} AS stretch, {bits} AS bits, {near} AS near
              FROM infold.recall_blocks b JOIN infold.recall_passages p ON p.block = b.key
             WHERE b.chat = ANY(%(chats)s) AND b.maker = %(maker)s AND {inside}
            OFFSET 0) AS looked
     GROUP BY chat, first_seq, stretch, bits"""
_LOOKS = {
    "words": "p.words @@ %({})s::tsquery",
    "speakers": "p.speaker = ANY(%({})s::text[])",
    "time": "p.at >= (%({0})s::bigint[])[1] AND p.at < (%({0})s::bigint[])[2]",
    "months": "p.at <> 0 AND extract(month FROM to_timestamp(least(greatest(p.at, -62135596800000), 253402300799999) "
    "/ 1000.0) AT TIME ZONE 'UTC') = ANY(%({})s::integer[])",
}


@dataclass(frozen=True, slots=True)
class Scope:
    """What is searched: a chat, or all chats of a user; from one moment on, and before another."""

    chat: int | None
    user: str | None
    since: int | None
    until: int | None


@dataclass(frozen=True, slots=True)
class Place:
    """A chat, and those of its blocks that can be nominated."""

    key: int
    epoch: int
    last: int
    blocks: dict[int, int]
    """Their keys, by their first positions."""


def _is_file(connection: object) -> TypeGuard[SqliteConnection]:
    return isinstance(connection, sqlite3.Connection)


def pattern(connection: Connection) -> str:
    """What the maker of a block is like that has all this database can have."""
    return "%" if _is_file(connection) and not connection.full_text else f"%{LAID_OUT}"


def put(connection: Connection, key: int, first: int, found: Segment) -> None:
    """Keep what belongs to a block that was written in the same transaction."""
    if _is_file(connection):
        if connection.full_text:
            full_text.put(connection, key, first, found)
        return
    there, schema = _columns(connection)
    if not there:
        return
    counts = found.count.tolist()
    terms = [f"{number:08x}" for number in found.terms.tolist()]
    ends = itertools.accumulate(counts)
    values = {
        "of": key,
        "first": first,
        "places": list(range(len(counts))),
        "seqs": found.seq.tolist(),
        "times": found.at.tolist(),
        "speakers": [found.speakers[number] for number in found.speaker.tolist()],
        "words": [" ".join(set(terms[end - count : end])) for end, count in zip(ends, counts, strict=True)],
        "vectors": [_vector(row) if schema else None for row in found.vectors[:, :NUMBERS].tolist()],
    }
    _run(connection, _CLEAR, values)
    _run(
        connection,
        _PUT.format(column=", vector", value=f", u.vector::{schema}.halfvec") if schema else _PUT.format(column="", value=""),
        values,
    )  # fmt: skip


def take(connection: Connection, key: int, first: int = 0, last: int = 1 << 62) -> None:
    """Take out what belongs to the blocks of a chat that begin between two positions: they are deleted next."""
    if _is_file(connection) and connection.full_text:
        full_text.take(connection, key, first, last)


def again(connection: Connection, key: int) -> None:
    """Keep what belongs to the blocks of a chat, after it was taken."""
    if _is_file(connection) and connection.full_text:
        full_text.put_all(connection, key)


def copy(connection: Connection, key: int, to: int) -> None:
    """Give the blocks of a chat that were copied from another one what belongs to them."""
    if _is_file(connection):
        again(connection, to)
        return
    there, schema = _columns(connection)
    if there:
        _run(connection, _COPY.format(column=", vector" if schema else ""), {"of": key, "to": to})


def size(connection: Connection, scope: Scope) -> int:
    """Messages of a chat, or of all chats of a user."""
    query, of = (_size_of_chat, scope.chat) if scope.chat is not None else (_size_of_user, scope.user)
    return int(query(connection, of=of).fetchone()[0])


def places(connection: Connection, maker: str, scope: Scope) -> list[Place] | None:
    """A chat, or all chats of a user, with their blocks; None where the database cannot nominate."""
    if not (connection.full_text if _is_file(connection) else _columns(connection)[0]):
        return None
    query, of = (_of_chat, scope.chat) if scope.chat is not None else (_of_user, scope.user)
    found: dict[int, Place] = {}
    for key, epoch, last, first, block in query(connection, of=of, maker=maker):
        place = found.setdefault(key, Place(key, epoch, last, {}))
        if block is not None:
            place.blocks[first] = block
    return list(found.values())


def speakers(connection: Connection, maker: str, after: dict[int, int]) -> dict[int, set[str]]:
    """Who speaks in the blocks of chats that begin after a position of each."""
    values = {"maker": maker, "chats": list(after), "after": list(after.values())}
    return {key: set(names) for key, names in _run(connection, _SPEAKERS, values)}


def look(
    connection: Connection,
    maker: str,
    scope: Scope,
    places: Sequence[Place],
    looks: Sequence[Look],
    vector: Sequence[float],
) -> Looked:
    """What the blocks of chats have of a question; of nearness nothing, where there are no vectors."""
    import numpy as np

    from infold.recall.nominees import STRETCH, Looked

    since, until = scope.since, scope.until
    _, schema = _columns(connection)
    values: dict[str, Any] = {"maker": maker, "chats": [place.key for place in places], "since": since, "until": until}
    bits = ["0::bigint"]
    for at, one in enumerate(looks):
        values[f"look{at}"] = " | ".join(f"{word:08x}" for word in one.value) if one.kind == "words" else one.value
        bits.append(f"(({_LOOKS[one.kind].format(f'look{at}')})::integer::bigint << {at})")
    near = "NULL::double precision"
    if schema:
        values["vector"] = _vector(vector)
        near = f"1 - (p.vector OPERATOR({schema}.<=>) %(vector)s::{schema}.halfvec)"
    inside = [text for text, edge in (("p.at >= %(since)s", since), ("p.at < %(until)s", until)) if edge is not None]
    sql = _LOOK.format(size=STRETCH, bits=" | ".join(bits), near=near, inside=" AND ".join(inside) or "true")
    known = {place.key: place.blocks for place in places}  # what was written since is in the tail
    rows = [row for row in _run(connection, sql, values) if row[1] in known[row[0]]]
    columns: list[Sequence[Any]] = [*zip(*rows, strict=True)] or [()] * 8
    chat, first, number, held, count = (np.array(column, np.int64) for column in columns[:5])
    nearness = np.array([[one or 0.0 for one in column] for column in columns[5:]], np.float64) if schema else None
    return Looked(chat, first, number, held, count, nearness)


def blocks(connection: Connection, maker: str, wanted: Iterable[tuple[int, int]]) -> list[tuple[int, int, bytes]]:
    """Some blocks, by their chats and first positions."""
    if _is_file(connection):
        rows = ((key, first, _data(connection, of=key, first=first, maker=maker).fetchone()) for key, first in wanted)
        return [(key, first, row[0]) for key, first, row in rows if row is not None]
    chats, firsts = zip(*wanted, strict=True)
    return list(_run(connection, _BLOCKS, {"maker": maker, "chats": list(chats), "firsts": list(firsts)}))


def _vector(row: Sequence[float]) -> str | None:
    """The first numbers of a vector, as PostgreSQL reads them; nothing has no direction."""
    numbers = [*row[:NUMBERS], *[0] * (NUMBERS - len(row))]
    return str(numbers) if any(numbers) else None


def _columns(connection: Connection) -> tuple[bool, str | None]:
    """Whether there are passages; and the schema of the type of their vectors, where they have any.

    Asked anew each time: an administrator may add or drop the extension.
    """
    found: tuple[bool, str | None] = _run(connection, _COLUMNS, {}).fetchone()
    return found


def _run(connection: Any, sql: str, values: dict[str, Any]) -> Any:
    return connection.execute(sql, values, binary=True)
