"""The extractive fold, seen from outside. Whom or what a line means may have been said in the message before; never a guess."""

from __future__ import annotations

from typing import Any

import pytest

from infold import Memory, Message, preset, summarize_memory
from infold.folding.across import extract_all
from tests.conftest import assistant, call, result, ticking_clock, user
from tests.databases import fresh
from tests.extraction import MONDAY, ms

HOUR = 3600 * 1000


def spoken(*turns: str) -> list[Message]:
    """Messages written as "U: …", "A: …", "T: …" (a tool) or "Name: …" (a user of that name)."""
    found = []
    for seq, turn in enumerate(turns, start=1):
        by, _, text = turn.partition(": ")
        role = {"U": "user", "A": "assistant", "T": "tool", "S": "system"}.get(by, "user")
        name = by if len(by) > 1 else None
        found.append(Message(role, text, name=name, seq=seq, created_at=ms(MONDAY) + seq))
    return found


def lines(*turns: str) -> list[str]:
    return [found.text for found in extract_all(spoken(*turns))]


VISIT = "U: My sister is visiting next week."
PEANUTS = "U: She is allergic to peanuts."


@pytest.mark.parametrize(
    ("turns", "line"),
    [
        # The same speaker, right before or past a short reply.
        ((VISIT, PEANUTS), "User's sister is allergic to peanuts"),
        ((VISIT, "A: Lovely, have a great time.", PEANUTS), "User's sister is allergic to peanuts"),
        (("U: My brother lives in Porto.", "A: Nice city.", "U: He will pay the deposit on 3 June."), "User's brother will pay the deposit on 2026-06-03"),
        (("U: My daughter is six.", "A: How sweet!", "U: Her birthday is on 14 March."), "User's daughter's birthday is on 14 March"),
        (("U: The plumber came.", "A: Good.", "U: I owe him 240 euros."), "User owes the plumber 240 euros"),
        (("U: My sister Marta is visiting next week.", "A: Great.", PEANUTS), "Marta is allergic to peanuts"),
        (("U: I talked to Marta.", "A: Good to hear.", "U: She prefers the morning train."), "Marta prefers the morning train"),
        (("U: Jonas is my brother.", "A: Noted.", "U: He is allergic to shellfish."), "Jonas is allergic to shellfish"),
        (("U: Jonas wrote.", "A: Okay.", "U: I will send him the invoice on 8 June."), "User will send Jonas the invoice on 2026-06-08"),
        (("U: Our landlord wrote again. It was a long letter.", "A: I see.", "U: He must approve every repair."), "Our landlord must approve every repair"),
        ((VISIT, "A: Lovely.", "U: Thanks a lot for your help. She is allergic to peanuts."), "User's sister is allergic to peanuts"),
        # The reply speaks of the same person.
        (("U: My sister Marta is visiting next week.", "A: I hope Marta has a good trip.", PEANUTS), "Marta is allergic to peanuts"),
        ((VISIT, "A: I hope your sister has a good trip.", PEANUTS), "User's sister is allergic to peanuts"),
        ((VISIT, "A: Lovely! Does she have any allergies?", PEANUTS), "User's sister is allergic to peanuts"),
        # Told of her for a while.
        ((VISIT, "A: Lovely.", PEANUTS, "A: Noted.", "U: She prefers the morning train."), "User's sister prefers the morning train"),
        ((VISIT, "U: She is 40.", "U: She is allergic to peanuts."), "User's sister is allergic to peanuts"),
        # Past a person who cannot be meant.
        (("U: My brother met Elif.", "A: Good.", "U: She prefers the window seat."), "Elif prefers the window seat"),
        # A user with a name.
        (("Noor: My sister is visiting next week.", "A: Lovely.", "Noor: She is allergic to peanuts."), "Noor's sister is allergic to peanuts"),
        # The other speaker's words, right before.
        (("U: My sister needs the invoice.", "A: I will send her the invoice on 8 June."), "Assistant will send User's sister the invoice on 2026-06-08"),
        (("U: I talked to Marta.", "A: I will send her the contract on 8 June."), "Assistant will send Marta the contract on 2026-06-08"),
        (("A: Maren Voss has confirmed the flat.", "U: She is allergic to nuts and celery."), "Maren Voss is allergic to nuts and celery"),
        (("A: The plumber will come at nine.", "U: I owe him 240 euros."), "User owes the plumber 240 euros"),
        # Somebody who is asked after, whoever asks.
        (("A: And how's Gregor doing?", "U: He is allergic to dust."), "Gregor is allergic to dust"),
        (("Noor: How is Benedita? Still with the bank?", "Tom: She is allergic to peanuts."), "Benedita is allergic to peanuts"),
        (("Noor: What about Lucija?", "Tom: Well. She prefers the morning train."), "Lucija prefers the morning train"),
        # Things.
        (("U: The laptop arrived.", "A: Great!", "U: It must be returned by 12 June."), "Laptop must be returned by 12 June"),
        (("U: The tiles are here.", "U: They must be stored dry."), "Tiles must be stored dry"),
        (("U: My passport has arrived.", "A: Good to hear.", "U: It expires on 14 March 2027."), "User's passport expires on 14 March 2027"),
        (("A: The laptop has arrived.", "U: It must be returned by 12 June."), "Laptop must be returned by 12 June"),
    ],
)  # fmt: skip
def test_says_whom_it_means(turns: tuple[str, ...], line: str) -> None:
    assert line in lines(*turns)


