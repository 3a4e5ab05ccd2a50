"""Chat: one conversation. Add messages, ask for a context, look at what is remembered."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, overload

from infold import formats, reports
from infold.arguments import MessageLike, budget_of, check_extras, check_layout, layout_of, question_of, same
from infold.audit import Proof, verify
from infold.changing import Changing
from infold.context.assembly import assemble
from infold.context.block import BLOCK_SIGN, without_blocks
from infold.context.view import Context, View, check_budget
from infold.correcting import say
from infold.drifting import Drift, drift, slices
from infold.errors import (
    BudgetError,
    ClosedError,
    ConfigError,
    MessageError,
    MovedOnError,
    OrphanResultError,
    ReadOnlyDatabaseError,
)
from infold.failpoints import reach
from infold.folder import fold_instantly
from infold.folding.prompting import may_be_prompt, prompt_hash, without_instructions
from infold.forgetting import Receipt, forget_copies, forget_messages
from infold.knowledge.known import beside_memory
from infold.knowledge.noting import catch_up, note_at_once, return_to
from infold.ledger import journal, store
from infold.ledger.calls import all_calls, was_asked
from infold.ledger.derived import BLOCK
from infold.ledger.query import Connection
from infold.ledger.rows import Event
from infold.lines.words import CONFIRMED, CORRECTED, RETRACTED
from infold.marks import GONE, REMOVED, UNREADABLE
from infold.messages import Message
from infold.policy import Policy
from infold.quiet import quiet
from infold.quoting.reading import REACH
from infold.records import SummaryRecord
from infold.remembering import Remembering
from infold.repairing import rebuild, repair
from infold.reports import FoldStats, LastSummarization, MemoryState, Usage
from infold.rewriter import Rewriter, Tried
from infold.sources import Source, line_of, sources_of
from infold.state import State, asked, last_question, note_marks
from infold.tokens import message_tokens, tools_tokens
from infold.triggers import decide, shares
from infold.units import awaited

if TYPE_CHECKING:
    from infold.lines.line import Line
    from infold.memory import Memory
    from infold.models.spec import Model

log = logging.getLogger("infold")

_LEAST_EARLIER = 200  # tokens of room below which no folded message is shown again
_EARLIER = 200  # messages that are read at a time for it


class Chat(Remembering, Changing):
    """One conversation; `memory.chat(…)` opens it. Safe to use from several threads and processes."""

    def __init__(self, memory: Memory, key: int, id: str, wait: bool) -> None:
        super().__init__(memory, key, id, wait)
        self._tried = Tried()
        self._indexed = 0
        """Blocks of the recall index that were asked for."""

    # Adding --------------------------------------------------------------------------------------------

    @overload
    def add(
        self,
        message: MessageLike,
        *,
        id: str | None = None,
        created_at: int | str | datetime | None = None,
        model_variant: str | None = None,
        repair: bool = False,
        fold: bool = True,
        remember: bool = True,
    ) -> Message: ...

    @overload
    def add(
        self,
        message: Iterable[MessageLike],
        *,
        created_at: int | str | datetime | None = None,
        model_variant: str | None = None,
        repair: bool = False,
        fold: bool = True,
        remember: bool = True,
    ) -> list[Message]: ...

    def add(
        self,
        message: MessageLike | Iterable[MessageLike],
        *,
        id: str | None = None,
        created_at: int | str | datetime | None = None,
        model_variant: str | None = None,
        repair: bool = False,
        fold: bool = True,
        remember: bool = True,
    ) -> Message | list[Message]:
        """Add one message, or a list of them in one transaction, and fold what is due.

        Messages may be in the Chat Completions, Responses or Anthropic format, mixed too. A single Anthropic message with
        several tool results, or with results and text, is several messages in the chat: then a list comes back.

        An id makes adding idempotent: the same message again changes nothing. A tool result without its waiting call is
        refused, unless `repair` is set: then it is kept, and contexts show it as a marked note. With `fold=False` what is
        due is left to the next add: somebody waits for an answer. With `remember=False`, what the messages state is known in
        no other chat of the user.
        """
        single = isinstance(message, Message | Mapping)
        if not single and id is not None:
            raise MessageError('id= is for a single message; give each message of a list its own "id"')
        if isinstance(message, str | bytes) or not isinstance(message, Iterable):
            raise MessageError('a message is a dict like {"role": "user", "content": "…"}, or a list of them')
        given: list[Any] = [message] if single else list(message)
        checked = [
            message
            for value in given
            for message in formats.parse(value, id=id, created_at=created_at, model_variant=model_variant)
        ]
        added = self.append(checked, repair=repair, fold=fold, apart=not remember)
        return added[0] if single and len(added) == 1 else added

    def append(
        self,
        messages: Sequence[Message],
        *,
        repair: bool = False,
        fold: bool = True,
        later: bool = False,
        apart: bool = False,
        after: int | None = None,
        beside: Callable[[Connection, Sequence[Message]], None] | None = None,
    ) -> list[Message]:
        """Add messages that were checked. With `after`, only if that is where the chat ends; `beside` may write more, in the
        same transaction. With `later`, a fold that is due after the last of them is left to `fold_due`. What is added `apart` is
        known in no other chat."""
        # Counting happens before the database is locked.
        cleaned = [clean for m in messages if (clean := self._without_own(m)) is not None]
        read = [(m, message_tokens(m)) for m in cleaned]
        added: list[Message] = []
        events: list[Event] = []
        instant = self._rewriter.folds_instantly
        with quiet, self.writing() as (connection, state):
            reach("add.begun")
            if state.row.away:
                return_to(connection, state.row)
            if after is not None and state.row.last_seq != after:
                raise MovedOnError(f"chat {self.id!r} has gone on since message {after}; look at it again")
            for parsed, tokens in read:
                if (known := self._said_before(connection, parsed)) is not None:
                    added.append(known)
                    continue
                if parsed.role == "tool" and not repair and parsed.tool_call_id not in awaited(state.messages):
                    raise OrphanResultError(
                        f"no call {parsed.tool_call_id!r} is waiting for a result in this chat; add the assistant message "
                        "with its tool_calls first"
                    )
                clock = self._memory.clockwork
                stored = parsed.stored(
                    parsed.id or clock.new_id(), state.row.last_seq + 1, parsed.created_at or clock.now(), tokens
                )
                store.insert_message(connection, self._key, stored, apart)
                reach("add.inserted")
                before = state.messages[-REACH:]
                state.append(stored)
                added.append(stored)
                if stored.role == "user" and state.row.user:
                    note_at_once(connection, state.row, stored, before)
                plan, marks = decide(state.policy, state.situation()) if instant and fold else (None, state.marks)
                if plan is not None and later and len(added) == len(read):
                    plan, marks = None, state.marks
                note_marks(connection, state, marks)
                reach("add.noted")
                if plan is not None:
                    state, folded = fold_instantly(connection, state, plan, marks, clock)
                    events += folded
            if beside is not None:
                beside(connection, added)
            if fold and (events or not instant):
                self.wake(connection)
            self.cache = state
        reach("add.committed")
        if fold and not events and not instant:
            self._rewriter.soon()
        elif fold and not events and state.marks.seen == state.row.last_seq:  # else `fold_due` comes first
            self._rewriter.resume(state)
        self._folded(state, events)
        if state.row.cursor:
            quiet.soon(id(self), self._read_ahead())
        backend = self._memory.database.backend
        quiet.soon(id(backend), backend.tidy())
        return added

    def _said_before(self, connection: Connection, parsed: Message) -> Message | None:
        """The message of the same id that is there already; another message under that id is an error."""
        known = store.message_by_id(connection, self._key, parsed.id) if parsed.id else None
        if known is None:
            return None
        gone = known.content in (REMOVED, UNREADABLE)
        sha256 = store.message_hashes(connection, self._key, known.seq, known.seq)[0] if gone else None
        return same(parsed, known, sha256)

    def fold_due(self) -> bool:
        """Make the fold that an add has left, if any. Of very many messages it is a part: then there is more to do."""
        known = self.cache
        if not self._rewriter.folds_instantly or (known is not None and known.marks.seen == known.row.last_seq):
            return False
        state, events = self._rewriter.fold_apart()
        self._folded(state, events)
        if events:
            quiet.soon(id(self), self._read_ahead())
        else:
            self._rewriter.resume(state)
        return bool(events) and state.marks.seen < state.row.last_seq

    def _folded(self, state: State, events: Sequence[Event]) -> None:
        """Tell of folds that were made, and have done what is left to do for them."""
        self._memory.emit(events)
        if events:
            self._rewriter.soon()
            self._index(state)

    def _read_ahead(self) -> Iterator[None]:
        """Make what the next fold or context will want, a step at a time."""
        with self.reading() as (connection, state):
            beside_memory(self._memory.knowledge, connection, state, state.view())
            row, messages = state.row, [*state.messages]
            if not state.policy.recall_cap or not messages or not self._memory.recaller.at_hand:
                return  # short chats that are never asked shall not load the embedder
            self.entities_known(connection, state)
            self._memory.recaller.rarity.rare(connection, row, messages[-1].text)
        yield
        if messages[-1].role == "user":  # what is asked last is not searched for
            messages.pop()
        yield from self._memory.recaller.read_ahead(self._key, messages, row.cursor)

    # Reading -------------------------------------------------------------------------------------------

    def context(
        self,
        query: str | MessageLike | None = None,
        *,
        max_tokens: int | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        reserve_output: int | None = None,
        sources: Sequence[str] | None = None,
        memory_role: str | None = None,
        merge: bool | None = None,
    ) -> Context:
        """The request to send next, within `max_tokens` less `reserve_output`.

        The question is the last user message, or `query`, which is not stored. Without `max_tokens`, a context costs what
        memory and recent messages need, within the context window less `reserve_output` (then 1,000 tokens or 15 % of the
        window, whichever is less). `tools` are the definitions you will send along; `sources` are retrieved texts, best first.
        Memory is quoted data in the user's role; `memory_role="system"` puts it behind the system prompt instead. `merge` makes
        one message of a chain's two system messages.
        """
        if max_tokens is not None:
            check_budget(max_tokens)
        if reserve_output is not None and (
            isinstance(reserve_output, bool) or not isinstance(reserve_output, int) or reserve_output < 0
        ):
            raise BudgetError(f"reserve_output must be a whole number of at least 0, not {reserve_output!r}")
        check_extras(tools, sources)
        check_layout(memory_role, merge)
        question = question_of(query)
        return self.build(
            question,
            max_tokens,
            reserve_output,
            tools=tools,
            sources=sources or (),
            memory_role=memory_role,
            merge=merge,
        )

    def build(
        self,
        question: Message | None,
        max_tokens: int | None,
        reserve_output: int | None,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        sources: Sequence[str] = (),
        memory_role: str | None = None,
        merge: bool | None = None,
        within: int | None = None,
        upto: int | None = None,
    ) -> Context:
        """Build a context from checked arguments. `max_tokens` is a budget to use up, `within` one that is only a limit. With
        `upto`, build it as if the chat ended at that position; a position that is folded already raises MovedOnError."""
        if tools is not None:
            self._note_tools(tools_tokens(tools))
        with self.seen() as state:
            every_time = state.policy.entities and not state.policy.recall_cap
        if every_time:
            self.read_up()
        with quiet, self.reading() as (connection, state):
            view = state.view(() if question else asked(connection, state))
            if upto is not None and upto < state.row.last_seq:
                if upto < state.row.cursor:
                    raise MovedOnError(f"message {upto} of chat {self.id!r} is folded already")
                view = replace(view, messages=tuple(m for m in view.messages if m.seq <= upto))
            policy, window, tokenizer = state.policy, state.context_window, state.tokenizer
            budget = budget_of(policy, window, max_tokens or within, reserve_output)
            role, one = layout_of(policy, memory_role, merge)
            view = replace(
                view, given=max_tokens is not None, key=self._memory.mark_key(connection), memory_role=role, merge=one
            )
            view = beside_memory(self._memory.knowledge, connection, state, view)
            ask = question or last_question(view)
            asks_back = ask is not None and self.asks_back(connection, state, ask.text, question is not None, budget)
            if ask is not None:
                view = self.near(connection, state, view, ask.text, question is not None, asks_back, budget)
            if ask is not None and policy.entities and (asks_back or not policy.recall_cap):
                view = self.related(connection, state, view, ask.text, named=asks_back)
            if view.given and policy.memory_share and state.row.cursor:
                view = self._with_earlier(connection, state, view, budget)
        with quiet:
            if ask is not None and asks_back:
                view = self.answers(view, ask, budget, upto)
            context = assemble(view, budget, query=question, tools=tools, sources=sources, tokenizer=tokenizer)
        if log.isEnabledFor(logging.DEBUG):
            reports.log_trimmed(self.id, context)
        return context

    def _with_earlier(self, connection: Connection, state: State, view: View, budget: int) -> View:
        """A view with the newest folded messages, where the budget has room for them whatever comes until the next fold."""
        until_fold = sum(shares(state.policy, state.usual_window))
        room = budget - state.fixed_tokens - state.memory_tokens - until_fold
        if room < _LEAST_EARLIER:
            return view
        known = state.rendered.get("earlier messages")
        if known is None or known[0] < room:
            found: list[Message] = []
            left, upto = room, state.row.cursor
            while left > 0 and upto > 0:
                some = store.messages_between(connection, self._key, max(1, upto - _EARLIER + 1), upto)
                found[:0] = some
                left -= sum(message.tokens for message in some)
                upto -= _EARLIER
            known = state.rendered["earlier messages"] = (room, tuple(m for m in found if m.content not in GONE))
        return replace(view, earlier=known[1], fill=until_fold)

    @property
    def summary(self) -> str:
        """All of memory as headings and bullets; empty while nothing is folded or pinned."""
        return self.memory.summary

    @property
    def memory(self) -> MemoryState:
        """The whole structured state."""
        with self.reading() as (connection, state):
            return reports.memory_state(connection, state)

    @property
    def records(self) -> list[SummaryRecord]:
        """The active records, oldest first; each names the messages it newly covers."""
        with self.reading() as (connection, state):
            return reports.records(connection, state)

    @property
    def last_summarization(self) -> LastSummarization | None:
        """Depth, message count and token ratio right before the newest fold."""
        with self.reading() as (_, state):
            return reports.last_summarization(state)

    @property
    def policy(self) -> Policy:
        """The policy stored with the chat."""
        with self.reading() as (_, state):
            return state.stored

    @property
    def title(self) -> str | None:
        with self.reading() as (_, state):
            return state.row.title

    @title.setter
    def title(self, value: str) -> None:
        if not isinstance(value, str) or not 0 < len(value) <= 200 or "\0" in value:
            raise ConfigError("title must be a text of 1 to 200 characters")
        self.update(title=value)

    def messages(self, *, after: int = 0, limit: int = 1000) -> list[Message]:
        """Messages of the ledger, folded or not, oldest first."""
        with self.reading() as (connection, _):
            return store.messages_between(connection, self._key, after + 1, after + limit)

    def events(self) -> list[Event]:
        """What happened to this chat, newest last."""
        with self.reading() as (connection, state):
            return journal.all_events(connection, state.row)

    def stats(self) -> FoldStats:
        """Success rate and mean latency of the folds so far."""
        with self.reading() as (connection, state):
            return reports.fold_stats(connection, state)

    def usage(self) -> Usage:
        """What folding this chat with models took: calls, tokens, cost."""
        with self.reading() as (connection, _):
            return reports.usage(all_calls(connection, self._key))

    def verify(self) -> Proof:
        """The no-loss and integrity proof for this chat."""
        with self.reading() as (connection, _):
            return verify(connection, self._key)

    def repair(self) -> int:
        """Make memory that was damaged in the database again from the messages; how many folds were made again."""
        return repair(self._memory, self)

    def rebuild(self, *, force: bool = False) -> int:
        """Write all lines of memory anew from the messages, without a model; how many folds were made again.

        Refused where messages were removed or a model wrote memory, unless `force` is set.
        """
        again = rebuild(self._memory, self, force)
        self._make_index()
        return again

    def trace(self, line: str | Line) -> list[Source]:
        """The messages that a line of memory or a fact rests on, oldest first: who said what when, and its hash."""
        self.read_up()
        with self.reading() as (connection, state):
            known = self._memory.knowledge.facts_of_chat(connection, state.row).facts
            return sources_of(connection, state, line_of(state, line, known))

    def correct(self, line: str | Line, text: str, *, by: str = "user") -> Line:
        """Say what a line of memory or a fact should say. It holds, whatever is folded, until somebody says something new."""
        found = say(self._memory, self, CORRECTED, line, by, text)
        assert found is not None
        return found

    def retract(self, line: str | Line, *, by: str = "user") -> None:
        """Take a line of memory or a fact back: it is not known any more, here or in other chats. The messages stay."""
        say(self._memory, self, RETRACTED, line, by)

    def confirm(self, line: str | Line, *, by: str = "user") -> Line:
        """Say that a line of memory or a fact is so: it is sure from now on."""
        found = say(self._memory, self, CONFIRMED, line, by)
        assert found is not None
        return found

    # Folding -------------------------------------------------------------------------------------------

    def fold(self) -> bool:
        """Fold now all that the policy lets go; with nothing to fold, memory is rewritten.

        False where the policy's depth limit forbids another fold.
        """
        return self._rewriter.fold()

    def drift(self, model: str | Model | None = None) -> list[Drift]:
        """Every fold in force written again from its messages, without a model or by another one; nothing is stored."""
        with self.reading() as (connection, state):
            found = slices(connection, state)
            policy = state.policy
        authors = self._memory.authors_for(model) if model is not None else ()
        return [drift(self.id, one, policy, authors) for one in found]

    def settle(self) -> None:
        """Wait for what the background does for this chat."""
        self._rewriter.settle()
        self._memory.background.settle(self._index_job)
        self._memory.background.settle(self.repair_job)

    def work(self) -> None:
        """Do what is left to do for this chat, as a worker does: decide, index, rewrite with the model."""
        with self.writing() as (connection, state):
            state, events = self._rewriter.decide(connection, state)
            self.cache = state
        self._memory.emit(events)
        self._make_index()
        self._rewriter.work()

    def resume(self) -> None:
        """Let the background go on with what an earlier process, or an earlier version, left undone."""
        if self._memory.queued:
            return
        with self.reading() as (connection, state):
            row = state.row
            unread = row.read_to < row.cursor
            unread = unread or self._memory.recaller.behind(connection, self._key, row.cursor)
        if unread:
            self._index(state)
        if self._memory.writes:
            self._rewriter.resume(state)

    def forget(self, *message_ids: str) -> Receipt:
        """Forget what messages said: in the ledger, where a mark takes its place, and in everything made of it.

        Folds that read them are made again without a model; a model may rewrite them later. The database file is written
        anew, which takes about a second for 100 MB.
        """
        receipt = forget_messages(self._memory, self, self._key, message_ids)
        receipt = forget_copies(self._memory, self, message_ids, receipt)
        if receipt.messages:
            if self._memory.queued:
                with self.writing() as (connection, _):
                    self.wake(connection)
                return receipt
            self._memory.background.submit(self._index_job, self._make_index)
            if not self._wait:
                self._rewriter.soon()
        return receipt

    # Plumbing ------------------------------------------------------------------------------------------

    @property
    def _rewriter(self) -> Rewriter:
        return Rewriter(self._memory, self, self._wait, self._tried)

    def _index(self, state: State) -> None:
        """Let the background make what recall needs of messages that were folded."""
        if self._memory.queued:
            return
        if state.row.cursor // BLOCK > self._indexed or state.row.read_to < state.row.cursor:
            self._indexed = state.row.cursor // BLOCK
            self._memory.background.submit(self._index_job, self._make_index)

    @property
    def _index_job(self) -> str:
        return f"{self.job} (index)"

    def _make_index(self) -> None:
        """Note facts and entities that were never read, and write the missing blocks of recall."""
        more = True
        with suppress(ReadOnlyDatabaseError, ClosedError):
            while more:
                with self.writing() as (connection, state):
                    more = catch_up(connection, self._key, state.row.cursor)
            self._memory.recaller.index(self._key)

    def _without_own(self, message: Message) -> Message | None:
        """A message less what contexts of this chat put into it; None where nothing is left, or where it is what a model was
        asked for this chat."""
        text = message.text if message.content is not None else ""
        if text == formats.STUB and message.role == "user":
            return None
        blocks, prompt = BLOCK_SIGN in text, may_be_prompt(text)
        if not blocks and not prompt:
            return message
        with self.reading() as (connection, _):
            key = self._memory.mark_key(connection)
            asked = without_instructions(text) if prompt else text
            if prompt and (not asked or was_asked(connection, self._key, prompt_hash(asked))):
                return None
        if not blocks:
            return message
        content = _less_blocks(message.content, self.id, key)
        return replace(message, content=content) if content or message.tool_calls or message.role == "tool" else None

    def _note_tools(self, tokens: int) -> None:
        """Remember how much the tools take: triggers compare the whole next request with the window."""
        with self.reading() as (_, state):
            if state.row.tools_tokens == tokens:
                return
        with suppress(ReadOnlyDatabaseError), self.writing() as (connection, state):
            state.row.tools_tokens = tokens
            store.set_chat(connection, state.row)


def _less_blocks(content: Any, chat: str, key: bytes) -> Any:
    """The content of a message less the blocks that were made for a chat."""
    if isinstance(content, str):
        return without_blocks(content, chat, key)
    parts = [
        {**part, "text": without_blocks(part["text"], chat, key)} if isinstance(part.get("text"), str) else part
        for part in content
    ]
    return [part for part in parts if part.get("text") != ""]
