"""Filling a budget with what was found, without a database: order, passages, diversity."""

from __future__ import annotations

import random

import pytest

from infold.recall.pack import about, lines_of, measured, pack
from infold.recall.passages import WHOLE, passages
from infold.recall.rank import Ranked
from infold.recall.segment import Said
from tests.test_recall_rank import START, TALK, ask, said, shown


def test_D8_one_session_does_not_fill_everything() -> None:
    """Of equals, what was said at other times is shown before more of the same talk."""
    texts = {seq: f"word number {seq}" for seq in range(11, 23)}
    ranked = [Ranked(0, seq, 0, len(texts[seq]), "Ann", START, seq * 2, (seq - 11) // 6, 5.0) for seq in texts]
    found = pack(ranked, texts, 62)
    assert 4 <= len(found) < 12
    assert abs(sum(one.seq <= 16 for one in found) - len(found) / 2) <= 1


@pytest.mark.parametrize("budget", [0, 1, 5, 12, 30, 77, 200, 5000])
def test_never_over_budget(budget: int) -> None:
    messages = said([*TALK, (90, "Bob", "piano " * 900)])
    for count in (about, len, lambda text: len(text.split())):
        found = pack(ask("piano in tune?", messages), {m.seq: m.text for m in messages}, budget, count)
        assert not found or measured(found, count) <= budget


def test_a_larger_budget_shows_all_in_order() -> None:
    found = shown("piano", 10_000, said())
    assert [item.seq for item in found] == list(range(1, 13))
    assert all(item.whole for item in found)
    assert lines_of(found)[:2] == ["2024-03-04:", "> #1 Ann: Morning! How did the move go?"]


def test_long_messages_are_shown_by_the_passage_that_matters() -> None:
    filler = [
        f"Paragraph {at} speaks of weather and little else, as paragraphs of this sort will do." for at in range(60)
    ]
    filler[41] = "The spare key of the boathouse hangs behind the blue clock."
    messages = said([*TALK, (90, "Bob", " ".join(filler)), (91, "Ann", "Thanks for the long letter!")])
    found = {item.seq: item for item in shown("Where is the spare key of the boathouse?", 220, messages)}
    assert "behind the blue clock" in found[13].text
    assert not found[13].whole
    assert about(found[13].text) >= 60
    assert found[13].text == messages[12].text[found[13].start : found[13].end]


@pytest.mark.parametrize("size", [0, 1, WHOLE, WHOLE + 1, 1201, 5000, 50_000])
@pytest.mark.parametrize("text", ["word and so on. ", "x", "漢字。", "a\n\n"])
def test_passages_partition_a_text(size: int, text: str) -> None:
    whole = (text * size)[:size]
    found = passages(whole)
    assert "".join(whole[part.start : part.end] for part in found) == whole
    if size > WHOLE:
        assert all(240 <= part.end - part.start <= WHOLE + 100 for part in found)


def test_undated_and_unnamed_messages() -> None:
    messages = [Said(at + 1, text) for at, (_, _, text) in enumerate(TALK)]
    found = shown("Who got engaged?", 30, messages)
    assert 10 in [item.seq for item in found]
    assert not any(":" in row for row in lines_of(found))


def test_repeated_and_forgotten_messages_are_passed_over() -> None:
    messages = said([(day, "Ann", "The piano is out of tune.") for day in range(9)])
    ranked = ask("piano", messages)
    assert len(pack(ranked, {m.seq: m.text for m in messages}, 500)) == 1
    assert pack(ranked, {}, 500) == []


def test_any_talk_fits_any_budget() -> None:
    chance = random.Random(5)
    pool = "piano tune dog Juno wedding Porto welding course 漢字 größer 12 🙂 next week\n harbour van".split(" ")
    for _ in range(40):
        talk = [
            (
                chance.randrange(60),
                chance.choice(["Ann", "Bob", ""]),
                " ".join(chance.choices(pool, k=chance.choice([0, 3, 20, 400]))),
            )
            for _ in range(chance.randrange(1, 30))
        ]
        messages = said(sorted(talk, key=lambda one: one[0]))
        budget = chance.randrange(0, 800)
        found = shown(" ".join(chance.choices(pool, k=4)) + "?", budget, messages)
        assert measured(found, about) <= budget or not found
        assert [item.seq for item in found] == sorted(item.seq for item in found)
        assert all(item.text == messages[item.seq - 1].text[item.start : item.end] for item in found)
