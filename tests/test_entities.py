"""E8: entities with status, due date and links, read from messages or set by hand; relevance without a clock."""

from __future__ import annotations

import random
import re
import time
import tomllib
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infold.knowledge.entity import KINDS, STATUSES, Entity, Mention, key_of, line
from infold.knowledge.joining import Things, resolve
from infold.knowledge.mentions import read
from infold.knowledge.relevance import Entities, relevant
from infold.messages import ROLES, Message
from infold.quoting.candidate import Candidate, Place
from infold.quoting.history import read_all

CORPUS = Path(__file__).parent / "corpus" / "entities.toml"
MONDAY = int(datetime.fromisoformat("2026-05-04T10:00:00Z").timestamp() * 1000)
HOUR, DAY = 3_600_000, 86_400_000
CASES: list[dict[str, Any]] = tomllib.loads(CORPUS.read_text(encoding="utf-8"))["case"]


def message(text: str, seq: int = 1, at: int = MONDAY, name: str | None = None) -> Message:
    """A message of the user's, or of whom it names first."""
    by, _, rest = text.partition(": ")
    role, text = (by, rest) if by in ("assistant", "tool", "system") else ("user", text)
    call = "c1" if role == "tool" else None
    return Message(role, text, name=name, seq=seq, id=f"m{seq}", created_at=at, tool_call_id=call)


def mentions(*texts: str, chat: str = "chat") -> list[Mention]:
    found: list[Mention] = []
    for at, text in enumerate(texts):
        found += read(message(text, at + 1, MONDAY + at * HOUR), [], chat)
    return found


def entities(*texts: str) -> list[Entity]:
    return resolve(mentions(*texts))


def shown(found: list[Entity]) -> list[str]:
    names = {one.id: one.name for one in found}
    return sorted(line(one, names) for one in found)


def said(case: dict[str, Any]) -> list[str]:
    return [case["says"]] if isinstance(case["says"], str) else case["says"]


def readable(case: dict[str, Any]) -> str:
    return re.sub(r"\W+", "-", said(case)[-1].encode("ascii", "ignore").decode().lower()).strip("-")[:48] or "abroad"


# ---------------------------------------------------------------- reading


@pytest.mark.parametrize("case", CASES, ids=readable)
def test_E8_corpus(case: dict[str, Any]) -> None:
    assert set(case) <= {"says", "gives", "nothing"}
    assert ("gives" in case) != case.get("nothing", False), "either something or nothing"
    assert shown(entities(*said(case))) == case.get("gives", [])


def test_E8_corpus_is_large_enough() -> None:
    assert len(CASES) >= 70
    assert sum(case.get("nothing", False) for case in CASES) >= 25
    assert len({str(case["says"]) for case in CASES}) == len(CASES)


def test_E8_a_mention_knows_its_message() -> None:
    (task, person) = mentions("I'll send the report to Anna by Friday.", chat="c7")
    assert task == Mention(
        "task", "Send the report to Anna", "open", "2026-05-08", "User", ("Anna",), MONDAY, "c7", 1, "m1", False
    )
    assert person == Mention("person", "Anna", "", "", "", ("Send the report to Anna",), MONDAY, "c7", 1, "m1", False)


def test_E8_who_speaks_under_a_name_owns_the_task() -> None:
    found = {one.kind: one for one in read(message("I'll send the report to the bank.", name="Kwabena"), [], "c")}
    assert found["task"].owner == "Kwabena"
    assert found["person"].name == "Kwabena"


@pytest.mark.parametrize(
    "text",
    [
        "Anna should call Dr. Weber by 8 May. You need to renew the passport by 12 May.",
        "The build is broken because setup.py imports a missing module. My goal is to learn Spanish.",
        "Project Atlas was led by Maria. If the upload fails, send report.pdf to Tom.",
        "I'll look into it. I'll send the report to Anna.",
    ],
)
def test_E8_an_assistants_explanations_name_nothing(text: str) -> None:
    assert mentions(f"assistant: {text}") == []
    assert (
        mentions(f"tool: I need to call Anna by 8 May. {text}", f"system: I need to call Anna by 8 May. {text}") == []
    )


def test_E8_an_assistant_may_promise_something_for_a_day() -> None:
    (task,) = mentions("assistant: I'll send you the summary by Friday.")
    assert (task.kind, task.name, task.due, task.owner) == ("task", "Send you the summary", "2026-05-08", "Assistant")


