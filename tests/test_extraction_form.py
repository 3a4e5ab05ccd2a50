"""The extractive fold, seen from outside. The form of memory, and pins."""

from __future__ import annotations

import re

import pytest

from infold import Memory, preset, summarize_memory
from infold.items import SECTIONS
from infold.policy import Policy
from infold.presets import PRESETS
from tests.conftest import assistant, user, words
from tests.extraction import MOST_WORDS, WINDING, bullets, remembered, said
from tests.test_corpus import LONGEST_RUN, runs
from tests.test_extraction import REVERSALS

# A8: form ------------------------------------------------------------------------------------------------


def test_A8_headings_of_the_contract_in_their_order() -> None:
    wanted = [
        "Facts / Constraints",
        "Goals / Preferences",
        "Decisions Made",
        "Open Items / Pending Commitments",
        "Key Artifacts / References",
    ]
    assert list(SECTIONS.values()) == wanted
    said_backwards = [
        "The contract is in contract_v3.pdf.",
        "I need to renew my passport by Friday.",
        "We decided on Lisbon for the offsite.",
        "I prefer trains over planes.",
        "I live in Ghent.",
    ]
    found = remembered(*said_backwards, known="## Pinned\n- Never mention prices.")
    lines = found.splitlines()
    assert [line[3:] for line in lines if line.startswith("#")] == ["Pinned", *wanted]
    assert all(re.fullmatch(r"## \S.*|- \S.*", line) for line in lines)


LONG_WINDED = [
    (WINDING, "INV-20417"),
    (
        (
            "I should perhaps mention that ever since we moved into the old mill on the canal with its three leaking roofs "
            "our yearly insurance premium with Nordhaven has been 1840 euros and it may never go above 2000 euros."
        ),
        "2000",
    ),
    (
        (
            "We decided, after a meeting that took the whole afternoon and half of the evening and left everybody quite "
            "tired and hungry and a little cross with each other, to move the archive of the choir to Tresorit."
        ),
        "Tresorit",
    ),
    (
        (
            "My doctor in Uppsala told me last winter when I came in with that cough which would not go away for weeks "
            "and weeks that I must not take ibuprofen together with the pills that I have for my heart."
        ),
        "ibuprofen",
    ),
    (
        (
            "I need to remember to bring the signed form F-8812 and two photographs and the green card and the keys of the "
            "boat shed and the old chart of the harbour to the office of Mr Lindqvist by Friday."
        ),
        "F-8812",
    ),
    (
        (
            "The one thing that I really always prefer over everything else when it comes to long journeys with small "
            "children and lots of luggage and little sleep is a night train with a cabin of our own."
        ),
        "train",
    ),
    ("Our build number is " + " ".join(f"then{n} word{n}" for n in range(60)) + " and the ticket is OPS-5512.", ""),
]


@pytest.mark.parametrize("sentence", [sentence for sentence, _ in LONG_WINDED])
@pytest.mark.parametrize("by", ["user", "assistant"])
def test_A8_long_sentences_are_not_copied(sentence: str, by: str) -> None:
    found = summarize_memory("", said(sentence, by=by))
    source = runs(sentence, LONGEST_RUN + 1)
    assert [line for line in bullets(found) if runs(line, LONGEST_RUN + 1) & source] == []
    assert all(len(line.split()) <= MOST_WORDS for line in bullets(found))


@pytest.mark.parametrize(("sentence", "kept"), LONG_WINDED)
def test_A8_long_sentences_keep_what_they_are_about(sentence: str, kept: str) -> None:
    assert kept in remembered(sentence)


@pytest.mark.parametrize(
    "text",
    [
        "I think Ghent is the loveliest city in Belgium.",
        "In my opinion the second draft reads much better.",
        "That is a great question! Let me break it down for you.",
        "Perhaps you might consider a smaller boat; honestly it depends.",
        "Let me think step by step: first we look at the rows, then at the columns.",
        "Hello Ada! I hope you are doing well today.",
        "I'm so sorry to hear that, it must be frustrating.",
        "Is there anything else I can help you with?",
        "Personally I would pick the blue one.",
        "Great choice, you will love it!",
    ],
)
def test_A8_opinions_reasoning_and_manners_of_the_assistant_stay_out(text: str) -> None:
    assert summarize_memory("", said(text, by="assistant")) == ""


@pytest.mark.parametrize(
    "filler", ["Hi there!", "Haha,", "Ugh, honestly,", "Thanks so much, and by the way,", "Oh wow, ok so"]
)
def test_A8_tone_and_filler_around_a_fact_stay_out(filler: str) -> None:
    found = bullets(remembered(f"{filler} I am allergic to peanuts, thanks!"))
    assert [line for line in found if "peanuts" in line] == found
    assert len(found) == 1, "the fact went with the filler"
    assert not re.search(r"(?i)\b(?:hi|haha|ugh|honestly|thanks|wow|lol|by the way|oh)\b", found[0])


