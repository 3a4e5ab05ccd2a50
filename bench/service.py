"""The API with much stored, and the memory of its processes under load.

First `GET /v1/memory/context` (preset engine) with 100,000 messages stored, in one chat and in many, asked by clients that
never pause on 8 connections to one process. Then minutes of steady load on two processes, one a proxy and one the API.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

from tests.provider import Provider

from bench.common import Figure, folder, percentile, report, tracked, url
from bench.processes import Lines, Served, resident, serving
from bench.proxy import LONGEST, SHORTEST, Client, turn
from bench.talk import USUAL, Talk
from infold import Memory

MESSAGES, CHATS, AT_ONCE = 100_000, 1_000, 500
CONNECTIONS = 8
SECONDS = 15
PACE = 20.0
CLIENTS = 10
LEAST_REQUESTS, MOST_TIMES = 300.0, 1.1


def store(database: str, chats: int) -> None:
    """Fill a database, the way an import would."""
    each = MESSAGES // chats
    talk = Talk(6)
    with Memory(database) as memory:
        for number in tracked(range(chats), f"{chats:,} chats of {each:,} messages", chats):
            chat = memory.chat(f"chat-{number}", preset="engine", user=f"user-{number % 100}")
            for done in range(0, each, AT_ONCE):
                chat.add(talk.messages(min(AT_ONCE, each - done)))


async def contexts(served: Served, chats: int, seconds: float) -> tuple[list[float], float, float]:
    """Milliseconds of each request, seconds in all, and seconds of processor time of the service."""
    lines, talk, chance = Lines(served.url), Talk(7), random.Random(7)
    questions = [str(talk.turn()[0]["content"])[:120] for _ in range(200)]
    spent: list[float] = []
    end = 0.0

    async def asks() -> None:
        while (began := time.perf_counter()) < end:
            wanted = {"chat_id": f"chat-{chance.randrange(chats)}", "query": chance.choice(questions)}
            status, _, answer = await lines.ask("GET", f"/v1/memory/context?{urlencode(wanted)}")
            if status != 200:
                raise RuntimeError(f"status {status}: {answer[:300]!r}")
            spent.append(1e3 * (time.perf_counter() - began))

    for _ in range(2):
        spent.clear()
        start, cpu = time.perf_counter(), served.cpu
        end = start + seconds  # the first time round every chat is opened, which is not what is asked
        await asyncio.gather(*(asks() for _ in range(CONNECTIONS)))
    lines.close()
    return spent, time.perf_counter() - start, served.cpu - cpu


def with_much_stored(work: Path) -> tuple[list[Figure], dict[str, object]]:
    figures: list[Figure] = []
    details: dict[str, object] = {}
    for chats in (1, CHATS):
        what = f"{chats:,} chats" if chats > 1 else "one chat"
        database = url(work / f"{chats}.db")
        store(database, chats)
        with serving(work, database) as served:
            load = os.getloadavg()[0]
            spent, took, cpu = asyncio.run(contexts(served, chats, SECONDS))
        figures += [
            Figure(f"contexts a second, {MESSAGES:,} messages in {what}", len(spent) / took, "", least=LEAST_REQUESTS),
            Figure(f"– p50, {what}", median(spent), "ms"),
            Figure(f"– p99, {what}", percentile(spent, 0.99), "ms"),
            Figure(f"– processor time of the service, {what}", 1e3 * cpu / len(spent), "ms"),
        ]
        details[f"contexts, {what}"] = {"requests": len(spent), "load": round(load, 2)}
    return figures, details


# Load for minutes --------------------------------------------------------------------------------------


async def paced(work: Callable[[], Awaitable[None]], end: float) -> None:
    """Do something again and again, at a pace that leaves room; where it is late, it does not catch up."""
    every = CLIENTS / PACE
    due = time.perf_counter() + random.random() * every
    while due < end:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        await work()
        due = max(due + every, time.perf_counter())


def proxied(lines: Lines, seed: int) -> Callable[[], Awaitable[None]]:
    client = Client(seed, SHORTEST, USUAL)

    async def work() -> None:
        await turn(lines, client, client.asks())

    return work


def used(lines: Lines, seed: int) -> Callable[[], Awaitable[None]]:
    """A turn over the API: a question, a context for it, the reply; after a while in another chat."""
    talk, turns = Talk(seed), count()

    async def ask(method: str, path: str, body: object = None) -> None:
        sent = json.dumps(body).encode() if body is not None else b""
        status, _, answer = await lines.ask(method, path, sent)
        if status >= 300:
            raise RuntimeError(f"{method} {path}: status {status}: {answer[:300]!r}")

    async def work() -> None:
        chat = f"{seed}-{next(turns) // (LONGEST // 2)}"
        question, reply = talk.turn()
        await ask("POST", f"/v1/chats/{chat}/messages?preset=engine", question)
        wanted = urlencode({"chat_id": chat, "query": str(question["content"])[:120]})
        await ask("GET", f"/v1/memory/context?{wanted}")
        await ask("POST", f"/v1/chats/{chat}/messages", reply)

    return work


async def loaded(proxy: Served, api: Served, minutes: float) -> dict[str, list[int]]:
    """Bytes that each process holds, second by second."""
    found: dict[str, list[int]] = {"proxy": [], "API": []}
    end = time.perf_counter() + 60 * minutes
    to_proxy, to_api = Lines(proxy.url), Lines(api.url)

    async def sample() -> None:
        for _ in tracked(_seconds(end), "load", int(60 * minutes)):
            found["proxy"].append(resident(proxy.process.pid))
            found["API"].append(resident(api.process.pid))
            await asyncio.sleep(1)

    talking = [paced(proxied(to_proxy, 9000 + at), end) for at in range(CLIENTS)]
    talking += [paced(used(to_api, 9500 + at), end) for at in range(CLIENTS)]
    await asyncio.gather(sample(), *talking)
    to_proxy.close()
    to_api.close()
    return found


def _seconds(end: float) -> Iterator[int]:
    for number in count():
        if time.perf_counter() >= end:
            return
        yield number


def under_load(work: Path, minutes: float) -> tuple[list[Figure], dict[str, object]]:
    load = os.getloadavg()[0]
    with (
        Provider() as provider,
        serving(work, url(work / "proxy.db"), "--upstream", provider.url) as proxy,
        serving(work, url(work / "api.db")) as api,
    ):
        found = asyncio.run(loaded(proxy, api, minutes))
        turns = proxy.metric("infold_proxied_requests_total")
        requests = api.metric("infold_requests_total")
    figures: list[Figure] = []
    for name, bytes in found.items():
        second, last = median(bytes[60:120]), median(bytes[-60:])
        figures += [
            Figure(f"memory of the {name}, second minute", second / 2**20, "MiB"),
            Figure(f"memory of the {name}, last minute against the second", last / second, "×", MOST_TIMES),
        ]
    details: dict[str, object] = {
        "load": {"minutes": minutes, "proxied turns": turns, "requests to the API": requests, "load": round(load, 2)},
        "MiB by minute": {
            name: [round(median(bytes[at : at + 60]) / 2**20, 1) for at in range(0, len(bytes), 60)]
            for name, bytes in found.items()
        },
    }
    return figures, details


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.service", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="of load; at least 3")
    minutes = max(3.0, parser.parse_args().minutes)
    with folder() as work:
        figures, details = with_much_stored(work)
        more, about = under_load(work, minutes)
    report("service", [*figures, *more], {**details, **about})


if __name__ == "__main__":
    main()
