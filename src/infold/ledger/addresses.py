"""What an address says about its database, without opening it."""

from __future__ import annotations


def is_postgres(url: object) -> bool:
    """Whether an address is that of a PostgreSQL server."""
    return isinstance(url, str) and url.startswith(("postgresql://", "postgres://"))
