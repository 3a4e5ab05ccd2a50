"""Whether a line says the opposite of its source: `infold.folding.polarity`."""

from __future__ import annotations

import pytest

from infold.folding.clauses import answered, clauses_of
from infold.folding.polarity import opposed


def reversed_(line: str, source: str) -> bool:
    return opposed(clauses_of(line), clauses_of(source)) == "negation"


@pytest.mark.parametrize(
    ("source", "faithful", "wrong"),
    [
        ("The account is blocked.", "The account is locked.", "The account is open."),
        ("I don't want a voucher.", "A voucher is not wanted.", "A voucher is wanted."),
        ("Phones aren't permitted on the trip.", "Phones are banned on the trip.", "Phones are allowed on the trip."),
        ("They rejected the merger.", "The merger was turned down.", "The merger was approved."),
        ("The parcel hasn't shown up.", "The parcel is missing.", "The parcel arrived."),
        ("The hotel does not accept pets.", "The hotel refuses pets.", "The hotel accepts pets."),
        ("El hotel no acepta mascotas.", "The hotel does not accept pets.", "The hotel accepts pets."),
    ],
)
def test_F3_what_is_denied_in_other_words(source: str, faithful: str, wrong: str) -> None:
    assert not reversed_(faithful, source)
    assert reversed_(wrong, source)


@pytest.mark.parametrize(
    "line",
    [
        "Photos are fine.",  # the "without" belongs to the flash
        "The lift works.",
        "The garage is closed.",
    ],
)
def test_F3_a_denial_elsewhere_is_not_the_lines(line: str) -> None:
    source = "Photos without flash are fine. The lift works, but the garage is closed and nobody has the key."
    assert not reversed_(line, source)


def test_F3_an_if_is_no_statement() -> None:
    assert clauses_of("It stays shut unless the permit arrives.")[-1].supposes
    assert not clauses_of("It stays shut until May.")[-1].supposes


def test_F3_an_answer_settles_its_question() -> None:
    question, no, yes = (
        clauses_of("Is parking provided?"),
        clauses_of("No, street only."),
        clauses_of("Yes, of course."),
    )
    assert [clause.asks for clause in question] == [True]
    assert [(clause.asks, clause.negations) for clause in answered(question, no)] == [(False, 1)]
    assert [(clause.asks, clause.negations) for clause in answered(question, yes)] == [(False, 0)]
    assert answered(question, clauses_of("Street only.")) == question


@pytest.mark.parametrize(
    ("text", "sense", "sign"),
    [
        ("The invoice was paid", "=pay", 1),
        ("The invoice is unpaid", "=pay", -1),
        ("The invoice is not unpaid", "=pay", 1),
        ("She refuses to pay", "=pay", -1),
        ("They never paid", "=pay", -1),
        ("The field is too wet to use", "=use", -1),
    ],
)
def test_F3_the_sign_of_a_sense(text: str, sense: str, sign: int) -> None:
    assert clauses_of(text)[0].signs[sense] == sign


def test_F3_what_hangs_on_the_clause_before() -> None:
    first, second = clauses_of("Roaming is included, Switzerland isn't.")
    assert (first.signs["=include"], second.signs["=include"]) == (1, -1)


def test_F3_surer_than_its_source() -> None:
    source = clauses_of("We might move the server to Oslo.")
    assert opposed(clauses_of("The server will move to Oslo."), source) == "modality"
    assert opposed(clauses_of("The server may move to Oslo."), source) == ""
