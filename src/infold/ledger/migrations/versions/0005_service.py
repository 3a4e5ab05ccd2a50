"""Tenants, and what the service needs: keys, answers given before, known prefixes of chats, archives."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        _rebuild_chats()
    else:
        op.add_column("chats", sa.Column("tenant", sa.String, nullable=False, server_default=""))
        op.drop_constraint("chats_id_key", "chats")
        op.create_unique_constraint("chats_by_id", "chats", ["tenant", "id"])
        op.drop_index("chats_by_user")
    op.create_index("chats_by_user", "chats", ["tenant", "user"])
    op.add_column("mentions", sa.Column("tenant", sa.String, nullable=False, server_default=""))
    op.drop_index("mentions_by_user")
    of_user = sa.text('"user" IS NOT NULL')
    op.create_index("mentions_by_user", "mentions", ["tenant", "user"], sqlite_where=of_user, postgresql_where=of_user)
    op.add_column("messages", sa.Column("archived", sa.Integer, nullable=False, server_default="0"))
    op.create_table(
        "api_keys",
        sa.Column("key", _KEY, primary_key=True),
        sa.Column("id", sa.String, nullable=False, unique=True),
        sa.Column("tenant", sa.String, nullable=False),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False, unique=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("revoked_at", sa.BigInteger),
    )
    op.create_table(
        "idempotent",
        sa.Column("key", _KEY, primary_key=True),
        sa.Column("tenant", sa.String, nullable=False),
        sa.Column("owner", sa.String, nullable=False),
        sa.Column("token", sa.String, nullable=False),
        sa.Column("fingerprint", sa.LargeBinary, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("headers", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("tenant", "owner", "token", name="idempotent_by_token"),
    )
    op.create_index("idempotent_by_age", "idempotent", ["created_at"])
    op.create_table(
        "prefixes",
        sa.Column("key", _KEY, primary_key=True),
        sa.Column("tenant", sa.String, nullable=False),
        sa.Column("scope", sa.String, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("chat", _KEY, sa.ForeignKey("chats.key"), nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.UniqueConstraint("chat", "scope", "digest", name="prefixes_by_chat"),
    )
    op.create_index("prefixes_by_digest", "prefixes", ["tenant", "scope", "digest"])
    op.create_table(
        "archives",
        sa.Column("key", _KEY, primary_key=True),
        sa.Column("chat", _KEY, sa.ForeignKey("chats.key"), nullable=False),
        sa.Column("first_seq", sa.Integer, nullable=False),
        sa.Column("last_seq", sa.Integer, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("chat", "first_seq", name="archives_by_chat"),
    )


def _rebuild_chats() -> None:
    """SQLite cannot drop a constraint: the table is written anew. Other tables refer to it by name, and go on to."""
    op.drop_index("chats_by_user")
    op.create_table(
        "new_chats",
        sa.Column("key", sa.Integer, primary_key=True),
        sa.Column("tenant", sa.String, nullable=False, server_default=""),
        sa.Column("id", sa.String, nullable=False),
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
        sa.Column("read_to", sa.Integer, nullable=False, server_default="0"),
        sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"),
        sa.UniqueConstraint("tenant", "id", name="chats_by_id"),
    )
    columns = (
        '"key", id, "user", title, system, policy, context_window, created_at, tools_tokens, last_seq, users, cursor, '
        "version, folds, head_hash, marks, read_to, epoch"
    )
    op.execute(f"INSERT INTO new_chats ({columns}) SELECT {columns} FROM chats")  # noqa: S608  names of columns alone
    op.drop_table("chats")
    op.rename_table("new_chats", "chats")