SHE, IT = "She is allergic to peanuts", "It must be returned by 12 June"
RETURN = "U: It must be returned by 12 June."


@pytest.mark.parametrize(
    ("turns", "line"),
    [
        # Two could be meant.
        (("U: My sister met my aunt.", "A: Nice.", PEANUTS), SHE),
        (("U: Marta and Elif called.", "A: Nice.", PEANUTS), SHE),
        (("U: I talked to Marta.", "A: I wrote to Elif.", PEANUTS), SHE),
        ((VISIT, "A: Your aunt will like that.", PEANUTS), SHE),
        ((VISIT, "A: I called Henrike.", PEANUTS), SHE),
        (("U: My aunt called. It rained all day long. My sister is visiting next week.", "A: Your aunt will like that.", PEANUTS), SHE),
        (("U: I talked to Marta.", "U: Elif was here. She is allergic to peanuts."), "Elif is allergic to peanuts"),
        ((VISIT, "A: Nice.", "U: Rhubarb Crumble. She is allergic to peanuts."), SHE),
        (("U: I talked to Marta.", "A: Okay.", "U: She is 40.", "A: I wrote to Elif.", PEANUTS), SHE),
        (("U: I talked to Marta.", "A: I wrote to Elif.", "U: She is 40.", "A: Okay.", PEANUTS), SHE),
        (("U: She is 40.", "A: I wrote to Elif.", PEANUTS), SHE),
        # Of another gender.
        (("U: My brother lives in Porto.", "A: Nice.", PEANUTS), SHE),
        ((VISIT, "U: He always prefers decaf coffee over tea."), "He always prefers decaf coffee over tea"),
        # Other speakers' people, and users of different names.
        (("Noor: My sister is visiting next week.", "Tom: She is allergic to peanuts."), SHE),
        (("Noor: I talked to Marta.", "Tom: She is allergic to peanuts."), SHE),
        (("Noor: My sister is visiting next week.", "A: Lovely.", "Tom: She is allergic to peanuts."), SHE),
        (("A: My colleague wrote the report.", PEANUTS), SHE),
        # Somebody of somebody; a place.
        (("U: My sister's flat is in Leeds.", "A: Nice.", PEANUTS), SHE),
        (("U: We flew to Lisbon.", "A: Nice.", PEANUTS), SHE),
        # Too far back, in time or in words.
        ((VISIT, "A: Lovely.", "U: It rained all day.", "A: A pity.", PEANUTS), SHE),
        (("U: My sister is visiting next week. It rained for hours on end. Then it snowed until the evening.", "A: I see.", PEANUTS), SHE),
        ((VISIT, f"A: {'A long walk through old streets is always worth the time. ' * 8}", PEANUTS), SHE),
        ((VISIT, "A: Lovely.", "U: It rained for hours on end. Then it snowed until the evening. She is allergic to peanuts."), SHE),
        # A question in between; tools; instructions.
        ((VISIT, "A: Lovely. And who is the new dentist?", PEANUTS), SHE),
        ((VISIT, "A: Lovely. Who else comes?", PEANUTS), SHE),
        ((VISIT, "T: 3 rows", PEANUTS), SHE),
        ((VISIT, "S: Answer briefly.", PEANUTS), SHE),
        (("Noor: How are Benedita and Efua?", "Tom: She is allergic to peanuts."), SHE),
        (("Noor: How is Benedita's mother?", "Tom: She is allergic to peanuts."), SHE),
        (("Noor: My aunt is here. How is Benedita?", "Tom: She is allergic to peanuts."), SHE),
        (("Noor: How is Benedita? I hope all is well in the old house.", "Tom: She is allergic to peanuts."), SHE),
        # Lists.
        (("U: Guests so far:\n- Marta, who is coming by train\n- Elif, who is coming by car", "A: Noted.", PEANUTS), SHE),
        # Things: two of them, none, of another number, or another one in between.
        (("U: The laptop and the phone arrived.", "A: Great!", RETURN), IT),
        (("U: The tiles are here.", "A: Great!", RETURN), IT),
        (("U: The laptop arrived.", "A: Shall I open the ticket?", RETURN), IT),
        (("U: The laptop arrived.", "A: Great, I closed the ticket.", RETURN), IT),
        (("U: The laptop arrived. We had lunch.", "A: Great!", RETURN), IT),
        (("U: The laptop arrived.", "A: Great!", "U: We had lunch with Marta. It must be returned by 12 June."), IT),
        (("A: My printer is here.", RETURN), IT),
        (("U: The laptop arrived.", "U: It's my turn to book the dentist by 12 June."), "It's User's turn to book the dentist by 2026-06-12"),
    ],
)  # fmt: skip
def test_does_not_guess(turns: tuple[str, ...], line: str) -> None:
    assert line in lines(*turns)


