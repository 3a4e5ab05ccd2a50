"""Where old messages went: statements on archives, and on what was removed. Callers hold the transaction."""

from __future__ import annotations

import functools
import json
import logging
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from sqlalchemy import bindparam as P  # noqa: N812  as in `store`
from sqlalchemy import delete, func, insert, select, update

from infold.ledger.query import Connection, Query
from infold.ledger.schema import archives, chats, messages
from infold.messages import canonical_json

log = logging.getLogger("infold")

HERE, ARCHIVED, REMOVED = 0, 1, 2
"""What `messages.archived` says."""
MOST = 256
"""Messages in an archive; more only where a unit has more."""
END = 2**31 - 1
"""Beyond the last message of any chat."""

Said = tuple[str | None, str | None]
"""Content and body of a message, as its row had them."""

_insert = Query(insert(archives).values({c.name: P(c.name) for c in archives.c if c.name != "key"}))
_ranges = Query(
    select(archives.c.key, archives.c.first_seq, archives.c.last_seq)
    .where(archives.c.chat == P("of"), archives.c.first_seq <= P("last"), archives.c.last_seq >= P("first"))
    .order_by(archives.c.first_seq)
)
_data = Query(
    select(chats.c.id, archives.c.data).join(chats, chats.c.key == archives.c.chat).where(archives.c.key == P("of"))
)
_set = Query(
    update(archives)
    .where(archives.c.key == P("of"))
    .values(first_seq=P("to_first"), last_seq=P("to_last"), data=P("to_data"))
)
_delete = Query(delete(archives).where(archives.c.key == P("of")))
_within = (messages.c.chat == P("of"), messages.c.seq.between(P("first"), P("last")))
_take = Query(update(messages).where(*_within).values(content=None, body=None, archived=P("to")))
_here = Query(select(messages.c.seq).where(*_within, messages.c.archived == HERE))
_old = (*_within, messages.c.archived == HERE, messages.c.created_at < P("before"))
_next_old = Query(select(messages.c.seq).where(*_old).order_by(messages.c.seq).limit(1))
_count_old = Query(select(func.count()).where(*_old))
removed_seqs = select(messages.c.seq).where(messages.c.chat == P("of"), messages.c.archived == REMOVED)
"""Positions of a chat's messages that were removed."""
_count_removed = Query(select(func.count()).where(messages.c.chat == P("of"), messages.c.archived == REMOVED))
_last_removed = Query(select(func.max(messages.c.seq)).where(*_within, messages.c.archived == REMOVED))


def pack(said: Mapping[int, Said]) -> bytes:
    """What messages said, by position, compressed: a line of JSON each."""
    lines = (canonical_json({"seq": seq, "content": one[0], "body": one[1]}) for seq, one in said.items())
    return zlib.compress("\n".join(lines).encode(), 9)


@functools.lru_cache(maxsize=16)
def _unpacked(data: bytes) -> Mapping[int, Said]:
    # By what it holds, not by its key: a changed archive is another one, and keys are used again.
    try:
        rows = [json.loads(line) for line in zlib.decompress(data).decode().split("\n")]
        return {row["seq"]: (row["content"], row["body"]) for row in rows}
    except (zlib.error, ValueError, KeyError, TypeError):
        return {}


def _read(connection: Connection, archive: int) -> Mapping[int, Said]:
    chat, data = _data(connection, of=archive).fetchone()
    held = _unpacked(bytes(data))
    if not held:
        log.warning(
            "table archives, row %s of chat %s is damaged (infold verify tells which messages it held)", archive, chat
        )
    return held


def said(connection: Connection, key: int, seqs: Sequence[int]) -> dict[int, Said]:
    """What archived messages said, in a chat and at some positions in order; what cannot be read is not there."""
    found: dict[int, Said] = {}
    for archive, first, last in _ranges(connection, of=key, first=seqs[0], last=seqs[-1]).fetchall():
        inside = seqs[bisect_left(seqs, first) : bisect_right(seqs, last)]
        if any(seq not in found for seq in inside):
            held = _read(connection, archive)
            found.update((seq, held[seq]) for seq in inside if seq in held)
    return found


def put(connection: Connection, key: int, first: int, last: int, data: bytes, created_at: int) -> None:
    """Keep an archive of the messages first..last."""
    _insert(connection, chat=key, first_seq=first, last_seq=last, data=data, created_at=created_at)


def take(connection: Connection, key: int, first: int, last: int, to: int) -> None:
    """Take what the messages first..last said out of their rows; all else of them stays."""
    _take(connection, of=key, first=first, last=last, to=to)


def cut(connection: Connection, key: int, first: int, last: int = END) -> None:
    """Take the messages first..last out of archives."""
    for archive, begins, ends in _ranges(connection, of=key, first=first, last=last).fetchall():
        held = {} if first <= begins and ends <= last else _read(connection, archive)
        left = {seq: one for seq, one in held.items() if not first <= seq <= last}
        if left:
            _set(connection, of=archive, to_first=min(left), to_last=max(left), to_data=pack(left))
        else:
            _delete(connection, of=archive)


def here(connection: Connection, key: int, first: int, last: int) -> set[int]:
    """Positions among first..last whose messages are neither archived nor removed."""
    return {row[0] for row in _here(connection, of=key, first=first, last=last)}


def next_old(connection: Connection, key: int, before: int, first: int, last: int) -> int | None:
    """The first among first..last that is here and was said before a moment."""
    row = _next_old(connection, of=key, before=before, first=first, last=last).fetchone()
    return int(row[0]) if row else None


def count_old(connection: Connection, key: int, before: int, first: int, last: int) -> int:
    """How many among first..last are here and were said before a moment."""
    return int(_count_old(connection, of=key, before=before, first=first, last=last).fetchone()[0])


def last_removed(connection: Connection, key: int, first: int, last: int) -> int:
    """The newest among first..last that was removed; 0 for none."""
    return int(_last_removed(connection, of=key, first=first, last=last).fetchone()[0] or 0)


def count_removed(connection: Connection, key: int) -> int:
    """How many messages of a chat were removed."""
    return int(_count_removed(connection, of=key).fetchone()[0])
