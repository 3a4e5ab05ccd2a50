"""`infold config`, `doctor` and `serve`, what the settings file means to other commands, and the deployment examples."""

from __future__ import annotations

import configparser
import http.server
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import yaml

from infold import Memory
from infold.models.spec import HOSTED_PROMPT
from infold.presets import FROM_FILE, PRESETS
from infold.service.settings import MEMORY_TABLE
from tests.conftest import START, assistant, turn, user, words
from tests.postgres import Server
from tests.test_cli import Run, in_folder
from tests.test_settings import FIELDS

DEPLOY = Path(__file__).parent.parent / "deploy"
OURS = {*MEMORY_TABLE, "INFOLD_CONFIG", *(name for field in FIELDS for name in field.metadata["environment"])}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Run]:
    for name in list(os.environ):
        if name.startswith(("INFOLD_", "OPENAI_")) or name in OURS:
            monkeypatch.delenv(name)
    FROM_FILE.clear()
    yield in_folder(tmp_path, monkeypatch, capfd)
    FROM_FILE.clear()


def checks(run: Run, *args: str) -> dict[str, dict[str, Any]]:
    return {row["check"]: row for row in json.loads(run("doctor", "--json", *args)[1])}


def test_config_shows_every_setting_with_its_origin(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "infold.toml").write_text("port = 9000\n[memory]\nmemory_k_raw_turns = 5\n")
    monkeypatch.setenv("INFOLD_UPSTREAM_KEY", "sk-hidden")
    monkeypatch.setenv("INFOLD_DATABASE", "postgresql://ann:hidden@db/x")
    code, out, _ = run("config")
    assert code == 0
    assert "hidden" not in out
    table = {line.split()[0]: line for line in out.splitlines()}
    assert {field.name for field in FIELDS} < set(table)
    assert re.search(r"^port +9000 +file infold.toml", table["port"])
    assert re.search(r"^host +127.0.0.1 +default", table["host"])
    assert re.search(r"^upstream_key +set +environment INFOLD_UPSTREAM_KEY", table["upstream_key"])
    assert "postgresql://ann:***@db/x" in table["database"]
    assert re.search(r" 5 +file infold.toml", table["memory.memory_k_raw_turns"])
    code, out, _ = run("config", "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert "hidden" not in out
    assert rows["port"] == {"name": "port", "environment": ["INFOLD_PORT"], "value": 9000, "origin": "file infold.toml"}
    (tmp_path / "other.toml").write_text("port = 1")
    assert {row["name"]: row for row in json.loads(run("config", "--json", "--config", "other.toml")[1])}["port"][
        "origin"
    ] == "file other.toml"


@pytest.mark.parametrize("command", [["config"], ["serve"], ["worker"], ["chats"]])
def test_a_bad_file_is_one_sentence(run: Run, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "infold.toml").write_text("prot = 9000")
    code, out, err = run(*command)
    assert (code, out) == (1, "")
    assert err.split() == "error: unknown setting 'prot' in infold.toml; did you mean 'port'?".split()


def test_other_commands_use_the_files_database_and_knobs(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "infold.toml").write_text("database = 'sqlite:///mine.db'\n[memory]\nmemory_k_raw_turns = 5\n")
    assert run("add", "trip", "hello", "--preset", "chunked")[0] == 0
    assert run("entities", "list", "trip", "--json")[1].strip() == "[]"
    assert not (tmp_path / "infold.db").exists()
    with Memory(f"sqlite:///{tmp_path}/mine.db") as memory:
        assert memory.chat("trip").policy.keep == 5
    assert "no database at other.db" in run("chats", "-d", "other.db")[2]
    monkeypatch.setenv("INFOLD_DATABASE", "sqlite:///third.db")
    assert "no database at third.db" in run("chats")[2]


def test_every_command_takes_a_settings_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "infold.toml").write_text("this is for somebody else")
    (tmp_path / "ours.toml").write_text("database = 'sqlite:///ours.db'")
    assert run("add", "trip", "hello", "--config", "ours.toml")[0] == 0
    assert run("keys", "create", "--config", "ours.toml")[0] == 0
    assert [row["id"] for row in json.loads(run("chats", "--json", "--config", "ours.toml")[1])] == ["trip"]
    assert run("entities", "trip", "--config", "ours.toml")[0] == 0
    assert "no database at other.db" in run("chats", "--config", "ours.toml", "-d", "other.db")[2]
    assert "there is no settings file nobody.toml" in run("chats", "--config", "nobody.toml")[2]
    for command in ("add", "context", "summary", "facts", "fold", "recall", "forget", "drift", "verify", "replay",
                    "compact", "usage", "chats", "serve", "worker", "config", "doctor"):  # fmt: skip
        assert "--config" in run(command, "--help")[1]


