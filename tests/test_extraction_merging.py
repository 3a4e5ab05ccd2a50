"""The extractive fold, seen from outside. Relative dates, and merging over many folds."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infold import Message, summarize_memory
from infold.folding.dates import resolve
from infold.folding.extractive import extract
from infold.items import SECTIONS
from tests.extraction import MONDAY, bullets, fold_in_turn, ms, one_by_one, remembered, said

# Relative dates ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "when", "day"),
    [
        (MONDAY, "by Friday", "2026-05-08"),
        (MONDAY, "by tomorrow", "2026-05-05"),
        (MONDAY, "today", "2026-05-04"),
        (MONDAY, "the day after tomorrow", "2026-05-06"),
        (MONDAY, "in two weeks", "2026-05-18"),
        (MONDAY, "in 3 days", "2026-05-07"),
        (MONDAY, "by the end of the month", "2026-05-31"),
        (MONDAY, "by the end of the week", "2026-05-08"),
        (MONDAY, "by next Monday", "2026-05-11"),
        ("2028-02-28T10:00:00Z", "by tomorrow", "2028-02-29"),
        ("2028-02-29T10:00:00Z", "by tomorrow", "2028-03-01"),
        ("2027-02-28T10:00:00Z", "by tomorrow", "2027-03-01"),
        ("2028-02-10T10:00:00Z", "by the end of the month", "2028-02-29"),
        ("2027-02-10T10:00:00Z", "by the end of the month", "2027-02-28"),
        ("2028-02-29T10:00:00Z", "by the end of the month", "2028-02-29"),
        ("2028-02-15T10:00:00Z", "in two weeks", "2028-02-29"),
        ("2026-12-30T10:00:00Z", "by Friday", "2027-01-01"),
        ("2026-12-31T10:00:00Z", "by tomorrow", "2027-01-01"),
        ("2026-12-20T10:00:00Z", "in two weeks", "2027-01-03"),
        ("2026-12-31T10:00:00Z", "by the end of the month", "2026-12-31"),
        ("2026-12-31T10:00:00Z", "by the end of the year", "2026-12-31"),
        ("2026-05-04T23:59:59Z", "by tomorrow", "2026-05-05"),
        ("2026-05-05T00:00:00Z", "by tomorrow", "2026-05-06"),
    ],
)
def test_relative_dates_are_those_of_the_day_they_were_said(at: str, when: str, day: str) -> None:
    found = remembered(f"I must hand in form F-2210 {when}.", at=at)
    assert "F-2210" in found
    assert re.findall(r"\d{4}-\d{2}-\d{2}", found) == [day]


def test_each_message_has_its_own_day() -> None:
    told = [
        Message("user", "I must hand in form F-2210 by Friday.", seq=1, created_at=ms(MONDAY)),
        Message("user", "I must hand in form F-3310 by Friday.", seq=2, created_at=ms("2026-06-01T10:00:00Z")),
    ]
    found = bullets(summarize_memory("", told))
    assert any("F-2210" in line and "2026-05-08" in line for line in found)
    assert any("F-3310" in line and "2026-06-05" in line for line in found)


@pytest.mark.parametrize("when", ["by Friday", "by tomorrow", "in two weeks", "by the end of the month", "today"])
def test_dates_stay_words_where_the_day_is_not_known(when: str) -> None:
    text = f"I must hand in form F-2210 {when}."
    assert resolve(text, 0) == text
    found = summarize_memory("", [Message("user", text, seq=1)])
    assert when.removeprefix("by ") in found
    assert not re.search(r"\d{4}-\d{2}-\d{2}", found)


RECURRING = [
    "every Friday",
    "on Fridays",
    "each Friday",
    "Friday mornings",
    "every second Friday",
    "every other Friday",
    "every Monday and Thursday",
    "on Mondays and Thursdays",
    "on the first Friday of each month",
    "on the last Friday of every month",
    "Monday to Friday",
    "at the end of every month",
    "at the end of each week",
]


@pytest.mark.parametrize("when", RECURRING)
def test_what_recurs_has_no_date(when: str) -> None:
    text = f"The choir rehearses {when}."
    assert resolve(text, ms(MONDAY)) == text
    assert not re.search(r"\d{4}-\d{2}-\d{2}", remembered(text))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("I must hand in form F-2210 by Friday, May 15.", "2026-05-08"),
        ("I must hand in form F-2210 by Friday 15 May 2026.", "2026-05-08"),
        ("I must hand in form F-2210 by Friday, the 15th of May.", "2026-05-08"),
        ("I paid the deposit of 300 euros on Friday.", "2026-05-08"),
        ("The office is closed on Good Friday.", "2026-05-08"),
        ("The sale of our camera Z-500 starts on Black Friday.", "2026-05-08"),
        ("Our band is called Blue Monday.", "2026-05-11"),
    ],
)
def test_a_day_that_is_told_otherwise_is_not_moved(text: str, wrong: str) -> None:
    assert wrong not in remembered(text)


# Merging over many folds ---------------------------------------------------------------------------------

QUIET = ["I live in Ghent.", "I prefer trains over planes.", "My sister Nora is a nurse.", "Our dog is called Rufus."]


@pytest.mark.parametrize(
    ("first", "later", "old", "new"),
    [
        ("My budget is 400 euros.", "My budget is 600 euros.", "400", "600"),
        ("My budget is 400 euros.", "My budget is now 600 euros.", "400", "600"),
        ("My budget is 400 euros.", "Our budget is 600 euros after all.", "400", "600"),
        ("My budget is $400.", "My budget is $1,600 from now on.", "$400", "1,600"),
        ("My budget is 400 euros.", "I raised my budget to 600 euros.", "400", "600"),
        ("My budget is 400 euros.", "Correction: my budget is 600 euros, not 400.", "400", "600"),
        ("The rent is 900 euros a month.", "The rent is 950 euros a month.", "900", "950"),
        ("My phone number is 0470 111222.", "My phone number is 0470 333444.", "111222", "333444"),
        ("I live in Ghent.", "I moved to Bruges.", "Ghent", "Bruges"),
        ("The launch date is 14 March 2027.", "The launch date is 21 April 2027.", "14 March", "21 April"),
    ],
)
def test_a_later_value_takes_the_place_of_an_earlier_one(first: str, later: str, old: str, new: str) -> None:
    quiet = [text for text in QUIET if "live" not in text]
    for found in (one_by_one(first, *quiet, later), remembered(later, known=remembered(first, *quiet))):
        assert new in found
        assert old not in found
        assert all(name in found for name in ("trains", "Nora", "Rufus"))


def test_sixty_values_leave_only_the_last() -> None:
    found = one_by_one(*(f"My budget is {n}50 euros." for n in range(1, 61)))
    assert bullets(found) == ["User's budget is 6050 euros"]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("My budget is 400 euros.", "My rent is 900 euros."),
        ("The hotel budget is 400 euros.", "The flight budget is 900 euros."),
        ("My sister's budget is 400 euros.", "My budget is 900 euros."),
        ("The budget for Oslo is 400 euros.", "The budget for Rome is 900 euros."),
        ("My work number is 0470 111222.", "My home number is 0470 333444."),
        ("My son is called Emil.", "My daughter is called Tova."),
    ],
)
def test_values_of_different_things_both_stay(one: str, two: str) -> None:
    assert len(bullets(one_by_one(one, two))) == 2
    assert len(bullets(one_by_one(two, one))) == 2


@pytest.mark.parametrize(
    ("one", "two", "names"),
    [
        ("We decided to paint the kitchen white.", "We decided to paint the bathroom green.", ("kitchen", "bathroom")),
        ("We decided on Lisbon for the offsite.", "We decided on Blomqvist for the catering.", ("Lisbon", "Blomqvist")),
        ("We decided to use Redis for sessions.", "We decided to use Postgres for invoices.", ("Redis", "Postgres")),
        ("We decided to host the blog on Hetzner.", "We decided to host the shop on Fastly.", ("Hetzner", "Fastly")),
        (
            "We decided to hire Marta for the night shift.",
            "We decided to hire Joost for the day shift.",
            ("Marta", "Joost"),
        ),
        ("We agreed to sell the red boat.", "We agreed to keep the blue boat.", ("red", "blue")),
    ],
)
def test_two_decisions_that_share_a_word_both_stay(one: str, two: str, names: tuple[str, str]) -> None:
    for found in (
        one_by_one(one, two),
        one_by_one(two, one),
        remembered(one, two),
        remembered(two, known=remembered(one)),
    ):
        assert all(name in found for name in names), found


@pytest.mark.parametrize(
    ("opened", "fact", "word"),
    [
        ("I need to renew my passport by Friday.", "My passport number is X1234567.", "renew"),
        ("I must pay the plumber by Friday.", "The plumber is called Joost.", "pay"),
        ("Dana will send the contract by Friday.", "The contract is in contract_v3.pdf.", "send"),
        ("I have to book the hotel in Oslo by Friday.", "The hotel in Oslo is called Lundgren.", "book"),
        ("I need to fix the roof of the shed by Friday.", "The shed is 4 metres wide.", "roof"),
        ("It is still open which caterer we hire.", "My cousin is a caterer in Ghent.", "which caterer|open"),
        ("I must call Nora tomorrow.", "Nora lives in Oslo.", "call"),
    ],
)
def test_a_fact_with_a_word_of_an_open_item_does_not_close_it(opened: str, fact: str, word: str) -> None:
    for found in (
        remembered(opened, fact),
        one_by_one(opened, *QUIET, fact),
        remembered(fact, known=remembered(opened)),
    ):
        assert any(re.search(word, line) for line in bullets(found, SECTIONS["open"])), found


TASKS = {
    "contract": ("Dana will send the contract by Friday.", "Dana has sent the contract."),
    "badges": ("Dana will print the badges by Friday.", "Dana has printed the badges."),
    "passport": ("I need to renew my passport by Friday.", "I renewed my passport yesterday."),
    "INV-3321": ("I have to pay invoice INV-3321 by Friday.", "Invoice INV-3321 is paid."),
    "INV-4432": ("I have to pay invoice INV-4432 by Friday.", "Invoice INV-4432 is paid."),
}


@pytest.mark.parametrize("done", TASKS)
def test_closing_closes_exactly_one(done: str) -> None:
    opened = [task for task, _ in TASKS.values()]
    assert len(bullets(one_by_one(*opened), SECTIONS["open"])) == len(TASKS)
    for found in (one_by_one(*opened, TASKS[done][1]), remembered(*opened, TASKS[done][1])):
        left = bullets(found, SECTIONS["open"])
        assert [task for task in TASKS if not any(task in line for line in left)] == [done]
        assert len(left) == len(TASKS) - 1


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Dana will send the contract by Friday.", "Dana will send the brochure by Friday."),
        ("I need to call the plumber by Friday.", "I need to call the dentist by Friday."),
        ("I have to pay invoice INV-3321 by Friday.", "I have to pay invoice INV-4432 by Friday."),
        ("Tom will review the design of the shop.", "Tom will review the design of the blog."),
    ],
)
def test_open_items_that_differ_in_one_word_both_stay(one: str, two: str) -> None:
    for found in (one_by_one(one, two), remembered(one, two)):
        assert len(bullets(found, SECTIONS["open"])) == 2, found


INDEPENDENT = [
    *QUIET,
    "My budget is 400 euros.",
    "We decided on Lisbon for the offsite.",
    "We decided on Blomqvist for the catering.",
    "I need to renew my passport by Friday.",
    "The contract is in contract_v3.pdf.",
    "You must not call me before 9.",
]


@settings(deadline=None, max_examples=40)
@given(order=st.permutations(INDEPENDENT), cuts=st.sets(st.integers(1, len(INDEPENDENT) - 1)))
def test_order_and_cuts_do_not_matter_where_nothing_conflicts(order: list[str], cuts: set[int]) -> None:
    messages = said(*order)
    edges = [0, *sorted(cuts), len(messages)]
    memory = fold_in_turn([messages[a:b] for a, b in itertools.pairwise(edges)])
    told = {(item.section, item.text) for item in memory}
    assert told == {(item.section, item.text) for item in fold_in_turn([said(*INDEPENDENT)])}
    assert len(memory) == len(INDEPENDENT)
    for item in memory:  # each knows which message it is from
        assert [order.index(text) + 1 for text in order if extract(said(text)[0])[0].text == item.text] == [
            *item.sources
        ]
