"""Seals: a checksum in each line of memory, fact and mention. Rows of earlier versions have none."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    for table in ("items", "facts", "mentions"):
        op.add_column(table, sa.Column("seal", sa.Integer))
