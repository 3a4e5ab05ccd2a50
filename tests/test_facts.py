"""Facts: what people stated that lasts, in their own words: sourced, superseded, in conflict, damaged, read again."""

from __future__ import annotations

import logging
import sqlite3
import unicodedata
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from infold import Chat, Line, Memory, preset
from infold.knowledge.facts import resolve
from infold.lines.kinds import KINDS
from infold.lines.line import STATUSES
from tests import rawsql
from tests.conftest import START, assistant, counted_ids, ticking_clock, turn, user
from tests.databases import POSTGRES
from tests.test_users import HOUR, close, say, small

OLD = Path(__file__).parent / "ledger_0001.sql"
STATED = [
    "I live in Berlin.", "I prefer tea over coffee.", "My goal is to run a marathon.", "My budget is 600 euros.",
    "I'm allergic to peanuts, sadly. My sister's name is “Zoë-Marie”, by the way.", "Ich wohne in München.", "我住在上海。",
]  # fmt: skip


def told(memory: Memory, *texts: str, id: str = "a", **more: Any) -> Chat:
    """A chat that folded some sentences, each an hour after the one before."""
    chat = memory.chat(id, config=small(), **more)
    for hour, text in enumerate(texts):
        say(chat, text, hour, fold=False)
    close(chat, len(texts))
    return chat


def by_text(chat: Chat) -> dict[str, Line]:
    return {fact.text: fact for fact in chat.facts(all=True)}


def opened(url: str, options: str = "") -> Memory:
    return Memory(url + options, clock=ticking_clock(), ids=counted_ids())


def test_D3_facts_are_the_words_of_people_with_their_sources(memory: Memory) -> None:
    chat = told(memory, *STATED)
    messages = {message.seq: message for message in chat.messages()}
    facts = chat.facts(all=True)
    assert {"who", "preference", "goal", "constraint"} <= {fact.kind for fact in facts}
    for fact in facts:
        assert fact.kind in KINDS
        assert fact.status in STATUSES
        assert (fact.chat, fact.author, fact.role) == ("a", "quotation", "user")
        said = messages[fact.sources[0]]
        assert fact.quote == fact.text
        assert fact.quote in said.text
        assert (fact.said_by, fact.said_at) == ("user", said.created_at)
        assert [said.text[place.start : place.end] for place in fact.places] == [fact.quote]
    assert len({fact.id for fact in facts}) == len(facts)
    assert tuple(chat.facts) == tuple(fact for fact in facts if fact.status != "superseded") == chat.facts()


def test_D3_no_words_stand_in_two_facts(memory: Memory) -> None:
    """A sentence may be quoted alone or with its neighbour, but is one fact."""
    facts = told(memory, "I'm allergic to peanuts, sadly. My sister's name is Zoë-Marie. I live in Berlin.").facts(
        all=True
    )
    for words in ("peanuts", "Zoë-Marie", "Berlin"):
        assert len([fact for fact in facts if words in fact.text]) == 1


SPELLED = ["I live in Genève.", "i live in genève", "I live  in\tGenève!", unicodedata.normalize("NFD", "I live in Genève."),
           "I live in\u00a0Genève."]  # fmt: skip


@pytest.mark.parametrize("text", SPELLED[1:])
def test_D3_spelling_makes_no_second_fact(memory: Memory, text: str) -> None:
    (fact,) = told(memory, SPELLED[0], text, text).facts(all=True)
    assert (fact.text, fact.status, fact.sources, fact.said_at) == (SPELLED[0], "current", (1, 3, 5), START)


def test_D3_the_latest_word_holds_and_what_it_supersedes_is_kept(memory: Memory) -> None:
    chat = told(memory, "I live in Berlin.", "My dog is called Rex.", "I live in Rome now.", "I live in Oslo now.")
    assert sorted(fact.text for fact in chat.facts) == ["I live in Oslo now.", "My dog is called Rex."]
    every = by_text(chat)
    chain = [every[text] for text in ("I live in Berlin.", "I live in Rome now.", "I live in Oslo now.")]
    assert [fact.status for fact in chain] == ["superseded", "superseded", "current"]
    assert [fact.superseded_by for fact in chain] == [chain[1].id, chain[2].id, None]
    assert [fact.valid_to for fact in chain] == [chain[1].said_at, chain[2].said_at, None]
    assert "I live in Berlin. (superseded)" in [hit.text for hit in chat.recall("Berlin", kinds=["fact"])]


