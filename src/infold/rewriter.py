"""Folding with a summarizer: in line or in the background, never in the way, never at the price of a message."""

from __future__ import annotations

import os
import platform
import secrets
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from infold.committing import EXTRACTIVE, Clockwork, LostRaceError, noted
from infold.errors import DatabaseError, InfoldError, SummarizerError, sanitized
from infold.failpoints import reach
from infold.folder import (
    Request,
    fold_instantly,
    fold_written,
    request,
    unwritten,
)
from infold.ledger import calls as store
from infold.ledger.erasure import last_forgetting
from infold.ledger.query import Connection
from infold.ledger.rows import Event
from infold.lines.line import FACT, FURTHER
from infold.models.errors import TransportError
from infold.policy import Policy
from infold.quiet import quiet
from infold.state import State, note_marks
from infold.triggers import Marks, Plan, decide, forced, tighter
from infold.units import splits_unit, turn_starts, turns
from infold.writing import Log, NobodyLeftError, Writer

if TYPE_CHECKING:
    from infold.authors import Author
    from infold.chat import Chat
    from infold.memory import Memory


MOST_AT_ONCE = 256
"""Messages that a fold after a reply takes: a client may bring thousands at once, and nobody is to wait for all of them."""


def _planned(state: State) -> tuple[Plan | None, Marks]:
    """What the triggers ask for. Of very many messages it is the oldest turns, and the triggers are asked again then."""
    plan, marks = decide(state.policy, state.situation())
    if plan is not None and plan.reason == "batch":  # one batch a time: the next may be due already
        rest = sum(turn.complete for turn in turns(state.messages[plan.cut :]))
        return plan, state.marks if rest >= state.policy.batch_at else marks
    if plan is None or plan.cut <= MOST_AT_ONCE or state.policy.unit != "turn":  # others make room until the rest fits
        return plan, marks
    some = state.messages[: plan.cut]
    ends = (at for at in reversed(turn_starts(some)) if 0 < at <= MOST_AT_ONCE)
    cut = next((at for at in ends if not splits_unit(some, some[at - 1].seq)), None)
    return (plan, marks) if cut is None else (replace(plan, cut=cut), state.marks)


class Lease:
    """The right to fold one chat with a summarizer: one holder at a time, across processes, until it runs out."""

    def __init__(self, chat: Chat, clock: Clockwork, term: int) -> None:
        self._chat = chat
        self._clock = clock
        self._term = term
        self._owner = f"{platform.node()}/{os.getpid()}/{secrets.token_hex(4)}"
        self._held = False

    def take(self, connection: Connection, state: State) -> bool:
        """Get or keep it; False while somebody else has it."""
        now = self._clock.now()
        self._held = store.take_lease(connection, state.row.key, self._owner, now, now + self._term, _is_gone)
        return self._held

    def renew(self) -> None:
        with self._chat.writing() as (connection, state):
            self.take(connection, state)

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *error: object) -> None:
        if self._held:
            with suppress(InfoldError), self._chat.writing() as (connection, state):
                store.end_lease(connection, state.row.key, self._owner)


def _is_gone(owner: str) -> bool:
    """Whether the holder of a lease was a process of this machine that is no more."""
    node, pid, _ = owner.rsplit("/", 2)
    if node != platform.node():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):
        return False
    return False


@dataclass(slots=True)
class Tried:
    """What a chat remembers of its summarizers."""

    authors: tuple[Policy | None, tuple[Author, ...]] = None, ()
    """Who writes its summaries, by the policy beside them."""
    stuck: int = -1
    """Version of memory at which nobody could write what was due: trying again is useless until it changes."""