@pytest.mark.parametrize("said", ["I've booked the table for Anna.", "assistant: Done, I booked the table for Anna."])
def test_E8_a_task_closed_later_is_done(said: str) -> None:
    before = ("I need to book the table for Anna.", "The export keeps failing.")
    assert {one.status for one in entities(*before)} == {"open"}
    found = {one.kind: one.status for one in entities(*before, said)}
    assert (found["task"], found["problem"]) == ("done", "open")
    found = {one.kind: one.status for one in entities(*before, said, "assistant: The export works again.")}
    assert (found["task"], found["problem"]) == ("done", "done")


@pytest.mark.parametrize(
    ("text", "owner"),
    [
        ("I need to call the bank.", "User"),
        ("Remind me to call the bank.", "User"),
        ("Will call the bank.", "User"),
        ("Bob has to call the bank by 6 May.", "Bob"),
        ("We still have to call the bank.", ""),
        ("assistant: I'll call the bank on 6 May.", "Assistant"),
    ],
)
def test_E8_a_task_has_an_owner(text: str, owner: str) -> None:
    (task,) = [one for one in mentions(text) if one.kind == "task"]
    assert (task.name, task.owner) == ("Call the bank", owner)


@pytest.mark.parametrize(
    ("words", "due"),
    [
        ("by 8 May", "2026-05-08"),
        ("by May 8th", "2026-05-08"),
        ("by Fri 8 May 2026", "2026-05-08"),
        ("by 2026-05-08", "2026-05-08"),
        ("on Friday", "2026-05-08"),
        ("before the end of next week (15 May 2026)", "2026-05-15"),
        ("by 3 May", "2027-05-03"),
        ("by 31 June", ""),
        ("on 8 or 9 May", ""),
        ("from 18-25 July", ""),
        ("between 8 May and 9 May", ""),
        ("about flat 8", ""),
    ],
)
def test_E8_a_task_is_due_on_one_day(words: str, due: str) -> None:
    (task,) = [one for one in mentions(f"I need to call the bank {words}.") if one.kind == "task"]
    assert task.due == due
    assert (task.name == "Call the bank") == bool(due)


def test_E8_what_is_over_is_of_no_kind() -> None:
    assert [(one.kind, one.status) for one in mentions("I've called the plumber.")] == [("", "done")]
    assert [(one.kind, one.status) for one in mentions("We dropped the idea of the newsletter.")] == [("", "dropped")]
    assert mentions(
        "I asked Tom to call the plumber.", "Have you called the plumber?", "I haven't called them yet."
    ) == [Mention("person", "Tom", at=MONDAY, chat="chat", seq=1, id="m1")]


def test_E8_one_mention_of_each_entity_a_message() -> None:
    found = mentions("Anna said yes. I'll send Anna the contract.pdf tomorrow. Anna's office is closed on Monday.")
    assert len({one.key for one in found}) == len(found)
    (anna,) = [one for one in found if one.kind == "person"]
    assert "contract.pdf" in anna.links


def test_E8_what_is_pasted_is_nobodys_own() -> None:
    letter = message("what do I answer?\n\nDear Ms Marsh,\nI will send the keys to Anna by 8 May.\nThe lift is broken.")
    assert [one.kind for one in read(letter, [], "c")] != []
    assert read(letter, read_all([letter], [])[0], "c") == []


ANY = st.text(max_size=200) | st.lists(
    st.sampled_from(
        "I need to remind me will call Anna by 8 May (8 May 2026) done broken goal: , . ' \ud800 ’".split(" ")
    ),
    max_size=30,
).map(" ".join)


@given(st.sampled_from(ROLES), ANY, st.integers(0, 2**41), st.integers(0, 200), st.booleans())
def test_E8_any_text_can_be_read(role: str, text: str, at: int, start: int, borrowed: bool) -> None:
    one = Message(role, text, seq=1, created_at=at)
    candidate = Candidate(text, (Place(1, start, start + 40),), role, role, at, borrowed=borrowed)
    for mention in read(one, [candidate], "c"):
        assert mention.kind in (*KINDS, "")
        assert mention.status in (*STATUSES, "")
        assert mention.name
        assert len(mention.name) <= 160
        assert mention.links == tuple(sorted(set(mention.links)))
        assert role == "user" or (role == "assistant" and mention.kind in ("", "task"))


@pytest.mark.parametrize(
    "text",
    ["a" * 300_000, "I need to " * 30_000, ",;: " * 75_000, "remind me to (8 May " * 15_000, "Anna van " * 30_000],
)
def test_E8_a_long_text_is_read_in_time(text: str) -> None:
    one = Message("user", text, seq=1, created_at=MONDAY)
    start = time.perf_counter()
    read(one, [], "c")
    assert time.perf_counter() - start < 5


