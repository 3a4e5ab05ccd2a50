"""Workers: jobs are there when they are due and not otherwise, done once, and done whoever dies."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import httpx2
import psycopg
import pytest
from pgqueuer import PgQueuer
from pgqueuer.adapters.drivers.asyncpg import AsyncpgPoolDriver
from pgqueuer.core.qm import QueueManager
from pgqueuer.models import HealthCheckEvent
from pgqueuer.ports.driver import NotifyCallback
from prometheus_client.parser import text_string_to_metric_families

from infold import Chat, Memory
from infold.formats import parse
from infold.ledger import jobs
from infold.ledger.calls import all_calls
from infold.ledger.postgres import SCHEMA
from infold.ledger.rows import Call, FoldRow
from infold.service import worker
from infold.service.crew import FIRST_PAUSE
from infold.service.listening import connecting
from infold.service.settings import ServiceSettings
from tests.conftest import ticking_clock
from tests.fleet import Api, Process, command
from tests.postgres import Server
from tests.servers import free_port
from tests.test_model_faults import said, talk
from tests.upstream import Upstream, step

PATIENCE = 60.0
_PAUSE = "infold.service.crew:FIRST_PAUSE"
ALERT = {"infold.service.crew:_LOOK": 0.1, _PAUSE: 0.1}
"""Constants for a server that sees at once that a worker has ended."""
DUE = 12
"""Messages after which the rolling preset has folded once."""


def wait_until(holds: Callable[[], object]) -> None:
    """Look again and again at what other processes do."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never happened"
        threading.Event().wait(0.02)


@pytest.fixture
def memory(postgres_url: str) -> Iterator[Memory]:
    """As an API process has it: what is due is left to workers."""
    with Memory(postgres_url, model="openai:never-asked", queue=True) as opened:
        yield opened


def queued(url: str) -> list[tuple[str, str]]:
    """Payload and state of the jobs that there are."""
    with psycopg.connect(url) as connection:
        found = connection.execute(f"SELECT payload, status::text FROM {SCHEMA}.pgqueuer ORDER BY id").fetchall()
    return [(bytes(payload).decode(), status) for payload, status in found]


def due(memory: Memory, models: int = jobs.ANYBODY, now: int = jobs.END) -> list[str]:
    with memory.database.read() as connection:
        return [chat for _, chat, _ in jobs.due(connection, models=models, now=now)]


def folded(memory: Memory, id: str, tenant: str = "") -> Chat:
    """A chat with a fold that waits for its model."""
    chat = memory.tenant(tenant).chat(id, preset="rolling")
    talk(chat, 1, DUE)
    assert chat.memory.cursor
    return chat


def authors(chat: Chat) -> list[str]:
    """Who wrote the folds that are in force."""
    with chat.reading() as (_, state):
        return [fold.author for fold in state.folds]


def is_written(chat: Chat) -> bool:
    return authors(chat) == ["summarizer"]


def quick(name: str, folder: Path, url: str, model: str, *, sweep: float = 60, stale: float = 2) -> Process:
    """A worker that need not be waited for."""
    return Process(name, folder, "tests.worker_child:main", url, model, str(sweep), str(stale))


def model_of(upstream: Upstream) -> str:
    return f"{upstream.url}#gpt-test"


# Jobs --------------------------------------------------------------------------------------------------


def test_a_job_is_there_once_what_makes_it_due_is_committed(memory: Memory, postgres_url: str) -> None:
    chat = memory.chat("a", preset="rolling")
    talk(chat, 1, DUE - 2)
    assert queued(postgres_url) == []
    talk(chat, DUE - 1, DUE)
    assert queued(postgres_url) == [('{"chat":"a","tenant":""}', "queued")]


def test_a_rolled_back_fold_leaves_no_job(memory: Memory, postgres_url: str) -> None:
    chat = memory.chat("a", preset="rolling")
    talk(chat, 1, DUE - 2)

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    last = [message for number in (DUE - 1, DUE) for message in parse(said(number))]
    with pytest.raises(ZeroDivisionError):
        chat.append(last, beside=fail)
    assert (chat.memory.cursor, queued(postgres_url), due(memory)) == (0, [], [])


def test_several_reasons_make_one_job(memory: Memory, postgres_url: str) -> None:
    chat = folded(memory, "a")
    chat.fold()
    talk(chat, DUE + 1, 2 * DUE)
    worker.Sweeper(memory).look()
    assert len(queued(postgres_url)) == 1
    folded(memory, "a", tenant="other")
    assert [payload for payload, _ in queued(postgres_url)][1:] == ['{"chat":"a","tenant":"other"}']


