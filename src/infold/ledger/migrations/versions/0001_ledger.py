"""The first ledger."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "chats",
        sa.Column("key", _KEY, primary_key=True),
        sa.Column("id", sa.String, nullable=False, unique=True),
        sa.Column("user", sa.String),
        sa.Column("title", sa.String),
        sa.Column("system", sa.Text),
        sa.Column("policy", sa.Text, nullable=False),
        sa.Column("context_window", sa.Integer, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("tools_tokens", sa.Integer, nullable=False),
        sa.Column("last_seq", sa.Integer, nullable=False),
        sa.Column("users", sa.Integer, nullable=False),
        sa.Column("cursor", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("folds", sa.Integer, nullable=False),
        sa.Column("head_hash", sa.LargeBinary, nullable=False),
        sa.Column("marks", sa.Text, nullable=False),
    )
    op.create_table(
        "messages",
        sa.Column("key", _KEY, primary_key=True),
        sa.Column("chat", _KEY, sa.ForeignKey("chats.key"), nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("content", sa.Text),
        sa.Column("body", sa.Text),
        sa.Column("model_variant", sa.String),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("tokens", sa.Integer, nullable=False),
        sa.Column("sha256", sa.LargeBinary, nullable=False),
        sa.Column("features", sa.Text),
        sa.UniqueConstraint("chat", "seq"),
        sa.UniqueConstraint("chat", "id"),
    )
    op.create_table(
        "folds",
        sa.Column("key", _KEY, primary_key=True),
        sa.Column("chat", _KEY, sa.ForeignKey("chats.key"), nullable=False),
        sa.Column("n", sa.Integer, nullable=False),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("first_seq", sa.Integer),
        sa.Column("last_seq", sa.Integer),
        sa.Column("head_seq", sa.Integer, nullable=False),
        sa.Column("depth", sa.Integer, nullable=False),
        sa.Column("parent", sa.String),
        sa.Column("superseded_by", sa.Integer),
        sa.Column("author", sa.String, nullable=False),
        sa.Column("reason", sa.String, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("duration", sa.Integer, nullable=False),
        sa.Column("request_tokens", sa.Integer, nullable=False),
        sa.Column("context_window", sa.Integer, nullable=False),
        sa.Column("active", sa.Integer, nullable=False),
        sa.Column("tokens", sa.Integer, nullable=False),
        sa.Column("marks", sa.Text, nullable=False),
        sa.Column("removed", sa.Text, nullable=False),
        sa.Column("sources_sha256", sa.LargeBinary, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("chat", "n"),
    )
    op.create_table(
        "items",
        sa.Column("key", _KEY, primary_key=True),
        sa.Column("chat", _KEY, sa.ForeignKey("chats.key"), nullable=False),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("born", sa.Integer, nullable=False),
        sa.Column("died", sa.Integer),
        sa.Column("layer", sa.String, nullable=False),
        sa.Column("section", sa.String, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("sources", sa.Text, nullable=False),
        sa.Column("tokens", sa.Integer, nullable=False),
        sa.UniqueConstraint("chat", "id", "born"),
    )
    alive = sa.text("died IS NULL")
    op.create_index("items_alive", "items", ["chat"], sqlite_where=alive, postgresql_where=alive)
    op.create_table(
        "pins",
        sa.Column("key", _KEY, primary_key=True),
        sa.Column("chat", _KEY, sa.ForeignKey("chats.key"), nullable=False),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("tokens", sa.Integer, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("chat", "id"),
    )
    op.create_table(
        "events",
        sa.Column("key", _KEY, primary_key=True),
        sa.Column("chat", _KEY, sa.ForeignKey("chats.key"), nullable=False),
        sa.Column("type", sa.String, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.create_index("events_by_chat", "events", ["chat", "key"])


def downgrade() -> None:
    for table in ("events", "pins", "items", "folds", "messages", "chats"):
        op.drop_table(table)
