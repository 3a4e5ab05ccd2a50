"""E4: what is old and covered goes to an archive, or goes for good; memory stays."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infold import (
    AsyncMemory,
    Chat,
    Compaction,
    ConfigError,
    DuplicateIdError,
    Event,
    Memory,
    Message,
    summarize_memory,
)
from infold.errors import DatabaseBusyError
from infold.ledger import archive, store
from infold.marks import FORGOTTEN, REMOVED, UNREADABLE
from infold.messages import parse
from infold.presets import PRESETS
from infold.quoting.reading import read
from infold.retention import BATCH
from tests.conftest import START, assistant, call, counted_ids, result, user, words
from tests.forks import start
from tests.rawsql import change, rows
from tests.test_cli import Run, in_folder
from tests.test_forget import assert_gone

DAY = 24 * 3600 * 1000
SECRET = "Zanzibarkowski"


class Clock:
    """Time that moves when it is told to, and ids that are counted."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now


def opened(url: str, clock: Callable[[], int], **options: Any) -> Memory:
    return Memory(url, clock=clock, ids=counted_ids(), **options)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def said(number: int) -> list[dict[str, Any]]:
    return [
        user(f"I prefer hotel Astor{number} and my budget for trip {number} is {number}50 euros.", id=f"u{number}"),
        assistant(words(60, f"a{number}"), id=f"a{number}"),
    ]


def filled(memory: Memory, preset: str = "rolling", turns: int = 20, id: str = "c", **options: Any) -> Chat:
    chat = memory.chat(id, preset=preset, context_window=1200, **options)
    for number in range(turns):
        chat.add(said(number))
    chat.settle()
    return chat


def kept(memory: Memory, chat: Chat) -> tuple[Any, ...]:
    """What stays, whatever becomes of the messages."""
    return chat.memory, chat.facts(all=True), chat.entities, chat.context().messages, chat.stats()


def cursor_of(chat: Chat) -> int:
    return chat.memory.cursor


def compactions(chat: Chat) -> list[Event]:
    return [event for event in chat.events() if event.type == "memory_compaction_completed"]


# The contract ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS)
def test_E4_old_and_covered_messages_are_archived_and_read_as_before(url: str, clock: Clock, preset: str) -> None:
    with opened(url, clock) as memory:
        chat = filled(memory, preset, turns=60)
        chat.fold()
        before, messages, records = kept(memory, chat), chat.messages(), chat.records
        cursor = cursor_of(chat)
        assert 0 < cursor < len(messages)
        clock.now += 31 * DAY
        found = memory.compact()
        assert (found.mode, found.days, found.dry_run, found.chats) == ("archive", 30, False, 1)
        assert (found.messages, found.skipped_unfolded) == (cursor, len(messages) - cursor)
        assert found.bytes_before > 3 * found.bytes_after > 0
        assert (chat.messages(), chat.records, kept(memory, chat)) == (messages, records, before)
        assert memory.verify().ok
    with opened(url, clock) as memory:
        again = memory.chat("c")
        assert (again.messages(), again.records) == (messages, records)
        assert kept(memory, again) == before


@pytest.mark.sqlite
def test_E4_the_rows_of_archived_messages_keep_everything_but_what_was_said(url: str, clock: Clock) -> None:
    columns = "seq, id, role, created_at, tokens, sha256, model_variant"
    with opened(url, clock) as memory:
        chat = filled(memory)
        before = rows(url, f"SELECT {columns} FROM messages ORDER BY seq")
        clock.now += 31 * DAY
        memory.compact()
        assert rows(url, f"SELECT {columns} FROM messages ORDER BY seq") == before
        cursor = cursor_of(chat)
        states = rows(url, "SELECT seq, content, body, archived FROM messages ORDER BY seq")
        assert [state[1:] for state in states[:cursor]] == [(None, None, 1)] * cursor
        assert all(content and archived == 0 for _, content, _, archived in states[cursor:])
        ((first, last, data),) = rows(url, "SELECT first_seq, last_seq, data FROM archives")
        lines = [json.loads(line) for line in zlib.decompress(data).decode().splitlines()]
        assert (first, last, [line["seq"] for line in lines]) == (1, cursor, list(range(1, cursor + 1)))


