"""What messages state that lasts, and of entities. What users state of themselves is noted in the transaction that adds the
message, and known in all their chats at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from infold.knowledge.entity import Mention
from infold.knowledge.facts import notable, overrules
from infold.knowledge.mentions import read as mentions_of
from infold.knowledge.standing import hints_of, is_known, may_be_known, may_overrule, rank_of
from infold.ledger import derived, journal, mentions, stated, store
from infold.ledger.database import Database
from infold.ledger.erasure import delete_mentions_at
from infold.ledger.query import Connection
from infold.ledger.rows import ChatRow
from infold.lines.line import Line
from infold.lines.merging import quotation, said_of
from infold.lines.words import Word
from infold.marks import REMOVED, UNREADABLE
from infold.messages import Message
from infold.quoting.candidate import Candidate
from infold.quoting.history import read_all
from infold.quoting.lasting import is_secret, stays
from infold.quoting.reading import REACH
from infold.quoting.replacing import Effect, Index, effects, resolve

BATCH = 256
"""Messages that are read at once."""
_NEAR = 20
"""Messages before one whose lines it may speak of without a word in common: "make that 700"."""
_MOST = 16
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


def note_at_once(connection: Connection, row: ChatRow, message: Message, before: Sequence[Message]) -> None:
    """Note what a user's message states of themselves. The rest of it is noted when the chat is folded, or when somebody asks
    for it."""
    noting = _Noting(connection, row)
    apart: bool | None = None
    (found,) = candidates(connection, row.key, [message], before)
    for one in _single(found):
        if may_be_known(one) or may_overrule(one):
            line = quotation(one)
            if is_known(line) or (may_overrule(one) and overrules(line)):
                if apart is None:
                    apart = bool(store.apart_between(connection, row.key, message.seq, message.seq))
                noting.take(line, apart or _stays(one, message) or _another(message, before, row))


def note(connection: Connection, row: ChatRow, messages: Sequence[Message]) -> None:
    """Note all that some messages state that lasts, and what they say of entities. They follow each other."""
    if not messages:
        return
    noting = _Noting(connection, row)
    known = stated.places_between(connection, row.key, messages[0].seq, messages[-1].seq)
    apart = store.apart_between(connection, row.key, messages[0].seq, messages[-1].seq)
    said: list[Mention] = []
    for message, found in zip(messages, candidates(connection, row.key, messages), strict=True):
        for one in _single(found) if message.role == "user" else ():
            if one.places not in known and notable(line := quotation(one)):
                noting.take(line, message.seq in apart or (row.user is not None and _stays(one, message)))
        if message.seq not in apart:
            said += [one for one in mentions_of(message, found, row.id) if not is_secret(one.name)]
    mentions.note_mentions(connection, row.key, None, said)
    if said:
        noting.changed()
    row.read_to = messages[-1].seq
    derived.set_read_to(connection, row.key, row.read_to)


def _stays(one: Candidate, message: Message) -> bool:
    """Whether what a message says belongs to its chat alone."""
    return one.borrowed or stays(one.words, message.text[: one.places[-1].start], message.text)


def _another(message: Message, before: Sequence[Message], row: ChatRow) -> bool:
    """Whether a message is somebody's who speaks in a user's chat beside the user, as far as names tell."""
    name = (message.name or "").casefold()
    if not name or name in (row.user or "").casefold():
        return False
    return any(one.role == "user" and (one.name or "").casefold() != name for one in before)


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


def note_word(connection: Connection, row: ChatRow, word: Word) -> None:
    """Put what is noted of a chat right, as a person said."""
    rows = stated.rows_of_chat(connection, row.key)
    apart = False
    for key, line, for_chat in rows:
        if word.concerns(line):
            stated.forget_row(connection, key)
            apart = apart or for_chat
    if word.result is not None and word.line.sources:
        _Noting(connection, row).keep(word.result, apart or is_secret(word.result.text))
    settle(connection, owner_of(connection, row))


class _Noting:
    """Noting for one chat. Whose it is, is found out when there is something to note."""

    def __init__(self, connection: Connection, row: ChatRow) -> None:
        self._connection = connection
        self._row = row
        self._owner: int | None = None
        self._words: list[Word] | None = None

    def changed(self, at: int = 0) -> int:
        """Tell everybody who keeps what is known of the user; when the latest of it was said."""
        if self._owner is None:
            self._owner = owner_of(self._connection, self._row)
        return stated.touch_user(self._connection, self._owner, at)

    def take(self, line: Line, apart: bool) -> None:
        """Note a line that somebody said or wrote, unless a person has put it right."""
        if self._words is None:
            self._words = [word for _, word in journal.words(self._connection, self._row)]
        if not any(word.concerns(line) for word in self._words):
            self.keep(line, apart)

    def keep(self, line: Line, apart: bool) -> None:
        """Note a line, and what it does to earlier ones."""
        late = self.changed(line.said_at) > line.said_at
        connection, row = self._connection, self._row
        owner = -row.key if apart or self._owner is None else self._owner
        words = hints_of(line)
        key = stated.note(connection, row.key, owner, line, rank_of(line), words, apart)
        if owner > 0:  # what holds of a chat alone is worked out for those who ask
            _meet(connection, row, owner, key, replace(line, chat=row.id), words, late)


def _meet(
    connection: Connection, row: ChatRow, owner: int, key: int, line: Line, words: Sequence[int], late: bool
) -> None:
    """Let a new line end earlier ones that it overrules, or where it comes late be ended by one that was said after it."""
    said = said_of(line)
    if not (late or said.slot or said.changed or said.taken or said.brief or said.denies):
        return  # it overrules nothing, and what only says the same is not shown twice
    shared = 1 if late or said.slot or said.taken or said.changed else 2
    some = stated.near(connection, owner, words, _MOST, shared=shared, ended=True)
    if said.brief or said.changed:
        some += stated.just_before(connection, row.key, owner, max(line.sources) - _NEAR)
    rows = sorted({one.key: one for one in some}.values(), key=_order)
    if late:
        _settle_some(connection, rows)
        return
    index = Index()
    at = {index.add(said_of(one.line)): one for one in rows if one.key != key and one.ended is None}
    for number, effect in effects(said, index):
        other = at[number]
        if effect in (Effect.REPLACES, Effect.CLOSES):
            stated.end(connection, other.key, by=key)
            if effect is Effect.REPLACES:  # the new value holds as the old one did
                stated.lift(connection, key, other.rank)


def _settle_some(connection: Connection, rows: Sequence[stated.Held]) -> None:
    """Work out anew what holds of some rows, in the order they were said: one of them came late."""
    found = resolve([said_of(one.line) for one in rows])
    keys = {one.key for one in rows}
    ranks = {one.key: one.rank for one in rows}
    for at, one in enumerate(rows):
        by = rows[found.gone[at]].key if at in found.gone else None
        if by is not None and at in found.replaced:
            ranks[by] = max(ranks[by], ranks[one.key])
            stated.lift(connection, by, ranks[by])
        if one.ended != by and (by is not None or one.ended in keys):
            stated.end(connection, one.key, by=by)


def _order(one: stated.Held) -> tuple[int, int, int, int]:
    return one.line.said_at, one.chat, max(one.line.sources), one.key


# Whose it is ---------------------------------------------------------------------------------------------


def owner_of(connection: Connection, row: ChatRow) -> int:
    """Whom a chat's words are known of: its user, or nobody beside itself."""
    if row.known_as is None:
        return -row.key
    known = stated.user(connection, row.known_as)
    if known is None:
        known = stated.begin_user(connection, row.known_as)
        for other in derived.chats_of_user(connection, row.known_as):  # what an earlier version noted
            if stated.is_unowned(connection, other) and (one := store.chat_by_key(connection, other)):
                _give(connection, one, known.key if one.known_as else -one.key)
        settle(connection, known.key)
    return known.key if known.remember else -row.key


