"""A person's word about a line of memory or a fact: correcting, retracting, confirming."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from infold.committing import as_people_said, commit
from infold.errors import ConfigError, MessageError
from infold.knowledge.noting import note_word
from infold.ledger import journal, store
from infold.ledger.rows import Event
from infold.lines.kinds import PINNED
from infold.lines.line import PERSON, Line
from infold.lines.merging import Change
from infold.lines.words import CORRECTED, Word
from infold.messages import parse
from infold.sources import line_of

if TYPE_CHECKING:
    from infold.chat import Chat
    from infold.memory import Memory

_LONGEST = 2000


def say(memory: Memory, chat: Chat, how: str, line: str | Line, by: str, text: str = "") -> Line | None:
    """Write a person's word about a line, as an event, and let memory and facts follow it; the line as it is now."""
    text = _checked(text) if how == CORRECTED else ""
    if not isinstance(by, str) or not by.strip() or len(by) > 200:
        raise ConfigError("by must say who corrects, in at most 200 characters")
    chat.read_up()
    events: list[Event] = []
    with chat.writing() as (connection, state):
        row, clock = state.row, memory.clockwork
        facts = [*memory.knowledge.facts_of_chat(connection, row).facts]
        if row.known_as:  # some hold only because they took the place of what another chat says
            facts += [f for f in memory.knowledge.facts_of_user(connection, row.known_as).facts if f.chat == row.id]
        known = line_of(state, line, facts)
        if known.section == PINNED:
            raise ConfigError("a pin is a person's word already: unpin it, and pin another text")
        ids = tuple(id for id, _ in store.stamps(connection, row.key, known.sources).values())
        word = Word(how, known, row.last_seq, clock.now(), by, text, ids)
        event = Event(how, word.at, word.data(), row.id)
        journal.insert_event(connection, row.key, event)
        events.append(event)
        note_word(connection, row, word)
        state = replace(state, words=(*state.words, word))
        change = as_people_said(state, Change((), (), state.lines), row.folds + 1)
        if change.lines != state.lines:
            _, told = commit(connection, state, change, how, state.marks, clock, author=PERSON, kind="rollup")
            events += told
        else:
            store.bump(connection, row.key)
        chat.cache = None
    memory.emit(events)
    result = word.result
    return next((fact for fact in chat.facts if result is not None and fact.text == result.text), result)


def _checked(text: object) -> str:
    """The text of a correction."""
    said = " ".join(parse({"role": "user", "content": text}).text.split()) if isinstance(text, str) else ""
    if not said or len(said) > _LONGEST:
        raise MessageError(
            f"a correction must be a text of 1 to {_LONGEST} characters; chat.retract(line) takes a line back"
        )
    return said
