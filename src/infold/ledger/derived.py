"""Statements for what is made of messages and can be made again: facts, mentions of entities, blocks of recall."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, select, update

from infold.facts import Saying, Statement, merged
from infold.ledger import passages
from infold.ledger.archive import removed_seqs
from infold.ledger.mentions import Damaged, delete_mentions_after
from infold.ledger.query import Connection, Query, among
from infold.ledger.schema import chats, facts, recall_blocks
from infold.ledger.sealing import seal, whole
from infold.messages import canonical_json

log = logging.getLogger("infold")
P = bindparam
_OURS = chats.c.tenant == P("tenant")
MOST_SAYINGS = 64
"""Messages that are kept as sources of one fact: the first ones, and the newest."""

_FACT_COLUMNS = [
    facts.c.digest, facts.c.text, facts.c.kind, facts.c.subject, facts.c.attribute, facts.c.value, facts.c.quote,
    facts.c.confidence, facts.c.replaces, facts.c.speaker, facts.c.sayings, facts.c.seal, chats.c.id,
]  # fmt: skip
_insert_fact = Query(insert(facts).values({c.name: P(c.name) for c in facts.c if c.name != "key"}))
_AT_ONCE = 16  # facts that are looked up together
_facts_by_digest = Query(
    select(facts.c.key, *_FACT_COLUMNS)
    .join(chats, chats.c.key == facts.c.chat)
    .where(facts.c.chat == P("of"), facts.c.digest.in_([P(f"digest_{n}") for n in range(_AT_ONCE)]))
)
_SEALED = ("text", "kind", "subject", "attribute", "value", "quote", "confidence", "replaces", "speaker", "sayings")
_MUTABLE = (*_SEALED, "seal")
_set_fact = Query(update(facts).where(facts.c.key == P("of")).values({name: P(f"to_{name}") for name in _MUTABLE}))
_facts_of_chat = Query(
    select(*_FACT_COLUMNS).join(chats, chats.c.key == facts.c.chat).where(facts.c.chat == P("of")).order_by(facts.c.key)
)
_facts_of_user = Query(
    select(*_FACT_COLUMNS)
    .join(chats, chats.c.key == facts.c.chat)
    .where(_OURS, chats.c.user == P("of"))
    .order_by(facts.c.key)
)
_lasting = among(facts.c.kind, "kinds")
_latest_of_chat = Query(
    select(*_FACT_COLUMNS)
    .join(chats, chats.c.key == facts.c.chat)
    .where(facts.c.chat == P("of"), _lasting)
    .order_by(facts.c.key.desc())
    .limit(P("most"))
)
_latest_of_user = Query(
    select(*_FACT_COLUMNS)
    .join(chats, chats.c.key == facts.c.chat)
    .where(_OURS, chats.c.user == P("of"), _lasting)
    .order_by(facts.c.key.desc())
    .limit(P("most"))
)
_keyed_facts = Query(select(facts.c.key, *(facts.c[name] for name in _SEALED)).where(facts.c.chat == P("of")))
_removed = Query(removed_seqs)
_delete_fact = Query(delete(facts).where(facts.c.key == P("of")))
_delete_damaged = Query(delete(facts).where(facts.c.chat == P("of"), facts.c.digest == P("digest")))


def note_facts(connection: Connection, key: int, statements: Iterable[Statement]) -> None:
    """Keep what was stated; what is known already gets one more source."""
    stated: dict[bytes, Statement] = {}
    for statement in statements:
        digest = statement.digest
        stated[digest] = merged([stated[digest], statement])[0] if digest in stated else statement
    every = list(stated)
    for start in range(0, len(every), _AT_ONCE):
        digests = every[start : start + _AT_ONCE]
        padded = {f"digest_{n}": digests[min(n, len(digests) - 1)] for n in range(_AT_ONCE)}
        rows = {bytes(row[1]): row for row in _facts_by_digest(connection, of=key, **padded)}
        for digest, row in rows.items():
            statement, known = stated[digest], _statement(tuple(row[1:]))
            (joined,) = merged([known, statement]) if known else (statement,)
            if joined != known:
                _rewrite(connection, row[0], _columns(joined))
        new = [digest for digest in digests if digest not in rows]
        _insert_fact.each(connection, [{"chat": key, "digest": one, **_columns(stated[one])} for one in new])


def _rewrite(connection: Connection, fact: int, columns: dict[str, Any]) -> None:
    _set_fact(connection, of=fact, **{f"to_{name}": columns[name] for name in _MUTABLE})


def _columns(statement: Statement) -> dict[str, Any]:
    sayings = [[one.at, one.seq, one.id, one.speaker or statement.speaker] for one in statement.sayings]
    if len(sayings) > MOST_SAYINGS:
        sayings = sayings[: MOST_SAYINGS // 2] + sayings[-MOST_SAYINGS // 2 :]
    return _sealed({
        "text": statement.text, "kind": statement.kind, "subject": statement.subject, "attribute": statement.attribute,
        "value": statement.value, "quote": statement.quote, "confidence": round(float(statement.confidence), 4),
        "replaces": statement.replaces, "speaker": statement.speaker, "sayings": canonical_json(sayings),
    })  # fmt: skip


def _sealed(columns: dict[str, Any]) -> dict[str, Any]:
    return {**columns, "seal": seal(columns[name] for name in _SEALED)}


@functools.lru_cache(maxsize=2048)
def _statement(row: tuple[Any, ...]) -> Statement | None:
    digest, text, kind, subject, attribute, value, quote, confidence, replaces, speaker, sayings, sealed, chat = row
    try:
        said = tuple(Saying(int(at), chat, int(seq), id, who) for at, seq, id, who in json.loads(sayings))
        found = Statement(text, kind, subject, attribute, value, quote, confidence, replaces, speaker, said)
        if found.digest == bytes(digest) and said and whole(row[1:-2], sealed):
            return found
    except (ValueError, TypeError):
        pass
    return None


def facts_of_chat(connection: Connection, key: int) -> tuple[list[Statement], list[Damaged]]:
    """What was stated in a chat; and what is damaged."""
    return _checked(_facts_of_chat(connection, of=key))


def facts_of_user(connection: Connection, user: str) -> tuple[list[Statement], list[Damaged]]:
    """What was stated in all chats of a user; and what is damaged."""
    return _checked(_facts_of_user(connection, of=user))


def latest_of_chat(connection: Connection, key: int, kinds: Sequence[str], most: int) -> list[Statement]:
    """What was stated last of some kinds in a chat."""
    rows = _latest_of_chat(connection, of=key, kinds=json.dumps(kinds), most=most).fetchall()
    return _checked(reversed(rows))[0]


def latest_of_user(connection: Connection, user: str, kinds: Sequence[str], most: int) -> list[Statement]:
    """What was stated last of some kinds in all chats of a user."""
    rows = _latest_of_user(connection, of=user, kinds=json.dumps(kinds), most=most).fetchall()
    return _checked(reversed(rows))[0]


def _checked(rows: Iterable[Sequence[Any]]) -> tuple[list[Statement], list[Damaged]]:
    found: list[Statement] = []
    damaged: list[Damaged] = []
    for row in rows:
        statement = _statement(tuple(row))
        if statement is None:
            damaged.append((row[-1], row[0]))
            log.warning("a fact of chat %s is damaged; it is left out until it is read again from its message", row[-1])
        else:
            found.append(statement)
    return found, damaged


def delete_facts(connection: Connection, key: int, digests: Iterable[bytes]) -> None:
    for digest in digests:
        _delete_damaged(connection, of=key, digest=digest)


# Both --------------------------------------------------------------------------------------------------

_set_read_to = Query(update(chats).where(chats.c.key == P("of")).values(read_to=P("to_seq")))
_read_to = Query(select(chats.c.read_to, chats.c.cursor).where(chats.c.key == P("of")))
_next_epoch = Query(update(chats).where(chats.c.key == P("of")).values(epoch=chats.c.epoch + 1))
_user_pulse = Query(
    select(
        func.count(),
        func.max(chats.c.key),
        func.sum(chats.c.version),
        func.sum(chats.c.last_seq),
        func.sum(chats.c.epoch),
    ).where(_OURS, chats.c.user == P("of"))
)
_facts_pulse = Query(
    select(
        func.count(),
        func.max(chats.c.key),
        func.sum(chats.c.version),
        func.sum(chats.c.read_to),
        func.sum(chats.c.epoch),
    ).where(_OURS, chats.c.user == P("of"))
)


def set_read_to(connection: Connection, key: int, seq: int) -> None:
    _set_read_to(connection, of=key, to_seq=seq)


def read_to(connection: Connection, key: int) -> tuple[int, int]:
    """Up to where facts and entities of a chat are noted, and its cursor."""
    row = _read_to(connection, of=key).fetchone()
    return (row[0], row[1]) if row else (0, 0)


def forget_after(connection: Connection, key: int, seq: int) -> set[int]:
    """Take back what was made of messages after a position; of facts that earlier ones state too, nothing is left either:
    the positions of those messages are given back, to be read again."""
    again = forget_facts(connection, key, seq)
    delete_mentions_after(connection, key, seq)
    passages.take(connection, key, seq - BLOCK + 2)
    _delete_blocks(connection, of=key, after=seq)
    next_epoch(connection, key)
    return again


def next_epoch(connection: Connection, key: int) -> None:
    """Tell everybody who made something of the messages of a chat that it is void."""
    _next_epoch(connection, of=key)


def forget_facts(connection: Connection, key: int, seq: int) -> set[int]:
    """Take back the facts that messages after a position state; and where earlier ones state them too, their positions.
    What a removed message stated cannot be read again: it stays, with that one as its source."""
    again: set[int] = set()
    removed: set[int] | None = None
    for fact, *values in _keyed_facts(connection, of=key).fetchall():
        known = dict(zip(_SEALED, values, strict=True))
        try:
            sayings = json.loads(known["sayings"])
            seqs = [one[1] for one in sayings]
        except (ValueError, TypeError, IndexError):
            continue
        if max(seqs) > seq:
            if removed is None:
                removed = {row[0] for row in _removed(connection, of=key)}
            left = [one for one in sayings if one[1] in removed]
            if left:  # the quotation may be another one's
                kept = {"quote": known["text"], "replaces": "", "sayings": canonical_json(left)}
                _rewrite(connection, fact, _sealed(known | kept))
            else:
                _delete_fact(connection, of=fact)
            again.update(one for one in seqs if one <= seq and one not in removed)
    return again


def facts_pulse(connection: Connection, user: str) -> tuple[Any, ...]:
    """Changes whenever a fact of a user may: with folds, not with every message."""
    found: tuple[Any, ...] = _facts_pulse(connection, of=user).fetchone()
    return found


def user_pulse(connection: Connection, user: str) -> tuple[Any, ...]:
    """Changes with every message of a user."""
    found: tuple[Any, ...] = _user_pulse(connection, of=user).fetchone()
    return found


# Blocks of recall --------------------------------------------------------------------------------------

BLOCK = 128
"""Messages in a block."""
_insert_block = Query(insert(recall_blocks).values({c.name: P(c.name) for c in recall_blocks.c if c.name != "key"}))
_block_at = Query(
    select(recall_blocks.c.maker).where(recall_blocks.c.chat == P("of"), recall_blocks.c.first_seq == P("first"))
)
_delete_block = Query(
    delete(recall_blocks).where(recall_blocks.c.chat == P("of"), recall_blocks.c.first_seq == P("first"))
)
_delete_blocks = Query(
    delete(recall_blocks).where(recall_blocks.c.chat == P("of"), recall_blocks.c.first_seq > P("after") - (BLOCK - 1))
)
_blocks = Query(
    select(recall_blocks.c.first_seq, recall_blocks.c.data)
    .where(
        recall_blocks.c.chat == P("of"), recall_blocks.c.maker == P("maker"), recall_blocks.c.first_seq >= P("from_seq")
    )
    .order_by(recall_blocks.c.first_seq)
)
_count_blocks = Query(select(func.count()).where(recall_blocks.c.chat == P("of"), recall_blocks.c.maker == P("maker")))
_made = Query(
    select(recall_blocks.c.first_seq)
    .where(recall_blocks.c.chat == P("of"), recall_blocks.c.maker == P("maker"))
    .order_by(recall_blocks.c.first_seq)
)
_place = Query(
    select(chats.c.epoch, chats.c.last_seq, chats.c.cursor, chats.c.id).where(chats.c.key == P("of")), lock=True
)
_chats_of_user = Query(select(chats.c.key).where(_OURS, chats.c.user == P("of")).order_by(chats.c.key))
_places_of_user = Query(
    select(chats.c.key, chats.c.epoch, chats.c.last_seq).where(_OURS, chats.c.user == P("of")).order_by(chats.c.key)
)
Place = tuple[int, int, int]
"""A chat, its epoch and its newest position."""


def put_block(connection: Connection, key: int, first: int, maker: str, data: bytes) -> bool:
    """Keep a block, in place of one that was made otherwise; False where it is there already."""
    known = _block_at(connection, of=key, first=first).fetchone()
    if known is not None:
        if known[0] == maker:
            return False
        drop_block(connection, key, first)
    _insert_block(connection, chat=key, first_seq=first, maker=maker, data=data)
    return True


def drop_block(connection: Connection, key: int, first: int) -> None:
    passages.take(connection, key, first, first)
    _delete_block(connection, of=key, first=first)


def blocks(connection: Connection, key: int, maker: str, first: int) -> list[tuple[int, bytes]]:
    """The blocks of a chat from a position on, in order."""
    return [(row[0], row[1]) for row in _blocks(connection, of=key, maker=maker, from_seq=first)]


def blocks_made(connection: Connection, key: int, maker: str) -> list[int]:
    """First positions of the blocks there are."""
    return [row[0] for row in _made(connection, of=key, maker=maker)]


def count_blocks(connection: Connection, key: int, maker: str) -> int:
    """How many blocks there are."""
    return int(_count_blocks(connection, of=key, maker=maker).fetchone()[0])


def place(connection: Connection, key: int) -> tuple[int, int, int, str] | None:
    """Epoch, newest position, cursor and id of a chat."""
    row: tuple[int, int, int, str] | None = _place(connection, of=key).fetchone()
    return row


def places_of_user(connection: Connection, user: str) -> list[Place]:
    """The chats of a user, the oldest first."""
    return [tuple(row) for row in _places_of_user(connection, of=user)]


def chats_of_user(connection: Connection, user: str) -> list[int]:
    return [row[0] for row in _chats_of_user(connection, of=user)]
