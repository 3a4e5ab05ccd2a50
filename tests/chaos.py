"""The service under fire: API processes and workers are killed and the database crashes while clients go on talking.

`make soak`, or `python -m tests.chaos --turns 2000`. What clients know to be stored is compared with the ledger at the end.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from infold import Memory
from infold.ledger import fold_rows, jobs, store
from tests.fleet import Api, Process, command
from tests.postgres import Server
from tests.provider import Provider
from tests.upstream import Upstream, step

PATIENCE = 120.0  # seconds that a client tries, and that workers have at the end
CITIES = ("Bergen", "Lisbon", "Osaka", "Quito", "Tunis", "Vienna", "Windhoek", "Zagreb")
Wire = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of everything."""

    turns: int = 200
    chats: int = 20
    seconds: float = 18.0
    """How long the clients take for it, if nothing goes wrong."""
    apis: int = 3
    workers: int = 3
    kill_every: float = 3.0
    crashes: int = 1
    blackouts: int = 1
    """How often all API processes are down at once, for a moment."""
    seed: int = 1


@dataclass(slots=True)
class Report:
    """What happened, and what is wrong with what is left of it."""

    plan: Plan
    turns: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    crashes: int = 0
    blackouts: int = 0
    exits: list[str] = field(default_factory=list)
    """Processes that ended although nobody killed them."""
    errors: Counter[str] = field(default_factory=Counter)
    """What clients saw, and answered by asking again."""
    times: list[float] = field(default_factory=list)
    seconds: float = 0.0
    drained: float = 0.0
    """Seconds from the last reply until nothing was due."""
    without: int = 0
    """Requests that the proxy forwarded without memory."""
    folds: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    wrong: list[str] = field(default_factory=list)

    def table(self) -> str:
        def of(share: float) -> str:
            found = statistics.quantiles(self.times, n=1000, method="inclusive")[int(share * 1000) - 1]
            return f"{1000 * found:,.0f} ms"

        def counted(counts: Counter[str]) -> str:
            return ", ".join(f"{count} {what}" for what, count in counts.most_common()) or "none"

        rows = {
            "turns": f"{self.turns} in {self.plan.chats} chats, {self.seconds:.0f} s",
            "messages": f"{self.messages}",
            "killed": counted(self.kills),
            "database crashes": f"{self.crashes}",
            "all servers down": f"{self.blackouts} times",
            "ended by themselves": ", ".join(self.exits) or "none",
            "errors that clients saw": counted(self.errors),
            "without memory": f"{self.without} requests",
            "a turn takes": f"{of(0.5)} (p50), {of(0.99)} (p99), {1000 * max(self.times):,.0f} ms at most",
            "folds in force": counted(self.folds),
            "all done after": f"{self.drained:.1f} s",
            "wrong": f"{len(self.wrong)}",
        }
        return "\n".join(f"{name:<24} {value}" for name, value in rows.items()) + "".join(
            f"\n  {what}" for what in self.wrong
        )


# Those who talk ----------------------------------------------------------------------------------------


class Client:
    """Somebody who talks in one chat, and asks another process when one fails."""

    def __init__(self, id: str, apis: list[Api], report: Report, seed: int) -> None:
        self.id = id
        self.history: list[Wire] = []
        """What was said, as far as the client knows: all of it must be in the ledger."""
        self._apis = apis
        self._report = report
        self._random = random.Random(seed)
        self._http = httpx2.Client(timeout=60)

    def turn(self, number: int) -> None:
        raise NotImplementedError

    def question(self, number: int) -> str:
        place, days = self._random.choice(CITIES), self._random.randrange(2, 60)
        return (
            f"Order {self.id}-{number} goes to {place} and must arrive within {days} days. "
            f"The customer pays {number * 7 + days} euros for it. What is next?"
        )

    def insist(self, what: str, ask: Callable[[str], Any]) -> Any:
        """Ask one process after the other until one answers."""
        end, wait = time.monotonic() + PATIENCE, 0.05
        while True:
            try:
                return ask(self._random.choice(self._apis).url)
            except httpx2.TransportError as error:
                told = type(error).__name__
            except _AgainError as error:
                told = str(error)
            self._report.errors[told] += 1
            if time.monotonic() > end:
                raise AssertionError(f"{self.id}: {what} was never answered ({told})")
            time.sleep(wait * (0.5 + self._random.random()))
            wait = min(1.0, 2 * wait)

    def _checked(self, response: httpx2.Response) -> httpx2.Response:
        """An answer that is one; errors that may pass raise, others are found at the end."""
        if response.status_code < 400:
            return response
        response.read()
        code = response.json().get("code", "") if "json" in response.headers.get("content-type", "") else ""
        told = f"{response.status_code} {code}".strip()
        if response.status_code < 500 and code != "in_progress":
            raise AssertionError(f"{self.id}: {told}: {response.text[:300]}")
        raise _AgainError(told)

    def close(self) -> None:
        self._http.close()


class _AgainError(Exception):
    """An answer that is worth asking again."""


