"""Recall without a database: reading questions, ranking, cutting long messages, and filling a budget."""

from __future__ import annotations

import random
import zlib
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from infold.recall.corpus import LONGEST, Corpus
from infold.recall.dates import Span, times
from infold.recall.pack import Shown, lines_of, pack
from infold.recall.query import read
from infold.recall.rank import LOOKED_AT, Ranked, rank
from infold.recall.segment import Said, Segment, segment
from infold.recall.vectors import Floats, packed
from infold.recall.words import root, terms, words

START = int(datetime(2024, 3, 4, 9, tzinfo=UTC).timestamp() * 1000)
DAY = 24 * 3600 * 1000


class Hashed:
    """An embedder of the tests: each word a direction of its own, "canine" near "dog"."""

    def embed(self, texts: list[str]) -> Floats:
        found: Floats = np.zeros((len(texts), 64), np.float32)
        for row, text in enumerate(texts):
            for word in words(text):
                found[row] += np.random.default_rng(zlib.crc32(word.encode())).standard_normal(64).astype(np.float32)
        return found

    def near(self, words: list[str]) -> list[list[tuple[str, float]]]:
        return [[("canine", 0.8)] if word == "dog" else [] for word in words]


TALK = [
    (0, "Ann", "Morning! How did the move go?"),
    (0, "Bob", "Fine, the piano got a scratch, though. The movers from Blue Van paid 80 euros."),
    (0, "Ann", "Oh no. Is it still in tune?"),
    (0, "Bob", "Hardly. A tuner comes next Tuesday."),
    (20, "Ann", "A canine moved in with us, she is called Juno."),
    (20, "Bob", "Lovely! What breed is she?"),
    (20, "Ann", "Half terrier, half mystery."),
    (45, "Bob", "I enrolled in a welding course on Monday."),
    (45, "Ann", "Brave, sparks frighten me."),
    (80, "Ann", "My sister got engaged, the wedding is in Porto."),
    (80, "Bob", "Congratulations to her! When do you fly?"),
    (80, "Ann", "In two weeks, with Juno in the cabin."),
]


def said(talk: list[tuple[int, str, str]] = TALK) -> list[Said]:
    return [Said(at + 1, text, who, START + day * DAY + at * 60_000) for at, (day, who, text) in enumerate(talk)]


def laid_out(messages: list[Said], size: int = 1000) -> Corpus:
    corpus = Corpus()
    for first in range(0, len(messages), size):
        corpus.extend(segment(messages[first : first + size], Hashed()))
    return corpus


def ask(question: str, messages: list[Said], asker: str = "") -> list[Ranked]:
    corpus = laid_out(messages)
    at = messages[-1].at + DAY if messages else 0
    return rank(corpus, read(question, tuple(corpus.speakers), at, asker), Hashed())


def shown(question: str, budget: int, messages: list[Said], asker: str = "") -> list[Shown]:
    return pack(ask(question, messages, asker), {message.seq: message.text for message in messages}, budget)


@pytest.mark.parametrize(
    ("question", "seq"),
    [
        ("When did Bob enrol in welding?", 8),
        ("How much did the movers pay?", 2),
        ("Which dog does Ann have?", 5),  # by a word near in meaning
        ("Where is the wedding of Ann's sister?", 10),
        ("What instrument tuner comes to Bob?", 4),
    ],
)
def test_the_message_that_answers_comes_first(question: str, seq: int) -> None:
    assert seq in [item.seq for item in ask(question, said())[:2]]


def test_the_answer_to_a_matching_question_is_found_beside_it() -> None:
    assert 7 in [item.seq for item in ask("What breed is Ann's Juno?", said())[:3]]


def test_who_is_asked_about() -> None:
    known = ("Ann", "Bob")
    assert read("What did Ann's sister do?", known).speakers == {"Ann"}
    assert read("What do Ann and Bob share?", known).speakers == frozenset()
    assert read("What did I tell you about the piano?", ("assistant", "user"), asker="user").speakers == {"user"}
    assert read("Which tuner did you recommend?", ("assistant", "user"), asker="user").speakers == {"assistant"}
    assert read("Who comes?", ("assistant", "user"), asker="user").speakers == frozenset()
    assert "ann" not in read("What did Ann paint?", known).words


