"""Statements for what people stated that lasts: the facts of chats and users. Made of messages; can be made again.

Each row has an owner: the user it is known of, or its chat alone (the chat's key, below zero). `ended` names the row that took
its place for that owner, or says the same. `hints` are numbers of words that a row can be found by.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, bindparam, case, delete, func, insert, or_, select, update

from infold.ledger import line_rows
from infold.ledger.archive import removed_seqs
from infold.ledger.mentions import Damaged
from infold.ledger.query import Connection, Query, among
from infold.ledger.schema import Key, chats, hints, stated, users
from infold.lines.line import Line, Place

log = logging.getLogger("infold")
P = bindparam
_BESIDE = ("seq",)
_HITS = 1000
"""Rows that are looked at for some words: nobody waits for words that everything has."""

_COLUMNS = [*line_rows.columns(stated), stated.c.seq, stated.c.seal, stated.c.key, chats.c.id]
_HELD = [stated.c.rank, stated.c.chat, stated.c.ended, *_COLUMNS]
_joined = select(*_COLUMNS).join(chats, chats.c.key == stated.c.chat)
_held_rows = select(*_HELD).join(chats, chats.c.key == stated.c.chat)
_insert = Query(
    insert(stated)
    .values({c.name: P(c.name) for c in stated.c if c.name not in ("key", "ended")})
    .returning(stated.c.key)
)
_of_chat = Query(_joined.where(stated.c.chat == P("of")).order_by(stated.c.seq, stated.c.key))
_rows_of_chat = Query(
    select(stated.c.apart, *_COLUMNS)
    .join(chats, chats.c.key == stated.c.chat)
    .where(stated.c.chat == P("of"))
    .order_by(stated.c.seq, stated.c.key)
)
_of_owner = Query(
    _joined.where(stated.c.owner == P("of")).order_by(stated.c.said_at, chats.c.key, stated.c.seq, stated.c.key)
)
_latest_of_chat = Query(
    _joined.where(stated.c.chat == P("of")).order_by(stated.c.seq.desc(), stated.c.key.desc()).limit(P("most"))
)
_held = Query(
    _held_rows.where(stated.c.owner == P("of"), stated.c.ended.is_(None), stated.c.rank >= P("least"))
    .order_by(stated.c.rank.desc(), stated.c.said_at.desc(), stated.c.key.desc())
    .limit(P("most"))
)
_count_held = Query(
    select(func.count()).where(stated.c.owner == P("of"), stated.c.ended.is_(None), stated.c.rank >= P("least"))
)
_hits = select(hints.c.line).where(hints.c.owner == P("of"), among(hints.c.word, "words")).limit(P("hits")).subquery()
_found = (
    select(_hits.c.line)
    .group_by(_hits.c.line)
    .having(func.count() >= P("shared"))
    .order_by(func.count().desc(), _hits.c.line.desc())
    .limit(P("most"))
    .subquery()
)
_near = Query(
    _held_rows.join(_found, _found.c.line == stated.c.key)
    .where(or_(stated.c.ended.is_(None), stated.c.owner == P("ended", type_=Key)))
    .order_by(stated.c.said_at, stated.c.chat, stated.c.seq, stated.c.key)
)
_later = stated.alias()
_overtaken = Query(
    _joined.join(_later, _later.c.key == stated.c.ended).where(
        stated.c.chat == P("of"), _later.c.chat != stated.c.chat, _later.c.said_at > stated.c.said_at
    )
)
_just_before = Query(
    _held_rows.where(
        stated.c.chat == P("of"), stated.c.owner == P("owner"), stated.c.ended.is_(None), stated.c.seq >= P("from_seq")
    ).order_by(stated.c.seq, stated.c.key)
)
_places_between = Query(
    select(stated.c.places).where(stated.c.chat == P("of"), stated.c.seq.between(P("first"), P("last")))
)
_pending = Query(
    select(chats.c.key)
    .where(
        chats.c.tenant == P("tenant"),
        or_(chats.c.key == P("of"), chats.c.user == P("of_user")),
        chats.c.read_to < chats.c.last_seq,
    )
    .order_by(chats.c.key)
)
_insert_hint = Query(insert(hints).values(line=P("line"), word=P("word"), owner=P("owner")))
_end = Query(update(stated).where(stated.c.key == P("of")).values(ended=P("by")))
_hold_all = Query(update(stated).where(stated.c.owner == P("of"), stated.c.ended.is_not(None)).values(ended=None))
_raise = Query(update(stated).where(stated.c.key == P("of"), stated.c.rank < P("to_rank")).values(rank=P("to_rank")))
_own = Query(
    update(stated)
    .where(stated.c.chat == P("of"), stated.c.key == P("line"))
    .values(owner=P("to_owner"), ended=None, rank=P("to_rank"))
)
_delete_hints = Query(delete(hints).where(hints.c.owner == P("owner"), hints.c.line == P("of")))
_owner = Query(select(stated.c.owner).where(stated.c.key == P("of")))
_one = Query(delete(stated).where(stated.c.key == P("of")))
_owners = Query(select(stated.c.owner).where(stated.c.chat == P("of")).distinct())
_unowned = Query(select(stated.c.key).where(stated.c.chat == P("of"), stated.c.owner.is_(None)).limit(1))
# What a removed message stated cannot be read again: what is known of it stays.
_after = Query(
    select(stated.c.key, stated.c.seq, stated.c.sources, stated.c.owner).where(
        stated.c.chat == P("of"), stated.c.seq > P("after"), stated.c.seq.not_in(removed_seqs)
    )
)
_sources = Query(select(stated.c.key, stated.c.seq, stated.c.sources, stated.c.owner).where(stated.c.chat == P("of")))
_written = Query(
    select(stated.c.key, stated.c.seq, stated.c.sources, stated.c.owner).where(
        stated.c.chat == P("of"), stated.c.seq > P("after"), stated.c.rewrites > 0
    )
)
_referred = Query(select(stated.c.key).where(stated.c.owner == P("of"), among(stated.c.ended, "keys")).limit(1))
_user = Query(
    select(users.c.key, users.c.remember, users.c.pulse).where(
        users.c.tenant == P("tenant"), users.c.name == P("name")
    ),
    lock=True,
)
_insert_user = Query(insert(users).values(tenant=P("tenant"), name=P("name")).returning(users.c.key))
_touch_user = Query(
    update(users)
    .where(users.c.key == P("of"))
    .values(
        pulse=users.c.pulse + 1,
        latest=case((users.c.latest < P("at", type_=BigInteger), P("at", type_=BigInteger)), else_=users.c.latest),
    )
    .returning(users.c.latest)
)
_set_remember = Query(update(users).where(users.c.key == P("of")).values(remember=P("to"), pulse=users.c.pulse + 1))
_delete_user = Query(delete(users).where(users.c.tenant == P("tenant"), users.c.name == P("name")))
_set_away = Query(update(chats).where(chats.c.key == P("of")).values(away=P("to")))
_set_chat_remember = Query(update(chats).where(chats.c.key == P("of")).values(remember=P("to")))


@dataclass(frozen=True, slots=True)
class Held:
    """A row that holds, or one to be compared with others."""

    key: int
    chat: int
    rank: int
    line: Line
    ended: int | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What is stored of a user beside what was stated."""

    key: int
    remember: bool
    pulse: int


