"""What an address says about its database, without opening it."""

from __future__ import annotations

import re

_KEYWORD = re.compile(
    r"(?:^|\s)(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode)\s*=", re.IGNORECASE
)


def is_postgres(url: object) -> bool:
    """Whether an address is that of a PostgreSQL server."""
    return isinstance(url, str) and url.startswith(("postgresql://", "postgres://"))


def is_keywords(url: str) -> bool:
    """Whether this is what libpq takes beside addresses, such as `host=db password=…`: no file is called so."""
    return "://" not in url.partition("=")[0] and _KEYWORD.search(url) is not None
