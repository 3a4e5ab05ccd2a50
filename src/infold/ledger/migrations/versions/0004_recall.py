"""Facts, mentions of entities, and the index of recall."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.add_column("chats", sa.Column("read_to", sa.Integer, nullable=False, server_default="0"))
    op.add_column("chats", sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("folds", sa.Column("nominal", sa.LargeBinary))
    op.create_index("chats_by_user", "chats", ["user"])
    op.create_table(
        "facts",
        sa.Column("key", _KEY, primary_key=True),
        sa.Column("chat", _KEY, sa.ForeignKey("chats.key"), nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("attribute", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("quote", sa.Text, nullable=False),
        sa.Column("speaker", sa.String, nullable=False),
        sa.Column("confidence", sa.Float, nullable=False),
        sa.Column("replaces", sa.Text, nullable=False),
        sa.Column("sayings", sa.Text, nullable=False),
        sa.UniqueConstraint("chat", "digest"),
    )
    op.create_index("facts_by_chat", "facts", ["chat", "key"])
    op.create_table(
        "mentions",
        sa.Column("key", _KEY, primary_key=True),
        sa.Column("chat", _KEY, sa.ForeignKey("chats.key")),
        sa.Column("user", sa.String),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("due", sa.String, nullable=False),
        sa.Column("owner", sa.String, nullable=False),
        sa.Column("links", sa.Text, nullable=False),
    )
    op.create_index("mentions_by_chat", "mentions", ["chat", "seq"])
    op.create_index("mentions_by_user", "mentions", ["user"], sqlite_where=sa.text("user IS NOT NULL"))
    op.create_table(
        "recall_blocks",
        sa.Column("key", _KEY, primary_key=True),
        sa.Column("chat", _KEY, sa.ForeignKey("chats.key"), nullable=False),
        sa.Column("first_seq", sa.Integer, nullable=False),
        sa.Column("maker", sa.String, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("chat", "first_seq"),
    )