def own(connection: Connection, row: ChatRow) -> None:
    """Find the owner of a chat's words again, after its user changed, or what may be known of it."""
    owner = owner_of(connection, row)
    unsettled = {*stated.owners(connection, row.key), owner}
    _give(connection, row, owner)
    for one in sorted(unsettled):
        settle(connection, one)


def set_remember(connection: Connection, user: str, remember: bool) -> None:
    """Note whether what a user says in one chat may be known in the others."""
    known = stated.user(connection, user) or stated.begin_user(connection, user)
    stated.set_remember(connection, known.key, remember)
    for key in derived.chats_of_user(connection, user):
        if row := store.chat_by_key(connection, key):
            _give(connection, row, owner_of(connection, row))
    settle(connection, known.key)


def _give(connection: Connection, row: ChatRow, owner: int) -> None:
    for key, line, apart in stated.rows_of_chat(connection, row.key):
        to = -row.key if apart or stays(line.quote, "", line.quote) else owner
        stated.own(connection, row.key, key, to, rank_of(line), hints_of(line))


def return_to(connection: Connection, row: ChatRow) -> None:
    """Note that people go on in this branch of a chat: what only the others say is not known any more."""
    for other in store.family(connection, row):
        if not other.away and other.key != row.key:
            stated.set_away(connection, other.key, True)
            other.away = 1
            store.bump(connection, other.key)
            own(connection, other)
    stated.set_away(connection, row.key, False)
    row.away = 0
    own(connection, row)


