"""The extractive fold, seen from outside. What is only said again, and what only looks like it."""

from __future__ import annotations

import re

import pytest

from infold import Message
from infold.folding.telling import tell
from infold.items import SECTIONS, render
from tests.extraction import MONDAY, bullets, fold_in_turn, ms, one_by_one, said
from tests.test_extraction_merging import QUIET

REPEATED = [
    ("My budget is 1,250 euros and I never fly with Ryanair.", "your budget is 1,250 euros and you never fly with Ryanair"),
    ("We no longer use Jenkins, we build with Buildkite.", "you no longer use Jenkins, you build with Buildkite"),
    ("We decided not to renew the contract with Telia.", "you decided not to renew the contract with Telia"),
    ("Our login method is now magic links.", "your login method is now magic links"),
    ("Turns out Li Wen is the better interpreter, we're moving.", "Li Wen is the better interpreter, you're moving"),
    ("I got that wrong, Milo is the architect.", "Milo is the architect"),
    ("The dress code is black tie and there's no getting round it.", "the dress code is black tie, no getting round it"),
    ("Correction: the quote was 3,250 and not 2,350.", "the quote was 3,250 and not 2,350"),
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
        ("Anna is our contact at Umicore.", "Will is our contact at Umicore now.", "Will"),
        ("He is our landlord in Voss.", "She is our landlord in Voss now.", "She"),
        ("The trip to Rome is on.", "The trip to Rome is off.", "off"),
        ("We host the servers in the EU.", "We host the servers in the US now.", "US"),
        ("I take vitamin D.", "I now take vitamin C.", "vitamin C"),
        ("The launch of Falcon is in June.", "The launch of Falcon is in May now.", "May"),
        ("I stopped eating meat.", "I now eat meat.", "now eats meat"),
        ("We lack a permit from Telia.", "We have a permit from Telia now.", "have a permit"),
        ("We take the plane, not the train.", "We take the train, not the plane.", "take the train"),
        ("I will handle Telia instead of you.", "You will handle Telia instead of me.", "Assistant will handle"),
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
    ("told", "again", "old"),
    [
        ("We use Kafka.", "We use RabbitMQ instead of Kafka.", "Kafka"),
        ("Let's go with Casa Flora.", "Let's go with Hotel Lux instead of Casa Flora.", "Casa Flora"),
        ("We decided on Buildkite.", "We decided on Jenkins rather than Buildkite.", "Buildkite"),
        ("We decided to hold the retro in March.", "Change of plan: we hold the retro in April instead.", "March"),
        ("I teach French and German.", "I now teach German.", "French"),
        ("We visit Rome, Naples and Bari.", "Change of plan: we visit Rome and Naples.", "Bari"),
        ("We order pizza and sushi.", "Change of plan: we order sushi.", "pizza"),
        ("We use Figma.", "We use Sketch, not Figma.", "Figma"),
    ],
)
def test_what_is_left_unsaid_by_a_change_goes(told: str, again: str, old: str) -> None:
    assert old in one_by_one(told)
    assert old not in one_by_one(told, again)


@pytest.mark.parametrize("text", ["I live in Bergen.", "My budget is 400 euros now."])
def test_two_may_say_the_same_of_themselves(text: str) -> None:
    other = Message("assistant", text, seq=2, created_at=ms(MONDAY))
    found = bullets(render(fold_in_turn([said(text), [other]])))
    assert any("User" in line for line in found), found
    assert any("Assistant" in line for line in found), found


def test_the_loser_goes_though_the_winner_was_known() -> None:
    assert "Figma" not in one_by_one("We use Figma.", "We use Sketch.", "We use Sketch, not Figma.")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("The root cause of bug INF-221 is not understood.", "Root cause of bug INF-221 is not understood"),
        ("All allergies must be noted.", "All allergies must be noted"),
        ("I applied for the flat in Voss and got it.", "User applied for the flat in Voss and got it"),
        ("You went with Hetzner, I go with Azure.", "Assistant went with Hetzner, User goes with Azure"),
        ("My wife and I are vegetarians.", "User's wife and User are vegetarians"),
    ],
)
def test_a_line_keeps_its_beginning_and_its_end(text: str, line: str) -> None:
    assert tell(text, text, "User", "Assistant", "decision", ms(MONDAY)) == line


@pytest.mark.parametrize(
    ("said_by_assistant", "line"),
    [
        ("Petra and you live in Bergen", "Petra and User live in Bergen"),
        ("I'll let Anna and you decide on Monday", "let Anna and User decide"),
        ("You set the budget at 1,250 euros last week", "User set the budget"),
        ("Your flight leaves at 9 and you are in seat 4C", "and User is in seat 4C"),
        ("My colleague and I are on it", "Assistant are on it"),
    ],
)
def test_who_does_what_is_told_rightly(said_by_assistant: str, line: str) -> None:
    told = tell(said_by_assistant, said_by_assistant, "Assistant", "User", "fact", ms(MONDAY))
    assert line in told


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
