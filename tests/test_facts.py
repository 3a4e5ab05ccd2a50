"""Facts: what messages state that lasts, and which of it holds."""

from __future__ import annotations

import tomllib
import unicodedata
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infold.facts import KINDS, STATUSES, Fact, Saying, Statement, merged, read, resolve
from infold.facts.attributes import MANY
from infold.folding.extractive import extract
from infold.messages import Message

CASES: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "corpus" / "facts.toml").read_text("utf-8"))[
    "case"
]
START = 1_777_888_800_000
THEIRS = "assistant: "


def said(*sentences: str, chat: str = "c", first: int = 1, name: str | None = None) -> list[Statement]:
    """The statements of sentences that follow each other by a second."""
    found: list[Statement] = []
    for seq, sentence in enumerate(sentences, start=first):
        by = "assistant" if sentence.startswith(THEIRS) else "user"
        text = sentence.removeprefix(THEIRS)
        message = Message(
            by, text, name if by == "user" else None, id=f"{chat}{seq}", seq=seq, created_at=START + seq * 1000
        )
        found += read(message, extract(message), chat)
    return found


def by_status(facts: list[Fact]) -> dict[str, list[str]]:
    return {status: sorted(fact.text for fact in facts if fact.status == status) for status in STATUSES}


def only(facts: list[Fact], text: str) -> Fact:
    return next(fact for fact in facts if fact.text == text)


# The corpus ---------------------------------------------------------------------------------------------


def test_the_corpus_is_broad_enough() -> None:
    assert len(CASES) >= 80
    assert sum("superseded" not in case and len(case["says"]) > 1 for case in CASES) >= 25


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{at:03d}") for at, case in enumerate(CASES, start=1)])
def test_D3_what_became_of_what_was_said(case: dict[str, Any]) -> None:
    facts = resolve(said(*case["says"]))
    assert by_status(facts) == {status: sorted(case.get(status, [])) for status in STATUSES}
    for fact in facts:
        assert fact.kind in KINDS
        assert len(fact.quote) <= 300
        assert any(fact.quote in sentence for sentence in case["says"])
        assert fact.sources
        assert (fact.superseded_by is not None) == (fact.status == "superseded") == (fact.valid_to is not None)
        assert bool(fact.conflicts_with) == (fact.status == "conflicting")


# Reading --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "kind", "slot"),
    [
        ("I live in Berlin.", "biography", ("User", "home", "Berlin")),
        ("I moved to Porto in 2019.", "biography", ("User", "home", "Porto")),
        ("I prefer aisle seats.", "preference", ("User", "prefers", "aisle seats")),
        ("I'm allergic to peanuts.", "constraint", ("User", "allergy", "peanuts")),
        ("I want to run a marathon.", "goal", ("", "", "")),
        ("We decided to use Postgres for the backend.", "decision", ("backend", "choice", "Postgres")),
        ("My budget is 600 euros.", "fact", ("User", "budget", "600 euros")),
        ("My phone number is +49 30 1234567.", "biography", ("User", "phone number", "+49 30 1234567")),
        ("The price of the Falcon plan is $49.", "fact", ("Falcon plan", "price", "$49")),
        ("I no longer work at Siemens.", "biography", ("User", "employer", "not Siemens")),
        ("I no longer like tea.", "preference", ("User", "likes", "not tea")),
    ],
)
def test_D3_facts_are_typed_and_have_a_slot(sentence: str, kind: str, slot: tuple[str, str, str]) -> None:
    (statement,) = said(sentence)
    assert statement.kind == kind
    assert (statement.subject, statement.attribute, statement.value) == slot


def test_D3_a_compound_sentence_states_several_facts() -> None:
    found = said("I live in Berlin and work at Siemens.")
    assert [one.text for one in found] == ["User lives in Berlin", "User works at Siemens"]
    assert {one.quote for one in found} == {"I live in Berlin and work at Siemens."}


def test_D3_questions_and_closing_words_state_nothing() -> None:
    assert said("Do I live in Berlin?", "Got it, you live in Berlin.", "Which hotel did we book?") == []


def test_D3_a_tool_result_is_a_reference_with_a_verbatim_quote() -> None:
    text = '{"padding": "' + "x" * 400 + '", "booking_id": "BK-20931", "total": "74.90 EUR"}'
    message = Message("tool", text, tool_call_id="c1", id="m", seq=1, created_at=START)
    (statement,) = read(message, extract(message), "c")
    assert (statement.kind, statement.speaker) == ("reference", "tool")
    assert "BK-20931" in statement.quote
    assert statement.quote in text


