"""Seals: a checksum in each pin. Pins of earlier versions have none."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("pins", sa.Column("seal", sa.Integer))