def team(memory: Memory, *said: tuple[str, str]) -> Chat:
    """A chat of several people that folded what they said."""
    chat = memory.chat("a", config=small())
    for hour, (name, text) in enumerate(said):
        chat.add([user(text, name=name, created_at=START + hour * HOUR), assistant("Noted.")])
    close(chat, len(said))
    return chat


MAY, JUNE = ("Ann", "The deadline is May 1."), ("Bob", "The deadline is June 1.")


def test_D3_what_two_people_say_differently_is_a_conflict(memory: Memory) -> None:
    chat = team(memory, MAY, JUNE)
    one, other = chat.facts
    assert {one.status, other.status} == {"conflicting"}
    assert (one.conflicts_with, other.conflicts_with) == ((other.id,), (one.id,))
    for context in (chat.context("So?"), memory.chat("a").context("When is the deadline?")):
        shown = context.to("text")
        assert "Ann: The deadline is May 1." in shown
        assert "Bob: The deadline is June 1." in shown


def test_D3_a_later_word_settles_a_conflict(memory: Memory) -> None:
    """Also one that says again what is known: both that it holds, and that the other one does not."""
    chat = team(memory, MAY, JUNE, ("Ann", "New deadline: June 1."))
    (held,) = chat.facts
    assert (held.text, held.status, held.sources, held.conflicts_with) == (JUNE[1], "current", (3, 5), ())
    gone = by_text(chat)[MAY[1]]
    assert (gone.status, gone.superseded_by, gone.conflicts_with) == ("superseded", held.id, ())
    shown = chat.context("So?").to("text")
    assert "June 1" in shown
    assert "May 1" not in shown


def test_D3_what_was_said_in_between_does_not_hold_once_it_is_taken_back(memory: Memory) -> None:
    chat = told(memory, "My budget is 400 euros.", "My budget is 500 euros.", "My budget is 400 euros.")
    assert [(fact.text, fact.sources) for fact in chat.facts] == [("My budget is 400 euros.", (5,))]
    assert [fact.status for fact in chat.facts(all=True)] == ["superseded", "superseded", "current"]


def test_D3_a_rewind_takes_facts_back(memory: Memory, url: str) -> None:
    chat = told(memory, "I live in Berlin.", "I am allergic to peanuts.")
    before, kept = chat.facts(all=True), chat.messages()[-1]
    assert len(before) == 2
    say(chat, "I am allergic to peanuts.", 20)  # said again: a second source of an old fact
    say(chat, "I live in Rome now.", 30)
    assert len(by_text(chat)["I am allergic to peanuts."].sources) == 2
    assert by_text(chat)["I live in Berlin."].status == "superseded"
    chat.rewind(kept.id)
    assert chat.facts(all=True) == before
    with Memory(url) as other:
        assert other.chat("a").facts(all=True) == before
    chat.rewind(chat.messages()[0].id)
    assert [fact.text for fact in chat.facts(all=True)] == ["I live in Berlin."]


# Damaged rows --------------------------------------------------------------------------------------------

DAMAGES: dict[str, tuple[str, Any]] = {
    "bad JSON": ("sources", "[1,"),
    "other JSON": ("sources", '{"a": 7}'),
    "bad places": ("places", "[[1]]"),
    "another text": ("text", "I live in Moscow."),
    "another quotation": ("quote", "I live in Moscow."),
    "another kind": ("kind", "rule"),
    "another speaker": ("said_by", "Bob"),
    "wrong seal": ("seal", 7),
}
if not POSTGRES:  # a column of text holds nothing else there
    DAMAGES |= {"a number": ("sources", 7), "bytes": ("sources", b"\xff\x00\xff")}


def damage_fact(url: str, damage: str) -> None:
    column, value = DAMAGES[damage]
    assert rawsql.change(url, f"UPDATE stated SET {column} = ? WHERE text LIKE '%Berlin%'", value)


