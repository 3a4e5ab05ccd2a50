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
from infold.items import SECTIONS, render
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


REPEATED = [
    ("My budget is 1,250 euros and I never fly with Ryanair.", "your budget is 1,250 euros and you never fly with Ryanair"),
    ("We no longer use Jenkins, we build with Buildkite.", "you no longer use Jenkins, you build with Buildkite"),
    ("We decided not to renew the contract with Telia.", "you decided not to renew the contract with Telia"),
    ("Our login method is now magic links.", "your login method is now magic links"),
    ("Turns out Li Wen is the better interpreter, we're moving.", "Li Wen is the better interpreter, you're moving"),
    ("I got that wrong, Milo is the architect.", "Milo is the architect"),
    ("The dress code is black tie and there's no getting round it.", "the dress code is black tie, no getting round it"),
    ("Correction: the quote was 3,250 and not 2,350.", "the quote was 3,250 and not 2,350"),
    ("Our original pick for treasurer stepped down, Colin takes it.", "your original pick for treasurer stepped down, Colin takes it"),
    ("I don't eat meat.", "you don't eat meat"),
    ("I'm not keen on fish with bones.", "you're not keen on fish with bones"),
    ("I'm on blood thinners so no aspirin, no ibuprofen.", "you're on blood thinners so no aspirin, no ibuprofen"),
    ("We agreed to skip the gifts this Christmas.", "you agreed to skip the gifts this Christmas"),
    ("Our hotel is Casa Flora, booking code QX-7731.", "your hotel is Casa Flora, booking code QX-7731"),
    ("Never deploy after 4 pm.", "never deploy after 4 pm"),
]  # fmt: skip


@pytest.mark.parametrize(("told", "again"), REPEATED)
@pytest.mark.parametrize("lead", ["Noted: {}.", "Got it, {}.", "Understood, {}!", "So {}.", "{}."])
def test_what_the_assistant_repeats_stays_as_it_was_told(told: str, again: str, lead: str) -> None:
    once, twice = said(told), Message("assistant", lead.format(again), seq=2, created_at=ms(MONDAY))
    before = fold_in_turn([once])
    assert before
    for memory in (fold_in_turn([once, [twice]]), fold_in_turn([[*once, twice]])):
        assert {item.text for item in before} <= {item.text for item in memory}
        assert len(memory) <= len(before) + 1


@pytest.mark.parametrize(
    ("told", "again"),
    [
        ("My sister-in-law has taken on the seating plan.", "Your sister-in-law has taken on the seating plan."),
        ("TBC whether Rhys is best man or just an usher.", "TBC whether Rhys is best man or just an usher."),
        ("We're torn between Hull and Stirling and nothing's been signed.", "You're torn between Hull and Stirling and nothing's been signed."),
        ("Jury's out on whether I go to the reunion.", "Jury's out on whether you go to the reunion."),
        ("Akash said he would write the postmortem for Tuesday's outage.", "Akash said he would write the postmortem for Tuesday's outage."),
    ],
)  # fmt: skip
def test_what_is_open_stays_so_when_it_is_repeated(told: str, again: str) -> None:
    first, second = said(told)[0], Message("assistant", again, seq=2, created_at=ms(MONDAY))
    before = fold_in_turn([[first]])
    assert [item.section for item in before] == ["open"]
    after = fold_in_turn([[first], [second]])
    assert [(item.section, item.text) for item in after] == [(item.section, item.text) for item in before]


@pytest.mark.parametrize(
    ("opened", "done"),
    [
        ("I have to sand the floor by Friday.", "I have sanded the floor."),
        ("We book the hotel by Friday.", "We booked the hotel."),
        ("Dana will put the contract into the safe by Friday.", "Dana has put the contract into the safe."),
        ("It is open which caterer we hire.", "We hire Blomqvist as the caterer."),
    ],
)
def test_what_is_done_is_not_taken_for_a_repetition(opened: str, done: str) -> None:
    assert bullets(one_by_one(opened), SECTIONS["open"])
    assert not bullets(one_by_one(opened, done), SECTIONS["open"])


@pytest.mark.parametrize(("told", "_"), REPEATED)
@pytest.mark.parametrize("lead", ["", "As I said, ", "Just to repeat: "])
def test_what_is_said_twice_is_remembered_once(told: str, _: str, lead: str) -> None:
    once = one_by_one(told)
    assert one_by_one(told, f"{lead}{told}") == once
    assert one_by_one(told, *QUIET, f"{lead}{told}") == one_by_one(told, *QUIET)


@pytest.mark.parametrize(
    ("told", "again", "new"),
    [
        ("We take the train to Lisbon.", "We don't take the train to Lisbon after all.", "not|n't"),
        ("I eat meat.", "I don't eat meat any more.", "doesn't"),
        ("We meet on Mondays at ten in the Oslo room.", "We now meet on Mondays at ten in the Bergen room.", "Bergen"),
        ("My budget is 400 euros.", "My budget is 600 euros, not 400.", "600"),
        ("Choir practice is on Mondays.", "Choir practice is on Tuesdays.", "Tuesdays"),
        ("We have a contract with Telia.", "We have cancelled the contract with Telia.", "cancelled"),
        ("I work at Umicore.", "I no longer work at Umicore.", "no longer|stopped"),
        ("Anna is our contact at Umicore.", "Anna used to be our contact at Umicore.", "used to"),
        ("Anna is our contact at Umicore.", "Anna was our contact at Umicore.", "was"),
        (
            "Lisbon and Porto are our options for the offsite.",
            "Lisbon it is for the offsite, not Porto.",
            "Lisbon it is",
        ),
    ],
)
def test_what_is_said_again_with_another_meaning_is_a_change(told: str, again: str, new: str) -> None:
    found = one_by_one(told, again)
    assert re.search(new, found), found


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (
            "Noted, you live in Bergen and you never fly with Ryanair.",
            "User lives in Bergen and User never flies with Ryanair",
        ),
        ("You are allergic to nuts, and you have two cats.", "User is allergic to nuts, and User has two cats"),
        ("Got it from my aunt Berit: the stove is from 1962.", "aunt Berit"),
    ],
)
def test_the_assistant_speaks_of_the_user_in_whole_sentences(told: str, line: str) -> None:
    assert line in render(fold_in_turn([said(told, by="assistant")]))


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
