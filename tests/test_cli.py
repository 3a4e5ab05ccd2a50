"""The command line, as a person or a script uses it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infold import Memory
from infold.cli import main
from tests.conftest import assistant, call, result, turn, user

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    return in_folder(tmp_path, monkeypatch, capfd)


def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """`infold ARGS` in an empty folder; gives exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("INFOLD_DATABASE", raising=False)

    def infold(*args: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["infold", *args])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return infold


def write_jsonl(path: Path, messages: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(message) + "\n" for message in messages))


def transcript() -> list[dict[str, Any]]:
    messages = [{"role": "system", "content": "You are brief."}]
    for number in range(15):
        messages += turn(number, 20)
    return messages


def test_add_context_summary_fold_verify_in_a_new_folder(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("add", "trip", "My name is Ada and I prefer window seats.", "--preset", "rolling")
    assert code == 0
    assert "message 1 (user" in out
    assert (tmp_path / "infold.db").exists()
    code, out, _ = run("add", "trip", "--role", "assistant", stdin="Noted.")
    assert "message 2 (assistant" in out
    code, out, _ = run("summary", "trip")
    assert "nothing is remembered yet: all 2 messages are still verbatim" in out
    code, out, _ = run("context", "trip", "Which seat?", "--json")
    answer = json.loads(out)
    assert answer["messages"][-1] == {"role": "user", "content": "Which seat?"}
    assert answer["tokens"] <= answer["budget"]
    for number in range(12):
        run("add", "trip", f"filler {number}", "--role", "assistant" if number % 2 else "user")
    code, out, _ = run("summary", "trip")
    assert "Ada" in out
    assert "[1]" in out
    code, out, _ = run("fold", "trip", "--json")
    assert json.loads(out)["folded"] is True
    code, out, _ = run("verify")
    assert code == 0
    assert out.startswith("ok: 14 messages in 1 chat;")
    code, out, _ = run("chats")
    assert out.startswith("trip  14 messages")


def test_a_message_that_is_refused_begins_no_chat(run: Run, tmp_path: Path) -> None:
    run("add", "there", "Hello")
    for arguments in (("add", "new", "--role", "usr", "Hello"), ("add", "there", "--role", "usr", "Hello")):
        code, _, errors = run(*arguments)
        assert (code, errors.count("unknown role 'usr'")) == (1, 1)
    write_jsonl(tmp_path / "wrong.jsonl", [{"role": "usr", "content": "Hello"}])
    assert run("replay", "wrong.jsonl")[0] == 1
    assert [chat["id"] for chat in json.loads(run("chats", "--json")[1])] == ["there"]


def test_who_interrupts_the_start_sees_no_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("infold.cli.app.app", interrupted)
    assert run("chats") == (130, "", "")


def test_add_a_file_keeps_orphans_and_is_one_transaction(run: Run, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "log.jsonl", [user("hi"), result("gone", "lost and found"), assistant("yes")])
    code, out, _ = run("add", "log", "--file", "log.jsonl", "--json")
    assert code == 0
    assert [m["seq"] for m in json.loads(out)["messages"]] == [1, 2, 3]
    _, out, _ = run("context", "log", "and?", "--text")
    assert "[tool result without its call] lost and found" in out
    write_jsonl(tmp_path / "bad.jsonl", [user("fine"), {"role": "robot", "content": "x"}])
    code, _, err = run("add", "log", "--file", "bad.jsonl")
    assert (code, "unknown role 'robot'" in err) == (1, True)
    with Memory(f"sqlite:///{tmp_path}/infold.db") as memory:
        assert len(memory.chat("log").messages()) == 3


def test_folding_a_chat_that_is_too_short_says_so(run: Run) -> None:
    run("add", "a", "I moved to Porto.")
    code, out, _ = run("fold", "a")
    assert code == 0
    assert "no message is folded yet: the newest stay word for word" in out
    assert "no message" not in run("fold", "a", "--json")[1]


def test_replay_shows_folds_memory_and_proof(run: Run, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "talk.jsonl", transcript())
    code, out, _ = run("replay", "talk.jsonl", "--preset", "rolling")
    assert code == 0
    assert "fold   1  messages 1–6 (6), because of overflow" in out
    assert "30 of 30 messages accounted for" in out
    assert "0 lost" in out


def test_replay_again_adds_nothing_and_fresh_starts_over(run: Run, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "talk.jsonl", transcript())
    first = json.loads(run("replay", "talk.jsonl", "--json")[1])
    again = json.loads(run("replay", "talk.jsonl", "--json")[1])
    assert again == first
    fresh = json.loads(run("replay", "talk.jsonl", "--json", "--fresh")[1])
    assert {**fresh, "folds": 0} == {**first, "folds": 0}
    assert fresh["proof"]["ok"] is True


@pytest.mark.parametrize("shape", ["list", "object", "jsonl"])
def test_replay_reads_every_shape_of_transcript(run: Run, tmp_path: Path, shape: str) -> None:
    path = tmp_path / "t.json"
    if shape == "jsonl":
        write_jsonl(path, transcript())
    else:
        path.write_text(json.dumps(transcript() if shape == "list" else {"messages": transcript(), "task": 1}))
    report = json.loads(run("replay", "t.json", "--json")[1])
    assert report["messages"] == 30
    with Memory(f"sqlite:///{tmp_path}/infold.db") as memory:
        assert memory.chat("t").context("hi").messages[0] == {"role": "system", "content": "You are brief."}


def test_the_demo_folds_tools_and_all(run: Run) -> None:
    code, out, _ = run("replay", "--demo", "--json")
    report = json.loads(out)
    assert code == 0
    assert report["proof"]["ok"] is True
    assert report["proof"]["folded"] + report["proof"]["unfolded"] == report["messages"] == 181
    assert len(report["folds"]) >= 5
    assert "Ropeworks" in report["summary"]
    assert "hazelnuts" in report["summary"]
    assert report["context"]["tokens"] <= report["context"]["budget"]
    assert all(item["sources"] for item in report["items"])
    assert report["facts"] > 20
    assert report["entities"] > 10


@pytest.mark.parametrize(
    ("args", "content", "sentence"),
    [
        (["replay", "none.json"], None, "no file none.json"),
        (["replay", "."], None, "is a folder"),
        (["replay", "x.json"], b"\xff\xfe{", "not UTF-8"),
        (["replay", "x.json"], b'{"role": "user"', "line 1: not JSON"),
        (["replay", "x.json"], b"[]", "holds no messages"),
        (["replay", "x.json"], b"[1]", "entry 1 is int"),
        (["replay", "x.json", "--preset", "magic"], b'[{"role":"user","content":"x"}]', "unknown preset 'magic'"),
        (["summary", "trip"], None, "no database at infold.db"),
        (["verify", "-d", "mysql://x"], None, "must be a database such as sqlite:///infold.db"),
        (["context", "x", "-d", "sqlite:///x.json"], b"junk" * 500, "not a readable SQLite database"),
    ],
)
def test_errors_are_one_sentence(
    run: Run, tmp_path: Path, args: list[str], content: bytes | None, sentence: str
) -> None:
    if content is not None:
        (tmp_path / "x.json").write_bytes(content)
    code, out, err = run(*args)
    assert code == 1
    assert err.startswith("error: ")
    assert sentence in err
    assert "Traceback" not in err + out


def test_replay_wants_exactly_one_thing(run: Run) -> None:
    assert run("replay")[0] == 2
    assert run("replay", "x.json", "--demo")[0] == 2


def test_a_chat_that_is_not_there_is_not_created(run: Run, tmp_path: Path) -> None:
    run("add", "trip", "hello")
    code, _, err = run("context", "tripp")
    assert code == 1
    assert "no chat 'tripp'; there are trip" in err
    with Memory(f"sqlite:///{tmp_path}/infold.db") as memory:
        assert [info.id for info in memory.chats()] == ["trip"]


def test_verify_finds_a_changed_message_and_says_which(run: Run, tmp_path: Path) -> None:
    run("add", "trip", "the truth")
    with Memory(f"sqlite:///{tmp_path}/infold.db") as memory, memory.database.write() as connection:
        connection.execute("UPDATE messages SET content = 'a lie'")
    code, out, _ = run("verify")
    assert code == 1
    assert "trip: message 1" in out
    assert "was changed after it was added" in out
    assert json.loads(run("verify", "--json")[1])["ok"] is False
    assert run("doctor")[0] == 1


@pytest.mark.parametrize(
    "change", ["chats SET policy = '{'", "chats SET marks = '{'", "messages SET body = '{'", "events SET data = '{'"]
)
def test_D7_no_command_shows_a_raw_error_for_a_damaged_row(run: Run, tmp_path: Path, change: str) -> None:
    run("add", "trip", "hello", "--user", "ada")
    with Memory(f"sqlite:///{tmp_path}/infold.db") as memory, memory.database.write() as connection:
        connection.execute(f"UPDATE {change}")
    for command in (["add", "trip", "again"], ["context", "trip"], ["summary", "trip"], ["facts", "trip"], ["chats"]):
        code, out, err = run(*command)
        assert (command, code, err) == (command, 0, err)
        assert "Expecting" not in out + err
    with Memory(f"sqlite:///{tmp_path}/infold.db") as memory, memory.database.write() as connection:
        connection.execute(f"UPDATE {change}")
    code, out, _ = run("verify", "--repair")
    assert code == 1
    assert "Expecting" not in out


def test_verify_repairs_what_was_changed_in_memory(run: Run, tmp_path: Path) -> None:
    with Memory(f"sqlite:///{tmp_path}/infold.db") as memory:
        chat = memory.chat("trip", preset="rolling")
        for number in range(12):
            chat.add({"role": "assistant" if number % 2 else "user", "content": f"I prefer seat {number}."})
        before = chat.summary
        with memory.database.write() as connection:
            connection.execute("UPDATE lines SET text = 'I prefer to stand.'")
    assert run("verify")[0] == 1
    code, out, _ = run("verify", "--repair")
    assert (code, "ok: 12 messages" in out) == (0, True)
    with Memory(f"sqlite:///{tmp_path}/infold.db") as memory:
        assert memory.chat("trip").summary == before


def test_doctor_is_content_with_a_healthy_place(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = run("doctor")
    assert code == 0
    assert "is not there yet" in out
    run("add", "trip", "hello")
    checks = {row["check"]: row for row in json.loads(run("doctor", "--json")[1])}
    assert all(row["ok"] for row in checks.values())
    assert "journal wal" in checks["database"]["detail"]
    assert checks["embedder"]["detail"] == "wordllama-256, offline"
    monkeypatch.setenv("MEMORY_HOT_TURNS_LIMIT", "lots")
    code, out, _ = run("doctor")
    assert code == 1
    assert "MEMORY_HOT_TURNS_LIMIT must be a whole number" in out


def test_explain_names_layers_and_what_is_left_out(run: Run, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "talk.jsonl", [*transcript(), call("c1"), result("c1")])
    run("replay", "talk.jsonl")
    _, out, _ = run("context", "talk", "--explain", "--max-tokens", "300")
    assert "of 300 tokens" in out
    assert "left out:" in out
    assert "bridge" in out


def test_the_installed_command_runs_and_has_a_version() -> None:
    command = [sys.executable, "-c", "import infold.cli; infold.cli.main()", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("infold 0.")


def test_importing_infold_is_light() -> None:
    heavy = "{'sqlalchemy', 'alembic', 'tiktoken', 'rich', 'typer', 'numpy', 'pydantic', 'sqlite3', 'asyncio'}"
    code = f"import infold, sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    import infold

    for name in infold.__all__:
        assert getattr(infold, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Telepathy'"):
        _ = infold.Telepathy
