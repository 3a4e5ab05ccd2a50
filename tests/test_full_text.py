"""Full text in a SQLite file (FTS5): of large chats it nominates what is ranked, and keeps nothing of what is gone."""

from __future__ import annotations

import logging
import re
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from infold.branching import branch
from infold.embedders import chosen
from infold.errors import DatabaseFullError
from infold.ledger import full_text, jobs, store
from infold.ledger.derived import BLOCK
from infold.recall.nominees import STRETCH, cut
from infold.recall.segment import Said, Segment, segment
from infold.recall.words import term
from tests import test_recall_postgres as large
from tests.conftest import START, user
from tests.older import without_lines
from tests.test_recall import DAY, SAID, chatter, small
from tests.test_recall_postgres import PLANTED, fill, loaded, opened, shown

Instances = Counter[tuple[int, str]]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that nobody writes to."""
    path = tmp_path_factory.mktemp("full-text") / "chats.db"
    with opened(f"sqlite:///{path}") as memory:
        fill(memory)
    return path


@pytest.fixture
def changed(filled: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return Path(shutil.copy(filled, tmp_path / "chats.db"))


def at(path: Path) -> str:
    return f"sqlite:///{path}"


def rows(path: Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(sql, values).fetchall()


def kept(path: Path) -> Instances:
    """All that is in full text: rows and their words."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIRTUAL TABLE temp.said USING fts5vocab(main, recall_words, instance)")
        return Counter((row, text) for text, row in connection.execute("SELECT term, doc FROM said"))


def wanted(path: Path) -> Instances:
    """All that should be there, made of the blocks."""
    blocks = rows(
        path,
        "SELECT b.key, c.key, c.tenant, c.user, b.data FROM recall_blocks b JOIN chats c ON c.key = b.chat "
        "WHERE b.maker LIKE '%+'",
    )
    found: Instances = Counter()
    for *whose, data in blocks:
        for row, words in full_text._rows(whose, Segment.from_bytes(data)):
            found.update((row, text) for text in words.split())
    return found


def exactly(path: Path) -> None:
    """Full text has what belongs to blocks, once, and nothing else."""
    found = kept(path)
    assert found == wanted(path)
    assert not found or set(found.values()) == {1}


# What is found, as on PostgreSQL ------------------------------------------------------------------------


@pytest.mark.parametrize("whose", ["user", "chat"])
def test_D8_full_text_nominates_what_a_search_of_everything_finds(filled: Path, whose: str) -> None:
    large.test_D8_what_is_nominated_is_what_a_search_of_everything_finds(at(filled), whose)


@pytest.mark.parametrize("name", SAID)
def test_D8_every_language_is_in_full_text(filled: Path, name: str) -> None:
    large.test_D8_every_language_is_found_in_a_large_chat(at(filled), name)


def test_D8_a_context_quotes_what_full_text_nominated(filled: Path) -> None:
    large.test_D8_a_context_of_a_large_chat_quotes_what_was_nominated(at(filled))


def test_D8_a_question_that_shares_nothing_finds_nothing_in_full_text(filled: Path) -> None:
    large.test_D8_a_question_that_shares_nothing_finds_nothing(at(filled))


def test_D8_times_that_are_given_or_named_count_in_full_text(filled: Path) -> None:
    large.test_D8_the_time_that_is_given_or_named_counts(at(filled))


def test_D8_what_was_just_said_is_found_beside_full_text(changed: Path) -> None:
    large.test_D8_what_was_just_said_is_found_in_a_large_chat(at(changed))


def test_A9_two_processes_with_full_text_answer_alike(filled: Path) -> None:
    large.test_A9_two_processes_answer_alike(at(filled))


def test_A9_it_does_not_matter_when_messages_were_laid_out(changed: Path) -> None:
    """One that searched after every message, and one that comes later."""
    question = "Where is the schooner?"
    with opened(at(changed)) as first:
        chat = first.chat("two")
        for number in range(40):
            texts = [f"The schooner left harbour {number}.", "  ", f"Cargo {number} is wool."]
            chat.add([user(texts[number % 3], created_at=START + 8 * DAY + number)])
            expected = shown(first.user("ann").recall(question, limit=60, kinds=["message"]))
        with opened(at(changed)) as second:
            assert shown(second.user("ann").recall(question, limit=60, kinds=["message"])) == expected
        assert loaded(first) == 0


