"""Facts and entities as chats and users give them: typed, sourced, superseded, in conflict, damaged, repaired."""

from __future__ import annotations

import json
import logging
import sqlite3
import unicodedata
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infold import Chat, ConfigError, Memory, NotFoundError, preset
from infold.entities import KINDS as ENTITY_KINDS
from infold.facts import KINDS, STATUSES, Fact, Saying, Statement, read, resolve
from infold.folding.extractive import extract
from infold.ledger import derived
from infold.marks import ENTITIES_HEADER
from infold.messages import canonical_json
from infold.tokens import REQUEST_OVERHEAD
from tests import rawsql
from tests.conftest import START, assistant, counted_ids, ticking_clock, turn, user, words
from tests.databases import POSTGRES
from tests.test_context import recount
from tests.test_users import HOUR, close, say, small

DAY = 24 * HOUR
OLD = Path(__file__).parent / "ledger_0001.sql"
STATED = [
    "I live in Berlin.", "I was born on 3 May 1990.", "I prefer tea over coffee.", "My goal is to run a marathon.",
    "We can't spend more than 600 euros.", "I must send the report to Anna by Friday.", "We decided to use Postgres for the backend.",
    "I'm allergic to peanuts, sadly. My sister's name is “Zoë-Marie”, by the way.", "Ich wohne in München.", "我住在上海。",
]  # fmt: skip


def told(memory: Memory, *texts: str, id: str = "a", **more: Any) -> Chat:
    """A chat that folded some sentences, each an hour after the one before."""
    chat = memory.chat(id, config=small(), **more)
    for hour, text in enumerate(texts):
        say(chat, text, hour, fold=False)
    close(chat, len(texts))
    return chat


def by_text(chat: Chat) -> dict[str, Fact]:
    return {fact.text: fact for fact in chat.facts(all=True)}


def change(url: str, sql: str, *values: Any) -> None:
    assert rawsql.change(url, sql, *values) > 0


# Facts -------------------------------------------------------------------------------------------------


def test_D3_facts_are_typed_quoted_and_sourced(memory: Memory) -> None:
    chat = told(memory, *STATED)
    stored = {message.id: message for message in chat.messages()}
    facts = chat.facts(all=True)
    assert {"biography", "preference", "goal", "constraint", "commitment", "decision"} <= {fact.kind for fact in facts}
    for fact in facts:
        assert fact.kind in KINDS
        assert fact.status in STATUSES
        assert fact.sources
        assert 0 < fact.confidence <= 1
        for source in fact.sources:
            message = stored[source.id]
            assert (source.seq, source.at, source.chat) == (message.seq, message.created_at, "a")
        assert any(fact.quote in stored[source.id].text for source in fact.sources)
        assert fact.quote
    assert len({fact.id for fact in facts}) == len(facts)
    assert tuple(chat.facts) == tuple(fact for fact in facts if fact.status != "superseded") == chat.facts()


SPELLED = ["I live in Genève.", "i live in genève", "I live  in\tGenève!", unicodedata.normalize("NFD", "I live in Genève."),
           "I live in Ｇｅｎèｖｅ.", "I live in\u00a0Genève."]  # fmt: skip


@pytest.mark.parametrize("text", SPELLED[1:])
def test_D3_spelling_makes_no_second_fact(memory: Memory, text: str) -> None:
    chat = told(memory, SPELLED[0], text, text)
    found = [(unicodedata.normalize("NFKC", fact.text), fact.status) for fact in chat.facts(all=True)]
    assert found == [("User lives in Genève", "current")]
    fact = chat.facts[0]
    assert [source.seq for source in fact.sources] == [1, 3, 5]
    assert fact.valid_from == START