def test_what_is_asked_for() -> None:
    assert read("When did she leave?").when
    assert read("How many pianos?").many
    assert read("Which city is it?").name
    plain = read("Tell me about welding")
    assert (plain.when, plain.many, plain.name) == (False, False, False)


ASKED = int(datetime(2024, 6, 12, 15, tzinfo=UTC).timestamp() * 1000)  # a Wednesday


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("What happened on 5 May 2023?", "2023-05-05", "2023-05-05"),
        ("What happened on May 5th, 2023?", "2023-05-05", "2023-05-05"),
        ("What happened in May 2023?", "2023-05-01", "2023-05-31"),
        ("What happened on 2023-05-05?", "2023-05-05", "2023-05-05"),
        ("What did we do in 2023?", "2023-01-01", "2023-12-31"),
        ("Where did we go last May?", "2024-05-01", "2024-05-31"),
        ("Where did we go last August?", "2023-08-01", "2023-08-31"),
        ("What did I say yesterday?", "2024-06-11", "2024-06-11"),
        ("What did I say last week?", "2024-06-03", "2024-06-09"),
        ("What did I say last Friday?", "2024-06-07", "2024-06-07"),
        ("What did I say two weeks ago?", "2024-05-26", "2024-06-01"),
        ("What did I say 3 days ago?", "2024-06-09", "2024-06-09"),
        ("Where were we last summer?", "2024-06-01", "2024-08-31"),
        ("Where were we in the winter of 2022?", "2022-12-01", "2023-02-28"),
        ("What was on 10 June?", "2024-06-10", "2024-06-10"),
        ("What was on 20 June?", "2023-06-20", "2023-06-20"),
        ("What was between March and May 2023?", "2023-03-01", "2023-05-31"),
        ("What was from 5 May 2023 to 7 June 2023?", "2023-05-05", "2023-06-07"),
        ("What was between November and February 2024?", "2023-11-01", "2024-02-29"),
        ("What did I say since March 2024?", "2024-03-01", "2024-06-12"),
        ("Was war am 5. März 2023?", "2023-03-05", "2023-03-05"),
        ("Où étions-nous en février 2023 ?", "2023-02-01", "2023-02-28"),
        ("¿Qué pasó el 5 de mayo de 2023?", "2023-05-05", "2023-05-05"),
    ],
)
def test_times_in_questions(question: str, first: str, last: str) -> None:
    assert times(question, ASKED).spans == (Span(date.fromisoformat(first), date.fromisoformat(last)),)


def test_times_that_are_none_or_open() -> None:
    assert times("It may march on, decently", ASKED).spans == ()
    assert times("Who sang in May?", ASKED).months == (5,)
    assert times("Who sang between November and January?", ASKED).months == (11, 12, 1)
    assert len(times("Who sang on 5 May and on 9 August 2023?", ASKED).spans) == 2
    assert times("What did I say yesterday?").spans == ()
    assert times("On 31 February 2023 or 2023-13-45", ASKED).spans in (
        (),
        (Span(date(2023, 1, 1), date(2023, 12, 31)),),
    )
    assert "May" not in times("Who sang in May 2023?", ASKED).text
    assert times("What was said 999 years ago?", ASKED).spans


def test_a_time_in_the_question_prefers_what_was_said_then() -> None:
    talk = [(day, "Ann", "We had dinner at the harbour again.") for day in (0, 40, 80)]
    assert ask("Where was dinner in April 2024?", said(talk))[0].seq == 2


def test_the_same_every_time() -> None:
    assert shown("What about the piano?", 60, said()) == shown("What about the piano?", 60, said())


def long_chat(size: int) -> list[Said]:
    """Chatter with pauses, of few words."""
    chance = random.Random(3)
    pool = "weather bus lunch garden rain tram bread film train coffee letter window shoes paper music market".split()
    at = START
    found = []
    for seq in range(1, size + 1):
        at += 8 * 3_600_000 if seq % 23 == 0 else 40_000
        found.append(Said(seq, " ".join(chance.choices(pool, k=7)), ("Ann", "Bob")[seq % 2], at))
    return found


