"""Choosing lines: within the cap, the best first, nothing twice, the same in every order."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from infold.quoting.candidate import MOST, Candidate, Place
from infold.quoting.choosing import choose, rank, stems


def line(text: str, worth: int = 500, standing: int = 500, seq: int = 1, start: int = 0) -> Candidate:
    return Candidate(text, (Place(seq, start, start + len(text)),), "user", "user", 0, worth, standing)


def texts(lines: list[Candidate], cap: int, shown: frozenset[str] = frozenset()) -> list[str]:
    return [lines[at].text for at in choose(lines, [len(one.text.split()) for one in lines], cap, shown)]


def test_the_better_line_is_kept() -> None:
    good, poor = line("no nuts in the cake", 900, 900), line("the bus was late again", 200, 100, seq=2)
    assert texts([poor, good], 5) == [good.text]


def test_what_is_said_twice_gives_way_to_what_is_new() -> None:
    first = line("no nuts in the cake for Emil", 900)
    again = line("the cake for Emil has no nuts", 800, seq=2)
    other = line("the train leaves at eight", 600, seq=3)
    assert texts([first, again, other], 12) == [first.text, other.text]


def test_F11_what_is_shown_beside_them_is_not_chosen_again() -> None:
    one, two = line("no nuts in the cake", 900), line("the train leaves at eight", 500, seq=2)
    assert texts([one, two], 5, stems(one.text)) == [two.text]


def test_words_are_not_quoted_twice() -> None:
    both = line("The red one is out. It broke.", 900)
    part = line("It broke.", 300, start=20)
    assert texts([both, part], 50) == [both.text]


def test_a_rule_counts_more_than_talk_of_the_same_worth() -> None:
    assert rank(500, 900) > rank(500, 100)
    assert rank(900, 500) > rank(400, 500)
    assert rank(MOST, MOST) > rank(MOST - 1, MOST)


LINES = st.lists(
    st.builds(
        line,
        st.text(alphabet="abcde 一二", min_size=1, max_size=30),
        st.integers(0, MOST),
        st.integers(0, MOST),
        st.integers(1, 9),
        st.integers(0, 60),
    ),
    max_size=25,
    unique_by=lambda one: one.places,
)


@given(LINES, st.integers(0, 120), st.integers(0, 99))
@settings(deadline=None)
def test_A9_the_choice_keeps_the_cap_and_not_the_order_given(lines: list[Candidate], cap: int, seed: int) -> None:
    tokens = [len(one.text) for one in lines]
    kept = choose(lines, tokens, cap)
    assert sum(tokens[at] for at in kept) <= cap
    assert kept == sorted(set(kept))
    mixed = list(lines)
    random.Random(seed).shuffle(mixed)
    again = choose(mixed, [len(one.text) for one in mixed], cap)
    assert sorted(lines[at].places for at in kept) == sorted(mixed[at].places for at in again)
