"""What users state is known in all their chats as soon as it is said: whose it is, what holds, and by which words it is found.

Rows of earlier versions belong to nobody yet; they find their owner when something of the same user is noted."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    _policies(op.get_bind())
    key = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.add_column("messages", sa.Column("apart", sa.Integer, nullable=False, server_default="0"))
    op.add_column("chats", sa.Column("remember", sa.Integer, nullable=False, server_default="1"))
    op.add_column("chats", sa.Column("away", sa.Integer, nullable=False, server_default="0"))
    op.create_table(
        "users",
        sa.Column("key", key, primary_key=True),
        sa.Column("tenant", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("remember", sa.Integer, nullable=False, server_default="1"),
        sa.Column("pulse", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("latest", sa.BigInteger, nullable=False, server_default="0"),
        sa.UniqueConstraint("tenant", "name", name="users_by_name"),
    )
    op.add_column("stated", sa.Column("owner", key))
    op.add_column("stated", sa.Column("ended", key))
    op.add_column("stated", sa.Column("rank", sa.Integer, nullable=False, server_default="0"))
    op.add_column("stated", sa.Column("apart", sa.Integer, nullable=False, server_default="0"))
    op.create_index("stated_held", "stated", ["owner", "ended", "rank", "said_at"])
    op.create_table(
        "hints",
        sa.Column("owner", key, primary_key=True),
        sa.Column("word", sa.Integer, primary_key=True),
        sa.Column("line", key, primary_key=True),
        sqlite_with_rowid=False,
    )
    people = sa.text("type IN ('corrected', 'retracted', 'confirmed')")
    op.create_index("events_of_people", "events", ["chat", "key"], sqlite_where=people, postgresql_where=people)


def _policies(database: sa.Connection) -> None:
    """Chats of these presets know what their users said in others, as new ones do."""
    chats = sa.table("chats", sa.column("policy"))
    for text in database.execute(sa.select(chats.c.policy).distinct()).scalars().all():
        try:
            policy = json.loads(text)
            if policy["name"] not in ("layered", "engine"):
                continue
            policy["user_facts"] = True
        except (ValueError, TypeError, LookupError):
            continue  # a damaged one, which whoever opens the chat is told of
        new = json.dumps(policy, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        database.execute(sa.update(chats).where(chats.c.policy == text).values(policy=new))
