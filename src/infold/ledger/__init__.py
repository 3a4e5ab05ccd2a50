"""The ledger: the database that keeps every message, fold, item, pin and event."""
