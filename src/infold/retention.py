"""Retention: what old messages said goes to an archive, or goes for good, once memory covers it."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from infold.committing import noted
from infold.errors import ConfigError, DatabaseError
from infold.failpoints import reach
from infold.folder import unwritten
from infold.ledger import archive, derived, erasure, store
from infold.ledger.query import Connection
from infold.ledger.rows import ChatRow, Event
from infold.marks import UNREADABLE
from infold.messages import Message
from infold.state import State, asked, load
from infold.units import unit_slices

if TYPE_CHECKING:
    from infold.memory import Memory

log = logging.getLogger("infold")

ARCHIVE, REMOVE = MODES = ("archive", "remove")
EVENT = "memory_compaction_completed"
BATCH = 2048
"""Messages that one transaction looks at."""
_AROUND = 256  # messages looked at before and after, for the units that reach there
_MOST_FAILURES = 3  # chats in a row that the database fails for
_DAY = 24 * 3600 * 1000
MOST_DAYS = 100_000
"""Most days that messages can be told to stay."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """What a compaction did, or would do, as numbers."""

    mode: str
    """"archive" or "remove"."""
    days: int
    dry_run: bool
    """Nothing was changed: this is what a compaction would do."""
    chats: int = 0
    """Chats with messages that were compacted."""
    messages: int = 0
    """Messages that were compacted."""
    archives: int = 0
    """Archives that were made."""
    bytes_before: int = 0
    """What the messages said, in bytes."""
    bytes_after: int = 0
    """The same in archives."""
    skipped_unfolded: int = 0
    """Old messages that stay because memory does not cover them yet."""
    skipped_upgrade: int = 0
    """Old messages that stay because a model has still to read them."""
    failed: int = 0
    """Chats of which not all that is due was compacted, as something failed; the log has the errors."""
    clean: bool = True
    """Whether the database file was written anew after removing. False where another process kept it from that: then bytes
    may be left in the file's free space, or in its log, until the next time."""


@dataclass(frozen=True, slots=True)
class _Order:
    """What is asked for."""

    mode: str
    days: int
    dry_run: bool
    before: int


@dataclass(frozen=True, slots=True)
class _Batch:
    """What one transaction takes out of a chat."""

    runs: Sequence[Sequence[Message]]
    """Messages that follow each other: an archive each."""
    next: int | None
    """Where the next transaction goes on; None where nothing is left."""


def compact(memory: Memory, *, days: int, mode: str, dry_run: bool, now: int) -> Compaction:
    """Archive or remove what the chats of a memory said more than so many days before `now`."""
    if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= MOST_DAYS:
        raise ConfigError(f"days must be a whole number from 1 to {MOST_DAYS:,}, not {days!r}")
    if mode not in MODES:
        raise ConfigError(f'mode must be "archive" or "remove", not {mode!r}')
    order = _Order(mode, days, dry_run, now - days * _DAY)
    total = Compaction(mode, days, dry_run)
    with memory.database.read() as connection:
        rows = store.all_chats(connection)
    in_a_row = 0
    for row in rows:
        try:
            total = _sum(total, _compact_chat(memory, row, order))
            in_a_row = 0
        except Exception as error:  # what is wrong with one chat shall not keep the others
            in_a_row += isinstance(error, DatabaseError)
            if in_a_row == _MOST_FAILURES:  # the database is away
                raise
            log.warning("chat %r was not compacted (%s)", row.id, type(error).__name__)
            log.debug("not compacted", exc_info=True)
            total = replace(total, failed=total.failed + 1)
    if total.messages and mode == REMOVE and not dry_run:
        total = replace(total, clean=memory.database.scrub())
    return total


def _sum(total: Compaction, more: Compaction) -> Compaction:
    counts = {name: getattr(total, name) + n for name, n in asdict(more).items() if name not in _GIVEN}
    return replace(total, **counts)


_GIVEN = ("mode", "days", "dry_run", "clean")


