"""Views for other programs: memory and its provenance under the names, and in the shape, that they know.

On PostgreSQL all six are in the schema `infold_views`, and those whose names are free also in `public`, where everybody
looks by default. A SQLite file has the four that are no tables there. A later migration that changes a table drops the
views first, and makes them again.
"""
# ruff: noqa: S608  nothing but our own names is put into the statements

import logging

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

log = logging.getLogger("infold")

OPEN = "infold_views"


def upgrade() -> None:
    database = op.get_bind()
    if database.dialect.name == "sqlite":
        for name, query in SQLITE.items():
            database.exec_driver_sql(f"CREATE VIEW {name} AS {query}")
        return
    database.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {OPEN}")
    for name, query in POSTGRES.items():
        database.exec_driver_sql(f"CREATE VIEW {OPEN}.{name} AS {query}")
    _publish(database)


def _publish(database: sa.Connection) -> None:
    """Show the views in `public` too, except where an application has a table or type of that name, or keeps us out."""
    allowed = "SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = 'public'"
    if not database.exec_driver_sql(allowed).scalar():
        log.warning("the role may not create views in the schema public: read those of %s", OPEN)
        return
    taken = database.exec_driver_sql(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace "
        "UNION SELECT typname FROM pg_type WHERE typnamespace = 'public'::regnamespace"
    ).scalars()
    names = set(taken)
    for name in POSTGRES:
        if name in names:
            log.warning("public.%s belongs to another program and stays: read %s.%s", name, OPEN, name)
        else:
            database.exec_driver_sql(f"CREATE VIEW public.{name} AS SELECT * FROM {OPEN}.{name}")


# Memory as text: headings in their order, under each the lines of facts, long summary and leaves -------------

_LINES = """
    SELECT place, layer, key,
           CASE WHEN row_number() OVER (PARTITION BY place ORDER BY layer, key) > 1 THEN '' ELSE
               CASE place WHEN 0 THEN '## Pinned' WHEN 2 THEN '## Goals / Preferences' WHEN 3 THEN '## Decisions Made'
                          WHEN 4 THEN '## Open Items / Pending Commitments' WHEN 5 THEN '## Key Artifacts / References'
                          ELSE '## Facts / Constraints' END || {newline}
           END || '- ' || text AS line
      FROM (SELECT key, text,
                   CASE section WHEN 'pinned' THEN 0 WHEN 'goals' THEN 2 WHEN 'decisions' THEN 3 WHEN 'open' THEN 4
                                WHEN 'artifacts' THEN 5 ELSE 1 END AS place,
                   CASE layer WHEN 'fact' THEN 1 WHEN 'leaf' THEN 3 ELSE 2 END AS layer
              FROM ({items}) AS items) AS placed"""
_NOW = """
    SELECT key, section, layer, text FROM {schema}items WHERE chat = c.key AND died IS NULL
    UNION ALL SELECT key, 'pinned', 'pinned', text FROM {schema}pins WHERE chat = c.key"""
_AFTER_FOLD = """
    SELECT key, section, layer, text FROM {schema}items
     WHERE chat = f.chat AND born <= f.n AND (died IS NULL OR died > f.n)"""


# PostgreSQL --------------------------------------------------------------------------------------------------


def _timestamp(column: str) -> str:
    """Milliseconds as a timestamp, within the years 1 to 9999: beyond them few programs can read it."""
    return f"to_timestamp(least(greatest({column}, -62135596800000), 253402300799999) / 1000.0)"


def _text(items: str) -> str:
    lines = _LINES.format(newline="chr(10)", items=items.format(schema="infold."))
    return f"coalesce((SELECT string_agg(line, chr(10) ORDER BY place, layer, key) FROM ({lines}) AS lines), '')"


# What was put into an archive, or removed, is not shown; of a list of content parts, those that are text are.
_CONTENT = """
    CASE WHEN m.archived = 0 THEN coalesce(m.content, (
        SELECT string_agg(part ->> 'text', chr(10) ORDER BY place)
          FROM jsonb_array_elements(CASE jsonb_typeof(m.body::jsonb -> 'content')
                                    WHEN 'array' THEN m.body::jsonb -> 'content' END) WITH ORDINALITY AS parts (part, place)
    )) END"""

