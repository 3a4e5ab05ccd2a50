"""`infold facts`, `infold entities` and `infold recall`, as a person or a script uses them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from infold import Memory
from tests.conftest import assistant, counted_ids, ticking_clock, turn, user
from tests.test_cli import Run, in_folder

MARCH, MAY = "2026-03-02T09:00:00Z", "2026-05-04T09:00:00Z"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with two chats of Ada's and one of nobody's."""
    path = tmp_path_factory.mktemp("filled") / "infold.db"
    with Memory(f"sqlite:///{path}", clock=ticking_clock(), ids=counted_ids()) as memory:
        for name, said, when in (
            ("trip", "I live in Berlin. I prefer window seats. The hotel is called Blue Heron [sic].", MARCH),
            ("move", "I live in Hamburg now. I will call Anna by Friday about the key.", MAY),
        ):
            chat = memory.chat(name, user="ada", preset="rolling")
            chat.add([user(said), assistant("Noted.")], created_at=when)
            chat.add([message for number in range(6) for message in turn(number)], created_at=when)
            chat.fold()
        memory.chat("other").add(user("The password of the hotel is swordfish."), created_at=MAY)
    return path


@pytest.fixture
def run(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    shutil.copy(filled, tmp_path / "infold.db")
    return in_folder(tmp_path, monkeypatch, capfd)


def test_facts_of_a_chat_are_a_table_with_sources(run: Run) -> None:
    code, out, _ = run("facts", "trip")
    assert code == 0
    rows = [[cell.strip() for cell in line.split("│")[2:-1]] for line in out.splitlines() if "Berlin" in line]
    assert rows == [["current", "who", "I live in Berlin.", "2026-03-02", "", "1"]]


def test_F14_what_is_known_is_put_right(run: Run) -> None:
    code, out, _ = run("facts", "--user", "ada", "--json")
    fact = next(fact for fact in json.loads(out) if "Hamburg" in fact["text"])
    code, out, _ = run("correct", fact["id"], "I moved to Bremen.", "--user", "ada")
    assert (code, out.strip()) == (0, "corrected: I moved to Bremen.")
    code, out, _ = run("facts", "--user", "ada", "--json")
    bremen = next(fact for fact in json.loads(out) if "Bremen" in fact["text"])
    assert (bremen["author"], bremen["sources"]) == ("person", fact["sources"])
    assert "Hamburg" not in out
    assert json.loads(run("confirm", bremen["id"], "--user", "ada", "--json")[1])["standing"] == 1000
    assert run("retract", bremen["id"], "--chat", bremen["chat"])[0] == 0
    assert "Bremen" not in run("facts", "--user", "ada")[1]
    code, _, err = run("retract", "nothing", "--user", "ada")
    assert code != 0
    assert "nothing" in err


def test_facts_of_a_user_show_what_was_superseded_only_when_asked(run: Run) -> None:
    _, out, _ = run("facts", "--user", "ada")
    assert "Berlin" not in out
    assert "Hamburg" in out
    _, out, _ = run("facts", "--user", "ada", "--all", "--json")
    berlin = next(fact for fact in json.loads(out) if "Berlin" in fact["text"])
    assert berlin["status"] == "superseded"
    assert (berlin["text"], berlin["kind"], berlin["said_by"]) == ("I live in Berlin.", "who", "user")
    assert berlin["said_at"] == "2026-03-02T09:00:00.000Z"
    assert berlin["valid_to"] == "2026-05-04T09:00:00.000Z"
    assert (berlin["chat"], berlin["sources"]) == ("trip", [1])


def test_a_chat_that_states_nothing_says_so(run: Run) -> None:
    for command in ("facts", "entities"):
        code, out, _ = run(command, "other")
        assert code == 0
        assert f"no {command} are known yet" in out
    assert json.loads(run("facts", "other", "--json")[1]) == []


def test_recall_shows_who_when_where_and_how_to_go_on(run: Run) -> None:
    code, out, err = run("recall", "Which hotel?", "--chat", "trip", "--kind", "message", "--limit", "1")
    assert code == 0
    head, text = out.splitlines()[:2]
    assert head.startswith("user  2026-03-02  trip 1  score ")
    assert text.strip().endswith("The hotel is called Blue Heron [sic].")
    assert err == ""
    (hit,) = json.loads(run("recall", "Which hotel?", "--chat", "trip", "--limit", "1", "--json")[1])
    assert head.endswith(f"  {hit['sources'][0]['id']}")
    assert hit["at"] == "2026-03-02T09:00:00.000Z"


def test_recall_of_a_user_sees_all_of_their_chats_and_nobody_elses(run: Run) -> None:
    hits = json.loads(run("recall", "hotel Hamburg password", "--user", "ada", "--json")[1])
    assert {hit["chat"] for hit in hits} == {"trip", "move"}
    hits = json.loads(run("recall", "hotel Hamburg", "--user", "ada", "--chat", "move", "--json")[1])
    assert {hit["chat"] for hit in hits} == {"move"}


def test_recall_filters_by_day_with_both_ends_included(run: Run) -> None:
    def chats(*options: str) -> set[str]:
        return {
            hit["chat"] for hit in json.loads(run("recall", "hotel Hamburg", "--user", "ada", "--json", *options)[1])
        }

    assert chats("--since", "2026-05-04") == {"move"}
    assert chats("--until", "2026-03-02") == {"trip"}
    assert chats("--since", "2026-03-02", "--until", "2026-05-04") == {"move", "trip"}
    assert chats("--until", "2026-03-02T08:00") == set()
    _, out, _ = run("recall", "hotel", "--user", "ada", "--since", "2027-01-01")
    assert out == "nothing was found\n"


def test_recall_filters_by_kind(run: Run) -> None:
    hits = json.loads(
        run("recall", "window seats", "--chat", "trip", "--kind", "fact", "--kind", "summary", "--json")[1]
    )
    assert {hit["kind"] for hit in hits} <= {"fact", "summary"}
    assert hits[0]["text"] == "I prefer window seats."


def test_words_of_the_query_are_marked_in_every_form() -> None:
    from infold.cli.recalling import marked
    from infold.recall.hits import Hit

    text = marked(Hit("message", "We packed seats; packing [bold]took[/bold] an hour.", 0, "c", (), 1.0), "pack a seat")
    assert text.plain == "We packed seats; packing [bold]took[/bold] an hour."
    assert [text.plain[span.start : span.end] for span in text.spans] == ["packed", "seats", "packing"]
    part = marked(Hit("message", "no end", 0, "c", (), 1.0, whole=False), "x")
    assert part.plain == "… no end …"


def test_entities_are_listed_set_and_removed(run: Run) -> None:
    code, out, _ = run(
        "entities", "set", "task", "Book the ferry", "--user", "ada", "--due", "2026-06-01", "--owner", "Ada"
    )
    assert code == 0
    assert "Book the ferry" in out
    id = out.split()[0]
    assert run("entities", "set", "task", "Book the ferry", "--user", "ada", "--status", "done")[0] == 0
    _, out, _ = run("entities", "--user", "ada", "--kind", "task", "--json")
    entity = next(one for one in json.loads(out) if one["id"] == id)
    assert (entity["status"], entity["due"], entity["owner"]) == ("done", "2026-06-01", "Ada")
    _, out, _ = run("entities", "trip")
    assert "Book the ferry" in out
    assert json.loads(run("entities", "list", "trip", "--kind", "file", "--json")[1]) == []
    assert run("entities", "remove", id, "--user", "ada")[1] == f"removed {id}\n"
    assert id not in run("entities", "--user", "ada")[1]
    code, _, err = run("entities", "remove", id, "--user", "ada")
    assert (code, f"there is no entity '{id}'" in err) == (1, True)


def test_entities_are_linked(run: Run) -> None:
    run("entities", "set", "project", "Ferry trip", "--chat", "other")
    _, out, _ = run("entities", "set", "task", "Buy tickets", "--chat", "other", "--link", "Ferry trip", "--json")
    assert len(json.loads(out)["links"]) == 1
    _, out, _ = run("entities", "other", "--kind", "task")
    assert "Ferry trip" in out


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["facts", "trap"], "no chat 'trap'; there are trip, move, other"),
        (["facts", "--user", "bob"], "no user 'bob'; there are ada"),
        (["recall", "x", "--chat", "trap"], "no chat 'trap'"),
        (["recall", "x", "--user", "ada", "--chat", "other"], "there is no chat 'other' of the user 'ada'"),
        (["recall", "x", "--chat", "trip", "--since", "soon"], "--since must be a date such as 2026-05-01"),
        (["recall", "x", "--chat", "trip", "--until", "9999-12-31"], "--until must be a date"),
        (["recall", "x", "--chat", "trip", "--kind", "rumour"], "unknown kind 'rumour': use some of message, fact"),
        (["recall", "x", "--chat", "trip", "--limit", "0"], "limit must be a whole number from 1"),
        (["recall", " ", "--chat", "trip"], "recall needs a query"),
        (["entities", "trap"], "no chat 'trap'"),
        (["entities", "trip", "--kind", "dragon"], "unknown kind 'dragon': use one of task, goal"),
        (["entities", "set", "dragon", "Smaug", "--chat", "trip"], "unknown kind of entity 'dragon'"),
        (["entities", "set", "task", "x", "--chat", "trip", "--due", "soon"], "due must be a date"),
        (["entities", "set", "task", "x", "--chat", "trip", "--status", "odd"], "unknown status 'odd'"),
    ],
)
def test_errors_are_one_sentence(run: Run, args: list[str], sentence: str) -> None:
    code, out, err = run(*args)
    assert code == 1
    assert err.startswith("error: ")
    assert sentence in err
    assert "Traceback" not in err + out


