"""What the proxy adds to the time to the first byte, and how many turns a second go through it.

The upstream is a real process that answers at once. Every request is sent twice, directly and through the proxy, in turn
and on a schedule that waits for no answer (open loop); a time counts from when the request was due. Clients resend their
whole chat of 20 to 60 messages and name no chat. Some chats fit into the model's window; some are folded on the way, with
questions about earlier messages as often as people ask them (bench.asking: 13 of 100 turns); and some are folded while every
second turn asks back, which is more than anybody does, and shows what such a question costs. On a machine that is shared, the
seconds in which others were given the processor are left out, and more are added in their place. Then as many turns as go through
with some clients that never pause: through one process, which uses one core, and through two of them on the same database, each with
half of the clients. What share of the two cores the host gave them stands beside it in the results.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.provider import Provider

from bench.common import Figure, console, folder, percentile, report, tracked, url
from bench.processes import Lines, Served, serving, stolen
from bench.talk import USUAL, Talk, Wire

RATE = 20  # turns a second
CHATS = 40
SHORTEST, LONGEST = 20, 60
WARM_UP = 4
SETTLING = 10
"""Seconds at the same rate before anything is counted: all chats were begun at once just before, as never happens otherwise."""
STOLEN = 0.005
"""Of a second's processor time: where the host gave more than this to others, the second is not counted."""
PATIENCE = 4
"""Times the seconds wanted, until which as many are waited for."""
MOST_MS, MOST_MS_99, LEAST_TURNS = 5.0, 20.0, 100.0
PATH = "/v1/chat/completions"
# A chat of 60 messages fits into the window that an unknown model gets; in a window of 4,000 it is folded on the way.
FOLDED = ("--context-window", "4000")
CASES: dict[str, tuple[tuple[str, ...], float, bool]] = {
    "chats that fit": ((), USUAL, True),
    "folded chats": (FOLDED, USUAL, True),
    "folded chats that keep asking": (FOLDED, 1.0, False),
}
"""Options of the service, how many messages may hold questions, and whether the limits hold for it."""


@dataclass(frozen=True, slots=True)
class Rate:
    """What a closed loop saw."""

    turns: float
    """A second."""
    given: float
    """Of the time of the processor, the share that the host did not give to others."""
    cpu: float
    """Milliseconds of processor time of the proxy a turn."""


class Client:
    """Somebody who talks, and sends the whole chat each time."""

    def __init__(self, seed: int, length: int, asks: float) -> None:
        self._talk = Talk(seed, asks)
        # Its own key at the provider: another client's chats are none of its own.
        self.headers = {"Authorization": f"Bearer client-{seed}"}
        self.messages: list[Wire] = self._talk.messages(length - 2)

    def asks(self) -> bytes:
        """The next request."""
        if len(self.messages) >= LONGEST:
            self.messages = self._talk.messages(SHORTEST - 2)
        self.messages.append(self._talk.turn()[0])
        system = {"role": "system", "content": "You are a helpful assistant. Answer in short sentences."}
        return json.dumps({"model": "echo", "stream": True, "messages": [system, *self.messages]}).encode()

    def hears(self, answer: bytes) -> None:
        """Keep the reply, as it will be sent again."""
        events = [line[6:] for line in answer.split(b"\n") if line.startswith(b"data: {")]
        deltas = [json.loads(event)["choices"][0]["delta"].get("content") or "" for event in events]
        self.messages.append({"role": "assistant", "content": "".join(deltas)})


def crowd(number: int, seed: int, asks: float) -> list[Client]:
    """Clients in the middle of chats of all lengths."""
    step = (LONGEST - SHORTEST) / number
    return [Client(seed + at, SHORTEST + 2 * int(at * step / 2), asks) for at in range(number)]


async def turn(lines: Lines, client: Client, body: bytes) -> float:
    status, first, answer = await lines.ask("POST", PATH, body, client.headers)
    if status != 200:
        raise RuntimeError(f"status {status}: {answer[:300]!r}")
    client.hears(answer)
    return first


@dataclass(slots=True)
class Times:
    """What an open loop saw."""

    direct: list[tuple[int, float]] = field(default_factory=list)
    """The second in which a request was due, and milliseconds to its first byte."""
    proxied: list[tuple[int, float]] = field(default_factory=list)
    failed: int = 0
    calm: set[int] = field(default_factory=set)
    """The seconds that count."""
    last: int = 0

    def added(self, share: float, calm: bool = True) -> float:
        """What the proxy adds at a percentile, of the seconds that count or of all."""
        return self.at(self.proxied, share, calm) - self.at(self.direct, share, calm)

    def at(self, times: Sequence[tuple[int, float]], share: float, calm: bool = True) -> float:
        """A percentile of some times, of the seconds that count or of all."""
        return percentile([ms for second, ms in times if not calm or second in self.calm], share)

    def seconds(self, wanted: int) -> Iterator[int]:
        """One second after the other, until so many count or there were too many."""
        cores = os.cpu_count() or 1
        while self.last < SETTLING + PATIENCE * wanted and len(self.calm) < wanted:
            before = stolen()
            yield self.last
            if self.last >= SETTLING and stolen() - before <= STOLEN * cores:
                self.calm.add(self.last)
            self.last += 1


