"""Server-sent events: replayed, live, from other processes too."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from infold import Memory
from infold.service.keys import create_key, revoke_key
from tests import rawsql
from tests.conftest import user
from tests.servers import SOON, Running, problem, start_server

Client = httpx2.Client


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with start_server(tmp_path_factory.mktemp("api"), streams=2) as started:
        yield started


@pytest.fixture(scope="module")
def api(running: Running) -> Iterator[Client]:
    with running.client() as client:
        yield client


@contextmanager
def listening(api: Client, chat: str, last: str | None = None) -> Iterator[Iterator[dict[str, Any]]]:
    """The events of a chat; the stream has begun when this is entered."""
    headers = {} if last is None else {"Last-Event-ID": last}
    with api.stream("GET", f"/v1/chats/{chat}/events/stream", headers=headers) as answer:
        if answer.status_code != 200:
            answer.read()
            problem(answer, answer.status_code, answer.json()["code"])
            raise RefusedError(answer.status_code, answer.json()["code"])
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        assert next(lines).startswith("retry:")
        yield _events(lines)


class RefusedError(Exception):
    pass


def _events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            event = json.loads(fields["data"])
            assert (fields["id"], fields["event"]) == (event["id"], event["type"])
            yield event
            fields = {}


def test_live(api: Client) -> None:
    api.post("/v1/chats/live/messages", json=user("hello"))
    with listening(api, "live") as events:
        pin = api.post("/v1/chats/live/pins", json={"text": "Keep this."}).json()
        event = next(events)
        assert (event["type"], event["data"], event["chat"]) == ("pinned", {"pin": pin["id"]}, "live")
        api.delete(f"/v1/chats/live/pins/{pin['id']}")
        assert next(events)["type"] == "unpinned"


def test_replayed_after_an_event(api: Client) -> None:
    api.post("/v1/chats/replay/messages", json=user("hello"))
    for text in ("one", "two"):
        api.post("/v1/chats/replay/pins", json={"text": text})
    known = api.get("/v1/chats/replay/events").json()["items"]
    with listening(api, "replay", "0") as events:
        assert [next(events) for _ in known] == known
    with listening(api, "replay", known[0]["id"]) as events:
        assert [next(events) for _ in known[1:]] == known[1:]
        api.post("/v1/chats/replay/pins", json={"text": "three"})
        assert next(events)["type"] == "pinned"


@pytest.mark.parametrize("heard", [1, 3])
def test_a_chat_that_was_made_anew_is_replayed_from_its_start(api: Client, heard: int) -> None:
    """SQLite gives its events the numbers of the old ones, or fewer."""
    chat = f"again-{heard}"

    def made(*pins: str) -> list[dict[str, Any]]:
        api.post(f"/v1/chats/{chat}/messages", json=user("hello"))
        for text in pins:
            api.post(f"/v1/chats/{chat}/pins", json={"text": text})
        found: list[dict[str, Any]] = api.get(f"/v1/chats/{chat}/events").json()["items"]
        return found

    last = made("one", "two")[heard - 1]["id"]
    api.delete(f"/v1/chats/{chat}")
    fresh = made("three")
    with listening(api, chat, last) as events:
        api.post(f"/v1/chats/{chat}/pins", json={"text": "four"})
        assert next(events) == fresh[0]
        assert next(events) == fresh[1]


def test_an_event_that_is_in_no_backup_replays_all(api: Client) -> None:
    api.post("/v1/chats/backup/messages", json=user("hello"))
    (known,) = api.get("/v1/chats/backup/events").json()["items"]
    life, _, key = known["id"].partition("-")
    with listening(api, "backup", f"{life}-{int(key) + 10}") as events:
        assert next(events) == known


def test_pages_of_a_chat_that_was_made_anew_begin_anew(api: Client) -> None:
    path, pages = "/v1/chats/paged/events", []
    for _ in range(2):
        api.delete("/v1/chats/paged")
        api.post("/v1/chats/paged/messages", json=user("hello"))
        api.post("/v1/chats/paged/pins", json={"text": "one"})
        pages.append(api.get(path, params={"limit": 1}).json())
        cursor = pages[-1]["next_cursor"]
        (last,) = api.get(path, params={"cursor": cursor}).json()["items"]
        assert (last["type"], pages[-1]["items"][0]["type"]) == ("pinned", "chat_created")
    problem(api.get(path, params={"cursor": pages[0]["next_cursor"]}), 400, "bad_cursor")


def test_D7_damaged_events_are_left_out_of_pages_and_streams(api: Client, running: Running) -> None:
    api.post("/v1/chats/damaged/messages", json=user("hello"))
    for number in range(6):
        api.post("/v1/chats/damaged/pins", json={"text": f"pin {number}"})
    every = api.get("/v1/chats/damaged/events").json()["items"]
    for event in every[1:4]:
        rawsql.change(running.database, "UPDATE events SET data = '{' WHERE key = ?", int(event["id"].split("-")[1]))
    left = [every[0], *every[4:]]
    assert api.get("/v1/chats/damaged/events").json()["items"] == left
    first = api.get("/v1/chats/damaged/events", params={"limit": 1}).json()
    assert first["items"] == left[:1]
    rest = api.get("/v1/chats/damaged/events", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert rest["items"] == left[1:3]
    with listening(api, "damaged", "0") as events:
        assert [next(events) for _ in left] == left


def test_from_another_process(api: Client, running: Running) -> None:
    api.post("/v1/chats/far/messages", json=user("hello"))
    with listening(api, "far") as events, Memory(running.database) as memory:
        memory.chat("far").pin("From elsewhere.")
        assert next(events)["type"] == "pinned"


def test_only_of_its_own_chat(api: Client) -> None:
    for chat in ("mine", "yours"):
        api.post(f"/v1/chats/{chat}/messages", json=user("hello"))
    with listening(api, "mine") as events:
        api.post("/v1/chats/yours/pins", json={"text": "yours"})
        api.post("/v1/chats/mine/pins", json={"text": "mine"})
        assert next(events)["chat"] == "mine"


def test_it_ends_with_the_chat(api: Client) -> None:
    api.post("/v1/chats/ends/messages", json=user("hello"))
    with listening(api, "ends") as events:
        api.delete("/v1/chats/ends")
        assert list(events) == []


def test_it_ends_with_the_chat_though_there_is_another_one_at_once(api: Client, running: Running) -> None:
    with Memory(running.database) as memory:
        memory.chat("renewed").add(user("hello"))
        with listening(api, "renewed", "0") as events:
            assert next(events)["type"] == "chat_created"
            memory.chat("renewed").delete()
            memory.chat("renewed").pin("Of another chat.")  # whose first event has the number of the one that was heard
            assert next(events, None) is None


def test_E5_it_ends_with_its_key(tmp_path: Path) -> None:
    with start_server(tmp_path, instead=SOON) as running, Memory(running.database) as memory:
        memory.chat("a").add(user("hello"))
        key, row = create_key(memory, "", "read")
        admin, _ = create_key(memory, "", "admin")
        with running.client(key) as reader, running.client(admin) as writer, listening(reader, "a") as events:
            writer.post("/v1/chats/a/pins", json={"text": "heard"})
            assert next(events)["type"] == "pinned"
            revoke_key(memory, row.id)
            deadline = time.monotonic() + 30
            while reader.get("/v1/chats").status_code == 200 and time.monotonic() < deadline:
                time.sleep(0.05)
            writer.post("/v1/chats/a/pins", json={"text": "not heard"})
            assert list(events) == []


def test_E5_what_cannot_be_heard(api: Client) -> None:
    problem(api.get("/v1/chats/nobody/events/stream"), 404, "chat_not_found")
    api.post("/v1/chats/heard/messages", json=user("hello"))
    for last in ("x", "", "-1", "1", "1-", "1-2-3", "9" * 30, "1-" + "9" * 5000):
        answer = api.get("/v1/chats/heard/events/stream", headers={"Last-Event-ID": last})
        problem(answer, 400, "bad_event_id")


def test_a_key_has_so_many_streams(api: Client) -> None:
    api.post("/v1/chats/many/messages", json=user("hello"))
    refused = pytest.raises(RefusedError, match="too_many_streams")
    with listening(api, "many"), listening(api, "many"), refused, listening(api, "many"):
        pass
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:  # the server notices that they are closed when it sends
        api.post("/v1/chats/many/pins", json={"text": f"{time.monotonic()}"})
        try:
            with listening(api, "many"):
                return
        except RefusedError:
            continue
    pytest.fail("closed streams still count")


def test_a_server_with_open_streams_stops_at_once(tmp_path: Path) -> None:
    with start_server(tmp_path) as running, running.client() as api:
        api.post("/v1/chats/stop/messages", json=user("hello"))
        with listening(api, "stop") as events:
            running.process.terminate()
            assert list(events) == []
        assert running.process.wait(10) in (0, -15)