class Rewriter:
    """Makes the folds of one chat that are not made inside an add. Made anew for each: a chat that kept one would be kept by
    it, too, and its memory would not be free again when it is let go."""

    __slots__ = ("_chat", "_memory", "_tried", "_wait")

    def __init__(self, memory: Memory, chat: Chat, wait: bool, tried: Tried) -> None:
        self._memory = memory
        self._chat = chat
        self._wait = wait
        self._tried = tried

    @property
    def _policy(self) -> Policy:
        known = self._chat.cache
        return known.stored if known else self._chat.policy

    @property
    def authors(self) -> tuple[Author, ...]:
        """Who writes this chat's summaries, in order of preference."""
        policy, known = self._policy, self._tried.authors
        if policy is not known[0]:  # asked at every add
            known = self._tried.authors = policy, self._memory.authors(policy) if self._memory.writes else ()
        return known[1]

    @property
    def folds_instantly(self) -> bool:
        """Whether a due fold is made at once and extractively, a summarizer rewriting it later."""
        return not self.authors or self._upgrades(self._policy)

    def _upgrades(self, policy: Policy) -> bool:
        """Whether the summarizer's part is to rewrite instant folds."""
        return not self._wait and policy.fallback == EXTRACTIVE

    def decide(self, connection: Connection, state: State) -> tuple[State, list[Event]]:
        """Make the instant fold that is due, if that was not decided yet."""
        return self._decided(connection, state, *decide(state.policy, state.situation()))

    def _decided(
        self, connection: Connection, state: State, plan: Plan | None, marks: Marks
    ) -> tuple[State, list[Event]]:
        if not self.folds_instantly or state.marks.seen >= state.row.last_seq:
            return state, []
        note_marks(connection, state, marks)
        if plan is None:
            return state, []
        return fold_instantly(connection, state, plan, marks, self._memory.clockwork)

    def fold_apart(self) -> tuple[State, list[Event]]:
        """The same; of many messages, a part of it, so that other chats hardly wait."""
        chat = self._chat
        with quiet, chat.writing() as (connection, state):
            state, events = self._decided(connection, state, *_planned(state))
            if events:
                chat.wake(connection)
            chat.cache = state
        return state, events

    def fold(self) -> bool:
        """Fold now; False where the policy forbids it."""
        if not self.folds_instantly:
            return self._run(force=True)
        events: list[Event] = []
        with self._chat.writing() as (connection, state):
            plan = forced(state.policy, state.situation())
            if plan is not None:
                marks = replace(state.marks, armed=False, head=state.row.last_seq)
                state, events = fold_instantly(connection, state, plan, marks, self._memory.clockwork)
                self._chat.wake(connection)
            self._chat.cache = state
        self._memory.emit(events)
        if events:
            self.soon()
        return bool(events)

    def soon(self) -> None:
        """Let the summarizer do what is due: now if the chat waits for it, else in the background."""
        if not self.authors:
            return
        if self._wait:
            self._run()
        elif not self._memory.queued:
            self._memory.background.submit(self._chat.job, self._run)

    def resume(self, state: State) -> None:
        """Go on with what a crash, a closed process or an outage left undone."""
        if not self.authors or self._wait or self._tried.stuck == state.row.version or self._memory.summarizer:
            return
        if self._memory.queued:
            return
        owed = self._owes(state) if self._upgrades(state.policy) else state.marks.seen < state.row.last_seq
        if owed and any(author.available for author in self.authors):
            self.soon()

    def work(self) -> None:
        """Do now what the background would."""
        if self.authors:
            self._run()

    def settle(self) -> None:
        self._memory.background.settle(self._chat.job)

    def _owes(self, state: State) -> bool:
        """Whether the newest instant fold waits for its rewrite."""
        newest = state.records[0] if state.records else None
        if newest is None or newest.author != EXTRACTIVE:
            return False
        return newest.kind == "base" or any(line.layer not in (FACT, FURTHER) for line in state.lines)

    def _run(self, *, force: bool = False) -> bool:
        """Fold with the summarizer until nothing is due; what it does wrong leaves the chat as it was."""
        folded = False
        with Lease(self._chat, self._memory.clockwork, self._term) as lease:
            log = Log()
            while True:
                step = self._prepared(force, lease)
                if step is None:
                    self._note_calls(log)
                    return folded
                plan, marks, asked = step
                if asked is None:
                    return True
                started = self._memory.clockwork.now()
                try:
                    written = Writer(self._chat.id, self.authors, self._memory.answers, lease.renew).write(
                        asked.job, log
                    )
                except Exception as error:  # whatever a summarizer does, the chat goes on
                    return self._failed(error, asked, plan, marks, log) or folded
                reach("model.answered")
                try:
                    with self._chat.writing() as (connection, state):
                        state, events = fold_written(
                            connection,
                            state,
                            asked,
                            written,
                            plan,
                            # Triggers may have decided on newer messages meanwhile.
                            marks if marks and marks.seen >= state.marks.seen else state.marks,
                            self._memory.clockwork,
                            started,
                            log,
                        )
                        if written.failure is not None:
                            events.append(self._diagnosis(connection, state, written.failure, plan))
                        self._chat.cache = state
                except LostRaceError:
                    with self._chat.reading() as (connection, state):
                        self._is_void(connection, state, asked, log)
                    continue
                except DatabaseError:
                    raise
                except Exception as error:  # nothing of it was written
                    return self._failed(error, asked, plan, marks, Log()) or folded
                self._memory.emit(events)
                folded, log = True, Log()
                if force or self._wait:  # one fold a cycle
                    return True

    def _is_void(self, connection: Connection, state: State, asked: Request, log: Log) -> bool:
        """Whether messages were forgotten since: then nothing that may quote them is kept."""
        if last_forgetting(connection, state.row.key) == asked.forgotten:
            return False
        log.verdicts.clear()
        self._memory.answers.forget(self._chat.id)
        return True

    def _note_calls(self, log: Log) -> None:
        """Keep account of calls whose answer came too late for any fold."""
        if log.calls:
            with self._chat.writing() as (connection, state):
                store.insert_calls(connection, state.row.key, log.calls, None)

    def _prepared(self, force: bool, lease: Lease) -> tuple[Plan, Marks | None, Request | None] | None:
        """What is to be asked next; no request where the event is all there is; None where nothing is due."""
        with self._chat.writing() as (connection, state):
            plan, marks = self._due(connection, state, force)
            if plan is None:
                return None
            # Somebody who waits in line does not wait for another process, too: the slower one is thrown away.
            if not lease.take(connection, state) and not self._wait:
                return None  # whoever has the lease folds until nothing is due
            # How large the answer will be is not known yet: room is made for memory as it is.
            plan = tighter(state.policy, state.situation(), plan, state.memory_tokens) or plan
            asked = request(connection, state, plan)
            if asked.job.asks:
                return plan, marks, asked
            state, events = fold_instantly(connection, state, plan, marks or state.marks, self._memory.clockwork)
            self._chat.cache = state
        self._memory.emit(events)
        return plan, marks, None

    @property
    def _term(self) -> int:
        """Milliseconds that a pass may take; after that others may take over."""
        return int(1000 * sum(author.patience for author in self.authors)) + 10_000

    def _due(self, connection: Connection, state: State, force: bool) -> tuple[Plan | None, Marks | None]:
        """What to fold next: what was asked for, what a trigger says, or an instant fold that waits for its rewrite.

        The marks are the triggers' after it; None for a rewrite, which is no decision of theirs.
        """
        plan, marks = decide(state.policy, state.situation())
        if state.marks.seen == state.row.last_seq:  # decided already: nothing was added since
            plan = None
        if force:
            return forced(state.policy, state.situation()), replace(marks, armed=False, head=state.row.last_seq)
        if plan is not None:
            return plan, marks
        if marks != state.marks:
            note_marks(connection, state, marks)
        if self._upgrades(state.policy) and self._owes(state):
            if unwritten(connection, state)[0]:
                return Plan(0, state.records[0].reason), None
            self._tried.stuck = state.row.version  # its messages were removed: it stays as it is
        return None, marks

    def _diagnosis(self, connection: Connection, state: State, error: Exception, plan: Plan) -> Event:
        data = {"reason": plan.reason, "error": type(error).__name__, "message": sanitized(str(error))}
        return noted(connection, state, "summarization_failed", data, self._memory.clockwork)

    def _failed(self, error: Exception, asked: Request, plan: Plan, decided: Marks | None, log: Log) -> bool:
        """Record the failure; then raise, fold extractively, or leave the messages as they are, as the policy says."""
        clock = self._memory.clockwork
        with self._chat.writing() as (connection, state):
            policy = state.policy
            store.insert_calls(connection, state.row.key, log.calls, None)
            void = self._is_void(connection, state, asked, log)
            told = LostRaceError("messages were forgotten meanwhile") if void else error
            events = [noted(connection, state, "gate", verdict, clock) for verdict in log.verdicts]
            if decided is not None or not isinstance(error, NobodyLeftError):  # a rewrite can wait in silence
                events.append(self._diagnosis(connection, state, told, plan))
            made: list[Event] = []
            again, marks = None, replace(state.marks, seen=max(state.marks.seen, decided.seen if decided else 0))
            if policy.fallback == EXTRACTIVE and not policy.abort_on_failure and not self._upgrades(policy):
                again, marks = decide(policy, state.situation())
                if plan.reason == "forced":
                    again = forced(policy, state.situation())
            if again is not None:
                state, made = fold_instantly(connection, state, again, marks, clock)
                events += made
            else:
                note_marks(connection, state, marks)
            self._chat.cache = state
            if not isinstance(error, TransportError) and any(author.available for author in self.authors):
                self._tried.stuck = asked.version
        self._memory.emit(events)
        if policy.abort_on_failure:
            raise SummarizerError(
                f"the summarizer failed ({type(error).__name__}: {error}); every message is stored, nothing was folded"
            ) from error
        return bool(made)