def test_E4_long_runs_are_archived_in_pieces(url: str, clock: Clock) -> None:
    with opened(url, clock) as memory:
        chat = memory.chat("c")
        chat.add([user(f"note {number}") if number % 2 else assistant("ok") for number in range(5000)])
        assert cursor_of(chat) > BATCH + 1024
        cursor, messages = cursor_of(chat), chat.messages(limit=5000)
        clock.now += 31 * DAY
        dry = memory.compact(dry_run=True)
        found = memory.compact()
        assert found.messages == dry.messages == cursor
        assert found.archives == dry.archives >= cursor / archive.MOST
        assert sum(event.data["messages"] for event in compactions(chat)) == cursor
        assert chat.messages(limit=5000) == messages
        assert memory.verify().ok


def test_E4_young_messages_stay(url: str, clock: Clock) -> None:
    with opened(url, clock) as memory:
        chat = filled(memory)
        clock.now += 30 * DAY  # not older than 30 days: exactly that old
        assert memory.compact().messages == 0
        assert compactions(chat) == []
        clock.now += 1
        assert memory.compact(days=31).messages == 0
        assert memory.compact().messages == cursor_of(chat)


def test_E4_a_unit_is_as_old_as_its_newest_message(url: str, clock: Clock) -> None:
    with opened(url, clock) as memory:
        chat = memory.chat("c", preset="rolling")
        chat.add([user("Look it up."), call("x", "y"), result("x", "found it")])
        clock.now += 10 * DAY
        chat.add([result("y", "this one took ten days"), assistant("Done.")])
        for number in range(10):
            chat.add(said(number))
        assert cursor_of(chat) >= 5
        clock.now += 21 * DAY
        assert memory.compact().messages == 1  # the question alone: its call waited for a result
        with memory.database.read() as connection:
            assert archive.here(connection, 1, 1, 5) == {2, 3, 4, 5}
        clock.now += 10 * DAY
        assert memory.compact().messages == cursor_of(chat) - 1
        assert memory.verify().ok