def settle(connection: Connection, owner: int) -> None:
    """Work out anew what holds of all that is known of an owner."""
    rows = stated.rows_of_owner(connection, owner)
    found = resolve([said_of(line) for _, line in rows])
    stated.set_ended(connection, owner, {rows[at][0]: rows[by][0] for at, by in found.gone.items()})
    ranks = {key: rank_of(line) for key, line in rows}
    for at, by in sorted(found.gone.items()):
        if at in found.replaced:
            old, new = rows[at][0], rows[by][0]
            ranks[new] = max(ranks[new], ranks[old])
            stated.lift(connection, new, ranks[new])
    stated.touch_user(connection, owner)


# Taking back, and reading again ----------------------------------------------------------------------------


def catch_up(connection: Connection, key: int, upto: int | None = None) -> bool:
    """Note some of what was added and not read yet, or of what was up to a position; False where nothing is left."""
    row = store.chat_by_key(connection, key)
    last = min(row.last_seq, upto or row.last_seq) if row is not None else 0
    if row is None or row.read_to >= last:
        return False
    messages = store.messages_between(connection, key, row.read_to + 1, min(last, row.read_to + BATCH))
    note(connection, row, messages)
    return bool(messages)  # whoever waits for the rest must not wait for what is not there


def read_up(database: Database, chat: int | None, user: str | None) -> None:
    """Note all that is left of a chat and of a user's chats, because somebody asks for it."""
    if database.read_only:
        return
    with database.read() as connection:
        left = stated.pending(connection, chat, user)
    for key in left:
        more = True
        while more:
            with database.write() as connection:
                more = catch_up(connection, key)


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
    facts, unsettled = stated.forget_at(connection, row.key, changed)
    said = delete_mentions_at(connection, row.key, changed)
    upto, _ = derived.read_to(connection, row.key)
    after = sorted({seq + more for seq in changed for more in range(REACH + 1)})
    again = [one for one in store.messages_at(connection, row.key, after) if one.content not in (REMOVED, UNREADABLE)]
    unsettled |= stated.forget_at(connection, row.key, (message.seq for message in again))[1]
    delete_mentions_at(connection, row.key, (message.seq for message in again))
    for message in again:
        if message.role == "user" and row.user:
            note_at_once(connection, row, message, ())
        if message.seq <= upto:
            note(connection, row, [message])
    row.read_to = upto
    derived.set_read_to(connection, row.key, upto)
    for _, word in journal.words(connection, row):
        if not {*after}.isdisjoint(word.line.sources):
            note_word(connection, row, word)
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
