"""Alembic's entry: migrate the connection that `infold.ledger.database` hands over."""

from alembic import context

from infold.ledger.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transaction_per_migration=False,
)
context.run_migrations()
