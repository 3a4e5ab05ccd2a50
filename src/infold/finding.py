"""One search over messages, facts, summaries and entities; and what searches and lists hand out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from infold.errors import ConfigError, MessageError, NotFoundError
from infold.knowledge.entity import KINDS as ENTITY_KINDS
from infold.knowledge.entity import STATUSES, Entity, Mention, Reference, key_of
from infold.knowledge.joining import resolve
from infold.knowledge.relevance import Entities
from infold.ledger import derived, fold_rows, mentions, store
from infold.lines.line import CURRENT, FACT, Line
from infold.messages import milliseconds, parse
from infold.recall.hits import KINDS, Hit
from infold.sayings import text_of

if TYPE_CHECKING:
    from infold.ledger.query import Connection
    from infold.ledger.rows import ChatRow
    from infold.memory import Memory

MOST = 1000
"""Hits that a search gives at most."""
_NEWEST = 5000  # facts, lines and entities that are searched whatever they say; of older ones,
_SHARING = 500  # so many that share most words with the query


Said = tuple[str, str, str, str, str, Sequence[str]]
"""Kind, name, status, due date, owner and links of an entity, as a caller gives them."""


def put_entity(memory: Memory, connection: Connection, user: str | None, row: ChatRow | None, said: Said) -> Entity:
    """Note what was set by hand for an entity of a user, or of a chat without one."""
    _check_entity(*said)
    kind, name, status, due, owner, links = said
    mention = Mention(kind, name, status, due, owner, tuple(sorted(set(links))), memory.clockwork.now(), by_hand=True)
    mentions.note_mentions(connection, row.key if row and not user else None, user, [mention])
    every = list(_entities(memory, connection, user, row))
    # It may have joined another one that was said in other words: that one carries the newest moment.
    own = key_of(kind, name)
    return next((one for one in every if one.id == own), None) or next(one for one in every if one.kind == kind)


def take_entity(memory: Memory, connection: Connection, user: str | None, row: ChatRow | None, id: str) -> None:
    """Remove every mention of an entity."""
    entity = next((one for one in _entities(memory, connection, user, row) if one.id == id), None)
    if entity is None:
        raise NotFoundError(f"there is no entity {id!r}; list them to see their ids")

    known = Mention(entity.kind, entity.name)

    def same(kind: str, name: str) -> bool:
        return kind == entity.kind and len(resolve([known, Mention(kind, name, at=1)])) == 1

    mentions.delete_mentions(connection, row.key if row and not user else -1, user, same)
    for key in derived.chats_of_user(connection, user) if user else [row.key] if row else []:
        store.bump(connection, key)
        derived.next_epoch(connection, key)


def _entities(memory: Memory, connection: Connection, user: str | None, row: ChatRow | None) -> Entities:
    known = memory.knowledge
    return (known.entities_for(connection, row) if row else known.entities_of_user(connection, user or "")).entities


def _check_entity(kind: object, name: object, status: object, due: object, owner: object, links: object) -> None:
    """What a caller says of an entity, if it makes sense."""
    if kind not in ENTITY_KINDS:
        raise ConfigError(f"unknown kind of entity {kind!r}: use one of {', '.join(ENTITY_KINDS)}")
    for value, what in ((name, "name"), (owner, "owner")):
        if not isinstance(value, str) or len(value) > 500 or "\0" in value:
            raise ConfigError(f"the {what} of an entity must be a text of at most 500 characters")
    if not isinstance(name, str) or not name.strip():
        raise ConfigError("an entity needs a name")
    if status and status not in STATUSES:
        raise ConfigError(f"unknown status {status!r}: use one of {', '.join(STATUSES)}")
    if due and not _is_date(due):
        raise ConfigError(f"due must be a date such as 2026-12-01, not {due!r}")
    if isinstance(links, str) or not isinstance(links, Sequence) or not all(isinstance(one, str) for one in links):
        raise ConfigError("links must be a list of names of other entities")


def find(
    memory: Memory,
    query: str,
    *,
    user: str | None = None,
    chat: str | None = None,
    limit: int,
    kinds: Sequence[str],
    since: int | str | datetime | None,
    until: int | str | datetime | None,
) -> list[Hit]:
    """What answers a query, best first: in one chat, or in all chats of a user."""
    kinds = _checked(query, limit, kinds)
    first, end = _moment(since, "since"), _moment(until, "until")
    with memory.database.read() as connection:
        row: ChatRow | None = None
        if chat is not None:
            row = store.chat_by_id(connection, chat)
            if row is None or (user is not None and row.user != user):
                raise NotFoundError(f"there is no chat {chat!r}" + (f" of the user {user!r}" if user else ""))
        key = row.key if row else None
        texts = _texts(memory, connection, kinds, row, user or "", first, end)
    at = memory.clockwork.now()
    hits: list[Hit] = []
    if "message" in kinds:
        hits += _messages(memory, query, key, user, at, limit, first, end)
    for some in (texts[:_NEWEST], _sharing(query, texts[_NEWEST:])):
        if some:
            found = memory.recaller.search_texts(query, [(hit.text, hit.at) for hit in some], at=at, most=limit)
            hits += [_scored(some[number], score) for number, score in found]
    hits.sort(key=lambda hit: (-hit.score, KINDS.index(hit.kind), -hit.at, hit.chat, -hit.seq, hit.id))
    return hits[:limit]


def _checked(query: object, limit: object, kinds: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(query, str) or not query.strip():
        raise MessageError("recall needs a query: a text that is not empty")
    parse({"role": "user", "content": query})  # what no message may hold, no question may
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST:
        raise ConfigError(f"limit must be a whole number from 1 to {MOST}, not {limit!r}")
    if not isinstance(kinds, Sequence):
        raise ConfigError(f"kinds must be some of {', '.join(KINDS)}, not {kinds!r}")
    wanted = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    for kind in wanted:
        if kind not in KINDS:
            raise ConfigError(f"unknown kind {kind!r}: use some of {', '.join(KINDS)}")
    return wanted


def _moment(value: int | str | datetime | None, what: str) -> int | None:
    try:
        return None if value is None else milliseconds(value)
    except MessageError:
        raise ConfigError(f"{what} must be a time such as 2026-05-01, not {value!r}") from None


def _is_date(value: object) -> bool:
    try:
        return isinstance(value, str) and len(value) == 10 and bool(date.fromisoformat(value))
    except ValueError:
        return False


def _scored(hit: Hit, score: float) -> Hit:
    return Hit(hit.kind, hit.text, hit.at, hit.chat, hit.sources, score, id=hit.id)


def _messages(
    memory: Memory,
    query: str,
    key: int | None,
    user: str | None,
    at: int,
    limit: int,
    since: int | None,
    until: int | None,
) -> list[Hit]:
    found = memory.recaller.search(
        query,
        chat=key,
        user=user,
        at=at,
        asker="user",
        most=limit,
        since=since,
        until=until,
    )
    with memory.database.read() as connection:
        names = {
            chat: row.id for chat in {one.chat for one in found.ranked} if (row := store.chat_by_key(connection, chat))
        }
    hits: list[Hit] = []
    for one in found.ranked:
        if one.chat not in names:
            continue
        message = found.messages[one.chat, one.seq]
        text = text_of(message)
        part = text[one.start : one.end]
        whole, chat = len(part) == len(text), names[one.chat]
        hits.append(
            Hit(
                "message",
                part,
                message.created_at,
                chat,
                (Reference(chat, one.seq, message.id),),
                one.score,
                one.speaker,
                one.seq,
                whole,
                message.id,
            )
        )
    return hits


def _texts(
    memory: Memory,
    connection: Connection,
    kinds: tuple[str, ...],
    row: ChatRow | None,
    user: str,
    since: int | None,
    until: int | None,
) -> list[Hit]:
    """Facts, lines of summaries and entities as what may be found: of a chat, or of a user."""
    knowledge, pulse = memory.knowledge, (row.key, row.version, row.epoch) if row else ()
    facts, entities = None, None
    if "fact" in kinds:
        facts = knowledge.facts_of_chat(connection, row) if row else knowledge.facts_of_user(connection, user)
    if "entity" in kinds:  # they belong to the chat's user
        entities = _entities(memory, connection, user, row)
    if "summary" in kinds and not row:
        pulse = (connection.tenant, user, *derived.user_pulse(connection, user))

    def make() -> list[Hit]:
        found = [_fact(connection, fact) for fact in (facts.facts if facts else ())]
        found += [_entity(entities, one) for one in entities] if entities else []
        if "summary" in kinds:
            for key in [row.key] if row else derived.shared_chats(connection, user):
                found += _lines(connection, key, "fact" in kinds)
        found.sort(key=lambda hit: (-hit.at, hit.kind, hit.id))
        return [hit for hit in found if (since is None or hit.at >= since) and (until is None or hit.at < until)]

    if set(kinds) <= {"message"}:
        return []
    return knowledge.listed((facts, entities), (entities and entities.version, pulse, kinds, since, until), make)


def _sharing(query: str, texts: Sequence[Hit]) -> list[Hit]:
    """Those that have most of a query's words in any form, of equals the first."""
    from infold.recall.words import root, words

    forms = {min(root(word), word, key=len) for word in words(query)} if texts else set()
    shared = [(sum(form in text for form in forms), hit) for hit in texts for text in [hit.text.casefold()]]
    best = sorted((one for one in shared if one[0]), key=lambda one: -one[0])
    return [hit for _, hit in best[:_SHARING]]


