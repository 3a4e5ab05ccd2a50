"""Statements for full text: what a SQLite file keeps of each block of recall in an FTS5 table, to say which stretches of
blocks may answer a question.

A row is a stretch of a block. Its words are the numbers of the words that are said in it, its chat and its user; it has neither
text nor places. So a row can only be deleted by telling its words again: they are made of the block.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import zlib
from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, select

from infold.ledger.query import Query
from infold.ledger.schema import chats, recall_blocks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from infold.recall.segment import Segment

log = logging.getLogger("infold")
P = bindparam
LAID_OUT = "+"
"""Ends the maker of a block that is in full text."""
ROWS = 64
"""Rows that a block has at most: their numbers follow each other."""
_LATEST = 1 << 62

_TABLE = "SELECT count(*) FROM sqlite_master WHERE name = 'recall_words' AND type = 'table'"
_MODULE = "SELECT count(*) FROM pragma_module_list WHERE name = 'fts5'"
_PUT = "INSERT INTO recall_words (rowid, words) VALUES (?, ?)"
_TAKE = "INSERT INTO recall_words (recall_words, rowid, words) VALUES ('delete', ?, ?)"
_CLEAR = "INSERT INTO recall_words (recall_words) VALUES ('delete-all')"
_MERGE = "INSERT INTO recall_words (recall_words) VALUES ('optimize')"
_FIND = "SELECT rowid FROM recall_words WHERE recall_words MATCH ?"

_whose = (recall_blocks.c.key, chats.c.key, chats.c.tenant, chats.c.user)
_laid_out = recall_blocks.c.maker.like(f"%{LAID_OUT}")
_blocks = (
    select(*_whose, recall_blocks.c.data)
    .join(chats, chats.c.key == recall_blocks.c.chat)
    .where(_laid_out)
    .order_by(recall_blocks.c.key)
)
_every = Query(_blocks)
_between = Query(
    _blocks.where(recall_blocks.c.chat == P("of"), recall_blocks.c.first_seq.between(P("first"), P("last")))
)
_delete = Query(delete(recall_blocks).where(recall_blocks.c.key == P("of")))
_written = Query(
    select(*_whose)
    .join(chats, chats.c.key == recall_blocks.c.chat)
    .where(_laid_out, recall_blocks.c.chat == P("of"), recall_blocks.c.first_seq == P("first"))
)


class DamagedError(Exception):
    """Full text cannot be read, or lacks what it should have: `rebuild` it."""


def is_there(connection: sqlite3.Connection) -> bool:
    """Whether the file has the table, and this build of SQLite the module; one that cannot even be opened is not there."""
    if not all(connection.execute(sql).fetchone()[0] for sql in (_TABLE, _MODULE)):
        return False
    try:
        connection.execute(_FIND, (of_chat(0),)).fetchone()
    except sqlite3.DatabaseError as error:
        if "constructor failed" in str(error):
            log.warning("the full text of recall cannot be opened; everything is searched in memory")
            return False
    return True


def put(connection: Any, key: int, first: int, found: Segment) -> None:
    """Keep the words of a block that was written in the same transaction."""
    for row in _written(connection, of=key, first=first).fetchall():
        try:
            connection.executemany(_PUT, _rows(row, found))
        except sqlite3.DatabaseError as error:
            _rebuild_after(error, connection)


def take(connection: Any, key: int, first: int = 0, last: int = _LATEST) -> None:
    """Take out the words of those blocks of a chat that begin between two positions, before they are deleted."""
    from infold.recall.segment import Segment

    gone = _between(connection, of=key, first=first, last=last).fetchall()
    try:
        for *whose, data in gone:
            connection.executemany(_TAKE, _rows(whose, Segment.from_bytes(data)))
    except (ValueError, sqlite3.DatabaseError) as error:  # of a damaged block nobody can tell the words
        _rebuild_after(error, connection, {block for block, *_ in gone})


def put_all(connection: Any, key: int) -> None:
    """Keep the words of all blocks of a chat."""
    from infold.recall.segment import Segment

    for *whose, data in _between(connection, of=key, first=0, last=_LATEST).fetchall():
        with contextlib.suppress(ValueError):  # a damaged one is mended when it is read
            connection.executemany(_PUT, _rows(whose, Segment.from_bytes(data)))


def rebuild(connection: Any, but: Container[int] = ()) -> None:
    """Make all of it again, from blocks, without some; those that are damaged themselves are deleted, to be made again."""
    from infold.recall.segment import Segment

    log.warning("the full text of recall, or one of its blocks, is damaged; it is made again")
    connection.execute(_CLEAR)
    for *whose, data in _every(connection).fetchall():
        if whose[0] in but:
            continue
        try:
            connection.executemany(_PUT, _rows(whose, Segment.from_bytes(data)))
        except ValueError:
            _delete(connection, of=whose[0])


def _rebuild_after(error: Exception, connection: Any, but: Container[int] = ()) -> None:
    if not _is_damage(error):
        raise error
    rebuild(connection, but)


def merge(connection: sqlite3.Connection) -> None:
    """Write all of it anew, without what was deleted."""
    try:
        connection.execute(_MERGE)
    except sqlite3.DatabaseError as error:
        connection.execute("BEGIN IMMEDIATE")
        try:
            _rebuild_after(error, connection)
        finally:
            connection.execute("COMMIT")
        connection.execute(_MERGE)


def _is_damage(error: Exception) -> bool:
    return not isinstance(error, sqlite3.Error) or "malformed" in str(error) or "corrupt" in str(error)


def having(connection: Any, chat: int | None, user: str, wanted: Sequence[Sequence[int]]) -> list[NDArray[np.int64]]:
    """For each of some lists of words, given by their numbers, the rows of a chat or a user that have one of them; all
    for none.

    Rows of another user may be among them.
    """
    import numpy as np

    whose = of_user(connection.tenant, user) if chat is None else of_chat(chat)
    matches = [f"{whose} AND ({' OR '.join(map(word, numbers))})" if numbers else whose for numbers in wanted]
    try:
        return [np.array([row for (row,) in connection.execute(_FIND, (match,))], np.int64) for match in matches]
    except sqlite3.DatabaseError as error:
        if not _is_damage(error):
            raise
        raise DamagedError from error


def word(number: int) -> str:
    """A word of messages, by its number; a few others are the same."""
    return f"{number >> 8:06x}"


def of_chat(key: int) -> str:
    """A chat, as a word."""
    return f"k{key}"


def of_user(tenant: str, user: str) -> str:
    """A user, as a word; others may have the same."""
    name = f"{tenant}\0{user}".encode("utf-8", "surrogatepass")
    return f"u{zlib.crc32(name):08x}"


def _rows(of: Sequence[Any], found: Segment) -> Iterator[tuple[int, str]]:
    import numpy as np

    from infold.recall.nominees import length

    block, chat, tenant, user = of
    whose = [of_chat(chat), *([of_user(tenant, user)] if user is not None else [])]
    ends = np.append(0, np.cumsum(found.count, dtype=np.int64))
    size, last = length(found, ROWS), len(found.seq)
    for start in range(0, last, size):
        numbers = np.unique(found.terms[ends[start] : ends[min(start + size, last)]]).tolist()
        yield block * ROWS + start // size, " ".join((*whose, *map(word, numbers)))
