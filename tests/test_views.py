"""C8, E1: memory and its provenance, as other programs read them with SQL of their own."""

from __future__ import annotations

import json
import logging
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from infold import Chat, Memory, summarize_memory
from infold import preset as policy
from infold.ledger.schema import HEAD
from infold.presets import PRESETS
from tests.conftest import START, assistant, call, counted_ids, result, ticking_clock, user, words
from tests.older import without_lines
from tests.postgres import Server

COLUMNS = {
    "chats": "id tenant user_id title system preset context_window last_seq cursor created_at",
    "messages": "id chat_id tenant role content metadata model_variant created_at seq tokens",
    "conversation_briefs": "chat_id tenant user_id brief updated_at",
    "inbox_items": "id chat_id user_id tenant role raw_text created_at status",
    "memory_summaries": "id chat_id user_id tenant n kind depth summary_text facts_json source_event_ids created_at "
    "superseded model",
    "event_log": "id chat_id user_id tenant type data created_at",
}
TABLES_IN_A_FILE = ("chats", "messages")
JSON = ("brief", "data", "facts_json", "source_event_ids", "metadata")
SECRET = "Zanzibarkowski"


class Reader:
    """Another program: it has the address and the names of the views, and nothing of infold."""

    def __init__(self, url: str) -> None:
        self.url = url

    @property
    def is_file(self) -> bool:
        return self.url.startswith("sqlite")

    def rows(self, sql: str) -> list[dict[str, Any]]:
        if not self.is_file:
            with psycopg.connect(self.url, row_factory=dict_row) as connection:
                return list(connection.execute(sql))
        with closing(sqlite3.connect(self.url.removeprefix("sqlite:///"))) as connection:
            connection.row_factory = sqlite3.Row
            found = [dict(row) for row in connection.execute(sql)]
        return [{k: json.loads(v) if k in JSON else v for k, v in row.items()} for row in found]

    def change(self, sql: str) -> None:
        """What nobody should do: write into infold's tables."""
        if self.is_file:
            with closing(sqlite3.connect(self.url.removeprefix("sqlite:///"))) as connection, connection:
                connection.executescript(sql)
        else:
            with psycopg.connect(self.url, options="-c search_path=infold") as server:
                server.execute(sql)

    def brief(self, chat: str = "c", tenant: str = "") -> dict[str, Any]:
        (row,) = self.rows(f"SELECT brief FROM conversation_briefs WHERE chat_id = '{chat}' AND tenant = '{tenant}'")
        found: dict[str, Any] = row["brief"]
        return found

    def summaries(self, chat: str = "c", tenant: str = "") -> list[dict[str, Any]]:
        return self.rows(f"SELECT * FROM memory_summaries WHERE chat_id = '{chat}' AND tenant = '{tenant}' ORDER BY n")

    def log(self, type: str, chat: str = "c", tenant: str = "") -> list[dict[str, Any]]:
        return self.rows(
            f"SELECT * FROM event_log WHERE type = '{type}' AND chat_id = '{chat}' AND tenant = '{tenant}' "
            "ORDER BY created_at, id"
        )


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without chats, of each kind."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{shutil.copy(request.getfixturevalue('empty'), tmp_path / 'chats.db')}"


@pytest.fixture
def reader(url: str) -> Reader:
    return Reader(url)


def opened(url: str, **options: Any) -> Memory:
    return Memory(url, clock=ticking_clock(), ids=counted_ids(), **options)


def filled(memory: Memory, preset: str = "chunked", turns: int = 30, id: str = "c", **options: Any) -> Chat:
    """A chat with a statement in each turn, and several folds."""
    config = policy(preset, chunk_tokens=800) if preset == "chunked" else policy(preset)
    chat = memory.chat(id, config=config, context_window=1200, **options)
    for n in range(turns):
        said = f"My sister's name is {SECRET}." if n == 3 else f"I prefer hotel Astor{n} for trip {n}."
        chat.add(user(said, id=f"u{n}"))
        chat.add(assistant(words(60, f"a{n}"), id=f"a{n}", model_variant="deep-dive" if n % 2 else "mini"))
    chat.settle()
    return chat