def test_D3_what_is_superseded_is_kept(memory: Memory) -> None:
    chat = told(memory, "I live in Berlin.", "My dog is called Rex.", "I live in Rome now.", "I live in Oslo now.")
    assert sorted(fact.text for fact in chat.facts) == ["User lives in Oslo", "User's dog is called Rex"]
    every = by_text(chat)
    chain = [every[f"User lives in {city}"] for city in ("Berlin", "Rome", "Oslo")]
    assert [fact.status for fact in chain] == ["superseded", "superseded", "current"]
    assert [fact.superseded_by for fact in chain] == [chain[1].id, chain[2].id, None]
    assert [fact.valid_to for fact in chain] == [chain[1].valid_from, chain[2].valid_from, None]
    assert chat.recall("Where does the user live? Berlin?", kinds=["fact"], limit=3)[0].text.startswith("User lives in")
    assert "User lives in Berlin (superseded)" in [hit.text for hit in chat.recall("Berlin", kinds=["fact"])]


def test_D3_conflicts_are_shown_as_such(memory: Memory) -> None:
    chat = told(memory, "I was born on 3 May 1990.", "I was born on 4 June 1991.")
    one, other = chat.facts
    assert {one.status, other.status} == {"conflicting"}
    assert (one.conflicts_with, other.conflicts_with) == ((other.id,), (one.id,))
    for context in (chat.context("So?"), memory.chat("a").context("When was I born?")):
        lines = canonical_json(context.messages).split("\\n")
        unclear = [line for line in lines if "Unclear, both were said" in line]
        assert len(unclear) == 1
        assert "3 May 1990" in unclear[0]
        assert "4 June 1991" in unclear[0]
    say(chat, "Correction: I was born on 3 May 1990, not on 4 June 1991.", 50)
    assert not any(fact.status == "conflicting" for fact in chat.facts)
    assert "Unclear" not in canonical_json(chat.context("So?").messages)


BORN = ["I was born on 3 May 1990.", "I was born on 4 June 1991.", "Actually, I was born on 3 May 1990."]


def test_D3_a_correction_in_known_words_settles_a_conflict(memory: Memory) -> None:
    chat = told(memory, *BORN)
    assert [(fact.text, fact.status) for fact in chat.facts] == [("User was born on 3 May 1990", "current")]


@pytest.mark.parametrize(
    "texts",
    [
        STATED,
        [
            "I live in Berlin.",
            "I live in Rome now.",
            "I live in Berlin.",
            "My budget is 400 euros.",
            "My budget is €400.",
        ],
        BORN,
    ],
)
def test_D3_stored_facts_are_what_all_messages_state(memory: Memory, texts: list[str]) -> None:
    chat = told(memory, *texts)
    folded = chat.messages()[: chat.memory.cursor]
    stated = [one for message in folded for one in read(message, extract(message), "a")]
    expected = [replace(fact, confidence=round(fact.confidence, 4)) for fact in resolve(stated)]
    assert [replace(fact, confidence=round(fact.confidence, 4)) for fact in chat.facts(all=True)] == expected


def test_D3_a_rewind_takes_facts_back(memory: Memory, url: str) -> None:
    chat = told(memory, "I live in Berlin.", "I keep bees.")
    before, kept = chat.facts(all=True), chat.messages()[-1]
    say(chat, "I live in Rome now.", 30)
    say(chat, "I live in Berlin.", 40)  # said again: a second source of an old fact
    say(chat, "I must send the report to Anna.", 50)
    assert by_text(chat)["User lives in Berlin"].sources[-1].at == START + 40 * HOUR
    assert chat.entities
    chat.rewind(kept.id)
    assert chat.facts(all=True) == before
    assert chat.entities == []
    with Memory(url) as other:
        assert other.chat("a").facts(all=True) == before
    chat.rewind(chat.messages()[0].id)
    assert chat.facts(all=True) == ()


DAMAGES: dict[str, tuple[str, Any]] = {
    "bad JSON": ("sayings", "[[1,"),
    "no sayings": ("sayings", "[]"),
    "other JSON": ("sayings", '{"a": 7}'),
    "another text": ("text", "User lives in Moscow"),
    "another value": ("value", "Moscow"),
    "another quotation": ("quote", "I live in Moscow."),
    "wrong seal": ("seal", 7),
    "wrong digest": ("digest", bytes.fromhex("00112233445566778899aabbccddeeff")),
}
if not POSTGRES:  # a column of text holds nothing else there
    DAMAGES |= {"a number": ("sayings", 7), "bytes": ("sayings", b"\xff\x00\xff")}


