"""Every statement infold runs, and the rows they give back. Callers hold the transaction."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, or_, select, text, update

from infold.ledger import archive, passages
from infold.ledger import stated as said
from infold.ledger.query import Connection, Query, among, storable
from infold.ledger.rows import ChatRow
from infold.ledger.schema import (
    archives,
    calls,
    chats,
    events,
    folds,
    installation,
    leases,
    lines,
    mentions,
    messages,
    pins,
    prefixes,
    recall_blocks,
)
from infold.marks import REMOVED, UNREADABLE
from infold.messages import ROLES, Message, load
from infold.tokens import message_tokens

log = logging.getLogger("infold")

P = bindparam

_MESSAGE_COLUMNS = [
    messages.c.role, messages.c.content, messages.c.body, messages.c.id, messages.c.seq, messages.c.created_at,
    messages.c.model_variant, messages.c.tokens, messages.c.archived, messages.c.key,
]  # fmt: skip


def inserting(table: Any) -> Query:
    """The statement that inserts a row of a table."""
    return Query(insert(table).values({c.name: P(c.name) for c in table.c if c.name != "key"}))


# Chats -------------------------------------------------------------------------------------------------

_CHAT_COLUMNS = [column for column in chats.c if column.name != "tenant"]
_OURS = chats.c.tenant == P("tenant")
_chat_by_id = Query(select(*_CHAT_COLUMNS).where(_OURS, chats.c.id == P("id")), lock=True)
_chat_by_key = Query(select(*_CHAT_COLUMNS).where(_OURS, chats.c.key == P("key")), lock=True)
_pulse = Query(
    select(chats.c.version, chats.c.last_seq, chats.c.users, chats.c.marks, chats.c.epoch, chats.c.read_to).where(
        _OURS, chats.c.key == P("key")
    ),
    lock=True,
)
_insert_chat = Query(
    insert(chats).values({c.name: P(c.name) for c in chats.c if c.name != "key"}).returning(chats.c.key)
)
_all_chats = Query(select(*_CHAT_COLUMNS).where(_OURS).order_by(chats.c.created_at, chats.c.key))
_family = Query(
    select(*_CHAT_COLUMNS)
    .where(_OURS, or_(chats.c.key == P("root"), chats.c.origin == P("root")))
    .order_by(chats.c.key)
)
_tenants = Query(select(chats.c.tenant).distinct().order_by(chats.c.tenant))
_touch = Query(
    update(chats).where(chats.c.key == P("of")).values(last_seq=P("to_seq"), users=P("to_users"), marks=P("to_marks"))
)
_set_chat = Query(
    update(chats)
    .where(chats.c.key == P("of"))
    .values(
        user=P("to_user"),
        title=P("to_title"),
        system=P("to_system"),
        policy=P("to_policy"),
        context_window=P("to_window"),
        tools_tokens=P("to_tools"),
        version=chats.c.version + 1,
    )
)
_advance = Query(
    update(chats)
    .where(chats.c.key == P("of"), chats.c.version == P("expected"))
    .values(
        cursor=P("to_cursor"),
        version=chats.c.version + 1,
        folds=P("to_folds"),
        head_hash=P("to_hash"),
        marks=P("to_marks"),
    )
)
_bump = Query(update(chats).where(chats.c.key == P("of")).values(version=chats.c.version + 1))


def chat_by_id(connection: Connection, id: str) -> ChatRow | None:
    row = _chat_by_id(connection, id=id).fetchone() if storable(id) else None
    return ChatRow(*row) if row else None


def chat_by_key(connection: Connection, key: int) -> ChatRow | None:
    row = _chat_by_key(connection, key=key).fetchone()
    return ChatRow(*row) if row else None


def pulse(connection: Connection, key: int) -> tuple[int, int, int, str, int, int] | None:
    """Version, newest position, user messages and marks: what changes between two folds; the epoch, and what is noted."""
    row: tuple[int, int, int, str, int, int] | None = _pulse(connection, key=key).fetchone()
    return row


def all_chats(connection: Connection) -> list[ChatRow]:
    return [ChatRow(*row) for row in _all_chats(connection)]


def insert_chat(connection: Connection, **values: Any) -> int:
    return int(_insert_chat(connection, **values).fetchone()[0])


def family(connection: Connection, row: ChatRow) -> list[ChatRow]:
    """A chat with its branches, or a branch with the others and what they branched off."""
    return [ChatRow(*one) for one in _family(connection, root=row.root)]


def tenants(connection: Connection) -> list[str]:
    """Everybody who has a chat."""
    return [row[0] for row in _tenants(connection)]


def touch(connection: Connection, key: int, *, last_seq: int, users: int, marks: str) -> None:
    """Note what an add changed in the chat's row."""
    _touch(connection, of=key, to_seq=last_seq, to_users=users, to_marks=marks)


def set_chat(connection: Connection, row: ChatRow) -> None:
    """Write what a person may change about a chat."""
    _set_chat(
        connection, of=row.key, to_user=row.user, to_title=row.title, to_system=row.system, to_policy=row.policy,
        to_window=row.context_window, to_tools=row.tools_tokens,
    )  # fmt: skip


