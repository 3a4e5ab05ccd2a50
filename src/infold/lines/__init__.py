"""Lines of memory: a statement, the words it rests on, and where they stand."""