@pytest.mark.parametrize("steps", [1, 7, 100, 256, 700])
def test_a_corpus_that_grew_ranks_like_one_made_at_once(steps: int) -> None:
    messages = long_chat(900)
    messages[410] = replace(messages[410], text="The spare key hangs behind the blue clock.")
    whole, grown = laid_out(messages, 900), Corpus()
    for first in range(0, 900, steps):
        grown.extend(segment(messages[first : first + steps], Hashed()))
        if first // steps % 3 == 0:  # asked in between
            rank(grown, read("spare key?", ("Ann", "Bob"), START), Hashed())
    for question in ("Where is the spare key?", "When did Ann get a letter?", "market music in March"):
        query = read(question, ("Ann", "Bob"), messages[-1].at)
        assert rank(grown, query, Hashed()) == rank(whole, query, Hashed())


@pytest.mark.parametrize("size", [20, 500, 513, 900])
def test_a_corpus_that_was_cut_ranks_like_one_that_was_never_longer(size: int) -> None:
    messages = [replace(one, speaker="Cleo") if one.seq == 600 else one for one in long_chat(1000)]
    messages[10] = replace(messages[10], text="The spare key hangs behind the blue clock.")
    corpus = laid_out(messages, 1000)
    for question in ("Where is the spare key?", "When did Ann get a letter?", "market music in March"):
        for upto in (size, 1000, size - 1, size):  # there and back
            if upto < len(corpus["seq"]):
                corpus.cut(upto)
            corpus.extend(segment(messages[corpus.size : upto], Hashed()))
            whole = laid_out(messages[:upto], upto)
            assert corpus.speakers == whole.speakers
            query = read(question, tuple(corpus.speakers), messages[upto - 1].at)
            assert rank(corpus, query, Hashed()) == rank(whole, query, Hashed())


def test_a_corpus_that_was_cut_to_nothing_is_empty() -> None:
    corpus = laid_out(long_chat(9), 9)
    corpus.cut(0)
    assert (corpus.size, corpus.speakers, corpus.firsts.tolist()) == (0, [], [])


def test_a_long_chat_is_found_in_too() -> None:
    messages = long_chat(LOOKED_AT + 1500)
    planted = {
        700: "My passport number ends in 4417.",
        2900: "A canine barked all night.",
        5100: "We named the boat Juno.",
    }
    for at, text in planted.items():
        messages[at] = replace(messages[at], text=text)
    corpus = laid_out(messages)
    assert corpus.size > LOOKED_AT
    for question, at in (
        ("What is the passport number?", 700),
        ("Which dog barked?", 2900),
        ("What is the boat called?", 5100),
    ):
        found = rank(corpus, read(question, ("Ann", "Bob"), messages[-1].at), Hashed())
        assert found[0].seq == at + 1
        assert corpus["seq"][found[0].place] == at + 1
    some = rank(corpus, read("passport number"), Hashed(), allowed=lambda chat, seq, at: seq > 1000)
    assert some
    assert all(item.seq > 1000 for item in some)


def test_chats_in_one_corpus_keep_their_neighbours_apart() -> None:
    one = [Said(1, "What is the name of your boat?", "Ann", START)]
    other = [Said(1, "Nothing to report.", "Bob", START + 30_000)]
    corpus = Corpus()
    corpus.extend(segment(one, Hashed()), chat=1)
    corpus.extend(segment(other, Hashed()), chat=2)
    assert corpus.firsts.tolist() == [0, 1]
    found = {item.chat: item for item in rank(corpus, read("name of the boat"), Hashed())}
    together = Corpus()
    together.extend(segment([*one, replace(other[0], seq=2)], Hashed()), chat=1)
    beside = {item.seq: item for item in rank(together, read("name of the boat"), Hashed())}
    assert found[2].session != found[1].session
    assert beside[2].session == beside[1].session
    assert found[2].score < beside[2].score


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("What did Ann buy two weeks before the trip to Porto?", -19, -9),
        ("What did we eat the day after the wedding?", -1, 3),
        ("A month after Ann's move, who came?", 15, 45),
    ],
)
def test_times_told_by_an_event(question: str, first: int, last: int) -> None:
    event = times(question, ASKED).event
    assert event is not None
    assert (event.first, event.last) == (first, last)
    day = date(2024, 4, 1)
    assert event.span(day, None) == Span(day + timedelta(days=first), day + timedelta(days=last))
    assert event.span(date.min, None) is None or first >= 0


def test_since_an_event() -> None:
    event = times("What changed since the move?", ASKED).event
    assert event is not None
    assert event.text == "the move"
    assert event.span(date(2024, 4, 1), date(2024, 6, 1)) == Span(date(2024, 4, 1), date(2024, 6, 1))
    assert event.span(date(2024, 4, 1), None) is None
    assert times("What changed since March 2024?", ASKED).event is None