def advance(
    connection: Connection, key: int, *, expected: int, cursor: int, folds: int, head_hash: bytes, marks: str
) -> bool:
    """Compare-and-swap of the chat's memory; False when somebody else changed it since `expected`."""
    done = _advance(
        connection, of=key, expected=expected, to_cursor=cursor, to_folds=folds, to_hash=head_hash, to_marks=marks
    )
    return done.rowcount == 1


def bump(connection: Connection, key: int) -> None:
    """Tell everybody who cached this chat to read it again."""
    _bump(connection, of=key)


_deletes = [
    Query(delete(table).where(table.c.chat == P("of")))
    for table in (
        archives,
        prefixes,
        recall_blocks,
        mentions,
        leases,
        calls,
        events,
        pins,
        lines,
        folds,
        messages,
    )
]
_delete_chat = Query(delete(chats).where(chats.c.key == P("of")))
_part = Query(update(chats).where(chats.c.origin == P("of")).values(origin=None))


def delete_chat(connection: Connection, key: int) -> set[int]:
    """Remove a chat and all that belongs to it; whose knowledge has to be settled anew."""
    unsettled = said.forget_chat(connection, key)
    passages.take(connection, key)
    for query in (*_deletes, _part, _delete_chat):  # the key may be another chat's soon
        query(connection, of=key)
    return unsettled


# Messages ----------------------------------------------------------------------------------------------

_insert_message = inserting(messages)
_by_operator = Query(
    select(*_MESSAGE_COLUMNS)
    .where(messages.c.chat == P("of"), text("role IN ('system', 'developer')"), messages.c.seq <= P("upto"))
    .order_by(messages.c.seq.desc())
    .limit(P("most"))
)
_mark_key = Query(select(installation.c.value).where(installation.c.name == "mark"))
_by_id = Query(select(*_MESSAGE_COLUMNS).where(messages.c.chat == P("of"), messages.c.id == P("id")))
_between = Query(
    select(*_MESSAGE_COLUMNS)
    .where(messages.c.chat == P("of"), messages.c.seq.between(P("first"), P("last")))
    .order_by(messages.c.seq)
)
_apart_between = Query(
    select(messages.c.seq).where(
        messages.c.chat == P("of"), messages.c.seq.between(P("first"), P("last")), messages.c.apart == 1
    )
)
_at = Query(
    select(*_MESSAGE_COLUMNS).where(messages.c.chat == P("of"), among(messages.c.seq, "seqs")).order_by(messages.c.seq)
)
_last_user = Query(
    select(messages.c.seq)
    .where(messages.c.chat == P("of"), messages.c.role == "user")
    .order_by(messages.c.seq.desc())
    .limit(1)
)
_last_model = Query(
    select(messages.c.model_variant)
    .where(
        messages.c.chat == P("of"),
        messages.c.seq.between(P("first"), P("last")),
        messages.c.role == "assistant",
        messages.c.model_variant.is_not(None),
    )
    .order_by(messages.c.seq.desc())
    .limit(1)
)
_hashes = Query(
    select(messages.c.sha256)
    .where(messages.c.chat == P("of"), messages.c.seq.between(P("first"), P("last")))
    .order_by(messages.c.seq)
)
_ids = Query(
    select(messages.c.id)
    .where(messages.c.chat == P("of"), messages.c.seq.between(P("first"), P("last")))
    .order_by(messages.c.seq)
)
_stamps = Query(
    select(messages.c.seq, messages.c.id, messages.c.created_at).where(
        messages.c.chat == P("of"), among(messages.c.seq, "seqs")
    )
)
_checked = Query(
    select(*_MESSAGE_COLUMNS, messages.c.sha256).where(messages.c.chat == P("of")).order_by(messages.c.seq)
)
_users_until = Query(
    select(func.count()).where(messages.c.chat == P("of"), messages.c.seq <= P("last"), messages.c.role == "user")
)
_delete_messages = Query(delete(messages).where(messages.c.chat == P("of"), messages.c.seq > P("after")))
_delete_prefixes = Query(delete(prefixes).where(prefixes.c.chat == P("of"), prefixes.c.seq > P("after")))


def _messages(connection: Connection, key: int, rows: Sequence[Sequence[Any]]) -> list[Message]:
    """The messages of rows in order, whole wherever their words are kept."""
    archived = [row[4] for row in rows if row[8] == archive.ARCHIVED]
    held = archive.said(connection, key, archived) if archived else {}
    found: list[Message] = []
    for row in rows:
        try:
            found.append(_message(row, held))
        except (ValueError, TypeError, AttributeError):
            log.warning(
                "table messages, row %s of chat %s: message %s is damaged; it counts as unreadable",
                row[9],
                name_of(connection, key),
                row[4],
            )
            found.append(_unreadable(row))
    return found


