"""What messages state that lasts, and of entities: noted in the transaction that adds them, for the chat and for its user."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from infold import entities
from infold.knowledge.facts import notable
from infold.knowledge.standing import hints_of, is_secret, rank_of, stays
from infold.ledger import derived, mentions, stated, store
from infold.ledger.erasure import delete_mentions_at
from infold.ledger.query import Connection
from infold.ledger.rows import ChatRow
from infold.lines.line import Line
from infold.lines.merging import quotation, said_of
from infold.marks import REMOVED, UNREADABLE
from infold.messages import Message
from infold.quoting.candidate import Candidate
from infold.quoting.history import read_all
from infold.quoting.reading import REACH
from infold.quoting.replacing import Effect, Index, effects, resolve

BATCH = 256
"""Messages that are read at once where an earlier version left them unread."""
_NEAR = 20
"""Messages before one whose lines it may speak of without a word in common: "make that 700"."""
_MOST = 60
"""Earlier lines that a new one is compared with."""


def candidates(
    connection: Connection, key: int, messages: Sequence[Message], before: Sequence[Message] = ()
) -> list[tuple[Candidate, ...]]:
    """What each of some messages of a chat may be quoted for. They follow each other; `before` are those right before them,
    read from the database where they are not given."""
    if not messages:
        return []
    first = messages[0].seq
    if len(before) < min(REACH, first - 1):
        before = store.messages_between(connection, key, first - REACH, first - 1)
    return read_all(messages, before[-REACH:])


def note(
    connection: Connection,
    row: ChatRow,
    messages: Sequence[Message],
    before: Sequence[Message] = (),
    apart: bool = False,
) -> None:
    """Note what some messages state that lasts, and what they say of entities. They follow each other. What is noted `apart`
    is known in its chat alone. The caller writes the row, which says up to where messages are noted."""
    noting = _Noting(connection, row)
    for message, found in zip(messages, candidates(connection, row.key, messages, before), strict=True):
        if message.role == "user":
            for one in _single(found):
                if notable(line := quotation(one)):
                    noting.take(line, apart or stays(line, message.text, one.borrowed))
        said = entities.read(message, found, row.id)
        if said:
            mentions.note_mentions(connection, row.key, None, said)
            noting.changed()
    if messages:
        row.read_to = messages[-1].seq


def _single(found: Sequence[Candidate]) -> list[Candidate]:
    """Candidates less those that hold another one: of two sentences, each is a fact by itself."""

    def holds(one: Candidate, other: Candidate) -> bool:
        outer, inner = one.places[-1], other.places[-1]
        within = outer.seq == inner.seq and outer.start <= inner.start and inner.end <= outer.end
        return within and outer != inner

    return [one for one in found if not any(holds(one, other) for other in found)]


def note_written(connection: Connection, row: ChatRow, written: Iterable[Line]) -> None:
    """Note the lines of a model that last."""
    noting = _Noting(connection, row)
    for line in written:
        if line.rewrites and line.sources and line.section in ("facts", "goals"):
            noting.take(line, is_secret(line.text))


class _Noting:
    """Noting for one chat. Whose it is, is found out when there is something to note."""

    def __init__(self, connection: Connection, row: ChatRow) -> None:
        self._connection = connection
        self._row = row
        self._owner: int | None = None

    def changed(self) -> None:
        """Tell everybody who keeps what is known of the user."""
        if self._owner is None:
            self._owner = owner_of(self._connection, self._row)
        stated.touch_user(self._connection, self._owner)

    def take(self, line: Line, apart: bool) -> None:
        """Note a line, and what it does to earlier ones."""
        self.changed()
        connection, row = self._connection, self._row
        owner = -row.key if apart or self._owner is None else self._owner
        words = hints_of(line)
        key = stated.note(connection, row.key, owner, line, rank_of(line), words, apart)
        _meet(connection, row.key, owner, key, line, words)


def _meet(connection: Connection, chat: int, owner: int, key: int, line: Line, words: Sequence[int]) -> None:
    """Let a new line end earlier ones that it overrules or repeats, or be ended by one that was said later."""
    first = max(line.sources) - _NEAR
    some = {one.key: one for one in stated.near(connection, owner, words, _MOST)}
    some |= {one.key: one for one in stated.just_before(connection, chat, owner, first)}
    mine = some.pop(key)
    said, index = said_of(mine.line), Index()
    rows = sorted(some.values(), key=lambda one: (one.line.said_at, one.chat, max(one.line.sources), one.key))
    at = {index.add(said_of(one.line)): one for one in rows}
    for number, effect in effects(said, index):
        other = at[number]
        if effect is Effect.REPEATS:
            stated.end(connection, key, by=other.key)
            return
        if effect is not Effect.CONFLICTS:
            stated.end(connection, other.key, by=key)
            if effect is Effect.REPLACES:  # the new value holds as the old one did
                stated.lift(connection, key, other.rank)
    later = [one for one in rows if one.line.said_at > line.said_at]
    for one in later:
        alone = Index()
        alone.add(said)
        if any(effect in (Effect.REPLACES, Effect.CLOSES) for _, effect in effects(said_of(one.line), alone)):
            stated.end(connection, key, by=one.key)
            return


# Whose it is ---------------------------------------------------------------------------------------------


def owner_of(connection: Connection, row: ChatRow) -> int:
    """Whom a chat's words are known of: its user, or nobody beside itself."""
    if row.user is None or row.away or not row.remember:
        return -row.key
    known = stated.user(connection, row.user)
    if known is None:
        known = stated.insert_user(connection, row.user)
        for other in derived.chats_of_user(connection, row.user):  # what an earlier version noted
            if stated.is_unowned(connection, other) and (one := store.chat_by_key(connection, other)):
                _give(connection, one, -one.key if one.away or not one.remember else known.key)
        settle(connection, known.key)
    return known.key if known.remember else -row.key


