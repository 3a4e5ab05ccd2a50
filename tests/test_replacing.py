"""Which later line replaces, closes, repeats or conflicts with which earlier one."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infold.quoting.replacing import Effect, Index, effects, resolve
from infold.quoting.saying import READ, Said
from tests.replacing_pairs import ALIKE, REPLACED

FILLERS = (
    "The weather is awful this week",
    "My brother called and talked for an hour",
    "I had soup for lunch",
    "The neighbours have a new dog",
    "We watched a film about whales",
)
EXAMPLES = [
    ("The deadline is May 1", "New deadline: June 1"),
    ("my budget is 500 euros", "make that 700"),
    ("We use PostgreSQL", "SQLite instead"),
    ("We use PostgreSQL", "Let's use SQLite instead"),
    ("Let's meet at 3 pm", "5 pm works better"),
    ("3 pm", "5 pm works better"),
    ("I drink coffee", "I don't drink coffee anymore"),
    ("I live in Porto", "I moved to Lisbon"),
]


def talk(*texts: str) -> list[Said]:
    """What one user says, a message a line, each with a reply in between."""
    return [Said.of(text, "user", seq=1 + 2 * at) for at, text in enumerate(texts)]


def between(old: str, new: str, fillers: int) -> list[Said]:
    """Two lines with others between them."""
    return talk(old, *(FILLERS[at % len(FILLERS)] for at in range(fillers)), new)


def right(pairs: list[tuple[str, str]], gone: bool) -> list[tuple[str, str]]:
    """The pairs that come out wrong at some distance."""
    return [
        pair
        for pair in pairs
        if any(resolve(between(*pair, n)).gone != ({0: n + 1} if gone else {}) for n in (0, 2, 20))
    ]


def one(old: Said, new: Said) -> list[Effect]:
    """What a line does to a single earlier one."""
    known = Index()
    known.add(old)
    return [effect for _, effect in effects(new, known)]


@pytest.mark.parametrize("fillers", [0, 1, 5, 40])
@pytest.mark.parametrize(("old", "new"), EXAMPLES)
def test_A7_latest_decision_wins_in_the_contracts_examples(old: str, new: str, fillers: int) -> None:
    assert resolve(between(old, new, fillers)).gone == {0: fillers + 1}


def test_A7_replacing_pairs_nineteen_of_twenty() -> None:
    wrong = right(REPLACED, gone=True)
    assert len(wrong) * 20 <= len(REPLACED), wrong


def test_D3_lookalikes_stay_nineteen_of_twenty() -> None:
    wrong = right(ALIKE, gone=False)
    assert len(wrong) * 20 <= len(ALIKE), wrong


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I want the blue one", "forget what I said about the blue one"),
        ("We could grow tomatoes on the balcony", "Scrap the balcony idea"),
        ("I like tea", "Forget that I like tea"),
        ("For the queue take arq, I used it at the last place", "scrap arq."),
        ("Wir grillen auf dem Balkon", "Vergiss das mit dem Balkon"),
    ],
)
def test_A7_what_a_user_takes_back_goes(old: str, new: str) -> None:
    assert one(*talk(old, new)) == [Effect.CLOSES]


def test_A7_what_is_taken_back_and_could_be_two_lines_stays() -> None:
    lines = talk(
        "The balcony faces the noisy street and the old harbour",
        "We want a table and chairs for the balcony, nothing fancy",
        "Scrap the balcony idea",
    )
    assert resolve(lines).gone == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I need to buy milk", "I bought the milk"),
        ("Buy milk", "I bought the milk"),
        ("Which hotel?", "We booked the Astoria"),
        ("I'll send the contract to Ruben by Friday", "I sent Ruben the contract"),
        ("Priya finishes the slot picker by Sunday", "Priya's slot picker is done"),
        ("When is the dentist appointment?", "The dentist appointment is on 6 October"),
        ("Ich muss noch die Tickets kaufen", "Ich habe die Tickets gekauft"),
    ],
)
def test_A7_open_lines_close_when_done_or_answered(old: str, new: str) -> None:
    assert one(*talk(old, new)) == [Effect.CLOSES]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I need to buy milk", "I bought the bread"),
        ("I need to buy milk", "I still have to buy the milk"),
        ("I need to buy milk", "I haven't bought the milk yet"),
        ("Buy milk and eggs", "I bought milk"),
        ("I pay the rent on the first of every month", "I paid the rent"),
        ("Which hotel?", "We booked the flight"),
        ("Which hotel?", "Should we book the Astoria?"),
    ],
)
def test_A7_open_lines_stay_where_that_is_not_sure(old: str, new: str) -> None:
    assert one(*talk(old, new)) == []


def test_A7_one_report_closes_one_line() -> None:
    assert resolve(talk("I need to buy milk", "Remember to buy the milk", "I bought the milk")).gone == {}


def said(text: str, by: str, seq: int, role: str = "user") -> Said:
    """A line of a named speaker."""
    return Said.of(text, role, by, seq)


def test_D3_two_people_who_differ_conflict() -> None:
    first, second = said("The deadline is May 1", "Ana", 1), said("The deadline is June 1", "Ben", 3)
    assert one(first, second) == [Effect.CONFLICTS]
    assert resolve([first, second]).conflicts == ((0, 1),)
    assert resolve([first, second, said("New deadline: July 1", "Ana", 5)]).conflicts == ()


def test_D3_another_persons_outright_change_counts_for_what_is_shared() -> None:
    assert one(said("The deadline is May 1", "Ana", 1), said("The deadline was moved to June 1", "Ben", 3)) == [
        Effect.REPLACES
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Porto", "I moved to Lisbon"),
        ("My address is 12 Elm Street", "My address is now 4 Oak Road"),
        ("I drink coffee", "I don't drink coffee anymore"),
        ("My budget is 500 euros", "My budget is 700 euros now"),
    ],
)
def test_D3_nobody_speaks_for_another_person(old: str, new: str) -> None:
    assert one(said(old, "Ana", 1), said(new, "Ben", 3)) == []


@pytest.mark.parametrize("role", ["assistant", "tool"])
@pytest.mark.parametrize(("old", "new"), [*EXAMPLES, ("I like tea", "Forget that I like tea")])
def test_F10_an_assistant_or_tool_never_replaces_a_users_line(old: str, new: str, role: str) -> None:
    known = Index()
    known.add(Said.of(old, "user", seq=1))
    assert effects(Said.of(new, role, seq=2), known) == []


def test_A7_a_confirmation_repeats() -> None:
    for reply in ("The deadline is June 1", "Got it, the deadline is June 1."):
        assert one(Said.of("New deadline: June 1", "user", seq=1), Said.of(reply, "assistant", seq=2)) == [
            Effect.REPEATS
        ]
    assert one(
        Said.of("My budget is 700 euros", "user", seq=1),
        Said.of("Noted: your budget is 700 euros.", "assistant", seq=2),
    ) == [Effect.REPEATS]
    assert resolve(talk("I like tea", "I like tea.")).repeats == {1: 0}


def test_A7_the_new_line_is_never_lost() -> None:
    """An old line that comes late affects no line said after it."""
    known = Index()
    known.add(Said.of("New deadline: June 1", "user", seq=9))
    assert effects(Said.of("The deadline is May 1", "user", seq=1), known) == []
    known = Index()
    known.add(Said.of("I moved to Lisbon", "user", seq=1, said_at=2_000, chat="new"))
    assert effects(Said.of("I live in Porto", "user", seq=9, said_at=1_000, chat="old"), known) == []


def test_D3_facts_of_several_chats_resolve_by_time() -> None:
    lines = [
        Said.of("I live in Porto", "user", "ana", 40, 1_000, chat="a"),
        Said.of("I moved to Lisbon", "user", "ana", 2, 2_000, chat="b"),
    ]
    assert resolve(lines).gone == {0: 1}


def test_A7_a_chain_of_values_leaves_the_last() -> None:
    lines = talk(
        "The deadline is May 1",
        "New deadline: June 1",
        "The deadline was moved to July 1",
        "Correction: the deadline is 5 July",
    )
    assert resolve(lines).gone == {0: 1, 1: 2, 2: 3}


def test_A7_a_line_that_says_more_than_what_changes_stays() -> None:
    old = "Slots stay at 30 minutes, members can have at most three bookings a month, and two volunteers treat the workshop as their personal pit crew"
    assert one(*talk(old, "Slots become 45 minutes, not 30")) == []


def test_A7_a_short_change_means_what_was_said_right_before() -> None:
    lines = talk("My budget for food is 400 euros", *FILLERS, "My budget for the sofa is 500 euros", "make that 700")
    assert resolve(lines).gone == {6: 7}
    assert (
        resolve(talk("My budget for food is 400 euros", "The sofa may cost 500 euros", *FILLERS, "make that 700")).gone
        == {}
    )


def test_A7_sentences_of_one_line_are_compared_alone() -> None:
    assert resolve(talk("My budget is 500 euros.", "Hm, I checked my account. Make that 700.")).gone == {0: 1}
    assert resolve(talk("The deadline is May 1.", "I talked to Ana today. New deadline: June 1, she says.")).gone == {
        0: 1
    }
    assert resolve(talk("We ship in May. I am allergic to nuts and shellfish.", "We ship in June now")).gone == {}


@pytest.mark.parametrize(
    "new",
    [
        "Should we say June 1?",
        "If they agree, the deadline is June 1",
        "Maybe the deadline is June 1 now",
        "What about June 1 instead?",
    ],
)
def test_A7_questions_and_conditions_change_nothing(new: str) -> None:
    assert one(*talk("The deadline is May 1", new)) == []


def test_A7_a_day_of_the_week_that_is_free_again() -> None:
    assert resolve(talk("Thursdays I do the bakery till 2", *FILLERS, "Thursdays are free again")).gone == {0: 6}
    assert resolve(
        talk("donnerstags hab ich spätdienst bis 20 uhr", "dienstag bin ich raus, donnerstag geht wieder")
    ).gone == {0: 1}


def test_A9_the_same_in_any_batches() -> None:
    texts = [text for pair in REPLACED + ALIKE for text in pair]
    lines = talk(*texts)
    known = Index()
    seen = []
    for line in lines:
        hits = effects(Said.of(line.text, line.role, line.said_by, line.seq), known)
        assert hits == effects(line, known)
        known.add(line)
        for at, effect in hits:
            if effect in (Effect.REPLACES, Effect.CLOSES):
                known.remove(at)
        seen.append(hits)
    gone = resolve(lines).gone
    assert gone == {
        at: new for new, hits in enumerate(seen) for at, effect in hits if effect in (Effect.REPLACES, Effect.CLOSES)
    }
    assert sorted(known.lines) == [at for at in range(len(lines)) if at not in gone]


def test_A9_an_index_lets_lines_go_without_a_trace() -> None:
    known = Index()
    for line in talk(*(text for pair in REPLACED for text in pair)):
        known.add(line)
    for at in list(known.lines):
        known.remove(at)
    assert known == Index(_next=len(REPLACED) * 2)


WORDS = st.sampled_from(
    "the deadline budget is May 1 now not 500 euros instead of tea I like 3 pm forget no longer ? , . 改成 是 plus mehr".split()
)
TEXTS = st.one_of(st.text(st.characters(), max_size=80), st.lists(WORDS, max_size=12).map(" ".join))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(TEXTS, st.sampled_from(["user", "assistant", "tool"]), st.integers(1, 9), st.integers(0, 3)),
        max_size=12,
    )
)
def test_A7_any_lines_at_all(rows: list[tuple[str, str, int, int]]) -> None:
    known = Index()
    for text, role, seq, at in rows:
        new = Said.of(text, role, seq=seq, said_at=at)
        for number, effect in effects(new, known):
            old = known.lines[number]
            assert old.said_at < at if old.said_at and at and old.said_at != at else old.seq <= seq
            assert not (effect is Effect.REPLACES and role != "user" and old.role == "user")
        known.add(new)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "1 " * 500_000,
        "not " * 200_000,
        ",1" * 400_000,
        "\ud800 is \udfff",
        "我" * 300_000,
        "的 是 " * 99_999,
    ],
)
def test_D7_long_or_broken_text_is_read_at_once(text: str) -> None:
    began = time.perf_counter()
    Said.of(text, "user")
    assert time.perf_counter() - began < 0.5
    assert Said.of(text, "user") == Said.of(text[: READ + 10_000], "user") or len(text) > READ


def test_D9_thousands_of_lines_resolve_in_seconds() -> None:
    nouns = [
        f"{a}{b}"
        for a in ("gar", "tel", "min", "sor", "bal")
        for b in ("den", "efon", "ute", "ting", "cony", "ket", "pot", "lane", "ron", "via")
    ]
    lines = [
        Said.of(f"The {nouns[n % 50]} of {nouns[n * 7 % 47]} costs {n} euros now", "user", seq=n) for n in range(5_000)
    ]
    began = time.perf_counter()
    resolve(lines)
    assert time.perf_counter() - began < 5


def test_a_line_with_one_value_in_two_sorts_can_go() -> None:
    known = Index()
    at = known.add(Said.of("Room 4, at 4 pm, on page 4.", "user", seq=1))
    known.remove(at)
    assert known.lines == {}


def test_D3_a_line_that_says_another_thing_beside_stays() -> None:
    lines = talk("I live in Berlin, and I'm allergic to nuts.", "I moved to Hamburg last week.")
    assert resolve(lines).gone == {}
    assert resolve(talk("I live in Berlin.", "I moved to Hamburg last week.")).gone == {0: 1}
