"""Lines: what memory holds, with the words it rests on; and what people stated that lasts, which was a table of facts.

Lines of memory and facts of earlier versions stay as they are: their text, their sources and who wrote them. They name no
kind, or that of the fact, and quote nothing. A checksum of a row is written by the version that wrote the row.
"""
# ruff: noqa: S608  nothing but our own names is put into the statements

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

OPEN = "infold_views"
KINDS = {"biography": "who", "commitment": "open", "reference": "artifact"}
LIKELY = 700
BATCH = 1000


def upgrade() -> None:
    database = op.get_bind()
    sqlite = database.dialect.name == "sqlite"
    if sqlite:
        for view in SQLITE:
            database.exec_driver_sql(f"DROP VIEW {view}")
    _lines()
    _stated(database)
    for name, query in (SQLITE if sqlite else POSTGRES).items():
        create = f"CREATE VIEW {name}" if sqlite else f"CREATE OR REPLACE VIEW {OPEN}.{name}"
        database.exec_driver_sql(f"{create} AS {query}")
    op.drop_table("facts")


def _lines() -> None:
    op.drop_index("items_alive", "items")
    op.rename_table("items", "lines")
    lasting = sa.text("died IS NULL")
    op.create_index("lines_alive", "lines", ["chat"], sqlite_where=lasting, postgresql_where=lasting)
    for name in ("kind", "quote", "role", "said_by", "author"):
        kind = sa.Text() if name == "quote" else sa.String()
        op.add_column("lines", sa.Column(name, kind, nullable=False, server_default=""))
    op.add_column("lines", sa.Column("places", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("lines", sa.Column("said_at", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("lines", sa.Column("worth", sa.Integer(), nullable=False, server_default="1000"))
    op.add_column("lines", sa.Column("standing", sa.Integer(), nullable=False, server_default="0"))
    author = "SELECT coalesce(f.model, f.author) FROM folds f WHERE f.chat = lines.chat AND f.n = lines.born"
    op.execute(
        "UPDATE lines SET seal = NULL, worth = CAST(round(CAST(confidence AS numeric) * 1000) AS integer), "
        f"author = coalesce(({author}), '')"
    )
    op.drop_column("lines", "confidence")


def _stated(database: sa.Connection) -> None:
    key = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    stated = op.create_table(
        "stated",
        sa.Column("key", key, primary_key=True),
        sa.Column("chat", key, sa.ForeignKey("chats.key"), nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("quote", sa.Text, nullable=False),
        sa.Column("sources", sa.Text, nullable=False),
        sa.Column("places", sa.Text, nullable=False),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("said_by", sa.String, nullable=False),
        sa.Column("said_at", sa.BigInteger, nullable=False),
        sa.Column("author", sa.String, nullable=False),
        sa.Column("worth", sa.Integer, nullable=False),
        sa.Column("standing", sa.Integer, nullable=False),
        sa.Column("rewrites", sa.Integer, nullable=False),
        sa.Column("seal", sa.Integer),
    )
    op.create_index("stated_by_chat", "stated", ["chat", "seq"])
    facts = sa.table(
        "facts", *map(sa.column, ("key", "chat", "kind", "text", "quote", "confidence", "speaker", "sayings"))
    )
    last = 0
    while rows := database.execute(sa.select(facts).where(facts.c.key > last).order_by(facts.c.key).limit(BATCH)).all():
        last = rows[-1].key
        made = [row for one in rows if (row := _fact(one)) is not None]
        if made:
            database.execute(sa.insert(stated), made)


def _fact(row: Any) -> dict[str, object] | None:
    """A fact as a line; None for a damaged one, which was left out before, too."""
    try:
        sayings = [(int(at), int(seq)) for at, seq, *_ in json.loads(row.sayings)]
        at, seq = max(sayings, key=lambda said: said[::-1])
    except (ValueError, TypeError):
        return None
    own = row.speaker not in ("assistant", "tool")
    return {
        "chat": row.chat, "seq": seq, "kind": KINDS.get(row.kind, row.kind), "text": row.text, "quote": row.quote,
        "sources": json.dumps(sorted({said for _, said in sayings}), separators=(",", ":")), "places": "[]",
        "role": "user" if own else row.speaker, "said_by": row.speaker, "said_at": at, "author": "extractive",
        "worth": round(row.confidence * 1000), "standing": LIKELY, "rewrites": 0, "seal": None,
    }  # fmt: skip


# The views that read these tables: as in 0006, with speakers before quotations, as memory shows them -----------------

_LINES = """
    SELECT place, layer, key,
           CASE WHEN row_number() OVER (PARTITION BY place ORDER BY layer, key) > 1 THEN '' ELSE
               CASE place WHEN 0 THEN '## Pinned' WHEN 2 THEN '## Goals / Preferences' WHEN 3 THEN '## Decisions Made'
                          WHEN 4 THEN '## Open Items / Pending Commitments' WHEN 5 THEN '## Key Artifacts / References'
                          ELSE '## Facts / Constraints' END
               || CASE WHEN min(quoted) OVER (PARTITION BY place) = 1 THEN ' (quoted)' ELSE '' END || {newline}
           END || '- ' || speaker
           || CASE WHEN quoted = 1 AND min(quoted) OVER (PARTITION BY place) = 0 THEN '“' || text || '”' ELSE text END AS line
      FROM (SELECT key, text,
                   CASE author WHEN 'quotation' THEN 1 ELSE 0 END AS quoted,
                   CASE WHEN author <> 'quotation' OR said_by IN ('', 'user') THEN ''
                        WHEN said_by = 'assistant' AND role = 'assistant' THEN 'Assistant: '
                        WHEN said_by = 'tool' AND role = 'tool' THEN 'Tool: ' ELSE said_by || ': ' END AS speaker,
                   CASE section WHEN 'pinned' THEN 0 WHEN 'goals' THEN 2 WHEN 'decisions' THEN 3 WHEN 'open' THEN 4
                                WHEN 'artifacts' THEN 5 ELSE 1 END AS place,
                   CASE layer WHEN 'pinned' THEN 0 WHEN 'fact' THEN 1 WHEN 'leaf' THEN 3 ELSE 2 END AS layer
              FROM ({lines}) AS memory) AS placed"""
_NOW = """
    SELECT key, section, layer, text, author, role, said_by FROM {schema}lines WHERE chat = c.key AND died IS NULL
    UNION ALL SELECT key, 'pinned', 'pinned', text, 'person', 'user', 'user' FROM {schema}pins WHERE chat = c.key"""
_AFTER_FOLD = """
    SELECT key, section, layer, text, author, role, said_by FROM {schema}lines
     WHERE chat = f.chat AND born <= f.n AND (died IS NULL OR died > f.n)"""


def _timestamp(column: str) -> str:
    """Milliseconds as a timestamp, within the years 1 to 9999: beyond them few programs can read it."""
    return f"to_timestamp(least(greatest({column}, -62135596800000), 253402300799999) / 1000.0)"


def _text(lines: str) -> str:
    every = _LINES.format(newline="chr(10)", lines=lines.format(schema="infold."))
    return f"coalesce((SELECT string_agg(line, chr(10) ORDER BY place, layer, key) FROM ({every}) AS lines), '')"


POSTGRES = {
    "conversation_briefs": f"""
        SELECT c.id AS chat_id, c.tenant, c."user" AS user_id,
               jsonb_build_object(
                   'global_summary', {_text(_NOW)},
                   'last_summarized_message_id', (
                       SELECT id FROM infold.messages WHERE chat = c.key AND seq <= c.cursor AND role = 'assistant'
                        ORDER BY seq DESC LIMIT 1)
               ) AS brief,
               {_timestamp("coalesce((SELECT created_at FROM infold.events WHERE chat = c.key ORDER BY key DESC LIMIT 1), c.created_at)")}
                   AS updated_at
          FROM infold.chats c""",
    "memory_summaries": f"""
        SELECT f.id, c.id AS chat_id, c."user" AS user_id, c.tenant, f.n, f.kind, f.depth,
               {_text(_AFTER_FOLD)} AS summary_text,
               coalesce((
                   SELECT jsonb_agg(jsonb_build_object(
                              'text', a.text, 'kind', a.kind, 'quote', a.quote, 'said_by', a.said_by, 'standing', a.standing,
                              'message_ids', (
                                  SELECT jsonb_agg(m.id ORDER BY m.seq) FROM infold.messages m
                                   WHERE m.chat = a.chat AND a.sources::jsonb @> to_jsonb(m.seq)
                                     AND m.seq BETWEEN f.first_seq AND f.last_seq)) ORDER BY a.key)
                     FROM infold.stated a
                    WHERE a.chat = f.chat AND a.seq BETWEEN f.first_seq AND f.last_seq
               ), '[]') AS facts_json,
               ARRAY(
                   SELECT id::text FROM infold.messages
                    WHERE chat = f.chat AND seq BETWEEN f.first_seq AND f.last_seq ORDER BY seq
               ) AS source_event_ids,
               {_timestamp("f.created_at")} AS created_at, f.superseded_by IS NOT NULL AS superseded, f.model
          FROM infold.folds f JOIN infold.chats c ON c.key = f.chat""",
}


def _iso(column: str) -> str:
    return f"strftime('%Y-%m-%dT%H:%M:%fZ', {column} / 1000.0, 'unixepoch')"


def _sqlite_text(lines: str) -> str:
    every = _LINES.format(newline="char(10)", lines=lines.format(schema=""))
    # Aggregates take rows in the order of the query below them; they know no ORDER BY of their own before 3.44.
    return f"""
        coalesce((SELECT group_concat(line, char(10)) FROM (SELECT line FROM ({every}) ORDER BY place, layer, key)), '')"""


SQLITE = {
    "conversation_briefs": f"""
        SELECT c.id AS chat_id, c.tenant, c."user" AS user_id,
               json_object(
                   'global_summary', {_sqlite_text(_NOW)},
                   'last_summarized_message_id', (
                       SELECT id FROM messages WHERE chat = c.key AND seq <= c.cursor AND role = 'assistant'
                        ORDER BY seq DESC LIMIT 1)
               ) AS brief,
               {_iso("coalesce((SELECT created_at FROM events WHERE chat = c.key ORDER BY key DESC LIMIT 1), c.created_at)")}
                   AS updated_at
          FROM chats c""",
    "memory_summaries": f"""
        SELECT f.id, c.id AS chat_id, c."user" AS user_id, c.tenant, f.n, f.kind, f.depth,
               {_sqlite_text(_AFTER_FOLD)} AS summary_text,
               (SELECT json_group_array(json_object(
                           'text', text, 'kind', kind, 'quote', quote, 'said_by', said_by, 'standing', standing,
                           'message_ids', json(message_ids)))
                  FROM (SELECT a.*, (SELECT json_group_array(m.id) FROM messages m
                                      WHERE m.chat = a.chat
                                        AND m.seq IN (SELECT value FROM json_each(
                                                CASE WHEN json_valid(a.sources) THEN a.sources ELSE '[]' END)))
                                    AS message_ids
                          FROM stated a
                         WHERE a.chat = f.chat AND a.seq BETWEEN f.first_seq AND f.last_seq
                         ORDER BY a.key)
               ) AS facts_json,
               (SELECT json_group_array(id)
                  FROM (SELECT id FROM messages
                         WHERE chat = f.chat AND seq BETWEEN f.first_seq AND f.last_seq ORDER BY seq)
               ) AS source_event_ids,
               {_iso("f.created_at")} AS created_at, f.superseded_by IS NOT NULL AS superseded, f.model
          FROM folds f JOIN chats c ON c.key = f.chat""",
}