# ---------------------------------------------------------------- resolving

TASKS = [
    "Send the report to Anna", "Send Anna the report", "Call the plumber", "Call the plumber back", "Buy milk",
    "Write the newsletter", "Fix the login page", "Book the flight to Rome", "Book the hotel in Rome", "买牛奶", "",
]  # fmt: skip
PEOPLE = ["Anna", "anna", "Tom", "Anna Weber", "report.pdf", "Apollo"]
OVER = ["I sent the report to Anna", "I called the plumber", "Rome is booked", "The newsletter is cancelled", "milk"]


def some_mention() -> st.SearchStrategy[Mention]:
    def build(
        kind: str,
        told: str,
        named: str,
        over: str,
        status: str,
        due: str,
        links: set[str],
        at: int,
        seq: int,
        by_hand: bool,
    ) -> Mention:
        name = over if not kind else told if kind in ("task", "goal", "problem") else named
        place = ("", 0, "") if by_hand else (f"c{seq % 2}", seq, f"m{seq}")
        return Mention(kind, name, status if kind else "done", due, "", tuple(sorted(links)), at, *place, by_hand)

    return st.builds(
        build,
        st.sampled_from(["", *KINDS]),
        st.sampled_from(TASKS),
        st.sampled_from(PEOPLE),
        st.sampled_from(OVER),
        st.sampled_from(["", *STATUSES]),
        st.sampled_from(["", "2026-05-08", "2026-06-01"]),
        st.sets(st.sampled_from(TASKS + PEOPLE), max_size=3),
        st.integers(0, 5).map(lambda days: MONDAY + days * DAY),
        st.integers(1, 5),
        st.booleans(),
    )


@given(st.lists(some_mention(), max_size=25), st.randoms(use_true_random=False))
def test_E8_the_order_of_mentions_does_not_matter(found: list[Mention], shuffler: random.Random) -> None:
    shuffled = found[:]
    shuffler.shuffle(shuffled)
    assert resolve(shuffled) == resolve(found)
    assert resolve(found + shuffled) == resolve(found), "nor how often one is given"


@given(st.lists(st.lists(some_mention(), max_size=8), max_size=6), st.sampled_from([*TASKS, *PEOPLE, *OVER]))
def test_E8_mentions_may_come_bit_by_bit_in_any_order(parts: list[list[Mention]], query: str) -> None:
    things, known, so_far = Things(), Entities(), []
    for part in parts:
        so_far += part
        changed = things.add(part)
        known.change([things.entity(id) for id in changed if id in things], [id for id in changed if id not in things])
        at_once = resolve(so_far)
        assert list(known) == at_once
        assert known.relevant(query, 5) == relevant(at_once, query, 5)
        assert [known.line(one) for one in known] == [line(one, {o.id: o.name for o in at_once}) for one in at_once]


@given(st.lists(some_mention(), max_size=25))
def test_E8_entities_are_whole(found: list[Mention]) -> None:
    every = resolve(found)
    by_id = {one.id: one for one in every}
    assert len(by_id) == len(every)
    assert [(one.last_at, one.id) for one in every] == sorted(
        ((one.last_at, one.id) for one in every), key=lambda key: (-key[0], key[1])
    )
    for one in every:
        assert one.id == key_of(one.kind, one.name)
        assert one.status in STATUSES
        assert one.links == tuple(sorted(set(one.links)))
        assert one.id not in one.links
        assert all(one.id in by_id[other].links for other in one.links), "links stand at both ends"
        assert one.first_at <= one.last_at
        assert one.mentions >= 1
        assert ("", 0, "") not in one.sources
    keys = {one.key for one in found if one.kind}
    assert {one.id for one in every} <= keys


def test_E8_names_differ_in_writing_only() -> None:
    assert key_of("person", "Anna") == key_of("person", " ANNA ")
    assert key_of("person", "Anna") != key_of("project", "Anna")
    assert re.fullmatch(r"[0-9a-f]{16}", key_of("task", "x\ud800"))