def test_E4_a_chat_that_fails_keeps_no_other_waiting(url: str, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    with opened(url, clock) as memory:
        for id in ("a", "b", "c"):
            filled(memory, id=id)
        change(url, "UPDATE chats SET policy = '{broken' WHERE id = 'a'")
        clock.now += 31 * DAY
        for dry_run in (True, False):
            done = memory.compact(dry_run=dry_run)
            assert (done.chats, done.failed) == (2, 1)
        assert "chat 'a' was not compacted (ConfigError)" in caplog.text
        again = memory.compact()
        assert (again.messages, again.failed) == (0, 1)


def test_E4_a_database_that_is_away_is_not_asked_for_every_chat(
    url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def away(_: Memory, row: Any, __: Any) -> None:
        asked.append(row.id)
        raise DatabaseBusyError("away")

    with opened(url, clock) as memory:
        for number in range(6):
            filled(memory, id=str(number), turns=3)
        monkeypatch.setattr("infold.retention._compact_chat", away)
        with pytest.raises(DatabaseBusyError):
            memory.compact()
    assert asked == ["0", "1", "2"]


def test_E4_what_is_not_covered_stays(url: str, clock: Clock) -> None:
    with opened(url, clock) as memory:
        chat = memory.chat("c", preset="rolling")
        chat.add(said(1))
        clock.now += 31 * DAY
        assert memory.compact() == Compaction("archive", 30, False, skipped_unfolded=2)
        assert chat.events()[-1].type == "chat_created"


def test_E4_what_awaits_a_model_stays(url: str, clock: Clock) -> None:
    broken = [True]

    def model(summary: str, messages: list[Message]) -> str:
        if broken[0]:
            raise RuntimeError("down")
        return "## Facts / Constraints\n- Hotels and trips were talked about."

    with opened(url, clock, summarizer=model) as memory:
        chat = filled(memory)
        clock.now += 31 * DAY
        covered = cursor_of(chat)
        for mode in ("archive", "remove"):
            found = memory.compact(mode=mode)
            assert (found.messages, found.skipped_upgrade) == (0, covered)
        broken[0] = False
        chat.fold()
        chat.settle()
        assert chat.records[-1].summary
        found = memory.compact()
        assert (found.messages, found.skipped_upgrade) == (cursor_of(chat), 0)
        assert found.messages >= covered


def test_E4_removed_messages_leave_their_place_their_hash_and_memory(url: str, clock: Clock) -> None:
    with opened(url, clock) as memory:
        chat = filled(memory, "default", turns=60)
        chat.add(user("Thanks."))
        before, messages = kept(memory, chat), chat.messages()
        cursor = cursor_of(chat)
        clock.now += 31 * DAY
        found = memory.compact(mode="remove")
        assert (found.messages, found.archives, found.bytes_after) == (cursor, 0, 0)
        assert found.bytes_before > 0
        assert kept(memory, chat) == before
        now = chat.messages()
        assert now[cursor:] == messages[cursor:]
        assert {message.content for message in now[:cursor]} == {REMOVED}
        for name in ("seq", "id", "role", "created_at", "model_variant"):
            assert [getattr(m, name) for m in now] == [getattr(m, name) for m in messages]
        proof = memory.verify()
        assert (proof.ok, proof.removed) == (True, cursor)
        assert f"{cursor} removed since" in str(proof)


@pytest.mark.sqlite
def test_E4_removed_is_removed_from_the_file(url: str, clock: Clock) -> None:
    with opened(url, clock) as memory:
        chat = memory.chat("c", preset="rolling")
        chat.add([user("Go on."), assistant(words(40, SECRET.lower()))])
        for number in range(10):
            chat.add(said(number))
        chat.settle()
        clock.now += 31 * DAY
        assert memory.compact(mode="remove").clean
        memory.settle()
    assert_gone(url, SECRET)


def test_E4_an_event_with_counts_for_each_chat_touched(url: str, clock: Clock) -> None:
    heard: list[Event] = []
    with opened(url, clock, on_event=heard.append) as memory:
        first, second = filled(memory, id="a"), filled(memory, id="b", turns=30)
        young = memory.chat("young")
        young.add(user("hi"))
        heard.clear()
        clock.now += 31 * DAY
        found = memory.compact()
        assert found.chats == 2
        told = [event for chat in (first, second) for event in compactions(chat)]
        assert heard == told
        assert [event.chat for event in told] == ["a", "b"]
        for name in ("messages", "archives", "bytes_before", "bytes_after"):
            assert sum(event.data[name] for event in told) == getattr(found, name)
        assert {(event.data["mode"], event.data["days"]) for event in told} == {("archive", 30)}
        assert compactions(young) == []


def test_E4_the_days_come_from_the_environment(url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSCRIPT_RETENTION_DAYS", "3")
    with opened(url, clock) as memory:
        filled(memory)
        clock.now += 4 * DAY
        assert memory.compact(days=5).messages == 0
        found = memory.compact()
        assert found.days == 3
        assert found.messages > 0


def test_E4_a_memory_compacts_its_own_tenant_alone(url: str, clock: Clock) -> None:
    with opened(url, clock) as memory:
        ours, theirs = filled(memory.tenant("us")), filled(memory.tenant("them"))
        clock.now += 31 * DAY
        assert memory.compact().messages == 0
        assert memory.tenant("us").compact().chats == 1
        assert len(compactions(ours)) == 1
        assert compactions(theirs) == []


def test_E4_a_dry_run_and_a_second_run_change_nothing(url: str, clock: Clock) -> None:
    with opened(url, clock) as memory:
        chat = filled(memory)
        clock.now += 31 * DAY
        with memory.database.read() as connection:
            before = store.chat_by_id(connection, "c"), archive.here(connection, 1, 1, 1000)
        events = chat.events()
        dry = memory.compact(dry_run=True)
        with memory.database.read() as connection:
            assert (store.chat_by_id(connection, "c"), archive.here(connection, 1, 1, 1000)) == before
        assert chat.events() == events
        done = memory.compact()
        assert dry == Compaction(
            "archive", 30, True, done.chats, done.messages, done.archives, done.bytes_before, done.bytes_after,
            done.skipped_unfolded, done.skipped_upgrade,
        )  # fmt: skip
        events = chat.events()
        again = memory.compact()
        assert (again.chats, again.messages) == (0, 0)
        assert memory.compact(mode="remove").messages == 0  # what is archived stays so
        assert chat.events() == events


@pytest.mark.parametrize("bad", [{"days": 0}, {"days": True}, {"days": 1.5}, {"days": 10**9}, {"mode": "burn"}])
def test_E4_bad_arguments(memory: Memory, bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad))):
        memory.compact(**bad)


def test_E4_the_open_question_stays_in_words(url: str, clock: Clock) -> None:
    """In a long run of calls the question is folded, but contexts still show it."""
    with opened(url, clock) as memory:
        chat = memory.chat("c", preset="rolling")
        chat.add(user("Please compare all hotels in Bergen."))
        for number in range(12):
            chat.add([call(f"k{number}"), result(f"k{number}", words(30))])
        assert cursor_of(chat) > 1
        shown = chat.context().messages
        assert any("Bergen" in str(message["content"]) for message in shown if message["role"] == "user")
        clock.now += 31 * DAY
        assert memory.compact(mode="remove").messages == cursor_of(chat) - 1
        assert chat.context().messages == shown


# What else reads messages --------------------------------------------------------------------------------


def test_E4_archived_messages_are_recalled_and_removed_ones_are_not(url: str, clock: Clock) -> None:
    for mode in ("archive", "remove"):
        with opened(url, clock) as memory:
            chat = memory.chat(mode, preset="default", context_window=1200)
            chat.add([user("The ferryman whistled under the cobalt bridge."), assistant("How odd.")])
            for number in range(80):
                chat.add(said(number))
            chat.settle()
            query = "Who whistled under the cobalt bridge?"
            assert "ferryman" in chat.recall(query, kinds=["message"])[0].text
            clock.now += 31 * DAY
            assert memory.compact(mode=mode).messages > 128
            memory.settle()
            for opener in (chat, memory.chat(mode)):
                hits = opener.recall(query, kinds=["message"])
                context = opener.context(query)
                asked = str(context.messages)
                assert ("ferryman" in str(hits)) == (mode == "archive")
                if mode == "archive":
                    assert "ferryman" in asked
                else:  # memory may still hold the words
                    recalled = [piece.what for piece in context.explain().items if piece.layer == "recalled"]
                    assert "message 1" not in recalled
                assert REMOVED not in asked + str(hits)
        clock.now = START


def test_E4_a_late_duplicate_is_still_known(url: str, clock: Clock) -> None:
    with opened(url, clock) as memory:
        for mode in ("archive", "remove"):
            chat = memory.chat(mode, preset="rolling")
            asks = {**call("k1", arguments='{"city": "Bergen"}'), "id": "call"}
            chat.add([user("Find a hotel.", id="q", model_variant="m"), asks, result("k1", "Astor")])
            for number in range(10):
                chat.add(said(number))
            clock.now += 31 * DAY
            memory.compact(mode=mode)
            count = len(chat.messages())
            assert chat.add(user("Find a hotel."), id="q").seq == 1
            assert chat.add(asks).seq == 2
            assert len(chat.messages()) == count
            with pytest.raises(DuplicateIdError):
                chat.add(user("Find a motel."), id="q")
            with pytest.raises(DuplicateIdError):
                chat.add(user(REMOVED), id="q")


@pytest.mark.sqlite
def test_E4_verify_finds_a_changed_or_lost_archive(url: str, clock: Clock) -> None:
    with opened(url, clock) as memory:
        chat = filled(memory)
        clock.now += 31 * DAY
        memory.compact()
        ((data,),) = rows(url, "SELECT data FROM archives")
        lines = zlib.decompress(data).decode()
        changed = zlib.compress(lines.replace("Astor3 ", "Astor4 ").encode())
        damages: list[tuple[bytes, str]] = [(changed, "changed after"), (b"rubbish", "changed after")]
        for damage, what in damages:
            with memory.database.write() as connection:
                connection.execute(f"UPDATE archives SET data = x'{damage.hex()}'")
            proof = memory.verify()
            assert not proof.ok
            assert what in str(proof)
        assert chat.messages()[0].content == UNREADABLE
        for text in (UNREADABLE, REMOVED):  # nobody has said so
            assert not read(replace(parse(user(text)), seq=1), ())
        assert chat.context("Which hotel?").messages


@pytest.mark.sqlite
@pytest.mark.parametrize("mode", ["archive", "remove"])
def test_F6_forgetting_reaches_into_archives(url: str, clock: Clock, mode: str) -> None:
    with opened(url, clock) as memory:
        chat = memory.chat("c", preset="default", context_window=1200)
        for number in range(40):
            chat.add(said(number))
            if number == 3:
                chat.add(user(f"My sister's name is {SECRET}.", id="secret"))
                chat.add(assistant("Nice name."))
        chat.settle()
        clock.now += 31 * DAY
        memory.compact(mode=mode)
        assert SECRET in str(chat.facts(all=True))
        receipt = chat.forget("secret")
        assert (receipt.messages, receipt.facts) == (1, 1)
        chat.settle()
        assert next(m for m in chat.messages() if m.id == "secret").content == FORGOTTEN
        told = str(
            [chat.messages(), chat.facts(all=True), chat.summary, chat.recall("sister", limit=50), chat.events()]
        )
        assert SECRET not in told
        proof = memory.verify()
        assert proof.ok, str(proof)
        held = [zlib.decompress(data).decode() for (data,) in rows(url, "SELECT data FROM archives")]
        assert SECRET not in str(held)
        assert len(held) == (mode == "archive")
        assert_gone(url, SECRET)
        facts = [fact.text for fact in chat.facts(all=True)]
        assert any("Astor1" in text for text in facts)  # stated by archived and removed messages alike
        # What was forgotten is old and covered, too.
        assert memory.compact(mode=mode).messages == 1
        assert next(m for m in chat.messages() if m.id == "secret").content == {
            "archive": FORGOTTEN, "remove": REMOVED,
        }[mode]  # fmt: skip
        assert chat.add(user(f"My sister's name is {SECRET}.", id="secret")).id == "secret"
        assert memory.verify().ok


@pytest.mark.sqlite
def test_F6_a_deleted_chat_and_a_forgotten_user_take_their_archives_along(url: str, clock: Clock) -> None:
    with opened(url, clock) as memory:
        first, _ = filled(memory, id="a"), filled(memory, id="b", user="ada")
        clock.now += 31 * DAY
        memory.compact()
        assert len(rows(url, "SELECT * FROM archives")) == 2
        first.delete()
        assert len(rows(url, "SELECT * FROM archives")) == 1
        memory.user("ada").forget()
        assert rows(url, "SELECT * FROM archives") == []


@pytest.mark.parametrize("mode", ["archive", "remove"])
@pytest.mark.parametrize("to", ["u2", "a9", "u15"])
def test_E4_going_back_over_compacted_messages(url: str, clock: Clock, mode: str, to: str) -> None:
    with opened(url, clock) as memory:
        plain, chat = filled(memory, id="plain"), filled(memory)
        clock.now += 31 * DAY
        messages = chat.messages()
        facts = {fact.text for fact in chat.facts(all=True) if fact.sources[-1] <= 2}
        with memory.database.read() as connection:
            covered = archive.here(connection, 2, 1, 1000)
        memory.compact(mode=mode)
        with memory.database.read() as connection:
            covered -= archive.here(connection, 2, 1, 1000)
        assert covered
        chat.rewind(to)
        plain.rewind(to)
        left = chat.messages()
        if mode == "archive":
            assert left == messages[: len(left)]
            assert chat.context("And now?") == plain.context("And now?")
        for number in range(100, 112):
            chat.add(said(number))
        assert facts <= {fact.text for fact in chat.facts(all=True)}
        assert memory.verify().ok, str(memory.verify())
        clock.now += 31 * DAY
        memory.compact(mode=mode)
        assert memory.verify().ok, str(memory.verify())


def test_E4_a_model_that_comes_later_does_not_rewrite_what_it_cannot_read(url: str, clock: Clock) -> None:
    asked: list[list[Message]] = []

    def model(summary: str, messages: list[Message]) -> str:
        asked.append(messages)
        return summarize_memory(summary, messages)

    with opened(url, clock) as memory:
        chat = filled(memory)
        clock.now += 31 * DAY
        memory.compact(mode="remove")
        removed, before = cursor_of(chat), chat.summary
        assert "Astor1 " in before or "Astor1\n" in before
    with opened(url, clock, summarizer=model) as memory:
        chat = memory.chat("c")
        chat.settle()
        for number in range(30, 36):
            chat.add(said(number))
        chat.settle()
        assert asked
        assert all(message.seq > removed for messages in asked for message in messages)
        assert all(message.content != REMOVED for messages in asked for message in messages)
        assert "Astor1" in chat.summary
        assert "Astor30" in chat.summary
        assert memory.verify().ok


def test_E4_drift_leaves_out_what_cannot_be_read_again(url: str, clock: Clock) -> None:
    with opened(url, clock) as memory:
        chat = filled(memory)
        found = chat.drift()
        clock.now += 31 * DAY
        memory.compact()
        assert chat.drift() == found
    with opened(url, clock) as memory:
        chat = filled(memory, id="other")
        clock.now += 31 * DAY
        memory.compact(mode="remove")
        assert chat.drift() == []


def test_E4_async(url: str) -> None:
    async def run() -> Compaction:
        async with AsyncMemory(url) as memory:
            chat = await memory.chat("c", preset="rolling")
            await chat.add([message for number in range(20) for message in said(number)], created_at=START - 40 * DAY)
            return await memory.compact(days=1, dry_run=True)

    assert asyncio.run(run()).messages > 0


# Crashes, and any order of things ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chat of several archives, to copy."""
    path = tmp_path_factory.mktemp("long") / "chats.db"
    with opened(f"sqlite:///{path}", Clock()) as memory:
        filled(memory, turns=200)
    return path


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("mode", "point"),
    [
        *(("archive", point) for point in ("archived:1", "archived:2", "taken:1", "recorded:1", "committed:1")),
        *(("remove", point) for point in ("taken:1", "taken:2", "recorded:1")),
    ],
)
def test_F9_killed_while_compacting(long: Path, tmp_path: Path, clock: Clock, mode: str, point: str) -> None:
    url = f"sqlite:///{shutil.copy(long, tmp_path / 'chats.db')}"
    with opened(url, clock) as memory:
        chat = memory.chat("c")
        before, messages = kept(memory, chat), chat.messages()
    clock.now += 31 * DAY
    environ = {**os.environ, "INFOLD_FAILPOINT": f"compact.{point}"}
    child = start("tests.victims:compact", url, str(clock.now), mode, environ=environ)
    assert child.wait(60) == -signal.SIGKILL
    with opened(url, clock) as memory:
        chat = memory.chat("c")
        done = point.startswith("committed")
        assert len(compactions(chat)) == done
        assert bool(rows(url, "SELECT 1 FROM messages WHERE archived")) == done
        assert bool(rows(url, "SELECT 1 FROM archives")) == (done and mode == "archive")
        if mode == "archive" or not done:
            assert chat.messages() == messages
        assert kept(memory, chat) == before
        assert memory.verify().ok
        assert bool(memory.compact(mode=mode).messages) != done
        assert len(compactions(chat)) == 1
        assert kept(memory, chat) == before
        assert memory.verify().ok


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("turn"), st.integers(1, 6)),
        st.tuples(st.just("call"), st.integers(1, 3)),
        st.tuples(st.just("fold"), st.just(0)),
        st.tuples(st.just("rewind"), st.integers(0, 30)),
        st.tuples(st.just("days"), st.integers(1, 40)),
        st.tuples(st.just("compact"), st.integers(1, 40)),
        st.tuples(st.just("compact"), st.just(1)),
    ),
    min_size=6,
    max_size=20,
)


