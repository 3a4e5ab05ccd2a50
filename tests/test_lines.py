"""Lines of memory without a model: quotations that can be relied on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from infold import Memory, summarize_memory
from infold.chat import Chat
from infold.errors import ConfigError, NotFoundError
from infold.lines.line import Line
from infold.messages import Message
from infold.presets import PRESETS
from infold.quoting.dates import undated
from tests import own
from tests.conftest import assistant, counted_ids, ticking_clock, user

WORDS = re.compile(r"\w+")


def words(text: str) -> list[str]:
    return WORDS.findall(text)


def opened(folder: Path, name: str = "chats", **values: Any) -> Memory:
    return Memory(f"sqlite:///{folder}/{name}.db", clock=ticking_clock(), ids=counted_ids(), **values)


def filled(memory: Memory, name: str, preset: str = "default") -> Chat:
    chat = memory.chat(name, preset=preset, user="u", context_window=8192)
    for message in own.messages(name):
        chat.add(message, repair=True)
    chat.fold()
    return chat


def bytes_of(chat: Chat) -> list[object]:
    """All that memory says, but for the numbers of folds, which depend on when it was folded."""
    return [
        (line.layer, line.section, line.text, line.quote, line.places, line.said_by, line.worth, line.standing)
        for line in chat.memory.items
    ]


def assert_quoted(line: Line, said: dict[int, Message]) -> None:
    """The text of a line is the words at its places, in their order: white space, marks of a list or of JSON, the ellipsis
    and a date in parentheses aside."""
    there = [word for place in line.places for word in words(said[place.seq].text[place.start : place.end])]
    assert words(undated(line.text)) == there, line
    assert line.sources
    assert {place.seq for place in line.places} <= {*line.sources}
    assert line.author == "quotation"
    last = said[line.places[-1].seq]
    assert (line.role, line.said_by, line.said_at) == (last.role, last.name or last.role, last.created_at)


# Exact words ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", own.NAMES)
def test_A8_every_line_is_exact_words_of_the_messages_it_cites(tmp_path: Path, name: str) -> None:
    with opened(tmp_path) as memory:
        chat = filled(memory, name)
        said = {message.seq: message for message in chat.messages()}
        lines = [*chat.memory.items, *chat.facts(all=True)]
        assert len(lines) > 20
        for line in lines:
            assert_quoted(line, said)


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_A8_in_every_preset_a_fold_quotes(tmp_path: Path, preset: str) -> None:
    with opened(tmp_path) as memory:
        chat = filled(memory, "weeks", preset)
        said = {message.seq: message for message in chat.messages()}
        assert chat.memory.items
        for line in chat.memory.items:
            assert_quoted(line, said)


def test_A9_one_by_one_in_lists_and_rebuilt_memory_is_the_same(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        single = filled(memory, "flat")
        listed = memory.chat("listed", user="other", context_window=8192)
        listed.add(own.messages("flat"), repair=True)
        listed.fold()
        assert bytes_of(listed) == bytes_of(single)
        before = bytes_of(single)
        assert single.rebuild() == sum(fold.reason != "rollup" for fold in folds(single))
        assert bytes_of(single) == before
        assert memory.verify().ok


def folds(chat: Chat) -> list[Any]:
    from infold.ledger import fold_rows

    with chat.reading() as (connection, _):
        return [fold for fold in fold_rows.all_folds(connection, chat.key) if fold.superseded_by is None]


# What is kept --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_A5_a_fold_of_messages_that_state_something_leaves_a_line(memory: Memory, preset: str) -> None:
    chat = memory.chat("c", preset=preset)
    for n in range(1, 31):
        chat.add([user(f"I decided that item {n} uses color number {n}."), assistant("Noted.")])
    chat.fold()
    assert "uses color number" in chat.summary
    assert "Noted" not in chat.summary


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_D3_an_allergy_is_in_every_context_beside_three_hundred_preferences(memory: Memory, preset: str) -> None:
    chat = memory.chat("c", preset=preset, context_window=8192)
    chat.add([user("I'm allergic to peanuts."), assistant("Understood.")])
    things = "tea jazz linen trains oak Ravel chess maps lamps wine socks pens films boats figs snow".split()
    for one in things:
        for other in things:
            chat.add([user(f"I prefer {one} to {other}."), assistant("Noted, I'll keep that in mind.")])
    chat.fold()
    for budget in (500, 1000, 3000):
        for question in (None, "Which lamps should I take for the films?"):
            assert "allergic to peanuts" in chat.context(question, max_tokens=budget).to("text")
    assert sum(line.tokens for line in chat.memory.items) < 1500
    assert len(chat.facts) > 100  # nothing is lost that is not shown


def test_F10_an_answer_stands_with_its_question_and_a_statement_by_itself() -> None:
    def told(*said: str) -> str:
        roles = [assistant, user]
        return summarize_memory("", [roles[at % 2](text) for at, text in enumerate(said)])

    assert "- Shall we go with MongoDB? – Yes, let's do that." in told(
        "Shall we go with MongoDB?", "Yes, let's do that."
    )
    assert "- So you're allergic to nuts? – No, to eggs." in told("So you're allergic to nuts?", "No, to eggs.")
    assert "- My name is Ada." in told("Booked for two. Shall I add flowers?", "My name is Ada.")


@pytest.mark.parametrize(
    "text", ["I'm diabetic.", "I'm vegan.", "Nut allergy!", "My son is deaf.", "I don't eat pork."]
)
def test_D3_short_words_of_health_are_kept(memory: Memory, text: str) -> None:
    chat = memory.chat("c", preset="rolling")
    chat.add([user(text), assistant("Noted.")])
    talk(chat, 0, 8)
    chat.fold()
    assert f"- {text}" in chat.summary
    assert [fact.kind for fact in chat.facts if fact.text == text] == ["constraint"]


@pytest.mark.parametrize(
    "text",
    [
        "Draft a mail to Bob in which you never use the word love.",
        "Don't mention the price in this letter.",
        "Translate: I'm allergic to peanuts and I live in Berlin.",
        "Here is what he wrote:\n\nDear Mrs White,\nYou must never take aspirin.\nYours, Dr Hill",
    ],
)
def test_D3_a_wish_for_one_piece_of_work_and_pasted_words_are_no_rules(memory: Memory, text: str) -> None:
    chat = memory.chat("c", preset="rolling")
    chat.add([user(text), assistant("Noted.")])
    talk(chat, 0, 8)
    chat.fold()
    kinds = ("rule", "constraint", "preference")
    assert not [fact for fact in chat.facts if fact.sources == (1,) and fact.kind in kinds]


@pytest.mark.parametrize("preset", ["default", "rolling"])
def test_F10_what_an_assistant_says_of_the_user_is_not_the_users_word(memory: Memory, preset: str) -> None:
    chat = memory.chat("c", preset=preset)
    for n in range(14):
        said = "You decided to use MongoDB, and you prefer the dark theme." if n == 3 else f"Step {n} is the {n}th one."
        chat.add([user(f"What about step {n}?"), assistant(said)])
    chat.fold()
    assert [fact for fact in chat.facts(all=True) if "MongoDB" in fact.text] == []
    for line in chat.memory.items:
        if "MongoDB" in line.text:
            assert line.said_by == "assistant"
            assert f"Assistant: {line.text}" in chat.summary


def test_A8_speakers_keep_their_names(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling")
    for _ in range(8):
        chat.add([
            {"role": "user", "name": "Mara", "content": "I live in Porto and my budget is 900 euros."},
            {"role": "assistant", "name": "Guide", "content": "I will send you three flats by Friday."},
        ])  # fmt: skip
    chat.fold()
    assert "Mara: I live in Porto" in chat.summary
    assert {line.said_by for line in chat.memory.items} <= {"Mara", "Guide"}


def test_A8_a_relative_date_has_its_day_beside_the_words(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling")
    chat.add(user("I must have the report by Friday."), created_at="2026-04-20T09:00:00Z")
    for n in range(12):
        chat.add([assistant("Noted."), user(f"Slide {n} shows the {n}th figure.")], created_at="2026-04-20T09:00:00Z")
    chat.fold()
    (line,) = [line for line in chat.memory.items if "report" in line.text]
    assert line.text == "I must have the report by Friday (24 Apr 2026)."
    assert line.quote == "I must have the report by Friday."


# Where it comes from -------------------------------------------------------------------------------------


def test_F5_a_line_shows_its_messages_and_their_hashes(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling")
    for n in range(12):
        chat.add([{**user(f"My locker number {n} is {n}{n}."), "id": f"m{n}"}, assistant("Noted.")])
    chat.fold()
    for line in (*chat.memory.items, *chat.facts):
        source = chat.trace(line)[-1]
        assert source.quote == line.quote == chat.trace(line.id)[-1].quote
        message = next(message for message in chat.messages() if message.id == source.id)
        assert source.sha256 == message.sha256.hex()
    with pytest.raises(NotFoundError, match="no line"):
        chat.trace("99.9")


def test_E4_a_chosen_line_outlives_its_words_and_says_that_they_were_removed(url: str) -> None:
    with Memory(url) as memory:
        chat = memory.chat("c", preset="rolling")
        for n in range(14):
            said = [user(f"My locker number {n} is {n}{n}."), assistant("Noted.")]
            chat.add(said, created_at="2020-05-01T09:00:00Z")
        kept = [line.text for line in chat.memory.items]
        assert memory.compact(mode="remove").messages > 0
        assert [line.text for line in chat.memory.items] == kept
        source = chat.trace(chat.memory.items[0])[0]
        assert (source.removed, source.quote, len(source.sha256)) == (True, "", 64)
        with pytest.raises(ConfigError, match="removed"):
            chat.rebuild()
        assert [line.text for line in chat.memory.items] == kept
        assert memory.verify().ok


def test_F6_forgetting_a_message_takes_its_lines_along(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling")
    for n in range(12):
        chat.add([{**user(f"My locker number {n} is {n}{n}."), "id": f"m{n}"}, assistant("Noted.")])
    chat.fold()
    assert "locker number 3 " in chat.summary
    chat.forget("m3")
    assert "locker number 3 " not in chat.summary
    assert not [fact for fact in chat.facts(all=True) if "locker number 3 " in fact.text]
    assert memory.verify().ok


def test_F5_rebuilding_puts_quotations_in_the_place_of_a_models_lines_only_when_told(url: str) -> None:
    with Memory(url, summarizer=lambda _, __: "## Facts / Constraints\n- The locker number is 33.") as memory:
        chat = memory.chat("c", preset="rolling", wait=True)
        for n in range(12):
            chat.add([user(f"My locker number {n} is {n}{n}."), assistant("Noted.")])
        assert any(line.author == "summarizer" for line in chat.memory.items)
        with pytest.raises(ConfigError, match="a model wrote"):
            chat.rebuild()
        assert chat.rebuild(force=True) > 0
        assert {line.author for line in chat.memory.items} == {"quotation"}
        assert [event.type for event in chat.events()][-1] == "rebuilt"


# What holds ----------------------------------------------------------------------------------------------

CHANGES = [
    ("The deadline is May 1.", "New deadline: June 1.", "May 1", "June 1"),
    ("My budget is 500 euros.", "Make that 700.", "500 euros", "700"),
    ("We use PostgreSQL for the database.", "Let's use SQLite instead.", "PostgreSQL", "SQLite"),
    ("Let's meet at 3 pm.", "5 pm works better.", "3 pm", "5 pm"),
    ("I drink coffee in the morning.", "I don't drink coffee anymore.", "drink coffee in the morning", "anymore"),
    ("I live in Porto.", "I moved to Lisbon last week.", "live in Porto", "Lisbon"),
]


HARBOURS = (
    "Porto Genoa Bergen Cadiz Odessa Split Izmir Riga Turku Brest Malmo Gdansk Varna Faro Dover Ghent Oslo Nice Bari Kiel Vigo Sète Hull Cork"
).split()


def talk(chat: Chat, first: int, end: int) -> None:
    """Turns about other things."""
    for name in HARBOURS[first:end]:
        chat.add([user(f"The next slide shows the harbour of {name}."), assistant(f"{name} is drawn in blue.")])


@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize(("old", "new", "gone", "holds"), CHANGES)
def test_D3_the_newest_value_holds_in_every_preset(
    memory: Memory, preset: str, old: str, new: str, gone: str, holds: str
) -> None:
    chat = memory.chat("c", preset=preset, context_window=2048)
    chat.add([user(old), assistant("Noted.")])
    talk(chat, 1, 10)
    chat.fold()
    chat.add([user(new), assistant("Noted.")])
    talk(chat, 10, 24)
    chat.fold()
    assert gone not in chat.summary
    assert holds in chat.summary
    assert not [fact for fact in chat.facts if gone in fact.text]


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_D3_where_it_is_not_sure_both_stay(memory: Memory, preset: str) -> None:
    chat = memory.chat("c", preset=preset)
    chat.add([user("My budget for the sofa is 500 euros."), assistant("Noted.")])
    chat.add([user("My budget for the trip is 900 euros."), assistant("Noted.")])
    talk(chat, 0, 12)
    chat.fold()
    assert "the sofa is 500 euros" in chat.summary
    assert "the trip is 900 euros" in chat.summary


def test_D3_a_superseded_fact_is_kept_and_says_what_took_its_place(memory: Memory) -> None:
    chat = memory.chat("c", preset="rolling")
    chat.add([user("My budget is 500 euros."), assistant("Noted."), user("Make that 700."), assistant("Noted.")])
    talk(chat, 0, 8)
    chat.fold()
    old, new = [fact for fact in chat.facts(all=True) if "00" in fact.text]
    assert (old.status, new.status) == ("superseded", "current")
    assert (old.superseded_by, old.valid_to) == (new.id, new.said_at)
    assert new in chat.facts
    assert old not in chat.facts


def test_A7_prose_is_kept_sentence_by_sentence_and_what_a_message_overturns_goes() -> None:
    known = "The user is called Ada and lives in Lisbon. The deadline is May 1. The report goes to Tom."
    again = summarize_memory(known, [user("New deadline: June 1."), assistant("Noted.")])
    assert "lives in Lisbon" in again
    assert "report goes to Tom" in again
    assert "May 1" not in again
    assert "New deadline: June 1." in again


def test_A7_what_is_done_is_no_longer_open() -> None:
    known = summarize_memory("", [user("I need to buy milk for the party.")])
    assert "buy milk" in known
    assert "buy milk" not in summarize_memory(known, [user("I bought the milk for the party.")])


@pytest.mark.parametrize("text", ["ok", "Thanks a lot!", "Noted.", "Yes, sure.", "Danke!", "好的，谢谢"])
def test_A8_thanks_and_yeses_are_no_memory(text: str) -> None:
    assert summarize_memory("", [user(text)]) == ""