def test_a_tenants_chats_are_seen_with_its_name(run: Run, tmp_path: Path) -> None:
    with Memory(f"sqlite:///{tmp_path}/infold.db") as memory:
        memory.tenant("acme").chat("trip", user="ann").add({"role": "user", "content": "My name is Ann."})
    assert json.loads(run("chats", "--json")[1]) == []
    assert [row["id"] for row in json.loads(run("chats", "--json", "--tenant", "acme")[1])] == ["trip"]
    assert run("add", "trip", "I live in Uppsala.", "--tenant", "acme")[0] == 0
    assert "Uppsala" in run("context", "trip", "Where?", "--tenant", "acme")[1]
    assert "no chat 'trip'" in run("context", "trip", "Where?")[2]
    assert "Uppsala" in run("recall", "Uppsala", "--user", "ann", "--tenant", "acme")[1]
    assert run("facts", "--user", "ann", "--tenant", "acme")[0] == 0
    for command in (("summary", "trip"), ("facts", "--user", "ann")):
        err = run(*command)[2]
        assert "the default tenant has no chats, others have: --tenant NAME" in err
    assert "the tenant 'acme b' has no chats" in run("summary", "trip", "--tenant", "acme b")[2]


def test_a_transcript_is_replayed_for_a_tenant(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text(json.dumps(user("hello")) + "\n")
    code, out, _ = run("replay", "talk.jsonl", "--tenant", "acme b", "-d", "a.db")
    assert code == 0
    assert "facts talk --tenant 'acme b' -d a.db\n" in out
    assert "verify -d a.db\n" in out
    with Memory(f"sqlite:///{tmp_path}/a.db") as memory:
        assert memory.tenants() == ["acme b"]


def test_other_commands_use_the_files_model(run: Run, tmp_path: Path) -> None:
    (tmp_path / "infold.toml").write_text("model = ['nobody:x']")
    code, _, err = run("add", "trip", "hello")
    assert code == 1
    assert "model (file infold.toml)" in err
    (tmp_path / "infold.toml").write_text("model = ['gpt-5-nano']")
    (tmp_path / "trip.jsonl").write_text("".join(json.dumps(one) + "\n" for n in range(4) for one in turn(n)))
    run("add", "trip", "--file", "trip.jsonl", "--preset", "rolling")
    failed = json.loads(run("fold", "trip", "--json")[1])["failed"]
    assert ["openai" in one["message"] for one in failed] == [True]  # there is no key, so it could not be asked


def made(tmp_path: Path, *names: str) -> list[tuple[str, int]]:
    """Preset and window of chats."""
    found = []
    with Memory(f"sqlite:///{tmp_path}/infold.db", model=()) as memory:
        for name in names:
            with memory.chat(name).reading() as (_, state):
                found.append((state.stored.name, state.row.context_window))
    return found


@pytest.mark.parametrize("where", ["environment", "file"])
def test_E6_a_new_chat_is_made_as_the_settings_say(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    assert run("add", "old", "hello")[0] == 0
    if where == "environment":
        monkeypatch.setenv("INFOLD_PRESET", "rolling")
        monkeypatch.setenv("INFOLD_CONTEXT_WINDOW", "4096")
    else:
        (tmp_path / "infold.toml").write_text("preset = 'rolling'\ncontext_window = 4096\n")
    (tmp_path / "talk.jsonl").write_text(json.dumps(user("hello")) + "\n")
    for command in (
        ("add", "old", "again"),
        ("replay", "talk.jsonl", "--chat", "old"),
        ("add", "new", "hello"),
        ("add", "new", "again"),
        ("add", "other", "hello", "--preset", "chain", "--context-window", "2048"),
        ("replay", "talk.jsonl"),
    ):
        assert run(*command)[0] == 0, command
    assert made(tmp_path, "old", "new", "other", "talk") == [
        ("default", 8192), ("rolling", 4096), ("chain", 2048), ("rolling", 4096)
    ]  # fmt: skip
    code, _, err = run("add", "new", "hello", "--preset", "default")
    assert (code, "was created with another policy" in err) == (1, True)


def told(number: int) -> list[dict[str, Any]]:
    """A turn with something to remember."""
    return [user(f"I prefer seat {number} and I moved to town {number}! {words(40)}"), assistant("Noted.")]


def asked_models(run: Run) -> list[str]:
    """Whom a fold of the chat `trip` asks; nobody answers there."""
    run("fold", "trip")
    return sorted(used["model"] for used in json.loads(run("usage", "trip", "--json")[1])["models"])


@pytest.mark.parametrize("where", ["environment", "file"])
def test_E6_commands_ask_the_hosted_prompt_and_keep_what_it_has_to_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nobody: str, where: str
) -> None:
    with Memory(f"sqlite:///{tmp_path}/infold.db") as memory:
        chat = memory.chat("trip", config=PRESETS["chunked"].with_values({"chunk_tokens": 200}))
        chat.add([message for n in range(12) for message in told(n)], created_at=START)
        assert chat.memory.cursor
    assert json.loads(run("compact", "--json")[1])["skipped_upgrade"] == 0
    monkeypatch.setenv("OPENAI_API_KEY", "a key of nobody")
    monkeypatch.setenv("OPENAI_BASE_URL", nobody)
    if where == "environment":
        monkeypatch.setenv("PROMPT_VERSION_SUMMARY_GLOBAL", "7")
    else:
        (tmp_path / "infold.toml").write_text("[memory]\nprompt_version_summary_global = '7'\n")
    done = json.loads(run("compact", "--remove", "--yes", "--json")[1])
    assert (done["messages"], done["skipped_upgrade"] > 0) == (0, True)
    assert asked_models(run) == [f"prompt:{HOSTED_PROMPT}"]


@pytest.mark.parametrize("name", ["MEMORY_SUMMARIZER_MODEL", "INFOLD_MODEL"])
def test_E6_commands_ask_all_models_of_a_list(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nobody: str, name: str
) -> None:
    with Memory(f"sqlite:///{tmp_path}/infold.db") as memory:
        memory.chat("trip", preset="rolling").add([message for n in range(6) for message in told(n)])
    monkeypatch.setenv(name, f"{nobody}#a, {nobody}#b")
    assert asked_models(run) == [f"openai:a@{nobody}", f"openai:b@{nobody}"]
    assert run("fold", "trip", "--model", "openai:c, nobody:d")[2].startswith("error: model (argument) must be")


def test_doctor_knows_ok_warn_and_fail(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("add", "trip", "hello")
    found = checks(run)
    names = ["python", "sqlite", "tokenizer", "embedder", "settings", "database", "disk", "model", "upstream"]
    assert list(found) == names
    assert {row["status"] for row in found.values()} == {"ok"}
    assert "schema" in found["database"]["detail"]
    monkeypatch.setenv("INFOLD_UPSTRAEM", "http://127.0.0.1")
    monkeypatch.setenv("MEMORY_SUMMARIZER_MODEL", "gpt-5-nano")
    code, out, _ = run("doctor")
    assert code == 0
    assert "did you mean INFOLD_UPSTREAM?" in out
    assert out.count("warn ") == 2
    assert "OPENAI_API_KEY" in checks(run)["model"]["detail"]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    assert checks(run)["model"]["detail"] == "openai:gpt-5-nano"


def test_doctor_says_that_settings_are_wrong_and_looks_no_further(run: Run, tmp_path: Path) -> None:
    (tmp_path / "infold.toml").write_text("port = 'high'")
    code, out, _ = run("doctor")
    assert code == 1
    assert "port (file infold.toml) must be a whole number from 0 to 65535, not 'high'" in out
    assert "database" not in out


def test_doctor_asks_the_upstream(run: Run, monkeypatch: pytest.MonkeyPatch, nobody: str) -> None:
    class Provider(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(503 if "/bad/" in self.path else 401 if self.path == "/v1/models" else 404)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        try:
            address = f"http://127.0.0.1:{server.server_address[1]}"
            monkeypatch.setenv("INFOLD_UPSTREAM", address)
            monkeypatch.setenv("INFOLD_ANTHROPIC_UPSTREAM", f"{address}/bad")
            found = checks(run)
            assert (found["upstream"]["status"], found["upstream"]["detail"]) == ("ok", f"{address}/v1 answers")
            assert found["anthropic upstream"]["status"] == "warn"
        finally:
            server.shutdown()
    monkeypatch.setenv("INFOLD_UPSTREAM", nobody)
    found = checks(run)
    assert found["upstream"]["status"] == "fail"
    assert "cannot be reached" in found["upstream"]["detail"]
    assert run("doctor")[0] == 1


def test_doctor_only_looks_at_an_old_database(run: Run, tmp_path: Path) -> None:
    old = sqlite3.connect(tmp_path / "infold.db")
    old.executescript((Path(__file__).parent / "ledger_0001.sql").read_text())
    old.commit()
    old.close()
    before = (tmp_path / "infold.db").read_bytes()
    found = checks(run)["database"]
    assert found["status"] == "warn"
    assert "has schema 0001; the next command that opens it" in found["detail"]
    assert (tmp_path / "infold.db").read_bytes() == before


def test_doctor_only_looks_at_an_empty_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "infold.db").touch()
    found = checks(run)["database"]
    assert (found["status"], "is not there yet" in found["detail"]) == ("ok", True)
    assert [(path.name, path.stat().st_size) for path in tmp_path.iterdir()] == [("infold.db", 0)]
    assert run("add", "trip", "hello")[0] == 0


def test_doctor_only_looks_at_an_old_postgresql_database(run: Run, postgres_url: str) -> None:
    version = "infold.alembic_version"
    with psycopg.connect(postgres_url) as connection:
        connection.execute(f"UPDATE {version} SET version_num = '0005'")
    found = checks(run, "-d", postgres_url)["database"]
    assert found["status"] == "warn"
    assert "has schema 0005; the next command that opens it" in found["detail"]
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute(f"SELECT version_num FROM {version}").fetchone() == ("0005",)


def test_doctor_fails_on_a_foreign_or_unreachable_database(run: Run, tmp_path: Path) -> None:
    (tmp_path / "infold.db").write_text("no database at all, but long enough to be taken for one" * 20)
    assert checks(run)["database"]["status"] == "fail"
    assert checks(run, "-d", "nowhere/x.db")["database"]["status"] == "fail"


def test_doctor_sees_that_workers_cannot_write(run: Run, postgres: Server, postgres_url: str) -> None:
    name = urlsplit(postgres_url).path[1:]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute("GRANT USAGE ON SCHEMA infold TO reader")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA infold TO reader")
    try:
        found = checks(run, "-d", postgres.url_of(name, "reader", ""))
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP OWNED BY reader")
            connection.execute("DROP ROLE reader")
    assert [found[check]["status"] for check in ("database", "workers")] == ["ok", "fail"]
    assert "may not write" in found["workers"]["detail"]
    assert checks(run, "-d", postgres_url)["workers"]["status"] == "ok"


def test_doctor_looks_at_postgresql(run: Run, postgres_url: str) -> None:
    with Memory(postgres_url) as memory:
        memory.chat("trip").add({"role": "user", "content": "hello"})
    found = checks(run, "-d", postgres_url)
    assert found["database"]["status"] == "ok"
    assert "PostgreSQL" in found["database"]["detail"]
    assert "disk" not in found  # it is on the server's machine
    gone = checks(run, "-d", "postgresql://nobody:hidden@127.0.0.1:1/x")
    assert gone["database"]["status"] == "fail"
    assert "hidden" not in str(gone)


@pytest.mark.parametrize(("free", "raises"), [(10**10, ""), (5 * 10**8, "make room soon"), (10**7, "make room before")])
def test_doctor_judges_free_space(run: Run, free: int, raises: str) -> None:
    from infold.cli.doctor import disk  # not before `run` has told how wide the output is

    if not raises:
        assert disk(Path("/x"), free) == "10.0 GB free in /x"
        return
    with pytest.raises(Exception, match=raises):
        disk(Path("/x"), free)


# Serving -----------------------------------------------------------------------------------------------


def test_serve_needs_keys_beyond_loopback(run: Run) -> None:
    pytest.importorskip("infold.service.app")
    code, out, err = run("serve", "--host", "0.0.0.0", "--port", "0")
    assert (code, out) == (1, "")
    assert "infold keys create" in " ".join(err.split())


def test_serve_says_that_a_port_is_taken(run: Run, nobody: str) -> None:
    pytest.importorskip("infold.service.app")
    port = nobody.removesuffix("/v1").rpartition(":")[2]  # bound by the fixture
    code, _, err = run("serve", "--port", port)
    assert code == 1
    assert "choose another with --port" in " ".join(err.split())


def test_serve_announces_itself_answers_and_ends_when_told(tmp_path: Path) -> None:
    pytest.importorskip("infold.service.app")
    environ = {name: value for name, value in os.environ.items() if name not in OURS}
    command = [sys.executable, "-c", "from infold.cli import main; main()", "serve", "--port", "0", "-d", "a.db"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            told = re.fullmatch(
                r"infold \S+ on (http://127\.0\.0\.1:\d+), database a\.db, upstream none \(no proxy\), "
                r"no keys: this machine only\n",
                line,
            )
            assert told, line
            with urllib.request.urlopen(f"{told[1]}/healthz", timeout=20) as answer:
                assert answer.status == 200
            server.send_signal(signal.SIGTERM)
            _, errors = server.communicate(timeout=20)
        finally:
            server.kill()
    assert server.returncode == 0
    for entry in errors.splitlines():
        assert json.loads(entry)["level"] in ("info", "debug")


# Deployment --------------------------------------------------------------------------------------------


def test_the_compose_file_has_a_database_a_server_and_two_workers() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    assert list(services) == ["database", "api", "worker"]
    assert services["api"]["command"] == ["serve"]
    assert services["worker"]["command"] == ["worker"]
    assert services["worker"]["deploy"]["replicas"] == 2
    for name in ("api", "worker"):
        known = OURS | {"OPENAI_API_KEY", "ANTHROPIC_API_KEY"}
        assert set(services[name]["environment"]) <= known
        assert services[name]["environment"]["INFOLD_DATABASE"].startswith("postgresql://")
        build = services[name]["build"]
        assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
        assert services[name]["stop_grace_period"] == "45s"  # more than the default grace
    for service in services.values():
        assert "." not in service["image"].partition("/")[0]  # no registry host


@pytest.mark.parametrize(("unit", "command"), [("infold.service", "serve"), ("infold-worker@.service", "worker")])
def test_the_units_start_the_command(unit: str, command: str, run: Run) -> None:
    parser = configparser.ConfigParser(interpolation=None, comment_prefixes=("#",), strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DEPLOY / unit)
    service = parser["Service"]
    program, *arguments = service["ExecStart"].split()
    assert Path(program).name == "infold"
    assert arguments == [command, "--config", "/etc/infold/infold.toml"]
    assert int(service["TimeoutStopSec"]) > 30
    code, out, _ = run(command, "--help")
    assert code == 0
    assert "--config" in out


def test_the_image_installs_what_the_project_offers_and_starts_infold() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    assert 'ENTRYPOINT ["infold"]' in lines
    assert "USER infold" in lines
    bases = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert all("/" not in base for base in bases)
    for line in lines:
        if line.startswith("COPY ") and "--from" not in line:
            assert all((DEPLOY.parent / source).exists() for source in line.split()[1:-1])


def test_a_worker_on_sqlite_is_told_who_does_its_work(run: Run) -> None:
    code, _, error = run("worker", "--database", "sqlite:///chats.db")
    assert code == 1
    assert "PostgreSQL" in error
    assert "infold serve" in error