def _fact(connection: Connection, fact: Line) -> Hit:
    row = store.chat_by_id(connection, fact.chat)
    known = store.stamps(connection, row.key, fact.sources) if row else {}
    sources = tuple(Reference(fact.chat, seq, known[seq][0]) for seq in fact.sources if seq in known)
    note = "" if fact.status == CURRENT else f" ({fact.status})"
    return Hit("fact", fact.shown + note, fact.said_at, fact.chat, sources, 0.0, id=fact.id)


def _entity(entities: Entities, entity: Entity) -> Hit:
    chat = entity.sources[-1][0] if entity.sources else ""
    return Hit("entity", entities.line(entity), entity.last_at, chat, entity.sources, 0.0, id=entity.id)


def _lines(connection: Connection, key: int, with_facts: bool) -> list[Hit]:
    row = store.chat_by_key(connection, key)
    if row is None:
        return []
    found: list[Hit] = []
    for line in fold_rows.alive_lines(connection, key):
        if line.layer == FACT and with_facts:
            continue
        known = store.stamps(connection, key, line.sources)
        said = [(Reference(row.id, seq, known[seq][0]), known[seq][1]) for seq in line.sources if seq in known]
        at = max((at for _, at in said), default=row.created_at)
        found.append(Hit("summary", line.shown, at, row.id, tuple(one for one, _ in said), 0.0, id=line.id))
    return found
