"""Memory that fails: a database that is locked, hangs or is away. The request goes through, and nothing is lost."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import psycopg

from infold import Memory
from infold.service.keys import create_key
from tests.postgres import server
from tests.proxied import CHAT, Proxied, Wire, eventually, start_proxied
from tests.servers import SOON, problem
from tests.test_proxy_faults import body, user

FRESH = SOON["infold.service.keys:FRESH"] + 0.1


def test_a_database_that_is_locked(tmp_path: Path) -> None:
    with start_proxied(tmp_path, instead=SOON, memory_timeout=1, context_window=2000) as proxied:
        history: list[Wire] = []

        def ask(number: int) -> float:
            history.append(user(f"Question {number}: " + f"thing{number} " * 60))
            began = time.monotonic()
            answer = proxied.post(CHAT, body(CHAT, *history), X_Infold_Chat="locked")
            assert answer.status_code == 200
            history.append({"role": "assistant", "content": answer.json()["choices"][0]["message"]["content"]})
            return time.monotonic() - began

        for number in range(10):
            ask(number)
        proxied.kept("locked", 20)
        ask(10)
        proxied.kept("locked", 22)
        shown = len(proxied.last_sent()["body"]["messages"])
        assert shown < 21
        lock = sqlite3.connect(tmp_path / "service.db", isolation_level=None)
        try:
            lock.execute("BEGIN EXCLUSIVE")
            failed = proxied.metric("infold_memory_failures_total")
            for number in range(11, 14):
                assert ask(number) < 10  # a writer waits for 30 s
                assert proxied.last_sent()["body"]["messages"] == history[:-1]  # the client's own
        finally:
            lock.execute("ROLLBACK")
            lock.close()
        assert proxied.metric("infold_memory_failures_total") == failed + 3
        eventually(lambda: proxied.api.get("/v1/chats").status_code, lambda status: status == 200)
        eventually(lambda: proxied.events("locked"), lambda events: "memory_failed" in events)
        ask(14)
        assert len(proxied.last_sent()["body"]["messages"]) < 25
        found = proxied.kept("locked", 30)
        assert found == [(one["role"], one["content"]) for one in history]
        assert proxied.chats() == ["locked"]
        proxied.sound()
        assert "without memory" in proxied.server.log.read_text()


def test_F9_chats_without_a_name_and_new_ones_are_told_of_it_too(tmp_path: Path) -> None:
    with start_proxied(tmp_path, instead=SOON, memory_timeout=1) as proxied:

        def ask(history: list[Wire], said: str, **headers: str) -> None:
            history.append(user(said))
            answer = proxied.post(CHAT, body(CHAT, *history), **headers)
            assert answer.status_code == 200
            history.append({"role": "assistant", "content": answer.json()["choices"][0]["message"]["content"]})

        known: list[Wire] = []
        ask(known, "I have no name")
        known_id = proxied.only_new([], 2)
        new: list[Wire] = []
        named: list[Wire] = []
        with closing(sqlite3.connect(tmp_path / "service.db", isolation_level=None)) as lock:
            lock.execute("BEGIN EXCLUSIVE")
            ask(known, "Still here")
            ask(new, "I am new")
            ask(named, "I am new, too", X_Infold_Chat="named")
            lock.execute("ROLLBACK")
        eventually(lambda: proxied.api.get("/v1/chats").status_code, lambda status: status == 200)
        eventually(lambda: proxied.events(known_id), lambda events: "memory_failed" in events)
        ask(new, "And I go on")
        new_id = proxied.only_new([known_id, "named"], 4)
        ask(named, "So do I", X_Infold_Chat="named")
        for chat in (new_id, "named"):
            eventually(lambda chat=chat: proxied.events(chat), lambda events: events.count("memory_failed") == 1)  # type: ignore[misc]
        ask(known, "So do I")
        assert proxied.kept(known_id, 6) == [(one["role"], one["content"]) for one in known]
        assert proxied.events(known_id).count("memory_failed") == 1
        proxied.sound()


def test_many_requests_while_the_database_is_locked(tmp_path: Path) -> None:
    """More than there are threads for the memory: none waits for another."""
    with start_proxied(tmp_path, instead=SOON, memory_timeout=1) as proxied:

        def before() -> bool:  # on a busy machine the first request may be too late for memory
            proxied.post(CHAT, body(CHAT, user("Before")), X_Infold_Chat="before")
            return "before" in proxied.chats()

        eventually(before, bool)
        lock = sqlite3.connect(tmp_path / "service.db", isolation_level=None)

        async def crowd() -> list[float]:
            async with httpx2.AsyncClient(base_url=proxied.server.url, timeout=60) as client:

                async def ask(number: int) -> float:
                    began = time.monotonic()
                    answer = await client.post(
                        CHAT, json=body(CHAT, user(f"{number}")), headers={"X-Infold-Chat": f"crowd {number}"}
                    )
                    assert answer.status_code == 200
                    return time.monotonic() - began

                first = await asyncio.gather(*(ask(number) for number in range(20)))
                await asyncio.sleep(FRESH)  # until what is known of keys has to be looked up again
                return first + await asyncio.gather(*(ask(number) for number in range(20, 40)))

        try:
            lock.execute("BEGIN EXCLUSIVE")
            assert max(asyncio.run(crowd())) < 15  # a writer waits for 30 s
        finally:
            lock.execute("ROLLBACK")
            lock.close()

        def after() -> bool:
            answer = proxied.post(CHAT, body(CHAT, user("0"), user("After")), X_Infold_Chat="crowd 0")
            assert answer.status_code == 200
            found = proxied.api.get("/v1/chats")  # an error while it is still left alone
            there = found.status_code == 200 and "crowd 0" in proxied.chats()
            return there and len(proxied.messages("crowd 0")) >= 2  # else it went without memory once more

        eventually(after, bool)  # when it is tried again
        proxied.kept("crowd 0", 3)
        proxied.sound()


def test_a_database_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    with server().database() as url:
        with Memory(url) as memory:
            key = create_key(memory, "acme", "admin")[0]
        with start_proxied(tmp_path, key, instead=SOON, database=url, memory_timeout=1) as proxied:
            history: list[Wire] = []

            def ask(text: str) -> bool:
                """Whether it went with memory."""
                history.append(user(text))
                before = proxied.metric("infold_memory_failures_total")
                answer = proxied.post(CHAT, body(CHAT, *history), X_Infold_Chat="away", X_Infold_Key=key)
                assert answer.status_code == 200, answer.text
                history.append({"role": "assistant", "content": answer.json()["choices"][0]["message"]["content"]})
                return proxied.metric("infold_memory_failures_total") == before

            eventually(lambda: ask(f"Before {len(history)}"), bool)  # the first one may take long on a busy machine
            proxied.kept("away", len(history))
            with server().away():
                assert not ask("Meanwhile")
                time.sleep(FRESH)  # what is known of the key has to be looked up again, and cannot
                assert not ask("Meanwhile, too")
                assert proxied.post(CHAT, body(CHAT, user("x")), X_Infold_Key="ink_nobody").status_code == 503
            eventually(lambda: ask(f"After {len(history)}"), bool)
            assert proxied.kept("away", len(history)) == [(one["role"], one["content"]) for one in history]
            assert proxied.chats() == ["away"]
            proxied.sound()


def test_a_database_that_hangs(tmp_path: Path) -> None:
    """It takes connections and answers nobody: after some requests nobody waits for it, until it answers again."""
    patience, pause = 2, 3.0
    patient: dict[str, Any] = {"memory_timeout": patience, "api_timeout": patience}
    known = {**SOON, "infold.service.breaker:PAUSE": pause}
    with server().database() as url, start_proxied(tmp_path, instead=known, database=url, **patient) as proxied:
        chats = [f"hang {number}" for number in range(12)]
        said: dict[str, list[Wire]] = {chat: [] for chat in chats}

        async def all_ask(text: str) -> float:
            """Each asks in its own chat, all at once; the time that the slowest took."""
            async with httpx2.AsyncClient(base_url=proxied.server.url, timeout=60) as client:

                async def ask(chat: str) -> float:
                    said[chat].append(user(text))
                    began = time.monotonic()
                    answer = await client.post(CHAT, json=body(CHAT, *said[chat]), headers={"X-Infold-Chat": chat})
                    assert answer.status_code == 200, answer.text
                    said[chat].append(answer.json()["choices"][0]["message"])
                    return time.monotonic() - began

                return max(await asyncio.gather(*map(ask, chats)))

        def waited(text: str) -> bool:
            """Whether somebody waited for memory as long as one may."""
            return asyncio.run(all_ask(text)) >= patience

        def failures() -> float:
            return proxied.metric("infold_memory_failures_total")

        def complete() -> bool:
            """Whether all of them ask with memory."""
            before = failures()
            asyncio.run(all_ask("With memory"))
            return failures() == before

        eventually(complete, bool, 60)
        before = failures()
        with server().hanging():
            assert waited("Meanwhile")  # nothing is known yet
            assert [waited(f"Meanwhile {number}") for number in range(3)] == [False] * 3
            time.sleep(pause)  # who is asking has to be looked up again, and cannot
            assert not all([waited("Still"), waited("Still the same")])  # one of them tries
            problem(proxied.api.get("/readyz"), 503, "not_ready")
            for answer in (
                proxied.api.get("/v1/chats/hang%200/messages"),
                proxied.api.post("/v1/chats/new/messages", json=[user("Lost?")], headers={"Idempotency-Key": "k"}),
            ):
                problem(answer, 503, "database_busy")
                assert answer.headers["Retry-After"] == "1"
            assert failures() == before + 6 * len(chats)
        eventually(complete, bool, 60)
        for chat in chats:
            assert proxied.kept(chat, len(said[chat])) == [(one["role"], one["content"]) for one in said[chat]]
            eventually(partial(proxied.events, chat), lambda events: "memory_failed" in events)
        assert sorted(proxied.chats()) == sorted(chats)
        proxied.sound()


def test_E5_without_the_database_the_api_answers_at_once(tmp_path: Path) -> None:
    quick = {**SOON, "infold.ledger.postgres:CONNECT_TIMEOUT": 2, "infold.ledger.postgres:_RETRY": 1.0}
    with server().database() as url, start_proxied(tmp_path, instead=quick, database=url) as proxied:
        assert proxied.api.post("/v1/chats/a/messages", json=user("Hello")).status_code == 201

        async def crowd() -> list[httpx2.Response]:
            async with httpx2.AsyncClient(base_url=proxied.server.url, timeout=60) as client:
                return await asyncio.gather(*(client.get("/v1/chats/a") for _ in range(3)))

        with server().away():
            for answer in asyncio.run(crowd()):  # nothing is known yet
                problem(answer, 503, "database_busy")
            began = time.monotonic()
            for number in range(12):  # at most one of them tries
                path = ("/v1/chats/a", "/v1/chats", "/v1/chats/a/messages")[number % 3]
                answer = proxied.api.post("/v1/chats/a/messages", json=user("x"), headers={"Idempotency-Key": "k"})
                for one in (answer, proxied.api.get(path)):
                    problem(one, 503, "database_busy")
                    assert one.headers["Retry-After"] == "1"
            assert time.monotonic() - began < 20
        # However long it was away, it is tried again soon.
        eventually(lambda: proxied.api.get("/readyz").status_code, lambda status: status == 200, 9)
        eventually(lambda: proxied.api.get("/v1/chats/a").status_code, lambda status: status == 200, 9)
        assert proxied.api.get("/v1/chats/a").json()["messages"] == 1


def test_a_chat_that_is_locked_keeps_no_other_waiting(tmp_path: Path) -> None:
    """Somebody else writes to it, and takes very long: more requests for it come than there are threads. Another tenant has
    a chat of the same name."""
    with server().database() as url:
        with Memory(url) as memory:
            keys = {tenant: create_key(memory, tenant, "admin")[0] for tenant in ("acme", "globex")}
        with start_proxied(tmp_path, keys["acme"], database=url, memory_timeout=3) as proxied:
            tell_beside_a_locked_chat(proxied, url, keys)


def tell_beside_a_locked_chat(proxied: Proxied, url: str, keys: dict[str, str]) -> None:
    acme, globex = keys.values()

    def tell(chat: str, text: str, key: str = acme) -> None:
        answer = proxied.post(CHAT, body(CHAT, user(text)), X_Infold_Chat=chat, X_Infold_Key=key)
        assert answer.status_code == 200

    tell("locked", "Before")
    tell("other", "Before")
    tell("locked", "Before", globex)
    for chat in ("locked", "other"):
        proxied.kept(chat, 2)

    async def crowd() -> list[httpx2.Response]:
        async with httpx2.AsyncClient(base_url=proxied.server.url, timeout=60) as client:

            async def ask(chat: str, text: str, key: str = acme) -> httpx2.Response:
                headers = {"X-Infold-Chat": chat, "X-Infold-Key": key}
                return await client.post(CHAT, json=body(CHAT, user(text)), headers=headers)

            async with asyncio.TaskGroup() as group:
                waiting = [group.create_task(ask("locked", f"Meanwhile {number}")) for number in range(16)]
                await asyncio.to_thread(eventually, partial(server().waiting, url), lambda found: found > 0)
                answers = [await ask("other", f"Aside {number}") for number in range(3)]
                answers.append(await ask("locked", "Elsewhere", globex))
                assert not any(task.done() for task in waiting)
            return [*answers, *(task.result() for task in waiting)]

    with psycopg.connect(url) as lock:
        lock.execute("SELECT * FROM infold.chats WHERE id = 'locked' AND tenant = 'acme' FOR UPDATE")
        assert {answer.status_code for answer in asyncio.run(crowd())} == {200}
        assert proxied.metric("infold_memory_failures_total") == 16
        assert [text for who, text in proxied.kept("other", 8) if who == "user"][1:] == [
            f"Aside {number}" for number in range(3)
        ]
        # Nor does anybody wait a second time.
        began = time.monotonic()
        tell("locked", "Again")
        assert time.monotonic() - began < 2.5
    proxied.sound()