def test_an_event_moves_what_is_preferred() -> None:
    talk = [(day, "Ann", "We had dinner at the harbour again.") for day in (0, 18, 60)]
    talk.insert(2, (32, "Ann", "The flight to Porto landed, our trip begins."))
    assert ask("Where was dinner two weeks before the trip to Porto?", said(talk))[0].seq == 2
    talk[2] = (32, "Ann", "Rain.")  # the event is not told of: nothing is assumed
    plain = [item.score for item in ask("Where was dinner before?", said(talk))]
    assert len(plain) == 4


def test_of_equals_the_newer_comes_first() -> None:
    talk = [(day, "Ann", "xyzzy") for day in (0, 20, 40)]
    assert [item.seq for item in ask("plugh", said(talk))] == [3, 2, 1]


def test_nothing_to_search_and_nothing_asked() -> None:
    assert ask("anything?", []) == []
    assert pack([], {}, 100) == []
    for question in ("", "?", "the of and", " \n", "Ann", "\ud800", "🙂"):
        assert len(ask(question, said())) == len(TALK)
    assert len(ask("piano", said([(0, "", ""), (0, "", "   "), (0, "Ann", "🙂")]))) == 1


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Die Prüfung in Straßenbau habe ich bestanden.", "Straßenbau Prüfung?"),
        ("Мы переехали в Казань весной.", "Казань"),
        ("我们明天去上海看展览。", "上海"),
        ("昨日は新しい自転車を買いました。", "自転車"),
        ("J’ai perdu l’écharpe bleue.", "écharpe"),
        ("Der Schlüssel liegt unter der Matte.", "Wo liegt der Schlüssel?"),
        ("钥匙放在门口的花盆下面。", "钥匙在哪里？"),
        ("المفتاح تحت السجادة الحمراء.", "أين المفتاح؟"),
    ],
)
def test_other_languages(text: str, question: str) -> None:
    messages = said([*TALK, (85, "Bob", text)])
    assert ask(question, messages)[0].seq == 13


def test_words_and_their_forms() -> None:
    assert root("recommendations") == root("recommended") == root("recommend")
    assert words("The cat's whiskers, don't you know?") == ["cat", "whiskers", "know"]
    assert words("上海展") == ["上海", "海展"]
    assert terms("").dtype == np.uint32


def test_sessions_end_with_a_silence_or_when_they_are_too_long() -> None:
    corpus = laid_out(said())
    assert corpus.firsts.tolist() == [0, 4, 7, 9]
    endless = [Said(at, "word", "Ann", START + at) for at in range(1, 3 * LONGEST + 2)]
    assert len(laid_out(endless).firsts) == 4


def test_a_segment_in_bytes() -> None:
    found = segment(said(), Hashed())
    data = found.to_bytes()
    again = Segment.from_bytes(data)
    assert again.to_bytes() == data
    assert again.speakers == ("Ann", "Bob")
    assert np.array_equal(again.vectors, found.vectors)
    empty = segment([], Hashed()).to_bytes()
    assert Segment.from_bytes(empty).to_bytes() == empty


def test_a_damaged_segment_is_refused() -> None:
    data = segment(said(), Hashed()).to_bytes()
    for size in (0, 3, 13, 14, 40, len(data) - 1):
        with pytest.raises(ValueError):  # noqa: PT011
            Segment.from_bytes(data[:size])
    with pytest.raises(ValueError):  # noqa: PT011
        Segment.from_bytes(data + b"x")
    for at in range(0, len(data), 7):  # also in the head, whose numbers say how long the parts are
        with pytest.raises(ValueError):  # noqa: PT011
            Segment.from_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])


def test_vectors_in_bytes() -> None:
    found = packed(np.array([[0.5, -1, 0.25], [0, 0, 0]], np.float32))
    assert found.dtype == np.int8
    assert found.tolist() == [[64, -127, 32], [0, 0, 0]]


def test_years_at_the_edge() -> None:
    far = int((datetime(9999, 12, 31, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(milliseconds=1))
    messages = [Said(1, "piano", "Ann", far), Said(2, "piano", "Bob", 10**18), Said(3, "piano", "Bob", -(10**18))]
    assert len(ask("piano last week in May 1999?", messages)) == 3
    assert lines_of(shown("piano", 50, messages))
