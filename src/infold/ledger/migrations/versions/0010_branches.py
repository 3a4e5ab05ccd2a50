"""Branches know what they branched off; before, only their ids told."""

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
    events = sa.table("events", sa.column("chat"), sa.column("type"))
    found = database.execute(sa.select(chats.c.key, chats.c.tenant, chats.c.id)).all()
    keys = {(tenant, id): key for key, tenant, id in found}
    branched = set(database.scalars(sa.select(events.c.chat).where(events.c.type == "branched")))
    for key, tenant, id in found:
        # A chat that its user has called so is no branch.
        if key in branched and (origin := keys.get((tenant, id.partition("~")[0]))) not in (None, key):
            database.execute(sa.update(chats).where(chats.c.key == key).values(origin=origin))