def last_reply(chat: Chat) -> str | None:
    """Id of the last assistant message that is folded."""
    folded = chat.messages(limit=chat.memory.cursor) if chat.memory.cursor else []
    return next((m.id for m in reversed(folded) if m.role == "assistant"), None)


# The names -----------------------------------------------------------------------------------------------


def test_C8_the_documented_names_and_columns_are_there(url: str, reader: Reader) -> None:
    with opened(url) as memory:
        filled(memory, user="ann")
    for name, columns in COLUMNS.items():
        if not (reader.is_file and name in TABLES_IN_A_FILE):
            assert list(reader.rows(f"SELECT * FROM {name}")[0]) == columns.split(), name


def test_C8_the_types_are_those_of_the_documents(postgres_url: str) -> None:
    found = Reader(postgres_url).rows(
        "SELECT table_name || '.' || column_name AS name, data_type AS type FROM information_schema.columns "
        "WHERE table_schema = 'public'"
    )
    types = {row["name"]: row["type"] for row in found}
    assert {name for name, type in types.items() if type == "jsonb"} == {
        "conversation_briefs.brief", "messages.metadata", "memory_summaries.facts_json", "event_log.data",
    }  # fmt: skip
    assert types["memory_summaries.source_event_ids"] == "ARRAY"
    assert types["memory_summaries.superseded"] == "boolean"
    times = {name for name in types if name.endswith("_at")}
    assert len(times) == len(COLUMNS)
    assert {types[name] for name in times} == {"timestamp with time zone"}


def test_C8_chats_and_messages(postgres_url: str) -> None:
    reader = Reader(postgres_url)
    with opened(postgres_url) as memory:
        chat = memory.chat("c", preset="chunked", user="ann", title="Trip", system="Be brief.", context_window=4096)
        chat.add(user([{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "data:,x"}},
                       {"type": "text", "text": "a map"}]), id="m1")  # fmt: skip
        chat.add(call("x", content=None), id="m2", model_variant="deep-dive")
        chat.add(result("x", "41 boxes"), id="m3")
        chat.add(assistant("There are 41 boxes."), id="m4", created_at="2026-05-01T12:00:00.250Z")
        stored = chat.messages()
    (row,) = reader.rows("SELECT * FROM chats")
    assert row.pop("created_at") == datetime.fromtimestamp(START / 1000, UTC)
    assert row == {
        "id": "c", "tenant": "", "user_id": "ann", "title": "Trip", "system": "Be brief.", "preset": "chunked",
        "context_window": 4096, "last_seq": 4, "cursor": 0,
    }  # fmt: skip
    rows = reader.rows("SELECT * FROM messages ORDER BY seq")
    assert [(row["id"], row["chat_id"], row["role"], row["seq"], row["tokens"]) for row in rows] == [
        (m.id, "c", m.role, m.seq, m.tokens) for m in stored
    ]
    assert [row["content"] for row in rows] == ["Look:\na map", None, "41 boxes", "There are 41 boxes."]
    assert [row["model_variant"] for row in rows] == [None, "deep-dive", None, None]
    assert rows[0]["metadata"] == {"model_variant": None}
    assert rows[1]["metadata"] == {"model_variant": "deep-dive", "tool_calls": list(stored[1].tool_calls)}
    assert rows[2]["metadata"] == {"model_variant": None, "tool_call_id": "x"}
    assert rows[3]["created_at"] == datetime(2026, 5, 1, 12, 0, 0, 250_000, UTC)


# The brief -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS)
def test_C8_the_brief_is_the_summary_and_its_cursor(url: str, reader: Reader, preset: str) -> None:
    with opened(url) as memory:
        chat = filled(memory, preset)
        assert SECRET in chat.summary
        assert chat.summary.count("\n") > 3
        expected = {"global_summary": chat.summary, "last_summarized_message_id": last_reply(chat)}
        assert expected["last_summarized_message_id"]
        assert reader.brief() == expected
        chat.pin("The gate code is\n4711#.")
        assert "## Pinned" in chat.summary
        assert reader.brief() == {**expected, "global_summary": chat.summary}


