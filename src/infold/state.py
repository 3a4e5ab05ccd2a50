"""A chat as loaded from the ledger: its row, memory and unfolded messages, kept fresh at small cost."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from infold.context.layout import OPERATOR
from infold.context.parts import memory_tokens
from infold.context.view import View
from infold.ledger import fold_rows, journal, store
from infold.ledger.query import Connection
from infold.ledger.rows import ChatRow, FoldRow
from infold.lines.kinds import PINNED
from infold.lines.line import LONG, Line
from infold.lines.merging import Change
from infold.lines.rendering import block_tokens
from infold.lines.words import Word
from infold.messages import Message
from infold.policy import Policy
from infold.tokens import MESSAGE_OVERHEAD, O200K, REQUEST_OVERHEAD, count_cached, counting, message_tokens
from infold.triggers import Marks, Situation
from infold.units import answered, question
from infold.unreadable import marks_of, policy_of

# Unfolded messages kept in memory. Only a chat that may not fold (a chain at its depth limit, an endless open turn)
# has more; the oldest are then bridged by range and count.
WINDOW = 4000
_RECENT_FOLDS = 64
_OPERATOR = 50  # messages of the operator's that stay in force when they are folded
_SAMPLE = 30  # messages that tell how a tokenizer compares with the usual one


@dataclass(slots=True)
class State:
    """One chat at one moment."""

    row: ChatRow
    stored: Policy
    """The policy of the chat."""
    marks: Marks
    lines: tuple[Line, ...]
    pins: tuple[Line, ...]
    folds: list[FoldRow]
    """The newest active folds, newest first."""
    messages: list[Message]
    unfolded_tokens: int
    model: str | None
    """The model that wrote the newest reply."""
    operator: tuple[Message, ...] = ()
    """What the operator said in the midst of the chat and is folded, oldest first."""
    damaged: bool = False
    """Whether lines of memory cannot be read."""
    policy_damaged: bool = False
    """Whether another policy stands in for one that cannot be read."""
    words: tuple[Word, ...] = ()
    """What people said of lines."""
    records: list[FoldRow] = field(default_factory=list)
    """Those of them that are records of the chain: all but roll-ups."""
    memory_tokens: int = 0
    summary_tokens: int = 0
    rendered: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """Texts that contexts rendered from this memory."""

    @property
    def policy(self) -> Policy:
        """The policy as it applies to the model in use."""
        return self.stored.for_model(self.model)

    @property
    def context_window(self) -> int:
        """Of the model in use, in its own tokens."""
        own = self.stored.overrides.get(self.model or "", {}).get("context_window")
        return int(own) if own else self.row.context_window

    @property
    def tokenizer(self) -> str:
        """Of the model in use."""
        return str(self.stored.overrides.get(self.model or "", {}).get("tokenizer", O200K))

    @property
    def usual_window(self) -> int:
        """The context window in the tokens that everything is stored in, judged by the newest messages."""
        if self.tokenizer == O200K:
            return self.context_window
        some = self.messages[-_SAMPLE:]
        with counting(self.tokenizer):
            own = sum(map(message_tokens, some))
        usual = sum(message.tokens for message in some)
        return max(1, self.context_window * usual // own) if own else self.context_window

    @property
    def depth(self) -> int:
        return self.records[0].depth if self.records else -1

    @property
    def fixed_tokens(self) -> int:
        system = self.row.system
        said = sum(message.tokens for message in self.operator)
        said += sum(pin.tokens for pin in self.pins if pin.role == "system")
        return (
            REQUEST_OVERHEAD + self.row.tools_tokens + said + (MESSAGE_OVERHEAD + count_cached(system) if system else 0)
        )

    def append(self, message: Message) -> None:
        self.messages.append(message)
        self.unfolded_tokens += message.tokens
        self.row.last_seq = message.seq
        if message.role == "user":
            self.row.users += 1
        elif message.role == "assistant" and message.model_variant:
            self.model = message.model_variant
        if len(self.messages) > 2 * WINDOW:
            self.unfolded_tokens -= sum(m.tokens for m in self.messages[:-WINDOW])
            del self.messages[:-WINDOW]

    def situation(self) -> Situation:
        return Situation(
            messages=self.messages,
            unfolded_tokens=self.unfolded_tokens,
            fixed_tokens=self.fixed_tokens,
            memory_tokens=self.memory_tokens,
            summary_tokens=self.summary_tokens,
            context_window=self.usual_window,
            records=len(self.records),
            users=self.row.users,
            last_seq=self.row.last_seq,
            marks=self.marks,
        )

    def view(self, asked: tuple[Message, ...] = ()) -> View:
        row, unloaded = self.row, None
        if self.messages and self.messages[0].seq > row.cursor + 1:
            unloaded = (row.cursor + 1, self.messages[0].seq - 1)
        return View(
            policy=self.policy,
            system="\n\n".join(
                [*filter(None, (row.system,)), *(pin.text for pin in self.pins if pin.role == "system")]
            ),
            pins=tuple(pin for pin in self.pins if pin.role != "system"),
            lines=self.lines,
            messages=tuple(self.messages),
            depth=self.depth,
            cursor=row.cursor,
            head=self.folds[0].head_seq if self.folds else 0,
            folds=row.folds,
            asked=asked,
            unloaded=unloaded,
            operator=self.operator,
            chat=row.id,
            cache=self.rendered,
        )


def load(connection: Connection, key: int, cached: State | None) -> State | None:
    """The chat as it is now; what has not changed since `cached` is not read again. None if it is gone."""
    now = store.pulse(connection, key)
    if now is None:
        return None
    version, last_seq, users, marks, epoch, read_to = now
    # Another epoch under the same version is another chat, under the key of a deleted one.
    same = cached is not None and cached.row.version == version and cached.row.epoch == epoch
    if cached is None or not same or cached.row.last_seq > last_seq:
        row = store.chat_by_key(connection, key)
        return _read(connection, row) if row else None
    row = cached.row
    if last_seq > row.last_seq:
        for message in store.messages_between(connection, key, row.last_seq + 1, last_seq):
            cached.append(message)
    if row.marks != marks:
        row.marks = marks
        cached.marks = marks_of(row)
    row.users, row.read_to = users, read_to
    return cached


def folded(state: State, row: ChatRow, fold: FoldRow, change: Change) -> State | None:
    """The chat after a fold that was written just now, as reading it would give it; None where it has to be read."""
    messages = [message for message in state.messages if message.seq > row.cursor]
    whole = len(messages) == row.last_seq - row.cursor <= WINDOW
    if state.damaged or not whole:
        return None
    gone = set(change.removed)
    written = [line if line.fold == fold.n else replace(line, fold=fold.n) for line in change.added]
    fresh = replace(
        state,
        row=row,
        marks=marks_of(row),
        lines=(*(line for line in state.lines if line.id not in gone), *written),
        folds=[fold, *state.folds][:_RECENT_FOLDS],
        messages=messages,
        unfolded_tokens=sum(message.tokens for message in messages),
        operator=(*state.operator, *(m for m in state.messages if m.seq <= row.cursor and m.role in OPERATOR))[
            -_OPERATOR:
        ],
        rendered={},
    )
    return _measured(fresh)


def _read(connection: Connection, row: ChatRow) -> State:
    first = max(row.cursor + 1, row.last_seq - WINDOW + 1)
    messages = store.messages_between(connection, row.key, first, row.last_seq)
    model = store.last_model(connection, row.key, row.last_seq - 499, row.last_seq)
    lines, damaged = fold_rows.memory_now(connection, row.key)
    policy, policy_damaged = policy_of(row)
    state = State(
        row,
        policy,
        marks_of(row),
        lines,
        journal.all_pins(connection, row.key, row.id),
        fold_rows.newest_folds(connection, row.key, _RECENT_FOLDS),
        messages,
        sum(m.tokens for m in messages),
        model,
        tuple(store.said_by_operator(connection, row.key, row.cursor, _OPERATOR)),
        damaged,
        policy_damaged,
        words=tuple(word for _, word in journal.words(connection, row)),
    )
    return _measured(state)


def _measured(state: State) -> State:
    state.records = [fold for fold in state.folds if fold.kind != "rollup"]
    state.memory_tokens = memory_tokens(state.view())
    state.summary_tokens = block_tokens([line for line in state.lines if line.layer in (LONG, PINNED)])
    return state


def asked(connection: Connection, state: State) -> tuple[Message, ...]:
    """The question of the open turn, where it is already folded."""
    messages = state.messages
    if not messages or messages[-1].role == "user" or any(m.role == "user" for m in messages):
        return ()
    if messages[-1].role == "assistant" and answered(messages):
        return ()
    last = store.last_user_seq(connection, state.row.key)
    before = store.messages_between(connection, state.row.key, max(1, last - 50), last)
    first, end = question(before)
    return tuple(before[first:end])


def last_question(view: View) -> Message | None:
    """The message that asks, where the caller gave no question."""
    if view.asked:
        return view.asked[-1]
    first, end = question(view.messages)
    return view.messages[end - 1] if first < end else None


def note_marks(connection: Connection, state: State, marks: Marks) -> None:
    """Write what the triggers must remember, with the counters that go with it."""
    row = state.row
    state.marks, row.marks = marks, marks_json(marks)
    store.touch(connection, row.key, last_seq=row.last_seq, users=row.users, marks=row.marks)


def marks_json(marks: Marks) -> str:
    armed = "true" if marks.armed else "false"
    return f'{{"armed":{armed},"head":{marks.head},"safety":{marks.safety},"seen":{marks.seen}}}'