def test_D3_system_messages_state_nothing() -> None:
    message = Message("system", "You live in Berlin.", id="m", seq=1, created_at=START)
    assert read(message, extract(message), "c") == []


def test_D3_quotes_are_verbatim_whatever_stood_between() -> None:
    text = "Hi!\n\n- **I live\n  in   Berlin.**\n- I’m allergic\tto peanuts."
    message = Message("user", text, id="m", seq=1, created_at=START)
    found = read(message, extract(message), "c")
    assert found
    assert all(one.quote and one.quote in text for one in found)
    assert any("allergic\tto peanuts" in one.quote for one in found)


def test_D3_a_named_user_is_told_by_name() -> None:
    (statement,) = said("I live in Berlin.", name="Bob")
    assert (statement.text, statement.subject, statement.speaker) == ("Bob lives in Berlin", "Bob", "Bob")


@given(st.text(max_size=300), st.sampled_from(["user", "assistant", "tool"]), st.sampled_from([None, "Bob", "(x"]))
def test_D3_any_text_can_be_read(text: str, role: str, name: str | None) -> None:
    message = Message(role, text, name, id="m", seq=1, created_at=START)
    for statement in read(message, extract(message), "c"):
        assert statement.quote in text
        assert len(statement.quote) <= 300
        assert statement.kind in KINDS
    resolve(read(message, extract(message), "c"))


# Time -----------------------------------------------------------------------------------------------------


def test_F4_nothing_is_deleted_and_returning_makes_current_again() -> None:
    facts = resolve(said("I live in Berlin.", "I moved to Porto.", "I live in Berlin."))
    berlin, porto = only(facts, "User lives in Berlin"), only(facts, "User moved to Porto")
    assert (berlin.status, berlin.valid_from, berlin.valid_to) == ("current", START + 3000, None)
    assert [saying.seq for saying in berlin.sources] == [1, 3]
    assert (porto.status, porto.valid_from, porto.valid_to) == ("superseded", START + 2000, START + 3000)
    assert porto.superseded_by == berlin.id


def test_D3_different_values_at_the_same_time_conflict() -> None:
    one, two = said("I live in Berlin."), said("I live in Rome.", chat="d")
    facts = resolve(one + two)
    assert {fact.status for fact in facts} == {"conflicting"}
    assert facts[0].conflicts_with == (facts[1].id,)
    assert facts[1].conflicts_with == (facts[0].id,)
    later = resolve([*one, *two, *said("I live in Rome.", chat="c", first=5)])
    assert by_status(later)["current"] == ["User lives in Rome"]


def test_D3_the_assistant_cannot_bring_back_what_the_user_has_changed() -> None:
    told = said("I live in Berlin.", "I moved to Munich.", "assistant: You live in Berlin, so take the tram.")
    assert only(resolve(told), "User moved to Munich").status == "conflicting"
    told += said("I live in Munich.", first=9)
    assert by_status(resolve(told))["current"] == ["User lives in Munich"]


def test_D3_one_user_does_not_overrule_another_about_themself() -> None:
    bob = said("I live in Oslo.", name="Bob")
    eve = said("Bob lives in Rome.", first=2, name="Eve")
    assert {fact.status for fact in resolve(bob + eve)} == {"conflicting"}
    assert by_status(resolve(eve + said("I live in Oslo.", first=3, name="Bob")))["current"] == ["Bob lives in Oslo"]


def test_D3_things_without_a_name_are_others_in_another_chat() -> None:
    one = said("The budget for the kitchen is 5,000 euros.", "We decided to use Postgres for the backend.")
    two = said(
        "The budget for the kitchen is 900 euros.", "We decided to use MySQL for the backend.", chat="d", first=5
    )
    assert by_status(resolve(one + two))["superseded"] == []


def test_D3_what_is_said_of_the_user_holds_in_every_chat() -> None:
    facts = resolve(said("I live in Berlin.") + said("I moved to Porto.", chat="d", first=5))
    assert by_status(facts)["superseded"] == ["User lives in Berlin"]


# Properties -----------------------------------------------------------------------------------------------

_SLOTS = [
    ("User lives in {}", "User", "home"),
    ("User moved to {}", "User", "home"),
    ("User likes {}", "User", "likes"),
    ("User hates {}", "User", "dislikes"),
    ("User's birthday is {}", "User", "birthday"),
    ("User's sister lives in {}", "User's sister", "home"),
    ("Budget is {}", "", "budget"),
    ("Let's use {}", "", ""),
    ("{} for the backend", "backend", "choice"),
]
_WORDS = ["Berlin", "Rome", "Postgres", "MySQL", "Postgres cluster"]