@pytest.mark.sqlite
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(steps=STEPS, preset=st.sampled_from(["rolling", "layered", "default", "chain"]))
def test_E4_archiving_at_any_moment_changes_nothing_that_is_seen(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], preset: str
) -> None:
    folder, clock = tmp_path_factory.mktemp("any"), Clock()
    with (
        opened(f"sqlite:///{folder}/a.db", clock) as ours,
        opened(f"sqlite:///{folder}/b.db", clock) as theirs,
    ):
        pair = [memory.chat("c", preset=preset, context_window=600) for memory in (ours, theirs)]
        made = 0
        for what, number in [("turn", 6), *steps, ("compact", 1)]:
            if what == "compact":
                ours.compact(days=number)
            elif what == "days":
                clock.now += number * DAY
            for chat in pair:
                if what == "turn":
                    chat.add([message for at in range(number) for message in said(made + at)])
                elif what == "call":
                    ids = [f"k{made}.{at}" for at in range(number)]
                    chat.add([user(f"q{made}"), call(*ids), *(result(id, words(20)) for id in ids)])
                elif what == "fold":
                    chat.fold()
                elif what == "rewind" and (there := chat.messages()):
                    chat.rewind(there[max(0, len(there) - 1 - number)].id)
            made += 10
            first, second = pair
            assert first.messages() == second.messages()
            assert first.summary == second.summary
            assert first.context() == second.context()
            assert first.context("Which hotel is Astor1?") == second.context("Which hotel is Astor1?")
            assert ours.verify().ok, str(ours.verify())


