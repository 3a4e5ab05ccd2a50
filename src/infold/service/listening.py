"""How a worker hears of jobs: over connections of another driver than the ledger's."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from pgqueuer.adapters.drivers.asyncpg import AsyncpgPoolDriver

if TYPE_CHECKING:
    from asyncpg.pool import Pool
    from pgqueuer.ports.driver import NotifyCallback


# Of what libpq takes in an address, what asyncpg understands; all else it would send to the server, which would refuse it.
_UNDERSTOOD = frozenset(
    "host port dbname user password passfile service application_name options target_session_attrs "
    "sslmode sslcert sslkey sslpassword sslrootcert sslcrl sslnegotiation ssl_min_protocol_version ssl_max_protocol_version krbsrvname".split()
)


def connecting(address: str) -> dict[str, Any]:
    """How asyncpg connects to an address that was written for libpq."""
    parts = urlsplit(address)
    given = dict(parse_qsl(parts.query))
    how: dict[str, Any] = {}
    if given.get("sslrootcert") == "system":  # the certificates that the machine trusts
        del given["sslrootcert"]
        given.pop("sslmode", None)
        how["ssl"] = ssl.create_default_context()
    if "host" not in given and "hostaddr" in given:
        given["host"] = given["hostaddr"]
    if given.get("connect_timeout", "0").isdigit() and (seconds := int(given.get("connect_timeout", "0"))):
        how["timeout"] = float(max(seconds, 2))  # as libpq has it
    if "fallback_application_name" in given:
        given.setdefault("application_name", given["fallback_application_name"])
    kept = {name: value for name, value in given.items() if name in _UNDERSTOOD}
    return {"dsn": parts._replace(query=urlencode(kept)).geturl(), **how}


class ListeningDriver(AsyncpgPoolDriver):
    """A driver that sends nothing before it listens.

    The queue probes its own listener from the start, and may do so before there is one: it then waits ten seconds for a
    notice that nobody heard, and takes its connection for lost.
    """

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self._listening = asyncio.Event()

    async def add_listener(self, channel: str, callback: NotifyCallback) -> None:
        """Listen, and let what waits for that go on."""
        await super().add_listener(channel, callback)
        self._listening.set()

    async def notify(self, channel: str, payload: str) -> None:
        """Send a notice, once somebody can hear it."""
        await self._listening.wait()
        await super().notify(channel, payload)