def test_C8_quotations_that_no_summary_holds_are_in_no_view(url: str, reader: Reader) -> None:
    with opened(url) as memory:
        chat = filled(memory, "default", 60)
        further = chat.memory.further
        assert further
        assert reader.brief()["global_summary"] == chat.summary
        assert not [line.text for line in further if line.text in chat.summary]
        newest = reader.summaries()[-1]
        told = str(newest["facts_json"]) + newest["summary_text"]
        assert not [line.text for line in further if line.text in told]
        assert newest["facts_json"]
        chat.pin("Never name a price.", by="operator")
        assert reader.brief()["global_summary"] == chat.summary


def test_C8_all_headings_in_their_order(url: str, reader: Reader) -> None:
    with opened(url, summarizer=lambda known, new: new[0].text) as memory:
        said = [
            "## Key Artifacts / References", "- The plan is in plan.md.", "## Facts / Constraints", "- The crane is blue.",
            "## Open Items / Pending Commitments", "- Ann will call Bob.", "## Decisions Made", "- Use PostgreSQL.",
            "## Goals / Preferences", "- The goal is 10 boats.", "- Ann prefers tea.",
        ]  # fmt: skip
        chat = memory.chat("c", config=policy("rolling"), wait=True)
        chat.add(user("\n".join(said)))
        for n in range(6):
            chat.add([assistant(f"Yes {n}."), user(f"Well {n}.")])
        headings = [line for line in chat.summary.splitlines() if line.startswith("#")]
        assert headings == [
            "## Facts / Constraints", "## Goals / Preferences", "## Decisions Made",
            "## Open Items / Pending Commitments", "## Key Artifacts / References",
        ]  # fmt: skip
        assert reader.brief()["global_summary"] == chat.summary


def test_C8_the_brief_shows_speakers_and_what_is_quoted(url: str, reader: Reader) -> None:
    with opened(url) as memory:
        chat = memory.chat("c", preset="rolling")
        for n in range(4):
            chat.add(user(f"My cabin on trip {n} is number {n}00.", name="Ann"))
            chat.add(user(f"My budget for trip {n} is {n}50 euros."))
            chat.add(call(f"k{n}", name="book", content=None))
            chat.add(result(f"k{n}", json.dumps({"ticket": f"TK-{n}99", "status": "booked"})))
            chat.add(assistant(f"Your flight LH{n}4 for trip {n} is booked for May {n + 1}."))
        chat.fold()
        assert " (quoted)\n" in chat.summary
        assert "- Ann: My cabin" in chat.summary
        assert "- My budget" in chat.summary
        assert "- Assistant: Your flight" in chat.summary
        assert reader.brief()["global_summary"] == chat.summary
        line = next(line for line in chat.memory.items if line.said_by == "Ann")
    # Beside lines of other authors, quotations stand in marks.
    reader.change(f"UPDATE lines SET author = 'somebody', seal = NULL WHERE id = '{line.id}'")
    with opened(url) as memory:
        mixed = memory.chat("c").summary
        assert f"- {line.text}" in mixed
        assert "- “My budget" in mixed
        assert reader.brief()["global_summary"] == mixed


def test_C8_nothing_folded_is_an_empty_brief(url: str, reader: Reader) -> None:
    with opened(url) as memory:
        memory.chat("c", preset="chunked").add(user("Hello"))
    assert reader.brief() == {"global_summary": "", "last_summarized_message_id": None}


def test_C8_a_folded_turn_without_reply_shows_the_last_assistant_before_it(url: str, reader: Reader) -> None:
    with opened(url) as memory:
        chat = memory.chat("c", config=policy("chunked", chunk_tokens=400))
        chat.add([user(words(80, "q")), assistant("Fine.", id="reply"), user("Look.")])
        chat.add([call("x", content=None) | {"id": "asks"}, result("x", words(80)) | {"id": "end"}])
        for n in range(3):
            chat.add([user(words(80, f"q{n}")), assistant(words(40, f"a{n}"))])
        assert chat.memory.last_summarized_message_id == "end"
    assert reader.brief()["last_summarized_message_id"] == "asks"