class Proxied(Client):
    """Talks through the proxy and sends the whole chat each time, as clients of providers do."""

    def turn(self, number: int) -> None:
        self.history.append({"role": "user", "content": self.question(number)})
        streamed = self._random.random() < 0.5
        reply = self.insist(f"turn {number}", lambda url: self._ask(url, streamed))
        self.history.append({"role": "assistant", "content": reply})

    def _ask(self, url: str, streamed: bool) -> str:
        body = {"model": "slow-0.005" if streamed else "echo", "messages": self.history, "stream": streamed}
        headers = {"X-Infold-Chat": self.id}
        with self._http.stream("POST", f"{url}/v1/chat/completions", json=body, headers=headers) as response:
            self._checked(response)
            if not streamed:
                response.read()
                return str(response.json()["choices"][0]["message"]["content"])
            said = ""
            for line in response.iter_lines():
                if line == "data: [DONE]":
                    return said
                if line.startswith("data: "):
                    said += json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
        raise _AgainError("a stream without an end")


class Caller(Client):
    """Uses the API: adds messages under ids of its own, and reads the context."""

    def turn(self, number: int) -> None:
        self._add(f"{number}-q", {"role": "user", "content": self.question(number)})
        context = self.insist(f"context {number}", self._context)
        self._add(f"{number}-a", {"role": "assistant", "content": f"Noted {number}, with {context} tokens in mind."})

    def _add(self, id: str, message: Wire) -> None:
        headers = {"Idempotency-Key": f"{self.id}-{id}"}

        def ask(url: str) -> None:
            path = f"{url}/v1/chats/{self.id}/messages"
            answer = self._checked(self._http.post(path, json={"id": id, **message}, headers=headers))
            assert [one["id"] for one in answer.json()["items"]] == [id], answer.text

        self.history.append({"id": id, **message})
        self.insist(id, ask)

    def _context(self, url: str) -> int:
        asked = {"chat_id": self.id, "query": "What is next?", "max_tokens": "600"}
        answer = self._checked(self._http.get(f"{url}/v1/memory/context", params=asked))
        used = int(answer.json()["budget"]["estimated_used"])
        assert used <= 600, answer.text
        return used


# Those who are shot at ---------------------------------------------------------------------------------


class Gunman(threading.Thread):
    """Kills a process every few seconds and has it started again; crashes the database in between."""

    def __init__(self, plan: Plan, fleet: list[Process], server: Server, report: Report) -> None:
        super().__init__(name="gunman")
        self._plan = plan
        self._fleet = fleet
        self._apis = [process for process in fleet if isinstance(process, Api)]
        self._server = server
        self._report = report
        self._random = random.Random(plan.seed)
        self._over = threading.Event()

    def run(self) -> None:
        plan = self._plan
        began = shot = time.monotonic()
        while not self._over.wait(0.25):
            self.revive()
            passed = time.monotonic() - began
            if self._report.crashes < plan.crashes * min(1.0, passed / plan.seconds) - 0.5:
                self._server.crash()
                self._report.crashes += 1
            if self._report.blackouts < plan.blackouts * min(1.0, passed / plan.seconds) - 0.25:
                self.darken()
            # On a slow machine processes need longer to start: somebody must be left to talk to.
            if time.monotonic() > shot + plan.kill_every and sum(api.ready for api in self._apis) > 1:
                shot = time.monotonic()
                target = self._random.choice(self._fleet)
                target.kill()
                self._report.kills[target.name.rstrip("0123456789")] += 1
                target.start()

    def darken(self) -> None:
        """Nobody is there to talk to, until some server has started again."""
        for api in self._apis:
            api.kill()
        self._report.kills["api"] += len(self._apis)
        self._report.blackouts += 1
        self._over.wait(0.5)
        for api in self._apis:
            api.start()

    def revive(self) -> None:
        """Start again what ended by itself, as any supervisor of services does."""
        for process in self._fleet:
            if not process.running:
                self._report.exits.append(process.name)
                process.start()

    def end(self) -> None:
        self._over.set()
        self.join()
        self.revive()


# The whole ---------------------------------------------------------------------------------------------


def run(plan: Plan, server: Server, folder: Path) -> Report:
    """Let it happen, and look at what is left."""
    report = Report(plan)
    with server.database() as url, Provider() as provider, Upstream() as summarizer:
        summarizer.script([step("good:slow", seconds=0.3, forever=True)])
        model = f"{summarizer.url}#gpt-test"
        common = ("--database", url, "--model", model, "--log-format", "text")
        settings = (*common, "--workers", "0", "--upstream", provider.url, "--preset", "rolling")
        apis = [Api(f"api{n}", folder, *settings, "--context-window", "3000") for n in range(plan.apis)]
        workers = [command(f"worker{n}", folder, "worker", *common) for n in range(plan.workers)]
        fleet: list[Process] = [*apis, *workers]
        clients: list[Client] = [
            (Caller if n % 3 == 2 else Proxied)(f"c{n}", apis, report, plan.seed * 1000 + n) for n in range(plan.chats)
        ]
        try:
            for process in fleet:
                process.start()
            for api in apis:
                api.wait()
            _talk(plan, clients, Gunman(plan, fleet, server, report), report)
            for api in apis:
                api.wait()
            for client in clients:  # brings along a reply whose process was killed before it was kept
                client.turn(0)
            with Memory(url, model=model, create=False) as memory:
                report.drained = _drain(memory, clients)
                _check(memory, clients, report)
            with ThreadPoolExecutor(len(fleet)) as threads:
                for process, code in zip(fleet, threads.map(Process.stop, fleet), strict=True):
                    if code:
                        report.wrong.append(f"{process.name} ended with {code} when told to end")
            report.without = sum(api.said().count("goes without memory") for api in apis)
        finally:
            for process in fleet:
                process.kill()
            for client in clients:
                client.close()
    return report