# Users ---------------------------------------------------------------------------------------------------


def user(connection: Connection, name: str) -> Known | None:
    """What is stored of a user; None where nothing is."""
    row = _user(connection, name=name).fetchone()
    return Known(row[0], bool(row[1]), row[2]) if row else None


def begin_user(connection: Connection, name: str) -> Known:
    """What is stored of a user of whom nothing was; others may begin at the same moment."""
    connection.alone(f"user {name}")
    return user(connection, name) or Known(int(_insert_user(connection, name=name).fetchone()[0]), True, 0)


def touch_user(connection: Connection, key: int, at: int = 0) -> int:
    """Tell everybody who keeps what is known of a user to read it again; when the latest of it was said, with what was said at
    a moment."""
    row = _touch_user(connection, of=key, at=at).fetchone() if key > 0 else None
    return int(row[0]) if row else 0


def set_remember(connection: Connection, key: int, remember: bool) -> None:
    _set_remember(connection, of=key, to=int(remember))


def delete_user(connection: Connection, name: str) -> None:
    _delete_user(connection, name=name)


def set_away(connection: Connection, chat: int, away: bool) -> None:
    """Note whether people went on in another branch of a chat."""
    _set_away(connection, of=chat, to=int(away))


def set_chat_remember(connection: Connection, chat: int, remember: bool) -> None:
    """Note whether what a chat says may be known in others."""
    _set_chat_remember(connection, of=chat, to=int(remember))


