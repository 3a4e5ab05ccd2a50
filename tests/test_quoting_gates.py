"""Patterns that are tried only beside their words find what they would find anywhere."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from infold.quoting import saying, values
from infold.quoting.gates import Gated, signs_of
from tests.replacing_pairs import ALIKE, REPLACED

GATED = {
    **{name: gate for name, gate in vars(saying).items() if isinstance(gate, Gated)},
    **{f"_TAKEN {at}": gate for at, (_, gate) in enumerate(saying._TAKEN)},
    **{f"_LIFE {name}": gate for name, gate in saying._LIFE},
}
PATTERNS = " ".join(gate.search.__self__.pattern for gate in GATED.values())  # type: ignore[attr-defined]
WORDS = sorted({*re.findall(r"[^\W\d_]{2,}(?:'[a-z]+)?", PATTERNS), *"i a 5 700 3 , . ? 改5".split()})


def hidden(text: str) -> list[str]:
    """The patterns that find something in a text and are not tried."""
    low = text.lower()
    signs = signs_of(low)
    # What asks is tried wherever there is a question mark.
    return [
        name
        for name, gate in GATED.items()
        if gate.search(low) and not signs & gate.bit and not (name == "_UNSURE" and ("?" in low or "？" in low))
    ]


def test_a_gate_hides_nothing_of_real_lines() -> None:
    texts = [text for pair in (*REPLACED, *ALIKE) for text in pair]
    assert any(gate.search(text.lower()) for text in texts for gate in GATED.values())
    assert [(text, found) for text in texts if (found := hidden(text))] == []


@settings(max_examples=300)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join))
def test_a_gate_hides_nothing_of_its_words(text: str) -> None:
    assert hidden(text) == []


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from([*values._VALUE_WORDS, *WORDS, "2026-05-01", "€5", "12:30", "周一"]), max_size=9).map(
        " ".join
    )
)
def test_values_are_those_that_the_pattern_finds_anywhere(text: str) -> None:
    low = text.lower()
    assert len(values.values(low, signs_of(low))[0]) == len(values._VALUE.findall(low))
