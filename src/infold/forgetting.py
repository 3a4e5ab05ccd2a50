"""Forgetting messages and people: taken out of the ledger and of everything that was made of it, for good."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from infold.errors import MessageError, NotFoundError
from infold.failpoints import reach
from infold.folding.evidence import forget_evidence
from infold.folding.gate import forget_bases
from infold.knowledge.noting import renote, repair, settle
from infold.ledger import derived, erasure, fold_rows, journal, prefixes, stated, store
from infold.ledger.query import Connection
from infold.ledger.rows import ChatRow, Event
from infold.lines.line import PERSON
from infold.marks import GONE
from infold.messages import Message
from infold.once import Forgetful
from infold.quiet import quiet
from infold.redaction import all_text, redacted, retold, trace, without_quotations
from infold.refolding import first_that_read, refold

if TYPE_CHECKING:
    from infold.chat import Chat
    from infold.memory import Memory
    from infold.state import State

_Cached = functools._lru_cache_wrapper
_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was forgotten, as numbers."""

    at: int
    """When, in milliseconds since 1970."""
    messages: int = 0
    """Messages whose words are gone; those that were forgotten before do not count."""
    folds: int = 0
    """Folds that were made again from what is left; for a user, those that were removed."""
    items: int = 0
    """Lines of memory, past ones too, that were removed; what the folds made again is not counted."""
    facts: int = 0
    """Facts that nothing states any more."""
    mentions: int = 0
    """Mentions of entities that were removed, those set by hand that say what a message said too."""
    blocks: int = 0
    """Blocks of the recall index that were removed."""
    events: int = 0
    """Events that may have quoted messages: the quotations were removed; for a user, the events."""
    pins: int = 0
    """Pins that were removed because they say, in any words, what a message said."""
    chats: int = 0
    """Chats that were removed."""
    clean: bool = True
    """Whether the database file was written anew too. False where another process kept it from that, or the disk was full:
    then bytes may be left in the file's free space, or in its log, until the next forgetting or VACUUM."""
    titles: int = 0
    """Titles of chats that were removed because they say, in any words, what a message said."""


def forget_messages(memory: Memory, chat: Chat, key: int, ids: Sequence[str]) -> Receipt:
    """Forget messages of a chat, all in one transaction."""
    clock = memory.clockwork
    if any(not isinstance(id, str) for id in ids):
        raise MessageError('forget takes the ids of messages: chat.forget("m1", "m2"), or chat.forget(*ids)')
    events: list[Event] = []
    with chat.writing() as (connection, state):
        known = [_known(connection, key, id) for id in dict.fromkeys(ids)]
        fresh = [message for message in known if redacted(message) != message]
        receipt = Receipt(clock.now())
        if fresh:
            receipt = _forget(memory, connection, state, fresh, receipt)
            counts = {name: n for name, n in asdict(receipt).items() if name not in ("at", "chats", "clean")}
            told = {**counts, "messages": [message.id for message in fresh]}
            events.append(Event("forgotten", receipt.at, told, state.row.id))
            journal.insert_event(connection, key, events[0])
            reach("forget.recorded")
        chat.cache = None
    reach("forget.committed")
    _forget_cached(memory, key, chat.id)
    receipt = replace(receipt, clean=memory.database.scrub() if known else True)
    memory.emit(events)
    return receipt


def forget_copies(memory: Memory, chat: Chat, ids: Sequence[str], receipt: Receipt) -> Receipt:
    """Forget the same messages in the branches of a chat; the receipt for all of it."""
    with memory.database.read() as connection:
        row = store.chat_by_key(connection, chat.key)
        others = [one.id for one in store.family(connection, row) if one.key != chat.key] if row else []
    for other in others:
        copy = memory.find(other)
        if copy is None:
            continue
        with copy.reading() as (connection, _):
            held = [id for id in ids if store.message_by_id(connection, copy.key, id) is not None]
        if held:
            more = forget_messages(memory, copy, copy.key, held)
            counts = {
                name: value + getattr(receipt, name)
                for name, value in asdict(more).items()
                if name not in ("at", "clean")
            }
            receipt = replace(receipt, clean=receipt.clean and more.clean, **counts)
    return receipt


def _known(connection: Connection, key: int, id: str) -> Message:
    message = store.message_by_id(connection, key, id)
    if message is None:
        raise NotFoundError(f"this chat has no message {id[:200]!r}; nothing was forgotten. chat.messages() lists them")
    return message