# Writing -------------------------------------------------------------------------------------------------


def note(
    connection: Connection, chat: int, owner: int, line: Line, rank: int, words: Iterable[int], apart: bool = False
) -> int:
    """Keep what was stated; the key of its row."""
    row = {"chat": chat, "seq": max(line.sources), **line_rows.values(line)}
    values = {"owner": owner, "rank": rank, "apart": int(apart)}
    made = _insert(connection, **line_rows.sealed(row, _BESIDE), **values).fetchone()
    key = int(made[0])
    _insert_hint.each(connection, [{"line": key, "word": word, "owner": owner} for word in words])
    return key


def own(connection: Connection, chat: int, key: int, owner: int, rank: int, words: Iterable[int]) -> None:
    """Give a row an owner; it holds until somebody says otherwise."""
    before = _owner(connection, of=key).fetchone()
    if before[0] is not None:
        _delete_hints(connection, owner=before[0], of=key)
    _own(connection, of=chat, line=key, to_owner=owner, to_rank=rank)
    _insert_hint.each(connection, [{"line": key, "word": word, "owner": owner} for word in words])


def end(connection: Connection, key: int, by: int | None) -> None:
    """Note which row took the place of a row, or says the same."""
    _end(connection, of=key, by=by)


def set_ended(connection: Connection, owner: int, ended: Mapping[int, int]) -> None:
    """Note for all rows of an owner which took the place of which; the others hold."""
    _hold_all(connection, of=owner)
    for key, by in ended.items():
        _end(connection, of=key, by=by)


def lift(connection: Connection, key: int, rank: int) -> None:
    """Rank a row at least so high."""
    _raise(connection, of=key, to_rank=rank)


# Reading -------------------------------------------------------------------------------------------------


def of_chat(connection: Connection, key: int) -> tuple[list[Line], list[Damaged]]:
    """What was stated in a chat, in order; and what is damaged."""
    return _read(_of_chat(connection, of=key))


def of_owner(connection: Connection, owner: int) -> tuple[list[Line], list[Damaged]]:
    """What is known of a user, in order; and what is damaged."""
    return _read(_of_owner(connection, of=owner))


def rows_of_owner(connection: Connection, owner: int) -> list[tuple[int, Line]]:
    """The same, with the keys."""
    return _keyed(_of_owner(connection, of=owner))


def rows_of_chat(connection: Connection, key: int) -> list[tuple[int, Line, bool]]:
    """What was stated in a chat, in order, with the keys, and whether it is for this chat alone."""
    rows = _rows_of_chat(connection, of=key).fetchall()
    return [(row[-2], line, bool(row[0])) for row in rows if (line := _line(tuple(row[1:]))) is not None]


def latest_of_chat(connection: Connection, key: int, most: int) -> list[Line]:
    """What was stated last in a chat, in order."""
    return _read(reversed(_latest_of_chat(connection, of=key, most=most).fetchall()))[0]


def held(connection: Connection, owner: int, least: int, most: int) -> list[Held]:
    """What holds of an owner, the highest rank first, of equals the newest."""
    return _as_held(_held(connection, of=owner, least=least, most=most))


def count_held(connection: Connection, owner: int, least: int) -> int:
    """How much holds of an owner."""
    return int(_count_held(connection, of=owner, least=least).fetchone()[0])


def near(
    connection: Connection, owner: int, words: Iterable[int], most: int, shared: int = 1, ended: bool = False
) -> list[Held]:
    """What holds of an owner and has so many of these words, in the order it was said; of very many what has most of them. With
    `ended`, also what holds no longer."""
    wanted = json.dumps(sorted(set(words)))
    if wanted == "[]":
        return []
    values = {
        "of": owner,
        "words": wanted,
        "most": most,
        "shared": shared,
        "hits": _HITS,
        "ended": owner if ended else 0,
    }
    return _as_held(_near(connection, **values))


def places_between(connection: Connection, chat: int, first: int, last: int) -> set[tuple[Place, ...]]:
    """Where the words stand that were noted of some messages."""
    rows = _places_between(connection, of=chat, first=first, last=last)
    return {tuple(Place(*place) for place in json.loads(row[0])) for row in rows}


