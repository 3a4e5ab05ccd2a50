"""Folding with a summarizer: in line or in the background, never in the way, never at the price of a message."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from infold.errors import SummarizerError
from infold.folder import EXTRACTIVE, LostRaceError, Request, ask, fold_answer, fold_instantly, request
from infold.ledger.rows import Event
from infold.ledger.store import Connection
from infold.policy import Policy
from infold.state import State, note_marks
from infold.triggers import Marks, Plan, decide, forced, tighter

if TYPE_CHECKING:
    from infold.chat import Chat
    from infold.memory import Memory


class Rewriter:
    """Makes the folds of one chat that are not made inside an add."""

    def __init__(self, memory: Memory, chat: Chat, wait: bool) -> None:
        self._memory = memory
        self._chat = chat
        self._wait = wait

    @property
    def folds_instantly(self) -> bool:
        """Whether a due fold is made at once and extractively, a summarizer rewriting it later."""
        return self._memory.summarizer is None or self._upgrades(self._chat.policy)

    def _upgrades(self, policy: Policy) -> bool:
        """Whether the summarizer's part is to rewrite instant folds."""
        return not self._wait and policy.fallback == EXTRACTIVE

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
            self._chat.cache = state
        self._memory.emit(events)
        if events:
            self.soon()
        return bool(events)

    def soon(self) -> None:
        """Let the summarizer do what is due: now if the chat waits for it, else in the background."""
        if self._memory.summarizer is None:
            return
        if self._wait:
            self._run()
        else:
            self._memory.background.submit(self._chat.id, self._run)

    def settle(self) -> None:
        self._memory.background.settle(self._chat.id)

    def _run(self, *, force: bool = False) -> bool:
        """Fold with the summarizer until nothing is due; what it does wrong leaves the chat as it was."""
        folded = False
        while True:
            with self._chat.writing() as (connection, state):
                plan, marks = self._due(connection, state, force)
                if plan is None:
                    return folded
                # How large the answer will be is not known yet: room is made for memory as it is.
                plan = tighter(state.policy, state.situation(), plan, state.memory_tokens) or plan
                wanted = request(connection, state, plan)
                if not wanted.messages and not wanted.summary:  # nothing to ask about: the event is all there is
                    state, events = fold_instantly(
                        connection, state, plan, marks or state.marks, self._memory.clockwork
                    )
                    self._chat.cache = state
                    break
                expected, policy = state.row.version, state.policy
                depth = state.depth if wanted.replaced else state.depth + 1
            started = self._memory.clockwork.now()
            try:
                answer, second = self._ask(wanted, policy, depth)
            except Exception as error:  # whatever a summarizer does, the chat goes on
                return self._failed(error, plan, marks) or folded
            try:
                with self._chat.writing() as (connection, state):
                    state, events = fold_answer(
                        connection,
                        state,
                        wanted,
                        answer,
                        plan,
                        marks or state.marks,
                        self._memory.clockwork,
                        expected=expected,
                        started=started,
                        second=second,
                    )
                    self._chat.cache = state
            except LostRaceError:
                continue
            self._memory.emit(events)
            folded = True
            if force or self._wait:  # one fold a cycle
                return True
        self._memory.emit(events)
        return True

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
        newest = state.records[0] if state.records else None
        if newest is not None and newest.author == EXTRACTIVE and self._upgrades(state.policy):
            # A leaf has nothing to rewrite without messages, nor has an empty memory.
            rewritable = newest.kind == "base" or (state.items and not state.policy.leaf_cap)
            return (Plan(0, newest.reason) if rewritable else None), None
        return None, marks

    def _ask(self, wanted: Request, policy: Policy, depth: int) -> tuple[str, str | None]:
        """The summarizer's answer; an identical request is answered from the cache."""
        answers, key = self._memory.answers, f"{self._chat.id} {wanted.key}"
        known = answers.get(key)
        if known is not None:
            return known
        assert self._memory.summarizer is not None
        answer = ask(self._memory.summarizer, wanted, policy, depth)
        answers.put(key, answer)
        return answer

    def _failed(self, error: Exception, plan: Plan, decided: Marks | None) -> bool:
        """Record the failure; then raise, fold extractively, or leave the messages as they are, as the policy says."""
        said = " ".join("".join(ch if ch.isprintable() else " " for ch in str(error)[:200]).split())
        with self._chat.writing() as (connection, state):
            policy = state.policy
            data = {"reason": plan.reason, "error": type(error).__name__, "message": said}
            events = [self._chat.record(connection, "summarization_failed", data)]
            again, marks = None, replace(state.marks, seen=max(state.marks.seen, decided.seen if decided else 0))
            if policy.fallback == EXTRACTIVE and not policy.abort_on_failure and not self._upgrades(policy):
                again, marks = decide(policy, state.situation())
                if plan.reason == "forced":
                    again = forced(policy, state.situation())
            if again is not None:
                state, made = fold_instantly(connection, state, again, marks, self._memory.clockwork)
                events += made
            else:
                note_marks(connection, state, marks)
            self._chat.cache = state
        self._memory.emit(events)
        if policy.abort_on_failure:
            raise SummarizerError(
                f"the summarizer failed ({type(error).__name__}: {said}); every message is stored, nothing was folded"
            ) from error
        return len(events) > 1


class Answers:
    """The newest answers of summarizers, by request."""

    MOST = 128

    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, str | None]] = {}

    def get(self, key: str) -> tuple[str, str | None] | None:
        return self._kept.get(key)

    def put(self, key: str, answer: tuple[str, str | None]) -> None:
        self._kept[key] = answer
        while len(self._kept) > self.MOST:
            self._kept.pop(next(iter(self._kept)), None)
