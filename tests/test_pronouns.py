"""The extractive fold, seen from outside. Lines say whom or what they speak of where that is clear, and never guess."""

from __future__ import annotations

import pytest

from infold.folding.extractive import extract
from tests.extraction import said


def lines(text: str, by: str = "user") -> list[str]:
    (message,) = said(text, by=by)
    return [found.text for found in extract(message)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        # Who somebody is to the speaker.
        ("My sister is visiting next week. She is allergic to peanuts.", "User's sister is allergic to peanuts"),
        ("My brother lives in Porto. He will pay the deposit on 3 June.", "User's brother will pay the deposit on 2026-06-03"),
        ("My daughter is six. Her birthday is on 14 March.", "User's daughter's birthday is on 14 March"),
        ("The plumber came. I owe him 240 euros.", "User owes the plumber 240 euros"),
        ("My older sister is coming for Easter. She is allergic to cats.", "User's older sister is allergic to cats"),
        ("My brother is in town. He always prefers decaf coffee over tea.", "User's brother always prefers decaf coffee over tea"),
        ("Our landlord wrote again. He must approve every repair.", "Our landlord must approve every repair"),
        ("My wife starts a new job. She works at the hospital in Ghent now.", "User's wife works at the hospital in Ghent now"),
        # A name is better.
        ("My sister Marta is visiting next week. She is allergic to peanuts.", "Marta is allergic to peanuts"),
        ("My sister is called Marta. She is allergic to peanuts.", "Marta is allergic to peanuts"),
        ("My boss, Henrike, was here. She prefers phone calls to mails.", "Henrike prefers phone calls to mails"),
        ("Jonas is my brother. He is allergic to shellfish.", "Jonas is allergic to shellfish"),
        ("Solveig is 78 and climbs mountains. She is allergic to nuts.", "Solveig is allergic to nuts"),
        ("Jonas wrote. I will send him the invoice on 8 June.", "User will send Jonas the invoice on 2026-06-08"),
        ("I talked to Marta. She prefers the morning train.", "Marta prefers the morning train"),
        ("I met Mr Quayle. He prefers the evening for calls.", "Mr Quayle prefers the evening for calls"),
        ("We heard back from Priya. She prefers the blue tiles.", "Priya prefers the blue tiles"),
        ("Maren Voss has signed for Saturday. She's allergic to nuts and celery.", "Maren Voss is allergic to nuts and celery"),
        # In the same sentence, in a part that is not kept.
        ("My sister isn't in Ghent any more, she moved to Antwerp.", "User's sister moved to Antwerp"),
        # Two sentences back, and past a person who cannot be meant.
        ("Dmitri has a new flat. It rained all day. He is allergic to dust.", "Dmitri is allergic to dust"),
        ("My brother met Elif. She prefers the window seat.", "Elif prefers the window seat"),
        # Things.
        ("The laptop arrived. It must be returned by 12 June.", "Laptop must be returned by 12 June"),
        ("The tiles are here. They must be stored dry.", "Tiles must be stored dry"),
        ("My passport has arrived. It expires on 14 March 2027.", "User's passport expires on 14 March 2027"),
    ],
)  # fmt: skip
def test_says_whom_it_means(text: str, line: str) -> None:
    assert line in lines(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        # Two could be meant.
        ("Marta and Jonas called. She will send the contract by 12 June.", "She will send the contract by 2026-06-12"),
        ("Jonas wrote about Anna. I will send her the invoice on 8 June.", "User will send her the invoice on 2026-06-08"),
        ("My sister met my aunt. She is allergic to peanuts.", "She is allergic to peanuts"),
        ("My boss met the client. He prefers phone calls to mails.", "He prefers phone calls to mails"),
        ("I met Marta with Elif. She prefers the morning train.", "She prefers the morning train"),
        ("Marta has a new flat. Elif was there. She is allergic to dust.", "She is allergic to dust"),
        ("Mark and Jonas were here. He prefers the evening for calls.", "He prefers the evening for calls"),
        # The only one there is cannot be meant.
        ("My brother lives in Porto. She will pay the deposit by 3 June.", "She will pay the deposit by 2026-06-03"),
        ("My sister is here. He always prefers decaf coffee over tea.", "He always prefers decaf coffee over tea"),
        # Somebody of somebody.
        ("My sister's flat is in Leeds. She prefers the morning train.", "She prefers the morning train"),
        ("Ximena's father was here. He prefers the evening train.", "He prefers the evening train"),
        # A place, a brand, a helper: not who is spoken of.
        ("We flew to Lisbon. She prefers the morning train.", "She prefers the morning train"),
        ("I stayed in Lisbon. She prefers the morning train.", "She prefers the morning train"),
        ("We bought a Bosch. He always prefers decaf coffee over tea.", "He always prefers decaf coffee over tea"),
        ("The vet found a heart murmur. She is allergic to chicken.", "She is allergic to chicken"),
        # Too far back, or never named.
        ("Dmitri has a new flat. It rained for hours on end. Then it snowed until the evening. He is allergic to dust.", "He is allergic to dust"),
        ("It rained all day. She is allergic to peanuts.", "She is allergic to peanuts"),
        # What others do to them is left in their words.
        ("Priya was here. Josh from number 9 walks her dog on 4 June.", "Josh from number 9 walks her dog on 4 June"),
        # Things: two of them, none, or nothing that is meant.
        ("The laptop and the phone arrived. It must be returned by 12 June.", "It must be returned by 12 June"),
        ("The tiles are here. It must be stored dry.", "It must be stored dry"),
        ("Marta brought the laptop. It must be returned by 12 June.", "It must be returned by 12 June"),
        ("It rained. It must be returned by 12 June.", "It must be returned by 12 June"),
        ("Thin as a shoelace. It must be returned by 12 June.", "It must be returned by 12 June"),
    ],
)  # fmt: skip
def test_does_not_guess(text: str, line: str) -> None:
    assert line in lines(text)


def test_of_a_user_with_a_name() -> None:
    (message,) = said("My sister is visiting next week. She is allergic to peanuts.")
    named = type(message)("user", message.content, name="Noor", seq=1, created_at=message.created_at)
    assert "Noor's sister is allergic to peanuts" in [found.text for found in extract(named)]
    assert all(found.sources == (1,) for found in extract(named))