@st.composite
def statements(draw: st.DrawFn) -> Statement:
    template, subject, attribute = draw(st.sampled_from(_SLOTS))
    value = draw(st.sampled_from(_WORDS))
    text = template.format(value)
    if attribute:
        value = draw(st.sampled_from(["", "not "])) + value
        text = text if not value.startswith("not ") else f"It is not so that {text}"
    speaker = draw(st.sampled_from(["user", "assistant", "tool", "Bob"]))
    sayings = draw(
        st.sets(st.builds(Saying, st.integers(1, 6), st.sampled_from("ab"), st.integers(1, 4), st.sampled_from("mn")), min_size=1, max_size=3)
    )  # fmt: skip
    return Statement(
        draw(st.sampled_from([text, text.upper()])), draw(st.sampled_from(KINDS)), subject, attribute, value if attribute else "",
        text, draw(st.sampled_from([0.5, 0.9])), draw(st.sampled_from(["", "", "postgres", "berlin", "we dropped mysql"])),
        speaker, tuple(sorted(sayings)),
    )  # fmt: skip


@settings(max_examples=150, derandomize=True)
@given(st.lists(statements(), max_size=14), st.randoms(use_true_random=False), st.integers(0, 14))
def test_D3_order_and_portions_make_no_difference(known: list[Statement], chance: Any, cut: int) -> None:
    facts = resolve(known)
    mixed = list(known)
    chance.shuffle(mixed)
    assert resolve(mixed) == facts
    assert resolve([*merged(mixed[:cut]), *merged(mixed[cut:])]) == facts
    split = [replace(one, sayings=(saying,)) for one in mixed for saying in one.sayings]
    assert merged([*merged(split[::2]), *merged(split[1::2])]) == merged(known)
    assert merged(merged(known)) == merged(known)


@settings(max_examples=150, derandomize=True)
@given(st.lists(statements(), max_size=14))
def test_D3_every_statement_is_a_fact_once_and_each_slot_has_one_value(known: list[Statement]) -> None:
    facts = resolve(known)
    assert Counter(fact.id for fact in facts) == Counter({one.id for one in known})
    assert facts == sorted(facts, key=lambda fact: (fact.valid_from, fact.id))
    ids = {fact.id: fact for fact in facts}
    for fact in facts:
        assert fact.valid_to is None or fact.valid_from <= fact.valid_to
        assert fact.superseded_by is None or (fact.superseded_by in ids and fact.superseded_by != fact.id)
        assert all(fact.id in ids[other].conflicts_with for other in fact.conflicts_with)
        assert fact.valid_from in {saying.at for saying in fact.sources}
    current = [
        fact for fact in facts if fact.status == "current" and fact.attribute and not fact.value.startswith("not ")
    ]
    single = [fact for fact in current if fact.attribute not in MANY | {"dislikes"} and fact.subject.startswith("User")]
    assert max(Counter((fact.subject, fact.attribute) for fact in single).values(), default=0) <= 1


@pytest.mark.parametrize(
    "text",
    [
        "User lives in Zürich",
        "User's café is called Ångström",
        "用户住在北京",
        "المستخدم يعيش في القاهرة",
        "User uses C#",
    ],
)
def test_D3_duplicates_are_told_however_they_are_written(text: str) -> None:
    wide = "".join(chr(ord(ch) + 0xFEE0) if "!" <= ch <= "~" else ch for ch in text)
    variants = [
        text, text.upper(), text.lower(), f"  {text.replace(' ', '   ')}\n", f"«{text}»!", f"{text}.", wide, f"\ufeff{text}",
        text.replace("'", "’"), *(unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")),
    ]  # fmt: skip
    found = [
        Statement(variant, "fact", "", "", "", variant, 0.9, "", "user", (Saying(at, "c", at, f"m{at}"),))
        for at, variant in enumerate(variants, start=1)
    ]
    (one,) = merged(found)
    assert len(one.sayings) == len(variants)
    assert len({statement.id for statement in found}) == 1


def test_D3_what_differs_is_no_duplicate() -> None:
    texts = ["User uses C", "User uses C#", "User uses C++", "दिल", "दाल", "User has 5", "User has -5"]
    assert len({replace(said("I live in Berlin.")[0], text=text).id for text in texts}) == len(texts)
