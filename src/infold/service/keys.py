"""API keys: made once, stored as hashes, found by hash; and who a request speaks for."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass

from infold.errors import ConfigError, NotFoundError
from infold.ledger import service
from infold.ledger.service import KeyRow
from infold.memory import Memory, check_label, new_id

ROLES = ("read", "write", "admin")
"""Each may do what the ones before it may."""
PREFIX = "ink_"
FRESH = 3.0
"""Seconds that what is known of a key is taken for true: a revoked one works at most so long."""
AWAY = 300.0
"""Seconds that it is still taken for true while the database cannot be asked."""
_MOST_CACHED = 4096


@dataclass(frozen=True, slots=True)
class Principal:
    """Who a request speaks for."""

    id: str
    """Of the key; empty where the service is open."""
    tenant: str
    role: str

    def may(self, role: str) -> bool:
        """Whether this is at least such a role."""
        return ROLES.index(self.role) >= ROLES.index(role)


OPEN = Principal("", "", "admin")
"""Everybody, while there are no keys."""


def create_key(memory: Memory, tenant: str, role: str, name: str = "") -> tuple[str, KeyRow]:
    """A new key, which is shown this once, and what is kept of it."""
    if role not in ROLES:
        raise ConfigError(f"unknown role {role!r}: use one of {', '.join(ROLES)}")
    check_label(tenant, "a tenant")
    check_label(name, "the name of a key")
    key = PREFIX + secrets.token_urlsafe(32)
    row = KeyRow(new_id(), tenant, role, name, digest(key), memory.clockwork.now())
    with memory.database.write() as connection:
        service.insert_key(connection, row)
    return key, row


def list_keys(memory: Memory) -> list[KeyRow]:
    """All keys, oldest first, revoked ones too."""
    with memory.database.read() as connection:
        return service.all_keys(connection)


def revoke_key(memory: Memory, id: str) -> None:
    """Let a key open nothing any more."""
    with memory.database.write() as connection:
        if not service.revoke_key(connection, id, memory.clockwork.now()):
            raise NotFoundError(f"there is no key {id!r} in force; `infold keys list` shows them")


def digest(key: str) -> bytes:
    """What is stored of a key. It is random and long, so nothing slower than sha256 is needed."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def given_key(headers: Mapping[str, str]) -> str | None:
    """The key that a request carries: in X-Infold-Key; or where a provider's would be, if it looks like one of ours."""
    own = headers.get("x-infold-key")
    if own is not None:
        return own.strip()
    scheme, _, token = headers.get("authorization", "").partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    given = (bearer, headers.get("x-api-key", "").strip())
    return next((key for key in given if key.startswith(PREFIX)), None)


class Keyring:
    """Finds out who a key speaks for, and remembers it for a few seconds."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._known: dict[bytes, tuple[float, Principal | None]] = {}
        self._locked: tuple[float, bool] = (0.0, True)

    def remembered(self, key: str | None) -> tuple[bool, Principal | None]:
        """Whether it is known without asking the database, and what is."""
        until, principal = self._last(key)
        return time.monotonic() < until, principal

    def last_known(self, key: str | None) -> Principal | None:
        """What was known last, if that is not too long ago: for while the database is away."""
        until, principal = self._last(key)
        return principal if until and time.monotonic() < until + AWAY else None

    def _last(self, key: str | None) -> tuple[float, Principal | None]:
        """Until when it may be taken for true, 0 where it was never known; and what."""
        if key is None:
            until, locked = self._locked
            return until, None if locked else OPEN
        return self._known.get(digest(key), (0.0, None))

    def find(self, key: str | None) -> Principal | None:
        """Whom a request with this key speaks for; None for nobody. Asks the database."""
        with self._memory.database.read() as connection:
            locked = service.any_key(connection)
            row = service.key_by_hash(connection, digest(key)) if key is not None else None
        until = time.monotonic() + FRESH
        self._locked = (until, locked)
        if key is None:
            return None if locked else OPEN
        own = digest(key)
        found = row is not None and hmac.compare_digest(row.hash, own)
        principal = Principal(row.id, row.tenant, row.role) if found and row is not None else None
        if len(self._known) >= _MOST_CACHED:
            self._known.clear()
        self._known[own] = (until, principal)
        return principal
