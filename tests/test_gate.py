"""F3: what the gate lets through, corrects, drops and rejects."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infold.context.block import opening
from infold.folding.evidence import claims_of, evidence_in, evidence_of
from infold.folding.gate import Finding, Verdict, judge, prepare
from infold.folding.proper import names, ordinary
from infold.folding.quantities import readings
from infold.lines.kinds import PINNED
from infold.lines.line import Line
from infold.marks import BACKGROUND, POLICY_SNIPPET
from infold.messages import Message

MONDAY = int(datetime(2026, 5, 4, 10, tzinfo=UTC).timestamp() * 1000)
TALK = (
    "My budget for the trip is 900 euros.",
    "We fly to Lisbon on 14 June with LH 1782.",
    "Anna does not eat meat.",
    "Let's stay at the hotel Mira, three nights.",
)


def said(*texts: str, first: int = 11) -> list[Message]:
    """Messages of a user, from a seq on."""
    return [Message("user", text, seq=seq, created_at=MONDAY) for seq, text in enumerate(texts, start=first)]


def line(text: str, *cites: int, section: str = "facts", id: str = "") -> Line:
    return Line(id, section, text, cites)


def remembered(text: str, *sources: int, id: str = "1.1") -> Line:
    return line(text, *sources, id=id)


def texts(verdict: Verdict) -> list[str]:
    return [one.text for one in verdict.lines]


def actions(verdict: Verdict) -> list[tuple[str, str]]:
    return [(one.reason, one.action) for one in verdict.findings]


SOUND = (
    line("Trip budget: €900", 11),
    line("Flight LH1782 to Lisbon on June 14", 12),
    line("Anna eats no meat", 13),
    line("Hotel Mira, 3 nights", 14),
)


def test_F3_a_faithful_summary_passes_untouched() -> None:
    verdict = judge(SOUND, said(*TALK))
    assert verdict == Verdict(True, SOUND, ())
    assert verdict.reasons == {}


# ---------------------------------------------------------------- Lines that fail


def test_F3_a_failing_line_is_dropped_and_the_rest_committed() -> None:
    verdict = judge((*SOUND[:3], line("Hotel Mira, 5 nights", 14)), said(*TALK))
    assert verdict.ok
    assert verdict.lines == SOUND[:3]
    assert actions(verdict) == [("number", "dropped")]
    assert verdict.reasons == {"number": 1}


def test_F3_more_than_half_failing_rejects_all() -> None:
    wrong = (line("Trip budget: €800", 11), line("Flight on June 15", 12), line("Anna eats meat", 13))
    verdict = judge((*wrong, SOUND[3]), said(*TALK))
    assert (verdict.ok, verdict.lines) == (False, ())
    assert verdict.findings[-1] == Finding("failures", "3 of 4 lines fail", "rejected")


def test_F3_half_failing_is_still_committed() -> None:
    verdict = judge((line("Trip budget: €800", 11), SOUND[3]), said(*TALK))
    assert verdict.ok
    assert verdict.lines == (SOUND[3],)


def test_F3_nothing_is_no_summary() -> None:
    for empty in ((), (line("  "),), (line("…!"),), (Line("", PINNED, "Budget", ()),)):
        verdict = judge(empty, said(*TALK))
        assert (verdict.ok, verdict.reasons) == (False, {"empty": 1})


def test_F3_a_section_that_does_not_exist_fails() -> None:
    verdict = judge((*SOUND, line("Anna likes Lisbon", 12, section="gossip")), said(*TALK))
    assert actions(verdict) == [("schema", "dropped")]


def test_F3_the_same_line_twice_is_one_line() -> None:
    verdict = judge((SOUND[0], line("trip budget: €900.", 12), SOUND[1]), said(*TALK))
    assert texts(verdict) == [SOUND[0].text, SOUND[1].text]


# ---------------------------------------------------------------- Size and manner


def test_F3_twice_the_cap_is_too_much_and_a_little_over_is_not() -> None:
    messages = said(*(f"Guest number {n} is from town {n}." for n in range(100, 160)))
    proposal = [line(f"Guest {n}: town {n}", n - 89) for n in range(100, 160)]
    assert judge(proposal, messages, cap=400).ok
    verdict = judge(proposal, messages, cap=150)
    assert (verdict.ok, actions(verdict)) == (False, [("size", "rejected")])


def test_F3_one_line_has_at_most_eighty_tokens() -> None:
    long = line("Budget " + "and budget " * 60, 11)
    assert actions(judge((*SOUND, long), said(*TALK))) == [("size", "dropped")]


@pytest.mark.parametrize(
    "text",
    [
        POLICY_SNIPPET[:90],
        BACKGROUND,
        opening("memory"),
        opening("recalled"),
        "Rewrite the memory below in short lines only",
    ],
)
def test_F3_words_of_our_own_prompts_are_no_memory(text: str) -> None:
    prompts = ("Please rewrite the memory below in short lines only, one fact each.",)
    verdict = judge((*SOUND, line(text, 11)), said(*TALK), prompts=prompts)
    assert actions(verdict) == [("prompt", "dropped")]


def test_F3_no_line_copies_more_than_twelve_words_in_a_row() -> None:
    source = "the old house by the river has a leaking roof that nobody wants to repair before winter"
    copy = line("Old house by the river has a leaking roof that nobody wants to repair before winter", 15)
    verdict = judge((*SOUND, copy), [*said(*TALK), *said(source, first=15)])
    assert actions(verdict) == [("copy", "dropped")]


# ---------------------------------------------------------------- Citations


def test_F3_a_wrong_citation_is_corrected() -> None:
    verdict = judge((line("Trip budget: €900", 13), *SOUND[1:]), said(*TALK))
    assert verdict.ok
    assert 11 in verdict.lines[0].sources
    assert actions(verdict) == [("citation", "recited")]


def test_F3_a_missing_citation_is_found() -> None:
    verdict = judge([line(one.text) for one in SOUND], said(*TALK))
    assert verdict.ok
    assert [one.sources for one in verdict.lines] == [(11,), (12,), (13,), (14,)]
    assert verdict.reasons == {"citation": 4}


def test_F3_a_message_that_does_not_exist_is_not_cited() -> None:
    verdict = judge((line("Trip budget: €900", 11, 999),), said(*TALK))
    assert verdict.lines[0].sources == (11,)


def test_F3_a_line_from_memory_keeps_the_sources_of_its_item() -> None:
    known = remembered("Passport number of User is C01X00T47", 3, 4)
    verdict = judge((line("Passport: C01X00T47", 3), *SOUND), said(*TALK), [known])
    assert verdict.ok
    assert set(verdict.lines[0].sources) <= {3, 4}
    assert len(verdict.lines) == 5


def test_F3_a_number_from_an_unrelated_message_grounds_nothing() -> None:
    messages = said("The pump moves 350 litres an hour.", "Nice weather today.", "We invited 80 guests.")
    verdict = judge((line("Pump capacity: 80 litres", 11),), messages)
    assert ("number", "dropped") in actions(verdict)


# ---------------------------------------------------------------- Pins


def test_F3_pins_need_not_be_repeated_but_not_contradicted() -> None:
    pins = [Line("p1", PINNED, "Never book flights before 8 am", ())]
    assert judge(SOUND, said(*TALK), pins=pins).lines == SOUND
    messages = said(*TALK, "Flights before 8 am are fine, book flights before 8 am.")
    verdict = judge((*SOUND, line("Book flights before 8 am", 15)), messages, pins=pins)
    assert actions(verdict) == [("pin", "dropped")]


# ---------------------------------------------------------------- Details


@pytest.mark.parametrize(
    ("written", "value"),
    [("12,000", 12000), ("12.000", 12000), ("12 000", 12000), ("1,5", 1.5), ("1.234,56", 1234.56), ("0.125", 0.125)],
)
def test_F3_numbers_by_value(written: str, value: float) -> None:
    assert value in readings(written)


def test_F3_names_are_told_from_words_at_the_start_of_a_line() -> None:
    assert [
        word for word in ("Prefers", "Landlord", "Vegetarian", "Undecided", "Rescheduled") if not ordinary(word)
    ] == []
    assert [word for word in ("Marta", "Kowalczyk", "Lisbon", "Priya", "Okafor") if ordinary(word)] == []
    assert names("Prefers Lisbon over Rome; Marta agrees") == ["Lisbon", "Rome", "Marta"]


def test_F3_evidence_is_computed_once_per_message() -> None:
    message = said(TALK[0])[0]
    assert evidence_of(message) is evidence_of(said(TALK[0])[0])


def test_F3_findings_tell_a_person_in_few_words() -> None:
    long = "Ref ABC-" + "9" * 300
    verdict = judge((*SOUND, line(long, 11), line("User: hello", 11)), said(*TALK), [remembered("x" * 400, 1)])
    assert all(one.detail and len(one.detail) <= 120 for one in verdict.findings)


def test_F3_the_verdict_does_not_depend_on_what_was_judged_before() -> None:
    messages = said(*TALK)
    proposal = (line("Trip budget: €800", 11), line("Anna eats meat", 13), *SOUND)
    known = [remembered("Door code is 4471", 3), remembered("User is allergic to penicillin", 2, id="1.2")]
    first = judge(proposal, messages, known)
    for seed in range(5):
        shuffled = random.Random(seed).sample(messages, len(messages))
        judge(proposal, shuffled, known)
        assert judge(proposal, messages, known) == first


ANY = st.text(max_size=120) | st.text(alphabet="0123456789.,:/-€$%kKmM aApP年月日不n't\n(){}[]#@_`", max_size=80)


@settings(max_examples=150, deadline=None)
@given(st.lists(ANY, max_size=5), st.lists(ANY, max_size=4), st.lists(ANY, max_size=3), st.integers(-(2**70), 2**70))
def test_F3_no_text_breaks_the_gate(proposed: list[str], told: list[str], known: list[str], at: int) -> None:
    messages = [Message("user", text, seq=n, created_at=at) for n, text in enumerate(told, start=1)]
    memory = [Line(f"1.{n}", "facts", text, (n,)) for n, text in enumerate(known)]
    lines = [line(text, 1) for text in proposed]
    verdict = judge(lines, messages, memory, pins=memory[:1])
    assert verdict.ok or not verdict.lines
    assert verdict == judge(lines, messages, memory, pins=memory[:1])


@settings(max_examples=150, deadline=None)
@given(ANY, st.integers(0, 2**50))
def test_F3_a_text_grounds_its_own_claims(text: str, at: int) -> None:
    claims_of(text)
    evidence_in(text, at)


def test_F3_preparing_changes_no_verdict() -> None:
    messages = said(*TALK, first=7011)
    lines = (line("Trip budget: €900", 7011), line("Anna eats meat", 7013))
    plain = judge(lines, messages)
    messages = said(*TALK, first=8011)
    prepare(messages)
    lines = (line("Trip budget: €900", 8011), line("Anna eats meat", 8013))
    prepared = judge(lines, messages)
    assert texts(plain) == texts(prepared)
    assert plain.findings == prepared.findings


def test_F3_the_same_proposal_over_other_messages_is_judged_anew() -> None:
    for amount, sound in (("900", True), ("800", False)):
        messages = [Message("user", f"My budget is {amount} euros.", seq=1, created_at=MONDAY)]
        assert judge((line("Budget: €900", 1),), messages).ok == sound