@pytest.mark.parametrize(
    "args",
    [
        ["facts"],
        ["facts", "trip", "--user", "ada"],
        ["entities", "--json"],
        ["entities", "set", "task", "x"],
        ["recall", "x"],
        ["recall"],
    ],
)
def test_a_wrong_command_ends_with_2(run: Run, args: list[str]) -> None:
    assert run(*args)[0] == 2


def test_add_and_replay_tell_whose_chat_it_is(run: Run, tmp_path: Path) -> None:
    run("add", "new", "hello", "--user", "bob")
    (tmp_path / "old.json").write_text(json.dumps([user("hello there")]))
    run("replay", "old.json", "--user", "bob")
    assert "new  1 messages, 0 folded  (default, bob)" in run("chats")[1]
    assert [one["id"] for one in json.loads(run("chats", "--json")[1]) if one["user"] == "bob"] == ["new", "old"]
    assert run("facts", "--user", "bob")[0] == 0


def test_the_demo_finds_what_was_said_long_ago(run: Run) -> None:
    code, out, _ = run("replay", "--demo")
    assert code == 0
    assert "facts hold" in out
    assert "? How wide is the freight door?" in out
    assert "freight door 1.85 m wide" in " ".join(out.split())
    assert "user, 2026-03-30, message 36" in out
