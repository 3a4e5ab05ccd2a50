"""The shipped weights: whole numbers, small, and of features that are still read."""

from __future__ import annotations

from importlib.resources import files

from hypothesis import given, settings
from hypothesis import strategies as st
from training.data import chats

from infold.messages import Message
from infold.quoting.adding import Adder
from infold.quoting.candidate import LIKELY, MOST, STANDING, SURE
from infold.quoting.features import features
from infold.quoting.reading import REACH, drafts
from infold.quoting.scoring import Model, read_off, shipped

SAID = (
    "Never call me at 10 am. No more nuts, please! We have to go: A12, #4 (or B-2)? it was £5 at the … “so”. Over 9. kg of it. never again "
    "¿qué? Ça va. Nie wieder. 不要 花生。 我不吃! İ ſ × Ⅷ ² ٣ * _ - ' . ! ? \n with with and and"
).split(" ")


def test_A9_weights_are_whole_numbers_and_small() -> None:
    model = shipped()
    assert all(type(n) is int for pair in model.weights.values() for n in pair)
    assert len(files("infold.quoting").joinpath("weights.json.gz").read_bytes()) < 500_000


def test_weights_are_of_features_that_are_read() -> None:
    """A feature that was renamed without training again would count nothing."""
    seen: set[str] = set()
    for name in chats.names():
        chat = chats.load(name)
        for at, message in enumerate(chat):
            for draft in drafts(message, chat[max(0, at - REACH) : at]):
                seen.update(features(draft.words, draft.setting))
    assert len(shipped().weights.keys() - seen) == 0


def test_A9_sums_are_those_of_the_features_by_name() -> None:
    """Reading adds up without a name for each feature; training has the names."""
    model = shipped()
    every = pairs = 0
    for name in chats.names():
        chat = chats.load(name)
        for at, message in enumerate(chat):
            found = drafts(message, chat[max(0, at - REACH) : at])
            adder = Adder(model.tables, found[0].setting) if found else None
            for draft in found:
                assert adder is not None
                named = model.sums(features(draft.words, draft.setting))
                assert adder.sums(draft.parts, draft.text, draft.setting) == named, (name, message.seq, draft.text)
                every += 1
                pairs += len(draft.parts) == 2
    assert every > 5000
    assert pairs > 1000


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(SAID), min_size=1, max_size=9).map(" ".join), st.sampled_from(["user", "assistant"]))
def test_A9_sums_of_odd_sentences_are_those_of_their_features(text: str, role: str) -> None:
    model = shipped()
    found = drafts(Message(role, text, seq=1), ())
    for draft in found:
        adder = Adder(model.tables, found[0].setting)
        assert adder.sums(draft.parts, draft.text, draft.setting) == model.sums(features(draft.words, draft.setting))


def test_curves_rise_and_hold_the_tiers() -> None:
    for curve in shipped().curves:
        assert list(curve) == sorted(curve)
        assert [y for _, y in curve] == sorted(y for _, y in curve)
        assert curve[-1][1] <= MOST
    assert {LIKELY, STANDING, SURE} <= {y for _, y in shipped().curves[1]}


def test_a_curve_is_read_between_its_points() -> None:
    curve = ((0, 0), (10, 100), (20, 1000))
    assert [read_off(curve, at) for at in (-5, 0, 5, 10, 15, 20, 99)] == [0, 0, 50, 100, 550, 1000, 1000]


def test_sums_are_of_known_features_only() -> None:
    model = Model({"a": (1, 2), "b": (10, 20)}, (100, 200), (((0, 0),), ((0, 0),)))
    assert model.sums(["a", "b", "c"]) == (111, 222)


def test_most_sure_lines_of_our_chats_are_marked() -> None:
    """The models saw these chats: this only shows that reading and training still agree."""
    from infold.quoting.reading import read

    marks = {(row["chat"], row["seq"], row["start"]): row["end"] for row in chats.rows("standing.jsonl")}
    right = every = 0
    for name in chats.names():
        if name.startswith("tau:"):
            continue
        chat = chats.load(name)
        for at, message in enumerate(chat):
            for one in read(message, chat[max(0, at - REACH) : at]):
                if one.standing >= SURE:
                    place = one.places[-1]
                    every += 1
                    right += any(
                        c == name and s == place.seq and start < place.end and end > place.start
                        for (c, s, start), end in marks.items()
                    )
    assert every > 100
    assert right >= 0.9 * every
