"""A fold worked out before the database is locked for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from infold.folding.across import REACH, extract_each
from infold.folding.extractive import extract
from infold.folding.merge import Change, fold_extractive
from infold.items import Candidate, Item
from infold.layers import own_summary
from infold.ledger.query import Connection
from infold.messages import Message
from infold.noting import earlier
from infold.policy import Policy
from infold.quiet import quiet
from infold.state import State
from infold.triggers import Marks, Plan, decide
from infold.units import splits_unit, turn_starts

MOST_AT_ONCE = 256
"""Messages that such a fold takes: a client may bring thousands at once, and nobody is to wait until all of them are folded."""
_MOST = 0.01  # seconds for which such a fold gives way to whoever comes


def planned(state: State) -> tuple[Plan | None, Marks]:
    """What the triggers ask for. Of very many messages it is the oldest turns, and the triggers are asked again then."""
    plan, marks = decide(state.policy, state.situation())
    if plan is None or plan.cut <= MOST_AT_ONCE or state.policy.unit != "turn":  # others make room until the rest fits
        return plan, marks
    some = state.messages[: plan.cut]
    ends = (at for at in reversed(turn_starts(some)) if 0 < at <= MOST_AT_ONCE)
    cut = next((at for at in ends if not splits_unit(some, some[at - 1].seq)), None)
    return (plan, marks) if cut is None else (replace(plan, cut=cut), state.marks)


def leaf_text(found: Sequence[Candidate], policy: Policy) -> str:
    """What a leaf of these statements would say; empty where the policy has no leaves."""
    return own_summary(found, policy) if policy.leaf_cap else ""


@dataclass(frozen=True, slots=True)
class Due:
    """A fold that is due: what it will be made of."""

    items: tuple[Item, ...]
    messages: tuple[Message, ...]
    before: tuple[Message, ...]
    """What was said right before them."""
    policy: Policy
    n: int

    @classmethod
    def of(cls, connection: Connection, state: State) -> Due | None:
        """The fold that the triggers ask for, if any."""
        plan, _ = planned(state)
        if plan is None or not plan.cut:
            return None
        messages = tuple(state.messages[: plan.cut])
        before = earlier(connection, state.row.key)(messages[0].seq)
        return cls(state.items, messages, tuple(before), state.policy, state.row.folds + 1)

    def foreseen(self) -> Foreseen:
        """What it will say. Takes its time: whoever comes goes first."""
        until = quiet.now() + _MOST
        for message in self.messages:
            quiet.give_way(until)
            extract(message)  # and remembers it
        every = (*self.before, *self.messages)
        read = extract_each(self.messages, lambda seq: [m for m in every if seq - REACH <= m.seq < seq])
        found = [candidate for candidates in read for candidate in candidates]
        quiet.give_way(until)
        change = fold_extractive(self.items, found, self.policy, self.n)
        quiet.give_way(until)
        return Foreseen(self, read, change, leaf_text(found, self.policy))


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a fold will say, if it is made of the same."""

    due: Due
    read: list[list[Candidate]]
    """What each message states."""
    change: Change
    text: str
    """Its own summary, where the policy keeps those."""

    def holds(self, state: State, cut: int) -> bool:
        """Whether a chat still holds just what this was made of."""
        due, messages = self.due, state.messages
        return (
            cut == len(due.messages)
            and due.n == state.row.folds + 1
            and due.items is state.items
            and due.policy == state.policy
            and all(ours is theirs for ours, theirs in zip(due.messages, messages, strict=False))
        )
