"""PostgreSQL: every preset, many threads and processes on the same chats, locks, and a server that goes away."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from infold import Chat, DatabaseBusyError, Memory, MessageError
from infold import preset as policy
from infold.errors import ConfigError, NotFoundError
from infold.presets import PRESETS
from tests import rawsql
from tests.conftest import assistant, counted_ids, ticking_clock, turn, user, words
from tests.postgres import Server
from tests.test_concurrency import all_at_once

THREADS, PROCESSES, TURNS, CHATS = 8, 4, 8, 2
SLOW = 60  # seconds after which something that must not wait has waited for ever


def exchange(writer: str, number: int) -> list[dict[str, Any]]:
    """A question and its answer, each with an id of its own."""
    return [
        user(f"My budget for trip {number} is {number}50 euros. {words(30)}", id=f"{writer}/{number}/q"),
        assistant(words(30, f"a{number}"), id=f"{writer}/{number}/a"),
    ]


def write(chat: Chat, writer: str, turns: int = TURNS) -> None:
    for number in range(turns):
        chat.add(exchange(writer, number))


def assert_whole(memory: Memory, id: str, writers: list[str], turns: int = TURNS) -> None:
    """Everything of everybody is there once, in the order it was added, each exchange together; and folded once."""
    chat = memory.chat(id)
    chat.settle()
    ids = [message.id for message in chat.messages(limit=100_000)]
    assert len(ids) == len(set(ids)) == 2 * turns * len(writers)
    for writer in writers:
        assert [one for one in ids if one.startswith(f"{writer}/")] == [
            message["id"] for number in range(turns) for message in exchange(writer, number)
        ]
    assert all(ids[at].removesuffix("q") == ids[at + 1].removesuffix("a") for at in range(0, len(ids), 2))
    covered = [one for record in chat.records for one in record.original_message_ids]
    assert covered
    assert [*covered, *(message.id for message in chat.memory.recent_messages)] == ids


def assert_each_fold_made_once(memory: Memory, url: str) -> None:
    """Nobody folded what somebody else had folded: the folds number on, and each told of itself once."""
    proof = memory.verify()
    assert proof.ok, str(proof)
    found = rawsql.rows(url, "SELECT chat, count(*), count(DISTINCT id), max(n), min(n) FROM folds GROUP BY chat")
    assert found
    told: dict[int, int] = dict(
        rawsql.rows(url, "SELECT chat, count(*) FROM events WHERE type = 'summarization' GROUP BY chat")
    )
    for chat, folds, ids, last, first in found:
        assert (first, last, ids) == (1, folds, folds)
        assert told[chat] == folds


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_folds_and_verifies(postgres_url: str, preset: str) -> None:
    with Memory(postgres_url, clock=ticking_clock(), ids=counted_ids()) as memory:
        config = policy(preset, chunk_tokens=800) if preset == "chunked" else policy(preset)
        chat = memory.chat("c", config=config, context_window=1200, system="Be brief.")
        for number in range(40):
            chat.add(exchange("w", number))
            context = chat.context(max_tokens=900)
            assert context.tokens <= 900
        chat.settle()
        assert chat.records
        assert chat.memory.cursor > 0
        summary, memorized = chat.summary, chat.memory
        assert "budget" in summary
        assert memory.verify().ok, str(memory.verify())
    with Memory(postgres_url) as memory:
        again = memory.chat("c")
        assert (again.summary, again.memory) == (summary, memorized)
        removed = again.rewind("w/10/a")
        assert removed == 58
        assert memory.verify().ok, str(memory.verify())
        again.delete()
        assert memory.chats() == []
    counts = [rawsql.rows(postgres_url, f'SELECT count(*) FROM "{name}"') for name in ("messages", "folds", "lines")]
    assert counts == [[(0,)]] * 3


# Many at once --------------------------------------------------------------------------------------------


def test_eight_threads_on_one_memory(postgres_url: str) -> None:
    """Each writes to a chat of its own, and all to one, through handles that they share or not."""
    with Memory(postgres_url) as memory:
        shared = memory.chat("all", preset="rolling", context_window=1000)

        def work(writer: str) -> None:
            own = memory.chat(writer, preset="default", context_window=400)
            other = memory.chat("all")
            for number in range(TURNS):
                (shared if number % 2 else other).add(exchange(writer, number))
                own.add(exchange(writer, number))
                assert own.context(max_tokens=500).tokens <= 500

        writers = [f"t{number}" for number in range(THREADS)]
        all_at_once([lambda writer=writer: work(writer) for writer in writers])  # type: ignore[misc]
        memory.settle()
        assert_whole(memory, "all", writers)
        for writer in writers:
            assert_whole(memory, writer, [writer])
        assert_each_fold_made_once(memory, postgres_url)


def test_four_processes_start_on_an_empty_database_and_write_the_same_chats(postgres: Server) -> None:
    names = [f"p{number}" for number in range(PROCESSES)]
    with postgres.database("template1") as url:
        command, pipe = [sys.executable, "-m", "tests.test_postgres", url], subprocess.PIPE
        children = [
            subprocess.Popen([*command, name], stdin=pipe, stdout=pipe, text=True, cwd=Path(__file__).parent.parent)
            for name in names
        ]
        try:
            assert [child.stdout.readline() for child in children if child.stdout] == ["ready\n"] * PROCESSES
            for child in children:
                assert child.stdin
                child.stdin.write("go\n")
                child.stdin.flush()
            said = [child.communicate(timeout=SLOW)[0] for child in children]
        finally:
            for child in children:
                child.kill()
                child.communicate()
        assert said == ["done\n"] * PROCESSES
        with Memory(url, create=False) as memory:
            assert [info.id for info in memory.chats()] == [f"c{number}" for number in range(CHATS)]
            for number in range(CHATS):
                assert_whole(memory, f"c{number}", names)
            assert_each_fold_made_once(memory, url)


def child(url: str, name: str) -> None:
    """One of the processes above."""
    Memory("sqlite:///:memory:").close()  # whatever loads on first use is loaded
    exchange("warm", 1)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    with Memory(url) as memory:
        for number in range(TURNS):
            for chat in range(CHATS):
                memory.chat(f"c{chat}", preset="rolling", context_window=1000).add(exchange(name, number))
    sys.stdout.write("done\n")


# Locks ---------------------------------------------------------------------------------------------------


def test_writers_of_one_chat_wait_for_each_other_and_others_do_not(postgres: Server, postgres_url: str) -> None:
    held, release = threading.Event(), threading.Event()

    def hold(memory: Memory) -> None:
        chat = memory.chat("one")
        with chat.writing() as (_, state):
            held.set()
            assert release.wait(SLOW)
            assert state.row.last_seq == 0
        chat.add(user("first?"), id="holder")

    with Memory(postgres_url) as memory, Memory(postgres_url) as second, ThreadPoolExecutor(2) as threads:
        memory.chat("one")
        other = memory.chat("two")
        holder = threads.submit(hold, memory)
        try:
            assert held.wait(SLOW)
            assert postgres.waiting(postgres_url) == 0
            same = second.chat("one")  # reading waits for nobody
            assert same.messages() == []
            late: Future[Any] = threads.submit(same.add, user("second"), id="waiter")
            while not postgres.waiting(postgres_url):
                assert not late.done(), "nobody kept it waiting"
            for number in range(3):
                other.add(turn(number))  # would never come back if it waited, too
            second.chat("two").add(user("from elsewhere"))
            assert len(other.messages()) == 7
            assert not late.done()
        finally:
            release.set()
        holder.result(SLOW)
        assert late.result(SLOW).id == "waiter"
        assert {message.id for message in same.messages()} == {"holder", "waiter"}
        assert memory.verify().ok


def test_a_writer_that_waits_too_long_is_told(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory(postgres_url) as memory:
        chat = memory.chat("c")
        monkeypatch.setattr("infold.ledger.postgres.LOCK_TIMEOUT", 0.2)
        with Memory(postgres_url) as second:
            other = second.chat("c")
            with (
                chat.writing(),
                pytest.raises(DatabaseBusyError, match=r"another writer held the chat for too long; try again"),
            ):
                other.add(user("now"))
            assert other.add(user("now")).seq == 1


# A server that goes away ---------------------------------------------------------------------------------


def persistent(chat: Chat, writer: str, turns: int, halfway: threading.Event, go_on: threading.Event) -> int:
    """Writes, tries again what failed for want of a database, and tells how often that was."""
    failed = 0
    for number in range(turns):
        if number == turns // 2:
            halfway.set()
            assert go_on.wait(SLOW)
        while True:
            try:
                chat.add(exchange(writer, number))
                chat.context(max_tokens=800)
                break
            except DatabaseBusyError:
                failed += 1
    return failed


@pytest.mark.parametrize("how", ["restart", "away", "terminate"])
def test_a_server_that_restarts_in_the_middle(
    postgres: Server, postgres_url: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infold.ledger.postgres.LOCK_TIMEOUT", 2.0)
    turns, writers = 20, [f"w{number}" for number in range(4)]
    with Memory(postgres_url) as memory:
        chats = [memory.chat("c", preset="rolling", context_window=1000) for _ in writers]
        go_on = threading.Event()
        with ThreadPoolExecutor(len(writers)) as threads:
            halfway = [threading.Event() for _ in writers]
            working = [
                threads.submit(persistent, chat, writer, turns, event, go_on)
                for chat, writer, event in zip(chats, writers, halfway, strict=True)
            ]
            try:
                assert all(event.wait(SLOW) for event in halfway)
                if how == "restart":  # they find a server again, and dead connections
                    with postgres.away():
                        pass
                elif how == "away":  # they find nobody for a while
                    with postgres.away():
                        with pytest.raises(DatabaseBusyError, match="does not answer"):
                            memory.chat("c")
                        go_on.set()
                else:
                    go_on.set()
                    ended = 0
                    while ended < 12 and not all(one.done() for one in working):
                        ended += postgres.terminate(postgres_url)
                    assert ended
            finally:
                go_on.set()
            failures = [one.result(SLOW) for one in working]
        if how == "restart":
            assert failures == [0] * len(writers)  # idle connections that died are nobody's failure
        assert_whole(memory, "c", writers, turns)
        assert_each_fold_made_once(memory, postgres_url)


def test_a_connection_that_dies_in_a_transaction_takes_nothing_half_done(postgres: Server, postgres_url: str) -> None:
    with Memory(postgres_url) as memory:
        chat = memory.chat("c")
        chat.add(user("before"), id="m1")
        with pytest.raises(DatabaseBusyError, match="does not answer"), chat.writing() as (connection, _):
            connection.execute("UPDATE chats SET title = 'half done'")
            assert postgres.terminate(postgres_url)
            connection.execute("SELECT 1")
        assert chat.title is None
        chat.add(user("after"), id="m2")
        assert [message.id for message in chat.messages()] == ["m1", "m2"]


# Texts ---------------------------------------------------------------------------------------------------

TEXTS = {
    "four bytes": "𝒜 🧑‍🚀 𠜎 \U0010ffff 🏴󠁧󠁢󠁷󠁬󠁳󠁿", "right to left": "שלום \u202eעולם\u202c مرحبا بالعالم \u200f!", "combining": "e\u0301 \u1e9b\u0323 ﬁ",
    "controls": "a\x01b\x1f\x7f\u0085\u2028\ufeff\uffff", "sql": "'; DROP TABLE infold.chats; -- %s %(id)s $1 ? \\ {0}",
    "quotes": "\"'`´“”", "blank": " \n\t ",
}  # fmt: skip


@pytest.mark.parametrize("kind", TEXTS)
def test_any_text_comes_back_as_it_was(postgres_url: str, kind: str) -> None:
    text = TEXTS[kind]
    with Memory(postgres_url) as memory:
        chat = memory.chat(f"c {text}", user=f"u {text}", title=f"t {text}", system=f"s {text}", preset="rolling")
        chat.add(user(f"I prefer {text} hotels.", name="n"), id=f"m {text}", model_variant="x")
        chat.pin(f"pin {text}")
        for number in range(12):
            chat.add(turn(number))
        chat.settle()
    with Memory(postgres_url) as memory:
        (info,) = memory.chats()
        assert (info.id, info.user, info.title) == (f"c {text}", f"u {text}", f"t {text}")
        chat = memory.chat(f"c {text}")
        first = chat.messages(limit=1)[0]
        assert (first.id, first.text) == (f"m {text}", f"I prefer {text} hotels.")
        assert f"s {text}" in str(chat.context().messages[0]["content"])
        assert json.loads(json.dumps(chat.context().messages)) == chat.context().messages
        memory.user(f"u {text}").recall(f"which {text} hotels?")
        assert memory.verify().ok


def test_a_message_of_a_megabyte(postgres_url: str) -> None:
    text = "".join(f"{number} Zürich 🚀 " for number in range(60_000))
    assert len(text.encode()) > 1_000_000
    with Memory(postgres_url) as memory:
        chat = memory.chat("c", preset="rolling")
        chat.add(user(text), id="huge")
        for number in range(12):
            chat.add(turn(number))
        chat.settle()
        assert chat.messages(limit=1)[0].text == text
        assert chat.memory.cursor > 0
        assert memory.verify().ok


def test_NUL_never_reaches_the_database(postgres_url: str) -> None:
    with Memory(postgres_url) as memory:
        chat = memory.chat("c", user="ann")
        chat.add(user("hello"), id="m1")
        for bad in (user("a\0b"), user([{"type": "text", "text": "a\0b"}]), user("x", name="a\0")):
            with pytest.raises(MessageError):
                chat.add(bad)
        with pytest.raises(MessageError):
            chat.add(user("x"), id="a\0b")
        with pytest.raises(MessageError):
            chat.add(user("x"), model_variant="a\0b")
        with pytest.raises(MessageError):
            chat.pin("a\0b")
        names: list[dict[str, Any]] = [{"id": "\0"}, *({"id": "d", name: "\0"} for name in ("user", "title", "system"))]
        for wrong in names:
            with pytest.raises(ConfigError):
                memory.chat(**wrong)
        with pytest.raises(ConfigError):
            chat.set_entity("person", "a\0b")
        for ask in (chat.rewind, chat.forget, chat.unpin):
            with pytest.raises(NotFoundError):
                ask("a\0b")
        with pytest.raises(NotFoundError):
            memory.user("ann").recall("what?", chat="a\0b")
        with pytest.raises(MessageError):
            chat.recall("hello\0")
        assert [info.id for info in memory.chats()] == ["c"]
        assert len(chat.messages()) == 1


if __name__ == "__main__":
    child(*sys.argv[1:])