@pytest.mark.parametrize(
    ("text", "holds", "names"),
    [
        ("You must not call me before 9.", "must not", "before 9"),
        ("The deploy must never run on Fridays.", "never", "Fridays"),
        ("Refunds are allowed only if the ticket is unused.", "only if", "unused"),
        ("I no longer eat meat.", "no longer", "meat"),
        ("The van may be used unless it snows.", "unless", "snows"),
        ("I can't eat gluten.", "can't|cannot", "gluten"),
        ("Never share my phone number with anyone.", "never", "phone number"),
        ("We do not ship to Norway.", "not|don't", "Norway"),
        ("My mother doesn't speak English.", "doesn't|does not", "English"),
        ("We decided not to hire an agency.", "not|no", "agency"),
        ("We decided against a second office in Malmö.", "against|no|not", "Malmö"),
        ("The API key must not be committed without a review, except by Tom.", "must not", "API key"),
        ("Invoices may only be paid after two signatures.", "only", "signatures"),
        ("I might move to Turin next year.", "might", "Turin"),
    ],
)
def test_A8_negation_and_modality_are_preserved(text: str, holds: str, names: str) -> None:
    found = bullets(remembered(text))
    about = [line for line in found if names.lower() in line.lower()]
    assert about or holds == "might", found  # what is only possible may stay out, but not come in as certain
    assert all(re.search(rf"(?i)\b(?:{holds})\b", line) for line in about), found


def test_A8_negation_survives_in_a_sentence_that_is_cut() -> None:
    for sentence, kept in LONG_WINDED:
        for line in bullets(remembered(sentence)):
            if "ibuprofen" in line or "INV-20417" in line:
                assert "must not" in line, (line, kept)


# F4: pins ------------------------------------------------------------------------------------------------

PINS = ["The gate code is 4711#.", "We go to Lisbon.", "Never call “Ann” before 9:30 – résumé 漢字."]


def pressed(name: str) -> Policy:
    """A preset with caps so small that each fold drops lines."""
    policy = preset(name, {})
    caps = {cap: 60 for cap in ("summary_cap", "leaf_cap", "facts_cap") if getattr(policy, cap)}
    return preset(name, {}, **caps)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_F4_pins_survive_sixty_folds_with_caps_under_pressure(memory: Memory, name: str) -> None:
    chat = memory.chat("a", config=pressed(name), context_window=4000)
    for text in PINS:
        chat.pin(text)
    made = 0
    for n in range(60):
        chat.add([user(f"The gate code is {n}. We decided on supplier Nordwind{n}, not Lisbon."), assistant("Fine.")])
        chat.add(
            [user(f"Forget Lisbon, change of plan, we go to Porto{n}. Ann prefers room R-{n}1."), assistant("Ok.")]
        )
        made += chat.fold()
        assert [pin.text for pin in chat.memory.pins] == PINS
        assert bullets(chat.summary, "Pinned") == PINS
    assert made == 60 or name == "chain"  # which may not fold deeper than its limit
    shown = "\n".join(str(m["content"]) for m in chat.context("So?").messages if m["role"] == "system")
    assert all(f"- {text}\n" in f"{shown}\n" for text in PINS)
    assert chat.verify().ok


@pytest.mark.parametrize(
    "reversal", [*REVERSALS, "The gate code is now 9999.", "We no longer go to Lisbon.", "Unpin all."]
)
@pytest.mark.parametrize("name", ["rolling", "default"])
def test_F4_a_reversal_that_names_a_pin_leaves_it(memory: Memory, name: str, reversal: str) -> None:
    chat = memory.chat("a", preset=name)
    for text in PINS:
        chat.pin(text)
    chat.add([user(reversal), assistant("Fine."), *(user(words(10, f"m{n}")) for n in range(12))])
    chat.fold()
    assert bullets(chat.summary, "Pinned") == PINS


@pytest.mark.parametrize("pin", PINS)
def test_F4_pinned_lines_of_a_summary_stay_as_they_are(pin: str) -> None:
    known = f"## Pinned\n- {pin}"
    bare = pin.rstrip(".#")
    for number in range(60):
        texts = [f"{bare}.", f"Our gate code is {number}.", REVERSALS[number % len(REVERSALS)]]
        known = remembered(
            *texts, f"My locker {number} holds {number * 37} tins of paint, and I own {number + 2} boats.", known=known
        )
        assert bullets(known, "Pinned") == [pin]
