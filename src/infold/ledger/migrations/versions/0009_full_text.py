"""Full text: in a SQLite file, what says which blocks of recall may answer a question (FTS5). PostgreSQL has passages."""

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    database = op.get_bind()
    if database.dialect.name != "sqlite":
        return
    # A build without FTS5 searches everything in memory.
    if database.exec_driver_sql("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").scalar():
        # Only which rows have a word: neither the text nor the places of words in it.
        database.exec_driver_sql(
            "CREATE VIRTUAL TABLE recall_words USING fts5(words, content='', detail=none, columnsize=0, tokenize='ascii')"
        )
