"""Layers of summaries: duplicates, the difference a new long summary makes, consistency with facts, drift."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from infold import Chat, Line, Memory, preset
from infold.layers import NOMINATING, difference, in_old_words, is_kept, nominal, own_summary, without_outdated
from infold.lines.line import LONG
from infold.lines.merging import Change
from infold.messages import parse
from infold.quoting.history import read_all
from tests import rawsql
from tests.conftest import assistant, user
from tests.upstream import Upstream


def turns(chat: Chat, *said: str) -> None:
    for text in said:
        chat.add([user(text), assistant("I see.")])


def batches(memory: Memory, *batches: list[str]) -> Chat:
    """A layered chat whose folds are exactly these batches of eight turns."""
    chat = memory.chat("a", preset="layered", context_window=50_000)
    for batch in batches:
        assert len(batch) == 8
        turns(chat, *batch)
    turns(chat, "Hm.", "Well.", "So.", "Right.")
    return chat


def about(first: int) -> list[str]:
    return [f"We decided to use rope {n} for crate {n}." for n in range(first, first + 8)]


def fold_events(chat: Chat) -> list[dict[str, Any]]:
    return [event.data for event in chat.events() if event.type == "summarization"]


def test_D5_the_first_120_characters_nominate() -> None:
    text = "x" * NOMINATING
    assert nominal(text + "one") == nominal(text + "another")
    assert nominal("y" + text) != nominal(text)


def test_D5_a_summary_that_repeats_another_is_skipped_and_its_slice_is_covered(memory: Memory) -> None:
    chat = batches(memory, about(10), about(20), about(10))
    first, second, third = fold_events(chat)
    assert "duplicate_of" not in first
    assert "duplicate_of" not in second
    assert third["duplicate_of"] == first["fold"]
    assert (third["first"], third["last"]) == (33, 48)
    assert chat.memory.cursor == 48
    assert chat.verify().ok
    texts = [line.text for line in chat.memory.items]
    assert len(texts) == len(set(texts)) == 16


def test_D5_only_equal_texts_are_skipped(memory: Memory) -> None:
    """Summaries that begin alike are nominated, but differ in their last line."""
    other = [*about(10)[:-1], "We decided to use wire 99 for basket 99."]
    chat = batches(memory, about(10), about(20), other)
    assert nominal(_own(about(10))) == nominal(_own(other))
    assert all("duplicate_of" not in event for event in fold_events(chat))
    assert "wire 99 for basket 99" in chat.summary


def _own(batch: list[str]) -> str:
    messages = [parse(user(text)).stored(f"m{n}", n, n, 10) for n, text in enumerate(batch, 1)]
    return own_summary([one for found in read_all(messages, ()) for one in found], preset("layered"))


def test_D5_what_was_overturned_meanwhile_is_no_duplicate() -> None:
    text = _own(about(10))
    kept = [Line(str(n), "decisions", row, (n,)) for n, row in enumerate(text.splitlines())]
    assert len(kept) == 8
    assert is_kept(text, text.upper(), kept)
    assert not is_kept(text, text, kept[1:])
    assert not is_kept("", "", kept)


def _line(id: str, text: str, *sources: int, layer: str = LONG) -> Line:
    return Line(id, "facts", text, sources, layer, kind="fact", role="user", said_by="user", said_at=max(sources))


def test_D9_a_long_summary_that_says_nothing_new_is_redundant() -> None:
    old = [_line("1.1", "My budget for the blue crate is 400 euros", 1)]
    leaf = _line("2.1", "My budget for the blue crate is 400 euros.", 5, layer="leaf")
    change = Change(("2.1",), (), tuple(old))
    assert difference(change, [*old, leaf], []).redundant
    new = _line("3.1", "I prefer to sail to Lisbon in June", 5)
    assert not difference(Change(("2.1",), (new,), (*old, new)), [*old, leaf], []).redundant


def test_D9_a_redundant_long_summary_leaves_the_text_as_it_is_and_only_sources_grow() -> None:
    old = [_line("1.1", "My budget for the blue crate is 400 euros", 1), _line("1.2", "I prefer trains", 2)]
    again = _line("3.1", "For the blue crate my budget is 400 euros", 1, 5)
    twice = _line("3.2", "My budget for the blue crate: 400 euros", 6)
    change = Change(("1.1", "2.1"), (again, twice), (again, twice, old[1]))
    assert difference(change, old, []).redundant
    told = in_old_words(change, old)
    assert [(one.text, one.sources) for one in told.lines] == [
        (old[0].text, (1, 5)), (twice.text, (6,)), (old[1].text, (2,)),
    ]  # fmt: skip
    assert told.added == told.lines[:2]
    assert told.removed == change.removed


def test_D9_a_line_that_a_later_statement_replaces_leaves_the_long_summary() -> None:
    stale, right = _line("1.1", "I live in Berlin.", 2), _line("1.2", "I prefer trains.", 3)
    change = Change((), (stale, right), (stale, right))
    found = difference(change, [], [_line("f", "I live in Rome now.", 9)])
    assert [(line.id, fact.id) for line, fact in found.contradicted] == [("1.1", "f")]
    kept = without_outdated(change, found)
    assert [line.id for line in kept.lines] == [line.id for line in kept.added] == ["1.2"]


@pytest.mark.parametrize(
    ("written", "said"),
    [("The user lives in Berlin.", "I live in Rome now."), ("User's budget is 400 euros", "My budget is 500 euros.")],
)
def test_D9_what_was_written_of_the_user_is_compared_with_what_they_say(written: str, said: str) -> None:
    change = Change((), (), (_line("1.1", written, 2),))
    assert len(difference(change, [], [_line("f", said, 9)]).contradicted) == 1


@pytest.mark.parametrize(
    "fact",
    [
        _line("f", "I live in Rome.", 1),  # said before
        _line("f", "My sister lives in Rome.", 9),
        replace(_line("f", "I live in Rome now.", 9), status="superseded"),
    ],
)
def test_D9_what_is_not_replaced_for_sure_stays(fact: Line) -> None:
    stale = _line("1.1", "I live in Berlin.", 2)
    change = Change((), (stale,), (stale,))
    found = difference(change, [], [fact])
    assert found.contradicted == ()
    assert without_outdated(change, found) == change


def test_D9_roll_ups_of_a_chat_keep_to_its_facts(memory: Memory) -> None:
    def batch(n: int, first: str) -> list[str]:
        return [first, *(f"We decided to use rope {n}{m} for crate {n}{m}." for m in range(7))]

    homes = ["Berlin", "Rome", "Oslo", "Porto", "Ghent"]
    chat = batches(memory, *(batch(n, f"I live in {home} now.") for n, home in enumerate(homes)))
    assert any(event["kind"] == "rollup" for event in fold_events(chat))
    told = [f"I live in {home} now." for home in homes]
    assert [fact.text for fact in chat.facts if fact.text in told] == told[-1:]
    assert [fact.text for fact in chat.facts(all=True) if fact.text in told] == told
    shown = chat.context().to("text")
    assert "Ghent" in shown
    assert not any(home in shown for home in homes[:-1])
    assert chat.verify().ok


def test_D6_every_fold_knows_its_messages_and_can_be_written_again(memory: Memory) -> None:
    chat = batches(memory, about(10), about(20))
    first, second = chat.drift()
    assert (first.first, first.last, second.first, second.last) == (1, 16, 17, 32)
    assert first.drift == second.drift == 0
    assert first.then == first.now
    assert chat.records[0].original_message_ids == tuple(message.id for message in chat.messages(limit=16))


def test_D6_drift_of_a_summary_by_somebody_else(url: str) -> None:
    def forgetful(_: str, messages: list[Any]) -> str:
        return "## Decisions Made\n- " + str(messages[0]["content"])

    with Memory(url, summarizer=forgetful) as memory:
        chat = memory.chat("a", config=preset("layered", facts_cap=0), context_window=50_000, wait=True)
        turns(chat, *about(10), "Hm.", "Well.", "So.", "Right.")
        before = chat.summary
        (again,) = chat.drift()
        assert chat.summary == before
    assert again.drift == 0  # all it says is still said
    assert len(again.now.splitlines()) > len(again.then.splitlines()) / 2


def test_D6_a_slice_can_be_written_again_by_a_model(memory: Memory, upstream: Upstream) -> None:
    chat = batches(memory, about(10))
    (again,) = chat.drift(model=f"{upstream.url}#test")
    assert again.now
    assert again.drift < 1
    assert len(fold_events(chat)) == 1


@pytest.mark.parametrize("damage", ["sources = '[1, '", "text = 'I prefer chains'", "section = 'goals'", "seal = 7"])
def test_D7_a_damaged_line_is_left_out_with_a_warning_and_repaired(
    memory: Memory, url: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    chat = batches(memory, about(10), about(20))
    before, id = chat.summary, chat.memory.leaves[0].id
    memory.close()
    assert rawsql.change(url, f"UPDATE lines SET {damage} WHERE id = ?", id)
    with Memory(url) as again, caplog.at_level(logging.WARNING, "infold"):
        assert not again.verify().ok
        chat = again.chat("a")
        # Left out, unless the repair was quicker than this line.
        assert "rope 11 for crate 11" in chat.summary
        assert "chains" not in chat.summary
        assert chat.context("And now?").tokens > 0
        chat.settle()
        assert chat.summary == before
        assert again.verify().ok
        assert [event.data["folds"] for event in chat.events() if event.type == "repaired"] == [2]
    assert any(id in record.getMessage() for record in caplog.records)
    assert "rope" not in caplog.text.lower()


@pytest.mark.sqlite
@pytest.mark.parametrize("damage", ["sources = '[1, '", "text = 'I prefer chains'"])
def test_D7_what_is_damaged_is_left_out_where_nothing_may_be_written(memory: Memory, url: str, damage: str) -> None:
    chat = batches(memory, about(10))
    id = chat.memory.leaves[0].id
    memory.close()
    assert rawsql.change(url, f"UPDATE lines SET {damage} WHERE id = ?", id)
    with Memory(f"{url}?mode=ro") as again:
        chat = again.chat("a")
        assert "rope 10 for crate 10" not in chat.summary
        assert "chains" not in chat.summary
        assert "rope 11 for crate 11" in chat.summary
        chat.settle()
        assert not again.verify().ok


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE lines SET text = 'I prefer chains' WHERE id = ?",
        "DELETE FROM lines WHERE id = ?",
        "UPDATE lines SET died = 1 WHERE id = ?",
        "UPDATE folds SET removed = '[' WHERE n = 1 AND ? <> ''",
    ],
)
def test_D7_what_was_changed_is_made_again(memory: Memory, url: str, damage: str) -> None:
    chat = batches(memory, about(10), about(20))
    assert chat.repair() == 0
    before, id = chat.summary, chat.memory.leaves[0].id
    assert rawsql.change(url, damage, id)
    assert not memory.verify().ok
    assert chat.repair() == 2
    assert memory.chat("a").summary == before
    assert memory.verify().ok


def test_D7_memory_of_removed_messages_is_not_made_again(memory: Memory, url: str) -> None:
    """What is left of it is more than nothing could give back."""
    chat = batches(memory, about(10), about(20))
    last, id = chat.memory.leaves[-1].text, chat.memory.leaves[0].id
    later = chat.messages()[-1].created_at + 3 * 24 * 3600 * 1000
    assert rawsql.change(url, "UPDATE lines SET sources = '[1, ' WHERE id = ?", id)
    with Memory(url, clock=lambda: later) as again:
        assert again.compact(1, "remove").messages
        chat = again.chat("a")
        assert chat.repair() == 0
        assert last in chat.summary


def test_D7_a_line_of_an_earlier_version_has_no_seal_and_is_shown(memory: Memory, url: str) -> None:
    before = batches(memory, about(10)).summary
    memory.close()
    assert rawsql.change(url, "UPDATE lines SET seal = NULL WHERE ? = ''", "")
    with Memory(url) as again:
        assert again.chat("a").summary == before
        assert again.verify().ok


def test_D2_numbers_of_the_layers() -> None:
    policy = preset("layered")
    assert (policy.keep, policy.batch_at, policy.batch, policy.rollup_count, policy.rollup_tokens) == (
        4,
        12,
        8,
        4,
        1500,
    )
    assert json.loads(json.dumps(policy.to_json()))["facts_cap"] == 500