def pending(connection: Connection, chat: int | None, user: str | None) -> list[int]:
    """A chat and those of a user, as far as not everything of them is read."""
    return [row[0] for row in _pending(connection, of=chat, of_user=user)]


def just_before(connection: Connection, chat: int, owner: int, first: int) -> list[Held]:
    """What holds and was said in a chat from a position on."""
    return _as_held(_just_before(connection, of=chat, owner=owner, from_seq=first))


def overtaken(connection: Connection, chat: int) -> list[Line]:
    """What a chat says that somebody said otherwise later in another one."""
    return _read(_overtaken(connection, of=chat))[0]


def owners(connection: Connection, chat: int) -> list[int]:
    """Whom something of a chat is known of."""
    return [row[0] for row in _owners(connection, of=chat) if row[0] is not None]


def is_unowned(connection: Connection, chat: int) -> bool:
    """Whether an earlier version noted something that has no owner yet."""
    return _unowned(connection, of=chat).fetchone() is not None


def _as_held(rows: Iterable[Sequence[Any]]) -> list[Held]:
    found = []
    for row in rows:
        line = _line(tuple(row[3:]))
        if line is not None:
            found.append(Held(row[-2], row[1], row[0], line, row[2]))
    return found


def _keyed(rows: Iterable[Sequence[Any]]) -> list[tuple[int, Line]]:
    return [(row[-2], line) for row in rows if (line := _line(tuple(row))) is not None]


def _read(rows: Iterable[Sequence[Any]]) -> tuple[list[Line], list[Damaged]]:
    found: list[Line] = []
    damaged: list[Damaged] = []
    for row in rows:
        seq, key, chat = row[-4], row[-2], row[-1]
        line = _line(tuple(row))
        if line is None:
            damaged.append((chat, seq))
            log.warning(
                "table stated, row %s of chat %s is damaged; it is left out until its message is read again", key, chat
            )
        else:
            found.append(line)
    return found, damaged


@functools.lru_cache(maxsize=4096)
def _line(row: tuple[Any, ...]) -> Line | None:
    """A row as a line: contexts ask for the newest rows again and again."""
    *evidence, seq, seal, _, chat = row
    return line_rows.read(evidence, (seq,), seal, chat, _id)


def _id(chat: str, places: tuple[Place, ...], text: str) -> str:
    """The same for the same words in the same place, on every database."""
    said = f"{chat}\0{places or text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=8).hexdigest()


# Taking back ---------------------------------------------------------------------------------------------


def forget_after(connection: Connection, key: int, seq: int) -> set[int]:
    """Take back what messages after a position state; whose knowledge has to be settled anew."""
    return _forget(connection, _after(connection, of=key, after=seq).fetchall())


def forget_at(connection: Connection, key: int, seqs: Iterable[int]) -> tuple[int, set[int]]:
    """Remove what rests on some messages; how many rows, and whose knowledge has to be settled anew."""
    gone = set(seqs)
    rows = [row for row in _sources(connection, of=key).fetchall() if row[1] in gone or gone & _seqs(row[2])]
    return len(rows), _forget(connection, rows)


def forget_written(connection: Connection, key: int, after: int) -> set[int]:
    """Remove what a model wrote of messages after a position."""
    return _forget(connection, _written(connection, of=key, after=after).fetchall())


def forget_row(connection: Connection, key: int) -> None:
    """Remove one row."""
    owner = _owner(connection, of=key).fetchone()[0]
    _forget(connection, [(key, 0, "[]", owner)])


def forget_chat(connection: Connection, key: int) -> set[int]:
    """Remove all that was stated in a chat."""
    return _forget(connection, _sources(connection, of=key).fetchall())


def _forget(connection: Connection, rows: Sequence[Sequence[Any]]) -> set[int]:
    """Remove rows; the owners of others that one of these had ended."""
    by_owner: dict[int, list[int]] = {}
    for key, _, _, owner in rows:
        if owner is not None:
            by_owner.setdefault(owner, []).append(key)
            _delete_hints(connection, owner=owner, of=key)
        _one(connection, of=key)
    unsettled = set()
    for owner, keys in by_owner.items():
        touch_user(connection, owner)
        if _referred(connection, of=owner, keys=json.dumps(keys)).fetchone() is not None:
            unsettled.add(owner)
    return unsettled


def _seqs(text: str) -> set[int]:
    try:
        return set(json.loads(text))
    except (ValueError, TypeError):
        return set()
