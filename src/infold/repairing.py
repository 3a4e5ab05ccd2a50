"""Memory that was damaged in the database, made again from the messages."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from infold.committing import EXTRACTIVE, GENESIS, fold_hash, noted, removed_by
from infold.errors import ConfigError
from infold.knowledge.noting import renote
from infold.ledger import archive, derived, fold_rows, store
from infold.ledger.query import Connection
from infold.ledger.rows import Event, FoldRow
from infold.lines.line import PERSON, Line
from infold.refolding import refold, with_superseded

if TYPE_CHECKING:
    from infold.chat import Chat
    from infold.memory import Memory

log = logging.getLogger("infold")

EVENT = "repaired"


def repair(memory: Memory, chat: Chat) -> int:
    """Fold again, without a model, from the first fold on whose lines are not as it wrote them; how many folds.

    0 where nothing is damaged, or where the messages that it rests on were removed or changed: what is left stays.
    """
    events: list[Event] = []
    with chat.writing() as (connection, state):
        key = state.row.key
        folds = fold_rows.all_folds(connection, key)
        broken = _first_broken(connection, key, folds)
        if broken is None:
            return 0
        n = with_superseded(folds, broken)
        first = min((fold.first_seq for fold in folds if fold.n >= n and fold.first_seq), default=0)
        if not first or not _is_whole(connection, key, first, state.row.cursor):
            log.warning("memory of chat %s is damaged from fold %d on, and its messages are not all there", chat.id, n)
            return 0
        again = refold(connection, state, folds, n, memory.clockwork)
        events.append(noted(connection, state, EVENT, {"fold": n, "folds": again}, memory.clockwork))
        chat.cache = None
    log.warning("memory of chat %s was damaged; %d folds were made again from the messages", chat.id, again)
    memory.emit(events)
    return again


def rebuild(memory: Memory, chat: Chat, force: bool) -> int:
    """Write all lines of a chat anew from its messages, without a model; how many folds were made again."""
    with chat.writing() as (connection, state):
        key = state.row.key
        folds = fold_rows.all_folds(connection, key)
        if not force:
            _refuse(connection, key, state.row.cursor, folds)
        there = [m.seq for m, _, removed in store.checked_messages(connection, key) if not removed]
        renote(connection, state.row, [seq for seq in there if seq <= state.row.read_to])
        again = refold(connection, state, folds, 1, memory.clockwork) if state.row.cursor else 0
        derived.next_epoch(connection, key)
        events = [noted(connection, state, "rebuilt", {"folds": again, "forced": force}, memory.clockwork)]
        chat.cache = None
    memory.emit(events)
    return again


def _refuse(connection: Connection, key: int, cursor: int, folds: Sequence[FoldRow]) -> None:
    """Keep what could not be made again from being thrown away."""
    if archive.last_removed(connection, key, 1, max(1, cursor)):
        raise ConfigError(
            "messages of this chat were removed: memory is all that is left of them; force=True (--force) rebuilds without"
        )
    if any(fold.author not in (EXTRACTIVE, PERSON) and fold.superseded_by is None for fold in folds):
        raise ConfigError("a model wrote memory of this chat: force=True (--force) puts quotations in its place")


def _first_broken(connection: Connection, key: int, folds: Sequence[FoldRow]) -> int | None:
    """The first fold whose lines, or whose own row, are not what its hash says."""
    written: dict[int, list[Line]] = {}
    ended: dict[int, list[str]] = {}
    unread: list[int] = []
    for line, born, died in fold_rows.stored_lines(connection, key):
        if line is None:
            unread.append(born)
            continue
        written.setdefault(born, []).append(line)
        if died is not None:
            ended.setdefault(died, []).append(line.id)
    link = GENESIS
    for fold in folds:
        link = fold_hash(link, fold, written.get(fold.n, []))
        sound = sorted(ended.get(fold.n, [])) == removed_by(fold)
        if link != fold.hash or not sound:
            return min([fold.n, *unread])
    return min(unread, default=None)


def _is_whole(connection: Connection, key: int, first: int, last: int) -> bool:
    """Whether messages can still be read as they were said."""
    return all(
        not removed and message.sha256 == stored
        for message, stored, removed in store.checked_messages(connection, key)
        if first <= message.seq <= last
    )
