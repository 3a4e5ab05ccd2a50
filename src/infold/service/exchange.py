"""One request to the upstream and its answer, byte for byte, to the client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import aiohttp

from infold.service.problems import Problem, StalledError
from infold.service.reader import Reader

if TYPE_CHECKING:
    from multidict import CIMultiDict
    from starlette.types import Receive, Send
    from yarl import URL

    from infold.service.settings import ServiceSettings
    from infold.service.telemetry import Metrics
    from infold.service.wire import Api, Reply

# Of one connection, not of the message; or set anew for the next.
HOP = frozenset(
    "connection keep-alive proxy-authenticate proxy-authorization te trailer trailers transfer-encoding upgrade "
    "proxy-connection".split()
)
_LONGEST = 65_536  # bytes of a header, or of the status line
_IDLE = 4.0  # seconds after which a connection is not used again: the upstream may be about to close it


def upstream_client(settings: ServiceSettings) -> aiohttp.ClientSession:
    """The connections to the upstream."""
    tracing = aiohttp.TraceConfig()
    tracing.on_connection_reuseconn.append(_reused)
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE),
        timeout=aiohttp.ClientTimeout(sock_connect=settings.connect_timeout, sock_read=settings.upstream_timeout),
        cookie_jar=aiohttp.DummyCookieJar(),  # one client's cookies are not another's
        skip_auto_headers=("accept", "content-type", "user-agent"),
        auto_decompress=False,
        max_line_size=_LONGEST,
        max_field_size=_LONGEST,
        trace_configs=[tracing],
    )


async def _reused(
    _: aiohttp.ClientSession, context: SimpleNamespace, __: aiohttp.TraceConnectionReuseconnParams
) -> None:
    context.trace_request_ctx["reused"] = True


class Exchange:
    """A request as it goes to the upstream, and its answer as it goes to the client."""

    def __init__(
        self, client: aiohttp.ClientSession, api: Api | None, metrics: Metrics, began: float,
        keep: Callable[[Reply], None] | None,
    ) -> None:  # fmt: skip
        self._client = client
        self._api = api
        self._name = api.name if api is not None else "other"
        self._metrics = metrics
        self._began = began
        self._keep = keep

    async def run(
        self, method: str, url: URL, headers: CIMultiDict[str], body: bytes, receive: Receive, send: Send
    ) -> None:
        """Until the client has the answer, or has hung up; what came of a reply is kept."""
        gone = asyncio.create_task(_disconnected(receive))
        passing = asyncio.create_task(self._forward(method, url, headers, body, send))
        try:
            await asyncio.wait({gone, passing}, return_when=asyncio.FIRST_COMPLETED)
            if not passing.done():  # the client has hung up: what it got is kept, the rest is not asked for
                passing.cancel()
            with suppress(asyncio.CancelledError):
                await passing
        finally:
            for task in (gone, passing):
                task.cancel()

    async def _forward(self, method: str, url: URL, headers: CIMultiDict[str], body: bytes, send: Send) -> None:
        try:
            response = await self._asked(method, url, headers, body)
        except TimeoutError:
            self._metrics.upstream_error(self._name, "timeout")
            raise _late() from None
        except aiohttp.ClientResponseError as error:
            self._metrics.upstream_error(self._name, "broken")
            told = f"the upstream's answer is no HTTP ({type(error).__name__})"
            raise Problem(502, "upstream_broken", told) from None
        except (aiohttp.ClientError, OSError) as error:
            self._metrics.upstream_error(self._name, "unreachable")
            raise Problem(
                502, "upstream_unreachable", f"the upstream cannot be reached ({type(error).__name__})"
            ) from None
        except asyncio.CancelledError:  # the client has hung up before there was an answer: nobody wants one
            self._metrics.proxied(self._name, "hung_up")
            raise
        try:
            if not 200 <= response.status < 600:  # the server could not send it on
                self._metrics.upstream_error(self._name, "broken")
                told = f"the upstream answered with {response.status}, which is no status"
                raise Problem(502, "upstream_broken", told)
            await self._pass_on(response, send)
        finally:
            response.close()  # a connection that has nothing left to say is kept, whatever this says

    async def _asked(self, method: str, url: URL, headers: CIMultiDict[str], body: bytes) -> aiohttp.ClientResponse:
        """The upstream's answer. A kept connection that it closes just now has told it nothing: then another is tried."""
        about: dict[str, Any] = {}

        async def ask() -> aiohttp.ClientResponse:
            return await self._client.request(
                method, url, headers=headers, data=body or None, allow_redirects=False, trace_request_ctx=about
            )

        try:
            return await ask()
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            if not about.pop("reused", False) or _answered(error):
                raise
        return await ask()

    async def _pass_on(self, response: aiohttp.ClientResponse, send: Send) -> None:
        headers = [(name.lower(), value) for name, value in response.raw_headers]
        kept = [(name, value) for name, value in headers if name.decode("latin-1") not in HOP]
        media = response.headers.get("content-type", "")
        reader = Reader(self._api, response.status, media, response.headers.get("content-encoding", ""))
        outcome = "ok" if response.ok else "error"
        if not response.ok:
            self._metrics.upstream_error(self._name, f"{response.status // 100}xx")
        first = True
        try:
            async for chunk in response.content.iter_any():
                if first:
                    self._metrics.first_byte(self._name, time.perf_counter() - self._began)
                    await send({"type": "http.response.start", "status": response.status, "headers": kept})
                    first = False
                try:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                finally:  # the client may have it, though it takes nothing more
                    reader.feed(chunk)
            if first:
                await send({"type": "http.response.start", "status": response.status, "headers": kept})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (aiohttp.ClientError, OSError) as error:
            outcome = "broken"
            self._metrics.upstream_error(self._name, "broken")
            if first and isinstance(error, TimeoutError):
                raise _late() from None
            if first:
                raise Problem(
                    502, "upstream_broken", f"the upstream broke off before it answered ({type(error).__name__})"
                ) from None
            # The answer stays unfinished, and the server breaks the connection, as it broke for us.
        except (asyncio.CancelledError, StalledError):
            outcome = "hung_up"
            raise
        finally:
            self._metrics.proxied(self._name, outcome)
            reply = reader.reply()
            if reply is not None and self._keep is not None:
                self._keep(reply)


def _answered(error: aiohttp.ClientError) -> bool:
    """Whether an answer had begun when the connection ended."""
    return isinstance(error, aiohttp.ServerDisconnectedError) and not isinstance(error.message, str)


def _late() -> Problem:
    return Problem(504, "upstream_timeout", "the upstream did not answer in time; try again")


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
