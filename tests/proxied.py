"""The proxy between real clients and a provider: each a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import httpx2
from anthropic import Anthropic
from openai import OpenAI

from tests.provider import Provider, said
from tests.servers import Running, start_server

T = TypeVar("T")
Wire = dict[str, Any]
KEY = "sk-of-the-client"
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"


def eventually(look: Callable[[], T], good: Callable[[T], bool], seconds: float = 90) -> T:
    """What is seen when it is good; a reply is kept after the client has it, so one has to look again."""
    deadline = time.monotonic() + seconds
    while not good(seen := look()):
        assert time.monotonic() < deadline, f"still {seen!r} after {seconds:g} s"
        time.sleep(0.02)
    return seen


@dataclass(frozen=True, slots=True)
class Proxied:
    """A provider, a service in front of it, and a look into its ledger."""

    provider: Provider
    server: Running
    api: httpx2.Client
    root: str
    """Where requests go."""

    @property
    def direct(self) -> Proxied:
        """The same without the proxy, to compare with."""
        return replace(self, root=self.provider.root)

    def openai(self, key: str = KEY, **headers: str) -> OpenAI:
        """An OpenAI client; header names with _ for -."""
        return OpenAI(base_url=f"{self.root}/v1", api_key=key, max_retries=0, default_headers=named(headers))

    def anthropic(self, key: str = KEY, **headers: str) -> Anthropic:
        return Anthropic(base_url=self.root, api_key=key, max_retries=0, default_headers=named(headers))

    def post(self, path: str, body: Any, **headers: str) -> httpx2.Response:
        """A plain request: bytes as they are, all else as JSON."""
        url = self.root + path
        given: Wire = {"content": body} if isinstance(body, bytes) else {"json": body}
        return httpx2.post(
            url, headers={"authorization": f"Bearer {KEY}", "content-type": "application/json", **named(headers)},
            timeout=30, **given,
        )  # fmt: skip

    def chats(self) -> list[str]:
        """The ids of all chats."""
        return [row["id"] for row in self._all("/v1/chats")]

    def messages(self, chat: str) -> list[Wire]:
        """The messages of a chat, as they were added."""
        return [row["message"] for row in self._all(f"/v1/chats/{quote(chat, safe='')}/messages")]

    def events(self, chat: str) -> list[str]:
        """What happened to a chat."""
        return [row["type"] for row in self._all(f"/v1/chats/{quote(chat, safe='')}/events")]

    def folded(self, chat: str) -> int:
        """How many messages of a chat memory covers."""
        return int(self.api.get(f"/v1/chats/{quote(chat, safe='')}").json()["folded"])

    def kept(self, chat: str, number: int) -> list[tuple[str, str]]:
        """Who said what in a chat, when it has so many messages."""
        eventually(lambda: len(self.messages(chat)) if chat in self.chats() else 0, lambda found: found >= number)
        found = self.messages(chat)
        assert len(found) == number, found
        return spoken(found)

    def only_new(self, before: list[str], number: int) -> str:
        """The one chat that is new, when it has so many messages."""
        (chat,) = eventually(lambda: [id for id in self.chats() if id not in before], lambda found: len(found) > 0)
        self.kept(chat, number)
        return chat

    def last_sent(self) -> Wire:
        """The last request that the provider got."""
        return self.provider.requests()[-1]

    def sound(self) -> None:
        """Nothing is lost, nothing is changed, nothing is covered twice."""
        proof = self.api.get("/v1/verify").json()
        assert proof["ok"], proof

    def metric(self, name: str) -> float:
        """The sum of a metric over its labels."""
        lines = self.api.get("/metrics").text.splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))

    def _all(self, path: str) -> list[Wire]:
        found: list[Wire] = []
        cursor: str | None = None
        while True:
            page = self.api.get(path, params={"limit": "1000", **({"cursor": cursor} if cursor else {})}).json()
            found += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return found


def named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def spoken(messages: list[Wire]) -> list[tuple[str, str]]:
    """Who said what, whatever the format."""
    return [(one.get("role") or one["type"], said(one.get("content")) or one.get("output", "")) for one in messages]


@contextmanager
def start_proxied(
    folder: Path, key: str | None = None, *, instead: Mapping[str, float] | None = None, **settings: Any
) -> Iterator[Proxied]:
    """A provider and a service before it; `key` opens the service's own API. `instead` has other values for constants."""
    with Provider() as provider:
        settings.setdefault("upstream", provider.url)
        with start_server(folder, instead=instead, **settings) as server, server.client(key) as api:
            yield Proxied(provider, server, api, server.url)
