"""The extractive fold, seen from outside. The reader is deterministic, and no text breaks it."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from infold import Memory, Message, preset, summarize_memory
from infold.folding.extractive import digest, extract
from infold.folding.merge import fold_extractive
from infold.folding.toolvalues import tool_line
from infold.items import CLOSING, FACT, HEADINGS, LEAF, LONG, SECTIONS, Candidate, Item, by_section, render
from infold.presets import PRESETS
from infold.tokens import count
from tests.conftest import call, result, user
from tests.extraction import MONDAY, MOST_WORDS, ROLLING, conversation, fold_in_turn, ms, said
from tests.test_extraction import ORDERS, REVERSALS
from tests.test_extraction_form import LONG_WINDED, pressed
from tests.test_extraction_merging import INDEPENDENT, RECURRING, TASKS

# A9: determinism -----------------------------------------------------------------------------------------


def script() -> list[Message]:
    texts = [
        *REVERSALS,
        *INDEPENDENT,
        *(text for text, _ in LONG_WINDED),
        *ORDERS,
        *itertools.chain(*TASKS.values()),
        *(f"The choir rehearses {when}." for when in RECURRING),
    ]
    return [*conversation(), *said(*texts)]


def seen() -> str:
    """Candidates and memories of every message of the script, as bytes would have them."""
    messages = script()
    found: list[Any] = [[repr(c) for c in extract(m)] for m in messages]
    found += [digest(m) for m in messages]
    for name in sorted(PRESETS):
        memory = fold_in_turn([messages[at : at + 3] for at in range(0, len(messages), 3)], pressed(name))
        found += [[repr(item) for item in memory], render(memory)]
    found.append(summarize_memory("", messages))
    return json.dumps(found, ensure_ascii=True)


def test_A9_same_candidates_and_memory_with_other_hash_seeds() -> None:
    outputs = []
    for seed in ("0", "1", "98765"):
        done = subprocess.run(
            [sys.executable, "-m", "tests.test_extraction_any"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parent.parent,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        outputs.append(done.stdout)
    assert len(outputs[0]) > 5000
    assert outputs[0] == outputs[1] == outputs[2] == seen().encode()


# Any text at all -----------------------------------------------------------------------------------------

FRAGMENTS = st.sampled_from(
    [
        "We decided on Lisbon. ", "My budget is 400 euros. ", "I need to pay INV-3321 by Friday. ", "Who pays? ", "Scratch that, ",
        "instead of ", "no longer ", "not ", "“", "”", '"', "'", "«", "„", "```python\nx = 1\n", "```", "> quoted\n", "- ", "1. ",
        "## Pinned\n", "## Facts / Constraints\n- ", "User: ", "\n\n", "\t", "我们决定用 PostgreSQL。", "私は東京に住んでいます。", "我的预算是 400 欧元。",
        "👩‍👩‍👧‍👦", "🇧🇪", "é", "e\u0301", "أنا أسكن في غنت. ", "\u202e", "\u200f", "שלום ", "\u200b", "\ufeff", "\x01", "\x1b[31m", "\x7f",
        "\x85", "\u2028", "\x0b", "\r", "x" * 3000, "A1" * 400, "_" * 700, "/" * 300, "a-" * 300, "1" * 500, "…", "?!", "(", ")", "[", "]",
        '{"id": "AB-1", "in": {"in": {"in": {"id": "AB-2"}}}}', "[" * 200, '{"order_id": "AB-12"}', "https://example.org/a?b=c ", "I'm ",
        "I ", "you ", "my ", "tomorrow ", "in two weeks ", "the end of the month ", "Ich habe ", "j'ai ", "prefiero ", "0", "١٢٣ ", "ⅷ ", "² ",
    ]
)  # fmt: skip
UNICODE = st.text(st.characters(codec="utf-8", exclude_characters="\0"))  # messages with NUL are refused
TEXTS = st.one_of(
    UNICODE,
    st.lists(FRAGMENTS, max_size=14).map("".join),
    st.lists(st.one_of(FRAGMENTS, UNICODE), max_size=10).map("".join),
)
TIMES = st.sampled_from([0, 1, ms(MONDAY), ms("2028-02-29T23:59:59Z"), -(10**14), 253_402_300_799_000, 2**53 - 1])
KEYS = st.one_of(
    st.sampled_from(["id", "order_id", "status", "total", "name", "note", "url", "x" * 500, "a b", "a\nb", ""]),
    st.text(max_size=12),
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.sampled_from(["AB-12", "INV-3321 paid", "389.50 EUR", "w " * 29, "\ud800", "A-1\x00"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=6)),
    max_leaves=20,
)
ANY = settings(
    deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def check_line(text: str) -> None:
    """A text that can be one line of memory."""
    assert text.strip()
    assert len(text.splitlines()) == 1
    assert len(text.split()) <= MOST_WORDS
    assert "\0" not in text
    text.encode()


def check_candidates(found: list[Candidate], message: Message) -> None:
    for candidate in found:
        assert candidate.section in {*SECTIONS, CLOSING}
        assert candidate.sources == (message.seq,)
        assert 0 <= candidate.confidence <= 1
        check_line(candidate.text)


@ANY
@given(text=TEXTS, role=st.sampled_from(["user", "assistant", "tool", "system", "developer"]), at=TIMES)
def test_any_message_can_be_read(text: str, role: str, at: int) -> None:
    message = Message(role, text, seq=7, created_at=at, tool_call_id="t" if role == "tool" else None)
    found = extract(message)
    check_candidates(found, message)
    assert found == extract(message)
    assert not (found and role in ("system", "developer"))


@ANY
@given(text=TEXTS, chars=st.integers(20, 300), name=st.one_of(st.none(), st.just("bo")))
def test_any_message_has_a_digest_of_one_line(text: str, chars: int, name: str | None) -> None:
    for message in (
        Message("user", text, name, seq=1),
        Message("assistant", text, name, tuple(call("t")["tool_calls"]), seq=1),
    ):
        line = digest(message, None, chars)
        assert len(line.splitlines()) == 1
        assert line.startswith(f"{name or message.role}: ")
        assert len(line) <= len(f"{name or message.role}: ") + chars + 2


@ANY
@given(value=VALUES)
@example(value={"order_id": "AB-12", "a\nb": "c"})
@example(value={"order_id": "AB-12\ud800"})
@example(value={"order_id": "AB-12\x00"})
@example(value={"order_id": "AB-12", "note": "w " * 29, "name": "w " * 29})
@example(value={"order_id": "AB-12", "x" * 500: 1})
def test_any_tool_result_is_one_line_or_none(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=2), json.dumps(value)[:-1]):
        line = tool_line(text)
        if line:
            check_line(line)
            assert len(line) <= 500  # five values of at most 60 characters, and their names


@ANY
@given(text=TEXTS)
def test_any_tool_text_is_one_line_or_none(text: str) -> None:
    line = tool_line(text)
    if line:
        check_line(line)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 50_000, '{"id": ' + "9" * 5000 + "}", '{"id": 1e999}', '{"id": NaN}', "null", "0", '""'],
)
def test_tool_results_that_break_parsers_do_no_harm(text: str) -> None:
    assert tool_line(text) in ("", "id inf", "id nan")


@pytest.mark.parametrize("value", ["AB-12\ud800", "AB-12\x00", "AB-12\u2028x", "AB-12\nx"])
def test_a_tool_result_with_escapes_no_text_may_hold_does_not_stop_the_chat(memory: Memory, value: str) -> None:
    chat = memory.chat("a", preset="rolling")
    chat.add(user("Hello."))
    for n in range(12):
        chat.add([call(f"t{n}"), result(f"t{n}", json.dumps({"order_id": value}))])
    assert chat.memory.cursor > 0
    assert memory.verify().ok
    assert all(re.fullmatch(r"## \S.*|- \S.*", line) for line in chat.summary.splitlines())
    assert "\0" not in chat.summary


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    name=st.sampled_from(sorted(PRESETS)),
    cap=st.sampled_from([40, 80, 500]),
    groups=st.lists(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), TEXTS), max_size=4), max_size=4),
)
def test_any_messages_can_be_folded_within_the_caps(name: str, cap: int, groups: list[list[tuple[str, str]]]) -> None:
    policy = preset(name, {})
    policy = preset(
        name, {}, **{field: cap for field in ("summary_cap", "leaf_cap", "facts_cap") if getattr(policy, field)}
    )
    numbers = itertools.count(1)
    memory: tuple[Item, ...] = ()
    for fold, group in enumerate(groups, start=1):
        messages = [Message(role, text, seq=next(numbers), created_at=ms(MONDAY)) for role, text in group]
        before = memory
        change = fold_extractive(memory, [c for m in messages for c in extract(m)], policy, fold)
        memory = change.items
        known = {source for item in before for source in item.sources} | {m.seq for m in messages}
        assert {item.id for item in before} - set(change.removed) == {i.id for i in memory} - {
            i.id for i in change.added
        }
        for item in memory:
            assert item.section in SECTIONS
            assert item.sources
            assert known.issuperset(item.sources)
            check_line(item.text)
        for layer, most in ((FACT, policy.facts_cap), (LONG, policy.summary_cap)):
            assert count(render(i for i in memory if i.layer == layer)) <= (most or 0)
        for leaf in {item.fold for item in memory}:
            assert count(render(i for i in memory if i.layer == LEAF and i.fold == leaf)) <= policy.leaf_cap
        assert by_section(memory) == by_section(fold_extractive(memory, [], policy, fold + 1).items)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(known=TEXTS, texts=st.lists(TEXTS, max_size=4))
def test_A7_any_summary_and_any_messages_give_headings_and_bullets(known: str, texts: list[str]) -> None:
    found = summarize_memory(known, said(*texts))
    assert all(line.startswith("- ") or line.removeprefix("## ") in HEADINGS.values() for line in found.splitlines())
    assert count(found) <= ROLLING.summary_cap


if __name__ == "__main__":
    sys.stdout.write(seen())