def test_C8_a_brief_tells_when_it_changed(url: str, reader: Reader) -> None:
    with opened(url) as memory:
        chat = filled(memory)
        times = []
        for change in (lambda: chat.pin("Always."), lambda: chat.forget("u3"), lambda: chat.rewind("a20")):
            times.append(str(reader.rows("SELECT updated_at FROM conversation_briefs")[0]["updated_at"]))
            change()
        times.append(str(reader.rows("SELECT updated_at FROM conversation_briefs")[0]["updated_at"]))
    assert times == sorted(set(times))


# Provenance ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS)
def test_E1_every_summary_names_its_text_facts_and_sources(url: str, reader: Reader, preset: str) -> None:
    with opened(url) as memory:
        chat = filled(memory, preset, user="ann")
        records = {record.id: record for record in chat.records if record.original_message_ids}
        summary, cursor, ids = chat.summary, chat.memory.cursor, [m.id for m in chat.messages()]
        known = {fact.text for fact in chat.facts(all=True) if max(fact.sources) <= cursor}
    rows = reader.summaries()
    assert rows[-1]["summary_text"] == summary
    base = {row["id"]: row for row in rows if row["kind"] == "base" and not row["superseded"]}
    assert base.keys() == records.keys()
    for id, row in base.items():
        assert row["source_event_ids"] == list(records[id].original_message_ids)
        assert (row["depth"], row["user_id"], row["model"]) == (records[id].depth, "ann", None)
        stated = [fact["message_ids"][0] for fact in row["facts_json"]]
        assert set(stated) <= set(row["source_event_ids"])
    facts = [fact for row in base.values() for fact in row["facts_json"]]
    assert {fact["text"] for fact in facts} == known
    assert len(facts) == len(known)
    (sister,) = [fact for fact in facts if SECRET in fact["text"]]
    assert set(sister) == set("text kind quote said_by standing message_ids".split())
    assert sister["text"] == sister["quote"] == f"My sister's name is {SECRET}."
    assert (sister["kind"], sister["said_by"]) == ("who", "user")
    assert sister["message_ids"] == ["u3"]
    # Sources can be looked up, each exactly once.
    added = {row["id"]: row["data"] for row in reader.log("message_added")}
    assert list(added) == ids
    assert [id for row in base.values() for id in row["source_event_ids"]] == ids[:cursor]
    created = [row["data"] for row in reader.log("memory_summary_created")]
    assert created == [
        {"summary": row["id"], "sources": len(row["source_event_ids"])} for row in rows if row["kind"] == "base"
    ]


def test_E1_the_event_comes_with_the_fold(url: str) -> None:
    heard: list[Any] = []
    with opened(url, on_event=heard.append) as memory:
        chat = filled(memory, "engine")
        assert heard == chat.events()
        created = [event.data for event in heard if event.type == "memory_summary_created"]
        assert created == [{"summary": r.id, "sources": len(r.original_message_ids)} for r in chat.records]
        assert len(created) > 1


def test_E1_a_rewrite_of_nothing_is_no_summary_of_messages(url: str, reader: Reader) -> None:
    with opened(url) as memory:
        chat = memory.chat("c", preset="rolling")
        chat.add(user("My budget is 400 euros."))
        chat.fold()
        assert [event.type for event in chat.events()][-1] == "summarization"
    assert reader.log("memory_summary_created") == []
    (row,) = reader.summaries()
    assert (row["kind"], row["source_event_ids"], row["facts_json"]) == ("rewrite", [], [])