def damage_fact(url: str, damage: str) -> None:
    column, value = DAMAGES[damage]
    change(url, f"UPDATE facts SET {column} = ? WHERE text LIKE '%Berlin%'", value)


@pytest.mark.parametrize("damage", DAMAGES)
def test_D7_a_damaged_fact_is_skipped_and_repaired(url: str, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    def opened(options: str = "") -> Memory:
        return Memory(url + options, clock=ticking_clock(), ids=counted_ids())

    with opened() as memory:
        chat = told(memory, "I live in Berlin.", "I am allergic to peanuts.", "I live in Berlin.", user="ann")
        whole = chat.facts(all=True)
    assert any("Berlin" in fact.text for fact in whole)
    damage_fact(url, damage)
    if not POSTGRES:  # there is no reading without repairing
        with caplog.at_level(logging.WARNING, "infold"), opened("?mode=ro") as memory:
            assert [fact for fact in whole if "Berlin" not in fact.text] == list(memory.chat("a").facts(all=True))
            assert "damaged" in caplog.text
            memory.chat("a").context("Where do I live?")
            memory.user("ann").recall("Where do I live?")
    with opened() as memory:
        memory.chat("a").context("Where do I live?")
        assert memory.chat("a").facts(all=True) == whole
    caplog.clear()
    with caplog.at_level(logging.WARNING, "infold"), opened() as memory:
        assert memory.user("ann").facts(all=True) == whole
        assert "damaged" not in caplog.text
        assert memory.verify().ok


@pytest.mark.parametrize("damage", ["links = '[1'", "name = 'Nobody'", "status = 'done'", "seal = 7"])
def test_D7_a_damaged_mention_is_skipped_and_repaired(url: str, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    def opened(options: str = "") -> Memory:
        return Memory(url + options, clock=ticking_clock(), ids=counted_ids())

    with opened() as memory:
        chat = told(memory, "I will send report.pdf to Marta by Friday.", "I live in Berlin.", user="ann")
        chat.set_entity("project", "Harbour")
        whole = chat.entities
    assert len(whole) > 2
    change(url, f"UPDATE mentions SET {damage} WHERE seq > 0")
    with caplog.at_level(logging.WARNING, "infold"), opened() as memory:
        memory.chat("a").context("What about Marta?")
        assert memory.chat("a").entities == whole
        assert "damaged" in caplog.text
        caplog.clear()
        assert memory.user("ann").entities == whole
        assert "damaged" not in caplog.text


def test_D7_a_users_facts_are_repaired_too(url: str) -> None:
    with Memory(url) as memory:
        whole = told(memory, "I live in Berlin.", user="ann").facts(all=True)
    damage_fact(url, "bad JSON")
    with Memory(url) as memory:
        assert memory.user("ann").facts(all=True) == whole


def test_D3_messages_that_an_earlier_version_folded_get_facts(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(OLD.read_text(encoding="utf-8"))
    with Memory(f"sqlite:///{path}", clock=ticking_clock(START + DAY), ids=counted_ids("new")) as memory:
        chat = memory.chat("trip")
        memory.settle()
        assert "User's budget is 400 euros" in [fact.text for fact in chat.facts]
        assert chat.facts[0].sources[0].id == "old-2"


def test_D3_a_fold_of_thousands_of_messages_is_read(memory: Memory) -> None:
    chat = memory.chat("a", config=preset("default", enabled=False))
    chat.add([user("I live in Berlin."), assistant("Ok."), *(message for n in range(1100) for message in turn(n))])
    chat.set_policy("default")
    chat.add(turn(1100))
    memory.settle()
    assert chat.memory.cursor > 2000
    assert [fact.text for fact in chat.facts] == ["User lives in Berlin"]


# Entities ----------------------------------------------------------------------------------------------


def test_E8_entities_are_read_linked_and_closed(memory: Memory) -> None:
    chat = told(memory, "I must send the report.pdf to Anna by Friday.", "The login page is broken.", user="ann")
    found = {entity.name: entity for entity in chat.entities}
    task = next(one for one in chat.entities if one.kind == "task")
    assert (task.status, task.due, task.owner) == ("open", "2026-01-02", "User")
    assert {found["Anna"].id, found["report.pdf"].id} <= set(task.links)
    assert task.id in found["Anna"].links
    assert task.sources == (("a", 1, chat.messages()[0].id),)
    assert {entity.kind for entity in chat.entities} <= set(ENTITY_KINDS)
    other = memory.chat("b", user="ann", config=small())
    say(other, "I sent the report.pdf to Anna.", 30)
    say(other, "The login page is fixed.", 31)
    states = {
        entity.kind: entity.status for entity in memory.user("ann").entities if entity.kind in ("task", "problem")
    }
    assert states == {"task": "done", "problem": "done"}
    assert other.entities == chat.entities == memory.user("ann").entities


def test_E8_what_is_set_by_hand_adds_to_what_was_said(memory: Memory) -> None:
    chat = told(memory, "I must send the report to Anna by Friday.", user="ann")
    task = next(one for one in chat.entities if one.kind == "task")
    again = memory.user("ann").set_entity("task", task.name.upper(), due="2026-03-01", links=["Apollo"])
    assert (again.id, again.due, again.owner, again.status) == (task.id, "2026-03-01", "User", "open")
    project = chat.set_entity("project", "Apollo")
    assert project.links == (task.id,)
    assert chat.set_entity("task", task.name, status="done").status == "done"
    assert chat.set_entity("task", task.name, owner="Bob").due == "2026-03-01"  # what is not given stays
    memory.user("ann").remove_entity(project.id)
    assert project.id not in [one.id for one in chat.entities]
    with pytest.raises(NotFoundError, match="nothing"):
        chat.remove_entity("nothing")
    assert memory.user("bob").entities == []
    with pytest.raises(NotFoundError):
        memory.user("bob").remove_entity(task.id)


@pytest.mark.parametrize("by", ["user", "chat"])
def test_E8_an_extracted_entity_of_a_user_can_be_removed(memory: Memory, by: str) -> None:
    chat = told(memory, "I must send the report to Anna by Friday.", user="ann")
    task = next(one for one in chat.entities if one.kind == "task")
    (chat if by == "chat" else memory.user("ann")).remove_entity(task.id)
    assert task.id not in [one.id for one in memory.user("ann").entities]
    assert task.id not in [one.id for one in chat.entities]


def test_E8_an_extracted_entity_of_a_chat_can_be_removed(memory: Memory) -> None:
    chat, other = (told(memory, "I must send the report to Anna by Friday.", id=id) for id in "ab")
    task = next(one for one in chat.entities if one.kind == "task")
    chat.remove_entity(task.id)
    assert task.id not in [one.id for one in chat.entities]
    assert task.id in [one.id for one in other.entities]


def test_E8_a_name_in_decomposed_letters_is_whole(memory: Memory) -> None:
    chat = told(memory, "My friend Zoë called me.", unicodedata.normalize("NFD", "My friend Zoë called me again."))
    assert [unicodedata.normalize("NFC", one.name) for one in chat.entities if one.kind == "person"] == ["Zoë"]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"kind": "thing"}, "kind"), ({"name": " "}, "name"), ({"name": 7}, "name"), ({"name": "x" * 501}, "name"),
    ({"name": "a\0b"}, "name"), ({"status": "maybe"}, "status"), ({"due": "Friday"}, "due"), ({"due": "2026-02-31"}, "due"),
    ({"due": 7}, "due"), ({"owner": 7}, "owner"), ({"links": "Apollo"}, "links"), ({"links": [7]}, "links"), ({"links": None}, "links"),
]  # fmt: skip


