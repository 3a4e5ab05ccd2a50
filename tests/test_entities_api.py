"""Entities as chats and users give them: read, linked, closed, set by hand, shown in contexts, repaired."""

from __future__ import annotations

import json
import logging
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest

from infold import Chat, ConfigError, Memory, NotFoundError
from infold.knowledge.entity import KINDS as ENTITY_KINDS
from infold.marks import ENTITIES_LABEL
from tests import rawsql
from tests.conftest import counted_ids, ticking_clock, turn, words
from tests.shown import shown
from tests.test_facts import opened, told
from tests.test_users import HOUR, say, small

DAY = 24 * HOUR


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
    now = shown(chat.context(query, **more))
    return [row.removeprefix("- ") for row in now.recalled.under(ENTITIES_LABEL)] if now.recalled else []


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
        assert shown(context).tokens <= context.tokens <= budget
        assert sum(piece.tokens for piece in context.explain().items) == context.tokens
        lines = related(chat, "So?", max_tokens=budget)
        assert lines == whole[: len(lines)]
        assert len(lines) == 25 or context.sources["hot_turns"] == 0
        seen.append(len(lines))
    assert seen == sorted(seen, reverse=True)
    assert seen[0] == 25
    assert seen[-1] < 10


def test_E8_default_shows_only_what_a_question_names(memory: Memory) -> None:
    chat = told(memory, "I must send the report to Anna by Friday.", "My friend Boris called me.", words(300))
    assert related(chat, "And the lawn mower?") == []
    lines = related(chat, "What do I owe Anna?")
    assert lines
    assert all("Anna" in line for line in lines)
    assert json.dumps(lines).count("Boris") == 0


@pytest.mark.parametrize("damage", ["links = '[1'", "name = 'Nobody'", "status = 'done'", "seal = 7"])
def test_D7_a_damaged_mention_is_skipped_and_repaired(url: str, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    with opened(url) as memory:
        chat = told(memory, "I will send report.pdf to Marta by Friday.", "I live in Berlin.", user="ann")
        chat.set_entity("project", "Harbour")
        whole = chat.entities
    assert len(whole) > 2
    assert rawsql.change(url, f"UPDATE mentions SET {damage} WHERE seq > 0")
    with caplog.at_level(logging.WARNING, "infold"), opened(url) as memory:
        memory.chat("a").context("What about Marta?")
        assert memory.chat("a").entities == whole
        assert "damaged" in caplog.text
        caplog.clear()
        assert memory.user("ann").entities == whole
        assert "damaged" not in caplog.text
