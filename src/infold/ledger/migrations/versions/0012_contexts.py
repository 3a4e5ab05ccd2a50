"""Contexts: whose word a pin is, the key that blocks are marked with, what models were asked, what operators said, and further
quotations, which are not part of a summary. Policies say what a context's budget covers."""

import importlib
import json
import secrets
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

SECTIONS = ("recent", "sources", "entities", "leaves", "summary", "facts")
USUAL = [[name, 0] for name in ("sources", "recalled", "entities", "leaves", "recent", "summary", "facts")]
"""What gave way in preset `default`, which has shares of room now and no order of its own."""
NONE = [["recent", 0], ["sources", 0], ["summary", 0]]
OPERATOR = "role IN ('system', 'developer')"


def upgrade() -> None:
    database = op.get_bind()
    op.add_column("pins", sa.Column("by", sa.String(), nullable=False, server_default="user"))
    installation = op.create_table(
        "installation",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("value", sa.LargeBinary, nullable=False),
    )
    op.bulk_insert(installation, [{"name": "mark", "value": secrets.token_bytes(32)}])
    op.add_column("calls", sa.Column("asked", sa.LargeBinary()))
    said = sa.text(OPERATOR)
    op.create_index("messages_of_operators", "messages", ["chat", "seq"], sqlite_where=said, postgresql_where=said)
    _policies(database)
    _views(database)


def _policies(database: sa.Connection) -> None:
    chats = sa.table("chats", sa.column("key"), sa.column("policy"))
    rows = database.execute(sa.select(chats.c.policy).distinct()).scalars().all()
    for text in rows:
        try:
            policy = json.loads(text)
            for values in (policy, *policy["overrides"].values()):
                _now(values, policy["name"])
            if policy["name"] == "default":
                policy |= {"memory_share": 0.6, "further_cap": 2500}
        except (ValueError, TypeError, LookupError, AttributeError):
            continue  # a damaged one, which whoever opens the chat is told of
        new = json.dumps(policy, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        database.execute(sa.update(chats).where(chats.c.policy == text).values(policy=new))


def _now(values: dict[str, Any], name: str) -> None:
    """Give a policy, or its values for one model, the fields that say now what they said."""
    values.pop("budget_share", None)
    if "order" in values:
        values["policy_text"] = "policy" in values.pop("order")
    if "trim" in values:
        usual = name == "default" and values["trim"] == USUAL
        values["trim"] = NONE if usual else [one for one in values["trim"] if one[0] in SECTIONS]
    if name == "chunked" and "budget" in values:
        values["turns_budget"], values["budget"] = values["budget"], 0


def _views(database: sa.Connection) -> None:
    """As in 0011, less the lines that no summary holds."""
    before = importlib.import_module("infold.ledger.migrations.versions.0011_lines")
    sqlite = database.dialect.name == "sqlite"
    for name, query in (before.SQLITE if sqlite else before.POSTGRES).items():
        query = query.replace("chat = c.key AND died IS NULL", "chat = c.key AND died IS NULL AND layer <> 'further'")
        query = query.replace("chat = f.chat AND born", "chat = f.chat AND layer <> 'further' AND born")
        if sqlite:
            database.exec_driver_sql(f"DROP VIEW {name}")
            database.exec_driver_sql(f"CREATE VIEW {name} AS {query}")
        else:
            database.exec_driver_sql(f"CREATE OR REPLACE VIEW {before.OPEN}.{name} AS {query}")