def test_E1_a_summary_that_a_better_one_replaced_says_so(url: str, reader: Reader) -> None:
    with opened(url, summarizer=summarize_memory) as memory:
        chat = filled(memory, "rolling", turns=6)
        chat.settle()
        active = [record.id for record in chat.records]
        assert reader.brief()["global_summary"] == chat.summary
    rows = reader.summaries()
    assert [row["id"] for row in rows if not row["superseded"]] == active
    replaced = [row for row in rows if row["superseded"]]
    assert len(replaced) == 1
    assert replaced[0]["source_event_ids"] == rows[-1]["source_event_ids"]


def test_E1_what_became_of_each_message(url: str, reader: Reader) -> None:
    with opened(url) as memory:
        cursor = filled(memory, user="ann").memory.cursor
    reader.change("UPDATE messages SET archived = 1, content = NULL, body = NULL WHERE seq <= 2")
    reader.change("UPDATE messages SET archived = 2, content = '', body = NULL WHERE seq IN (3, 4)")
    rows = reader.rows("SELECT * FROM inbox_items ORDER BY created_at")
    assert [row["status"] for row in rows] == [
        *["archived"] * 2, *["removed"] * 2, *["summarized"] * (cursor - 4), *["open"] * (60 - cursor),
    ]  # fmt: skip
    assert [row["raw_text"] for row in rows[:5]] == [None, None, None, None, "I prefer hotel Astor2 for trip 2."]
    assert {row["user_id"] for row in rows} == {"ann"}


# Changes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["chunked", "engine", "layered"])
def test_F6_what_is_forgotten_is_in_no_view(url: str, reader: Reader, preset: str) -> None:
    def everything() -> str:
        return str([reader.rows(f"SELECT * FROM {name}") for name in COLUMNS])

    with opened(url) as memory:
        chat = filled(memory, preset)
        assert SECRET in everything()
        chat.forget("u3")
        assert SECRET not in everything()
        assert reader.brief() == {"global_summary": chat.summary, "last_summarized_message_id": last_reply(chat)}
        assert reader.summaries()[-1]["summary_text"] == chat.summary


def test_C8_views_follow_a_chat_that_goes_back_and_is_deleted(url: str, reader: Reader) -> None:
    with opened(url) as memory:
        chat = filled(memory)
        before = chat.memory.cursor
        chat.rewind("a12")
        assert 0 < chat.memory.cursor < before
        assert reader.brief() == {"global_summary": chat.summary, "last_summarized_message_id": last_reply(chat)}
        assert [row["id"] for row in reader.summaries()] == [record.id for record in chat.records]
        assert len(reader.rows("SELECT id FROM inbox_items")) == len(reader.log("message_added")) == 26
        chat.delete()
    for name in COLUMNS:
        assert reader.rows(f"SELECT * FROM {name}") == []


def test_C8_tenants_do_not_mix(url: str, reader: Reader) -> None:
    with opened(url) as memory:
        chats = {name: filled(memory.tenant(name), turns=turns) for name, turns in (("a", 20), ("b", 30))}
        chats["b"].forget("u3")
        for name, chat in chats.items():
            expected = {"global_summary": chat.summary, "last_summarized_message_id": last_reply(chat)}
            assert reader.brief(tenant=name) == expected
            rows = reader.summaries(tenant=name)
            assert [row["id"] for row in rows] == [record.id for record in chat.records]
            assert (SECRET in str(rows)) == (name == "a")
            assert len(reader.log("message_added", tenant=name)) == len(chat.messages())
    assert {row["tenant"] for row in reader.rows("SELECT tenant FROM inbox_items")} == {"a", "b"}


# What may be in the rows ---------------------------------------------------------------------------------


def test_C8_odd_values_break_no_view(url: str, reader: Reader) -> None:
    with opened(url) as memory:
        chat = memory.chat("c", preset="rolling")
        for n, at in enumerate((-(2**53) + 1, 2**53 - 1, 0, -1)):
            chat.add(user(f"It's {n} \\u0000 100% \U0001f9ea", id=f"é'{n}"), created_at=at)
        chat.fold()
    data = json.dumps({"answer": "a\0b", "path": "C:\\u0000"})
    reader.change(
        f"INSERT INTO events (chat, type, created_at, data) SELECT key, 'gate', created_at, '{data}' FROM chats"
    )
    for name in COLUMNS:
        assert reader.rows(f"SELECT * FROM {name}"), name
    texts = [row["raw_text"] for row in reader.rows("SELECT * FROM inbox_items ORDER BY id")]
    assert texts == [f"It's {n} \\u0000 100% \U0001f9ea" for n in range(4)]
    (gate,) = reader.log("gate")
    assert gate["data"]["answer"] == ("a\0b" if reader.is_file else "a\ufffdb")