POSTGRES = {
    "chats": f"""
        SELECT c.id, c.tenant, c."user" AS user_id, c.title, c.system, c.policy::jsonb ->> 'name' AS preset,
               c.context_window, c.last_seq, c.cursor, {_timestamp("c.created_at")} AS created_at
          FROM infold.chats c""",
    "messages": f"""
        SELECT m.id, c.id AS chat_id, c.tenant, m.role, {_CONTENT} AS content,
               coalesce(m.body::jsonb - 'content', '{{}}') || jsonb_build_object('model_variant', m.model_variant) AS metadata,
               m.model_variant, {_timestamp("m.created_at")} AS created_at, m.seq, m.tokens
          FROM infold.messages m JOIN infold.chats c ON c.key = m.chat""",
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
    "inbox_items": f"""
        SELECT m.id, c.id AS chat_id, c."user" AS user_id, c.tenant, m.role, {_CONTENT} AS raw_text,
               {_timestamp("m.created_at")} AS created_at,
               CASE WHEN m.archived = 1 THEN 'archived' WHEN m.archived = 2 THEN 'removed'
                    WHEN m.seq <= c.cursor THEN 'summarized' ELSE 'open' END AS status
          FROM infold.messages m JOIN infold.chats c ON c.key = m.chat""",
    "memory_summaries": f"""
        SELECT f.id, c.id AS chat_id, c."user" AS user_id, c.tenant, f.n, f.kind, f.depth,
               {_text(_AFTER_FOLD)} AS summary_text,
               coalesce((
                   SELECT jsonb_agg(jsonb_build_object(
                              'text', a.text, 'kind', a.kind, 'subject', a.subject, 'attribute', a.attribute,
                              'value', a.value, 'quote', a.quote, 'confidence', a.confidence,
                              'message_ids', jsonb_path_query_array(a.sayings::jsonb, '$[*][2]')) ORDER BY a.key)
                     FROM infold.facts a
                    WHERE a.chat = f.chat AND (a.sayings::jsonb #>> '{{0,1}}')::int BETWEEN f.first_seq AND f.last_seq
               ), '[]') AS facts_json,
               ARRAY(
                   SELECT id::text FROM infold.messages
                    WHERE chat = f.chat AND seq BETWEEN f.first_seq AND f.last_seq ORDER BY seq
               ) AS source_event_ids,
               {_timestamp("f.created_at")} AS created_at, f.superseded_by IS NOT NULL AS superseded, f.model
          FROM infold.folds f JOIN infold.chats c ON c.key = f.chat""",
    # A NUL is valid in JSON, but not in what this type holds.
    "event_log": rf"""
        SELECT m.id::text, c.id AS chat_id, c."user" AS user_id, c.tenant, 'message_added'::text AS type,
               jsonb_build_object('role', m.role, 'seq', m.seq, 'tokens', m.tokens) AS data,
               {_timestamp("m.created_at")} AS created_at
          FROM infold.messages m JOIN infold.chats c ON c.key = m.chat
        UNION ALL
        SELECT 'e' || e.key, c.id, c."user", c.tenant, e.type, replace(e.data, '\u0000', '\ufffd')::jsonb,
               {_timestamp("e.created_at")}
          FROM infold.events e JOIN infold.chats c ON c.key = e.chat""",
}


# SQLite: JSON is text, timestamps are ISO text ---------------------------------------------------------------


def _iso(column: str) -> str:
    return f"strftime('%Y-%m-%dT%H:%M:%fZ', {column} / 1000.0, 'unixepoch')"


def _sqlite_text(items: str) -> str:
    lines = _LINES.format(newline="char(10)", items=items.format(schema=""))
    # Aggregates take rows in the order of the query below them; they know no ORDER BY of their own before 3.44.
    return f"""
        coalesce((SELECT group_concat(line, char(10)) FROM (SELECT line FROM ({lines}) ORDER BY place, layer, key)), '')"""


_SQLITE_CONTENT = """
    CASE WHEN m.archived = 0 THEN coalesce(m.content, (
        SELECT group_concat(json_extract(value, '$.text'), char(10)) FROM json_each(m.body, '$.content')
    )) END"""

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
    "inbox_items": f"""
        SELECT m.id, c.id AS chat_id, c."user" AS user_id, c.tenant, m.role, {_SQLITE_CONTENT} AS raw_text,
               {_iso("m.created_at")} AS created_at,
               CASE WHEN m.archived = 1 THEN 'archived' WHEN m.archived = 2 THEN 'removed'
                    WHEN m.seq <= c.cursor THEN 'summarized' ELSE 'open' END AS status
          FROM messages m JOIN chats c ON c.key = m.chat""",
    "memory_summaries": f"""
        SELECT f.id, c.id AS chat_id, c."user" AS user_id, c.tenant, f.n, f.kind, f.depth,
               {_sqlite_text(_AFTER_FOLD)} AS summary_text,
               (SELECT json_group_array(json_object(
                           'text', text, 'kind', kind, 'subject', subject, 'attribute', attribute, 'value', value,
                           'quote', quote, 'confidence', confidence, 'message_ids', json(message_ids)))
                  FROM (SELECT a.*, (SELECT json_group_array(json_extract(value, '$[2]')) FROM json_each(a.sayings))
                                    AS message_ids
                          FROM facts a
                         WHERE a.chat = f.chat AND CASE WHEN json_valid(a.sayings) THEN json_extract(a.sayings, '$[0][1]') END
                               BETWEEN f.first_seq AND f.last_seq
                         ORDER BY a.key)
               ) AS facts_json,
               (SELECT json_group_array(id)
                  FROM (SELECT id FROM messages
                         WHERE chat = f.chat AND seq BETWEEN f.first_seq AND f.last_seq ORDER BY seq)
               ) AS source_event_ids,
               {_iso("f.created_at")} AS created_at, f.superseded_by IS NOT NULL AS superseded, f.model
          FROM folds f JOIN chats c ON c.key = f.chat""",
    "event_log": f"""
        SELECT m.id, c.id AS chat_id, c."user" AS user_id, c.tenant, 'message_added' AS type,
               json_object('role', m.role, 'seq', m.seq, 'tokens', m.tokens) AS data,
               {_iso("m.created_at")} AS created_at
          FROM messages m JOIN chats c ON c.key = m.chat
        UNION ALL
        SELECT 'e' || e.key, c.id, c."user", c.tenant, e.type, e.data, {_iso("e.created_at")}
          FROM events e JOIN chats c ON c.key = e.chat""",
}
