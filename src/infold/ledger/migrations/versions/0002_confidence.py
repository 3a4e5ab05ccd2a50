"""Items know how sure their reader was; messages are read when they are folded, and keep no features."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("items", sa.Column("confidence", sa.Float, nullable=False, server_default="1"))
    op.drop_column("messages", "features")
