"""Folds by models: who wrote a fold and with which prompt, what calls cost, and who is folding a chat right now."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    for name in ("model", "prompt", "narrative", "notes"):
        op.add_column("folds", sa.Column(name, sa.Text))
    op.add_column("items", sa.Column("rewrites", sa.Integer, nullable=False, server_default="0"))
    op.create_table(
        "calls",
        sa.Column("key", _KEY, primary_key=True),
        sa.Column("chat", _KEY, sa.ForeignKey("chats.key"), nullable=False),
        sa.Column("fold", sa.Integer),
        sa.Column("model", sa.String, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("duration", sa.Integer, nullable=False),
        sa.Column("tokens_in", sa.Integer, nullable=False),
        sa.Column("tokens_out", sa.Integer, nullable=False),
        sa.Column("cached", sa.Integer, nullable=False),
        sa.Column("cost", sa.BigInteger),
        sa.Column("outcome", sa.String, nullable=False),
    )
    op.create_index("calls_by_chat", "calls", ["chat", "key"])
    op.create_table(
        "leases",
        sa.Column("chat", _KEY, sa.ForeignKey("chats.key"), primary_key=True),
        sa.Column("owner", sa.String, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
    )