def test_D7_a_damaged_fact_is_left_out(url: str, reader: Reader) -> None:
    with opened(url) as memory:
        filled(memory, "engine")
    before = [fact for row in reader.summaries() for fact in row["facts_json"]]
    reader.change("UPDATE stated SET sources = '[' WHERE key = (SELECT min(key) FROM stated)")
    assert [fact for row in reader.summaries() for fact in row["facts_json"]] == before[1:]


# Who may read, and who owns the names --------------------------------------------------------------------


@pytest.fixture
def bare(postgres: Server) -> Iterator[str]:
    """A database that infold has not seen."""
    with postgres.database("template0") as url:
        yield url


def test_C8_an_application_keeps_its_own_table(bare: str, caplog: pytest.LogCaptureFixture) -> None:
    with psycopg.connect(bare) as connection:
        connection.execute("CREATE TABLE public.chats (mine int)")
        connection.execute("INSERT INTO public.chats VALUES (7)")
        connection.execute("CREATE TYPE public.messages AS ENUM ('mine')")
    with caplog.at_level(logging.WARNING), opened(bare) as memory:
        chat = filled(memory)
        reader = Reader(bare)
        assert reader.rows("SELECT * FROM chats") == [{"mine": 7}]
        assert reader.rows("SELECT 'mine'::messages AS own") == [{"own": "mine"}]
        assert [row["id"] for row in reader.rows("SELECT * FROM infold_views.chats")] == ["c"]
        assert len(reader.rows("SELECT * FROM infold_views.messages")) == 60
        assert reader.brief()["global_summary"] == chat.summary
    told = [record.getMessage() for record in caplog.records]
    assert told == [
        f"public.{name} belongs to another program and stays: read infold_views.{name}"
        for name in ("chats", "messages")
    ]


@pytest.fixture
def role(postgres: Server) -> Iterator[str]:
    with psycopg.connect(postgres.base, autocommit=True) as connection:
        connection.execute("CREATE ROLE somebody LOGIN")
        yield "somebody"
        connection.execute("DROP ROLE somebody")


def as_role(url: str, role: str) -> str:
    mark = "&" if "?" in url else "?"
    return f"{url}{mark}user={role}"


def test_C8_a_role_that_may_not_write_to_public_still_works(
    bare: str, role: str, caplog: pytest.LogCaptureFixture
) -> None:
    with psycopg.connect(bare, autocommit=True) as connection:
        connection.execute(f'GRANT CREATE ON DATABASE "{connection.info.dbname}" TO {role}')
        try:
            with caplog.at_level(logging.WARNING), opened(as_role(bare, role)) as memory:
                filled(memory, turns=2)
            assert "may not create views in the schema public: read those of infold_views" in caplog.text
            assert connection.execute("SELECT count(*) FROM infold_views.inbox_items").fetchone() == (4,)
            assert connection.execute("SELECT to_regclass('public.inbox_items')").fetchone() == (None,)
        finally:
            connection.execute(f"DROP OWNED BY {role} CASCADE")