def test_D8_what_others_write_changes_no_order(changed: Path) -> None:
    questions = [question for _, question in PLANTED[:8]]
    with opened(at(changed)) as memory:
        before = [shown(memory.user("ann").recall(question, kinds=["message"])) for question in questions]
        memory.chat("loud", user="carl", config=small()).add([user(text) for text, _ in PLANTED * 20])
        memory.settle()
        exactly(changed)
        assert [shown(memory.user("ann").recall(question, kinds=["message"])) for question in questions] == before


def test_D8_users_and_tenants_never_cross_in_full_text(filled: Path) -> None:
    large.test_D8_users_and_tenants_never_cross(at(filled))


def test_D8_users_whose_words_are_equal_stay_apart(changed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(full_text, "of_user", lambda tenant, user: "u0")
    with opened(at(changed)) as memory, memory.database.write() as connection:
        full_text.rebuild(connection)
    large.test_D8_users_and_tenants_never_cross(at(changed))


# What is kept, and what goes -----------------------------------------------------------------------------


def test_F6_full_text_has_what_the_blocks_have(filled: Path) -> None:
    assert kept(filled)
    exactly(filled)


def test_F6_full_text_goes_with_its_messages(changed: Path) -> None:
    locker = full_text.word(term("locker"))
    with opened(at(changed)) as memory:
        chat, ann = memory.chat("one"), memory.user("ann")
        before = sum(text == locker for _, text in kept(changed))
        assert before
        chat.forget(chat.messages(limit=1)[0].id)
        memory.settle()
        exactly(changed)
        assert sum(text == locker for _, text in kept(changed)) == before - 1
        assert "locker" not in " ".join(hit.text for hit in ann.recall(SAID["locker"][1], kinds=["message"], limit=100))
        chat.rewind(chat.messages(after=499, limit=1)[0].id)
        memory.settle()
        exactly(changed)
        (key,) = rows(changed, "SELECT key FROM chats WHERE id = 'one' AND tenant = ''")[0]
        assert sum(text == full_text.of_chat(key) for _, text in kept(changed)) == 500 // BLOCK * BLOCK // STRETCH
        chat.delete()
        exactly(changed)
        assert not any(text == full_text.of_chat(key) for _, text in kept(changed))
        memory.user("ann").forget()
        exactly(changed)
        assert not any(text == full_text.of_user("", "ann") for _, text in kept(changed))
        assert any(text == full_text.of_user("elsewhere", "ann") for _, text in kept(changed))


def test_F6_no_word_is_left_in_the_file(changed: Path) -> None:
    """What is deleted stays in FTS5 until its parts are merged: forgetting leaves the bytes that there would be without."""
    stored = "SELECT id, block FROM recall_words_data WHERE id > 10"
    with opened(at(changed)) as memory:
        assert memory.user("bob").forget().clean
    left = rows(changed, stored)
    assert left
    with opened(at(changed)) as memory:
        with memory.database.write() as connection:
            full_text.rebuild(connection)
        assert memory.database.scrub()
    assert [block for _, block in rows(changed, stored)] == [block for _, block in left]


def test_F6_a_block_that_two_processes_make_has_its_rows_once(changed: Path) -> None:
    stored = "SELECT count(*), sum(length(block)) FROM recall_words_data"
    with opened(at(changed)) as first:
        before = rows(changed, stored)
        with first.database.read() as connection:
            key = connection.execute("SELECT key FROM chats WHERE id = 'two'").fetchone()[0]
            said = store.messages_between(connection, key, 1, BLOCK)
        with first.database.write() as connection:
            first.recaller._put(connection, key, 1, first.recaller._segment(said))
    assert rows(changed, stored) == before
    exactly(changed)


def test_F6_a_branch_has_rows_of_its_own(changed: Path) -> None:
    with opened(at(changed)) as memory:
        branch(memory, "one", 600, "fork")
        exactly(changed)
        hit = memory.chat("fork").recall(SAID["german"][1], kinds=["message"])[0]
        assert (hit.text, hit.chat) == (SAID["german"][0], "fork")
        memory.chat("fork").delete()
        exactly(changed)
        assert memory.chat("one").recall(SAID["german"][1], kinds=["message"])[0].text == SAID["german"][0]


def test_F6_a_chat_that_gets_another_user_goes_with_its_rows(changed: Path) -> None:
    with opened(at(changed)) as memory:
        memory.chat("one", user="carl")
        exactly(changed)
        hits = memory.user("carl").recall(SAID["german"][1], kinds=["message"])
        assert hits[0].text == SAID["german"][0]
        others = memory.user("ann").recall(SAID["german"][1], kinds=["message"], limit=100)
        assert "one" not in {hit.chat for hit in others}
        assert loaded(memory) == 0


def test_D8_of_very_much_that_is_in_no_block_the_best_is_ranked(tmp_path: Path) -> None:
    """A user with many short chats beside a long one: none of the short ones has a block."""
    with opened(at(tmp_path / "chats.db")) as memory:
        memory.chat("long", user="ann", config=small()).add(chatter(0, 300))
        for number, (text, _) in enumerate(PLANTED):
            memory.chat(f"short {number}", user="ann").add([*chatter(2 * number, 2 * number + 2), user(text)])
        memory.settle()
        found = 0
        for number, (text, question) in enumerate(PLANTED):
            hits = memory.user("ann").recall(question, kinds=["message"], limit=8)
            found += (f"short {number}", text) in [(hit.chat, hit.text) for hit in hits]
        assert found >= 0.9 * len(PLANTED)
        assert loaded(memory) == 0
        memory.chat("short 3").add(user("The zeppelin is moored at Friedrichshafen."))
        assert memory.user("ann").recall("Where is the zeppelin moored?")[0].chat == "short 3"
        memory.chat("short 3").delete()
        assert "short 3" not in {hit.chat for hit in memory.user("ann").recall("Where is the zeppelin?", limit=100)}


def test_E7_a_file_from_before_gets_full_text(changed: Path) -> None:
    expected = kept(changed)
    without_lines(at(changed))
    rows(changed, "DROP TABLE recall_words")
    rows(changed, "UPDATE recall_blocks SET maker = rtrim(maker, '+')")
    rows(changed, "DROP INDEX chats_by_origin")
    rows(changed, "ALTER TABLE chats DROP COLUMN origin")
    rows(changed, "UPDATE alembic_version SET version_num = '0008'")
    with opened(at(changed)) as memory:
        assert not kept(changed)
        with memory.database.read() as connection:
            assert {id for _, id, _ in jobs.due(connection, models=jobs.NOBODY)} >= {"one", "two", "bobs"}
        assert memory.user("ann").recall(SAID["german"][1], kinds=["message"])[0].text == SAID["german"][0]
        for tenant, name in (("", "one"), ("", "two"), ("", "bobs"), ("elsewhere", "one")):
            memory.tenant(tenant).chat(name).work()
        exactly(changed)
        assert len(kept(changed)) == len(expected)
        with memory.database.read() as connection:
            assert not jobs.due(connection, models=jobs.NOBODY)
        assert memory.user("ann").recall(SAID["german"][1], kinds=["message"])[0].text == SAID["german"][0]


def test_E7_without_full_text_everything_is_searched_in_memory(changed: Path) -> None:
    """As in a file that was made by a build of SQLite without FTS5."""
    rows(changed, "DROP TABLE recall_words")
    with opened(at(changed)) as memory:
        chat = memory.chat("one")
        assert chat.recall(SAID["german"][1], kinds=["message"])[0].text == SAID["german"][0]
        assert loaded(memory)
        chat.add(chatter(750, 900))
        memory.settle()
        chat.forget(chat.messages(limit=1)[0].id)
        memory.chat("two").delete()
        assert memory.user("bob").forget().clean


def test_D7_full_text_that_cannot_be_opened_stops_nobody(changed: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows(changed, "DELETE FROM recall_words_config")
    rows(changed, "DELETE FROM recall_words_data")
    with caplog.at_level(logging.WARNING), opened(at(changed)) as memory:
        chat = memory.chat("one")
        assert chat.recall(SAID["german"][1], kinds=["message"])[0].text == SAID["german"][0]
        chat.add(chatter(750, 900))
        memory.settle()
        chat.forget(chat.messages(limit=1)[0].id)
        chat.delete()
        assert "without full text" in memory.database.backend.describe()
    assert "cannot be opened" in caplog.text


def test_E7_a_file_that_may_only_be_read_is_searched_by_full_text(filled: Path) -> None:
    with opened(f"{at(filled)}?mode=ro") as memory:
        assert memory.user("ann").recall(SAID["german"][1], kinds=["message"])[0].text == SAID["german"][0]
        assert loaded(memory) == 0


# What is damaged -----------------------------------------------------------------------------------------


def _damage(path: Path) -> None:
    rows(path, "UPDATE recall_words_data SET block = zeroblob(length(block)) WHERE id > 10")


def test_D7_damaged_full_text_is_made_again(changed: Path, caplog: pytest.LogCaptureFixture) -> None:
    expected = kept(changed)
    _damage(changed)
    with caplog.at_level(logging.WARNING), opened(at(changed)) as memory:
        for asked in range(2):
            for text, question in PLANTED[:4]:
                hits = memory.user("ann").recall(question, kinds=["message"], limit=8)
                assert text in [hit.text for hit in hits], asked
    assert len(re.findall("full text of recall", caplog.text)) == 1
    assert kept(changed) == expected


@pytest.mark.parametrize("change", ["add", "forget", "delete", "branch"])
def test_D7_damaged_full_text_stops_nobody(changed: Path, change: str) -> None:
    _damage(changed)
    with opened(at(changed)) as memory:
        chat = memory.chat("one")
        match change:
            case "add":
                chat.add(chatter(750, 900))
            case "forget":
                chat.forget(chat.messages(limit=1)[0].id)
            case "delete":
                chat.delete()
            case "branch":
                branch(memory, "one", 600, "fork")
        memory.settle()
        for tenant, name in (("", "two"), ("", "bobs"), ("elsewhere", "one")):
            memory.tenant(tenant).chat(name).work()
        assert memory.user("ann").recall(PLANTED[-1][1], kinds=["message"])[0].text == PLANTED[-1][0]
    exactly(changed)


@pytest.mark.parametrize("change", ["search", "forget"])
def test_F9_a_damaged_block_is_made_again_and_its_words(
    changed: Path, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    where = "chat = (SELECT key FROM chats WHERE id = 'one' AND tenant = '') AND first_seq = 1"
    ((sound,),) = rows(changed, f"SELECT data FROM recall_blocks WHERE {where}")
    flipped = sound[:99] + bytes([255 - sound[99]]) + sound[100:]
    rows(changed, f"UPDATE recall_blocks SET data = ? WHERE {where}", flipped)
    with caplog.at_level(logging.WARNING), opened(at(changed)) as memory:
        if change == "search":
            for _ in range(2):
                hit = memory.user("ann").recall(SAID["german"][1], kinds=["message"])[0]
                assert hit.text == SAID["german"][0]
            assert rows(changed, f"SELECT data FROM recall_blocks WHERE {where}") == [(sound,)]
        else:
            memory.chat("one").forget(memory.chat("one").messages(limit=1)[0].id)
            memory.settle()
        assert "is damaged" in caplog.text
    exactly(changed)


def test_E7_a_full_disk_is_no_damage(changed: Path) -> None:
    pages = rows(changed, "PRAGMA page_count")[0][0]
    with opened(f"{at(changed)}?max_page_count={pages}") as memory, pytest.raises(DatabaseFullError):
        branch(memory, "one", 600, "fork")
    exactly(changed)


# The pure part -------------------------------------------------------------------------------------------


def test_D8_long_messages_make_longer_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [Said(number, f"Word{number} is said here. " * 400, "user", START) for number in range(1, 31)]
    block = segment(said, chosen(None)[0]())
    assert len(block.seq) > 64 * STRETCH / 2
    for most in (1, 7, 64):
        monkeypatch.setattr(full_text, "ROWS", most)
        found = [words.split() for _, words in full_text._rows((1, 1, "", None), block)]
        assert len(found) <= most
        for number in (1, 15, 30):
            held = [row for row, words in enumerate(found) if full_text.word(term(f"word{number}")) in words]
            edges = [edge for row in held for edge in cut(block, [row], most)]
            assert number in {int(seq) for start, end in edges for seq in block.seq[start:end]}