@pytest.mark.parametrize(("values", "what"), BAD, ids=lambda value: str(value)[:40])
def test_E8_bad_entities_are_refused(memory: Memory, values: dict[str, Any], what: str) -> None:
    given: dict[str, Any] = {"kind": "task", "name": "Paint the shed", **values}
    for target in (memory.chat("a"), memory.user("ann")):
        with pytest.raises(ConfigError, match=what):
            target.set_entity(**given)
    assert memory.chat("a").entities == memory.user("ann").entities == []


def related(chat: Chat, query: str, **more: Any) -> list[str]:
    """The lines of entities in a context."""
    blocks = [str(w["content"]) for w in chat.context(query, **more).messages if ENTITIES_HEADER in str(w["content"])]
    return [line.removeprefix("- ") for block in blocks for line in block.splitlines()[1:]]


@pytest.fixture
def crowded(url: str) -> Iterator[Chat]:
    """A chat of the engine whose user has 40 entities, one a day, the last the newest."""
    with Memory(url, clock=ticking_clock(step=DAY), ids=counted_ids()) as memory:
        chat = memory.chat("a", preset="engine", user="ann")
        for n in range(40):
            chat.set_entity("project", f"Project{n:02d}", links=["Project04"] if n == 5 else [])
        yield chat


def test_E8_engine_shows_25_by_recency_and_nearness(crowded: Chat, url: str) -> None:
    chat = crowded
    recent = [f"Project: Project{n:02d}" for n in range(39, 14, -1)]
    assert related(chat, "So?") == recent
    asked = related(chat, "What of project05?")
    assert len(asked) == 25
    names = [line.partition(" (")[0].removeprefix("Project: ") for line in asked]
    assert names[:3] == ["Project05", "Project04", "Project39"]  # named, linked with what is named, newest
    assert [line for line in asked if "05" not in line and "04" not in line] == recent[:23]
    with Memory(url) as memory:
        assert related(memory.chat("a"), "What of project05?") == asked
        assert related(memory.chat("b", preset="engine", user="bob"), "What of project05?") == []
        assert related(memory.chat("c", preset="engine"), "What of project05?") == []


