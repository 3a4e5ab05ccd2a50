"""Finding older messages for a question: offline, without a model, without a database. Pure."""