async def open_loop(served: Served, provider: str, seconds: int, asks: float) -> Times:
    """Times to the first byte, directly and through the proxy."""
    clients, direct, proxied = crowd(CHATS, 100, asks), Lines(provider), Lines(served.url)
    for _ in tracked(range(WARM_UP), "warm-up", WARM_UP):
        for client in clients:
            body = client.asks()
            await direct.ask("POST", PATH, body, client.headers)
            await turn(proxied, client, body)
    times = Times()

    async def directly(client: Client, body: bytes, due: float, second: int) -> None:
        _, first, _ = await direct.ask("POST", PATH, body, client.headers)
        if second >= SETTLING:
            times.direct.append((second, 1e3 * (first - due)))

    async def proxy(client: Client, body: bytes, due: float, second: int) -> None:
        try:
            first = await turn(proxied, client, body)
            if second >= SETTLING:
                times.proxied.append((second, 1e3 * (first - due)))
        except RuntimeError as error:  # counted and told: one must not cost the run
            console.print(f"a proxied request failed: {error}")
            client.messages.pop()
            times.failed += 1

    start, running = time.perf_counter() + 0.1, []
    for second in tracked(times.seconds(seconds), "open loop", SETTLING + seconds):
        for at in range(second * RATE, (second + 1) * RATE):
            client = clients[at % CHATS]
            body = client.asks()
            for half, send in enumerate((directly, proxy) if at % 2 else (proxy, directly)):
                due = start + (at + half / 2) / RATE
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                running.append(asyncio.create_task(send(client, body, due, second)))
    await asyncio.gather(*running)
    direct.close()
    proxied.close()
    if not times.calm:
        sys.exit("bench.proxy: others took the processor in every second; nothing can be told of the proxy now")
    return times


async def closed_loop(served: Sequence[Served], clients: int, seconds: float, seed: int, asks: float) -> Rate:
    """As many turns as go through."""
    lines, done = [Lines(one.url) for one in served], 0
    end = 0.0

    async def talk(number: int, client: Client) -> None:
        nonlocal done
        while time.perf_counter() < end:
            await turn(lines[number % len(lines)], client, client.asks())
            done += 1

    def cpu() -> float:
        return sum(one.cpu for one in served)

    everybody = crowd(clients, seed, asks)
    for warm in (True, False):
        start, spent, taken, done = time.perf_counter(), cpu(), stolen(), 0
        end = start + (2 if warm else seconds)
        await asyncio.gather(*(talk(number, client) for number, client in enumerate(everybody)))
    took = time.perf_counter() - start
    for line in lines:
        line.close()
    given = 1 - (stolen() - taken) / (took * (os.cpu_count() or 1))
    return Rate(done / took, given, 1e3 * (cpu() - spent) / done)


def run(work: Path, seconds: int, clients: int) -> None:
    figures: list[Figure] = []
    details: dict[str, object] = {}
    for what, (options, asks, limited) in CASES.items():
        with Provider() as provider:
            start = partial(serving, work, url(work / f"{what}.db"), "--upstream", provider.url, *options)
            with start() as on:
                load = os.getloadavg()[0]
                times = asyncio.run(open_loop(on, provider.root, seconds, asks))
                busy = os.getloadavg()[0]
                one = asyncio.run(closed_loop([on], clients, seconds / 2, 5000, asks))
                with start() as other:
                    two = asyncio.run(closed_loop([on, other], clients, seconds / 2, 6000, asks))
                    failures = sum(each.metric("infold_memory_failures_total") for each in (on, other))
                    folds = sum(each.metric("infold_folds_total") for each in (on, other))
        figures += [
            Figure(f"{what}: first byte directly, p50", times.at(times.direct, 0.5), "ms"),
            Figure(f"{what}: first byte directly, p99", times.at(times.direct, 0.99), "ms"),
            Figure(f"{what}: added by the proxy, p50", times.added(0.5), "ms", MOST_MS if limited else None),
            Figure(f"{what}: added by the proxy, p99", times.added(0.99), "ms", MOST_MS_99 if limited else None),
            Figure(f"{what}: the same in all seconds, p50", times.added(0.5, calm=False), "ms"),
            Figure(f"{what}: the same in all seconds, p99", times.added(0.99, calm=False), "ms"),
            Figure(f"{what}: turns a second, {clients} clients, one process", one.turns, ""),
            Figure(
                f"{what}: turns a second, {clients} clients, two processes",
                two.turns,
                "",
                least=LEAST_TURNS if limited else None,
            ),
            Figure(f"{what}: processor time of the proxy a turn", one.cpu, "ms"),
            Figure(f"{what}: requests that went without memory", failures, "", 0),
            Figure(f"{what}: requests that failed", times.failed, "", 0),
        ]
        details[what] = {
            "seconds of the open loop": times.last - SETTLING,
            "of these, counted": len(times.calm),
            "load before it": round(load, 2),
            "load before the closed loop": round(busy, 2),
            "share of the processor given to it": [round(one.given, 3), round(two.given, 3)],
            "folds": folds,
        }
    report("proxy", figures, details)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.proxy", description=__doc__)
    parser.add_argument("--seconds", type=int, default=40, help="of each open loop; half of it for each closed one")
    parser.add_argument("--clients", type=int, default=8, help="of the closed loop")
    given = parser.parse_args()
    with folder() as work:
        run(work, given.seconds, given.clients)


if __name__ == "__main__":
    main()