# PostgreSQL ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["archive", "remove"])
def test_E4_on_postgresql(postgres_url: str, clock: Clock, mode: str) -> None:
    with opened(postgres_url, clock) as memory:
        chat = filled(memory, "default", turns=60, user="ada")
        before, messages, cursor = kept(memory, chat), chat.messages(), cursor_of(chat)
        clock.now += 31 * DAY
        assert memory.compact(mode=mode).messages == cursor
        memory.settle()
        assert kept(memory, chat) == before
        assert (chat.messages() == messages) == (mode == "archive")
        assert chat.add(said(0)[0]).seq == 1
        assert memory.verify().ok
        chat.forget("u3")
        chat.rewind("a20")
        assert [m.content for m in chat.messages() if m.id == "u3"] == [FORGOTTEN]
        proof = memory.verify()
        assert proof.ok, str(proof)
        memory.user("ada").forget()


@pytest.mark.parametrize("remove", [True, False])
def test_E4_the_command_line_on_postgresql(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    postgres_url: str,
    clock: Clock,
    remove: bool,
) -> None:
    with opened(postgres_url, clock) as memory:
        filled(memory, "default", turns=60)
    change(postgres_url, "UPDATE messages SET created_at = 1")
    run = in_folder(tmp_path, monkeypatch, capfd)
    code, out, _ = run("compact", "--yes", "-d", postgres_url, *(["--remove"] if remove else []))
    assert code == 0
    assert "has the file open" not in out
    assert ("on a server until it uses them again" in out) == remove