def _talk(plan: Plan, clients: list[Client], gunman: Gunman, report: Report) -> None:
    turns = [plan.turns // plan.chats + (n < plan.turns % plan.chats) for n in range(plan.chats)]
    began = time.monotonic()

    def talk(client: Client, count: int) -> None:
        for number in range(1, count + 1):
            at = began + plan.seconds * (number - client._random.random()) / count
            time.sleep(max(0.0, at - time.monotonic()))  # the load is spread over the whole time
            start = time.perf_counter()
            client.turn(number)
            report.times.append(time.perf_counter() - start)
            report.turns += 1

    gunman.start()
    try:
        with ThreadPoolExecutor(len(clients)) as threads:
            for done in [threads.submit(talk, *pair) for pair in zip(clients, turns, strict=True)]:
                done.result()
    finally:
        gunman.end()
    report.seconds = time.monotonic() - began


def _drain(memory: Memory, clients: list[Client]) -> float:
    """Seconds until every reply is stored and workers have left nothing to do."""
    began, known = time.monotonic(), {client.id: len(client.history) for client in clients}
    while True:
        with memory.database.read() as connection:
            due = jobs.due(connection, models=memory.written)
        short = [chat.id for chat in memory.chats() if chat.messages < known.get(chat.id, 0)]
        passed = time.monotonic() - began
        if not due and not short:
            return passed
        assert passed < PATIENCE, f"still due: {due}; still short: {short}"
        time.sleep(0.2)


def _check(memory: Memory, clients: list[Client], report: Report) -> None:
    """Nothing lost, nothing twice, everything in order, every message folded at most once."""
    proof = memory.verify()
    report.messages = proof.messages
    report.wrong += [f"{problem.chat}: {problem.what}" for problem in proof.problems]
    known = {client.id for client in clients}
    for other in memory.chats():
        if other.id not in known:
            branch = memory.find(other.id)
            assert branch is not None
            told = [(event.created_at, event.data) for event in branch.events()]
            report.wrong.append(f"there is a chat {other.id!r} with {other.messages} messages: {told}")
    for client in clients:
        chat = memory.find(client.id)
        if chat is None:
            report.wrong.append(f"{client.id} is lost")
            continue
        with chat.reading() as (connection, state):
            stored = store.messages_between(connection, chat.key, 1, state.row.last_seq)
            folds = [fold for fold in fold_rows.all_folds(connection, chat.key) if fold.superseded_by is None]
            cursor = state.row.cursor
        report.wrong += [f"{client.id}: {what}" for what in _differences(client, stored)]
        covered = Counter(
            seq
            for fold in folds
            if fold.kind == "base" and fold.first_seq and fold.last_seq
            for seq in range(fold.first_seq, fold.last_seq + 1)
        )
        if covered != Counter(range(1, cursor + 1)):
            report.wrong.append(f"{client.id}: up to {cursor} the folds cover {dict(covered)}")
        report.folds.update(fold.author for fold in folds)
        told = [event.data["fold"] for event in chat.events() if event.type == "summarization"]
        if len(told) != len(set(told)):
            report.wrong.append(f"{client.id}: a fold was told twice: {told}")


def _differences(client: Client, stored: list[Any]) -> list[str]:
    """What the ledger has otherwise than the client."""
    ours = [(message["role"], message["content"]) for message in client.history]
    theirs = [(message.role, message.content) for message in stored]
    found = [f"{client.history[at]} is lost" for at, said in enumerate(ours) if said not in theirs]
    found += [f"{said} is there {times} times" for said, times in Counter(theirs).items() if times > ours.count(said)]
    if not found and ours != theirs:
        found.append("the order is another")
    ids = [message["id"] for message in client.history if "id" in message]
    if ids and ids != [message.id for message in stored]:
        found.append("the ids are others")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Kill processes of the service while clients talk, and count what is lost."
    )
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--chats", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=300.0, help="how long the clients take, if nothing goes wrong")
    parser.add_argument("--crashes", type=int, default=3, help="of the database")
    parser.add_argument("--blackouts", type=int, default=3, help="moments without any API process")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="infold-chaos-")
    server = Server()
    try:
        report = run(Plan(**vars(given)), server, Path(folder))
    finally:
        server.stop()
    print(f"seed {given.seed}, logs in {folder}\n{report.table()}")  # noqa: T201
    sys.exit(bool(report.wrong))


if __name__ == "__main__":
    main()