def test_E8_near_equal_words_are_one_task_and_other_words_are_another() -> None:
    found = resolve(
        [
            Mention("task", "Send the report to Anna", "open", at=1, chat="c", seq=1),
            Mention("task", "Send Anna the report", "", "2026-05-08", at=2, chat="c", seq=2),
            Mention("task", "Send the slides to Anna", "open", at=3, chat="c", seq=3),
            Mention("goal", "Send the report to Anna", "open", at=4, chat="c", seq=4),
        ]
    )
    assert [(one.kind, one.name, one.due, one.mentions) for one in found] == [
        ("goal", "Send the report to Anna", "", 1),
        ("task", "Send the slides to Anna", "", 1),
        ("task", "Send the report to Anna", "2026-05-08", 2),
    ]


def test_E8_the_latest_that_says_something_wins_field_by_field() -> None:
    first = Mention("task", "Buy paint", "open", "2026-05-08", "User", at=1, chat="c", seq=1)
    hand = Mention("task", "buy paint", "done", "", "", at=5, by_hand=True)
    later = replace(first, status="open", due="", owner="Tom", at=9, seq=2)
    tie = replace(first, status="open", due="2026-07-01", at=5, seq=3)
    assert [(one.status, one.due, one.owner) for one in resolve([first, hand])] == [("done", "2026-05-08", "User")]
    assert [(one.status, one.due) for one in resolve([first, hand, tie])] == [("done", "2026-07-01")]
    assert [(one.status, one.due, one.owner) for one in resolve([first, hand, later])] == [
        ("open", "2026-05-08", "Tom")
    ]


def test_E8_what_is_set_by_hand_needs_no_message() -> None:
    found = resolve(
        [
            Mention("goal", "Learn to sail", "open", at=1, by_hand=True),
            Mention("person", "Ines", links=("Learn to sail", "Nobody"), at=2, by_hand=True),
        ]
    )
    assert shown(found) == ["Goal: Learn to sail (open; with Ines)", "Person: Ines (with Learn to sail)"]
    assert all(one.sources == () for one in found)


def test_E8_links_add_up_until_they_are_set_by_hand() -> None:
    base = mentions("I'll send the report to Anna.", "I'll send the slides to Tom.", "Anna and Tom met yesterday.")
    anna = key_of("person", "Anna")

    def links(every: list[Mention]) -> list[str]:
        found = resolve(every)
        names = {one.id: one.name for one in found}
        return sorted(names[id] for one in found if one.id == anna for id in one.links)

    assert links(base) == ["Send the report to Anna", "Tom"]
    hand = Mention("person", "Anna", links=("Send the slides to Tom",), at=MONDAY + DAY, by_hand=True)
    assert links([*base, hand]) == ["Send the slides to Tom"]
    later = Mention("person", "Tom", links=("Anna",), at=MONDAY + 2 * DAY, chat="chat", seq=9)
    assert links([*base, hand, later]) == ["Send the slides to Tom", "Tom"]


def test_E8_what_is_done_may_be_taken_up_again_and_is_not_closed_beforehand() -> None:
    assert [one.status for one in entities("I need to buy paint.", "I bought the paint.")] == ["done"]
    assert [one.status for one in entities("I bought the paint.", "I need to buy paint.")] == ["open"]


def test_E8_twenty_sources_at_most_newest_last() -> None:
    every = [Mention("person", "Anna", at=at, chat="c", seq=at, id=f"m{at}") for at in range(1, 31)]
    (anna,) = resolve(every)
    assert anna.mentions == 30
    assert anna.sources == tuple(("c", at, f"m{at}") for at in range(11, 31))


# ---------------------------------------------------------------- relevance


def entity(kind: str, name: str, at: int = MONDAY, status: str = "open", links: tuple[str, ...] = ()) -> Entity:
    return Entity(key_of(kind, name), kind, name, status, "", "", links, at, at, 1, ())


def test_E8_relevance_is_recency_and_nearness() -> None:
    anna, task, file, tom = (
        key_of("person", "Anna"), key_of("task", "Finish the brochure"), key_of("file", "docs/brochure.pdf"),
        key_of("person", "Tom"),
    )  # fmt: skip
    every = [
        entity("person", "Anna", MONDAY - 7 * DAY, links=(task,)),
        entity("task", "Finish the brochure", MONDAY - 14 * DAY, links=tuple(sorted((anna, file)))),
        entity("file", "docs/brochure.pdf", MONDAY - 14 * DAY, links=(task,)),
        entity("person", "Tom", MONDAY),
    ]
    scores = {one.id: score for one, score in relevant(every, "What did Anna's mail say?", 9)}
    assert scores == {anna: 0.5 + 2, task: 0.25 + 1, file: 0.25 + 0.5, tom: 1.0}
    assert [one.id for one, _ in relevant(every, "brochure.pdf?", 2)] == [file, task]
    assert relevant(every, "", 1)[0] == (every[3], 1.0)