# The command line ----------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    return in_folder(tmp_path, monkeypatch, capfd)


@pytest.fixture
def old(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'infold.db'}"
    with Memory(url) as memory:
        chat = memory.tenant("us").chat("c", preset="rolling")
        chat.add([message for number in range(20) for message in said(number)], created_at=START - 40 * DAY)
    return url


@pytest.mark.parametrize("answer", ["n", "y"])
def test_E4_compact_asks_who_sits_there(old: str, answer: str) -> None:
    master, terminal = pty.openpty()
    try:
        os.write(master, f"{answer}\n".encode())
        child = subprocess.run(
            [sys.executable, "-c", "from infold.cli import main; main()", "compact", "--tenant", "us", "-d", old, "--json"],
            stdin=terminal, capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        os.close(master)
        os.close(terminal)
    assert "would be archived" in child.stderr
    assert "Go on?" in child.stderr
    with Memory(old) as memory:
        done = compactions(memory.tenant("us").chat("c"))
    if answer == "n":
        assert (child.returncode, child.stdout.strip(), done) == (1, "", [])
        assert "nothing was changed" in child.stderr
    else:
        assert child.returncode == 0
        assert json.loads(child.stdout)["messages"] == done[0].data["messages"]


def test_E4_compact_shows_first_and_does_it_with_yes(run: Run, old: str) -> None:
    code, out, _ = run("compact", "--tenant", "us")
    assert code == 0
    assert "messages of 1 chats would be archived" in out
    assert "nothing was changed; --yes does it" in out
    assert "stay: they are not folded yet" in out
    code, out, _ = run("compact", "--tenant", "us", "--remove", "--dry-run", "--json")
    dry = json.loads(out)
    assert (code, dry["dry_run"], dry["mode"]) == (0, True, "remove")
    assert dry["messages"] > 0
    code, out, _ = run("compact", "--yes")
    assert "no message is older than 30 days and covered" in out
    code, out, _ = run("compact", "--tenant", "us", "--yes", "--json")
    assert json.loads(out)["messages"] == dry["messages"]
    assert json.loads(out)["dry_run"] is False
    code, out, _ = run("verify")
    assert code == 0
    assert run("compact", "--days", "0")[0] == 2