def test_cites_both_messages() -> None:
    found = extract_all(spoken(VISIT, "A: Lovely.", PEANUTS))
    assert [one.sources for one in found if "peanuts" in one.text] == [(1, 3)]


@pytest.mark.parametrize(("gap", "known"), [(HOUR, True), (4 * HOUR, False)])
def test_not_after_a_long_silence(gap: int, known: bool) -> None:
    first, second = spoken(VISIT, PEANUTS)
    second = Message("user", second.content, seq=2, created_at=first.created_at + gap)
    assert ("User's sister is allergic to peanuts" in [one.text for one in extract_all([first, second])]) is known


def test_without_positions() -> None:
    summary = summarize_memory("", [Message("user", turn[3:]) for turn in (VISIT, PEANUTS)])
    assert "User's sister is allergic to peanuts" in summary


def test_messages_that_are_not_neighbours() -> None:
    first, _, third = spoken(VISIT, "A: I called Henrike.", PEANUTS)
    assert SHE in [one.text for one in extract_all([first, third])]


def talk() -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    for at, (who, name) in enumerate(
        [("sister", "Marta"), ("brother", "Jonas"), ("aunt", "Elif"), ("uncle", "Dmitri")]
    ):
        she = "She" if at % 2 == 0 else "He"
        said += [
            user(f"My {who} {name} is visiting in week {at + 20}.", id=f"who{at}"),
            assistant("Lovely."),
            user(f"{she} will send the contract by {at + 11} June. {she} must not eat plate {at}7.", id=f"what{at}"),
            call(f"t{at}"),
            result(f"t{at}"),
            assistant("Noted."),
        ]
    return said


def remembered(buffer: int, at_once: bool = False) -> tuple[list[str], list[str]]:
    """Lines and facts after folds of this many messages."""
    config = preset("rolling", keep=1, buffer=buffer, safety_turns=100_000, token_ratio=1.0)
    with fresh() as url, Memory(url, clock=ticking_clock()) as memory:
        chat = memory.chat("c", config=config)
        if at_once:
            chat.add(talk())
        else:
            for message in talk():
                chat.add(message)
        chat.fold()
        assert memory.verify().ok
        assert not any(fold.drift for fold in chat.drift())
        lines = [f"{item.text} {item.sources}" for item in chat.memory.items]
        return sorted(lines), sorted(fact.text for fact in chat.facts())


def test_however_folds_are_cut() -> None:
    runs = [remembered(buffer) for buffer in (1, 2, 3, 4, 7, 50)]
    runs.append(remembered(3, at_once=True))
    assert all(run == runs[0] for run in runs)
    lines, facts = runs[0]
    for at, name in enumerate(("Marta", "Jonas", "Elif", "Dmitri")):
        cited = f"({6 * at + 1}, {6 * at + 3})"
        assert any(name in line and f"plate {at}7" in line and cited in line for line in lines)
        assert any(name in fact and f"plate {at}7" in fact for fact in facts)


def test_a_name_that_is_forgotten_is_gone_from_later_lines(memory: Memory) -> None:
    chat = memory.chat("c", config=preset("rolling", keep=1, buffer=1, safety_turns=100_000, token_ratio=1.0))
    for message in talk():
        chat.add(message)
    chat.fold()

    def told() -> list[str]:
        return [item.text for item in chat.memory.items] + [*map(str, chat.facts()), *map(str, chat.entities)]

    assert any("Elif" in text and "plate 27" in text for text in told())
    chat.forget("who2")
    assert not any("Elif" in text for text in told())
    assert any("plate 27" in text for text in told())
    assert any("Dmitri" in text and "plate 37" in text for text in told())
    assert memory.verify().ok