@pytest.mark.parametrize("damage", DAMAGES)
def test_D7_a_damaged_fact_is_skipped_and_read_again(url: str, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    with opened(url) as memory:
        chat = told(memory, "I live in Berlin.", "I am allergic to peanuts.", "I live in Berlin.", user="ann")
        whole = chat.facts(all=True)
    assert any("Berlin" in fact.text for fact in whole)
    damage_fact(url, damage)
    if not POSTGRES:  # there is no reading without repairing
        with caplog.at_level(logging.WARNING, "infold"), opened(url, "?mode=ro") as memory:
            assert [fact for fact in whole if "Berlin" not in fact.text] == list(memory.chat("a").facts(all=True))
            for words in ("table stated", "row 1", "chat a", "damaged"):
                assert words in caplog.text
            assert "Berlin" not in caplog.text
            memory.chat("a").context("Where do I live?")
            memory.user("ann").recall("Where do I live?")
    with opened(url) as memory:
        memory.chat("a").context("Where do I live?")
        assert memory.chat("a").facts(all=True) == whole
    caplog.clear()
    with caplog.at_level(logging.WARNING, "infold"), opened(url) as memory:
        assert memory.user("ann").facts(all=True) == whole
        assert "damaged" not in caplog.text
        assert memory.verify().ok


def test_D7_a_users_facts_are_read_again_too(url: str) -> None:
    with Memory(url) as memory:
        whole = told(memory, "I live in Berlin.", user="ann").facts(all=True)
    damage_fact(url, "bad JSON")
    with Memory(url) as memory:
        assert memory.user("ann").facts(all=True) == whole


# Many, and in any portions -------------------------------------------------------------------------------


@pytest.mark.sqlite
def test_D3_messages_that_an_earlier_version_folded_get_facts(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(OLD.read_text(encoding="utf-8"))
    with Memory(f"sqlite:///{path}", clock=ticking_clock(START + 24 * HOUR), ids=counted_ids("new")) as memory:
        chat = memory.chat("trip")
        memory.settle()
        assert ("My budget is 400 euros.", (1,)) in [(fact.text, fact.sources) for fact in chat.facts]


def test_D3_a_fold_of_thousands_of_messages_is_read(memory: Memory) -> None:
    chat = memory.chat("a", config=preset("default", enabled=False))
    chat.add([user("I live in Berlin."), assistant("Ok."), *(message for n in range(1100) for message in turn(n))])
    chat.set_policy("default")
    chat.add(turn(1100))
    memory.settle()
    assert chat.memory.cursor > 2000
    assert [fact.text for fact in chat.facts] == ["I live in Berlin."]


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_D3_facts_noted_in_lists_are_those_noted_one_by_one(memory: Memory, size: int) -> None:
    texts = [*STATED, "I live in Rome now.", "I live in Rome now.", "I'm vegan.", "My budget is 700 euros."] * 4
    at = iter(range(START, START + 10**6))
    messages = [
        one for text in texts for one in (user(text, created_at=next(at)), assistant("Noted.", created_at=next(at)))
    ]
    apart, together = memory.chat("apart", config=small()), memory.chat("together", config=small())
    for message in messages:
        apart.add(message)
    for first in range(0, len(messages), size):
        together.add(messages[first : first + size])
    for chat in (apart, together):
        close(chat, 99)
    seen = [
        [
            (fact.text, fact.sources, fact.status, fact.valid_to, fact.standing, fact.worth)
            for fact in chat.facts(all=True)
        ]
        for chat in (apart, together)
    ]
    assert seen[0] == seen[1]
    assert len(seen[0]) > 10


def test_D3_lines_of_the_same_words_are_one_with_all_its_sources() -> None:
    said = [
        Line(f"l{n}", "facts", "My budget is 400 euros.", (n,), kind="constraint", role="user", said_by="user", said_at=n, chat=chat)
        for n, chat in ((1, "a"), (3, "a"), (5, "b"), (7, "a"))
    ]  # fmt: skip
    (fact,) = resolve(said)
    assert (fact.id, fact.sources, fact.said_at) == ("l1", (1, 3, 7), 1)  # positions are of its own chat
