"""What can be changed about a chat: pins, policy, title, going back, forgetting, deleting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infold.committing import rewind
from infold.errors import BudgetError, ConfigError, MessageError, NotFoundError
from infold.handle import Handle
from infold.knowledge.noting import own, settle
from infold.ledger import derived, erasure, journal, passages, prefixes, stated, store
from infold.lines.line import line_tokens
from infold.messages import canonical_json, parse
from infold.policy import Policy

if TYPE_CHECKING:
    from infold.presets import SummarizationConfig


PINNED_BY = ("user", "operator")


class Changing(Handle):
    """The part of a chat that changes it."""

    def pin(self, text: str, *, by: str = "user") -> str:
        """Keep a text verbatim, whatever is folded: as a standing wish of the user, or `by="operator"` as part of the system
        prompt. Returns its id, for `unpin`."""
        if by not in PINNED_BY:
            raise ConfigError(f'by must be "user" or "operator", not {by!r}')
        text = parse({"role": "user", "content": text}).text.strip() if isinstance(text, str) else ""
        if not text:
            raise MessageError("a pin must be a text that is not empty")
        tokens = line_tokens(text)
        with self.writing() as (connection, state):
            for pin in state.pins:
                if pin.text == text and pin.said_by == by:
                    return pin.id
            most = max(64, state.context_window // 8)
            if sum(pin.tokens for pin in state.pins) + tokens > most:
                raise BudgetError(
                    f"pins may take at most {most} tokens of this chat's {state.context_window}; "
                    "shorten the text, or unpin something first"
                )
            id, now = self._memory.clockwork.new_id(), self._memory.clockwork.now()
            journal.insert_pin(connection, self._key, id, text, tokens, now, by)
            event = self.record(connection, "pinned", {"pin": id})
            store.bump(connection, self._key)
        self._memory.emit([event])
        return id

    def unpin(self, id: str) -> None:
        """Let a pin go."""
        with self.writing() as (connection, _):
            if not journal.delete_pin(connection, self._key, id):
                raise NotFoundError(f"this chat has no pin {id!r}")
            event = self.record(connection, "unpinned", {"pin": id})
            store.bump(connection, self._key)
        self._memory.emit([event])

    def set_policy(self, policy: str | Policy | SummarizationConfig) -> None:
        """Change the policy: a preset's name, a Policy, or a SummarizationConfig."""
        from infold.memory import _check_wait, requested_policy

        wanted = requested_policy(policy, None) if isinstance(policy, str) else requested_policy(None, policy)
        if wanted is None:
            raise ConfigError("name a preset or give a Policy")
        _check_wait(wanted, self._wait)
        with self.writing() as (connection, state):
            if wanted == state.stored and not state.policy_damaged:
                return
            event = self.record(connection, "policy_changed", {"from": state.stored.name, "to": wanted.name})
            state.row.policy = canonical_json(wanted.to_json())
            store.set_chat(connection, state.row)
            self.cache = None
        self._memory.emit([event])

    def update(
        self,
        *,
        user: str | None = None,
        system: str | None = None,
        title: str | None = None,
        context_window: int | None = None,
        remember: bool | None = None,
    ) -> None:
        """Change what is not policy; what is None stays. With `remember=False`, what the chat says is known in no other one."""
        values = {
            "user": user, "system": system, "title": title, "context_window": context_window,
            "remember": None if remember is None else int(remember),
        }  # fmt: skip
        with self.reading() as (connection, state):
            changed = [
                k
                for k, v in values.items()
                if v is not None and v != (getattr(state.row, k) or (0 if k == "remember" else ""))
            ]
            if context_window is not None and prefixes.follows_model(connection, self._key):
                changed = list(dict.fromkeys([*changed, "context_window"]))
        if not changed:
            return
        with self.writing() as (connection, state):
            if "user" in changed:  # full text has it with every row
                derived.next_epoch(connection, self._key)
                passages.take(connection, self._key)
            for name in changed:
                setattr(state.row, name, values[name] if name == "remember" else values[name] or None)
            store.set_chat(connection, state.row)
            if "context_window" in changed:  # whatever model it speaks with
                prefixes.follow_model(connection, self._key, follows=False)
            if "user" in changed:
                passages.again(connection, self._key)
            if "remember" in changed:
                stated.set_chat_remember(connection, self._key, bool(state.row.remember))
            if "user" in changed or "remember" in changed:
                own(connection, state.row)
                derived.next_epoch(connection, self._key)
            event = self.record(connection, "chat_updated", {"fields": changed})
        self._memory.emit([event])

    def rewind(self, message_id: str) -> int:
        """Go back to a message: later ones leave the chat, and memory is what it was then. Returns how many left."""
        with self.writing() as (connection, state):
            known = store.message_by_id(connection, self._key, message_id)
            if known is None:
                raise NotFoundError(f"this chat has no message {message_id!r}")
            removed = state.row.last_seq - known.seq
            if not removed:
                return 0
            self.cache = rewind(connection, state, known.seq)
            event = self.record(connection, "rewound", {"to": message_id, "removed": removed})
        self._memory.emit([event])
        return removed

    def delete(self) -> None:
        """Remove the chat, everything derived from it, and the branches that were made of it."""
        with self.reading() as (connection, state):
            branches = [row.id for row in store.family(connection, state.row) if row.origin == self._key]
        for id in branches:
            if branch := self._memory.find(id):
                branch.delete()
        self.settle()
        with self.writing() as (connection, _):
            derived.next_epoch(connection, self._key)
            for owner in sorted(store.delete_chat(connection, self._key)):
                settle(connection, owner)
            erasure.empty_answers(connection)
        self.cache = None
        self._memory.knowledge.forget(self._key)
        self._memory.recaller.forget(self._key)