def test_E8_what_is_over_counts_half() -> None:
    every = [entity("task", "Call the plumber", status="done"), entity("task", "Water the plants")]
    assert [(one.name, score) for one, score in relevant(every, "the plumber, the call", 5)] == [
        ("Call the plumber", 1.5),
        ("Water the plants", 1.0),
    ]


@pytest.mark.parametrize(
    ("kind", "name", "query", "named"),
    [
        ("person", "Will", "Is Will coming?", True),
        ("person", "Anna Weber", "anna weber's address", True),
        ("person", "Anna Weber", "Anna's address", False),
        ("person", "安娜", "给安娜的报告在哪里", True),
        ("person", "Ann", "Is Anna coming?", False),
        ("file", "src/app/main.py", "open main.py", True),
        ("file", "report-2026.pdf", "where is report-2026.pdf?", True),
        ("file", "main.py", "the main thing", False),
        ("project", "Blue Bird", "status of Blue Bird", True),
        ("project", "Blue Bird", "a blue car", False),
    ],
)
def test_E8_a_query_names_all_of_a_name(kind: str, name: str, query: str, named: bool) -> None:
    assert relevant([entity(kind, name)], query, 1)[0][1] == (3.0 if named else 1.0)


@given(st.lists(some_mention(), max_size=25), st.sampled_from([*TASKS, *PEOPLE, *OVER]), st.integers(-1, 12))
def test_E8_relevance_is_bounded_and_deterministic(found: list[Mention], query: str, limit: int) -> None:
    every = resolve(found)
    best = relevant(every, query, limit)
    assert best == relevant(every[::-1], query, limit)
    assert len(best) == max(0, min(limit, len(every)))
    assert all(0 <= score <= 3 for _, score in best)
    keys = [(-score, -one.last_at, one.id) for one, score in best]
    assert keys == sorted(keys)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.booleans(), st.sets(st.integers(0, 19))), min_size=1, max_size=20),
    st.lists(st.sampled_from("paint lease boat brochure report invoice".split()), max_size=4),
)
def test_E8_the_best_are_the_first_of_all(made: list[tuple[int, bool, set[int]]], said: list[str]) -> None:
    tasks = ["Paint the boat", "Lease a boat", "Send report, brochure and invoice", "Sign the lease", "File an invoice"]
    names = [f"{tasks[at % len(tasks)]} {at}" for at in range(len(made))]
    ids = [key_of("task", name) for name in names]
    linked = {
        (at, other) for at, (*_, links) in enumerate(made) for other in links if other < len(made) and other != at
    }
    every = [
        entity("task", name, MONDAY - age * DAY, status="done" if done else "open",
               links=tuple(sorted(ids[other] for other in range(len(made)) if {(at, other), (other, at)} & linked)))
        for at, (name, (age, done, _)) in enumerate(zip(names, made, strict=True))
    ]  # fmt: skip
    whole = relevant(every, " ".join(said), len(every) + 1)
    for limit in range(len(every) + 1):
        assert relevant(every, " ".join(said), limit) == whole[:limit]


def test_E8_a_line_follows_what_it_names() -> None:
    anna = resolve([Mention("person", "Anna", at=1)])[0]
    task = replace(resolve([Mention("task", "Send the report", at=2)])[0], links=(anna.id,))
    known = Entities([anna, task])
    assert "with Anna" in known.line(task)
    assert known.line(task) == known.line(task)
    known.change([replace(anna, name="Anna Vogel")])
    assert "with Anna Vogel" in known.line(task)
    known.change([], gone=[anna.id])
    assert "Anna" not in known.line(task)
    stranger = replace(task, name="Call the bank")  # not the one that is known
    assert "Call the bank" in known.line(stranger)
    assert "Send the report" in known.line(task)


def test_E8_a_line_shows_what_matters() -> None:
    names = {str(at): f"n{at}" for at in range(8)}
    one = Entity("x", "task", "Send\nit", "open", "2026-11-20", "Tom", tuple(map(str, range(9))), 0, 0, 1, ())
    assert line(one, names) == "Task: Send it (open, owner Tom, due 2026-11-20; with n0, n1, n2, n3, n4 and 3 more)"
    assert line(replace(one, kind="person", due="", owner="", links=()), {}) == "Person: Send it"
    assert (
        line(replace(one, kind="project", status="dropped", due="", owner="", links=()), {})
        == "Project: Send it (dropped)"
    )
