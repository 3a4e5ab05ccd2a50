"""Databases as the schema before lines had them: with items in place of lines, and facts that were no quotations."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

from infold.ledger.migrating import MIGRATIONS
from tests import rawsql

POLICIES: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "policies_0011.json").read_text("utf-8"))
"""Those of the presets, as revision 0011 stored them."""
_NEW = ("kind", "quote", "role", "said_by", "author", "places", "said_at", "worth", "standing")
_VIEWS = ("conversation_briefs", "memory_summaries")
_FACTS = """
    CREATE TABLE facts (
        key {key}, chat BIGINT NOT NULL REFERENCES chats (key), digest {bytes} NOT NULL, kind VARCHAR NOT NULL, text TEXT NOT NULL,
        subject TEXT NOT NULL, attribute TEXT NOT NULL, value TEXT NOT NULL, quote TEXT NOT NULL, speaker VARCHAR NOT NULL,
        confidence FLOAT NOT NULL, replaces TEXT NOT NULL, sayings TEXT NOT NULL, seal INTEGER, UNIQUE (chat, digest))"""


def _views(server: bool) -> dict[str, str]:
    """Those of 0006."""
    spec = importlib.util.spec_from_file_location("views", MIGRATIONS / "versions" / "0006_views.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, str] = module.POSTGRES if server else module.SQLITE
    return found


def without_lines(url: str) -> None:
    """Bring a database back to schema 0010. Lines become items; what was stated is lost, as nobody had noted it then."""
    server = url.startswith("postgresql://")
    key, bytes = ("BIGSERIAL PRIMARY KEY", "BYTEA") if server else ("INTEGER PRIMARY KEY", "BLOB")
    views = _views(server)
    where = "infold_views." if server else ""
    steps = [f"DROP VIEW {where}{name}{' CASCADE' if server else ''}" for name in _VIEWS]
    steps += [
        "ALTER TABLE pins DROP COLUMN by" if server else 'ALTER TABLE pins DROP COLUMN "by"',
        "ALTER TABLE pins DROP COLUMN seal",
        "ALTER TABLE chats DROP COLUMN remember",
        "ALTER TABLE chats DROP COLUMN away",
        "ALTER TABLE messages DROP COLUMN apart",
        "DROP TABLE users",
        "DROP TABLE hints",
        "DROP INDEX events_of_people",
        "ALTER TABLE calls DROP COLUMN asked",
        "DROP TABLE installation",
        "DROP INDEX messages_of_operators",
        "DELETE FROM lines WHERE layer = 'further'",
        "DROP INDEX lines_alive",
        "ALTER TABLE lines RENAME TO items",
        *(f"ALTER TABLE items DROP COLUMN {name}" for name in _NEW),
        "ALTER TABLE items ADD COLUMN confidence FLOAT NOT NULL DEFAULT 1",
        "UPDATE items SET seal = NULL",
        "CREATE INDEX items_alive ON items (chat) WHERE died IS NULL",
        "DROP TABLE stated",
        _FACTS.format(key=key, bytes=bytes),
        "CREATE INDEX facts_by_chat ON facts (chat, key)",
    ]
    steps += [f"CREATE VIEW {where}{name} AS {views[name]}" for name in _VIEWS]
    if server:
        steps += [f"CREATE VIEW public.{name} AS SELECT * FROM {where}{name}" for name in _VIEWS]
    steps.append("UPDATE alembic_version SET version_num = '0010'")
    for step in steps:
        rawsql.change(url, step)
    for (text,) in rawsql.rows(url, "SELECT DISTINCT policy FROM chats"):
        rawsql.change(
            url, "UPDATE chats SET policy = ? WHERE policy = ?", json.dumps(_as_it_was(json.loads(text))), text
        )


def _as_it_was(policy: dict[str, Any]) -> dict[str, Any]:
    """A policy as revision 0011 had it; what it shared with its preset is that of the preset then."""
    before = POLICIES[policy["name"]]
    return {
        name: before[name] if name in ("order", "trim", "budget", "budget_share") else policy[name] for name in before
    }
