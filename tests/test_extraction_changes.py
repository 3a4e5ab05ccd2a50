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
    ("first", "later", "words"),
    [
        ("We decided on Acana for the dog food.", "We've decided on a tin for the dog food storage.", ["Acana", "tin"]),
        ("We settled on cork for the kitchen floor.", "My budget for the kitchen floor is €900.", ["cork", "€900"]),
        ("My budget for the kitchen floor is €900.", "We settled on cork for the kitchen floor.", ["cork", "€900"]),
        ("We're going with Kafka for the message broker.", "We're going with Xero for the accounting.", ["Kafka", "Xero"]),
        ("Let's take Lisbon for the offsite.", "Can you make the offsite text a bit shorter instead?", ["Lisbon"]),
        ("Let's take Lisbon for the offsite.", "Actually that explanation of Lisbon's trams helps.", ["Lisbon"]),
        ("We run Grafana 11.2 here.", "Upgraded LibreOffice last night, it's 16.8 now.", ["Grafana 11.2", "LibreOffice", "16.8"]),
    ],
)  # fmt: skip
def test_nothing_else_goes(first: str, later: str, words: list[str]) -> None:
    found = one_by_one(first, later).casefold()
    assert [word for word in words if word.casefold() not in found] == [], found