def _forget(memory: Memory, connection: Connection, state: State, gone: Sequence[Message], receipt: Receipt) -> Receipt:
    key, seqs = state.row.key, [message.seq for message in gone]
    for message in gone:
        erasure.redact(connection, key, redacted(message))
    reach("forget.redacted")
    said = [all_text(message) for message in gone if message.content not in GONE]
    pins, titles, by_hand = _retold(connection, state.row, said)
    for event, word in journal.words(connection, state.row):
        if set(seqs) & {*word.line.sources} or retold([word.text, word.line.text], said, ()):
            journal.delete_event(connection, event)
    facts, mentions = renote(connection, state.row, seqs)
    blocks = erasure.delete_blocks_of(connection, key, seqs)
    events = erasure.change_events(connection, key, without_quotations)
    folds = fold_rows.all_folds(connection, key)
    by_people = [line.fold for line in state.lines if line.author == PERSON and set(seqs) & {*line.sources}]
    n = min([*filter(None, [first_that_read(folds, seqs)]), *by_people], default=None)
    items = rebuilt = 0
    if n is not None:
        items = erasure.lines_since(connection, key, n)
        rebuilt = refold(connection, state, folds, n, memory.clockwork)
        reach("forget.refolded")
        _, damaged = stated.of_chat(connection, key)
        if damaged:  # nobody knows whose words they hold
            repair(connection, damaged)
    prefixes.forget(connection, key, {message.seq: trace(message) for message in gone})
    erasure.empty_answers(connection)
    store.bump(connection, key)
    derived.next_epoch(connection, key)
    return replace(
        receipt, messages=len(gone), folds=rebuilt, items=items, facts=facts, mentions=mentions + by_hand,
        blocks=blocks, events=events, pins=pins, titles=titles,
    )  # fmt: skip


def _retold(connection: Connection, row: ChatRow, said: Sequence[str]) -> tuple[int, int, int]:
    """Remove what people wrote beside the messages and that tells what was forgotten: pins, the title, entities set by hand;
    how many of each."""
    pins = journal.pin_texts(connection, row.key)
    title = {row.title} if row.title else set()
    told = retold({*pins.values(), *title}, said, _kept(connection, [row.key]))
    gone = [id for id, text in pins.items() if text in told]
    for id in gone:
        journal.delete_pin(connection, row.key, id)
    if title & told:
        erasure.remove_title(connection, row.key)
    entities = erasure.made_by_hand(connection, row.key, row.user)
    every = dict.fromkeys([row.key, *(derived.chats_of_user(connection, row.user) if row.user else ())])
    told_of = retold(entities.values(), said, _kept(connection, every))
    by_hand = [one for one, words in entities.items() if words in told_of]
    for one in by_hand:
        erasure.delete_mention(connection, one)
    return len(gone), len(title & told), len(by_hand)


def _kept(connection: Connection, keys: Iterable[int]) -> Iterator[str]:
    """What the messages that stay say, in some chats."""
    for key in keys:
        first = 1
        while some := store.messages_between(connection, key, first, first + _AT_ONCE - 1):
            yield from (all_text(message) for message in some if message.content not in GONE)
            first = some[-1].seq + 1


def forget_user(memory: Memory, user: str) -> Receipt:
    """Forget a user: every chat, and what was set by hand."""
    with memory.database.read() as connection:
        rows = _chats_of(connection, user)
    for row in rows:  # a fold that is being written would have nowhere to go
        memory.background.settle(f"{row.id} #{row.key}")
    sums: dict[str, int] = {}
    unsettled: set[int] = set()
    with memory.database.write() as connection:
        rows = _chats_of(connection, user)
        for row in rows:
            for name, count in erasure.counted(connection, row.key).items():
                sums[name] = sums.get(name, 0) + count
            unsettled |= store.delete_chat(connection, row.key)
            reach("forget.deleted")
        by_hand = erasure.delete_mentions_by_hand(connection, user)
        known = stated.user(connection, user)
        for owner in sorted(unsettled - {known.key if known else 0}):
            settle(connection, owner)
        stated.delete_user(connection, user)
        erasure.empty_answers(connection)
    for row in rows:
        _forget_cached(memory, row.key, row.id)
    if not rows:
        _forget_cached(memory, 0, "")
    return Receipt(
        memory.clockwork.now(),
        messages=sums.get("messages", 0),
        folds=sums.get("folds", 0),
        items=sums.get("lines", 0),
        facts=sums.get("stated", 0),
        mentions=sums.get("mentions", 0) + by_hand,
        blocks=sums.get("recall_blocks", 0),
        events=sums.get("events", 0),
        pins=sums.get("pins", 0),
        chats=len(rows),
        clean=memory.database.scrub(),
    )


def _chats_of(connection: Connection, user: str) -> list[ChatRow]:
    """The chats of a user, and those of their branches that are nobody's."""
    rows = (store.chat_by_key(connection, key) for key in derived.chats_of_user(connection, user))
    families = (store.family(connection, row) for row in rows if row is not None)
    found = {one.key: one for family in families for one in family if one.user in (user, None)}
    return list(found.values())


def _forget_cached(memory: Memory, key: int, chat: str) -> None:
    """Drop what this process keeps in memory of a chat; other handles and processes notice by themselves."""
    memory.answers.forget(chat)
    memory.knowledge.forget(key)
    memory.recaller.forget(key)
    quiet.clear()
    forget_bases()
    forget_evidence()
    for name, module in sys.modules.copy().items():  # other threads may import meanwhile; a copy is made in one go
        if name.startswith("infold."):
            for value in vars(module).copy().values():
                if isinstance(value, Forgetful):
                    value.clear()
                # Those without a bound keep what belongs to infold, not what passes through it.
                if isinstance(value, _Cached) and value.cache_parameters()["maxsize"] is not None:
                    value.cache_clear()