def test_C8_who_may_read_a_view_needs_no_right_on_the_tables(postgres_url: str, role: str) -> None:
    with opened(postgres_url) as memory:
        filled(memory)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"GRANT SELECT ON public.conversation_briefs, public.memory_summaries TO {role}")
        try:
            reader = Reader(as_role(postgres_url, role))
            assert SECRET in reader.brief()["global_summary"]
            assert reader.summaries()[0]["facts_json"]
            for closed in ("infold.lines", "public.messages", "infold_views.chats"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    reader.rows(f"SELECT * FROM {closed}")
        finally:
            connection.execute(f"DROP OWNED BY {role}")


# The documentation ---------------------------------------------------------------------------------------


def test_C8_the_examples_of_the_documentation_work(postgres_url: str, tmp_path: Path) -> None:
    text = (Path(__file__).parent.parent / "docs" / "sql.md").read_text(encoding="utf-8")
    brief, newest, learned, again, grant, in_a_file = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    for name, columns in COLUMNS.items():
        (row,) = re.findall(rf"^\| `{name}` \|.*$", text, re.MULTILINE)
        assert re.findall(r"`(\w+)`", row) == [name, *columns.split()]
    reader = Reader(postgres_url)
    with Memory(postgres_url, ids=counted_ids()) as memory:  # by the real clock: the last week is asked for
        chat = filled(memory, id="trip", user="ada")
        assert reader.rows(brief)[0]["summary"] == chat.summary
        sources = chat.records[-1].original_message_ids
        assert [row["content"] for row in reader.rows(newest)] == [m.text for m in chat.messages() if m.id in sources]
        facts = [fact for fact in chat.facts(all=True) if max(fact.sources) <= chat.memory.cursor]
        assert {row["fact"] for row in reader.rows(learned)} == {fact.text for fact in facts}
    reader.change("DROP VIEW public.chats")
    reader.change(again)
    assert [row["id"] for row in reader.rows("SELECT * FROM chats")] == ["trip"]
    assert grant.startswith("GRANT SELECT ON public.")
    file = Reader(f"sqlite:///{tmp_path / 'chats.db'}")
    with opened(file.url) as memory:
        summary = filled(memory, id="trip").summary
    assert [list(row.values()) for row in file.rows(in_a_file)] == [[summary]]


# Migrations ----------------------------------------------------------------------------------------------


def test_E7_a_database_of_revision_0005_gets_the_views(url: str, reader: Reader) -> None:
    with opened(url) as memory:
        texts = [line.text for line in filled(memory).memory.items]
    without_lines(url)
    if reader.is_file:
        for name in COLUMNS.keys() - set(TABLES_IN_A_FILE):
            reader.change(f"DROP VIEW {name}")
        reader.change("DROP TABLE recall_words")
    else:
        reader.change("DROP SCHEMA infold_views CASCADE")
        reader.change("DROP TABLE recall_passages")
    for table in ("items", "facts", "mentions"):
        reader.change(f"ALTER TABLE {table} DROP COLUMN seal")
    reader.change("DROP INDEX chats_by_origin")
    reader.change("ALTER TABLE chats DROP COLUMN origin")
    reader.change("UPDATE alembic_version SET version_num = '0005'")
    with pytest.raises((sqlite3.OperationalError, psycopg.errors.UndefinedTable)):
        reader.brief()
    with opened(url) as memory:
        chat = memory.chat("c")
        assert [line.text for line in chat.memory.items] == texts
        assert reader.brief()["global_summary"] == chat.summary
    version = "alembic_version" if reader.is_file else "infold.alembic_version"
    assert reader.rows(f"SELECT * FROM {version}") == [{"version_num": HEAD}]


def test_E7_an_old_file_is_readable_by_the_documented_names(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((Path(__file__).parent / "ledger_0001.sql").read_text(encoding="utf-8"))
    reader = Reader(f"sqlite:///{path}")
    with Memory(reader.url) as memory:
        chat = memory.chat("trip")
        assert reader.brief("trip") == {"global_summary": chat.summary, "last_summarized_message_id": last_reply(chat)}
    assert len(reader.log("message_added", "trip")) == 12


def test_E7_dropping_the_tables_takes_the_views_along(postgres_url: str) -> None:
    reader = Reader(postgres_url)
    reader.change("DROP SCHEMA infold CASCADE")
    with pytest.raises(psycopg.errors.UndefinedTable):
        reader.brief()
    with opened(postgres_url) as memory:
        summary = filled(memory).summary
        assert reader.brief()["global_summary"] == summary
