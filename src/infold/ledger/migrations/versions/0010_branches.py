"""Branches know what they branched off; before, only an event told."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    database = op.get_bind()
    key = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.add_column("chats", sa.Column("origin", key))
    op.create_index("chats_by_origin", "chats", ["origin"])
    chats = sa.table("chats", sa.column("key"), sa.column("tenant"), sa.column("id"), sa.column("origin"))
    events = sa.table("events", sa.column("key"), sa.column("chat"), sa.column("type"), sa.column("data"))
    branched = (
        sa.select(events.c.chat, events.c.data, chats.c.tenant)
        .join_from(events, chats, chats.c.key == events.c.chat)
        .where(events.c.type == "branched")
        .order_by(events.c.key)  # what they branched off was there before
    )
    origins: dict[int, int] = {}
    for chat, data, tenant in database.execute(branched).all():
        try:
            source = str(json.loads(data)["from"])
        except (ValueError, TypeError, LookupError):
            continue  # a damaged one: the chat stands alone
        named = sa.select(chats.c.key).where(chats.c.tenant == tenant, chats.c.id == source)
        origin = database.scalar(named)
        if origin is not None and origin != chat:
            origins[chat] = origins.get(origin, origin)
            database.execute(sa.update(chats).where(chats.c.key == chat).values(origin=origins[chat]))
