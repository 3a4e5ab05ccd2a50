"""What a model is asked, in all three layouts, and reading whatever it answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infold import Message
from infold.folding import prompting
from infold.folding.prompting import (
    CALL_TOKENS,
    ITEMS,
    RECORD,
    TOOL_TOKENS,
    TURNS,
    AnswerError,
    Prompt,
    Proposal,
    Task,
    build,
    passes,
    read,
    read_text,
)  # fmt: skip
from infold.lines.kinds import PINNED, SECTIONS
from infold.lines.line import Line
from infold.messages import parse
from infold.tokens import count, message_tokens
from tests.conftest import START, assistant, call, result, user, words

LAYOUTS = (ITEMS, RECORD, TURNS)
KNOWN = (Line("1.1", "facts", "User lives in Lyon", (1, 2)), Line("1.2", "open", "Anna calls back", (2,)))


def numbered(*messages: dict[str, Any], first: int = 3, at: int = 0) -> tuple[Message, ...]:
    parsed = [parse(message) for message in messages]
    return tuple(
        replace(message, seq=seq, created_at=at, tokens=message_tokens(message))
        for seq, message in enumerate(parsed, first)
    )


def task(*messages: dict[str, Any], layout: str = ITEMS, memory: tuple[Line, ...] = (), at: int = 0) -> Task:
    told = numbered(*messages, at=at)
    return Task(memory, (), told, 500, 1, layout, sum(message.tokens for message in told))


TALK = (
    user("Where do I fly?", name="ada"),
    call("a", "b", content="Let me look."),
    result("a"),
    result("b", "LH404 to Oslo\nat gate B7"),
    assistant("To Oslo, with LH404."),
    user("Thanks!"),
)


def test_B9_items_layout() -> None:
    prompt = build(task(*TALK, memory=KNOWN, at=START))
    assert prompt.user == (
        "<memory>\n[M1] facts: User lives in Lyon\n[M2] open: Anna calls back\n</memory>\n"
        "<messages>\n"
        "[3] user ada (2026-01-01): Where do I fly?\n"
        "[4] assistant: Let me look.\n"
        "[6] tool: LH404 to Oslo\nat gate B7\n"
        "[7] assistant: To Oslo, with LH404.\n"
        "[8] user: Thanks!\n"
        "</messages>"
    )
    assert prompt.marks == {"M1": (1, 2), "M2": (2,), **{str(seq): (seq,) for seq in (3, 4, 6, 7, 8)}}
    assert (prompt.filtered, prompt.capped) == ((5,), ())


def test_B9_record_layout() -> None:
    given = task(*TALK, layout=RECORD, memory=KNOWN, at=START)
    prompt = build(given)
    assert prompt.user == (
        f"<meta total_messages=6 total_tokens={given.tokens} depth=1 />\n"
        "<memory>\n[M1] facts: User lives in Lyon\n[M2] open: Anna calls back\n</memory>\n"
        "<messages>\n"
        "[3] user ada: Where do I fly?\n"
        "[4] assistant: Let me look.\n"
        "[6] tool: LH404 to Oslo\nat gate B7\n"
        "[7] assistant: To Oslo, with LH404.\n"
        "[8] user: Thanks!\n"
        "</messages>"
    )
    assert prompt.filtered == (5,)


def test_C7_turns_layout() -> None:
    prompt = build(task(*TALK, layout=TURNS, memory=KNOWN, at=START))
    assert prompt.user == (
        "=== EXISTING_SUMMARY ===\n"
        "## Facts / Constraints\n- User lives in Lyon\n## Open Items / Pending Commitments\n- Anna calls back\n"
        "=== END_EXISTING_SUMMARY ===\n\n"
        "=== NEW_TURNS ===\n"
        "Turn 1:\nUser: Where do I fly?\nAssistant: Let me look.\nTool: LH404 to Oslo\nat gate B7\n"
        "Assistant: To Oslo, with LH404.\n\n"
        "Turn 2:\nUser: Thanks!\n"
        "=== END_NEW_TURNS ==="
    )
    assert prompt.marks == {"1": (3, 4, 5, 6, 7), "2": (8,)}


def test_C7_without_a_summary_the_word_is_none() -> None:
    assert build(task(user("Hi."), layout=TURNS)).user.startswith(
        "=== EXISTING_SUMMARY ===\nNONE\n=== END_EXISTING_SUMMARY ===\n\n=== NEW_TURNS ===\nTurn 1:\nUser: Hi.\n"
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_B9_system_prompt_names_the_cap_and_wants_json_only(layout: str) -> None:
    prompt = build(task(user("Hi."), layout=layout))
    assert prompt.system.startswith("[infold summarizer]")
    assert "At most 500 tokens" in prompt.system
    assert "{" not in prompt.system
    assert "no markdown" in prompt.system
    assert all(word in prompt.system for word in ("Identifiers", "dates", "versions"))
    assert prompt.schema["additionalProperties"] is False


@pytest.mark.parametrize(
    "noise",
    ["", "ok", "OK.", '{"ok": true}', '{"status": "success"}', "done", "null", '"success"', "{}", "[]", '{"result": null}', "200"],
)  # fmt: skip
@pytest.mark.parametrize("layout", [ITEMS, RECORD])
def test_B6_mere_acknowledgements_of_tools_are_noise(layout: str, noise: str) -> None:
    given = task(user("Book it."), call("a"), result("a", noise), assistant("Booked."), layout=layout)
    prompt = build(given)
    assert prompt.filtered == (4, 5)  # the bare call, too
    assert "tool" not in prompt.user


@pytest.mark.parametrize("said", ["ok, BK-4711", '{"ok": true, "id": "BK-4711"}', "not done", "false", "201", "error"])
def test_B6_results_that_say_something_are_read(said: str) -> None:
    assert f"tool: {said}" in build(task(user("Book it."), call("a"), result("a", said))).user


def test_B6_system_messages_are_noise_and_people_who_only_say_ok_are_not() -> None:
    prompt = build(task({"role": "system", "content": "Be terse."}, user("ok"), {"role": "developer", "content": "x"}))
    assert prompt.filtered == (3, 5)
    assert "user: ok" in prompt.user
    assert "terse" not in prompt.user


@pytest.mark.parametrize("layout", LAYOUTS)
def test_B15_tool_output_is_capped_before_folding(layout: str) -> None:
    big = f"first-value-1 {words(5000)} last-value-2"
    prompt = build(task(user("Look."), call("a"), result("a", big), layout=layout))
    assert prompt.capped == (5,)
    assert "first-value-1" in prompt.user
    assert "last-value-2" in prompt.user
    assert " … " in prompt.user
    assert count(prompt.user) <= TOOL_TOKENS + 80


@pytest.mark.parametrize("layout", LAYOUTS)
def test_B9_a_message_larger_than_a_call_is_cut_to_its_beginning_and_end(layout: str) -> None:
    prompt = build(task(user(f"first-value-1 {words(30_000)} last-value-2"), layout=layout), 1000)
    assert prompt.capped == (3,)
    assert "first-value-1" in prompt.user
    assert "last-value-2" in prompt.user
    assert count(prompt.user) <= 1100


def test_B9_passes_are_whole_units_within_the_room() -> None:
    turns = [
        m for n in range(8) for m in (user(words(900, f"q{n}")), call(f"c{n}"), result(f"c{n}", words(900, f"r{n}")))
    ]
    messages = numbered(*turns)
    parts = passes(messages, 3000)
    assert [message for part in parts for message in part] == list(messages)
    assert len(parts) > 2
    for part in parts:
        assert part[-1].role == "tool" or part[-1].role == "user"
        assert not part[-1].tool_calls  # a call and its result stay together
        prompt = build(Task((), (), part, 500))
        assert count(prompt.user) <= 3000
    assert len(passes(numbered(user(words(20_000)), assistant("ok")), CALL_TOKENS)) == 2
    assert passes(()) == []


def test_B9_a_date_stands_where_the_day_begins() -> None:
    day = 24 * 60 * 60 * 1000
    messages = [
        replace(m, created_at=START + of)
        for m, of in zip(numbered(*[user("Hi.")] * 4), (0, 5, day, 3 * day), strict=True)
    ]
    shown = re.findall(r"^\[\d\] user(.*): Hi\.$", build(Task((), (), tuple(messages), 500)).user, re.MULTILINE)
    assert shown == [" (2026-01-01)", "", " (2026-01-02)", " (2026-01-04)"]


@pytest.mark.parametrize("at", [0, 10**18, -(10**18)])
def test_B9_a_date_that_is_none_is_left_out(at: int) -> None:
    assert "[3] user: Hi." in build(task(user("Hi."), at=at)).user


def test_B13_equal_tasks_have_equal_keys() -> None:
    same = task(*TALK, memory=KNOWN)
    assert same.key == task(*TALK, memory=KNOWN).key
    others = [
        task(*TALK[:-1], memory=KNOWN), task(*TALK, memory=KNOWN[:1]), task(*TALK, layout=RECORD, memory=KNOWN),
        replace(same, cap=400), replace(same, depth=0), replace(same, messages=numbered(*TALK, first=4)),
        replace(same, pins=(Line("p", PINNED, "Never call Bob", ()),)),
    ]  # fmt: skip
    assert len({same.key, *(other.key for other in others)}) == len(others) + 1


# Versions ------------------------------------------------------------------------------------------------


@pytest.fixture
def fresh() -> Iterator[None]:
    prompting.prompt_file.cache_clear()
    yield
    prompting.prompt_file.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_F5_the_version_of_a_prompt_changes_with_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {layout: prompting.prompt_file(layout) for layout in LAYOUTS}
    (tmp_path / "prompts").mkdir()
    for layout, (text, version) in before.items():
        more = "\n- And one more rule." if layout == RECORD else "\n"
        (tmp_path / "prompts" / f"{version.partition('@')[0]}.md").write_text(text + more, encoding="utf-8")
    prompting.prompt_file.cache_clear()
    monkeypatch.setattr(prompting, "files", lambda _: tmp_path)
    after = {layout: prompting.prompt_file(layout)[1] for layout in LAYOUTS}
    assert [layout for layout in LAYOUTS if after[layout] != before[layout][1]] == [RECORD]
    assert all(re.fullmatch(rf"{layout}\.v\d+@[0-9a-f]{{8}}", after[layout]) for layout in LAYOUTS)


# Answers -------------------------------------------------------------------------------------------------

ASKED = {layout: task(*TALK, layout=layout, memory=KNOWN) for layout in LAYOUTS}
LINE = {"section": "facts", "text": "User flies to Oslo.", "sources": ["3", "M1"]}
STATED = {"text": "User flies to Oslo.", "sources": ["3"]}
EMPTY: dict[str, Any] = {
    "participants": [], "decisions": [], "action_items": [], "unresolved": [], "domain_entities": [],
}  # fmt: skip


def answered(layout: str, data: object) -> Proposal:
    text = data if isinstance(data, str) else json.dumps(data)
    return read(text, ASKED[layout], build(ASKED[layout]))


def test_B9_an_answer_is_read_with_the_positions_its_marks_stand_for() -> None:
    marks = {
        "section": "artifacts",
        "text": "  LH404   is the\nflight ",
        "sources": ["[7]", " #6 ", 3, "M2", "99", "M9"],
    }
    proposal = answered(ITEMS, {"items": [LINE, marks]})
    assert [(line.section, line.text, line.sources) for line in proposal.lines] == [
        ("facts", "User flies to Oslo.", (1, 2, 3)),
        ("artifacts", "LH404 is the flight", (2, 3, 6, 7)),
    ]
    assert proposal.filtered == (5,)
    assert proposal.prompt is not None


@pytest.mark.parametrize("sources", [[], None, ["99"], ["nonsense"]])
def test_B9_a_line_without_marks_that_are_known_cites_what_it_shares_words_with(sources: Any) -> None:
    (line,) = answered(ITEMS, {"items": [{**LINE, "text": "The flight is LH404 to Oslo.", "sources": sources}]}).lines
    assert set(line.sources) <= {6, 7}
    assert line.sources


def test_B9_turns_are_cited_by_number() -> None:
    (line,) = answered(TURNS, {"items": [{**LINE, "sources": ["2"]}]}).lines
    assert line.sources == (8,)


def test_B5_a_record_is_read_into_sections() -> None:
    data = {
        "summary": " Ada  flies.\nTo Oslo. ",
        "key_points": [STATED, {**STATED, "text": "Flight LH404."}, "Bare text about gate B7"],
        "context": {
            **EMPTY,
            "decisions": [{**STATED, "text": "LH404 it is."}],
            "action_items": [{"owner": "Anna", "task": "Call back.", "due": "3 May", "sources": ["M2"]}],
            "unresolved": [{**STATED, "text": "Which seat?"}],
            "domain_entities": [{**STATED, "text": "Gate B7"}, {**STATED, "text": "flight lh404."}],
        },
    }
    proposal = answered(RECORD, data)
    assert proposal.narrative == "Ada flies. To Oslo."
    assert [(line.section, line.text) for line in proposal.lines] == [
        ("open", "Call back (owner Anna, due 3 May)"),
        ("decisions", "LH404 it is."),
        ("open", "Which seat?"),
        ("facts", "User flies to Oslo."),
        ("facts", "Flight LH404."),
        ("facts", "Bare text about gate B7"),
        ("artifacts", "Gate B7"),  # the same flight in other letters is not said twice
    ]


@pytest.mark.parametrize(
    "wrap",
    [
        "```json\n{}\n```",
        "Here you are:\n{}\nHope that helps!",
        "<think>A set {a, b} it is.</think>{}",
        "{} (with {braces})",
        "\ufeff{}",
        "\n\n{}\n",
    ],
)
def test_B7_what_stands_around_the_json_is_forgiven(wrap: str) -> None:
    text = wrap.replace("{}", json.dumps({"items": [LINE]}), 1)
    assert answered(ITEMS, text).lines[0].text == "User flies to Oslo."


def test_F4_pins_are_not_the_models_to_write() -> None:
    lines = answered(ITEMS, {"items": [LINE]}).lines
    assert PINNED not in SECTIONS or len(lines) == 1
    with pytest.raises(AnswerError):
        answered(ITEMS, {"items": [{**LINE, "section": "pinned"}]})


BROKEN: list[Any] = [
    "", "no json", "{", "}", "}{", "[]", "42", '{"items": [', "[" * 5000, '{"a":' * 5000 + "1" + "}" * 5000, "{'items': []}",
    {}, {"items": None}, {"items": []}, {"items": {}}, {"items": "x"}, {"items": [1]}, {"items": [None]}, {"items": [[]]},
    {"items": [{}]}, {"items": [{**LINE, "text": None}]}, {"items": [{**LINE, "text": 5}]},
    {"items": [{**LINE, "section": "nonsense"}]}, {"items": [{**LINE, "section": None}]},
    {"items": [{**LINE, "section": ["facts"]}]}, {"items": [{**LINE, "section": {"a": 1}}]},
    {"items": [{**LINE, "sources": "3"}]}, {"items": [{**LINE, "sources": {"3": 1}}]}, {"items": [{**LINE, "sources": 3}]},
    {"items": [{**LINE, "text": "a\0b"}]}, '{"items": [{"section": "facts", "text": "\\ud800", "sources": []}]}',
]  # fmt: skip
BROKEN_RECORDS: list[Any] = [
    {}, {"summary": "x"}, {"summary": "", "key_points": [STATED], "context": EMPTY},
    {"summary": 5, "key_points": [STATED], "context": EMPTY}, {"summary": "x", "key_points": [], "context": EMPTY},
    {"summary": "x", "key_points": [STATED], "context": []}, {"summary": "x", "key_points": [STATED], "context": None},
    {"summary": "x", "key_points": 5, "context": EMPTY}, {"summary": "x", "key_points": {"a": 1}, "context": EMPTY},
    {"summary": "x", "key_points": [5], "context": EMPTY}, {"summary": "x", "key_points": "text", "context": EMPTY},
    {"summary": "x", "key_points": [STATED], "context": {**EMPTY, "action_items": 5}},
    {"summary": "x", "key_points": [STATED], "context": {**EMPTY, "action_items": "abc"}},
    {"summary": "x", "key_points": [STATED], "context": {**EMPTY, "action_items": [{"task": None}]}},
    {"summary": "x", "key_points": [STATED], "context": {**EMPTY, "decisions": True}},
    {"summary": "x\0", "key_points": [STATED], "context": EMPTY},
    '{"summary": "\\ud800", "key_points": [{"text": "a", "sources": []}], "context": {}}',
]  # fmt: skip


@pytest.mark.parametrize(
    ("layout", "data"),
    [*((ITEMS, data) for data in BROKEN), *((RECORD, data) for data in BROKEN_RECORDS), (TURNS, {"items": [1]})],
    ids=lambda value: str(value)[:40].replace("\0", "0"),
)
def test_B7_broken_answers_are_answer_errors(layout: str, data: Any) -> None:
    with pytest.raises(AnswerError):
        answered(layout, data)


def test_B7_an_empty_text_answer_is_an_error() -> None:
    prompt: Prompt = build(ASKED[TURNS])
    for text in ("", "  \n", "## Facts / Constraints\n"):
        with pytest.raises(AnswerError):
            read_text(text, ASKED[TURNS], prompt)


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | st.sampled_from(["facts", "3", "M1"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["items", "section", "text", "sources", "summary", "key_points", "context", "task", *EMPTY]), inner
    ),
    max_leaves=25,
)  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=60, deadline=None)
@given(text=st.text() | VALUES.map(json.dumps) | st.builds("{}{}{}".format, st.text(max_size=9), VALUES.map(json.dumps), st.text(max_size=9)))  # fmt: skip
def test_B7_reading_never_raises_anything_else(layout: str, text: str) -> None:
    for reader in (read, read_text):
        try:
            proposal = reader(text, ASKED[layout], build(ASKED[layout]))
        except AnswerError:
            continue
        known = {seq for message in ASKED[layout].messages for seq in [message.seq]} | {1, 2}
        assert all(line.section in SECTIONS and set(line.sources) <= known for line in proposal.lines)
