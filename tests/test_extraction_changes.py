"""The extractive fold, seen from outside. Changes of mind: only the latest stands, and nothing else goes."""

from __future__ import annotations

import pytest

from tests.extraction import one_by_one


@pytest.mark.parametrize(
    "chain",
    [
        # The first change leaves its topic unsaid; the second names it.
        (
            "Told my boss this morning that the mobile plan will be Lebara.",
            "As the waiting time rules out Lebara, we've now opted for Giffgaff.",
            "Plot twist: Vodafone for the mobile plan!",
        ),
        (
            "As far as the rehab sport goes I'm set on swimming.",
            "I've gone off swimming completely. Pilates please.",
            "Kindly disregard our previous choice of rehab sport; archery has been approved.",
        ),
        # A topic of one word is carried on, too.
        (
            "The decision fell yesterday, flooring becomes terrazzo.",
            "Terrazzo doesn't work out for us, therefore I've rebooked to linoleum.",
            "Correction for the flooring, it's parquet now, ignore the former choice.",
        ),
        # Sentences that say too little by themselves.
        ("Regarding the guest mattress, we hereby confirm latex.", "Ignore the previous guest mattress choice. It's futon."),
        ("We said yes to pottery for the evening class.", "I'd said pottery. Make that calligraphy."),
        ("On the web framework, I hereby declare Laravel the winner.", "Remember how I was dead set on Laravel? It's Symfony now."),
        # Filed elsewhere, or said in passing.
        ("You can write it down: Jura E8, coffee machine, agreed with both.", "Scrap Jura E8, we're doing Moccamaster for the coffee machine now."),
        ("Scooter shed is sorted, we're having cedar.", "Plans changed again lol, scooter shed is gonna be larch not cedar"),
        # What is told of the old thing goes with it.
        ("We use Kafka as the message broker.", "Kafka, which I was so sure about, is out, and NATS is in."),
        ("The hosting region is going to be Mumbai.", "No Mumbai for us: the hosting region is going to be Oregon."),
    ],
)  # fmt: skip
def test_only_the_latest_choice_stands(chain: tuple[str, ...]) -> None:
    values = (
        "Lebara Giffgaff Vodafone swimming Pilates archery terrazzo linoleum parquet latex futon pottery calligraphy"
    )
    values += " Laravel Symfony Jura Moccamaster cedar larch Kafka NATS Mumbai Oregon"
    named = [v for text in chain for v in values.casefold().split() if v in text.casefold()]
    found = one_by_one(*chain).casefold()
    assert [value for value in dict.fromkeys(named) if value in found] == [named[-1]], found


@pytest.mark.parametrize(
    ("first", "later", "old", "new"),
    [
        # What speaks against the old thing stands apart from what is said of the new one.
        ("We chose pine for the garden table.", "Pine would rot in two winters. We're building the garden table out of ash.", "pine", "ash"),
        ("The sofa is going to be beige.", "With two dogs beige is madness. We ordered the sofa in terracotta.", "beige", "terracotta"),
        ("Viktor is going to moderate the panel.", "Viktor is stuck in Oslo; Ines will moderate the panel.", "Viktor", "Ines"),
        ("We'll take the coach to Dublin.", "I get sick on coaches, so we're taking the ferry to Dublin.", "coach", "ferry"),
        ("Anton will hold the opening speech.", "Anton has the flu, Mirja is taking over the opening speech.", "Anton", "Mirja"),
        # The same but for one word, or one figure, and there is a change.
        ("Headlines are set in Roboto.", "The agency sent the new guide: headlines are set in Lato.", "Roboto", "Lato"),
        ("The school run starts at 7:30.", "New timetable! The school run starts at 8:15.", "7:30", "8:15"),
        ("The budget for the e-bike is €1,200.", "I had to lower the budget for the e-bike to €950.", "1,200", "950"),
        ("I live in Berlin.", "By the way we moved house, I live in Leipzig these days.", "Berlin", "Leipzig"),
    ],
)  # fmt: skip
def test_what_is_said_of_another_thing_goes(first: str, later: str, old: str, new: str) -> None:
    found = one_by_one(first, later)
    assert old not in found, found
    assert new in found, found


@pytest.mark.parametrize(
    ("first", "later", "words"),
    [
        ("We decided on Acana for the dog food.", "We've decided on a tin for the dog food storage.", ["Acana", "tin"]),
        ("We settled on cork for the kitchen floor.", "My budget for the kitchen floor is €900.", ["cork", "€900"]),
        ("My budget for the kitchen floor is €900.", "We settled on cork for the kitchen floor.", ["cork", "€900"]),
        ("We're going with Kafka for the message broker.", "We're going with Xero for the accounting.", ["Kafka", "Xero"]),
        ("Let's take Lisbon for the offsite.", "Can you make the offsite text a bit shorter instead?", ["Lisbon"]),
        ("Let's take Lisbon for the offsite.", "Actually that explanation of Lisbon's trams helps.", ["Lisbon"]),
        ("We run Grafana 11.2 here.", "Upgraded LibreOffice last night, it's 16.8 now.", ["Grafana 11.2", "LibreOffice", "16.8"]),
        ("We chose pine for the garden table.", "Pine smells nice. The garden table needs oil every spring.", ["pine", "oil"]),
        ("We chose pine for the garden table.", "The bench is pine, too. The garden table gets two benches.", ["pine for", "two benches"]),
        ("Marta is allergic to nuts.", "I met Marta. Marta is allergic to eggs.", ["nuts", "eggs"]),
        ("I must call the plumber by Friday.", "The cooker is new. I must call the electrician by Friday.", ["plumber", "electrician"]),
        ("We have an office in Berlin.", "The company keeps growing. We have an office in Paris.", ["Berlin", "Paris"]),
        ("The kitchen floor will be cork.", "Cork is warm. The bathroom floor will be tiles.", ["cork", "tiles"]),
        ("Order A-1044 is paid by card.", "New one: order A-1045 is paid by card.", ["A-1044", "A-1045"]),
        ("Jonas will bring the salad.", "Jonas asked about drinks, so Elif will bring the wine.", ["salad", "wine"]),
        ("We use Kafka as the message broker.", "Kafka works well, and we use Redis as the cache.", ["Kafka as", "Redis as"]),
        ("I drink decaf after lunch.", "I've given up decaf. It's tea after lunch for me.", ["given up decaf"]),
        ("Room 11 is booked for Marta.", "There's a new booking: room 12 is booked for Marta.", ["12 is booked for Marta"]),
        ("Invoice INV-1044 must be paid by 3 June.", "New one today: invoice INV-1045 must be paid by 3 June.", ["INV-1044", "INV-1045"]),
    ],
)  # fmt: skip
def test_nothing_else_goes(first: str, later: str, words: list[str]) -> None:
    found = one_by_one(first, later).casefold()
    assert [word for word in words if word.casefold() not in found] == [], found


def test_A7_of_a_change_more_than_a_figure_is_left() -> None:
    found = one_by_one("We decided on PGSECRET hotel 1.", "We decided on PGSECRET hotel 2.")
    assert "PGSECRET hotel 2" in found
    assert "hotel 1" not in found