def test_E2_entities_give_way_after_hot_turns_least_relevant_first(crowded: Chat) -> None:
    chat = crowded
    for n in range(6):
        chat.add(turn(n, 30))
    whole = related(chat, "So?", max_tokens=3000)
    seen: list[int] = []
    for budget in range(900, 120, -20):
        context = chat.context("So?", max_tokens=budget)
        assert recount(context) == context.tokens <= budget
        assert sum(piece.tokens for piece in context.explain().items) + REQUEST_OVERHEAD == context.tokens
        lines = related(chat, "So?", max_tokens=budget)
        assert lines == whole[: len(lines)]
        assert len(lines) == 25 or context.sources["hot_turns"] == 0
        seen.append(len(lines))
    assert seen == sorted(seen, reverse=True)
    assert seen[0] == 25
    assert seen[-1] < 10


def test_E8_default_shows_only_what_a_question_names(memory: Memory) -> None:
    chat = told(memory, "I must send the report to Anna by Friday.", "My friend Boris called me.", words(300))
    assert not any(ENTITIES_HEADER in str(w["content"]) for w in chat.context("And the lawn mower?").messages)
    lines = related(chat, "What do I owe Anna?")
    assert lines
    assert all("Anna" in line for line in lines)
    assert json.dumps(lines).count("Boris") == 0


@pytest.mark.parametrize("number", [0, 1, 15, 16, 17, 50])
def test_D3_facts_noted_together_are_those_noted_one_by_one(memory: Memory, number: int) -> None:
    chats = [memory.chat(id) for id in ("together", "apart")]
    told: list[list[tuple[object, ...]]] = []
    for chat in chats:
        # Every third says what was said before, and is one more source of it.
        stated = [
            Statement(
                f"The box {n - n % 3 // 2} is blue", "fact", "", "", "", "blue", 0.5, "", "user",
                (Saying(START + n, chat.id, n + 1, f"m{n}", "user"),),
            )
            for n in range(number)
        ]  # fmt: skip
        portions = [stated] if chat.id == "together" else [[statement] for statement in stated]
        with chat.writing() as (connection, _):
            for portion in portions:
                derived.note_facts(connection, chat.key, portion)
        with chat.reading() as (connection, _):
            found, damaged = derived.facts_of_chat(connection, chat.key)
        assert not damaged
        told.append([(one.text, *((said.at, said.seq, said.id) for said in one.sayings)) for one in found])
    assert told[0] == told[1]
    assert sum(len(fact) - 1 for fact in told[0]) == number