def _unreadable(row: Sequence[Any]) -> Message:
    """What stands in the place of a damaged message."""
    role, id, seq, at = row[0], row[3], row[4], row[5]
    role, at = role if role in ROLES else "user", at if isinstance(at, int) else 0
    return Message(role, UNREADABLE, id=id, seq=seq, created_at=at, tokens=_mark_tokens(role, UNREADABLE))


def name_of(connection: Connection, key: int) -> str:
    """The id of a chat, for messages about it."""
    row = chat_by_key(connection, key)
    return row.id if row else f"#{key}"


def _message(row: Sequence[Any], held: Mapping[int, archive.Said]) -> Message:
    role, content, body, id, seq, created_at, model_variant, tokens, archived = row[:9]
    if archived:
        if seq not in held:
            text = REMOVED if archived == archive.REMOVED else UNREADABLE
            content, body, tokens = text, None, _mark_tokens(role, text)
        else:
            content, body = held[seq]
    if not isinstance(content, str) and (content is not None or body is None):
        raise ValueError("a message has a text or a body")
    if role not in ROLES or not isinstance(tokens, int) or not isinstance(created_at, int):
        raise ValueError("a message has a role, a count of tokens and a time")
    return load(role, content, body, id=id, seq=seq, created_at=created_at, model_variant=model_variant, tokens=tokens)


@functools.cache
def _mark_tokens(role: str, text: str) -> int:
    return message_tokens(Message(role, text))


def insert_message(connection: Connection, key: int, message: Message, apart: bool = False) -> None:
    _insert_message(
        connection,
        chat=key,
        seq=message.seq,
        id=message.id,
        role=message.role,
        content=message.content if isinstance(message.content, str) else None,
        body=message.body,
        model_variant=message.model_variant,
        created_at=message.created_at,
        tokens=message.tokens,
        sha256=message.sha256,
        archived=0,
        apart=int(apart),
    )


def message_by_id(connection: Connection, key: int, id: str) -> Message | None:
    row = _by_id(connection, of=key, id=id).fetchone() if storable(id) else None
    return _messages(connection, key, [row])[0] if row else None


def messages_between(connection: Connection, key: int, first: int, last: int) -> list[Message]:
    return _messages(connection, key, _between(connection, of=key, first=first, last=last).fetchall())


def apart_between(connection: Connection, key: int, first: int, last: int) -> set[int]:
    """Positions of messages whose words are to be known in no other chat."""
    return {row[0] for row in _apart_between(connection, of=key, first=first, last=last)}


def messages_at(connection: Connection, key: int, seqs: Sequence[int]) -> list[Message]:
    """The messages at some positions, in their order."""
    return _messages(connection, key, _at(connection, of=key, seqs=json.dumps(seqs)).fetchall())


def said_by_operator(connection: Connection, key: int, upto: int, most: int) -> list[Message]:
    """The newest messages of the operator up to a position, in their order."""
    return _messages(connection, key, _by_operator(connection, of=key, upto=upto, most=most).fetchall())[::-1]


def mark_key(connection: Connection) -> bytes:
    """The key that blocks in contexts are marked with."""
    row = _mark_key(connection).fetchone()
    return bytes(row[0]) if row else b""


def last_user_seq(connection: Connection, key: int) -> int:
    row = _last_user(connection, of=key).fetchone()
    return int(row[0]) if row else 0


def last_model(connection: Connection, key: int, first: int, last: int) -> str | None:
    """The model of the newest reply that names one, among the messages from one position to another."""
    row = _last_model(connection, of=key, first=first, last=last).fetchone()
    return str(row[0]) if row else None


def message_ids(connection: Connection, key: int, first: int, last: int) -> list[str]:
    return [row[0] for row in _ids(connection, of=key, first=first, last=last)]


def stamps(connection: Connection, key: int, seqs: Sequence[int]) -> dict[int, tuple[str, int]]:
    """Id and time of the messages at some positions: what archives need not be read for."""
    return {seq: (id, at) for seq, id, at in _stamps(connection, of=key, seqs=json.dumps(seqs))}


def message_hashes(connection: Connection, key: int, first: int, last: int) -> list[bytes]:
    return [row[0] for row in _hashes(connection, of=key, first=first, last=last)]


def checked_messages(connection: Connection, key: int) -> Iterator[tuple[Message, bytes, bool]]:
    """All messages of a chat with their stored hashes, and whether they were removed, one at a time."""
    rows = iter(_checked(connection, of=key))
    while some := list(islice(rows, archive.MOST)):
        for message, row in zip(_messages(connection, key, some), some, strict=True):
            yield message, row[10], row[8] == archive.REMOVED


def delete_messages_after(connection: Connection, key: int, seq: int) -> None:
    _delete_messages(connection, of=key, after=seq)
    delete_prefixes_after(connection, key, seq)
    archive.cut(connection, key, seq + 1)


def delete_prefixes_after(connection: Connection, key: int, seq: int) -> None:
    """Let no client be recognised by what it sends beyond a position."""
    _delete_prefixes(connection, of=key, after=seq)


def users_until(connection: Connection, key: int, seq: int) -> int:
    return int(_users_until(connection, of=key, last=seq).fetchone()[0])
