"""Preset `chain`: hashes of what was folded; the proof finds whatever is changed behind infold's back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from infold import Memory, Message
from tests import rawsql
from tests.databases import copied, fresh
from tests.rawsql import rows
from tests.test_chain_records import fold_again, folded

ROWS = {
    "chat": ("chats", "id = 'c'"),
    "folded message": ("messages", "seq = 1"),
    "recent message": ("messages", "seq = 18"),
    "older fold": ("folds", "n = 1"),
    "newest fold": ("folds", "n = 2"),
    "living line": ("lines", "died IS NULL"),
    "ended line": ("lines", "died IS NOT NULL"),
}
COLUMNS = {
    "chats": "last_seq users cursor folds head_hash",
    "messages": "seq id role content body model_variant created_at tokens sha256",
    "folds": "n id kind first_seq last_seq head_seq depth parent superseded_by author reason created_at request_tokens"
    " context_window active tokens removed sources_sha256 hash",
    "lines": "id born died layer section kind text quote sources places role said_by said_at author worth standing tokens"
    " rewrites",
}
PLACES = [(row, column) for row, (table, _) in ROWS.items() for column in COLUMNS[table].split()]


@pytest.fixture(scope="module")
def made() -> Iterator[str]:
    """A chat with two folds; the second one ended a line of the first."""
    with fresh() as url:
        with Memory(url) as memory:
            fold_again(folded(memory))
            assert memory.verify().ok
        yield url


@pytest.fixture
def url(made: str) -> Iterator[str]:
    with copied(made) as copy:
        yield copy


def flipped(value: Any) -> Any:
    """The value with a small change."""
    if isinstance(value, bytes):
        return bytes([value[0] ^ 1]) + value[1:]
    if isinstance(value, str):
        middle = len(value) // 2
        return value[:middle] + chr(ord(value[middle]) ^ 1) + value[middle + 1 :]
    return (value or 0) + 100


def change(url: str, sql: str, *values: Any) -> None:
    assert rawsql.change(url, sql, *values) >= 1


def problems(url: str) -> str:
    with Memory(url) as memory:
        proof = memory.verify()
    assert proof.ok == (not proof.problems)
    return "" if proof.ok else str(proof)


def test_B12_the_hash_of_every_message_is_kept(url: str) -> None:
    with Memory(url) as memory:
        said = memory.chat("c").messages()
    assert rows(url, "SELECT sha256 FROM messages ORDER BY seq") == [(message.sha256,) for message in said]


def test_B12_nothing_changed_nothing_found(url: str) -> None:
    assert problems(url) == ""


@pytest.mark.parametrize(("row", "column"), PLACES)
def test_B12_verify_finds_a_changed_value(url: str, row: str, column: str) -> None:
    table, where = ROWS[row]
    key, value = rows(url, f"SELECT key, {column} FROM {table} WHERE {where}")[0]
    change(url, f"UPDATE {table} SET {column} = ? WHERE key = ?", flipped(value), key)
    assert problems(url)


@pytest.mark.parametrize("column", ["text", "section", "layer", "sources"])
def test_B12_a_chats_own_verify_finds_it_too(url: str, column: str) -> None:
    value = rows(url, f"SELECT {column} FROM lines WHERE died IS NULL")[0][0]
    with Memory(url) as memory:
        chat = memory.chat("c")  # before the damage: opening a chat repairs it
        change(url, f"UPDATE lines SET {column} = ? WHERE died IS NULL", flipped(value))
        assert not chat.verify().ok


@pytest.mark.parametrize("row", [row for row in ROWS if row != "chat"])
def test_B12_verify_finds_a_deleted_row(url: str, row: str) -> None:
    table, where = ROWS[row]
    change(url, f"DELETE FROM {table} WHERE {where}")
    assert problems(url)


def test_B12_verify_finds_a_message_changed_together_with_its_hash(url: str) -> None:
    """The folds remember what they read."""
    forged = Message("user", "My budget is 900 euros.", name="Ada")
    change(url, "UPDATE messages SET content = ?, sha256 = ? WHERE seq = 1", forged.content, forged.sha256)
    assert "not the ones that fold 1 read" in problems(url)


def test_B12_verify_finds_two_messages_that_changed_places(url: str) -> None:
    for sql in ("= 99 WHERE seq = 2", "= 2 WHERE seq = 3", "= 3 WHERE seq = 99"):
        change(url, f"UPDATE messages SET seq {sql}")
    assert problems(url)