def test_the_sweep_finds_what_has_no_job(memory: Memory, postgres_url: str) -> None:
    for id in ("a", "b"):
        folded(memory, id)
    memory.chat("idle", preset="rolling").add(said(1))
    forget_jobs(postgres_url)
    assert worker.Sweeper(memory).look() == 2
    assert sorted(payload for payload, _ in queued(postgres_url)) == [
        '{"chat":"a","tenant":""}',
        '{"chat":"b","tenant":""}',
    ]


def forget_jobs(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(f"DELETE FROM {SCHEMA}.pgqueuer")


def test_by_and_by_the_sweep_looks_at_all_chats(
    memory: Memory, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "STRETCH", 2)
    for number in range(5):
        folded(memory, f"c{number}")
    sweeper = worker.Sweeper(memory)
    assert sweeper.look() == 5  # all at first: nobody may have looked for long
    with psycopg.connect(postgres_url) as connection:  # none has new messages
        connection.execute(f"UPDATE {SCHEMA}.messages SET key = key - {jobs.LATELY + 100}")
        idle = connection.execute(f"SELECT key FROM {SCHEMA}.chats WHERE id = 'c4'").fetchone()
        assert idle is not None
        connection.execute(f"UPDATE {SCHEMA}.messages SET key = key + {jobs.LATELY + 100} WHERE chat = {idle[0]}")
    seen = []
    for _ in range(4):
        forget_jobs(postgres_url)
        sweeper.look()
        seen.append(sorted(payload[10] for payload, _ in queued(postgres_url)))
    assert seen == [["0", "1", "4"], ["2", "3", "4"], ["4"], ["0", "1", "4"]]


def test_what_no_model_could_write_is_left_alone_longer_and_longer(postgres_url: str, upstream: Upstream) -> None:
    upstream.script([step("malformed", forever=True)])
    clock = ticking_clock()
    with Memory(postgres_url, model=model_of(upstream), queue=True, clock=clock) as memory:
        chat = folded(memory, "a")
        assert due(memory) == ["a"]
        tries: list[int] = []
        for _ in range(4):
            memory.answers.forget("a")  # as another process, or one that remembers too many others
            worker.summarize(memory, "", "a")
            tries.append(max(call.created_at for call in all_calls_of(chat)))
            with chat.reading() as (_, state):
                began = state.folds[0].created_at
            again = 2 * tries[-1] - began
            assert due(memory, now=again - 1) == []
            assert due(memory, now=again) == ["a"]
            assert due(memory) == ["a"]
            while clock() < again:
                pass
        waits = [later - earlier for earlier, later in pairwise([began, *tries])]
        assert all(later > earlier for earlier, later in pairwise(waits)), waits
        assert due(memory, now=tries[-1] + jobs.MOST_REST) == ["a"]
        asked = len(upstream.requests())
    with Memory(postgres_url, model=model_of(upstream), queue=True, clock=lambda: tries[-1] + 1) as other:
        forget_jobs(postgres_url)
        assert worker.Sweeper(other).look() == 0
        assert len(upstream.requests()) == asked
        talk(other.chat("a"), DUE + 1, 2 * DUE)  # there is something new to write
        assert due(other, now=tries[-1] + 1) == ["a"]


def test_an_outage_is_not_held_against_a_chat(postgres_url: str, upstream: Upstream) -> None:
    upstream.script([step("500", forever=True)])
    with Memory(postgres_url, model=model_of(upstream), queue=True) as memory:
        chat = folded(memory, "a")
        worker.summarize(memory, "", "a")
        assert {call.outcome for call in all_calls_of(chat)} == {"transport"}
        assert due(memory, now=memory.clockwork.now()) == ["a"]


def all_calls_of(chat: Chat) -> list[Call]:
    with chat.reading() as (connection, _):
        return all_calls(connection, chat.key)


def test_an_undecided_chat_is_due(memory: Memory) -> None:
    chat = memory.chat("a", preset="rolling")
    chat.add(said(1))
    assert due(memory) == []
    chat.add(said(2), fold=False)  # as the proxy does while somebody waits
    assert due(memory, jobs.NOBODY) == ["a"]
    worker.summarize(memory, "", "a")
    assert due(memory) == []


def test_without_models_nothing_waits_for_one(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORY_SUMMARIZER_MODEL", raising=False)
    with Memory(postgres_url, queue=True) as memory:
        folded(memory, "a")
        own = memory.chat("own", config=memory.chat("a").policy.with_values({"models": ["openai:mine"]}))
        talk(own, 1, DUE)
        worker.summarize(memory, "", "a")
        assert (due(memory, memory.written), due(memory, jobs.NOBODY)) == (["own"], [])


def test_a_rollup_does_not_hide_the_fold_below_it(memory: Memory) -> None:
    chat = memory.chat("a", preset="layered")
    number = 0
    while not any(fold.kind == "rollup" for fold in _folds(chat)):
        talk(chat, number + 1, number + 8)
        number += 8
        assert number < 500
    assert _folds(chat)[0].kind == "rollup"
    chat._make_index()
    assert due(memory) == ["a"]


def _folds(chat: Chat) -> list[FoldRow]:
    with chat.reading() as (_, state):
        return list(state.folds)


# Workers -----------------------------------------------------------------------------------------------


def test_a_worker_indexes_and_rewrites_the_chats_of_all_tenants(
    memory: Memory, postgres_url: str, upstream: Upstream, tmp_path: Path
) -> None:
    chats = [folded(memory, id, tenant) for tenant in ("", "ann", "bob") for id in ("x", "y")]
    with command("worker", tmp_path, "worker", "--database", postgres_url, "--model", model_of(upstream)):
        wait_until(lambda: not due(memory) and not queued(postgres_url))
    assert [authors(chat) for chat in chats] == [["summarizer"]] * 6
    assert len(upstream.requests()) == 6
    for chat in chats:
        with chat.reading() as (_, state):
            assert state.row.read_to == state.row.cursor
        assert chat.verify().ok


def test_several_workers_fold_a_chat_once(
    memory: Memory, postgres_url: str, upstream: Upstream, tmp_path: Path
) -> None:
    upstream.script([step("good:slow", seconds=1, forever=True)])
    chats = [folded(memory, f"c{n}") for n in range(4)]
    crowd = [quick(f"worker{n}", tmp_path, postgres_url, model_of(upstream), sweep=0.1, stale=0.3) for n in range(3)]
    try:
        for one in crowd:
            one.start()
        wait_until(lambda: not due(memory))
    finally:
        for one in crowd:
            one.kill()
    assert len(upstream.requests()) == 4  # though jobs that look stale were taken over again and again
    assert [authors(chat) for chat in chats] == [["summarizer"]] * 4
    assert memory.verify().ok


def test_another_worker_finishes_what_a_killed_one_began(
    memory: Memory, postgres_url: str, upstream: Upstream, tmp_path: Path
) -> None:
    upstream.script(["timeout"])
    chat = folded(memory, "a")
    with quick("first", tmp_path, postgres_url, model_of(upstream)) as first:
        wait_until(upstream.requests)
        first.kill()
    assert [status for _, status in queued(postgres_url)] == ["picked"]
    with quick("second", tmp_path, postgres_url, model_of(upstream)):
        wait_until(lambda: not due(memory))
    assert authors(chat) == ["summarizer"]
    assert len(upstream.requests()) == 2
    assert chat.verify().ok


def test_a_worker_that_is_told_to_end_finishes_its_job(
    memory: Memory, postgres_url: str, upstream: Upstream, tmp_path: Path
) -> None:
    upstream.script([step("good:slow", seconds=2)])
    chat = folded(memory, "a")
    with quick("worker", tmp_path, postgres_url, model_of(upstream)) as one:
        wait_until(upstream.requests)
        assert one.stop() == 0
    assert authors(chat) == ["summarizer"]
    assert queued(postgres_url) == []
    assert "Traceback" not in one.said()


def test_a_worker_goes_on_when_the_database_comes_back(
    memory: Memory, postgres: Server, postgres_url: str, upstream: Upstream, tmp_path: Path
) -> None:
    with quick("worker", tmp_path, postgres_url, model_of(upstream)) as one:
        first = folded(memory, "a")
        wait_until(lambda: not due(memory))
        pid = one.pid
        postgres.crash()
        second = folded(memory, "b")
        wait_until(lambda: not due(memory))
        assert one.running
        assert one.pid == pid
        assert one.stop() == 0
    assert [authors(first), authors(second)] == [["summarizer"]] * 2


def test_what_no_model_can_write_is_not_asked_for_ever(
    memory: Memory, postgres_url: str, upstream: Upstream, tmp_path: Path
) -> None:
    upstream.script([step("malformed", forever=True)])
    chat = folded(memory, "a")
    with quick("worker", tmp_path, postgres_url, model_of(upstream), sweep=0.05) as one:
        wait_until(upstream.requests)
        folded(memory, "b")
        wait_until(lambda: len(upstream.requests()) >= 2)
        looks = _asked(postgres_url)
        wait_until(lambda: _asked(postgres_url) >= looks + 10)
        assert one.running
    assert len(upstream.requests()) <= 4, "once for each chat, and at most one more try"
    assert authors(chat) == ["extractive"]
    assert chat.verify().ok


def sweepers(url: str) -> list[int]:
    """Who looks for chats without a job: the server's processes for them."""
    found = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND granted"
    with psycopg.connect(url) as connection:
        return [pid for (pid,) in connection.execute(found, [worker._SWEEPER]).fetchall()]


def test_one_worker_sweeps_at_a_time(memory: Memory, postgres_url: str, upstream: Upstream, tmp_path: Path) -> None:
    first, second = (quick(name, tmp_path, postgres_url, model_of(upstream), sweep=0.1) for name in ("first", "second"))
    with first:
        wait_until(lambda: sweepers(postgres_url))
        holder = sweepers(postgres_url)
        with second:
            wait_until(lambda: "a worker began" in second.said())
            for number in range(3):
                chat = folded(memory, f"c{number}")
                forget_jobs(postgres_url)
                wait_until(partial(is_written, chat))
                # On a very busy machine the first may have lost its connection, and the lock with it.
                assert sweepers(postgres_url) == holder or "starting it again" in first.said()
            first.kill()
            wait_until(lambda: sweepers(postgres_url) not in ([], holder))
            # Also if it only loses its connection.
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute("SELECT pg_terminate_backend(%s)", sweepers(postgres_url))
            chat = folded(memory, "last")
            forget_jobs(postgres_url)
            wait_until(partial(is_written, chat))
            assert second.running


def test_E7_old_lines_of_the_queues_log_go(
    memory: Memory, postgres_url: str, upstream: Upstream, tmp_path: Path
) -> None:
    def days() -> list[int]:
        with psycopg.connect(postgres_url) as connection:
            found = f"SELECT date_part('day', now() - created)::int FROM {SCHEMA}.pgqueuer_log WHERE job_id < 0"
            return sorted(old for (old,) in connection.execute(found).fetchall())

    with psycopg.connect(postgres_url) as connection:
        for old in (6, 8, 30):
            connection.execute(
                f"INSERT INTO {SCHEMA}.pgqueuer_log (job_id, status, priority, entrypoint, created)"
                " VALUES (-1, 'successful', 0, 'x', now() - make_interval(days => %s))",
                [old],
            )
    assert days() == [6, 8, 30]
    with quick("worker", tmp_path, postgres_url, model_of(upstream), sweep=0.1):
        wait_until(lambda: days() == [6])


def _asked(url: str) -> int:
    """Jobs that were asked for so far."""
    with psycopg.connect(url) as connection:
        found = connection.execute(f"SELECT last_value FROM {SCHEMA}.pgqueuer_id_seq").fetchone()
    assert found is not None
    return int(found[0])


# Those of `infold serve` -------------------------------------------------------------------------------


def children(pid: int) -> list[int]:
    """The processes that a process started and that are workers."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1]) if entry.name.isdigit() else 0
            if parent == pid and "spawn_main" in (entry / "cmdline").read_text():
                found.append(int(entry.name))
        except (OSError, ValueError):  # it has just ended
            continue
    return found


def alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_serve_starts_its_workers_again_and_ends_them(postgres_url: str, tmp_path: Path) -> None:
    with Api("api", tmp_path, "--database", postgres_url, "--workers", "2", instead=ALERT) as api:
        api.wait()
        crew = children(api.pid)
        assert len(crew) == 2
        wait_until(lambda: api.said().count("a worker began") == 2)
        os.kill(crew[0], signal.SIGKILL)
        wait_until(lambda: len(set(children(api.pid)) - {crew[0]}) == 2)
        crew = children(api.pid)
        wait_until(lambda: api.said().count("a worker began") == 3)
        assert api.stop() == 0
    assert not any(map(alive, crew))
    assert "Traceback" not in api.said()


def counted(url: str, name: str, **labels: str) -> float:
    """The sum of a metric over its other labels."""
    families = text_string_to_metric_families(httpx2.get(f"{url}/metrics").text)
    samples = [sample for family in families for sample in family.samples if sample.name == name]
    return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


def watched(memory: Memory, upstream: Upstream, url: str) -> None:
    """See in metrics that a model is down, and that it is back; each event once, and none of those of this process."""
    upstream.script([step("malformed", forever=True)])
    chats = [folded(memory, "failing")]
    wait_until(lambda: counted(url, "infold_folds_failed_total"))
    upstream.script([])
    chats += [folded(memory, f"c{number}") for number in range(4)]
    wait_until(lambda: all(map(is_written, chats[1:])))  # the first one is left alone for long

    def happened(type: str, **data: str) -> float:
        events = [event for chat in chats for event in chat.events() if event.type == type]
        return len([event for event in events if data.items() <= event.data.items()])

    written = {"author": "summarizer"}
    wait_until(lambda: counted(url, "infold_folds_total", **written) == happened("summarization", **written))
    wait_until(lambda: counted(url, "infold_fold_seconds_count") == happened("summarization", **written))
    wait_until(lambda: counted(url, "infold_events_total", type="gate") == happened("gate"))
    wait_until(lambda: counted(url, "infold_gate_verdicts_total") == happened("gate"))
    wait_until(lambda: counted(url, "infold_folds_failed_total") == happened("summarization_failed"))
    assert happened("gate") >= len(chats) - 1


def test_C10_the_metrics_of_serve_tell_what_its_workers_do(
    memory: Memory, postgres_url: str, upstream: Upstream, tmp_path: Path
) -> None:
    arguments = ("--database", postgres_url, "--model", model_of(upstream), "--workers", "2")
    with Api("api", tmp_path, *arguments, instead=ALERT) as api:
        api.wait()
        watched(memory, upstream, api.url)
        os.kill(children(api.pid)[0], signal.SIGKILL)
        wait_until(lambda: api.said().count("a worker began") == 3)
        before = counted(api.url, "infold_folds_total", author="summarizer")
        chats = [folded(memory, f"later{number}") for number in range(4)]
        wait_until(lambda: counted(api.url, "infold_folds_total", author="summarizer") >= before + len(chats))
        assert api.stop() == 0


def test_C10_a_worker_of_its_own_has_metrics_of_its_own(
    memory: Memory, postgres_url: str, upstream: Upstream, tmp_path: Path
) -> None:
    address = f"127.0.0.1:{free_port()}"
    (tmp_path / "infold.toml").write_text(f'worker_metrics = "{address}"')
    arguments = ("worker", "--database", postgres_url, "--model", model_of(upstream))
    with (
        command("worker", tmp_path, *arguments) as one,
        Api("api", tmp_path, "--database", postgres_url, "--workers", "0") as api,
    ):
        wait_until(lambda: "a worker began" in one.said())
        watched(memory, upstream, f"http://{address}")
        assert counted(f"http://{address}", "process_resident_memory_bytes") > 0
        api.wait()
        assert counted(api.url, "infold_events_total") == 0
        with command("second", tmp_path, *arguments) as second:
            wait_until(lambda: not second.running)
            assert f"cannot serve metrics on {address}" in second.said()
            assert "Traceback" not in second.said()
        assert one.stop() == 0


def test_workers_that_cannot_begin_are_tried_less_and_less_often(
    postgres: Server, postgres_url: str, tmp_path: Path
) -> None:
    first = FIRST_PAUSE / 8
    with Api("api", tmp_path, "--database", postgres_url, "--workers", "1", instead={**ALERT, _PAUSE: first}) as api:
        api.wait()
        wait_until(lambda: "a worker began" in api.said())
        with postgres.away():
            os.kill(children(api.pid)[0], signal.SIGKILL)
            wait_until(lambda: f"in {4 * first:g} s" in api.said())
        wait_until(lambda: api.said().count("a worker began") == 2)
        ends = re.findall(r"a worker ended \((-?\d+)\); another takes its place in ([\d.]+) s", api.said())
        assert ends == [("-9", f"{first:g}"), *[("1", f"{2**n * first:g}") for n in range(1, len(ends))]]
        assert api.stop() == 0


def test_workers_end_when_serve_is_killed(postgres_url: str, tmp_path: Path) -> None:
    with Api("api", tmp_path, "--database", postgres_url, "--workers", "2") as api:
        api.wait()
        crew = children(api.pid)
        wait_until(lambda: api.said().count("a worker began") == 2)
        api.kill()
        assert len(crew) == 2
        wait_until(lambda: not any(map(alive, crew)))


LIBPQ = [
    "connect_timeout=5", "channel_binding=prefer", "keepalives=1", "keepalives_idle=30", "tcp_user_timeout=9000",
    "gssencmode=disable", "sslsni=1", "load_balance_hosts=random", "require_auth=none", "sslmode=prefer",
    "fallback_application_name=a%20worker", "application_name=a%20worker", "target_session_attrs=read-write",
    "options=-c%20work_mem%3D5MB",
]  # fmt: skip


@pytest.mark.parametrize("given", [*LIBPQ, "&".join(LIBPQ)])
def test_E7_a_worker_understands_addresses_that_are_written_for_libpq(postgres_url: str, given: str) -> None:
    """What hosted databases put into theirs, too: one driver takes them, and the workers' own must."""
    address = f"{postgres_url}&{given}"
    asked = "SELECT current_setting('application_name'), current_setting('work_mem')"

    async def connected() -> tuple[str, ...]:
        connection = await asyncpg.connect(**connecting(address))
        try:
            return tuple(await connection.fetchrow(asked))
        finally:
            await connection.close()

    with psycopg.connect(address) as other:
        assert asyncio.run(connected()) == other.execute(asked).fetchone()


def test_E7_addresses_keep_what_is_said_of_certificates() -> None:
    address = "postgresql://ann:p%40ss@a.example:5433,b.example/x?sslmode=verify-full&sslrootcert="
    assert connecting(f"{address}%2Fca.pem&connect_timeout=1") == {"dsn": f"{address}%2Fca.pem", "timeout": 2.0}
    found = connecting(f"{address}system")
    assert found["dsn"] == "postgresql://ann:p%40ss@a.example:5433,b.example/x"
    assert found["ssl"].verify_mode == ssl.CERT_REQUIRED
    assert found["ssl"].check_hostname


def test_E7_a_worker_says_why_it_cannot_open_the_database(postgres: Server, postgres_url: str, tmp_path: Path) -> None:
    """Its other connections are open by then: there may just not be as many."""
    name = urlsplit(postgres_url).path[1:]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE lonely LOGIN CONNECTION LIMIT 2")
        for what in (f"DATABASE {name}", f"SCHEMA {SCHEMA}", f"ALL TABLES IN SCHEMA {SCHEMA}"):
            connection.execute(f"GRANT ALL ON {what} TO lonely")
    try:
        address = postgres.url_of(name, "lonely", "")
        with command("lonely", tmp_path, "worker", "--database", address) as one:
            wait_until(lambda: 'too many connections for role \\"lonely\\"' in one.said())
            assert one.stop() == 0
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP OWNED BY lonely")
            connection.execute("DROP ROLE lonely")


def test_E7_a_queue_is_not_probed_before_it_listens(
    memory: Memory, postgres_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A probe that nobody heard would cost the worker its queue ten seconds later."""
    listen, probe = AsyncpgPoolDriver.add_listener, QueueManager.listener_healthy
    heard: list[object] = []

    async def late(driver: AsyncpgPoolDriver, channel: str, callback: NotifyCallback) -> None:
        for _ in range(20):  # whoever does not wait is through by then
            await driver.fetch("SELECT 1")
        await listen(driver, channel, callback)

    async def probed(queue: QueueManager, timeout: timedelta) -> HealthCheckEvent:
        try:
            heard.append(await probe(queue, timeout))
        except Exception as error:
            heard.append(error)
            raise
        finally:
            one.stop()
        return heard[0]  # type: ignore[return-value]

    monkeypatch.setattr(AsyncpgPoolDriver, "add_listener", late)
    monkeypatch.setattr(QueueManager, "listener_healthy", probed)
    one = worker.Worker(memory, ServiceSettings(database=postgres_url))
    asyncio.run(asyncio.wait_for(one.run(), PATIENCE))
    assert isinstance(heard[0], HealthCheckEvent)
    assert "the queue failed" not in caplog.text


@pytest.mark.parametrize(("retention", "scheduled"), [("keep", []), ("archive", [jobs.COMPACT])])
def test_retention_has_a_schedule_where_there_is_any(
    memory: Memory, postgres_url: str, retention: str, scheduled: list[str]
) -> None:
    queue = PgQueuer.in_memory()
    settings = ServiceSettings(database=postgres_url, retention=retention)
    worker.Worker(memory, settings)._register(queue)
    assert [key.entrypoint for key in queue.sm.registry] == scheduled
    assert list(queue.qm.entrypoint_registry) == [jobs.SUMMARIZE]
