"""A server that is told to end does so within its grace, whoever hangs; nothing is lost by it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx2
import psycopg
import pytest

from infold import Memory
from tests.fleet import Api, command
from tests.postgres import server
from tests.provider import Provider
from tests.proxied import eventually
from tests.servers import problem
from tests.test_model_faults import said
from tests.upstream import Upstream, step

GRACE = 3


def settings(folder: Path, upstream: Upstream, provider: Provider, database: str) -> tuple[str, ...]:
    (folder / "infold.toml").write_text(f"grace = {GRACE}\npreset = 'rolling'\n")
    model = f"{upstream.url}#gpt-test"
    return ("--database", database, "--model", model, "--upstream", provider.url, "--log-format", "text")


def talk(api: Api) -> None:
    """So long that something is due for the model."""
    sent = httpx2.post(f"{api.url}/v1/chats/a/messages", json=[said(number) for number in range(1, 25)], timeout=30)
    assert sent.status_code == 201, sent.text


def test_F9_a_model_that_hangs_does_not_keep_the_server(tmp_path: Path, upstream: Upstream) -> None:
    upstream.script([step("timeout", forever=True)])
    database = f"sqlite:///{tmp_path / 'service.db'}"
    with Provider() as provider, Api("api", tmp_path, *settings(tmp_path, upstream, provider, database)) as api:
        api.wait()
        talk(api)
        eventually(upstream.requests, bool)
        assert api.stop(GRACE + 7) == 0
        assert "Finished server process" in api.said()
        assert "Traceback" not in api.said()
        upstream.script([step("good", forever=True)])
        api.start()
        api.wait()
        eventually(lambda: "was folded by openai:gpt-test" in api.said(), bool)
        assert api.stop() == 0
    with Memory(database, model=()) as memory:
        assert memory.verify().ok
        assert len(memory.chat("a").messages()) == 24


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_F9_the_grace_counts_once(tmp_path: Path, upstream: Upstream, kind: str) -> None:
    """A reply that never ends, a fold that never ends and workers that never end wait side by side."""
    upstream.script([step("timeout", forever=True)])
    with server().database() as url, Provider() as provider:
        database = url if kind == "postgresql" else f"sqlite:///{tmp_path / 'service.db'}"
        arguments = settings(tmp_path, upstream, provider, database)
        with Api("api", tmp_path, *arguments, "--workers", "2") as api, httpx2.Client(timeout=60) as client:
            api.wait()
            talk(api)
            eventually(upstream.requests, bool)
            asked = {"model": "slow-60", "messages": [{"role": "user", "content": "Go on."}], "stream": True}
            with client.stream("POST", f"{api.url}/v1/chat/completions", json=asked):
                assert api.stop(2 * GRACE) == 0


def test_F9_a_model_that_hangs_does_not_keep_a_worker(tmp_path: Path, upstream: Upstream) -> None:
    upstream.script([step("timeout", forever=True)])
    with server().database() as url, Provider() as provider:
        arguments = settings(tmp_path, upstream, provider, url)
        worker = command("worker", tmp_path, "worker", "--database", url, "--model", f"{upstream.url}#gpt-test")
        with Api("api", tmp_path, *arguments, "--workers", "0") as api, worker:
            api.wait()
            talk(api)
            eventually(upstream.requests, bool)
            assert worker.stop(GRACE + 10) == 0
            assert "Traceback" not in worker.said()
            assert api.stop() == 0


def test_F9_requests_that_wait_for_the_database_do_not_keep_the_server(tmp_path: Path, upstream: Upstream) -> None:
    """Somebody else has locked a chat, and goes on having it."""
    with server().database() as url, Provider() as provider:
        arguments = settings(tmp_path, upstream, provider, url)
        with Api("api", tmp_path, *arguments, "--workers", "0") as api, httpx2.Client(base_url=api.url) as client:
            api.wait()
            talk(api)
            with psycopg.connect(url) as other, ThreadPoolExecutor() as threads:
                other.execute("SELECT * FROM infold.chats FOR UPDATE")
                pin = partial(client.post, "/v1/chats/a/pins", json={"text": "Keep this."}, timeout=60)
                asked = [threads.submit(pin) for _ in range(4)]
                eventually(partial(server().waiting, url), lambda found: found > 0)
                assert api.stop(GRACE + 7) == 0
                for one in asked:
                    answer = problem(one.result(), 503, "closing")
                    assert "may still be done" in answer["detail"]
        assert "Traceback" not in api.said()