def own(connection: Connection, row: ChatRow) -> None:
    """Find the owner of a chat's words again, after its user changed, or what may be known of it."""
    unsettled = {*stated.owners(connection, row.key)}
    owner = owner_of(connection, row)
    _give(connection, row, owner)
    for one in sorted({*unsettled, owner, -row.key}):
        settle(connection, one)


def _give(connection: Connection, row: ChatRow, owner: int) -> None:
    for key, line, apart in stated.rows_of_chat(connection, row.key):
        to = -row.key if apart else owner
        stated.own(connection, row.key, key, to, rank_of(line), hints_of(line))


def return_to(connection: Connection, row: ChatRow) -> None:
    """Note that people go on in this branch of a chat: what only the others say is not known any more."""
    for other in store.family(connection, row):
        if not other.away and other.key != row.key:
            stated.set_away(connection, other.key, True)
            other.away = 1
            own(connection, other)
    stated.set_away(connection, row.key, False)
    row.away = 0
    own(connection, row)


def settle(connection: Connection, owner: int) -> None:
    """Work out anew what holds of all that is known of an owner."""
    rows = stated.rows_of_owner(connection, owner)
    found = resolve([said_of(line) for _, line in rows])
    ended = {rows[at][0]: rows[by][0] for at, by in (*found.repeats.items(), *found.gone.items())}
    stated.set_ended(connection, owner, ended)
    ranks = {key: rank_of(line) for key, line in rows}
    for at, by in sorted(found.gone.items()):
        if at in found.replaced:
            old, new = rows[at][0], rows[by][0]
            ranks[new] = max(ranks[new], ranks[old])
            stated.lift(connection, new, ranks[new])
    stated.touch_user(connection, owner)


# Taking back, and reading again ----------------------------------------------------------------------------


def catch_up(connection: Connection, key: int) -> bool:
    """Note some of what was added but never read; False where nothing is left."""
    row = store.chat_by_key(connection, key)
    if row is None or row.read_to >= row.last_seq:
        return False
    note(
        connection,
        row,
        store.messages_between(connection, key, row.read_to + 1, min(row.last_seq, row.read_to + BATCH)),
    )
    derived.set_read_to(connection, key, row.read_to)
    return True


def rewound(connection: Connection, key: int, seq: int) -> None:
    """Take back what was noted of messages after a position."""
    unsettled = derived.forget_after(connection, key, seq)
    upto, _ = derived.read_to(connection, key)
    derived.set_read_to(connection, key, min(upto, seq))
    for owner in sorted(unsettled):
        settle(connection, owner)


def renote(connection: Connection, row: ChatRow, seqs: Iterable[int]) -> tuple[int, int]:
    """Note again what some messages say, which were changed, and those after them, which may rest on them; how many facts and
    mentions of the changed ones went."""
    changed = set(seqs)
    apart = stated.apart_at(connection, row.key)
    facts, unsettled = stated.forget_at(connection, row.key, changed)
    said = delete_mentions_at(connection, row.key, changed)
    upto, _ = derived.read_to(connection, row.key)
    after = sorted({seq + more for seq in changed for more in range(REACH + 1) if seq + more <= upto})
    again = [one for one in store.messages_at(connection, row.key, after) if one.content not in (REMOVED, UNREADABLE)]
    unsettled |= stated.forget_at(connection, row.key, (message.seq for message in again))[1]
    delete_mentions_at(connection, row.key, (message.seq for message in again))
    for message in again:
        note(connection, row, [message], apart=message.seq in apart)
    row.read_to = upto
    derived.set_read_to(connection, row.key, upto)
    for owner in sorted({*unsettled, *stated.owners(connection, row.key)}):
        settle(connection, owner)
    return facts, said


def repair(connection: Connection, damaged: Sequence[mentions.Damaged]) -> None:
    """Read again from their messages what damaged rows said."""
    for chat in dict.fromkeys(chat for chat, _ in damaged):
        row = store.chat_by_id(connection, chat)
        if row is None:
            continue
        renote(connection, row, [seq for of, seq in damaged if of == chat])
        store.bump(connection, row.key)
        derived.next_epoch(connection, row.key)