def _compact_chat(memory: Memory, row: ChatRow, order: _Order) -> Compaction:
    done = Compaction(order.mode, order.days, order.dry_run)
    key, database = row.key, memory.database
    with database.read() as connection:  # most chats have nothing old
        if archive.next_old(connection, key, order.before, 1, archive.END) is None:
            return done
    first: int | None = 1
    skipped = 0, 0
    while first is not None:
        events: list[Event] = []
        with database.read() if order.dry_run else database.write() as connection:
            state = load(connection, key, None)
            if state is None or state.row.id != row.id:  # deleted meanwhile
                break
            if state.policy_damaged:  # it may say that a model has still to read what is old
                raise ConfigError(f"the policy of chat {row.id!r} is damaged; chat.set_policy sets another one")
            last, skipped = _limits(memory, connection, state, order)
            batch = _batch(connection, state, first, last, order)
            packed = [_packed(run) if order.mode == ARCHIVE else b"" for run in batch.runs]
            made = Compaction(
                order.mode, order.days, order.dry_run,
                messages=sum(map(len, batch.runs)),
                archives=len(packed) if order.mode == ARCHIVE else 0,
                bytes_before=sum(_size(message) for run in batch.runs for message in run),
                bytes_after=sum(map(len, packed)),
            )  # fmt: skip
            if made.messages and not order.dry_run:
                events = [_write(memory, connection, state, batch.runs, packed, made)]
        reach("compact.committed")
        memory.emit(events)
        done = _sum(done, made)
        first = batch.next
    done = replace(done, chats=int(done.messages > 0), skipped_unfolded=skipped[0], skipped_upgrade=skipped[1])
    if done.messages and order.mode == REMOVE and not order.dry_run:
        memory.recaller.forget(key)
        memory.background.submit(f"{row.id} #{key} (index)", functools.partial(memory.recaller.index, key))
    return done


def _limits(memory: Memory, connection: Connection, state: State, order: _Order) -> tuple[int, tuple[int, int]]:
    """The last message that may go; and how many old ones may not, for they are not folded, or a model has to read them."""
    row = state.row
    last = covered = min(row.cursor, row.read_to)
    if memory.writes and memory.authors(state.stored):
        last = min(covered, unwritten(connection, state)[1] - 1)
    unfolded = archive.count_old(connection, row.key, order.before, covered + 1, archive.END)
    upgrade = archive.count_old(connection, row.key, order.before, last + 1, covered)
    return last, (unfolded, upgrade)


def _batch(connection: Connection, state: State, first: int, last: int, order: _Order) -> _Batch:
    """The old units among first..last, whole ones alone; as many as one transaction should take."""
    key = state.row.key
    old = archive.next_old(connection, key, order.before, first, last)
    if old is None:
        return _Batch((), None)
    begins = max(first, old - _AROUND)
    ends = begins + BATCH + 2 * _AROUND
    while True:
        messages = store.messages_between(connection, key, begins, ends)
        units = unit_slices(messages)
        if messages[-1].seq < state.row.last_seq:  # the last one may reach further
            units.pop()
        if units:
            break
        ends += BATCH
    here = archive.here(connection, key, begins, ends)
    shown = {message.seq for message in asked(connection, state)}
    taken: list[list[Message]] = []
    for unit in units:
        if unit[-1].seq > last:
            break
        is_old = max(message.created_at for message in unit) < order.before
        if is_old and not any(message.seq in shown for message in unit):
            sound = [message for message in unit if message.content != UNREADABLE]  # of others, the row is all there is
            taken.append([message for message in sound if message.seq in here])
    end = units[-1][-1].seq
    return _Batch(_runs(taken), end + 1 if end < last else None)


def _runs(units: Sequence[Sequence[Message]]) -> list[list[Message]]:
    """Messages that follow each other, as many as an archive should have."""
    runs: list[list[Message]] = []
    for unit in units:
        fits = bool(runs) and len(runs[-1]) + len(unit) <= archive.MOST
        for message in unit:
            if runs and runs[-1][-1].seq + 1 == message.seq and (fits or message is not unit[0]):
                runs[-1].append(message)
            else:
                runs.append([message])
    return runs


def _columns(message: Message) -> archive.Said:
    return message.content if isinstance(message.content, str) else None, message.body


def _size(message: Message) -> int:
    return sum(len(text.encode()) for text in _columns(message) if text)


def _packed(run: Sequence[Message]) -> bytes:
    return archive.pack({message.seq: _columns(message) for message in run})


def _write(
    memory: Memory,
    connection: Connection,
    state: State,
    runs: Sequence[Sequence[Message]],
    packed: Sequence[bytes],
    made: Compaction,
) -> Event:
    key, archived = state.row.key, made.mode == ARCHIVE
    for run, data in zip(runs, packed, strict=True):
        first, last = run[0].seq, run[-1].seq
        if archived:
            archive.put(connection, key, first, last, data, memory.clockwork.now())
        reach("compact.archived")
        archive.take(connection, key, first, last, archive.ARCHIVED if archived else archive.REMOVED)
        reach("compact.taken")
    if not archived:  # nobody may find them any more
        erasure.delete_blocks_of(connection, key, [message.seq for run in runs for message in run])
        derived.next_epoch(connection, key)
    told = {
        name: getattr(made, name) for name in ("mode", "days", "messages", "archives", "bytes_before", "bytes_after")
    }
    event = noted(connection, state, EVENT, told, memory.clockwork)
    reach("compact.recorded")
    return event
